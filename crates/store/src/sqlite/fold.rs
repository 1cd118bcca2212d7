//! Folding old pieces of text, a stretch of the journal at a time.
//!
//! Invariant: a row is looked at once, and again only where a text in it was not finished. Rows keep
//! their numbers, their time and their keys.

use std::collections::BTreeMap;

use super::follower::failed;
use super::marks::{self, What};
use super::writer::Writer;
use crate::TendError;
use crate::db::{self, Connection, params};
use crate::rows::fold::{Folding, look};
use crate::rows::redact::kin;

/// Rows that are looked at together.
const ROWS: i64 = 2000;

impl Writer {
    /// Folds what is finished in some rows that were committed before a moment.
    pub(super) fn fold(&mut self, before: i64) -> Result<Folding, TendError> {
        let following = self.following.clone();
        let mut follower = following.stop();
        follower.drain()?;
        let conn = &follower.conn;
        let from = marks::get(conn, What::Folded).map_err(failed)?;
        let (to, threads) = stretch(conn, from, before).map_err(failed)?;
        let Some(to) = to else { return Ok(Folding::default()) };
        let mut folds = Vec::new();
        for (thread, first) in threads {
            folds.push(look(conn, thread, first, to).map_err(failed)?);
        }
        let changed: Vec<i64> =
            folds.iter().filter(|fold| !fold.folded.is_empty()).map(|fold| fold.thread).collect();
        let affected = kin(conn, &changed).map_err(failed)?;
        if !changed.is_empty() {
            self.stage.forget_threads(&affected);
        }
        let entries = marks::lightly(conn, |conn| {
            let mut entries = 0;
            for fold in &folds {
                entries += fold.write(conn)?;
            }
            marks::set(conn, What::Folded, to)?;
            Ok(entries)
        });
        let entries = entries.map_err(failed)?;
        if !changed.is_empty() {
            follower.forget();
            self.rewritten(&mut follower, &affected);
        }
        Ok(Folding { entries, more: true })
    }
}

/// The last of the next rows to look at, and the threads that they are of, each with the first
/// entry.
type Stretch = (Option<i64>, BTreeMap<i64, u64>);

fn stretch(conn: &Connection, from: i64, before: i64) -> db::Result<Stretch> {
    let followed = marks::get(conn, What::Position)?;
    let mut rows = conn.prepare_cached(
        "SELECT row, thread, first, at FROM journal \
         WHERE row > ?1 AND row <= ?2 ORDER BY row LIMIT ?3",
    )?;
    let mut rows = rows.query(params![from, followed, ROWS])?;
    let (mut last, mut threads) = (None, BTreeMap::new());
    // In the order of commits: what comes after one that is too young is, too.
    while let Some(row) = rows.next()?
        && row.get::<i64>(3)? < before
    {
        last = Some(row.get(0)?);
        threads.entry(row.get(1)?).or_insert(row.get::<i64>(2)? as u64);
    }
    Ok((last, threads))
}
