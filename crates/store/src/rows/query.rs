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
    SAME, task, tasks, tasks_by_id, tasks_of, tasks_of_count, unanswered, unclaimed, wanted,
    wanted_in,
};
pub(crate) use thread::{glance, participants, summary, threads};
pub(crate) use usage::{failures, spent, usage, usage_by_day};

use crate::query::{Listed, Place};

/// The most that one page holds, whatever is asked.
const PAGE: usize = 1000;

/// Rows of a list in its order, each with its place: one more than a page may hold, to see whether
/// there is a next one.
pub(crate) type Ranked<T, const N: usize> = Vec<(T, [i64; N])>;

/// What one page holds, if so much is asked for.
pub(crate) fn page_of(limit: usize) -> usize {
    limit.clamp(1, PAGE)
}

/// One more than a page may hold.
fn probe(limit: usize) -> i64 {
    page_of(limit) as i64 + 1
}

/// A page from the rows of a probe.
pub(crate) fn page<T, const N: usize>(mut rows: Ranked<T, N>, limit: usize) -> Listed<T> {
    let limit = page_of(limit);
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|(_, place)| Place::of(*place));
    Listed { items: rows.into_iter().map(|(item, _)| item).collect(), next }
}
