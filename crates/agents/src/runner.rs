//! The runner: finds tasks for the agents of this process and works on them.
//!
//! A task is worked on when it was dispatched to one of the agents and is not over. Hints of what
//! was committed start the work at once; a look at the store finds what hints missed, after a
//! restart above all.
//!
//! Where other nodes share the journal, a task is claimed before it is worked on, and what they
//! write wakes a task that waits here.
//!
//! Invariant: a task has at most one turn in this process, and one among all nodes.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Raw};
use selvedge_store::{AppendError, Listed, Place, ReadError, Store, ThreadKey, Wanted};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::agent::Member;
use crate::config::file::WhileWaiting;
use crate::journal::{Journal, JournalError};
use crate::remote;
use crate::router::{Rules, Team, is_routed, settle};
use crate::turn::{Left, Turn};

/// How often the store is looked at for what hints missed, and the same where other nodes write to
/// it or may die.
const PERIOD: Duration = Duration::from_secs(30);
const PERIOD_SHARED: Duration = Duration::from_secs(1);
/// How long what other nodes tell gathers before the store is looked at: as a rule one of them is
/// at it by then.
const GATHER: Duration = Duration::from_millis(100);
/// The first wait after a turn that could not go on; it doubles.
const AGAIN: Duration = Duration::from_millis(200);
const AGAIN_MAX: Duration = Duration::from_secs(30);
/// Tasks of one look at the store.
const PAGE: usize = 500;

/// A list of tasks in all threads, a page at a time.
type List = fn(&Store, usize, Option<&Place>) -> Result<Listed<Wanted>, ReadError>;

/// Who can be given tasks here, and what is to be done for those of this process. It knows no journal, so
/// that whoever writes one can have it. Clones share it.
#[derive(Clone)]
pub struct Desk {
    shared: Arc<Shared>,
}

struct Shared {
    members: BTreeMap<String, Member>,
    /// By which envelopes are given to them.
    rules: Rules,
    /// What a message does to a task that waits, by agent.
    waiting: BTreeMap<String, WhileWaiting>,
    tasks: Mutex<Tasks>,
    /// Something is to be started.
    ready: Notify,
    /// Counts what may matter to whoever claims tasks.
    news: watch::Sender<u64>,
}

/// Works on what is on a desk.
#[derive(Clone)]
pub struct Runner {
    desk: Desk,
    journal: Journal,
    /// Turns that may be at work at once.
    slots: Arc<Semaphore>,
}

/// Tasks that are not over, by their threads, and those that are to be started.
#[derive(Default)]
struct Tasks {
    by_thread: HashMap<ThreadKey, HashMap<String, Work>>,
    ready: Vec<Key>,
    /// Tasks of the router that are over.
    ended: Vec<Key>,
}

impl Tasks {
    fn get(&mut self, key: &Key) -> Option<&mut Work> {
        self.by_thread.get_mut(&key.thread)?.get_mut(&key.task)
    }

    fn remove(&mut self, key: &Key) {
        if let Some(tasks) = self.by_thread.get_mut(&key.thread) {
            tasks.remove(&key.task);
            if tasks.is_empty() {
                self.by_thread.remove(&key.thread);
            }
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.shared.members.keys()).finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    thread: ThreadKey,
    task: String,
}

/// A task and what is done for it.
struct Work {
    /// Whose it is.
    member: Member,
    state: State,
    /// Turns there were.
    turns: u64,
    /// Times in a row that its turn could not go on.
    failures: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Is to be started.
    Ready,
    /// A turn is at work.
    Working(News),
    /// Waits for something in the journal.
    Waiting,
}

/// Whether something happened that a turn may not have seen when it stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    None,
    Some,
}

impl Desk {
    /// The desk of these.
    pub fn new<M: Into<Member>>(members: impl IntoIterator<Item = M>) -> Self {
        Self::configured(members, Rules::none(), [])
    }

    /// The desk of these, who are given envelopes by rules.
    pub fn routed<M: Into<Member>>(members: impl IntoIterator<Item = M>, rules: Rules) -> Self {
        Self::configured(members, rules, [])
    }

