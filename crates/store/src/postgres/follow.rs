//! What is made from the journal behind the acknowledgement, thread by thread.
//!
//! Invariant: how far a thread was followed is written with what that came to, under a lock of its
//! own. So any node can follow any thread, and following again changes nothing.

use super::migrate;
use super::search::{self, Lines, Tokens};
use crate::Batch;
use crate::db::{self, Connection, Optional as _, Row, params};
use crate::rows::project::{self, PROJECTIONS, Projection};
use crate::rows::thread::rows_after;

/// Rows that are followed for one guard; more take too long for those who wait behind it.
const GUARD_ROWS: usize = 20_000;

/// Whether all was followed that there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    All,
    Part,
}

/// How far a thread was followed.
pub(super) struct Mark {
    pub(super) thread: i64,
    pub(super) projected: u64,
    pub(super) searched: u64,
}

/// Brings what is known of one thread up to date, inside a transaction.
pub(super) fn fully(conn: &Connection, thread: i64) -> db::Result<Reached> {
    let find = conn
        .prepare_cached(
            "SELECT thread, projected, searched FROM followed WHERE thread = ?1 FOR UPDATE",
        )?
        .query_row(params![thread], Mark::read)
        .optional()?;
    let Some(mut mark) = find else { return Ok(Reached::All) };
    let reached = mark.advance(conn, None, GUARD_ROWS)?;
    mark.save(conn)?;
    Ok(reached)
}

/// What it takes to index words: what a word is, and whose they are, unless the thread is deleted.
pub(super) struct Words<'t> {
    pub(super) tokens: &'t Tokens,
    pub(super) tenant: Option<String>,
}

impl Mark {
    /// A row as `thread, projected, searched`.
    pub(super) fn read(row: &Row<'_>) -> db::Result<Self> {
        let (projected, searched) = (row.get::<i64>(1)? as u64, row.get::<i64>(2)? as u64);
        Ok(Self { thread: row.get(0)?, projected, searched })
    }

    /// From where on there is something to follow.
    pub(super) fn seen(&self) -> u64 {
        self.projected.min(self.searched)
    }

