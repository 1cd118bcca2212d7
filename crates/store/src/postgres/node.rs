//! This node among those that share the database: who it is, what it has to tell, what it claims.
//!
//! Invariant: a claim is one node's at a time. It is taken over from a node that the database's
//! clock takes to be dead, under the lock of the thread's row: whatever that node appended under it
//! is there before, and nothing comes after.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio::sync::{oneshot, watch};

use super::herald::Word;
use super::hints::News;
use super::pace::Pace;
use crate::TendError;
use crate::db::{self, Connection, Optional as _, params};

/// How long a node is taken to be alive after it was heard of, in milliseconds.
const ALIVE: i64 = 4000;
/// How long a node that is gone is remembered.
const GONE: i64 = 600_000;
/// The time by the one clock that all nodes share, as SQL.
pub(super) const NOW: &str = "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)";

/// One of the nodes.
#[derive(Debug)]
pub(crate) struct Node {
    /// Names it in the database.
    pub(crate) id: i64,
    /// Names it among those who tell.
    pub(super) tag: String,
    outbox: Mutex<BTreeMap<i64, News>>,
    herald: SyncSender<Word>,
    /// Counts what other nodes told that may matter to those who work on tasks.
    stirs: watch::Sender<u64>,
    /// Who hears of it, too: who works on tasks asks one node for all databases of a store.
    also: OnceLock<watch::Sender<u64>>,
    /// How far it has come with following.
    pub(super) pace: Pace,
    /// Whether a node has died and may have left something that nobody followed.
    has_lost_one: AtomicBool,
}

impl Node {
    /// Makes it known.
    pub(super) fn join(conn: &Connection, herald: SyncSender<Word>) -> db::Result<Self> {
        let id = conn.query_row("SELECT nextval('node_id')", [], |row| row.get(0))?;
        // Other databases may have nodes of the same number.
        let tag = RandomState::new().build_hasher().finish();
        let tag = format!("{id}-{tag:x}");
        let (outbox, stirs, also) = (Mutex::default(), watch::Sender::new(0), OnceLock::new());
        let (pace, has_lost_one) = (Pace::default(), AtomicBool::new(false));
        let node = Self { id, tag, outbox, herald, stirs, also, pace, has_lost_one };
        node.beat(conn)?;
        Ok(node)
    }

    /// Says that it is alive.
    pub(super) fn beat(&self, conn: &Connection) -> db::Result<()> {
        conn.execute(
            &format!(
                "INSERT INTO node (id, since, until) VALUES (?1, {NOW}, {NOW} + ?2) \
                 ON CONFLICT (id) DO UPDATE SET until = excluded.until"
            ),
            params![self.id, ALIVE],
        )?;
        Ok(())
    }

