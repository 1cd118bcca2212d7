//! Threads as a commit sees them: their rows locked, their heads as they are.
//!
//! Invariant: rows are locked in the order of their numbers, so that nodes do not wait for each
//! other in a circle. Where they do all the same, PostgreSQL ends one, and it begins anew.

use std::collections::HashMap;

use sqlx_core::arguments::Arguments as _;
use sqlx_postgres::PgArguments;

use super::Client;
use super::text::stored;
use crate::db::{self, Connection, params};
use crate::rows::thread::{columns, thread};
use crate::{ThreadKey, ThreadRef};

/// A thread whose row is locked.
#[derive(Debug, Clone)]
pub(super) struct Locked {
    pub(super) thread: ThreadRef,
    pub(super) head: u64,
    /// When its last entry was committed.
    pub(super) at: i64,
    /// How often entries of it were written anew.
    pub(super) rewrites: i64,
}

/// How much of a row is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// Against other appends.
    Head,
    /// Against branches that come off it, too.
    All,
}

impl Lock {
    fn words(self) -> &'static str {
        match self {
            Self::Head => "FOR NO KEY UPDATE OF t",
            Self::All => "FOR UPDATE OF t",
        }
    }
}

const COLUMNS: &str = "t.num, t.epoch, t.created, t.parent, t.fork, t.renamed, t.head, t.at, \
     t.tenant, t.id, t.rewrites";

/// Locks the threads of some names, as many as there are.
pub(super) fn lock(
    conn: &Connection,
    client: &Client,
    keys: &[&ThreadKey],
    how: Lock,
) -> db::Result<HashMap<ThreadKey, Locked>> {
    let text = |pick: fn(&ThreadKey) -> &str| -> Vec<String> {
        keys.iter().map(|key| stored(pick(key)).into_owned()).collect()
    };
    let mut arguments = PgArguments::default();
    add(&mut arguments, text(|key| &key.tenant))?;
    add(&mut arguments, text(|key| &key.id))?;
    let sql = format!(
        "SELECT {COLUMNS} FROM unnest($1::text[], $2::text[]) AS k (tenant, id) \
         JOIN thread t ON t.tenant = k.tenant AND t.id = k.id AND t.deleted IS NULL \
         ORDER BY t.num {}",
        how.words()
    );
    found(conn, client.rows(&sql, arguments)?)
}

/// Counts that entries of some threads were written anew, and locks them for it; the counts.
pub(super) fn rewrite(client: &Client, threads: &[i64]) -> db::Result<Vec<(i64, i64)>> {
    lock_numbered(client, threads, Lock::Head)?;
    let mut arguments = PgArguments::default();
    add(&mut arguments, threads.to_vec())?;
    let counted = client.rows(
        "UPDATE thread SET rewrites = rewrites + 1 WHERE num = ANY($1) RETURNING num, rewrites",
        arguments,
    )?;
    counted.into_iter().map(db::Row::Postgres).map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// Locks the threads of some numbers, deleted ones included.
pub(super) fn lock_numbered(client: &Client, threads: &[i64], how: Lock) -> db::Result<()> {
    let mut arguments = PgArguments::default();
    add(&mut arguments, threads.to_vec())?;
    let sql =
        format!("SELECT t.num FROM thread t WHERE t.num = ANY($1) ORDER BY t.num {}", how.words());
    client.rows(&sql, arguments).map(drop)
}

fn found(
    conn: &Connection,
    rows: Vec<Vec<rusqlite::types::Value>>,
) -> db::Result<HashMap<ThreadKey, Locked>> {
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        let row = db::Row::Postgres(row);
        let thread = thread(conn, columns(&row)?)?;
        let (head, at, rewrites) = (row.get::<i64>(6)? as u64, row.get(7)?, row.get(10)?);
        let locked = Locked { thread, head, at, rewrites };
        let key = ThreadKey::new(row.get::<String>(8)?, row.get::<String>(9)?);
        found.insert(key, locked);
    }
    Ok(found)
}

/// The head of a thread that is there, which nobody deletes until the transaction ends.
pub(super) fn live_head(conn: &Connection, num: i64) -> db::Result<u64> {
    let head: i64 = conn.query_row(
        "SELECT head FROM thread WHERE num = ?1 AND deleted IS NULL FOR KEY SHARE",
        params![num],
        |row| row.get(0),
    )?;
    Ok(head as u64)
}

/// The time, by the one clock that all nodes share.
pub(super) fn now(conn: &Connection) -> db::Result<i64> {
    conn.query_row(
        "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)",
        [],
        |row| row.get(0),
    )
}

/// Adds an argument of PostgreSQL's own.
pub(crate) fn add<'a, T>(arguments: &mut PgArguments, value: T) -> db::Result<()>
where
    T: sqlx_core::encode::Encode<'a, sqlx_postgres::Postgres>
        + sqlx_core::types::Type<sqlx_postgres::Postgres>
        + 'a,
{
    Ok(arguments.add(value).map_err(sqlx_core::Error::Encode)?)
}
