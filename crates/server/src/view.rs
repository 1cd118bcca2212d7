//! Views of a thread's live end: in a dialect, through a filter, with what the reader may see.
//!
//! What a view shows of an entry is made once and shared by all readers of the view as the same
//! bytes. A reader is a position; while it keeps up it takes what the view has made, when it falls
//! behind it reads the journal and makes its own.
//!
//! Invariant: what a view shows of an entry depends on the journal up to that entry and on nothing
//! else, so that it does not matter who made it, or when.

mod crowd;
mod encode;
mod filter;
mod page;
mod reader;
mod readers;

use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use bytes::Bytes;
use selvedge_store::{Ahead, ReadError, Store, Tail, ThreadRef};

use self::crowd::{Crowd, Ear};
pub(crate) use encode::{Encoder, Format};
pub(crate) use filter::{Descendants, Filter, Prompts, Sieve, Thoughts};
pub(crate) use page::{page, records, whole};
pub(crate) use reader::{Place, Reader, Start};
pub(crate) use readers::{Caller, Readers, Reading};

/// Bytes that a view keeps for readers who are a little late.
const KEPT: usize = 1 << 20;
/// Bytes made or handed over at once.
const PIECE: usize = 256 << 10;
/// Entries that are gone through for a view before anyone reads it.
const SHORT: u64 = 512;

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
        let kept = lock(&self.views).get(&name).and_then(View::kept);
        if let Some(view) = kept {
            // Whoever comes from another node may have seen more than this one was told of.
            if store.is_shared() {
                store.tail(thread)?;
            }
            return Ok(view);
        }
        let view = Arc::new(View::new(store, thread, kind)?);
        let mut views = lock(&self.views);
        if let Some(other) = views.get(&name).and_then(View::kept) {
            return Ok(other);
        }
        if views.len() >= 64 && views.len().is_power_of_two() {
            views.retain(|_, view| view.strong_count() > 0);
        }
        views.insert(name, Arc::downgrade(&view));
        Ok(view)
    }

    /// Has all who wait look again: there is news that is no thread's.
    pub(crate) fn ring(&self) {
        let views: Vec<_> = lock(&self.views).values().filter_map(Weak::upgrade).collect();
        for view in views {
            view.crowd.ring();
        }
    }
}

/// A view's live end.
pub(crate) struct View {
    thread: ThreadRef,
    kind: Kind,
    tail: Arc<Tail>,
    /// How often entries had been written anew when it began: what it made of them then must not be
    /// shown any more after the next time.
    rewritten: u64,
    made: Mutex<Made>,
    /// Who waits for more, and how the thread calls them.
    crowd: Arc<Crowd>,
    bell: Waker,
}

/// What has been made and is kept.
struct Made {
    /// None while nobody has read a long past that it has to remember: the first reader who has come
    /// to the end gives its own.
    encoder: Option<Encoder>,
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
    /// Entries that are one now and the first of these, where some of them came before.
    pub(crate) folded: Option<RangeInclusive<u64>>,
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

/// What came of making more.
enum Step {
    Made,
    /// There is nothing new.
    Nothing,
    /// What is new is in the journal only, or needs a past that nobody has read.
    Behind,
}

impl View {
    fn new(store: &Store, thread: &ThreadRef, kind: &Kind) -> Result<Self, ReadError> {
        let tail = store.tail(thread)?;
        // Before anything is read.
        let rewritten = tail.rewritten();
        let mut encoder = Some(Encoder::new(kind, thread.epoch));
        let mut seen = tail.head();
        if encoder.as_ref().is_some_and(Encoder::needs_the_past) {
            seen = kind.filter.after.min(tail.head());
            if tail.head() - seen > SHORT {
                encoder = None;
            }
        }
        while let Some(encoder) = encoder.as_mut().filter(|_| seen < tail.head()) {
            seen = encoder.page(store, thread, seen, PIECE)?.last;
        }
        let made = Made { encoder, seen, chunks: VecDeque::new(), bytes: 0 };
        let (thread, kind) = (thread.clone(), kind.clone());
        let crowd = Arc::new(Crowd::default());
        let bell = Waker::from(crowd.clone());
        tail.call(bell.clone());
        Ok(Self { thread, kind, tail, rewritten, made: Mutex::new(made), crowd, bell })
    }

    /// An ear for what comes.
    fn ear(&self) -> Ear {
        Ear::new(self.crowd.clone())
    }

    /// The view, if someone has it and what it has made may be shown.
    fn kept(view: &Weak<Self>) -> Option<Arc<Self>> {
        view.upgrade().filter(|view| view.tail.rewritten() == view.rewritten)
    }

    /// What a reader who has seen `seq` gets next.
    pub(crate) fn next(&self, seq: u64) -> Next {
        let mut made = lock(&self.made);
        if seq >= made.seen {
            match self.make(&mut made) {
                Step::Made => {}
                Step::Nothing => return Next::Nothing,
                Step::Behind => return Next::Behind,
            }
        }
        let from = made.chunks.partition_point(|chunk| chunk.last <= seq);
        match made.chunks.get(from) {
            Some(chunk) if chunk.after <= seq => Next::Bytes(chunk.after(seq)),
            _ => Next::Behind,
        }
    }

    /// Makes what the view shows of entries that are new.
    fn make(&self, made: &mut Made) -> Step {
        let Some(encoder) = &mut made.encoder else { return Step::Behind };
        let batches = match self.tail.ahead(made.seen, PIECE) {
            Ahead::Batches(batches) => batches,
            Ahead::Nothing => return Step::Nothing,
            Ahead::Journal => {
                // Nobody has read for a while. Without a memory it can go on at the end.
                if !encoder.needs_the_past() {
                    made.chunks.clear();
                    made.bytes = 0;
                    made.seen = self.tail.head();
                }
                return Step::Behind;
            }
        };
        let chunk = encoder.batches(made.seen, &batches);
        made.seen = chunk.last;
        made.bytes += chunk.bytes.len();
        made.chunks.push_back(chunk);
        while made.bytes > KEPT && made.chunks.len() > 1 {
            if let Some(old) = made.chunks.pop_front() {
                made.bytes -= old.bytes.len();
            }
        }
        Step::Made
    }

    /// Whether what comes after an entry is in the ring.
    fn reaches(&self, seq: u64) -> bool {
        !matches!(self.tail.ahead(seq, 1), Ahead::Journal)
    }

    /// Gives a view with a memory that of a reader who has seen `seq`, if the view has none or has
    /// fallen behind what the ring holds.
    fn adopt(&self, encoder: Encoder, seq: u64) {
        let mut made = lock(&self.made);
        if made.encoder.is_none() || seq > made.seen && !self.reaches(made.seen) {
            *made = Made { encoder: Some(encoder), seen: seq, chunks: VecDeque::new(), bytes: 0 };
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.tail.hush(&self.bell);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
