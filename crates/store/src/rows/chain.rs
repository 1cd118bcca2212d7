//! The hash chain on rows.
//!
//! Invariant: a row's link is written in the transaction of the row. Nothing is parsed for it.

use std::collections::HashMap;

use crate::db::{self, Connection, Optional as _, params};
use bytes::Bytes;

use super::thread::rows_after;
use crate::chain::{self, Chained, Digest};
use crate::{Batch, Branch, ReadError, ThreadRef};

/// Threads whose last link is remembered.
const KNOWN: usize = 500_000;

/// The last links of threads.
#[derive(Debug, Default)]
pub(crate) struct Links {
    last: HashMap<i64, Digest>,
}

impl Links {
    /// Chains a row of a thread that is being written; `epoch` tells the thread's.
    pub(crate) fn add(
        &mut self,
        conn: &Connection,
        thread: i64,
        epoch: impl FnOnce() -> db::Result<u64>,
        row: i64,
        batch: &Batch,
    ) -> db::Result<()> {
        let before = match self.last.get(&thread) {
            Some(link) => *link,
            None => match stored(conn, thread, batch.first - 1)? {
                Some(link) => link,
                None => chain::beginning(epoch()?, batch.first - 1),
            },
        };
        let bodies = chain::bodies(batch);
        let link = chain::last(before, &bodies);
        let flat: Vec<u8> = bodies.iter().flat_map(|body| body.0).collect();
        conn.prepare_cached(
            "INSERT INTO chain (row, before, bodies, link) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![row, before.0, flat, link.0])?;
        if self.last.len() >= KNOWN {
            self.forget();
        }
        self.last.insert(thread, link);
        Ok(())
    }

    /// Forgets links: those of rows that were not committed, or of threads that are gone.
    pub(crate) fn forget(&mut self) {
        self.last.clear();
    }
}

/// The link of an entry that ends a row of a thread, if that was chained.
fn stored(conn: &Connection, thread: i64, seq: u64) -> db::Result<Option<Digest>> {
    let by_place = conn
        .prepare_cached(
            "SELECT c.link FROM position p JOIN chain c ON c.row = p.row \
             WHERE p.thread = ?1 AND p.last = ?2",
        )?
        .query_row(params![thread, seq as i64], |row| row.get(0))
        .optional()?;
    let link = match (by_place, conn) {
        (Some(link), _) => Some(link),
        (None, Connection::Postgres(_)) => None,
        // Written, and its place is not: the rows behind the mark are few.
        (None, Connection::Sqlite(_)) => conn
            .prepare_cached(
                "SELECT c.link FROM journal j JOIN chain c ON c.row = j.row \
                 WHERE j.row > (SELECT row FROM followed WHERE what = 'position') \
                     AND j.thread = ?1 AND j.last = ?2",
            )?
            .query_row(params![thread, seq as i64], |row| row.get(0))
            .optional()?,
    };
    Ok(link.map(Digest))
}

/// Notes what stands in the place of an entry, if its row is chained.
pub(crate) fn replace(
    conn: &Connection,
    thread: i64,
    row: i64,
    seq: u64,
    hash: Digest,
) -> db::Result<()> {
    conn.prepare_cached(
        "INSERT INTO instead (thread, seq, hash) SELECT ?1, ?2, ?3 \
         WHERE EXISTS (SELECT 1 FROM chain WHERE row = ?4) \
         ON CONFLICT (thread, seq) DO UPDATE SET hash = ?3",
    )?
    .execute(params![thread, seq as i64, hash.0, row])?;
    Ok(())
}

/// The chain of a row.
pub(crate) struct RowChain {
    pub(crate) before: Digest,
    pub(crate) bodies: Vec<Digest>,
    pub(crate) link: Digest,
}

/// The chain of a row, if it has one that can be read.
pub(crate) fn of_row(conn: &Connection, row: i64) -> db::Result<Option<RowChain>> {
    let mut find = conn.prepare_cached("SELECT before, bodies, link FROM chain WHERE row = ?1")?;
    let read = |row: &db::Row<'_>| {
        let bodies = Digest::list(row.get_ref(1)?.as_blob().unwrap_or_default());
        Ok((Digest(row.get(0)?), bodies.unwrap_or_default(), Digest(row.get(2)?)))
    };
    let found = find.query_row(params![row], read).optional()?;
    Ok(found.map(|(before, bodies, link)| RowChain { before, bodies, link }))
}

