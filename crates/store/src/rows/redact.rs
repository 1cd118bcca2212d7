//! Rows without the content of events, and what is told of that.

use std::collections::BTreeMap;

use crate::db::{self, Connection, params};
use bytes::Bytes;
use selvedge_protocol::journal::{Kind, blank, is_blank};
use selvedge_protocol::json::{Doc, Node, from_utf8, quote};

use super::chain;
use super::thread::batch;
use crate::chain::{Digest, of_line};
use crate::fold::record_events;
use crate::{Batch, Branch, Redact, RedactError, TendError, ThreadRef};

/// Rows that are being changed, by their numbers.
pub(crate) type Rows = BTreeMap<i64, Changed>;

/// A row whose lines are being changed.
pub(crate) struct Changed {
    pub(crate) thread: i64,
    batch: Batch,
    lines: Vec<(Bytes, Option<Bytes>)>,
}

/// The rows without what is to be taken out, and the hashes of what was there.
pub(crate) fn blanked(
    conn: &Connection,
    thread: &ThreadRef,
    seqs: &[u64],
    head: u64,
) -> Result<(Rows, Vec<(u64, Digest)>), RedactError> {
    let mut rows = Rows::new();
    let mut events = Vec::new();
    for &seq in seqs {
        let found = find(conn, thread, seq);
        let found = found.map_err(|error| TendError::Storage(error.to_string()))?;
        let Some((row, home, batch)) = found.filter(|_| seq > 0 && seq <= head) else {
            return Err(RedactError::NoEvent { seq, head });
        };
        if let Some(folded) = batch.folded(seq)
            && *folded.end() > seq
        {
            let (from, to) = folded.into_inner();
            return Err(RedactError::Folded { seq, from, to });
        }
        let changed = rows.entry(row).or_insert_with(|| {
            let lines = batch.lines().map(|(_, line)| line.clone()).collect();
            Changed { thread: home, batch, lines }
        });
        events.extend(changed.blank(seq, head + 1)?.map(|hash| (seq, hash)));
    }
    Ok((rows, events))
}

impl Changed {
    /// Takes the content out of one line; the hash of what was there, unless it was gone before.
    fn blank(&mut self, seq: u64, receipt: u64) -> Result<Option<Digest>, RedactError> {
        let at = usize::try_from(seq - self.batch.first).unwrap_or(usize::MAX);
        let Some((line, source)) = self.lines.get(at).cloned() else { return Ok(None) };
        let hash = of_line(self.batch.at, &line, source.as_ref());
        let event = self.batch.after(seq - 1).next().map(|entry| entry.event).unwrap_or_default();
        let text = from_utf8(&event).unwrap_or_default();
        let Ok(doc) = Doc::parse(text) else { return Ok(None) };
        let root = doc.root();
        if root.get("kind").and_then(Node::str).as_deref() == Some(Kind::Redacted.name()) {
            return Err(RedactError::Receipt { seq });
        }
        if is_blank(root) {
            return Ok(None);
        }
        let note = format!("{{\"hash\":\"{}\",\"receipt\":{receipt}}}", hash.hex());
        // A line that stands for several keeps their range before it.
        let range = line.len() - event.len();
        let range = line.get(..range).and_then(|range| from_utf8(range).ok()).unwrap_or_default();
        let new = Bytes::from(format!("{range}{}", blank(root, &note)));
        // What the source says of the whole record may be what is to go.
        for (i, (_, source)) in self.lines.iter_mut().enumerate().take(at + 1) {
            let events = source.as_ref().map(|source| record_events(source).max(1));
            if events.is_some_and(|events| i as u64 + events > at as u64) {
                *source = None;
            }
        }
        if let Some(place) = self.lines.get_mut(at) {
            *place = (new, None);
        }
        Ok(Some(hash))
    }
}

/// The row of an entry, whose thread's it is, and what it holds.
fn find(conn: &Connection, thread: &ThreadRef, seq: u64) -> db::Result<Option<(i64, i64, Batch)>> {
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
    let mut rows = rows.query(params![home.num, seq as i64])?;
    match rows.next()? {
        Some(row) => Ok(Some((row.get(0)?, home.num, batch(&row)?))),
        None => Ok(None),
    }
}

/// Threads and all that branched off from them.
pub(crate) fn kin(conn: &Connection, threads: &[i64]) -> db::Result<Vec<i64>> {
    let mut all: Vec<i64> = threads.to_vec();
    all.sort_unstable();
    all.dedup();
    let mut children = conn.prepare_cached("SELECT num FROM thread WHERE parent = ?1")?;
    let mut next = 0;
    while let Some(thread) = all.get(next).copied() {
        let found = children.query_map(params![thread], |row| row.get::<i64>(0))?;
        for child in found {
            let child = child?;
            if !all.contains(&child) {
                all.push(child);
            }
        }
        next += 1;
    }
    Ok(all)
}

/// Writes rows with their new lines.
pub(crate) fn write(conn: &Connection, rows: &Rows) -> db::Result<()> {
    for (row, changed) in rows {
        rewrite(conn, changed.thread, *row, &changed.batch, changed.lines.clone())?;
    }
    Ok(())
}

/// Writes a row with other lines, and notes what stands where something else did.
pub(crate) fn rewrite(
    conn: &Connection,
    thread: i64,
    row: i64,
    before: &Batch,
    lines: Vec<(Bytes, Option<Bytes>)>,
) -> db::Result<()> {
    let after = before.with(lines);
    conn.prepare_cached(
        "UPDATE journal SET body = ?2 WHERE row = ?1 AND thread = ?3 AND last = ?4",
    )?
    .execute(params![row, after.body(), thread, after.last() as i64])?;
    for ((seq, was), (_, is)) in before.lines().zip(after.lines()) {
        // One that went into another is told of there.
        let is_gone = after.folded(seq).is_some_and(|folded| *folded.end() > seq);
        if was != is && !is_gone {
            let hash = of_line(before.at, &is.0, is.1.as_ref());
            chain::replace(conn, thread, row, seq, hash)?;
        }
    }
    Ok(())
}

/// The event that tells of it.
pub(crate) fn receipt(asked: &Redact, events: &[(u64, Digest)]) -> String {
    let list: Vec<String> = events
        .iter()
        .map(|(seq, hash)| format!("{{\"seq\":{seq},\"hash\":\"{}\"}}", hash.hex()))
        .collect();
    let reason = asked.reason.as_deref();
    let reason = reason.map(|reason| format!(",\"reason\":{}", quote(reason))).unwrap_or_default();
    format!(
        "{{\"kind\":\"{}\",\"contextId\":{},\"events\":[{}],\"by\":{}{reason},\"timestamp\":{}}}",
        Kind::Redacted.name(),
        quote(&asked.thread.id),
        list.join(","),
        quote(&asked.by),
        quote(&asked.timestamp)
    )
}
