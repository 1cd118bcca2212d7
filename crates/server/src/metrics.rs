//! What happens, counted, in the text form that Prometheus reads.
//!
//! A handful of counters that are always there need no registry: each is a number.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use selvedge_store::Appended;

use crate::ErrorCode;

/// Upper ends of the buckets for latencies, in microseconds.
const LATENCY: [u64; 12] =
    [250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];
/// Upper ends of the buckets for how far readers are behind, in entries.
const LAG: [u64; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// A number that is counted up, or up and down.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, by: u64) {
        self.0.fetch_sub(by, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often something took how much.
#[derive(Debug)]
pub(crate) struct Histogram<const N: usize> {
    ends: [u64; N],
    buckets: [Count; N],
    count: Count,
    sum: Count,
}

impl<const N: usize> Histogram<N> {
    fn new(ends: [u64; N]) -> Self {
        let buckets = std::array::from_fn(|_| Count::default());
        Self { ends, buckets, count: Count::default(), sum: Count::default() }
    }

    pub(crate) fn observe(&self, value: u64) {
        let at = self.ends.partition_point(|end| *end < value);
        if let Some(bucket) = self.buckets.get(at) {
            bucket.add(1);
        }
        self.sum.add(value);
        self.count.add(1);
    }

    fn write(&self, name: &str, about: &str, unit: f64, out: &mut String) {
        heading(name, about, "histogram", out);
        let mut below = 0;
        for (end, bucket) in self.ends.iter().zip(&self.buckets) {
            below += bucket.get();
            let end = *end as f64 * unit;
            let _ = writeln!(out, "{name}_bucket{{le=\"{end}\"}} {below}");
        }
        // Never less than the buckets, which are read first.
        let count = self.count.get().max(below);
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {count}");
        let _ = writeln!(out, "{name}_sum {}", self.sum.get() as f64 * unit);
        let _ = writeln!(out, "{name}_count {count}");
    }
}

/// Why a stream was ended from this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resync {
    Shutdown,
    Revoked,
    Expired,
    /// The reader fell too far behind.
    Lag,
    /// The thread was deleted.
    Deleted,
    /// The thread's id means another journal now.
    Promoted,
    /// Entries that it may have read were written anew.
    Rewritten,
}

impl Resync {
    const ALL: [Self; 7] = [
        Self::Shutdown,
        Self::Revoked,
        Self::Expired,
        Self::Lag,
        Self::Deleted,
        Self::Promoted,
        Self::Rewritten,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
            Self::Lag => "lag",
            Self::Deleted => "deleted",
            Self::Promoted => "promoted",
            Self::Rewritten => "rewritten",
        }
    }

    /// The control frame's own name: what is gone cannot be resumed.
    pub(crate) fn event(self) -> &'static str {
        if self == Self::Deleted { "gone" } else { "resync" }
    }
}

/// Where a reader takes from what it is sent: the rungs of the ladder that it is still on. Those
/// below are ends, and are counted by their reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rung {
    /// What all readers of the view share.
    Live,
    /// The journal: it reads the past, or has fallen behind what is shared.
    Journal,
}

impl Rung {
    const ALL: [Self; 2] = [Self::Live, Self::Journal];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Journal => "journal",
        }
    }
}

/// A reader on its rung, counted there as long as it is.
#[derive(Debug)]
pub(crate) struct Standing {
    metrics: Arc<Metrics>,
    rung: Rung,
}

impl Standing {
    /// A reader that has read nothing yet.
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        metrics.rung(Rung::Live).add(1);
        Self { metrics, rung: Rung::Live }
    }

    /// Where it is counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Moves it to another rung.
    pub(crate) fn at(&mut self, rung: Rung) {
        if self.rung != rung {
            self.metrics.rung(self.rung).sub(1);
            self.metrics.rung(rung).add(1);
            self.rung = rung;
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.metrics.rung(self.rung).sub(1);
    }
}

/// Everything that is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) appends: Count,
    pub(crate) duplicates: Count,
    pub(crate) events: Count,
    /// Appends that wait for their commit.
    pub(crate) waiting: Count,
    pub(crate) latency: Histogram<12>,
    pub(crate) connections: Count,
    pub(crate) turned_away: Count,
    pub(crate) readers: Count,
    pub(crate) sent: Count,
    /// Pages that readers took from the journal because the ring no longer had them.
    pub(crate) pages: Count,
    /// Entries that were folded into others.
    pub(crate) folded: Count,
    pub(crate) lag: Histogram<7>,
    /// Connections cut off because their peers took nothing for too long.
    pub(crate) stalled: Count,
    rungs: [Count; Rung::ALL.len()],
    resyncs: [Count; Resync::ALL.len()],
    /// Answers by the first digit of their status.
    answers: [Count; 6],
    errors: Vec<Count>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            appends: Count::default(),
            duplicates: Count::default(),
            events: Count::default(),
            waiting: Count::default(),
            latency: Histogram::new(LATENCY),
            connections: Count::default(),
            turned_away: Count::default(),
            readers: Count::default(),
            sent: Count::default(),
            pages: Count::default(),
            folded: Count::default(),
            lag: Histogram::new(LAG),
            stalled: Count::default(),
            rungs: Default::default(),
            resyncs: Default::default(),
            answers: Default::default(),
            errors: ErrorCode::ALL.iter().map(|_| Count::default()).collect(),
        }
    }
}

