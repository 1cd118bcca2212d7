//! What all handlers share.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use selvedge_agents::Desk;
use selvedge_agents::credential::{Secret, Vault};
use selvedge_store::{
    Append, AppendError, Appended, KeyError, Keys, Pushes, Shares, Store, ThreadKey, ThreadRef,
};
use tokio::sync::{Notify, watch};

use crate::Error;
use crate::auth::rate::Rate;
use crate::auth::ring::Gate;
use crate::auth::token::{TokenError, TokenOptions, Tokens};
use crate::clock::now;
use crate::coalesce::Coalesce;
use crate::metrics::Metrics;
#[cfg(feature = "otel")]
use crate::otel::{TraceError, TraceOptions, Tracer};
use crate::surface::native::work::Lines;
use crate::tls::{Tls, TlsError, TlsFiles};
use crate::view::{Readers, Views};

/// How long a failed commit counts against the server's health. Then it is worth another try.
const SICK: i64 = 10_000;

/// How to serve.
#[derive(Debug, Clone)]
pub struct Options {
    /// The largest body taken, in bytes.
    pub body_bytes: usize,
    /// How long the head of a request may take to arrive, and a connection may be idle.
    pub head_timeout: Duration,
    /// How long a request may take until its answer begins.
    pub request_timeout: Duration,
    /// Connections that may be open at once.
    pub connections: usize,
    /// Requests a second for each key and each token's subject; where there are no keys, there is
    /// no bound.
    pub rate: Option<u32>,
    /// Requests a second from each address that bring no valid key and are told so.
    pub strangers: u32,
    /// How long what is open may hold up the end.
    pub grace: Duration,
    /// How far the readers of streams may fall behind.
    pub lag: Lag,
    /// How long a peer may take nothing of what is sent to it.
    pub stall: Duration,
    /// Sites whose pages may ask, as `https://app.example`; `*` is all.
    pub cors: Vec<String>,
    /// Whether pieces of text are joined before they are written.
    pub coalesce: Coalesce,
    /// How old finished pieces of text must be to be folded into what they came to; never, if not
    /// said.
    pub retain_deltas: Option<Duration>,
    /// Whose tokens are taken, besides keys.
    pub tokens: Option<TokenOptions>,
    /// With what to encrypt.
    pub tls: Option<TlsFiles>,
    /// Where the secret is that seals what users hand over.
    pub secret: Secret,
    /// Which versions of A2A are spoken.
    pub a2a: A2aVersions,
    /// The agents that work here.
    pub agents: Option<Desk>,
    /// The agent that answers whoever names none.
    pub agent: Option<String>,
    /// A conversation that anyone can begin who wants to see one.
    pub demo: Option<Demo>,
    /// Where spans go.
    #[cfg(feature = "otel")]
    pub traces: Option<TraceOptions>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            head_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(60),
            connections: 16_384,
            rate: Some(10_000),
            strangers: 50,
            grace: Duration::from_secs(10),
            lag: Lag::default(),
            stall: Duration::from_secs(30),
            cors: Vec::new(),
            coalesce: Coalesce::Never,
            retain_deltas: None,
            tokens: None,
            tls: None,
            secret: Secret::default(),
            a2a: A2aVersions::default(),
            agents: None,
            agent: None,
            demo: None,
            #[cfg(feature = "otel")]
            traces: None,
        }
    }
}

/// A conversation to look at: who takes part, and what is said first.
#[derive(Debug, Clone, Copy)]
pub struct Demo {
    /// Makes its agents, where none work here.
    pub agents: fn() -> Result<Desk, String>,
    /// The one who answers.
    pub agent: &'static str,
    /// The thread it is in.
    pub thread: &'static str,
    /// What that is called.
    pub title: &'static str,
    /// What the visitor is taken to have said.
    pub prompt: &'static str,
}

/// Which versions of A2A are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum A2aVersions {
    /// 1.0 and 0.3, with a card for readers of both.
    #[default]
    All,
    /// 1.0, with a card that has nothing that 1.0 does not know.
    Newest,
}

/// How far a reader may be behind what comes while it reads, before it is told to come again.
/// What was there when it came it may read at its own pace.
#[derive(Debug, Clone, Copy)]
pub struct Lag {
    /// In entries.
    pub entries: u64,
    /// Reading from the journal all the while, because what is kept in memory has passed it.
    pub time: Duration,
}

