//! An append is answered the same, whichever way it takes: read where it lies, or as any request.

use std::collections::BTreeMap;

use selvedge_server::Options;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::site::{Site, key};

/// A header that no answer depends on, and that only hyper reads.
const LONG_WAY: &str = "te: trailers\r\n";

/// An answer: its first line, its headers but for those that differ each time, its body.
type Answer = (String, BTreeMap<String, String>, String);

/// Sends a request, with some headers more, and reads the answer.
async fn said(site: &Site, request: &str, more: &str) -> Answer {
    let (first, rest) = request.split_once("\r\n").unwrap();
    let (head, body) = rest.split_once("\r\n\r\n").unwrap();
    let length = body.len();
    let request = format!(
        "{first}\r\n{more}{head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(site.url.strip_prefix("http://").unwrap()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().to_owned();
    let headers = lines.map(|line| line.split_once(": ").unwrap());
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut headers: BTreeMap<String, String> = headers.collect();
    assert!(headers.remove("date").is_some(), "{text}");
    if !request.contains("x-request-id: mine\r\n") {
        assert_eq!(headers.remove("x-request-id").unwrap().len(), 36);
    }
    (status, headers, body.to_owned())
}

#[tokio::test]
async fn an_append_is_answered_as_any_request_is() {
    let made = [key("acme", &["write"]), key("acme", &["read"]), key("other", &["write"])];
    let options = Options { body_bytes: 4096, ..Options::default() };
    let (site, keys) = Site::start_with(options, &made).await;
    let request = site.request(reqwest::Method::POST, "/api/threads").bearer_auth(&keys[0]);
    request.body(r#"{"id":"t"}"#).send().await.unwrap();
    let [write, read, other] = [0, 1, 2].map(|i| format!("authorization: Bearer {}", keys[i]));
    let event = r#"{"kind":"x","text":"é"}"#;
    let large = format!(r#"{{"kind":"x","text":"{}"}}"#, "a".repeat(5000));
    let lines = format!("{event}\n{event}");
    let none = "x-none: 1";
    for (path, headers, body, status) in [
        ("t", format!("{write}\r\nx-request-id: mine"), event, "200"),
        ("t", format!("{write}\r\nAccept: */*\r\nUser-Agent: x"), lines.as_str(), "200"),
        ("t", format!("{write}\r\nidempotency-key: k-{{n}}"), event, "200"),
        ("t", format!("{write}\r\nif-match: \"1.1\""), event, "409"),
        ("t", format!("{write}\r\nif-match: nonsense"), event, "400"),
        ("t", format!("{write}\r\nIdempotency-Key: \u{e9}"), event, "400"),
        ("t", write.clone(), r#"{"kind":1}"#, "422"),
        ("t", write.clone(), "{", "400"),
        ("t", write.clone(), "", "400"),
        ("t", write.clone(), large.as_str(), "413"),
        ("t", write.clone(), r#"{"kind":"x","contextId":"another"}"#, "422"),
        ("none", write.clone(), event, "404"),
        ("t", read, event, "403"),
        ("t", other, event, "404"),
        ("t", "authorization: Bearer nobody".to_owned(), event, "401"),
        ("t", "authorization: Basic eDp5".to_owned(), event, "401"),
        ("t", none.to_owned(), event, "401"),
        ("t%20u", write.clone(), event, "404"),
        ("t/u", write.clone(), event, "404"),
    ] {
        let ask = |n: usize| {
            let headers = headers.replace("{n}", &n.to_string());
            let path = format!("/api/threads/{path}/events");
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n\r\n{body}")
        };
        let one = said(&site, &ask(1), "").await;
        let two = said(&site, &ask(2), LONG_WAY).await;
        assert!(one.0.starts_with(&format!("HTTP/1.1 {status} ")), "{one:?} to {}", ask(1));
        if status == "200" {
            // They are two appends, one behind the other: but for their numbers they are the same.
            assert_eq!(shapes(&one), shapes(&two), "{}", ask(1));
            assert_ne!(one.2, two.2);
        } else {
            assert_eq!(one, two, "{}", ask(1));
        }
    }
}

/// An answer with every number as `0`.
fn shapes((status, headers, body): &Answer) -> (String, Vec<(String, String)>, String) {
    let plain = |text: &str| {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '0'..='9' if out.ends_with('0') => {}
                '0'..='9' => out.push('0'),
                c => out.push(c),
            }
        }
        out
    };
    let headers = headers.iter().map(|(name, value)| (name.clone(), plain(value)));
    (status.clone(), headers.collect(), plain(body))
}

#[tokio::test]
async fn a_key_says_the_same_on_both_ways_and_appends_follow_each_other_on_one_connection() {
    let site = Site::start().await;
    site.thread("t").await;
    let ask = "POST /api/threads/t/events HTTP/1.1\r\nhost: localhost\r\nidempotency-key: k\r\n\r\n{\"kind\":\"x\"}";
    let one = said(&site, ask, "").await;
    let two = said(&site, ask, LONG_WAY).await;
    assert!(one.2.contains("\"duplicate\":false") && two.2.contains("\"duplicate\":true"));
    assert_eq!(one.1["etag"], two.1["etag"]);
    let one = "POST /api/threads/t/events HTTP/1.1\r\nhost: localhost\r\ncontent-length: 12\r\n\r\n{\"kind\":\"y\"}";
    let get = "GET /api/threads/t HTTP/1.1\r\nhost: localhost\r\n";
    let mut stream = TcpStream::connect(site.url.strip_prefix("http://").unwrap()).await.unwrap();
    // All at once, and cut in the middle of one.
    let all = format!("{one}{one}{get}\r\n{one}{get}connection: close\r\n\r\n");
    let (begin, end) = all.split_at(one.len() + 40);
    stream.write_all(begin.as_bytes()).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    stream.write_all(end.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 5, "{text}");
    let places: Vec<_> = ["\"first\":3,", "\"first\":4,", "\"first\":5,"]
        .map(|first| text.find(first).expect("in order"))
        .to_vec();
    assert!(places.is_sorted(), "{text}");
}

#[tokio::test]
async fn without_keys_another_name_of_this_machine_is_refused_on_both_ways() {
    let site = Site::start().await;
    site.thread("t").await;
    let ask = "POST /api/threads/t/events HTTP/1.1\r\nhost: evil.example\r\n\r\n{\"kind\":\"x\"}";
    let one = said(&site, ask, "").await;
    assert!(one.0.contains("403"), "{one:?}");
    assert_eq!(one, said(&site, ask, LONG_WAY).await);
    let page = "origin: https://evil.example\r\n";
    let ask = ask.replace("evil.example", "localhost");
    assert!(said(&site, &ask, page).await.0.contains("403"));
}
