//! The one writer: takes what is waiting, commits it together, answers, and follows behind.
//!
//! Invariant: nothing is answered before its commit has returned, and a commit returns when it is
//! on disk. A commit that fails leaves nothing behind, in the file or in memory.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::db::{self, Connection, Optional as _, params};

use super::desk::Desk;
use super::follow::{Backlog, Item, Used};
use super::marks;
use super::recent::{self, Recent, Row};
use super::tasks::{Standing, Tasks};
use super::tend::Behind;
use crate::handle::{Command, Reply, WriterHandle};
use crate::live::{Live, Reached};
use crate::rows::chain::Links;
use crate::rows::lease;
use crate::rows::thread::{find_thread, folded, is_live, written_head};
use crate::{
    Append, AppendError, Appended, Batch, Branch, Create, Guard, HashChain, Instead, Key,
    ThreadKey, ThreadRef,
};

/// Appends and bytes of one commit.
const GROUP: usize = 4096;
const GROUP_BYTES: usize = 8 << 20;
/// Threads whose head is remembered.
const KNOWN: usize = 500_000;
/// How long what follows behind may wait while there is other work and while there is none, and how
/// far it may fall back. The more follows together, the less is written twice.
const PATIENCE: Duration = Duration::from_millis(20);
const IDLE: Duration = Duration::from_millis(10);
/// How long nothing has been appended when there is no other work.
const LULL: Duration = Duration::from_millis(2);
const BACKLOG: usize = 1024;
const BACKLOG_MAX: usize = 100_000;
/// Rows that follow in one step.
const STEP: usize = 512;
/// How long one step of catching up may take, and the wait after one, and after one that failed.
const CATCH_UP_IDLE: Duration = Duration::from_millis(20);
const CATCH_UP_BUSY: Duration = Duration::from_millis(2);
const REST: Duration = Duration::from_millis(3);
const STUCK: Duration = Duration::from_secs(1);
/// Pages of the write-ahead log after which it is copied back, when idle or at once, and after which
/// readers are waited for that keep it from beginning anew.
const CHECKPOINT_IDLE: i64 = 1000;
const CHECKPOINT_BUSY: i64 = 16_000;
const CHECKPOINT_LATE: i64 = 64_000;

/// The writer's own state.
pub(crate) struct Writer {
    pub(super) conn: Connection,
    pub(super) live: Arc<Live>,
    pub(super) recent: Arc<Recent>,
    pub(super) backlog: Backlog,
    pub(super) tasks: Tasks,
    /// The hash chain, where appends are chained.
    links: Option<Links>,
    known: HashMap<ThreadKey, Known>,
    pub(super) next_row: i64,
    next_thread: i64,
    clock: i64,
    /// What there is to be caught up with behind the backlog.
    pub(super) behind: Behind,
    /// When the oldest row that is not followed was committed, and the newest; how many the last
    /// commit had.
    since: Instant,
    last: Instant,
    committed: usize,
    /// How many of the rows that wait follow next, if some of those that began have.
    round: usize,
    /// When catching up was tried last, and until when it waits because something failed.
    tried: Instant,
    not_before: Instant,
}

/// A thread and its head.
struct Known {
    thread: ThreadRef,
    head: u64,
}

/// An append that is written and waits for the commit.
pub(super) struct Staged {
    pub(super) answer: Appended,
    key: ThreadKey,
    items: Vec<Item>,
}

/// Where an append goes.
pub(super) enum Target {
    There(ThreadRef, u64),
    New(Option<Branch>),
}

impl Target {
    fn head(&self) -> u64 {
        match self {
            Self::There(_, head) => *head,
            Self::New(branch) => branch.as_ref().map_or(0, |branch| branch.at),
        }
    }

    fn epoch(&self) -> Option<u64> {
        match self {
            Self::There(thread, _) => Some(thread.epoch),
            Self::New(_) => None,
        }
    }
}

/// Why an append goes no further: its own fault, or the disk's.
pub(super) enum Stop {
    Refused(AppendError),
    Failed(db::Error),
}

