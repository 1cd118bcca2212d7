//! `pydantic-ai`: ModelMessages as `ModelMessagesTypeAdapter` dumps them, 2.x and 1.x.

mod decode;
mod encode;
mod validate;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::journal::Kind;
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::PydanticAi,
    about: "Pydantic AI ModelMessages (2.x and 1.x)",
    versions: &["2", "1"],
    framing: Framing::Array,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options))),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks),
    carrier: Carrier::Nothing,
    detect,
    carries: |_: Kind, _: &str| false,
};

fn detect(head: &str) -> u8 {
    let head = head.trim_start();
    if !head.starts_with('[') {
        return 0;
    }
    if head.contains("\"part_kind\"") {
        95
    } else if head.trim_end() == "[]" {
        1
    } else {
        0
    }
}
