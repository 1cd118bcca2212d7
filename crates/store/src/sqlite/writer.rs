//! The one writer: takes what is waiting, commits it together, and answers.
//!
//! A commit is a group in the log (`log.rs`): judged by what is in memory, one write, one sync. The
//! tables get it behind the acknowledgement (`follower.rs`). What changes more than journals is
//! written into the tables themselves, while whoever follows stands still ([`Writer::together`]).
//!
//! Invariant: nothing is answered before its commit has returned, and a commit returns when it is
//! on disk. A commit that fails leaves nothing behind, on disk or in memory.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::desk::Desk;
use super::follow::{Backlog, Item};
use super::follower::{Follower, Following};
use super::log::Log;
use super::recent::{Known, Recent, Row};
use super::stage::{Stage, Staged, Stop};
use super::{marks, open};
use crate::db::{Connection, params};
use crate::handle::{Command, Reply, WriterHandle};
use crate::live::{Live, Reached};
use crate::rows::lease;
use crate::{Append, AppendError, Create, HashChain, OpenError};

/// Appends and bytes of one commit.
const GROUP: usize = 4096;
const GROUP_BYTES: usize = 8 << 20;
/// How long whoever appends waits for those who follow.
const ROOM: Duration = Duration::from_secs(2);

/// The writer's own state.
pub(crate) struct Writer {
    pub(super) stage: Stage,
    log: Log,
    /// Reads the tables, for what is not in memory.
    read: Connection,
    pub(super) following: Arc<Following>,
    pub(super) live: Arc<Live>,
}

impl Writer {
    /// Puts what a stopped store left behind into the tables of a file, and starts to take appends.
    pub(crate) fn start(
        path: &Path,
        conn: Connection,
        live: Arc<Live>,
        recent: Arc<Recent>,
        chain: HashChain,
    ) -> Result<WriterHandle, OpenError> {
        let failed = |cause| open::failed(path, cause);
        marks::renew(&conn).map_err(failed)?;
        let last = marks::last_row(&conn).map_err(failed)?;
        let number = marks::log(&conn).map_err(failed)?;
        let logged = Log::open(path, number, last);
        let (mut log, items) = logged.map_err(|cause| open::unlogged(path, cause))?;
        let next_row = last + 1 + items.len() as i64;
        let backlog = Arc::new(Backlog::default());
        let mut left = Backlog::left(&conn).map_err(failed)?;
        left.extend(items);
        backlog.push(left);
        // Until a look shows that there is nothing to catch up with.
        recent.note(Known::Not);
        let mut follower = Follower::new(conn, backlog.clone(), recent.clone(), chain);
        follower.drain_all().map_err(failed)?;
        if !log.is_empty() {
            follower.sync().map_err(failed)?;
            log.clear().map_err(|cause| open::unlogged(path, cause))?;
        }
        let next_thread = marks::next_thread(&follower.conn).map_err(failed)?;
        let writer = Self {
            stage: Stage::new(recent, backlog.clone(), next_row, next_thread),
            log,
            read: open::reader(path).map_err(failed)?,
            following: Arc::new(Following::new(follower)),
            live,
        };
        let following = writer.following.clone();
        let behind =
            Builder::new().name("follower".into()).spawn(move || following.run(&backlog))?;
        let desk = Arc::new(Desk::new(writer));
        let own = desk.clone();
        let thread = Builder::new().name("journal".into()).spawn(move || own.run(behind))?;
        Ok(WriterHandle::at_desk(desk, thread))
    }

    /// The appends that wait first and are plain, as many as are committed together.
    pub(super) fn group(&self, waiting: &mut VecDeque<Command>) -> Vec<(Box<Append>, Reply)> {
        let mut group = Vec::with_capacity(waiting.len().min(GROUP));
        let mut bytes = 0;
        while group.len() < GROUP
            && bytes < GROUP_BYTES
            && let Some(command) = waiting.pop_front()
        {
            match command {
                Command::Append(append, reply) if self.stage.is_plain(&self.read, &append) => {
                    let events = append.events.iter().chain(append.more.iter().flatten());
                    bytes += events.map(crate::Draft::size).sum::<usize>();
                    group.push((append, reply));
                }
                command => {
                    waiting.push_front(command);
                    break;
                }
            }
        }
        group
    }

