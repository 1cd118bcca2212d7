//! Words to be found: finished text that participants may see, in an index without the text.
//!
//! A number in the index says where the text is: the row of the journal and the line in it. The
//! text itself is read from there.

use rusqlite::{Connection, params};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::json::{Doc, Node};

use super::text::{self, Place};

/// Counts the changes to what the index holds: another number makes it anew.
pub(super) const VERSION: i64 = 1;
/// Bits of a number that count the line.
const LINE_BITS: u32 = 20;

/// The number of a line of a row.
pub(super) fn number(row: i64, line: usize) -> Option<i64> {
    let line = i64::try_from(line).ok().filter(|line| line >> LINE_BITS == 0)?;
    row.checked_mul(1 << LINE_BITS)?.checked_add(line)
}

/// The row and the line of a number.
pub(super) fn place(number: i64) -> (i64, usize) {
    (number >> LINE_BITS, (number & ((1 << LINE_BITS) - 1)) as usize)
}

/// A tenant as one word of the index.
pub(super) fn tenant_word(tenant: &str) -> String {
    let mut out = String::from("x");
    for byte in tenant.bytes() {
        for half in [byte >> 4, byte & 15] {
            out.extend(char::from_digit(u32::from(half), 16));
        }
    }
    out
}

/// Empties the index.
pub(super) fn clear(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute("INSERT INTO search (search) VALUES ('delete-all')", [])?;
    Ok(())
}

/// Adds a row of the journal, which begins at a place.
pub(super) fn add(
    conn: &Connection,
    row: i64,
    tenant: &str,
    first: Place,
    body: &str,
) -> rusqlite::Result<()> {
    for (line, event) in body.split('\n').enumerate() {
        // The source behind the event is no part of it.
        let event = event.split('\t').next().unwrap_or_default();
        let place = Place { seq: first.seq + line as u64, ..first };
        if let Some(words) = words(conn, place, event)?
            && let Some(number) = number(row, line)
        {
            conn.prepare_cached("INSERT INTO search (rowid, text, tenant) VALUES (?1, ?2, ?3)")?
                .execute(params![number, words, tenant_word(tenant)])?;
        }
    }
    Ok(())
}

/// Takes a row of the journal out.
pub(super) fn remove(conn: &Connection, row: i64) -> rusqlite::Result<()> {
    let (Some(from), Some(to)) = (number(row, 0), number(row + 1, 0)) else { return Ok(()) };
    conn.prepare_cached("DELETE FROM search WHERE rowid >= ?1 AND rowid < ?2")?
        .execute(params![from, to])?;
    Ok(())
}

/// What can be found of an event.
pub(super) fn words(
    conn: &Connection,
    place: Place,
    event: &str,
) -> rusqlite::Result<Option<String>> {
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
