//! Views of a thread's live end: in a dialect, through a filter, with what the reader may see.
//!
//! What a view shows of an entry is made once and shared by all readers of the view as the same
//! bytes. A reader is a position; while it keeps up it takes what the view has made, when it falls
//! behind it reads the journal and makes its own.
//!
//! Invariant: what a view shows of an entry depends on the journal up to that entry and on nothing
//! else, so that it does not matter who made it, or when.

mod encode;
mod filter;
mod page;
mod reader;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use selvedge_store::{Ahead, ReadError, Store, Tail, ThreadRef};

pub(crate) use encode::{Encoder, Format};
pub(crate) use filter::{Descendants, Filter, Prompts, Sieve, Thoughts};
pub(crate) use page::{page, records, whole};
pub(crate) use reader::{Place, Reader, Start};

/// Bytes that a view keeps for readers who are a little late.
const KEPT: usize = 1 << 20;
/// Bytes made or handed over at once.
const PIECE: usize = 256 << 10;

/// What distinguishes a view of a thread from its other views.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) format: Format,
    pub(crate) filter: Filter,
}

/// A view's thread by its number and how often it was renamed: who knows it by an older name does
/// not share with those who know the new one.
type Name = (i64, i64, Kind);

/// The views that someone reads.
#[derive(Default)]
pub(crate) struct Views {
    views: Mutex<HashMap<Name, Weak<View>>>,
}

impl Views {
    /// The view of a thread, made if nobody reads it yet. Blocks for the disk.
    pub(crate) fn open(
        &self,
        store: &Store,
        thread: &ThreadRef,
        kind: &Kind,
    ) -> Result<Arc<View>, ReadError> {
        let name = (thread.num, thread.renamed, kind.clone());
        if let Some(view) = lock(&self.views).get(&name).and_then(Weak::upgrade) {
            return Ok(view);
        }
        let view = Arc::new(View::new(store, thread, kind)?);
        let mut views = lock(&self.views);
        if let Some(other) = views.get(&name).and_then(Weak::upgrade) {
            return Ok(other);
        }
        if views.len() >= 64 && views.len().is_power_of_two() {
            views.retain(|_, view| view.strong_count() > 0);
        }
        views.insert(name, Arc::downgrade(&view));
        Ok(view)
    }
}

/// A view's live end.
pub(crate) struct View {
    thread: ThreadRef,
    kind: Kind,
    tail: Arc<Tail>,
    made: Mutex<Made>,
}

/// What has been made and is kept.
struct Made {
    encoder: Encoder,
    /// The last entry that was looked at.
    seen: u64,
    chunks: VecDeque<Chunk>,
    bytes: usize,
}

/// What a view shows of some entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunk {
    /// The entry before the first of them.
    pub(crate) after: u64,
    /// The last of them.
    pub(crate) last: u64,
    pub(crate) bytes: Bytes,
    /// Where what is shown of each entry ends, for those that show something.
    pub(crate) ends: Vec<(u64, usize)>,
}

impl Chunk {
    /// What it shows after an entry.
    fn after(&self, seq: u64) -> Shown {
        let passed = self.ends.partition_point(|(entry, _)| *entry <= seq);
        let from = passed.checked_sub(1).and_then(|i| self.ends.get(i)).map_or(0, |end| end.1);
        let told = self.ends.last().map(|end| end.0).filter(|told| *told > seq);
        Shown { bytes: self.bytes.slice(from..), seen: self.last, told }
    }
}

/// Bytes for a reader.
pub(crate) struct Shown {
    pub(crate) bytes: Bytes,
    /// The last entry looked at.
    pub(crate) seen: u64,
    /// The last entry whose id is in the bytes.
    pub(crate) told: Option<u64>,
}

/// What a view has for a reader.
pub(crate) enum Next {
    /// These bytes.
    Bytes(Shown),
    /// Nothing yet.
    Nothing,
    /// More than is kept: read the journal.
    Behind,
}

impl View {
    fn new(store: &Store, thread: &ThreadRef, kind: &Kind) -> Result<Self, ReadError> {
        let tail = store.tail(thread)?;
        let mut encoder = Encoder::new(kind, thread.epoch);
        let mut seen = tail.head();
        if encoder.needs_the_past() {
            seen = kind.filter.after.min(tail.head());
            while seen < tail.head() {
                seen = encoder.page(store, thread, seen, PIECE)?.last;
            }
        }
        let made = Made { encoder, seen, chunks: VecDeque::new(), bytes: 0 };
        Ok(Self { thread: thread.clone(), kind: kind.clone(), tail, made: Mutex::new(made) })
    }

    /// What a reader who has seen `seq` gets next.
    pub(crate) fn next(&self, seq: u64) -> Next {
        let mut made = lock(&self.made);
        if seq >= made.seen && !self.make(&mut made) {
            return if made.seen > seq { Next::Behind } else { Next::Nothing };
        }
        let from = made.chunks.partition_point(|chunk| chunk.last <= seq);
        match made.chunks.get(from) {
            Some(chunk) if chunk.after <= seq => Next::Bytes(chunk.after(seq)),
            _ => Next::Behind,
        }
    }

    /// Makes what the view shows of entries that are new; `false` if there is nothing to take.
    fn make(&self, made: &mut Made) -> bool {
        let batches = match self.tail.ahead(made.seen, PIECE) {
            Ahead::Batches(batches) => batches,
            Ahead::Nothing => return false,
            Ahead::Journal => {
                // Nobody has read for a while. Without a memory it can go on at the end.
                if !made.encoder.needs_the_past() {
                    made.chunks.clear();
                    made.bytes = 0;
                    made.seen = self.tail.head();
                }
                return false;
            }
        };
        let chunk = made.encoder.batches(made.seen, &batches);
        made.seen = chunk.last;
        made.bytes += chunk.bytes.len();
        made.chunks.push_back(chunk);
        while made.bytes > KEPT && made.chunks.len() > 1 {
            if let Some(old) = made.chunks.pop_front() {
                made.bytes -= old.bytes.len();
            }
        }
        true
    }

    /// Lets a view with a memory catch up with its thread. Blocks for the disk.
    fn catch_up(&self, store: &Store) -> Result<(), ReadError> {
        let mut made = lock(&self.made);
        if !made.encoder.needs_the_past() {
            return Ok(());
        }
        while matches!(self.tail.ahead(made.seen, 1), Ahead::Journal) {
            let seen = made.seen;
            made.seen = made.encoder.page(store, &self.thread, seen, PIECE)?.last;
            made.chunks.clear();
            made.bytes = 0;
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
