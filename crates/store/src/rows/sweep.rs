//! Removing the rows of deleted threads, behind.
//!
//! Invariant: rows that a branch shares stay as long as the branch. From the end backwards, so
//! that what is left has no hole.

use crate::db::{self, Connection, Optional as _, params};

use super::project::PROJECTIONS;
use super::words::unlist_row;

/// Rows of the journal that one step removes.
const ROWS: i64 = 200;

/// The next thread whose rows are to be removed.
pub(crate) fn next(conn: &Connection) -> db::Result<Option<i64>> {
    conn.prepare_cached(
        "SELECT num FROM thread WHERE deleted IS NOT NULL AND swept = 0 ORDER BY num DESC LIMIT 1",
    )?
    .query_row([], |row| row.get(0))
    .optional()
}

/// Removes some rows of a thread.
pub(crate) fn sweep(conn: &Connection, thread: i64) -> db::Result<()> {
    let keep: Option<i64> = conn
        .prepare_cached("SELECT max(fork) FROM thread WHERE parent = ?1")?
        .query_row(params![thread], |row| row.get(0))?;
    let mut last = conn.prepare_cached(
        "SELECT p.last, p.row FROM position p JOIN journal j ON j.row = p.row \
         WHERE p.thread = ?1 AND j.first > ?2 ORDER BY p.last DESC LIMIT ?3",
    )?;
    let rows = last.query_map(params![thread, keep.unwrap_or(0), ROWS], |row| {
        Ok((row.get::<i64>(0)?, row.get::<i64>(1)?))
    })?;
    let rows = rows.collect::<db::Result<Vec<_>>>()?;
    let mut journal =
        conn.prepare_cached("DELETE FROM journal WHERE row = ?1 AND thread = ?2 AND last = ?3")?;
    let mut chain = conn.prepare_cached("DELETE FROM chain WHERE row = ?1")?;
    for (last, row) in &rows {
        unlist_row(conn, *row)?;
        conn.unplace(thread, *last)?;
        journal.execute(params![row, thread, last])?;
        chain.execute(params![row])?;
    }
    if rows.len() as i64 == ROWS {
        return Ok(());
    }
    for table in PROJECTIONS.iter().chain(&["lease", "unfolded"]).chain(conn.others()) {
        conn.prepare_cached(&format!("DELETE FROM {table} WHERE thread = ?1"))?
            .execute(params![thread])?;
    }
    // Of what it shared itself, it now needs no more than its branches do, or nothing.
    let parent: Option<Option<i64>> = match keep {
        Some(keep) => {
            unlist(conn, thread)?;
            conn.prepare_cached("UPDATE thread SET swept = 1 WHERE num = ?1")?
                .execute(params![thread])?;
            conn.prepare_cached(
                "UPDATE thread SET fork = ?2 WHERE num = ?1 AND fork > ?2 RETURNING parent",
            )?
            .query_row(params![thread, keep], |row| row.get(0))
            .optional()?
        }
        None => {
            conn.prepare_cached("DELETE FROM instead WHERE thread = ?1")?
                .execute(params![thread])?;
            conn.prepare_cached("DELETE FROM thread WHERE num = ?1 RETURNING parent")?
                .query_row(params![thread], |row| row.get(0))
                .optional()?
        }
    };
    conn.prepare_cached("UPDATE thread SET swept = 0 WHERE num = ?1")?
        .execute(params![parent.flatten()])?;
    Ok(())
}

/// Takes the rows that stay out of the index: they are read through the branches only.
fn unlist(conn: &Connection, thread: i64) -> db::Result<()> {
    let mut kept = conn.prepare_cached("SELECT row FROM position WHERE thread = ?1")?;
    let kept = kept.query_map(params![thread], |row| row.get::<i64>(0))?;
    for row in kept {
        unlist_row(conn, row?)?;
    }
    Ok(())
}
