//! What the disk allows: one thread writes what so many writers would have waiting, and syncs it.
//! The file has its size before, as a log that is used again has: what is synced is data alone.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::process::Tree;
use crate::spread::Spread;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The file
    #[arg(long)]
    path: PathBuf,
    /// How many would wait for each sync
    #[arg(long)]
    writers: usize,
    /// Events of one append
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// For how long
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// Bytes of an event
    #[arg(long, default_value_t = 300)]
    size: usize,
}

/// The file's size.
const SIZE: usize = 128 << 20;

pub(crate) fn run(args: &Args) -> Result<Value> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).open(&args.path)?;
    file.write_all_at(&vec![0; SIZE], 0)?;
    file.sync_all()?;
    let group = vec![b'x'; args.size * args.writers * args.batch];
    let groups_of_file = (SIZE / group.len().max(1)).max(1) as u64;
    let (begin, cpu, mut spread, mut groups) =
        (Instant::now(), Tree::own().cpu(), Spread::new(), 0u64);
    let time = Duration::from_secs_f64(args.seconds);
    while begin.elapsed() < time {
        let at = Instant::now();
        file.write_all_at(&group, groups % groups_of_file * group.len() as u64)?;
        file.sync_data()?;
        spread.add(at.elapsed().as_micros() as u64);
        groups += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let appends = groups as f64 * args.writers as f64 / seconds;
    Ok(json!({
        "writers": args.writers,
        "batch": args.batch,
        "appends_s": appends,
        "events_s": appends * args.batch as f64,
        "p50_ms": spread.at(0.50),
        "p99_ms": spread.at(0.99),
        "own_cpu": (Tree::own().cpu() - cpu) / seconds,
    }))
}
