//! What the writer does besides appending: deleting, building anew, catching up.

use std::time::{Duration, Instant};

use super::catch_up::{self, Caught};
use super::recent::Known;
use super::writer::Writer;
use super::{marks, scrub};
use crate::db::{self, params};
use crate::handle::Command;
use crate::rows::sweep;
use crate::rows::thread::find_thread;
use crate::{Progress, TendError, ThreadKey};

/// How long a step of catching up may take that someone waits for.
const ASKED: Duration = Duration::from_millis(50);

/// Whether there is something to catch up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    Nothing,
    Something,
    /// The last try failed: a full disk, perhaps.
    Stuck,
}

impl Writer {
    /// Does what is no append.
    pub(super) fn tend(&mut self, command: Command) {
        // Whoever asked may have gone; it is done all the same.
        match command {
            Command::Append(append, reply) => self.guarded(append, reply),
            Command::Delete(key, reply) => {
                let _ = reply.send(self.delete(&key));
            }
            Command::Promote(promote, reply) => {
                let _ = reply.send(self.promote(&promote));
            }
            Command::Lease(thread, token, then, reply) => {
                let _ = reply.send(self.lease(&thread, &token, &then));
            }
            Command::Redact(redact, reply) => {
                let _ = reply.send(self.redact(&redact));
            }
            Command::Erase(erase, reply) => {
                let _ = reply.send(self.erase(&erase));
            }
            Command::Fold(before, reply) => {
                let _ = reply.send(self.fold(before));
            }
            Command::Rebuild(reply) => {
                let _ = reply.send(self.rebuild());
            }
            Command::Fresh(_, reply) => {
                let _ = reply.send(self.fresh());
            }
            Command::CatchUp(reply) => {
                let _ = reply.send(self.caught_up());
            }
        }
    }

    /// Deletes a thread: it is gone when this returns, its rows go behind.
    fn delete(&mut self, key: &ThreadKey) -> Result<(), TendError> {
        // No row of the thread waits when it goes, so none comes after it.
        self.drain()?;
        let thread = find_thread(&self.conn, key).map_err(failed)?.ok_or(TendError::NotFound)?;
        let at = self.tick();
        let result = self.conn.execute_batch("BEGIN IMMEDIATE").and_then(|()| {
            self.conn
                .prepare_cached("UPDATE thread SET deleted = ?2 WHERE num = ?1")?
                .execute(params![thread.num, at])?;
            self.conn
                .prepare_cached("DELETE FROM summary WHERE thread = ?1")?
                .execute(params![thread.num])?;
            self.conn.execute_batch("COMMIT")
        });
        if let Err(error) = result {
            let _ = self.conn.execute_batch("ROLLBACK");
            return Err(failed(error));
        }
        self.forget(key);
        self.recent.forget(thread.num);
        self.live.deleted(thread.num);
        self.backlog.forget();
        self.behind = Behind::Something;
        Ok(())
    }

    /// Drops what follows, to be made anew.
    fn rebuild(&mut self) -> Result<Progress, TendError> {
        self.drain()?;
        self.backlog.forget();
        self.recent.note(Known::Not);
        marks::reset_all(&self.conn).map_err(failed)?;
        self.behind = Behind::Something;
        self.progress()
    }

    /// Follows everything that waits and catches up a little.
    fn caught_up(&mut self) -> Result<Progress, TendError> {
        self.drain()?;
        self.catch_up(ASKED);
        self.progress()
    }

    /// Brings what is known of threads up to date. Behind a rebuild that is refused: whoever
    /// waits for it would make all appends wait.
    pub(super) fn fresh(&mut self) -> Result<(), TendError> {
        self.drain()?;
        match catch_up::projection(&self.conn, Instant::now() + ASKED).map_err(failed)? {
            Caught::Up => {
                self.recent.note(Known::All);
                Ok(())
            }
            Caught::More => Err(TendError::Behind),
        }
    }

    fn progress(&self) -> Result<Progress, TendError> {
        match self.behind {
            Behind::Stuck => Err(TendError::Storage("could not catch up".into())),
            Behind::Nothing => Ok(Progress::done((self.next_row - 1) as u64)),
            Behind::Something => catch_up::progress(&self.conn).map_err(failed),
        }
    }

    /// Follows everything that waits.
    pub(super) fn drain(&mut self) -> Result<(), TendError> {
        while self.backlog.len() > 0 {
            if !self.follow() {
                return Err(TendError::Storage("could not follow the journal".into()));
            }
        }
        Ok(())
    }

    /// Lets projections, search and the removal of rows catch up, for about so long.
    pub(super) fn catch_up(&mut self, time: Duration) {
        if self.behind == Behind::Nothing {
            return;
        }
        let until = Instant::now() + time;
        let caught = || {
            if catch_up::projection(&self.conn, until)? == Caught::More {
                return Ok(Behind::Something);
            }
            self.recent.note(Known::All);
            if catch_up::search(&self.conn, until)? == Caught::More {
                return Ok(Behind::Something);
            }
            while let Some(thread) = sweep::next(&self.conn)? {
                marks::lightly(&self.conn, |conn| {
                    marks::retire(conn, thread)?;
                    sweep::sweep(conn, thread)
                })?;
                if Instant::now() >= until {
                    return Ok(Behind::Something);
                }
            }
            // Last: rows that are swept are to be overwritten, too.
            loop {
                match scrub::step(&self.conn)? {
                    scrub::Scrubbed::All => break,
                    scrub::Scrubbed::Later => return Ok(Behind::Stuck),
                    scrub::Scrubbed::Some if Instant::now() >= until => {
                        return Ok(Behind::Something);
                    }
                    scrub::Scrubbed::Some => {}
                }
            }
            Ok::<_, db::Error>(Behind::Nothing)
        };
        self.behind = caught().unwrap_or(Behind::Stuck);
        self.checkpoint();
    }
}

pub(super) fn failed(error: db::Error) -> TendError {
    TendError::Storage(error.to_string())
}