impl Metrics {
    /// An append was committed after so long.
    pub(crate) fn committed(&self, took: Duration, appended: &Appended) {
        self.latency.observe(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        if appended.duplicate {
            self.duplicates.add(1);
        } else {
            self.appends.add(1);
            self.events.add((appended.last + 1).saturating_sub(appended.first));
        }
    }

    fn rung(&self, rung: Rung) -> &Count {
        let [live, journal] = &self.rungs;
        match rung {
            Rung::Live => live,
            Rung::Journal => journal,
        }
    }

    pub(crate) fn resync(&self, reason: Resync) {
        let counts = Resync::ALL.iter().zip(&self.resyncs);
        counts.filter(|(r, _)| **r == reason).for_each(|(_, count)| count.add(1));
    }

    pub(crate) fn answer(&self, status: http::StatusCode, code: Option<ErrorCode>) {
        if let Some(count) = self.answers.get(usize::from(status.as_u16() / 100)) {
            count.add(1);
        }
        let at = code.and_then(|code| ErrorCode::ALL.iter().position(|known| *known == code));
        if let Some(count) = at.and_then(|at| self.errors.get(at)) {
            count.add(1);
        }
    }

    /// All of it as Prometheus reads it.
    pub(crate) fn text(&self) -> String {
        let mut out = String::with_capacity(4096);
        for (name, about, kind, count) in [
            ("selvedge_appends_total", "Appends committed", "counter", &self.appends),
            (
                "selvedge_appends_repeated_total",
                "Appends answered by their key",
                "counter",
                &self.duplicates,
            ),
            ("selvedge_events_total", "Events committed", "counter", &self.events),
            (
                "selvedge_appends_waiting",
                "Appends that wait for their commit",
                "gauge",
                &self.waiting,
            ),
            ("selvedge_connections", "Connections open", "gauge", &self.connections),
            (
                "selvedge_connections_refused_total",
                "Connections beyond the bound",
                "counter",
                &self.turned_away,
            ),
            ("selvedge_readers", "Streams of events open", "gauge", &self.readers),
            ("selvedge_sent_bytes_total", "Bytes of streams sent", "counter", &self.sent),
            (
                "selvedge_folded_entries_total",
                "Entries that were folded into others",
                "counter",
                &self.folded,
            ),
            (
                "selvedge_catch_up_pages_total",
                "Pages that readers took from the journal",
                "counter",
                &self.pages,
            ),
            (
                "selvedge_stalled_total",
                "Connections cut off because nothing was taken from them",
                "counter",
                &self.stalled,
            ),
        ] {
            heading(name, about, kind, &mut out);
            let _ = writeln!(out, "{name} {}", count.get());
        }
        let about = "Time from asking to committed";
        self.latency.write("selvedge_append_seconds", about, 1e-6, &mut out);
        let about = "Entries that readers were behind when they took a page from the journal";
        self.lag.write("selvedge_reader_lag_entries", about, 1.0, &mut out);
        let name = "selvedge_readers_by_rung";
        heading(name, "Threads that streams follow, by where they read", "gauge", &mut out);
        for rung in Rung::ALL {
            let _ = writeln!(out, "{name}{{rung=\"{}\"}} {}", rung.name(), self.rung(rung).get());
        }
        let name = "selvedge_resyncs_total";
        heading(name, "Streams ended from this side", "counter", &mut out);
        for (reason, count) in Resync::ALL.iter().zip(&self.resyncs) {
            let _ = writeln!(out, "{name}{{reason=\"{}\"}} {}", reason.name(), count.get());
        }
        let name = "selvedge_answers_total";
        heading(name, "Answers by the class of their status", "counter", &mut out);
        for (class, count) in self.answers.iter().enumerate().skip(1) {
            let _ = writeln!(out, "{name}{{class=\"{class}xx\"}} {}", count.get());
        }
        let name = "selvedge_errors_total";
        heading(name, "Answers that say no, by code", "counter", &mut out);
        for (code, count) in ErrorCode::ALL.iter().zip(&self.errors) {
            let _ = writeln!(out, "{name}{{code=\"{}\"}} {}", code.name(), count.get());
        }
        out
    }
}

fn heading(name: &str, about: &str, kind: &str, out: &mut String) {
    let _ = writeln!(out, "# HELP {name} {about}.\n# TYPE {name} {kind}");
}
