//! Bounds and headers that hold for every request.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use selvedge_server::Options;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::site::{Frames, Site, answer, key};

#[tokio::test]
async fn every_answer_tells_browsers_to_be_careful() {
    let site = Site::start().await;
    site.thread("t").await;
    for path in ["/api/threads/t", "/api/threads/none", "/nothing", "/health"] {
        let response = site.request(Method::GET, path).send().await.unwrap();
        let headers = response.headers();
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert_eq!(headers["x-frame-options"], "DENY");
        assert_eq!(headers["cache-control"], "no-store");
        assert!(headers["content-security-policy"].to_str().unwrap().contains("'none'"));
        assert!(!headers.contains_key("strict-transport-security"));
        assert!(!headers.contains_key("access-control-allow-origin"));
    }
    let stream = site.request(Method::GET, "/api/threads/t/stream").send().await.unwrap();
    assert_eq!(stream.headers()["cache-control"], "no-cache, no-transform");
}

#[tokio::test]
async fn listed_sites_may_ask_and_others_may_not() {
    let options = Options { cors: vec!["https://app.example".to_owned()], ..Options::default() };
    let (site, keys) = Site::start_with(options, &[key("acme", &["read"])]).await;
    let preflight = |origin: &'static str| {
        let request = site.request(Method::OPTIONS, "/api/threads/t").header("origin", origin);
        request.header("access-control-request-method", "GET").send()
    };
    let response = preflight("https://app.example").await.unwrap();
    assert_eq!(response.status(), StatusCode::NO_CONTENT, "without a key");
    let headers = response.headers();
    assert_eq!(headers["access-control-allow-origin"], "https://app.example");
    let allowed = headers["access-control-allow-headers"].to_str().unwrap();
    assert!(allowed.contains("authorization") && allowed.contains("last-event-id"), "{allowed}");
    let response = preflight("https://evil.example").await.unwrap();
    assert!(!response.headers().contains_key("access-control-allow-origin"));
    for (origin, allowed) in [("https://app.example", true), ("https://evil.example", false)] {
        let request = site.request(Method::GET, "/api/threads/t").header("origin", origin);
        let response = request.bearer_auth(&keys[0]).send().await.unwrap();
        assert_eq!(response.headers().contains_key("access-control-allow-origin"), allowed);
        assert_eq!(response.headers()["vary"], "origin");
    }
}

#[tokio::test]
async fn who_asks_too_often_has_to_wait_and_others_do_not() {
    let options = Options { rate: Some(5), ..Options::default() };
    let made = [key("acme", &["read"]), key("acme", &["read"])];
    let (site, keys) = Site::start_with(options, &made).await;
    let mut limited = None;
    for _ in 0..40 {
        let request = site.request(Method::GET, "/api/threads/t").bearer_auth(&keys[0]);
        let response = request.send().await.unwrap();
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            limited = Some(response);
        }
    }
    let limited = limited.expect("a bound");
    assert_eq!(limited.headers()["retry-after"], "1");
    assert_eq!(answer(limited).await.1["error"]["code"], "rate_limited");
    let (status, _) = site.ask(Method::GET, "/api/threads/t", &keys[1]).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let mut refused = 0;
    for _ in 0..200 {
        refused += u16::from(site.get("/api/threads/t").await.0 == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(refused > 0, "those without a key are bounded by their address");
}

#[tokio::test]
async fn connections_beyond_the_bound_are_told_so() {
    let (site, _) = Site::start_with(Options { connections: 2, ..Options::default() }, &[]).await;
    site.thread("t").await;
    let address = site.url.strip_prefix("http://").unwrap();
    let mut idle = TcpStream::connect(address).await.unwrap();
    // The client keeps the other one open.
    let mut third = TcpStream::connect(address).await.unwrap();
    let mut text = String::new();
    third.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 503 ") && text.contains("too_many_connections"), "{text}");
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    text.clear();
    idle.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_not_waited_for() {
    // Long enough for what is answered, also where much else goes on.
    let options = Options { request_timeout: Duration::from_secs(3), ..Options::default() };
    let (site, _) = Site::start_with(options, &[]).await;
    site.thread("t").await;
    let mut slow = TcpStream::connect(site.url.strip_prefix("http://").unwrap()).await.unwrap();
    slow.write_all(
        b"POST /api/threads/t/events HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{",
    )
    .await
    .unwrap();
    let mut text = String::new();
    slow.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 408 ") && text.contains("\"timeout\""), "{text}");
    // A stream is not an answer that takes long.
    let mut stream = Frames::open(site.request(Method::GET, "/api/threads/t/stream")).await;
    stream.until_caught_up().await;
    tokio::time::sleep(Duration::from_millis(3500)).await;
    site.post("/api/threads/t/events", r#"{"kind":"x"}"#).await;
    assert_eq!(stream.next().await.field("event"), Some("x"));
}

#[tokio::test]
async fn a_head_that_does_not_arrive_is_not_waited_for() {
    let options = Options { head_timeout: Duration::from_millis(200), ..Options::default() };
    let (site, _) = Site::start_with(options, &[]).await;
    let mut slow = TcpStream::connect(site.url.strip_prefix("http://").unwrap()).await.unwrap();
    slow.write_all(b"GET /health HTTP/1.1\r\nx-a: b\r\n").await.unwrap();
    let mut text = String::new();
    slow.read_to_string(&mut text).await.unwrap();
    assert!(!text.contains("200 OK"), "{text}");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let site = Site::start().await;
    let request = site.request(Method::GET, "/health").header("x-large", "x".repeat(1 << 20));
    // It may close before all has been sent.
    if let Ok(response) = request.send().await {
        assert_eq!(response.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }
    assert_eq!(site.get("/health").await.0, StatusCode::OK);
}
