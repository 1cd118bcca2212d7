//! Tokens used, the time that took, and what failed.

use std::ops::Range;

use selvedge_protocol::journal::fold::Tokens;

use super::Place;
use crate::ThreadRef;

/// What an agent used of a model in a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// The agent; empty if unknown.
    pub agent: String,
    /// The model; empty if unknown.
    pub model: String,
    /// How much.
    pub tokens: Tokens,
}

/// What an agent used of a model on one day, in all threads of a tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct DayUsage {
    /// Days since 1970, UTC.
    pub day: i64,
    /// The agent; empty if unknown.
    pub agent: String,
    /// The model; empty if unknown.
    pub model: String,
    /// How much.
    pub tokens: Tokens,
}

/// What was used where, and how it is summed up.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageQuery {
    /// Only in this thread, what it shares with the one it branched off from included.
    pub thread: Option<ThreadRef>,
    /// Only on these days, since 1970, UTC.
    pub days: Range<i64>,
    /// What is told apart.
    pub by: Vec<UsageBy>,
    /// What comes first.
    pub order: UsageOrder,
    /// Only those after this place.
    pub after: Option<Place>,
    /// At most so many.
    pub limit: usize,
}

/// What comes first of what was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UsageOrder {
    /// By what is told apart: the first day, then by names.
    #[default]
    Named,
    /// What cost most; where nothing has a price, what used the most tokens.
    Dearest,
}

/// What usage can be told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageBy {
    /// By day.
    Day,
    /// By thread.
    Thread,
    /// By agent.
    Agent,
    /// By model.
    Model,
}

impl UsageBy {
    /// All of them, in the order of an answer.
    pub const ALL: [Self; 4] = [Self::Day, Self::Thread, Self::Agent, Self::Model];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Thread => "thread",
            Self::Agent => "agent",
            Self::Model => "model",
        }
    }

    /// What is told apart under that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }
}

/// One sum of what was used; of what is not told apart nothing is said.
#[derive(Debug, Clone, PartialEq)]
pub struct Spent {
    /// Days since 1970, UTC.
    pub day: Option<i64>,
    /// The thread's id.
    pub thread: Option<String>,
    /// The agent; empty if unknown.
    pub agent: Option<String>,
    /// The model; empty if unknown.
    pub model: Option<String>,
    /// How much.
    pub tokens: Tokens,
    /// How long that took.
    pub time: Timed,
}

/// How long model calls took, of those of which that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timed {
    /// How many.
    pub calls: u64,
    /// All together, in milliseconds.
    pub millis: u64,
    /// The one that took longest.
    pub slowest: u64,
}

/// How often something failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    /// A `task`, a `tool` call, or an `error` that was told.
    pub what: String,
    /// The code, or a tool's outcome; `unknown` or `failed` if none was told.
    pub code: String,
    /// The agent; empty if unknown.
    pub agent: String,
    /// How often.
    pub times: u64,
    /// The day it failed last, since 1970, UTC.
    pub last: i64,
}
