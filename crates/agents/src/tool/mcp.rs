//! Tools of MCP servers.
//!
//! A server is started when its tools are first asked for. One connection serves all its tools and
//! all turns, and is made anew after it broke.
//!
//! Invariant: what a server says can fail a call, never the process.

mod call;
mod calls;
mod connection;
pub mod demo;
mod elicit;
mod handler;
mod list;
mod result;
mod start;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};

use self::connection::Connection;
use self::list::List;
use super::{Consent, Interrupted, Manner, Tool, ToolError};
use crate::config::fits;
use crate::credential::Need;

/// Between a server's name and a tool's.
const BETWEEN: &str = "__";

/// How a server is reached and used.
#[derive(Clone)]
pub struct Options {
    /// Comes before its tools' names: letters, digits, `-`, and `_` that stand alone; at most 32.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long it may take to start.
    pub start: Duration,
    /// Whether a user must agree before its tools are used.
    pub consent: Consent,
    /// How people are asked.
    pub manner: Manner,
    /// What to do with calls that were interrupted.
    pub interrupted: Rerun,
    /// What the user must give before its tools are used; over HTTP only.
    pub auth: Option<Arc<Need>>,
}

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    /// It is started, and spoken to through its standard input and output.
    Process {
        /// The program.
        command: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment, beside `PATH` and `HOME`. The values are never logged.
        env: Vec<(String, String)>,
        /// Where it runs; here if there is none.
        folder: Option<PathBuf>,
    },
    /// It runs somewhere: streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// Sent with every request. The values are never logged.
        headers: Vec<(HeaderName, HeaderValue)>,
    },
}

/// What to do with calls that were interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rerun {
    /// Run again what the server calls read-only or idempotent.
    #[default]
    IfHarmless,
    /// The same for all its tools.
    All(Interrupted),
}

/// A name that no server can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name for a server: letters, digits, `-` and single `_`, at most 32")]
pub struct BadName(pub String);

impl Options {
    /// A server that is reached in a way, with sensible defaults.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            timeout: Duration::from_secs(120),
            start: Duration::from_secs(30),
            consent: Consent::default(),
            manner: Manner::default(),
            interrupted: Rerun::default(),
            auth: None,
        }
    }
}

/// An MCP server.
pub struct Server {
    connection: Arc<Connection>,
    list: List,
}

impl Server {
    /// A server; nothing is started yet.
    pub fn new(options: Options) -> Result<Arc<Self>, BadName> {
        let name = &options.name;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let ends = name.starts_with('_') || name.ends_with('_') || name.contains(BETWEEN);
        if name.is_empty() || name.len() > 32 || ends || !name.bytes().all(fits) {
            return Err(BadName(options.name));
        }
        let connection = Arc::new(Connection::new(options));
        Ok(Arc::new(Self { connection, list: List::default() }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.connection.options.name
    }

    /// Its tools, as the server lists them now; the last list if it cannot be asked.
    pub async fn tools(&self) -> Result<Arc<[Arc<Tool>]>, ToolError> {
        self.list.get(&self.connection).await
    }

    /// The protocol version spoken with it, while it is connected.
    pub async fn protocol(&self) -> Option<String> {
        self.connection.protocol().await
    }

    /// The process id, while it runs as a child of this process.
    pub async fn process(&self) -> Option<u32> {
        self.connection.process().await
    }
}

/// Tools of a server that an agent may use.
#[derive(Clone)]
pub struct Offer {
    /// The server.
    pub server: Arc<Server>,
    /// Which of its tools.
    pub which: Which,
}

/// Which tools of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Which {
    /// All of them.
    #[default]
    All,
    /// Those of these names, as the server knows them.
    Named(Vec<String>),
    /// Those whose names, as the server knows them, fit this, with `*` for any characters.
    Like(String),
}

impl Offer {
    /// All tools of a server.
    pub fn all(server: Arc<Server>) -> Self {
        Self { server, which: Which::All }
    }

    /// Its tools now.
    pub async fn tools(&self) -> Result<Vec<Arc<Tool>>, ToolError> {
        let tools = self.server.tools().await?;
        Ok(tools.iter().filter(|tool| self.has(&tool.spec.name)).cloned().collect())
    }

    /// Whether a tool of that name could be the server's.
    pub(crate) fn may_have(&self, name: &str) -> bool {
        let own = name.strip_prefix(self.server.name());
        own.is_some_and(|rest| rest.starts_with(BETWEEN)) && self.has(name)
    }

    /// The tool of that name.
    pub(crate) async fn tool(&self, name: &str) -> Result<Arc<Tool>, ToolError> {
        let tools = self.server.tools().await?;
        let found = tools.iter().find(|tool| tool.spec.name == name && self.has(name));
        found.cloned().ok_or_else(|| ToolError(format!("there is no tool `{name}`")))
    }

    fn has(&self, name: &str) -> bool {
        match &self.which {
            Which::All => true,
            Which::Like(glob) => {
                let own = name.strip_prefix(self.server.name());
                own.and_then(|own| own.strip_prefix(BETWEEN)).is_some_and(|own| fits(glob, own))
            }
            Which::Named(names) => {
                names.iter().any(|own| list::name(self.server.name(), own) == name)
            }
        }
    }
}
