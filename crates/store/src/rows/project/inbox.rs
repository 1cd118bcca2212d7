//! Questions and requests for credentials that wait for someone.

use crate::db::{self, Connection, Optional as _, params};
use selvedge_protocol::journal::{Urgency, Visibility};
use selvedge_protocol::json::Raw;
use selvedge_protocol::time;

use super::Seen;
use super::thread::Thread;
use crate::rows::text;

/// Characters of a prompt that a list shows.
const PROMPT: usize = 2000;

/// What is waited for: how it is called here, and the fields that name it and its type.
pub(super) struct Asked {
    kind: &'static str,
    id: &'static str,
    ty: &'static str,
}

pub(super) const INPUT: &Asked = &Asked { kind: "input", id: "inputId", ty: "inputType" };
pub(super) const AUTH: &Asked = &Asked { kind: "auth", id: "authId", ty: "authType" };

/// Someone is asked; the same question again takes the place of the first.
pub(super) fn asked(
    conn: &Connection,
    thread: &mut Thread,
    seen: &Seen<'_, '_>,
    what: &Asked,
) -> db::Result<()> {
    let Some(id) = seen.id(what.id) else { return Ok(()) };
    let mut find = conn.prepare_cached(
        "SELECT closed IS NULL FROM inbox WHERE thread = ?1 AND kind = ?2 AND id = ?3",
    )?;
    let open: Option<bool> =
        find.query_row(params![thread.num, what.kind, id], |row| row.get(0)).optional()?;
    let mut insert = conn.prepare_cached(
        "INSERT INTO inbox \
         (thread, kind, id, tenant, task, seq, at, type, prompt, require_user, expires, visibility, \
             urgency) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
         ON CONFLICT (thread, kind, id) DO UPDATE SET task = ?5, seq = ?6, at = ?7, type = ?8, \
             prompt = ?9, require_user = ?10, expires = ?11, visibility = ?12, urgency = ?13, \
             closed = NULL, answered = NULL, expired = NULL",
    )?;
    let prompt = seen.text("prompt").map(|prompt| text::beginning(&prompt, PROMPT));
    let own = seen.event.get("requireUser").and_then(Raw::bool).unwrap_or(false);
    let expires = seen.text("expiresAt").and_then(|at| time::to_millis(&at));
    insert.execute(params![
        thread.num,
        what.kind,
        id,
        thread.tenant,
        seen.id("taskId"),
        seen.seq as i64,
        seen.at,
        seen.id(what.ty),
        prompt,
        // Credentials come from the user or nobody.
        own || what.kind == AUTH.kind,
        expires,
        Visibility::of_event(seen.event).rank(),
        Urgency::of_event(seen.event).rank()
    ])?;
    if open != Some(true) {
        thread.summary.pending += 1;
    }
    Ok(())
}

/// An answer; the first counts.
pub(super) fn answered(
    conn: &Connection,
    thread: &mut Thread,
    seen: &Seen<'_, '_>,
    what: &Asked,
) -> db::Result<()> {
    let Some(id) = seen.id(what.id) else { return Ok(()) };
    let mut update = conn.prepare_cached(
        "UPDATE inbox SET closed = ?4, answered = 1 \
         WHERE thread = ?1 AND kind = ?2 AND id = ?3 AND closed IS NULL",
    )?;
    let closed = update.execute(params![thread.num, what.kind, id, seen.seq as i64])?;
    thread.summary.pending -= closed as i64;
    Ok(())
}

/// Nobody answered in time.
pub(super) fn expired(
    conn: &Connection,
    thread: &mut Thread,
    seen: &Seen<'_, '_>,
) -> db::Result<()> {
    let mut update = conn.prepare_cached(
        "UPDATE inbox SET closed = ?4, expired = 1 \
         WHERE thread = ?1 AND kind = ?2 AND id = ?3 AND closed IS NULL",
    )?;
    for what in [INPUT, AUTH] {
        if let Some(id) = seen.id(what.id) {
            let closed = update.execute(params![thread.num, what.kind, id, seen.seq as i64])?;
            thread.summary.pending -= closed as i64;
        }
    }
    Ok(())
}

/// A task is over: what it asked for is not asked for any more.
pub(super) fn over(conn: &Connection, thread: &mut Thread, task: &str, seq: u64) -> db::Result<()> {
    if thread.summary.pending == 0 {
        return Ok(());
    }
    let mut update = conn.prepare_cached(
        "UPDATE inbox SET closed = ?3 WHERE thread = ?1 AND task = ?2 AND closed IS NULL",
    )?;
    let closed = update.execute(params![thread.num, task, seq as i64])?;
    thread.summary.pending -= closed as i64;
    Ok(())
}
