//! Writing what was read, many rows at a time.

use std::collections::HashSet;

use bytes::Bytes;
use rusqlite::types::Value;
use sqlx_postgres::PgArguments;

use super::CopyError;
use super::side::{Mark, Numbers, Side};
use super::table::{CHAIN, Holds, JOURNAL, Table};
use crate::Batch;
use crate::db::{self, Connection, params};
use crate::postgres::{Client, argue, stored};
use crate::rows::project::fits;
use crate::sqlite::tasks::told;

/// Rows and bytes that are written together.
const ROWS: usize = 4000;
const BYTES: usize = 8 << 20;

/// Rows that wait to be written together.
#[derive(Debug, Default)]
pub(super) struct Pile {
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

impl Pile {
    /// Adds a row; whether it is time to write.
    pub(super) fn add(&mut self, row: Vec<Value>) -> bool {
        self.bytes += row.iter().map(size).sum::<usize>();
        self.rows.push(row);
        self.rows.len() >= ROWS || self.bytes >= BYTES
    }

    /// What has come together.
    pub(super) fn take(&mut self) -> Vec<Vec<Value>> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        _ => 8,
    }
}

impl Side {
    /// Writes rows of the journal with their chain, and how far that is, all of it or nothing.
    pub(super) fn add_journal(
        &self,
        rows: Vec<Vec<Value>>,
        upto: Option<(Mark, u64)>,
    ) -> Result<(), CopyError> {
        self.together(|| {
            if let Connection::Postgres(client) = &self.conn {
                self.tried(write_ends(client, &rows))?;
            }
            let mut chained = Vec::new();
            let rows = rows.into_iter().map(|mut row| {
                let link = row.split_off(JOURNAL.columns.len());
                if let (Some(number), false) = (row.first(), link.contains(&Value::Null)) {
                    chained.push([std::slice::from_ref(number), &link[..]].concat());
                }
                row
            });
            let rows = rows.collect();
            self.insert(&JOURNAL, rows)?;
            self.insert(&CHAIN, chained)?;
            if let Some((Mark(one, two), events)) = upto {
                self.tried(self.conn.execute(
                    "UPDATE copying SET one = ?1, two = ?2, events = ?3",
                    params![one, two, events as i64],
                ))?;
            }
            Ok(())
        })
    }

    /// Writes rows that are not there. One that stands in the way is found by comparing.
    pub(super) fn insert(&self, table: &Table, rows: Vec<Vec<Value>>) -> Result<(), CopyError> {
        match &self.conn {
            _ if rows.is_empty() => Ok(()),
            Connection::Sqlite(conn) => {
                self.tried(insert_each(conn, table, rows).map_err(db::Error::from))
            }
            Connection::Postgres(client) => self.tried(insert_all(client, table, rows)),
        }
    }

    /// Puts all rows of a table in the place of what is there, or leaves it as it is.
    pub(super) fn replace(&self, table: &Table, from: &Self) -> Result<(), CopyError> {
        self.together(|| {
            self.batch(&match &self.conn {
                Connection::Sqlite(_) => format!("DELETE FROM {}", table.name),
                Connection::Postgres(_) => format!("TRUNCATE {}", table.name),
            })?;
            let mut pile = Pile::default();
            from.rows_of(table, |row| match pile.add(row) {
                true => self.insert(table, pile.take()),
                false => Ok(()),
            })?;
            self.insert(table, pile.take())
        })
    }

    /// Takes the journals of some threads out.
    pub(super) fn remove_journals(&self, threads: &[i64]) -> Result<(), CopyError> {
        self.together(|| {
            self.tried(match &self.conn {
                Connection::Sqlite(conn) => remove_each(conn, threads).map_err(db::Error::from),
                Connection::Postgres(client) => remove_all(client, threads),
            })
        })
    }

    /// Lets numbers go on from others.
    pub(super) fn set_numbers(&self, numbers: Numbers) -> Result<(), CopyError> {
        self.together(|| {
            self.tried(match &self.conn {
                Connection::Sqlite(_) => set_numbers_in_file(&self.conn, numbers),
                Connection::Postgres(_) => set_sequences(&self.conn, numbers),
            })
        })
    }
}

fn insert_each(
    conn: &rusqlite::Connection,
    table: &Table,
    rows: Vec<Vec<Value>>,
) -> rusqlite::Result<()> {
    let places = vec!["?"; table.columns.len()].join(", ");
    let mut insert = conn.prepare_cached(&format!(
        "INSERT OR IGNORE INTO {} ({}) VALUES ({places})",
        table.name,
        table.list()
    ))?;
    rows.into_iter().try_for_each(|row| insert.execute(rusqlite::params_from_iter(row)).map(drop))
}

fn insert_all(client: &Client, table: &Table, rows: Vec<Vec<Value>>) -> db::Result<()> {
    let types = table.columns.iter().enumerate();
    let types = types.map(|(at, (_, holds))| format!("${}::{}[]", at + 1, spelled(*holds)));
    let sql = format!(
        "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest({}) \
         ON CONFLICT DO NOTHING",
        table.name,
        table.list(),
        types.collect::<Vec<_>>().join(", ")
    );
    client.run(&sql, columnwise(table, rows)?).map(drop)
}

