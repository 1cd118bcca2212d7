//! Lists of threads.
//!
//! A list is in the order of updates. With a filter, either few threads match: then they are
//! gathered and sorted; or many: then the list is walked and they come soon. Both read a small
//! part of a large table.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::{page, probe};
use crate::query::{Listed, Participant, Place, Summary, ThreadQuery, ThreadStatus};
use crate::{ReadError, ThreadRef};

/// Matches that are gathered rather than waited for along the list.
const FEW: i64 = 4096;

const COLUMNS: &str = "t.num, t.id, t.epoch, s.head, t.created, s.updated, s.status, s.title, \
     s.metadata, s.words, s.messages, s.tasks, s.participants, s.artifacts, s.pending";

/// A page of threads.
pub(crate) fn threads(
    conn: &Connection,
    query: &ThreadQuery,
) -> Result<Listed<Summary>, ReadError> {
    let (sql, values) = statement(conn, query)?;
    let mut find = conn.prepare_cached(&sql)?;
    let rows = find.query_map(params_from_iter(values), read)?;
    let items = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(page(items, query.limit, |last| Place::of([last.updated, last.num])))
}

/// What the list is read from.
enum From {
    Updates,
    Status,
    Participant,
    Label(usize),
}

/// The statement for a query, with its values in order.
fn statement(conn: &Connection, query: &ThreadQuery) -> Result<(String, Vec<Value>), ReadError> {
    let [updated, num] = match &query.after {
        Some(place) => place.numbers()?,
        None => [i64::MAX, i64::MAX],
    };
    let text = |text: &str| Value::Text(text.to_owned());
    let from = choose(conn, query)?;
    let (mut sql, mut values) = (format!("SELECT {COLUMNS} FROM "), Vec::new());
    match &from {
        From::Updates => sql.push_str("summary s INDEXED BY summary_by_update"),
        From::Status => sql.push_str("summary s INDEXED BY summary_by_status"),
        From::Participant => sql.push_str("participant d CROSS JOIN summary s"),
        From::Label(_) => sql.push_str("label d CROSS JOIN summary s"),
    }
    sql.push_str(" CROSS JOIN thread t ON t.num = s.thread WHERE s.tenant = ?");
    values.push(text(&query.tenant));
    if let Some(status) = query.status {
        sql.push_str(" AND s.status = ?");
        values.push(text(status.name()));
    }
    if let Some(participant) = &query.participant {
        if matches!(from, From::Participant) {
            sql.push_str(" AND s.thread = d.thread AND d.tenant = ? AND d.id = ?");
            values.push(text(&query.tenant));
        } else {
            // A value, not EXISTS: that might be turned around.
            sql.push_str(
                " AND (SELECT 1 FROM participant p WHERE p.thread = s.thread AND p.id = ?) = 1",
            );
        }
        values.push(text(participant));
    }
    for (i, (key, value)) in query.metadata.iter().enumerate() {
        if matches!(from, From::Label(at) if at == i) {
            sql.push_str(" AND s.thread = d.thread AND d.tenant = ? AND d.key = ? AND d.value = ?");
            values.push(text(&query.tenant));
        } else {
            sql.push_str(
                " AND (SELECT l.value FROM label l WHERE l.thread = s.thread AND l.key = ?) = ?",
            );
        }
        values.extend([text(key), Value::Text(value.spelled())]);
    }
    sql.push_str(
        " AND (s.updated, s.thread) < (?, ?) ORDER BY s.updated DESC, s.thread DESC LIMIT ?",
    );
    values.extend([updated, num, probe(query.limit)].map(Value::Integer));
    Ok((sql, values))
}

/// What to read from: the filter with the fewest matches if these are few, else the list itself.
fn choose(conn: &Connection, query: &ThreadQuery) -> rusqlite::Result<From> {
    let mut least = FEW + 1;
    let mut from = if query.status.is_some() { From::Status } else { From::Updates };
    if let Some(participant) = &query.participant {
        let mut count = conn.prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM participant WHERE tenant = ?1 AND id = ?2 LIMIT ?3)",
        )?;
        let matches =
            count.query_row(params![&*query.tenant, participant, least], |row| row.get(0))?;
        if matches < least {
            (least, from) = (matches, From::Participant);
        }
    }
    for (i, (key, value)) in query.metadata.iter().enumerate() {
        let mut count = conn.prepare_cached(
            "SELECT count(*) FROM \
             (SELECT 1 FROM label WHERE tenant = ?1 AND key = ?2 AND value = ?3 LIMIT ?4)",
        )?;
        let matches = count
            .query_row(params![&*query.tenant, key, value.spelled(), least], |row| row.get(0))?;
        if matches < least {
            (least, from) = (matches, From::Label(i));
        }
    }
    Ok(from)
}

/// A thread's line.
pub(crate) fn summary(conn: &Connection, thread: &ThreadRef) -> Result<Option<Summary>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM summary s JOIN thread t ON t.num = s.thread WHERE s.thread = ?1"
    ))?;
    Ok(find.query_row(params![thread.num], read).optional()?)
}

/// Who takes part in a thread, in the order they came.
pub(crate) fn participants(
    conn: &Connection,
    thread: &ThreadRef,
) -> Result<Vec<Participant>, ReadError> {
    let mut find = conn.prepare_cached(
        "SELECT p.id, p.role, p.name, p.since, p.gone FROM participant p \
         JOIN thread t ON t.num = p.thread \
         WHERE p.thread = ?1 AND t.deleted IS NULL ORDER BY p.nth",
    )?;
    let rows = find.query_map(params![thread.num], |row| {
        Ok(Participant {
            id: row.get(0)?,
            role: row.get(1)?,
            name: row.get(2)?,
            since: row.get::<_, i64>(3)? as u64,
            left: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let count = |at| row.get::<_, i64>(at).map(|count| count.max(0) as u64);
    let status: String = row.get(6)?;
    Ok(Summary {
        num: row.get(0)?,
        id: row.get(1)?,
        epoch: count(2)?,
        head: count(3)?,
        created: row.get(4)?,
        updated: row.get(5)?,
        status: ThreadStatus::named(&status).unwrap_or(ThreadStatus::Idle),
        title: row.get(7)?,
        metadata: row.get(8)?,
        words: row.get(9)?,
        messages: count(10)?,
        tasks: count(11)?,
        participants: count(12)?,
        artifacts: count(13)?,
        pending: count(14)?,
    })
}

#[cfg(test)]
#[path = "thread_tests.rs"]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
