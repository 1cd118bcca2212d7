//! Words to be found: finished text that participants may see, in an index without the text.
//!
//! A number in the index says where the text is: the row of the journal and the line in it. The
//! text itself is read from there.

use crate::db::{self, Connection, params};

use crate::rows::text::Place;
use crate::rows::words::{number, tenant_word, words};

/// Counts the changes to what the index holds: another number makes it anew.
pub(super) const VERSION: i64 = 1;
/// Empties the index.
pub(super) fn clear(conn: &Connection) -> db::Result<()> {
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
) -> db::Result<()> {
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
