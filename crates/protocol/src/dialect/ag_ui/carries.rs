//! Which event fields can be found again in what the encoder writes, for the loss report.

use crate::journal::{Event, Kind};

/// Whether a word of an event can be told from the stream.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    let words: &[&str] = match event.kind() {
        Kind::TaskStatus => &["status"],
        Kind::TaskComplete => &["kind"],
        Kind::ToolComplete => &["preliminary"],
        Kind::InputRequired | Kind::ToolInputRequired => &["inputType"],
        Kind::InputReceived => &["value"],
        Kind::FileWrite => &["index", "complete", "encoding"],
        Kind::DatasetWrite => &["index", "complete"],
        Kind::Message => &["role"],
        Kind::PartStarted => &["partType", "role"],
        Kind::PartFinished => &["partType"],
        Kind::Source => &["sourceType"],
        Kind::Error => &["retryable"],
        _ => &[],
    };
    words.contains(&field)
}
