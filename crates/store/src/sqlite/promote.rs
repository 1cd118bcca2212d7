//! A branch takes the place of the thread it came from.
//!
//! Invariant: names change all at once, with what both journals tell of it, or not at all. A
//! journal keeps its number and its epoch, so a cursor never means another journal's entry.

use super::follower::failed;
use super::stage::Stop;
use super::writer::Writer;
use crate::db::params;
use crate::rows::promote::rename;
use crate::rows::thread::find_thread;
use crate::{Append, Draft, Promote, PromoteError, Promoted, TendError, ThreadKey};

impl Writer {
    /// Changes the names of a branch and of the thread it came from.
    pub(super) fn promote(&mut self, promote: &Promote) -> Result<Promoted, PromoteError> {
        let following = self.following.clone();
        let mut follower = following.stop();
        follower.drain()?;
        let find = |key| find_thread(&follower.conn, key).map_err(failed);
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
        self.stage.tick();
        for key in [&promote.branch, &promote.parent, &promote.old] {
            self.stage.forget(key);
        }
        let changed = self.together(&mut follower, |writer, follower| {
            let conn = &follower.conn;
            rename(conn, &parent, &promote.old)?;
            rename(conn, &branch, &promote.parent)?;
            conn.prepare_cached("UPDATE thread SET was = ?2, over = ?3 WHERE num = ?1")?
                .execute(params![branch.num, &*promote.branch.id, parent.num])?;
            let tell = |key: &ThreadKey, told: &Draft| Append::new(key.clone(), vec![told.clone()]);
            Ok([
                writer.put(follower, tell(&promote.parent, &promote.told))?,
                writer.put(follower, tell(&promote.old, &promote.told_old))?,
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
            self.live.renamed(thread.num, thread.renamed + 1);
        }
        follower.forget();
        Ok(Promoted { thread: answer.thread, head: answer.last })
    }
}
