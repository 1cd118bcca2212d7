//! What came of the checks: a table, the failures, a JSON file, the summary line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use crate::conformance::check::{Check, Verdict};
use crate::conformance::expected::Expected;

/// So many kinds of failure are printed; the JSON file has every failure.
const SHOWN: usize = 40;

/// The outcome of a run.
pub(crate) struct Report {
    rows: Vec<Row>,
    /// Peers that cannot run here, and why.
    unable: BTreeMap<&'static str, String>,
}

struct Row {
    id: String,
    outcome: Outcome,
    detail: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl Report {
    /// Weighs the verdicts against what is expected. A check that passes although
    /// it is expected to fail is a failure: its line has to go.
    pub(crate) fn new(checks: &[Check], verdicts: Vec<Verdict>, expected: &Expected) -> Self {
        let mut unable = BTreeMap::new();
        let rows = checks.iter().zip(verdicts).map(|(check, verdict)| {
            let (outcome, detail) = match (verdict, expected.reason(&check.id)) {
                (Verdict::Passed, None) => (Outcome::Passed, String::new()),
                (Verdict::Passed, Some(_)) => {
                    (Outcome::Failed, "passes, but conformance/expected.txt lists it".to_owned())
                }
                (Verdict::Skipped(reason), _) => {
                    unable.insert(check.peer.name, reason.clone());
                    (Outcome::Skipped, reason)
                }
                (Verdict::Empty, _) => (Outcome::Skipped, "nothing to load".to_owned()),
                (Verdict::Failed(error), None) => (Outcome::Failed, error),
                (Verdict::Failed(error), Some(reason)) => {
                    (Outcome::Skipped, format!("{reason}: {error}"))
                }
            };
            Row { id: check.id.clone(), outcome, detail }
        });
        let rows = rows.collect();
        Self { rows, unable }
    }

    /// Writes every row.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let rows: Vec<Value> = self.rows.iter().map(Row::to_json).collect();
        fs::write(path, serde_json::to_string_pretty(&rows)?)?;
        Ok(())
    }

    /// Prints the failures, a table by peer, and the summary line last.
    pub(crate) fn print(&self) {
        let kinds = self.kinds_of_failure();
        for (rows, row) in kinds.iter().take(SHOWN) {
            println!("FAILED {}\n       {}", row.id, shorten(&row.detail));
            if *rows > 1 {
                println!("       and {} more with this peer and reason", rows - 1);
            }
        }
        if kinds.len() > SHOWN {
            println!("and {} more kinds of failure", kinds.len() - SHOWN);
        }
        if !kinds.is_empty() {
            println!("every one is in target/conformance/report.json");
        }
        println!("\n{:<34}{:>8}{:>8}{:>8}", "", "passed", "failed", "skipped");
        for (group, [passed, failed, skipped]) in self.by_group() {
            println!("{group:<34}{passed:>8}{failed:>8}{skipped:>8}");
        }
        for (peer, reason) in &self.unable {
            println!("\nskipped {peer}: {}", shorten(reason));
        }
        let [passed, failed, skipped] = self.totals();
        println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    }

    /// Failures that differ only in numbers and file, the most frequent first: how
    /// many there are, and the first of them.
    fn kinds_of_failure(&self) -> Vec<(usize, &Row)> {
        let mut kinds = BTreeMap::<(String, String), (usize, &Row)>::new();
        for row in &self.rows {
            if row.outcome == Outcome::Failed {
                let kind = (row.group(), kind_of(&row.detail));
                kinds.entry(kind).or_insert((0, row)).0 += 1;
            }
        }
        let mut kinds: Vec<_> = kinds.into_values().collect();
        kinds.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        kinds
    }

    /// Success if nothing failed.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.totals() {
            [_, 0, _] => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }

    fn totals(&self) -> [usize; 3] {
        [Outcome::Passed, Outcome::Failed, Outcome::Skipped]
            .map(|outcome| self.rows.iter().filter(|row| row.outcome == outcome).count())
    }

    /// Counts by part and peer.
    fn by_group(&self) -> BTreeMap<String, [usize; 3]> {
        let mut groups = BTreeMap::<String, [usize; 3]>::new();
        for row in &self.rows {
            let counts = groups.entry(row.group()).or_default();
            counts[row.outcome as usize] += 1;
        }
        groups
    }
}

impl Row {
    /// Part and peer: the first two segments of the id.
    fn group(&self) -> String {
        let segments: Vec<&str> = self.id.split('/').take(2).collect();
        segments.join(" ")
    }

    fn to_json(&self) -> Value {
        json!({"id": self.id, "outcome": self.outcome.name(), "detail": self.detail})
    }
}

/// The reason without its numbers, as far as reasons of one kind agree.
fn kind_of(detail: &str) -> String {
    let plain = detail.chars().filter(|c| !c.is_ascii_digit());
    plain.take(100).collect()
}

fn shorten(text: &str) -> String {
    let line = text.replace('\n', " ");
    match line.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
