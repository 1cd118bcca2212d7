//! One side of a copy: reading all of a store row by row, whichever database it is in.

use std::collections::HashSet;

use rusqlite::types::Value;
use sqlx_core::arguments::Arguments as _;
use sqlx_postgres::PgArguments;

use super::CopyError;
use super::table::Table;
use crate::Address;
use crate::db::{self, Connection, Params};
use crate::sqlite::open;

type Result<T, E = CopyError> = std::result::Result<T, E>;

/// A row of the journal with its place in the chain, if it has one.
const CHAINED: &str = "SELECT j.row, j.thread, j.first, j.last, j.at, j.key, j.digest, j.body, \
     c.before, c.bodies, c.link FROM journal j LEFT JOIN chain c ON c.row = j.row";

/// For as long as it takes to read a store.
const PATIENT: &str = "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; \
     SET jit = off; SET application_name = 'selvedge copy'";
/// Rows come in the order of an index: sorting all of a journal would take as much room again.
const IN_ORDER: &str = "SET enable_sort = off; SET enable_hashjoin = off; \
     SET enable_mergejoin = off; SET max_parallel_workers_per_gather = 0";
const IN_ANY_ORDER: &str = "RESET enable_sort; RESET enable_hashjoin; RESET enable_mergejoin; \
     RESET max_parallel_workers_per_gather";

/// The greatest numbers that were ever given: they are not given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Numbers {
    pub(crate) threads: i64,
    pub(crate) rows: i64,
}

/// How far a journal was read: a row, or a thread and an entry, by which database it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark(pub(crate) i64, pub(crate) i64);

/// Which side it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Source,
    Target,
}

/// A connection to a store.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) conn: Connection,
    pub(crate) address: Address,
    role: Role,
}

impl Side {
    /// To read.
    pub(crate) fn reader(address: &Address, role: Role) -> Result<Self> {
        match address.reader() {
            Ok(conn) => Self::of(conn, address, role),
            Err(error) => Err(failed(address, role, error)),
        }
    }

    /// A connection that was made by others.
    pub(crate) fn of(conn: Connection, address: &Address, role: Role) -> Result<Self> {
        let side = Self { conn, address: address.clone(), role };
        if let Connection::Postgres(client) = &side.conn {
            side.tried(client.batch(PATIENT))?;
        }
        Ok(side)
    }

    /// What a statement came to, or which side could not run it.
    pub(crate) fn tried<T>(&self, result: db::Result<T>) -> Result<T> {
        result.map_err(|cause| failed(&self.address, self.role, cause))
    }

