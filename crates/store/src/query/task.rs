//! Tasks.

use selvedge_protocol::journal::fold::TaskState;

use super::Place;
use crate::ThreadKey;

/// One agent turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// The task it was called from.
    pub parent: Option<String>,
    /// The agent at work.
    pub agent: Option<String>,
    /// `user` or `agent`.
    pub initiator: Option<String>,
    /// The model that was called last.
    pub model: Option<String>,
    /// Where it stands.
    pub state: TaskState,
    /// The first event that names it, and when that was recorded.
    pub began: (u64, i64),
    /// The event that ended it, and when that was recorded.
    pub ended: Option<(u64, i64)>,
}

/// A task that someone here is to do and that is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its thread.
    pub thread: ThreadKey,
    /// Its id.
    pub task: String,
    /// The agent that is to do it.
    pub agent: String,
}

/// A task of some thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its thread.
    pub thread: ThreadKey,
    /// The task.
    pub task: Task,
    /// When its state changed last, in milliseconds since 1970.
    pub changed: i64,
}

/// Which tasks of a tenant, those whose state changed last first. What a branch shares with the
/// thread it came from is told of that thread only.
#[derive(Debug, Clone, Default)]
pub struct TaskQuery {
    /// Only of the thread with this id.
    pub thread: Option<String>,
    /// Only those in one of these states; empty: all.
    pub states: Vec<TaskState>,
    /// Only those whose state changed at this time or later, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only those after this place.
    pub after: Option<Place>,
    /// At most so many.
    pub limit: usize,
}
