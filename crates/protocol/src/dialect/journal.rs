//! `journal`: the native archive. One entry a line: `{"seq":1,"at":"…","event":{…},"source":{…}}`.
//!
//! The first event of a batch carries the batch's frame in `source`; shapes are defined, with their
//! numbers, where they are first used, so that a part of an archive means what it meant in the
//! whole. Everything survives, so any dialect → journal → the same dialect is identity. Lines that
//! cannot be read are kept in place.

mod decode;
mod encode;
mod validate;

pub use decode::Reader;

use super::{Carrier, Dialect, Id};
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::Journal,
    about: "the native archive: one journal entry per line, nothing lost",
    versions: &[],
    framing: Framing::Lines,
    decoder: |options| Box::new(decode::Reader::new(options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks::default()),
    carrier: Carrier::Frames,
    detect: |head| {
        let line = head.lines().next().unwrap_or("");
        if line.starts_with("{\"seq\":") && line.contains("\"event\":{\"kind\":") { 100 } else { 0 }
    },
    carries: |_, _| true,
};
