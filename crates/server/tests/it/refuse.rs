//! Bad requests: the right status, a stable code, a pointer, and nothing changes.

use std::fs;
use std::path::Path;

use selvedge_server::ErrorCode;

use crate::site::{Site, answer};

#[tokio::test]
async fn bad_appends_say_what_and_where() {
    let site = Site::start().await;
    site.thread("t").await;
    let deep = format!("{{\"kind\":\"x\",\"a\":{}{}}}", "[".repeat(400), "]".repeat(400));
    for (body, status, code, pointer) in [
        ("{", 400, "bad_json", None),
        ("", 400, "bad_json", None),
        ("[]", 422, "bad_event", Some("")),
        ("3", 422, "bad_event", Some("")),
        ("{}", 422, "bad_event", Some("/kind")),
        (r#"{"kind":3}"#, 422, "bad_event", Some("/kind")),
        (
            r#"[{"kind":"x"},{"kind":"content-delta","delta":1}]"#,
            422,
            "bad_event",
            Some("/1/delta"),
        ),
        ("{\"kind\":\"x\"}\n{\"kind\":\"x\",\"taskId\":7}", 422, "bad_event", Some("/1/taskId")),
        (r#"{"kind":"x","contextId":"other"}"#, 422, "bad_event", Some("/contextId")),
        (r#"{"kind":"task-status","status":"asleep"}"#, 422, "bad_event", Some("/status")),
        (deep.as_str(), 400, "bad_json", None),
    ] {
        let (got, answer) = site.post("/api/threads/t/events", body).await;
        assert_eq!(got.as_u16(), status, "{body}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{body}");
        assert_eq!(answer["error"]["pointer"].as_str(), pointer, "{body}");
    }
    let (status, gone) = site.post("/api/threads/none/events", r#"{"kind":"x"}"#).await;
    assert_eq!((status.as_u16(), gone["error"]["code"].as_str()), (404, Some("not_found")));
    let (_, page) = site.get("/api/threads/t/events").await;
    assert_eq!(page["head"], 1, "nothing was appended");
}

#[tokio::test]
async fn appends_can_be_conditional_and_tried_again() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    let post = |name: &'static str, value: String, body: &'static str| {
        let url = format!("{}/api/threads/t/events", site.url);
        let request = site.client.post(url).header(name, value).body(body);
        async move { answer(request.send().await.unwrap()).await }
    };
    let (status, stale) = post("If-Match", format!("\"{epoch}.0\""), r#"{"kind":"a"}"#).await;
    assert_eq!((status.as_u16(), stale["error"]["code"].as_str()), (409, Some("conflict")));
    assert_eq!(stale["error"]["details"]["head"], 1);
    let (status, foreign) = post("If-Match", "7.1".into(), r#"{"kind":"a"}"#).await;
    assert_eq!((status.as_u16(), foreign["error"]["code"].as_str()), (409, Some("conflict")));
    let (status, _) = post("If-Match", "soon".into(), r#"{"kind":"a"}"#).await;
    assert_eq!(status.as_u16(), 400);
    for value in [format!("{epoch}.1"), "\"2\"".to_owned(), "*".to_owned()] {
        let (status, answer) = post("If-Match", value, r#"{"kind":"a"}"#).await;
        assert_eq!(status.as_u16(), 200, "{answer}");
    }
    for duplicate in [false, true] {
        let (status, answer) = post("Idempotency-Key", "k".into(), r#"{"kind":"b"}"#).await;
        assert_eq!((status.as_u16(), &answer["duplicate"]), (200, &duplicate.into()));
        assert_eq!((&answer["first"], &answer["last"]), (&5.into(), &5.into()));
    }
    let (status, other) = post("Idempotency-Key", "k".into(), r#"{"kind":"c"}"#).await;
    assert_eq!((status.as_u16(), other["error"]["code"].as_str()), (422, Some("key_reused")));
}

#[test]
fn every_code_is_explained_with_its_status() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let page = fs::read_to_string(page).unwrap();
    for code in ErrorCode::ALL {
        let row = format!("| `{}` | {} |", code.name(), code.status().as_u16());
        assert!(page.contains(&row), "docs/errors.md lacks {row}");
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let site = Site::start().await;
    site.thread("t").await;
    let event = |size| format!("{{\"kind\":\"x\",\"data\":\"{}\"}}", "x".repeat(size));
    for (body, code) in [
        (event(17 << 20), "event_too_large"),
        (format!("[{}]", vec![event(11 << 20); 3].join(",")), "batch_too_large"),
        (format!("[{}]", vec![event(1); 10_001].join(",")), "too_many_events"),
        (event(65 << 20), "body_too_large"),
    ] {
        let (status, answer) = site.post("/api/threads/t/events", body).await;
        assert_eq!((status.as_u16(), answer["error"]["code"].as_str()), (413, Some(code)));
    }
    let (_, page) = site.get("/api/threads/t/events").await;
    assert_eq!(page["head"], 1, "nothing was appended");
}
