//! How soon what one node took is told at every other.

use std::time::{Duration, Instant};

use reqwest::{Client, Response};
use selvedge_protocol::sse::{Cutter, Frame};

use super::nodes::{NODES, Nodes};
use crate::chaos::{Report, thread};

/// The longest wait. Without any hint it is a second, but test machines have other things to do.
const SOON: Duration = Duration::from_secs(10);
const THREAD: &str = "live";

/// Appends at each node, with a reader at every one of them; the longest time until one was told.
pub(super) async fn slowest(nodes: &Nodes, client: &Client, report: &mut Report) -> Duration {
    thread(client, nodes.url(0), THREAD).await;
    let mut readers = Vec::new();
    for node in 0..NODES {
        let url = format!("{}/api/threads/{THREAD}/stream", nodes.url(node));
        let response = client.get(url).send().await.unwrap();
        let mut reader = Ear { response, cutter: Cutter::unlimited(), told: Vec::new() };
        assert!(reader.hears("caught-up").await, "a reader of {node} is never caught up");
        readers.push(reader);
    }
    let mut slowest = Duration::ZERO;
    for from in 0..NODES {
        let word = format!("from-{from}");
        let body = format!("{{\"kind\":\"content-delta\",\"taskId\":\"k\",\"delta\":\"{word}\"}}");
        let url = format!("{}/api/threads/{THREAD}/events", nodes.url(from));
        let answer = client.post(url).body(body).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 200, "{}", answer.text().await.unwrap());
        let began = Instant::now();
        for (at, reader) in readers.iter_mut().enumerate() {
            let heard = reader.hears(&word).await;
            report.hold(heard, || {
                format!("{SOON:?} after an append at {from}, {at} has not told it")
            });
        }
        slowest = slowest.max(began.elapsed());
    }
    slowest
}

/// A reader, and what it was told.
struct Ear {
    response: Response,
    cutter: Cutter,
    told: Vec<String>,
}

impl Ear {
    /// Waits for an event that has a word in it.
    async fn hears(&mut self, word: &str) -> bool {
        let until = Instant::now() + SOON;
        loop {
            if self.told.iter().any(|told| told.contains(word)) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            let Ok(Ok(Some(piece))) = tokio::time::timeout(left, self.response.chunk()).await
            else {
                return false;
            };
            let Self { cutter, told, .. } = self;
            let cut = cutter.push(&piece, |event| {
                if let Some(frame) = Frame::read(&String::from_utf8_lossy(event)) {
                    told.push(format!("{} {}", frame.event, frame.data));
                }
            });
            assert!(cut.is_ok(), "an event without an end");
        }
    }
}
