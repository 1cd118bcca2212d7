//! Threads, without their journals.

use std::sync::Arc;

use selvedge_protocol::journal::fold::Tokens;
use selvedge_protocol::json;

use super::{Place, ThreadStatus};

/// Which threads, the one that was updated last first.
#[derive(Debug, Clone)]
pub struct ThreadQuery {
    /// Whose threads.
    pub tenant: Arc<str>,
    /// Only those that stand so.
    pub status: Option<ThreadStatus>,
    /// Only those in which this one takes or took part.
    pub participant: Option<String>,
    /// Only those with these top-level members in their metadata.
    pub metadata: Vec<(String, Scalar)>,
    /// Only those after this place.
    pub after: Option<Place>,
    /// At most so many.
    pub limit: usize,
}

impl ThreadQuery {
    /// All threads of a tenant.
    pub fn new(tenant: impl Into<Arc<str>>, limit: usize) -> Self {
        let metadata = Vec::new();
        let tenant = tenant.into();
        Self { tenant, status: None, participant: None, metadata, after: None, limit }
    }
}

/// A value of metadata that threads can be found by.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A string.
    Text(String),
    /// A number.
    Number(f64),
    /// A boolean.
    Bool(bool),
}

impl Scalar {
    /// As canonical JSON.
    pub(crate) fn spelled(&self) -> String {
        match self {
            Self::Text(text) => json::quote(text),
            Self::Number(number) => json::canonical_number(&number.to_string()),
            Self::Bool(bool) => bool.to_string(),
        }
    }
}

/// A thread's line in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The thread's number in the store.
    pub num: i64,
    /// Its id.
    pub id: String,
    /// What its cursors begin with.
    pub epoch: u64,
    /// The last sequence number that this line tells of.
    pub head: u64,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// When its last event was recorded.
    pub updated: i64,
    /// Where it stands.
    pub status: ThreadStatus,
    /// Its title.
    pub title: Option<String>,
    /// Its metadata, as JSON.
    pub metadata: Option<String>,
    /// The beginning of the last finished message that participants may see.
    pub words: Option<String>,
    /// Finished messages that participants may see.
    pub messages: u64,
    /// Tasks.
    pub tasks: u64,
    /// Participants, those who left included.
    pub participants: u64,
    /// Artifacts.
    pub artifacts: u64,
    /// Open questions and requests for credentials.
    pub pending: u64,
}

impl Summary {
    /// Where a list that is read on goes on after this line.
    pub fn place(&self) -> Place {
        Place::of([self.updated, self.num])
    }
}

/// A thread of a family: of those that came of one thread by branching off.
#[derive(Debug, Clone, PartialEq)]
pub struct Kin {
    /// Its number in the store.
    pub num: i64,
    /// The number of the thread it branched off from.
    pub parent: Option<i64>,
    /// The last sequence number that they share; 0 if it is no branch.
    pub at: u64,
    /// Whether it took the place of the thread it branched off from.
    pub promoted: bool,
    /// Its id; `None` if it was deleted and branches live on.
    pub id: Option<String>,
    /// Its line in a list, which may be some milliseconds late.
    pub summary: Option<Summary>,
}

/// Who works in a thread, and what that has cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Glance {
    /// The first of its agents, in the order they came.
    pub agents: Vec<Participant>,
    /// What they used, what it shares with the thread it branched off from included.
    pub tokens: Tokens,
}

/// Someone who takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// The id.
    pub id: String,
    /// `user`, `agent`, `tool` or `service`, once told.
    pub role: Option<String>,
    /// The name, once told.
    pub name: Option<String>,
    /// The first event that names them.
    pub since: u64,
    /// Whether they left.
    pub left: bool,
}
