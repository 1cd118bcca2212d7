//! Durable appends: each writer has a stream and a connection of its own and sends the next append
//! when the last is acknowledged. One thread waits for all of them. Of a server with several nodes
//! they take turns, and they may all write to one stream.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use serde_json::{Value, json};

use crate::args::{Appends, Nodes, Writers};
use crate::decode::{Decoder, Progress};
use crate::event::{Request, event};
use crate::line::Line;
use crate::process::{Tree, cpu};
use crate::replay;
use crate::spread::Spread;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) server: crate::Server,
    #[command(flatten)]
    load: Writers,
    /// What streams' names begin with
    #[arg(long, default_value = "a")]
    name: String,
    /// All of them write to one stream
    #[arg(long)]
    hot: bool,
    #[command(flatten)]
    nodes: Nodes,
}

/// A moment before it counts.
const WARM: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &Args) -> Result<Value> {
    let (wire, Appends { batch, seconds, size }) = (args.server.peer.wire(), args.load.appends);
    let (clock, mut poll) = (Instant::now(), Poll::new()?);
    let mut writers = Vec::new();
    for number in 0..args.load.writers {
        let stream = if args.hot { args.name.clone() } else { format!("{}w{number}", args.name) };
        let server = args.nodes.turn(&args.server, number);
        let line = match args.hot && number > 0 {
            true => Line::open(server.address, wire)?,
            false => server.stream(&stream)?,
        };
        let (mut socket, decoder) = line.release()?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut socket, Token(number), interest)?;
        let events = vec![event(size); batch];
        let request = Request::new(wire.append(&stream, &events));
        let answers = wire.answers(batch);
        let next = 0;
        writers.push(Writer {
            stream,
            socket,
            decoder,
            request,
            answers,
            next,
            out: 0,
            asked: None,
        });
    }

    let (server, own) = (args.nodes.trees(&args.server), Tree::own());
    let database = args.nodes.database();
    let from = Instant::now() + WARM;
    let end = from + Duration::from_secs_f64(seconds);
    let mut before = None;
    let (mut spread, mut counted, mut bytes) = (Spread::new(), 0u64, vec![0; 64 << 10]);
    for (number, writer) in writers.iter_mut().enumerate() {
        writer.send(number, clock)?;
    }
    let (mut events, mut open) = (Events::with_capacity(1024), args.load.writers);
    while open > 0 {
        poll.poll(&mut events, Some(Duration::from_secs(30)))?;
        if events.is_empty() {
            bail!("no answer for half a minute");
        }
        for event in &events {
            let Some(writer) = writers.get_mut(event.token().0) else { continue };
            if event.is_writable() {
                writer.flush()?;
            }
            if !event.is_readable() || !writer.answered(&mut bytes)? {
                continue;
            }
            let now = Instant::now();
            if now >= from && before.is_none() {
                before = Some((now, cpu(&server), cpu(&database), own.cpu()));
            }
            if now >= from && now < end {
                counted += 1;
                let asked = writer.asked.unwrap_or(now);
                spread.add((now - asked).as_micros() as u64);
            }
            writer.next += batch as u64;
            if now < end {
                writer.send(event.token().0, clock)?;
            } else {
                writer.asked = None;
                open -= 1;
            }
        }
    }
    let (begin, server_cpu, database_cpu, own_cpu) = before.context("nothing was answered")?;
    let (server_cpu, own_cpu) = (cpu(&server) - server_cpu, own.cpu() - own_cpu);
    let database_cpu = cpu(&database) - database_cpu;
    // What was answered after the end still took CPU time.
    let elapsed = begin.elapsed().as_secs_f64();
    let all: u64 = writers.iter().map(|writer| writer.next).sum();
    if args.hot {
        let counts: Vec<u64> = writers.iter().map(|writer| writer.next).collect();
        let told = replay::check_all(&args.server, &args.name, &counts);
        told.with_context(|| format!("{} is not what was acknowledged", args.name))?;
    }
    for (number, writer) in writers.iter().enumerate().filter(|_| !args.hot) {
        let told = replay::check(&args.server, &writer.stream, number, writer.next);
        told.with_context(|| format!("{} is not what was acknowledged", writer.stream))?;
    }
    Ok(json!({
        "writers": args.load.writers,
        "batch": batch,
        "appends_s": counted as f64 / (end - begin).as_secs_f64(),
        "events_s": counted as f64 * batch as f64 / (end - begin).as_secs_f64(),
        "p50_ms": spread.at(0.50),
        "p99_ms": spread.at(0.99),
        "server_cpu": server_cpu / elapsed,
        "database_cpu": (!database.is_empty()).then(|| database_cpu / elapsed),
        "own_cpu": own_cpu / elapsed,
        "server_us_an_append": server_cpu * 1e6 / counted.max(1) as f64,
        "checked_events": all,
    }))
}

struct Writer {
    stream: String,
    socket: TcpStream,
    decoder: Decoder,
    request: Request,
    answers: usize,
    /// The number of its next event.
    next: u64,
    /// Bytes of the request that were sent.
    out: usize,
    asked: Option<Instant>,
}

impl Writer {
    fn send(&mut self, number: usize, clock: Instant) -> Result<()> {
        self.request.stamp(number, self.next, clock);
        self.decoder.expect(self.answers);
        self.out = 0;
        self.asked = Some(Instant::now());
        self.flush()
    }

    /// Sends what can be sent of a request.
    fn flush(&mut self) -> Result<()> {
        if self.asked.is_none() {
            return Ok(());
        }
        while let Some(rest) = self.request.bytes().get(self.out..).filter(|r| !r.is_empty()) {
            match self.socket.write(rest) {
                Ok(n) => self.out += n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("the server takes nothing"),
            }
        }
        Ok(())
    }

    /// Reads what is there; whether the answer is whole.
    fn answered(&mut self, bytes: &mut [u8]) -> Result<bool> {
        loop {
            match self.socket.read(bytes) {
                Ok(0) => bail!("the server hung up"),
                Ok(n) => {
                    let piece = bytes.get(..n).unwrap_or_default();
                    if self.decoder.feed(piece, &mut |_| {})? == Progress::Whole {
                        // Nothing follows until something is asked.
                        return Ok(self.asked.is_some());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error).context("the server says nothing"),
            }
        }
    }
}
