//! What is known of threads, on rows: the same code for both databases.
//!
//! Invariant: what an append, an act or a list comes to is decided here, in words that both
//! databases understand. Where they differ, [`crate::db`] has both ways.

pub(crate) mod chain;
pub(crate) mod erase;
pub(crate) mod fold;
pub(crate) mod guard;
pub(crate) mod lease;
pub(crate) mod project;
pub(crate) mod promote;
pub(crate) mod query;
pub(crate) mod redact;
pub(crate) mod spoken;
pub(crate) mod sweep;
pub(crate) mod text;
pub(crate) mod thread;
pub(crate) mod words;
