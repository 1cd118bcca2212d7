//! Threads and their rows of the journal.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::db::{self, Connection, Optional as _, Row, params};
use bytes::Bytes;

use crate::{Batch, Branch, ThreadKey, ThreadRef};

/// Passes on a thread's own rows that end after a sequence number, with their numbers, until it is
/// told to stop.
pub(crate) fn rows_after<E: From<db::Error>>(
    conn: &Connection,
    thread: i64,
    seq: u64,
    mut take: impl FnMut(i64, &Batch) -> Result<bool, E>,
) -> Result<(), E> {
    let mut statement = conn.prepare_cached(
        "SELECT j.row, j.first, j.at, j.body FROM position p JOIN journal j ON j.row = p.row \
         WHERE p.thread = ?1 AND p.last > ?2 ORDER BY p.last LIMIT ?3",
    )?;
    let (mut seen, at_once) = (seq, conn.at_once());
    loop {
        let mut rows = statement.query(params![thread, seen as i64, at_once])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let batch = batch(&row)?;
            (seen, count) = (batch.last(), count + 1);
            if !take(row.get(0)?, &batch)? {
                return Ok(());
            }
        }
        if count < at_once {
            return Ok(());
        }
    }
}

/// A row of the journal as `row, first, at, body`.
pub(crate) fn batch(row: &Row<'_>) -> db::Result<Batch> {
    let body = Bytes::from(row.get::<String>(3)?);
    let batch = Batch::parse(row.get::<i64>(1)? as u64, row.get(2)?, &body);
    Ok(batch)
}

/// What the entry of a sequence number was folded into, if it was and is not the last of it.
pub(crate) fn folded(
    conn: &Connection,
    thread: &ThreadRef,
    seq: u64,
) -> db::Result<Option<RangeInclusive<u64>>> {
    let mut home = thread;
    while let Some(Branch { parent, at }) = home.branch.as_ref()
        && seq <= *at
    {
        home = parent;
    }
    let mut rows = conn.prepare_cached(
        "SELECT j.row, j.first, j.at, j.body FROM position p JOIN journal j ON j.row = p.row \
         WHERE p.thread = ?1 AND p.last >= ?2 ORDER BY p.last LIMIT 1",
    )?;
    let found = rows.query_row(params![home.num, seq as i64], batch);
    let folded = found.optional()?.and_then(|batch| batch.folded(seq));
    Ok(folded.filter(|folded| *folded.end() > seq))
}

/// The thread of that name.
pub(crate) fn find_thread(conn: &Connection, key: &ThreadKey) -> db::Result<Option<ThreadRef>> {
    let mut found = conn.prepare_cached(
        "SELECT num, epoch, created, parent, fork, renamed FROM thread \
         WHERE tenant = ?1 AND id = ?2 AND deleted IS NULL",
    )?;
    let found = found.query_row(params![&*key.tenant, &*key.id], columns).optional()?;
    found.map(|columns| thread(conn, columns)).transpose()
}

/// The thread of that number.
pub(crate) fn find_numbered(conn: &Connection, num: i64) -> db::Result<Option<ThreadRef>> {
    let mut found = conn.prepare_cached(BY_NUMBER)?;
    let found = found.query_row(params![num], columns).optional()?;
    found.map(|columns| thread(conn, columns)).transpose()
}

/// Whether a thread is there and not deleted.
pub(crate) fn is_live(conn: &Connection, thread: i64) -> db::Result<bool> {
    conn.prepare_cached("SELECT 1 FROM thread WHERE num = ?1 AND deleted IS NULL")?
        .exists(params![thread])
}

const BY_NUMBER: &str =
    "SELECT num, epoch, created, parent, fork, renamed FROM thread WHERE num = ?1";

pub(crate) type Columns = (i64, i64, i64, Option<i64>, i64, i64);

pub(crate) fn columns(row: &Row<'_>) -> db::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
}

/// The thread, with all it branched off from.
pub(crate) fn thread(conn: &Connection, columns_of_it: Columns) -> db::Result<ThreadRef> {
    let mut chain = vec![columns_of_it];
    let mut by_num = conn.prepare_cached(BY_NUMBER)?;
    while let Some((_, _, _, Some(parent), ..)) = chain.last() {
        chain.push(by_num.query_row(params![parent], columns)?);
    }
    let mut made: Option<ThreadRef> = None;
    let mut last = None;
    for (num, epoch, created, _, fork, renamed) in chain.into_iter().rev() {
        let branch = made.take().map(|parent| Branch { parent: Arc::new(parent), at: fork as u64 });
        let thread = ThreadRef { num, epoch: epoch as u64, created, renamed, branch };
        made = Some(thread.clone());
        last = Some(thread);
    }
    last.ok_or(db::Error::NoRow)
}

/// The last sequence number whose place is written down.
pub(crate) fn written_head(conn: &Connection, thread: &ThreadRef) -> db::Result<u64> {
    let mut last = conn
        .prepare_cached("SELECT last FROM position WHERE thread = ?1 ORDER BY last DESC LIMIT 1")?;
    let last: Option<i64> = last.query_row(params![thread.num], |row| row.get(0)).optional()?;
    Ok(last.map_or(thread.base(), |last| last as u64))
}
