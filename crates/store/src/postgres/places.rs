//! Is the directory of a store of several databases right? Every thread must be where it says.

use sqlx_postgres::PgArguments;

use super::text::stored;
use super::threads::add;
use crate::check::Checked;
use crate::db::{self, Connection, Row, params};
use crate::shard::shard_of;
use crate::{Address, ReadError};

/// Threads that are looked at together.
const ROWS: i64 = 1000;

/// Checks databases in the order of their numbers; what is wrong is added.
///
/// A thread's place is on disk before the thread is, so this can be asked while nodes run.
pub(crate) fn check(databases: &[Address], checked: &mut Checked) -> Result<(), ReadError> {
    let [first, _, ..] = databases else { return Ok(()) };
    let directory = first.reader()?;
    for (number, address) in databases.iter().enumerate() {
        let conn = address.reader()?;
        let mut last = 0;
        loop {
            let threads = threads(&conn, last)?;
            let Some((num, _, _)) = threads.last() else { break };
            last = *num;
            for (num, tenant, id) in &threads {
                if shard_of(*num) != number {
                    checked.found(format!(
                        "thread `{id}` of `{tenant}`: its number {num} is not of database {number}"
                    ));
                }
            }
            for (tenant, id, place) in misplaced(&directory, &threads, number)? {
                let place = place.map_or("nowhere".to_owned(), |at| format!("in database {at}"));
                checked.found(format!(
                    "thread `{id}` of `{tenant}` is in database {number}, and {place} by the \
                     directory"
                ));
            }
        }
    }
    Ok(())
}

type Named = (i64, String, String);

fn threads(conn: &Connection, after: i64) -> db::Result<Vec<Named>> {
    let mut find = conn.prepare_cached(
        "SELECT num, tenant, id FROM thread WHERE num > ?1 AND deleted IS NULL \
         ORDER BY num LIMIT ?2",
    )?;
    let rows =
        find.query_map(params![after, ROWS], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

type Misplaced = (String, String, Option<i64>);

fn misplaced(
    directory: &Connection,
    threads: &[Named],
    number: usize,
) -> db::Result<Vec<Misplaced>> {
    let Connection::Postgres(client) = directory else { return Ok(Vec::new()) };
    let text = |pick: fn(&Named) -> &str| -> Vec<String> {
        threads.iter().map(|thread| stored(pick(thread)).into_owned()).collect()
    };
    let mut arguments = PgArguments::default();
    add(&mut arguments, text(|thread| &thread.1))?;
    add(&mut arguments, text(|thread| &thread.2))?;
    add(&mut arguments, number as i64)?;
    let rows = client.rows(
        "SELECT k.tenant, k.id, p.shard FROM unnest($1::text[], $2::text[]) AS k (tenant, id) \
         LEFT JOIN place p ON p.tenant = k.tenant AND p.id = k.id \
         WHERE p.shard IS DISTINCT FROM $3",
        arguments,
    )?;
    let read = |row: Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    rows.into_iter().map(Row::Postgres).map(read).collect()
}
