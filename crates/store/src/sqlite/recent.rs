//! Rows of the journal that were written last, and the threads that they belong to.
//!
//! Where a thread's rows are is written down behind the acknowledgement. Until then, and a while
//! longer, they are kept here: what was just written is read without the disk.
//!
//! Invariant: a row is here, or in `position`, or in both; never in neither once it was
//! acknowledged. A reader who looks here first and at the disk second misses nothing. Of each
//! thread the newest rows are here, without a hole.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::{Batch, ThreadKey, ThreadRef};

/// Rows and bytes that are kept although their places are written down.
const KEPT: usize = 4096;
const KEPT_BYTES: usize = 8 << 20;
/// Rows that go while others wait.
const AT_ONCE: usize = 128;

/// A row of the journal.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) row: i64,
    pub(crate) batch: Arc<Batch>,
}

#[derive(Debug, Default)]
pub(crate) struct Recent {
    threads: RwLock<Threads>,
    /// The last row whose place is written down.
    followed: AtomicI64,
    late: AtomicBool,
}

#[derive(Debug, Default)]
struct Threads {
    numbered: HashMap<i64, Thread>,
    named: HashMap<ThreadKey, ThreadRef>,
    /// All rows, the oldest first.
    order: VecDeque<(i64, i64)>,
    bytes: usize,
}

#[derive(Debug)]
struct Thread {
    key: ThreadKey,
    rows: VecDeque<Row>,
}

/// Whether what is known of threads tells of all rows whose places are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    All,
    /// It is made anew, or could not be made.
    Not,
}

impl Recent {
    /// Adds rows of a thread that were committed.
    pub(crate) fn add(&self, key: &ThreadKey, thread: &ThreadRef, rows: impl Iterator<Item = Row>) {
        let mut threads = self.write();
        let Threads { numbered, named, order, bytes } = &mut *threads;
        let fresh = || Thread { key: key.clone(), rows: VecDeque::new() };
        let own = numbered.entry(thread.num).or_insert_with(fresh);
        own.key = key.clone();
        for row in rows {
            order.push_back((row.row, thread.num));
            *bytes += row.batch.size();
            own.rows.push_back(row);
        }
        named.insert(key.clone(), thread.clone());
    }

    /// Notes how much is known.
    pub(crate) fn note(&self, known: Known) {
        self.late.store(known == Known::Not, Ordering::Release);
    }

    /// How much is known.
    pub(crate) fn known(&self) -> Known {
        if self.late.load(Ordering::Acquire) { Known::Not } else { Known::All }
    }

    /// The places of the rows up to one have been written down: those that have been here for long
    /// can go, a few at a time, so that nobody waits for all of them.
    pub(crate) fn followed(&self, upto: i64) {
        self.followed.store(upto, Ordering::Release);
        let mut gone = Vec::with_capacity(AT_ONCE);
        loop {
            let mut threads = self.write();
            while gone.len() < AT_ONCE
                && (threads.order.len() > KEPT || threads.bytes > KEPT_BYTES)
                && let Some(&(row, num)) = threads.order.front()
                && row <= upto
            {
                threads.order.pop_front();
                gone.push(threads.drop_oldest(num, row));
            }
            drop(threads);
            if gone.is_empty() {
                return;
            }
            gone.clear();
        }
    }

    /// The last row whose place is written down.
    pub(crate) fn last_followed(&self) -> i64 {
        self.followed.load(Ordering::Acquire)
    }

    /// Forgets a thread that was deleted.
    pub(crate) fn forget(&self, num: i64) {
        let mut threads = self.write();
        if let Some(thread) = threads.numbered.remove(&num) {
            threads.bytes -= thread.rows.iter().map(|row| row.batch.size()).sum::<usize>();
            threads.order.retain(|(_, thread)| *thread != num);
            threads.named.retain(|_, thread| thread.num != num);
        }
    }

    /// Whether the places of all rows of a thread are written down.
    pub(crate) fn is_followed(&self, num: i64) -> bool {
        let threads = self.read();
        let last = threads.numbered.get(&num).and_then(|thread| thread.rows.back());
        last.is_none_or(|last| last.row <= self.followed.load(Ordering::Acquire))
    }

    /// Forgets what thread a name means.
    pub(crate) fn rename(&self, key: &ThreadKey) {
        self.write().named.remove(key);
    }

    /// The thread of a name, if rows of it are here.
    pub(crate) fn thread(&self, key: &ThreadKey) -> Option<ThreadRef> {
        self.read().named.get(key).cloned()
    }

    /// The thread of a number, if rows of it are here.
    pub(crate) fn numbered(&self, num: i64) -> Option<ThreadRef> {
        let threads = self.read();
        let own = threads.numbered.get(&num)?;
        threads.named.get(&own.key).filter(|thread| thread.num == num).cloned()
    }

    /// Whether a thread that was found has rows here and still has its name.
    pub(crate) fn is_named(&self, thread: &ThreadRef) -> bool {
        let threads = self.read();
        let own = threads.numbered.get(&thread.num);
        let now = own.and_then(|own| threads.named.get(&own.key));
        now.is_some_and(|now| now.num == thread.num && now.renamed == thread.renamed)
    }

    /// A thread's rows that end after a sequence number, in order.
    pub(crate) fn after(&self, thread: i64, seq: u64) -> Vec<Arc<Batch>> {
        let threads = self.read();
        let Some(thread) = threads.numbered.get(&thread) else { return Vec::new() };
        let seen = thread.rows.partition_point(|row| row.batch.last() <= seq);
        thread.rows.iter().skip(seen).map(|row| row.batch.clone()).collect()
    }

    /// Whether all that a thread has after a sequence number is here.
    pub(crate) fn has_all(&self, thread: i64, seq: u64) -> bool {
        let threads = self.read();
        let first = threads.numbered.get(&thread).and_then(|thread| thread.rows.front());
        first.is_some_and(|first| first.batch.first <= seq + 1)
    }

    /// The last sequence number of a thread's rows.
    pub(crate) fn head(&self, thread: i64) -> Option<u64> {
        let threads = self.read();
        let last = threads.numbered.get(&thread).and_then(|thread| thread.rows.back());
        last.map(|row| row.batch.last())
    }

    fn read(&self) -> RwLockReadGuard<'_, Threads> {
        self.threads.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Threads> {
        self.threads.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    /// Takes out the oldest row of a thread, which is this one.
    fn drop_oldest(&mut self, num: i64, row: i64) -> Option<Row> {
        let thread = self.numbered.get_mut(&num)?;
        let oldest = thread.rows.pop_front_if(|oldest| oldest.row == row);
        self.bytes -= oldest.as_ref().map_or(0, |oldest| oldest.batch.size());
        if thread.rows.is_empty()
            && let Some(thread) = self.numbered.remove(&num)
        {
            self.named.remove(&thread.key);
        }
        oldest
    }
}