    /// Follows one row.
    pub(super) fn take(
        &mut self,
        conn: &Connection,
        projection: &mut Projection,
        words: Option<(&Words<'_>, &mut Lines)>,
        row: i64,
        batch: &Batch,
    ) -> db::Result<()> {
        if batch.last() > self.projected {
            projection.apply(conn, self.thread, batch)?;
            self.projected = batch.last();
        }
        if let Some((Words { tokens, tenant }, lines)) = words
            && batch.last() > self.searched
        {
            if let Some(tenant) = tenant {
                lines.add(conn, tokens, row, (self.thread, tenant), batch)?;
            }
            self.searched = batch.last();
        }
        Ok(())
    }

    /// Follows rows, up to so many. Words are found later where nobody asks for them now.
    fn advance(
        &mut self,
        conn: &Connection,
        words: Option<&Words<'_>>,
        most: usize,
    ) -> db::Result<Reached> {
        let (mut projection, mut lines) = (Projection::default(), Lines::default());
        let from = if words.is_some() { self.seen() } else { self.projected };
        let (mut left, thread) = (most, self.thread);
        rows_after(conn, thread, from, |row, batch| {
            if left == 0 {
                return Ok(false);
            }
            left -= 1;
            let words = words.map(|words| (words, &mut lines));
            self.take(conn, &mut projection, words, row, batch)?;
            Ok::<_, db::Error>(true)
        })?;
        projection.write(conn)?;
        if let Connection::Postgres(client) = conn {
            lines.write(client)?;
        }
        Ok(if left == 0 { Reached::Part } else { Reached::All })
    }

    fn save(&self, conn: &Connection) -> db::Result<()> {
        conn.prepare_cached("UPDATE followed SET projected = ?2, searched = ?3 WHERE thread = ?1")?
            .execute(params![self.thread, self.projected as i64, self.searched as i64])?;
        Ok(())
    }
}

fn tenant(conn: &Connection, thread: i64) -> db::Result<Option<String>> {
    conn.prepare_cached("SELECT tenant FROM thread WHERE num = ?1 AND deleted IS NULL")?
        .query_row(params![thread], |row| row.get(0))
        .optional()
}

/// Whether there is something of a thread that was not followed.
pub(super) fn is_behind(conn: &Connection, thread: i64) -> db::Result<bool> {
    conn.prepare_cached(
        "SELECT 1 FROM thread t JOIN followed f ON f.thread = t.num \
         WHERE t.num = ?1 AND (f.projected < t.head OR f.searched < t.head)",
    )?
    .exists(params![thread])
}

/// Threads of which not all was followed, up to so many.
pub(super) fn behind(conn: &Connection, most: usize) -> db::Result<Vec<i64>> {
    let mut find = conn.prepare_cached(
        "SELECT t.num FROM thread t JOIN followed f ON f.thread = t.num \
         WHERE t.deleted IS NULL AND (f.projected < t.head OR f.searched < t.head) \
         ORDER BY t.num LIMIT ?1",
    )?;
    let found = find.query_map(params![most as i64], |row| row.get(0))?;
    found.collect()
}

/// Entries that were followed by everything, of all.
pub(super) fn progress(conn: &Connection) -> db::Result<crate::Progress> {
    conn.query_row(
        "SELECT CAST(coalesce(sum((f.projected + f.searched) / 2), 0) AS bigint), \
             CAST(coalesce(sum(t.head), 0) AS bigint) \
         FROM thread t JOIN followed f ON f.thread = t.num WHERE t.deleted IS NULL",
        [],
        |row| {
            let (done, total) =
                (row.get::<i64>(0)?.max(0) as u64, row.get::<i64>(1)?.max(1) as u64);
            // That all is done is said by whoever has nothing left to do.
            Ok(crate::Progress { done: done.min(total - 1), total })
        },
    )
}

/// Drops what follows of some threads, inside a transaction, so that it is made anew.
pub(super) fn forget(conn: &Connection, threads: &[i64]) -> db::Result<()> {
    for thread in threads {
        // First: whoever follows it right now has come to an end then, and what they wrote goes.
        conn.prepare_cached("UPDATE followed SET projected = 0, searched = 0 WHERE thread = ?1")?
            .execute(params![thread])?;
        for table in PROJECTIONS.iter().chain(&["search"]) {
            conn.prepare_cached(&format!("DELETE FROM {table} WHERE thread = ?1"))?
                .execute(params![thread])?;
        }
    }
    Ok(())
}

/// Makes what follows of a thread anew, inside a transaction.
pub(super) fn anew(conn: &Connection, tokens: &Tokens, thread: i64) -> db::Result<()> {
    forget(conn, &[thread])?;
    let Some(tenant) = tenant(conn, thread)? else { return Ok(()) };
    let words = Words { tokens, tenant: Some(tenant) };
    let mut mark = Mark { thread, projected: 0, searched: 0 };
    while mark.advance(conn, Some(&words), usize::MAX)? == Reached::Part {}
    mark.save(conn)
}

/// Drops everything that follows.
pub(super) fn reset(conn: &Connection) -> db::Result<()> {
    let drop_all = |conn: &Connection| {
        drop_projections(conn)?;
        drop_words(conn)
    };
    conn.at_leisure(|conn| conn.together(drop_all))
}

/// Drops what other code has made, so that it is made anew. What newer code makes is left to it.
pub(super) fn renew(conn: &Connection) -> db::Result<()> {
    if migrate::is_ahead(conn)? {
        return Ok(());
    }
    let made = |what: &str| {
        conn.query_row("SELECT version FROM made WHERE what = ?1", params![what], |row| {
            row.get::<i64>(0)
        })
        .optional()
    };
    let (projection, search) = (made("projection")?, made("search")?);
    if projection == Some(project::VERSION) && search == Some(search::VERSION) {
        return Ok(());
    }
    let drop_old = |conn: &Connection| {
        if projection != Some(project::VERSION) {
            drop_projections(conn)?;
        }
        if search != Some(search::VERSION) {
            drop_words(conn)?;
        }
        Ok(())
    };
    conn.at_leisure(|conn| conn.together(drop_old))
}

fn drop_projections(conn: &Connection) -> db::Result<()> {
    conn.execute_batch(&format!("TRUNCATE {}", PROJECTIONS.join(", ")))?;
    conn.execute("UPDATE followed SET projected = 0 WHERE projected <> 0", [])?;
    note_made(conn, "projection", project::VERSION)
}

fn drop_words(conn: &Connection) -> db::Result<()> {
    conn.execute_batch("TRUNCATE search")?;
    conn.execute("UPDATE followed SET searched = 0 WHERE searched <> 0", [])?;
    note_made(conn, "search", search::VERSION)
}

fn note_made(conn: &Connection, what: &str, version: i64) -> db::Result<()> {
    conn.execute(
        "INSERT INTO made (what, version) VALUES (?1, ?2) \
         ON CONFLICT (what) DO UPDATE SET version = ?2",
        params![what, version],
    )?;
    Ok(())
}
