//! `agent-api`: the Agent API's requests, response streams and folded responses.

mod contents;
mod decode;
mod model;

use super::{Carrier, Dialect, EncodeOptions, Encoder, Id, JsonRecords, Records};
use crate::diagnostic::Report;
use crate::journal::{Batch, Kind};
use crate::json::Node;
use crate::record::Framing;
use crate::validate::Validator;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::AgentApi,
    about: "Agent API requests, response streams and folded responses",
    versions: &["stream", "folded"],
    framing: Framing::Sse,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options))),
    encoder: |_: &EncodeOptions| Box::new(Writer),
    validator: || Box::new(Checks),
    carrier: Carrier::Nothing,
    detect,
    carries: |_: Kind, _: &str| false,
};

struct Writer;

impl Encoder for Writer {
    fn batch(&mut self, _batch: &Batch<'_>, _out: &mut Records) {}
}

struct Checks;

impl Validator for Checks {
    fn value(&mut self, _pointer: &str, _value: Node<'_, '_>, _report: &mut Report) {}
}

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
