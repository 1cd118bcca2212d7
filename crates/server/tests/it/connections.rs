//! Who reads now, and what is in the way of streams.

use std::time::{Duration, Instant};

use reqwest::Method;
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Site, key};

/// The readers that a key sees, once there are so many.
async fn readers(site: &Site, key: &str, count: usize) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let (status, answer) = site.ask(Method::GET, "/api/connections", key).await;
        assert_eq!(status.as_u16(), 200, "{answer}");
        let found = answer["connections"].as_array().unwrap().clone();
        assert_eq!(answer["total"], found.len());
        if found.len() == count {
            return found;
        }
        assert!(Instant::now() < deadline, "{answer}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_tenant_sees_its_own_readers_while_they_read() {
    let made = [key("acme", &["operator"]), key("other", &["operator"]), key("acme", &["read"])];
    let (site, keys) = Site::start_with(Options::default(), &made).await;
    let mut epochs = Vec::new();
    for (id, key) in [("t", &keys[0]), ("u", &keys[0]), ("t", &keys[1])] {
        let request = site.request(Method::POST, "/api/threads").bearer_auth(key);
        let sent = request.body(format!("{{\"id\":\"{id}\"}}")).send().await.unwrap();
        let (_, made) = crate::site::answer(sent).await;
        epochs.push(made["cursor"].as_str().unwrap().split('.').next().unwrap().to_owned());
    }
    let open = async |path: &str, key: &str| {
        let request = site.request(Method::GET, path).bearer_auth(key);
        request.header("user-agent", "test/1").send().await.unwrap()
    };
    let native = open("/api/threads/t/stream", &keys[2]).await;
    let _looopy = open("/api/threads/t/stream?dialect=looopy", &keys[0]).await;
    let _many = open("/api/stream?threads=t,u", &keys[0]).await;
    let _foreign = open("/api/threads/t/stream", &keys[1]).await;
    let mut found = readers(&site, &keys[0], 4).await;
    // All of them get to the end, whatever they are told of it.
    let deadline = Instant::now() + Duration::from_secs(120);
    while found.iter().any(|reader| reader["lag"] != 0) {
        assert!(Instant::now() < deadline, "{found:?}");
        found = readers(&site, &keys[0], 4).await;
    }
    let shown = |reader: &Value| {
        let parts = ["thread", "dialect", "peer", "client", "rung", "cursor"];
        parts.map(|name| reader[name].clone())
    };
    let at = |epoch: &str| format!("{epoch}.1");
    let row = |thread: &str, dialect: &str, epoch: &str| {
        [
            json!(thread),
            json!(dialect),
            json!("127.0.0.1"),
            json!("test/1"),
            json!("live"),
            json!(at(epoch)),
        ]
    };
    let expected = [
        row("t", "native", &epochs[0]),
        row("t", "looopy", &epochs[0]),
        row("t", "native", &epochs[0]),
        row("u", "native", &epochs[1]),
    ];
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expected);
    assert!(found.iter().all(|reader| reader["since"].is_string() && reader["caller"].is_string()));
    assert_ne!(found[0]["caller"], found[1]["caller"], "they came with two keys");
    assert_eq!(readers(&site, &keys[1], 1).await.len(), 1, "the other tenant has one of its own");
    drop(native);
    assert_eq!(readers(&site, &keys[0], 3).await[0]["dialect"], "looopy");
    let (status, _) = site.ask(Method::GET, "/api/connections", &keys[2]).await;
    assert_eq!(status.as_u16(), 403);
}

#[tokio::test]
async fn a_probe_sends_its_events_one_by_one_and_says_when() {
    let site = Site::start().await;
    let request = site.request(Method::GET, "/api/connections/probe");
    let mut answer = request.header("x-forwarded-for", "10.0.0.1").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert_eq!(answer.headers()["x-accel-buffering"], "no");
    let mut text = String::new();
    let mut pieces = 0;
    while let Some(piece) = answer.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&piece).unwrap());
        pieces += 1;
    }
    let told: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(told.len(), 8);
    assert!(pieces > 1, "it comes in pieces");
    assert_eq!(told[0]["came"]["forwarded"], true);
    let sent: Vec<u64> = told.iter().map(|event| event["sent"].as_u64().unwrap()).collect();
    assert!(sent.iter().enumerate().all(|(nth, at)| *at >= nth as u64 * 100), "{sent:?}");
}
