//! `looopy`: Looopy's events over SSE, in two forms that are both read.
//!
//! The *document's* form has the whole event in `data` and its kind, without the `internal:`
//! prefix, in `event:`. The *code's* form has `id: <contextId>-<n>`, the kind as it is in `event:`,
//! and `data` without `kind` and `contextId`. The first is written unless `looopy@code` is asked
//! for. Events as one JSON value a line, an array or a lone value are read too.
//!
//! The event on the wire is the journal's event, field by field. Three things are spelled
//! differently, because the document's clients look for them there:
//! - an agent's whole `message` is a `content-complete` that also has a `role`;
//! - any other `message` has its role and content in a `message` object, as Looopy's code has it;
//! - tool arguments that are no object are `{"_raw": …}`.

mod decode;
mod encode;
mod model;
mod tools;
mod validate;
mod write;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::Looopy,
    about: "Looopy events over SSE: the document's form and the code's",
    versions: &["document", "code"],
    framing: Framing::Sse,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options), options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks::default()),
    carrier: Carrier::Nothing,
    detect: model::detect,
    carries: model::carries,
};
