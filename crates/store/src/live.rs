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

use crate::{Batch, Entry, ThreadRef};

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
    pub(crate) fn tail(&self, thread: &ThreadRef) -> Arc<Tail> {
        let mut tails = lock(&self.tails);
        let known = tails.get(&thread.num).and_then(Weak::upgrade);
        let outdated = match known {
            Some(tail) if tail.renamed >= thread.renamed => return tail,
            other => other,
        };
        if tails.len() >= 64 && tails.len().is_power_of_two() {
            tails.retain(|_, tail| tail.strong_count() > 0);
        }
        let tail = Arc::new(Tail::new(thread.renamed));
        tails.insert(thread.num, Arc::downgrade(&tail));
        drop(tails);
        if let Some(outdated) = outdated {
            outdated.end(End::Renamed);
        }
        tail
    }

    /// All tails that someone has, by their threads.
    pub(crate) fn all(&self) -> Vec<(i64, Arc<Tail>)> {
        let tails = lock(&self.tails);
        tails.iter().filter_map(|(thread, tail)| Some((*thread, tail.upgrade()?))).collect()
    }

    /// The tail of a thread, if someone has it.
    pub(crate) fn known(&self, thread: i64) -> Option<Arc<Tail>> {
        lock(&self.tails).get(&thread).and_then(Weak::upgrade)
    }

    /// Ends the tail of a thread that is gone.
    pub(crate) fn deleted(&self, thread: i64) {
        let tail = lock(&self.tails).remove(&thread).and_then(|tail| tail.upgrade());
        if let Some(tail) = tail {
            tail.end(End::Deleted);
        }
    }

    /// Ends the tail of a thread that was renamed so often by now, and whose name means another
    /// thread from now on, or none. Whoever opens it anew gets another tail.
    pub(crate) fn renamed(&self, thread: i64, renamed: i64) {
        let mut tails = lock(&self.tails);
        let tail = tails.get(&thread).and_then(Weak::upgrade);
        let Some(tail) = tail.filter(|tail| tail.renamed < renamed) else { return };
        tails.remove(&thread);
        drop(tails);
        tail.end(End::Renamed);
    }

    /// Entries of a thread were written anew: what is held of them is forgotten, and whoever reads
    /// it is told.
    pub(crate) fn rewritten(&self, thread: i64) {
        if let Some(tail) = self.known(thread) {
            tail.rewrite();
        }
    }

    /// The same where that is counted, and others may have told of it.
    pub(crate) fn rewritten_by(&self, thread: i64, rewrites: i64) {
        if let Some(tail) = self.known(thread) {
            tail.take_in(&[], rewrites);
        }
    }

    /// Passes on what was committed, each with how often the thread had been written anew when it
    /// was; whoever reads it is told when what this gives is dropped.
    pub(crate) fn publish<'b>(
        &self,
        batches: impl Iterator<Item = (i64, i64, &'b Arc<Batch>)>,
    ) -> Reached {
        let mut reached: Vec<Arc<Tail>> = Vec::new();
        {
            let mut tails = lock(&self.tails);
            if tails.is_empty() {
                return Reached(reached);
            }
            for (thread, rewrites, batch) in batches {
                match tails.get(&thread).map(Weak::upgrade) {
                    Some(Some(tail)) => {
                        tail.push(batch.clone(), rewrites);
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
    /// How often the thread had been renamed when it began.
    renamed: i64,
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
    /// How often the thread was written anew before what is held, once that is known.
    rewrites: Option<i64>,
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
    fn new(renamed: i64) -> Self {
        let (ring, edge, bells) = (Mutex::default(), watch::Sender::default(), Mutex::default());
        Self { renamed, ring, edge, bells }
    }

    /// One that has ended already.
    pub(crate) fn ended_by(end: End) -> Self {
        let tail = Self::new(0);
        tail.end(end);
        tail
    }

    /// How often the thread had been renamed when it began.
    pub(crate) fn renamed(&self) -> i64 {
        self.renamed
    }

    /// How often the thread was written anew, as far as the tail knows.
    pub(crate) fn rewrites(&self) -> Option<i64> {
        lock(&self.ring).rewrites
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
        lock(&self.ring).forget();
        self.edge.send_modify(|edge| edge.rewritten += 1);
        self.ring();
    }

    /// How often entries were written anew since it began.
    pub fn rewritten(&self) -> u64 {
        self.edge.borrow().rewritten
    }

    /// Takes in what was read of the journal when it had been written anew so often. What is older
    /// than that is forgotten; what is read is left out if it is older than what is known.
    pub(crate) fn take_in(&self, batches: &[Arc<Batch>], rewrites: i64) {
        let is_anew = {
            let mut ring = lock(&self.ring);
            let is_anew = ring.as_of(rewrites) == AsOf::Anew;
            for batch in batches {
                ring.push(batch.clone(), rewrites);
            }
            is_anew
        };
        if is_anew {
            self.edge.send_modify(|edge| edge.rewritten += 1);
            self.ring();
        }
        self.wake();
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

    fn push(&self, batch: Arc<Batch>, rewrites: i64) {
        lock(&self.ring).push(batch, rewrites);
    }
}

/// How what was read stands to what is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AsOf {
    /// Nothing was written anew in between.
    Same,
    /// What is held was written anew since.
    Anew,
    /// What was read was.
    Outdated,
}

impl Ring {
    fn forget(&mut self) {
        self.batches.clear();
        self.bytes = 0;
    }

    /// Notes how often the thread was written anew; what is held from before that is forgotten.
    fn as_of(&mut self, rewrites: i64) -> AsOf {
        match self.rewrites {
            Some(known) if known > rewrites => AsOf::Outdated,
            Some(known) if known == rewrites => AsOf::Same,
            known => {
                self.rewrites = Some(rewrites);
                self.forget();
                if known.is_some() { AsOf::Anew } else { AsOf::Same }
            }
        }
    }

    fn push(&mut self, batch: Arc<Batch>, rewrites: i64) {
        if self.rewrites.is_some_and(|known| known > rewrites) {
            // It may say what was taken out meanwhile: whoever wants it reads the journal.
            self.head = self.head.max(batch.last());
            return;
        }
        self.rewrites.get_or_insert(rewrites);
        if self.batches.back().is_some_and(|last| last.last() >= batch.last()) {
            return;
        }
        // Another node wrote what is between: whoever is before it reads the journal.
        if self.batches.back().is_some_and(|last| last.last() + 1 < batch.first) {
            self.forget();
        }
        self.head = self.head.max(batch.last());
        self.bytes += batch.size();
        self.batches.push_back(batch);
        while self.batches.len() > RING_BATCHES || self.bytes > RING_BYTES {
            // The last batch stays, however large: readers at the head need it.
            if self.batches.len() == 1 {
                break;
            }
            if let Some(old) = self.batches.pop_front() {
                self.bytes -= old.size();
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
        let tail = Tail::new(0);
        // The middle one does not fit into a ring, so what is before it is left out, too.
        tail.begin_with(vec![batch(1, 10), batch(2, RING_BYTES + 1), batch(3, 10)]);
        tail.push(batch(4, 10), 0);
        assert_eq!(tail.ahead(0, usize::MAX), Ahead::Journal);
        assert_eq!(tail.ahead(2, usize::MAX), Ahead::Batches(vec![batch(3, 10), batch(4, 10)]));
        let tail = Tail::new(0);
        tail.begin_with(vec![batch(1, 10), batch(2, RING_BYTES + 1)]);
        tail.push(batch(3, 10), 0);
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
        let (tail, calls) = (Tail::new(0), Arc::new(Calls::default()));
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
        let tail = Tail::new(0);
        for first in [1, 2, 4] {
            tail.push(batch(first, 10), 0);
        }
        assert_eq!(tail.ahead(0, usize::MAX), Ahead::Journal);
        assert_eq!(tail.ahead(2, usize::MAX), Ahead::Journal);
        assert_eq!(tail.ahead(3, usize::MAX), Ahead::Batches(vec![batch(4, 10)]));
    }

    #[test]
    fn what_was_written_anew_elsewhere_is_held_no_more() {
        let tail = Tail::new(0);
        tail.push(batch(1, 10), 0);
        tail.push(batch(2, 10), 0);
        // A redaction elsewhere, told twice.
        tail.take_in(&[batch(3, 5)], 1);
        tail.take_in(&[], 1);
        assert_eq!(tail.rewritten(), 1);
        assert_eq!(tail.ahead(0, usize::MAX), Ahead::Journal);
        assert_eq!(tail.ahead(2, usize::MAX), Ahead::Batches(vec![batch(3, 5)]));
        // What was read before it comes late.
        tail.take_in(&[batch(4, 10)], 0);
        tail.push(batch(5, 10), 0);
        assert_eq!(tail.head(), 5);
        assert_eq!(tail.ahead(3, usize::MAX), Ahead::Journal);
        tail.push(batch(6, 10), 1);
        assert_eq!(tail.ahead(4, usize::MAX), Ahead::Journal);
        assert_eq!(tail.ahead(5, usize::MAX), Ahead::Batches(vec![batch(6, 10)]));
    }

    #[test]
    fn a_thread_under_another_name_has_another_tail() {
        let live = Live::default();
        let thread = |renamed| ThreadRef { num: 1, epoch: 1, created: 0, renamed, branch: None };
        let old = live.tail(&thread(0));
        assert!(Arc::ptr_eq(&old, &live.tail(&thread(0))));
        // Whoever comes by the new name does not wait for word of it.
        let new = live.tail(&thread(1));
        assert_eq!((old.ended(), new.ended()), (Some(End::Renamed), None));
        live.renamed(1, 1);
        assert_eq!(new.ended(), None);
        live.renamed(1, 2);
        assert_eq!(new.ended(), Some(End::Renamed));
    }

    #[test]
    fn what_reaches_a_tail_by_itself_meanwhile_is_there_once() {
        let tail = Tail::new(0);
        tail.push(batch(3, 10), 0);
        tail.begin_with(vec![batch(1, 10), batch(2, 10), batch(3, 10)]);
        tail.push(batch(3, 10), 0);
        let all = vec![batch(1, 10), batch(2, 10), batch(3, 10)];
        assert_eq!(tail.ahead(0, usize::MAX), Ahead::Batches(all));
    }
}
