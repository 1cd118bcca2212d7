//! CPU times: running a program that prints them, and their median.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::cargo;
use crate::workspace;

/// CPU times of one operation, in milliseconds, and the versions of who did it.
#[derive(Default)]
pub(crate) struct Samples {
    /// One per measurement.
    pub(crate) cpu_ms: Vec<f64>,
    /// Package to version, as the program itself says.
    pub(crate) versions: BTreeMap<String, String>,
}

impl Samples {
    /// Runs the command and adds the times it prints.
    pub(crate) fn add(&mut self, command: &mut Command) -> Result<()> {
        let printed = json(command)?;
        let times = printed["cpu_ms"].as_array().context("the program printed no `cpu_ms`")?;
        self.cpu_ms.extend(times.iter().filter_map(Value::as_f64));
        for (package, version) in printed["versions"].as_object().into_iter().flatten() {
            if let Some(version) = version.as_str() {
                self.versions.insert(package.clone(), version.to_owned());
            }
        }
        Ok(())
    }

    /// The middle one; the mean of the two middle ones.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.cpu_ms.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = |at: usize| sorted.get(at).copied().unwrap_or(f64::NAN);
        let half = sorted.len() / 2;
        if sorted.len() % 2 == 1 {
            middle(half)
        } else {
            (middle(half.wrapping_sub(1)) + middle(half)) / 2.0
        }
    }
}

/// Runs the command and reads the JSON it prints.
pub(crate) fn json(command: &mut Command) -> Result<Value> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("could not start {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", output.status);
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{command:?} did not print JSON"))
}

/// Builds a benchmark of the library in the release profile; says where it is.
pub(crate) fn build(bench: &str) -> Result<PathBuf> {
    let output = cargo()
        .current_dir(workspace::root()?)
        .args(["bench", "--package", "selvedge-protocol", "--bench", bench])
        .args(["--locked", "--no-run", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("could not start cargo")?;
    ensure!(output.status.success(), "the benchmark `{bench}` does not build");
    output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == bench)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .with_context(|| format!("cargo built no benchmark `{bench}`"))
}

/// Where benchmarks keep their sources and results.
pub(crate) fn folder() -> Result<PathBuf> {
    Ok(workspace::target()?.join("bench"))
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn the_median_is_in_the_middle() {
        let median =
            |cpu_ms: &[f64]| Samples { cpu_ms: cpu_ms.to_vec(), ..Samples::default() }.median();
        assert_eq!((median(&[9.0, 1.0, 2.0]), median(&[4.0, 1.0, 9.0, 2.0])), (2.0, 3.0));
    }
}
