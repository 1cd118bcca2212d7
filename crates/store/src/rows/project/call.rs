//! Tool calls: which are open.

use crate::db::{self, Connection, params};
use selvedge_protocol::json::Raw;

use super::thread::Thread;
use super::{Seen, failure};

/// A call begins; that it is told again, as it goes on, changes nothing.
pub(super) fn began(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<()> {
    let Some(id) = seen.id("toolCallId") else { return Ok(()) };
    thread.has_calls = true;
    let mut insert = conn.prepare_cached(
        "INSERT INTO call (thread, id, task, tool, began) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT DO NOTHING",
    )?;
    let (task, tool) = (seen.id("taskId"), seen.id("toolName"));
    insert.execute(params![thread.num, id, task, tool, seen.seq as i64])?;
    Ok(())
}

/// A call returned; the first time counts, and one that is preliminary does not.
pub(super) fn ended(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<()> {
    if seen.event.get("preliminary").and_then(Raw::bool) == Some(true) {
        return began(conn, thread, seen);
    }
    let Some(id) = seen.id("toolCallId") else { return Ok(()) };
    thread.has_calls = true;
    let mut write = conn.prepare_cached(
        "INSERT INTO call (thread, id, task, tool, began, ended) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?5) \
         ON CONFLICT (thread, id) DO UPDATE SET ended = ?5 WHERE call.ended IS NULL",
    )?;
    let (task, tool) = (seen.id("taskId"), seen.id("toolName"));
    let first = write.execute(params![thread.num, id, task, tool, seen.seq as i64])? > 0;
    if first && seen.event.get("success").and_then(Raw::bool) == Some(false) {
        let agent = task.and_then(|task| thread.tasks.get(&task)?.agent.as_deref());
        failure::count(conn, thread, seen, failure::TOOL, agent)?;
    }
    Ok(())
}

/// A task is over, and so is what it called.
pub(super) fn over(conn: &Connection, thread: &Thread, task: &str, seq: u64) -> db::Result<()> {
    if !thread.has_calls {
        return Ok(());
    }
    let mut update = conn.prepare_cached(
        "UPDATE call SET ended = ?3 WHERE thread = ?1 AND task = ?2 AND ended IS NULL",
    )?;
    update.execute(params![thread.num, task, seq as i64])?;
    Ok(())
}
