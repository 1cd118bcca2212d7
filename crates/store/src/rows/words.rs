//! Which words of an event can be found, and under which number of an index.

use selvedge_protocol::journal::Kind;
use selvedge_protocol::json::{Doc, Node};

use super::text::{self, Place};
use crate::db::{self, Connection, params};

/// Bits of a number that count the line.
const LINE_BITS: u32 = 20;

/// The number of a line of a row.
pub(crate) fn number(row: i64, line: usize) -> Option<i64> {
    let line = i64::try_from(line).ok().filter(|line| line >> LINE_BITS == 0)?;
    row.checked_mul(1 << LINE_BITS)?.checked_add(line)
}

/// The row and the line of a number.
pub(crate) fn place(number: i64) -> (i64, usize) {
    (number >> LINE_BITS, (number & ((1 << LINE_BITS) - 1)) as usize)
}

/// A tenant as one word of the index.
pub(crate) fn tenant_word(tenant: &str) -> String {
    let mut out = String::from("x");
    for byte in tenant.bytes() {
        for half in [byte >> 4, byte & 15] {
            out.extend(char::from_digit(u32::from(half), 16));
        }
    }
    out
}

/// Takes a row of the journal out of the index.
pub(crate) fn unlist_row(conn: &Connection, row: i64) -> db::Result<()> {
    let (Some(from), Some(to)) = (number(row, 0), number(row + 1, 0)) else { return Ok(()) };
    conn.prepare_cached("DELETE FROM search WHERE rowid >= ?1 AND rowid < ?2")?
        .execute(params![from, to])?;
    Ok(())
}

/// What can be found of an event.
pub(crate) fn words(conn: &Connection, place: Place, event: &str) -> db::Result<Option<String>> {
    // Most events are pieces of a text: they need not be parsed to be passed over.
    if let Some(rest) = event.strip_prefix("{\"kind\":\"")
        && let Some(name) = rest.split('"').next()
        && !name.contains('\\')
        && !text::may_be_found(Kind::named(name))
    {
        return Ok(None);
    }
    let Ok(doc) = Doc::parse(event) else { return Ok(None) };
    match doc.root().get("kind").and_then(Node::str) {
        Some(name) => text::found(conn, place, doc.root(), Kind::named(&name)),
        None => Ok(None),
    }
}
