//! Tasks.

use selvedge_protocol::journal::fold::TaskState;

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
