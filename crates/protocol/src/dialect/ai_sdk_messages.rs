//! `ai-sdk-messages`: AI SDK UIMessages (ai 5, 6, 7).

mod chat;
mod decode;
mod encode;
mod message;
mod part;
pub(super) mod tools;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::diagnostic::Report;
use crate::journal::Kind;
use crate::json::Node;
use crate::record::Framing;
use crate::validate::Validator;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::AiSdkMessages,
    about: "AI SDK UIMessages (ai 5, 6, 7)",
    versions: &["7", "6", "5"],
    framing: Framing::Array,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options))),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(Checks),
    carrier: Carrier::Nothing,
    detect: |_| 0,
    carries: |_: Kind, _: &str| false,
};

struct Checks;

impl Validator for Checks {
    fn value(&mut self, _pointer: &str, _value: Node<'_, '_>, _report: &mut Report) {}
}
