//! One check: a file, maybe converted first, that a peer has to load.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::conformance::driver::Drivers;
use crate::conformance::peer::Peer;
use crate::workspace;

/// One check.
pub(crate) struct Check {
    /// Unique and stable: `<part>/<peer>/<file>`.
    pub(crate) id: String,
    /// Who loads the file.
    pub(crate) peer: Peer,
    /// The file, before any conversion.
    pub(crate) source: PathBuf,
    /// The conversion before the peer sees it.
    pub(crate) convert: Option<Conversion>,
    /// Further members of the request.
    pub(crate) request: Value,
    /// What else the peer's answer has to say.
    pub(crate) demand: Demand,
}

/// A run of `selvedge convert`.
pub(crate) struct Conversion {
    /// `--from`.
    pub(crate) from: &'static str,
    /// `--to`.
    pub(crate) to: &'static str,
    /// `--for`.
    pub(crate) target: Option<&'static str>,
}

/// What the peer's answer has to say besides "ok".
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// It found at least one record.
    Records,
    /// It found at least one record, and its own dump has the same bytes.
    Identical,
    /// It refused the file, which is wrong on purpose.
    Refusal,
    /// Nothing: a lone event may have no counterpart in the peer's dialect.
    Nothing,
}

/// How a check came out.
pub(crate) enum Verdict {
    /// The peer loaded the file.
    Passed,
    /// It did not, and why.
    Failed(String),
    /// Nothing was left to load.
    Empty,
    /// The peer cannot run here, and why.
    Skipped(String),
}

/// Runs the checks on every core and gives their verdicts in order.
pub(crate) fn run_all(checks: &[Check], drivers: &Drivers) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(Vec::with_capacity(checks.len()));
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(check) = checks.get(index) else {
                        break;
                    };
                    let verdict = check
                        .run(drivers)
                        .unwrap_or_else(|error| Verdict::Failed(format!("{error:#}")));
                    verdicts.lock().unwrap_or_else(PoisonError::into_inner).push((index, verdict));
                }
            });
        }
    });
    let mut verdicts = verdicts.into_inner().unwrap_or_else(PoisonError::into_inner);
    verdicts.sort_by_key(|(index, _)| *index);
    verdicts.into_iter().map(|(_, verdict)| verdict).collect()
}

impl Check {
    fn run(&self, drivers: &Drivers) -> Result<Verdict> {
        let path = match &self.convert {
            None => self.source.clone(),
            Some(conversion) => self.converted(conversion)?,
        };
        let mut request = self.request.clone();
        request["path"] = json!(path);
        let answer = drivers.ask(self.peer, request)?;
        if self.demand == Demand::Refusal {
            return Ok(match answer["ok"].as_bool() {
                Some(false) => Verdict::Passed,
                _ => Verdict::Failed("the peer took a file that is wrong".to_owned()),
            });
        }
        if answer["ok"] != true {
            let error = answer["error"].as_str().unwrap_or("no reason given");
            return Ok(Verdict::Failed(error.to_owned()));
        }
        if let Some(reason) = answer["skipped"].as_str() {
            return Ok(Verdict::Skipped(reason.to_owned()));
        }
        Ok(match self.demand {
            _ if answer["records"] == 0 && self.demand == Demand::Nothing => Verdict::Empty,
            _ if answer["records"] == 0 => Verdict::Failed("nothing in the file".to_owned()),
            Demand::Identical if answer["identical"] != true => {
                Verdict::Failed("the peer's own dump has other bytes".to_owned())
            }
            _ => Verdict::Passed,
        })
    }

    fn converted(&self, conversion: &Conversion) -> Result<PathBuf> {
        let output = workspace::conformance()?.join("out").join(&self.id);
        fs::create_dir_all(output.parent().context("an id without a folder")?)?;
        let mut command = Command::new(workspace::binary()?);
        command.arg("convert");
        command.args(["--from", conversion.from, "--to", conversion.to]);
        if let Some(target) = conversion.target {
            command.args(["--for", target]);
        }
        command.arg(&self.source).arg("-o").arg(&output);
        let result = command.output().context("could not start `selvedge`")?;
        if !result.status.success() {
            let reason = String::from_utf8_lossy(&result.stderr);
            bail!("convert: {}: {}", result.status, reason.trim());
        }
        ensure!(output.exists(), "convert: no output file");
        Ok(output)
    }
}
