//! Keeps the tails of this node at what the database has, whoever wrote it.
//!
//! One thread with a connection of its own tells other nodes what was committed here, reads what
//! they tell of threads that someone here reads, and compares all of those with the database every
//! second. No append waits for it.
//!
//! Invariant: what enters a tail was read in one statement with how often the thread had been
//! written anew, so that nothing comes back that was taken out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use sqlx_postgres::PgArguments;
use tokio::sync::oneshot;

use super::Client;
use super::hints::{Ear, News, Wire, messages, news};
use super::migrate::Trouble;
use super::node::Node;
use super::pace;
use super::threads::add;
use super::writer::Link;
use crate::db::{self, Connection, Optional as _, Row, params};
use crate::live::{Live, Tail};
use crate::rows::thread::batch;
use crate::{Batch, End, Hints, TendError, ThreadRef};

/// Words that may wait. What does not fit is found by the next look.
const QUEUE: usize = 4096;
/// Between two messages: so many commits a second are for telling, however many there are.
const REST: Duration = Duration::from_millis(10);
/// How often it says that the node is alive.
const BEAT: Duration = Duration::from_secs(1);
/// How often nodes that are gone are forgotten.
const SWEEP: Duration = Duration::from_secs(60);
/// The wait after something that failed.
const STUCK: Duration = Duration::from_millis(200);
/// How often it is looked at how far other nodes have come, while someone waits for them, and how
/// long anyone does.
const SOON: Duration = Duration::from_millis(3);
const PATIENCE: Duration = Duration::from_secs(2);
/// Threads that are read together, rows of each, and bytes of those: more is read by who wants it.
const THREADS: usize = 256;
const ROWS: usize = 128;
const BYTES: i64 = 1 << 20;
/// A lost hint costs little; so does a commit that is not waited for.
const SETTINGS: &str = "SET synchronous_commit = off";

/// What it is told.
pub(super) enum Word {
    /// A message of another node.
    Heard(String),
    /// There may have been one that was not heard.
    Missed,
    /// There is something to tell.
    Tell,
    /// Someone waits until other nodes have followed all that they acknowledged so far.
    Fresh(Reply),
    /// It is to end.
    Close,
}

type Reply = oneshot::Sender<Result<(), TendError>>;

/// Someone who waits for other nodes.
struct Waiter {
    reply: Reply,
    /// The rounds that each must have made.
    rounds: HashMap<i64, i64>,
    /// When it goes on without them.
    until: Instant,
}

/// What it is about to look at.
#[derive(Default)]
struct Heard {
    threads: BTreeMap<i64, News>,
    missed: bool,
    stirs: bool,
}

pub(super) struct Herald {
    link: Link,
    node: Arc<Node>,
    live: Arc<Live>,
    wire: Wire,
    period: Duration,
    words: Receiver<Word>,
    waiters: Vec<Waiter>,
    /// Nodes that are known to be dead.
    dead: HashSet<i64>,
}

/// A thread as the database has it.
struct Standing {
    thread: i64,
    /// None if it is gone.
    now: Option<Now>,
    batches: Vec<Arc<Batch>>,
    /// Whether there is more than was read.
    rest: Rest,
}

#[derive(Clone, Copy)]
struct Now {
    head: u64,
    renamed: i64,
    rewrites: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    /// It is to be read next.
    More,
    /// It is too much: whoever wants it reads the journal.
    TooMuch,
}

/// Tells a tail where its thread stands; why it has ended, if it has.
pub(crate) fn standing(
    conn: &Connection,
    thread: &ThreadRef,
    tail: &Tail,
) -> db::Result<Option<End>> {
    let mut find = conn.prepare_cached(
        "SELECT head, renamed, rewrites FROM thread WHERE num = ?1 AND deleted IS NULL",
    )?;
    let found = find.query_row(params![thread.num], |row| {
        Ok(Now { head: row.get::<i64>(0)? as u64, renamed: row.get(1)?, rewrites: row.get(2)? })
    });
    Ok(match found.optional()? {
        None => Some(End::Deleted),
        Some(now) if now.renamed != thread.renamed => Some(End::Renamed),
        Some(now) => {
            tail.take_in(&[], now.rewrites);
            tail.reached(now.head);
            None
        }
    })
}

impl Herald {
    /// Makes the node known, and hears from now on.
    pub(super) fn new(url: &str, live: Arc<Live>, hints: &Hints) -> Result<Self, Trouble> {
        let (sender, words): (SyncSender<Word>, _) = sync_channel(QUEUE);
        let conn = Connection::Postgres(Client::open(url)?);
        let mut link = Link::with(url, conn, SETTINGS)?;
        let node = Arc::new(Node::join(link.get()?.0, sender.clone())?);
        let wire = Wire::open(hints, url, &mut link, Ear(sender))?;
        let (waiters, dead) = (Vec::new(), HashSet::new());
        Ok(Self { link, node, live, wire, period: hints.period(), words, waiters, dead })
    }

