//! Tools: what an agent may use, and how a use ends.

mod allowance;
pub mod artifact;
mod ask;
pub mod builtin;
pub mod http;
pub mod mcp;
pub mod schema;

pub(crate) use allowance::Allowance;
pub use ask::{Asked, Manner, Question};
pub use schema::{Schema, SchemaError};

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_protocol::journal::{Event, Kind, Urgency};
use selvedge_protocol::json::Raw;
use serde_json::Value;

use crate::credential::{Credential, Need};
use crate::journal::{Journal, JournalError, Writer};
use crate::model::ToolSpec;

/// Bytes of a result that a model gets to see.
pub(crate) const RESULT: usize = 256 << 10;

/// A tool of an agent.
pub struct Tool {
    /// As the model knows it.
    pub spec: ToolSpec,
    /// What its arguments must fit.
    schema: Schema,
    /// Who does it.
    pub doer: Doer,
    /// Whether a user must agree first.
    pub consent: Consent,
    /// What to do if it ran when whoever ran it stopped.
    pub interrupted: Interrupted,
    /// How long it may take.
    pub timeout: Duration,
    /// How long someone who is asked may take; as long as they like unless told.
    pub patience: Option<Duration>,
    /// What the user must give before it can be used; only what this process does gets it.
    pub auth: Option<Arc<Need>>,
    /// How urgent their answer is, where it is told.
    pub urgency: Option<Urgency>,
}

impl Tool {
    /// A tool that this process runs, without asking anyone.
    pub fn here(spec: ToolSpec, run: Arc<dyn Run>) -> Result<Self, SchemaError> {
        Self::new(spec, Doer::Here(run))
    }

    /// A tool with sensible defaults; refused if its schema is broken.
    pub fn new(spec: ToolSpec, doer: Doer) -> Result<Self, SchemaError> {
        Ok(Self {
            schema: Schema::new(&spec.schema)?,
            spec,
            doer,
            consent: Consent::NotNeeded,
            interrupted: Interrupted::Again,
            timeout: Duration::from_secs(120),
            patience: None,
            auth: None,
            urgency: None,
        })
    }

    /// How people are asked.
    pub(crate) fn manner(&self) -> Manner {
        Manner { patience: self.patience, urgency: self.urgency }
    }

    /// Whether this process runs it.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.doer, Doer::Here(_))
    }

    /// Whether a use of it is lost when whoever ran it stops.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_here() && self.interrupted == Interrupted::Fail
    }

    /// Whether arguments are what the tool takes; says what is wrong in words for a model.
    pub fn check(&self, arguments: &Value) -> Result<(), String> {
        if !arguments.is_object() {
            return Err("the arguments must be an object".to_owned());
        }
        self.schema.check(arguments)
    }
}

/// Who does what a tool does.
pub enum Doer {
    /// This process.
    Here(Arc<dyn Run>),
    /// Whoever is connected: they are asked, and their answer is the result.
    Client,
    /// Another agent, in a task of its own.
    Agent {
        /// Its id.
        id: String,
    },
    /// Someone is asked what the arguments say, and the answer is the result.
    Ask(Whom),
    /// Nobody: it is a thought, which others get to see.
    Share,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// The user and nobody else.
    User,
    /// Whoever coordinates, and the user if that is nobody or they cannot tell.
    Coordinator,
}

/// Whether a user must agree before a tool is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consent {
    /// No.
    #[default]
    NotNeeded,
    /// Yes, every time.
    Needed,
}

/// What to do with a tool that ran when whoever ran it stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interrupted {
    /// Run it again.
    #[default]
    Again,
    /// Tell the model that it is not known whether it was done.
    Fail,
}

/// Something that this process can do.
pub trait Run: Send + Sync {
    /// Does it. Dropped, it stops.
    fn run(&self, call: Invocation) -> BoxFuture<'static, Result<Value, ToolError>>;

    /// Where it is done, as `tool-start` tells it.
    fn provider(&self) -> &'static str {
        "local"
    }
}

/// Why a tool has no result. The model gets to see it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl From<JournalError> for ToolError {
    fn from(error: JournalError) -> Self {
        Self(error.to_string())
    }
}

/// One use of a tool.
#[derive(Clone)]
pub struct Invocation {
    /// Names the call.
    pub id: String,
    /// Names the call among all calls of the thread.
    pub place: String,
    /// The tool's name.
    pub tool: String,
    /// Arguments that fit the tool's schema.
    pub arguments: Value,
    /// Reads what is known.
    pub journal: Journal,
    /// Writes what happens meanwhile.
    pub writer: Writer,
    /// What it asked before, if it is run again.
    pub(crate) asked: Vec<Asked>,
    /// How long it may take.
    pub(crate) allowance: Allowance,
    /// How long someone who is asked may take.
    pub(crate) patience: Option<Duration>,
    /// What the user gave for it.
    pub credential: Option<Credential>,
    /// How urgent their answer is.
    pub(crate) urgency: Option<Urgency>,
}

impl Invocation {
    /// Says how far it has come, from 0 to 1.
    pub async fn progress(&self, part: f64, message: Option<&str>) -> Result<(), ToolError> {
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        let mut event = Event::new(Kind::ToolProgress)
            .with_str("toolCallId", &self.id)
            .with("progress", Raw::owned(part.to_string()));
        if let Some(message) = message {
            let message = match &self.credential {
                Some(credential) => credential.strike(message),
                None => message.to_owned(),
            };
            event = event.with_str("message", &message);
        }
        self.writer.append(vec![event]).await?;
        Ok(())
    }
}

/// A result within bounds: what is too long for a model is cut, and says so.
pub(crate) fn bounded(result: &Value) -> String {
    let text = result.to_string();
    if text.len() <= RESULT {
        return text;
    }
    let mut end = RESULT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let shown = text.get(..end).unwrap_or("");
    let note = format!("{shown}… ({} of {} bytes are shown)", end, text.len());
    Value::String(note).to_string()
}
