//! A stream that is told again: all of it or its second half.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::Server;
use crate::args::Stream;
use crate::decode::Progress;
use crate::event::{Mark, Request, Scanner, event};
use crate::line::Line;
use crate::process::Tree;
use crate::wire::Replay;

#[derive(clap::Args)]
pub(crate) struct FillArgs {
    #[command(flatten)]
    pub(crate) stream: Stream,
    /// Bytes of an event
    #[arg(long, default_value_t = 300)]
    size: usize,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) stream: Stream,
    /// Begin behind the first half, at the place that `fill` told
    #[arg(long)]
    middle: Option<String>,
    /// Of ours: the form that it is told in
    #[arg(long, default_value = "native")]
    dialect: String,
}

/// Events of one append while a stream is made.
const BATCH: u64 = 500;

/// Makes a stream; tells the place in its middle.
pub(crate) fn fill(args: &FillArgs) -> Result<Value> {
    let Stream { server, name, events: count } = &args.stream;
    let (wire, count) = (server.peer.wire(), *count);
    let mut line = server.stream(name)?;
    ensure!(count.is_multiple_of(2 * BATCH), "a multiple of {} events", 2 * BATCH);
    let events = vec![event(args.size); BATCH as usize];
    let mut request = Request::new(wire.append(name, &events));
    let (clock, mut middle) = (Instant::now(), String::new());
    for first in (0..count).step_by(BATCH as usize) {
        line.exchange(request.stamp(0, first, clock), wire.answers(BATCH as usize))?;
        if (first + BATCH) * 2 == count {
            middle = wire.place(&line.decoder, first + BATCH);
        }
    }
    let seconds = clock.elapsed().as_secs_f64();
    Ok(json!({ "middle": middle, "seconds": seconds, "events_s": count as f64 / seconds }))
}

pub(crate) fn run(args: &Args) -> Result<Value> {
    let Stream { server: of, name, events } = &args.stream;
    let (server, own, events) = (of.tree(), Tree::own(), *events);
    let first = if args.middle.is_some() { events / 2 } else { 0 };
    server.forget_peak();
    let (memory, cpu, own_cpu) = (server.memory(), server.cpu(), own.cpu());
    let place = args.middle.as_deref();
    let told = tell(of, name, &args.dialect, place, first..events, &mut of_one(0))?;
    Ok(json!({
        "events": events - first,
        "seconds": told.seconds,
        "events_s": (events - first) as f64 / told.seconds,
        "first_ms": told.first_ms,
        "mb_s": told.bytes as f64 / told.seconds / 1e6,
        "memory_mb": memory / 1e6,
        "grown_mb": (server.peak() - memory).max(0.0) / 1e6,
        "server_cpu": (server.cpu() - cpu) / told.seconds,
        "own_cpu": (own.cpu() - own_cpu) / told.seconds,
    }))
}

/// Reads a stream of one writer from its beginning; it must hold exactly so many events.
pub(crate) fn check(server: &Server, stream: &str, writer: usize, events: u64) -> Result<()> {
    tell(server, stream, "native", None, 0..events, &mut of_one(writer)).map(|_| ())
}

/// The same of a stream of several: so many events of each, those of each in their order.
pub(crate) fn check_all(server: &Server, stream: &str, counts: &[u64]) -> Result<()> {
    let mut next = vec![0; counts.len()];
    let mut fits = |mark: Mark, _| {
        let Some(next) = next.get_mut(mark.writer) else { return false };
        *next += 1;
        mark.number + 1 == *next
    };
    let all = counts.iter().sum();
    tell(server, stream, "native", None, 0..all, &mut fits)?;
    ensure!(next == counts, "{next:?} events instead of {counts:?}");
    Ok(())
}

/// Events of one writer, one after the other.
fn of_one(writer: usize) -> impl FnMut(Mark, u64) -> bool {
    move |mark, next| (mark.writer, mark.number) == (writer, next)
}

/// How a stream was told.
struct Told {
    seconds: f64,
    first_ms: f64,
    bytes: u64,
}

fn tell(
    server: &Server,
    stream: &str,
    dialect: &str,
    place: Option<&str>,
    wanted: std::ops::Range<u64>,
    fits: &mut dyn FnMut(Mark, u64) -> bool,
) -> Result<Told> {
    let wire = server.peer.wire();
    let mut line = Line::open(server.address, wire)?;
    let begin = Instant::now();
    let (mut next, mut wrong, mut first_ms, mut bytes) = (wanted.start, 0u64, None, 0u64);
    loop {
        let before = next;
        let seen = next - wanted.start;
        line.ask(&wire.replay(stream, dialect, place, seen), 1)?;
        let mut scanner = Scanner::default();
        let (mut last, mut ended) = (Vec::new(), false);
        while !ended {
            let progress = line.read(&mut |piece| {
                bytes += piece.len() as u64;
                scanner.feed(piece, |mark| {
                    first_ms.get_or_insert_with(|| begin.elapsed().as_secs_f64() * 1e3);
                    wrong += u64::from(!fits(mark, next));
                    next += 1;
                });
                if let Replay::Stream(end) = wire.replayed() {
                    // Only the end of a piece can be the end of all, and it may be cut.
                    last.extend_from_slice(&piece[piece.len().saturating_sub(512)..]);
                    ended |= next >= wanted.end && memchr::memmem::find(&last, end).is_some();
                    last.drain(..last.len().saturating_sub(512));
                }
            })?;
            ended |= progress == Progress::Whole;
        }
        match wire.replayed() {
            Replay::Stream(_) => break,
            Replay::Pages(page) if next - before < page => break,
            Replay::Pages(_) => {}
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    ensure!(wrong == 0, "{wrong} events out of order");
    ensure!(
        next == wanted.end,
        "{} events instead of {}",
        next - wanted.start,
        wanted.end - wanted.start
    );
    Ok(Told { seconds, first_ms: first_ms.unwrap_or(f64::NAN), bytes })
}
