//! A server that others wrote: it says where it is, and ends with this program.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// A server, which ends with this value.
pub(crate) struct Peer {
    child: Child,
    /// Where it is.
    pub(crate) url: String,
}

impl Peer {
    /// Starts it and waits until it says where it is; what else it says is in a log.
    pub(crate) fn start(command: &mut Command, name: &str) -> Result<Self> {
        let logs = workspace::conformance()?.join("logs");
        fs::create_dir_all(&logs)?;
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(logs.join(format!("{name}.log")))?)
            .spawn()?;
        let mut peer = Self { child, url: String::new() };
        let stdout = peer.child.stdout.take().context("no stdout")?;
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        // Some say other things first.
        let told = lines.find(|line| line.starts_with("http://")).unwrap_or_default();
        ensure!(!told.is_empty(), "it did not start, see {}", logs.display());
        peer.url = told.trim_end().to_owned();
        // Or a full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(peer)
    }
}

impl Peer {
    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Nothing can be done about a process that will not end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
