//! Which event fields can be found again in what the encoder writes, for the loss report.

use crate::journal::{Event, Kind};

/// Whether a word of an event can be told from the responses.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    let words: &[&str] = match event.kind() {
        Kind::TaskStatus => match event.body("status") {
            Some("completed" | "failed" | "canceled") => &["status"],
            _ => &[],
        },
        Kind::TaskComplete => &["kind"],
        // A told error says that the tool failed, whatever the flag says.
        Kind::ToolComplete if event.body("error").is_some() => &["preliminary"],
        Kind::ToolComplete => &["success", "preliminary"],
        Kind::InputRequired | Kind::ToolInputRequired => &["inputType"],
        Kind::InputReceived => &["value"],
        Kind::AuthRequired => &["authType"],
        Kind::FileWrite => &["index", "complete", "encoding"],
        Kind::DatasetWrite => &["index", "complete"],
        Kind::Message => &["role"],
        Kind::PartStarted => &["partType", "role"],
        Kind::PartFinished => &["partType"],
        _ => &[],
    };
    words.contains(&field)
}
