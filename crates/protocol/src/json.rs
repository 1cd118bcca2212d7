//! JSON as received: a flat tape of byte spans over the source text.
//!
//! Owned by this module: parsing, string literals, printing, and number text. Nothing is decoded
//! unless asked for, so number spellings, escapes, key order, duplicate keys and lone surrogates
//! all survive. `serde_json` is not used because it refuses lone surrogates, collapses duplicate
//! keys and rewrites numbers; its `RawValue` keeps them but scans every level again.
//!
//! Invariant: a [`Doc`] is built only from text that is complete, valid JSON no deeper than
//! [`MAX_DEPTH`]; hostile input gives a [`SyntaxError`], never a panic or unbounded memory.

mod compare;
mod number;
mod print;
mod raw;
mod tape;
pub mod text;

pub use compare::same_value;
pub use number::{canonical_number, is_canonical_number};
pub use print::{Style, compact, escaped, is_escaped, is_stable, print, push_escaped, quote};
pub use raw::Raw;
pub use simdutf8::compat::{Utf8Error, from_utf8};
pub(crate) use tape::same_bytes;
pub use tape::{
    Children, Doc, INNER_DEPTH, LINE_DEPTH, MAX_DEPTH, Members, Node, NodeKind, SOURCE_DEPTH,
    Space, SyntaxError, SyntaxKind,
};
