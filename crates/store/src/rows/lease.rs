//! Leases on rows: whether one can be given, still counts, and what becomes of it.

use std::time::Duration;

use crate::db::{self, Connection, Optional as _, Row, params};

use super::guard::{Not, task_state};
use super::query::Ranked;
use crate::{Guard, Instead, KeyHash, Lease, NewLease, Prior, Queued, ReadError, Then, ThreadKey};

/// How long a lease of a task that is over is kept, to tell its holder why it is void.
const KEPT: i64 = 3_600_000;
const COLUMNS: &str = "task, agent, worker, attempt, time, until, released";

/// Whether a task can be claimed as it is asked to be.
pub(crate) fn is_free(conn: &Connection, thread: i64, new: &NewLease, now: i64) -> Result<(), Not> {
    let mut find = conn.prepare_cached(
        "SELECT 1 FROM task WHERE thread = ?1 AND id = ?2 AND agent = ?3 AND wanted = 1",
    )?;
    if !find.exists(params![thread, new.task, new.agent])? {
        return Err(Instead::Unknown.into());
    }
    if let Some(state) = task_state(conn, thread, &new.task)?.filter(|state| state.is_terminal()) {
        return Err(Instead::Over { state }.into());
    }
    let mut find = conn.prepare_cached(
        "SELECT attempt, until FROM lease WHERE thread = ?1 AND task = ?2 \
         ORDER BY attempt DESC LIMIT 1",
    )?;
    let last = find
        .query_row(params![thread, new.task], |row| Ok((row.get::<u32>(0)?, row.get::<i64>(1)?)));
    match last.optional()? {
        None if new.attempt == 1 => Ok(()),
        Some((attempt, until)) if new.attempt == attempt + 1 && until <= now => Ok(()),
        _ => Err(Instead::Changed.into()),
    }
}

/// The lease, if it still counts. One that has ended does, until another claims the task.
pub(crate) fn is_held(conn: &Connection, thread: i64, token: &KeyHash) -> Result<Lease, Not> {
    let (lease, is_released) = found(conn, thread, token)?.ok_or(Instead::Unleased)?;
    let mut last =
        conn.prepare_cached("SELECT max(attempt) FROM lease WHERE thread = ?1 AND task = ?2")?;
    let attempt: u32 = last.query_row(params![thread, lease.task], |row| row.get(0))?;
    if attempt > lease.attempt {
        return Err(Instead::Lost { attempt }.into());
    }
    match task_state(conn, thread, &lease.task)? {
        Some(state) if state.is_terminal() => Err(Instead::Over { state }.into()),
        _ if is_released => Err(Instead::Released.into()),
        _ => Ok(lease),
    }
}

/// What is so instead of a lease that counts.
pub(crate) fn not_held(
    conn: &Connection,
    thread: i64,
    token: &KeyHash,
) -> Result<Option<Instead>, ReadError> {
    match is_held(conn, thread, token) {
        Ok(_) => Ok(None),
        Err(Not::So(instead)) => Ok(Some(instead)),
        Err(Not::Read(error)) => Err(error),
    }
}

/// Does what a guard that held says of a lease, inside the commit.
pub(crate) fn settle(conn: &Connection, thread: i64, guard: &Guard, now: i64) -> db::Result<()> {
    match guard {
        Guard::Free(new) => give(conn, thread, new, now),
        Guard::Held { token, then } => change(conn, token, then, now),
        _ => Ok(()),
    }
}

fn give(conn: &Connection, thread: i64, new: &NewLease, now: i64) -> db::Result<()> {
    conn.prepare_cached(
        "DELETE FROM lease WHERE until < ?1 AND EXISTS (SELECT 1 FROM task k \
             WHERE k.thread = lease.thread AND k.id = lease.task AND k.ended IS NOT NULL)",
    )?
    .execute(params![now - KEPT])?;
    conn.prepare_cached(
        "INSERT INTO lease (thread, task, attempt, token, agent, worker, time, until) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        thread,
        new.task,
        new.attempt,
        new.token.as_bytes(),
        new.agent,
        new.worker,
        millis(new.time),
        now.saturating_add(millis(new.time)),
    ])?;
    Ok(())
}

