//! How much later an event is there on a protocol's stream than on the native one.
//!
//! Each protocol is measured alone beside the native stream: what readers of all of them together
//! cost the machine is no property of one.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::super::serve::Target;
use super::{figure, median};
use crate::process::step;

const ROUNDS: usize = 3;
/// Milliseconds that 99 of 100 events may come later.
const ADDED: f64 = 2.0;
/// As `selvedge bench latency` names them.
const SURFACES: [&str; 8] =
    ["looopy", "a2a-1.0", "a2a-0.3", "openai", "ai-sdk", "ag-ui", "looopy-view", "agent-api-view"];

/// What every round found, by surface.
pub(super) type Found = Vec<(&'static str, Vec<Value>)>;

/// Measures all of them at 1,000 events a second.
pub(super) fn measure(program: &Path, target: &Target) -> Result<Found> {
    let mut found: Found = SURFACES.iter().map(|name| (*name, Vec::new())).collect();
    for round in 1..=ROUNDS {
        step(&format!("latency, round {round} of {ROUNDS}"));
        for (name, rows) in &mut found {
            rows.push(target.measure(program, &["latency", "--rate", "1000", "--surface", name])?);
        }
    }
    Ok(found)
}

/// Prints what was found; gives whether the target is met.
pub(super) fn report(found: &Found) -> bool {
    println!(
        "{:<22} {:>9} {:>12} {:>12} {:>12} {:>12}",
        "", "events/s", "p50 ms", "p99 ms", "added p50", "added p99"
    );
    let mut met = true;
    for (name, rows) in found {
        let of = |figure_name: &str| {
            let own = format!("{name}_{figure_name}");
            median(rows, |row| figure(row, &own))
        };
        let added = of("added_p99");
        println!(
            "{name:<22} {:>9.0} {:>12.2} {:>12.2} {:>12.2} {added:>12.2}, wanted {ADDED} at most",
            median(rows, |row| figure(row, "appended")),
            of("p50"),
            of("p99"),
            of("added_p50"),
        );
        met &= added <= ADDED;
    }
    met
}
