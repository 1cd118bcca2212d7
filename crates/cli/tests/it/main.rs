//! What the command promises, tried on the built binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod acts;
mod branch;
mod canon;
mod chaos;
mod config;
mod convert;
mod copy;
mod database;
mod demo;
mod deploy;
mod docs;
mod doctor;
mod help;
mod hostile;
mod inspect;
mod keys;
mod killed_turns;
mod peers;
mod postgres;
mod readers;
mod remote;
mod retain;
mod server;
mod shards;
mod surfaces;
mod tail;
mod tls;
mod ui;
mod validate;
mod verify;
mod workers;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

/// What a run of the command gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
        }
    }
}

/// Runs the command with nothing on its standard input.
pub(crate) fn selvedge(args: &[&str]) -> Run {
    selvedge_with(args, b"")
}

/// Runs the command with something on its standard input.
pub(crate) fn selvedge_with(args: &[&str], stdin: &[u8]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    // Servers of tests are on this machine, whatever else is behind a proxy.
    run(command.args(args).env("NO_PROXY", "127.0.0.0/8"), stdin)
}

/// Runs any command.
pub(crate) fn run(command: &mut Command, stdin: &[u8]) -> Run {
    let mut child = command
        .env_remove("CLICOLOR_FORCE")
        .env_remove("FORCE_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut pipe = child.stdin.take().expect("standard input");
    thread::scope(|scope| {
        scope.spawn(move || {
            // A command that fails early does not read it all.
            let _ = pipe.write_all(stdin);
        });
        child.wait_with_output().expect("the command ends").into()
    })
}

/// Says that something was not tried, and why, wherever what tests print goes.
pub(crate) fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "\nskipped: {what}");
}

/// The path of a recording.
pub(crate) fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocol/tests/fixtures");
    let path = root.join(name);
    assert!(path.exists(), "{}", path.display());
    path.to_str().expect("UTF-8 path").to_owned()
}

/// A folder for one test's files.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        // Two runs at once must not share it.
        let name = format!("{test}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// The path of a file in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8 path").to_owned()
    }

    /// Writes a file and gives its path.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, content).expect("written");
        path
    }

    /// The names of the files in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
