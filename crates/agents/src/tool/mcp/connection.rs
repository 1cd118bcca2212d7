//! The one connection to a server: made when it is needed, made again after it broke.

use std::time::Duration;

use rmcp::service::{Peer, RoleClient};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::start::{Live, start};
use super::{Options, ToolError};

/// The first wait after a server that did not start, or broke at once; it doubles.
const AGAIN: Duration = Duration::from_millis(200);
const AGAIN_MAX: Duration = Duration::from_secs(30);
/// A server that ran so long was not broken when it was started.
const SETTLED: Duration = Duration::from_secs(10);

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
    /// Counts how often the list of tools became old.
    pub(super) age: super::list::Age,
}

#[derive(Default)]
struct Link {
    live: Option<Live>,
    /// Starts in a row that came to nothing.
    failures: u32,
    /// When it may be started again.
    not_before: Option<Instant>,
}

impl Connection {
    pub(super) fn new(options: Options) -> Self {
        Self { options, link: Mutex::default(), age: super::list::Age::default() }
    }

    /// Whom to speak to, and the calls that are open with it.
    pub(super) async fn open(&self, patient: Patient) -> Result<Open, ToolError> {
        let mut link = self.link.lock().await;
        if let Some(live) = &link.live {
            if !live.is_broken() {
                return Ok(live.open());
            }
            let lived = live.began.elapsed();
            tracing::warn!(server = self.options.name, ?lived, "the MCP server stopped");
            link.live = None;
            // Another one may have other tools.
            self.age.grow();
            if lived < SETTLED {
                link.failed();
            }
        }
        if let Some(at) = link.not_before.filter(|at| *at > Instant::now()) {
            if patient == Patient::No {
                return Err(self.error("stopped, and will be started again in a moment"));
            }
            tokio::time::sleep_until(at).await;
        }
        let started = tokio::time::timeout(self.options.start, start(self)).await;
        let live = match started {
            Ok(Ok(live)) => live,
            Ok(Err(error)) => {
                link.failed();
                return Err(self.error(&format!("could not be started: {error}")));
            }
            Err(_) => {
                link.failed();
                return Err(self.error("did not start in time"));
            }
        };
        if link.failures == 0 {
            link.not_before = None;
        }
        Ok(link.live.insert(live).open())
    }

    /// Words for a model.
    pub(super) fn error(&self, what: &str) -> ToolError {
        ToolError(format!("the server `{}` {what}", self.options.name))
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
