//! `cargo xtask bench cluster`: nodes that share a PostgreSQL, beside rows that are put into the same
//! PostgreSQL by themselves, in one run and in turns. The database is durable, as it is used.

mod database;

use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use serde_json::json;

use self::database::{Database, fill};
use super::goals::{self, Goal};
use super::peer::Peer;
use super::rows::{Rows, short};
use super::run::Run;
use super::service::Service;
use super::{build, build_load, folder, machine};
use crate::install::remove;
use crate::process::step;

/// Arguments of `cargo xtask bench cluster`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which workloads; all when left out
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Workload>,
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
    /// Appends to many threads at 1, 2 and 3 nodes, beside rows put in by themselves
    Spread,
    /// Appends to one thread at 1, 2 and 3 nodes
    Hot,
    /// From an append at one node to its receipt at another
    Receipt,
    /// What nodes take of themselves over 1M threads, beside an empty database
    Idle,
}

/// How many nodes there are at most.
const NODES: usize = 3;
/// Who writes at the same time, and events of an append.
const WRITERS: usize = 64;
const BATCHES: [usize; 2] = [1, 16];
/// Readers of a thread, and appends in a second.
const READERS: usize = 10;
const RATE: usize = 50;
/// The share of what the database allows that is wanted.
const SHARE: f64 = 0.6;

fn spread_of(nodes: usize, batch: usize) -> String {
    format!("{WRITERS} threads, {}, {}", events(batch), of(nodes))
}

fn hot_of(nodes: usize, batch: usize) -> String {
    format!("one thread of {WRITERS} writers, {}, {}", events(batch), of(nodes))
}

fn receipt_of(across: bool) -> String {
    format!("append to receipt, {}", if across { "at another node" } else { "at the same node" })
}

fn idle_of(threads: u64) -> String {
    format!("{NODES} nodes at rest over {} threads", short(threads as f64))
}

fn events(batch: usize) -> String {
    format!("{batch} event{} an append", if batch == 1 { "" } else { "s" })
}

fn of(nodes: usize) -> String {
    format!("{nodes} node{}", if nodes == 1 { "" } else { "s" })
}

/// Measures, prints the tables, writes `cluster.json`.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let program = build()?;
    let load = build_load()?;
    let base = folder()?;
    let folder = base.join("cluster");
    remove(&folder)?;
    fs::create_dir_all(&folder)?;
    let found = Peer::Postgres.find()?;
    let run = Run {
        program,
        load,
        folder,
        peers: vec![found.clone()],
        rounds: args.rounds.unwrap_or(if args.quick { 1 } else { 3 }).max(1),
        seconds: args.seconds.unwrap_or(if args.quick { 2.0 } else { 4.0 }),
        quick: args.quick,
    };
    let (mut rows, mut goals) = (Rows::default(), Vec::new());
    let has = |workload| args.only.is_empty() || args.only.contains(&workload);
    let database = Database::start(&found, &run.folder.join("postgres"))?;
    if has(Workload::Spread) || has(Workload::Hot) || has(Workload::Receipt) {
        let nodes = nodes(&run, &database, "loaded")?;
        if has(Workload::Spread) {
            spread(&run, &database, &nodes, &mut rows)?;
        }
        if has(Workload::Hot) {
            hot(&run, &database, &nodes, &mut rows)?;
        }
        if has(Workload::Receipt) {
            receipt(&run, &nodes, &mut rows)?;
        }
    }
    if has(Workload::Idle) {
        idle(&run, &database, &mut rows)?;
    }
    goals.extend(wanted(&rows, threads(&run)));
    rows.print();
    goals::print(&goals);
    let machine = machine::describe();
    println!("\n{machine}; {}", found.version);
    let report = json!({
        "machine": machine,
        "quick": args.quick,
        "rounds": run.rounds,
        "seconds": run.seconds,
        "versions": { found.peer.name(): found.version },
        "goals": goals.iter().map(Goal::json).collect::<Vec<_>>(),
        "rows": rows.json(),
    });
    let path = base.join("cluster.json");
    fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")?;
    drop(database);
    remove(&run.folder)?;
    step(&format!("written to {}", path.display()));
    let met = rows.whole(Peer::Selvedge) && goals.iter().all(Goal::met);
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Nodes over a database of their own.
fn nodes(run: &Run, database: &Database, name: &str) -> Result<Vec<Service>> {
    database.make(name)?;
    start(run, database, name)
}

fn start(run: &Run, database: &Database, name: &str) -> Result<Vec<Service>> {
    let start = |number| {
        let folder = run.folder.join(name).join(format!("node-{number}"));
        Service::node(&run.program, &folder, &database.url(name))
    };
    (0..NODES).map(start).collect()
}

/// The arguments of a load for some of the nodes.
fn beside(nodes: &[Service], database: &Database) -> Vec<String> {
    let list = |each: &dyn Fn(&Service) -> String| {
        nodes.iter().skip(1).map(each).collect::<Vec<_>>().join(",")
    };
    let mut args = vec!["--database".to_owned(), database.process().to_string()];
    if nodes.len() > 1 {
        args.extend(["--nodes".to_owned(), list(&|node| node.address.to_string())]);
        args.extend(["--processes".to_owned(), list(&|node| node.process().to_string())]);
    }
    args
}

fn appends(
    run: &Run,
    nodes: &[Service],
    database: &Database,
    batch: usize,
    more: &[&str],
) -> Result<serde_json::Value> {
    let first = nodes.first().context("there are no nodes")?;
    let (writers, batch, seconds) =
        (WRITERS.to_string(), batch.to_string(), run.seconds.to_string());
    let own = ["--writers", &writers, "--batch", &batch, "--seconds", &seconds];
    let beside = beside(nodes, database);
    let beside: Vec<&str> = beside.iter().map(String::as_str).collect();
    run.load(first, "appends", &[&own[..], &beside, more].concat())
}

