//! `thread-protocol`: ThreadProtocol 1.0.0, the canonical JSON record of a whole thread.
//!
//! It is also a carrier: what other dialects say and its core actions cannot hold travels in
//! `system.<dialect>.record` actions ([`carry`]), so that any dialect → ThreadProtocol → the same
//! dialect is identity, and a text edited in a core action shows in the re-export.
//!
//! Reads the author's later shapes (2.0.0, 0.0.3, 0.0.4) too, told apart by shape.

mod carry;
mod decode;
mod encode;
mod read;
mod turns;
mod validate;

use super::{Carrier, Dialect, Id};
use crate::record::Framing;

/// The version that is written.
pub const VERSION: &str = "1.0.0";

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::ThreadProtocol,
    about: "ThreadProtocol 1.0.0 (also reads 2.0.0, 0.0.3, 0.0.4)",
    versions: &[VERSION],
    framing: Framing::Document,
    decoder: |options| Box::new(read::Reader::new(options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks),
    carrier: Carrier::Frames,
    detect,
    carries: |_, _| true,
};

/// Whether a document may carry other dialects' records.
pub(super) fn carries_records(source: &str) -> bool {
    source.contains(carry::METADATA) || source.contains(".record\"")
}

fn detect(head: &str) -> u8 {
    let head = head.trim_start();
    if !head.starts_with('{') {
        return 0;
    }
    let has = |key: &str| head.contains(key);
    if has("\"thread_id\"") && (has("\"actions\"") || has("\"turns\"")) && !has("\"messages\"") {
        95
    } else if has("\"action_type\"") || has("\"turn_type\"") {
        90
    } else {
        0
    }
}
