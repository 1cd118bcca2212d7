//! What was tried, what did not hold, and where to look at it.
//!
//! A finding is printed and written down the moment it is made, with the number that the run
//! follows from and the folder that is kept, so that whatever happens later takes nothing away.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is found in one run.
pub(super) struct Report {
    seed: u64,
    /// This run's own.
    folder: PathBuf,
    /// Where it happens now.
    place: PathBuf,
    tried: Vec<String>,
    pub(super) violations: Vec<String>,
    /// What took so long that nobody can say whether it holds.
    unjudged: Vec<String>,
}

impl Report {
    pub(super) fn new(seed: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let name = format!("chaos-{}-{}", now.as_nanos(), std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Not if it is there: it would be another run's.
        fs::create_dir(&folder).unwrap();
        eprintln!("seed {seed}, in {}", folder.display());
        let place = folder.clone();
        let (tried, violations, unjudged) = (Vec::new(), Vec::new(), Vec::new());
        Self { seed, folder, place, tried, violations, unjudged }
    }

    /// Says what was tried.
    pub(super) fn tried(&mut self, text: String) {
        eprintln!("    {text}");
        self.tried.push(text);
    }

    /// Notes that something does not hold, unless it does.
    pub(super) fn hold(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            let text = self.tell("VIOLATION", &otherwise());
            self.violations.push(text);
        }
    }

    /// Notes that something could not be judged: the machine is too slow, or all of the server is.
    pub(super) fn unjudged(&mut self, text: &str) {
        let text = self.tell("NOT JUDGED", text);
        self.unjudged.push(text);
    }

    fn tell(&self, what: &str, text: &str) -> String {
        let text: String = text.chars().take(2000).collect();
        let text = format!("{what} (seed {}, kept in {}): {text}", self.seed, self.place.display());
        eprintln!("    {text}");
        let file = OpenOptions::new().create(true).append(true).open(self.folder.join("findings"));
        writeln!(file.unwrap(), "{text}").unwrap();
        text
    }

    fn findings(&self) -> usize {
        self.violations.len() + self.unjudged.len()
    }

    /// Says all of it again; panics if anything was found.
    pub(super) fn finish(self, took: Duration) {
        eprintln!("\nseed {}, {} s", self.seed, took.as_secs());
        self.tried.iter().for_each(|text| eprintln!("  {text}"));
        eprintln!("violations: {}, not judged: {}", self.violations.len(), self.unjudged.len());
        let found = [self.violations, self.unjudged].concat();
        assert!(found.is_empty(), "{}", found.join("\n"));
        let _ = fs::remove_dir(&self.folder);
    }
}

/// A folder that stays if something went wrong in it.
pub(super) struct Place {
    pub(super) path: PathBuf,
    known: usize,
}

impl Place {
    pub(super) fn new(name: &str, report: &mut Report) -> Self {
        let path = report.folder.join(name);
        fs::create_dir(&path).unwrap();
        report.place.clone_from(&path);
        Self { path, known: report.findings() }
    }

    pub(super) fn db(&self) -> PathBuf {
        self.path.join("s.db")
    }

    /// Whether something went wrong in it.
    pub(super) fn is_kept(&self, report: &Report) -> bool {
        report.findings() > self.known
    }

    /// Removes it if nothing went wrong.
    pub(super) fn done(self, report: &Report) {
        if !self.is_kept(report) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("    kept: {}", self.path.display());
        }
    }
}
