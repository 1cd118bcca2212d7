//! Connections of its own to a store, for what is beside the journal.
//!
//! A command can change what is there while a server runs, and the server sees it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::address::{Address, Addresses};
use crate::db::{self, Connection};
use crate::shard::shard_of;
use crate::{KeyError, ShardError, postgres};

/// The connection, made anew where it broke.
#[derive(Debug)]
pub(crate) struct Link {
    address: Address,
    conn: Mutex<Connection>,
}

impl Link {
    /// Connects. In a file, `table` is made if it is not there.
    pub(crate) fn open(address: Address, table: &str) -> Result<Self, KeyError> {
        let opened = match &address {
            Address::File(path) => file(path, table).map_err(db::Error::from),
            Address::Postgres(url) => postgres::prepared(url),
        };
        match opened {
            Ok(conn) => Ok(Self { address, conn: Mutex::new(conn) }),
            Err(cause) => Err(KeyError::Open { path: address.to_string(), cause }),
        }
    }

    /// Connects to a database that is not the first of a store, and has been opened before.
    fn to_part(address: &Address) -> Result<Self, KeyError> {
        match address.reader() {
            Ok(conn) => Ok(Self { address: address.clone(), conn: Mutex::new(conn) }),
            Err(cause) => Err(KeyError::Open { path: address.to_string(), cause }),
        }
    }

    /// Runs something on it.
    pub(crate) fn with<T>(&self, run: impl FnOnce(&Connection) -> db::Result<T>) -> db::Result<T> {
        let mut conn = self.conn.lock().unwrap_or_else(PoisonError::into_inner);
        if conn.is_broken() {
            *conn = self.address.reader()?;
        }
        run(&conn)
    }

    /// Runs one statement while nobody else changes a table. In a file nobody does.
    pub(crate) fn alone<T>(
        &self,
        table: &str,
        run: impl FnOnce(&Connection) -> db::Result<T>,
    ) -> db::Result<T> {
        self.with(|conn| match conn {
            Connection::Sqlite(_) => run(conn),
            Connection::Postgres(_) => conn.together(|conn| {
                conn.execute_batch(&format!("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"))?;
                run(conn)
            }),
        })
    }
}

/// One to each database of a store: what is of a thread is where the thread is.
#[derive(Debug)]
pub(crate) struct Links {
    first: Link,
    others: Vec<Link>,
}

impl Links {
    /// Connects to all.
    pub(crate) fn open(at: &Addresses, tables: &str) -> Result<Self, KeyError> {
        let first = Link::open(at.first().clone(), tables)?;
        let others = at.others().iter().map(Link::to_part);
        Ok(Self { first, others: others.collect::<Result<_, _>>()? })
    }

    /// The one of a thread's database.
    pub(crate) fn of(&self, thread: i64) -> Result<&Link, KeyError> {
        let number = if self.others.is_empty() { 0 } else { shard_of(thread) };
        match number.checked_sub(1) {
            None => Ok(&self.first),
            Some(other) => Ok(self.others.get(other).ok_or(ShardError::Unknown { number })?),
        }
    }

    /// Runs something on each, until it has found something. One that does not answer matters if no
    /// other has it.
    pub(crate) fn find<T>(
        &self,
        mut run: impl FnMut(&Connection) -> db::Result<Option<T>>,
    ) -> Result<Option<T>, KeyError> {
        let mut trouble = None;
        for link in std::iter::once(&self.first).chain(&self.others) {
            match link.with(&mut run) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(error) => trouble = Some(error),
            }
        }
        trouble.map_or(Ok(None), |error| Err(error.into()))
    }

    /// Runs something on each; what those say that answer, if any does.
    pub(crate) fn each<T>(
        &self,
        mut run: impl FnMut(&Connection) -> db::Result<T>,
    ) -> Result<Vec<T>, KeyError> {
        let (mut answers, mut trouble) = (Vec::new(), None);
        for link in std::iter::once(&self.first).chain(&self.others) {
            match link.with(&mut run) {
                Ok(answer) => answers.push(answer),
                Err(error) => trouble = Some(error),
            }
        }
        match trouble {
            Some(error) if answers.is_empty() => Err(error.into()),
            _ => Ok(answers),
        }
    }
}

fn file(path: &Path, table: &str) -> rusqlite::Result<Connection> {
    let conn = rusqlite::Connection::open(path)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    conn.pragma_update(None, "journal_mode", "wal")?;
    conn.pragma_update(None, "synchronous", "full")?;
    // That is for the journal's writer to do.
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    conn.pragma_update(None, "secure_delete", "fast")?;
    conn.execute_batch(table)?;
    Ok(Connection::Sqlite(conn))
}
