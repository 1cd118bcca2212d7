//! The workloads, round by round and peer by peer.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Workload;
use super::peer::Peer;
use super::rows::Rows;
use super::run::Run;
use super::service::Service;
use crate::process::step;

/// How many write at the same time.
pub(super) const WRITERS: [usize; 4] = [1, 16, 64, 256];
/// How many read one thread.
pub(super) const READERS: [usize; 3] = [100, 1000, 5000];
/// Events of a batch, and how many write batches.
const BATCH: usize = 64;
const BATCHERS: usize = 16;
/// Readers at a rate, and the rate.
const PACED: (usize, u32) = (1000, 50);
/// Readers who are told nothing.
const IDLE: usize = 20_000;
/// The dialects that replays are told in: Looopy's events at its document's address, which are told
/// as they stand, and one that is told anew from all that came before.
const DIALECTS: [&str; 2] = ["looopy", "ai-sdk-stream"];

pub(super) fn appends_of(writers: usize) -> String {
    format!("durable appends, {}", writers_of(writers))
}

pub(super) fn writers_of(writers: usize) -> String {
    format!("{writers} writer{}", if writers == 1 { "" } else { "s" })
}

pub(super) fn batches() -> String {
    format!("durable appends, {BATCHERS} writers, {BATCH} events each")
}

pub(super) fn fanout_of(readers: usize) -> String {
    format!("one thread to {readers} readers")
}

pub(super) fn paced() -> String {
    format!("{} readers, {} events/s", PACED.0, PACED.1)
}

pub(super) const IDLE_READERS: &str = "idle readers";

pub(super) fn replay_of(events: u64, from: &str, dialect: &str) -> String {
    format!("replay of {} events from the {from}, {dialect}", super::rows::short(events as f64))
}

pub(super) const THREADS: &str = "threads of one event";

pub(super) fn growth_of(length: u64) -> String {
    format!("append to a thread of {} events", super::rows::short(length as f64))
}

/// How long threads are that are told again, and that are appended to.
pub(super) fn lengths(quick: bool) -> (Vec<u64>, Vec<u64>) {
    match quick {
        true => (vec![20_000, 100_000], vec![1000, 10_000, 100_000]),
        false => (vec![100_000, 1_000_000], vec![1000, 10_000, 100_000, 1_000_000]),
    }
}

/// Measures one workload.
pub(super) fn measure(run: &Run, workload: Workload, rows: &mut Rows) -> Result<()> {
    match workload {
        Workload::Appends => appends(run, rows),
        Workload::Fanout => fanout(run, rows),
        Workload::Idle => idle(run, rows),
        Workload::Replay => replay(run, rows),
        Workload::Threads => threads(run, rows),
        Workload::Growth => growth(run, rows),
    }
}

fn appends(run: &Run, rows: &mut Rows) -> Result<()> {
    let peers = [Peer::Redis, Peer::DurableStreams, Peer::Postgres];
    let services = run.services("appends", &peers)?;
    let seconds = run.seconds.to_string();
    let loads = WRITERS.map(|writers| (appends_of(writers), writers, 1));
    let loads = loads.into_iter().chain([(batches(), BATCHERS, BATCH)]);
    for (number, (what, writers, batch)) in loads.enumerate() {
        let (writers, batch) = (writers.to_string(), batch.to_string());
        let args = ["--writers", &writers, "--batch", &batch, "--seconds", &seconds];
        for round in 1..=run.rounds {
            step(&format!("{what}: round {round} of {}", run.rounds));
            let name = format!("n{number}r{round}");
            for service in &services {
                let args = [&args[..], &["--name", &name]].concat();
                take(rows, &what, service.peer, run.load(service, "appends", &args));
            }
            let file = run.folder.join("appends/file");
            let path = file.to_str().context("a path that is no text")?;
            let report = run.alone("file", &[&args[..], &["--path", path]].concat());
            take(rows, &what, Peer::File, report);
            fs::remove_file(&file)?;
        }
    }
    Ok(())
}

/// Who can tell many readers.
const TELLERS: [Peer; 4] = [Peer::Redis, Peer::DurableStreams, Peer::Nchan, Peer::Nats];

