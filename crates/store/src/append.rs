//! What a caller asks to be appended, and the answer.

use bytes::Bytes;
use selvedge_protocol::journal::Cursor;

use crate::{AppendError, Guard, ThreadKey, ThreadRef};

/// Bytes of all rows of an append.
const ALL_BYTES: usize = 1 << 30;

/// Events for one thread, all of them or none.
#[derive(Debug, Clone)]
pub struct Append {
    /// The thread.
    pub thread: ThreadKey,
    /// What to do if it is not there, or is.
    pub create: Create,
    /// What the thread's head must be.
    pub expect: Expect,
    /// Makes a second try harmless.
    pub key: Option<Key>,
    /// What else must be so.
    pub guard: Option<Guard>,
    /// The task that it is said in the name of: nothing is taken if it has just ended. Cheaper than
    /// a guard, for what comes in many pieces.
    pub speaker: Option<String>,
    /// What this node must have claimed, where nodes share a database.
    pub claim: Option<String>,
    /// The events, in order.
    pub events: Vec<Draft>,
    /// Further events, in rows of the journal that stand each by themselves: their sources refer
    /// to nothing outside. They are committed together with the first, or not at all.
    pub more: Vec<Vec<Draft>>,
}

impl Append {
    /// To a thread that exists, whatever its head.
    pub fn new(thread: ThreadKey, events: Vec<Draft>) -> Self {
        let (create, expect) = (Create::Never, Expect::Anything);
        let (key, guard, speaker, claim, more) = (None, None, None, None, Vec::new());
        Self { thread, create, expect, key, guard, speaker, claim, events, more }
    }

    /// With what to do if the thread is not there.
    #[must_use]
    pub fn creating(self, create: Create) -> Self {
        Self { create, ..self }
    }

    /// Only if the thread's head is this.
    #[must_use]
    pub fn expecting(self, head: u64) -> Self {
        Self { expect: Expect::Head(head), ..self }
    }

    /// With an idempotency key.
    #[must_use]
    pub fn keyed(self, key: Key) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Only if something is so.
    #[must_use]
    pub fn guarded(self, guard: Guard) -> Self {
        Self { guard: Some(guard), ..self }
    }

    /// In the name of a task, unless that has just ended.
    #[must_use]
    pub fn spoken_by(self, task: &str) -> Self {
        Self { speaker: Some(task.to_owned()), ..self }
    }

    /// Only while this node has claimed something ([`crate::Store::claim`]); where it is the only
    /// one, it has.
    #[must_use]
    pub fn claimed(self, what: &str) -> Self {
        Self { claim: Some(what.to_owned()), ..self }
    }

    /// Whether it is within bounds.
    pub fn check(&self, limits: &Limits) -> Result<(), AppendError> {
        if self.thread.id.is_empty() || self.thread.id.len() > limits.id_bytes {
            return Err(AppendError::BadId { limit: limits.id_bytes });
        }
        if let Some(key) = &self.key
            && (key.text.is_empty() || key.text.len() > limits.id_bytes)
        {
            return Err(AppendError::BadKey { limit: limits.id_bytes });
        }
        let mut bytes = 0;
        for row in std::iter::once(&self.events).chain(&self.more) {
            bytes += check_row(row, limits)?;
        }
        if bytes > ALL_BYTES {
            return Err(AppendError::BatchTooLarge { size: bytes, limit: ALL_BYTES });
        }
        Ok(())
    }
}

/// Whether the events of a row are within bounds; their bytes.
fn check_row(events: &[Draft], limits: &Limits) -> Result<usize, AppendError> {
    if events.is_empty() {
        return Err(AppendError::NoEvents);
    }
    if events.len() > limits.events {
        return Err(AppendError::TooManyEvents { limit: limits.events });
    }
    let mut bytes = 0;
    for (index, draft) in events.iter().enumerate() {
        let size = draft.size();
        if size > limits.event_bytes {
            return Err(AppendError::EventTooLarge { index, size, limit: limits.event_bytes });
        }
        bytes += size;
    }
    if bytes > limits.batch_bytes {
        return Err(AppendError::BatchTooLarge { size: bytes, limit: limits.batch_bytes });
    }
    Ok(bytes)
}

/// What to do if the thread is not there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Create {
    /// Refuse.
    #[default]
    Never,
    /// Make it.
    IfMissing,
    /// Make it, and refuse if it is there.
    New,
    /// Make it from what happened elsewhere, and refuse if it is there. Nobody here is to go on
    /// with the tasks in it.
    Past,
    /// Make it as a branch of another thread, and refuse if it is there.
    Branch {
        /// The thread it branches off from.
        from: ThreadRef,
        /// The last sequence number they share.
        at: u64,
    },
}

/// What the thread's head must be for an append to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expect {
    /// It may be anything.
    #[default]
    Anything,
    /// Exactly this.
    Head(u64),
    /// Exactly this, of this journal and no other that has taken its name.
    At(Cursor),
}

impl Expect {
    /// Whether a thread is as it must be. One that is yet to be made has no epoch.
    pub(crate) fn check(self, epoch: Option<u64>, head: u64) -> Result<(), AppendError> {
        let expected = match self {
            Self::Anything => return Ok(()),
            Self::Head(expected) => expected,
            Self::At(cursor) if epoch == Some(cursor.epoch) => cursor.seq,
            Self::At(_) => return Err(AppendError::OtherJournal),
        };
        if expected == head { Ok(()) } else { Err(AppendError::Conflict { expected, head }) }
    }
}

/// An idempotency key with what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The key, as the client gave it.
    pub text: String,
    /// Digest of the request's body: the same key with another body is refused.
    pub digest: [u8; 32],
}

/// An event to be appended: a JSON object on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The event.
    pub event: Bytes,
    /// What the events of a record cannot hold of it, on the record's first event.
    pub source: Option<Bytes>,
}

impl Draft {
    /// An event by itself. The caller vouches that it is JSON on one line.
    pub fn new(event: impl Into<Bytes>) -> Self {
        Self { event: event.into(), source: None }
    }

    /// Bytes it takes.
    pub fn size(&self) -> usize {
        self.event.len() + self.source.as_ref().map_or(0, Bytes::len)
    }
}

/// Where events were put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The thread.
    pub thread: ThreadRef,
    /// Sequence number of the first event.
    pub first: u64,
    /// Sequence number of the last.
    pub last: u64,
    /// Whether they were there already, under the same key.
    pub duplicate: bool,
    /// When they were committed, in milliseconds since 1970.
    pub at: i64,
}

/// Bounds of one append.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of an id or key.
    pub id_bytes: usize,
    /// Events of one append.
    pub events: usize,
    /// Bytes of one event.
    pub event_bytes: usize,
    /// Bytes of one append.
    pub batch_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { id_bytes: 256, events: 10_000, event_bytes: 16 << 20, batch_bytes: 32 << 20 }
    }
}
