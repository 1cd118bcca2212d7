//! What the writer does besides appending, and whom it passes the rest on to.

use super::follower::failed;
use super::writer::Writer;
use crate::db::params;
use crate::handle::Command;
use crate::rows::thread::find_thread;
use crate::{TendError, ThreadKey};

impl Writer {
    /// Does what is no plain append.
    pub(super) fn tend(&mut self, command: Command) {
        // Whoever asked may have gone; it is done all the same.
        match command {
            Command::Append(append, reply) => self.guarded(append, reply),
            Command::Delete(key, reply) => drop(reply.send(self.delete(&key))),
            Command::Promote(promote, reply) => drop(reply.send(self.promote(&promote))),
            Command::Lease(thread, token, then, reply) => {
                drop(reply.send(self.lease(&thread, &token, &then)));
            }
            Command::Redact(redact, reply) => drop(reply.send(self.redact(&redact))),
            Command::Erase(erase, reply) => drop(reply.send(self.erase(&erase))),
            Command::Fold(before, reply) => drop(reply.send(self.fold(before))),
            Command::Rebuild(reply) => drop(reply.send(self.following.stop().rebuild())),
            // Nobody who appends waits for these.
            command @ (Command::Fresh(..) | Command::CatchUp(_)) => {
                self.stage.backlog.ask(self.stage.next_row - 1, command);
            }
        }
    }

    /// Deletes a thread: it is gone when this returns, its rows go behind.
    fn delete(&mut self, key: &ThreadKey) -> Result<(), TendError> {
        let following = self.following.clone();
        let mut follower = following.stop();
        // No row of the thread waits when it goes, so none comes after it.
        follower.drain()?;
        let conn = &follower.conn;
        let thread = find_thread(conn, key).map_err(failed)?.ok_or(TendError::NotFound)?;
        let at = self.stage.tick();
        let result = conn.execute_batch("BEGIN IMMEDIATE").and_then(|()| {
            conn.prepare_cached("UPDATE thread SET deleted = ?2 WHERE num = ?1")?
                .execute(params![thread.num, at])?;
            conn.prepare_cached("DELETE FROM summary WHERE thread = ?1")?
                .execute(params![thread.num])?;
            conn.execute_batch("COMMIT")
        });
        if let Err(error) = result {
            let _ = conn.execute_batch("ROLLBACK");
            return Err(failed(error));
        }
        self.stage.forget(key);
        self.stage.recent.forget(thread.num);
        self.live.deleted(thread.num);
        follower.forget();
        follower.set_behind();
        Ok(())
    }
}
