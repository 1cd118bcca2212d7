//! Judging appends by what is in memory, before they are written anywhere.
//!
//! Invariant: what is not in memory is in the tables. Memory is looked at first and the tables
//! second: a row leaves the one when the other has it.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::SystemTime;

use crate::db::{self, Connection, Optional as _, params};

use super::follow::{Backlog, Item, Made, Used};
use super::recent::{Known, Recent};
use super::tasks::{Standing, Tasks};
use crate::rows::guard::task_state;
use crate::rows::thread::{find_thread, folded, is_live, written_head};
use crate::{
    Append, AppendError, Appended, Batch, Branch, Create, Guard, Instead, ThreadKey, ThreadRef,
};

/// Threads whose head is remembered.
const KNOWN: usize = 500_000;

/// What appends are judged by.
pub(super) struct Stage {
    pub(super) recent: Arc<Recent>,
    pub(super) backlog: Arc<Backlog>,
    tasks: Tasks,
    heads: HashMap<ThreadKey, Head>,
    pub(super) next_row: i64,
    next_thread: i64,
    clock: i64,
}

/// A thread and its head.
struct Head {
    thread: ThreadRef,
    seq: u64,
}

/// An append that was judged and waits for its commit.
pub(super) struct Staged {
    pub(super) answer: Appended,
    pub(super) key: ThreadKey,
    pub(super) items: Vec<Item>,
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

impl Stage {
    pub(super) fn new(
        recent: Arc<Recent>,
        backlog: Arc<Backlog>,
        next_row: i64,
        next_thread: i64,
    ) -> Self {
        let (tasks, heads) = (Tasks::default(), HashMap::new());
        Self { recent, backlog, tasks, heads, next_row, next_thread, clock: 0 }
    }

    /// The time. Never back: `at` is when it was recorded, in the order of recording.
    pub(super) fn tick(&mut self) -> i64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        self.clock = self.clock.max(now);
        self.clock
    }

    /// Makes room for what is to be remembered. Between commits only: inside one nothing else knows
    /// the heads that it has moved.
    pub(super) fn trim(&mut self) {
        if self.heads.len() >= KNOWN {
            self.heads.clear();
        }
        if self.recent.known() == Known::All {
            self.tasks.trim(self.recent.last_followed());
        }
    }

