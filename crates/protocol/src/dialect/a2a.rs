//! `a2a`: A2A 1.0 and 0.3 events, tasks and messages.
//!
//! One dialect for both versions: what is read tells its version by its shape, what is written is
//! 1.0 unless another is asked for. Versions end in `-jsonrpc` for events wrapped in JSON-RPC
//! responses, and in `+events` for everything A2A has no place for, in the metadata of status
//! updates under one extension URI ([`EVENTS_EXTENSION`]).

mod artifact;
mod decode;
mod detect;
mod encode;
mod message;
mod model;
mod paint;
mod part;
mod pen;
mod say;
mod status;
mod tables;
mod validate;
mod write;

pub use model::EVENTS_EXTENSION;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::A2a,
    about: "A2A 1.0 and 0.3 events, tasks and messages",
    versions: &[
        "1.0",
        "0.3",
        "1.0-jsonrpc",
        "0.3-jsonrpc",
        "1.0+events",
        "0.3+events",
        "1.0-jsonrpc+events",
        "0.3-jsonrpc+events",
    ],
    framing: Framing::Sse,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options), options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks::default()),
    carrier: Carrier::Nothing,
    detect: detect::detect,
    carries: encode::carries,
};
