//! Opening connections.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::schema;
pub(crate) use super::schema::VERSION;
use crate::{OpenError, db};

/// Bytes of the write-ahead log that stay when it begins anew.
const LOG_BYTES: i64 = 64 << 20;
/// How long a connection waits for another.
pub(super) const BUSY: Duration = Duration::from_secs(5);
/// Steps of a statement after which whoever follows lets others have the core, some hundred
/// microseconds: a lower priority says how much of it others get, not how soon, which can be
/// milliseconds. More often, changing places costs more than it gives.
const STEPS: i32 = 4096;

/// The connection that writes, with the schema brought up to date.
pub(crate) fn writer(path: &Path) -> Result<db::Connection, OpenError> {
    let mut conn = Connection::open(path).map_err(|cause| failed(path, cause))?;
    match prepare(&mut conn) {
        Ok(()) => Ok(db::Connection::Sqlite(conn)),
        Err(Trouble::Sqlite(cause)) => Err(failed(path, cause)),
        Err(Trouble::Newer(found)) => Err(OpenError::Newer {
            path: path.display().to_string(),
            found,
            known: schema::VERSION,
        }),
    }
}

/// Holds a file for one store: the writer keeps heads in memory, and two of them would not know of
/// each other. The lock goes with the process, however it ends. SQLite's own tools are not kept out.
pub(crate) fn lock(path: &Path) -> Result<File, OpenError> {
    let mut name = path.as_os_str().to_owned();
    name.push("-lock");
    let failed = |cause| OpenError::Lock { path: path.display().to_string(), cause };
    let file = File::options().create(true).append(true).open(&name).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.display().to_string() }),
        Err(TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

/// A connection that reads.
pub(crate) fn reader(path: &Path) -> db::Result<db::Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY)?;
    // Snippets of what was said are made in a table of their own: not on any disk.
    conn.pragma_update(None, "temp_store", "memory")?;
    plan_once(&conn)?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(db::Connection::Sqlite(conn))
}

/// Lets statements keep their plans. By default a statement that compares with a parameter is read
/// and planned again for each other value, which takes longer than most of ours run.
fn plan_once(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// The error of a file that could not be opened.
pub(crate) fn failed(path: &Path, cause: impl Into<db::Error>) -> OpenError {
    OpenError::Storage { path: path.display().to_string(), cause: cause.into() }
}

/// The error of a file whose log could not be opened.
pub(super) fn unlogged(path: &Path, cause: std::io::Error) -> OpenError {
    OpenError::Log { path: path.display().to_string(), cause }
}

enum Trouble {
    Sqlite(rusqlite::Error),
    Newer(i64),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn prepare(conn: &mut Connection) -> Result<(), Trouble> {
    conn.busy_timeout(BUSY)?;
    conn.pragma_update(None, "journal_mode", "wal")?;
    // An acknowledged append is on disk.
    conn.pragma_update(None, "synchronous", "full")?;
    // The writer checkpoints when it has nothing else to do.
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    // The log is written again from its beginning, in place: a file that grows is dearer to sync.
    conn.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    conn.pragma_update(None, "cache_size", -65_536)?;
    // What is deleted is overwritten where that costs no further page; `scrub` does the rest.
    conn.pragma_update(None, "secure_delete", "fast")?;
    plan_once(conn)?;
    conn.set_prepared_statement_cache_capacity(256);
    let give_way = || {
        std::thread::yield_now();
        false
    };
    conn.progress_handler(STEPS, Some(give_way))?;
    let found = schema::version(conn)?;
    if found > schema::VERSION {
        return Err(Trouble::Newer(found));
    }
    if found < schema::VERSION {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        schema::migrate(&tx, schema::version(&tx)?)?;
        tx.commit()?;
    }
    Ok(())
}
