//! Whoever follows: puts what was acknowledged into the tables, and what it means beside it.
//!
//! Has the one connection that writes, and a thread of its own, so that nobody who appends waits
//! for a table. Whoever needs the tables as they are now stops it ([`Following::stop`]).
//!
//! Invariant: rows come into the tables in the order of their numbers, together with where they are
//! and how far that has come, so that a stopped store goes on where it was.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::catch_up::{self, Caught};
use super::follow::{Backlog, Item, Waiting};
use super::marks::{self, Sync, What};
use super::recent::{Known, Recent};
use super::scrub;
use crate::db::{self, Connection, params};
use crate::handle::Command;
use crate::rows::chain::Links;
use crate::rows::project::Projection;
use crate::rows::sweep;
use crate::rows::thread::find_numbered;
use crate::{HashChain, Progress, TendError, ThreadRef};

/// How long what follows may wait while there is other work and while there is none. The more
/// follows together, the less is written twice.
const PATIENCE: Duration = Duration::from_millis(50);
const IDLE: Duration = Duration::from_millis(10);
/// How long nothing has been appended when there is no other work.
const LULL: Duration = Duration::from_millis(2);
/// How much its thread gives way to others.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;
/// Rows that follow at once, however few came before, and that follow together.
const MANY: usize = 4096;
const STEP: usize = 4096;
/// How long one step of catching up may take, and one that someone waits for; the wait after one,
/// and after one that failed.
const CATCH_UP: Duration = Duration::from_millis(20);
const CATCH_UP_BUSY: Duration = Duration::from_millis(5);
const ASKED: Duration = Duration::from_millis(50);
const REST: Duration = Duration::from_millis(3);
const AGAIN: Duration = Duration::from_millis(20);
const STUCK: Duration = Duration::from_secs(1);
/// Pages of the write-ahead log after which it is copied back, when idle or at once, and after which
/// readers are waited for that keep it from beginning anew.
const CHECKPOINT_IDLE: i64 = 1000;
const CHECKPOINT_BUSY: i64 = 16_000;
const CHECKPOINT_LATE: i64 = 64_000;

/// Whether there is something to catch up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    Nothing,
    Something,
    /// The last try failed: a full disk, perhaps.
    Stuck,
}

/// The follower, for its thread and for whoever stops it.
pub(super) struct Following {
    follower: Mutex<Follower>,
    /// How many wait for it to stop.
    visitors: AtomicUsize,
}

impl Following {
    pub(super) fn new(follower: Follower) -> Self {
        Self { follower: Mutex::new(follower), visitors: AtomicUsize::new(0) }
    }

    /// Stops it after its step, until what this gives is dropped.
    pub(super) fn stop(&self) -> MutexGuard<'_, Follower> {
        self.visitors.fetch_add(1, Ordering::AcqRel);
        let stopped = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        self.visitors.fetch_sub(1, Ordering::AcqRel);
        stopped
    }

    /// What its thread does, until the store is closed.
    pub(super) fn run(&self, backlog: &Backlog) {
        // Whoever appends goes first where there are more threads than cores. Elsewhere a thread
        // has no such number of its own.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::nice(NICE);
        loop {
            // A lock is not fair: who waits for it comes first.
            while self.visitors.load(Ordering::Acquire) > 0 {
                std::thread::yield_now();
            }
            let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
            let waiting = backlog.waiting();
            let due = follower.due(&waiting);
            if waiting.is_closed && waiting.rows == 0 && !waiting.is_asked {
                return;
            }
            if due.is_some_and(|due| due <= Instant::now()) {
                follower.step(&waiting);
                continue;
            }
            drop(follower);
            backlog.wait(due, waiting);
        }
    }
}

/// Whoever follows.
pub(super) struct Follower {
    /// The connection that writes.
    pub(super) conn: Connection,
    backlog: Arc<Backlog>,
    recent: Arc<Recent>,
    projection: Projection,
    /// The hash chain, where appends are chained.
    links: Option<Links>,
    /// What there is to be caught up with behind the backlog.
    behind: Behind,
    /// When catching up was tried last, and until when it waits because something failed.
    tried: Instant,
    not_before: Instant,
}

