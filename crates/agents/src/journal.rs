//! The journal as agents use it: append, read on, wait for more.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use selvedge_protocol::journal::Event;
use selvedge_protocol::json::quote;
use selvedge_protocol::time;
use selvedge_store::{
    Append, AppendError, Appended, Draft, Edge, Entry, Guard, Instead, Key, ReadError, Store, Tail,
    Task, ThreadKey, ThreadRef,
};
use tokio::sync::watch;

use crate::credential::{Secret, Vault};

/// Bytes read at once.
const PAGE: usize = 1 << 20;
/// Bytes of an event, if it is a usual one.
const USUAL: usize = 320;

/// How events get into the journal; a server counts them on the way.
pub type Appender =
    Arc<dyn Fn(Append) -> BoxFuture<'static, Result<Appended, AppendError>> + Send + Sync>;

/// Why a turn could not go on. What it did so far is in the journal.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum JournalError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error("cannot read the thread: {0}")]
    Read(String),
    #[error("there is no such thread")]
    NoThread,
    #[error("another node works on the task")]
    Elsewhere,
}

impl From<ReadError> for JournalError {
    fn from(error: ReadError) -> Self {
        Self::Read(error.to_string())
    }
}

/// All threads.
#[derive(Clone)]
pub struct Journal {
    store: Store,
    append: Appender,
    vault: Vault,
}

impl Journal {
    /// The journal of a store, written through `append`.
    pub fn new(store: Store, append: Appender) -> Self {
        let vault = Vault::new(store.addresses(), Secret::Beside);
        Self { store, append, vault }
    }

    /// With what is kept beside it in another vault.
    #[must_use]
    pub fn with_vault(self, vault: Vault) -> Self {
        Self { vault, ..self }
    }

    /// The journal of a store alone.
    pub fn of(store: Store) -> Self {
        let own = store.clone();
        let append: Appender = Arc::new(move |append| {
            let store = own.clone();
            Box::pin(async move { store.append(append).await })
        });
        Self::new(store, append)
    }

    /// What is kept beside it and never in it.
    pub(crate) fn vault(&self) -> &Vault {
        &self.vault
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Opens a thread from its beginning.
    pub async fn thread(&self, key: &ThreadKey) -> Result<Thread, JournalError> {
        self.thread_after(key, 0).await
    }

    /// Opens a thread behind one of its events.
    pub async fn thread_after(&self, key: &ThreadKey, seen: u64) -> Result<Thread, JournalError> {
        let wanted = key.clone();
        let find = move |store: &Store| {
            let Some(thread) = store.thread(&wanted)? else { return Ok(None) };
            let tail = store.tail(&thread)?;
            Ok(Some((thread, tail)))
        };
        let found = match self.store.is_at_hand(key) {
            true => find(&self.store)?,
            false => self.blocking(find).await?,
        };
        let (reference, tail) = found.ok_or(JournalError::NoThread)?;
        let heads = tail.watch();
        let (journal, key) = (self.clone(), key.clone());
        Ok(Thread { journal, key, reference, tail, heads, seen })
    }

    /// Claims a task, so that no other node works on it; whether this one may.
    pub(crate) async fn claim(&self, key: &ThreadKey, task: &str) -> Result<bool, JournalError> {
        if !self.store.is_shared() {
            return Ok(true);
        }
        let (key, task) = (key.clone(), task.to_owned());
        let claim = move |store: &Store| match store.thread(&key)? {
            Some(thread) => store.claim(thread.num, &task).map(Some),
            None => Ok(None),
        };
        self.blocking(claim).await?.ok_or(JournalError::NoThread)
    }

    /// Gives a task back: it is over.
    pub(crate) async fn release(&self, key: &ThreadKey, task: &str) {
        if !self.store.is_shared() {
            return;
        }
        let (key, task) = (key.clone(), task.to_owned());
        let release = move |store: &Store| match store.thread(&key)? {
            Some(thread) => store.release(thread.num, &task),
            None => Ok(()),
        };
        // What is left goes with the thread.
        let _ = self.blocking(release).await;
    }

    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Store) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let store = self.store.clone();
        match tokio::task::spawn_blocking(move || run(&store)).await {
            Ok(result) => Ok(result?),
            Err(error) => Err(JournalError::Read(error.to_string())),
        }
    }
}

/// One thread, and how far it was read.
pub struct Thread {
    journal: Journal,
    key: ThreadKey,
    reference: ThreadRef,
    tail: Arc<Tail>,
    heads: watch::Receiver<Edge>,
    seen: u64,
}

impl Thread {
    /// The journal it is part of.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Its number in the store.
    pub(crate) fn number(&self) -> i64 {
        self.reference.num
    }

    /// Writes to it, also while it is read.
    pub fn writer(&self, task: &str, agent: &str) -> Writer {
        let (append, key) = (self.journal.append.clone(), self.key.clone());
        let task_id = task.to_owned();
        Writer { append, key, task_id, task: quote(task), agent: quote(agent) }
    }

