//! Figures: what was measured, of whom, and how often.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::peer::Peer;

/// Everything that was measured, in the order in which it was measured first.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    peer: Peer,
    samples: BTreeMap<String, Vec<f64>>,
    /// Why there is nothing.
    failure: Option<String>,
}

/// Columns of the table, if a row has them.
const SHOWN: [(&str, &str); 21] = [
    ("appends_s", "appends/s"),
    ("events_s", "events/s"),
    ("appended_s", "appended/s"),
    ("delivered_s", "delivered/s"),
    ("p50_ms", "p50 ms"),
    ("p99_ms", "p99 ms"),
    ("first_ms", "first ms"),
    ("us_a_delivery", "µs a delivery"),
    ("kb_a_reader", "KiB a reader"),
    ("readers", "readers"),
    ("grown_mb", "grown MB"),
    ("held_mb", "memory MB"),
    ("made_s", "made/s"),
    ("disk_mb", "disk MB"),
    ("start_ms", "start ms"),
    ("server_us_an_append", "server µs an append"),
    ("server_cpu", "server cores"),
    ("database_cpu", "database cores"),
    ("own_cpu", "load cores"),
    ("lost", "lost"),
    ("cut", "cut off"),
];

impl Rows {
    /// Adds what a load reported.
    pub(super) fn add(&mut self, what: &str, peer: Peer, report: &Value) {
        let row = self.row(what, peer);
        for (name, value) in report.as_object().into_iter().flatten() {
            if let Some(value) = value.as_f64() {
                row.samples.entry(name.clone()).or_default().push(value);
            }
        }
    }

    /// Adds that a load failed.
    pub(super) fn fail(&mut self, what: &str, peer: Peer, why: String) {
        self.row(what, peer).failure = Some(why);
    }

    /// The median of a figure.
    pub(super) fn get(&self, what: &str, peer: Peer, name: &str) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.what == what && row.peer == peer)?;
        row.samples.get(name).and_then(|samples| median(samples))
    }

    /// Whether a load failed on someone.
    pub(super) fn failed(&self, what: &str, peer: Peer) -> bool {
        let row = self.rows.iter().find(|row| row.what == what && row.peer == peer);
        row.is_some_and(|row| row.failure.is_some())
    }

    /// Whether everything that was tried on someone came through.
    pub(super) fn whole(&self, peer: Peer) -> bool {
        self.rows.iter().all(|row| row.peer != peer || row.failure.is_none())
    }

    /// Prints each workload as a table.
    pub(super) fn print(&self) {
        let mut before = "";
        let shown = |row: &&Row| {
            row.failure.is_some() || SHOWN.iter().any(|(name, _)| row.samples.contains_key(*name))
        };
        for row in self.rows.iter().filter(shown) {
            if row.what != before {
                println!("\n{}", row.what);
                before = &row.what;
            }
            let figure = |(name, title): &(&str, &str)| {
                let value = row.samples.get(*name).and_then(|samples| median(samples))?;
                // Only what is wrong is worth a word.
                let good = matches!(*name, "lost" | "cut") && value == 0.0;
                (!good).then(|| format!("{title} {}", short(value)))
            };
            let figures: Vec<String> = SHOWN.iter().filter_map(figure).collect();
            let failure = row.failure.iter().map(|why| format!("FAILED: {why}"));
            let figures: Vec<String> = figures.into_iter().chain(failure).collect();
            println!("  {:<16} {}", row.peer.name(), figures.join(", "));
        }
    }

    pub(super) fn json(&self) -> Value {
        let each = |row: &Row| {
            let medians: BTreeMap<_, _> =
                row.samples.iter().map(|(name, samples)| (name, median(samples))).collect();
            json!({
                "what": row.what,
                "peer": row.peer.name(),
                "median": medians,
                "samples": row.samples,
                "failure": row.failure,
            })
        };
        self.rows.iter().map(each).collect()
    }

    fn row(&mut self, what: &str, peer: Peer) -> &mut Row {
        let known = self.rows.iter().position(|row| row.what == what && row.peer == peer);
        let at = known.unwrap_or_else(|| {
            let last = self.rows.iter().rposition(|row| row.what == what);
            let at = last.map_or(self.rows.len(), |last| last + 1);
            let samples = BTreeMap::new();
            self.rows.insert(at, Row { what: what.to_owned(), peer, samples, failure: None });
            at
        });
        &mut self.rows[at]
    }
}

fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted.get(half).copied(),
        _ => Some((sorted.get(half.checked_sub(1)?)? + sorted.get(half)?) / 2.0),
    }
}

/// A number in three digits or so.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 9.995e5 => format!("{:.2}M", value / 1e6).replace(".00M", "M"),
        size if size >= 9.995e4 => format!("{:.0}k", value / 1e3),
        size if size >= 9.995e3 => format!("{:.1}k", value / 1e3).replace(".0k", "k"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::peer::Peer;
    use super::{Rows, short};

    #[test]
    fn rounds_are_medians_and_workloads_stay_together() {
        let mut rows = Rows::default();
        for value in [3.0, 1.0, 2.0] {
            rows.add("a", Peer::Selvedge, &json!({ "p50_ms": value, "name": "x" }));
            rows.add("b", Peer::Selvedge, &json!({ "p50_ms": 0 }));
            rows.add("a", Peer::Redis, &json!({ "p50_ms": value * 2.0 }));
        }
        assert_eq!(rows.get("a", Peer::Selvedge, "p50_ms"), Some(2.0));
        assert_eq!(rows.get("a", Peer::Redis, "p50_ms"), Some(4.0));
        assert_eq!(rows.get("a", Peer::Nats, "p50_ms"), None);
        let order: Vec<&str> = rows.rows.iter().map(|row| row.what.as_str()).collect();
        assert_eq!(order, ["a", "a", "b"]);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [1e6, 1_530_000.0, 471_400.0, 46_200.0, 3612.0, 12.34, 0.5].map(short);
        assert_eq!(shown, ["1M", "1.53M", "471k", "46.2k", "3612", "12.3", "0.50"]);
    }
}
