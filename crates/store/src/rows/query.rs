//! Asking the projections.

mod act;
mod artifact;
mod inbox;
mod kin;
pub(crate) mod search;
mod task;
mod thread;
mod usage;

pub(crate) use act::{call, due, due_now, unfinished};
pub(crate) use artifact::{artifact, artifacts};
pub(crate) use inbox::{inbox, pending, question};
pub(crate) use kin::family;
pub(crate) use search::search;
pub(crate) use task::{
    task, tasks, tasks_by_id, tasks_of, tasks_of_count, unanswered, unclaimed, wanted, wanted_in,
};
pub(crate) use thread::{glance, participants, summary, threads};
pub(crate) use usage::{failures, spent, usage, usage_by_day};

use crate::query::{Listed, Place};

/// The most that one page holds, whatever is asked.
const PAGE: usize = 1000;

/// One more than a page may hold, to see whether there is a next one.
fn probe(limit: usize) -> i64 {
    limit.clamp(1, PAGE) as i64 + 1
}

/// A page from the rows of a probe.
fn page<T>(mut items: Vec<T>, limit: usize, place: impl Fn(&T) -> Place) -> Listed<T> {
    let limit = limit.clamp(1, PAGE);
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(place);
    Listed { items, next }
}
