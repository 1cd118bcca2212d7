//! Looking for what is wrong in a database.
//!
//! All of it is read in one transaction, as it is at one moment, into a file. The file's rows are
//! checked as those of any file, and it makes lists and search anew to compare the database's with.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::types::Value;

use crate::check::{CheckError, Checked, Stage};
use crate::copy::{CopyError, Role, Side, Sum, number, snapshot};
use crate::db::{self, Row};
use crate::rows::project::PROJECTIONS;
use crate::sqlite::check as file;
use crate::{Address, Options, Progress, Store, postgres};

/// A thread with what is wrong, or of which something was not followed.
type Threads = HashMap<i64, String>;

/// Checks a database: its rows, heads and numbers, and that what follows the journal is what the
/// journal makes.
pub(crate) async fn check(
    address: &Address,
    scratch: &Path,
    mut progress: impl FnMut(Stage, Progress),
) -> Result<Checked, CheckError> {
    let mut checked = Checked::default();
    let side = Side::reader(address, Role::Source)?;
    if !side.is_current()? {
        return Err(CopyError::Version { path: address.to_string() }.into());
    }
    side.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    let path = scratch.join("anew.db");
    snapshot(&side, &path, |now| progress(Stage::File, now))?;
    file::rows(&path, &mut checked, |now| progress(Stage::Rows, now))?;
    heads(&side, &mut checked)?;
    if !checked.findings.is_empty() {
        return Ok(checked);
    }
    let store = Store::open(&path, Options::default())?;
    store.catch_up(|now| progress(Stage::Rebuild, now)).await?;
    drop(store);
    let anew = Side::reader(&Address::from(&path), Role::Target)?;
    let (names, behind) = threads(&side)?;
    checked.behind = behind.len() as u64;
    for table in PROJECTIONS {
        let columns = columns(&anew, table)?;
        let rows = format!("SELECT {columns} FROM {table}");
        let at = columns.split(", ").position(|name| name == "\"thread\"").unwrap_or(0);
        let (is, should) = (by_thread(&side, &rows, at)?, by_thread(&anew, &rows, at)?);
        compare(&mut checked, table, (&is, &should), &names, &behind);
    }
    let (is, should) = (words(&side)?, words_anew(&anew)?);
    compare(&mut checked, "search", (&is, &should), &names, &behind);
    Ok(checked)
}

/// What the columns of threads say of their journals, and whether numbers that are given next are
/// new.
fn heads(side: &Side, checked: &mut Checked) -> Result<(), CopyError> {
    side.each(
        "SELECT t.id, t.head, n.last FROM thread t LEFT JOIN LATERAL \
             (SELECT j.last FROM journal j WHERE j.thread = t.num ORDER BY j.last DESC LIMIT 1) n \
             ON true \
         WHERE t.deleted IS NULL AND t.head <> coalesce(n.last, t.fork)",
        &[],
        |row| {
            let row = Row::Postgres(row);
            let told = || {
                let (id, head): (String, i64) = (row.get(0)?, row.get(1)?);
                let last: Option<i64> = row.get(2)?;
                Ok(format!(
                    "thread `{id}`: its head is {head}, and its last entry {}",
                    last.unwrap_or(0)
                ))
            };
            checked.found(side.tried(told())?);
            Ok(())
        },
    )?;
    let numbers = side.numbers()?;
    let sql = "SELECT (SELECT coalesce(max(num), 0) FROM thread), \
         (SELECT coalesce(max(row), 0) FROM journal)";
    let (threads, rows): (i64, i64) = side.row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (what, next, last) in [("thread", numbers.threads, threads), ("row", numbers.rows, rows)] {
        if next < last {
            checked.found(format!(
                "the next {what} gets the number {}, and there is {last} already",
                next + 1
            ));
        }
    }
    Ok(())
}

/// The names of threads that are there, and those of which something is still to be followed.
fn threads(side: &Side) -> Result<(Threads, HashSet<i64>), CopyError> {
    let (mut names, mut behind) = (Threads::new(), HashSet::new());
    side.each(
        "SELECT t.num, t.id, f.projected IS NULL OR f.projected < t.head OR f.searched < t.head \
         FROM thread t LEFT JOIN followed f ON f.thread = t.num WHERE t.deleted IS NULL",
        &[],
        |row| {
            let num = number(&row, 0);
            if number(&row, 2) == 1 {
                behind.insert(num);
            }
            if let Some(Value::Text(name)) = row.into_iter().nth(1) {
                names.insert(num, name);
            }
            Ok(())
        },
    )?;
    Ok((names, behind))
}

/// A table's columns as the file has them: their order differs.
fn columns(file: &Side, table: &str) -> Result<String, CopyError> {
    let mut names = Vec::new();
    file.each(&format!("SELECT name FROM pragma_table_info('{table}')"), &[], |row| {
        if let Some(Value::Text(name)) = row.into_iter().next() {
            names.push(format!("\"{name}\""));
        }
        Ok(())
    })?;
    Ok(names.join(", "))
}

/// The sums of a query's rows for each thread, whose number is in a column.
fn by_thread(side: &Side, sql: &str, at: usize) -> Result<HashMap<i64, Sum>, CopyError> {
    let mut sums: HashMap<i64, Sum> = HashMap::new();
    side.each(sql, &[], |row| {
        sums.entry(number(&row, at)).or_default().add(&row);
        Ok(())
    })?;
    Ok(sums)
}

/// The words of a database's index, for each thread.
fn words(side: &Side) -> Result<HashMap<i64, Sum>, CopyError> {
    by_thread(side, "SELECT thread, rowid, unnest(tsvector_to_array(words)) FROM search", 0)
}

/// The words of a file's index, as a database has them.
fn words_anew(file: &Side) -> Result<HashMap<i64, Sum>, CopyError> {
    if let db::Connection::Sqlite(conn) = &file.conn {
        let vocabulary = "CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, search, instance)";
        file.tried(conn.execute_batch(vocabulary).map_err(db::Error::from))?;
    }
    let mut sums: HashMap<i64, Sum> = HashMap::new();
    let sql = "SELECT DISTINCT j.thread, w.doc, w.term, w.col = 'tenant' \
         FROM temp.words w JOIN journal j ON j.row = w.doc >> 20";
    file.each(sql, &[], |mut row| {
        let is_tenant = number(&row, 3) == 1;
        row.truncate(3);
        if let Some(Value::Text(term)) = row.get_mut(2) {
            *term = postgres::indexed(std::mem::take(term), is_tenant);
        }
        sums.entry(number(&row, 0)).or_default().add(&row);
        Ok(())
    })?;
    Ok(sums)
}

/// Tells of threads for which a table is not what the journal makes.
fn compare(
    checked: &mut Checked,
    table: &str,
    (is, should): (&HashMap<i64, Sum>, &HashMap<i64, Sum>),
    names: &Threads,
    behind: &HashSet<i64>,
) {
    let mut wrong: Vec<i64> = names
        .keys()
        .filter(|num| !behind.contains(num) && is.get(num) != should.get(num))
        .copied()
        .collect();
    wrong.extend(is.keys().filter(|num| !names.contains_key(num) && table == "summary"));
    wrong.sort_unstable();
    if let Some(first) = wrong.first() {
        let name = names.get(first).map_or("one that is gone", String::as_str);
        checked.found(format!(
            "`{table}` is not what the journal makes in {} threads, such as `{name}`; `selvedge \
             rebuild` makes it anew",
            wrong.len()
        ));
    }
}
