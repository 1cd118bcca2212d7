//! Is a store sound? Reads it beside whoever has it open, and changes nothing in it.
//!
//! What follows the journal is judged against what a copy makes of the same journal.

use std::fs;
use std::path::Path;

use crate::sqlite::check as sqlite;
use crate::{
    Address, CopyError, HashChain, OpenError, Options, Progress, ReadError, Store, TendError,
    postgres,
};

/// The most of what is wrong that is told.
pub(crate) const FINDINGS: usize = 100;

/// How often a file is copied that is written meanwhile.
const TRIES: u32 = 3;

/// What was looked at, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// Threads that are there.
    pub threads: u64,
    /// Appends in the journal.
    pub appends: u64,
    /// Events in them.
    pub events: u64,
    /// Entries that are in a hash chain.
    pub chained: u64,
    /// Threads of a database whose lists and words were left out, as they are still to be followed.
    pub behind: u64,
    /// What is wrong, in words; the first hundred.
    pub findings: Vec<String>,
}

impl Checked {
    pub(crate) fn found(&mut self, what: String) {
        if self.findings.len() < FINDINGS {
            self.findings.push(what);
        }
    }
}

/// What is being looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The file's pages and indexes, or copying a database.
    File,
    /// The journal's rows.
    Rows,
    /// What follows the journal, made anew.
    Rebuild,
}

/// Why a store could not be checked.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum CheckError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("could not make lists and search anew: {0}")]
    Rebuild(#[from] TendError),
    #[error("could not copy the file: {0}")]
    Copy(#[from] std::io::Error),
    #[error(transparent)]
    Snapshot(#[from] CopyError),
}

/// Checks a store: its pages if it is a file, its rows, and that what follows the journal is what the
/// journal makes. `scratch` is an empty folder with room for two copies.
pub async fn check(
    at: impl Into<Address>,
    scratch: &Path,
    progress: impl FnMut(Stage, Progress),
) -> Result<Checked, CheckError> {
    match at.into() {
        Address::File(path) => check_file(&path, scratch, progress).await,
        address @ Address::Postgres(_) => postgres::check::check(&address, scratch, progress).await,
    }
}

/// Checks that every thread of a store of several databases is where the directory in the first of
/// them says; [`check`] looks at each of them. Blocks.
pub fn check_places(databases: &[Address]) -> Result<Checked, CheckError> {
    let mut checked = Checked::default();
    postgres::places::check(databases, &mut checked)?;
    Ok(checked)
}

async fn check_file(
    path: &Path,
    scratch: &Path,
    mut progress: impl FnMut(Stage, Progress),
) -> Result<Checked, CheckError> {
    let mut checked = Checked::default();
    let (kept, anew) = (scratch.join("kept.db"), scratch.join("anew.db"));
    progress(Stage::File, Progress { done: 0, total: 1 });
    if !sqlite::pages(path, &mut checked)? {
        return Ok(checked);
    }
    let mut tries = 0;
    let logged = loop {
        tries += 1;
        // One moment of the file, whatever is written meanwhile, and what was acknowledged before.
        let logged = sqlite::copy_log(path, &kept)?;
        sqlite::snapshot(path, &kept)?;
        sqlite::rows(&kept, &mut checked, |done| progress(Stage::Rows, done))?;
        if !logged || !checked.findings.is_empty() {
            break logged;
        }
        let chain = if checked.chained > 0 { HashChain::On } else { HashChain::Off };
        match Store::open(&kept, Options { chain, ..Options::default() }) {
            Ok(store) => {
                drop(store);
                break logged;
            }
            // The log went on in its other file while the two were copied.
            Err(OpenError::Log { .. }) if tries < TRIES => {
                fs::remove_file(&kept)?;
                checked = Checked::default();
            }
            Err(error) => return Err(error.into()),
        }
    };
    if logged && checked.findings.is_empty() {
        checked = Checked::default();
        sqlite::rows(&kept, &mut checked, |done| progress(Stage::Rows, done))?;
    }
    if !checked.findings.is_empty() {
        return Ok(checked);
    }
    fs::copy(&kept, &anew)?;
    let store = Store::open(&kept, Options::default())?;
    store.settle().await?;
    drop(store);
    let store = Store::open(&anew, Options::default())?;
    store.rebuild(|now| progress(Stage::Rebuild, now)).await?;
    drop(store);
    sqlite::differences(&kept, &anew, &mut checked)?;
    Ok(checked)
}
