//! A thread as one agent sees it.
//!
//! The document's "ThreadProtocol → ModelMessages": an agent's own messages as they are, the
//! others' as input, attributed by a [`Policy`]; others' tool calls hidden, summarised or shown;
//! others' thoughts and all system actions left out. [`History`] gathers events, [`turns`] makes
//! model input and model output of them, and [`openai`], [`responses`], [`anthropic`] and
//! [`gemini`] write those as the messages of a request, after a system prompt if there is one.
//! Pure: no clock, no randomness, no I/O.

mod anthropic;
mod chat;
mod content;
mod gemini;
mod history;
mod openai;
mod responses;
mod shorten;
mod turns;

pub use anthropic::anthropic;
pub use content::{Media, Part, Source, inferred_media_type, parts};
pub use gemini::gemini;
pub use history::{File, History, Item, Participant, Step};
pub use openai::openai;
pub use responses::responses;
pub use shorten::Cuts;
pub use turns::{Entry, Side, Turn, turns};

/// The `providerName` of a thought that Anthropic gives only encrypted, as its signature.
pub const REDACTED: &str = "anthropic-redacted";

/// How an agent sees the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// How others' messages say whose they are.
    pub attribution: Attribution,
    /// What is told of others' tool calls.
    pub tools: OthersTools,
}

/// How a message says whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attribution {
    /// `{agent:Name}: text`, as the document has it.
    #[default]
    Prefix,
    /// `Name wrote:` and the text as a quotation.
    Quote,
    /// `<message from="Name">text</message>`, the text escaped so that it cannot end the element.
    Xml,
    /// The text alone.
    None,
}

/// What is told of others' tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OthersTools {
    /// Nothing.
    #[default]
    Hide,
    /// That a tool was used, and how it went.
    Summarise,
    /// Its arguments and its result.
    Show,
}

/// Whose eyes to look through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View<'a> {
    /// Nobody's: every agent's output stays output.
    Recorder,
    /// An agent's, by id, identifier or name.
    Agent(&'a str, Policy),
}
