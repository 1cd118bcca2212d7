//! Where a copy goes: a place that nobody uses before the copy is complete.
//!
//! A file is built beside its name and takes it at the end. A database has a table that says where
//! its rows come from; while that is there, no server opens it.
//!
//! Invariant: a place that holds something else is not written to.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::side::{Mark, Role, Side};
use super::table::WHOLE;
use super::{Begin, CopyError};
use crate::db::{Connection, params};
use crate::sqlite::{self, open};
use crate::{Address, keys, postgres, pushes, shares, vault};

/// Says that a copy is not complete, from where it is, and how far it has come.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS copying \
     (source text NOT NULL, one bigint NOT NULL, two bigint NOT NULL, events bigint NOT NULL)";
/// Heads, and that nothing was followed yet; servers may come from then on.
const FINISH: &str = "SET LOCAL synchronous_commit = on; \
     UPDATE thread t SET head = coalesce(n.last, t.fork), at = coalesce(n.at, t.created) \
     FROM (SELECT o.num, max(j.last) AS last, max(j.at) AS at \
           FROM thread o LEFT JOIN journal j ON j.thread = o.num GROUP BY o.num) n \
     WHERE t.num = n.num; \
     DELETE FROM followed; \
     INSERT INTO followed (thread) SELECT num FROM thread WHERE deleted IS NULL OR swept = 0; \
     DROP TABLE copying";
/// What keeps two copies out of one database.
const LOCK: i64 = 0x7365_6c76_636f_7079;
/// How long another copy is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A place that is being written.
pub(super) struct Target {
    pub(super) side: Side,
    /// A file's lock, the name it is built under, and the name that it gets.
    file: Option<(File, PathBuf, PathBuf)>,
}

/// What was found at a place.
pub(super) enum Found {
    /// Nothing, or a part of the same copy.
    Open(Box<Target>),
    /// A store.
    Store,
}

impl Target {
    /// Opens a place for a copy from a source of that name.
    pub(super) fn open(to: &Address, from: &str, begin: Begin) -> Result<Found, CopyError> {
        let target = match to {
            Address::File(path) => Self::file(path, begin)?,
            Address::Postgres(url) => Self::database(to, url, begin)?,
        };
        let Some(target) = target else { return Ok(Found::Store) };
        let begun = target.begun(from)?;
        if begun != from {
            return Err(CopyError::OtherSource { path: to.to_string(), begun });
        }
        Ok(Found::Open(Box::new(target)))
    }

    fn file(path: &Path, begin: Begin) -> Result<Option<Self>, CopyError> {
        let lock = open::lock(path)?;
        if path.exists() {
            return Ok(None);
        }
        let building = beside(path, "-copying");
        if begin == Begin::Anew {
            for name in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(beside(&building, name));
            }
        }
        let conn = open::writer(&building)?;
        let side = Side::of(conn, &Address::from(&building), Role::Target)?;
        // After a crash of the machine the last steps are made again; the file stays whole.
        side.batch("PRAGMA synchronous = normal; PRAGMA wal_autocheckpoint = 8000;")?;
        for table in [keys::TABLE, shares::TABLE, pushes::TABLE, vault::TABLES] {
            side.batch(table)?;
        }
        Ok(Some(Self { side, file: Some((lock, building, path.to_owned())) }))
    }

    fn database(to: &Address, url: &str, begin: Begin) -> Result<Option<Self>, CopyError> {
        let conn = postgres::unguarded(url).map_err(|trouble| trouble.at(to))?;
        let side = Side::of(conn, to, Role::Target)?;
        if !lock(&side)? {
            return Err(CopyError::Busy { path: to.to_string() });
        }
        super::refuse_part(&side)?;
        let is_begun = side.tried(postgres::is_copying(&side.conn))?;
        if !is_begun && !side.is_empty()? {
            return Ok(None);
        }
        if side.is_in_use()? {
            return Err(CopyError::Served { path: to.to_string() });
        }
        if is_begun && begin == Begin::Anew {
            let tables: Vec<&str> = WHOLE.iter().map(|table| table.name).collect();
            let tables = tables.join(", ");
            side.batch(&format!(
                "TRUNCATE journal, chain, task_over, {tables}; DROP TABLE copying"
            ))?;
        }
        // What is lost in a crash is copied again.
        side.batch("SET synchronous_commit = off")?;
        Ok(Some(Self { side, file: None }))
    }

    /// The source of what was begun here, or of what begins now.
    fn begun(&self, from: &str) -> Result<String, CopyError> {
        let begun = self.side.conn.together(|conn| {
            conn.execute_batch(TABLE)?;
            conn.execute(
                "INSERT INTO copying (source, one, two, events) SELECT ?1, 0, 0, 0 \
                 WHERE NOT EXISTS (SELECT 1 FROM copying)",
                params![from],
            )?;
            conn.query_row("SELECT source FROM copying", [], |row| row.get(0))
        });
        self.side.tried(begun)
    }

    /// How far the journal was copied, and how many events that is.
    pub(super) fn mark(&self) -> Result<(Mark, u64), CopyError> {
        self.side.row("SELECT one, two, events FROM copying", [], |row| {
            Ok((Mark(row.get(0)?, row.get(1)?), row.get::<i64>(2)? as u64))
        })
    }

    /// Makes what a store needs besides to be opened, and lets servers have it.
    pub(super) fn finish(self) -> Result<(), CopyError> {
        let Self { side, file } = self;
        match &side.conn {
            Connection::Sqlite(_) => {
                side.tried(sqlite::place_all(&side.conn))?;
                side.batch(
                    "DROP TABLE copying; PRAGMA synchronous = full; \
                     PRAGMA wal_checkpoint(TRUNCATE);",
                )?;
            }
            Connection::Postgres(_) => {
                side.together(|| side.batch(FINISH))?;
                side.batch("ANALYZE")?;
            }
        }
        drop(side);
        let Some((_lock, building, path)) = file else { return Ok(()) };
        let failed = |cause| CopyError::Name { path: path.display().to_string(), cause };
        File::open(&building).and_then(|file| file.sync_all()).map_err(failed)?;
        fs::rename(&building, &path).map_err(failed)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new("."))).map_err(failed)?;
        folder.sync_all().map_err(failed)
    }
}

/// Waits until no other copy into a database runs; one may have just been killed.
fn lock(side: &Side) -> Result<bool, CopyError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let sql = "SELECT pg_try_advisory_lock(?1)";
        if side.row(sql, params![LOCK], |row| row.get(0))? {
            return Ok(true);
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