    /// Appends events of no task, the first time that it is asked for under a key.
    pub(crate) async fn append_once(
        &self,
        key: &str,
        events: &[Event<'static>],
    ) -> Result<(), JournalError> {
        let (context, now) = (quote(&self.key.id), quote(&now()));
        let stamp = [("contextId", context.as_str()), ("timestamp", now.as_str())];
        let append = Append::new(self.key.clone(), drafts(events, &stamp));
        // Whatever is under the key is what was asked for.
        let key = Key { text: key.to_owned(), digest: [0; 32] };
        (self.journal.append)(append.keyed(key)).await?;
        Ok(())
    }

    /// The last event that was read.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Tasks that someone here is to do and that are not over, in the order they began.
    pub async fn wanted(&self) -> Result<Vec<Task>, JournalError> {
        let fresh = self.journal.store.fresh(&self.reference).await;
        fresh.map_err(|error| JournalError::Read(error.to_string()))?;
        let of = self.reference.clone();
        self.journal.blocking(move |store| store.wanted_in(&of)).await
    }

    /// What was committed since the last time; nothing at the end.
    pub async fn read(&mut self) -> Result<Vec<Entry>, JournalError> {
        let entries = match self.tail.entries(self.seen, PAGE) {
            Some(entries) => entries,
            None => {
                let (of, after) = (self.reference.clone(), self.seen);
                let read = move |store: &Store| store.read(&of, after, usize::MAX, PAGE);
                self.journal.blocking(read).await?.entries
            }
        };
        if let Some(last) = entries.last() {
            self.seen = last.seq;
        }
        Ok(entries)
    }

    /// Waits until there is more than was read.
    pub async fn more(&mut self) -> Result<(), JournalError> {
        let seen = self.seen;
        let edge = self.heads.wait_for(|edge| edge.head > seen || edge.end.is_some()).await;
        // Under its name may be another thread now, so whoever goes on must look for it anew.
        match edge {
            Ok(edge) if edge.end.is_none() => Ok(()),
            _ => Err(JournalError::NoThread),
        }
    }
}

/// Writes events of one task of one agent.
#[derive(Clone)]
pub struct Writer {
    append: Appender,
    key: ThreadKey,
    task_id: String,
    /// The ids, as JSON.
    task: String,
    agent: String,
}

impl Writer {
    /// Appends events of the task.
    pub async fn append(&self, events: Vec<Event<'static>>) -> Result<Appended, JournalError> {
        self.put(Append::new(self.key.clone(), self.drafts(&events))).await
    }

    /// Appends, as long as this node is the one that works on the task.
    async fn put(&self, append: Append) -> Result<Appended, JournalError> {
        match (self.append)(append.claimed(&self.task_id)).await {
            Err(AppendError::Instead(Instead::Elsewhere)) => Err(JournalError::Elsewhere),
            other => Ok(other?),
        }
    }

    /// Appends events of the task, if something is so.
    pub async fn append_if(
        &self,
        guard: Guard,
        events: Vec<Event<'static>>,
    ) -> Result<Appended, JournalError> {
        let append = Append::new(self.key.clone(), self.drafts(&events)).guarded(guard);
        self.put(append).await
    }

    /// Appends events of the task, unless it is over. Then how it ended is in the journal.
    pub async fn append_unless_over(
        &self,
        events: Vec<Event<'static>>,
    ) -> Result<(), JournalError> {
        let guard = Guard::Running { task: self.task_id.clone() };
        match self.append_if(guard, events).await {
            Err(JournalError::Append(AppendError::Instead(_))) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Appends pieces of an answer, unless the task is over: then they are late, and nobody's.
    pub async fn append_pieces(&self, events: Vec<Event<'static>>) -> Result<(), JournalError> {
        let append = Append::new(self.key.clone(), self.drafts(&events)).spoken_by(&self.task_id);
        match self.put(append).await {
            Err(JournalError::Append(AppendError::Instead(_))) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Appends events of the task, if nothing was committed after an event.
    pub async fn append_after(
        &self,
        head: u64,
        events: Vec<Event<'static>>,
    ) -> Result<Appended, JournalError> {
        let append = Append::new(self.key.clone(), self.drafts(&events)).expecting(head);
        self.put(append).await
    }

    /// The thread's id.
    pub fn thread(&self) -> &ThreadKey {
        &self.key
    }

    /// With what every event has.
    fn drafts(&self, events: &[Event<'static>]) -> Vec<Draft> {
        let context = quote(&self.key.id);
        let now = quote(&now());
        let stamp = [
            ("contextId", context.as_str()),
            ("taskId", self.task.as_str()),
            ("agentId", self.agent.as_str()),
            ("timestamp", now.as_str()),
        ];
        drafts(events, &stamp)
    }
}

/// Events to be appended, with what every one has.
fn drafts(events: &[Event<'static>], stamp: &[(&str, &str)]) -> Vec<Draft> {
    let draft = |event: &Event<'static>| {
        let mut out = String::with_capacity(USUAL);
        event.write_with(stamp, &mut out);
        Draft::new(out)
    };
    events.iter().map(draft).collect()
}

/// The time, as events have it.
pub fn now() -> String {
    after(Duration::ZERO)
}

/// The time so long from now, as events have it.
pub fn after(wait: Duration) -> String {
    let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
    time::from_millis(millis().saturating_add(wait)).unwrap_or_default()
}

/// The time, in milliseconds since 1970.
pub fn millis() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
