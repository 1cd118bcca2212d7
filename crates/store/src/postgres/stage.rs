//! Judging appends and writing them, inside one transaction.
//!
//! All threads of the group are locked first, in one statement. What is known of them then holds
//! until the commit; what the group itself changes is kept beside it. Only what was accepted is
//! written, all of it together.

mod write;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;

use selvedge_protocol::journal::Kind;
use selvedge_protocol::journal::fold::TaskState;
use sqlx_postgres::PgArguments;

use super::hints::News;
use super::text::stored;
use super::threads::{Lock, add, live_head, lock, now};
use super::{Client, Node, follow};
use crate::db::{self, Connection, Row};
use crate::rows::project::fits;
use crate::rows::thread::folded;
use crate::rows::{guard, lease};
use crate::sqlite::tasks::told;
use crate::{
    Append, AppendError, Appended, Batch, Branch, Create, Guard, HashChain, Instead, Key,
    ThreadKey, ThreadRef,
};

/// An append that was written, and waits for the commit.
pub(super) struct Staged {
    pub(super) answer: Appended,
    pub(super) batches: Vec<Arc<Batch>>,
    /// How often the thread had been written anew.
    pub(super) rewrites: i64,
}

impl Staged {
    /// What other nodes are to be told of it.
    pub(super) fn news(&self) -> (i64, News) {
        let lines = self.batches.iter().flat_map(|batch| batch.lines());
        let stirs = lines
            .into_iter()
            .any(|(_, (event, _))| Kind::leading(event).is_none_or(Kind::concerns_tasks));
        (self.answer.thread.num, News { head: Some(self.answer.last), stirs })
    }
}

/// What a writer has of its own.
#[derive(Clone, Copy)]
pub(super) struct Own<'a> {
    pub(super) chain: HashChain,
    pub(super) node: &'a Node,
    /// Whether its transaction says that there is something to follow.
    pub(super) has_said: &'a Cell<bool>,
}

/// Why an append goes no further.
pub(super) enum Stop {
    Refused(AppendError),
    /// What its thread is known by must be brought up to date first: it is to come again, alone.
    Look,
    Failed(db::Error),
}

impl From<db::Error> for Stop {
    fn from(error: db::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<AppendError> for Stop {
    fn from(error: AppendError) -> Self {
        Self::Refused(error)
    }
}

/// Whether what is known of threads may be brought up to date for a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Never,
    /// For an append that is alone: its thread waits meanwhile, and no other.
    Alone,
}

/// What a key was used for: first, last, at, digest.
type Used = (u64, u64, i64, [u8; 32]);

/// A thread as the group has it.
struct Slot {
    key: ThreadKey,
    /// None if it is not there.
    thread: Option<ThreadRef>,
    is_new: bool,
    /// The last entry that was imported.
    past: u64,
    head: u64,
    at: i64,
    rewrites: i64,
    /// Keys that were used, by what was there or by the group.
    used: HashMap<String, Used>,
    /// How tasks stand that someone asks for, where that is known.
    tasks: HashMap<String, TaskState>,
    /// Ends of tasks that the group tells of.
    ends: Vec<(String, TaskState)>,
}

/// A row that is to be written.
struct NewRow<'a> {
    slot: usize,
    key: Option<&'a Key>,
    batch: Arc<Batch>,
}

/// An append that was accepted.
struct Accepted {
    slot: usize,
    first: u64,
    last: u64,
    at: i64,
    duplicate: bool,
    /// Its rows among all.
    rows: std::ops::Range<usize>,
}

/// A group of appends.
struct Group<'a> {
    conn: &'a Connection,
    client: &'a Client,
    /// What this node has claimed of what the group asks for, by slots.
    claimed: HashSet<(usize, String)>,
    slots: Vec<Slot>,
    by_key: HashMap<&'a ThreadKey, usize>,
    rows: Vec<NewRow<'a>>,
    now: i64,
    look: Look,
}

/// Stages appends in the order given. Each is written or refused by itself.
pub(super) fn stage(
    conn: &Connection,
    client: &Client,
    appends: &[&Append],
    look: Look,
    own: Own<'_>,
) -> Result<Vec<Result<Staged, Stop>>, Stop> {
    let mut group = Group::begin(conn, client, appends, look, own.node)?;
    let mut judged = Vec::with_capacity(appends.len());
    for append in appends {
        judged.push(match group.judge(append) {
            Err(Stop::Failed(error)) => return Err(error.into()),
            other => other,
        });
    }
    group.create()?;
    group.write(own.chain)?;
    if !group.rows.is_empty() && own.node.pace.say(conn, own.node.id)? {
        own.has_said.set(true);
    }
    for (append, judged) in appends.iter().zip(&judged) {
        if let (Some(guard), Ok(accepted)) = (&append.guard, judged)
            && !accepted.duplicate
        {
            lease::settle(conn, group.number(accepted.slot), guard, group.now)?;
        }
    }
    Ok(judged.into_iter().map(|judged| judged.and_then(|own| group.staged(own))).collect())
}

