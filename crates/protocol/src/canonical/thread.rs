//! The digest of a thread, event by event in constant memory.

use sha2::{Digest as _, Sha256};

use super::{named, write};
use crate::journal::{Batch, Event, Kind};
use crate::json::Doc;

/// Computes the digest of a thread: see [the module](super) for what it is taken over.
#[derive(Debug, Clone, Default)]
pub struct ThreadDigest {
    hash: Sha256,
    context: Option<String>,
    event: String,
    line: String,
}

impl ThreadDigest {
    /// The digest of a thread without events yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the events of a batch. Its frame, being residue, does not count.
    pub fn batch(&mut self, batch: &Batch<'_>) {
        for event in &batch.events {
            self.event(event);
        }
    }

    /// Takes in one event.
    pub fn event(&mut self, event: &Event<'_>) {
        if event.kind() == Kind::Opaque {
            return;
        }
        if let Some(id) = event.get("contextId") {
            self.context.get_or_insert_with(|| id.to_string());
        }
        self.event.clear();
        match &self.context {
            Some(context) => event.write_with(&[("contextId", context)], &mut self.event),
            None => event.write(&mut self.event),
        }
        self.line.clear();
        match Doc::parse(&self.event) {
            Ok(doc) => write(doc.root(), &mut self.line),
            // A field as deep as JSON may be: one level more is too much to read it back.
            Err(_) => self.line.push_str(&self.event),
        }
        self.line.push('\n');
        self.hash.update(self.line.as_bytes());
    }

    /// The digest: `sha256:` and 64 hex digits.
    pub fn finish(self) -> String {
        named(&self.hash.finalize())
    }
}
