//! A connection to PostgreSQL, for callers that block.
//!
//! Invariant: whatever runs here waits on its own thread, never inside a runtime: only sockets are
//! watched elsewhere. So it can be called from anywhere that may block.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::str::FromStr as _;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};
use sqlx_core::arguments::Arguments as _;
use sqlx_core::connection::{ConnectOptions as _, Connection as _};
use sqlx_core::decode::Decode as _;
use sqlx_core::encode::{Encode, IsNull};
use sqlx_core::error::BoxDynError;
use sqlx_core::query::{Query, query_with};
use sqlx_core::raw_sql::raw_sql;
use sqlx_core::row::Row as _;
use sqlx_core::types::Type;
use sqlx_core::value::ValueRef as _;
use sqlx_postgres::types::Oid;
use sqlx_postgres::{
    PgArgumentBuffer, PgArguments, PgConnectOptions, PgConnection, PgRow, PgTypeInfo, PgValueRef,
    Postgres,
};
use tokio::runtime::Runtime;

use super::text::{stored, told};
use super::translate::translate;
use crate::db::{Error, Result};

/// How often it is looked whether something came, and how often in vain.
const LOOK: Duration = Duration::from_secs(1);
const LOOKS: u32 = 30;
/// Statements that a connection keeps.
const STATEMENTS: usize = 512;

/// What every connection begins with. An acknowledged append is on disk, whatever the database is
/// usually asked for; and a node that hangs in a transaction does not keep its locks for good.
const SETTINGS: &str = "
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') IN ('off', 'local');
SET idle_in_transaction_session_timeout = '5s';
SET client_min_messages = 'warning';
";

/// Watches the sockets of all connections.
static SOCKETS: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("postgres").enable_all().build()
});

/// What watches the sockets.
pub(super) fn sockets() -> Result<&'static Runtime> {
    let failed = |error: &std::io::Error| std::io::Error::new(error.kind(), error.to_string());
    Ok(SOCKETS.as_ref().map_err(|error| sqlx_core::Error::Io(failed(error)))?)
}

/// Waits for a future on this thread, as long as something comes now and then: a machine that lost
/// its power does not say so, and whoever waits for it would wait for good.
fn wait<T>(
    patience: Patience,
    future: impl Future<Output = Result<T, sqlx_core::Error>>,
) -> Result<T> {
    let _here = sockets()?.enter();
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    // Counted, not timed: a machine that stood still has not waited.
    let mut looks = 0;
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return Ok(done?);
        }
        let since = Instant::now();
        thread::park_timeout(LOOK);
        looks = if since.elapsed() < LOOK { 0 } else { looks + 1 };
        if patience == Patience::Bounded && looks >= LOOKS {
            let told = format!("the database has said nothing for {LOOKS} s");
            let error = std::io::Error::new(std::io::ErrorKind::TimedOut, told);
            return Err(sqlx_core::Error::Io(error).into());
        }
    }
}

/// How long a connection waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// [`LOOKS`] times [`LOOK`].
    Bounded,
    Endless,
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A connection.
pub(crate) struct Client {
    /// Gone when it is closed.
    conn: RefCell<Option<PgConnection>>,
    translated: RefCell<HashMap<Box<str>, Arc<str>>>,
    is_broken: Cell<bool>,
    /// Whether something went wrong since the transaction began.
    has_failed: Cell<bool>,
    patience: Cell<Patience>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("is_broken", &self.is_broken).finish_non_exhaustive()
    }
}

