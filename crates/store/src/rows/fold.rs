//! Folding old pieces of text of one thread, on its rows.

use std::collections::BTreeSet;

use crate::db::{self, Connection, Optional as _, params};
use bytes::Bytes;

use super::redact::rewrite;
use super::thread::rows_after;
use crate::Batch;
use crate::fold::{Folded, Folder};

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

/// What is to be folded in a thread.
pub(crate) struct Fold {
    pub(crate) thread: i64,
    rows: Vec<(i64, Batch)>,
    pub(crate) folded: Vec<Folded>,
    /// What is to be looked at again.
    next: Option<u64>,
}

/// Looks at a thread's rows from an entry on, or from what was not finished before it.
pub(crate) fn look(conn: &Connection, thread: i64, first: u64, upto: i64) -> db::Result<Fold> {
    let unfinished: Option<i64> = conn
        .prepare_cached("SELECT seq FROM unfolded WHERE thread = ?1")?
        .query_row(params![thread], |row| row.get(0))
        .optional()?;
    let first = unfinished.map_or(first, |seq| first.min(seq as u64));
    let mut folder = Folder::new(cuts(conn, thread)?);
    let mut rows = Vec::new();
    rows_after(conn, thread, first - 1, |row, batch| {
        if row > upto {
            return Ok(false);
        }
        for (seq, (line, source)) in batch.lines() {
            folder.take(seq, line, source.as_ref().map(|source| &source[..]));
        }
        rows.push((row, batch.clone()));
        Ok::<_, db::Error>(true)
    })?;
    let last = rows.last().map_or(first, |(_, batch)| batch.last());
    let (folded, next) = folder.finish();
    Ok(Fold { thread, rows, folded, next: next.filter(|next| last - next < PATIENCE) })
}

/// Entries after which someone else goes on, or up to which something is shown.
fn cuts(conn: &Connection, thread: i64) -> db::Result<BTreeSet<u64>> {
    let mut cuts = BTreeSet::new();
    let mut add = |sql: &str| {
        let mut found = conn.prepare_cached(sql)?;
        let found = found.query_map(params![thread], |row| row.get::<i64>(0))?;
        for seq in found {
            cuts.insert(seq? as u64);
        }
        Ok::<_, db::Error>(())
    };
    add("WITH RECURSIVE kin(num, fork) AS ( \
             SELECT num, fork FROM thread WHERE parent = ?1 \
             UNION SELECT t.num, t.fork FROM thread t JOIN kin k ON t.parent = k.num \
         ) SELECT fork FROM kin")?;
    if conn.has_table("share")? {
        add("WITH RECURSIVE kin(num) AS ( \
                 SELECT ?1 UNION SELECT t.num FROM thread t JOIN kin k ON t.parent = k.num \
             ) SELECT upto FROM share JOIN kin ON share.thread = kin.num")?;
    }
    Ok(cuts)
}

impl Fold {
    /// Writes it down; how many entries went into others.
    pub(crate) fn write(&self, conn: &Connection) -> db::Result<u64> {
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
                .prepare_cached(
                    "INSERT INTO unfolded (thread, seq) VALUES (?1, ?2) \
                     ON CONFLICT (thread) DO UPDATE SET seq = ?2",
                )?
                .execute(params![self.thread, next as i64])?,
            None => conn
                .prepare_cached("DELETE FROM unfolded WHERE thread = ?1")?
                .execute(params![self.thread])?,
        };
        Ok(entries)
    }
}