pub(crate) fn change(conn: &Connection, token: &KeyHash, then: &Then, now: i64) -> db::Result<()> {
    match then {
        Then::Renew => conn
            .prepare_cached("UPDATE lease SET until = ?2 + time WHERE token = ?1")?
            .execute(params![token.as_bytes(), now])?,
        Then::Release { after } => conn
            .prepare_cached("UPDATE lease SET until = ?2, released = 1 WHERE token = ?1")?
            .execute(params![token.as_bytes(), now.saturating_add(millis(*after))])?,
    };
    Ok(())
}

/// A lease of a thread, whether or not it still counts.
pub(crate) fn find(conn: &Connection, thread: i64, token: &KeyHash) -> db::Result<Option<Lease>> {
    Ok(found(conn, thread, token)?.map(|(lease, _)| lease))
}

fn found(conn: &Connection, thread: i64, token: &KeyHash) -> db::Result<Option<(Lease, bool)>> {
    let ask = format!("SELECT {COLUMNS} FROM lease WHERE token = ?1 AND thread = ?2");
    let mut find = conn.prepare_cached(&ask)?;
    find.query_row(params![token.as_bytes(), thread], read).optional()
}

fn read(row: &Row<'_>) -> db::Result<(Lease, bool)> {
    let time: i64 = row.get(4)?;
    let lease = Lease {
        task: row.get(0)?,
        agent: row.get(1)?,
        worker: row.get(2)?,
        attempt: row.get(3)?,
        time: Duration::from_millis(time.unsigned_abs()),
        until: row.get(5)?,
    };
    Ok((lease, row.get(6)?))
}

/// Tasks of an agent that can be claimed (those that wait for nobody and that nobody holds), each
/// with its place in the order they began, and when the next one may be.
pub(crate) fn queue(
    conn: &Connection,
    tenant: &str,
    agent: &str,
    now: i64,
    limit: usize,
) -> Result<(Ranked<Queued, 3>, Option<i64>), ReadError> {
    let mut find = conn.prepare_cached(
        "SELECT t.id, k.id, k.parent, k.began, l.attempt, l.until, l.released, \
             k.began_at, k.thread, k.nth \
         FROM task k INDEXED BY task_by_agent \
         CROSS JOIN thread t ON t.num = k.thread AND t.deleted IS NULL \
         LEFT JOIN lease l ON l.thread = k.thread AND l.task = k.id AND l.attempt = \
             (SELECT max(m.attempt) FROM lease m WHERE m.thread = k.thread AND m.task = k.id) \
         WHERE k.agent = ?1 AND k.wanted = 1 AND k.ended IS NULL AND t.tenant = ?2 \
             AND (k.state NOT IN ('waiting-input', 'waiting-auth', 'waiting-subtask') \
                 OR NOT EXISTS (SELECT 1 FROM inbox i WHERE i.thread = k.thread \
                         AND i.task = k.id AND i.closed IS NULL) \
                     AND NOT EXISTS (SELECT 1 FROM task c WHERE c.thread = k.thread \
                         AND c.parent = k.id AND c.ended IS NULL)) \
         ORDER BY k.began_at, k.thread, k.nth",
    )?;
    let mut rows = find.query(params![agent, tenant])?;
    let (mut items, mut next) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        let until = row.get::<Option<i64>>(5)?;
        if let Some(until) = until.filter(|until| *until > now) {
            next = Some(next.map_or(until, |next: i64| next.min(until)));
            continue;
        }
        if items.len() == limit {
            break;
        }
        let prior = match row.get::<Option<bool>>(6)? {
            None => Prior::None,
            Some(true) => Prior::Released,
            Some(false) => Prior::Expired,
        };
        let queued = Queued {
            thread: ThreadKey::new(tenant, row.get::<String>(0)?),
            task: row.get(1)?,
            parent: row.get(2)?,
            began: row.get::<i64>(3)? as u64,
            attempts: row.get::<Option<u32>>(4)?.unwrap_or(0),
            prior,
        };
        items.push((queued, [row.get(7)?, row.get(8)?, row.get(9)?]));
    }
    Ok((items, next))
}

pub(crate) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
