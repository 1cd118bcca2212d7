//! Who is told by a request of theirs what happens to a task, and how much they have been told.
//!
//! Like keys, they are in a table of their own with a connection of their own. Where to and with
//! which secret comes sealed: this file knows neither.
//!
//! Invariant: a row names a journal by its number, never by its id: a thread that takes the id
//! later is told to nobody.

use crate::KeyError;
use crate::address::Addresses;
use crate::db::{self, Optional as _, Row, params};
use crate::link::Links;

pub(crate) const TABLE: &str = "
CREATE TABLE IF NOT EXISTS push (
    thread INTEGER NOT NULL,
    task TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    context TEXT NOT NULL,
    sealed BLOB NOT NULL,
    told TEXT NOT NULL,
    over INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (thread, task, id)
) STRICT;
CREATE INDEX IF NOT EXISTS push_open ON push (thread, task, id) WHERE over = 0;
";
const COLUMNS: &str = "thread, task, id, tenant, context, sealed, told, over";
/// Rows of one task.
const MOST: i64 = 64;

/// Someone who is told of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The thread's number in the store.
    pub thread: i64,
    /// The task.
    pub task: String,
    /// Names it among those of the task.
    pub id: String,
    /// Whose thread it is, and its id when this was made.
    pub tenant: String,
    /// The thread's id.
    pub context: String,
    /// Where to and how, sealed.
    pub sealed: Vec<u8>,
    /// The cursor of what was told last.
    pub told: String,
    /// Whether there is nothing more to tell.
    pub over: bool,
}

/// Those of a store.
#[derive(Debug)]
pub struct Pushes {
    links: Links,
}

impl Pushes {
    /// Opens them. Blocks for the disk, as all else here.
    pub fn open(at: impl Into<Addresses>) -> Result<Self, KeyError> {
        Ok(Self { links: Links::open(&at.into(), TABLE)? })
    }

    /// Keeps one, in place of its namesake; `false` if the task has too many.
    pub fn put(&self, push: &Push) -> Result<bool, KeyError> {
        // Alone: the others are counted.
        let kept = self.links.of(push.thread)?.alone("push", |conn| {
            conn.execute(
                "INSERT INTO push (thread, task, id, tenant, context, sealed, told, over) \
                 SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE (SELECT count(*) FROM push \
                     WHERE thread = ?1 AND task = ?2 AND id <> ?3) < ?9 \
                 ON CONFLICT (thread, task, id) DO UPDATE \
                     SET tenant = ?4, context = ?5, sealed = ?6, told = ?7, over = ?8",
                params![
                    push.thread,
                    push.task,
                    push.id,
                    push.tenant,
                    push.context,
                    push.sealed,
                    push.told,
                    push.over,
                    MOST
                ],
            )
        })?;
        Ok(kept == 1)
    }

    /// One of a task.
    pub fn get(&self, thread: i64, task: &str, id: &str) -> Result<Option<Push>, KeyError> {
        let sql = format!("SELECT {COLUMNS} FROM push WHERE thread = ?1 AND task = ?2 AND id = ?3");
        let of = params![thread, task, id];
        Ok(self.links.of(thread)?.with(|conn| conn.query_row(&sql, of, push).optional())?)
    }

    /// All of a task, by their ids.
    pub fn of_task(&self, thread: i64, task: &str) -> Result<Vec<Push>, KeyError> {
        let sql = format!("SELECT {COLUMNS} FROM push WHERE thread = ?1 AND task = ?2 ORDER BY id");
        let of = params![thread, task];
        Ok(self
            .links
            .of(thread)?
            .with(|conn| conn.prepare_cached(&sql)?.query_map(of, push)?.collect())?)
    }

    /// All to whom there is more to tell.
    pub fn open_ones(&self) -> Result<Vec<Push>, KeyError> {
        let sql = format!("SELECT {COLUMNS} FROM push INDEXED BY push_open WHERE over = 0");
        let found = self.links.each(|conn| {
            conn.prepare_cached(&sql)?.query_map([], push)?.collect::<db::Result<Vec<_>>>()
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Notes how much was told after what `push` says, unless it is another one by now, or someone
    /// else has told more; `false` if so.
    pub fn told(&self, push: &Push, told: &str, over: bool) -> Result<bool, KeyError> {
        let noted = self.links.of(push.thread)?.with(|conn| {
            conn.execute(
                "UPDATE push SET told = ?4, over = ?5 WHERE thread = ?1 AND task = ?2 \
                     AND id = ?3 AND sealed = ?6 AND told = ?7 AND over = 0",
                params![push.thread, push.task, push.id, told, over, push.sealed, push.told],
            )
        })?;
        Ok(noted == 1)
    }

    /// Forgets one; `false` if there is none.
    pub fn remove(&self, thread: i64, task: &str, id: &str) -> Result<bool, KeyError> {
        let removed = self.links.of(thread)?.with(|conn| {
            conn.execute(
                "DELETE FROM push WHERE thread = ?1 AND task = ?2 AND id = ?3",
                params![thread, task, id],
            )
        })?;
        Ok(removed == 1)
    }
}

fn push(row: &Row<'_>) -> db::Result<Push> {
    Ok(Push {
        thread: row.get(0)?,
        task: row.get(1)?,
        id: row.get(2)?,
        tenant: row.get(3)?,
        context: row.get(4)?,
        sealed: row.get(5)?,
        told: row.get(6)?,
        over: row.get(7)?,
    })
}
