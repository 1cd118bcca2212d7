//! Folding old pieces of text, a stretch of the journal at a time.
//!
//! Invariant: a row is looked at once, and again only where a text in it was not finished. Rows keep
//! their numbers, their time and their keys.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::marks::{self, What};
use super::read::rows_after;
use super::redact::rewrite;
use super::tend::failed;
use super::writer::Writer;
use crate::fold::{Folded, Folder};
use crate::{Batch, ReadError, TendError};

/// Rows that are looked at together.
const ROWS: i64 = 2000;
/// Entries after which a text that is never finished is left as it is.
const PATIENCE: u64 = 100_000;

/// How folding went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Folding {
    /// Entries that went into others.
    pub entries: u64,
    /// Whether there is more to look at.
    pub more: bool,
}

impl Writer {
    /// Folds what is finished in some rows that were committed before a moment.
    pub(super) fn fold(&mut self, before: i64) -> Result<Folding, TendError> {
        self.drain()?;
        let from = marks::get(&self.conn, What::Folded).map_err(failed)?;
        let (to, threads) = stretch(&self.conn, from, before).map_err(failed)?;
        let Some(to) = to else { return Ok(Folding::default()) };
        let mut folds = Vec::new();
        for (thread, first) in threads {
            folds.push(look(&self.conn, thread, first, to).map_err(failed)?);
        }
        let changed: Vec<i64> =
            folds.iter().filter(|fold| !fold.folded.is_empty()).map(|fold| fold.thread).collect();
        let affected = super::redact::kin(&self.conn, &changed).map_err(failed)?;
        if !changed.is_empty() {
            self.forget_threads(&affected);
        }
        let entries = marks::lightly(&self.conn, |conn| {
            let mut entries = 0;
            for fold in &folds {
                entries += fold.write(conn)?;
            }
            marks::set(conn, What::Folded, to)?;
            Ok(entries)
        });
        let entries = entries.map_err(failed)?;
        if !changed.is_empty() {
            self.rewritten(&affected);
        }
        Ok(Folding { entries, more: true })
    }
}

/// The last of the next rows to look at, and the threads that they are of, each with the first
/// entry.
type Stretch = (Option<i64>, BTreeMap<i64, u64>);

fn stretch(conn: &Connection, from: i64, before: i64) -> rusqlite::Result<Stretch> {
    let followed = marks::get(conn, What::Position)?;
    let mut rows = conn.prepare_cached(
        "SELECT row, thread, first, at FROM journal \
         WHERE row > ?1 AND row <= ?2 ORDER BY row LIMIT ?3",
    )?;
    let mut rows = rows.query(params![from, followed, ROWS])?;
    let (mut last, mut threads) = (None, BTreeMap::new());
    // In the order of commits: what comes after one that is too young is, too.
    while let Some(row) = rows.next()?
        && row.get::<_, i64>(3)? < before
    {
        last = Some(row.get(0)?);
        threads.entry(row.get(1)?).or_insert(row.get::<_, i64>(2)? as u64);
    }
    Ok((last, threads))
}

/// What is to be folded in a thread.
struct Fold {
    thread: i64,
    rows: Vec<(i64, Batch)>,
    folded: Vec<Folded>,
    /// What is to be looked at again.
    next: Option<u64>,
}

/// Looks at a thread's rows from an entry on, or from what was not finished before it.
fn look(conn: &Connection, thread: i64, first: u64, upto: i64) -> rusqlite::Result<Fold> {
    let unfinished: Option<i64> = conn
        .prepare_cached("SELECT seq FROM unfolded WHERE thread = ?1")?
        .query_row(params![thread], |row| row.get(0))
        .optional()?;
    let first = unfinished.map_or(first, |seq| first.min(seq as u64));
    let mut folder = Folder::new(cuts(conn, thread)?);
    let mut rows = Vec::new();
    let each = rows_after(conn, thread, first - 1, |row, batch| {
        if row > upto {
            return Ok(false);
        }
        for (seq, (line, source)) in batch.lines() {
            folder.take(seq, line, source.as_ref().map(|source| &source[..]));
        }
        rows.push((row, batch.clone()));
        Ok(true)
    });
    if let Err(ReadError::Storage(error)) = each {
        return Err(error);
    }
    let last = rows.last().map_or(first, |(_, batch)| batch.last());
    let (folded, next) = folder.finish();
    Ok(Fold { thread, rows, folded, next: next.filter(|next| last - next < PATIENCE) })
}

/// Entries after which someone else goes on, or up to which something is shown.
fn cuts(conn: &Connection, thread: i64) -> rusqlite::Result<BTreeSet<u64>> {
    let mut cuts = BTreeSet::new();
    let mut add = |sql: &str| {
        let mut found = conn.prepare_cached(sql)?;
        let found = found.query_map(params![thread], |row| row.get::<_, i64>(0))?;
        for seq in found {
            cuts.insert(seq? as u64);
        }
        Ok::<_, rusqlite::Error>(())
    };
    add("WITH RECURSIVE kin(num, fork) AS ( \
             SELECT num, fork FROM thread WHERE parent = ?1 \
             UNION SELECT t.num, t.fork FROM thread t JOIN kin k ON t.parent = k.num \
         ) SELECT fork FROM kin")?;
    let shares = conn
        .prepare_cached("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'share'")?
        .exists([])?;
    if shares {
        add("WITH RECURSIVE kin(num) AS ( \
                 SELECT ?1 UNION SELECT t.num FROM thread t JOIN kin k ON t.parent = k.num \
             ) SELECT upto FROM share JOIN kin ON share.thread = kin.num")?;
    }
    Ok(cuts)
}

impl Fold {
    /// Writes it down; how many entries went into others.
    fn write(&self, conn: &Connection) -> rusqlite::Result<u64> {
        let mut folded = self.folded.iter().peekable();
        let mut entries = 0;
        for (row, batch) in &self.rows {
            let mut lines: Vec<(Bytes, Option<Bytes>)> = Vec::new();
            let mut is_changed = false;
            for (seq, line) in batch.lines() {
                while folded.next_if(|fold| *fold.entries.end() < seq).is_some() {}
                match folded.peek() {
                    Some(fold) if fold.entries.contains(&seq) => {
                        lines.push((fold.line(seq), None));
                        entries += u64::from(*fold.entries.end() != seq);
                        is_changed = true;
                    }
                    _ => lines.push(line.clone()),
                }
            }
            if is_changed {
                rewrite(conn, self.thread, *row, batch, lines)?;
            }
        }
        match self.next {
            Some(next) => conn
                .prepare_cached("INSERT OR REPLACE INTO unfolded (thread, seq) VALUES (?1, ?2)")?
                .execute(params![self.thread, next as i64])?,
            None => conn
                .prepare_cached("DELETE FROM unfolded WHERE thread = ?1")?
                .execute(params![self.thread])?,
        };
        Ok(entries)
    }
}
