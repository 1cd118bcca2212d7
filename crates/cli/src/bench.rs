//! `selvedge bench`: how fast a server is, seen from outside.
//!
//! Speaks HTTP by itself, in as few instructions as will do: the two share a machine, and what the
//! load takes the server does not get. Its own CPU time is part of the report.

mod appends;
mod fanout;
mod http;
mod latency;
mod requests;
mod turns;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::error::Error;
use crate::output;

/// Measure how fast a server is
///
/// Makes threads of its own, whose ids begin with `bench-`, and leaves them there.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Appends that are on disk when they are answered, by 64 writers:
      selvedge bench appends --writers 64

  One thread to a thousand readers:
      selvedge bench fanout --readers 1000

  A thousand turns at once, of an agent of the server's configuration:
      selvedge bench turns --agent ada --turns 1000 --at-once 1000

  What protocols add to the time until an event is there, at a thousand events a second:
      selvedge bench latency --rate 1000")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Durable appends, each writer to a thread of its own
    Appends(AppendsArgs),
    /// One thread to many readers
    Fanout(FanoutArgs),
    /// Turns of an agent, each in a thread of its own
    Turns(TurnsArgs),
    /// One request of any protocol again and again, answered whole or as a stream
    Requests(RequestsArgs),
    /// How long an event takes to readers of each protocol, beside a reader of the native stream
    Latency(LatencyArgs),
}

#[derive(clap::Args)]
struct Common {
    /// The server's address
    #[arg(long, default_value = "127.0.0.1:4180", value_name = "ADDRESS")]
    address: String,
    /// For how long
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    seconds: f64,
    /// Bytes of an event
    #[arg(long, default_value_t = 300, value_name = "BYTES")]
    size: usize,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl Common {
    fn time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds.clamp(0.1, 3600.0))
    }
}

#[derive(clap::Args)]
struct AppendsArgs {
    /// How many write at the same time
    #[arg(long, default_value_t = 64, value_name = "COUNT")]
    writers: usize,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
struct FanoutArgs {
    /// How many read the thread
    #[arg(long, default_value_t = 1000, value_name = "COUNT")]
    readers: usize,
    /// Events of one append
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    batch: usize,
    /// Appends in a second; as many as it takes when left out
    #[arg(long, value_name = "COUNT")]
    rate: Option<f64>,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
struct TurnsArgs {
    /// Who answers
    #[arg(long, value_name = "AGENT")]
    agent: String,
    /// How many turns there are in all
    #[arg(long, default_value_t = 100, value_name = "COUNT")]
    turns: usize,
    /// How many go on at the same time
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    at_once: usize,
    /// The server's address
    #[arg(long, default_value = "127.0.0.1:4180", value_name = "ADDRESS")]
    address: String,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct RequestsArgs {
    /// Where to post
    #[arg(long, value_name = "PATH")]
    path: String,
    /// The body, in a file; `{n}` in it is the request's own number
    #[arg(long, value_name = "FILE")]
    body: PathBuf,
    /// Headers, as in `accept: text/event-stream`
    #[arg(long, value_name = "HEADER")]
    header: Vec<String>,
    /// How many requests there are in all
    #[arg(long, default_value_t = 1000, value_name = "COUNT")]
    count: usize,
    /// How many go on at the same time
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    at_once: usize,
    /// The server's address
    #[arg(long, default_value = "127.0.0.1:4180", value_name = "ADDRESS")]
    address: String,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct LatencyArgs {
    /// Events in a second, each an append of its own
    #[arg(long, default_value_t = 1000.0, value_name = "COUNT")]
    rate: f64,
    /// Which protocols; all at once when left out
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(latency::names()))]
    surface: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Measures.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| failed("the network", cause))?;
    let (report, json) = match &args.what {
        What::Appends(own) => (runtime.block_on(appends::run(own))?, own.common.json),
        What::Fanout(own) => (runtime.block_on(fanout::run(own))?, own.common.json),
        What::Turns(own) => (runtime.block_on(turns::run(own))?, own.json),
        What::Requests(own) => (runtime.block_on(requests::run(own))?, own.json),
        What::Latency(own) => (runtime.block_on(latency::run(own))?, own.common.json),
    };
    output::print(&if json { report.json() } else { report.text() })?;
    Ok(ExitCode::SUCCESS)
}

fn failed(name: &str, cause: std::io::Error) -> Error {
    Error::Read { name: name.to_owned(), cause }
}

/// Figures by name.
struct Report {
    figures: Vec<(String, f64, &'static str)>,
}

impl Report {
    fn new() -> Self {
        Self { figures: Vec::new() }
    }

    fn add(&mut self, name: impl Into<String>, value: f64, unit: &'static str) {
        self.figures.push((name.into(), value, unit));
    }

    /// The middle and the slow end of waiting times.
    fn latencies(&mut self, micros: Vec<u32>) {
        self.spread("", micros.into_iter().map(f64::from).collect());
    }

    /// The same of times that may be differences, under names that begin so.
    fn spread(&mut self, prefix: &str, mut micros: Vec<f64>) {
        micros.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (micros.len() as f64 * share) as usize;
            micros.get(place.min(micros.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
        };
        self.add(format!("{prefix}p50"), at(0.50) / 1000.0, "ms");
        self.add(format!("{prefix}p99"), at(0.99) / 1000.0, "ms");
    }

    fn text(&self) -> String {
        let width = self.figures.iter().map(|(name, ..)| name.len()).fold(12, usize::max);
        let line = |(name, value, unit): &(String, f64, &str)| {
            let digits = if *value < 100.0 { 2 } else { 0 };
            format!("{name:<width$} {value:>12.digits$} {unit}\n")
        };
        self.figures.iter().map(line).collect()
    }

    fn json(&self) -> String {
        let figures = self.figures.iter().map(|(name, value, _)| format!("\"{name}\":{value:.3}"));
        format!("{{{}}}\n", figures.collect::<Vec<_>>().join(","))
    }
}

/// CPU seconds that this process has used.
fn own_cpu() -> f64 {
    // Fields 14 and 15, in hundredths of a second; the name before them may have spaces.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|f| f.parse::<f64>().ok()).sum();
    ticks / 100.0
}