impl From<db::Error> for Stop {
    fn from(error: db::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Stop> for AppendError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refused(error) => error,
            Stop::Failed(error) => Self::Storage(error.to_string()),
        }
    }
}

impl Writer {
    /// Catches up with what a stopped store left behind, and starts to take appends.
    pub(crate) fn start(
        conn: Connection,
        live: Arc<Live>,
        recent: Arc<Recent>,
        chain: HashChain,
    ) -> db::Result<WriterHandle> {
        marks::renew(&conn)?;
        // Beyond what was ever followed, too: the last rows may have been deleted since.
        let next_row = conn.query_row(
            "SELECT max(coalesce((SELECT max(row) FROM journal), 0), \
                        (SELECT max(row) FROM followed)) + 1",
            [],
            |row| row.get(0),
        )?;
        let next_thread = marks::next_thread(&conn)?;
        let mut backlog = Backlog::load(&conn)?;
        backlog.follow(&conn, usize::MAX)?;
        // Until a look shows that there is nothing to catch up with.
        recent.note(recent::Known::Not);
        let now = Instant::now();
        let writer = Self {
            conn,
            live,
            recent,
            backlog,
            tasks: Tasks::default(),
            links: (chain == HashChain::On).then(Links::default),
            known: HashMap::new(),
            next_row,
            next_thread,
            clock: 0,
            behind: Behind::Something,
            since: now,
            last: now,
            round: 0,
            tried: now,
            not_before: now,
            committed: 0,
        };
        let desk = Arc::new(Desk::new(writer));
        let own = desk.clone();
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || own.run())
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(WriterHandle::at_desk(desk, thread))
    }

    /// The appends that wait first and need not be looked at, as many as are committed together.
    pub(super) fn group(&self, waiting: &mut VecDeque<Command>) -> Vec<(Box<Append>, Reply)> {
        let mut group = Vec::with_capacity(waiting.len().min(GROUP));
        let mut bytes = 0;
        while group.len() < GROUP
            && bytes < GROUP_BYTES
            && let Some(command) = waiting.pop_front()
        {
            match command {
                Command::Append(append, reply) if self.needs_no_look(&append) => {
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

    /// Whether something is to follow now.
    pub(super) fn must_follow(&self, now: Instant) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    /// When something is to follow, if there is something.
    pub(super) fn due(&self) -> Option<Instant> {
        // Each step writes pages again that the last one wrote: while appends come, few steps.
        let rest = if self.last.elapsed() < LULL { PATIENCE } else { REST };
        let behind = (self.behind != Behind::Nothing).then(|| self.tried + rest);
        let due = self.rows_due().into_iter().chain(behind).min()?;
        Some(due.max(self.not_before))
    }

    /// When rows are to follow: soon if nothing else comes, and at some time however much does.
    fn rows_due(&self) -> Option<Instant> {
        match self.backlog.len() {
            0 => None,
            rows if rows >= BACKLOG || self.round > 0 => Some(self.since),
            _ => Some((self.since + IDLE).max(self.last + LULL).min(self.since + PATIENCE)),
        }
    }

    /// Lets what follows behind come a little further, if it is time. In short steps: whoever
    /// appends waits for each.
    pub(super) fn step(&mut self) {
        let now = Instant::now();
        if now < self.not_before {
            return;
        }
        if self.rows_due().is_some_and(|due| due <= now) {
            // Those that come meanwhile are for the next round: the more follow together, the less
            // is written twice.
            let round = if self.round > 0 { self.round } else { self.backlog.len() };
            let rows = round.min(STEP.max(2 * self.committed));
            if self.follow_some(rows) {
                self.round = round - rows;
                if self.round == 0 {
                    self.since = Instant::now();
                }
            } else {
                self.not_before = now + PATIENCE;
            }
        } else if self.must_follow(now) {
            let is_quiet = now.saturating_duration_since(self.last) >= LULL;
            self.catch_up(if is_quiet { CATCH_UP_IDLE } else { CATCH_UP_BUSY });
            self.tried = Instant::now();
            if self.behind == Behind::Stuck {
                self.not_before = now + STUCK;
            }
        }
    }

    /// Follows everything: the store closes.
    pub(super) fn finish(&mut self) {
        while self.backlog.len() > 0 && self.follow() {}
        let _ = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    /// Commits appends together and answers them.
    pub(super) fn commit(&mut self, group: Vec<(Box<Append>, Reply)>) {
        self.tick();
        // Only here: inside a commit nothing else knows the heads it has moved.
        if self.known.len() >= KNOWN {
            self.known.clear();
        }
        let mut replies = Vec::with_capacity(group.len());
        let staged = self.together(|writer| {
            let mut staged = Vec::with_capacity(group.len());
            for (append, reply) in group {
                replies.push(reply);
                match writer.stage(*append) {
                    Ok(stage) => staged.push(Ok(stage)),
                    Err(Stop::Refused(error)) => staged.push(Err(error)),
                    Err(Stop::Failed(error)) => return Err(error.into()),
                }
            }
            Ok(staged)
        });
        let staged = match staged {
            Ok(staged) => staged,
            Err(stop) => {
                let error = AppendError::from(stop);
                for reply in replies {
                    let _ = reply.send(Err(error.clone()));
                }
                return;
            }
        };
        let (answers, staged): (Vec<_>, Vec<_>) = staged
            .into_iter()
            .map(|stage| match stage {
                Ok(stage) => (Ok(stage.answer.clone()), Some(stage)),
                Err(error) => (Err(error), None),
            })
            .unzip();
        let _reached = self.publish(staged.into_iter().flatten());
        for (answer, reply) in answers.into_iter().zip(replies) {
            // The caller may have gone; what it appended stays.
            let _ = reply.send(answer);
        }
    }

    /// Runs what stages appends in one transaction. If it fails, it leaves nothing behind.
    pub(super) fn together<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let from = self.next_row;
        let result = marks::run(&self.conn, "BEGIN IMMEDIATE").map_err(Stop::from).and_then(|()| {
            let made = run(self)?;
            let end = if self.next_row > from { "COMMIT" } else { "ROLLBACK" };
            marks::run(&self.conn, end)?;
            Ok(made)
        });
        if result.is_err() {
            let _ = self.conn.execute_batch("ROLLBACK");
            // What was staged never was.
            self.known.clear();
            self.forget_links();
            self.next_row = from;
            self.backlog.recall();
            self.recall_tasks();
        }
        result
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
            self.recent.add(&stage.key, &stage.answer.thread, stage.items.iter().map(row));
            items.extend(stage.items);
        }
        let reached = self.live.publish(items.iter().map(|item| (item.thread, 0, &item.batch)));
        self.last = Instant::now();
        if self.backlog.len() == 0 {
            self.since = self.last;
        }
        self.committed = items.len();
        for item in items {
            self.backlog.push(item);
        }
        reached
    }

    /// The time. Never back: `at` is when it was recorded, in the order of recording.
    pub(super) fn tick(&mut self) -> i64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        self.clock = self.clock.max(now);
        self.clock
    }

    /// Forgets a thread whose name means another from now on.
    pub(super) fn forget(&mut self, key: &ThreadKey) {
        self.known.remove(key);
        self.recent.rename(key);
    }

    /// Forgets threads by their numbers.
    pub(super) fn forget_known(&mut self, threads: &[i64]) {
        self.known.retain(|_, known| !threads.contains(&known.thread.num));
        self.forget_links();
    }

    fn forget_links(&mut self) {
        if let Some(links) = &mut self.links {
            links.forget();
        }
    }

    /// Notes that there is something to catch up with.
    pub(super) fn set_behind(&mut self) {
        self.behind = Behind::Something;
    }

    /// Writes one append inside the transaction. Refused, it leaves nothing there.
    pub(super) fn stage(&mut self, append: Append) -> Result<Staged, Stop> {
        let target = self.target(&append)?;
        if let Target::There(thread, _) = &target {
            if let Some(own) = &append.key
                && let Some((first, last, at, digest)) = self.used(thread.num, &own.text)?
            {
                if digest != own.digest {
                    return Err(Stop::Refused(AppendError::KeyReused));
                }
                let thread = thread.clone();
                let answer = Appended { thread, first, last, at, duplicate: true };
                return Ok(Staged { answer, key: append.thread, items: Vec::new() });
            }
            if matches!(append.create, Create::New | Create::Past | Create::Branch { .. }) {
                return Err(Stop::Refused(AppendError::Exists));
            }
        }
        let running = match &append.guard {
            Some(Guard::Running { task }) => Some(task),
            _ => append.speaker.as_ref(),
        };
        if let (Some(task), Target::There(thread, _)) = (running, &target)
            && let Some(Standing::Over(state)) = self.tasks.state(thread.num, task)
        {
            return Err(Stop::Refused(AppendError::Instead(Instead::Over { state })));
        }
        let head = target.head();
        append.expect.check(target.epoch(), head).map_err(Stop::Refused)?;
        let thread = match target {
            Target::There(thread, _) => thread,
            Target::New(branch) => self.create(&append.thread, branch)?,
        };
        let (mut last, at, mut key) = (head, self.clock, append.key);
        let mut items = Vec::with_capacity(1 + append.more.len());
        for events in std::iter::once(append.events).chain(append.more) {
            for draft in &events {
                self.note(thread.num, &draft.event)?;
            }
            let lines = events.into_iter().map(|draft| (draft.event, draft.source)).collect();
            let batch = Arc::new(Batch::new(last + 1, at, lines));
            self.insert(&thread, key.as_ref(), &batch)?;
            if let Some(links) = &mut self.links {
                links.add(&self.conn, &thread, self.next_row, &batch)?;
            }
            last = batch.last();
            let item = Item { row: self.next_row, thread: thread.num, key: key.take(), batch };
            self.next_row += 1;
            self.backlog.announce(&item);
            items.push(item);
        }
        if let Some(guard) = &append.guard {
            lease::settle(&self.conn, thread.num, guard, self.clock)?;
        }
        if append.create == Create::Past {
            self.conn
                .prepare_cached("UPDATE thread SET past = ?2 WHERE num = ?1")?
                .execute(params![thread.num, last as i64])?;
        }
        let known = Known { thread: thread.clone(), head: last };
        self.known.insert(append.thread.clone(), known);
        let answer = Appended { thread, first: head + 1, last, at, duplicate: false };
        Ok(Staged { answer, key: append.thread, items })
    }

    fn insert(&self, thread: &ThreadRef, key: Option<&Key>, batch: &Batch) -> db::Result<()> {
        let mut insert = self.conn.prepare_cached(
            "INSERT INTO journal (row, thread, first, last, at, key, digest, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        insert.execute(params![
            self.next_row,
            thread.num,
            batch.first as i64,
            batch.last() as i64,
            batch.at,
            key.map(|key| key.text.as_str()),
            key.map(|key| key.digest.as_slice()),
            batch.body()
        ])?;
        Ok(())
    }

    /// The number of a thread that was written to.
    pub(super) fn thread_number(&self, key: &ThreadKey) -> Option<i64> {
        self.known.get(key).map(|known| known.thread.num)
    }

    /// Where an append goes.
    pub(super) fn target(&self, append: &Append) -> Result<Target, Stop> {
        if let Some(known) = self.known.get(&append.thread) {
            return Ok(Target::There(known.thread.clone(), known.head));
        }
        if let Some(thread) = find_thread(&self.conn, &append.thread)? {
            let head = self.head(&thread)?;
            return Ok(Target::There(thread, head));
        }
        match &append.create {
            Create::Never => Err(Stop::Refused(AppendError::NotFound)),
            Create::IfMissing | Create::New | Create::Past => Ok(Target::New(None)),
            Create::Branch { from, at } => {
                if !is_live(&self.conn, from.num)? {
                    return Err(Stop::Refused(AppendError::NotFound));
                }
                let head = self.head(from)?;
                if *at > head {
                    return Err(Stop::Refused(AppendError::BadBranch { head }));
                }
                if let Some(folded) = folded(&self.conn, from, *at)? {
                    let (from, to) = folded.into_inner();
                    return Err(Stop::Refused(AppendError::Folded { from, to }));
                }
                Ok(Target::New(Some(Branch { parent: Arc::new(from.clone()), at: *at })))
            }
        }
    }

    /// The head of a thread that this commit has not touched.
    fn head(&self, thread: &ThreadRef) -> db::Result<u64> {
        match self.recent.head(thread.num) {
            Some(head) => Ok(head),
            None => written_head(&self.conn, thread),
        }
    }

    fn create(&mut self, key: &ThreadKey, branch: Option<Branch>) -> db::Result<ThreadRef> {
        let epoch = RandomState::new().build_hasher().finish() & 0x7fff_ffff;
        let mut insert = self.conn.prepare_cached(
            "INSERT INTO thread (num, tenant, id, epoch, created, parent, fork) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        // Counted here: SQLite would give the number of a deleted thread again, and who still
        // reads that one would get this one's events.
        let num = self.next_thread;
        self.next_thread += 1;
        let parent = branch.as_ref().map(|branch| branch.parent.num);
        let fork = branch.as_ref().map_or(0, |branch| branch.at as i64);
        let (tenant, id) = (&*key.tenant, &*key.id);
        insert.execute(params![num, tenant, id, epoch as i64, self.clock, parent, fork])?;
        Ok(ThreadRef { num, epoch, created: self.clock, renamed: 0, branch })
    }

    /// What a key was used for.
    pub(super) fn used(&self, thread: i64, key: &str) -> db::Result<Option<Used>> {
        if let Some(used) = self.backlog.key(thread, key) {
            return Ok(Some(used));
        }
        let mut used = self.conn.prepare_cached(
            "SELECT j.first, j.last, j.at, j.digest FROM idempotency i JOIN journal j \
             ON j.row = i.row WHERE i.thread = ?1 AND i.key = ?2",
        )?;
        let row = used.query_row(params![thread, key], |row| {
            Ok((row.get::<i64>(0)? as u64, row.get::<i64>(1)? as u64, row.get(2)?, row.get(3)?))
        });
        row.optional()
    }

    /// Lets what follows behind catch up a little; `false` if it could not.
    pub(super) fn follow(&mut self) -> bool {
        self.follow_some(BACKLOG)
    }

    fn follow_some(&mut self, rows: usize) -> bool {
        let rows = if self.backlog.len() > BACKLOG_MAX { usize::MAX } else { rows };
        let followed = self.backlog.follow(&self.conn, rows);
        self.round = self.round.min(self.backlog.len());
        match followed {
            Ok(Some(done)) => {
                self.recent.note(done.known);
                self.recent.followed(done.row);
                if done.known == recent::Known::All && self.backlog.len() == 0 {
                    self.tasks.trim();
                }
                self.behind = Behind::Something;
                self.checkpoint();
                true
            }
            Ok(None) => {
                self.checkpoint();
                true
            }
            // A full disk: the rows stay where they are and are tried again.
            Err(_) => false,
        }
    }

    /// Copies the write-ahead log back into the database when there is much of it; then it begins
    /// anew. Waits for readers only if they have kept it from that for long.
    pub(super) fn checkpoint(&self) {
        let limit = if self.backlog.len() == 0 { CHECKPOINT_IDLE } else { CHECKPOINT_BUSY };
        let look = |how: &str| -> db::Result<(i64, i64)> {
            let mut look = self.conn.prepare_cached(how)?;
            look.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
        };
        let Ok((pages, copied)) = look("PRAGMA wal_checkpoint(NOOP)") else { return };
        if pages - copied > limit {
            // What was not copied now is copied later; nothing depends on it.
            let _ = match pages > CHECKPOINT_LATE {
                true => look("PRAGMA wal_checkpoint(RESTART)"),
                false => look("PRAGMA wal_checkpoint(PASSIVE)"),
            };
        }
    }
}
