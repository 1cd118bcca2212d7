//! `cargo xtask bench instructions`: instruction counts beside a committed baseline.
//!
//! Counts are the same on a busy machine, so a test may compare them where it could not
//! compare times. They come from gungraun, which needs valgrind and a runner of its own
//! version; the runner is installed below `target/`.

mod baseline;

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use self::baseline::Comparison;
use super::sample::{build, folder};
use crate::install;
use crate::process::{cargo, run_with_retries, step, succeeds};
use crate::workspace;

/// Instructions by benchmark.
type Counts = BTreeMap<String, u64>;

/// How the comparison ended.
pub(crate) enum Outcome {
    /// Counts were compared.
    Compared(Comparison),
    /// They could not be counted here.
    Skipped {
        /// Why, and what helps.
        reason: &'static str,
    },
}

impl Outcome {
    /// Failure if a count grew.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Compared(comparison) if !comparison.passed() => ExitCode::FAILURE,
            _ => ExitCode::SUCCESS,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped { reason } => write!(f, "instruction counts: skipped, {reason}"),
            Self::Compared(comparison) => {
                for (bench, change) in &comparison.changes {
                    writeln!(f, "{bench:16} {change}")?;
                }
                let bad = comparison.changes.values().filter(|c| !c.passed()).count();
                let all = comparison.changes.len();
                write!(f, "instruction counts: {} of {all} within the baseline", all - bad)?;
                if bad > 0 {
                    write!(
                        f,
                        "; if the change is meant: `cargo xtask bench instructions --update`"
                    )?;
                }
                Ok(())
            }
        }
    }
}

/// Counts and compares.
pub(crate) fn check() -> Result<Outcome> {
    if !succeeds(Command::new("valgrind").arg("--version")) {
        let reason = "valgrind was not found: install the package `valgrind`";
        return Ok(Outcome::Skipped { reason });
    }
    let path = baseline_path()?;
    let text =
        fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    let baseline: Counts = serde_json::from_str(&text)
        .map_err(anyhow::Error::from)
        .with_context(|| format!("{} is not a table of counts", path.display()))?;
    Ok(Outcome::Compared(Comparison::new(&baseline, &count()?)))
}

/// Counts and writes the baseline.
pub(crate) fn update() -> Result<ExitCode> {
    let path = baseline_path()?;
    let counts = count()?;
    fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&counts)?))?;
    step(&format!("{} counts written to {}", counts.len(), path.display()));
    Ok(ExitCode::SUCCESS)
}

fn baseline_path() -> Result<PathBuf> {
    Ok(workspace::root()?.join("crates/protocol/benches/baseline.json"))
}

fn count() -> Result<Counts> {
    let runner = install_runner()?;
    let bench = build("instructions")?;
    // Leftovers would only be compared with; the baseline is ours.
    let home = folder()?.join("gungraun");
    install::remove(&home)?;
    step("count instructions");
    let output = Command::new(bench)
        .current_dir(workspace::root()?.join("crates/protocol"))
        .args(["--bench", "--output-format=json"])
        .env("PATH", with_first(&runner)?)
        .env("GUNGRAUN_HOME", &home)
        .stdin(Stdio::null())
        .output()
        .context("could not start the benchmark")?;
    ensure!(
        output.status.success(),
        "the benchmark failed: {}",
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    let mut counts = Counts::new();
    for summary in serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>() {
        let summary = summary.context("gungraun printed no JSON")?;
        let id = summary["id"].as_str().context("a benchmark has no id")?;
        counts.insert(id.to_owned(), instructions(&summary).context("no count in the summary")?);
    }
    ensure!(!counts.is_empty(), "gungraun ran no benchmark");
    Ok(counts)
}

/// The count in a benchmark's summary.
fn instructions(summary: &Value) -> Option<u64> {
    let profile = summary["profiles"].as_array()?.first()?;
    profile["data"]["total"]["metrics"]["Ir"]["values"]["new"].as_u64()
}

/// The folder of a `gungraun-runner` of the library's own version.
fn install_runner() -> Result<PathBuf> {
    let version = locked_version("gungraun-runner")?;
    let root = workspace::target()?.join("tools").join(format!("gungraun-runner-{version}"));
    let folder = root.join("bin");
    if !folder.join("gungraun-runner").exists() {
        run_with_retries(
            cargo()
                .current_dir(workspace::root()?)
                .args(["install", "gungraun-runner", "--locked", "--quiet"])
                .args(["--version", &format!("={version}"), "--root"])
                .arg(&root)
                .arg("--target-dir")
                .arg(workspace::target()?.join("tools/build")),
        )
        .context("could not install gungraun-runner")?;
    }
    Ok(folder)
}

fn locked_version(package: &str) -> Result<String> {
    let lock = fs::read_to_string(workspace::root()?.join("Cargo.lock"))?;
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    match lines.next().and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"')) {
        Some(version) => Ok(version.to_owned()),
        None => bail!("`{package}` is not in Cargo.lock"),
    }
}

fn with_first(folder: &Path) -> Result<std::ffi::OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(env::split_paths(&path));
    Ok(env::join_paths(folders)?)
}
