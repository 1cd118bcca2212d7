//! The web UI, in a real browser. `cargo xtask test --only ui` installs it.
//!
//! A test starts the real server and runs a script of `conformance/js/ui`, which opens pages, does
//! what a person would, and compares what it sees with the golden images beside it.

mod branches;
mod connections;
mod conversation;
mod inbox;
mod protocols;
mod replay;
mod shell;
mod threads;
mod timeline;
mod usage;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::Server;

/// A server whose pages are looked at.
struct Site {
    server: Server,
    folder: tempfile::TempDir,
}

impl Site {
    /// With arguments of `serve`, besides its journal and where it listens.
    fn open(more: &[&str]) -> Self {
        Self::open_in(tempfile::tempdir().unwrap(), more)
    }

    /// With the journal of a folder, or a new one there.
    fn open_in(folder: tempfile::TempDir, more: &[&str]) -> Self {
        let db = folder.path().join("s.db");
        let own = ["--db", db.to_str().unwrap(), "--listen", "127.0.0.1:0"];
        Self { server: Server::start_with(&[&own[..], more].concat()), folder }
    }

    /// Runs a script of `conformance/js/ui` to its end; gives what it saw.
    fn run(&self, script: &str, more: &[&str]) -> Vec<String> {
        let mut program = Self::script(script);
        program.arg(&self.server.url).args(more).env("SELVEDGE_TEMP", self.folder.path());
        let ran = program.output().unwrap_or_else(|error| panic!("{program:?}: {error}"));
        let told = String::from_utf8_lossy(&ran.stdout).into_owned();
        let why = String::from_utf8_lossy(&ran.stderr);
        if !ran.status.success() {
            // What was seen is worth keeping.
            let kept =
                std::env::temp_dir().join(format!("selvedge-ui-failed-{}", std::process::id()));
            let _ = std::fs::create_dir_all(&kept);
            for entry in std::fs::read_dir(self.folder.path()).unwrap().flatten() {
                if entry.path().extension().is_some_and(|kind| kind == "png") {
                    let _ = std::fs::copy(entry.path(), kept.join(entry.file_name()));
                }
            }
            panic!("{told}\n{why}\nimages are in {}", kept.display());
        }
        assert!(!told.trim().is_empty(), "it says what it saw: {why}");
        println!("{told}");
        told.lines().map(str::to_owned).collect()
    }

    /// A script, with the folder of its golden images.
    fn script(script: &str) -> Command {
        let folder = peers().join("js");
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/js/ui/golden");
        let mut program = Command::new(folder.join("node_modules/.bin/node"));
        program.current_dir(&folder).arg(format!("ui/{script}"));
        program.env("SELVEDGE_GOLDEN", golden);
        program
    }
}

/// Where the browser is installed.
fn peers() -> PathBuf {
    std::env::var_os("SELVEDGE_PEERS").expect("`cargo xtask test --only ui` sets it").into()
}
