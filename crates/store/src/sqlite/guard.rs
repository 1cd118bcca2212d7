//! Appends with a condition on what is known of their thread.
//!
//! Invariant: between the look at what is known and the commit nothing else is committed, for the
//! one writer does both. Appends without a condition pay nothing for it.

use rusqlite::{Connection, OptionalExtension as _, params};
use selvedge_protocol::journal::fold::{ArtifactKind, TaskState};

use super::handle::Reply;
use super::lease;
use super::query::{call, due_now, unfinished};
use super::recent::Known;
use super::tasks::Tasks;
use super::writer::{Target, Writer};
use crate::query::{InboxKind, Unfinished, Within};
use crate::{Append, AppendError, Guard, Instead, ReadError, TendError};

/// Why a guard does not hold, or could not be looked at.
pub(super) enum Not {
    So(Instead),
    Read(ReadError),
}

impl From<rusqlite::Error> for Not {
    fn from(error: rusqlite::Error) -> Self {
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

impl Writer {
    /// Commits an append if what it asks for is so.
    pub(super) fn guarded(&mut self, append: Box<Append>, reply: Reply) {
        match self.holds(&append) {
            Ok(()) => self.commit(vec![(append, reply)]),
            // The caller may have gone.
            Err(error) => drop(reply.send(Err(error))),
        }
    }

    /// Whether an append can be judged without having the projections brought up to date: it has
    /// no condition, or one on a task of which the writer knows.
    pub(super) fn needs_no_look(&self, append: &Append) -> bool {
        match &append.guard {
            None => true,
            Some(Guard::Running { task }) => {
                let thread = self.thread_number(&append.thread);
                thread.is_some_and(|thread| self.knows_task(thread, task))
            }
            Some(_) => false,
        }
    }

    fn knows_task(&self, thread: i64, task: &str) -> bool {
        if self.tasks.state(thread, task).is_some() {
            return true;
        }
        // One that runs there has not ended since: that would be known.
        self.recent.known() == Known::All
            && task_state(&self.conn, thread, task)
                .is_ok_and(|state| state.is_some_and(|state| !state.is_terminal()))
    }

    /// Takes in what an event says of its task.
    pub(super) fn note(&mut self, thread: i64, event: &[u8]) -> rusqlite::Result<()> {
        let Self { tasks, conn, recent, .. } = self;
        let noted = tasks.note(thread, event, |task| match recent.known() {
            Known::All => task_state(conn, thread, task).map_err(Some),
            Known::Not => Err(None),
        });
        match noted {
            Err(Some(error)) => Err(error),
            Ok(()) | Err(None) => Ok(()),
        }
    }

    /// Makes known anew what is only known of tasks from rows that wait.
    pub(super) fn recall_tasks(&mut self) {
        self.tasks = Tasks::default();
        for (thread, batch) in self.backlog.rows() {
            for (_, event) in batch.events() {
                // A task that is not known is looked at.
                let _ = self.note(thread, event);
            }
        }
    }

    fn holds(&mut self, append: &Append) -> Result<(), AppendError> {
        let Some(guard) = &append.guard else { return Ok(()) };
        let thread = match self.target(append)? {
            Target::There(thread, _) => thread.num,
            // Nothing is known of a thread that is yet to be made.
            Target::New(_) => 0,
        };
        if let Some(key) = &append.key {
            let used = self.used(thread, &key.text);
            // A second try: the commit gives the first answer again.
            if used.map_err(|error| AppendError::Storage(error.to_string()))?.is_some() {
                return Ok(());
            }
        }
        self.known_fresh()?;
        let now = self.tick();
        Ok(check(&self.conn, thread, guard, now)?)
    }
}

impl Writer {
    /// Brings what is known of threads up to date, for whoever is to judge by it.
    pub(super) fn known_fresh(&mut self) -> Result<(), AppendError> {
        self.fresh().map_err(|error| match error {
            TendError::Behind => AppendError::Behind,
            other => AppendError::Storage(other.to_string()),
        })
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

fn check(conn: &Connection, thread: i64, guard: &Guard, now: i64) -> Result<(), Not> {
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
        let (answered, expired) = (row.get::<_, Option<bool>>(1)?, row.get::<_, Option<bool>>(2)?);
        let (expires, task) = (row.get::<_, Option<i64>>(3)?, row.get::<_, Option<String>>(4)?);
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
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)? as u64, row.get::<_, bool>(2)?))
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

pub(super) fn task_state(
    conn: &Connection,
    thread: i64,
    id: &str,
) -> rusqlite::Result<Option<TaskState>> {
    let mut find = conn.prepare_cached("SELECT state FROM task WHERE thread = ?1 AND id = ?2")?;
    let state: Option<String> = find.query_row(params![thread, id], |row| row.get(0)).optional()?;
    Ok(state.and_then(|state| TaskState::named(&state)))
}