fn fanout(run: &Run, rows: &mut Rows) -> Result<()> {
    let mut services = run.services("fanout", &TELLERS)?;
    services.push(run.bare("fanout")?);
    let rate = PACED.1.to_string();
    let as_fast = READERS.map(|readers| (fanout_of(readers), readers, &[] as &[&str]));
    let paced = [(paced(), PACED.0, &["--rate", rate.as_str()] as &[&str])];
    for (number, (what, readers, more)) in as_fast.into_iter().chain(paced).enumerate() {
        let (readers, seconds) = (readers.to_string(), run.seconds.to_string());
        for round in 1..=run.rounds {
            step(&format!("{what}: round {round} of {}", run.rounds));
            let name = format!("n{number}r{round}");
            let args = ["--readers", &readers, "--seconds", &seconds, "--name", &name];
            for service in &services {
                let report = run.load(service, "fanout", &[&args, more].concat());
                take(rows, &what, service.peer, report);
            }
        }
    }
    Ok(())
}

fn idle(run: &Run, rows: &mut Rows) -> Result<()> {
    let readers = if run.quick { IDLE / 10 } else { IDLE }.to_string();
    step(&format!("{readers} idle readers"));
    // One after another, in a server that has done nothing yet.
    for service in run.services("idle", &TELLERS)? {
        let report = run.load(&service, "idle", &["--readers", &readers]);
        take(rows, IDLE_READERS, service.peer, report);
    }
    Ok(())
}

fn replay(run: &Run, rows: &mut Rows) -> Result<()> {
    let peers = [Peer::Redis, Peer::DurableStreams, Peer::Postgres];
    for events in lengths(run.quick).0 {
        let services = run.services(&format!("replay-{events}"), &peers)?;
        let count = events.to_string();
        let args = ["--name", "long", "--events", &count];
        step(&format!("making threads of {count} events"));
        let mut middles = Vec::new();
        for service in &services {
            let filled = run.load(service, "fill", &args)?;
            middles.push(filled["middle"].as_str().unwrap_or_default().to_owned());
        }
        for round in 1..=run.rounds {
            step(&format!("replay of {count} events: round {round} of {}", run.rounds));
            for (service, middle) in services.iter().zip(&middles) {
                let dialects: &[&str] = match service.peer {
                    Peer::Selvedge => &DIALECTS,
                    _ => &DIALECTS[..1],
                };
                for dialect in dialects {
                    for (from, more) in [("start", &[][..]), ("middle", &["--middle", middle])] {
                        let args = [&args, &["--dialect", dialect][..], more].concat();
                        let report = run.load(service, "replay", &args);
                        take(rows, &replay_of(events, from, dialect), service.peer, report);
                    }
                }
            }
        }
    }
    Ok(())
}

fn threads(run: &Run, rows: &mut Rows) -> Result<()> {
    let count = if run.quick { 20_000 } else { 1_000_000 };
    step(&format!("{count} threads of one event"));
    let mut service = run.ours("threads")?;
    let mut report = run.load(&service, "threads", &["--count", &count.to_string()])?;
    service.stop();
    report["disk_mb"] = (disk(&run.folder.join("threads/selvedge"))? as f64 / 1e6).into();
    let begin = Instant::now();
    let service = run.ours("threads")?;
    report["start_ms"] = (begin.elapsed().as_secs_f64() * 1e3).into();
    let list = run.alone("list", &["--address", &service.address.to_string()])?;
    for name in ["p50_ms", "p99_ms"] {
        report[name] = list[name].clone();
    }
    rows.add(THREADS, Peer::Selvedge, &report);
    Ok(())
}

fn growth(run: &Run, rows: &mut Rows) -> Result<()> {
    let lengths = lengths(run.quick).1;
    let text: Vec<String> = lengths.iter().map(u64::to_string).collect();
    step(&format!("appends to threads of {} events", text.join(", ")));
    let service: Service = run.ours("growth")?;
    let turns = if run.quick { "5" } else { "20" };
    let args = ["--lengths", &text.join(","), "--turns", turns];
    let report = run.load(&service, "growth", &args)?;
    for (length, row) in lengths.iter().zip(report["threads"].as_array().into_iter().flatten()) {
        rows.add(&growth_of(*length), Peer::Selvedge, row);
    }
    let p50 = |row: Option<&Value>| row.and_then(|row| row["p50_ms"].as_f64());
    let all = report["threads"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some((first, last)) = p50(all.first()).zip(p50(all.last())) {
        rows.add(GROWTH, Peer::Selvedge, &json!({ "ratio": last / first }));
    }
    Ok(())
}

/// How much more the longest thread's appends take than the shortest's.
pub(super) const GROWTH: &str = "growth";

/// Adds a report, or why there is none.
fn take(rows: &mut Rows, what: &str, peer: Peer, report: Result<Value>) {
    match report {
        Ok(report) => rows.add(what, peer, &report),
        Err(error) => {
            step(&format!("{}: {error:#}", peer.name()));
            rows.fail(what, peer, format!("{error:#}"));
        }
    }
}

/// Bytes of the files in a folder.
fn disk(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
