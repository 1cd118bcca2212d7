//! Readers who hardly read beside readers who do: those keep their latency, and the server's
//! memory stays within bounds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Client;
use selvedge_protocol::sse::{Cutter, Frame};
use tokio::io::AsyncReadExt as _;

use super::{Place, Plan, Report, address, thread};
use crate::readers::{memory, reader};
use crate::server::Server;

const FAST: usize = 20;
const SLOW: usize = 100;
/// What a slow reader may cost, and what may come and go besides.
const EACH: usize = 1 << 20;
const BESIDES: usize = 48 << 20;
/// How long nothing may come to any of the fast ones.
const STILL: Duration = Duration::from_secs(120);
/// Time between two events.
const PACE: Duration = Duration::from_millis(20);

/// What fast readers have to say.
#[derive(Default)]
struct Heard {
    /// Times from asking for an append to its receipt.
    latencies: Mutex<Vec<Duration>>,
    /// How many of them are there.
    ready: AtomicUsize,
}

pub(super) async fn run(plan: &Plan, client: &Client, report: &mut Report) {
    let place = Place::new("slow", report);
    let db = place.db();
    let db = ["--listen", &address(), "--stall", "3600", "--db", db.to_str().unwrap()];
    let server = Server::start_with(&db);
    let host = server.url.trim_start_matches("http://").to_owned();
    thread(client, &server.url, "t").await;
    let heard = Arc::new(Heard::default());
    let base = Instant::now();
    // So much that nobody's socket holds it: whoever reads slowly has it before them.
    for _ in 0..20 {
        append(client, &server.url, &"p".repeat(200_000)).await;
    }
    let fast: Vec<_> = (0..FAST)
        .map(|_| {
            let url = format!("{}/api/threads/t/stream?after=tail", server.url);
            tokio::spawn(watch(client.clone(), url, base, heard.clone()))
        })
        .collect();
    reached(FAST, "are caught up", || heard.ready.load(Ordering::Relaxed)).await;
    let (mut alone, _) = measure(plan, client, &server, base, &heard).await;
    let before = memory(server.id());
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        let mut stream = reader(&host).await;
        slow.push(tokio::spawn(async move {
            let mut some = [0; 512];
            while stream.read(&mut some).await.is_ok_and(|n| n > 0) {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }));
    }
    // What fits into their sockets is sent at once, and is no matter of who reads slowly.
    filled(client, &server.url).await;
    let (mut beside, mut most) = measure(plan, client, &server, base, &heard).await;
    // The machine may just have had more to do: what the readers do, they do every time.
    for _ in 0..2 {
        if beside.0 <= allowed(alone.0) {
            break;
        }
        eprintln!("    half of all took {beside:?}, {alone:?} before: once more");
        let (again, memory) = measure(plan, client, &server, base, &heard).await;
        (beside, most) = (beside.min(again), most.max(memory));
    }
    let grown = most.saturating_sub(before);
    slow.iter().for_each(tokio::task::JoinHandle::abort);
    // Again without them, as it may have got more to do since.
    alone = alone.max(measure(plan, client, &server, base, &heard).await.0);
    fast.iter().for_each(tokio::task::JoinHandle::abort);
    report.hold(grown <= SLOW * EACH + BESIDES, || format!("memory grew by {grown} bytes"));
    report.hold(beside.0 <= allowed(alone.0), || {
        format!("half of all took {beside:?}, {alone:?} without slow readers")
    });
    report.tried(format!(
        "slow readers: {FAST} fast ones beside {SLOW} that take 1 KiB a second: p50 {:.1} ms and p99 \
         {:.1} ms from append to receipt, without them {:.1} and {:.1} ms (ratio of p50 {:.2}); the \
         server's own memory grew by {:.1} MiB",
        millis(beside.0),
        millis(beside.1),
        millis(alone.0),
        millis(alone.1),
        millis(beside.0) / millis(alone.0).max(0.001),
        grown as f64 / f64::from(1 << 20),
    ));
    server.kill();
    place.done(report);
}

/// What half of all may take beside slow readers: only what is far off is a finding.
fn allowed(alone: Duration) -> Duration {
    alone * 5 + Duration::from_millis(100)
}

/// Waits until a count is reached: as long as it takes while it grows.
async fn reached(count: usize, what: &str, now: impl Fn() -> usize) {
    let (mut seen, mut since) = (now(), Instant::now());
    while now() < count {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if now() > seen {
            (seen, since) = (now(), Instant::now());
        }
        assert!(since.elapsed() < STILL, "{seen} of {count} {what}, and no more for {STILL:?}");
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Waits until the server can send hardly anything more.
async fn filled(client: &Client, url: &str) {
    let (began, mut sent) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(60) {
        let text = client.get(format!("{url}/metrics")).send().await.unwrap().text().await.unwrap();
        let now = text.lines().find_map(|line| line.strip_prefix("selvedge_sent_bytes_total "));
        let now: u64 = now.unwrap().parse().unwrap();
        if now - sent < 1 << 20 {
            return;
        }
        sent = now;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn append(client: &Client, url: &str, text: &str) {
    let event = format!("{{\"kind\":\"system\",\"name\":\"x\",\"data\":\"{text}\"}}");
    let answer = client.post(format!("{url}/api/threads/t/events")).body(event).send().await;
    assert_eq!(answer.unwrap().status().as_u16(), 200);
}

/// Half and 99 of 100 latencies over some time, and the most memory that the server had.
async fn measure(
    plan: &Plan,
    client: &Client,
    server: &Server,
    base: Instant,
    heard: &Heard,
) -> ((Duration, Duration), usize) {
    heard.latencies.lock().unwrap().clear();
    let (began, mut most, mut sent) = (Instant::now(), 0, 0);
    while began.elapsed() < plan.time {
        let text = format!("@{} {}", base.elapsed().as_micros(), "x".repeat(2000));
        append(client, &server.url, &text).await;
        sent += 1;
        most = most.max(memory(server.id()));
        tokio::time::sleep(PACE).await;
    }
    reached(sent * FAST, "events were received", || heard.latencies.lock().unwrap().len()).await;
    let mut all = heard.latencies.lock().unwrap().clone();
    all.sort();
    ((all[all.len() / 2], all[all.len() * 99 / 100]), most)
}

/// Reads as fast as it can, and notes how long ago each event was sent.
async fn watch(client: Client, url: String, base: Instant, heard: Arc<Heard>) {
    let mut response = client.get(url).send().await.unwrap();
    let mut cutter = Cutter::unlimited();
    while let Ok(Some(piece)) = response.chunk().await {
        let now = base.elapsed();
        let cut = cutter.push(&piece, |event| {
            let Some(frame) = Frame::read(&String::from_utf8_lossy(event)) else { return };
            if frame.event == "caught-up" {
                heard.ready.fetch_add(1, Ordering::Relaxed);
            }
            let Some((_, sent)) = frame.data.split_once('@') else { return };
            let Some(sent) = sent.split(' ').next().and_then(|sent| sent.parse().ok()) else {
                return;
            };
            heard.latencies.lock().unwrap().push(now.saturating_sub(Duration::from_micros(sent)));
        });
        cut.unwrap();
    }
}
