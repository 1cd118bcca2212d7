//! What a node does besides appending: following, catching up, deleting, and changing names.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Client;
use super::follow;
use super::migrate::Trouble;
use super::node::Node;
use super::round::{Rounds, THREADS};
use super::stage::{Look, Stop, stage};
use super::threads::{Lock, lock, now};
use super::writer::{Dirty, Link, Writer, own};
use crate::db::{self, Connection, params};
use crate::handle::Command;
use crate::rows::lease::{change, is_held, millis};
use crate::rows::promote::rename;
use crate::rows::sweep;
use crate::{
    Append, AppendError, Draft, KeyHash, Lease, Progress, Promote, PromoteError, Promoted,
    TendError, Then, ThreadKey,
};

/// How long a step of catching up may take that someone waits for.
const ASKED: Duration = Duration::from_millis(50);
/// The wait after a step that failed.
const STUCK: Duration = Duration::from_secs(1);
/// How long a step of catching up may take that nobody waits for.
const STEP: Duration = Duration::from_millis(20);
/// How often it is looked whether a node has died.
const WATCH: Duration = Duration::from_secs(1);
/// How long what follows gathers, at least and at most: the more follows together, the less is
/// written twice. Between the two it is so many times what the last round took, so that following
/// leaves most of the database to those who append. Whoever asks does not wait for it.
const GATHER: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(100);
const SHARE: u32 = 6;

impl Writer {
    /// Does what is no append.
    pub(super) fn tend(&mut self, command: Command) {
        // Whoever asked may have gone; it is done all the same.
        match command {
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
            other => self.pass_on(other),
        }
    }

    /// Deletes a thread: it is gone when this returns, its rows go behind.
    fn delete(&mut self, key: &ThreadKey) -> Result<(), TendError> {
        let deleted = self.together(|writer| {
            let (conn, client) = writer.link.get()?;
            let found = lock(conn, client, &[key], Lock::All)?.remove(key);
            let Some(found) = found else { return Err(AppendError::NotFound.into()) };
            let at = now(conn)?;
            conn.execute(
                "UPDATE thread SET deleted = ?2 WHERE num = ?1",
                params![found.thread.num, at],
            )?;
            conn.execute("DELETE FROM summary WHERE thread = ?1", params![found.thread.num])?;
            Ok(found.thread.num)
        });
        let num = deleted.map_err(tended)?;
        self.live.deleted(num);
        self.node.changed([num]);
        self.note([num]);
        Ok(())
    }

    /// Changes the names of a branch and of the thread it came from.
    fn promote(&mut self, promote: &Promote) -> Result<Promoted, PromoteError> {
        let changed = self.together(|writer| {
            let own = own(writer.chain, &writer.node, &writer.has_said);
            let (conn, client) = writer.link.get()?;
            let names = [&promote.branch, &promote.parent, &promote.old];
            let mut found = lock(conn, client, &names, Lock::All)?;
            let taken = found.contains_key(&promote.old);
            let branch = found.remove(&promote.branch);
            let Some(branch) = branch else { return Ok(Err(TendError::NotFound.into())) };
            let (branch, parent) = (branch.thread, found.remove(&promote.parent));
            let from = branch.branch.as_ref().map(|branch| branch.parent.num);
            let parent = parent.map(|parent| parent.thread);
            let Some(parent) = parent.filter(|parent| Some(parent.num) == from) else {
                let parent = promote.parent.id.to_string();
                return Ok(Err(PromoteError::NoBranch { parent }));
            };
            if taken {
                return Ok(Err(PromoteError::Exists { id: promote.old.id.to_string() }));
            }
            rename(conn, &parent, &promote.old)?;
            rename(conn, &branch, &promote.parent)?;
            conn.execute(
                "UPDATE thread SET was = ?2, over = ?3 WHERE num = ?1",
                params![branch.num, &*promote.branch.id, parent.num],
            )?;
            let tell = |key: &ThreadKey, told: &Draft| Append::new(key.clone(), vec![told.clone()]);
            let new = tell(&promote.parent, &promote.told);
            let old = tell(&promote.old, &promote.told_old);
            let staged = stage(conn, client, &[&new, &old], Look::Never, own)?;
            let staged = staged.into_iter().collect::<Result<Vec<_>, Stop>>()?;
            Ok(Ok(([branch, parent], staged)))
        });
        let (threads, staged) = changed.map_err(tended)??;
        let Some(own) = staged.first().map(|staged| staged.answer.clone()) else {
            return Err(TendError::NotFound.into());
        };
        drop(self.publish(&staged));
        for thread in &threads {
            self.live.renamed(thread.num, thread.renamed + 1);
        }
        self.node.changed(threads.iter().map(|thread| thread.num));
        Ok(Promoted { thread: own.thread, head: own.last })
    }

