//! Tasks of a thread.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use selvedge_protocol::journal::fold::TaskState;

use super::{page, probe};
use crate::query::{Listed, Place, Task, Wanted};
use crate::{ReadError, ThreadKey, ThreadRef};

const COLUMNS: &str = "k.id, k.parent, k.agent, k.initiator, k.model, k.state, k.began, \
     k.began_at, k.ended, k.ended_at";

/// A thread's tasks, in the order they began.
pub(crate) fn tasks(conn: &Connection, thread: &ThreadRef) -> Result<Vec<Task>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM task k JOIN thread t ON t.num = k.thread \
         WHERE k.thread = ?1 AND t.deleted IS NULL ORDER BY k.nth",
    ))?;
    let rows = find.query_map(params![thread.num], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// One of a thread's tasks.
pub(crate) fn task(
    conn: &Connection,
    thread: &ThreadRef,
    id: &str,
) -> Result<Option<Task>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM task k JOIN thread t ON t.num = k.thread \
         WHERE k.thread = ?1 AND k.id = ?2 AND t.deleted IS NULL",
    ))?;
    Ok(find.query_row(params![thread.num, id], read).optional()?)
}

/// A thread's tasks that someone here is to do, in the order they began.
pub(crate) fn wanted_in(conn: &Connection, thread: &ThreadRef) -> Result<Vec<Task>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM task k INDEXED BY task_wanted \
         WHERE k.thread = ?1 AND k.wanted = 1 AND k.ended IS NULL ORDER BY k.nth",
    ))?;
    let rows = find.query_map(params![thread.num], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A page of tasks that someone here is to do, and where the next begins.
pub(crate) fn wanted(
    conn: &Connection,
    limit: usize,
    after: Option<&Place>,
) -> Result<Listed<Wanted>, ReadError> {
    listed(conn, "task_wanted", "k.wanted = 1 AND k.ended IS NULL", limit, after)
}

/// A page of tasks that the router made and that are over, but whose end it has not taken up.
pub(crate) fn unanswered(
    conn: &Connection,
    limit: usize,
    after: Option<&Place>,
) -> Result<Listed<Wanted>, ReadError> {
    let over = "k.routed = 1 AND k.answered = 0 AND k.ended IS NOT NULL";
    listed(conn, "task_unanswered", over, limit, after)
}

/// A page of tasks of all threads that an index has, under the index's own condition.
fn listed(
    conn: &Connection,
    index: &str,
    condition: &str,
    limit: usize,
    after: Option<&Place>,
) -> Result<Listed<Wanted>, ReadError> {
    let [thread, nth] = after.map_or(Ok([-1, -1]), Place::numbers)?;
    let mut find = conn.prepare_cached(&format!(
        "SELECT t.tenant, t.id, k.id, k.agent, k.thread, k.nth \
         FROM task k INDEXED BY {index} JOIN thread t ON t.num = k.thread \
         WHERE {condition} AND (k.thread, k.nth) > (?1, ?2) \
             AND t.deleted IS NULL AND k.agent IS NOT NULL ORDER BY k.thread, k.nth LIMIT ?3",
    ))?;
    let rows = find.query_map(params![thread, nth, probe(limit)], |row| {
        let key = ThreadKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?);
        let wanted = Wanted { thread: key, task: row.get(2)?, agent: row.get(3)? };
        Ok((wanted, [row.get(4)?, row.get(5)?]))
    })?;
    let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let listed = page(rows, limit, |(_, place)| Place::of(*place));
    let items = listed.items.into_iter().map(|(wanted, _)| wanted).collect();
    Ok(Listed { items, next: listed.next })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Task> {
    let state: String = row.get(5)?;
    let ended: Option<i64> = row.get(8)?;
    Ok(Task {
        id: row.get(0)?,
        parent: row.get(1)?,
        agent: row.get(2)?,
        initiator: row.get(3)?,
        model: row.get(4)?,
        state: TaskState::named(&state).unwrap_or(TaskState::Created),
        began: (row.get::<_, i64>(6)? as u64, row.get(7)?),
        ended: ended.map(|seq| seq as u64).zip(row.get(9)?),
    })
}
