//! `cargo xtask bench convert`: ratios to the real peers, in one run, on the same bytes.
//!
//! CPU time on both sides (user and system), medians. Ours and the peer's measurements take
//! turns, so that a machine that slows down slows down both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use super::report::{Report, Target};
use super::sample::{Samples, build, folder, json};
use crate::install::{self, Venv};
use crate::process::step;
use crate::workspace;

/// About the size of the history, in bytes.
const HISTORY: u32 = 10_000_000;
/// Chunks of the text stream.
const TEXT: u32 = 200_000;
/// Chunks of the tool input streams, and how often the peer is measured: its cost grows
/// with the square.
const TOOL: [(u32, u32); 3] = [(2_000, 3), (8_000, 3), (32_000, 1)];

struct Bench {
    ours: PathBuf,
    folder: PathBuf,
}

/// Measures everything, prints a table and writes `convert.json`.
pub(crate) fn run() -> Result<ExitCode> {
    let bench = Bench { ours: build("convert")?, folder: folder()? };
    fs::create_dir_all(&bench.folder)?;
    install::install_bench_peers().context("could not install the peers")?;

    let mut report = Report::default();
    bench.history(&mut report)?;
    bench.text(&mut report)?;
    bench.tool(&mut report)?;
    report.print();
    let path = bench.folder.join("convert.json");
    report.write(&path)?;
    step(&format!("written to {}", path.display()));
    Ok(report.exit_code())
}

impl Bench {
    /// ModelMessages: read, and written with the same bytes.
    fn history(&self, report: &mut Report) -> Result<()> {
        let path = self.folder.join("history.json");
        let made = json(&mut pydantic("generate", &path, HISTORY)?)?;
        let what = format!("{} messages, {:.1} MB", made["messages"], megabytes(&path)?);
        step(&format!("ModelMessages: {what}"));
        let (mut ours, mut peer) = (Samples::default(), Samples::default());
        for _ in 0..9 {
            ours.add(&mut self.ours("pydantic-ai", "pydantic-ai", &path, 3, 1))?;
            peer.add(&mut pydantic("measure", &path, 2)?)?;
        }
        let title = format!("ModelMessages read + write ({what})");
        report.ratio("model-messages", title, &ours, &peer, Some(15.0));
        Ok(())
    }

    /// A long text, reduced to its message.
    fn text(&self, report: &mut Report) -> Result<()> {
        let path = self.folder.join("text.sse");
        json(&mut ai("text", &path, TEXT)?)?;
        let what = format!("{} chunks, {:.1} MB", TEXT, megabytes(&path)?);
        step(&format!("text stream: {what}"));
        let mut ours = Samples::default();
        let (mut peer, mut reducer) = (Samples::default(), Samples::default());
        for _ in 0..5 {
            ours.add(&mut self.reduce(&path, 5, 1))?;
            peer.add(&mut ai("measure", &path, 1)?)?;
            reducer.add(&mut ai("reduce", &path, 1)?)?;
        }
        let title = format!("text stream to message ({what})");
        report.ratio("text-stream", title, &ours, &peer, Some(40.0));
        // Harder on us than fair: our reading against a peer that need not read.
        let title = "same, the peer given parsed chunks".to_owned();
        report.ratio("text-stream-parsed", title, &ours, &reducer, None);
        Ok(())
    }

    /// Tool inputs of growing length: the cost of a chunk must not grow.
    fn tool(&self, report: &mut Report) -> Result<()> {
        let mut ours: [Samples; 3] = Default::default();
        let mut peer: [Samples; 3] = Default::default();
        let largest = TOOL.iter().map(|(chunks, _)| *chunks).max().unwrap_or(1);
        step("tool input streams");
        for (chunks, _) in TOOL {
            json(&mut ai("tool", &self.tool_path(chunks), chunks)?)?;
        }
        for _ in 0..21 {
            for (samples, (chunks, _)) in ours.iter_mut().zip(TOOL) {
                let times = largest / chunks;
                samples.add(&mut self.reduce(&self.tool_path(chunks), 3, times))?;
            }
        }
        for (samples, (chunks, repetitions)) in peer.iter_mut().zip(TOOL) {
            samples.add(&mut ai("measure", &self.tool_path(chunks), repetitions)?)?;
        }
        // Every measurement of ours is of as many chunks as the largest stream has.
        let per_chunk = |ms: f64, chunks: u32| ms * 1000.0 / f64::from(chunks);
        let rows = ours.iter().zip(&peer).zip(TOOL).map(|((ours, peer), (chunks, _))| {
            (chunks, per_chunk(ours.median(), largest), per_chunk(peer.median(), chunks))
        });
        report.growth("tool-input", rows.collect(), Target::FlatWithin(0.20));
        Ok(())
    }

    fn tool_path(&self, chunks: u32) -> PathBuf {
        self.folder.join(format!("tool-{}k.sse", chunks / 1000))
    }

    fn reduce(&self, path: &Path, repetitions: u32, times: u32) -> Command {
        self.ours("ai-sdk-stream", "ai-sdk-messages", path, repetitions, times)
    }

    fn ours(&self, from: &str, to: &str, path: &Path, repetitions: u32, times: u32) -> Command {
        let mut command = Command::new(&self.ours);
        command.args([from, to]).arg(path).args([repetitions, times].map(|n| n.to_string()));
        command
    }
}

fn pydantic(operation: &str, path: &Path, number: u32) -> Result<Command> {
    let script = workspace::root()?.join("conformance/python/bench_pydantic.py");
    let mut command = Venv::PydanticAi2.python()?;
    command.arg(script).arg(operation).arg(path).arg(number.to_string());
    Ok(command)
}

fn ai(operation: &str, path: &Path, number: u32) -> Result<Command> {
    let mut command = install::node()?;
    command.args(["bench_ai.mjs", operation]).arg(path).arg(number.to_string());
    Ok(command)
}

fn megabytes(path: &Path) -> Result<f64> {
    let bytes = fs::metadata(path)?.len();
    Ok(bytes as f64 / 1e6)
}