impl Follower {
    pub(super) fn new(
        conn: Connection,
        backlog: Arc<Backlog>,
        recent: Arc<Recent>,
        chain: HashChain,
    ) -> Self {
        let now = Instant::now();
        Self {
            conn,
            backlog,
            recent,
            projection: Projection::default(),
            links: (chain == HashChain::On).then(Links::default),
            behind: Behind::Something,
            tried: now,
            not_before: now,
        }
    }

    /// When there is something to do, if there is something.
    fn due(&self, waiting: &Waiting) -> Option<Instant> {
        if waiting.is_asked {
            return Some(Instant::now());
        }
        // Each step writes pages again that the last one wrote: while appends come, few steps.
        let is_quiet = waiting.last.is_none_or(|last| last.elapsed() >= LULL);
        let rest = if is_quiet { REST } else { PATIENCE };
        let behind = (self.behind != Behind::Nothing).then(|| self.tried + rest);
        let due = rows_due(waiting).into_iter().chain(behind).min()?;
        Some(if waiting.is_closed { due } else { due.max(self.not_before) })
    }

    /// Does what is to be done first.
    fn step(&mut self, waiting: &Waiting) {
        let now = Instant::now();
        if let Some(command) = self.backlog.asked() {
            return self.answer(command);
        }
        if waiting.rows > 0 && (waiting.is_asked || rows_due(waiting).is_some_and(|due| due <= now))
        {
            if !self.follow() {
                self.not_before = now + AGAIN;
                if waiting.is_asked {
                    self.refuse_asked();
                }
                if waiting.is_closed {
                    // What is left is in the log, and read when the store is opened again.
                    self.backlog.give_up();
                }
            }
        } else if self.behind != Behind::Nothing {
            let is_quiet = waiting.last.is_none_or(|last| last.elapsed() >= LULL);
            self.catch_up(if is_quiet { CATCH_UP } else { CATCH_UP_BUSY });
            self.tried = Instant::now();
            if self.behind == Behind::Stuck {
                self.not_before = now + STUCK;
            }
        }
    }

    /// Does what was asked for, with all rows followed that were there before.
    fn answer(&mut self, command: Command) {
        // Whoever asked may have gone; it is done all the same.
        match command {
            Command::Fresh(_, reply) => drop(reply.send(self.projected())),
            Command::CatchUp(reply) => {
                self.catch_up(ASKED);
                drop(reply.send(self.progress()));
            }
            other => other.refuse(&TendError::Closed),
        }
    }

    /// Tells those who wait for rows to be followed that they cannot be.
    fn refuse_asked(&mut self) {
        for command in self.backlog.give_up_asked() {
            command.refuse(&could_not());
        }
    }

    /// Puts some of what waits into the tables; `false` if it could not.
    fn follow(&mut self) -> bool {
        // A full disk: the rows stay where they are and are tried again.
        self.try_follow().is_ok()
    }

    fn try_follow(&mut self) -> db::Result<()> {
        let items = self.backlog.first(STEP);
        let Some(upto) = items.last().map(|item| item.row) else { return Ok(()) };
        let sync = if self.backlog.is_wanted(upto) { Sync::Full } else { Sync::Later };
        let Self { conn, projection, links, .. } = self;
        let together = marks::commit(conn, sync, |conn| {
            insert(conn, links.as_mut(), &items)?;
            places(conn, &items)?;
            let known = project(conn, projection, &items, upto)?;
            marks::set(conn, What::Position, upto)?;
            Ok(known)
        });
        let known = together.or_else(|_| {
            projection.forget();
            forget_links(links);
            // Whatever is wrong with what is known of threads, their rows must be found. The
            // rest is left behind and caught up with.
            marks::commit(conn, sync, |conn| {
                insert(conn, links.as_mut(), &items)?;
                places(conn, &items)?;
                marks::set(conn, What::Position, upto)?;
                Ok(Known::Not)
            })
        });
        if known.is_err() {
            forget_links(links);
        }
        let known = known?;
        if sync == Sync::Full {
            self.backlog.note_durable(upto);
        }
        self.recent.note(known);
        self.recent.followed(upto);
        self.backlog.followed(items.len());
        self.behind = Behind::Something;
        self.checkpoint();
        Ok(())
    }

    /// Puts everything that waits into the tables.
    pub(super) fn drain(&mut self) -> Result<(), TendError> {
        while self.backlog.len() > 0 {
            if !self.follow() {
                return Err(could_not());
            }
        }
        Ok(())
    }

