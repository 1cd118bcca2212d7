//! `ai-sdk-messages`: AI SDK UIMessages (ai 5, 6, 7).

mod decode;

use super::{Carrier, Dialect, EncodeOptions, Encoder, Id, JsonRecords, Records};
use crate::diagnostic::Report;
use crate::journal::{Batch, Kind};
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
    encoder: |_: &EncodeOptions| Box::new(Writer),
    validator: || Box::new(Checks),
    carrier: Carrier::Nothing,
    detect: |_| 0,
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
