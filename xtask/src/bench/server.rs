//! `cargo xtask bench server`: ours and the peers in one run and in turns, so that a machine that
//! slows down slows all of them; what was wanted, and a plot.

pub(super) mod cluster;
mod goals;
mod peer;
mod plot;
mod rows;
mod run;
mod service;
mod workloads;

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde_json::json;

use self::peer::Peer;
use self::rows::Rows;
use self::run::Run;
use super::machine;
use super::sample::folder;
use super::serve::build;
use crate::install::remove;
use crate::process::{cargo, step};
use crate::workspace;

/// Arguments of `cargo xtask bench server`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which workloads; all when left out
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Workload>,
    /// Beside whom; everyone who is installed when left out
    #[arg(long, value_enum, value_delimiter = ',')]
    peers: Vec<Beside>,
    /// One round of shorter and smaller loads
    #[arg(long)]
    quick: bool,
    /// How often everything is measured; medians count
    #[arg(long, value_name = "COUNT")]
    rounds: Option<usize>,
    /// How long each load goes on
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Workload {
    /// Durable appends by 1, 16, 64 and 256 writers, and in batches
    Appends,
    /// One thread to 100, 1,000 and 5,000 readers as fast as acknowledged, and 1,000 at a rate
    Fanout,
    /// Memory of 20,000 readers who are told nothing
    Idle,
    /// 100k and 1M events told again, from the start and from the middle
    Replay,
    /// 1M threads of one event
    Threads,
    /// What an append costs as its thread grows to 1M events
    Growth,
}

/// Who is measured beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Beside {
    None,
    Redis,
    DurableStreams,
    Postgres,
    Nchan,
    Nats,
}

impl Beside {
    fn peer(self) -> Option<Peer> {
        match self {
            Self::None => None,
            Self::Redis => Some(Peer::Redis),
            Self::DurableStreams => Some(Peer::DurableStreams),
            Self::Postgres => Some(Peer::Postgres),
            Self::Nchan => Some(Peer::Nchan),
            Self::Nats => Some(Peer::Nats),
        }
    }
}

/// Measures, prints the tables, writes `server.json` and `server.svg`.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let program = build()?;
    let load = build_load()?;
    let base = folder()?;
    let folder = base.join("server");
    remove(&folder)?;
    fs::create_dir_all(&folder)?;
    let asked: Vec<Peer> = match args.peers.as_slice() {
        [] => Peer::OTHERS.to_vec(),
        some => some.iter().filter_map(|beside| beside.peer()).collect(),
    };
    let mut peers = Vec::new();
    for peer in asked {
        match peer.find() {
            Ok(found) => {
                step(&format!("peer {}: {}", peer.name(), found.version));
                peers.push(found);
            }
            Err(error) => step(&format!("peer {}: {error:#}, left out", peer.name())),
        }
    }
    let run = Run {
        program,
        load,
        folder,
        peers,
        rounds: args.rounds.unwrap_or(if args.quick { 1 } else { 3 }).max(1),
        seconds: args.seconds.unwrap_or(if args.quick { 2.0 } else { 4.0 }),
        quick: args.quick,
    };
    let mut rows = Rows::default();
    for &workload in Workload::value_variants() {
        if args.only.is_empty() || args.only.contains(&workload) {
            workloads::measure(&run, workload, &mut rows)?;
        }
    }
    let goals = goals::of(&rows);
    rows.print();
    goals::print(&goals);
    let machine = machine::describe();
    println!("\n{machine}");
    let versions = run.peers.iter().map(|found| (found.peer.name(), found.version.clone()));
    let report = json!({
        "machine": machine,
        "quick": args.quick,
        "rounds": run.rounds,
        "seconds": run.seconds,
        "versions": versions.collect::<std::collections::BTreeMap<_, _>>(),
        "goals": goals.iter().map(goals::Goal::json).collect::<Vec<_>>(),
        "rows": rows.json(),
    });
    let path = base.join("server.json");
    fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")?;
    let plot = base.join("server.svg");
    fs::write(&plot, plot::draw(&rows))?;
    remove(&run.folder)?;
    step(&format!("written to {} and {}", path.display(), plot.display()));
    let met = rows.whole(Peer::Selvedge) && goals.iter().all(goals::Goal::met);
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the load; gives its path.
fn build_load() -> Result<std::path::PathBuf> {
    let built = cargo()
        .current_dir(workspace::root()?)
        .args(["build", "--release", "--locked", "--package", "selvedge-bench"])
        .status()
        .context("could not start cargo")?;
    ensure!(built.success(), "the load does not build");
    Ok(workspace::target()?.join("release/selvedge-load"))
}
