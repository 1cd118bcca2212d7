//! Taking out what must not stay: the content of events, and whole threads.
//!
//! Invariant: sequence numbers stay, and what is taken out leaves a receipt: who, when, why, and
//! the hash of what was there.

use crate::chain::Digest;
use crate::{AppendError, TendError, ThreadKey};

/// The most events of one receipt.
pub const REDACT_EVENTS: usize = 1000;

/// Events whose content is to be taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redact {
    /// The thread.
    pub thread: ThreadKey,
    /// The events.
    pub events: Vec<u64>,
    /// On whose word.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// The time, as the receipt is to say it.
    pub timestamp: String,
}

/// What was taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The events, each with the hash of what was there.
    pub events: Vec<(u64, Digest)>,
    /// The receipt's sequence number; none if nothing was left to take out.
    pub receipt: Option<u64>,
    /// When, in milliseconds since 1970.
    pub at: i64,
}

/// Why nothing was taken out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum RedactError {
    #[error("there is no event {seq}; the head is {head}")]
    NoEvent { seq: u64, head: u64 },
    #[error("event {seq} was folded with others; {from} to {to} are one now, at {to}")]
    Folded { seq: u64, from: u64, to: u64 },
    #[error("event {seq} is a receipt, which stays")]
    Receipt { seq: u64 },
    #[error("between 1 and {limit} events are taken out at once")]
    Count { limit: usize },
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Tend(#[from] TendError),
}

/// A thread that is to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erase {
    /// The thread.
    pub thread: ThreadKey,
    /// What becomes of the threads that branched off from it.
    pub branches: Branches,
    /// On whose word.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// What becomes of the threads that branched off from an erased one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Branches {
    /// They stay, and with them what they share with it.
    #[default]
    Stay,
    /// They are erased, too.
    Go,
}

/// The receipt of a thread that was erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// The thread's id.
    pub thread: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// On whose word.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// Entries that it had of its own.
    pub entries: u64,
    /// The hash of what they held.
    pub hash: Digest,
    /// Threads that share a part of it, which therefore stays.
    pub shared_with: Vec<String>,
}
