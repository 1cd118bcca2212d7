//! `agent-api`: the Agent API's requests, response streams and folded responses.

mod carries;
mod contents;
mod decode;
mod encode;
mod model;
mod response;
mod validate;
mod write;

pub use encode::LIVE;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::AgentApi,
    about: "Agent API requests, response streams and folded responses",
    versions: &["stream", "folded"],
    framing: Framing::Sse,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options), options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks::default()),
    carrier: Carrier::Nothing,
    detect,
    carries: carries::carries,
};

fn detect(head: &str) -> u8 {
    let has = |key: &str, value: &str| {
        head.contains(&format!("\"{key}\":\"{value}\""))
            || head.contains(&format!("\"{key}\": \"{value}\""))
    };
    if has("object", "content") || has("object", "response") && head.contains("\"status\"") {
        return 90;
    }
    let begin = head.trim_start();
    if has("object", "message") && head.contains("\"status\"") && head.contains("\"msg_") {
        return 85;
    }
    if begin.starts_with('{') && head.contains("\"input\"") && has("type", "message") {
        return 80;
    }
    0
}
