//! One node's writer: it takes what is waiting, commits it together, answers.
//!
//! Invariant: nothing is answered before its commit has returned. Whoever else writes to the same
//! threads waits for their rows, so any number of writers may work side by side.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::client::code;
use super::herald::Herald;
use super::migrate::{self, Trouble};
use super::quick::{Known, Waiting};
use super::search::Tokens;
use super::stage::{Look, Own, Staged, Stop, stage};
use super::{Client, Node, follow};
use crate::db::{self, Connection};
use crate::handle::{Command, WriterHandle};
use crate::live::{Live, Reached};
use crate::{Append, AppendError, Draft, HashChain, Hints, TendError};

/// Appends that may wait, and commands that may.
const QUEUE: usize = 16_384;
/// Appends and bytes of one commit.
const GROUP: usize = 2048;
const GROUP_BYTES: usize = 8 << 20;
/// The longest wait for the appends of one commit.
const GATHER: Duration = Duration::from_micros(500);
/// How often a group is tried that met another node's.
const TRIES: usize = 8;

/// Threads that have something to follow.
pub(super) type Dirty = Arc<Mutex<BTreeSet<i64>>>;

/// The writer's own state.
pub(crate) struct Writer {
    pub(super) link: Link,
    pub(super) live: Arc<Live>,
    pub(super) chain: HashChain,
    pub(super) node: Arc<Node>,
    known: Known,
    /// Whether the transaction under way says that there is something to follow.
    pub(super) has_said: Cell<bool>,
    dirty: Dirty,
    follower: SyncSender<Option<Command>>,
    /// How many appends the last commit had, and how long to wait for as many again.
    group: usize,
    gather: Duration,
}

/// A connection that is made anew when it broke.
pub(super) struct Link {
    url: Arc<str>,
    conn: Connection,
    /// What every connection begins with here.
    settings: &'static str,
}

impl Link {
    pub(super) fn new(url: &str, conn: Connection) -> Self {
        Self { url: url.into(), conn, settings: "" }
    }

    /// One that begins with some settings.
    pub(super) fn with(url: &str, conn: Connection, settings: &'static str) -> db::Result<Self> {
        conn.execute_batch(settings)?;
        Ok(Self { url: url.into(), conn, settings })
    }

    /// The connection, and the same as one to PostgreSQL.
    pub(super) fn get(&mut self) -> db::Result<(&Connection, &Client)> {
        if self.conn.is_broken() {
            let conn = Connection::Postgres(Client::open(&self.url)?);
            if !self.settings.is_empty() {
                conn.execute_batch(self.settings)?;
            }
            self.conn = conn;
        }
        match &self.conn {
            conn @ Connection::Postgres(client) => Ok((conn, client)),
            Connection::Sqlite(_) => Err(db::Error::NoRow),
        }
    }
}

