//! What can be acted on.

use std::collections::{HashMap, HashSet};

use crate::db::{self, Connection, Optional as _, Row, params};
use selvedge_protocol::journal::fold::TaskState;

use crate::query::{Call, Due, InboxKind, Overdue, Unfinished, Within};
use crate::{ReadError, ThreadKey};

/// A task with the one that called it.
struct Node {
    id: String,
    parent: Option<String>,
    is_over: bool,
}

/// Tasks and calls that have not ended.
pub(crate) fn unfinished(
    conn: &Connection,
    thread: i64,
    within: &Within,
) -> Result<Unfinished, ReadError> {
    let tasks = children_first(&tasks(conn, thread, within)?);
    let among: HashSet<&str> = tasks.iter().map(String::as_str).collect();
    let mut find = conn.prepare_cached(
        "SELECT id, tool, task, began, ended FROM call \
         WHERE thread = ?1 AND ended IS NULL ORDER BY began, id",
    )?;
    let calls = find.query_map(params![thread], read)?;
    let mut calls = calls.collect::<db::Result<Vec<_>>>()?;
    calls.retain(|call| match &call.task {
        Some(task) => among.contains(task.as_str()),
        None => *within == Within::Thread,
    });
    Ok(Unfinished { tasks, calls })
}

fn tasks(conn: &Connection, thread: i64, within: &Within) -> db::Result<Vec<Node>> {
    let node = |row: &Row<'_>| {
        let state: String = row.get(2)?;
        let is_over = TaskState::named(&state).is_some_and(TaskState::is_terminal);
        Ok(Node { id: row.get(0)?, parent: row.get(1)?, is_over })
    };
    match within {
        // One that was only mentioned is nobody's work.
        Within::Thread => conn
            .prepare_cached(
                "SELECT id, parent, state FROM task WHERE thread = ?1 \
                     AND state NOT IN ('completed', 'failed', 'canceled') \
                     AND (announced = 1 OR state <> 'created') ORDER BY nth",
            )?
            .query_map(params![thread], node)?
            .collect(),
        Within::Task(id) => conn
            .prepare_cached(
                "WITH RECURSIVE tree (id) AS ( \
                     SELECT id FROM task WHERE thread = ?1 AND id = ?2 UNION SELECT k.id FROM tree \
                     CROSS JOIN task k INDEXED BY task_by_parent \
                     ON k.thread = ?1 AND k.parent = tree.id) \
                 SELECT k.id, k.parent, k.state FROM tree \
                 CROSS JOIN task k ON k.thread = ?1 AND k.id = tree.id ORDER BY k.nth",
            )?
            .query_map(params![thread, id], node)?
            .collect(),
    }
}

/// Those that are not over, each before the one that called it. Whatever was said, they may call
/// each other in a circle.
fn children_first(nodes: &[Node]) -> Vec<String> {
    let at: HashMap<&str, usize> = nodes.iter().enumerate().map(|(i, n)| (&*n.id, i)).collect();
    let parent = |node: &Node| node.parent.as_deref().and_then(|id| at.get(id).copied());
    let mut children = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        if let Some(list) = parent(node).and_then(|p| children.get_mut(p)) {
            list.push(i);
        }
    }
    let roots = nodes.iter().enumerate().filter(|(_, node)| parent(node).is_none());
    let mut seen = vec![false; nodes.len()];
    let mut out = Vec::new();
    for start in roots.map(|(i, _)| i).chain(0..nodes.len()) {
        // Each twice: before its children, and after them.
        let mut stack = vec![(start, false)];
        while let Some((i, is_done)) = stack.pop() {
            let Some(node) = nodes.get(i) else { continue };
            if is_done {
                if !node.is_over {
                    out.push(node.id.clone());
                }
            } else if let Some(seen) = seen.get_mut(i).filter(|seen| !**seen) {
                *seen = true;
                stack.push((i, true));
                stack.extend(children.get(i).into_iter().flatten().map(|child| (*child, false)));
            }
        }
    }
    out
}

/// A tool call.
pub(crate) fn call(conn: &Connection, thread: i64, id: &str) -> Result<Option<Call>, ReadError> {
    let mut find = conn.prepare_cached(
        "SELECT id, tool, task, began, ended FROM call WHERE thread = ?1 AND id = ?2",
    )?;
    Ok(find.query_row(params![thread, id], read).optional()?)
}

fn read(row: &Row<'_>) -> db::Result<Call> {
    let ended: Option<i64> = row.get(4)?;
    Ok(Call {
        id: row.get(0)?,
        tool: row.get(1)?,
        task: row.get(2)?,
        began: row.get::<i64>(3)? as u64,
        ended: ended.map(|seq| seq as u64),
    })
}

/// Whether a question's time has passed, and how its task stands.
pub(crate) fn due_now(
    conn: &Connection,
    thread: i64,
    kind: InboxKind,
    id: &str,
    now: i64,
) -> Result<Option<Due>, ReadError> {
    let mut find = conn.prepare_cached(
        "SELECT i.seq, i.task, \
             k.state IN ('waiting-input', 'waiting-auth') AND k.wanted = 0 AND NOT EXISTS (SELECT 1 FROM inbox o \
                 WHERE o.thread = i.thread AND o.task = i.task AND o.closed IS NULL \
                     AND (o.kind, o.id) <> (i.kind, i.id)) \
         FROM inbox i LEFT JOIN task k ON k.thread = i.thread AND k.id = i.task \
         WHERE i.thread = ?1 AND i.kind = ?2 AND i.id = ?3 AND i.closed IS NULL AND i.expires <= ?4",
    )?;
    let found = find.query_row(params![thread, kind.name(), id, now], |row| {
        let (seq, task) = (row.get::<i64>(0)? as u64, row.get(1)?);
        let stalls = row.get::<Option<bool>>(2)? == Some(true);
        Ok(Due { kind, id: id.to_owned(), seq, task, stalls, calls: Vec::new() })
    });
    let Some(mut due) = found.optional()? else { return Ok(None) };
    if due.stalls {
        let mut find = conn.prepare_cached(
            "SELECT id, tool, task, began, ended FROM call \
             WHERE thread = ?1 AND task = ?2 AND ended IS NULL ORDER BY began, id",
        )?;
        let calls = find.query_map(params![thread, due.task], read)?;
        due.calls = calls.collect::<db::Result<_>>()?;
    }
    Ok(Some(due))
}

/// Questions whose time has passed, and when the next one's will.
pub(crate) fn due(conn: &Connection, now: i64, limit: usize) -> Result<Overdue, ReadError> {
    let mut find = conn.prepare_cached(
        "SELECT t.tenant, t.id, i.thread, i.kind, i.id, i.expires \
         FROM inbox i INDEXED BY inbox_by_expiry \
         CROSS JOIN thread t ON t.num = i.thread AND t.deleted IS NULL \
         WHERE i.closed IS NULL AND i.expires IS NOT NULL ORDER BY i.expires LIMIT ?1",
    )?;
    let mut rows = find.query(params![limit as i64 + 1])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        let expires: i64 = row.get(5)?;
        if expires > now || items.len() == limit {
            return Ok(Overdue { items, next: Some(expires) });
        }
        let kind = InboxKind::named(&row.get::<String>(3)?);
        let key = ThreadKey::new(row.get::<String>(0)?, row.get::<String>(1)?);
        if let Some(due) = due_now(conn, row.get(2)?, kind, &row.get::<String>(4)?, now)? {
            items.push((key, due));
        }
    }
    Ok(Overdue { items, next: None })
}
