//! What operators see.

use std::fs;
use std::path::Path;

use reqwest::Method;
use selvedge_server::{Options, routes};
use serde_json::{Value, json};

use crate::site::{Site, key};

#[tokio::test]
async fn every_request_has_an_id_its_callers_if_it_is_sane() {
    let site = Site::start().await;
    let id = |given: Option<&'static str>| {
        let mut request = site.request(Method::GET, "/api/threads/none");
        if let Some(given) = given {
            request = request.header("x-request-id", given);
        }
        async move {
            request.send().await.unwrap().headers()["x-request-id"].to_str().unwrap().to_owned()
        }
    };
    assert_eq!(id(Some("trace-7/a")).await, "trace-7/a");
    let (one, two) = (id(None).await, id(None).await);
    assert!(one.len() == 36 && one != two, "{one} {two}");
    for odd in ["", "a b", "{\"x\":1}", "<script>"] {
        assert_eq!(id(Some(odd)).await.len(), 36, "{odd}");
    }
}

#[tokio::test]
async fn health_is_for_everyone_and_metrics_are_for_operators() {
    let made = [key("acme", &["agent"]), key("acme", &["operator"])];
    let (site, keys) = Site::start_with(Options::default(), &made).await;
    for path in ["/health", "/health/live"] {
        assert_eq!(site.get(path).await, (reqwest::StatusCode::OK, json!({"status": "ok"})));
    }
    let post = |path: &'static str, body: &'static str| {
        let request = site.request(Method::POST, path).bearer_auth(&keys[0]).body(body);
        let request = request.header("idempotency-key", body.len());
        async move { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!(post("/api/threads", r#"{"id":"t"}"#).await, 201);
    for _ in 0..2 {
        assert_eq!(post("/api/threads/t/events", r#"[{"kind":"a"},{"kind":"b"}]"#).await, 200);
    }
    assert_eq!(post("/api/threads/t/events", "{}").await, 422);
    let request = site.request(Method::GET, "/api/threads/t/stream").bearer_auth(&keys[0]);
    let mut stream = crate::site::Frames::open(request).await;
    stream.until_caught_up().await;
    let request = site.request(Method::GET, "/metrics").bearer_auth(&keys[1]);
    let response = request.send().await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    let text = response.text().await.unwrap();
    for line in [
        "selvedge_appends_total 2",
        "selvedge_appends_repeated_total 1",
        "selvedge_events_total 3",
        "selvedge_appends_waiting 0",
        "selvedge_append_seconds_count 3",
        "selvedge_append_seconds_bucket{le=\"+Inf\"} 3",
        "selvedge_readers 1",
        "selvedge_readers_by_rung{rung=\"live\"} 1",
        "selvedge_readers_by_rung{rung=\"journal\"} 0",
        "selvedge_stalled_total 0",
        "selvedge_catch_up_pages_total 1",
        "selvedge_reader_lag_entries_bucket{le=\"10\"} 1",
        "selvedge_errors_total{code=\"bad_event\"} 1",
        "selvedge_errors_total{code=\"internal\"} 0",
        "selvedge_answers_total{class=\"4xx\"} 1",
        "selvedge_resyncs_total{reason=\"revoked\"} 0",
        "# TYPE selvedge_append_seconds histogram",
    ] {
        assert!(text.lines().any(|own| own == line), "no {line} in\n{text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("selvedge_") && value.parse::<f64>().is_ok(), "{line}");
    }
    drop(stream);
}

#[tokio::test]
async fn a_server_that_cannot_write_says_so_until_it_can() {
    let site = Site::start().await;
    site.thread("t").await;
    let append = || site.post("/api/threads/t/events", r#"{"kind":"x"}"#);
    let fork = || site.post("/api/threads/t/fork", "{}");
    let other = rusqlite::Connection::open(&site.db).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // What needs the tables is refused.
    let (status, refused) = fork().await;
    assert_eq!((status.as_u16(), &refused["error"]["code"]), (503, &"storage".into()));
    assert_eq!(site.get("/health").await.0.as_u16(), 503);
    assert_eq!(site.get("/health/live").await.0.as_u16(), 200);
    // What does not is on disk all the same, and read.
    assert_eq!(append().await.0.as_u16(), 200);
    let (_, page) = site.get("/api/threads/t/events").await;
    assert_eq!(page["head"], 2);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(fork().await.0.as_u16(), 201);
    assert_eq!(site.get("/health").await.0.as_u16(), 200);
}

#[tokio::test]
async fn the_description_of_the_api_is_the_one_in_the_documents() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let document = selvedge_server::openapi();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &document).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(document, written, "run the test with UPDATE_GOLDEN=1 and look at the difference");
    let value: Value = serde_json::from_str(&document).unwrap();
    for route in routes() {
        let operation = &value["paths"][route.path][route.method.as_str().to_lowercase()];
        assert_eq!(operation["summary"], route.about);
        for name in route.path.split(['{', '}']).skip(1).step_by(2) {
            let all = operation["parameters"].as_array().unwrap();
            assert!(all.iter().any(|p| p["name"] == name && p["in"] == "path"), "{}", route.path);
        }
    }
    let site = Site::start().await;
    assert_eq!(site.get("/openapi.json").await.1, value);
}
