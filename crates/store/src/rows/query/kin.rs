//! Families: a thread, what it branched off from, and what branched off.

use crate::db::{self, Connection, params};

use super::summary;
use crate::query::Kin;
use crate::{ReadError, ThreadRef};

/// The family of a thread, at most so many, in the order they were made. Deleted threads without
/// branches are no part of it.
pub(crate) fn family(
    conn: &Connection,
    thread: &ThreadRef,
    limit: usize,
) -> Result<Vec<Kin>, ReadError> {
    let mut root = thread;
    while let Some(branch) = &root.branch {
        root = &branch.parent;
    }
    let mut find = conn.prepare_cached(
        "WITH RECURSIVE kin (num) AS (SELECT ?1 UNION ALL \
             SELECT t.num FROM kin JOIN thread t ON t.parent = kin.num) \
         SELECT t.num, t.parent, t.fork, t.over IS NOT NULL AND t.over = t.parent, \
             CASE WHEN t.deleted IS NULL THEN t.id END \
         FROM kin JOIN thread t ON t.num = kin.num ORDER BY t.num LIMIT ?2",
    )?;
    let rows = find.query_map(params![root.num, limit as i64], |row| {
        Ok(Kin {
            num: row.get(0)?,
            parent: row.get(1)?,
            at: row.get::<i64>(2)?.max(0) as u64,
            promoted: row.get(3)?,
            id: row.get(4)?,
            summary: None,
        })
    })?;
    let mut all = rows.collect::<db::Result<Vec<_>>>()?;
    for kin in all.iter_mut().filter(|kin| kin.id.is_some()) {
        kin.summary = summary(conn, kin.num)?;
    }
    let mut kept: Vec<Kin> = Vec::with_capacity(all.len());
    // A branch is younger than what it came from, so from the youngest on it is known who has any.
    for kin in all.into_iter().rev() {
        if kin.id.is_some() || kept.iter().any(|other| other.parent == Some(kin.num)) {
            kept.push(kin);
        }
    }
    kept.reverse();
    Ok(kept)
}
