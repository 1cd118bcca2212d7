//! Readers who are told nothing: what each of them takes of the server's memory.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::line::Line;
use crate::process::files;
use crate::reader::Reader;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) server: crate::Server,
    /// How many there are, if the limit of open files allows
    #[arg(long)]
    readers: usize,
    /// The stream's name
    #[arg(long, default_value = "idle")]
    name: String,
}

/// Files that a server needs besides.
const SPARE: usize = 100;

pub(crate) fn run(args: &Args) -> Result<Value> {
    let (wire, address) = (args.server.peer.wire(), args.server.address);
    let count = args.readers.min(files().saturating_sub(SPARE));
    let mut line = Line::open(address, wire)?;
    if let Some(made) = wire.make(&args.name) {
        line.exchange(&made, 1)?;
    }
    // One comes and goes, so that what the first needs is not counted.
    drop(Reader::open(address, wire, &args.name, 0)?);
    let server = args.server.tree();
    let (memory, begin) = (server.memory(), Instant::now());
    let mut readers = Vec::with_capacity(count);
    for number in 0..count {
        let reader = Reader::open(address, wire, &args.name, number);
        readers.push(reader.with_context(|| format!("reader {number}"))?);
    }
    let seconds = begin.elapsed().as_secs_f64();
    thread::sleep(Duration::from_secs(2));
    let (after, cpu, from) = (server.memory(), server.cpu(), Instant::now());
    thread::sleep(Duration::from_secs(5));
    Ok(json!({
        "readers": readers.len(),
        "asked": args.readers,
        "allowed": count,
        "connect_s": seconds,
        "memory_mb": after / 1e6,
        "kb_a_reader": (after - memory) / count.max(1) as f64 / 1024.0,
        "server_cpu_idle": (server.cpu() - cpu) / from.elapsed().as_secs_f64(),
    }))
}
