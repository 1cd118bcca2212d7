//! Tasks of a thread.

use rusqlite::{Connection, Row, params};
use selvedge_protocol::journal::fold::TaskState;

use crate::query::Task;
use crate::{ReadError, ThreadRef};

/// A thread's tasks, in the order they began.
pub(crate) fn tasks(conn: &Connection, thread: &ThreadRef) -> Result<Vec<Task>, ReadError> {
    let mut find = conn.prepare_cached(
        "SELECT k.id, k.parent, k.agent, k.initiator, k.model, k.state, k.began, k.began_at, \
             k.ended, k.ended_at \
         FROM task k JOIN thread t ON t.num = k.thread \
         WHERE k.thread = ?1 AND t.deleted IS NULL ORDER BY k.nth",
    )?;
    let rows = find.query_map(params![thread.num], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
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