    /// The same when a store is opened; why it could not.
    pub(super) fn drain_all(&mut self) -> db::Result<()> {
        while self.backlog.len() > 0 {
            self.try_follow()?;
        }
        Ok(())
    }

    /// Brings what is known of threads up to date. Behind a rebuild that is refused: whoever
    /// waits for it would make all appends wait.
    pub(super) fn fresh(&mut self) -> Result<(), TendError> {
        self.drain()?;
        self.projected()
    }

    /// The same where all rows were followed that are to be.
    fn projected(&mut self) -> Result<(), TendError> {
        match catch_up::projection(&self.conn, Instant::now() + ASKED).map_err(failed)? {
            Caught::Up => {
                self.recent.note(Known::All);
                Ok(())
            }
            Caught::More => Err(TendError::Behind),
        }
    }

    /// Makes sure that the tables are on disk, with all that was followed.
    pub(super) fn sync(&mut self) -> db::Result<()> {
        let upto = marks::get(&self.conn, What::Position)?;
        // Something has to be written for anything to be synced.
        marks::commit(&self.conn, Sync::Full, |conn| marks::set(conn, What::Position, upto))?;
        self.backlog.note_durable(upto);
        Ok(())
    }

    /// Writes rows into the journal's table, inside a transaction.
    pub(super) fn insert(&mut self, items: &[Item]) -> db::Result<()> {
        insert(&self.conn, self.links.as_mut(), items)
    }

    /// Forgets what it remembers of threads: one was deleted or changed, or all are made anew.
    pub(super) fn forget(&mut self) {
        self.projection.forget();
        self.forget_links();
    }

    /// Forgets what it remembers of rows that were not committed.
    pub(super) fn forget_links(&mut self) {
        forget_links(&mut self.links);
    }

    /// Notes that there is something to catch up with.
    pub(super) fn set_behind(&mut self) {
        self.behind = Behind::Something;
    }

    /// Drops what follows, to be made anew.
    pub(super) fn rebuild(&mut self) -> Result<Progress, TendError> {
        // Of no row that waits the place is written down twice.
        self.drain()?;
        self.forget();
        self.recent.note(Known::Not);
        marks::reset_all(&self.conn).map_err(failed)?;
        self.behind = Behind::Something;
        self.progress()
    }

    fn progress(&self) -> Result<Progress, TendError> {
        let done = marks::get(&self.conn, What::Position).map_err(failed)?;
        match self.behind {
            Behind::Stuck => Err(TendError::Storage("could not catch up".into())),
            Behind::Nothing => Ok(Progress::done(done as u64)),
            Behind::Something => catch_up::progress(&self.conn).map_err(failed),
        }
    }

    /// Lets projections, search and the removal of rows catch up, for about so long.
    fn catch_up(&mut self, time: Duration) {
        if self.behind == Behind::Nothing {
            return;
        }
        let until = Instant::now() + time;
        let caught = || {
            if catch_up::projection(&self.conn, until)? == Caught::More {
                return Ok(Behind::Something);
            }
            self.recent.note(Known::All);
            if catch_up::search(&self.conn, until)? == Caught::More {
                return Ok(Behind::Something);
            }
            while let Some(thread) = sweep::next(&self.conn)? {
                marks::lightly(&self.conn, |conn| {
                    marks::retire(conn, thread)?;
                    sweep::sweep(conn, thread)
                })?;
                if Instant::now() >= until {
                    return Ok(Behind::Something);
                }
            }
            // Last: rows that are swept are to be overwritten, too.
            loop {
                match scrub::step(&self.conn)? {
                    scrub::Scrubbed::All => break,
                    scrub::Scrubbed::Later => return Ok(Behind::Stuck),
                    scrub::Scrubbed::Some if Instant::now() >= until => {
                        return Ok(Behind::Something);
                    }
                    scrub::Scrubbed::Some => {}
                }
            }
            Ok::<_, db::Error>(Behind::Nothing)
        };
        self.behind = caught().unwrap_or(Behind::Stuck);
        self.checkpoint();
    }

