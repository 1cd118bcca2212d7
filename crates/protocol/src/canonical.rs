//! Canonical JSON (RFC 8785), and digests that both sides of an exchange can compute.
//!
//! Two texts that say the same have the same canonical form: members sorted by the UTF-16 code
//! units of their names, numbers as ECMAScript spells them, strings escaped only where they must
//! be, no white space. Where the RFC refuses a text, we still give an answer, so that every JSON
//! text has one form:
//!
//! - of members with the same name, the last one counts;
//! - a lone surrogate stays an escape, `\ud83d`, and sorts by its code unit;
//! - a number beyond a double, such as `1e400`, stays as it is spelled.
//!
//! # The digest of a thread
//!
//! [`ThreadDigest`] is what two parties compare to know that they hold the same thread, whatever
//! protocol each received it in. It is the SHA-256 of a text with one line per event, in the
//! journal's order. A line is the event as an object, in canonical form, then a line feed:
//!
//! - The object has `kind`, `contextId` and the event's own fields: what a journal entry has in
//!   `event`. An event without `contextId` gets the one of the first event before it that has
//!   one, as in the journal.
//! - The entry's `seq`, `at` and `source` are left out: numbering and residue (how a source
//!   spelled its records) are not what was said. Events of kind `opaque` are left out for the
//!   same reason.
//!
//! The digest is written `sha256:` and 64 lower-case hex digits. From a journal file, it is
//! what these print after `sha256:`:
//!
//! ```text
//! selvedge canon --digest thread.journal.ndjson
//! jq -c '.event | select(.kind != "opaque")' thread.journal.ndjson | <RFC 8785 each line> | sha256sum
//! ```
//!
//! # Example
//!
//! ```
//! use selvedge_protocol::canonical::{canonical, canonical_eq};
//!
//! let text = canonical("{\"b\": 1e2, \"a\": \"\\u00e9\"}")?;
//! assert_eq!(text, "{\"a\":\"é\",\"b\":100}");
//! assert!(canonical_eq("[1.0]", "[ 1 ]")?);
//! # Ok::<(), selvedge_protocol::json::SyntaxError>(())
//! ```

mod thread;

pub use thread::ThreadDigest;

use std::cmp::Ordering;

use sha2::{Digest as _, Sha256};

use crate::json::{Doc, Node, NodeKind, SyntaxError, canonical_number, text};

/// The canonical form of a JSON text.
pub fn canonical(source: &str) -> Result<String, SyntaxError> {
    let doc = Doc::parse(source)?;
    let mut out = String::with_capacity(source.len());
    write(doc.root(), &mut out);
    Ok(out)
}

/// Whether two JSON texts have the same canonical form.
pub fn canonical_eq(a: &str, b: &str) -> Result<bool, SyntaxError> {
    Ok(canonical(a)? == canonical(b)?)
}

/// The digest of a JSON text's canonical form: `sha256:` and 64 hex digits.
pub fn digest(source: &str) -> Result<String, SyntaxError> {
    Ok(named(&Sha256::digest(canonical(source)?)))
}

/// Appends a value in canonical form.
pub fn write(node: Node<'_, '_>, out: &mut String) {
    match node.kind() {
        NodeKind::Object => {
            out.push('{');
            for (i, (key, value)) in sorted(node).into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        NodeKind::Array => {
            out.push('[');
            for (i, child) in node.children().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(child, out);
            }
            out.push(']');
        }
        NodeKind::Plain => out.push_str(node.raw()),
        NodeKind::Escaped => {
            out.push('"');
            out.push_str(&text::minimal(node.body()));
            out.push('"');
        }
        NodeKind::Number => out.push_str(&canonical_number(node.raw())),
        NodeKind::Null | NodeKind::Bool => out.push_str(node.raw()),
    }
}

/// An object's members in order of their names, the last of each name.
fn sorted<'d, 'a>(object: Node<'d, 'a>) -> Vec<(Node<'d, 'a>, Node<'d, 'a>)> {
    let mut members: Vec<_> = object.members().collect();
    // The sort is stable: of equal names, the last in the source is the last here.
    members.sort_by(|(a, _), (b, _)| compare(*a, *b));
    let mut kept: Vec<(Node<'d, 'a>, Node<'d, 'a>)> = Vec::with_capacity(members.len());
    for member in members {
        match kept.last_mut() {
            Some(last) if compare(last.0, member.0) == Ordering::Equal => *last = member,
            _ => kept.push(member),
        }
    }
    kept
}

/// The order of two member names: by UTF-16 code units.
fn compare(a: Node<'_, '_>, b: Node<'_, '_>) -> Ordering {
    if a.kind() == NodeKind::Plain && b.kind() == NodeKind::Plain {
        let (a, b) = (a.body(), b.body());
        // UTF-8 and UTF-16 order differ only where characters beyond the basic plane meet others.
        return if a.is_ascii() || b.is_ascii() {
            a.cmp(b)
        } else {
            a.encode_utf16().cmp(b.encode_utf16())
        };
    }
    code_units(a.body()).cmp(code_units(b.body()))
}

/// A string body's UTF-16 code units, escapes decoded.
fn code_units(body: &str) -> impl Iterator<Item = u32> + '_ {
    text::units(body).flat_map(|unit| {
        let (first, second) = match unit.code {
            code @ 0x10000.. => {
                let rest = code - 0x10000;
                (0xD800 + (rest >> 10), Some(0xDC00 + (rest & 0x3FF)))
            }
            code => (code, None),
        };
        std::iter::once(first).chain(second)
    })
}

/// A hash as text, with its algorithm.
fn named(hash: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(7 + 2 * hash.len());
    out.push_str("sha256:");
    for byte in hash {
        let _ = write!(out, "{byte:02x}");
    }
    out
}
