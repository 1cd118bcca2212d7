//! What can be acted on: tasks and calls that have not ended, questions whose time has passed.

use super::InboxKind;
use crate::ThreadKey;

/// Which tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Within {
    /// All of a thread that someone began.
    Thread,
    /// This one, with all that came of it.
    Task(String),
}

/// What has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unfinished {
    /// Tasks, those that were called before those that called them.
    pub tasks: Vec<String>,
    /// Their tool calls, in the order they began.
    pub calls: Vec<Call>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// `toolCallId`.
    pub id: String,
    /// Which tool, once told.
    pub tool: Option<String>,
    /// The task it was made in.
    pub task: Option<String>,
    /// The first event that names it.
    pub began: u64,
    /// The event that ended it.
    pub ended: Option<u64>,
}

/// Questions and requests whose time has passed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overdue {
    /// Those that passed first first, each with its thread.
    pub items: Vec<(ThreadKey, Due)>,
    /// When the time of the next one passes.
    pub next: Option<i64>,
}

/// A question or request for credentials whose time has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Which of the two.
    pub kind: InboxKind,
    /// `inputId` or `authId`.
    pub id: String,
    /// The event that asked.
    pub seq: u64,
    /// The task that asked.
    pub task: Option<String>,
    /// Whether that task waits, waits for nothing else, and nobody here goes on with it.
    pub stalls: bool,
    /// Tool calls of a task that does.
    pub calls: Vec<Call>,
}