impl Client {
    /// Connects.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let options = PgConnectOptions::from_str(url)?
            .application_name("selvedge")
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        let conn = wait(Patience::Bounded, PgConnection::connect_with(&options))?;
        let client = Self {
            conn: RefCell::new(Some(conn)),
            translated: RefCell::default(),
            is_broken: Cell::new(false),
            has_failed: Cell::new(false),
            patience: Cell::new(Patience::Bounded),
        };
        client.batch(SETTINGS)?;
        Ok(client)
    }

    /// Whether it can be used no more.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.get()
    }

    /// A statement in this database's words.
    pub(crate) fn translated(&self, sql: &str) -> Arc<str> {
        if let Some(known) = self.translated.borrow().get(sql) {
            return known.clone();
        }
        let own: Arc<str> = translate(sql).into();
        let mut translated = self.translated.borrow_mut();
        // Lists are asked for in so many ways; what is seldom asked need not be kept.
        if translated.len() >= STATEMENTS {
            translated.clear();
        }
        translated.insert(sql.into(), own.clone());
        own
    }

    /// Runs a statement; how many rows it has changed.
    pub(crate) fn execute(&self, sql: &str, params: &[&dyn ToSql]) -> Result<usize> {
        self.run(sql, arguments(params)?)
    }

    /// Runs a statement with arguments of this database's own.
    pub(crate) fn run(&self, sql: &str, arguments: PgArguments) -> Result<usize> {
        let done =
            self.with(|conn, patience| wait(patience, statement(sql, arguments).execute(conn)))?;
        Ok(usize::try_from(done.rows_affected()).unwrap_or(usize::MAX))
    }

    /// A statement's rows.
    pub(crate) fn query(&self, sql: &str, params: &[&dyn ToSql]) -> Result<Vec<Vec<Value>>> {
        self.rows(sql, arguments(params)?)
    }

    /// The rows of a statement with arguments of this database's own.
    pub(crate) fn rows(&self, sql: &str, arguments: PgArguments) -> Result<Vec<Vec<Value>>> {
        let rows =
            self.with(|conn, patience| wait(patience, statement(sql, arguments).fetch_all(conn)))?;
        rows.iter().map(values).collect()
    }

    /// Runs a statement whose parameters are the columns of some rows, each as a list.
    pub(crate) fn run_lists(
        &self,
        sql: &str,
        columns: &[(&str, &str)],
        rows: &[Vec<ToSqlOutput<'_>>],
    ) -> Result<()> {
        let mut arguments = PgArguments::default();
        for (nth, (_, kind)) in columns.iter().enumerate() {
            let values = rows.iter().map(|row| row.get(nth).map_or(ValueRef::Null, borrowed));
            let added = match *kind {
                "bigint" => arguments.add(values.map(number).collect::<Vec<Option<i64>>>()),
                _ => arguments.add(values.map(text).collect::<Vec<Option<String>>>()),
            };
            added.map_err(sqlx_core::Error::Encode)?;
        }
        self.run(sql, arguments).map(drop)
    }

    /// The one row of a statement whose columns are lists of numbers.
    pub(crate) fn numbers(
        &self,
        sql: &str,
        arguments: PgArguments,
    ) -> Result<Vec<Option<Vec<i64>>>> {
        let row =
            self.with(|conn, patience| wait(patience, statement(sql, arguments).fetch_one(conn)))?;
        (0..row.len()).map(|column| Ok(row.try_get(column)?)).collect()
    }

    /// Passes on the rows of a statement as they arrive, until it is told to stop.
    pub(crate) fn each(
        &self,
        sql: &str,
        arguments: PgArguments,
        mut take: impl FnMut(Vec<Value>) -> bool,
    ) -> Result<()> {
        self.with(|conn, patience| {
            let mut rows = statement(sql, arguments).fetch(conn);
            let mut next = || {
                let next = poll_fn(|cx| rows.as_mut().poll_next(cx).map(Option::transpose));
                wait(patience, next)
            };
            while let Some(row) = next()?
                && take(values(&row)?)
            {}
            Ok(())
        })
    }

    /// Runs statements without parameters.
    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        self.with(|conn, patience| wait(patience, raw_sql(sql).execute(conn))).map(drop)
    }

    fn with<T>(&self, run: impl FnOnce(&mut PgConnection, Patience) -> Result<T>) -> Result<T> {
        let mut conn = self.conn.borrow_mut();
        let Some(conn) = conn.as_mut().filter(|_| !self.is_broken()) else {
            return Err(sqlx_core::Error::WorkerCrashed.into());
        };
        let result = run(conn, self.patience.get());
        if let Err(error) = &result {
            self.has_failed.set(true);
            self.is_broken.set(is_fatal(error));
        }
        result
    }

    /// Runs something that may take however long it takes.
    pub(crate) fn at_leisure<T>(&self, run: impl FnOnce() -> T) -> T {
        let before = self.patience.replace(Patience::Endless);
        let done = run();
        self.patience.set(before);
        done
    }

    /// Begins a transaction.
    pub(crate) fn begin(&self) -> Result<()> {
        self.has_failed.set(false);
        self.batch("BEGIN")
    }

    /// Commits. Where something went wrong before, PostgreSQL would take back all of it and say
    /// that this went well.
    pub(crate) fn commit(&self) -> Result<()> {
        if self.has_failed.get() {
            let told = "something went wrong in the transaction".to_owned();
            return Err(sqlx_core::Error::InvalidArgument(told).into());
        }
        self.batch("COMMIT")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(conn) = self.conn.borrow_mut().take()
            && !self.is_broken.get()
        {
            // So that the server need not find out by itself.
            let _ = wait(Patience::Bounded, conn.close());
        }
    }
}

