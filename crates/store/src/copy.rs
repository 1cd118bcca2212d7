//! Copying a store from one place to another, whichever database either is in.
//!
//! Rows keep their numbers and threads their epochs, so that cursors, shares and the hash chain hold
//! as they are. What is made from the journal is not copied: the new store makes it.
//!
//! Invariant: a copy is usable only when all of it, read back, is what the source holds.

mod side;
mod sum;
mod table;
mod target;
mod write;

use std::fs::File;
use std::path::Path;
use std::thread;

use side::events;
pub(crate) use side::{Role, Side, number};
pub(crate) use sum::Sum;
use sum::{Differences, Sums, table_sum};
use table::WHOLE;
use target::{Found, Target};
use write::Pile;

use crate::chain::Digest;
use crate::sqlite::check::has_log;
use crate::sqlite::open;
use crate::{Address, OpenError, Options, Progress, ShardError, Store, db, postgres};

/// How often differences are copied again before it is said that there are some.
const ROUNDS: usize = 3;

/// What is to be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// From where.
    pub from: Address,
    /// To where.
    pub to: Address,
    /// What becomes of a copy that was begun.
    pub begin: Begin,
}

/// What becomes of a copy of the same source that was begun and not completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Begin {
    /// It goes on.
    #[default]
    Resume,
    /// It is dropped.
    Anew,
}

/// What a copy is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStage {
    /// Writing the journal.
    Journal,
    /// Reading both sides and comparing.
    Compare,
}

/// What a copy has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Threads that are in the source.
    pub threads: u64,
    /// Appends in its journal.
    pub appends: u64,
    /// Events in them.
    pub events: u64,
    /// Events that were written now, and not by an earlier run.
    pub written: u64,
    /// The digest of everything in the source.
    pub digest: Digest,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a copy ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All is there, read back and compared.
    Complete,
    /// It was there before.
    Same,
    /// The source is still written to. The copy is not usable yet; another run takes up what has
    /// changed.
    Behind {
        /// Threads that have changed since they were copied.
        threads: u64,
    },
}

/// Why a copy could not be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum CopyError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("could not find {path}: {cause}")]
    Missing { path: String, cause: std::io::Error },
    #[error("could not read {path}: {cause}")]
    Source { path: String, cause: db::Error },
    #[error("could not write {path}: {cause}")]
    Target { path: String, cause: db::Error },
    #[error("{path} has the tables of another version")]
    Version { path: String },
    #[error("{path} holds something else")]
    Occupied { path: String },
    #[error("a copy from {begun} into {path} was begun")]
    OtherSource { path: String, begun: String },
    #[error("another copy into {path} is running")]
    Busy { path: String },
    #[error("a server has {path} open")]
    Served { path: String },
    #[error("what was written to {path} is not what was read: {threads} threads, {tables} tables")]
    Different { path: String, threads: usize, tables: usize },
    #[error("the copy is complete and could not get its name {path}: {cause}")]
    Name { path: String, cause: std::io::Error },
    #[error("a thread of the copy panicked")]
    Panicked,
}

/// Copies all that a store holds, and tells how far it has come. Stopped at any moment, it goes on
/// when it is run again. Blocks.
///
/// A source that is still served can be copied: what changes meanwhile is taken up by another run,
/// and the copy is complete when the source was quiet.
pub fn copy(
    asked: &Copy,
    mut progress: impl FnMut(CopyStage, Progress),
) -> Result<Copied, CopyError> {
    let source = Source::open(&asked.from)?;
    let target = match Target::open(&asked.to, &source.name, asked.begin)? {
        Found::Open(target) => *target,
        Found::Store => return same(asked, &source, |now| progress(CopyStage::Compare, now)),
    };
    let written = fill(&source.side, &target, |now| progress(CopyStage::Journal, now))?;
    let mut run = Run { source, target, written };
    for round in 0..=ROUNDS {
        let compare = |now| progress(CopyStage::Compare, now);
        let was_quiet = run.source.is_quiet()?;
        let (ours, theirs) = both(&asked.from, &run.target.side.address, compare)?;
        let differences = ours.differences(&theirs);
        let is_quiet = was_quiet && run.source.is_quiet()?;
        if differences.is_empty() && is_quiet {
            run.target.finish()?;
            return Ok(ours.copied(run.written, Outcome::Complete));
        }
        let threads = differences.threads.len();
        if !is_quiet && (round > 0 || differences.is_empty()) {
            return Ok(ours.copied(run.written, Outcome::Behind { threads: threads as u64 }));
        }
        if round == ROUNDS {
            let tables = differences.tables.len();
            return Err(CopyError::Different { path: asked.to.to_string(), threads, tables });
        }
        run.repair(&differences)?;
    }
    Err(CopyError::Panicked)
}

/// Refuses a database that is one of several: what is in it is no store.
fn refuse_part(side: &Side) -> Result<(), CopyError> {
    match side.tried(postgres::role::is_part(&side.conn))? {
        true => {
            let path = side.address.to_string();
            Err(OpenError::Shard { path, cause: ShardError::Copied }.into())
        }
        false => Ok(()),
    }
}

/// A store that is copied.
struct Source {
    side: Side,
    /// What it is called in the copy, until that is complete.
    name: String,
    /// A file that no server has open.
    lock: Option<File>,
}

