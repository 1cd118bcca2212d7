//! Rows that are acknowledged and wait to be put into the tables, and keys that only they know.
//!
//! Whoever appends puts them here, and whoever follows takes them in the same order.
//!
//! Invariant: a row leaves when the tables have it, and a key with its row.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::db::{self, Connection};
use crate::handle::Command;
use crate::{Batch, Key, ThreadKey, ThreadRef};

/// Rows and bytes that may wait. Whoever appends more waits for those who follow.
const MOST: usize = 32_768;
const MOST_BYTES: usize = 64 << 20;
/// Rows that are looked at, or let go, while others wait.
const AT_ONCE: usize = 128;

/// A committed row that has not been followed.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) row: i64,
    pub(super) thread: i64,
    pub(super) key: Option<Key>,
    pub(super) batch: Arc<Batch>,
    /// The thread, if it begins with this row.
    pub(super) made: Option<Made>,
    /// Whether the journal's table has it.
    pub(super) is_written: bool,
}

/// A thread that was made.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) key: ThreadKey,
    pub(super) thread: ThreadRef,
}

/// Rows that wait, shared by the writer and whoever follows.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    queue: Mutex<Queue>,
    /// Calls whoever follows.
    call: Condvar,
    /// Calls whoever waits for room.
    room: Condvar,
    /// The last row that must be in the tables on disk soon, and the last that is.
    wanted: AtomicI64,
    durable: AtomicI64,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    keys: HashMap<(i64, String), Used>,
    /// What whoever follows was asked to do, once all rows up to one are followed.
    asked: VecDeque<(i64, Asked)>,
    /// When the oldest row that waits came, and the newest.
    since: Option<Instant>,
    last: Option<Instant>,
    is_closed: bool,
}

/// A command, which has nothing to show.
struct Asked(Command);

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asked")
    }
}

/// What a key was used for: first, last, at, digest.
pub(super) type Used = (u64, u64, i64, [u8; 32]);

/// How it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) rows: usize,
    pub(super) since: Option<Instant>,
    pub(super) last: Option<Instant>,
    pub(super) is_asked: bool,
    pub(super) is_closed: bool,
}

impl Backlog {
    /// Rows that the journal's table has and that were not followed: a store that was stopped left
    /// them behind.
    pub(super) fn left(conn: &Connection) -> db::Result<Vec<Item>> {
        let mut rows = conn.prepare_cached(
            "SELECT row, thread, first, at, key, digest, body FROM journal \
             WHERE row > (SELECT row FROM followed WHERE what = 'position') ORDER BY row",
        )?;
        let mut rows = rows.query([])?;
        let mut items = Vec::new();
        while let Some(row) = rows.next()? {
            let body = Bytes::from(row.get::<String>(6)?);
            let key = match (row.get::<Option<String>>(4)?, row.get(5)?) {
                (Some(text), Some(digest)) => Some(Key { text, digest }),
                _ => None,
            };
            items.push(Item {
                row: row.get(0)?,
                thread: row.get(1)?,
                key,
                batch: Arc::new(Batch::parse(row.get::<i64>(2)? as u64, row.get(3)?, &body)),
                made: None,
                is_written: true,
            });
        }
        Ok(items)
    }

    /// Makes a row's key known before its commit, for appends of the same commit.
    pub(super) fn announce(&self, item: &Item) {
        if let Some(key) = &item.key {
            let used = (item.batch.first, item.batch.last(), item.batch.at, key.digest);
            self.queue().keys.insert((item.thread, key.text.clone()), used);
        }
    }

    /// Forgets the keys of rows that were announced and not committed.
    pub(super) fn recall(&self) {
        let mut queue = self.queue();
        let Queue { items, keys, .. } = &mut *queue;
        keys.clear();
        for item in items {
            if let Some(key) = &item.key {
                let used = (item.batch.first, item.batch.last(), item.batch.at, key.digest);
                keys.insert((item.thread, key.text.clone()), used);
            }
        }
    }

    /// What a key was used for, by a row that waits.
    pub(super) fn key(&self, thread: i64, key: &str) -> Option<Used> {
        let queue = self.queue();
        if queue.keys.is_empty() {
            return None;
        }
        queue.keys.get(&(thread, key.to_owned())).copied()
    }

    /// The rows, with their threads.
    pub(super) fn rows(&self) -> Vec<(i64, i64, Arc<Batch>)> {
        let queue = self.queue();
        queue.items.iter().map(|item| (item.row, item.thread, item.batch.clone())).collect()
    }

    /// How many rows wait.
    pub(super) fn len(&self) -> usize {
        self.queue().items.len()
    }

