//! The table and the JSON of `cargo xtask bench convert`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::machine;
use super::sample::Samples;

/// What was measured.
#[derive(Default)]
pub(crate) struct Report {
    ratios: Vec<Ratio>,
    growths: Vec<Growth>,
    versions: BTreeMap<String, String>,
}

/// Our time beside a peer's for the same work.
struct Ratio {
    id: &'static str,
    title: String,
    ours: Vec<f64>,
    peer: Vec<f64>,
    ours_ms: f64,
    peer_ms: f64,
    at_least: Option<f64>,
}

/// The cost of a chunk in streams of several lengths.
struct Growth {
    id: &'static str,
    rows: Vec<GrowthRow>,
    target: Target,
}

/// Chunks, and what one of them costs us and the peer, in microseconds.
type GrowthRow = (u32, f64, f64);

/// What a growth has to be.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// The dearest chunk costs at most this share more than the cheapest.
    FlatWithin(f64),
}

impl Ratio {
    fn value(&self) -> f64 {
        self.peer_ms / self.ours_ms
    }

    fn met(&self) -> bool {
        self.at_least.is_none_or(|least| self.value() >= least)
    }
}

impl Growth {
    /// How many times the cheapest chunk the dearest costs.
    fn of(&self, cost: impl Fn(&GrowthRow) -> f64) -> f64 {
        let costs = || self.rows.iter().map(&cost);
        costs().fold(0.0, f64::max) / costs().fold(f64::INFINITY, f64::min)
    }

    fn ours(&self) -> f64 {
        self.of(|row| row.1)
    }

    fn peer(&self) -> f64 {
        self.of(|row| row.2)
    }

    fn met(&self) -> bool {
        let Target::FlatWithin(share) = self.target;
        self.ours() <= 1.0 + share
    }
}

impl Report {
    /// Adds a comparison.
    pub(crate) fn ratio(
        &mut self,
        id: &'static str,
        title: String,
        ours: &Samples,
        peer: &Samples,
        at_least: Option<f64>,
    ) {
        self.versions.extend(peer.versions.clone());
        self.ratios.push(Ratio {
            id,
            title,
            ours: ours.cpu_ms.clone(),
            peer: peer.cpu_ms.clone(),
            ours_ms: ours.median(),
            peer_ms: peer.median(),
            at_least,
        });
    }

    /// Adds the costs of chunks.
    pub(crate) fn growth(&mut self, id: &'static str, rows: Vec<GrowthRow>, target: Target) {
        self.growths.push(Growth { id, rows, target });
    }

    /// Prints the tables.
    pub(crate) fn print(&self) {
        let width = self.ratios.iter().map(|r| r.title.chars().count()).max().unwrap_or(0);
        println!(
            "{:width$}  {:>9}  {:>9}  {:>7}  target",
            "CPU time, medians", "ours", "peer", "ratio"
        );
        for ratio in &self.ratios {
            let target = match ratio.at_least {
                Some(least) => format!("≥ {least}×  {}", verdict(ratio.met())),
                None => "–".to_owned(),
            };
            println!(
                "{:width$}  {:>6.1} ms  {:>6.0} ms  {:>6.1}×  {target}",
                ratio.title,
                ratio.ours_ms,
                ratio.peer_ms,
                ratio.value(),
            );
        }
        for growth in &self.growths {
            println!("\n{:width$}  {:>9}  {:>9}", "tool input, cost of a chunk", "ours", "peer");
            for (chunks, ours, peer) in &growth.rows {
                println!("{:width$}  {ours:>6.2} µs  {peer:>6.0} µs", format!("{chunks} chunks"));
            }
            let Target::FlatWithin(share) = growth.target;
            println!(
                "{:width$}  {:>8.2}×  {:>8.2}×  {:>7}  ≤ {:.2}×  {}",
                "dearest to cheapest",
                growth.ours(),
                growth.peer(),
                "",
                1.0 + share,
                verdict(growth.met()),
            );
        }
        let machine = machine::describe();
        let versions: Vec<String> = self.versions.iter().map(|(p, v)| format!("{p} {v}")).collect();
        println!(
            "\n{}, {} cores; {}; {}",
            machine["cpu"].as_str().unwrap_or("unknown CPU"),
            machine["cores"],
            machine["rustc"].as_str().unwrap_or("unknown rustc"),
            versions.join(", ")
        );
    }

    /// Writes all of it.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(&self.json())?;
        text.push('\n');
        fs::write(path, text)?;
        Ok(())
    }

    fn json(&self) -> Value {
        let ratios = self.ratios.iter().map(|ratio| {
            json!({
                "id": ratio.id,
                "title": ratio.title,
                "ours_cpu_ms": ratio.ours_ms,
                "peer_cpu_ms": ratio.peer_ms,
                "ratio": ratio.value(),
                "target": ratio.at_least,
                "met": ratio.met(),
                "samples": {"ours": ratio.ours, "peer": ratio.peer},
            })
        });
        let growths = self.growths.iter().map(|growth| {
            let Target::FlatWithin(share) = growth.target;
            let rows = growth.rows.iter().map(|(chunks, ours, peer)| {
                json!({"chunks": chunks, "ours_cpu_us": ours, "peer_cpu_us": peer})
            });
            json!({
                "id": growth.id,
                "per_chunk": rows.collect::<Vec<_>>(),
                "ours_growth": growth.ours(),
                "peer_growth": growth.peer(),
                "target": 1.0 + share,
                "met": growth.met(),
            })
        });
        json!({
            "measure": "CPU time (user and system) of the measured section, medians",
            "machine": machine::describe(),
            "versions": self.versions,
            "ratios": ratios.collect::<Vec<_>>(),
            "growth": growths.collect::<Vec<_>>(),
        })
    }

    /// Success if every target was met.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let met = self.ratios.iter().all(Ratio::met) && self.growths.iter().all(Growth::met);
        if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}
