//! Keys: what they open, what they do not, and that they can be taken back while in use.

use std::time::{Duration, SystemTime};

use reqwest::{Method, StatusCode};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Frames, Site, answer, key};

const SECRET: &str = r#"[{"kind":"a","visibility":"public"},{"kind":"b"},
    {"kind":"c","visibility":"operator"},{"kind":"internal:d"}]"#;

async fn kinds(site: &Site, path: &str, key: &str) -> Vec<String> {
    let (status, page) = site.ask(Method::GET, path, key).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    let entries = page["entries"].as_array().unwrap();
    entries.iter().map(|e| e["event"]["kind"].as_str().unwrap().to_owned()).collect()
}

/// Makes the thread `t` of a key's tenant.
async fn thread(site: &Site, key: &str) {
    let request = site.request(Method::POST, "/api/threads").bearer_auth(key);
    let (status, made) = answer(request.body(r#"{"id":"t"}"#).send().await.unwrap()).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
}

#[tokio::test]
async fn a_key_opens_its_own_tenants_threads_and_no_others() {
    let made = [
        key("acme", &["read"]),
        key("acme", &["write"]),
        key("acme", &["operator"]),
        key("other", &["operator"]),
    ];
    let (site, keys) = Site::start_with(Options::default(), &made).await;
    let [read, write, operator, other] = [0, 1, 2, 3].map(|i| keys[i].as_str());
    thread(&site, write).await;
    let request = site.request(Method::POST, "/api/threads/t/events").bearer_auth(write);
    assert_eq!(request.body(SECRET).send().await.unwrap().status(), StatusCode::OK);

    let (status, none) = site.get("/api/threads/t").await;
    assert_eq!((status.as_u16(), &none["error"]["code"]), (401, &"unauthorized".into()));
    let (status, no) = site.ask(Method::GET, "/api/threads/t", write).await;
    assert_eq!((status.as_u16(), &no["error"]["code"]), (403, &"forbidden".into()));
    let message = no["error"]["message"].as_str().unwrap();
    assert!(message.contains("`read`"), "{message}");
    let (status, _) = site.get(&format!("/api/threads/t?access_token={read}")).await;
    assert_eq!(status, StatusCode::OK, "a browser's EventSource can send no header");

    // What another has and what nobody has look the same.
    let (status, foreign) = site.ask(Method::GET, "/api/threads/t", other).await;
    let (_, missing) = site.ask(Method::GET, "/api/threads/u", other).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(foreign.to_string().replace("`t`", "`u`"), missing.to_string());
    thread(&site, other).await;

    // Asking for more does not show more.
    let all = "/api/threads/t/events?visibility=internal";
    assert_eq!(kinds(&site, all, read).await, ["thread-created", "a", "b"]);
    let seen = kinds(&site, all, operator).await;
    assert_eq!(seen, ["thread-created", "a", "b", "c", "internal:d"]);
    assert_eq!(kinds(&site, all, other).await, ["thread-created"]);
    let stream = site.request(Method::GET, "/api/threads/t/stream?visibility=internal");
    let mut stream = Frames::open(stream.bearer_auth(read)).await;
    let seen: Vec<_> = stream.until_caught_up().await;
    let seen: Vec<_> = seen.iter().filter_map(|frame| frame.field("event")).collect();
    assert_eq!(seen, ["thread-created", "a", "b"]);
}

#[tokio::test]
async fn revoking_a_key_ends_its_streams_and_no_others() {
    let made = [key("acme", &["read"]), key("acme", &["agent"])];
    let (site, keys) = Site::start_with(Options::default(), &made).await;
    thread(&site, &keys[1]).await;
    let mut streams = Vec::new();
    for path in ["/api/threads/t/stream", "/api/stream?threads=t", "/api/contexts/t/stream"] {
        for key in &keys {
            let request = site.request(Method::GET, path).query(&[("access_token", key)]);
            let mut stream = Frames::open(request).await;
            stream.until_caught_up().await;
            streams.push(stream);
        }
    }
    site.keys.revoke(&site.keys.list().unwrap()[0].id, 2).unwrap();
    for stream in streams.iter_mut().step_by(2) {
        let last = stream.next().await;
        assert_eq!(last.field("event"), Some("resync"));
        assert_eq!(last.data()["reason"], "revoked");
        stream.ends().await;
    }
    let (status, refused) = site.ask(Method::GET, "/api/threads/t", &keys[0]).await;
    assert_eq!((status.as_u16(), &refused["error"]["code"]), (401, &"unauthorized".into()));
    let request = site.request(Method::POST, "/api/threads/t/events").bearer_auth(&keys[1]);
    assert_eq!(request.body(r#"{"kind":"x"}"#).send().await.unwrap().status(), StatusCode::OK);
    for stream in streams.iter_mut().skip(1).step_by(2) {
        assert_eq!(stream.next().await.field("event"), Some("x"));
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_key_does() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let mut brief = key("acme", &["agent"]);
    brief.expires = Some(now as i64 + 1500);
    let (site, keys) = Site::start_with(Options::default(), &[brief]).await;
    thread(&site, &keys[0]).await;
    let request = site.request(Method::GET, "/api/threads/t/stream").bearer_auth(&keys[0]);
    let mut stream = Frames::open(request).await;
    stream.until_caught_up().await;
    assert_eq!(stream.next().await.data(), json!({"reason": "expired"}));
    stream.ends().await;
    let (status, _) = site.ask(Method::GET, "/api/threads/t", &keys[0]).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_first_key_closes_the_doors_and_revoking_it_does_not_open_them() {
    let options = Options { strangers: 100_000, ..Options::default() };
    let (site, _) = Site::start_with(options, &[]).await;
    site.thread("t").await;
    let mut stream = site.stream("/api/threads/t/stream", None).await;
    stream.until_caught_up().await;
    let (made, _) = site.keys.add(key("default", &["read"]), 1).unwrap();
    assert_eq!(stream.next().await.data()["reason"], "revoked");
    stream.ends().await;
    let (status, _) = site.get("/api/threads/t").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    site.keys.revoke(&made.id, 2).unwrap();
    // The change has been seen when a new key is.
    let (_, text) = site.keys.add(key("default", &["read"]), 3).unwrap();
    while site.ask(Method::GET, "/api/threads/t", &text).await.0 != StatusCode::OK {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (status, _) = site.get("/api/threads/t").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn without_keys_other_sites_cannot_use_the_visitors_browser() {
    let listed = "https://app.example".to_owned();
    let options = Options { cors: vec![listed.clone()], ..Options::default() };
    let (site, _) = Site::start_with(options, &[]).await;
    site.thread("t").await;
    let host = site.url.strip_prefix("http://").unwrap();
    for (name, value, status) in [
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", listed.as_str(), 200),
        ("origin", site.url.as_str(), 200),
        ("host", "rebound.example", 403),
        ("host", host, 200),
    ] {
        let request = site.request(Method::GET, "/api/threads/t").header(name, value);
        let (got, body): (_, Value) = answer(request.send().await.unwrap()).await;
        assert_eq!(got.as_u16(), status, "{name}: {value}: {body}");
    }
}
