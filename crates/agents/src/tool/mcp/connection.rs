//! The one connection to a server: made when it is needed, made again after it broke.
//!
//! Where users give credentials, each has a connection of their own: a server may remember whom it
//! spoke to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::service::{Peer, RoleClient};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::list::Age;
use super::start::{Live, start};
use super::{Options, ToolError, Transport};
use crate::credential::{Credential, Sent};

/// The first wait after a server that did not start, or broke at once; it doubles.
const AGAIN: Duration = Duration::from_millis(200);
const AGAIN_MAX: Duration = Duration::from_secs(30);
/// A server that ran so long was not broken when it was started.
const SETTLED: Duration = Duration::from_secs(10);

/// A server that was not used for so long is asked whether it is there.
const IDLE: Duration = Duration::from_secs(60);

/// Connections of users that are kept.
const OWN: usize = 64;

/// Whether to wait until a server that broke may be started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patient {
    Yes,
    No,
}

pub(super) struct Connection {
    pub(super) options: Options,
    /// Held while it is started, so that it is started once.
    link: Mutex<Link>,
    /// Something was not answered: it may be there no more, and not tell.
    doubt: AtomicBool,
    /// Counts how often the list of tools became old.
    pub(super) age: Age,
    /// The server did not accept the credentials of this connection.
    refused: AtomicBool,
    /// Those of users, by their credentials' ids, and when they were last used.
    own: std::sync::Mutex<HashMap<String, (Instant, Arc<Connection>)>>,
}

#[derive(Default)]
struct Link {
    live: Option<Live>,
    /// Starts in a row that came to nothing.
    failures: u32,
    /// When it was last used.
    used: Option<Instant>,
    /// When it may be started again.
    not_before: Option<Instant>,
}

impl Connection {
    pub(super) fn new(options: Options) -> Self {
        Self {
            options,
            link: Mutex::default(),
            doubt: AtomicBool::new(false),
            age: Age::default(),
            refused: AtomicBool::new(false),
            own: std::sync::Mutex::default(),
        }
    }

    /// The connection of a user.
    pub(super) fn with(&self, credential: &Credential) -> Result<Arc<Self>, ToolError> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((used, known)) = own.get_mut(&credential.id) {
            *used = Instant::now();
            return Ok(known.clone());
        }
        let mut options = self.options.clone();
        let Transport::Http { url, headers } = &mut options.transport else {
            return Err(self.error("takes no credentials"));
        };
        match &credential.sent {
            Sent::Header(name, value) => {
                headers.retain(|(known, _)| known != name);
                headers.push((name.clone(), value.clone()));
            }
            Sent::Query(name, value) => {
                let mut with = reqwest::Url::parse(url).map_err(|_| self.error("is nowhere"))?;
                with.query_pairs_mut().append_pair(name, value);
                *url = with.to_string();
            }
        }
        let made = Arc::new(Self::new(options));
        if own.len() >= OWN {
            let oldest = own.iter().min_by_key(|(_, (used, _))| *used).map(|(id, _)| id.clone());
            oldest.map(|id| own.remove(&id));
        }
        own.insert(credential.id.clone(), (Instant::now(), made.clone()));
        Ok(made)
    }

    /// Gives up the connection of a user.
    pub(super) fn without(&self, credential: &Credential) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).remove(&credential.id);
    }

    /// Notes whether an error means that credentials are not accepted.
    pub(super) fn judge(&self, error: &(dyn std::error::Error + 'static)) {
        let refused = match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(
                StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_),
            ) => true,
            // Without a challenge in the answer.
            Some(StreamableHttpError::UnexpectedServerResponse(said)) => {
                said.starts_with("HTTP 401") || said.starts_with("HTTP 403")
            }
            _ => false,
        };
        if refused {
            self.refused.store(true, Ordering::Release);
        }
    }

    /// Whether the server did not accept the credentials.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
    }

    /// Whom to speak to, and the calls that are open with it.
    pub(super) async fn open(&self, patient: Patient) -> Result<Open, ToolError> {
        loop {
            let mut link = self.link.lock().await;
            if let Some(live) = &link.live {
                let doubt = self.doubt.swap(false, Ordering::AcqRel) || link.is_idle();
                if !live.is_broken() && (!doubt || live.answers().await) {
                    let open = live.open();
                    link.used = Some(Instant::now());
                    return Ok(open);
                }
                self.broke(&mut link);
            }
            match link.not_before.filter(|at| *at > Instant::now()) {
                None => return self.start(&mut link).await,
                Some(_) if patient == Patient::No => {
                    return Err(self.error("stopped, and will be started again in a moment"));
                }
                Some(at) => {
                    // Those who are not patient have to hear that.
                    drop(link);
                    tokio::time::sleep_until(at).await;
                }
            }
        }
    }

    async fn start(&self, link: &mut Link) -> Result<Open, ToolError> {
        let started = tokio::time::timeout(self.options.start, start(self)).await;
        let why = match started {
            Ok(Ok(live)) => {
                link.used = Some(Instant::now());
                return Ok(link.live.insert(live).open());
            }
            Ok(Err(error)) => {
                if let Some(error) = error.transport() {
                    self.judge(error);
                }
                format!("could not be started: {error}")
            }
            Err(_) => "did not start in time".to_owned(),
        };
        link.failed();
        Err(self.error(&why))
    }

    fn broke(&self, link: &mut Link) {
        let Some(live) = link.live.take() else { return };
        let lived = live.began.elapsed();
        tracing::warn!(server = self.options.name, ?lived, "the MCP server stopped");
        // Another one may have other tools.
        self.age.grow();
        if lived < SETTLED {
            link.failed();
        }
    }

    /// Words for a model.
    pub(super) fn error(&self, what: &str) -> ToolError {
        ToolError(format!("the server `{}` {what}", self.options.name))
    }

    /// Something was not answered. Before the next use it is asked whether it is there.
    pub(super) fn doubt(&self) {
        self.doubt.store(true, Ordering::Release);
    }

    /// It answered: what went wrong before does not matter any more.
    pub(super) async fn works(&self) {
        let mut link = self.link.lock().await;
        (link.failures, link.not_before) = (0, None);
    }

    pub(super) async fn protocol(&self) -> Option<String> {
        let link = self.link.lock().await;
        let info = link.live.as_ref()?.open().peer.peer_info()?;
        Some(info.protocol_version.to_string())
    }

    pub(super) async fn process(&self) -> Option<u32> {
        self.link.lock().await.live.as_ref().filter(|live| !live.is_broken())?.process
    }
}

impl Link {
    /// Whether it was not used for so long that it may be gone.
    fn is_idle(&self) -> bool {
        self.used.is_some_and(|used| used.elapsed() > IDLE)
    }

    fn failed(&mut self) {
        let wait = AGAIN.saturating_mul(1 << self.failures.min(10)).min(AGAIN_MAX);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + wait);
    }
}

/// A connection that stood a moment ago.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) peer: Peer<RoleClient>,
    pub(super) calls: super::calls::Calls,
}
