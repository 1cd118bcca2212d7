//! Turns of an agent: said something, it answers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::io::AsyncReadExt as _;

use super::http::{Connection, get, post};
use super::{Report, TurnsArgs, failed, own_cpu};
use crate::error::Error;

pub(super) async fn run(args: &TurnsArgs) -> Result<Report, Error> {
    let address = args.address.as_str();
    work(args).await.map_err(|error| failed(address, error))
}

async fn work(args: &TurnsArgs) -> io::Result<Report> {
    let run = std::process::id();
    let at_once = args.at_once.clamp(1, args.turns.max(1));
    let mut counter = Connection::open(&args.address).await?;
    let before = events(&mut counter).await?;
    let next = Arc::new(AtomicUsize::new(0));
    let (begin, cpu) = (Instant::now(), own_cpu());
    let mut speakers = Vec::new();
    for _ in 0..at_once {
        let mut speaker = Connection::open(&args.address).await?;
        let (next, turns) = (next.clone(), args.turns);
        let (address, agent) = (args.address.clone(), args.agent.clone());
        speakers.push(tokio::spawn(async move {
            let mut micros = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= turns {
                    return Ok::<_, io::Error>(micros);
                }
                let thread = format!("bench-{run}-{number}");
                micros.push(turn(&mut speaker, &address, &thread, &agent).await?);
            }
        }));
    }
    let mut micros = Vec::new();
    for speaker in speakers {
        micros.extend(speaker.await.map_err(io::Error::other)??);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let written = events(&mut counter).await? - before;
    let mut report = Report::new();
    report.add("at_once", at_once as f64, "");
    report.add("turns", micros.len() as f64 / seconds, "a second");
    report.add("events", written / seconds, "a second");
    report.add("written", written, "events");
    report.add("seconds", seconds, "");
    report.latencies(micros);
    report.add("own_cpu", (own_cpu() - cpu) / seconds, "cores");
    Ok(report)
}

/// Says something in a new thread and waits for the end of the answer; gives how long it took.
async fn turn(
    speaker: &mut Connection,
    address: &str,
    thread: &str,
    agent: &str,
) -> io::Result<u32> {
    let made = post("/api/threads", &format!("{{\"id\":\"{thread}\"}}"));
    let status = speaker.exchange(&made).await?;
    if status != 201 {
        return Err(io::Error::other(format!("the thread could not be made: {status}")));
    }
    let path =
        format!("/api/threads/{thread}/stream?after=earliest&kinds=task-complete,task-status");
    let mut ends = Connection::open(address).await?.stream(&get(&path)).await?;
    let begin = Instant::now();
    let body = serde_json::json!({ "content": "go", "to": agent }).to_string();
    let said = post(&format!("/api/threads/{thread}/messages"), &body);
    let status = speaker.exchange(&said).await?;
    if status != 202 {
        return Err(io::Error::other(format!("nobody listens: {status}")));
    }
    let mut bytes = Vec::with_capacity(16 << 10);
    loop {
        if ends.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let told = String::from_utf8_lossy(&bytes);
        if told.contains("\"failed\"") {
            return Err(io::Error::other("the agent failed"));
        }
        if told.contains("\"task-complete\"") {
            return Ok(begin.elapsed().as_micros() as u32);
        }
    }
}

/// Events that the server has committed.
async fn events(connection: &mut Connection) -> io::Result<f64> {
    connection.exchange(&get("/metrics")).await?;
    let text = String::from_utf8_lossy(connection.answer());
    let line = text.lines().find_map(|line| line.strip_prefix("selvedge_events_total "));
    line.and_then(|number| number.trim().parse().ok())
        .ok_or_else(|| io::Error::other("the server does not say how many events there are"))
}
