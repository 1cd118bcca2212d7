//! What came of the checks: a table, the failures, a JSON file, the summary line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use crate::conformance::check::{Check, Verdict};
use crate::conformance::expected::Expected;

/// So many failures are printed in full; the JSON file has all.
const SHOWN: usize = 40;

/// The outcome of a run.
pub(crate) struct Report {
    rows: Vec<Row>,
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
        let rows = checks.iter().zip(verdicts).map(|(check, verdict)| {
            let (outcome, detail) = match (verdict, expected.reason(&check.id)) {
                (Verdict::Passed, None) => (Outcome::Passed, String::new()),
                (Verdict::Passed, Some(_)) => {
                    (Outcome::Failed, "passes, but conformance/expected.txt lists it".to_owned())
                }
                (Verdict::Empty, _) => (Outcome::Skipped, "nothing to load".to_owned()),
                (Verdict::Failed(error), None) => (Outcome::Failed, error),
                (Verdict::Failed(error), Some(reason)) => {
                    (Outcome::Skipped, format!("{reason}: {error}"))
                }
            };
            Row { id: check.id.clone(), outcome, detail }
        });
        Self { rows: rows.collect() }
    }

    /// Writes every row.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let rows: Vec<Value> = self.rows.iter().map(Row::to_json).collect();
        fs::write(path, serde_json::to_string_pretty(&rows)?)?;
        Ok(())
    }

    /// Prints the failures, a table by peer, and the summary line last.
    pub(crate) fn print(&self) {
        let failed = || self.rows.iter().filter(|row| row.outcome == Outcome::Failed);
        for row in failed().take(SHOWN) {
            println!("FAILED {}\n       {}", row.id, shorten(&row.detail));
        }
        let count = failed().count();
        if count > SHOWN {
            println!("and {} more in target/conformance/report.json", count - SHOWN);
        }
        println!("\n{:<34}{:>8}{:>8}{:>8}", "", "passed", "failed", "skipped");
        for (group, [passed, failed, skipped]) in self.by_group() {
            println!("{group:<34}{passed:>8}{failed:>8}{skipped:>8}");
        }
        let [passed, failed, skipped] = self.totals();
        println!("\n{passed} passed, {failed} failed, {skipped} skipped");
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

    /// Counts by the first two segments of the ids: part and peer.
    fn by_group(&self) -> BTreeMap<String, [usize; 3]> {
        let mut groups = BTreeMap::<String, [usize; 3]>::new();
        for row in &self.rows {
            let group: Vec<&str> = row.id.split('/').take(2).collect();
            let counts = groups.entry(group.join(" ")).or_default();
            counts[row.outcome as usize] += 1;
        }
        groups
    }
}

impl Row {
    fn to_json(&self) -> Value {
        json!({"id": self.id, "outcome": self.outcome.name(), "detail": self.detail})
    }
}

fn shorten(text: &str) -> String {
    let line = text.replace('\n', " ");
    match line.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
