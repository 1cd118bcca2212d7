//! Tokens used, by thread and by day.

use rusqlite::{Connection, Row, params};
use selvedge_protocol::journal::fold::Tokens;

use super::{page, probe};
use crate::query::{DayUsage, Listed, Place, Spent, Usage, UsageBy, UsageQuery};
use crate::{ReadError, ThreadRef};

/// As floats, which do not overflow.
const SUMS: &str = "total(u.input), total(u.output), total(u.cached), total(u.reasoning), \
     total(u.calls), total(u.cost)";

/// What was used in a thread, what it shares with the one it branched off from included.
pub(crate) fn usage(conn: &Connection, thread: &ThreadRef) -> Result<Vec<Usage>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT u.agent, u.model, {SUMS} FROM usage u JOIN thread t ON t.num = u.thread \
         WHERE u.thread = ?1 AND t.deleted IS NULL GROUP BY u.agent, u.model \
         ORDER BY u.agent, u.model"
    ))?;
    let rows = find.query_map(params![thread.num], |row| {
        Ok(Usage { agent: row.get(0)?, model: row.get(1)?, tokens: tokens(row, 2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What was used in all threads of a tenant, from one day to before another. What a branch shares
/// is counted once, where it was used.
pub(crate) fn usage_by_day(
    conn: &Connection,
    tenant: &str,
    days: std::ops::Range<i64>,
) -> Result<Vec<DayUsage>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT u.day, u.agent, u.model, {SUMS} FROM usage u INDEXED BY usage_by_day \
         CROSS JOIN thread t ON t.num = u.thread AND t.deleted IS NULL \
         WHERE u.tenant = ?1 AND u.shared = 0 AND u.day >= ?2 AND u.day < ?3 \
         GROUP BY u.day, u.agent, u.model ORDER BY u.day, u.agent, u.model"
    ))?;
    let rows = find.query_map(params![tenant, days.start, days.end], |row| {
        Ok(DayUsage {
            day: row.get(0)?,
            agent: row.get(1)?,
            model: row.get(2)?,
            tokens: tokens(row, 3)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A page of sums. What a branch shares is counted once, where it was used, unless it is asked for
/// the branch alone.
pub(crate) fn spent(
    conn: &Connection,
    tenant: &str,
    query: &UsageQuery,
) -> Result<Listed<Spent>, ReadError> {
    let [offset] = query.after.as_ref().map_or(Ok([0]), Place::numbers)?;
    let column = |by: UsageBy| match (by, query.by.contains(&by)) {
        (_, false) => "NULL",
        (UsageBy::Day, true) => "u.day",
        (UsageBy::Thread, true) => "t.id",
        (UsageBy::Agent, true) => "u.agent",
        (UsageBy::Model, true) => "u.model",
    };
    let columns = UsageBy::ALL.map(column).join(", ");
    let which = match &query.thread {
        Some(_) => "u.thread = ?4",
        None => "?4 IS NULL AND u.shared = 0",
    };
    let mut find = conn.prepare_cached(&format!(
        "SELECT {columns}, {SUMS} FROM usage u \
         JOIN thread t ON t.num = u.thread AND t.deleted IS NULL \
         WHERE u.tenant = ?1 AND u.day >= ?2 AND u.day < ?3 AND {which} \
         GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 LIMIT ?5 OFFSET ?6"
    ))?;
    let thread = query.thread.as_ref().map(|thread| thread.num);
    let offset = offset.max(0);
    let days = &query.days;
    let asked = params![tenant, days.start, days.end, thread, probe(query.limit), offset];
    let rows = find.query_map(asked, |row| {
        let [thread, agent, model] = [row.get(1)?, row.get(2)?, row.get(3)?];
        Ok(Spent { day: row.get(0)?, thread, agent, model, tokens: tokens(row, 4)? })
    })?;
    let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let next = offset.saturating_add(probe(query.limit) - 1);
    Ok(page(rows, query.limit, |_| Place::of([next])))
}

fn tokens(row: &Row<'_>, at: usize) -> rusqlite::Result<Tokens> {
    let count = |at| row.get::<_, f64>(at).map(|count| count as u64);
    Ok(Tokens {
        input: count(at)?,
        output: count(at + 1)?,
        cached: count(at + 2)?,
        reasoning: count(at + 3)?,
        calls: count(at + 4)?,
        cost: row.get(at + 5)?,
    })
}
