//! Driver processes: one JSON request per line in, one JSON answer per line out.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};

use crate::conformance::peer::{Peer, Process};
use crate::workspace;

/// Every driver, each started at its first request and ended with this value.
pub(crate) struct Drivers {
    slots: BTreeMap<Process, Mutex<Option<Driver>>>,
}

impl Default for Drivers {
    fn default() -> Self {
        let slots = Process::ALL.map(|process| (process, Mutex::new(None)));
        Self { slots: BTreeMap::from(slots) }
    }
}

impl Drivers {
    /// Asks the peer; `request` holds the members beside `id` and `op`.
    pub(crate) fn ask(&self, peer: Peer, request: Value) -> Result<Value> {
        let mut slot = self
            .slots
            .get(&peer.process)
            .context("no such driver")?
            .lock()
            .map_err(|_| anyhow!("a check panicked while it held this driver"))?;
        let mut driver = match slot.take() {
            Some(driver) => driver,
            None => Driver::start(peer.process)
                .with_context(|| format!("could not start the driver of {}", peer.name))?,
        };
        let answer = driver.ask(peer.op, request).with_context(|| {
            let log = driver.log.display();
            format!("the driver of {} broke down, see {log}", peer.name)
        })?;
        // A driver that broke down is not put back: the next request starts anew.
        *slot = Some(driver);
        Ok(answer)
    }
}

struct Driver {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    log: std::path::PathBuf,
    next_id: u64,
}

impl Driver {
    fn start(process: Process) -> Result<Self> {
        let logs = workspace::conformance()?.join("logs");
        fs::create_dir_all(&logs)?;
        let log = logs.join(format!("{process:?}.log"));
        let mut child = process
            .command()?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, stdin, stdout, log, next_id: 0 })
    }

    fn ask(&mut self, op: &str, mut request: Value) -> Result<Value> {
        self.next_id += 1;
        request["id"] = json!(self.next_id);
        request["op"] = json!(op);
        writeln!(self.stdin, "{request}")?;
        self.stdin.flush()?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        ensure!(!line.is_empty(), "it ended");
        let answer: Value = serde_json::from_str(&line)?;
        ensure!(answer["id"] == request["id"], "it answered out of turn");
        Ok(answer)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Nothing can be done about a process that will not end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
