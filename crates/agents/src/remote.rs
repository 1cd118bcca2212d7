//! Agents elsewhere: they are told what was said, and what they answer is written down.
//!
//! Invariant: what an agent elsewhere says chooses no host, no author, no thread and no task but
//! those below its own. Its words are decoded by the dialects; only [`hear`] lets them in.

mod a2a;
mod agent_api;
mod aitp;
mod hear;
mod progress;
mod say;
mod talk;
mod turn;
mod wire;

pub use turn::Turn;

use std::sync::Mutex;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use selvedge_protocol::perspective::Policy;

use self::talk::{Ask, Ids, Out, Outcome};
use self::wire::Wire;
use crate::agent::Limits;
use crate::model::{Failure, Key};
pub use crate::tool::http::Reach;

/// How long an agent elsewhere may be silent, if nothing is said.
const SILENCE: Duration = Duration::from_secs(300);

/// What an agent elsewhere speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A2A, 1.0 or 0.3.
    A2a,
    /// AgentScope's Agent API.
    AgentApi,
    /// AITP threads, which are OpenAI's.
    Aitp,
}

/// How an agent elsewhere is reached.
pub struct Options {
    /// Names it in threads.
    pub id: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// Where it is: an agent or its card for A2A, `…/process` for the Agent API, the API's base
    /// (`…/v1`) for AITP.
    pub url: Url,
    /// Sent with every request. The values are never logged, nor in the journal.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The key it wants, as a bearer's.
    pub key: Option<Key>,
    /// Which addresses it may have.
    pub reach: Reach,
    /// How long it may be silent.
    pub silence: Duration,
    /// For AITP: which assistant is to run.
    pub assistant: Option<String>,
    /// How it sees the others.
    pub policy: Policy,
    /// Rounds of one turn, times that the same is tried, and the waits between them.
    pub limits: Limits,
}

impl Options {
    /// An agent with sensible defaults.
    pub fn new(id: impl Into<String>, protocol: Protocol, url: Url) -> Self {
        Self {
            id: id.into(),
            protocol,
            url,
            headers: Vec::new(),
            key: None,
            reach: Reach::default(),
            silence: SILENCE,
            assistant: None,
            policy: Policy::default(),
            limits: Limits::default(),
        }
    }
}

/// An agent elsewhere.
pub struct Remote {
    id: String,
    protocol: Protocol,
    url: Url,
    assistant: Option<String>,
    policy: Policy,
    limits: Limits,
    wire: Wire,
    /// What its card said, until something goes wrong.
    endpoint: Mutex<Option<a2a::Endpoint>>,
}

impl Remote {
    /// An agent elsewhere. Nothing is asked yet.
    pub fn new(options: Options) -> Result<Self, Failure> {
        let Options { id, protocol, url, headers, key, reach, silence, assistant, .. } = options;
        let bearer = key.as_ref().and_then(|key| Some((AUTHORIZATION, key.header("Bearer ")?)));
        Ok(Self {
            id,
            protocol,
            url,
            assistant,
            policy: options.policy,
            limits: options.limits,
            wire: Wire::new(bearer.into_iter().chain(headers), key, reach, silence)?,
            endpoint: Mutex::default(),
        })
    }

    /// Names it in threads.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it speaks.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Says something, and passes on what comes back until the agent has done what it was asked.
    async fn talk(&self, ask: &Ask, out: &Out) -> Result<Outcome, Failure> {
        let ended = match self.protocol {
            Protocol::A2a => a2a::talk(self, ask, out).await,
            Protocol::AgentApi => agent_api::talk(self, ask, out).await,
            Protocol::Aitp => aitp::talk(self, ask, out).await,
        };
        let struck = |message: String| self.wire.without_secrets(&message);
        match ended {
            Ok(Outcome::Failed { code, message }) => {
                Ok(Outcome::Failed { code, message: struck(message) })
            }
            Err(failure) => Err(Failure { message: struck(failure.message), ..failure }),
            other => other,
        }
    }

    /// Asks it to stop.
    async fn cancel(&self, known: &Ids) -> Result<(), Failure> {
        match self.protocol {
            Protocol::A2a => a2a::cancel(self, known).await,
            // It stops when nobody listens.
            Protocol::AgentApi => Ok(()),
            Protocol::Aitp => aitp::cancel(self, known).await,
        }
    }

    /// Whether it can be asked what became of something.
    fn remembers(&self) -> bool {
        matches!(self.protocol, Protocol::A2a | Protocol::Aitp)
    }
}
