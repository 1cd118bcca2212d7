//! Overwriting what was taken out, wherever it may still stand in the file.
//!
//! A page that is written loses what was deleted in it (`secure_delete`). What is left are words of
//! the index that are only marked as gone, pages that are not used any more, and the write-ahead
//! log. In steps, between appends; what is begun is finished after a restart.

use std::time::Duration;

use crate::db::{self, Connection, params};

use super::{marks, open};

/// Pages of the index that one step merges.
const MERGED: i64 = 200;
/// Bytes of unused pages that are overwritten together.
const ZEROES: i64 = 16 << 20;

/// How long a reader of the write-ahead log may hold it up.
const SHORT: Duration = Duration::from_millis(20);

/// What is left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    /// The index is to be merged into one, without the words that are gone.
    Words,
    /// It is being merged.
    Merging,
    /// Pages that are not used are to be overwritten.
    Pages,
    /// The write-ahead log is to be copied back and cut off.
    Log,
}

impl Left {
    const ALL: [Self; 5] = [Self::Nothing, Self::Words, Self::Merging, Self::Pages, Self::Log];

    fn load(conn: &Connection) -> db::Result<Self> {
        let value = get(conn, "scrub")?;
        let known = usize::try_from(value).ok().and_then(|value| Self::ALL.get(value));
        Ok(known.copied().unwrap_or(Self::Words))
    }

    fn save(self, conn: &Connection) -> db::Result<()> {
        set(conn, "scrub", self as i64)
    }
}

/// Whether there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scrubbed {
    Some,
    /// Someone reads what is to be cut off: another time.
    Later,
    All,
}

/// Notes that something is to be overwritten, in the transaction that takes it out.
pub(super) fn want(conn: &Connection) -> db::Result<()> {
    Left::Words.save(conn)
}

/// Does a part of it.
pub(super) fn step(conn: &Connection) -> db::Result<Scrubbed> {
    match Left::load(conn)? {
        Left::Nothing => return Ok(Scrubbed::All),
        Left::Words => marks::lightly(conn, |conn| {
            merge(conn, -MERGED)?;
            Left::Merging.save(conn)
        })?,
        Left::Merging => marks::lightly(conn, |conn| match merge(conn, MERGED)? {
            Merge::More => Ok(()),
            Merge::Done => Left::Pages.save(conn),
        })?,
        Left::Pages => {
            pages(conn)?;
            Left::Log.save(conn)?;
        }
        Left::Log => {
            if !cut_log(conn)? {
                return Ok(Scrubbed::Later);
            }
            Left::Nothing.save(conn)?;
        }
    }
    Ok(Scrubbed::Some)
}

enum Merge {
    More,
    Done,
}

/// Merges the index for about so many pages; a negative number begins anew with all of it.
fn merge(conn: &Connection, pages: i64) -> db::Result<Merge> {
    let changes =
        |conn: &Connection| conn.query_row("SELECT total_changes()", [], |row| row.get::<i64>(0));
    let before = changes(conn)?;
    conn.prepare_cached("INSERT INTO search (search, rank) VALUES ('merge', ?1)")?
        .execute(params![pages])?;
    // As the documentation has it: fewer than two, and there was nothing to merge.
    Ok(if changes(conn)? - before < 2 { Merge::Done } else { Merge::More })
}

/// Overwrites the pages that are not used.
fn pages(conn: &Connection) -> db::Result<()> {
    if get(conn, "zeroed")? == 0 {
        // Written by an older version, which left bytes behind in pages that are used, too.
        conn.execute_batch("VACUUM")?;
        return set(conn, "zeroed", 1);
    }
    let unused: i64 = conn.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
    let size: i64 = conn.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    marks::lightly(conn, |conn| {
        // Whatever is written next takes them first.
        conn.execute_batch("CREATE TABLE zeroes (bytes BLOB NOT NULL) STRICT")?;
        let mut left = unused * size;
        while left > 0 {
            conn.prepare_cached("INSERT INTO zeroes VALUES (zeroblob(?1))")?
                .execute(params![left.min(ZEROES)])?;
            left -= ZEROES;
        }
        conn.execute_batch("DROP TABLE zeroes")
    })
}

/// Copies the write-ahead log back and cuts it off; `false` if someone reads from it.
fn cut_log(conn: &Connection) -> db::Result<bool> {
    // Appends wait for this: who reads for long is not waited for.
    let wait =
        |time: Duration| conn.execute_batch(&format!("PRAGMA busy_timeout = {}", time.as_millis()));
    wait(SHORT)?;
    let busy = conn.query_row("PRAGMA wal_checkpoint(truncate)", [], |row| row.get::<i64>(0));
    wait(open::BUSY)?;
    Ok(busy? == 0)
}

fn get(conn: &Connection, what: &str) -> db::Result<i64> {
    conn.prepare_cached("SELECT value FROM chore WHERE what = ?1")?
        .query_row(params![what], |row| row.get(0))
}

fn set(conn: &Connection, what: &str, value: i64) -> db::Result<()> {
    conn.prepare_cached("UPDATE chore SET value = ?2 WHERE what = ?1")?
        .execute(params![what, value])?;
    Ok(())
}
