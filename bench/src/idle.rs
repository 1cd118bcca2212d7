//! Readers who are told nothing: what each of them takes of the server's memory.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::Readers;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) readers: Readers,
}

pub(crate) fn run(args: &Args) -> Result<Value> {
    let Readers { server, readers: asked, name } = &args.readers;
    let line = server.stream(name)?;
    // One comes and goes, so that what the first needs is not counted.
    drop(args.readers.one(0)?);
    let server = server.tree();
    let (memory, begin) = (server.memory(), Instant::now());
    let readers = args.readers.open()?;
    let count = readers.len();
    let seconds = begin.elapsed().as_secs_f64();
    thread::sleep(Duration::from_secs(2));
    let (after, cpu, from) = (server.memory(), server.cpu(), Instant::now());
    thread::sleep(Duration::from_secs(5));
    drop(line);
    Ok(json!({
        "readers": readers.len(),
        "asked": asked,
        "allowed": count,
        "connect_s": seconds,
        "memory_mb": after / 1e6,
        "kb_a_reader": (after - memory) / count.max(1) as f64 / 1024.0,
        "server_cpu_idle": (server.cpu() - cpu) / from.elapsed().as_secs_f64(),
    }))
}
