//! `aitp`: AITP threads, messages, actors and capability messages 01 to 05.

mod ask;
mod capability;
mod decode;
mod encode;
pub mod exchange;
mod question;
mod validate;

use super::{Carrier, Dialect, Documents, Id};
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::Aitp,
    about: "AITP threads, messages, actors and capability messages 01 to 05",
    versions: &[],
    framing: Framing::Document,
    decoder: |options| Box::new(Documents::new(decode::Reader::new(options))),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks),
    carrier: Carrier::Nothing,
    detect,
    carries: encode::carries,
};

/// A thread names actors, or its messages do; a capability message names its schema.
fn detect(head: &str) -> u8 {
    let text = head.trim_start();
    if !text.starts_with(['{', '[']) {
        return 0;
    }
    let has = |key: &str| text.contains(key);
    if text.starts_with('{') && capability_head(text) {
        return 90;
    }
    if has("\"object\":") && (has("\"thread.message\"") || has("\"thread.run")) {
        return 0;
    }
    let actors = has("\"actors\"") && has("\"messages\"") && has("\"metadata\"");
    let messages =
        has("\"thread_id\"") && has("\"actor\"") && has("\"role\"") && has("\"content\"");
    match (actors, messages) {
        (true, true) => 95,
        (true, false) if has("\"parent_id\"") => 90,
        (true, false) => 60,
        (false, true) => 85,
        (false, false) => 0,
    }
}

/// Whether an object begins with the `$schema` of a capability.
fn capability_head(text: &str) -> bool {
    let inner = text.strip_prefix('{').unwrap_or("").trim_start();
    let Some(rest) = inner.strip_prefix("\"$schema\"") else { return false };
    let value = rest.trim_start().strip_prefix(':').unwrap_or("").trim_start();
    value.starts_with("\"https://aitp.dev/")
}
