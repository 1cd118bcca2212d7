//! Names of branches that take the place of the thread they came from.

use crate::db::{self, Connection, Optional as _, params};

use super::thread::find_numbered;
use crate::{Lineage, ThreadKey, ThreadRef};

/// Gives a thread another id.
pub(crate) fn rename(conn: &Connection, thread: &ThreadRef, to: &ThreadKey) -> db::Result<()> {
    conn.prepare_cached("UPDATE thread SET id = ?2, renamed = renamed + 1 WHERE num = ?1")?
        .execute(params![thread.num, &*to.id])?;
    Ok(())
}

/// The thread of that id, or the one that had it until it was promoted, and where it came from.
pub(crate) fn lineage(conn: &Connection, key: &ThreadKey) -> db::Result<Option<Lineage>> {
    let mut found = conn.prepare_cached(
        "SELECT t.num, t.id, p.id, t.over IS NOT NULL AND t.over = t.parent FROM thread t \
         LEFT JOIN thread p ON p.num = t.parent AND p.deleted IS NULL \
         WHERE t.tenant = ?1 AND (t.id = ?2 OR t.was = ?2) AND t.deleted IS NULL \
         ORDER BY t.id = ?2 DESC LIMIT 1",
    )?;
    let found = found.query_row(params![&*key.tenant, &*key.id], |row| {
        Ok((row.get::<i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    });
    let Some((num, id, parent, promoted)) = found.optional()? else { return Ok(None) };
    let Some(thread) = find_numbered(conn, num)? else { return Ok(None) };
    Ok(Some(Lineage { thread, id, parent, promoted }))
}
