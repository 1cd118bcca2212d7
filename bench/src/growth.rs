//! What an append costs as its thread grows: threads of several lengths are appended to in turns.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};

use crate::event::{Request, event};
use crate::line::Line;
use crate::spread::Spread;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) server: crate::Server,
    /// How long threads are, in events
    #[arg(long, value_delimiter = ',')]
    lengths: Vec<u64>,
    /// How often each has its turn
    #[arg(long, default_value_t = 20)]
    turns: usize,
    /// Appends of one turn
    #[arg(long, default_value_t = 250)]
    appends: usize,
    /// Bytes of an event
    #[arg(long, default_value_t = 300)]
    size: usize,
}

/// Events of one append while a thread grows.
const BATCH: u64 = 500;

struct Thread {
    length: u64,
    one: Request,
    next: u64,
    spread: Spread,
    seconds: f64,
    cpu: f64,
}

pub(crate) fn run(args: &Args) -> Result<Value> {
    let (wire, clock) = (args.server.peer.wire(), Instant::now());
    let mut line = Line::open(args.server.address, wire)?;
    let mut threads = Vec::new();
    for &length in &args.lengths {
        let name = format!("g{length}");
        if let Some(made) = wire.make(&name) {
            line.exchange(&made, 1)?;
        }
        let mut many = Request::new(wire.append(&name, &vec![event(args.size); BATCH as usize]));
        let mut next = 0;
        while next < length {
            line.exchange(many.stamp(0, next, clock), wire.answers(BATCH as usize))?;
            next += BATCH;
        }
        let one = Request::new(wire.append(&name, &[event(args.size)]));
        threads.push(Thread { length, one, next, spread: Spread::new(), seconds: 0.0, cpu: 0.0 });
    }
    let server = args.server.tree();
    for turn in 0..=args.turns {
        for thread in &mut threads {
            let (begin, cpu) = (Instant::now(), server.cpu());
            for _ in 0..args.appends {
                let asked = Instant::now();
                line.exchange(thread.one.stamp(0, thread.next, clock), 1)?;
                thread.next += 1;
                // The first turn is to warm up.
                if turn > 0 {
                    thread.spread.add(asked.elapsed().as_micros() as u64);
                }
            }
            if turn > 0 {
                thread.seconds += begin.elapsed().as_secs_f64();
                thread.cpu += server.cpu() - cpu;
            }
        }
    }
    let appends = (args.turns * args.appends).max(1) as f64;
    let rows = threads.iter().map(|thread| {
        json!({
            "length": thread.length,
            "p50_ms": thread.spread.at(0.50),
            "p99_ms": thread.spread.at(0.99),
            "us_an_append": thread.seconds * 1e6 / appends,
            "server_us_an_append": thread.cpu * 1e6 / appends,
        })
    });
    Ok(json!({ "threads": rows.collect::<Vec<_>>() }))
}