    /// The node that it speaks for.
    pub(super) fn node(&self) -> Arc<Node> {
        self.node.clone()
    }

    /// Works until it is told to end.
    pub(super) fn run(mut self) {
        let begin = Instant::now();
        let (mut look, mut beat, mut sweep, mut tell) = (begin, begin, begin + SWEEP, begin);
        loop {
            let mut next = look.min(beat);
            if self.node.has_news() {
                next = next.min(tell);
            }
            if !self.waiters.is_empty() {
                next = next.min(Instant::now() + SOON);
            }
            let Some(mut heard) = self.wait(next) else { break };
            self.answer_waiters();
            if self.node.has_news() && Instant::now() >= tell {
                tell = Instant::now() + REST;
                // What could not be told is found by those who look.
                let _ = self.tell();
            }
            if self.look_at(&heard).is_err() {
                heard.missed = true;
            }
            if heard.stirs || heard.missed {
                self.node.stir();
            }
            if heard.missed || Instant::now() >= look {
                let compared = self.compare();
                let wait = if compared.is_ok() { self.period } else { STUCK };
                look = Instant::now() + wait;
            }
            if Instant::now() >= beat {
                let is_due = Instant::now() >= sweep;
                if is_due {
                    sweep = Instant::now() + SWEEP;
                }
                let beaten = self.beat(is_due);
                beat = Instant::now() + if beaten.is_ok() { BEAT } else { STUCK };
            }
        }
        let _ = self.tell();
        if let Ok((conn, _)) = self.link.get() {
            let _ = self.node.leave(conn);
        }
    }

    /// Waits for words until some moment; none when it is to end.
    fn wait(&mut self, until: Instant) -> Option<Heard> {
        let mut heard = Heard::default();
        let wait = until.saturating_duration_since(Instant::now());
        let mut word = match self.words.recv_timeout(wait) {
            Ok(word) => Some(word),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return None,
        };
        while let Some(told) = word {
            match told {
                Word::Heard(message) => {
                    for (thread, news) in news(&self.node.tag, &message) {
                        heard.stirs |= news.stirs;
                        heard
                            .threads
                            .entry(thread)
                            .and_modify(|known| *known = known.and(news))
                            .or_insert(news);
                    }
                }
                Word::Missed => heard.missed = true,
                Word::Tell => {}
                Word::Fresh(reply) => self.attend(reply),
                Word::Close => return None,
            }
            word = self.words.try_recv().ok();
        }
        Some(heard)
    }

    fn tell(&mut self) -> db::Result<()> {
        let news = self.node.take_news();
        if news.is_empty() {
            return Ok(());
        }
        for message in messages(&self.node.tag, &news) {
            self.wire.tell(&mut self.link, &message)?;
        }
        Ok(())
    }

    fn beat(&mut self, sweep: bool) -> db::Result<()> {
        let (conn, _) = self.link.get()?;
        self.node.beat(conn)?;
        self.node.pace.renew(conn, self.node.id)?;
        let others = self.node.others(conn)?;
        self.node.pace.note_others(others.iter().any(|(_, is_alive)| *is_alive));
        let dead: HashSet<i64> =
            others.iter().filter(|(_, is_alive)| !is_alive).map(|(node, _)| *node).collect();
        if !dead.is_subset(&self.dead) {
            self.node.note_lost();
            self.node.stir();
        }
        self.dead = dead;
        if sweep {
            Node::forget_others(conn)?;
        }
        Ok(())
    }

    /// Lets someone wait for those nodes that have something to follow: until each has begun and
    /// finished a round from now on, or has come to rest.
    fn attend(&mut self, reply: Reply) {
        let behind = self.behind();
        if behind.is_empty() {
            let _ = reply.send(Ok(()));
            return;
        }
        let rounds = behind.into_iter().map(|(node, rounds)| (node, rounds + 2)).collect();
        self.waiters.push(Waiter { reply, rounds, until: Instant::now() + PATIENCE });
    }

    fn answer_waiters(&mut self) {
        if self.waiters.is_empty() {
            return;
        }
        let behind = self.behind();
        let is_over = |waiter: &mut Waiter| {
            let is_late = Instant::now() >= waiter.until;
            let mut all = waiter.rounds.iter();
            is_late || all.all(|(node, wanted)| behind.get(node).is_none_or(|made| made >= wanted))
        };
        for waiter in self.waiters.extract_if(.., is_over) {
            let _ = waiter.reply.send(Ok(()));
        }
    }

    /// Nodes that have something to follow. Whom nobody knows nobody waits for.
    fn behind(&mut self) -> HashMap<i64, i64> {
        let own = self.node.id;
        self.link.get().and_then(|(conn, _)| pace::behind(conn, own)).unwrap_or_default()
    }

    /// Reads what other nodes told of, where someone here reads it.
    fn look_at(&mut self, heard: &Heard) -> db::Result<()> {
        let tails = heard.threads.iter().filter_map(|(thread, news)| {
            let tail = self.live.known(*thread)?;
            let is_new = news.head.is_none_or(|head| head > tail.head());
            is_new.then_some((*thread, tail))
        });
        let tails: Vec<_> = tails.collect();
        self.read(tails)
    }

