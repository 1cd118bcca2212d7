//! One thread to many readers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::sync::Barrier;

use super::http::{Connection, get, post};
use super::{FanoutArgs, Report, failed, own_cpu};
use crate::error::Error;

/// How long readers may take for what is left when the writer is done.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn run(args: &FanoutArgs) -> Result<Report, Error> {
    let address = args.common.address.as_str();
    work(args).await.map_err(|error| failed(address, error))
}

async fn work(args: &FanoutArgs) -> io::Result<Report> {
    let common = &args.common;
    let thread = format!("bench-{}", std::process::id());
    let mut writer = Connection::open(&common.address).await?;
    let made = post("/api/threads", &format!("{{\"id\":\"{thread}\"}}"));
    if writer.exchange(&made).await? != 201 {
        return Err(io::Error::other("the thread could not be made"));
    }
    let begin = Instant::now();
    let wanted = Arc::new(AtomicU64::new(u64::MAX));
    let ready = Arc::new(Barrier::new(args.readers + 1));
    let mut readers = Vec::new();
    for _ in 0..args.readers {
        let connection = Connection::open(&common.address).await?;
        let path = format!("/api/threads/{thread}/stream?after=tail");
        let stream = connection.stream(&get(&path)).await?;
        let (ready, wanted) = (ready.clone(), wanted.clone());
        readers.push(tokio::spawn(read(stream, begin, ready, wanted)));
    }
    ready.wait().await;
    let (from, cpu) = (Instant::now(), own_cpu());
    let end = from + common.time();
    let fill = "x".repeat(common.size.saturating_sub(90));
    let mut sent = 0;
    let mut appends = 0u32;
    while Instant::now() < end {
        let at = begin.elapsed().as_micros();
        let event = format!(
            "{{\"kind\":\"content-delta\",\"taskId\":\"k\",\"sent\":\"{at:012}\",\"delta\":\"{fill}\"}}"
        );
        let body = format!("[{}]", vec![event; args.batch.max(1)].join(","));
        let path = format!("/api/threads/{thread}/events");
        match writer.exchange(&post(&path, &body)).await? {
            200 => sent += args.batch.max(1) as u64,
            status => return Err(io::Error::other(format!("answer {status}"))),
        }
        appends += 1;
        if let Some(rate) = args.rate {
            let due = from + Duration::from_secs_f64(f64::from(appends) / rate.max(0.001));
            tokio::time::sleep_until(due.into()).await;
        }
    }
    wanted.store(sent, Ordering::Relaxed);
    // Whoever waits for the next event must look again.
    let last = r#"{"kind":"system","name":"end","data":null}"#;
    writer.exchange(&post(&format!("/api/threads/{thread}/events"), last)).await?;
    let (mut delivered, mut micros) = (0, Vec::new());
    for reader in readers {
        let done = tokio::time::timeout(PATIENCE, reader).await;
        let done = done.map_err(|_| io::Error::other("a reader did not get everything"))?;
        let (count, own) = done.map_err(io::Error::other)??;
        delivered += count;
        micros.extend(own);
    }
    let seconds = from.elapsed().as_secs_f64();
    let mut report = Report::new();
    report.add("readers", args.readers as f64, "");
    report.add("appended", sent as f64 / seconds, "events a second");
    report.add("delivered", delivered as f64 / seconds, "events a second");
    report.latencies(micros);
    report.add("own_cpu", (own_cpu() - cpu) / seconds, "cores");
    Ok(report)
}

/// Reads until it has seen all events; gives how many, and how long some of them took.
async fn read(
    mut stream: TcpStream,
    begin: Instant,
    ready: Arc<Barrier>,
    wanted: Arc<AtomicU64>,
) -> io::Result<(u64, Vec<u32>)> {
    let mut bytes = vec![0; 64 << 10];
    let mut live = Vec::new();
    // Up to the live edge.
    while !live.windows(9).any(|nine| nine == b"caught-up") {
        let n = stream.read(&mut bytes).await?;
        live.extend_from_slice(bytes.get(..n).unwrap_or(&[]));
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    ready.wait().await;
    let (mut seen, mut micros) = (0, Vec::new());
    let mut newline = true;
    loop {
        let n = stream.read(&mut bytes).await?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let piece = bytes.get(..n).unwrap_or(&[]);
        // The last event of a piece tells how old the news is.
        if let Some(at) = memchr::memmem::rfind(piece, b"\"sent\":\"")
            && let Some(sent) = piece.get(at + 8..at + 20)
            && let Some(sent) = std::str::from_utf8(sent).ok().and_then(|s| s.parse::<u64>().ok())
        {
            micros.push((begin.elapsed().as_micros() as u64).saturating_sub(sent) as u32);
        }
        seen += frames(piece, &mut newline);
        // One frame more than was asked for: the end.
        if seen > wanted.load(Ordering::Relaxed) {
            return Ok((seen - 1, micros));
        }
    }
}

/// Counts the blank lines that end frames.
fn frames(piece: &[u8], newline: &mut bool) -> u64 {
    let mut count = 0;
    let mut last = if *newline { Some(usize::MAX) } else { None };
    for at in memchr::memchr_iter(b'\n', piece) {
        let before = last.map(|last| last.wrapping_add(1));
        if before == Some(at) {
            count += 1;
            last = None;
        } else {
            last = Some(at);
        }
    }
    *newline = last.is_some_and(|last| last.wrapping_add(1) == piece.len());
    count
}
