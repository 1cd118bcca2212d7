//! What is taken from events: messages, times, metadata.

use super::write::{Part, clean, is_timestamp, parts};
use crate::journal::Event;
use crate::json::{Raw, quote};

/// A message to write.
pub(super) struct Says<'e> {
    pub(super) user: bool,
    pub(super) id: Option<&'e Raw<'e>>,
    pub(super) parts: Vec<Part>,
    pub(super) metadata: Option<String>,
}

impl<'e> Says<'e> {
    pub(super) fn agent(body: &str) -> Self {
        Self { user: false, id: None, parts: vec![Part::text(body)], metadata: None }
    }

    /// What a user said, or what an agent asked of another.
    pub(super) fn user(event: &'e Event<'e>) -> Self {
        let content = event.get("content").or_else(|| event.get("prompt"));
        Self {
            user: true,
            id: event.get("messageId"),
            parts: parts(content, event.get("attachments")),
            metadata: object(event),
        }
    }
}

/// An event's time, if it is one that peers read.
pub(super) fn time(event: &Event<'_>) -> Option<String> {
    let body = event.body("timestamp")?;
    is_timestamp(body).then(|| format!("\"{body}\""))
}

/// An event's metadata.
pub(super) fn object(event: &Event<'_>) -> Option<String> {
    event.get("metadata").filter(|m| m.is_object()).map(|m| clean(m))
}

/// Some fields of an event as an object.
pub(super) fn members(event: &Event<'_>, fields: &[&str]) -> String {
    let mut out = String::from("{");
    for (name, value) in event.fields().filter(|(name, _)| fields.contains(name)) {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&quote(name));
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}
