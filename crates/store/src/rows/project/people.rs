//! Who takes part: whoever joined, and whoever acted.

use crate::db::{self, Connection, params};

use super::Seen;
use super::thread::Thread;

/// Notes whoever acts in an event.
pub(super) fn note(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<()> {
    for field in ["agentId", "author"] {
        if let Some(id) = seen.id(field) {
            known(conn, thread, &id, seen.seq)?;
        }
    }
    Ok(())
}

pub(super) fn joined(
    conn: &Connection,
    thread: &mut Thread,
    seen: &Seen<'_, '_>,
) -> db::Result<()> {
    let Some(id) = seen.id("participantId") else { return Ok(()) };
    known(conn, thread, &id, seen.seq)?;
    let mut update = conn.prepare_cached(
        "UPDATE participant SET role = ?3, name = ?4, gone = 0 WHERE thread = ?1 AND id = ?2",
    )?;
    update.execute(params![thread.num, id, seen.id("role"), seen.id("name")])?;
    Ok(())
}

pub(super) fn left(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<()> {
    let Some(id) = seen.id("participantId") else { return Ok(()) };
    known(conn, thread, &id, seen.seq)?;
    conn.prepare_cached("UPDATE participant SET gone = 1 WHERE thread = ?1 AND id = ?2")?
        .execute(params![thread.num, id])?;
    Ok(())
}

/// Makes sure that a participant has a row.
fn known(conn: &Connection, thread: &mut Thread, id: &str, seq: u64) -> db::Result<()> {
    if thread.people.contains(id) {
        return Ok(());
    }
    let mut insert = conn.prepare_cached(
        "INSERT INTO participant (thread, id, tenant, nth, since, gone) \
         VALUES (?1, ?2, ?3, ?4, ?5, 0) ON CONFLICT DO NOTHING",
    )?;
    let nth = thread.summary.participants;
    let new = insert.execute(params![thread.num, id, thread.tenant, nth, seq as i64])?;
    thread.summary.participants += new as i64;
    thread.people.insert(id.to_owned());
    Ok(())
}