impl Source {
    fn open(address: &Address) -> Result<Self, CopyError> {
        let (lock, name) = match address {
            Address::File(path) => {
                let missing = |cause| CopyError::Missing { path: address.to_string(), cause };
                let name = path.canonicalize().map_err(missing)?.display().to_string();
                (alone(path)?, name)
            }
            Address::Postgres(_) => (None, address.to_string()),
        };
        let side = Side::reader(address, Role::Source)?;
        if !side.is_current()? {
            return Err(CopyError::Version { path: address.to_string() });
        }
        if let Address::Postgres(_) = address {
            if side.tried(postgres::is_copying(&side.conn))? {
                return Err(OpenError::Copying { path: address.to_string() }.into());
            }
            refuse_part(&side)?;
        }
        Ok(Self { side, name, lock })
    }

    /// Whether nobody writes to it, as far as can be told.
    fn is_quiet(&self) -> Result<bool, CopyError> {
        match &self.side.address {
            Address::File(_) => Ok(self.lock.is_some()),
            Address::Postgres(_) => Ok(!self.side.is_in_use()?),
        }
    }
}

/// Locks a file that no server has open, with all that was ever acknowledged in its tables.
fn alone(path: &Path) -> Result<Option<File>, CopyError> {
    let lock = || match open::lock(path) {
        Ok(lock) => Ok(Some(lock)),
        // It can be read all the same.
        Err(OpenError::InUse { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    let held = lock()?;
    if held.is_none() || !has_log(path) {
        return Ok(held);
    }
    // A server was killed: what it has acknowledged is put into the tables, as when one starts.
    drop(held);
    match Store::open(path, Options::default()) {
        Ok(store) => drop(store),
        Err(OpenError::InUse { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    Ok(lock()?)
}

/// A copy that is made.
struct Run {
    source: Source,
    target: Target,
    written: u64,
}

impl Run {
    /// Copies what is not the same.
    fn repair(&mut self, differences: &Differences) -> Result<(), CopyError> {
        let (from, to) = (&self.source.side, &self.target.side);
        for table in differences.tables.iter().filter_map(|at| WHOLE.get(*at)) {
            to.replace(table, from)?;
        }
        if !differences.threads.is_empty() {
            let mut threads = differences.threads.clone();
            threads.sort_unstable();
            to.remove_journals(&threads)?;
            let (mut pile, mut written) = (Pile::default(), 0);
            from.journals_of(&threads, |row| {
                written += events(&row);
                match pile.add(row) {
                    true => to.add_journal(pile.take(), None),
                    false => Ok(()),
                }
            })?;
            to.add_journal(pile.take(), None)?;
            self.written += written;
        }
        to.set_numbers(from.numbers()?)
    }
}

/// Copies tables that differ, and the journal from where it was left; how many events that is.
fn fill(
    from: &Side,
    target: &Target,
    mut progress: impl FnMut(Progress),
) -> Result<u64, CopyError> {
    let to = &target.side;
    for table in WHOLE {
        if table_sum(from, table)? != table_sum(to, table)? {
            to.replace(table, from)?;
        }
    }
    let (mut last, before) = target.mark()?;
    let total = from.extent()?.max(before);
    let (mut done, mut pile) = (before, Pile::default());
    from.journal_after(last, |row| {
        last = from.mark(&row);
        done += events(&row);
        if pile.add(row) {
            to.add_journal(pile.take(), Some((last, done)))?;
            progress(Progress { done: done.min(total), total });
        }
        Ok(())
    })?;
    to.add_journal(pile.take(), Some((last, done)))?;
    to.set_numbers(from.numbers()?)?;
    Ok(done - before)
}

/// Copies a store into a file that is not there, without comparing.
pub(crate) fn snapshot(
    from: &Side,
    to: &Path,
    progress: impl FnMut(Progress),
) -> Result<(), CopyError> {
    match Target::open(&Address::File(to.to_owned()), "", Begin::Anew)? {
        Found::Open(target) => {
            fill(from, &target, progress)?;
            target.finish()
        }
        Found::Store => Err(CopyError::Occupied { path: to.display().to_string() }),
    }
}

/// What both sides hold, read at the same time.
fn both(
    from: &Address,
    to: &Address,
    progress: impl FnMut(Progress),
) -> Result<(Sums, Sums), CopyError> {
    thread::scope(|scope| {
        let theirs = scope.spawn(|| Sums::of(&Side::reader(to, Role::Target)?, |_| {}));
        let ours = Sums::of(&Side::reader(from, Role::Source)?, progress)?;
        Ok((ours, theirs.join().map_err(|_| CopyError::Panicked)??))
    })
}

/// Whether a store that is there holds what the source does. What was deleted in the source may be
/// gone: the store has removed it since.
fn same(
    asked: &Copy,
    source: &Source,
    progress: impl FnMut(Progress),
) -> Result<Copied, CopyError> {
    let target = Side::reader(&asked.to, Role::Target)?;
    let occupied = CopyError::Occupied { path: asked.to.to_string() };
    if !target.is_current()? || target.live_threads()? != source.side.live_threads()? {
        return Err(occupied);
    }
    let (ours, theirs) = both(&asked.from, &asked.to, progress)?;
    if !ours.is_kept_by(&theirs, &source.side.deleted()?) {
        return Err(occupied);
    }
    Ok(ours.copied(0, Outcome::Same))
}

impl Sums {
    fn copied(&self, written: u64, outcome: Outcome) -> Copied {
        Copied {
            threads: self.threads,
            appends: self.appends,
            events: self.events,
            written,
            digest: self.digest(),
            outcome,
        }
    }
}
