//! Conditions of an append on what is known of its thread.

use selvedge_protocol::journal::fold::{ArtifactKind, TaskState};

use crate::KeyHash;
use crate::lease::{NewLease, Then};
use crate::query::{Due, InboxKind, Unfinished, Within};

/// What must be so for an append to be taken. The one writer looks when the append's turn comes,
/// so nothing comes between the look and the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// Each of these is so.
    All(Vec<Guard>),
    /// This question or request for credentials is open, and its time has not passed.
    Open {
        /// Which of the two.
        kind: InboxKind,
        /// `inputId` or `authId`.
        id: String,
    },
    /// The time of this question or request has passed, and all is as it was found.
    Due(Due),
    /// These tasks and calls, and no others, have not ended.
    Unfinished {
        /// Of which task, or of all.
        within: Within,
        /// What was found.
        found: Unfinished,
    },
    /// This task has not ended.
    Running {
        /// `taskId`.
        task: String,
    },
    /// This tool call has not ended, nor has its task.
    Calling {
        /// `toolCallId`.
        id: String,
    },
    /// The artifact's latest version is this one, complete, and of that kind.
    Version {
        /// `artifactId`.
        artifact: String,
        /// What sort of artifact.
        kind: ArtifactKind,
        /// Counted from 1; 0 if there must be none.
        version: u64,
    },
    /// This task is this agent's to do, and nobody holds it. From the commit on, this one does.
    Free(Box<NewLease>),
    /// Nobody has taken the task over from the holder of this lease, and it has not ended. With
    /// the commit the lease is renewed or let go.
    Held {
        /// The lease's token.
        token: KeyHash,
        /// What becomes of it.
        then: Then,
    },
}

/// What is so instead of what a [`Guard`] asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum Instead {
    #[error("there is no such thing in the thread")]
    Unknown,
    #[error("it was answered by event {seq}")]
    Answered { seq: u64 },
    #[error("its time passed, and nobody had answered")]
    Expired,
    #[error("its task ended: it is {}", state.name())]
    Over { state: TaskState },
    #[error("it ended with event {seq}")]
    Ended { seq: u64 },
    #[error("the latest version is {version}")]
    Version { version: u64 },
    #[error("version {version} is still being written")]
    Unsealed { version: u64 },
    #[error("it is a {}", kind.name())]
    OtherKind { kind: ArtifactKind },
    #[error("the thread has moved on")]
    Changed,
    #[error("there is no such lease in this thread")]
    Unleased,
    #[error("the lease was let go")]
    Released,
    #[error("the lease ended, and the task was claimed again: attempt {attempt} is at it")]
    Lost { attempt: u32 },
    #[error("another node has taken it over")]
    Elsewhere,
}
