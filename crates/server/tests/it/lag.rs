//! Readers that are too slow, that take nothing, or whose thread goes away: each is told, or cut
//! off, and nobody else notices.

use std::time::Duration;

use reqwest::Method;
use selvedge_server::{Lag, Options};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::site::{Frame, Site};

/// Events of about 8 KiB each, more than the buffers on the way can hold.
async fn flood(site: &Site, thread: &str, events: usize) {
    let event = format!("{{\"kind\":\"x\",\"pad\":\"{}\"}}", "p".repeat(8000));
    let batch = format!("[{}]", vec![event.as_str(); 100].join(","));
    for _ in 0..events / 100 {
        let (status, answer) =
            site.post(&format!("/api/threads/{thread}/events"), batch.clone()).await;
        assert_eq!(status.as_u16(), 200, "{answer}");
    }
}

/// Asks for something with next to no room for the answer, and takes nothing of it yet.
async fn asked(site: &Site, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let host = site.url.strip_prefix("http://").unwrap();
    let mut stream = socket.connect(host.parse().unwrap()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// All that was sent, as frames.
async fn drained(mut stream: TcpStream) -> Vec<Frame> {
    let mut bytes = Vec::new();
    let read = timeout(Duration::from_secs(60), stream.read_to_end(&mut bytes));
    read.await.expect("an end in time").unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (_, mut rest) = text.split_once("\r\n\r\n").unwrap();
    let mut body = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&more[..size]);
        rest = &more[size + 2..];
    }
    let frames = body.split_inclusive("\n\n").map(str::to_owned);
    frames.map(|text| Frame { text }).collect()
}

#[tokio::test]
async fn a_reader_beyond_its_bound_is_told_to_resync_while_others_keep_up() {
    let lag = Lag { entries: 500, ..Lag::default() };
    let (site, _) = Site::start_with(Options { lag, ..Options::default() }, &[]).await;
    let epoch = site.thread("t").await;
    let mut fast = site.stream("/api/threads/t/stream", None).await;
    fast.until_caught_up().await;
    let slow = asked(&site, "/api/threads/t/stream").await;
    site.until("selvedge_readers_by_rung{rung=\"live\"}", |readers| readers == 2).await;
    let (_, fast) = tokio::join!(flood(&site, "t", 3000), async {
        let mut seen = 1;
        while seen < 3001 {
            let frame = fast.next().await;
            if let Some(id) = frame.field("id") {
                seen += 1;
                assert_eq!(id, format!("{epoch}.{seen}"), "the fast one misses nothing");
            }
        }
        fast
    });
    let frames = drained(slow).await;
    let last = frames.last().unwrap();
    assert_eq!(last.field("event"), Some("resync"), "{}", last.text);
    assert_eq!(last.field("id"), None);
    let ids: Vec<&str> = frames.iter().filter_map(|frame| frame.field("id")).collect();
    let expected: Vec<String> = (0..ids.len()).map(|seq| format!("{epoch}.{seq}")).collect();
    assert_eq!(ids, expected, "what it got is the journal without a hole");
    let cursor = last.data()["cursor"].as_str().unwrap().to_owned();
    assert_eq!(last.data(), json!({"cursor": ids.last().unwrap(), "reason": "lag"}));
    assert!(ids.len() < 2500, "it was not just read to the end: {}", ids.len());
    // What it did not get, it gets now: it reads the past at its own pace.
    let rest = site.stream("/api/threads/t/stream", Some(&cursor)).await.until_caught_up().await;
    let expected: Vec<String> = (ids.len() - 1..=3001).map(|s| format!("{epoch}.{s}")).collect();
    let rest: Vec<&str> = rest.iter().filter_map(|frame| frame.field("id")).collect();
    assert_eq!(rest, expected);
    assert_eq!(site.count("selvedge_resyncs_total{reason=\"lag\"}").await, 1);
    site.until("selvedge_readers_by_rung{rung=\"live\"}", |readers| readers == 1).await;
    drop(fast);
    site.until("selvedge_readers_by_rung{rung=\"live\"}", |readers| readers == 0).await;
    assert_eq!(site.count("selvedge_readers_by_rung{rung=\"journal\"}").await, 0);
}

#[tokio::test]
async fn a_reader_that_is_behind_for_too_long_is_told_to_resync() {
    let lag = Lag { time: Duration::from_millis(50), ..Lag::default() };
    let (site, _) = Site::start_with(Options { lag, ..Options::default() }, &[]).await;
    site.thread("t").await;
    let slow = asked(&site, "/api/threads/t/stream").await;
    site.until("selvedge_readers_by_rung{rung=\"live\"}", |readers| readers == 1).await;
    flood(&site, "t", 3000).await;
    // More than what is shared holds came while it took nothing, and longer ago than it may be.
    tokio::time::sleep(lag.time * 2).await;
    let frames = drained(slow).await;
    assert_eq!(frames.last().unwrap().data()["reason"], "lag");
}

