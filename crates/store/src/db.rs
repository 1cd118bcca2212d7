//! One way to run SQL, for the code that both databases share.
//!
//! Values are SQLite's: numbers, floats, text, bytes or nothing, and `?1` is a parameter. Which
//! database it is costs a branch per statement, and nothing where none is run.
//!
//! Invariant: a statement that is run through here means the same in both databases.

use std::iter;

pub(crate) use rusqlite::params;
use rusqlite::types::{FromSql, FromSqlError, ToSql, ToSqlOutput, Value, ValueRef};

use crate::postgres::Client;

/// Rows of the journal that PostgreSQL is asked for at once.
const AT_ONCE: i64 = 128;

/// Why a database could not be read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum Error {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0}")]
    Postgres(#[from] Box<sqlx_core::Error>),
    #[error("column {column}: {cause}")]
    Column { column: usize, cause: FromSqlError },
    #[error("there is no such row")]
    NoRow,
}

impl From<sqlx_core::Error> for Error {
    fn from(error: sqlx_core::Error) -> Self {
        Self::Postgres(Box::new(error))
    }
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// A row that may not be there.
pub(crate) trait Optional<T> {
    /// `None` if it is not.
    fn optional(self) -> Result<Option<T>>;
}

impl<T> Optional<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(row) => Ok(Some(row)),
            Err(Error::NoRow) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A connection to either database.
#[derive(Debug)]
pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(Client),
}

impl Connection {
    /// A statement that is planned once.
    pub(crate) fn prepare_cached(&self, sql: &str) -> Result<Statement<'_>> {
        Ok(match self {
            Self::Sqlite(conn) => Statement::Sqlite(conn.prepare_cached(sql)?),
            Self::Postgres(client) => Statement::Postgres(client, client.translated(sql)),
        })
    }

    /// Runs a statement; how many rows it has changed.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.prepare_cached(sql)?.execute(params)
    }

    /// Puts rows into a table. `columns` are their names and, for PostgreSQL, which gets all rows
    /// in one statement, their types; `conflict` is what is done where there is such a row.
    pub(crate) fn insert(
        &self,
        table: &str,
        columns: &[(&str, &str)],
        conflict: &str,
        rows: &[Vec<ToSqlOutput<'_>>],
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let list = |each: &dyn Fn(usize, &(&str, &str)) -> String| {
            let list = columns.iter().enumerate().map(|(i, column)| each(i + 1, column));
            list.collect::<Vec<_>>().join(", ")
        };
        let names = list(&|_, (name, _)| (*name).to_owned());
        match self {
            Self::Sqlite(conn) => {
                let values = list(&|nth, _| format!("?{nth}"));
                let sql = format!("INSERT INTO {table} ({names}) VALUES ({values}) {conflict}");
                let mut insert = conn.prepare_cached(&sql)?;
                for row in rows {
                    insert.execute(rusqlite::params_from_iter(row))?;
                }
                Ok(())
            }
            Self::Postgres(client) => {
                let arrays = list(&|nth, (_, kind)| format!("${nth}::{kind}[]"));
                let sql = format!(
                    "INSERT INTO {table} ({names}) SELECT * FROM unnest({arrays}) {conflict}"
                );
                client.run_lists(&sql, columns, rows)
            }
        }
    }

    /// Reads the first row of a statement.
    pub(crate) fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.prepare_cached(sql)?.query_row(params, read)
    }

    /// Runs statements without parameters.
    pub(crate) fn execute_batch(&self, sql: &str) -> Result<()> {
        match self {
            Self::Sqlite(conn) => Ok(conn.execute_batch(sql)?),
            Self::Postgres(client) => client.batch(sql),
        }
    }

    /// How many rows of the journal are asked for at once, where someone may want fewer: SQLite
    /// reads one when it is wanted.
    pub(crate) fn at_once(&self) -> i64 {
        match self {
            Self::Sqlite(_) => i64::MAX,
            Self::Postgres(_) => AT_ONCE,
        }
    }

    /// Runs something in one transaction: all of it happens, or nothing.
    pub(crate) fn together<T, E: From<Error>>(
        &self,
        run: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Self::Sqlite(_) => self.execute_batch("BEGIN IMMEDIATE"),
            Self::Postgres(client) => client.begin(),
        }?;
        let result = run(self).and_then(|made| {
            match self {
                Self::Sqlite(_) => self.execute_batch("COMMIT"),
                Self::Postgres(client) => client.commit(),
            }?;
            Ok(made)
        });
        if result.is_err() {
            let _ = self.execute_batch("ROLLBACK");
        }
        result
    }

    /// Whether it can be used no more.
    pub(crate) fn is_broken(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(client) => client.is_broken(),
        }
    }

    /// Whether whoever is at its other end may have gone.
    pub(crate) fn may_break(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Whether there is an answer.
    pub(crate) fn is_alive(&self) -> bool {
        self.execute("SELECT 1", []).is_ok()
    }

    /// Runs something that may take however long it takes.
    pub(crate) fn at_leisure<T>(&self, run: impl FnOnce(&Self) -> T) -> T {
        match self {
            Self::Sqlite(_) => run(self),
            Self::Postgres(client) => client.at_leisure(|| run(self)),
        }
    }

    /// Forgets where a row is, before the row itself goes.
    pub(crate) fn unplace(&self, thread: i64, last: i64) -> Result<()> {
        if let Self::Sqlite(_) = self {
            self.execute(
                "DELETE FROM position WHERE thread = ?1 AND last = ?2",
                params![thread, last],
            )?;
        }
        Ok(())
    }

    /// Tables with rows of a thread that only this database has.
    pub(crate) fn others(&self) -> &'static [&'static str] {
        match self {
            Self::Sqlite(_) => &["idempotency"],
            Self::Postgres(_) => &["task_over", "followed", "claim"],
        }
    }

    /// Whether there is a table that someone makes when they need it.
    pub(crate) fn has_table(&self, name: &str) -> Result<bool> {
        match self {
            Self::Sqlite(_) => self
                .prepare_cached("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1")?
                .exists(params![name]),
            // They are made with all others.
            Self::Postgres(_) => Ok(true),
        }
    }
}

