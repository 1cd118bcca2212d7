//! Branches share their past, go their own way, and can be compared.

use serde_json::{Value, json};

use crate::site::Site;

fn kinds(page: &Value) -> Vec<String> {
    let entries = page["entries"].as_array().unwrap();
    entries.iter().map(|e| e["event"]["kind"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_fork_shares_the_past_and_differs_after_it() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    site.post("/api/threads/t/events", "{\"kind\":\"a\"}{\"kind\":\"b\"}{\"kind\":\"c\"}").await;
    let body = json!({"id": "f", "at": format!("{epoch}.2")}).to_string();
    let (status, fork) = site.post("/api/threads/t/fork", body).await;
    assert_eq!(status.as_u16(), 201, "{fork}");
    assert_eq!((&fork["at"], &fork["head"], &fork["parent"]), (&2.into(), &3.into(), &"t".into()));
    site.post("/api/threads/f/events", "{\"kind\":\"x\"}").await;
    let (_, page) = site.get("/api/threads/f/events").await;
    assert_eq!(kinds(&page), ["thread-created", "a", "thread-created", "x"]);

    let (_, diff) = site.get("/api/threads/t/diff?with=f").await;
    assert_eq!(diff["base"], 2);
    assert_eq!(kinds(&diff["left"]), ["b", "c"]);
    assert_eq!(kinds(&diff["right"]), ["thread-created", "x"]);
    let (_, deeper) = site.post("/api/threads/f/fork", r#"{"id":"g","at":1}"#).await;
    assert_eq!(deeper["head"], 2);
    let (_, diff) = site.get("/api/threads/g/diff?with=t").await;
    assert_eq!(diff["base"], 1);

    // A stream of the branch, resumed inside the part it shares.
    let own = fork["cursor"].as_str().unwrap().split('.').next().unwrap();
    let mut stream = site.stream("/api/threads/f/stream", Some(&format!("{own}.1"))).await;
    let seen: Vec<_> = stream.until_caught_up().await;
    let seen: Vec<_> = seen.iter().filter_map(|f| f.field("event")).collect();
    assert_eq!(seen, ["a", "thread-created", "x"]);

    for (body, status, pointer) in [
        (r#"{"at":9}"#, 400, Some("/at")),
        (r#"{"at":"1.1"}"#, 400, Some("/at")),
        (r#"{"at":-1}"#, 400, Some("/at")),
        (r#"{"id":7}"#, 400, Some("/id")),
        (r#"{"id":"t"}"#, 409, None),
    ] {
        let (got, answer) = site.post("/api/threads/t/fork", body).await;
        assert_eq!(got.as_u16(), status, "{body}: {answer}");
        assert_eq!(answer["error"]["pointer"].as_str(), pointer, "{body}");
    }
    let (status, _) = site.get("/api/threads/t/diff").await;
    assert_eq!(status.as_u16(), 400);
    let (status, _) = site.get("/api/threads/t/diff?with=none").await;
    assert_eq!(status.as_u16(), 404);
}
