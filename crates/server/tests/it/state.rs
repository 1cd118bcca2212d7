//! A snapshot: the state and its cursor in one answer, at any point of the journal.

use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn a_thread_shows_its_state_at_any_point() {
    let site = Site::start().await;
    let body =
        r#"{"id":"t","title":"Rivers","metadata":{"n":1.0},"agents":[{"id":"guide","model":"m"}]}"#;
    let (_, made) = site.post("/api/threads", body).await;
    let epoch = made["cursor"].as_str().unwrap().split('.').next().unwrap();
    let events = r#"[
        {"kind":"message","role":"user","author":"ann","content":"How long?"},
        {"kind":"task-created","taskId":"k","agentId":"guide","initiator":"user"},
        {"kind":"content-delta","taskId":"k","agentId":"guide","delta":"777"},
        {"kind":"content-delta","taskId":"k","agentId":"guide","delta":" km"},
        {"kind":"input-required","taskId":"k","inputId":"i","requireUser":true,"inputType":"confirmation","prompt":"Sure?"},
        {"kind":"input-received","taskId":"k","inputId":"i","providedBy":"user","value":true},
        {"kind":"task-complete","taskId":"k","content":"777 km"}]"#;
    let (status, answer) = site.post("/api/threads/t/events", events).await;
    assert_eq!(status.as_u16(), 200, "{answer}");

    let (_, now) = site.get("/api/threads/t").await;
    assert_eq!((&now["cursor"], &now["head"]), (&json!(format!("{epoch}.9")), &json!(9)));
    assert_eq!((&now["title"], &now["metadata"]), (&json!("Rivers"), &json!({"n": 1.0})));
    assert_eq!(now["tasks"][0]["status"], "completed");
    assert_eq!(now["inputs"], json!([]));
    let texts: Vec<_> = now["messages"].as_array().unwrap().iter().map(|m| &m["text"]).collect();
    assert!(texts.contains(&&json!("777 km")), "{now}");

    let (_, then) = site.get("/api/threads/t?at=7").await;
    assert_eq!((&then["cursor"], &then["head"]), (&json!(format!("{epoch}.7")), &json!(9)));
    assert_ne!(then["tasks"][0]["status"], "completed");
    assert_eq!(then["inputs"][0]["inputId"], "i");
    let (_, start) = site.get("/api/threads/t?at=0").await;
    assert_eq!((&start["tasks"], &start["messages"]), (&json!([]), &json!([])));
    for at in ["10", "-1", "x"] {
        let (status, _) = site.get(&format!("/api/threads/t?at={at}")).await;
        assert_eq!(status.as_u16(), 400, "{at}");
    }
    // Followed from there, nothing is missed or repeated.
    let cursor = then["cursor"].as_str().unwrap();
    let rest = site.stream("/api/threads/t/stream", Some(cursor)).await.until_caught_up().await;
    let kinds: Vec<_> = rest.iter().filter_map(|f| f.field("event")).collect();
    assert_eq!(kinds, ["input-received", "task-complete"]);
}
