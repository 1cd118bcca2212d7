//! Rows of the journal that nothing points to yet.
//!
//! Where a thread's rows are is written down behind the acknowledgement. Until then it is kept
//! here.
//!
//! Invariant: a row is here, or in `position`, or in both; never in neither once it was
//! acknowledged. A reader who looks here first and at the disk second misses nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

/// A row of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) row: i64,
    pub(crate) last: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Recent {
    threads: RwLock<HashMap<i64, VecDeque<Place>>>,
    late: AtomicBool,
}

/// Whether what is known of threads tells of all rows whose places are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    All,
    /// It is made anew, or could not be made.
    Not,
}

impl Recent {
    /// Adds rows that were committed.
    pub(crate) fn add(&self, places: impl Iterator<Item = (i64, Place)>) {
        let mut threads = self.threads.write().unwrap_or_else(PoisonError::into_inner);
        for (thread, place) in places {
            threads.entry(thread).or_default().push_back(place);
        }
    }

    /// Notes how much is known.
    pub(crate) fn note(&self, known: Known) {
        self.late.store(known == Known::Not, Ordering::Release);
    }

    /// How much is known.
    pub(crate) fn known(&self) -> Known {
        if self.late.load(Ordering::Acquire) { Known::Not } else { Known::All }
    }

    /// Forgets the rows up to one, whose places have been written down.
    pub(crate) fn forget(&self, threads: impl Iterator<Item = i64>, upto: i64) {
        let mut all = self.threads.write().unwrap_or_else(PoisonError::into_inner);
        for thread in threads {
            if let Some(places) = all.get_mut(&thread) {
                while places.front().is_some_and(|place| place.row <= upto) {
                    places.pop_front();
                }
                if places.is_empty() {
                    all.remove(&thread);
                }
            }
        }
    }

    /// A thread's rows that end after a sequence number, in order.
    pub(crate) fn after(&self, thread: i64, seq: u64) -> Vec<Place> {
        let threads = self.threads.read().unwrap_or_else(PoisonError::into_inner);
        let places = threads.get(&thread).into_iter().flatten();
        places.filter(|place| place.last > seq).copied().collect()
    }

    /// The last sequence number of a thread's rows.
    pub(crate) fn head(&self, thread: i64) -> Option<u64> {
        let threads = self.threads.read().unwrap_or_else(PoisonError::into_inner);
        threads.get(&thread).and_then(VecDeque::back).map(|place| place.last)
    }
}