fn spread(run: &Run, database: &Database, nodes: &[Service], rows: &mut Rows) -> Result<()> {
    for batch in BATCHES {
        for round in 1..=run.rounds {
            step(&format!("{WRITERS} threads, {}: round {round} of {}", events(batch), run.rounds));
            for count in 1..=NODES {
                let name = format!("s{batch}-{count}-{round}");
                let what = spread_of(count, batch);
                let some = nodes.get(..count).unwrap_or(nodes);
                let report = appends(run, some, database, batch, &["--name", &name])?;
                rows.add(&what, Peer::Selvedge, &report);
                // As many at once as there are nodes, each with what one has to write at most.
                let (address, process) = (database.address(), database.process().to_string());
                let (writers, each) = (count.to_string(), WRITERS.div_ceil(count).to_string());
                let (batch, seconds) = (batch.to_string(), run.seconds.to_string());
                let args = ["--address", &address, "--process", &process, "--writers", &writers];
                let size = ["--rows", &each, "--batch", &batch, "--seconds", &seconds];
                let report = run.alone("unnest", &[args, size].concat())?;
                rows.add(&what, Peer::Postgres, &report);
            }
        }
    }
    Ok(())
}

fn hot(run: &Run, database: &Database, nodes: &[Service], rows: &mut Rows) -> Result<()> {
    for batch in BATCHES {
        for round in 1..=run.rounds {
            step(&format!("one thread, {}: round {round} of {}", events(batch), run.rounds));
            for count in 1..=NODES {
                let name = format!("h{batch}-{count}-{round}");
                let some = nodes.get(..count).unwrap_or(nodes);
                let report = appends(run, some, database, batch, &["--hot", "--name", &name])?;
                rows.add(&hot_of(count, batch), Peer::Selvedge, &report);
            }
        }
    }
    Ok(())
}

fn receipt(run: &Run, nodes: &[Service], rows: &mut Rows) -> Result<()> {
    let (Some(first), Some(other)) = (nodes.first(), nodes.get(1)) else { return Ok(()) };
    let (readers, rate, seconds) = (READERS.to_string(), RATE.to_string(), run.seconds.to_string());
    for round in 1..=run.rounds {
        step(&format!("append to receipt: round {round} of {}", run.rounds));
        for across in [false, true] {
            let from = if across { other } else { first }.address.to_string();
            let name = format!("r{across}-{round}");
            let args = ["--readers", &readers, "--rate", &rate, "--seconds", &seconds];
            let more = ["--from", &from, "--name", &name];
            let report = run.load(first, "fanout", &[&args[..], &more].concat())?;
            rows.add(&receipt_of(across), Peer::Selvedge, &report);
        }
    }
    Ok(())
}

/// How many threads nobody asks for.
fn threads(run: &Run) -> u64 {
    if run.quick { 50_000 } else { 1_000_000 }
}

fn idle(run: &Run, database: &Database, rows: &mut Rows) -> Result<()> {
    let many = threads(run);
    let name = "idle";
    let mut own = nodes(run, database, name)?;
    for count in [1, many] {
        if count > 1 {
            own.clear();
            step(&format!("{count} threads are made"));
            fill(database, name, count - 1)?;
        }
        let begin = Instant::now();
        if own.is_empty() {
            own = start(run, database, name)?;
        } else if let Some(node) = own.first() {
            // The one that the others are copies of.
            run.load(node, "threads", &["--count", "1", "--writers", "1"])?;
        }
        let started = begin.elapsed().as_secs_f64() * 1e3 / NODES as f64;
        let processes: Vec<String> = own.iter().map(|node| node.process().to_string()).collect();
        let rest = |seconds: &str| {
            run.alone("rest", &["--processes", &processes.join(","), "--seconds", seconds])
        };
        // What is to be done at the start is done by then.
        rest(if run.quick { "3" } else { "10" })?;
        step(&format!("nodes at rest over {count} threads"));
        for _ in 0..run.rounds {
            let mut report = rest("10")?;
            if count > 1 {
                report["start_ms"] = started.into();
            }
            rows.add(&idle_of(count), Peer::Selvedge, &report);
        }
    }
    Ok(())
}

/// What is wanted of what was measured.
fn wanted(rows: &Rows, threads: u64) -> Vec<Goal> {
    let mut goals = Vec::new();
    for batch in BATCHES {
        for nodes in 1..=NODES {
            let what = spread_of(nodes, batch);
            let ours = rows.get(&what, Peer::Selvedge, "events_s");
            let plain = rows.get(&what, Peer::Postgres, "events_s");
            if let Some((ours, plain)) = ours.zip(plain) {
                let goal = Goal::at_least(what, "events/s", ours, SHARE * plain);
                goals.push(goal.told_as("0.6 × rows by themselves"));
            }
        }
    }
    let at_rest = |count, name: &str| rows.get(&idle_of(count), Peer::Selvedge, name);
    if let Some((empty, full)) = at_rest(1, "held_mb").zip(at_rest(threads, "held_mb")) {
        let what = format!("{}, memory", idle_of(threads));
        goals.push(Goal::at_most(what, "MB", full, empty * 1.1).told_as("1.1 × one thread's"));
    }
    if let Some((empty, full)) = at_rest(1, "server_cpu").zip(at_rest(threads, "server_cpu")) {
        let what = format!("{}, CPU", idle_of(threads));
        let goal = Goal::at_most(what, "cores", full, empty * 1.1 + 0.01);
        goals.push(goal.told_as("1.1 × one thread's and 0.01"));
    }
    goals
}
