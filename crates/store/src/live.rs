//! The live tail: what was committed last, shared by all readers of a thread.
//!
//! A reader is a cursor. While it keeps up it reads from the ring, where every batch is held once;
//! when it falls behind the ring it reads from the journal, and comes back. A writer never waits
//! for a reader.
//!
//! Invariant: a batch enters the ring after its commit, in the order of commits, and the ring has
//! no hole.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use tokio::sync::watch;

use crate::{Batch, Entry};

/// Batches that a ring holds, by their bytes and by their number.
const RING_BYTES: usize = 1 << 20;
const RING_BATCHES: usize = 4096;

/// The rings of all threads that someone reads.
#[derive(Debug, Default)]
pub(crate) struct Live {
    tails: Mutex<HashMap<i64, Weak<Tail>>>,
}

impl Live {
    /// The tail of a thread. Whoever makes it new must tell it the thread's head afterwards.
    pub(crate) fn tail(&self, thread: i64) -> Arc<Tail> {
        let mut tails = lock(&self.tails);
        if let Some(tail) = tails.get(&thread).and_then(Weak::upgrade) {
            return tail;
        }
        if tails.len() >= 64 && tails.len().is_power_of_two() {
            tails.retain(|_, tail| tail.strong_count() > 0);
        }
        let tail = Arc::new(Tail::new());
        tails.insert(thread, Arc::downgrade(&tail));
        tail
    }

    /// Ends the tail of a thread, whose name means another thread from now on, or none. Whoever
    /// opens it anew gets another tail.
    pub(crate) fn end(&self, thread: i64, end: End) {
        let tail = lock(&self.tails).remove(&thread).and_then(|tail| tail.upgrade());
        if let Some(tail) = tail {
            tail.end(end);
        }
    }

    /// Entries of a thread were written anew: what is held of them is forgotten, and whoever reads
    /// it is told.
    pub(crate) fn rewritten(&self, thread: i64) {
        let tail = lock(&self.tails).get(&thread).and_then(Weak::upgrade);
        if let Some(tail) = tail {
            tail.rewrite();
        }
    }

    /// Passes on what was committed; whoever reads it is told when what this gives is dropped.
    pub(crate) fn publish<'b>(
        &self,
        batches: impl Iterator<Item = (i64, &'b Arc<Batch>)>,
    ) -> Reached {
        let mut reached: Vec<Arc<Tail>> = Vec::new();
        {
            let mut tails = lock(&self.tails);
            if tails.is_empty() {
                return Reached(reached);
            }
            for (thread, batch) in batches {
                match tails.get(&thread).map(Weak::upgrade) {
                    Some(Some(tail)) => {
                        tail.push(batch.clone());
                        if !reached.iter().any(|known| Arc::ptr_eq(known, &tail)) {
                            reached.push(tail);
                        }
                    }
                    Some(None) => {
                        tails.remove(&thread);
                    }
                    None => {}
                }
            }
        }
        Reached(reached)
    }
}

/// Tails that have something new. Their readers are woken when this is dropped: once for all that
/// was committed together, and after those were answered who wrote it.
#[must_use]
pub(crate) struct Reached(Vec<Arc<Tail>>);

impl Drop for Reached {
    fn drop(&mut self) {
        for tail in &self.0 {
            tail.wake();
        }
    }
}

/// The live end of one thread.
#[derive(Debug)]
pub struct Tail {
    ring: Mutex<Ring>,
    edge: watch::Sender<Edge>,
    /// Who is called whenever the edge has moved.
    bells: Mutex<Vec<Waker>>,
}

/// How far a thread has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edge {
    /// The last sequence number committed.
    pub head: u64,
    /// Why nothing more comes, if so.
    pub end: Option<End>,
    /// How often entries that were read before were written anew.
    pub rewritten: u64,
}

/// Why a tail ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The thread was deleted.
    Deleted,
    /// The thread has another id now, and perhaps another thread has its old one.
    Renamed,
}

#[derive(Debug, Default)]
struct Ring {
    batches: VecDeque<Arc<Batch>>,
    bytes: usize,
    head: u64,
}