/// What is noted to stand in the place of an entry.
pub(crate) fn instead(conn: &Connection, thread: i64, seq: u64) -> db::Result<Option<Digest>> {
    let mut find =
        conn.prepare_cached("SELECT hash FROM instead WHERE thread = ?1 AND seq = ?2")?;
    let found = find.query_row(params![thread, seq as i64], |row| row.get(0)).optional()?;
    Ok(found.map(Digest))
}

/// What is wrong with a row's place in the chain, in words, and its last link. `before` is the link
/// of the thread's row before, if that was chained.
pub(crate) fn wrong(
    conn: &Connection,
    thread: i64,
    batch: &Batch,
    chained: &RowChain,
    before: Option<Digest>,
) -> db::Result<Option<(u64, &'static str)>> {
    let first = batch.first;
    if before.is_some_and(|before| before != chained.before) {
        return Ok(Some((first, "does not follow the entry before it in the hash chain")));
    }
    if chain::last(chained.before, &chained.bodies) != chained.link {
        return Ok(Some((first, "has a link that does not follow from its hash")));
    }
    let mut bodies = chained.bodies.iter();
    for (seq, (line, source)) in batch.lines() {
        let stands = chain::of_line(batch.at, line, source.as_ref());
        let is_there = match bodies.next() {
            Some(body) if *body == stands => true,
            Some(_) => is_told_otherwise(conn, thread, batch, seq, stands)?,
            None => false,
        };
        if !is_there {
            return Ok(Some((seq, "is not what the hash chain says it was")));
        }
    }
    Ok(bodies.next().map(|_| (batch.last(), "is followed by fewer entries than were chained")))
}

/// Whether another line stands for an entry, as was noted.
fn is_told_otherwise(
    conn: &Connection,
    thread: i64,
    batch: &Batch,
    seq: u64,
    stands: Digest,
) -> db::Result<bool> {
    match batch.folded(seq) {
        // Gone into a later one, which is looked at by itself.
        Some(into) if *into.end() > seq => {
            Ok(*into.start() <= seq && instead(conn, thread, *into.end())?.is_some())
        }
        _ => Ok(instead(conn, thread, seq)? == Some(stands)),
    }
}

/// A thread's entries after a sequence number with their links, those of its shared past first;
/// about so many.
pub(crate) fn chained(
    conn: &Connection,
    thread: &ThreadRef,
    after: u64,
    entries: usize,
) -> Result<Vec<Chained>, ReadError> {
    let mut out = Vec::new();
    gather(conn, thread, after, u64::MAX, entries, &mut out)?;
    Ok(out)
}

fn gather(
    conn: &Connection,
    thread: &ThreadRef,
    mut after: u64,
    upto: u64,
    entries: usize,
    out: &mut Vec<Chained>,
) -> Result<(), ReadError> {
    if let Some(Branch { parent, at }) = &thread.branch
        && after < *at
    {
        gather(conn, parent, after, upto.min(*at), entries, out)?;
        after = *at;
    }
    if out.len() >= entries {
        return Ok(());
    }
    // The hashes of entries that were folded into one that is still to come.
    let mut were = Vec::new();
    rows_after(conn, thread.num, after, |row, batch: &Batch| {
        let chain = of_row(conn, row)?;
        let mut link = chain.as_ref().map(|chain| chain.before);
        let mut all = batch.after(0).peekable();
        for (i, (seq, (line, source))) in batch.lines().enumerate() {
            let body = chain.as_ref().and_then(|chain| chain.bodies.get(i)).copied();
            let before = link;
            link = link.zip(body).map(|(link, body)| chain::link(link, body));
            let stands: (i64, &Bytes) = (batch.at, line);
            let is_other = body
                .is_some_and(|body| chain::of_line(stands.0, stands.1, source.as_ref()) != body);
            if is_other {
                were.extend(body.map(|body| (before, body)));
            }
            let Some(entry) = all.next_if(|entry| entry.seq == seq) else { continue };
            let first = were.first().map_or(before, |(first, _)| *first);
            let own = Chained {
                entry,
                links: first.zip(link),
                were: std::mem::take(&mut were).into_iter().map(|(_, body)| body).collect(),
            };
            if own.entry.seq > after && own.entry.seq <= upto {
                out.push(own);
            }
        }
        Ok(out.len() < entries && batch.last() < upto)
    })
}
