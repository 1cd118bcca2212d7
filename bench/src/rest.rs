//! What processes take that nobody asks for anything.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::{Tree, cpu};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which
    #[arg(long, value_delimiter = ',')]
    processes: Vec<u32>,
    /// For how long
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
}

pub(crate) fn run(args: &Args) -> Value {
    let trees: Vec<Tree> = args.processes.iter().map(|process| Tree::of(*process)).collect();
    let (begin, before) = (Instant::now(), cpu(&trees));
    thread::sleep(Duration::from_secs_f64(args.seconds));
    let used = cpu(&trees) - before;
    let memory: f64 = trees.iter().map(Tree::memory).sum();
    json!({
        "server_cpu": used / begin.elapsed().as_secs_f64(),
        "held_mb": memory / 1e6,
    })
}
