//! What is wanted, and whether it is so.

use serde_json::{Value, json};

use super::peer::Peer;
use super::rows::{Rows, short};
use super::workloads::{
    GROWTH, IDLE_READERS, READERS, WRITERS, appends_of, batches, fanout_of, lengths, paced,
    replay_of,
};

/// Something that is wanted.
pub(super) struct Goal {
    what: String,
    unit: &'static str,
    ours: f64,
    wanted: Bound,
    /// Where what is wanted comes from.
    why: String,
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    /// At least so much of something.
    pub(super) fn at_least(what: String, unit: &'static str, ours: f64, wanted: f64) -> Self {
        Self { what, unit, ours, wanted: Bound::AtLeast(wanted), why: String::new() }
    }

    /// At most so much of something.
    pub(super) fn at_most(what: String, unit: &'static str, ours: f64, wanted: f64) -> Self {
        Self { what, unit, ours, wanted: Bound::AtMost(wanted), why: String::new() }
    }

    /// With a word of where what is wanted comes from.
    pub(super) fn told_as(self, why: &str) -> Self {
        Self { why: why.to_owned(), ..self }
    }

    /// How many times as good as wanted.
    fn ratio(&self) -> f64 {
        match self.wanted {
            // Nothing of it is wanted.
            Bound::AtMost(0.0) => f64::from(u8::from(self.met())),
            Bound::AtLeast(wanted) => self.ours / wanted,
            Bound::AtMost(wanted) => wanted / self.ours,
        }
    }

    pub(super) fn met(&self) -> bool {
        match self.wanted {
            Bound::AtLeast(wanted) => self.ours >= wanted,
            Bound::AtMost(wanted) => self.ours <= wanted,
        }
    }

    pub(super) fn json(&self) -> Value {
        let (bound, wanted) = match self.wanted {
            Bound::AtLeast(wanted) => ("at least", wanted),
            Bound::AtMost(wanted) => ("at most", wanted),
        };
        json!({
            "what": self.what,
            "unit": self.unit,
            "ours": self.ours,
            "bound": bound,
            "wanted": wanted,
            "why": self.why,
            "ratio": self.ratio(),
            "met": self.met(),
        })
    }
}

