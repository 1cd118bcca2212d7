//! This node among those that share the database: who it is, what it has to tell, what it claims.
//!
//! Invariant: a claim is one node's at a time. It is taken over from a node that the database's
//! clock takes to be dead, under the lock of the thread's row: whatever that node appended under it
//! is there before, and nothing comes after.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::herald::Word;
use super::hints::News;
use crate::db::{self, Connection, params};

/// How long a node is taken to be alive after it was heard of, in milliseconds.
const ALIVE: i64 = 4000;
/// How long a node that is gone is remembered.
const GONE: i64 = 600_000;
/// The time by the one clock that all nodes share, as SQL.
const NOW: &str = "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)";

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
}

impl Node {
    /// Makes it known.
    pub(super) fn join(conn: &Connection, herald: SyncSender<Word>) -> db::Result<Self> {
        let id = conn.query_row("SELECT nextval('node_id')", [], |row| row.get(0))?;
        // Other databases may have nodes of the same number.
        let tag = RandomState::new().build_hasher().finish();
        let tag = format!("{id}-{tag:x}");
        let (outbox, stirs) = (Mutex::default(), watch::Sender::new(0));
        let node = Self { id, tag, outbox, herald, stirs };
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

    /// Forgets nodes that have been gone for long.
    pub(super) fn forget_others(conn: &Connection) -> db::Result<()> {
        conn.execute(&format!("DELETE FROM node WHERE until < {NOW} - ?1"), params![GONE])?;
        Ok(())
    }

    /// Says that it is gone: what it claims is free from now on.
    pub(super) fn leave(&self, conn: &Connection) -> db::Result<()> {
        conn.execute("DELETE FROM node WHERE id = ?1", params![self.id])?;
        Ok(())
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
        self.stirs.send_modify(|count| *count = count.wrapping_add(1));
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
