//! `selvedge-load`: the load of `cargo xtask bench server` and `bench cluster`.
//!
//! One crate of its own: the binary that is shipped knows no other server's protocol, and `xtask` is
//! built to start fast, not to run fast. Speaks every protocol by itself on plain sockets, in as few
//! threads and instructions as will do: load and server share a machine, and what one takes the
//! other does not get. Its own CPU time is part of each report. What is measured is checked as well:
//! nothing lost, nothing twice, nothing out of order.

mod appends;
mod args;
mod bare;
mod decode;
mod event;
mod fanout;
mod file;
mod growth;
mod idle;
mod line;
mod process;
mod reader;
mod replay;
mod rest;
mod spread;
mod threads;
mod unnest;
mod wire;

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use serde_json::Value;

use process::Tree;
use wire::Peer;

/// How long a server may go on after its load.
const SETTLE: Duration = Duration::from_secs(20);

/// Measures one server, and prints one line of JSON.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Durable appends, each writer to a stream of its own
    Appends(appends::Args),
    /// A file that is appended to and synced by itself: what the disk allows
    File(file::Args),
    /// A server that does nothing but write to its readers: what sockets allow
    Bare(bare::Args),
    /// One stream to many readers
    Fanout(fanout::Args),
    /// Readers who are told nothing
    Idle(idle::Args),
    /// Make a long stream, for `replay`
    Fill(replay::FillArgs),
    /// A stream told again
    Replay(replay::Args),
    /// What an append costs as its thread grows
    Growth(growth::Args),
    /// Many threads of one event each
    Threads(threads::Args),
    /// Rows put into PostgreSQL by themselves: what a database allows
    Unnest(unnest::Args),
    /// What processes take that nobody asks for anything
    Rest(rest::Args),
    /// How long the list of threads takes
    List(threads::ListArgs),
}

/// The server that is measured.
#[derive(clap::Args)]
struct Server {
    /// Whose it is
    #[arg(long, value_enum)]
    peer: Peer,
    /// Where it listens
    #[arg(long)]
    address: SocketAddr,
    /// Its process
    #[arg(long)]
    process: u32,
}

impl Server {
    fn tree(&self) -> Tree {
        Tree::of(self.process)
    }
}

/// Waits until the server does nothing more, so that what it does behind its answers is not in the
/// way of whoever is measured next; reports how long and how much that was.
fn settled(server: &Server, mut report: Value) -> Value {
    let (tree, begin) = (server.tree(), Instant::now());
    let from = tree.cpu();
    let mut before = from;
    while begin.elapsed() < SETTLE {
        thread::sleep(Duration::from_millis(200));
        let now = tree.cpu();
        if now - before < 0.011 {
            break;
        }
        before = now;
    }
    report["settle_s"] = begin.elapsed().as_secs_f64().into();
    report["settle_cpu_s"] = (tree.cpu() - from).into();
    report
}

fn main() -> Result<()> {
    let report = match &Args::parse().what {
        What::Appends(args) => settled(&args.server, appends::run(args)?),
        What::File(args) => file::run(args)?,
        What::Bare(args) => bare::run(args)?,
        What::Fanout(args) => settled(&args.readers.server, fanout::run(args)?),
        What::Idle(args) => settled(&args.readers.server, idle::run(args)?),
        What::Fill(args) => settled(&args.stream.server, replay::fill(args)?),
        What::Replay(args) => settled(&args.stream.server, replay::run(args)?),
        What::Growth(args) => settled(&args.server, growth::run(args)?),
        What::Threads(args) => settled(&args.server, threads::run(args)?),
        What::Unnest(args) => unnest::run(args)?,
        What::Rest(args) => rest::run(args),
        What::List(args) => threads::list(args)?,
    };
    println!("{report}");
    Ok(())
}
