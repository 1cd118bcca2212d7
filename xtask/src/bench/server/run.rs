//! One run: which programs, which peers, how long.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::peer::{Found, Peer};
use super::service::{Service, unlimited};
use crate::process::step;

pub(super) struct Run {
    pub(super) program: PathBuf,
    pub(super) load: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) peers: Vec<Found>,
    pub(super) rounds: usize,
    pub(super) seconds: f64,
    pub(super) quick: bool,
}

impl Run {
    /// Ours, and those of the peers that a workload is for, each in a new folder. One that does
    /// not begin is left out.
    pub(super) fn services(&self, workload: &str, peers: &[Peer]) -> Result<Vec<Service>> {
        let mut services = vec![self.ours(workload)?];
        for found in self.peers.iter().filter(|found| peers.contains(&found.peer)) {
            let folder = self.folder.join(workload).join(found.peer.name());
            match Service::start(found, &folder) {
                Ok(service) => services.push(service),
                Err(error) => step(&format!("{}: {error:#}, left out", found.peer.name())),
            }
        }
        Ok(services)
    }

    /// What sockets allow.
    pub(super) fn bare(&self, workload: &str) -> Result<Service> {
        let (peer, program) = (Peer::Bare, self.load.clone());
        let found = Found { peer, program, version: String::new() };
        Service::start(&found, &self.folder.join(workload).join(peer.name()))
    }

    /// Ours, in the folder of a workload; what was there before is there again.
    pub(super) fn ours(&self, workload: &str) -> Result<Service> {
        let (peer, program) = (Peer::Selvedge, self.program.clone());
        let found = Found { peer, program, version: String::new() };
        Service::start(&found, &self.folder.join(workload).join(peer.name()))
    }

    /// Runs the load on a server and reads its report.
    pub(super) fn load(&self, service: &Service, what: &str, args: &[&str]) -> Result<Value> {
        let (address, process) = (service.address.to_string(), service.process().to_string());
        let server =
            ["--peer", service.peer.protocol(), "--address", &address, "--process", &process];
        self.alone(what, &[&server, args].concat())
            .with_context(|| format!("{what} on {}", service.peer.name()))
    }

    /// Runs the load by itself.
    pub(super) fn alone(&self, what: &str, args: &[&str]) -> Result<Value> {
        let output = unlimited(&self.load)
            .arg(what)
            .args(args)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .output()
            .context("could not start the load")?;
        let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        ensure!(output.status.success(), "{told}");
        serde_json::from_slice(&output.stdout).context("the load did not print JSON")
    }
}
