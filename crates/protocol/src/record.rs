//! Cutting a source into records, and putting records back together.
//!
//! Invariant: every byte of the source is in exactly one record's glue or body, so records put
//! back in order are the source.

mod split;
mod writer;

pub use split::{Feeder, split, split_parsed};
pub use writer::Writer;

use crate::json::Raw;

/// What some editors and Windows programs write at the beginning of a file.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// How a dialect's records stand in a file or stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One JSON array, a record per element. A lone value or NDJSON is read too.
    Array,
    /// One JSON value a line. A JSON array or a lone value is read too.
    Lines,
    /// Server-sent events, a record per event with its blank line. NDJSON is read too.
    Sse,
    /// One document with the records in an array inside it: the dialect splits it itself.
    Document,
}

/// Where a record stands in its container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// What a document has before its first item.
    Head,
    /// One of the records.
    Item,
    /// What comes after the last item.
    Tail,
}

impl Role {
    /// Its name in a stored residue.
    pub fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Item => "item",
            Self::Tail => "tail",
        }
    }

    /// The role of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Head, Self::Item, Self::Tail].into_iter().find(|r| r.name() == name)
    }
}

/// A piece of a source: a record and the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Text between the record before and this one.
    pub glue: &'a str,
    /// What the framing puts there by itself.
    pub usual_glue: &'static str,
    /// The record.
    pub body: &'a str,
    /// Where it stands.
    pub role: Role,
    /// Which record it is, from 0; items of a document are counted without its head.
    pub index: usize,
}

impl<'a> Record<'a> {
    /// A record by itself, as an item.
    pub fn alone(body: &'a str) -> Self {
        Self { glue: "", usual_glue: "", body, role: Role::Item, index: 0 }
    }

    /// Whether the glue of a tail is all that may follow the last record: brackets of an array, or
    /// white space.
    pub fn ends_well(&self) -> bool {
        let rest = self.glue.strip_prefix(BYTE_ORDER_MARK).unwrap_or(self.glue).trim();
        let rest = if self.index == 0 { rest.strip_prefix('[').unwrap_or(rest) } else { rest };
        rest.strip_suffix(']').unwrap_or(rest).trim().is_empty()
    }

    /// The glue to keep, if it is not the usual one.
    pub fn stored_glue(&self) -> Option<Raw<'a>> {
        (self.glue != self.usual_glue).then_some(Raw::Ref(self.glue))
    }
}

impl Framing {
    /// What stands before an item, given how many came before it.
    pub fn glue(self, before: usize) -> &'static str {
        match (self, before) {
            (Self::Array, 0) => "[",
            (Self::Array | Self::Document, 1..) => ",",
            (Self::Lines, 1..) => "\n",
            _ => "",
        }
    }

    /// What stands after the last item.
    pub fn end(self, items: usize) -> &'static str {
        match (self, items) {
            (Self::Array, 0) => "[]",
            (Self::Array, _) => "]",
            (Self::Lines, 1..) => "\n",
            _ => "",
        }
    }
}
