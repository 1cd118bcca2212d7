//! What readers cost a server, measured on the real one.

use std::fs;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use crate::server::{Server, http};

/// Readers that take nothing while far more comes than can be kept for each of them, after some
/// for which the server opens the connections that all share.
const FIRST: usize = 10;
const READERS: usize = 12;
/// What a reader may cost at most: a piece that waits for room, and what hyper holds.
const EACH: usize = 1 << 20;

/// Someone who asks for all of thread `t`, with little room for what comes.
pub(crate) async fn reader(host: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(host.parse().unwrap()).await.unwrap();
    let request = format!("GET /api/threads/t/stream HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Bytes of memory that a process has of its own.
pub(crate) fn memory(pid: u32) -> usize {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_reader_that_takes_nothing_costs_the_same_however_much_comes() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("s.db");
    let server = Server::start_with(&[
        "--listen",
        "127.0.0.1:0",
        "--db",
        db.to_str().unwrap(),
        "--stall",
        "3600",
    ]);
    let client = http();
    let host = server.url.strip_prefix("http://").unwrap();
    let made = client.post(format!("{}/api/threads", server.url)).body(r#"{"id":"t"}"#);
    assert_eq!(made.send().await.unwrap().status(), StatusCode::CREATED);
    let event = format!("{{\"kind\":\"x\",\"pad\":\"{}\"}}", "p".repeat(8000));
    let batch = format!("[{}]", vec![event.as_str(); 100].join(","));
    let flood = async |batches: usize| {
        for _ in 0..batches {
            let url = format!("{}/api/threads/t/events", server.url);
            let sent = client.post(url).body(batch.clone()).send().await.unwrap();
            assert_eq!(sent.status(), StatusCode::OK);
        }
    };
    let count = async |name: &str| -> u64 {
        let text = client.get(format!("{}/metrics", server.url)).send().await.unwrap();
        let text = text.text().await.unwrap();
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap().parse().unwrap()
    };
    // So many readers are behind, and nothing more can be sent to them.
    let stuck = async |readers: usize| {
        let began = Instant::now();
        let mut sent = 0;
        while began.elapsed() < Duration::from_secs(60) {
            let behind = count("selvedge_readers_by_rung{rung=\"journal\"}").await;
            let now = count("selvedge_sent_bytes_total").await;
            if behind == readers as u64 && now == sent {
                return;
            }
            sent = now;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        panic!("never {readers} readers that are stuck");
    };
    flood(15).await;
    let mut readers = Vec::new();
    for _ in 0..FIRST {
        readers.push(reader(host).await);
    }
    stuck(FIRST).await;
    let before = memory(server.id());
    for _ in 0..READERS {
        readers.push(reader(host).await);
    }
    stuck(FIRST + READERS).await;
    // What was freed goes back to the system a while later, as requests come.
    let settled = async |most: usize| {
        let began = Instant::now();
        loop {
            count("selvedge_sent_bytes_total").await;
            let now = memory(server.id());
            if now < most || began.elapsed() > Duration::from_secs(30) {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let after = settled(before + READERS * EACH).await;
    assert!(after.saturating_sub(before) < READERS * EACH, "{before} to {after}");
    // As much again for each of them to read, and none of them costs more.
    flood(15).await;
    stuck(FIRST + READERS).await;
    let later = settled(after + (16 << 20)).await;
    assert!(later.saturating_sub(after) < 16 << 20, "{after} to {later}");
    drop(readers);
}