/// What lies ahead of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ahead {
    /// Nothing yet.
    Nothing,
    /// These, of which the first may begin before the reader's place.
    Batches(Vec<Arc<Batch>>),
    /// More than the ring holds: read the journal.
    Journal,
}

impl Tail {
    fn new() -> Self {
        Self { ring: Mutex::default(), edge: watch::Sender::default(), bells: Mutex::default() }
    }

    /// One that has ended already.
    pub(crate) fn ended_by(end: End) -> Self {
        let tail = Self::new();
        tail.end(end);
        tail
    }

    /// The last sequence number committed, as far as the tail knows.
    pub fn head(&self) -> u64 {
        lock(&self.ring).head
    }

    /// What lies ahead of a reader who has seen `seq`, up to about so many bytes.
    pub fn ahead(&self, seq: u64, bytes: usize) -> Ahead {
        let ring = lock(&self.ring);
        if seq >= ring.head {
            return Ahead::Nothing;
        }
        let from = ring.batches.partition_point(|batch| batch.last() <= seq);
        match ring.batches.get(from) {
            Some(first) if first.first <= seq + 1 => {
                let mut taken = 0;
                let batches = ring.batches.iter().skip(from).take_while(|batch| {
                    let before = taken;
                    taken += batch.size();
                    before < bytes
                });
                Ahead::Batches(batches.cloned().collect())
            }
            _ => Ahead::Journal,
        }
    }

    /// The entries that lie ahead of a reader who has seen `seq`, up to about so many bytes; none if
    /// they are to be read from the journal.
    pub fn entries(&self, seq: u64, bytes: usize) -> Option<Vec<Entry>> {
        match self.ahead(seq, bytes) {
            Ahead::Nothing => Some(Vec::new()),
            Ahead::Batches(batches) => {
                Some(batches.iter().flat_map(|batch| batch.after(seq)).collect())
            }
            Ahead::Journal => None,
        }
    }

    /// Hears of every new head, and of the end.
    pub fn watch(&self) -> watch::Receiver<Edge> {
        self.edge.subscribe()
    }

    /// Calls someone whenever the edge has moved, until [`Tail::hush`]. For those who have many
    /// readers: the writer calls once, and they tell each.
    pub fn call(&self, bell: Waker) {
        lock(&self.bells).push(bell);
    }

    /// Calls them no more.
    pub fn hush(&self, bell: &Waker) {
        lock(&self.bells).retain(|known| !known.will_wake(bell));
    }

    fn ring(&self) {
        // Copied, not called while it is locked: nobody knows what those do who are called.
        let bells = lock(&self.bells).clone();
        for bell in bells {
            bell.wake();
        }
    }

    /// Why it has ended, if it has.
    pub fn ended(&self) -> Option<End> {
        self.edge.borrow().end
    }

    /// Says that nothing more comes. The first reason stays.
    pub(crate) fn end(&self, end: End) {
        self.edge.send_modify(|edge| {
            edge.end.get_or_insert(end);
        });
        self.ring();
    }

    /// Forgets what it holds: it is to be read from the journal.
    fn rewrite(&self) {
        {
            let mut ring = lock(&self.ring);
            ring.batches.clear();
            ring.bytes = 0;
        }
        self.edge.send_modify(|edge| edge.rewritten += 1);
        self.ring();
    }

    /// How often entries were written anew since it began.
    pub fn rewritten(&self) -> u64 {
        self.edge.borrow().rewritten
    }

    /// Tells the tail of a head that was committed before it began.
    pub(crate) fn reached(&self, head: u64) {
        {
            let mut ring = lock(&self.ring);
            ring.head = ring.head.max(head);
        }
        self.wake();
    }

    fn wake(&self) {
        let head = self.head();
        let moved = self.edge.send_if_modified(|known| {
            let newer = known.head < head;
            known.head = head.max(known.head);
            newer
        });
        if moved {
            self.ring();
        }
    }

    /// Whether nothing has reached it.
    pub(crate) fn is_new(&self) -> bool {
        lock(&self.ring).batches.is_empty()
    }

