//! Following from the journal itself, in short steps: search always, projections after a rebuild.

use std::time::Instant;

use crate::db::{self, Connection, params};
use bytes::Bytes;

use super::marks::{self, What};
use super::search as index;
use crate::rows::project::Projection;
use crate::rows::text::Place;
use crate::{Batch, Progress};

/// Whether there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caught {
    More,
    Up,
}

/// Rows that were followed by everything, of all.
pub(super) fn progress(conn: &Connection) -> db::Result<Progress> {
    let total = marks::get(conn, What::Position)?;
    let projected = marks::get(conn, What::Projection)?;
    let searched = marks::get(conn, What::Search)?;
    // Each row is read twice; that all is done is said by whoever has nothing left to do.
    let done = (projected + searched) / 2;
    Ok(Progress { done: done.min(total - 1).max(0) as u64, total: total.max(1) as u64 })
}

/// Projects rows until a moment.
pub(super) fn projection(conn: &Connection, until: Instant) -> db::Result<Caught> {
    let (from, to) = (marks::get(conn, What::Projection)?, marks::get(conn, What::Position)?);
    if from >= to {
        return Ok(Caught::Up);
    }
    marks::lightly(conn, |conn| {
        let mut projection = Projection::default();
        let mut rows = conn.prepare_cached(
            "SELECT row, thread, first, at, body FROM journal \
             WHERE row > ?1 AND row <= ?2 ORDER BY row",
        )?;
        let mut rows = rows.query(params![from, to])?;
        let mut done = to;
        while let Some(row) = rows.next()? {
            let body = Bytes::from(row.get::<String>(4)?);
            let batch = Batch::parse(row.get::<i64>(2)? as u64, row.get(3)?, &body);
            projection.apply(conn, row.get(1)?, &batch)?;
            if Instant::now() >= until {
                done = row.get(0)?;
                break;
            }
        }
        drop(rows);
        projection.write(conn)?;
        marks::set(conn, What::Projection, done)?;
        Ok(if done < to { Caught::More } else { Caught::Up })
    })
}

/// Adds rows to the index until a moment.
pub(super) fn search(conn: &Connection, until: Instant) -> db::Result<Caught> {
    let (from, to) = (marks::get(conn, What::Search)?, marks::get(conn, What::Position)?);
    if from >= to {
        return Ok(Caught::Up);
    }
    marks::lightly(conn, |conn| {
        let mut rows = conn.prepare_cached(
            "SELECT j.row, t.tenant, j.body, j.thread, j.first FROM journal j CROSS JOIN thread t ON t.num = j.thread \
             WHERE j.row > ?1 AND j.row <= ?2 AND t.deleted IS NULL ORDER BY j.row",
        )?;
        let mut rows = rows.query(params![from, to])?;
        let mut done = to;
        while let Some(row) = rows.next()? {
            let number = row.get(0)?;
            // Both are text in a strict table.
            let tenant = row.get_ref(1)?.as_str().unwrap_or_default();
            let body = row.get_ref(2)?.as_str().unwrap_or_default();
            let first = Place { thread: row.get(3)?, seq: row.get::<i64>(4)? as u64 };
            index::add(conn, number, tenant, first, body)?;
            if Instant::now() >= until {
                done = number;
                break;
            }
        }
        drop(rows);
        marks::set(conn, What::Search, done)?;
        Ok(if done < to { Caught::More } else { Caught::Up })
    })
}