    /// Adds rows.
    pub(super) fn push(&self, items: Vec<Item>) {
        let mut queue = self.queue();
        let now = Instant::now();
        let was_empty = queue.items.is_empty();
        if was_empty {
            queue.since = Some(now);
        }
        queue.last = Some(now);
        queue.bytes += items.iter().map(|item| item.batch.size()).sum::<usize>();
        queue.items.extend(items);
        drop(queue);
        // One who is awake looks again by itself.
        if was_empty {
            self.call.notify_one();
        }
    }

    /// Waits until more may be appended; `false` if there is no room in time.
    pub(super) fn wait_for_room(&self, most: Duration) -> bool {
        let queue = self.queue();
        let is_full = |queue: &mut Queue| queue.items.len() >= MOST || queue.bytes >= MOST_BYTES;
        let waited = self.room.wait_timeout_while(queue, most, is_full);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// The rows that came first, up to so many; they stay. Only whoever follows lets them go, so
    /// they are looked at a few at a time: nobody who appends waits for all of them.
    pub(super) fn first(&self, most: usize) -> Vec<Item> {
        let mut first = Vec::with_capacity(most.min(self.len()));
        while first.len() < most {
            let queue = self.queue();
            let end = queue.items.len().min(first.len() + AT_ONCE).min(most);
            if end <= first.len() {
                break;
            }
            first.extend(queue.items.range(first.len()..end).cloned());
        }
        first
    }

    /// The tables have so many of those that came first. They go a few at a time, and are gone
    /// after others can come in: whoever follows gives way, and must not while it keeps the queue.
    pub(super) fn followed(&self, mut count: usize) {
        let mut gone = Vec::with_capacity(count.min(AT_ONCE));
        while count > 0 {
            let mut queue = self.queue();
            let Queue { items, bytes, keys, .. } = &mut *queue;
            let some = count.min(AT_ONCE).min(items.len());
            for item in items.drain(..some) {
                *bytes -= item.batch.size();
                if let Some(key) = &item.key {
                    keys.remove(&(item.thread, key.text.clone()));
                }
                gone.push(item);
            }
            queue.since = (!queue.items.is_empty()).then(Instant::now);
            drop(queue);
            gone.clear();
            count = if some == 0 { 0 } else { count - some };
        }
        self.room.notify_all();
    }

    /// Asks for something that is to be done when all rows up to one are followed.
    pub(super) fn ask(&self, upto: i64, command: Command) {
        self.queue().asked.push_back((upto, Asked(command)));
        self.call.notify_one();
    }

    /// What was asked first, if it is its time.
    pub(super) fn asked(&self) -> Option<Command> {
        let mut queue = self.queue();
        let first = queue.items.front().map_or(i64::MAX, |item| item.row);
        queue.asked.pop_front_if(|(upto, _)| *upto < first).map(|(_, Asked(command))| command)
    }

    /// Everything that was asked and is not done yet.
    pub(super) fn give_up_asked(&self) -> Vec<Command> {
        std::mem::take(&mut self.queue().asked).into_iter().map(|(_, Asked(one))| one).collect()
    }

    /// Forgets the rows, which are in the log: the store closes and cannot write.
    pub(super) fn give_up(&self) {
        let mut queue = self.queue();
        queue.items.clear();
        (queue.bytes, queue.since) = (0, None);
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.queue().is_closed = true;
        self.call.notify_one();
    }

    /// How it stands.
    pub(super) fn waiting(&self) -> Waiting {
        self.queue().told()
    }

    /// Waits until a moment, or for a call.
    pub(super) fn wait(&self, until: Option<Instant>, than: Waiting) {
        let queue = self.queue();
        let now = queue.told();
        // Something has come since whoever waits has looked.
        if now.is_closed || now.is_asked || (now.rows > 0) != (than.rows > 0) {
            return;
        }
        match until {
            None => drop(self.call.wait(queue)),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                drop(self.call.wait_timeout(queue, left));
            }
        }
    }

    /// Wishes that all rows up to one are in the tables on disk.
    pub(super) fn want(&self, row: i64) {
        self.wanted.store(row, Ordering::Release);
    }

    /// Whether the tables must be on disk when they have the rows up to one.
    pub(super) fn is_wanted(&self, row: i64) -> bool {
        let wanted = self.wanted.load(Ordering::Acquire);
        wanted <= row && wanted > self.durable()
    }

    /// Notes that the tables have the rows up to one on disk.
    pub(super) fn note_durable(&self, row: i64) {
        self.durable.fetch_max(row, Ordering::AcqRel);
    }

    /// The last row that is in the tables on disk.
    pub(super) fn durable(&self) -> i64 {
        self.durable.load(Ordering::Acquire)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn told(&self) -> Waiting {
        Waiting {
            rows: self.items.len(),
            since: self.since,
            last: self.last,
            is_asked: !self.asked.is_empty(),
            is_closed: self.is_closed,
        }
    }
}
