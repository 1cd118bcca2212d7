//! Tasks of a thread.

use crate::db::{self, Connection, Optional as _, Row, gathered, params};
use rusqlite::types::Value;
use selvedge_protocol::journal::fold::TaskState;

use super::{Ranked, probe};
use crate::postgres::Node;
use crate::query::{Place, Placed, Task, TaskQuery, Wanted};
use crate::{ReadError, ThreadKey, ThreadRef};

const COLUMNS: &str = "k.id, k.parent, k.agent, k.initiator, k.model, k.state, k.began, \
     k.began_at, k.ended, k.ended_at";

/// Tasks of one id that are told of.
pub(crate) const SAME: usize = 16;

/// A thread's tasks, in the order they began.
pub(crate) fn tasks(conn: &Connection, thread: &ThreadRef) -> Result<Vec<Task>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM task k JOIN thread t ON t.num = k.thread \
         WHERE k.thread = ?1 AND t.deleted IS NULL ORDER BY k.nth",
    ))?;
    let rows = find.query_map(params![thread.num], read)?;
    Ok(rows.collect::<db::Result<_>>()?)
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
    Ok(rows.collect::<db::Result<_>>()?)
}

/// A page of tasks that someone here is to do, and where the next begins.
pub(crate) fn wanted(
    conn: &Connection,
    limit: usize,
    after: Option<&Place>,
) -> Result<Ranked<Wanted, 2>, ReadError> {
    listed(conn, "task_wanted", "k.wanted = 1 AND k.ended IS NULL", limit, after)
}

/// The same, of those that no node is at.
pub(crate) fn unclaimed(
    conn: &Connection,
    limit: usize,
    after: Option<&Place>,
) -> Result<Ranked<Wanted, 2>, ReadError> {
    let free = format!("k.wanted = 1 AND k.ended IS NULL AND {}", Node::is_unclaimed());
    listed(conn, "task_wanted", &free, limit, after)
}

/// A page of tasks that the router made and that are over, but whose end it has not taken up.
pub(crate) fn unanswered(
    conn: &Connection,
    limit: usize,
    after: Option<&Place>,
) -> Result<Ranked<Wanted, 2>, ReadError> {
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
) -> Result<Ranked<Wanted, 2>, ReadError> {
    let [thread, nth] = after.map_or(Ok([-1, -1]), Place::numbers)?;
    let mut find = conn.prepare_cached(&format!(
        "SELECT t.tenant, t.id, k.id, k.agent, k.thread, k.nth \
         FROM task k INDEXED BY {index} JOIN thread t ON t.num = k.thread \
         WHERE {condition} AND (k.thread, k.nth) > (?1, ?2) \
             AND t.deleted IS NULL AND k.agent IS NOT NULL ORDER BY k.thread, k.nth LIMIT ?3",
    ))?;
    let rows = find.query_map(params![thread, nth, probe(limit)], |row| {
        let key = ThreadKey::new(row.get::<String>(0)?, row.get::<String>(1)?);
        let wanted = Wanted { thread: key, task: row.get(2)?, agent: row.get(3)? };
        Ok((wanted, [row.get(4)?, row.get(5)?]))
    })?;
    Ok(rows.collect::<db::Result<_>>()?)
}

/// Tasks of a tenant with an id, the one that began last first.
pub(crate) fn tasks_by_id(
    conn: &Connection,
    tenant: &str,
    id: &str,
) -> Result<Vec<Placed>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS}, t.tenant, t.id, k.changed_at, k.thread, k.nth \
         FROM task k INDEXED BY task_by_id JOIN thread t ON t.num = k.thread \
         WHERE k.tenant = ?1 AND k.id = ?2 AND t.deleted IS NULL AND k.began > t.fork \
         ORDER BY k.thread DESC LIMIT {SAME}",
    ))?;
    let rows = find.query_map(params![tenant, id], placed)?;
    Ok(rows.map(|row| row.map(|(placed, _)| placed)).collect::<db::Result<_>>()?)
}

/// A page of tasks of a tenant, those whose state changed last first.
pub(crate) fn tasks_of(
    conn: &Connection,
    tenant: &str,
    asked: &TaskQuery,
) -> Result<Ranked<Placed, 3>, ReadError> {
    let (mut condition, mut values) = conditions(tenant, asked);
    if let Some(after) = &asked.after {
        let place: [i64; 3] = after.numbers()?;
        condition.push_str(" AND (k.changed_at, k.thread, k.nth) < (?, ?, ?)");
        values.extend(place.map(Value::from));
    }
    values.push(Value::from(probe(asked.limit)));
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS}, t.tenant, t.id, k.changed_at, k.thread, k.nth \
         FROM task k JOIN thread t ON t.num = k.thread WHERE {condition} \
         ORDER BY k.changed_at DESC, k.thread DESC, k.nth DESC LIMIT ?",
    ))?;
    let rows = find.query_map(&gathered(&values), placed)?;
    Ok(rows.collect::<db::Result<_>>()?)
}

/// How many tasks there are on all pages.
pub(crate) fn tasks_of_count(
    conn: &Connection,
    tenant: &str,
    asked: &TaskQuery,
) -> Result<u64, ReadError> {
    let (condition, values) = conditions(tenant, asked);
    let mut count = conn.prepare_cached(&format!(
        "SELECT count(*) FROM task k JOIN thread t ON t.num = k.thread WHERE {condition}"
    ))?;
    let count: i64 = count.query_row(&gathered(&values), |row| row.get(0))?;
    Ok(count as u64)
}

/// What holds for the tasks that are asked for, on whatever page.
fn conditions(tenant: &str, asked: &TaskQuery) -> (String, Vec<Value>) {
    let mut condition = "k.tenant = ? AND t.deleted IS NULL AND k.began > t.fork".to_owned();
    let mut values = vec![Value::from(tenant.to_owned())];
    if let Some(thread) = &asked.thread {
        condition.push_str(" AND t.tenant = ? AND t.id = ?");
        values.extend([Value::from(tenant.to_owned()), Value::from(thread.clone())]);
    }
    if !asked.states.is_empty() {
        let places = vec!["?"; asked.states.len()].join(",");
        condition.push_str(&format!(" AND k.state IN ({places})"));
        values.extend(asked.states.iter().map(|state| Value::from(state.name().to_owned())));
    }
    if let Some(since) = asked.since {
        condition.push_str(" AND k.changed_at >= ?");
        values.push(Value::from(since));
    }
    (condition, values)
}

/// A task with its thread, and its place in the order of changes.
fn placed(row: &Row<'_>) -> db::Result<(Placed, [i64; 3])> {
    let thread = ThreadKey::new(row.get::<String>(10)?, row.get::<String>(11)?);
    let changed = row.get(12)?;
    let place = [changed, row.get(13)?, row.get(14)?];
    Ok((Placed { thread, task: read(row)?, changed }, place))
}

fn read(row: &Row<'_>) -> db::Result<Task> {
    let state: String = row.get(5)?;
    let ended: Option<i64> = row.get(8)?;
    Ok(Task {
        id: row.get(0)?,
        parent: row.get(1)?,
        agent: row.get(2)?,
        initiator: row.get(3)?,
        model: row.get(4)?,
        state: TaskState::named(&state).unwrap_or(TaskState::Created),
        began: (row.get::<i64>(6)? as u64, row.get(7)?),
        ended: ended.map(|seq| seq as u64).zip(row.get(9)?),
    })
}