    /// Gives it what was committed before it began and is still at hand.
    pub(crate) fn begin_with(&self, batches: Vec<Arc<Batch>>) {
        let mut ring = lock(&self.ring);
        for batch in batches.into_iter().rev() {
            match ring.batches.front() {
                // It has come by itself meanwhile.
                Some(front) if batch.first >= front.first => continue,
                Some(front) if batch.last() + 1 < front.first => break,
                _ => {}
            }
            // Nothing older then: the ring has no hole.
            if ring.bytes + batch.size() > RING_BYTES || ring.batches.len() >= RING_BATCHES {
                break;
            }
            ring.head = ring.head.max(batch.last());
            ring.bytes += batch.size();
            ring.batches.push_front(batch);
        }
    }

    fn push(&self, batch: Arc<Batch>) {
        let mut ring = lock(&self.ring);
        if ring.batches.back().is_some_and(|last| last.last() >= batch.last()) {
            return;
        }
        // Another node wrote what is between: whoever is before it reads the journal.
        if ring.batches.back().is_some_and(|last| last.last() + 1 < batch.first) {
            ring.batches.clear();
            ring.bytes = 0;
        }
        ring.head = ring.head.max(batch.last());
        ring.bytes += batch.size();
        ring.batches.push_back(batch);
        while ring.batches.len() > RING_BATCHES || ring.bytes > RING_BYTES {
            // The last batch stays, however large: readers at the head need it.
            if ring.batches.len() == 1 {
                break;
            }
            if let Some(old) = ring.batches.pop_front() {
                ring.bytes -= old.size();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    fn batch(first: u64, bytes: usize) -> Arc<Batch> {
        Arc::new(Batch::new(first, 0, vec![(vec![b'x'; bytes].into(), None)]))
    }

    #[test]
    fn a_tail_that_begins_with_what_is_at_hand_has_no_hole() {
        let tail = Tail::new();
        // The middle one does not fit into a ring, so what is before it is left out, too.
        tail.begin_with(vec![batch(1, 10), batch(2, RING_BYTES + 1), batch(3, 10)]);
        tail.push(batch(4, 10));
        assert_eq!(tail.ahead(0, usize::MAX), Ahead::Journal);
        assert_eq!(tail.ahead(2, usize::MAX), Ahead::Batches(vec![batch(3, 10), batch(4, 10)]));
        let tail = Tail::new();
        tail.begin_with(vec![batch(1, 10), batch(2, RING_BYTES + 1)]);
        tail.push(batch(3, 10));
        assert_eq!(tail.ahead(0, usize::MAX), Ahead::Journal);
    }

    #[test]
    fn whoever_asked_is_called_once_for_each_move_until_hushed() {
        #[derive(Default)]
        struct Calls(AtomicUsize);
        impl Wake for Calls {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (tail, calls) = (Tail::new(), Arc::new(Calls::default()));
        let bell = Waker::from(calls.clone());
        tail.call(bell.clone());
        tail.reached(3);
        // It has not moved.
        tail.reached(3);
        tail.rewrite();
        tail.end(End::Deleted);
        assert_eq!(calls.0.load(Ordering::Relaxed), 3);
        tail.hush(&bell);
        tail.reached(4);
        assert_eq!(calls.0.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_ring_has_no_hole_where_another_node_wrote() {
        let tail = Tail::new();
        for first in [1, 2, 4] {
            tail.push(batch(first, 10));
        }
        assert_eq!(tail.ahead(0, usize::MAX), Ahead::Journal);
        assert_eq!(tail.ahead(2, usize::MAX), Ahead::Journal);
        assert_eq!(tail.ahead(3, usize::MAX), Ahead::Batches(vec![batch(4, 10)]));
    }

    #[test]
    fn what_reaches_a_tail_by_itself_meanwhile_is_there_once() {
        let tail = Tail::new();
        tail.push(batch(3, 10));
        tail.begin_with(vec![batch(1, 10), batch(2, 10), batch(3, 10)]);
        tail.push(batch(3, 10));
        let all = vec![batch(1, 10), batch(2, 10), batch(3, 10)];
        assert_eq!(tail.ahead(0, usize::MAX), Ahead::Batches(all));
    }
}