impl Default for Lag {
    fn default() -> Self {
        Self { entries: 100_000, time: Duration::from_secs(300) }
    }
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum StartError {
    Keys(#[from] KeyError),
    Tokens(#[from] TokenError),
    Tls(#[from] TlsError),
    #[cfg(feature = "otel")]
    Traces(#[from] TraceError),
}

/// The application: a store and its views. Clones share it.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    views: Views,
    readers: Arc<Readers>,
    vault: Vault,
    options: Options,
    closing: watch::Sender<Closing>,
    gate: Gate,
    rate: Option<Rate>,
    strangers: Rate,
    tls: Option<Tls>,
    metrics: Arc<Metrics>,
    lines: Lines,
    pushes: Pushes,
    push_news: Notify,
    /// The agents of the demonstration, once it began where no others work.
    hired: OnceLock<Desk>,
    hiring: Notify,
    #[cfg(feature = "otel")]
    tracer: Option<Tracer>,
    /// When a commit failed last; 0 if the last one did not.
    failed: AtomicI64,
}

/// Whether streams are to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    NotYet,
    Now,
}

impl App {
    /// An application on a store. Blocks for the disk.
    pub fn new(store: Store, options: Options) -> Result<Self, StartError> {
        let tokens = options.tokens.clone().map(Tokens::open).transpose()?;
        let inner = Inner {
            views: Views::default(),
            readers: Arc::default(),
            vault: Vault::new(store.addresses(), options.secret.clone()),
            closing: watch::Sender::new(Closing::NotYet),
            gate: Gate::open(
                Keys::open(store.address())?,
                Shares::open(store.addresses())?,
                tokens,
            )?,
            rate: options.rate.map(Rate::new),
            strangers: Rate::new(options.strangers),
            tls: options.tls.clone().map(Tls::open).transpose()?,
            metrics: Arc::default(),
            lines: Lines::default(),
            pushes: Pushes::open(store.addresses())?,
            push_news: Notify::new(),
            hired: OnceLock::new(),
            hiring: Notify::new(),
            #[cfg(feature = "otel")]
            tracer: options.traces.as_ref().map(Tracer::open).transpose()?,
            failed: AtomicI64::new(0),
            store,
            options,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Fetches what is elsewhere before it serves.
    pub async fn prepare(&self) -> Result<(), StartError> {
        Ok(self.inner.gate.fetch().await?)
    }

    /// Whether there are no keys: everyone who can reach the server may do everything.
    pub fn is_open(&self) -> bool {
        self.inner.gate.ring().is_open()
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.inner.gate
    }

    pub(crate) fn rate(&self) -> Option<&Rate> {
        self.inner.rate.as_ref()
    }

    /// For those who have no key.
    pub(crate) fn strangers(&self) -> &Rate {
        &self.inner.strangers
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.inner.tls.as_ref()
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.inner.metrics
    }

    /// Where those stand who wait for work.
    pub(crate) fn lines(&self) -> &Lines {
        &self.inner.lines
    }

    /// Who is told of which tasks.
    pub(crate) fn pushes(&self) -> &Pushes {
        &self.inner.pushes
    }

    /// Tells that there is someone to be told.
    pub(crate) fn push_news(&self) -> &Notify {
        &self.inner.push_news
    }

    /// Appends what happens now.
    pub(crate) async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        #[cfg(feature = "otel")]
        let pending = self.inner.tracer.as_ref().map(|tracer| (tracer, tracer.pending(&append)));
        let told = self.desk().map(|desk| {
            let events = append.events.iter().map(|draft| &draft.event);
            let events: Vec<_> = events.filter(|event| Desk::heeds(event)).cloned().collect();
            (desk, append.thread.clone(), events)
        });
        let appended = self.append_past(append).await?;
        // What came again is in the journal as it was said first, maybe under other ids.
        if let Some((desk, thread, events)) = told
            && !appended.duplicate
        {
            desk.committed(&thread, &events);
        }
        #[cfg(feature = "otel")]
        if let Some((tracer, pending)) = pending {
            tracer.committed(pending, &appended);
        }
        Ok(appended)
    }

    /// What there is to do for traces.
    #[cfg(feature = "otel")]
    pub(crate) fn tracing(&self) -> Option<crate::otel::Work> {
        self.inner.tracer.as_ref().and_then(Tracer::work)
    }

    /// Appends what happened elsewhere, before. Counted and timed.
    pub(crate) async fn append_past(&self, append: Append) -> Result<Appended, AppendError> {
        let began = Instant::now();
        let waiting = Waiting::new(&self.inner.metrics);
        let result = self.inner.store.append(append).await;
        drop(waiting);
        match &result {
            Ok(appended) => {
                self.inner.metrics.committed(began.elapsed(), appended);
                self.inner.failed.store(0, Ordering::Relaxed);
            }
            Err(AppendError::Storage(_) | AppendError::Closed) => {
                self.inner.failed.store(now(), Ordering::Relaxed);
            }
            Err(_) => {}
        }
        result
    }

    /// Appends to a thread that must be there.
    pub(crate) async fn append_to(&self, id: &str, append: Append) -> Result<Appended, Error> {
        self.append(append).await.map_err(|error| match error {
            AppendError::NotFound => Error::no_thread(id),
            other => other.into(),
        })
    }

    /// Whether appends are likely to be taken.
    pub(crate) fn is_ready(&self) -> bool {
        let failed = self.inner.failed.load(Ordering::Relaxed);
        !self.is_closing() && (failed == 0 || now() - failed > SICK)
    }

    /// Ends all open streams; each is told where it stands, to resume elsewhere or later.
    pub fn close_streams(&self) {
        self.inner.closing.send_replace(Closing::Now);
        self.inner.views.ring();
    }

    /// Whether it ends.
    pub(crate) fn is_closing(&self) -> bool {
        *self.inner.closing.borrow() == Closing::Now
    }

    pub(crate) fn closing(&self) -> watch::Receiver<Closing> {
        self.inner.closing.subscribe()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// What users handed over.
    pub(crate) fn vault(&self) -> &Vault {
        &self.inner.vault
    }

    pub(crate) fn views(&self) -> &Views {
        &self.inner.views
    }

    /// Who reads what.
    pub(crate) fn readers(&self) -> &Arc<Readers> {
        &self.inner.readers
    }

    /// The agent that answers whoever names none: the one that was chosen, or the only one.
    pub(crate) fn agent(&self) -> Option<&str> {
        let desk = self.desk()?;
        let shown = self.inner.options.demo.as_ref().filter(|_| self.inner.hired.get().is_some());
        if let Some(chosen) = self.inner.options.agent.as_deref().or(shown.map(|demo| demo.agent)) {
            return desk.member(chosen).map(|member| member.id());
        }
        let mut all = desk.members();
        let only = all.next()?;
        all.next().is_none().then(|| only.id())
    }

    /// The agents that work here.
    pub fn desk(&self) -> Option<&Desk> {
        self.inner.options.agents.as_ref().or_else(|| self.inner.hired.get())
    }

    /// Gives the server agents, if it has none.
    pub(crate) fn hire(&self, desk: Desk) {
        if self.desk().is_none() {
            // Of two at once, one is enough.
            let _ = self.inner.hired.set(desk);
            self.inner.hiring.notify_waiters();
        }
    }

    /// The agents that work here, as soon as there are any.
    pub(crate) async fn staffed(&self) -> Desk {
        loop {
            let hiring = self.inner.hiring.notified();
            if let Some(desk) = self.desk() {
                return desk.clone();
            }
            hiring.await;
        }
    }

    /// How it serves.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Runs something that waits for the disk.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let store = self.inner.store.clone();
        match tokio::task::spawn_blocking(move || run(&store)).await {
            Ok(result) => result,
            Err(error) => Err(Error::new(crate::ErrorCode::Internal, error.to_string())),
        }
    }

    /// Runs something that reads what a thread has after an entry: at once if that is in memory.
    pub(crate) async fn reading<T: Send + 'static>(
        &self,
        thread: &ThreadRef,
        after: u64,
        run: impl FnOnce(&Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        match self.inner.store.has_at_hand(thread, after) {
            true => run(&self.inner.store),
            false => self.blocking(run).await,
        }
    }

    /// The thread of that name, if it is there.
    pub(crate) async fn find_thread(&self, key: &ThreadKey) -> Result<Option<ThreadRef>, Error> {
        let wanted = key.clone();
        let find = move |store: &Store| Ok(store.thread(&wanted)?);
        match self.inner.store.is_at_hand(key) {
            true => find(&self.inner.store),
            false => self.blocking(find).await,
        }
    }

    /// The thread, which must be there.
    pub(crate) async fn thread(&self, key: &ThreadKey) -> Result<ThreadRef, Error> {
        self.find_thread(key).await?.ok_or_else(|| Error::no_thread(&key.id))
    }

    /// The thread, which must be there, with all that is known of it up to date.
    pub(crate) async fn fresh(&self, key: &ThreadKey) -> Result<ThreadRef, Error> {
        let thread = self.thread(key).await?;
        self.inner.store.fresh(&thread).await?;
        Ok(thread)
    }
}

/// Counts an append as waiting, also when whoever asked does not wait for the end.
struct Waiting<'a>(&'a Metrics);

impl<'a> Waiting<'a> {
    fn new(metrics: &'a Metrics) -> Self {
        metrics.waiting.add(1);
        Self(metrics)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.sub(1);
    }
}