    /// Commits appends together and answers them.
    pub(super) fn commit(&mut self, group: Vec<(Box<Append>, Reply)>) {
        if !self.stage.backlog.wait_for_room(ROOM) {
            let error = AppendError::Storage("the tables cannot take what was appended".into());
            for (_, reply) in group {
                let _ = reply.send(Err(error.clone()));
            }
            return;
        }
        self.stage.tick();
        self.stage.trim();
        let from = self.stage.next_row;
        let mut replies = Vec::with_capacity(group.len());
        let mut judged = Vec::with_capacity(group.len());
        let mut trouble = None;
        for (append, reply) in group {
            replies.push(reply);
            if trouble.is_some() {
                continue;
            }
            match self.stage.judge(&self.read, *append) {
                Ok(staged) => judged.push(Ok(staged)),
                Err(Stop::Refused(error)) => judged.push(Err(error)),
                Err(Stop::Failed(error)) => trouble = Some(error.to_string()),
            }
        }
        if trouble.is_none() {
            let items = judged.iter().flatten().flat_map(|staged: &Staged| &staged.items);
            let items: Vec<&Item> = items.collect();
            let written = self.log.write(&items, self.stage.backlog.durable());
            trouble = written.err().map(|error| error.to_string());
        }
        if let Some(trouble) = trouble {
            // What was judged never was.
            self.stage.undo(&self.read, from);
            for reply in replies {
                let _ = reply.send(Err(AppendError::Storage(trouble.clone())));
            }
            return;
        }
        self.stage.backlog.want(self.log.wanted());
        let (answers, staged): (Vec<_>, Vec<_>) = judged
            .into_iter()
            .map(|judged| match judged {
                Ok(staged) => (Ok(staged.answer.clone()), Some(staged)),
                Err(error) => (Err(error), None),
            })
            .unzip();
        let _reached = self.publish(staged.into_iter().flatten());
        for (answer, reply) in answers.into_iter().zip(replies) {
            // The caller may have gone; what it appended stays.
            let _ = reply.send(answer);
        }
    }

    /// Commits one append into the tables, with what it changes beside the journal.
    pub(super) fn commit_in_tables(
        &mut self,
        follower: &mut Follower,
        append: Append,
    ) -> Result<crate::Appended, AppendError> {
        follower.drain().map_err(|error| AppendError::Storage(error.to_string()))?;
        self.stage.tick();
        let staged = self.together(follower, |writer, follower| writer.put(follower, append))?;
        let answer = staged.answer.clone();
        drop(self.publish([staged]));
        Ok(answer)
    }

    /// Runs what changes the tables in one transaction. All rows must have been followed. If it
    /// fails, it leaves nothing behind.
    pub(super) fn together<T>(
        &mut self,
        follower: &mut Follower,
        run: impl FnOnce(&mut Self, &mut Follower) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        // Nothing in the log may be read again behind what is written now.
        let mended = self.log.mend();
        mended.map_err(|error| Stop::Refused(AppendError::Storage(error.to_string())))?;
        let from = self.stage.next_row;
        let begun = marks::run(&follower.conn, "BEGIN IMMEDIATE").map_err(Stop::from);
        let result = begun.and_then(|()| {
            let made = run(self, follower)?;
            let end = if self.stage.next_row > from { "COMMIT" } else { "ROLLBACK" };
            marks::run(&follower.conn, end)?;
            Ok(made)
        });
        match &result {
            // It is on disk, and all before it.
            Ok(_) => self.stage.backlog.note_durable(self.stage.next_row - 1),
            Err(_) => {
                let _ = follower.conn.execute_batch("ROLLBACK");
                follower.forget_links();
                self.stage.undo(&self.read, from);
            }
        }
        result
    }

    /// Writes one append into the tables, inside a transaction. Refused, it leaves nothing there.
    pub(super) fn put(&mut self, follower: &mut Follower, append: Append) -> Result<Staged, Stop> {
        let (guard, is_past) = (append.guard.clone(), append.create == Create::Past);
        let now = self.stage.tick();
        let mut staged = self.stage.judge(&follower.conn, append)?;
        if staged.items.is_empty() {
            return Ok(staged);
        }
        follower.insert(&staged.items)?;
        for item in &mut staged.items {
            item.is_written = true;
        }
        let thread = staged.answer.thread.num;
        if let Some(guard) = &guard {
            lease::settle(&follower.conn, thread, guard, now)?;
        }
        if is_past {
            follower
                .conn
                .prepare_cached("UPDATE thread SET past = ?2 WHERE num = ?1")?
                .execute(params![thread, staged.answer.last as i64])?;
        }
        Ok(staged)
    }

    /// Passes on what was committed: to who reads it, and to what follows behind.
    pub(super) fn publish(&mut self, staged: impl IntoIterator<Item = Staged>) -> Reached {
        let mut items = Vec::new();
        for stage in staged {
            // What was appended before stands where it was.
            if stage.items.is_empty() {
                continue;
            }
            let row = |item: &Item| Row { row: item.row, batch: item.batch.clone() };
            let rows = stage.items.iter().map(row);
            self.stage.recent.add(&stage.key, &stage.answer.thread, rows);
            items.extend(stage.items);
        }
        let reached = self.live.publish(items.iter().map(|item| (item.thread, 0, &item.batch)));
        if !items.is_empty() {
            self.stage.backlog.push(items);
        }
        reached
    }

    /// Lets nothing be left in the log: the tables have all of it, on disk, and are to be all that
    /// has it.
    pub(super) fn clear_log(&mut self) -> std::io::Result<()> {
        self.log.clear()
    }

    /// Puts everything into the tables: the store closes.
    pub(super) fn finish(&mut self, behind: JoinHandle<()>) {
        self.stage.backlog.close();
        let _ = behind.join();
        let follower = self.following.stop();
        let left = marks::last_row(&follower.conn).is_ok_and(|last| last + 1 < self.stage.next_row);
        let copied =
            follower.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<i64>(0));
        // Else it is read when the store is opened again.
        if !left && copied.is_ok_and(|busy| busy == 0) && self.log.clear().is_ok() {
            self.log.remove();
        }
    }
}
