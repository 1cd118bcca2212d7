//! Reading: a pool of connections, each used by one caller at a time.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::open;
use super::recent::{Known, Recent};
use crate::{Batch, Branch, End, Page, ReadError, ThreadKey, ThreadRef};

/// Connections kept for the next caller.
const POOL: usize = 16;

#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    recent: Arc<Recent>,
    pool: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: &Path, recent: Arc<Recent>) -> Self {
        Self { path: path.to_owned(), recent, pool: Mutex::default() }
    }

    /// Runs something on a connection of its own.
    pub(crate) fn with<T>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let kept = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = match kept {
            Some(conn) => conn,
            None => open::reader(&self.path)?,
        };
        let result = run(&conn);
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < POOL {
            pool.push(conn);
        }
        result
    }

    pub(crate) fn thread(&self, key: &ThreadKey) -> Result<Option<ThreadRef>, ReadError> {
        // First here, then the disk: what has left here is there.
        match self.recent.thread(key) {
            Some(thread) => Ok(Some(thread)),
            None => self.with(|conn| Ok(find_thread(conn, key)?)),
        }
    }

    /// Whether a thread of that name can be looked up without the disk.
    pub(crate) fn has_named(&self, key: &ThreadKey) -> bool {
        self.recent.thread(key).is_some()
    }

    /// Whether all that a thread has after a sequence number can be read without the disk.
    pub(crate) fn has_all(&self, thread: &ThreadRef, seq: u64) -> bool {
        self.recent.has_all(thread.num, seq)
    }

    /// What was appended to a thread last and is still in memory.
    pub(crate) fn newest(&self, thread: &ThreadRef) -> Vec<Arc<Batch>> {
        self.recent.after(thread.num, 0)
    }

    pub(crate) fn numbered(&self, num: i64) -> Result<Option<ThreadRef>, ReadError> {
        self.with(|conn| Ok(if is_live(conn, num)? { find_numbered(conn, num)? } else { None }))
    }

    pub(crate) fn head(&self, thread: &ThreadRef) -> Result<u64, ReadError> {
        // First here, then the disk: what has left here is there.
        match self.recent.head(thread.num) {
            Some(head) => Ok(head),
            None => self.with(|conn| Ok(written_head(conn, thread)?)),
        }
    }

    /// Whether all rows of the thread are known by what they mean.
    pub(crate) fn is_followed(&self, thread: &ThreadRef) -> bool {
        self.recent.is_followed(thread.num) && self.recent.known() == Known::All
    }

    /// Whether a thread that was found has since lost its name, and how.
    pub(crate) fn end(&self, thread: &ThreadRef) -> Result<Option<End>, ReadError> {
        if self.recent.is_named(thread) {
            return Ok(None);
        }
        self.with(|conn| {
            let mut renamed = conn
                .prepare_cached("SELECT renamed FROM thread WHERE num = ?1 AND deleted IS NULL")?;
            let renamed = renamed.query_row(params![thread.num], |row| row.get::<_, i64>(0));
            Ok(match renamed.optional()? {
                None => Some(End::Deleted),
                Some(renamed) if renamed != thread.renamed => Some(End::Renamed),
                Some(_) => None,
            })
        })
    }

    /// What the entry of a sequence number was folded into, if it was and is not the last of it.
    pub(crate) fn folded(
        &self,
        thread: &ThreadRef,
        seq: u64,
    ) -> Result<Option<RangeInclusive<u64>>, ReadError> {
        // Of what was just written nothing was folded, and the rest is on the disk.
        if self.recent.has_all(thread.num, seq) {
            return Ok(None);
        }
        self.with(|conn| Ok(folded(conn, thread, seq)?))
    }

    pub(crate) fn read(
        &self,
        thread: &ThreadRef,
        after: u64,
        entries: usize,
        bytes: usize,
    ) -> Result<Page, ReadError> {
        let head = self.head(thread)?;
        let mut stretch = Stretch {
            entries: Vec::new(),
            seen: after,
            upto: head,
            most: entries,
            bytes,
            room: bytes,
        };
        let recent = self.recent.after(thread.num, after);
        if recent.first().is_some_and(|first| first.first <= after + 1) {
            stretch.take_all(&recent);
        } else {
            self.with(|conn| self.thread_rows(conn, thread, &mut stretch))?;
        }
        Ok(Page { entries: stretch.entries, head })
    }

    /// A thread's rows, those it shares with the thread it branched off from first.
    fn thread_rows(
        &self,
        conn: &Connection,
        thread: &ThreadRef,
        stretch: &mut Stretch,
    ) -> Result<(), ReadError> {
        if let Some(Branch { parent, at }) = &thread.branch
            && stretch.seen < *at
        {
            let upto = stretch.upto;
            stretch.upto = upto.min(*at);
            self.thread_rows(conn, parent, stretch)?;
            stretch.upto = upto;
            if stretch.seen < *at {
                return Ok(());
            }
        }
        let recent = self.recent.after(thread.num, stretch.seen);
        let mut rows = conn.prepare_cached(OWN_ROWS)?;
        let mut rows = rows.query(params![thread.num, stretch.seen as i64])?;
        while !stretch.is_full()
            && let Some(row) = rows.next()?
        {
            stretch.take(&batch(row)?);
        }
        stretch.take_all(&recent);
        Ok(())
    }
}