/// Whether a connection is of no more use after an error.
fn is_fatal(error: &Error) -> bool {
    let Error::Postgres(error) = error else { return false };
    match &**error {
        sqlx_core::Error::Database(error) => {
            // Shutting down, or cut off by an administrator.
            error.code().is_some_and(|code| code.starts_with("57P") || code.starts_with("08"))
                || error.code().as_deref() == Some("25P03")
        }
        sqlx_core::Error::Io(_)
        | sqlx_core::Error::Tls(_)
        | sqlx_core::Error::Protocol(_)
        | sqlx_core::Error::WorkerCrashed => true,
        _ => false,
    }
}

/// The code of an error that the database itself told of.
pub(crate) fn code(error: &Error) -> Option<String> {
    let Error::Postgres(error) = error else { return None };
    error.as_database_error()?.code().map(|code| code.into_owned())
}

fn statement(sql: &str, arguments: PgArguments) -> Query<'_, Postgres, PgArguments> {
    query_with(sql, arguments).persistent(true)
}

/// Parameters as this database takes them.
fn arguments(params: &[&dyn ToSql]) -> Result<PgArguments> {
    let mut arguments = PgArguments::default();
    for param in params {
        let value = param.to_sql()?;
        let added = match borrowed(&value) {
            ValueRef::Null => arguments.add(Nothing),
            ValueRef::Integer(number) => arguments.add(number),
            ValueRef::Real(number) => arguments.add(number),
            ValueRef::Text(text) => arguments.add(&*stored(&String::from_utf8_lossy(text))),
            ValueRef::Blob(bytes) => arguments.add(bytes),
        };
        added.map_err(sqlx_core::Error::Encode)?;
    }
    Ok(arguments)
}

/// A value, where it is.
fn borrowed<'v>(value: &'v ToSqlOutput<'_>) -> ValueRef<'v> {
    match value {
        ToSqlOutput::Borrowed(value) => *value,
        ToSqlOutput::Owned(value) => ValueRef::from(value),
        _ => ValueRef::Null,
    }
}

fn number(value: ValueRef<'_>) -> Option<i64> {
    value.as_i64_or_null().ok().flatten()
}

fn text(value: ValueRef<'_>) -> Option<String> {
    let text = value.as_str_or_null().ok().flatten()?;
    Some(stored(text).into_owned())
}

/// Nothing, of whatever type is wanted.
struct Nothing;

impl Type<Postgres> for Nothing {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(0))
    }
}

impl Encode<'_, Postgres> for Nothing {
    fn encode_by_ref(&self, _: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Ok(IsNull::Yes)
    }
}

/// A row's values.
fn values(row: &PgRow) -> Result<Vec<Value>> {
    (0..row.len()).map(|column| Ok(value(row.try_get_raw(column)?)?)).collect()
}

/// Types by their numbers, which never change.
mod oid {
    pub(super) const BOOL: u32 = 16;
    pub(super) const BYTES: u32 = 17;
    pub(super) const LONG: u32 = 20;
    pub(super) const INT: u32 = 23;
    pub(super) const DOUBLE: u32 = 701;
}

fn value(value: PgValueRef<'_>) -> Result<Value, sqlx_core::Error> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let number = value.type_info().oid().map_or(0, |oid| oid.0);
    let decoded = match number {
        oid::BOOL => bool::decode(value).map(|is_so| Value::Integer(is_so.into())),
        oid::LONG => i64::decode(value).map(Value::Integer),
        oid::INT => i32::decode(value).map(|number| Value::Integer(number.into())),
        oid::DOUBLE => f64::decode(value).map(Value::Real),
        oid::BYTES => Vec::<u8>::decode(value).map(Value::Blob),
        _ => value.as_str().map(|text| Value::Text(told(text).into_owned())),
    };
    decoded.map_err(sqlx_core::Error::Decode)
}