impl<'a> Group<'a> {
    fn begin(
        conn: &'a Connection,
        client: &'a Client,
        appends: &[&'a Append],
        look: Look,
        node: &Node,
    ) -> db::Result<Self> {
        let mut by_key = HashMap::with_capacity(appends.len());
        let mut keys = Vec::with_capacity(appends.len());
        for append in appends {
            by_key.entry(&append.thread).or_insert_with(|| {
                keys.push(&append.thread);
                keys.len() - 1
            });
        }
        let mut locked = lock(conn, client, &keys, Lock::Head)?;
        let now = now(conn)?;
        let slots = keys.iter().map(|key| {
            let found = locked.remove(*key);
            let known = found.as_ref().map(|found| (found.head, found.at, found.rewrites));
            let (head, at, rewrites) = known.unwrap_or_default();
            Slot {
                key: (*key).clone(),
                thread: found.map(|found| found.thread),
                is_new: false,
                past: 0,
                head,
                // A thread's time does not go back, whatever the clock does.
                at: at.max(now),
                rewrites,
                used: HashMap::new(),
                tasks: HashMap::new(),
                ends: Vec::new(),
            }
        });
        let slots = slots.collect();
        let (claimed, rows) = (HashSet::new(), Vec::new());
        let mut group = Self { conn, client, claimed, slots, by_key, rows, now, look };
        group.look_up_keys(appends)?;
        group.look_up_tasks(appends)?;
        group.look_up_claims(appends, node)?;
        Ok(group)
    }

    fn slot(&mut self, append: &Append) -> Result<(usize, &mut Slot), Stop> {
        let at = self.by_key.get(&append.thread).copied();
        let found = at.and_then(|at| Some((at, self.slots.get_mut(at)?)));
        found.ok_or(Stop::Refused(AppendError::NotFound))
    }

    /// The number of a slot's thread; 0 if it has none.
    fn number(&self, slot: usize) -> i64 {
        self.slots.get(slot).and_then(|slot| slot.thread.as_ref()).map_or(0, |own| own.num)
    }

    /// Finds out what keys were used for.
    fn look_up_keys(&mut self, appends: &[&Append]) -> db::Result<()> {
        let (mut threads, mut keys, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        for append in appends {
            let slot = self.by_key.get(&append.thread).copied().unwrap_or(usize::MAX);
            if let Some(key) = &append.key
                && self.number(slot) > 0
            {
                threads.push(self.number(slot));
                keys.push(stored(&key.text).into_owned());
                slots.push((slot, key.text.clone()));
            }
        }
        if threads.is_empty() {
            return Ok(());
        }
        let mut arguments = PgArguments::default();
        add(&mut arguments, threads)?;
        add(&mut arguments, keys)?;
        let rows = self.client.rows(
            "SELECT k.n, j.first, j.last, j.at, j.digest \
             FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS k (thread, key, n) \
             JOIN journal j ON j.thread = k.thread AND j.key = k.key",
            arguments,
        )?;
        for row in rows.into_iter().map(Row::Postgres) {
            let nth = usize::try_from(row.get::<i64>(0)? - 1).unwrap_or(usize::MAX);
            let Some((slot, key)) = slots.get(nth) else { continue };
            let used =
                (row.get::<i64>(1)? as u64, row.get::<i64>(2)? as u64, row.get(3)?, row.get(4)?);
            if let Some(slot) = self.slots.get_mut(*slot) {
                slot.used.insert(key.clone(), used);
            }
        }
        Ok(())
    }

    /// Finds out how the tasks stand in whose name something is said.
    fn look_up_tasks(&mut self, appends: &[&Append]) -> db::Result<()> {
        let (mut threads, mut tasks, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        for append in appends {
            let slot = self.by_key.get(&append.thread).copied().unwrap_or(usize::MAX);
            if let Some(task) = speaker(append)
                && self.number(slot) > 0
            {
                threads.push(self.number(slot));
                tasks.push(stored(task).into_owned());
                slots.push((slot, task.to_owned()));
            }
        }
        if threads.is_empty() {
            return Ok(());
        }
        let mut arguments = PgArguments::default();
        add(&mut arguments, threads)?;
        add(&mut arguments, tasks)?;
        // An end that is not written down has not happened; else what is known of the task holds.
        let rows = self.client.rows(
            "SELECT k.n, coalesce(o.state, t.state) \
             FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS k (thread, task, n) \
             LEFT JOIN task_over o ON o.thread = k.thread AND o.task = k.task \
             LEFT JOIN task t ON t.thread = k.thread AND t.id = k.task",
            arguments,
        )?;
        for row in rows.into_iter().map(Row::Postgres) {
            let nth = usize::try_from(row.get::<i64>(0)? - 1).unwrap_or(usize::MAX);
            let state: Option<String> = row.get(1)?;
            if let Some((slot, task)) = slots.get(nth)
                && let Some(state) = state.and_then(|state| TaskState::named(&state))
                && let Some(slot) = self.slots.get_mut(*slot)
            {
                slot.tasks.insert(task.clone(), state);
            }
        }
        Ok(())
    }

    /// Finds out what this node has claimed. Whoever takes it over waits for the threads' locks.
    fn look_up_claims(&mut self, appends: &[&Append], node: &Node) -> db::Result<()> {
        let asked = appends.iter().filter_map(|append| {
            let slot = self.by_key.get(&append.thread).copied()?;
            Some((slot, self.number(slot), append.claim.clone()?))
        });
        let asked: Vec<(usize, i64, String)> = asked.collect();
        if asked.is_empty() {
            return Ok(());
        }
        let mut arguments = PgArguments::default();
        add(&mut arguments, asked.iter().map(|(_, thread, _)| *thread).collect::<Vec<_>>())?;
        let whats: Vec<String> = asked.iter().map(|(.., what)| stored(what).into_owned()).collect();
        add(&mut arguments, whats)?;
        add(&mut arguments, node.id)?;
        let rows = self.client.rows(
            "SELECT k.n FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS k (thread, what, n) \
             JOIN claim c ON c.thread = k.thread AND c.what = k.what AND c.node = $3",
            arguments,
        )?;
        for row in rows.into_iter().map(Row::Postgres) {
            let nth = usize::try_from(row.get::<i64>(0)? - 1).unwrap_or(usize::MAX);
            if let Some((slot, _, what)) = asked.get(nth) {
                self.claimed.insert((*slot, what.clone()));
            }
        }
        Ok(())
    }

    /// Whether an append is taken, and what it then changes.
    fn judge(&mut self, append: &'a Append) -> Result<Accepted, Stop> {
        let look = self.look;
        let (slot, own) = self.slot(append)?;
        if own.thread.is_some()
            && let Some(key) = &append.key
            && let Some(&(first, last, at, digest)) = own.used.get(&key.text)
        {
            if digest != key.digest {
                return Err(AppendError::KeyReused.into());
            }
            return Ok(Accepted { slot, first, last, at, duplicate: true, rows: 0..0 });
        }
        if let Some(what) = &append.claim
            && !self.claimed.contains(&(slot, what.clone()))
        {
            return Err(AppendError::Instead(Instead::Elsewhere).into());
        }
        let (slot, own) = self.slot(append)?;
        let is_there = own.thread.is_some();
        let known = speaker(append).and_then(|task| own.tasks.get(task).copied());
        let branch = if is_there { None } else { self.origin(append)? };
        match &append.guard {
            None => {}
            // One that runs, as far as is known, has not ended since: that would be known.
            Some(Guard::Running { .. }) if known.is_some() => {}
            Some(_) if look == Look::Never => return Err(Stop::Look),
            Some(guard) => self.holds(slot, guard)?,
        }
        if is_there && matches!(append.create, Create::New | Create::Past | Create::Branch { .. }) {
            return Err(AppendError::Exists.into());
        }
        if let Some(state) = known.filter(|state| state.is_terminal()) {
            return Err(AppendError::Instead(Instead::Over { state }).into());
        }
        let (_, own) = self.slot(append)?;
        let head = branch.as_ref().map_or(own.head, |branch| branch.at);
        append.expect.check(own.thread.as_ref().map(|thread| thread.epoch), head)?;
        if own.thread.is_none() {
            own.make(branch);
        }
        let accepted = self.accept(slot, append);
        if append.create == Create::Past {
            self.slot(append)?.1.past = accepted.last;
        }
        Ok(accepted)
    }

    /// Where a thread that is yet to be made comes from.
    fn origin(&self, append: &Append) -> Result<Option<Branch>, Stop> {
        let Create::Branch { from, at } = &append.create else {
            return match append.create {
                Create::Never => Err(AppendError::NotFound.into()),
                _ => Ok(None),
            };
        };
        let among = |slot: &&Slot| slot.thread.as_ref().is_some_and(|own| own.num == from.num);
        let head = match self.slots.iter().find(among) {
            Some(slot) => slot.head,
            None => match live_head(self.conn, from.num) {
                Err(db::Error::NoRow) => return Err(AppendError::NotFound.into()),
                head => head?,
            },
        };
        if *at > head {
            return Err(AppendError::BadBranch { head }.into());
        }
        if let Some(folded) = folded(self.conn, from, *at)? {
            let (from, to) = folded.into_inner();
            return Err(AppendError::Folded { from, to }.into());
        }
        Ok(Some(Branch { parent: Arc::new(from.clone()), at: *at }))
    }

    /// Whether what an append asks for is so, by all that its thread has.
    fn holds(&self, slot: usize, asked: &Guard) -> Result<(), Stop> {
        let thread = self.number(slot);
        if thread > 0 && follow::fully(self.conn, thread)? == follow::Reached::Part {
            return Err(AppendError::Behind.into());
        }
        guard::check(self.conn, thread, asked, self.now).map_err(|not| Stop::Refused(not.into()))
    }

    /// Takes an append in.
    fn accept(&mut self, slot: usize, append: &'a Append) -> Accepted {
        let begin = self.rows.len();
        let (mut first, mut last, mut at) = (0, 0, 0);
        if let Some(own) = self.slots.get_mut(slot) {
            first = own.head + 1;
            at = own.at;
            let mut key = append.key.as_ref();
            for events in std::iter::once(&append.events).chain(&append.more) {
                let lines = events.iter().map(|draft| (draft.event.clone(), draft.source.clone()));
                let batch = Arc::new(Batch::new(own.head + 1, at, lines.collect()));
                if let Some(key) = key {
                    let used = (batch.first, batch.last(), at, key.digest);
                    own.used.insert(key.text.clone(), used);
                }
                for draft in events {
                    own.note(&draft.event);
                }
                own.head = batch.last();
                self.rows.push(NewRow { slot, key: key.take(), batch });
            }
            last = own.head;
        }
        Accepted { slot, first, last, at, duplicate: false, rows: begin..self.rows.len() }
    }

    /// What becomes of an append that was accepted.
    fn staged(&self, own: Accepted) -> Result<Staged, Stop> {
        let slot = self.slots.get(own.slot);
        let found = slot.and_then(|slot| Some((slot.thread.clone()?, slot.rewrites)));
        let (thread, rewrites) = found.ok_or(Stop::Refused(AppendError::NotFound))?;
        let rows = self.rows.get(own.rows).unwrap_or_default();
        Ok(Staged {
            answer: Appended {
                thread,
                first: own.first,
                last: own.last,
                duplicate: own.duplicate,
                at: own.at,
            },
            batches: rows.iter().map(|row| row.batch.clone()).collect(),
            rewrites,
        })
    }
}

impl Slot {
    /// Makes a thread, to be written with what is appended to it.
    fn make(&mut self, branch: Option<Branch>) {
        let epoch = RandomState::new().build_hasher().finish() & 0x7fff_ffff;
        self.head = branch.as_ref().map_or(0, |branch| branch.at);
        self.thread = Some(ThreadRef { num: 0, epoch, created: self.at, renamed: 0, branch });
        self.is_new = true;
    }

    /// Takes in what an event says of the end of a task. The first end counts.
    fn note(&mut self, event: &[u8]) {
        let Some((task, state)) = end(event) else { return };
        let is_over = self.tasks.get(&task).is_some_and(|known| known.is_terminal());
        if !is_over {
            self.tasks.insert(task.clone(), state);
            self.ends.push((task, state));
        }
    }
}

/// The task whose end an event tells of.
pub(super) fn end(event: &[u8]) -> Option<(String, TaskState)> {
    let told = told(event)?;
    let state = told.over.filter(|_| fits(&told.task))?;
    Some((told.task, state))
}

/// The task that must not have ended.
fn speaker(append: &Append) -> Option<&str> {
    match &append.guard {
        Some(Guard::Running { task }) => Some(task),
        _ => append.speaker.as_deref(),
    }
}