/// Entries being gathered.
struct Stretch {
    entries: Vec<crate::Entry>,
    seen: u64,
    upto: u64,
    most: usize,
    bytes: usize,
    room: usize,
}

impl Stretch {
    fn is_full(&self) -> bool {
        self.room == 0 || self.is_over()
    }

    /// Whether there must not be more in it.
    fn is_over(&self) -> bool {
        self.entries.len() >= self.most || self.seen >= self.upto
    }

    fn take_all(&mut self, batches: &[Arc<Batch>]) {
        for batch in batches {
            if self.is_full() {
                return;
            }
            self.take(batch);
        }
    }

    fn take(&mut self, batch: &Batch) {
        // One that was begun is finished where that is not too much: all of it would be read again
        // for what is left of it.
        let is_whole = batch.size() <= self.bytes;
        self.entries.reserve(batch.len().min(self.most.saturating_sub(self.entries.len())));
        for entry in batch.after(self.seen) {
            if self.is_over() || self.room == 0 && !is_whole {
                return;
            }
            self.seen = entry.seq;
            self.room = self.room.saturating_sub(entry.event.len());
            self.entries.push(entry);
        }
    }
}

/// Passes on a thread's own rows that end after a sequence number, with their numbers, until it is
/// told to stop.
pub(super) fn rows_after(
    conn: &Connection,
    thread: i64,
    seq: u64,
    mut take: impl FnMut(i64, &Batch) -> Result<bool, ReadError>,
) -> Result<(), ReadError> {
    let mut rows = conn.prepare_cached(OWN_ROWS)?;
    let mut rows = rows.query(params![thread, seq as i64])?;
    while let Some(row) = rows.next()? {
        if !take(row.get(0)?, &batch(row)?)? {
            break;
        }
    }
    Ok(())
}

const OWN_ROWS: &str = "SELECT j.row, j.first, j.at, j.body \
     FROM position p JOIN journal j ON j.row = p.row \
     WHERE p.thread = ?1 AND p.last > ?2 ORDER BY p.last";

/// A row of the journal as `row, first, at, body`.
pub(super) fn batch(row: &Row<'_>) -> Result<Batch, ReadError> {
    let body = Bytes::from(row.get::<_, String>(3)?);
    let batch = Batch::parse(row.get::<_, i64>(1)? as u64, row.get(2)?, &body);
    Ok(batch)
}

/// What the entry of a sequence number was folded into, if it was and is not the last of it.
pub(super) fn folded(
    conn: &Connection,
    thread: &ThreadRef,
    seq: u64,
) -> rusqlite::Result<Option<RangeInclusive<u64>>> {
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
    let found = rows.query_row(params![home.num, seq as i64], |row| {
        let body = Bytes::from(row.get::<_, String>(3)?);
        Ok(Batch::parse(row.get::<_, i64>(1)? as u64, row.get(2)?, &body))
    });
    let folded = found.optional()?.and_then(|batch| batch.folded(seq));
    Ok(folded.filter(|folded| *folded.end() > seq))
}

/// The thread of that name.
pub(super) fn find_thread(
    conn: &Connection,
    key: &ThreadKey,
) -> rusqlite::Result<Option<ThreadRef>> {
    let mut found = conn.prepare_cached(
        "SELECT num, epoch, created, parent, fork, renamed FROM thread \
         WHERE tenant = ?1 AND id = ?2 AND deleted IS NULL",
    )?;
    let found = found.query_row(params![&*key.tenant, &*key.id], columns).optional()?;
    found.map(|columns| thread(conn, columns)).transpose()
}

/// The thread of that number.
pub(super) fn find_numbered(conn: &Connection, num: i64) -> rusqlite::Result<Option<ThreadRef>> {
    let mut found = conn.prepare_cached(BY_NUMBER)?;
    let found = found.query_row(params![num], columns).optional()?;
    found.map(|columns| thread(conn, columns)).transpose()
}

/// Whether a thread is there and not deleted.
pub(super) fn is_live(conn: &Connection, thread: i64) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT 1 FROM thread WHERE num = ?1 AND deleted IS NULL")?
        .exists(params![thread])
}

const BY_NUMBER: &str =
    "SELECT num, epoch, created, parent, fork, renamed FROM thread WHERE num = ?1";

type Columns = (i64, i64, i64, Option<i64>, i64, i64);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
}

/// The thread, with all it branched off from.
fn thread(conn: &Connection, columns_of_it: Columns) -> rusqlite::Result<ThreadRef> {
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
    last.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// The last sequence number whose place is written down.
pub(super) fn written_head(conn: &Connection, thread: &ThreadRef) -> rusqlite::Result<u64> {
    let mut last = conn
        .prepare_cached("SELECT last FROM position WHERE thread = ?1 ORDER BY last DESC LIMIT 1")?;
    let last: Option<i64> = last.query_row(params![thread.num], |row| row.get(0)).optional()?;
    Ok(last.map_or(thread.base(), |last| last as u64))
}
