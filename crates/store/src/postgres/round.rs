//! Following many threads together, with as few round trips as there are kinds of rows.
//!
//! What projections hold of threads is remembered from one round to the next. Another node may
//! follow the same threads, and others write them anew: each does so in a transaction that writes
//! the thread's row in `followed`.
//!
//! Invariant: what is remembered of a thread counts only while its row in `followed` is the one that
//! was written here, which PostgreSQL tells by the transaction that wrote it.

use std::collections::HashMap;

use sqlx_postgres::PgArguments;

use super::Client;
use super::follow::{Mark, Words};
use super::search::{Lines, Tokens};
use super::threads::add;
use crate::db::{self, Connection, Row};
use crate::rows::project::Projection;
use crate::rows::thread::batch;

/// Threads that are followed in one transaction.
pub(super) const THREADS: usize = 64;
/// Rows of the journal that one step follows, of all threads and of one at least.
const ROWS: i64 = 4096;
const ROWS_OF_EACH: i64 = 64;
/// Bytes of them.
const BYTES: i64 = 32 << 20;
/// Threads that are remembered.
const REMEMBERED: usize = 4096;

/// Follows, and remembers what it came to.
pub(super) struct Rounds {
    tokens: Tokens,
    projection: Projection,
    /// Which transaction wrote how far a thread was followed, the last time here.
    wrote: HashMap<i64, i64>,
}

impl Rounds {
    pub(super) fn new() -> db::Result<Self> {
        let (projection, wrote) = (Projection::default(), HashMap::new());
        Ok(Self { tokens: Tokens::new()?, projection, wrote })
    }

    /// Follows some threads for a while, in one transaction of its own; those that have more to
    /// follow.
    pub(super) fn follow(
        &mut self,
        conn: &Connection,
        client: &Client,
        threads: &[i64],
    ) -> db::Result<Vec<i64>> {
        let followed = conn.together(|conn| self.step(conn, client, threads));
        if followed.is_err() || self.wrote.len() > REMEMBERED {
            self.projection.forget();
            self.wrote.clear();
        }
        followed
    }

    fn step(
        &mut self,
        conn: &Connection,
        client: &Client,
        threads: &[i64],
    ) -> db::Result<Vec<i64>> {
        let Self { tokens, projection, wrote } = self;
        let mut marks = Vec::with_capacity(threads.len());
        for row in locked(client, threads)? {
            let (mark, tenant): (_, Option<String>) = (Mark::read(&row)?, row.get(3)?);
            if tenant.is_none() || wrote.get(&mark.thread) != Some(&row.get(4)?) {
                projection.forget_thread(mark.thread);
            }
            marks.push((mark, Words { tokens, tenant }));
        }
        let of_each = |all: i64| all / i64::try_from(threads.len()).unwrap_or(1).max(1);
        let most = (of_each(ROWS).max(ROWS_OF_EACH), of_each(BYTES));
        let mut lines = Lines::default();
        let (mut more, mut count) = (Vec::new(), 0);
        let rows = unseen(client, &marks, most)?;
        let mut left = marks.iter_mut().peekable();
        for row in rows {
            let thread: i64 = row.get(4)?;
            // Both are in the order of threads.
            while left.next_if(|(mark, _)| mark.thread < thread).is_some() {
                count = 0;
            }
            let Some((mark, words)) = left.peek_mut() else { break };
            mark.take(conn, projection, Some((words, &mut lines)), row.get(0)?, &batch(&row)?)?;
            count += 1;
            if count == most.0 || row.get::<i64>(5)? >= most.1 {
                more.push(thread);
            }
        }
        projection.write(conn)?;
        lines.write(client)?;
        for row in save(client, &marks)? {
            wrote.insert(row.get(0)?, row.get(1)?);
        }
        Ok(more)
    }
}

type Rows = Vec<Row<'static>>;

/// How far threads were followed, whose they are unless they are deleted, and which transaction
/// wrote that; locked.
fn locked(client: &Client, threads: &[i64]) -> db::Result<Rows> {
    let mut arguments = PgArguments::default();
    add(&mut arguments, threads.to_vec())?;
    let found = client.rows(
        "SELECT f.thread, f.projected, f.searched, t.tenant, \
             CAST(CAST(f.xmin AS text) AS bigint) FROM followed f \
         LEFT JOIN thread t ON t.num = f.thread AND t.deleted IS NULL \
         WHERE f.thread = ANY($1) ORDER BY f.thread FOR UPDATE OF f",
        arguments,
    )?;
    Ok(found.into_iter().map(Row::Postgres).collect())
}

/// What was not followed of threads, up to so many rows and so many bytes of each (but for the row
/// that begins before those are reached), in their order.
fn unseen(client: &Client, marks: &[(Mark, Words<'_>)], most: (i64, i64)) -> db::Result<Rows> {
    let list =
        |pick: fn(&Mark) -> i64| -> Vec<i64> { marks.iter().map(|(mark, _)| pick(mark)).collect() };
    let mut arguments = PgArguments::default();
    add(&mut arguments, list(|mark| mark.thread))?;
    add(&mut arguments, list(|mark| mark.seen() as i64))?;
    add(&mut arguments, most.0)?;
    add(&mut arguments, most.1)?;
    let rows = client.rows(
        "SELECT j.row, j.first, j.at, j.body, k.thread, j.upto \
         FROM unnest($1::bigint[], $2::bigint[]) AS k (thread, seen) \
         CROSS JOIN LATERAL (SELECT o.*, \
                 CAST(sum(octet_length(o.body)) OVER (ORDER BY o.last) AS bigint) AS upto \
             FROM (SELECT row, first, last, at, body FROM journal \
                 WHERE thread = k.thread AND last > k.seen ORDER BY last LIMIT $3) o) j \
         WHERE j.upto - octet_length(j.body) < $4 \
         ORDER BY k.thread, j.last",
        arguments,
    )?;
    Ok(rows.into_iter().map(Row::Postgres).collect())
}

/// Writes down how far threads were followed; each with the transaction that this is.
fn save(client: &Client, marks: &[(Mark, Words<'_>)]) -> db::Result<Rows> {
    let list =
        |pick: fn(&Mark) -> i64| -> Vec<i64> { marks.iter().map(|(mark, _)| pick(mark)).collect() };
    let mut arguments = PgArguments::default();
    add(&mut arguments, list(|mark| mark.thread))?;
    add(&mut arguments, list(|mark| mark.projected as i64))?;
    add(&mut arguments, list(|mark| mark.searched as i64))?;
    let saved = client.rows(
        "UPDATE followed f SET projected = n.projected, searched = n.searched \
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (thread, projected, searched) \
         WHERE f.thread = n.thread RETURNING f.thread, CAST(CAST(f.xmin AS text) AS bigint)",
        arguments,
    )?;
    Ok(saved.into_iter().map(Row::Postgres).collect())
}
