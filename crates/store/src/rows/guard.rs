//! Judging what an append asks for, by what is known of its thread.
//!
//! Whoever asks sees to it that all of the thread is known, and that nothing is committed between
//! the look and the commit.

use crate::db::{self, Connection, Optional as _, params};
use selvedge_protocol::journal::fold::{ArtifactKind, TaskState};

use super::lease;
use super::query::{call, due_now, unfinished};
use crate::query::{InboxKind, Unfinished, Within};
use crate::{AppendError, Guard, Instead, ReadError};

/// Why a guard does not hold, or could not be looked at.
pub(crate) enum Not {
    So(Instead),
    Read(ReadError),
}

impl From<db::Error> for Not {
    fn from(error: db::Error) -> Self {
        Self::Read(error.into())
    }
}

impl From<ReadError> for Not {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<Instead> for Not {
    fn from(instead: Instead) -> Self {
        Self::So(instead)
    }
}

impl From<Not> for AppendError {
    fn from(not: Not) -> Self {
        match not {
            Not::So(instead) => Self::Instead(instead),
            Not::Read(error) => Self::Storage(error.to_string()),
        }
    }
}

pub(crate) fn check(conn: &Connection, thread: i64, guard: &Guard, now: i64) -> Result<(), Not> {
    match guard {
        Guard::All(guards) => guards.iter().try_for_each(|guard| check(conn, thread, guard, now)),
        Guard::Open { kind, id } => is_open(conn, thread, *kind, id, now),
        Guard::Due(due) => match due_now(conn, thread, due.kind, &due.id, now)? {
            Some(found) if found == *due => Ok(()),
            _ => Err(Instead::Changed.into()),
        },
        Guard::Unfinished { within, found } => are_unfinished(conn, thread, within, found),
        Guard::Running { task } => match task_state(conn, thread, task)? {
            Some(state) if state.is_terminal() => Err(Instead::Over { state }.into()),
            Some(_) => Ok(()),
            None => Err(Instead::Unknown.into()),
        },
        Guard::Calling { id } => is_calling(conn, thread, id),
        Guard::Version { artifact, kind, version } => {
            is_latest(conn, thread, artifact, *kind, *version)
        }
        Guard::Free(new) => lease::is_free(conn, thread, new, now),
        Guard::Held { token, .. } => lease::is_held(conn, thread, token).map(drop),
    }
}

fn is_open(conn: &Connection, thread: i64, kind: InboxKind, id: &str, now: i64) -> Result<(), Not> {
    let mut find = conn.prepare_cached(
        "SELECT closed, answered, expired, expires, task FROM inbox \
         WHERE thread = ?1 AND kind = ?2 AND id = ?3",
    )?;
    let found = find.query_row(params![thread, kind.name(), id], |row| {
        let closed: Option<i64> = row.get(0)?;
        let (answered, expired) = (row.get::<Option<bool>>(1)?, row.get::<Option<bool>>(2)?);
        let (expires, task) = (row.get::<Option<i64>>(3)?, row.get::<Option<String>>(4)?);
        Ok((closed, answered == Some(true), expired == Some(true), expires, task))
    });
    let (closed, answered, expired, expires, task) = found.optional()?.ok_or(Instead::Unknown)?;
    match closed {
        Some(seq) if answered => Err(Instead::Answered { seq: seq as u64 }.into()),
        Some(_) if expired => Err(Instead::Expired.into()),
        closed => {
            let state = task.map(|task| task_state(conn, thread, &task)).transpose()?.flatten();
            match (state.filter(|state| state.is_terminal()), closed) {
                (Some(state), _) => Err(Instead::Over { state }.into()),
                (None, Some(_)) => Err(Instead::Changed.into()),
                (None, None) if expires.is_some_and(|at| at <= now) => Err(Instead::Expired.into()),
                (None, None) => Ok(()),
            }
        }
    }
}

fn are_unfinished(
    conn: &Connection,
    thread: i64,
    within: &Within,
    found: &Unfinished,
) -> Result<(), Not> {
    if let Within::Task(id) = within {
        let state = task_state(conn, thread, id)?.ok_or(Instead::Unknown)?;
        if state.is_terminal() {
            return Err(Instead::Over { state }.into());
        }
    }
    let now = unfinished(conn, thread, within)?;
    if now.tasks.is_empty() && now.calls.is_empty() {
        return Err(Instead::Unknown.into());
    }
    if now == *found { Ok(()) } else { Err(Instead::Changed.into()) }
}

fn is_calling(conn: &Connection, thread: i64, id: &str) -> Result<(), Not> {
    let call = call(conn, thread, id)?.ok_or(Instead::Unknown)?;
    match call.ended {
        Some(seq) => Err(Instead::Ended { seq }.into()),
        // One that was told of after its task had ended.
        None => {
            match call.task.map(|task| task_state(conn, thread, &task)).transpose()?.flatten() {
                Some(state) if state.is_terminal() => Err(Instead::Over { state }.into()),
                _ => Ok(()),
            }
        }
    }
}

fn is_latest(
    conn: &Connection,
    thread: i64,
    artifact: &str,
    kind: ArtifactKind,
    wanted: u64,
) -> Result<(), Not> {
    let mut find = conn.prepare_cached(
        "SELECT a.kind, v.version, v.complete FROM artifact a JOIN artifact_version v \
             ON v.thread = a.thread AND v.artifact = a.id AND v.version = a.versions \
         WHERE a.thread = ?1 AND a.id = ?2",
    )?;
    let found = find.query_row(params![thread, artifact], |row| {
        Ok((row.get::<String>(0)?, row.get::<i64>(1)? as u64, row.get::<bool>(2)?))
    });
    let Some((own, version, complete)) = found.optional()? else {
        let none = Instead::Version { version: 0 };
        return if wanted == 0 { Ok(()) } else { Err(none.into()) };
    };
    let own = ArtifactKind::named(&own).unwrap_or(ArtifactKind::File);
    if version != wanted {
        Err(Instead::Version { version }.into())
    } else if own != kind {
        Err(Instead::OtherKind { kind: own }.into())
    } else if !complete {
        Err(Instead::Unsealed { version }.into())
    } else {
        Ok(())
    }
}

pub(crate) fn task_state(
    conn: &Connection,
    thread: i64,
    id: &str,
) -> db::Result<Option<TaskState>> {
    let mut find = conn.prepare_cached("SELECT state FROM task WHERE thread = ?1 AND id = ?2")?;
    let state: Option<String> = find.query_row(params![thread, id], |row| row.get(0)).optional()?;
    Ok(state.and_then(|state| TaskState::named(&state)))
}
