//! What a branch shares with the threads it came from.
//!
//! It is folded again for each branch, rather than resolved when asked: how a task stood at the
//! branching point is written nowhere but in the journal.

use crate::Batch;
use crate::db::{self, Connection, Optional as _, params};
use crate::rows::thread::rows_after;

/// Reads the rows of a thread and those it branched off from, up to a sequence number, in order,
/// each with the thread it belongs to.
pub(super) fn each(
    conn: &Connection,
    thread: i64,
    upto: u64,
    mut take: impl FnMut(i64, &Batch) -> db::Result<()>,
) -> db::Result<()> {
    let mut parents = conn.prepare_cached("SELECT parent, fork FROM thread WHERE num = ?1")?;
    let mut chain = vec![(thread, upto)];
    while let Some((num, upto)) = chain.last().copied() {
        let found = parents.query_row(params![num], |row| Ok((row.get(0)?, row.get(1)?)));
        let found: Option<(Option<i64>, i64)> = found.optional()?;
        match found {
            Some((Some(parent), fork)) if fork > 0 => chain.push((parent, upto.min(fork as u64))),
            _ => break,
        }
    }
    let mut done = 0;
    while let Some((num, upto)) = chain.pop() {
        rows_after(conn, num, done, |_, batch| {
            if done >= upto {
                return Ok(false);
            }
            let batch = batch.clone().upto(upto);
            done = batch.last();
            take(num, &batch)?;
            Ok::<_, db::Error>(done < upto)
        })?;
    }
    Ok(())
}