    /// The desk of these, who are given envelopes by rules, and what a user's message does while a
    /// task of one of them waits for an answer; it queues, if nothing is said.
    pub fn configured<M: Into<Member>>(
        members: impl IntoIterator<Item = M>,
        mut rules: Rules,
        waiting: impl IntoIterator<Item = (String, WhileWaiting)>,
    ) -> Self {
        let members = members.into_iter().map(Into::into);
        let members: BTreeMap<String, Member> =
            members.map(|member: Member| (member.id().to_owned(), member)).collect();
        // Who is not here is given nothing.
        rules.agents.retain(|_, agent| members.contains_key(agent));
        let waiting = waiting.into_iter().collect();
        let (tasks, ready, news) = (Mutex::default(), Notify::new(), watch::Sender::new(0));
        let shared = Shared { members, rules, waiting, tasks, ready, news };
        Self { shared: Arc::new(shared) }
    }

    /// What a user's message does while a task of an agent waits for an answer.
    pub fn while_waiting(&self, agent: &str) -> WhileWaiting {
        self.shared.waiting.get(agent).copied().unwrap_or_default()
    }

    /// Who has that id.
    pub fn member(&self, id: &str) -> Option<&Member> {
        self.shared.members.get(id)
    }

    /// Whether a turn is at work.
    pub fn is_busy(&self) -> bool {
        let tasks = lock(&self.shared.tasks);
        tasks.by_thread.values().flatten().any(|(_, work)| work.state != State::Waiting)
    }

    /// Everyone, by their ids.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.shared.members.values()
    }

    /// Changes when there may be something new for whoever claims tasks: one to claim, or the end
    /// of one that was claimed.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.shared.news.subscribe()
    }

    /// Tells whoever claims tasks to look again.
    pub fn stir(&self) {
        self.shared.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Whether something may follow here from an event; from most of what is committed nothing
    /// does.
    pub fn heeds(event: &[u8]) -> bool {
        Kind::leading(event).is_none_or(Kind::concerns_tasks)
    }

    /// Takes a hint of what was committed to a thread.
    pub fn committed<'e>(&self, thread: &ThreadKey, events: impl IntoIterator<Item = &'e Bytes>) {
        for event in events.into_iter().filter(|event| Self::heeds(event)) {
            let Ok(doc) = Doc::parse_bytes(event) else { continue };
            let Some(event) = Event::parse(doc.root()) else { continue };
            match event.kind() {
                Kind::TaskCreated => self.created(thread, &event),
                Kind::InputReceived | Kind::InputExpired | Kind::AuthCompleted => self.wake(thread),
                _ if TaskState::after(&event).is_some_and(TaskState::is_terminal) => {
                    self.wake(thread);
                    if let Some(task) = event.str("taskId").filter(|task| is_routed(task)) {
                        self.over(thread.clone(), task.into_owned());
                    }
                }
                _ => {}
            }
        }
    }

    /// A task was made: if it is for one of the agents, it is to be done.
    fn created(&self, thread: &ThreadKey, event: &Event<'_>) {
        if event.get("dispatched").and_then(Raw::bool) != Some(true) {
            return;
        }
        let (Some(task), Some(agent)) = (event.str("taskId"), event.str("agentId")) else { return };
        self.add(thread.clone(), task.into_owned(), &agent);
    }

    fn add(&self, thread: ThreadKey, task: String, agent: &str) {
        let member = match self.member(agent) {
            Some(member @ (Member::Here(_) | Member::Remote(_))) => member,
            // It waits for whoever claims it.
            Some(Member::Worker(_)) => return self.stir(),
            None => return,
        };
        let mut tasks = lock(&self.shared.tasks);
        let known = tasks.by_thread.entry(thread.clone()).or_default();
        if known.contains_key(&task) {
            return;
        }
        let work = Work { member: member.clone(), state: State::Ready, turns: 0, failures: 0 };
        known.insert(task.clone(), work);
        tasks.ready.push(Key { thread, task });
        self.shared.ready.notify_one();
    }

    /// A task of the router is over: someone is to take that up.
    fn over(&self, thread: ThreadKey, task: String) {
        let mut tasks = lock(&self.shared.tasks);
        let key = Key { thread, task };
        if !tasks.ended.contains(&key) {
            tasks.ended.push(key);
            self.shared.ready.notify_one();
        }
    }

    /// Something happened in a thread that its tasks may wait for.
    fn wake(&self, thread: &ThreadKey) {
        self.stir();
        let mut tasks = lock(&self.shared.tasks);
        let Tasks { by_thread, ready, .. } = &mut *tasks;
        for (task, work) in by_thread.get_mut(thread).into_iter().flatten() {
            match work.state {
                State::Waiting => {
                    work.state = State::Ready;
                    ready.push(Key { thread: thread.clone(), task: task.clone() });
                    self.shared.ready.notify_one();
                }
                State::Working(_) => work.state = State::Working(News::Some),
                State::Ready => {}
            }
        }
    }

    /// Whether a task still waits since its so-manieth turn.
    fn waits(&self, key: &Key, turns: u64) -> bool {
        let mut tasks = lock(&self.shared.tasks);
        tasks.get(key).is_some_and(|work| work.state == State::Waiting && work.turns == turns)
    }

    /// What is to be started now, and how many turns each has had with this one.
    fn take(&self) -> Vec<(Key, Member, u64)> {
        let mut tasks = lock(&self.shared.tasks);
        let ready = std::mem::take(&mut tasks.ready);
        let ready = ready.into_iter().filter_map(|key| {
            let work = tasks.get(&key)?;
            work.state = State::Working(News::None);
            work.turns += 1;
            let (member, turns) = (work.member.clone(), work.turns);
            Some((key, member, turns))
        });
        ready.collect()
    }

    /// A turn has stopped; what happened meanwhile starts it again.
    fn left(&self, key: &Key, state: State) {
        let mut tasks = lock(&self.shared.tasks);
        let Some(work) = tasks.get(key) else { return };
        if state == State::Waiting {
            work.failures = 0;
        }
        work.state = match work.state {
            State::Working(News::Some) => State::Ready,
            _ => state,
        };
        if work.state == State::Ready {
            tasks.ready.push(key.clone());
            self.shared.ready.notify_one();
        }
    }

    /// How long to wait before a turn that could not go on is taken up again.
    fn failed(&self, key: &Key) -> Duration {
        let mut tasks = lock(&self.shared.tasks);
        let Some(work) = tasks.get(key) else { return AGAIN };
        work.failures = work.failures.saturating_add(1);
        AGAIN.saturating_mul(1 << work.failures.min(10)).min(AGAIN_MAX)
    }
}

