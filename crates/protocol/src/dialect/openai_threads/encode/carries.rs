//! What of an event can be found again in the stream.

use crate::journal::{Event, Kind};

/// Whether a word of an event can be told from the stream.
pub(in crate::dialect::openai_threads) fn carries(event: &Event<'_>, field: &str) -> bool {
    let words: &[&str] = match event.kind() {
        Kind::TaskStatus => &["status", "metadata/reason"],
        Kind::TaskComplete => &["kind"],
        Kind::ContentComplete | Kind::StepFinished => &["finishReason"],
        Kind::Message => &["role", "finishReason"],
        Kind::PartStarted | Kind::PartFinished => &["partType"],
        Kind::ToolComplete => &["preliminary"],
        Kind::InputRequired => &["inputType", "requireUser"],
        Kind::ToolInputRequired => &["inputType"],
        Kind::AuthRequired => &["authType"],
        _ => &[],
    };
    words.contains(&field)
}
