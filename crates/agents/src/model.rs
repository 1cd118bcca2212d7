//! Models: one request, and what a model says as it says it.
//!
//! A request is made from the thread as the agent sees it ([`selvedge_protocol::perspective`]), so
//! a provider here is only two things: how its request is spelled, and how its stream is read.

use std::time::Duration;

use selvedge_protocol::journal::fold::Tokens;
use selvedge_protocol::perspective::{History, View};
use serde_json::Value;

/// What a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The thread so far.
    pub history: &'a History,
    /// Whose eyes it is seen through.
    pub view: View<'a>,
    /// Comes before everything.
    pub system: Option<&'a str>,
    /// What the model may call.
    pub tools: &'a [ToolSpec],
    /// How to answer.
    pub settings: &'a Settings,
    /// Which model call of the turn it is, from 1.
    pub iteration: u32,
}

/// A tool as a model gets to know it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub schema: Value,
}

/// How to answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Tokens of the answer, at most.
    pub max_tokens: Option<u32>,
    /// How freely.
    pub temperature: Option<f64>,
    /// Tokens for thinking; the model thinks if there are some.
    pub thinking_tokens: Option<u32>,
    /// Members of the request that only this provider knows, taken as they are.
    pub extra: serde_json::Map<String, Value>,
}

/// A piece of what a model says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Text to append to the current text part; a thought or a call in between ends the part.
    Text(String),
    /// Text to append to the current thought.
    Thought(String),
    /// The thought is complete; what its provider wants back with the next request.
    ThoughtEnd {
        /// The provider's proof that it is its own thought.
        signature: Option<String>,
    },
    /// The model begins to write a call.
    CallBegun {
        /// Names the call.
        id: String,
        /// The tool.
        name: String,
    },
    /// A piece of a call's arguments, as JSON text.
    CallPiece {
        /// Names the call.
        id: String,
        /// Text to append.
        delta: String,
    },
    /// A call is complete.
    Call {
        /// Names the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as written: JSON text, or whatever the model took for it.
        arguments: String,
    },
    /// The answer is complete. Always the last, exactly once.
    Done(Done),
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// Why.
    pub finish: Finish,
    /// Tokens, where the provider tells.
    pub usage: Option<Tokens>,
    /// The model that answered, where the provider tells.
    pub model: Option<String>,
}

/// Why an answer ended. Names are those of `step-finished`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It was done.
    Stop,
    /// It was too long.
    Length,
    /// It waits for tools.
    ToolCalls,
    /// It was not to be said.
    ContentFilter,
    /// For another reason.
    Other,
}

impl Finish {
    /// Its name in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Other => "other",
        }
    }
}

/// Why there is no answer, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What the provider says, without secrets.
    pub message: String,
    /// When it may be tried again, where the provider tells.
    pub retry_after: Option<Duration>,
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The provider has too much to do, or we ask too often.
    Busy,
    /// It could not be reached, or the stream broke off.
    Connection,
    /// It failed by itself.
    Provider,
    /// The key is missing or not valid.
    Unauthorized,
    /// The conversation is longer than the model takes.
    TooLong,
    /// It does not take the request.
    Refused,
}

impl FailureKind {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Busy | Self::Connection | Self::Provider)
    }

    /// A stable name, for `code` in the journal.
    pub fn code(self) -> &'static str {
        match self {
            Self::Busy => "model_busy",
            Self::Connection => "model_connection",
            Self::Provider => "model_error",
            Self::Unauthorized => "model_unauthorized",
            Self::TooLong => "model_context_length",
            Self::Refused => "model_refused",
        }
    }
}