/// The goals of everything that was measured.
pub(super) fn of(rows: &Rows) -> Vec<Goal> {
    let mut goals = Vec::new();
    let mut add = |what: String, unit, ours: Option<f64>, wanted: Option<Bound>, why: String| {
        if let Some((ours, wanted)) = ours.zip(wanted) {
            goals.push(Goal { what, unit, ours, wanted, why });
        }
    };
    let ours = |what: &str, name: &str| rows.get(what, Peer::Selvedge, name);
    for writers in WRITERS {
        let what = appends_of(writers);
        let best = best(rows, &what, "appends_s", &[Peer::Redis, Peer::DurableStreams]);
        let why = best.map_or(String::new(), |(peer, _)| peer.name().to_owned());
        let wanted = best.map(|(_, rate)| Bound::AtLeast(rate));
        add(what.clone(), "appends/s", ours(&what, "appends_s"), wanted, why);
        if writers == 64 {
            let redis = rows.get(&what, Peer::Redis, "p99_ms");
            let wanted = redis.map(|p99| Bound::AtMost(p99 * 1.5));
            let why = "1.5 × redis".to_owned();
            add(format!("{what}, p99"), "ms", ours(&what, "p99_ms"), wanted, why);
        }
    }
    let what = batches();
    let wanted = Some(Bound::AtLeast(200_000.0));
    add(what.clone(), "events/s", ours(&what, "events_s"), wanted, String::new());
    for (readers, least) in [(READERS[1], 1.5e6), (READERS[2], 1.6e6)] {
        let what = fanout_of(readers);
        let durable = rows.get(&what, Peer::DurableStreams, "delivered_s").unwrap_or(0.0);
        let beside = readers == READERS[1] && durable > least;
        let why = if beside { Peer::DurableStreams.name() } else { "" };
        let wanted = Some(Bound::AtLeast(if beside { durable } else { least }));
        add(what.clone(), "deliveries/s", ours(&what, "delivered_s"), wanted, why.to_owned());
    }
    for readers in READERS {
        let what = fanout_of(readers);
        let wrong = ["lost", "misplaced", "cut"].iter().filter_map(|name| ours(&what, name));
        let wrong = ours(&what, "lost").map(|_| wrong.sum());
        let title = format!("{what}, lost or out of order");
        add(title, "events", wrong, Some(Bound::AtMost(0.0)), String::new());
    }
    let what = paced();
    let (cpu, p99) = (ours(&what, "us_a_delivery"), ours(&what, "p99_ms"));
    add(format!("{what}, CPU a delivery"), "µs", cpu, Some(Bound::AtMost(9.0)), String::new());
    add(format!("{what}, p99"), "ms", p99, Some(Bound::AtMost(12.0)), String::new());
    let (memory, held) = (ours(IDLE_READERS, "kb_a_reader"), ours(IDLE_READERS, "readers"));
    let what = format!("{IDLE_READERS}, memory of one");
    add(what, "KiB", memory, Some(Bound::AtMost(4.0)), String::new());
    let (what, allowed) = (format!("{IDLE_READERS}, held"), ours(IDLE_READERS, "allowed"));
    let few = allowed < ours(IDLE_READERS, "asked");
    let why = if few { "the limit of open files" } else { "" };
    add(what, "readers", held, allowed.map(Bound::AtLeast), why.to_owned());
    for events in lengths(false).0.into_iter().chain(lengths(true).0) {
        for from in ["start", "middle"] {
            let what = replay_of(events, from, "looopy");
            if goals.iter().any(|goal| goal.what == what) {
                continue;
            }
            let mut add = |what: String, unit, name: &str, wanted| {
                if let Some(ours) =
                    rows.get(&replay_of(events, from, "looopy"), Peer::Selvedge, name)
                {
                    goals.push(Goal { what, unit, ours, wanted, why: String::new() });
                }
            };
            add(what.clone(), "events/s", "events_s", Bound::AtLeast(1e6));
            add(format!("{what}, first event"), "ms", "first_ms", Bound::AtMost(5.0));
            add(format!("{what}, memory grown"), "MB", "grown_mb", Bound::AtMost(32.0));
        }
    }
    if let Some(ours) = rows.get(GROWTH, Peer::Selvedge, "ratio") {
        let what = "an append to the longest thread, to the shortest".to_owned();
        let (unit, wanted, why) = ("×", Bound::AtMost(1.1), String::new());
        goals.push(Goal { what, unit, ours, wanted, why });
    }
    goals
}

/// Who of them is best, of those that came through.
fn best(rows: &Rows, what: &str, name: &str, peers: &[Peer]) -> Option<(Peer, f64)> {
    let rates = peers.iter().filter(|peer| !rows.failed(what, **peer));
    let rates = rates.filter_map(|peer| Some((*peer, rows.get(what, *peer, name)?)));
    rates.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Prints the table.
pub(super) fn print(goals: &[Goal]) {
    let width = goals.iter().map(|goal| goal.what.chars().count()).max().unwrap_or(0);
    println!("\n{:width$}  {:>8}  {:>9}  {:>6}", "targets", "ours", "wanted", "ratio");
    for goal in goals {
        let wanted = match goal.wanted {
            Bound::AtLeast(wanted) => format!("≥ {}", short(wanted)),
            Bound::AtMost(wanted) => format!("≤ {}", short(wanted)),
        };
        let verdict = if goal.met() { "met" } else { "MISSED" };
        println!(
            "{:width$}  {:>8}  {wanted:>9}  {:>6.2}  {verdict:<6}  {} {}",
            goal.what,
            short(goal.ours),
            goal.ratio(),
            goal.unit,
            goal.why
        );
    }
}
