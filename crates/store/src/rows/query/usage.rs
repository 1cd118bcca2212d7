//! Tokens used, by thread and by day, and what failed.

use std::ops::Range;

use crate::db::{self, Connection, Row, params};
use selvedge_protocol::journal::fold::Tokens;

use crate::query::{DayUsage, Failures, Spent, Timed, Usage, UsageBy, UsageOrder, UsageQuery};
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
    Ok(rows.collect::<db::Result<_>>()?)
}

/// What was used in a thread, all together.
pub(super) fn total(conn: &Connection, num: i64) -> db::Result<Tokens> {
    let mut find =
        conn.prepare_cached(&format!("SELECT {SUMS} FROM usage u WHERE u.thread = ?1"))?;
    find.query_row(params![num], |row| tokens(row, 0))
}

/// What was used in all threads of a tenant, from one day to before another. What a branch shares
/// is counted once, where it was used.
pub(crate) fn usage_by_day(
    conn: &Connection,
    tenant: &str,
    days: Range<i64>,
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
    Ok(rows.collect::<db::Result<_>>()?)
}

/// Some of the sums, counted from 0 in their order. What a branch shares is counted once, where it
/// was used, unless it is asked for the branch alone.
pub(crate) fn spent(
    conn: &Connection,
    tenant: &str,
    query: &UsageQuery,
    within: Range<i64>,
) -> Result<Vec<Spent>, ReadError> {
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
        None => "CAST(?4 AS BIGINT) IS NULL AND u.shared = 0",
    };
    let order = match query.order {
        UsageOrder::Named => "1, 2, 3, 4",
        UsageOrder::Dearest => "total(u.cost) DESC, total(u.input + u.output) DESC, 1, 2, 3, 4",
    };
    let mut find = conn.prepare_cached(&format!(
        "SELECT {columns}, {SUMS}, total(u.timed), total(u.millis), max(u.slowest) FROM usage u \
         JOIN thread t ON t.num = u.thread AND t.deleted IS NULL \
         WHERE u.tenant = ?1 AND u.day >= ?2 AND u.day < ?3 AND {which} \
         GROUP BY 1, 2, 3, 4 ORDER BY {order} LIMIT ?5 OFFSET ?6"
    ))?;
    let thread = query.thread.as_ref().map(|thread| thread.num);
    let (days, limit) = (&query.days, within.end.saturating_sub(within.start));
    let asked = params![tenant, days.start, days.end, thread, limit, within.start];
    let rows = find.query_map(asked, |row| {
        let [thread, agent, model] = [row.get(1)?, row.get(2)?, row.get(3)?];
        let (tokens, time) = (tokens(row, 4)?, time(row, 10)?);
        Ok(Spent { day: row.get(0)?, thread, agent, model, tokens, time })
    })?;
    Ok(rows.collect::<db::Result<_>>()?)
}

/// What failed, what failed most first, at most so many. What a branch shares is counted as usage
/// is.
pub(crate) fn failures(
    conn: &Connection,
    tenant: &str,
    query: &UsageQuery,
    limit: usize,
) -> Result<Vec<Failures>, ReadError> {
    let which = match &query.thread {
        Some(_) => "f.thread = ?4",
        None => "CAST(?4 AS BIGINT) IS NULL AND f.shared = 0",
    };
    let mut find = conn.prepare_cached(&format!(
        "SELECT f.what, f.code, f.agent, total(f.times), max(f.day) FROM failure f \
         JOIN thread t ON t.num = f.thread AND t.deleted IS NULL \
         WHERE f.tenant = ?1 AND f.day >= ?2 AND f.day < ?3 AND {which} \
         GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT ?5"
    ))?;
    let thread = query.thread.as_ref().map(|thread| thread.num);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let asked = params![tenant, query.days.start, query.days.end, thread, limit];
    let rows = find.query_map(asked, |row| {
        let [what, code, agent] = [row.get(0)?, row.get(1)?, row.get(2)?];
        let times = row.get::<f64>(3)? as u64;
        Ok(Failures { what, code, agent, times, last: row.get(4)? })
    })?;
    Ok(rows.collect::<db::Result<_>>()?)
}

fn time(row: &Row<'_>, at: usize) -> db::Result<Timed> {
    let count = |at| row.get::<f64>(at).map(|count| count as u64);
    let slowest = row.get::<Option<i64>>(at + 2)?.unwrap_or(0);
    Ok(Timed {
        calls: count(at)?,
        millis: count(at + 1)?,
        slowest: u64::try_from(slowest).unwrap_or(0),
    })
}

fn tokens(row: &Row<'_>, at: usize) -> db::Result<Tokens> {
    let count = |at| row.get::<f64>(at).map(|count| count as u64);
    Ok(Tokens {
        input: count(at)?,
        output: count(at + 1)?,
        cached: count(at + 2)?,
        reasoning: count(at + 3)?,
        calls: count(at + 4)?,
        cost: row.get(at + 5)?,
    })
}
