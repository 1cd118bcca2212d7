//! A configuration that was checked: plain data, with every file read and every key found.
//!
//! Invariant: every name in it is known, and secrets are [`Secret`]s.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use selvedge_protocol::perspective::Policy;
use serde_json::Value;

use super::file::{Bounds, Budget, Method, Price, Provider, Thinking, WhileWaiting};
use super::secret::Secret;
use crate::agent::{Coordination, Limits, Trace};
use crate::credential::Need;
use crate::model::ToolSpec;
use crate::router::Rules;
use crate::script::Script;
use crate::tool::{Consent, Interrupted, Manner};

/// A configuration without mistakes.
#[derive(Debug)]
pub struct Config {
    /// Models, in order of their names.
    pub models: Vec<Model>,
    /// MCP servers, in order of their names.
    pub servers: Vec<Server>,
    /// Tools, in order of their names.
    pub tools: Vec<Tool>,
    /// Agents, in the order of the file.
    pub agents: Vec<Agent>,
    /// Where envelopes go.
    pub router: Rules,
    /// What may be spent before someone is asked.
    pub budget: Budget,
}

impl Config {
    /// The name of whoever thinks first for an agent.
    pub fn mind(&self, agent: &str) -> Option<&str> {
        let agent = self.agents.iter().find(|own| own.id == agent)?;
        match &agent.kind {
            Kind::Model { models, .. } => {
                let first = models.first()?;
                self.models.iter().find(|m| m.name == *first).map(|m| m.model.as_str())
            }
            Kind::Script { script, .. } => Some(&script.name),
            Kind::Worker { .. } | Kind::Remote { .. } => Some(&agent.id),
        }
    }
}

/// A model of a provider.
#[derive(Debug, Clone)]
pub struct Model {
    /// What agents call it.
    pub name: String,
    /// Who offers it.
    pub provider: Provider,
    /// What the provider calls it.
    pub model: String,
    /// Where the provider is, if not where it usually is.
    pub base_url: Option<Url>,
    /// The key, where one is needed.
    pub key: Option<Secret>,
    /// What a million tokens cost.
    pub price: Option<Price>,
    /// Tokens that a conversation may have.
    pub context_tokens: Option<u64>,
    /// How much to think.
    pub thinking: Option<Thinking>,
    /// How freely to answer.
    pub temperature: Option<f64>,
    /// Tokens of an answer, at most.
    pub max_tokens: Option<u32>,
    /// How long to wait for the first byte.
    pub first_byte: Option<Duration>,
    /// How long to wait for the next bytes.
    pub idle: Option<Duration>,
    /// Members of the request that only this provider knows.
    pub extra: serde_json::Map<String, Value>,
}

/// An MCP server.
#[derive(Debug, Clone)]
pub struct Server {
    /// What agents call it.
    pub name: String,
    /// How it is reached.
    pub way: Way,
    /// How long it may take to start, if not as long as usual.
    pub start: Option<Duration>,
    /// How long a tool may take, if not as long as usual.
    pub timeout: Option<Duration>,
    /// Whether a user must agree first.
    pub consent: Consent,
    /// What the user must give first.
    pub auth: Option<Arc<Need>>,
    /// How people are asked.
    pub manner: Manner,
    /// What to do with calls that were interrupted; the harmless ones run again, if nothing is said.
    pub interrupted: Option<Interrupted>,
}

/// How an MCP server is reached.
#[derive(Debug, Clone)]
pub enum Way {
    /// It is started, and spoken to over its input and output.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables, besides `PATH` and `HOME`.
        env: Vec<(String, Secret)>,
        /// Where it runs.
        folder: PathBuf,
    },
    /// Over streamable HTTP.
    Http {
        /// Where it is.
        url: Url,
        /// Headers of every request.
        headers: Vec<(String, Secret)>,
    },
}

/// Something on the web.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where.
    pub url: Url,
    /// Headers of every request.
    pub headers: Vec<(String, Secret)>,
    /// Which addresses it may have.
    pub reach: Reach,
}

/// Which addresses may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Those that everyone can ask.
    Public,
    /// Those of private networks and of this machine too.
    Private,
}

/// A tool of our own.
#[derive(Debug, Clone)]
pub struct Tool {
    /// As a model knows it.
    pub spec: ToolSpec,
    /// Who does it.
    pub doer: Doer,
    /// Whether a user must agree first.
    pub consent: Consent,
    /// How people are asked.
    pub manner: Manner,
    /// What to do if it ran when whoever ran it stopped.
    pub interrupted: Interrupted,
    /// How long it may take, if not as long as usual.
    pub timeout: Option<Duration>,
    /// What the user must give first.
    pub auth: Option<Arc<Need>>,
}

/// Who does what a tool does.
#[derive(Debug, Clone)]
pub enum Doer {
    /// A server on the web.
    Http {
        /// How it is asked.
        method: Method,
        /// Where, with `{name}` for arguments.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, Secret)>,
        /// Which addresses it may have.
        reach: Reach,
    },
    /// Whoever is connected to the thread.
    Client,
    /// Another agent.
    Agent(String),
}

/// An agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Names it in threads.
    pub id: String,
    /// What it is good for.
    pub description: Option<String>,
    /// Who thinks.
    pub kind: Kind,
    /// What it may spend in one thread, if not what every agent may.
    pub budget: Option<Bounds>,
    /// What a message of the user does while a task of it waits.
    pub while_waiting: WhileWaiting,
}

/// Who thinks for an agent.
#[derive(Debug, Clone)]
pub enum Kind {
    /// One of our models, the first that can.
    Model {
        /// Their names.
        models: Vec<String>,
        /// Comes before everything.
        system: Option<String>,
        /// How it works.
        work: Work,
    },
    /// Nobody: it says what is written down.
    Script {
        /// What.
        script: Script,
        /// How it works.
        work: Work,
    },
    /// A program that claims its tasks.
    Worker {
        /// How long a claim lasts.
        lease: Duration,
    },
    /// An agent elsewhere.
    Remote {
        /// What it speaks.
        protocol: Protocol,
        /// Where it is.
        place: Place,
        /// The key it wants.
        key: Option<Secret>,
        /// How long it may be silent, if not as long as usual.
        timeout: Option<Duration>,
        /// For AITP: which assistant is to run.
        assistant: Option<String>,
    },
}

/// What an agent elsewhere speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A2A, 1.0 or 0.3.
    A2a,
    /// AgentScope's Agent API.
    AgentApi,
    /// AITP threads.
    Aitp,
}

/// How an agent of ours works.
#[derive(Debug, Clone)]
pub struct Work {
    /// What it may use.
    pub uses: Vec<Use>,
    /// How it sees the others.
    pub policy: Policy,
    /// What keeps it from going on for ever.
    pub limits: Limits,
    /// Who answers first what a user need not.
    pub coordination: Coordination,
    /// Whether it is written down why it does what.
    pub trace: Trace,
}

/// What built-in tools are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// Writing and reading artifacts.
    Artifacts,
    /// Asking someone.
    Ask,
    /// Sharing thoughts.
    Thoughts,
}

/// Something that an agent may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// One of our tools.
    Tool(String),
    /// A built-in tool: what it is for, and what it does, as in `artifacts/create`.
    BuiltIn(BuiltIn, String),
    /// Tools of an MCP server.
    Server {
        /// The server.
        name: String,
        /// Which, with `*` for any characters.
        tools: String,
    },
    /// Another agent.
    Agent(String),
}
