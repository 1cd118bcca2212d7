//! Tokens used.

use selvedge_protocol::journal::fold::Tokens;

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