impl Team for Desk {
    fn rules(&self) -> &Rules {
        &self.shared.rules
    }

    fn model(&self, agent: &str) -> Option<&str> {
        match self.member(agent)? {
            Member::Here(agent) => agent.minds.first().map(|mind| mind.name()),
            // What thinks elsewhere is nobody else's.
            elsewhere => Some(elsewhere.id()),
        }
    }
}

impl Runner {
    /// A runner with so many turns at once. Nothing is done until it [runs](Self::run).
    pub fn new(desk: Desk, journal: Journal, turns: usize) -> Self {
        Self { desk, journal, slots: Arc::new(Semaphore::new(turns.max(1))) }
    }

    /// Works until it is dropped; then every turn stops where it is.
    pub async fn run(self) {
        let mut turns = JoinSet::new();
        let is_shared = self.journal.store().is_shared();
        let period = if is_shared { PERIOD_SHARED } else { PERIOD };
        let mut look = Instant::now();
        let mut stirs = self.journal.store().stirs();
        loop {
            tokio::select! {
                () = sleep_until(look) => {
                    self.look().await;
                    look = Instant::now() + period;
                }
                () = stirred(&mut stirs) => {
                    self.desk.stir();
                    look = look.min(Instant::now() + GATHER);
                }
                () = self.desk.shared.ready.notified() => {}
                Some(ended) = turns.join_next(), if !turns.is_empty() => {
                    if let Err(error) = ended {
                        tracing::error!(%error, "a turn was dropped");
                    }
                }
            }
            for (key, member, nth) in self.desk.take() {
                turns.spawn(self.clone().work(key, member, nth));
            }
            let ended = std::mem::take(&mut lock(&self.desk.shared.tasks).ended);
            for key in ended {
                turns.spawn(self.clone().take_up(key));
            }
        }
    }

    /// Looks into the store for tasks that nobody here works on, and for ends that nobody took up.
    async fn look(&self) {
        let found = |wanted: Wanted| self.desk.add(wanted.thread, wanted.task, &wanted.agent);
        self.pages(Store::unclaimed, found).await;
        self.pages(Store::unanswered, |ended| self.desk.over(ended.thread, ended.task)).await;
    }

