//! A server of its own for a test.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

/// A running server and where it listens; it is killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    /// What it says of who may come.
    pub(crate) who: String,
    log: Option<JoinHandle<String>>,
}

impl Server {
    /// On a port of its own, with its journal in a file.
    pub(crate) fn start(db: &Path) -> Self {
        Self::start_with(&["--listen", "127.0.0.1:0", "--db", db.to_str().unwrap()])
    }

    /// With arguments of `serve`.
    pub(crate) fn start_with(args: &[&str]) -> Self {
        Self::start_in(args, &[])
    }

    /// With arguments of `serve`, and with variables.
    pub(crate) fn start_in(args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_selvedge"))
            .arg("serve")
            .args(args)
            // Or memory that was given back could not be told from memory that is held.
            .env("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().expect("the server says where it listens").unwrap();
        let url = line.rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http"), "{line}");
        let who = lines.next().unwrap().unwrap();
        // Or a full pipe would stop it.
        let mut stderr = child.stderr.take().unwrap();
        let log = thread::spawn(move || {
            let mut log = String::new();
            stderr.read_to_string(&mut log).unwrap();
            log
        });
        Self { child, url, who, log: Some(log) }
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`; gives its log.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connections for a test's own requests.
pub(crate) fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}
