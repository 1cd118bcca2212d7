//! `pydantic-ai`: ModelMessages as `ModelMessagesTypeAdapter` dumps them, 2.x and 1.x.

mod decode;
mod encode;
mod model;
mod validate;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::journal::{Event, Kind};
use crate::json::{Doc, Node};
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::PydanticAi,
    about: "Pydantic AI ModelMessages (2.x and 1.x)",
    versions: &["2", "1"],
    framing: Framing::Array,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options), options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks::default()),
    carrier: Carrier::Nothing,
    detect,
    carries,
};

/// Looks at the first message: a request or a response with parts.
fn detect(head: &str) -> u8 {
    let Some(list) = head.trim_start().strip_prefix('[') else { return 0 };
    let first = list.trim_start();
    if first.starts_with(']') {
        return 1;
    }
    match Doc::parse_prefix(first) {
        Ok((doc, _)) => {
            let [parts, kind] = doc.root().select(["parts", "kind"]);
            let known = kind.is_some_and(|k| k.is("request") || k.is("response"));
            if known && parts.is_some_and(Node::is_array) { 95 } else { 0 }
        }
        // The message goes on beyond the beginning at hand.
        Err(_) => {
            let begins = first.strip_prefix('{').map(str::trim_start);
            let parts = begins.is_some_and(|keys| keys.starts_with("\"parts\""));
            if parts && first.contains("\"part_kind\"") { 90 } else { 0 }
        }
    }
}

/// Which words of an event can be told from the messages.
fn carries(event: &Event<'_>, field: &str) -> bool {
    let words: &[&str] = match event.kind() {
        Kind::Message => &["role", "finishReason"],
        Kind::ContentComplete | Kind::StepFinished => &["finishReason"],
        Kind::ToolCallStarted | Kind::ToolCall => &["providerExecuted"],
        Kind::ToolComplete => &["success", "outcome", "preliminary"],
        Kind::FileWrite => &["index", "encoding"],
        Kind::PartStarted | Kind::PartFinished => &["partType"],
        _ => &[],
    };
    words.contains(&field)
}
