//! Looking for what is wrong in a file.

use std::collections::HashMap;
use std::path::Path;

use selvedge_protocol::json::{Doc, Node, from_utf8};

use super::{log, open};
use crate::chain::Digest;
use crate::check::{Checked, FINDINGS};
use crate::db::{self, params};
use crate::rows::project::PROJECTIONS;
use crate::rows::{chain, thread};
use crate::{Progress, ReadError};

/// Looks at every page and index; whether the rest can be looked at.
pub(crate) fn pages(path: &Path, checked: &mut Checked) -> Result<bool, ReadError> {
    let conn = open::reader(path)?;
    let ask = || {
        let mut told = conn.prepare_cached(&format!("PRAGMA integrity_check({FINDINGS})"))?;
        let told = told.query_map([], |row| row.get::<String>(0))?;
        told.collect::<db::Result<Vec<_>>>()
    };
    match ask() {
        Ok(told) => {
            for line in told.into_iter().filter(|line| line != "ok") {
                checked.found(format!("the file: {line}"));
            }
        }
        // What is no database cannot be asked.
        Err(error) => checked.found(format!("the file: {error}")),
    }
    Ok(checked.findings.is_empty())
}

/// Copies the log in front of a file's tables, if there is one. Before the file itself: what leaves
/// the log meanwhile is in the tables then.
pub(crate) fn copy_log(path: &Path, to: &Path) -> std::io::Result<bool> {
    let mut found = false;
    for (from, to) in log::paths(path).into_iter().zip(log::paths(to)) {
        match std::fs::copy(from, to) {
            Ok(bytes) => found |= bytes > 0,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Whether something stands in the log in front of a file's tables.
pub(crate) fn has_log(path: &Path) -> bool {
    log::paths(path).iter().any(|log| log.metadata().is_ok_and(|found| found.len() > 0))
}

/// Copies a file as it is at one moment.
pub(crate) fn snapshot(path: &Path, to: &Path) -> Result<(), ReadError> {
    let conn = open::reader(path)?;
    conn.execute("VACUUM INTO ?1", params![to.display().to_string()])?;
    Ok(())
}

/// Looks at every row: sequences are dense from where their thread begins, in the order of commits,
/// and every event is JSON and says its kind.
pub(crate) fn rows(
    path: &Path,
    checked: &mut Checked,
    mut progress: impl FnMut(Progress),
) -> Result<(), ReadError> {
    const STEP: u64 = 1000;
    let conn = open::reader(path)?;
    // What each thread has so far, and its name.
    let mut heads: HashMap<i64, (u64, String)> = HashMap::new();
    // The last link of each, where its last row was chained.
    let mut links: HashMap<i64, Digest> = HashMap::new();
    let mut threads = conn.prepare_cached("SELECT num, fork, id, deleted IS NULL FROM thread")?;
    let mut found = threads.query([])?;
    while let Some(row) = found.next()? {
        heads.insert(row.get(0)?, (row.get::<i64>(1)? as u64, row.get(2)?));
        checked.threads += u64::from(row.get::<bool>(3)?);
    }
    let total = conn.query_row("SELECT count(*) FROM journal", [], |row| row.get::<i64>(0))?;
    let mut all =
        conn.prepare_cached("SELECT row, first, at, body, thread, last FROM journal ORDER BY row")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        if checked.appends.is_multiple_of(STEP) {
            progress(Progress { done: checked.appends, total: total as u64 });
        }
        checked.appends += 1;
        let number: i64 = row.get(0)?;
        let batch = match thread::batch(&row) {
            Ok(batch) => batch,
            Err(error) => {
                checked.found(format!("row {number}: {error}"));
                continue;
            }
        };
        let (thread, last) = (row.get::<i64>(4)?, row.get::<i64>(5)? as u64);
        let Some((head, name)) = heads.get_mut(&thread) else {
            checked.found(format!("row {number} is of thread {thread}, which is not there"));
            continue;
        };
        let first = batch.first;
        if first != *head + 1 {
            checked.found(format!("thread `{name}`: {first} follows {head} (row {number})"));
        }
        if batch.last() != last {
            let count = batch.last() + 1 - first;
            checked.found(format!(
                "thread `{name}`: row {number} should end at {last} and has {count} events"
            ));
        }
        *head = last;
        let before = links.remove(&thread);
        if let Some(chained) = chain::of_row(&conn, number)? {
            checked.chained += batch.last() + 1 - first;
            if let Some((seq, wrong)) = chain::wrong(&conn, thread, &batch, &chained, before)? {
                checked.found(format!("thread `{name}`: entry {seq} {wrong} (row {number})"));
            }
            links.insert(thread, chained.link);
        }
        for (seq, event) in batch.events() {
            checked.events += 1;
            if let Some(wrong) = wrong(event) {
                checked.found(format!("thread `{name}`: event {seq} {wrong} (row {number})"));
            }
        }
    }
    progress(Progress { done: checked.appends, total: checked.appends });
    Ok(())
}

/// What is wrong with an event.
fn wrong(event: &[u8]) -> Option<&'static str> {
    let doc = from_utf8(event).ok().and_then(|text| Doc::parse(text).ok());
    match doc {
        None => Some("is not JSON"),
        Some(doc) if doc.root().get("kind").and_then(Node::str).is_none() => Some("has no kind"),
        Some(_) => None,
    }
}

/// Compares what follows the journal in two files of the same journal.
pub(crate) fn differences(
    kept: &Path,
    anew: &Path,
    checked: &mut Checked,
) -> Result<(), ReadError> {
    let conn = db::Connection::Sqlite(rusqlite::Connection::open(kept).map_err(db::Error::from)?);
    conn.execute("ATTACH ?1 AS anew", params![anew.display().to_string()])?;
    conn.execute_batch(
        "CREATE VIRTUAL TABLE temp.kept_words USING fts5vocab(main, search, instance); \
         CREATE VIRTUAL TABLE temp.anew_words USING fts5vocab(anew, search, instance);",
    )?;
    let tables = ["position", "idempotency"].iter().chain(PROJECTIONS);
    let pairs = tables.map(|name| (*name, format!("main.{name}"), format!("anew.{name}")));
    let words = ("search", "temp.kept_words".to_owned(), "temp.anew_words".to_owned());
    for (name, kept, anew) in pairs.chain([words]) {
        let only = |one: &str, other: &str| {
            let rows = format!("SELECT * FROM {one} EXCEPT SELECT * FROM {other}");
            conn.query_row(&format!("SELECT count(*) FROM ({rows})"), [], |row| row.get::<i64>(0))
        };
        let (wrong, missing) = (only(&kept, &anew)?, only(&anew, &kept)?);
        if wrong + missing > 0 {
            checked.found(format!(
                "`{name}` is not what the journal makes: {wrong} rows too many or wrong, {missing} \
                 missing or otherwise; `selvedge rebuild` makes it anew"
            ));
        }
    }
    Ok(())
}
