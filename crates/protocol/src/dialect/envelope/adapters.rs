//! The document's text adapters: what a model is asked as an envelope, and back as a prompt.
//!
//! Exactly as the document has them for Claude, GPT-5 and Gemini, and as its repository has it for
//! Ollama, JavaScript's rules included: `slice(0, 160)` counts UTF-16 units, `??` passes over null
//! and absent values, `||` also over empty and zero ones. Only the clock is the caller's.
//!
//! Strings are JSON text on both sides, since a cut may leave half a character that no Rust string
//! can hold: `Raw::string("…")` makes one, [`Raw::str`] reads one.

use super::js::{self, Indent};
use super::model::PROTOCOL;
use crate::json::{Node, Raw, quote, text};

/// `task` is at most this many UTF-16 units.
const TASK_UNITS: usize = 160;

/// A model family that the document has an adapter for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Adapter {
    /// Anthropic's.
    Claude,
    /// OpenAI's.
    Gpt5,
    /// Google's.
    Gemini,
    /// Whatever an Ollama server runs.
    Ollama,
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

/// Claude's `toEnvelope(prompt)`. `prompt` is a JSON string.
pub fn claude_to_envelope(prompt: &Raw<'_>, timestamp: &str) -> Raw<'static> {
    let agent = r#"{"id":"claude.generic","name":"Claude","model":"claude-3.7-sonnet"}"#;
    let task = sliced(prompt);
    envelope(agent, timestamp, "analyze", &task, None, "text", &string(prompt))
}

/// GPT-5's `toEnvelope(system, user)`. Both are JSON strings.
pub fn gpt5_to_envelope(system: &Raw<'_>, user: &Raw<'_>, timestamp: &str) -> Raw<'static> {
    let agent = r#"{"id":"gpt5.generic","name":"GPT‑5","model":"gpt-5"}"#;
    let task = sliced(user);
    envelope(agent, timestamp, "plan", &task, Some(&string(system)), "text", &string(user))
}

/// Gemini's `toEnvelope({goal, data})`. `goal` is a JSON string, `data` any JSON.
pub fn gemini_to_envelope(goal: &Raw<'_>, data: Option<&Raw<'_>>, timestamp: &str) -> Raw<'static> {
    let agent = r#"{"id":"gemini.generic","name":"Gemini","model":"gemini-2.5-pro"}"#;
    let mut json = String::new();
    match data.filter(|data| !data.is_null()).and_then(|data| data.doc()) {
        Some(doc) => js::stringify(doc.root(), Indent::None, &mut json),
        None => json.push_str("{}"),
    }
    envelope(agent, timestamp, "execute", &string(goal), None, "json", &json)
}

/// Ollama's `toEnvelope(prompt, model)`. `prompt` is a JSON string; the model is `llama3.2` unless
/// given.
pub fn ollama_to_envelope(prompt: &Raw<'_>, model: Option<&str>, timestamp: &str) -> Raw<'static> {
    let agent = format!(
        r#"{{"id":"ollama.generic","name":"Ollama","model":{},"version":"2025-10"}}"#,
        quote(model.unwrap_or("llama3.2"))
    );
    let task = sliced(prompt);
    envelope(&agent, timestamp, "execute", &task, None, "text", &string(prompt))
}

/// The adapter's `fromEnvelope(envelope)`.
pub fn from_envelope(adapter: Adapter, envelope: Node<'_, '_>) -> Prompt {
    let mut body = String::new();
    match adapter {
        Adapter::Claude => {
            body.push_str("[INTENT:");
            js::interpolate(envelope.get("intent"), &mut body);
            body.push_str("] [TASK:");
            js::interpolate(envelope.get("task"), &mut body);
            body.push_str("]\\nCONTEXT:\\n");
            if let Some(context) = context(envelope) {
                js::interpolate(Some(context), &mut body);
            }
            body.push_str("\\nCONTENT:\\n");
            match content(envelope, "text") {
                Some(text) => js::interpolate(Some(text), &mut body),
                None => data(content(envelope, "data"), Indent::None, &mut body),
            }
        }
        Adapter::Gpt5 => return gpt5_prompt(envelope),
        Adapter::Gemini => {
            body.push_str("Goal: ");
            js::interpolate(envelope.get("task"), &mut body);
            body.push_str("\\nIntent: ");
            js::interpolate(envelope.get("intent"), &mut body);
            body.push_str("\\nContext: ");
            match context(envelope) {
                Some(context) => js::interpolate(Some(context), &mut body),
                None => body.push_str("n/a"),
            }
            body.push_str("\\nData:");
            data(content(envelope, "data"), Indent::Two, &mut body);
        }
        Adapter::Ollama => ollama_prompt(envelope, &mut body),
    }
    Prompt::Text(literal(&body))
}

fn gpt5_prompt(envelope: Node<'_, '_>) -> Prompt {
    let mut system = String::from("You speak Envelope v1. Intent=");
    js::interpolate(envelope.get("intent"), &mut system);
    system.push_str(". Return JSON only.");
    let mut json = String::from("{");
    if let Some(task) = envelope.get("task") {
        json.push_str("\"task\":");
        js::stringify(task, Indent::None, &mut json);
        json.push(',');
    }
    json.push_str("\"context\":");
    match context(envelope) {
        Some(context) => js::stringify(context, Indent::None, &mut json),
        None => json.push_str("null"),
    }
    json.push('}');
    Prompt::Chat { system: literal(&system), user: Raw::string(&json) }
}

fn ollama_prompt(envelope: Node<'_, '_>, body: &mut String) {
    let set = |node: Option<Node<'_, '_>>| node.is_some_and(js::truthy);
    let intent = envelope.get("intent").filter(|i| js::truthy(*i));
    if let Some(intent) = intent.filter(|i| !i.is("execute")) {
        body.push_str("Task: ");
        js::interpolate(Some(intent), body);
        body.push_str("\\n");
    }
    let task = envelope.get("task");
    if set(task) {
        js::interpolate(task, body);
        body.push_str("\\n\\n");
    }
    let context = context(envelope);
    if set(context) {
        body.push_str("Context: ");
        js::interpolate(context, body);
        body.push_str("\\n\\n");
    }
    let text = content(envelope, "text");
    if set(text) {
        js::interpolate(text, body);
    } else {
        data(content(envelope, "data").filter(|d| js::truthy(*d)), Indent::None, body);
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