    async fn pages(&self, list: List, found: impl Fn(Wanted)) {
        let mut after = None;
        loop {
            let store = self.journal.store().clone();
            let page =
                tokio::task::spawn_blocking(move || list(&store, PAGE, after.as_ref())).await;
            let page = match page {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => return tracing::warn!(%error, "tasks could not be looked up"),
                Err(error) => return tracing::error!(%error, "tasks could not be looked up"),
            };
            page.items.into_iter().for_each(&found);
            match page.next {
                Some(next) => after = Some(next),
                None => return,
            }
        }
    }

    /// One turn, wherever it is thought, unless another node is at it; how it was left, and the
    /// last event that it has seen.
    async fn turn(&self, key: &Key, member: Member) -> Result<(Left, u64), JournalError> {
        let (journal, thread, task) = (&self.journal, &key.thread, &key.task);
        if !journal.claim(thread, task).await? {
            return Err(JournalError::Elsewhere);
        }
        match member {
            Member::Here(agent) => {
                let mut turn = Turn::open(journal, thread, task, agent).await?;
                Ok((turn.run().await?, turn.seen()))
            }
            Member::Remote(agent) => {
                let mut turn = remote::Turn::open(journal, thread, task, agent).await?;
                Ok((turn.run().await?, turn.seen()))
            }
            // What is claimed is done by whoever claims it.
            Member::Worker(_) => Ok((Left::Waiting, 0)),
        }
    }

    /// Waits until another node writes something that a task may wait for; for ever where there is
    /// none, and until the next turn if that comes first.
    async fn heard(&self, key: &Key, seen: u64, nth: u64) {
        if !self.journal.store().is_shared() {
            return std::future::pending().await;
        }
        // A thread that is gone, or could not be read, is for the next turn to find out.
        let Ok(mut thread) = self.journal.thread_after(&key.thread, seen).await else { return };
        while self.desk.waits(key, nth) && thread.more().await.is_ok() {
            let Ok(entries) = thread.read().await else { return };
            if entries.iter().any(|entry| Desk::heeds(&entry.event)) {
                return;
            }
        }
    }

    /// Takes up the end of a task of the router. What cannot be done now is found again by a look.
    async fn take_up(self, key: Key) {
        match settle(&self.journal, &key.thread, &key.task, &self.desk).await {
            Ok(())
            | Err(JournalError::NoThread)
            | Err(JournalError::Append(AppendError::NotFound)) => {}
            Err(error) => {
                tracing::warn!(task = key.task, %error, "a routing could not go on");
                tokio::time::sleep(AGAIN_MAX / 8).await;
                self.desk.over(key.thread, key.task);
            }
        }
    }

    /// What a task waited for was heard of, unless it does not wait any more.
    fn woken(&self, key: &Key, nth: u64) {
        if self.desk.waits(key, nth) {
            self.desk.wake(&key.thread);
        }
    }

    /// Works on a task until it is over or waits.
    async fn work(self, key: Key, member: Member, nth: u64) {
        let Ok(slot) = self.slots.clone().acquire_owned().await else { return };
        // Boxed: it is large, and what is spawned is moved several times.
        let left = Box::pin(self.turn(&key, member)).await;
        match left {
            Ok((Left::Over, _))
            | Err(JournalError::NoThread)
            | Err(JournalError::Append(AppendError::NotFound)) => {
                lock(&self.desk.shared.tasks).remove(&key);
                self.journal.release(&key.thread, &key.task).await;
            }
            // Found again by a look, should that node die.
            Err(JournalError::Elsewhere) => lock(&self.desk.shared.tasks).remove(&key),
            Ok((Left::Waiting, seen)) => {
                self.desk.left(&key, State::Waiting);
                // Others may work meanwhile.
                drop(slot);
                if self.journal.store().is_shared() {
                    Box::pin(self.heard(&key, seen, nth)).await;
                    self.woken(&key, nth);
                }
            }
            Ok((Left::WaitingFor(wait), seen)) => {
                self.desk.left(&key, State::Waiting);
                drop(slot);
                tokio::select! {
                    () = tokio::time::sleep(wait) => self.desk.wake(&key.thread),
                    () = self.heard(&key, seen, nth) => self.woken(&key, nth),
                }
            }
            Err(error) => {
                let wait = self.desk.failed(&key);
                tracing::warn!(task = key.task, %error, "a turn could not go on");
                tokio::time::sleep(wait).await;
                self.desk.left(&key, State::Ready);
            }
        }
    }
}

/// Waits for word of other nodes, if there are any.
async fn stirred(stirs: &mut Option<watch::Receiver<u64>>) {
    if let Some(stirs) = stirs
        && stirs.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