/// The values of a statement's parameters.
pub(crate) trait Params {
    /// In order.
    fn list(&self) -> &[&dyn ToSql];
}

impl Params for &[&dyn ToSql] {
    fn list(&self) -> &[&dyn ToSql] {
        self
    }
}

impl Params for [&dyn ToSql; 0] {
    fn list(&self) -> &[&dyn ToSql] {
        self
    }
}

impl Params for &Vec<&dyn ToSql> {
    fn list(&self) -> &[&dyn ToSql] {
        self
    }
}

/// Values that were gathered, as parameters.
pub(crate) fn gathered(values: &[Value]) -> Vec<&dyn ToSql> {
    values.iter().map(|value| value as &dyn ToSql).collect()
}

/// A statement of a connection.
pub(crate) enum Statement<'c> {
    Sqlite(rusqlite::CachedStatement<'c>),
    Postgres(&'c Client, std::sync::Arc<str>),
}

impl Statement<'_> {
    /// Runs it; how many rows it has changed.
    pub(crate) fn execute(&mut self, params: impl Params) -> Result<usize> {
        match self {
            Self::Sqlite(statement) => Ok(statement.execute(params.list())?),
            Self::Postgres(client, sql) => client.execute(sql, params.list()),
        }
    }

    /// Whether it gives a row.
    pub(crate) fn exists(&mut self, params: impl Params) -> Result<bool> {
        Ok(self.query(params)?.next()?.is_some())
    }

    /// Its rows.
    pub(crate) fn query(&mut self, params: impl Params) -> Result<Rows<'_>> {
        Ok(match self {
            Self::Sqlite(statement) => Rows::Sqlite(statement.query(params.list())?),
            // All of them: another statement may be run on the connection before they are read.
            Self::Postgres(client, sql) => {
                Rows::Postgres(client.query(sql, params.list())?.into_iter())
            }
        })
    }

    /// Reads its first row.
    pub(crate) fn query_row<T>(
        &mut self,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        match self.query(params)?.next()? {
            Some(row) => read(&row),
            None => Err(Error::NoRow),
        }
    }

    /// Reads its rows, one after the other.
    pub(crate) fn query_map<'s, T>(
        &'s mut self,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T> + 's,
    ) -> Result<impl Iterator<Item = Result<T>> + 's> {
        let mut rows = self.query(params)?;
        Ok(iter::from_fn(move || match rows.next() {
            Ok(row) => row.map(|row| read(&row)),
            Err(error) => Some(Err(error)),
        }))
    }
}

/// Rows that a statement gives.
pub(crate) enum Rows<'s> {
    Sqlite(rusqlite::Rows<'s>),
    Postgres(std::vec::IntoIter<Vec<Value>>),
}

impl Rows<'_> {
    /// The next one.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>> {
        Ok(match self {
            Self::Sqlite(rows) => rows.next()?.map(Row::Sqlite),
            Self::Postgres(rows) => rows.next().map(Row::Postgres),
        })
    }
}

/// A row.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(Vec<Value>),
}

impl Row<'_> {
    /// A column's value.
    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(_) => T::column_result(self.get_ref(column)?)
                .map_err(|cause| Error::Column { column, cause }),
        }
    }

    /// A column's value, where it is.
    pub(crate) fn get_ref(&self, column: usize) -> Result<ValueRef<'_>> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(column)?),
            Self::Postgres(values) => match values.get(column) {
                Some(value) => Ok(value.into()),
                None => Err(rusqlite::Error::InvalidColumnIndex(column).into()),
            },
        }
    }
}
