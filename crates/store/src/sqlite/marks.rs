//! How far what follows behind has come, and which code made it.

use crate::db::{self, Connection, params};

use super::search;
use crate::rows::project::{self, PROJECTIONS};

/// Something that follows the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Where a thread's rows are, and idempotency keys.
    Position,
    /// What is known of threads.
    Projection,
    /// Words to be found.
    Search,
    /// Rows that were looked at for pieces of text to fold.
    Folded,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Position => "position",
            Self::Projection => "projection",
            Self::Search => "search",
            Self::Folded => "folded",
        }
    }

    fn version(self) -> i64 {
        match self {
            Self::Position | Self::Folded => 0,
            Self::Projection => project::VERSION,
            Self::Search => search::VERSION,
        }
    }
}

/// The last row that was followed.
pub(super) fn get(conn: &Connection, what: What) -> db::Result<i64> {
    conn.prepare_cached("SELECT row FROM followed WHERE what = ?1")?
        .query_row(params![what.name()], |row| row.get(0))
}

/// Writes down how far it has come; in the same transaction as what it has come to.
pub(super) fn set(conn: &Connection, what: What, row: i64) -> db::Result<()> {
    conn.prepare_cached("UPDATE followed SET row = ?2 WHERE what = ?1")?
        .execute(params![what.name(), row])?;
    Ok(())
}

/// Drops what other code has made, so that it is made anew.
pub(super) fn renew(conn: &Connection) -> db::Result<()> {
    for what in [What::Projection, What::Search] {
        let made: i64 = conn.query_row(
            "SELECT version FROM followed WHERE what = ?1",
            params![what.name()],
            |row| row.get(0),
        )?;
        if made != what.version() {
            lightly(conn, |conn| reset(conn, what))?;
        }
    }
    Ok(())
}

/// Drops everything that follows, and builds anew where rows are: what is served while the rest
/// follows needs that.
pub(crate) fn reset_all(conn: &Connection) -> db::Result<()> {
    lightly(conn, |conn| {
        conn.execute_batch(
            "DELETE FROM position; DELETE FROM idempotency; \
             INSERT INTO position (thread, last, row) \
                 SELECT thread, last, row FROM journal ORDER BY thread, last; \
             INSERT OR IGNORE INTO idempotency (thread, key, row) \
                 SELECT j.thread, j.key, j.row FROM journal j JOIN thread t ON t.num = j.thread \
                 WHERE j.key IS NOT NULL AND t.deleted IS NULL;",
        )?;
        reset(conn, What::Projection)?;
        reset(conn, What::Search)
    })
}

fn reset(conn: &Connection, what: What) -> db::Result<()> {
    match what {
        What::Position | What::Folded => {}
        What::Projection => {
            for table in PROJECTIONS {
                conn.execute_batch(&format!("DELETE FROM {table}"))?;
            }
        }
        What::Search => search::clear(conn)?,
    }
    conn.execute(
        "UPDATE followed SET row = 0, version = ?2 WHERE what = ?1",
        params![what.name(), what.version()],
    )?;
    Ok(())
}

/// Remembers the number of a thread that is removed: no other may ever have it. What is not in the
/// journal, such as a share, knows a thread by its number.
pub(super) fn retire(conn: &Connection, thread: i64) -> db::Result<()> {
    conn.prepare_cached("UPDATE chore SET value = ?1 WHERE what = 'threads' AND value < ?1")?
        .execute(params![thread])?;
    Ok(())
}

/// The last row that the tables have, or had: it may have been deleted since.
pub(super) fn last_row(conn: &Connection) -> db::Result<i64> {
    conn.query_row(
        "SELECT max(coalesce((SELECT max(row) FROM journal), 0), \
                    (SELECT max(row) FROM followed))",
        [],
        |row| row.get(0),
    )
}

/// The number of the next thread.
pub(super) fn next_thread(conn: &Connection) -> db::Result<i64> {
    conn.query_row(
        "SELECT max(coalesce((SELECT max(num) FROM thread), 0), \
                    (SELECT value FROM chore WHERE what = 'threads')) + 1",
        [],
        |row| row.get(0),
    )
}

/// Begins or ends a transaction, without reading the statement again.
pub(super) fn run(conn: &Connection, statement: &str) -> db::Result<()> {
    conn.prepare_cached(statement)?.execute([]).map(drop)
}

/// Whether a transaction is on disk when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    Full,
    /// With the next one that is: what it writes can be made again.
    Later,
}

/// Runs a transaction that need not be on disk when it returns.
pub(super) fn lightly<T>(
    conn: &Connection,
    run: impl FnOnce(&Connection) -> db::Result<T>,
) -> db::Result<T> {
    commit(conn, Sync::Later, run)
}

/// Runs a transaction.
pub(super) fn commit<T>(
    conn: &Connection,
    sync: Sync,
    run: impl FnOnce(&Connection) -> db::Result<T>,
) -> db::Result<T> {
    // Not kept: it is the reading of the statement that changes the setting.
    if sync == Sync::Later {
        conn.execute_batch("PRAGMA synchronous = normal")?;
    }
    let result = self::run(conn, "BEGIN IMMEDIATE").and_then(|()| {
        let made = run(conn)?;
        self::run(conn, "COMMIT")?;
        Ok(made)
    });
    if result.is_err() {
        let _ = conn.execute_batch("ROLLBACK");
    }
    if sync == Sync::Later {
        conn.execute_batch("PRAGMA synchronous = full")?;
    }
    result
}

/// The number that the log in front of the tables knows its journal by.
pub(super) fn log(conn: &Connection) -> db::Result<u64> {
    let number = "SELECT value FROM chore WHERE what = 'log'";
    Ok(conn.query_row(number, [], |row| row.get::<i64>(0))? as u64)
}
