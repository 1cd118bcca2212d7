//! Taking content out, erasing and folding, each in one transaction with what is known of it.
//!
//! Who reads gets nothing of it from then on. What is left of it in the database's own files goes
//! when PostgreSQL cleans up after itself.

use std::collections::BTreeSet;

use super::stage::{Look, stage};
use super::tend::{failed, tended};
use super::threads::{Lock, lock, lock_numbered, now, rewrite};
use super::writer::{Writer, own, tokens};
use super::{Client, follow};
use crate::db::{self, Connection, Optional as _, params};
use crate::rows::erase::{erase, keep};
use crate::rows::fold::{Folding, look};
use crate::rows::redact::{blanked, kin, receipt, write};
use crate::{
    Append, AppendError, Branches, Draft, Erase, Erasure, REDACT_EVENTS, Redact, RedactError,
    Redacted, TendError,
};

/// Threads that are looked at together for pieces of text to fold.
const THREADS: i64 = 64;

impl Writer {
    /// Takes the content out of events, and leaves a receipt.
    pub(super) fn redact(&mut self, asked: &Redact) -> Result<Redacted, RedactError> {
        if asked.events.is_empty() || asked.events.len() > REDACT_EVENTS {
            return Err(RedactError::Count { limit: REDACT_EVENTS });
        }
        let seqs: Vec<u64> =
            asked.events.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let tokens = tokens()?;
        let done = self.together(|writer| {
            let own = own(writer.chain, &writer.node, &writer.has_said);
            let (conn, client) = writer.link.get()?;
            let found = lock(conn, client, &[&asked.thread], Lock::Head)?.remove(&asked.thread);
            let Some(found) = found else { return Ok(Err(TendError::NotFound.into())) };
            let at = now(conn)?.max(found.at);
            // Where the content is: in the thread, or in those it branched off from.
            let (rows, events) = match blanked(conn, &found.thread, &seqs, found.head) {
                Ok(blanked) => blanked,
                Err(error) => return Ok(Err(error)),
            };
            if events.is_empty() {
                return Ok(Ok((Redacted { events, receipt: None, at }, Vec::new(), None)));
            }
            let homes: Vec<i64> = rows.values().map(|changed| changed.thread).collect();
            let affected = kin(conn, &homes)?;
            lock_numbered(client, &affected, Lock::Head)?;
            write(conn, &rows)?;
            for thread in &affected {
                follow::anew(conn, &tokens, *thread)?;
            }
            let told = Append::new(asked.thread.clone(), vec![Draft::new(receipt(asked, &events))]);
            let mut staged = stage(conn, client, &[&told], Look::Never, own)?;
            let staged = staged.pop().unwrap_or(Err(AppendError::NotFound.into()))?;
            let receipt = Some(staged.answer.last);
            let counts = rewrite(client, &affected)?;
            Ok(Ok((Redacted { events, receipt, at }, counts, Some(staged))))
        });
        let (redacted, counts, staged) = done.map_err(tended)??;
        drop(self.publish(staged.as_slice()));
        self.rewritten(&counts);
        Ok(redacted)
    }

    /// Tells whoever reads threads that entries of them were written anew, here and elsewhere.
    fn rewritten(&self, counts: &[(i64, i64)]) {
        for (thread, rewrites) in counts {
            self.live.rewritten_by(*thread, *rewrites);
        }
        self.node.changed(counts.iter().map(|(thread, _)| *thread));
    }

    /// Erases a thread: it is gone when this returns, and its rows go behind.
    pub(super) fn erase(&mut self, asked: &Erase) -> Result<Vec<Erasure>, TendError> {
        let done = self.together(|writer| {
            let (conn, client) = writer.link.get()?;
            let found = lock(conn, client, &[&asked.thread], Lock::All)?.remove(&asked.thread);
            let Some(found) = found else { return Err(AppendError::NotFound.into()) };
            let gone = match asked.branches {
                Branches::Stay => vec![found.thread.num],
                Branches::Go => kin(conn, &[found.thread.num])?,
            };
            lock_numbered(client, &gone, Lock::All)?;
            let at = now(conn)?;
            let mut receipts = Vec::new();
            for num in gone.iter().rev() {
                receipts.extend(erase(conn, *num, at, asked, &gone)?);
            }
            for receipt in &receipts {
                keep(conn, &asked.thread.tenant, receipt)?;
            }
            Ok((gone, receipts))
        });
        let (gone, receipts) = done.map_err(tended)?;
        for num in &gone {
            self.live.deleted(*num);
        }
        self.node.changed(gone.iter().copied());
        self.note(gone);
        Ok(receipts)
    }

    /// Folds what is finished in some rows that were committed before a moment.
    pub(super) fn fold(&mut self, before: i64) -> Result<Folding, TendError> {
        let (conn, _) = self.link.get().map_err(failed)?;
        let threads = unfolded(conn, before).map_err(failed)?;
        let mut folding = Folding { entries: 0, more: !threads.is_empty() };
        for thread in threads {
            let folded = self.together(|writer| {
                let (conn, client) = writer.link.get()?;
                Ok(fold(conn, client, thread, before)?)
            });
            let (entries, counts) = folded.map_err(tended)?;
            folding.entries += entries;
            self.rewritten(&counts);
        }
        Ok(folding)
    }
}

/// Some threads with rows that were committed before a moment and not looked at.
fn unfolded(conn: &Connection, before: i64) -> db::Result<Vec<i64>> {
    let mut find = conn.prepare_cached(
        "SELECT f.thread FROM followed f JOIN thread t ON t.num = f.thread AND f.folded < t.head \
         WHERE EXISTS (SELECT 1 FROM journal j WHERE j.thread = f.thread AND j.last > f.folded \
             AND j.at < ?1) ORDER BY f.thread LIMIT ?2",
    )?;
    let found = find.query_map(params![before, THREADS], |row| row.get(0))?;
    found.collect()
}

/// Folds what is finished in a thread; how many entries went, and how often those threads were
/// written anew that have them.
fn fold(
    conn: &Connection,
    client: &Client,
    thread: i64,
    before: i64,
) -> db::Result<(u64, Vec<(i64, i64)>)> {
    lock_numbered(client, &[thread], Lock::Head)?;
    let looked: i64 = conn
        .query_row("SELECT folded FROM followed WHERE thread = ?1", params![thread], |row| {
            row.get(0)
        })
        .optional()?
        .unwrap_or(i64::MAX);
    let mut find = conn.prepare_cached(
        "SELECT min(first), max(last), max(row) FROM journal \
         WHERE thread = ?1 AND last > ?2 AND at < ?3",
    )?;
    let upto = find.query_row(params![thread, looked, before], |row| {
        let ends: [Option<i64>; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
        Ok(ends)
    })?;
    let [Some(first), Some(last), Some(row)] = upto else { return Ok((0, Vec::new())) };
    let fold = look(conn, thread, first as u64, row)?;
    let entries = fold.write(conn)?;
    conn.execute("UPDATE followed SET folded = ?2 WHERE thread = ?1", params![thread, last])?;
    if fold.folded.is_empty() {
        return Ok((entries, Vec::new()));
    }
    Ok((entries, rewrite(client, &kin(conn, &[thread])?)?))
}