impl Writer {
    /// Makes what is missing in the database, and starts to take appends.
    pub(crate) fn start(
        url: &str,
        live: Arc<Live>,
        chain: HashChain,
        hints: &Hints,
    ) -> Result<(WriterHandle, Arc<Node>), Trouble> {
        let conn = migrate::open(url)?;
        follow::renew(&conn)?;
        let herald = Herald::new(url, live.clone(), hints)?;
        let node = herald.node();
        let dirty = Dirty::default();
        let (follower, asked) = sync_channel(QUEUE);
        let mut behind = super::tend::Follower::new(url, dirty.clone(), node.clone())?;
        let following = std::thread::Builder::new()
            .name("follower".into())
            .spawn(move || behind.run(&asked))
            .map_err(Trouble::Thread)?;
        let telling = std::thread::Builder::new()
            .name("herald".into())
            .spawn(move || herald.run())
            .map_err(Trouble::Thread)?;
        let (sender, receiver) = sync_channel(QUEUE);
        let mut writer = Self {
            link: Link::new(url, conn),
            live,
            chain,
            node: node.clone(),
            known: Known::default(),
            has_said: Cell::new(false),
            dirty,
            follower,
            group: 1,
            gather: Duration::ZERO,
        };
        let own = node.clone();
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || {
                writer.run(&receiver);
                drop(writer);
                // The follower ends when nobody can ask it any more.
                let _ = following.join();
                own.close();
                let _ = telling.join();
            })
            .map_err(Trouble::Thread)?;
        Ok((WriterHandle::by_queue(sender, thread), node))
    }

    fn run(&mut self, commands: &Receiver<Command>) {
        while let Ok(first) = commands.recv() {
            self.node.pace.begin();
            self.take(first, commands);
            self.node.pace.end();
        }
    }

    /// Takes a command and what else is waiting.
    fn take(&mut self, first: Command, commands: &Receiver<Command>) {
        let mut group: Waiting = Vec::with_capacity(self.group);
        let (mut other, mut bytes, mut next) = (None, 0, Some(first));
        let patience = Instant::now() + self.gather;
        while let Some(command) = next {
            match command {
                Command::Append(append, reply) => {
                    let drafts = append.events.iter().chain(append.more.iter().flatten());
                    bytes += drafts.map(Draft::size).sum::<usize>();
                    group.push((append, reply));
                }
                command => {
                    other = Some(command);
                    break;
                }
            }
            if group.len() >= GROUP || bytes >= GROUP_BYTES {
                break;
            }
            next = commands.try_recv().ok();
            // Those answered last are about to come again: a commit costs more than the wait.
            if next.is_none() && group.len() < self.group {
                let wait = patience.saturating_duration_since(Instant::now());
                next = commands.recv_timeout(wait).ok();
            }
        }
        if !group.is_empty() {
            let begin = Instant::now();
            self.group = group.len();
            self.commit(group);
            self.gather = (begin.elapsed() / 4).min(GATHER);
        }
        // In the order asked: after the appends before it.
        if let Some(other) = other {
            self.tend(other);
        }
    }

    /// Commits appends together and answers them: those that ask for nothing at once, then the
    /// others. Those that what is known of their thread must be brought up to date for follow, one by one.
    fn commit(&mut self, group: Waiting) {
        let rest = match self.chain {
            HashChain::On => group,
            HashChain::Off => self.commit_known(group),
        };
        if rest.is_empty() {
            return;
        }
        let later = self.commit_as(rest, Look::Never);
        for one in later {
            self.commit_as(vec![one], Look::Alone);
        }
    }

    /// Commits appends to threads that are known, in one round trip; those that are to be judged.
    fn commit_known(&mut self, group: Waiting) -> Waiting {
        let (mut group, mut rest) = self.known.part(group);
        if group.is_empty() {
            return rest;
        }
        let appends: Vec<&Append> = group.iter().map(|(append, _)| &**append).collect();
        let written = self.link.get().and_then(|(_, client)| {
            let own = own(self.chain, &self.node, &self.has_said);
            let written = self.known.write(client, own, &appends);
            // Nothing was written if the database itself says so.
            match written {
                Err(error) if code(&error).is_some() && !client.is_broken() => Ok(None),
                other => other,
            }
        });
        match written {
            Ok(Some(staged)) => {
                let _reached = self.publish(&staged);
                for ((_, reply), staged) in group.into_iter().zip(staged) {
                    let _ = reply.send(Ok(staged.answer));
                }
            }
            Ok(None) => {
                self.known.forget(&group);
                group.append(&mut rest);
                rest = group;
            }
            Err(error) => refuse(group, &error.into()),
        }
        rest
    }

    /// The same in one way, with all that they ask for; those that must be looked at.
    fn commit_as(&mut self, group: Waiting, look: Look) -> Waiting {
        let appends: Vec<&Append> = group.iter().map(|(append, _)| &**append).collect();
        let staged = self.together(|writer| {
            let own = own(writer.chain, &writer.node, &writer.has_said);
            let (conn, client) = writer.link.get()?;
            stage(conn, client, &appends, look, own)
        });
        let staged = match staged {
            Ok(staged) => staged,
            // Whatever one of them is to the database, the others are not to suffer for it.
            Err(Stop::Failed(error)) if group.len() > 1 && code(&error).is_some() => {
                let each = group.into_iter();
                return each.flat_map(|one| self.commit_as(vec![one], look)).collect();
            }
            Err(stop) => {
                refuse(group, &stop.into());
                return Vec::new();
            }
        };
        let mut answers = Vec::with_capacity(staged.len());
        let mut written = Vec::with_capacity(staged.len());
        let mut later = Vec::new();
        for ((append, reply), staged) in group.into_iter().zip(staged) {
            match staged {
                Ok(staged) => {
                    self.known.learn(&append.thread, &staged.answer.thread);
                    answers.push((reply, Ok(staged.answer.clone())));
                    written.push(staged);
                }
                Err(Stop::Look) if look == Look::Never => later.push((append, reply)),
                Err(stop) => answers.push((reply, Err(stop.into()))),
            }
        }
        let _reached = self.publish(&written);
        for (reply, answer) in answers {
            // The caller may have gone; what it appended stays.
            let _ = reply.send(answer);
        }
        later
    }

    /// Runs something in one transaction, again if another node was in its way.
    pub(super) fn together<T>(
        &mut self,
        mut run: impl FnMut(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let mut tries = 0;
        loop {
            tries += 1;
            let result = self.once(&mut run);
            let again = match &result {
                Err(Stop::Look) => true,
                Err(Stop::Failed(error)) => is_passing(error),
                _ => false,
            };
            if !again || tries == TRIES {
                return result;
            }
        }
    }

    fn once<T>(&mut self, run: &mut impl FnMut(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        self.has_said.set(false);
        self.link.get()?.1.begin()?;
        let result = run(self).and_then(|made| {
            self.link.get()?.1.commit()?;
            Ok(made)
        });
        if result.is_err()
            && let Ok((conn, _)) = self.link.get()
        {
            let _ = conn.execute_batch("ROLLBACK");
        }
        result
    }

    /// Passes on what was committed: to who reads it, and to what follows behind.
    pub(super) fn publish(&mut self, staged: &[Staged]) -> Reached {
        if self.has_said.take() {
            self.node.pace.said();
        }
        // What was appended before stands where it was.
        let new = || staged.iter().filter(|stage| !stage.batches.is_empty());
        self.note(new().map(|stage| stage.answer.thread.num));
        self.node.note(new().map(Staged::news));
        self.live.publish(new().flat_map(|stage| {
            let thread = stage.answer.thread.num;
            stage.batches.iter().map(move |batch| (thread, stage.rewrites, batch))
        }))
    }

    /// Notes that threads have something to follow, or to be swept.
    pub(super) fn note(&self, threads: impl IntoIterator<Item = i64>) {
        let mut dirty = self.dirty.lock().unwrap_or_else(PoisonError::into_inner);
        let was_clean = dirty.is_empty();
        dirty.extend(threads);
        let is_news = was_clean && !dirty.is_empty();
        drop(dirty);
        if is_news {
            // If it is full, whoever follows is awake.
            let _ = self.follower.try_send(None);
        }
    }

    /// Passes a command on to whoever follows.
    pub(super) fn pass_on(&self, command: Command) {
        if let Err(TrySendError::Full(Some(command)) | TrySendError::Disconnected(Some(command))) =
            self.follower.try_send(Some(command))
        {
            command.refuse(&TendError::Busy);
        }
    }
}

impl From<Stop> for AppendError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refused(error) => error,
            Stop::Look => Self::Busy,
            Stop::Failed(error) => Self::Storage(error.to_string()),
        }
    }
}

impl From<db::Error> for AppendError {
    fn from(error: db::Error) -> Self {
        Self::Storage(error.to_string())
    }
}

/// What a writer has of its own, for those who judge.
pub(super) fn own<'a>(chain: HashChain, node: &'a Node, has_said: &'a Cell<bool>) -> Own<'a> {
    Own { chain, node, has_said }
}

/// Answers appends that none of them was taken.
fn refuse(group: Waiting, why: &AppendError) {
    for (_, reply) in group {
        let _ = reply.send(Err(why.clone()));
    }
}

/// Whether an error says that someone else was in the way: a circle of waiting nodes, or a row that
/// was made at the same time.
fn is_passing(error: &db::Error) -> bool {
    matches!(code(error).as_deref(), Some("40P01" | "40001" | "23505"))
}

/// What finds the words of what is written anew.
pub(super) fn tokens() -> Result<Tokens, TendError> {
    Tokens::new().map_err(|error| TendError::Storage(error.to_string()))
}
