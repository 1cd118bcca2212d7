//! A thread's messages, read from its end: the time it takes depends on how far back they are asked
//! for, not on how long the thread is.

use selvedge_protocol::dialect::aitp::exchange::Questions;
use selvedge_store::{ReadError, Store, Task, ThreadRef};
use serde_json::Value;

use super::capabilities::Parties;
use super::gather::{Gathered, Sort};
use crate::view::Filter;

/// Entries that are looked at first; each time that is not enough, four times as many.
const STRETCH: u64 = 1000;

/// Whose messages, and for whom.
pub(super) struct History {
    pub(super) id: String,
    pub(super) thread: ThreadRef,
    pub(super) filter: Filter,
    /// In a thread of AITP, questions are messages.
    pub(super) parties: Parties,
}

impl History {
    /// The last messages, the first one first: enough of them, or all. Blocks for the disk.
    pub(super) fn latest(
        &self,
        store: &Store,
        is_enough: impl Fn(&[Value]) -> bool,
    ) -> Result<Vec<Value>, ReadError> {
        let head = store.head(&self.thread)?;
        let tasks = store.tasks(&self.thread)?;
        let mut stretch = STRETCH;
        loop {
            let from = quiet(store, &self.thread, &tasks, head.saturating_sub(stretch))?;
            let of = (self.id.as_str(), &self.thread);
            let parties = Some(&self.parties).filter(|parties| parties.is_aitp());
            let asks = parties.map(|parties| Questions::among(parties.of_users.clone()));
            let messages = Gathered::telling(store, of, from..head, self.filter.clone(), asks)?;
            let messages = messages.all(Sort::Message);
            if from == 0 || is_enough(&messages) {
                return Ok(messages);
            }
            stretch = stretch.saturating_mul(4);
        }
    }
}

/// The last place up to an entry at which an append ends and nothing is at work: what comes after
/// it can be told without what comes before. Blocks for the disk.
fn quiet(store: &Store, thread: &ThreadRef, tasks: &[Task], upto: u64) -> Result<u64, ReadError> {
    let mut at = upto;
    loop {
        let page = store.read(thread, at, 1, usize::MAX)?;
        let append = page.entries.first().map_or(at + 1, |entry| entry.append);
        let before = at.min(append.saturating_sub(1));
        let across = |task: &&Task| {
            task.began.0 <= before && task.ended.is_none_or(|(ended, _)| ended > before)
        };
        let first = tasks.iter().filter(across).map(|task| task.began.0).min();
        let quiet = first.map_or(before, |began| began.saturating_sub(1));
        if quiet == at {
            return Ok(at);
        }
        at = quiet;
    }
}