    /// Renews a lease or lets it go.
    fn lease(
        &mut self,
        thread: &ThreadKey,
        token: &KeyHash,
        then: &Then,
    ) -> Result<Lease, AppendError> {
        let held = self.together(|writer| {
            let (conn, client) = writer.link.get()?;
            let found = lock(conn, client, &[thread], Lock::Head)?.remove(thread);
            let Some(found) = found else { return Err(AppendError::NotFound.into()) };
            let num = found.thread.num;
            if follow::fully(conn, num)? == follow::Reached::Part {
                return Err(AppendError::Behind.into());
            }
            let now = now(conn)?;
            let lease = is_held(conn, num, token).map_err(AppendError::from)?;
            change(conn, token, then, now)?;
            Ok(Lease { until: now + millis(lease.time), ..lease })
        });
        held.map_err(AppendError::from)
    }
}

/// An error of tending, from that of an append that is a part of it.
pub(super) fn tended(stop: Stop) -> TendError {
    match stop {
        Stop::Refused(AppendError::NotFound) => TendError::NotFound,
        Stop::Refused(AppendError::Behind) => TendError::Behind,
        Stop::Refused(error) => TendError::Storage(error.to_string()),
        Stop::Look => TendError::Busy,
        Stop::Failed(error) => TendError::Storage(error.to_string()),
    }
}

/// Follows what was committed, with a connection of its own: no append waits for it.
pub(super) struct Follower {
    link: Link,
    rounds: Rounds,
    dirty: Dirty,
    node: Arc<Node>,
    /// Whether there may be more to follow than was appended here.
    is_behind: bool,
    /// How long what follows gathers.
    gather: Duration,
}

impl Follower {
    pub(super) fn new(url: &str, dirty: Dirty, node: Arc<Node>) -> Result<Self, Trouble> {
        // All that is written here can be made again.
        let settings = "SET synchronous_commit = off";
        let link = Link::with(url, Connection::Postgres(Client::open(url)?), settings)?;
        // What another node, or this one before it stopped, has left behind.
        let (rounds, gather) = (Rounds::new()?, GATHER);
        Ok(Self { link, rounds, dirty, node, is_behind: true, gather })
    }

