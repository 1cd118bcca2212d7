//! Which thread.

use std::sync::Arc;

/// A thread as callers name it: an id within a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadKey {
    /// Whose it is; ids of different tenants never meet.
    pub tenant: Arc<str>,
    /// The id, as the client gave it.
    pub id: Arc<str>,
}

impl ThreadKey {
    /// The thread of that id.
    pub fn new(tenant: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        Self { tenant: tenant.into(), id: id.into() }
    }
}

/// A thread that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRef {
    /// Its number in the store.
    pub num: i64,
    /// What its cursors begin with; another journal under the same id has another.
    pub epoch: u64,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// How often its id was changed.
    pub renamed: i64,
    /// Where it branched off, if it did.
    pub branch: Option<Branch>,
}

impl ThreadRef {
    /// The last sequence number that belongs to the thread it branched off from; 0 if it did not.
    pub fn base(&self) -> u64 {
        self.branch.as_ref().map_or(0, |branch| branch.at)
    }
}

/// Where a thread branched off: up to and including `at` it reads from `parent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The thread it came from.
    pub parent: Arc<ThreadRef>,
    /// The last sequence number they share.
    pub at: u64,
}
