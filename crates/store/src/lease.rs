//! Leases: who works on a task that is claimed, and until when.
//!
//! Invariant: a lease is given, renewed and let go by the one writer, which looks at its own clock
//! only; what the journal says of it is in the same commit. A token's text is given out once and
//! kept nowhere.

use std::time::Duration;

use crate::keys::secret;
use crate::{KeyError, KeyHash, ThreadKey};

/// What the text of a token begins with.
const PREFIX: &str = "ls_";

/// The text of a new lease's token, and what is kept of it.
pub fn lease_token() -> Result<(String, KeyHash), KeyError> {
    secret(PREFIX).map(|(text, hash, _)| (text, hash))
}

/// A lease as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLease {
    /// `taskId`.
    pub task: String,
    /// The agent whose task it is.
    pub agent: String,
    /// Who claims it.
    pub worker: String,
    /// What it is known by.
    pub token: KeyHash,
    /// Counted from 1: one more than those that there were.
    pub attempt: u32,
    /// How long it lasts, from each time that its holder is heard of.
    pub time: Duration,
}

/// A lease as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// `taskId`.
    pub task: String,
    /// The agent whose task it is.
    pub agent: String,
    /// Who claimed it.
    pub worker: String,
    /// Which attempt at the task it is, counted from 1.
    pub attempt: u32,
    /// How long it lasts, from each time that its holder is heard of.
    pub time: Duration,
    /// When it ends unless renewed, in milliseconds since 1970.
    pub until: i64,
}

/// What becomes of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It begins anew.
    Renew,
    /// It is over, and the task can be claimed again.
    Release {
        /// How long from now nobody gets it.
        after: Duration,
    },
}

/// Tasks that can be claimed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Queue {
    /// The oldest first.
    pub items: Vec<Queued>,
    /// When a lease ends that keeps another from being claimed.
    pub next: Option<i64>,
}

/// A task that can be claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// Its thread.
    pub thread: ThreadKey,
    /// `taskId`.
    pub task: String,
    /// The task it was called from.
    pub parent: Option<String>,
    /// The first event that names it.
    pub began: u64,
    /// Attempts at it so far.
    pub attempts: u32,
    /// How the last one went.
    pub prior: Prior,
}

/// How an attempt at a task was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prior {
    /// There was none.
    None,
    /// Its lease ended.
    Expired,
    /// It was let go.
    Released,
}
