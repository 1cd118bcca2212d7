//! Lists of threads.
//!
//! A list is in the order of updates. With a filter, either few threads match: then they are
//! gathered and sorted; or many: then the list is walked and they come soon. If they do not, they
//! are all far down, and are gathered after all. Each way reads a small part of a large table.

use crate::db::{self, Connection, Optional as _, Row, gathered, params};
use rusqlite::types::Value;

use super::{Ranked, probe};
use crate::query::{Glance, Participant, Summary, ThreadQuery, ThreadStatus};
use crate::{ReadError, ThreadRef};

/// Matches that are gathered rather than waited for along the list.
const FEW: i64 = 4096;
/// How far the list is walked for the others, and how many are gathered after that.
const WALK: i64 = 20_000;
const MANY: i64 = 200_000;

const COLUMNS: &str = "t.num, t.id, t.epoch, s.head, t.created, s.updated, s.status, s.title, \
     s.metadata, s.words, s.messages, s.tasks, s.participants, s.artifacts, s.pending";

/// A page of threads.
pub(crate) fn threads(
    conn: &Connection,
    query: &ThreadQuery,
) -> Result<Ranked<Summary, 2>, ReadError> {
    let mut from = choose(conn, query, FEW)?;
    // PostgreSQL knows from its statistics how soon they come, and keeps no order but the one asked.
    let is_walked = matches!((conn, &from), (Connection::Sqlite(_), From::Walk));
    if is_walked && !(query.participant.is_none() && query.metadata.is_empty()) {
        let items = run(conn, query, &From::Stretch)?;
        if items.len() as i64 == probe(query.limit) {
            return Ok(ranked(items));
        }
        from = choose(conn, query, MANY)?;
    }
    Ok(ranked(run(conn, query, &from)?))
}

fn ranked(items: Vec<Summary>) -> Ranked<Summary, 2> {
    let place = |item: Summary| {
        let place = [item.updated, item.num];
        (item, place)
    };
    items.into_iter().map(place).collect()
}

fn run(conn: &Connection, query: &ThreadQuery, from: &From) -> Result<Vec<Summary>, ReadError> {
    let (sql, values) = statement(query, from)?;
    let mut find = conn.prepare_cached(&sql)?;
    let rows = find.query_map(&gathered(&values), read)?;
    Ok(rows.collect::<db::Result<_>>()?)
}

/// What the list is read from.
#[derive(Debug, PartialEq)]
enum From {
    /// The list itself.
    Walk,
    /// The next stretch of the list.
    Stretch,
    /// The threads of a participant.
    Participant,
    /// The threads with the metadata of that index in the query.
    Label(usize),
}

/// The statement for a query, with its values in order.
fn statement(query: &ThreadQuery, from: &From) -> Result<(String, Vec<Value>), ReadError> {
    const PLACE: &str = "(s.updated, s.thread) < (?, ?) ORDER BY s.updated DESC, s.thread DESC";
    let place = match &query.after {
        Some(place) => place.numbers()?,
        None => [i64::MAX, i64::MAX],
    };
    let place = place.map(Value::Integer);
    let text = |text: &str| Value::Text(text.to_owned());
    let (list, mut of, mut values) = match query.status {
        None => ("summary s INDEXED BY summary_by_update", "s.tenant = ?".to_owned(), Vec::new()),
        Some(status) => {
            let of = "s.status = ? AND s.tenant = ?".to_owned();
            ("summary s INDEXED BY summary_by_status", of, vec![text(status.name())])
        }
    };
    values.push(text(&query.tenant));
    let list = match from {
        From::Walk => list.to_owned(),
        From::Stretch => {
            let stretch = format!("(SELECT * FROM {list} WHERE {of} AND {PLACE} LIMIT {WALK}) s");
            values.extend(place.clone());
            of = "1 = 1".to_owned();
            stretch
        }
        From::Participant => "participant d CROSS JOIN summary s".to_owned(),
        From::Label(_) => "label d CROSS JOIN summary s".to_owned(),
    };
    let mut sql =
        format!("SELECT {COLUMNS} FROM {list} CROSS JOIN thread t ON t.num = s.thread WHERE {of}");
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
        if matches!(from, From::Label(at) if *at == i) {
            sql.push_str(" AND s.thread = d.thread AND d.tenant = ? AND d.key = ? AND d.value = ?");
            values.push(text(&query.tenant));
        } else {
            sql.push_str(
                " AND (SELECT l.value FROM label l WHERE l.thread = s.thread AND l.key = ?) = ?",
            );
        }
        values.extend([text(key), Value::Text(value.spelled())]);
    }
    if *from == From::Stretch {
        // In the order of the stretch: asked to sort, SQLite would read all of it first.
        sql.push_str(" LIMIT ?");
    } else {
        sql.push_str(&format!(" AND {PLACE} LIMIT ?"));
        values.extend(place);
    }
    values.push(Value::Integer(probe(query.limit)));
    Ok((sql, values))
}

/// What to read from: the filter with the fewest matches if there are no more than so many, else
/// the list itself.
fn choose(conn: &Connection, query: &ThreadQuery, most: i64) -> db::Result<From> {
    let mut least = most + 1;
    let mut from = From::Walk;
    if let Some(participant) = &query.participant {
        let mut count = conn.prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM participant WHERE tenant = ?1 AND id = ?2 LIMIT ?3) few",
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
             (SELECT 1 FROM label WHERE tenant = ?1 AND key = ?2 AND value = ?3 LIMIT ?4) few",
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
pub(crate) fn summary(conn: &Connection, thread: i64) -> Result<Option<Summary>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM summary s JOIN thread t ON t.num = s.thread WHERE s.thread = ?1"
    ))?;
    Ok(find.query_row(params![thread], read).optional()?)
}

/// Agents that a glance shows.
const GLANCE: usize = 6;

/// Who works in a thread, and what that has cost. Whoever only acted is an agent if tokens or a
/// task are theirs.
pub(crate) fn glance(conn: &Connection, num: i64) -> Result<Glance, ReadError> {
    let mut find = conn.prepare_cached(
        "SELECT p.id, p.role, p.name, p.since, p.gone FROM participant p \
         WHERE p.thread = ?1 AND (p.role = 'agent' OR p.role IS NULL AND ( \
             p.id IN (SELECT u.agent FROM usage u WHERE u.thread = ?1) \
             OR EXISTS (SELECT 1 FROM task k WHERE k.thread = ?1 AND k.agent = p.id))) \
         ORDER BY p.nth LIMIT ?2",
    )?;
    let agents = find.query_map(params![num, GLANCE as i64], participant)?;
    let agents = agents.collect::<db::Result<_>>()?;
    Ok(Glance { agents, tokens: super::usage::total(conn, num)? })
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
    let rows = find.query_map(params![thread.num], participant)?;
    Ok(rows.collect::<db::Result<_>>()?)
}

fn participant(row: &Row<'_>) -> db::Result<Participant> {
    Ok(Participant {
        id: row.get(0)?,
        role: row.get(1)?,
        name: row.get(2)?,
        since: row.get::<i64>(3)? as u64,
        left: row.get(4)?,
    })
}

fn read(row: &Row<'_>) -> db::Result<Summary> {
    let count = |at| row.get::<i64>(at).map(|count| count.max(0) as u64);
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
