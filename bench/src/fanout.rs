//! One stream to many readers, published to as fast as it is acknowledged or at a rate.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::args::{Appends, Readers};
use crate::event::{Request, event};
use crate::line::Line;
use crate::process::Tree;
use crate::reader::{Outcome, read};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) readers: Readers,
    #[command(flatten)]
    appends: Appends,
    /// Appends in a second; as many as are acknowledged when left out
    #[arg(long)]
    rate: Option<f64>,
    /// Where it is published, if not where it is read: at another node
    #[arg(long)]
    from: Option<SocketAddr>,
    /// Threads that read
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

/// How long readers may take for what is left.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Args) -> Result<Value> {
    let at = args.from.unwrap_or(args.readers.server.address);
    let mut publisher = args.readers.server.at(at).stream(&args.readers.name)?;
    let (server, own) = (args.readers.server.tree(), Tree::own());
    let memory = server.memory();
    let mut readers = args.readers.open()?;
    let count = readers.len();
    thread::sleep(Duration::from_millis(300));
    let idle = server.memory();

    let (clock, wanted) = (Instant::now(), AtomicU64::new(u64::MAX));
    let (server_cpu, own_cpu) = (server.cpu(), own.cpu());
    let share = count.div_ceil(args.threads.max(1)).max(1);
    let (outcomes, published) = thread::scope(|scope| {
        let threads: Vec<_> = readers
            .chunks_mut(share)
            .map(|own| scope.spawn(|| read(own, clock, &wanted, PATIENCE)))
            .collect();
        let published = publish(args, &mut publisher, clock);
        // Whatever went wrong, readers must end.
        wanted.store(*published.as_ref().map_or(&0, |(sent, _)| sent), Ordering::Release);
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Outcome>>| {
            thread.join().map_err(|_| anyhow!("a reader panicked"))?
        };
        (threads.into_iter().map(join).collect::<Result<Vec<_>>>(), published)
    });
    let ((sent, end), outcomes) = (published?, outcomes?);
    let (server_cpu, own_cpu) = (server.cpu() - server_cpu, own.cpu() - own_cpu);
    let used = clock.elapsed().as_secs_f64();
    let last = outcomes.iter().map(|outcome| outcome.last).max().unwrap_or(end);
    let seconds = (last.max(end) - clock).as_secs_f64();
    let mut all = Outcome {
        delivered: 0,
        misplaced: 0,
        cut: 0,
        spread: crate::spread::Spread::new(),
        last,
        counts: Vec::new(),
    };
    for outcome in &outcomes {
        all.delivered += outcome.delivered;
        all.misplaced += outcome.misplaced;
        all.cut += outcome.cut;
        all.spread.join(&outcome.spread);
    }
    let lost = (sent * count as u64).abs_diff(all.delivered);
    Ok(json!({
        "readers": count,
        "events": sent,
        "appended_s": sent as f64 / (end - clock).as_secs_f64(),
        "delivered_s": all.delivered as f64 / seconds,
        "p50_ms": all.spread.at(0.50),
        "p99_ms": all.spread.at(0.99),
        "us_a_delivery": server_cpu * 1e6 / all.delivered.max(1) as f64,
        "kb_a_reader": (idle - memory) / count.max(1) as f64 / 1024.0,
        "kb_a_reader_after": (server.memory() - memory) / count.max(1) as f64 / 1024.0,
        "lost": lost,
        "misplaced": all.misplaced,
        "cut": all.cut,
        "server_cpu": server_cpu / used,
        "own_cpu": own_cpu / used,
    }))
}

/// Publishes until the time is over; gives how many events, and when it ended.
fn publish(args: &Args, line: &mut Line, clock: Instant) -> Result<(u64, Instant)> {
    let wire = args.readers.server.peer.wire();
    let Appends { batch, seconds, size } = args.appends;
    let events = vec![event(size); batch];
    let mut request = Request::new(wire.publish(&args.readers.name, &events));
    let (mut sent, mut appends, time) = (0, 0u32, Duration::from_secs_f64(seconds));
    let answers = wire.answers(batch);
    while clock.elapsed() < time {
        if let Some(rate) = args.rate {
            let due = clock + Duration::from_secs_f64(f64::from(appends) / rate);
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        line.exchange(request.stamp(0, sent, clock), answers)?;
        sent += request.events() as u64;
        appends += 1;
    }
    Ok((sent, Instant::now()))
}
