//! A connection of its own to a store, for what is beside the journal.
//!
//! A command can change what is there while a server runs, and the server sees it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::address::Address;
use crate::db::{self, Connection};
use crate::{KeyError, postgres};

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
