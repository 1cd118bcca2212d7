//! The server as it is used: built, started, loaded with `selvedge bench`, stopped.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::sample::json;
use crate::process::cargo;
use crate::workspace;

/// Builds the server as it is used, unless `SELVEDGE_BIN` names one; gives its path.
pub(super) fn build() -> Result<PathBuf> {
    if let Some(chosen) = workspace::chosen_binary() {
        return Ok(workspace::root()?.join(chosen));
    }
    let built = cargo()
        .current_dir(workspace::root()?)
        .args(["build", "--release", "--locked", "--package", "selvedge"])
        .status()?;
    ensure!(built.success(), "the server does not build");
    Ok(workspace::target()?.join("release/selvedge"))
}

/// A server of its own; stopped when it is dropped.
pub(super) struct Server {
    child: Child,
    address: String,
}

impl Server {
    pub(super) fn start(program: &Path, db: &Path, args: &[&str]) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--db"])
            .arg(db)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .context("could not start the server")?;
        let mut line = String::new();
        let output = child.stdout.as_mut().context("the server has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().rsplit("http://").next().unwrap_or_default().to_owned();
        Ok(Self { child, address })
    }

    /// What can be measured.
    pub(super) fn target(&self) -> Target {
        Target { address: self.address.clone(), process: self.child.id() }
    }

    /// Runs a load, and adds what it cost the server.
    pub(super) fn measure(&self, program: &Path, load: &[&str]) -> Result<Value> {
        self.target().measure(program, load)
    }
}

/// A server that can be measured, whosever it is.
pub(super) struct Target {
    pub(super) address: String,
    pub(super) process: u32,
}

impl Target {
    /// Runs a load, and adds what it cost the server.
    pub(super) fn measure(&self, program: &Path, load: &[&str]) -> Result<Value> {
        let before = self.cpu()?;
        let mut command = Command::new(program);
        command.arg("bench").args(load).args(["--json", "--address", &self.address]);
        let mut row = json(&mut command)?;
        row["load"] = load[0].into();
        row["server_cpu_s"] = (self.cpu()? - before).into();
        row["server_memory_mb"] = (self.memory()? / 1024.0).into();
        Ok(row)
    }

    /// CPU seconds of the server.
    fn cpu(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process))?;
        let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
        let ticks: f64 = fields.skip(11).take(2).filter_map(|f| f.parse::<f64>().ok()).sum();
        Ok(ticks / 100.0)
    }

    /// Its memory in kB, at most.
    fn memory(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process))?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number.and_then(|n| n.parse().ok()).context("the server's memory is not known")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