#[tokio::test]
async fn reading_the_past_slowly_is_no_lag() {
    let lag = Lag { entries: 1, time: Duration::from_millis(1) };
    let (site, _) = Site::start_with(Options { lag, ..Options::default() }, &[]).await;
    site.thread("t").await;
    flood(&site, "t", 2000).await;
    let slow = asked(&site, "/api/threads/t/stream").await;
    site.until("selvedge_readers_by_rung{rung=\"journal\"}", |readers| readers == 1).await;
    let drained = tokio::spawn(drained(slow));
    site.until("selvedge_readers_by_rung{rung=\"live\"}", |readers| readers == 1).await;
    let (status, _) = answer_of_delete(&site, "t").await;
    assert_eq!(status, 204);
    let frames = drained.await.unwrap();
    assert_eq!(frames.iter().filter(|frame| frame.field("event") == Some("x")).count(), 2000);
    assert_eq!(frames.last().unwrap().field("event"), Some("gone"));
}

#[tokio::test]
async fn a_peer_that_takes_nothing_is_cut_off_and_its_place_is_free() {
    let options =
        Options { stall: Duration::from_millis(300), connections: 2, ..Options::default() };
    let (site, _) = Site::start_with(options, &[]).await;
    site.thread("t").await;
    let mut stalled = asked(&site, "/api/threads/t/stream").await;
    site.until("selvedge_readers", |readers| readers == 1).await;
    flood(&site, "t", 2000).await;
    site.until("selvedge_stalled_total", |stalled| stalled == 1).await;
    site.until("selvedge_readers", |readers| readers == 0).await;
    site.until("selvedge_connections", |open| open == 1).await;
    let mut bytes = Vec::new();
    let end = timeout(Duration::from_secs(60), stalled.read_to_end(&mut bytes)).await.unwrap();
    assert!(end.is_err() || !bytes.ends_with(b"0\r\n\r\n"), "nobody takes it for whole");
    // A silent one that reads is not stalled, however long nothing happens.
    let mut quiet = site.stream("/api/threads/t/stream?after=tail", None).await;
    quiet.until_caught_up().await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    site.post("/api/threads/t/events", r#"{"kind":"late"}"#).await;
    assert_eq!(quiet.next().await.field("event"), Some("late"));
    assert_eq!(site.count("selvedge_stalled_total").await, 1);
}

async fn answer_of_delete(site: &Site, id: &str) -> (u16, String) {
    let request = site.request(Method::DELETE, &format!("/api/threads/{id}"));
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn deleting_a_thread_ends_its_streams_and_no_others() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    site.thread("u").await;
    let mut streams = Vec::new();
    for path in
        ["/api/threads/t/stream", "/api/threads/t/stream?dialect=looopy", "/api/contexts/t/stream"]
    {
        let mut stream = site.stream(path, None).await;
        stream.until_caught_up().await;
        streams.push(stream);
    }
    let path = "/api/stream?threads=t,u";
    let mut many = site.stream(path, None).await;
    for _ in 0..2 {
        many.until_caught_up().await;
    }
    assert_eq!(answer_of_delete(&site, "t").await.0, 204);
    for stream in &mut streams {
        let last = stream.next().await;
        assert_eq!(last.field("event"), Some("gone"), "{}", last.text);
        assert_eq!(last.data(), json!({"cursor": format!("{epoch}.1"), "reason": "deleted"}));
        stream.ends().await;
    }
    assert_eq!(site.count("selvedge_resyncs_total{reason=\"deleted\"}").await, 4);
    // The same id again is another thread, and its readers are not the old one's.
    site.thread("t").await;
    let mut anew = site.stream("/api/threads/t/stream?after=tail", None).await;
    anew.until_caught_up().await;
    for id in ["t", "u"] {
        site.post(&format!("/api/threads/{id}/events"), r#"{"kind":"after"}"#).await;
    }
    assert_eq!(anew.next().await.field("event"), Some("after"));
    let gone = many.next().await;
    assert_eq!(gone.field("event"), Some("gone"));
    assert_eq!((&gone.data()["thread"], &gone.data()["reason"]), (&"t".into(), &"deleted".into()));
    let told = many.next().await.field("id").unwrap().to_owned();
    assert!(told.starts_with("t@gone,u@"), "{told}");
    assert_eq!(many.next().await.data()["contextId"], "u", "the other goes on");
    // It resumes without the one that it knows to be gone.
    let mut rest = site.stream(path, Some(&told)).await;
    let rest = rest.until_caught_up().await;
    assert!(rest.iter().all(|frame| !frame.text.contains("\"contextId\":\"t\"")), "{rest:?}");
    assert_eq!(rest.last().unwrap().field("event"), Some("after"));
    let gone = site.request(Method::GET, path).header("Last-Event-ID", "t@gone,u@gone");
    assert_eq!(gone.send().await.unwrap().status().as_u16(), 404);
}
