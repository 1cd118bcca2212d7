//! The document's text adapters: what a model is asked as an envelope, and back as a prompt.
//!
//! One file for each model family, small and dumb. Exactly as the document has them for Claude,
//! GPT-5 and Gemini, and as its repository has it for Ollama, JavaScript's rules included:
//! `slice(0, 160)` counts UTF-16 units, `??` passes over null and absent values, `||` also over
//! empty and zero ones. Only the clock is the caller's.
//!
//! Strings are JSON text on both sides, since a cut may leave half a character that no Rust string
//! can hold: `Raw::string("…")` makes one, [`Raw::str`] reads one.

mod claude;
mod deepseek;
mod gemini;
mod gpt5;
mod ollama;

pub use claude::to_envelope as claude_to_envelope;
pub use deepseek::to_envelope as deepseek_to_envelope;
pub use gemini::to_envelope as gemini_to_envelope;
pub use gpt5::to_envelope as gpt5_to_envelope;
pub use ollama::to_envelope as ollama_to_envelope;

use super::js::{self, Indent};
use super::model::PROTOCOL;
use crate::json::{Doc, Node, Raw, quote, text};

/// `task` is at most this many UTF-16 units.
const TASK_UNITS: usize = 160;

/// A model family that there is an adapter for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Adapter {
    /// Anthropic's.
    Claude,
    /// OpenAI's.
    Gpt5,
    /// Google's.
    Gemini,
    /// Whatever an Ollama server runs, and all else: a plain text.
    Ollama,
    /// DeepSeek's.
    DeepSeek,
}

/// What a model is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// One text, as a JSON string.
    Text(Raw<'static>),
    /// A system and a user text, as JSON strings.
    Chat {
        /// The system text.
        system: Raw<'static>,
        /// The user text.
        user: Raw<'static>,
    },
}

impl Prompt {
    /// As one text.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.str().unwrap_or_default().into_owned(),
            Self::Chat { system, user } => {
                let [system, user] = [system, user].map(|text| text.str().unwrap_or_default());
                format!("{system}\n\n{user}")
            }
        }
    }
}

impl Adapter {
    /// The adapter for a model, by its name.
    pub fn of_model(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        // A router of models puts the vendor before the name.
        let model = model.rsplit('/').next().unwrap_or_default();
        [
            ("claude", Self::Claude),
            ("gpt", Self::Gpt5),
            ("gemini", Self::Gemini),
            ("deepseek", Self::DeepSeek),
        ]
        .into_iter()
        .find(|(prefix, _)| model.starts_with(prefix))
        .map_or(Self::Ollama, |(_, adapter)| adapter)
    }

    /// The adapter's `toEnvelope` of what a model said to a task.
    pub fn answer(self, task: &str, said: &str, timestamp: &str) -> Raw<'static> {
        let text = Raw::string(said);
        match self {
            Self::Claude => claude::to_envelope(&text, timestamp),
            Self::Gpt5 => gpt5::to_envelope(&Raw::string(task), &text, timestamp),
            // Its form has a place for data only.
            Self::Gemini => match Doc::parse(said.trim()) {
                Ok(_) => {
                    let data = Raw::owned(said.trim());
                    gemini::to_envelope(&Raw::string(task), Some(&data), timestamp)
                }
                Err(_) => ollama::to_envelope(&text, None, timestamp),
            },
            Self::Ollama => ollama::to_envelope(&text, None, timestamp),
            Self::DeepSeek => deepseek::to_envelope(&text, timestamp),
        }
    }
}

/// The adapter's `fromEnvelope(envelope)`.
pub fn from_envelope(adapter: Adapter, envelope: Node<'_, '_>) -> Prompt {
    match adapter {
        Adapter::Claude => claude::from_envelope(envelope),
        Adapter::Gpt5 => gpt5::from_envelope(envelope),
        Adapter::Gemini => gemini::from_envelope(envelope),
        Adapter::Ollama => ollama::from_envelope(envelope),
        Adapter::DeepSeek => deepseek::from_envelope(envelope),
    }
}

/// `e?.inputs?.context`, null counted as absent.
fn context<'d, 'a>(envelope: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
    envelope.get("inputs")?.some("context")
}

/// A member of `e?.content`, null counted as absent.
fn content<'d, 'a>(envelope: Node<'d, 'a>, name: &str) -> Option<Node<'d, 'a>> {
    envelope.get("content")?.some(name)
}

/// Appends `JSON.stringify(data ?? {})`.
fn data(value: Option<Node<'_, '_>>, indent: Indent, body: &mut String) {
    match value {
        Some(value) => js::interpolate_json(value, indent, body),
        None => body.push_str("{}"),
    }
}

/// A JSON string for a body; halves of a character that meet become one.
fn literal(body: &str) -> Raw<'static> {
    Raw::owned(format!("\"{}\"", text::minimal(body)))
}

fn string(value: &Raw<'_>) -> String {
    format!("\"{}\"", text::minimal(value.body().unwrap_or("")))
}

fn sliced(value: &Raw<'_>) -> String {
    format!("\"{}\"", js::slice(value.body().unwrap_or(""), TASK_UNITS))
}

fn envelope(
    agent: &str,
    timestamp: &str,
    intent: &str,
    task: &str,
    context: Option<&str>,
    class: &str,
    payload: &str,
) -> Raw<'static> {
    let key = if class == "json" { "data" } else { "text" };
    let inputs = context.map_or_else(String::new, |c| format!(r#""inputs":{{"context":{c}}},"#));
    Raw::owned(format!(
        r#"{{"protocol":"{PROTOCOL}","role":"agent","agent":{agent},"timestamp":{},"intent":"{intent}","task":{task},{inputs}"content":{{"type":"{class}","{key}":{payload}}}}}"#,
        quote(timestamp)
    ))
}