    /// Judges an append, and gives what is to be written. Refused, it leaves nothing behind.
    pub(super) fn judge(&mut self, conn: &Connection, append: Append) -> Result<Staged, Stop> {
        let target = self.target(conn, &append)?;
        if let Target::There(thread, _) = &target {
            if let Some(own) = &append.key
                && let Some((first, last, at, digest)) = self.used(conn, thread.num, &own.text)?
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
        let (thread, mut made) = match target {
            Target::There(thread, _) => (thread, None),
            Target::New(branch) => {
                let thread = self.make(branch);
                (thread.clone(), Some(Made { key: append.thread.clone(), thread }))
            }
        };
        let (mut last, at, mut key) = (head, self.clock, append.key);
        let mut items = Vec::with_capacity(1 + append.more.len());
        for events in std::iter::once(append.events).chain(append.more) {
            for draft in &events {
                self.note(conn, self.next_row, thread.num, &draft.event)?;
            }
            let lines = events.into_iter().map(|draft| (draft.event, draft.source)).collect();
            let batch = Arc::new(Batch::new(last + 1, at, lines));
            last = batch.last();
            let (row, thread) = (self.next_row, thread.num);
            let (key, made) = (key.take(), made.take());
            let item = Item { row, thread, key, batch, made, is_written: false };
            self.next_row += 1;
            self.backlog.announce(&item);
            items.push(item);
        }
        let head = Head { thread: thread.clone(), seq: last };
        self.heads.insert(append.thread.clone(), head);
        let first = items.first().map_or(last, |item| item.batch.first);
        let answer = Appended { thread, first, last, at, duplicate: false };
        Ok(Staged { answer, key: append.thread, items })
    }

    /// What was judged since a row never was.
    pub(super) fn undo(&mut self, conn: &Connection, from: i64) {
        self.heads.clear();
        self.next_row = from;
        self.backlog.recall();
        // What is only known of tasks from rows that wait is made known anew.
        self.tasks = Tasks::default();
        for (row, thread, batch) in self.backlog.rows() {
            for (_, event) in batch.events() {
                // A task that is not known is looked at.
                let _ = self.note(conn, row, thread, event);
            }
        }
    }

    /// Where an append goes.
    pub(super) fn target(&self, conn: &Connection, append: &Append) -> Result<Target, Stop> {
        if let Some(head) = self.heads.get(&append.thread) {
            return Ok(Target::There(head.thread.clone(), head.seq));
        }
        let found = match self.recent.thread(&append.thread) {
            Some(thread) => Some(thread),
            None => find_thread(conn, &append.thread)?,
        };
        if let Some(thread) = found {
            let head = self.head(conn, &thread)?;
            return Ok(Target::There(thread, head));
        }
        match &append.create {
            Create::Never => Err(Stop::Refused(AppendError::NotFound)),
            Create::IfMissing | Create::New | Create::Past => Ok(Target::New(None)),
            Create::Branch { from, at } => {
                if !is_live(conn, from.num)? {
                    return Err(Stop::Refused(AppendError::NotFound));
                }
                let head = self.head(conn, from)?;
                if *at > head {
                    return Err(Stop::Refused(AppendError::BadBranch { head }));
                }
                if let Some(folded) = folded(conn, from, *at)? {
                    let (from, to) = folded.into_inner();
                    return Err(Stop::Refused(AppendError::Folded { from, to }));
                }
                Ok(Target::New(Some(Branch { parent: Arc::new(from.clone()), at: *at })))
            }
        }
    }

    /// The head of a thread that is not remembered.
    fn head(&self, conn: &Connection, thread: &ThreadRef) -> db::Result<u64> {
        match self.recent.head(thread.num) {
            Some(head) => Ok(head),
            None => written_head(conn, thread),
        }
    }

    fn make(&mut self, branch: Option<Branch>) -> ThreadRef {
        let epoch = RandomState::new().build_hasher().finish() & 0x7fff_ffff;
        // Counted here: SQLite would give the number of a deleted thread again, and who still
        // reads that one would get this one's events.
        let num = self.next_thread;
        self.next_thread += 1;
        ThreadRef { num, epoch, created: self.clock, renamed: 0, branch }
    }

    /// What a key was used for.
    pub(super) fn used(
        &self,
        conn: &Connection,
        thread: i64,
        key: &str,
    ) -> db::Result<Option<Used>> {
        if let Some(used) = self.backlog.key(thread, key) {
            return Ok(Some(used));
        }
        let mut used = conn.prepare_cached(
            "SELECT j.first, j.last, j.at, j.digest FROM idempotency i JOIN journal j \
             ON j.row = i.row WHERE i.thread = ?1 AND i.key = ?2",
        )?;
        let row = used.query_row(params![thread, key], |row| {
            Ok((row.get::<i64>(0)? as u64, row.get::<i64>(1)? as u64, row.get(2)?, row.get(3)?))
        });
        row.optional()
    }

    /// Whether an append can be judged without having the tables brought up to date, and written
    /// into the log: it has no condition, or one on a task that is known, and changes nothing else.
    pub(super) fn is_plain(&self, conn: &Connection, append: &Append) -> bool {
        if matches!(append.create, Create::Past | Create::Branch { .. }) {
            return false;
        }
        match &append.guard {
            None => true,
            Some(Guard::Running { task }) => {
                let head = self.heads.get(&append.thread);
                head.is_some_and(|head| self.knows_task(conn, head.thread.num, task))
            }
            Some(_) => false,
        }
    }

    fn knows_task(&self, conn: &Connection, thread: i64, task: &str) -> bool {
        if self.tasks.state(thread, task).is_some() {
            return true;
        }
        // One that runs there has not ended since: that would be known.
        self.recent.known() == Known::All
            && task_state(conn, thread, task)
                .is_ok_and(|state| state.is_some_and(|state| !state.is_terminal()))
    }

    /// Takes in what an event says of its task.
    fn note(&mut self, conn: &Connection, row: i64, thread: i64, event: &[u8]) -> db::Result<()> {
        let Self { tasks, recent, .. } = self;
        let noted = tasks.note((row, thread), event, |task| match recent.known() {
            Known::All => task_state(conn, thread, task).map_err(Some),
            Known::Not => Err(None),
        });
        match noted {
            Err(Some(error)) => Err(error),
            Ok(()) | Err(None) => Ok(()),
        }
    }

    /// Forgets a thread whose name means another from now on.
    pub(super) fn forget(&mut self, key: &ThreadKey) {
        self.heads.remove(key);
        self.recent.rename(key);
    }

    /// Forgets what is in memory of threads whose rows are about to change. All of their rows must
    /// have been followed.
    pub(super) fn forget_threads(&mut self, threads: &[i64]) {
        self.heads.retain(|_, head| !threads.contains(&head.thread.num));
        for thread in threads {
            self.recent.forget(*thread);
        }
    }
}
