//! What the disk allows: one thread writes what so many writers would have waiting, and syncs it.
//! The file has its size before, as a log that is used again has: what is synced is data alone.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::{Appends, Writers};
use crate::process::Tree;
use crate::spread::Spread;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The file
    #[arg(long)]
    path: PathBuf,
    /// Those who would wait for each sync
    #[command(flatten)]
    load: Writers,
}

/// The file's size.
const SIZE: usize = 128 << 20;

pub(crate) fn run(args: &Args) -> Result<Value> {
    let Writers { writers, appends: Appends { batch, seconds, size } } = args.load;
    let file = OpenOptions::new().create(true).write(true).truncate(true).open(&args.path)?;
    file.write_all_at(&vec![0; SIZE], 0)?;
    file.sync_all()?;
    let group = vec![b'x'; size * writers * batch];
    let groups_of_file = (SIZE / group.len().max(1)).max(1) as u64;
    let (begin, cpu, mut spread, mut groups) =
        (Instant::now(), Tree::own().cpu(), Spread::new(), 0u64);
    let time = Duration::from_secs_f64(seconds);
    while begin.elapsed() < time {
        let at = Instant::now();
        file.write_all_at(&group, groups % groups_of_file * group.len() as u64)?;
        file.sync_data()?;
        spread.add(at.elapsed().as_micros() as u64);
        groups += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let appends = groups as f64 * writers as f64 / seconds;
    Ok(json!({
        "writers": writers,
        "batch": batch,
        "appends_s": appends,
        "events_s": appends * batch as f64,
        "p50_ms": spread.at(0.50),
        "p99_ms": spread.at(0.99),
        "own_cpu": (Tree::own().cpu() - cpu) / seconds,
    }))
}
