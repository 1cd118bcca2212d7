//! Letting a branch take the place of the thread it came from: what is asked, and the answer.

use crate::{Draft, TendError, ThreadKey, ThreadRef};

/// A change of names: the thread `parent` is called `old` from then on, and its branch `branch` is
/// called `parent`.
#[derive(Debug, Clone)]
pub struct Promote {
    /// The branch, by the id it has.
    pub branch: ThreadKey,
    /// The thread it came from, by the id it has.
    pub parent: ThreadKey,
    /// What that thread is to be called.
    pub old: ThreadKey,
    /// What the branch's journal tells of it.
    pub told: Draft,
    /// What the parent's journal tells of it.
    pub told_old: Draft,
}

/// The threads whose names were changed, and their heads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promoted {
    /// The branch.
    pub thread: ThreadRef,
    /// Its head.
    pub head: u64,
}

/// What is known of a branch that may take the place of the thread it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The branch.
    pub thread: ThreadRef,
    /// The id it has.
    pub id: String,
    /// The id of the thread it came from, unless that was deleted.
    pub parent: Option<String>,
    /// Whether it has taken that thread's place already.
    pub promoted: bool,
}

/// Why names were not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum PromoteError {
    #[error(transparent)]
    Tend(#[from] TendError),
    #[error("a thread of the id `{id}` exists already")]
    Exists { id: String },
    #[error("the thread is no branch of `{parent}`, or is not any more")]
    NoBranch { parent: String },
}
