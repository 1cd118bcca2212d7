//! A server that is killed under load loses nothing it acknowledged and doubles nothing.
//!
//! `SELVEDGE_KILLS` sets how often it is killed; a few times unless told otherwise.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::{Client, StatusCode};
use selvedge_protocol::sse::{Cutter, Frame};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::server::{Server, http};

const THREADS: u64 = 4;
const WRITERS: u64 = 12;

/// What all tasks share.
struct Run {
    client: Client,
    url: Mutex<String>,
    stop: AtomicBool,
    /// Sequence numbers that were acknowledged, by thread and name.
    acknowledged: Mutex<HashMap<(u64, String), u64>>,
    retried: AtomicU64,
}

impl Run {
    fn url(&self) -> String {
        self.url.lock().unwrap().clone()
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Appends until it is acknowledged, under one key.
    async fn append(&self, thread: u64, name: &str) {
        let event = json!({"kind": "system", "name": name, "data": "x".repeat(200)}).to_string();
        loop {
            let url = format!("{}/api/threads/t{thread}/events", self.url());
            let request = self.client.post(url).header("Idempotency-Key", name).body(event.clone());
            if let Ok(response) = request.send().await
                && response.status() == StatusCode::OK
                && let Ok(text) = response.text().await
                && let Ok(answer) = serde_json::from_str::<Value>(&text)
            {
                let seq = answer["first"].as_u64().unwrap();
                self.acknowledged.lock().unwrap().insert((thread, name.to_owned()), seq);
                return;
            }
            self.retried.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Follows a thread through every kill, resuming where it was; gives what it saw.
    async fn follow(&self, thread: u64, upto: impl Fn() -> Option<u64>) -> Vec<(u64, String)> {
        let mut seen: Vec<(u64, String)> = Vec::new();
        let mut last: Option<String> = None;
        loop {
            let url = format!("{}/api/threads/t{thread}/stream", self.url());
            let mut request = self.client.get(url);
            if let Some(last) = &last {
                request = request.header("Last-Event-ID", last);
            }
            let Ok(mut response) = request.send().await else {
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            let mut cutter = Cutter::unlimited();
            loop {
                if upto().is_some_and(|upto| seen.last().is_some_and(|(seq, _)| *seq >= upto)) {
                    return seen;
                }
                let piece = tokio::time::timeout(Duration::from_millis(200), response.chunk());
                let piece = match piece.await {
                    Ok(Ok(Some(piece))) => piece,
                    Ok(_) => break,
                    Err(_) => continue,
                };
                let cut = cutter.push(&piece, |event| {
                    let frame = Frame::read(&String::from_utf8_lossy(event));
                    let Some(frame) = frame else { return };
                    assert_ne!(frame.event, "gap", "a cursor that it gave is known");
                    let Some(id) = frame.id else { return };
                    if !frame.data.is_empty() {
                        let seq = id.split('.').nth(1).unwrap().parse().unwrap();
                        seen.push((seq, frame.data));
                    }
                    last = Some(id);
                });
                cut.unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_or_doubled_by_kills() {
    let kills: u32 = std::env::var("SELVEDGE_KILLS").map_or(10, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("s.db");
    let mut server = Server::start(&db);
    let run = Arc::new(Run {
        client: http(),
        url: Mutex::new(server.url.clone()),
        stop: AtomicBool::new(false),
        acknowledged: Mutex::default(),
        retried: AtomicU64::new(0),
    });
    for thread in 0..THREADS {
        let body = format!("{{\"id\":\"t{thread}\"}}");
        let made = run.client.post(format!("{}/api/threads", server.url)).body(body);
        assert_eq!(made.send().await.unwrap().status(), StatusCode::CREATED);
    }
    let heads: Arc<Mutex<Option<Vec<u64>>>> = Arc::default();
    let readers: Vec<_> = (0..THREADS * 2)
        .map(|i| {
            let (run, heads) = (run.clone(), heads.clone());
            let thread = i % THREADS;
            let upto = move || heads.lock().unwrap().as_ref().map(|heads| heads[thread as usize]);
            tokio::spawn(async move { (thread, run.follow(thread, upto).await) })
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let run = run.clone();
            tokio::spawn(async move {
                for n in 0.. {
                    if run.stopped() {
                        return;
                    }
                    run.append(writer % THREADS, &format!("w{writer}-{n}")).await;
                }
            })
        })
        .collect();
    for kill in 0..kills {
        // Not always at the same point of its work.
        sleep(Duration::from_millis(u64::from(60 + kill * 37 % 190))).await;
        server.kill();
        server = Server::start(&db);
        *run.url.lock().unwrap() = server.url.clone();
    }
    sleep(Duration::from_millis(200)).await;
    run.stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }

    let mut journals = Vec::new();
    for thread in 0..THREADS {
        let mut journal: Vec<(u64, String)> = Vec::new();
        loop {
            let after = journal.last().map_or(0, |(seq, _)| *seq);
            let epoch = journal_epoch(&run, thread).await;
            let path = format!("/api/threads/t{thread}/events?limit=10000&after={epoch}.{after}");
            let page = run.client.get(format!("{}{path}", run.url())).send().await.unwrap();
            let page: Value = serde_json::from_str(&page.text().await.unwrap()).unwrap();
            for entry in page["entries"].as_array().unwrap() {
                journal.push((entry["seq"].as_u64().unwrap(), entry["event"].to_string()));
            }
            if journal.len() as u64 == page["head"].as_u64().unwrap() {
                break;
            }
        }
        let seqs: Vec<u64> = journal.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, (1..=journal.len() as u64).collect::<Vec<_>>(), "dense");
        journals.push(journal);
    }
    *heads.lock().unwrap() = Some(journals.iter().map(|j| j.len() as u64).collect());

    let acknowledged = run.acknowledged.lock().unwrap().clone();
    let names: usize = journals.iter().map(|journal| journal.len() - 1).sum();
    assert_eq!(names, acknowledged.len(), "every event is there once, and no other");
    for ((thread, name), seq) in &acknowledged {
        let (_, event) = &journals[*thread as usize][*seq as usize - 1];
        let event: Value = serde_json::from_str(event).unwrap();
        assert_eq!(event["name"], json!(name), "at {seq} of t{thread}");
    }
    for reader in readers {
        let (thread, seen) = reader.await.unwrap();
        let journal = &journals[thread as usize];
        let seen: Vec<(u64, Value)> = seen.iter().map(|(s, e)| (*s, value(e))).collect();
        let journal: Vec<(u64, Value)> = journal.iter().map(|(s, e)| (*s, value(e))).collect();
        assert_eq!(seen, journal, "a reader of t{thread} saw exactly the journal");
    }
    let retried = run.retried.load(Ordering::Relaxed);
    assert!(retried > 0, "the kills were felt");
    server.kill();
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

async fn journal_epoch(run: &Run, thread: u64) -> String {
    let shown = run.client.get(format!("{}/api/threads/t{thread}", run.url())).send();
    let shown = value(&shown.await.unwrap().text().await.unwrap());
    shown["cursor"].as_str().unwrap().split('.').next().unwrap().to_owned()
}