    /// The other nodes, and which of them are alive.
    pub(super) fn others(&self, conn: &Connection) -> db::Result<Vec<(i64, bool)>> {
        let mut find =
            conn.prepare_cached(&format!("SELECT id, until > {NOW} FROM node WHERE id <> ?1"))?;
        let found = find.query_map(params![self.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        found.collect()
    }

    /// Notes that a node has died.
    pub(super) fn note_lost(&self) {
        self.has_lost_one.store(true, Ordering::Relaxed);
    }

    /// Whether one has died since this was asked last.
    pub(super) fn take_lost(&self) -> bool {
        self.has_lost_one.swap(false, Ordering::Relaxed)
    }

    /// Asks to be told when other nodes have followed all that they acknowledged so far.
    pub(super) fn await_others(&self, reply: oneshot::Sender<Result<(), TendError>>) {
        if !self.pace.has_others() {
            let _ = reply.send(Ok(()));
            return;
        }
        if let Err(TrySendError::Full(Word::Fresh(reply))) =
            self.herald.try_send(Word::Fresh(reply))
        {
            let _ = reply.send(Err(TendError::Busy));
        }
    }

    /// Forgets nodes that have been gone for long.
    pub(super) fn forget_others(conn: &Connection) -> db::Result<()> {
        conn.execute(&format!("DELETE FROM node WHERE until < {NOW} - ?1"), params![GONE])?;
        conn.execute(
            "DELETE FROM pace p WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.id = p.node)",
            [],
        )?;
        Ok(())
    }

    /// Says that it is gone: what it claims is free from now on.
    pub(super) fn leave(&self, conn: &Connection) -> db::Result<()> {
        conn.execute("DELETE FROM pace WHERE node = ?1", params![self.id])?;
        conn.execute("DELETE FROM node WHERE id = ?1", params![self.id])?;
        Ok(())
    }

    /// Claims something of a thread, unless a node has it that is alive; whether it is this one's.
    pub(crate) fn claim(&self, conn: &Connection, thread: i64, what: &str) -> db::Result<bool> {
        // As a rule nobody had it. What a crash of the database takes back is nobody's again.
        let taken = conn.execute(
            "WITH quick AS (SELECT set_config('synchronous_commit', 'off', true)) \
             INSERT INTO claim (thread, what, node) \
             SELECT CAST(?1 AS bigint), CAST(?2 AS text), CAST(?3 AS bigint) FROM quick \
             ON CONFLICT DO NOTHING",
            params![thread, what, self.id],
        )?;
        if taken == 1 {
            return Ok(true);
        }
        let held = format!(
            "SELECT c.node = ?3, EXISTS (SELECT 1 FROM node n WHERE n.id = c.node \
                 AND n.until > {NOW}) FROM claim c WHERE c.thread = ?1 AND c.what = ?2"
        );
        let held = conn.query_row(&held, params![thread, what, self.id], |row| {
            Ok((row.get::<bool>(0)?, row.get::<bool>(1)?))
        });
        match held.optional()? {
            Some((true, _)) => Ok(true),
            Some((false, true)) => Ok(false),
            Some((false, false)) | None => self.take_over(conn, thread, what),
        }
    }

    /// Claims what a node had that is dead. Under the lock that its appends wait for.
    fn take_over(&self, conn: &Connection, thread: i64, what: &str) -> db::Result<bool> {
        conn.together(|conn| {
            conn.execute("SELECT 1 FROM thread WHERE num = ?1 FOR NO KEY UPDATE", params![thread])?;
            let taken = conn.execute(
                &format!(
                    "INSERT INTO claim (thread, what, node) VALUES (?1, ?2, ?3) \
                     ON CONFLICT (thread, what) DO UPDATE SET node = excluded.node \
                     WHERE claim.node = excluded.node OR NOT EXISTS \
                         (SELECT 1 FROM node n WHERE n.id = claim.node AND n.until > {NOW})"
                ),
                params![thread, what, self.id],
            )?;
            Ok(taken == 1)
        })
    }

    /// Gives a claim back.
    pub(crate) fn release(&self, conn: &Connection, thread: i64, what: &str) -> db::Result<()> {
        conn.execute(
            "WITH quick AS (SELECT set_config('synchronous_commit', 'off', true)) \
             DELETE FROM claim c USING quick \
             WHERE c.thread = ?1 AND c.what = ?2 AND c.node = ?3",
            params![thread, what, self.id],
        )?;
        Ok(())
    }

    /// What a task must be for nobody to be at it, as SQL on a task `k`.
    pub(crate) fn is_unclaimed() -> String {
        format!(
            "NOT EXISTS (SELECT 1 FROM claim c JOIN node n ON n.id = c.node AND n.until > {NOW} \
                 WHERE c.thread = k.thread AND c.what = k.id)"
        )
    }

    /// Notes what there is to tell.
    pub(super) fn note(&self, news: impl IntoIterator<Item = (i64, News)>) {
        let mut outbox = self.outbox();
        let was_empty = outbox.is_empty();
        for (thread, news) in news {
            outbox.entry(thread).and_modify(|known| *known = known.and(news)).or_insert(news);
        }
        let is_news = was_empty && !outbox.is_empty();
        drop(outbox);
        if is_news {
            // If it is full, whoever tells is awake.
            let _ = self.herald.try_send(Word::Tell);
        }
    }

    /// Notes that something of threads is not as it was, whatever their heads are.
    pub(super) fn changed(&self, threads: impl IntoIterator<Item = i64>) {
        self.note(threads.into_iter().map(|thread| (thread, News::default())));
    }

    /// Whether there is something to tell.
    pub(super) fn has_news(&self) -> bool {
        !self.outbox().is_empty()
    }

    /// What there is to tell.
    pub(super) fn take_news(&self) -> BTreeMap<i64, News> {
        std::mem::take(&mut *self.outbox())
    }

    fn outbox(&self) -> std::sync::MutexGuard<'_, BTreeMap<i64, News>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who work on tasks that another node may have something for them.
    pub(super) fn stir(&self) {
        for stirs in std::iter::once(&self.stirs).chain(self.also.get()) {
            stirs.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Lets those who listen to another node hear of it, too.
    pub(crate) fn stirs_too(&self, other: &Self) {
        let _ = self.also.set(other.stirs.clone());
    }

    /// Hears of that.
    pub(crate) fn stirs(&self) -> watch::Receiver<u64> {
        self.stirs.subscribe()
    }

    /// Ends whoever tells.
    pub(super) fn close(&self) {
        let _ = self.herald.send(Word::Close);
    }
}