    /// Follows whatever there is, and does what is asked, until nobody can ask any more.
    pub(super) fn run(&mut self, asked: &Receiver<Option<Command>>) {
        let mut is_stuck = false;
        // When what waits is followed, if anything does.
        let mut due: Option<Instant> = None;
        loop {
            due = due.or_else(|| self.wait(is_stuck).map(|wait| Instant::now() + wait));
            let next = match due {
                Some(due) => asked.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => asked.recv_timeout(WATCH),
            };
            // What a node has left that died is for any other to follow.
            self.is_behind |= self.node.take_lost();
            match next {
                Ok(Some(command)) => self.answer(command),
                Ok(None) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if due.is_some_and(|due| due <= Instant::now()) {
                is_stuck = self.go_on().is_err();
                due = None;
            }
        }
        let _ = self.follow_all();
    }

    /// How long what waits may wait for more; none if nothing does.
    fn wait(&self, is_stuck: bool) -> Option<Duration> {
        // What was said of it must be taken back, too.
        let is_clean = self.dirty().is_empty() && !self.node.pace.is_behind();
        match (is_stuck, self.is_behind, is_clean) {
            (_, false, true) => None,
            (true, ..) => Some(STUCK),
            (false, true, _) => Some(Duration::ZERO),
            (false, false, false) => Some(self.gather),
        }
    }

    /// Follows what waits, and some of what was left behind.
    fn go_on(&mut self) -> db::Result<()> {
        let begin = Instant::now();
        self.follow_round()?;
        self.gather = (begin.elapsed() * SHARE).clamp(GATHER, LONGEST);
        if self.is_behind {
            self.is_behind = !self.catch_up(STEP)?.is_done();
        }
        self.sweep(STEP)
    }

    fn dirty(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        self.dirty.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&mut self, command: Command) {
        match command {
            Command::Fresh(Some(thread), reply) => {
                let _ = reply.send(self.follow_one(thread).map_err(failed));
            }
            Command::Fresh(None, reply) => match self.follow_round() {
                Ok(()) => self.node.await_others(reply),
                Err(error) => drop(reply.send(Err(failed(error)))),
            },
            Command::CatchUp(reply) => {
                let _ = reply.send(self.catch_up(ASKED).map_err(failed));
            }
            Command::Rebuild(reply) => {
                let _ = reply.send(self.rebuild().map_err(failed));
            }
            other => other.refuse(&TendError::Closed),
        }
    }

    /// Follows all that was appended here, and tells other nodes.
    fn follow_round(&mut self) -> db::Result<()> {
        self.follow_all()?;
        let (dirty, node) = (self.dirty.clone(), self.node.clone());
        let is_clean = || dirty.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        node.pace.round(self.link.get()?.0, node.id, is_clean)
    }

    /// Follows one thread, whichever node wrote to it.
    fn follow_one(&mut self, thread: i64) -> db::Result<()> {
        if !follow::is_behind(self.link.get()?.0, thread)? {
            return Ok(());
        }
        self.follow(&[thread])
    }

    /// Follows all that was appended here.
    fn follow_all(&mut self) -> db::Result<()> {
        let threads: Vec<i64> = std::mem::take(&mut *self.dirty()).into_iter().collect();
        let mut trouble = Ok(());
        for some in threads.chunks(THREADS) {
            let followed = self.follow(some);
            if followed.is_err() {
                // One by one: one that cannot be followed does not keep the others from it.
                for thread in some {
                    if let Err(error) = self.follow(&[*thread]) {
                        self.dirty().insert(*thread);
                        trouble = Err(error);
                    }
                }
            }
        }
        trouble
    }

    fn follow(&mut self, threads: &[i64]) -> db::Result<()> {
        let (conn, client) = self.link.get()?;
        let mut more = threads.to_vec();
        while !more.is_empty() {
            more = self.rounds.follow(conn, client, &more)?;
        }
        Ok(())
    }

    /// Drops what follows, to be made anew.
    fn rebuild(&mut self) -> db::Result<Progress> {
        let (conn, _) = self.link.get()?;
        follow::reset(conn)?;
        let progress = follow::progress(conn)?;
        // Whether or not someone waits for it.
        self.is_behind = true;
        Ok(progress)
    }

    /// Follows everything that waits, whoever wrote it, for about so long.
    fn catch_up(&mut self, time: Duration) -> db::Result<Progress> {
        let until = Instant::now() + time;
        self.follow_all()?;
        loop {
            let (conn, client) = self.link.get()?;
            let behind = follow::behind(conn, THREADS)?;
            if behind.is_empty() {
                break;
            }
            self.rounds.follow(conn, client, &behind)?;
            if Instant::now() >= until {
                return follow::progress(self.link.get()?.0);
            }
        }
        self.sweep(time)?;
        let (conn, _) = self.link.get()?;
        let progress = follow::progress(conn)?;
        Ok(match sweep::next(conn)? {
            None => Progress::done(progress.total),
            Some(_) => progress,
        })
    }

    /// Removes rows of deleted threads, for about so long.
    fn sweep(&mut self, time: Duration) -> db::Result<()> {
        let until = Instant::now() + time;
        let (conn, client) = self.link.get()?;
        while let Some(thread) = sweep::next(conn)? {
            sweep_one(conn, client, thread)?;
            if Instant::now() >= until {
                // To go on with it without being asked.
                self.dirty().insert(thread);
                break;
            }
        }
        Ok(())
    }
}

/// Removes some rows of a thread, if no other node is at it.
fn sweep_one(conn: &Connection, client: &Client, thread: i64) -> db::Result<()> {
    conn.together(|conn| {
        super::threads::lock_numbered(client, &[thread], Lock::All)?;
        sweep::sweep(conn, thread)
    })
}

pub(super) fn failed(error: db::Error) -> TendError {
    TendError::Storage(error.to_string())
}
