//! Times reading a file of one dialect and writing it again from its frames.
//!
//! `cargo run --release --example replay_bench -- <dialect> <file> [samples]` prints the median CPU
//! time of a round in milliseconds and checks that the bytes are the same.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a measuring tool: it stops when it cannot go on"
)]

use std::fs;
use std::time::Instant;

use selvedge_protocol::dialect::{self, DecodeOptions, EncodeOptions, Encoding, decode};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, name, file, rest @ ..] = arguments.as_slice() else {
        panic!("usage: replay_bench <dialect> <file> [samples]");
    };
    let dialect = dialect::named(name).expect("a dialect");
    let source = fs::read(file).expect("the file");
    let samples = rest.first().and_then(|n| n.parse().ok()).unwrap_or(15);
    let mut times = Vec::new();
    for _ in 0..samples {
        let clock = Clock::start();
        for _ in 0..ROUNDS_A_SAMPLE {
            assert!(round(dialect, &source).len() == source.len(), "the bytes differ");
        }
        times.push(clock.elapsed() / f64::from(ROUNDS_A_SAMPLE));
    }
    assert!(round(dialect, &source) == source, "the bytes differ");
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
    let least = times.first().copied().unwrap_or(0.0);
    println!("median {median:.2} ms, least {least:.2} ms, {} bytes", source.len());
}

/// The scheduler counts in steps of some milliseconds: a sample must be longer than that.
const ROUNDS_A_SAMPLE: u32 = 8;

fn round(dialect: &'static dialect::Dialect, source: &[u8]) -> Vec<u8> {
    // Checking that the bytes are UTF-8 is part of reading them.
    let text = std::str::from_utf8(source).expect("UTF-8");
    let mut encoding = Encoding::new(dialect, &EncodeOptions::default());
    let mut out = Vec::with_capacity(source.len());
    decode(dialect, &DecodeOptions::default(), text, |batch| encoding.batch(&batch, &mut out));
    encoding.finish(&mut out);
    out
}

/// CPU time of this process where the system tells it, else wall time.
struct Clock {
    cpu: Option<f64>,
    wall: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { cpu: cpu_ms(), wall: Instant::now() }
    }

    fn elapsed(&self) -> f64 {
        match (self.cpu, cpu_ms()) {
            (Some(before), Some(after)) => after - before,
            _ => self.wall.elapsed().as_secs_f64() * 1000.0,
        }
    }
}

/// Nanoseconds on a CPU, as the scheduler counts them.
fn cpu_ms() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanos: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanos / 1e6)
}
