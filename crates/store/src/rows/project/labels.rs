//! A thread's title and metadata, and the scalars of it that threads are found by.

use crate::db::{self, Connection, params};
use selvedge_protocol::canonical;
use selvedge_protocol::journal::Kind;
use selvedge_protocol::json::Raw;

use super::thread::Thread;
use super::{Seen, fits};

/// Scalars of one thread that can be filtered by.
const LABELS: usize = 64;

/// Takes in `thread-created`, of which the first counts, or `thread-updated`.
pub(super) fn apply(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<()> {
    if seen.event.kind() == Kind::ThreadCreated && thread.summary.made {
        return Ok(());
    }
    thread.summary.made = true;
    if seen.event.get("title").is_some() {
        thread.summary.title = seen.text("title");
    }
    if let Some(metadata) = seen.event.get("metadata") {
        thread.summary.metadata = Some(metadata.to_string());
        write(conn, thread, metadata)?;
    }
    Ok(())
}

fn write(conn: &Connection, thread: &Thread, metadata: &Raw<'_>) -> db::Result<()> {
    conn.prepare_cached("DELETE FROM label WHERE thread = ?1")?.execute(params![thread.num])?;
    let Some(doc) = metadata.doc() else { return Ok(()) };
    let mut insert = conn.prepare_cached(
        "INSERT INTO label (thread, key, value, tenant) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (thread, key) DO UPDATE SET value = ?3",
    )?;
    let scalars = doc.root().members().filter_map(|(key, value)| {
        let is_scalar = !(value.is_array() || value.is_object() || value.is_null());
        let key = key.str().filter(|key| is_scalar && fits(key))?;
        let mut out = String::new();
        canonical::write(value, &mut out);
        fits(&out).then_some((key, out))
    });
    for (key, value) in scalars.take(LABELS) {
        insert.execute(params![thread.num, key, value, thread.tenant])?;
    }
    Ok(())
}