    /// Compares all that someone here reads with the database.
    fn compare(&mut self) -> db::Result<()> {
        let tails = self.live.all();
        if tails.is_empty() {
            return Ok(());
        }
        let list = |pick: fn(&Tail) -> i64| -> Vec<i64> {
            tails.iter().map(|(_, tail)| pick(tail)).collect()
        };
        let mut arguments = PgArguments::default();
        add(&mut arguments, tails.iter().map(|(thread, _)| *thread).collect::<Vec<_>>())?;
        add(&mut arguments, list(|tail| tail.head() as i64))?;
        add(&mut arguments, list(Tail::renamed))?;
        add(&mut arguments, list(|tail| tail.rewrites().unwrap_or(-1)))?;
        let (_, client) = self.link.get()?;
        let found = client.rows(
            "SELECT k.num FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) \
                 AS k (num, head, renamed, rewrites) \
             LEFT JOIN thread t ON t.num = k.num AND t.deleted IS NULL \
             WHERE t.num IS NULL OR t.head > k.head OR t.renamed > k.renamed \
                 OR t.rewrites > k.rewrites",
            arguments,
        )?;
        let found: Vec<i64> =
            found.into_iter().map(|row| Row::Postgres(row).get(0)).collect::<db::Result<_>>()?;
        let changed = found.into_iter().filter_map(|num| Some((num, self.live.known(num)?)));
        let changed: Vec<_> = changed.collect();
        self.read(changed)
    }

    /// Brings tails to what the database has.
    fn read(&mut self, mut tails: Vec<(i64, Arc<Tail>)>) -> db::Result<()> {
        while !tails.is_empty() {
            let some: Vec<_> = tails.drain(..tails.len().min(THREADS)).collect();
            for found in self.standing(&some)? {
                let Some((_, tail)) = some.iter().find(|(thread, _)| *thread == found.thread)
                else {
                    continue;
                };
                match found.now {
                    None => self.live.deleted(found.thread),
                    Some(now) if now.renamed > tail.renamed() => {
                        self.live.renamed(found.thread, now.renamed);
                    }
                    Some(now) => {
                        tail.take_in(&found.batches, now.rewrites);
                        match found.rest {
                            Rest::More => tails.push((found.thread, tail.clone())),
                            Rest::Nothing | Rest::TooMuch => tail.reached(now.head),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Where threads stand, and what their tails do not have yet.
    fn standing(&mut self, tails: &[(i64, Arc<Tail>)]) -> db::Result<Vec<Standing>> {
        let mut arguments = PgArguments::default();
        add(&mut arguments, tails.iter().map(|(thread, _)| *thread).collect::<Vec<_>>())?;
        add(&mut arguments, tails.iter().map(|(_, tail)| tail.head() as i64).collect::<Vec<_>>())?;
        add(&mut arguments, ROWS as i64)?;
        add(&mut arguments, BYTES)?;
        let (_, client) = self.link.get()?;
        let rows = client.rows(
            "SELECT k.num, j.first, j.at, j.body, t.head, t.renamed, t.rewrites, j.is_too_much \
             FROM unnest($1::bigint[], $2::bigint[]) AS k (num, seen) \
             LEFT JOIN thread t ON t.num = k.num AND t.deleted IS NULL \
             LEFT JOIN LATERAL (SELECT n.first, n.at, n.sum > $4 AS is_too_much, \
                     CASE WHEN n.sum <= $4 THEN n.body END AS body \
                 FROM (SELECT o.first, o.at, o.body, \
                         sum(octet_length(o.body)) OVER (ORDER BY o.last) AS sum \
                     FROM (SELECT first, last, at, body FROM journal \
                         WHERE thread = k.num AND last > k.seen ORDER BY last LIMIT $3) o) n \
             ) j ON t.num IS NOT NULL \
             ORDER BY k.num, j.first",
            arguments,
        )?;
        let mut all: Vec<Standing> = Vec::with_capacity(tails.len());
        for row in rows.into_iter().map(Row::Postgres) {
            let thread = row.get(0)?;
            if all.last().is_none_or(|last| last.thread != thread) {
                let head: Option<i64> = row.get(4)?;
                let now = match head {
                    Some(head) => {
                        Some(Now { head: head as u64, renamed: row.get(5)?, rewrites: row.get(6)? })
                    }
                    None => None,
                };
                all.push(Standing { thread, now, batches: Vec::new(), rest: Rest::Nothing });
            }
            let Some(found) = all.last_mut() else { continue };
            match row.get::<Option<bool>>(7)? {
                None => {}
                Some(true) => found.rest = Rest::TooMuch,
                Some(false) => found.batches.push(Arc::new(batch(&row)?)),
            }
        }
        for found in &mut all {
            if found.batches.len() == ROWS {
                found.rest = Rest::More;
            }
        }
        Ok(all)
    }
}
