//! Many threads of one event each: making them, and listing them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use serde_json::{Value, json};

use crate::line::Line;
use crate::spread::Spread;
use crate::wire::Peer;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) server: crate::Server,
    /// How many threads
    #[arg(long)]
    count: usize,
    /// How many are made at the same time
    #[arg(long, default_value_t = 64)]
    writers: usize,
}

#[derive(clap::Args)]
pub(crate) struct ListArgs {
    /// Where the server listens
    #[arg(long)]
    address: SocketAddr,
    /// How often it is asked
    #[arg(long, default_value_t = 200)]
    requests: usize,
}

pub(crate) fn run(args: &Args) -> Result<Value> {
    let wire = args.server.peer.wire();
    let (next, begin) = (AtomicUsize::new(0), Instant::now());
    let work = || -> Result<()> {
        let mut line = Line::open(args.server.address, wire)?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= args.count {
                return Ok(());
            }
            let made = wire.make(&format!("t{number:08}")).context("it makes no threads")?;
            line.exchange(&made, 1)?;
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..args.writers).map(|_| scope.spawn(work)).collect();
        let join =
            |t: thread::ScopedJoinHandle<'_, _>| t.join().map_err(|_| anyhow!("panicked"))?;
        threads.into_iter().try_for_each(join)
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let memory = args.server.tree().memory();
    Ok(json!({
        "threads": args.count,
        "made_s": args.count as f64 / seconds,
        "memory_mb": memory / 1e6,
    }))
}

/// Asks for the first page of the list, again and again.
pub(crate) fn list(args: &ListArgs) -> Result<Value> {
    let mut line = Line::open(args.address, Peer::Selvedge.wire())?;
    let (mut spread, mut size) = (Spread::new(), 0);
    for _ in 0..args.requests {
        let asked = Instant::now();
        line.ask(b"GET /api/threads?limit=50 HTTP/1.1\r\nhost: localhost\r\n\r\n", 1)?;
        size = 0;
        while line.read(&mut |piece| size += piece.len())? == crate::decode::Progress::More {}
        spread.add(asked.elapsed().as_micros() as u64);
    }
    Ok(json!({ "p50_ms": spread.at(0.50), "p99_ms": spread.at(0.99), "bytes": size }))
}
