//! Counts beside the baseline's.

use std::collections::BTreeMap;
use std::fmt;

use super::Counts;

/// How much a count may grow, in percent.
const TOLERANCE: f64 = 5.0;

/// Every benchmark of either side.
pub(crate) struct Comparison {
    /// By benchmark.
    pub(crate) changes: BTreeMap<String, Change>,
}

/// A benchmark's counts.
#[derive(Debug, PartialEq)]
pub(crate) enum Change {
    /// Both sides have it.
    Counted { before: u64, now: u64 },
    /// The baseline has none.
    New { now: u64 },
    /// Only the baseline has it.
    Gone,
}

impl Comparison {
    /// Compares.
    pub(crate) fn new(baseline: &Counts, counts: &Counts) -> Self {
        let changes = baseline.keys().chain(counts.keys()).map(|bench| {
            let change = match (baseline.get(bench), counts.get(bench)) {
                (Some(&before), Some(&now)) => Change::Counted { before, now },
                (None, Some(&now)) => Change::New { now },
                (_, None) => Change::Gone,
            };
            (bench.clone(), change)
        });
        Self { changes: changes.collect() }
    }

    /// Whether nothing grew and the baseline is complete.
    pub(crate) fn passed(&self) -> bool {
        self.changes.values().all(Change::passed)
    }
}

impl Change {
    /// Whether the count is within the tolerance.
    pub(crate) fn passed(&self) -> bool {
        self.percent().is_some_and(|percent| percent <= TOLERANCE)
    }

    fn percent(&self) -> Option<f64> {
        match *self {
            Self::Counted { before, now } => {
                Some((now as f64 - before as f64) * 100.0 / before as f64)
            }
            Self::New { .. } | Self::Gone => None,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted { now, .. } => {
                let percent = self.percent().unwrap_or(f64::NAN);
                write!(f, "{now:>12} {percent:>+7.2} %")?;
            }
            Self::New { now } => write!(f, "{now:>12}  not in the baseline")?,
            Self::Gone => write!(f, "{:>12}  only in the baseline", "–")?,
        }
        if self.passed() { Ok(()) } else { write!(f, "  FAILED") }
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Comparison, Counts};

    fn passed(before: u64, now: u64) -> bool {
        Change::Counted { before, now }.passed()
    }

    #[test]
    fn growth_up_to_the_tolerance_passes() {
        assert_eq!((passed(1000, 1050), passed(1000, 1051), passed(1000, 10)), (true, false, true));
    }

    #[test]
    fn a_benchmark_on_one_side_only_fails() {
        let one = |name: &str| Counts::from([(name.to_owned(), 7)]);
        let comparison = Comparison::new(&one("a"), &one("b"));
        assert_eq!(comparison.changes["a"], Change::Gone);
        assert_eq!(comparison.changes["b"], Change::New { now: 7 });
        assert!(!comparison.passed());
    }
}
