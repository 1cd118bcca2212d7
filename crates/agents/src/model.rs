//! Models: one request, and what a model says as it says it.
//!
//! A request is made from the thread as the agent sees it ([`selvedge_protocol::perspective`]), so
//! a provider here is only two things: how its request is spelled, and how its stream is read.
//! Trying again and trying another model is the turn's; what kind of failure it was is told here.

mod anthropic;
mod body;
pub(crate) mod failure;
mod gemini;
mod http;
mod key;
mod openai_chat;
mod openai_responses;
mod output;
mod provider;
mod read;
mod remote;
mod speech;
mod terms;
mod thought;

pub use failure::{Failure, FailureKind};
pub use http::Http;
pub use key::{BadKey, Key};
pub use provider::Provider;
pub use remote::{BadUrl, Model, Timeouts};
pub use speech::Speech;
pub use terms::{Price, Terms};
pub use thought::{Thought, ThoughtType, Verbosity};

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
    /// The action of the history that the turn answers; others may have spoken since.
    pub heard: usize,
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
    /// How much to think; as the model is wont to, where it is not told.
    pub thinking: Option<Thinking>,
    /// Members of the request that only this provider knows, merged into it last: objects member
    /// by member, and `null` takes a member away. The conversation itself is not to be had.
    pub extra: serde_json::Map<String, Value>,
}

/// How much to think. Models take one or the other; a provider that knows only effort gets the
/// one nearest to a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// At most so many tokens.
    Tokens(u32),
    /// As much as the model finds right, at this effort.
    Effort(Effort),
}

/// How hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as possible.
    Max,
}

/// A piece of what a model says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Text to append to the current text part; a thought or a call in between ends the part.
    Text(String),
    /// Text to append to the current thought.
    Thought(String),
    /// The thought is complete; what its provider wants back with the next request. Without a
    /// [`Said::Thought`] before it, it is a thought without text, which is to be kept all the same.
    ThoughtEnd {
        /// The provider's proof that it is its own thought.
        signature: Option<String>,
        /// The `providerName` of the thought: who takes it back, and as what.
        provider: &'static str,
    },
    /// A whole thought, for those who follow.
    Shared(Box<thought::Thought>),
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
    /// What is said of the answer beside it, as an envelope has it: a JSON object with `intent`,
    /// `confidence` and `outputs`.
    Aside(String),
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
