//! `ai-sdk-stream`: AI SDK UI message stream (ai 5, 6, 7).

mod chunk;
mod decode;
mod encode;
mod model;
mod open;
mod validate;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::AiSdkStream,
    about: "AI SDK UI message stream (ai 5, 6, 7)",
    versions: &["7", "6", "5"],
    framing: Framing::Sse,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options), options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks::default()),
    carrier: Carrier::Nothing,
    detect,
    carries: model::carries,
};

/// The stream's first chunk tells: no other protocol's events are named like these.
fn detect(head: &str) -> u8 {
    let mut score = 0;
    for line in head.lines().take(64) {
        let Some(text) = line.strip_prefix("data:").map(str::trim_start) else {
            // Events with a name belong to other protocols.
            if line.starts_with("event:") {
                return 0;
            }
            continue;
        };
        let ty = text.split("\"type\":").nth(1).map(|t| t.trim_start());
        let Some(ty) = ty.and_then(|t| t.strip_prefix('"')).and_then(|t| t.split('"').next())
        else {
            continue;
        };
        if text.contains("\"object\":") || text.contains("\"jsonrpc\"") {
            return 0;
        }
        match ty {
            "start"
            | "start-step"
            | "text-start"
            | "text-delta"
            | "tool-input-start"
            | "finish-step"
            | "reasoning-start"
            | "tool-input-available" => return 95,
            _ if ty.starts_with("data-") || model::is_chunk(ty) => score = 90,
            _ => {}
        }
    }
    score
}