fn remove_each(conn: &rusqlite::Connection, threads: &[i64]) -> rusqlite::Result<()> {
    conn.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS gone (num INTEGER PRIMARY KEY); DELETE FROM temp.gone;",
    )?;
    let mut insert = conn.prepare_cached("INSERT INTO temp.gone VALUES (?1)")?;
    for thread in threads {
        insert.execute([thread])?;
    }
    conn.execute_batch(
        "DELETE FROM chain WHERE row IN \
             (SELECT row FROM journal WHERE thread IN (SELECT num FROM temp.gone)); \
         DELETE FROM journal WHERE thread IN (SELECT num FROM temp.gone);",
    )
}

fn remove_all(client: &Client, threads: &[i64]) -> db::Result<()> {
    for sql in [
        "DELETE FROM chain WHERE row IN (SELECT row FROM journal WHERE thread = ANY($1))",
        "DELETE FROM journal WHERE thread = ANY($1)",
        "DELETE FROM task_over WHERE thread = ANY($1)",
    ] {
        let mut arguments = PgArguments::default();
        argue(&mut arguments, threads.to_vec())?;
        client.run(sql, arguments)?;
    }
    Ok(())
}

fn set_numbers_in_file(conn: &Connection, numbers: Numbers) -> db::Result<()> {
    for (sql, number) in [
        ("UPDATE chore SET value = ?1 WHERE what = 'threads'", numbers.threads),
        ("UPDATE followed SET row = ?1 WHERE what = 'position'", numbers.rows),
    ] {
        conn.execute(sql, params![number])?;
    }
    Ok(())
}

fn set_sequences(conn: &Connection, numbers: Numbers) -> db::Result<()> {
    for (sequence, number) in [("thread_num_seq", numbers.threads), ("journal_row", numbers.rows)] {
        let sql = format!("SELECT setval('{sequence}', greatest(?1, 1), ?1 > 0)");
        conn.query_row(&sql, params![number], |_| Ok(()))?;
    }
    // These only have to be greater than all there are.
    for (table, column) in [("erasure", "id"), ("api_key", "rowid"), ("share", "rowid")] {
        let sql = format!(
            "SELECT setval('{table}_{column}_seq', coalesce(max({column}), 1), \
                 max({column}) IS NOT NULL) FROM {table}"
        );
        conn.query_row(&sql, [], |_| Ok(()))?;
    }
    Ok(())
}

fn spelled(holds: Holds) -> &'static str {
    match holds {
        Holds::Number => "bigint",
        Holds::Text => "text",
        Holds::Bytes => "bytea",
    }
}

/// Rows as one array for each column.
fn columnwise(table: &Table, rows: Vec<Vec<Value>>) -> db::Result<PgArguments> {
    let mut rows: Vec<std::vec::IntoIter<Value>> = rows.into_iter().map(Vec::into_iter).collect();
    let mut arguments = PgArguments::default();
    for (_, holds) in table.columns {
        let column = rows.iter_mut().map(|row| row.next().unwrap_or(Value::Null));
        match holds {
            Holds::Number => {
                let numbers = column.map(|value| match value {
                    Value::Integer(number) => Some(number),
                    _ => None,
                });
                argue(&mut arguments, numbers.collect::<Vec<Option<i64>>>())?;
            }
            Holds::Text => {
                let texts = column.map(|value| match value {
                    Value::Text(text) => Some(match stored(&text) {
                        std::borrow::Cow::Owned(other) => other,
                        std::borrow::Cow::Borrowed(_) => text,
                    }),
                    _ => None,
                });
                argue(&mut arguments, texts.collect::<Vec<Option<String>>>())?;
            }
            Holds::Bytes => {
                let bytes = column.map(|value| match value {
                    Value::Blob(bytes) => Some(bytes),
                    _ => None,
                });
                argue(&mut arguments, bytes.collect::<Vec<Option<Vec<u8>>>>())?;
            }
        }
    }
    Ok(arguments)
}

/// Writes down the ends of tasks that rows of the journal tell of, as an append would have. The
/// first end counts.
fn write_ends(client: &Client, rows: &[Vec<Value>]) -> db::Result<()> {
    let (mut threads, mut tasks, mut states) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for row in rows {
        let (Some(Value::Integer(thread)), Some(Value::Text(body))) = (row.get(1), row.get(7))
        else {
            continue;
        };
        let batch = Batch::parse(1, 0, &Bytes::copy_from_slice(body.as_bytes()));
        for (_, event) in batch.events() {
            let Some(told) = told(event) else { continue };
            let Some(state) = told.over.filter(|_| fits(&told.task)) else { continue };
            if seen.insert((*thread, told.task.clone())) {
                threads.push(*thread);
                tasks.push(stored(&told.task).into_owned());
                states.push(state.name().to_owned());
            }
        }
    }
    if threads.is_empty() {
        return Ok(());
    }
    let mut arguments = PgArguments::default();
    argue(&mut arguments, threads)?;
    argue(&mut arguments, tasks)?;
    argue(&mut arguments, states)?;
    client.run(
        "INSERT INTO task_over (thread, task, state) \
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING",
        arguments,
    )?;
    Ok(())
}
