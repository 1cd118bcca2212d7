//! What the AI SDK's two dialects share: versions, names, and what its values mean as events.
//!
//! Where an event has no field of its own for something the AI SDK says, it stands in the event's
//! `metadata`, under the AI SDK's own name for it: `providerMetadata`, `toolMetadata`, `title`,
//! `dynamic`, `inputEncoding`, `citations`, `transient`, `descriptor`, `signature`, …

pub(super) mod content;
pub(super) mod joint;
pub(super) mod json;
pub(super) mod meta;
pub(super) mod read;

use super::EncodeOptions;

/// The major version of `ai` to write for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    V5,
    V6,
    V7,
}

impl Version {
    /// The version asked for; the newest if none was.
    pub(super) fn of(options: &EncodeOptions) -> Self {
        match options.major() {
            Some(0..=5) => Self::V5,
            Some(6) => Self::V6,
            _ => Self::V7,
        }
    }
}

/// The finish reason of an event for one of the AI SDK, both as JSON strings.
pub(super) fn finish_reason_in(wire: &str) -> &'static str {
    match wire {
        "stop" => "\"stop\"",
        "length" => "\"length\"",
        "content-filter" => "\"content_filter\"",
        "tool-calls" => "\"tool_calls\"",
        "error" => "\"error\"",
        "interrupted" => "\"interrupted\"",
        _ => "\"other\"",
    }
}

/// The finish reason the AI SDK knows for one of an event; both without quotes.
pub(super) fn finish_reason_out(reason: &str, version: Version) -> &'static str {
    match reason {
        "stop" => "stop",
        "length" => "length",
        "content_filter" => "content-filter",
        "tool_calls" => "tool-calls",
        "error" => "error",
        "interrupted" if version >= Version::V7 => "interrupted",
        _ => "other",
    }
}

/// What an approval is asked with where the writer gave no reason.
pub(super) fn approval_prompt(tool: &str) -> String {
    format!("Approve the call of {tool}?")
}