    /// Copies the write-ahead log back into the database when there is much of it; then it begins
    /// anew. Waits for readers only if they have kept it from that for long.
    fn checkpoint(&self) {
        let limit = if self.backlog.len() == 0 { CHECKPOINT_IDLE } else { CHECKPOINT_BUSY };
        let look = |how: &str| -> db::Result<(i64, i64)> {
            let mut look = self.conn.prepare_cached(how)?;
            look.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
        };
        let Ok((pages, copied)) = look("PRAGMA wal_checkpoint(NOOP)") else { return };
        if pages - copied > limit {
            // What was not copied now is copied later; nothing depends on it.
            let _ = match pages > CHECKPOINT_LATE {
                true => look("PRAGMA wal_checkpoint(RESTART)"),
                false => look("PRAGMA wal_checkpoint(PASSIVE)"),
            };
        }
    }
}

/// When rows are to follow: soon if nothing else comes, and at some time however much does.
fn rows_due(waiting: &Waiting) -> Option<Instant> {
    let (since, last) = (waiting.since?, waiting.last?);
    match waiting.rows {
        0 => None,
        rows if rows >= MANY || waiting.is_closed => Some(since),
        _ => Some((since + IDLE).max(last + LULL).min(since + PATIENCE)),
    }
}

/// Writes rows into the journal's table, and the threads that begin with them.
fn insert(conn: &Connection, mut links: Option<&mut Links>, items: &[Item]) -> db::Result<()> {
    let mut journal = conn.prepare_cached(
        "INSERT INTO journal (row, thread, first, last, at, key, digest, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for item in items.iter().filter(|item| !item.is_written) {
        if let Some(made) = &item.made {
            make(conn, &made.key.tenant, &made.key.id, &made.thread)?;
        }
        let Item { row, thread, key, batch, .. } = item;
        journal.execute(params![
            row,
            thread,
            batch.first as i64,
            batch.last() as i64,
            batch.at,
            key.as_ref().map(|key| key.text.as_str()),
            key.as_ref().map(|key| key.digest.as_slice()),
            batch.body()
        ])?;
        if let Some(links) = &mut links {
            links.add(conn, *thread, || epoch(conn, *thread), *row, batch)?;
        }
    }
    Ok(())
}

fn epoch(conn: &Connection, thread: i64) -> db::Result<u64> {
    let found = find_numbered(conn, thread)?;
    found.map(|thread| thread.epoch).ok_or(db::Error::NoRow)
}

fn make(conn: &Connection, tenant: &str, id: &str, thread: &ThreadRef) -> db::Result<()> {
    let parent = thread.branch.as_ref().map(|branch| branch.parent.num);
    conn.prepare_cached(
        "INSERT INTO thread (num, tenant, id, epoch, created, parent, fork) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        thread.num,
        tenant,
        id,
        thread.epoch as i64,
        thread.created,
        parent,
        thread.base() as i64
    ])?;
    Ok(())
}

/// Writes down where rows are.
fn places(conn: &Connection, items: &[Item]) -> db::Result<()> {
    let mut position =
        conn.prepare_cached("INSERT INTO position (thread, last, row) VALUES (?1, ?2, ?3)")?;
    let mut key =
        conn.prepare_cached("INSERT INTO idempotency (thread, key, row) VALUES (?1, ?2, ?3)")?;
    for item in items {
        position.execute(params![item.thread, item.batch.last() as i64, item.row])?;
        if let Some(own) = &item.key {
            key.execute(params![item.thread, own.text, item.row])?;
        }
    }
    Ok(())
}

/// Projects rows, unless earlier ones are still to be projected. Only after the places of all of
/// them: a branch's past is read through these.
fn project(
    conn: &Connection,
    projection: &mut Projection,
    items: &[Item],
    upto: i64,
) -> db::Result<Known> {
    if marks::get(conn, What::Projection)? != marks::get(conn, What::Position)? {
        projection.forget();
        return Ok(Known::Not);
    }
    for item in items {
        projection.apply(conn, item.thread, &item.batch)?;
    }
    projection.write(conn)?;
    marks::set(conn, What::Projection, upto)?;
    Ok(Known::All)
}

fn forget_links(links: &mut Option<Links>) {
    if let Some(links) = links {
        links.forget();
    }
}

fn could_not() -> TendError {
    TendError::Storage("could not follow the journal".into())
}

pub(super) fn failed(error: db::Error) -> TendError {
    TendError::Storage(error.to_string())
}
