//! `ai-sdk-messages`: AI SDK UIMessages (ai 5, 6, 7).

mod chat;
mod decode;
mod encode;
mod message;
mod model;
mod part;
pub(super) mod tools;
mod validate;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::json::Doc;
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::AiSdkMessages,
    about: "AI SDK UIMessages (ai 5, 6, 7)",
    versions: &["7", "6", "5"],
    framing: Framing::Array,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options), options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks),
    carrier: Carrier::Nothing,
    detect,
    carries: model::carries,
};

/// The first message tells: it has a role, and parts with a type each.
fn detect(head: &str) -> u8 {
    let Some(from) = head.find('{') else { return 0 };
    if !head.get(..from).is_some_and(|h| h.trim().is_empty() || h.trim() == "[") {
        return 0;
    }
    let rest = head.get(from..).unwrap_or("");
    if let Ok((doc, _)) = Doc::parse_prefix(rest) {
        let root = doc.root();
        let role =
            root.get("role").is_some_and(|r| ["user", "assistant", "system"].contains(&r.body()));
        let Some(parts) = root.get("parts").filter(|p| p.is_array() && role) else { return 0 };
        let typed = parts.children().all(|p| p.get("type").is_some_and(|t| t.is_string()));
        return if typed && root.get("messageId").is_none() && root.get("kind").is_none() {
            97
        } else {
            0
        };
    }
    // The first message is longer than what there is to see.
    let Some((before, parts)) = rest.split_once("\"parts\"") else { return 0 };
    let parts = parts.trim_start_matches([':', ' ', '\n', '\r', '\t', '[', '{']);
    let role = ["\"user\"", "\"assistant\"", "\"system\""].iter().any(|r| before.contains(r));
    if role && before.contains("\"role\"") && parts.starts_with("\"type\"") { 85 } else { 0 }
}
