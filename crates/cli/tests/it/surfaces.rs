//! Every surface, used by the real clients of its protocol. `cargo xtask test --only surfaces`
//! installs them; the agents they talk to are in `conformance/agents.toml`.
//!
//! A client is a program in `conformance/js` or `conformance/python`. It gets the server's URL,
//! prints a line for each thing it saw work, and ends with 1 and the reason where one does not.
//!
//! With `--cluster` the same clients talk to three nodes over one PostgreSQL, behind a proxy that
//! gives every request to the next of them.

mod a2a;
mod ag_ui;
mod agent_api;
mod ai_sdk;
mod cluster;
mod crossing;
mod envelope;
mod fuzzed;
mod looopy;
mod mcp;
mod openai;
mod pydantic_ai;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::Server;

/// A server with the agents that clients talk to.
struct House {
    server: Server,
    folder: tempfile::TempDir,
    /// The other nodes, if there are any.
    _others: Vec<Server>,
}

impl House {
    fn open() -> Self {
        Self::open_with(&[])
    }

    /// With more arguments of `serve`.
    fn open_with(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let agents = std::fs::read_to_string(conformance().join("agents.toml")).unwrap();
        let agents = agents.replace("{selvedge}", env!("CARGO_BIN_EXE_selvedge"));
        let (config, db) = (folder.path().join("agents.toml"), folder.path().join("s.db"));
        std::fs::write(&config, agents).unwrap();
        let agent = ["--listen", "127.0.0.1:0", "--agent", "assistant"];
        let own = [&["--config", config.to_str().unwrap()], &agent[..], more].concat();
        if cluster::is_asked_for() {
            let mut nodes = cluster::start(&own, folder.path());
            let mut server = nodes.remove(0);
            server.url = cluster::proxy(&server, &nodes);
            return Self { server, folder, _others: nodes };
        }
        let server = Server::start_with(&[&own[..], &["--db", db.to_str().unwrap()]].concat());
        Self { server, folder, _others: Vec::new() }
    }

    /// Runs a client of the JavaScript peers to its end; gives what it saw work.
    fn node(&self, file: &str) -> Vec<String> {
        self.node_with(file, &[])
    }

    /// With more arguments than the server's URL.
    fn node_with(&self, file: &str, more: &[&str]) -> Vec<String> {
        let folder = peers().join("js");
        let mut program = Command::new(folder.join("node_modules/.bin/node"));
        program.current_dir(folder).arg(file);
        self.run(program, more)
    }

    /// Runs a client of some Python peers to its end; gives what it saw work.
    fn python(&self, packages: &str, file: &str) -> Vec<String> {
        self.python_with(packages, file, &[])
    }

    /// With more arguments than the server's URL.
    fn python_with(&self, packages: &str, file: &str, more: &[&str]) -> Vec<String> {
        let mut program = Command::new(peers().join("venv").join(packages).join("bin/python"));
        program.current_dir(conformance().join("python")).arg(file);
        self.run(program, more)
    }

    fn run(&self, mut program: Command, more: &[&str]) -> Vec<String> {
        program.arg(&self.server.url).args(more).env("SELVEDGE_TEMP", self.folder.path());
        let ran = program.output().unwrap_or_else(|error| panic!("{program:?}: {error}"));
        let told = String::from_utf8_lossy(&ran.stdout);
        let why = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{told}\n{why}");
        assert!(!told.trim().is_empty(), "it says what it saw: {why}");
        println!("{told}");
        told.lines().map(str::to_owned).collect()
    }
}

fn conformance() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

/// Where the peers are installed.
fn peers() -> PathBuf {
    std::env::var_os("SELVEDGE_PEERS").expect("`cargo xtask test --only surfaces` sets it").into()
}
