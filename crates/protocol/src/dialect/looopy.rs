//! `looopy`: Looopy events over SSE, the document's form and the code's.

use super::{
    Carrier, DecodeOptions, Dialect, EncodeOptions, Encoder, Id, JsonRecords, ReadJson, Records,
};
use crate::diagnostic::Report;
use crate::journal::{Batch, Event, Kind};
use crate::json::Node;
use crate::record::Framing;
use crate::residue::Marks;
use crate::validate::Validator;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::Looopy,
    about: "Looopy events over SSE, the document's form and the code's",
    versions: &[],
    framing: Framing::Sse,
    decoder: |options| Box::new(JsonRecords::new(Reader::new(options))),
    encoder: |_: &EncodeOptions| Box::new(Writer),
    validator: || Box::new(Checks),
    carrier: Carrier::Nothing,
    detect: |_| 0,
    carries: |_: Kind, _: &str| false,
};

struct Reader;

impl Reader {
    fn new(_options: &DecodeOptions) -> Self {
        Self
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::Looopy;

    fn read<'a>(&mut self, _root: Node<'_, 'a>, _marks: &mut Marks, _events: &mut Vec<Event<'a>>) {}
}

struct Writer;

impl Encoder for Writer {
    fn batch(&mut self, _batch: &Batch<'_>, _out: &mut Records) {}
}

struct Checks;

impl Validator for Checks {
    fn value(&mut self, _pointer: &str, _value: Node<'_, '_>, _report: &mut Report) {}
}
