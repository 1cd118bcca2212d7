//! `envelope`: multiagent-1.0 envelopes: one, an array, or one a line.
//!
//! An envelope is a `message` event: `intent`, `task`, `inputs`, `outputs`, `confidence` and
//! `trace` are its fields of the same names, and the author is the agent. A text is the message's
//! content; data is a content part `{"type":"data","data":…}`, after the text if there is one.
//! `contentType` is `content.type` where it is not `text`. Artifacts stay inside `outputs`.
//!
//! A result of a tool (`role` `tool`) is a message too: the protocol names neither the tool nor
//! the call. Only envelopes that say both, as this dialect's encoder writes them, are `tool-call`
//! and `tool-complete` (see [`model`]).
//!
//! Written for events of other dialects: one envelope per message, text block, tool call and tool
//! return. `confidence` is never made up. `intent` is the event's own, else `plan` for what a user
//! says, `finalize` for what an agent says, `tool.call` for calls and returns, and `reflect` for
//! systems, as the document's handshake has it. `task` is the text's first 160 UTF-16 units, as in
//! the document's adapters. Thoughts have no place in an envelope.

pub mod adapters;
mod content;
mod decode;
mod encode;
mod js;
mod model;
pub mod route;
mod validate;
mod write;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::record::Framing;

pub use model::{INTENTS, PROTOCOL};

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::Envelope,
    about: "multiagent-1.0 envelopes: one, an array, or one a line",
    versions: &["multiagent-1.0"],
    framing: Framing::Lines,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options), options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks),
    carrier: Carrier::Nothing,
    detect: model::detect,
    carries: model::carries,
};
