//! Making the tables, and bringing those of an older version up to date.
//!
//! Invariant: each step is taken once, by one node, all of it or nothing. A step only adds what code
//! that does not know it need not know, so nodes of two minor versions run side by side: the older
//! one goes on, and may begin, with steps of the next minor version, and refuses any later one.

use super::{Client, role};
use crate::db::{self, Connection, params};
use crate::{Address, OpenError, ShardError};

/// The steps, in order, each with the release that brought it; their numbers are in a table.
const STEPS: &[(&str, i64, &str)] = &[
    ("journal", 1, include_str!("migrations/0001_journal.sql")),
    ("nodes", 1, include_str!("migrations/0002_nodes.sql")),
    ("append", 1, include_str!("migrations/0003_append.sql")),
    ("shards", 1, include_str!("migrations/0004_shards.sql")),
];
/// This release: its minor version, which a major one begins anew far above all others.
const RELEASE: i64 = release(env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
const MAJOR: i64 = 1000;
/// What nodes that begin at the same time wait for each other by.
const LOCK: i64 = 0x7365_6c76_6564_6765;
/// How many there are.
pub(crate) const VERSION: i64 = STEPS.len() as i64;
const TABLE: &str = "CREATE TABLE IF NOT EXISTS migration \
     (step bigint PRIMARY KEY, name text NOT NULL, at timestamptz NOT NULL DEFAULT now()); \
     ALTER TABLE migration ADD COLUMN IF NOT EXISTS release bigint NOT NULL DEFAULT 1";

/// Why a database could not be opened.
pub(crate) enum Trouble {
    Storage(db::Error),
    /// Steps of a release that this one does not run beside.
    Newer(i64),
    Encoding(String),
    Copying,
    Shard(ShardError),
    Thread(std::io::Error),
}

impl From<db::Error> for Trouble {
    fn from(error: db::Error) -> Self {
        Self::Storage(error)
    }
}

impl Trouble {
    /// The error of a database at an address.
    pub(crate) fn at(self, address: &Address) -> OpenError {
        let path = address.to_string();
        match self {
            Self::Storage(cause) => OpenError::Storage { path, cause },
            Self::Newer(found) => {
                OpenError::OtherRelease { path, found: named(found), own: named(RELEASE) }
            }
            Self::Encoding(found) => OpenError::Encoding { path, found },
            Self::Copying => OpenError::Copying { path },
            Self::Shard(cause) => OpenError::Shard { path, cause },
            Self::Thread(error) => OpenError::Thread(error),
        }
    }
}

/// Connects, and makes what is missing. A copy that is not complete is not a store yet.
pub(super) fn open(url: &str) -> Result<Connection, Trouble> {
    let conn = unguarded(url)?;
    match is_copying(&conn)? {
        true => Err(Trouble::Copying),
        false => Ok(conn),
    }
}

/// Whether a copy into a database was begun and is not complete.
pub(crate) fn is_copying(conn: &Connection) -> db::Result<bool> {
    conn.query_row("SELECT to_regclass('copying') IS NOT NULL", [], |row| row.get(0))
}

/// Connects and makes what is missing, also where a copy is not complete.
pub(crate) fn unguarded(url: &str) -> Result<Connection, Trouble> {
    let conn = Connection::Postgres(Client::open(url)?);
    let encoding: String =
        conn.query_row("SELECT current_setting('server_encoding')", [], |row| row.get(0))?;
    if encoding != "UTF8" {
        return Err(Trouble::Encoding(encoding));
    }
    let found = taken(&conn)?;
    if found > VERSION {
        let newest = conn.query_row("SELECT max(release) FROM migration", [], |row| row.get(0))?;
        if newest > RELEASE + 1 {
            return Err(Trouble::Newer(newest));
        }
    }
    if found < VERSION {
        // Or until another node has taken them.
        conn.at_leisure(|conn| conn.together(take_all))?;
    }
    Ok(conn)
}

/// The same, for whoever has an error of another kind to tell.
pub(crate) fn prepared(url: &str) -> db::Result<Connection> {
    let opened = open(url).and_then(|conn| match role::alone_or_first(&conn) {
        Ok(()) => Ok(conn),
        Err(error) => Err(Trouble::Shard(error)),
    });
    match opened {
        Ok(conn) => Ok(conn),
        Err(Trouble::Storage(error)) => Err(error),
        Err(other) => {
            let told = other.at(&Address::Postgres(url.into())).to_string();
            Err(sqlx_core::Error::InvalidArgument(told).into())
        }
    }
}

/// Makes what is missing in a database; how many steps it has taken in all.
pub(crate) fn migrate(address: &Address, url: &str) -> Result<i64, OpenError> {
    open(url).map(|_| VERSION).map_err(|trouble| trouble.at(address))
}

/// How many steps were taken.
fn taken(conn: &Connection) -> db::Result<i64> {
    let is_there: bool =
        conn.query_row("SELECT to_regclass('migration') IS NOT NULL", [], |row| row.get(0))?;
    if !is_there {
        return Ok(0);
    }
    conn.query_row("SELECT coalesce(max(step), 0) FROM migration", [], |row| row.get(0))
}

/// Takes the steps that nobody has taken, inside a transaction.
fn take_all(conn: &Connection) -> db::Result<()> {
    conn.query_row("SELECT pg_advisory_xact_lock(?1) IS NULL", params![LOCK], |_| Ok(()))?;
    conn.execute_batch(TABLE)?;
    let found = usize::try_from(taken(conn)?).unwrap_or(0);
    for (step, (name, release, sql)) in STEPS.iter().enumerate().skip(found) {
        conn.execute_batch(sql)?;
        conn.execute(
            "INSERT INTO migration (step, name, release) VALUES (?1, ?2, ?3)",
            params![step as i64 + 1, name, release],
        )?;
    }
    Ok(())
}

/// Whether a newer release has taken steps that this one does not know.
pub(super) fn is_ahead(conn: &Connection) -> db::Result<bool> {
    Ok(taken(conn)? > VERSION)
}

/// A version as a number.
const fn release(major: &str, minor: &str) -> i64 {
    number(major) * MAJOR + number(minor)
}

const fn number(digits: &str) -> i64 {
    match i64::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => 0,
    }
}

/// A version in words.
fn named(release: i64) -> String {
    format!("{}.{}", release / MAJOR, release % MAJOR)
}

#[cfg(test)]
#[path = "migrate_tests.rs"]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