    /// Runs statements without parameters.
    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        self.tried(self.conn.execute_batch(sql))
    }

    /// The first row of a query.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&db::Row<'_>) -> db::Result<T>,
    ) -> Result<T> {
        self.tried(self.conn.query_row(sql, params, read))
    }

    /// Runs something in one transaction: all of it happens, or nothing.
    pub(crate) fn together<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        enum Stop {
            Here(db::Error),
            Inside(CopyError),
        }
        impl From<db::Error> for Stop {
            fn from(error: db::Error) -> Self {
                Self::Here(error)
            }
        }
        self.conn.together(|_| run().map_err(Stop::Inside)).map_err(|stop| match stop {
            Stop::Here(error) => failed(&self.address, self.role, error),
            Stop::Inside(error) => error,
        })
    }

    /// Passes on the rows of a query, as they arrive.
    pub(crate) fn each(
        &self,
        sql: &str,
        numbers: &[i64],
        mut take: impl FnMut(Vec<Value>) -> Result<()>,
    ) -> Result<()> {
        match &self.conn {
            Connection::Sqlite(conn) => {
                let here = |error: rusqlite::Error| failed(&self.address, self.role, error.into());
                let mut statement = conn.prepare(sql).map_err(here)?;
                let columns = statement.column_count();
                let given = rusqlite::params_from_iter(numbers);
                let mut rows = statement.query(given).map_err(here)?;
                while let Some(row) = rows.next().map_err(here)? {
                    let values = (0..columns).map(|column| row.get(column));
                    take(values.collect::<rusqlite::Result<_>>().map_err(here)?)?;
                }
                Ok(())
            }
            Connection::Postgres(client) => {
                let mut arguments = PgArguments::default();
                for number in numbers {
                    let added = arguments.add(*number).map_err(sqlx_core::Error::Encode);
                    self.tried(added.map_err(db::Error::from))?;
                }
                let mut stopped = None;
                let ended = client.each(&client.translated(sql), arguments, |row| {
                    stopped = take(row).err();
                    stopped.is_none()
                });
                self.tried(ended)?;
                stopped.map_or(Ok(()), Err)
            }
        }
    }

    /// All rows of a table; threads in the order of their numbers.
    pub(crate) fn rows_of(
        &self,
        table: &Table,
        take: impl FnMut(Vec<Value>) -> Result<()>,
    ) -> Result<()> {
        // A file has no table for what nobody has needed yet.
        if !self.tried(self.conn.has_table(table.name))? {
            return Ok(());
        }
        let order = if table.name == "thread" { " ORDER BY num" } else { "" };
        self.each(&format!("SELECT {} FROM {}{order}", table.list(), table.name), &[], take)
    }

    /// The journal with its chain, each thread's rows in order.
    pub(crate) fn journal(&self, take: impl FnMut(Vec<Value>) -> Result<()>) -> Result<()> {
        self.each(CHAINED, &[], take)
    }

    /// The journal after a place, in the order of places.
    pub(crate) fn journal_after(
        &self,
        mark: Mark,
        take: impl FnMut(Vec<Value>) -> Result<()>,
    ) -> Result<()> {
        match &self.conn {
            Connection::Sqlite(_) => {
                self.each(&format!("{CHAINED} WHERE j.row > ?1 ORDER BY j.row"), &[mark.0], take)
            }
            Connection::Postgres(client) => {
                self.tried(client.batch(IN_ORDER))?;
                let behind = "WHERE (j.thread, j.last) > (?1, ?2) ORDER BY j.thread, j.last";
                self.each(&format!("{CHAINED} {behind}"), &[mark.0, mark.1], take)?;
                self.tried(client.batch(IN_ANY_ORDER))
            }
        }
    }

    /// The place of a row of the journal.
    pub(crate) fn mark(&self, row: &[Value]) -> Mark {
        match &self.conn {
            Connection::Sqlite(_) => Mark(number(row, 0), 0),
            Connection::Postgres(_) => Mark(number(row, 1), number(row, 3)),
        }
    }

    /// The journals of some threads.
    pub(crate) fn journals_of(
        &self,
        threads: &[i64],
        mut take: impl FnMut(Vec<Value>) -> Result<()>,
    ) -> Result<()> {
        match &self.conn {
            // Where a thread's rows are may not be written down yet: all are looked at, once.
            Connection::Sqlite(_) => {
                self.each(&format!("{CHAINED} ORDER BY j.row"), &[], |row| match row.get(1) {
                    Some(Value::Integer(own)) if threads.binary_search(own).is_ok() => take(row),
                    _ => Ok(()),
                })
            }
            Connection::Postgres(_) => threads.iter().try_for_each(|thread| {
                let own = format!("{CHAINED} WHERE j.thread = ?1 ORDER BY j.last");
                self.each(&own, &[*thread], &mut take)
            }),
        }
    }

    /// The greatest numbers that were given.
    pub(crate) fn numbers(&self) -> Result<Numbers> {
        let sql = match &self.conn {
            Connection::Sqlite(_) => {
                "SELECT max(coalesce((SELECT max(num) FROM thread), 0), \
                     (SELECT value FROM chore WHERE what = 'threads')), \
                     max(coalesce((SELECT max(row) FROM journal), 0), \
                         (SELECT max(row) FROM followed))"
            }
            Connection::Postgres(_) => {
                "SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END \
                         FROM thread_num_seq), \
                     (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM journal_row)"
            }
        };
        self.row(sql, [], |row| Ok(Numbers { threads: row.get(0)?, rows: row.get(1)? }))
    }

    /// Threads that are there.
    pub(crate) fn live_threads(&self) -> Result<u64> {
        let sql = "SELECT count(*) FROM thread WHERE deleted IS NULL";
        Ok(self.row(sql, [], |row| row.get::<i64>(0))?.max(0) as u64)
    }

    /// Threads that were deleted, and may go altogether at any time.
    pub(crate) fn deleted(&self) -> Result<HashSet<i64>> {
        let mut found = HashSet::new();
        self.each("SELECT num FROM thread WHERE deleted IS NOT NULL", &[], |row| {
            found.insert(number(&row, 0));
            Ok(())
        })?;
        Ok(found)
    }

    /// About how many events there are: what progress is told by.
    pub(crate) fn extent(&self) -> Result<u64> {
        let sql = match &self.conn {
            // To count them would be to read them.
            Connection::Sqlite(_) => {
                "SELECT coalesce((SELECT max(row) FROM journal), 0) * coalesce((SELECT \
                 avg(last + 1 - first) FROM (SELECT first, last FROM journal LIMIT 1000)), 1.0)"
            }
            Connection::Postgres(_) => {
                "SELECT CAST(coalesce(sum(head - fork), 0) AS double precision) FROM thread"
            }
        };
        Ok(self.row(sql, [], |row| row.get::<f64>(0))?.max(1.0) as u64)
    }

    /// Whether servers have it open, as far as can be told.
    pub(crate) fn is_in_use(&self) -> Result<bool> {
        match &self.conn {
            Connection::Sqlite(_) => Ok(false),
            Connection::Postgres(_) => self.row(
                "SELECT EXISTS (SELECT 1 FROM pg_stat_activity \
                 WHERE datname = current_database() AND application_name = 'selvedge')",
                [],
                |row| row.get(0),
            ),
        }
    }

    /// Whether it has the tables of this version.
    pub(crate) fn is_current(&self) -> Result<bool> {
        match &self.conn {
            Connection::Sqlite(_) => {
                let found = self.row("PRAGMA user_version", [], |row| row.get::<i64>(0))?;
                Ok(found == open::VERSION)
            }
            Connection::Postgres(_) => {
                let sql = "SELECT to_regclass('migration') IS NOT NULL";
                if !self.row(sql, [], |row| row.get::<bool>(0))? {
                    return Ok(false);
                }
                let sql = "SELECT coalesce(max(step), 0) FROM migration";
                let found = self.row(sql, [], |row| row.get::<i64>(0))?;
                Ok(found == crate::postgres::VERSION)
            }
        }
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> Result<bool> {
        let tables = super::table::WHOLE.iter().map(|table| table.name).chain(["journal"]);
        for table in tables {
            let any = format!("SELECT EXISTS (SELECT 1 FROM {table})");
            if self.tried(self.conn.has_table(table))? && self.row(&any, [], |row| row.get(0))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn failed(address: &Address, role: Role, cause: db::Error) -> CopyError {
    let path = address.to_string();
    match role {
        Role::Source => CopyError::Source { path, cause },
        Role::Target => CopyError::Target { path, cause },
    }
}

/// A number in a row.
pub(crate) fn number(row: &[Value], at: usize) -> i64 {
    match row.get(at) {
        Some(Value::Integer(number)) => *number,
        _ => 0,
    }
}

/// Events in a row of the journal.
pub(crate) fn events(row: &[Value]) -> u64 {
    (number(row, 3) + 1 - number(row, 2)).max(0) as u64
}
