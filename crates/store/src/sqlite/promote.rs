//! A branch takes the place of the thread it came from.
//!
//! Invariant: names change all at once, with what both journals tell of it, or not at all. A
//! journal keeps its number and its epoch, so a cursor never means another journal's entry.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::read::{find_numbered, find_thread};
use super::tend::failed;
use super::writer::{Stop, Writer};
use crate::{
    Append, Draft, End, Lineage, Promote, PromoteError, Promoted, TendError, ThreadKey, ThreadRef,
};

impl Writer {
    /// Changes the names of a branch and of the thread it came from.
    pub(super) fn promote(&mut self, promote: &Promote) -> Result<Promoted, PromoteError> {
        let find = |key| find_thread(&self.conn, key).map_err(failed);
        let branch = find(&promote.branch)?.ok_or(TendError::NotFound)?;
        let parent = find(&promote.parent)?;
        let taken = find(&promote.old)?.is_some();
        let from = branch.branch.as_ref().map(|branch| branch.parent.num);
        let Some(parent) = parent.filter(|parent| Some(parent.num) == from) else {
            return Err(PromoteError::NoBranch { parent: promote.parent.id.to_string() });
        };
        if taken {
            return Err(PromoteError::Exists { id: promote.old.id.to_string() });
        }
        self.tick();
        for key in [&promote.branch, &promote.parent, &promote.old] {
            self.forget(key);
        }
        let changed = self.together(|writer| {
            rename(&writer.conn, &parent, &promote.old)?;
            rename(&writer.conn, &branch, &promote.parent)?;
            writer
                .conn
                .prepare_cached("UPDATE thread SET was = ?2, over = ?3 WHERE num = ?1")?
                .execute(params![branch.num, &*promote.branch.id, parent.num])?;
            let tell = |key: &ThreadKey, told: &Draft| Append::new(key.clone(), vec![told.clone()]);
            Ok([
                writer.stage(tell(&promote.parent, &promote.told))?,
                writer.stage(tell(&promote.old, &promote.told_old))?,
            ])
        });
        let [own, other] = changed.map_err(|stop| {
            TendError::Storage(match stop {
                Stop::Refused(error) => error.to_string(),
                Stop::Failed(error) => error.to_string(),
            })
        })?;
        let answer = own.answer.clone();
        drop(self.publish([own, other]));
        for thread in [&branch, &parent] {
            self.live.end(thread.num, End::Renamed);
        }
        self.backlog.forget();
        Ok(Promoted { thread: answer.thread, head: answer.last })
    }
}

fn rename(conn: &Connection, thread: &ThreadRef, to: &ThreadKey) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE thread SET id = ?2, renamed = renamed + 1 WHERE num = ?1")?
        .execute(params![thread.num, &*to.id])?;
    Ok(())
}

/// The thread of that id, or the one that had it until it was promoted, and where it came from.
pub(crate) fn lineage(conn: &Connection, key: &ThreadKey) -> rusqlite::Result<Option<Lineage>> {
    let mut found = conn.prepare_cached(
        "SELECT t.num, t.id, p.id, t.over IS NOT NULL AND t.over = t.parent FROM thread t \
         LEFT JOIN thread p ON p.num = t.parent AND p.deleted IS NULL \
         WHERE t.tenant = ?1 AND (t.id = ?2 OR t.was = ?2) AND t.deleted IS NULL \
         ORDER BY t.id = ?2 DESC LIMIT 1",
    )?;
    let found = found.query_row(params![&*key.tenant, &*key.id], |row| {
        Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    });
    let Some((num, id, parent, promoted)) = found.optional()? else { return Ok(None) };
    let Some(thread) = find_numbered(conn, num)? else { return Ok(None) };
    Ok(Some(Lineage { thread, id, parent, promoted }))
}
