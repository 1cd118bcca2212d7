//! The envelope's words and fields, and the form that names tool calls.
//!
//! The protocol has no place for a tool call's id, and its examples use role `tool` with intent
//! `tool.call` for results alone. Calls and returns are written so that both can be told again:
//!
//! - a call: role `agent`, the tool in `inputs.resources`, the arguments in
//!   `outputs.next_actions[0].args`, the id in `content.data.call_id`;
//! - a return: role `tool`, the tool in `inputs.resources`, the id and the result in
//!   `content.data.call_id` and `.result`, an error's text in `content.text`.

use crate::journal::kind::{Field, Need, Type};
use crate::journal::{Event, Kind};
use crate::json::Node;

/// The protocol's name and version.
pub const PROTOCOL: &str = "multiagent-1.0";

/// Prefix of the trace tag that names the thread.
pub(super) const THREAD_TAG: &str = "thread:";

/// The verbs.
pub const INTENTS: &[&str] = &[
    "plan",
    "decompose",
    "execute",
    "route",
    "retrieve",
    "analyze",
    "summarize",
    "reflect",
    "finalize",
    "tool.call",
];

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}

/// The envelope itself.
pub(super) const ENVELOPE: &[Field] = &[
    f("protocol", Type::OneOf(&[PROTOCOL]), Need::Must),
    f("role", Type::OneOf(&["agent", "user", "system", "tool"]), Need::Must),
    f("agent", Type::Object, Need::May),
    f("timestamp", Type::Text, Need::Must),
    f("intent", Type::OneOf(INTENTS), Need::Must),
    f("task", Type::Text, Need::Must),
    f("inputs", Type::Object, Need::May),
    f("outputs", Type::Object, Need::May),
    f("confidence", Type::Object, Need::May),
];

/// `agent`.
pub(super) const AGENT: &[Field] = &[
    f("id", Type::Text, Need::Must),
    f("name", Type::Text, Need::Must),
    f("model", Type::Text, Need::Must),
    f("version", Type::Text, Need::May),
];

/// `content`.
pub(super) const CONTENT: &[Field] = &[
    f("type", Type::OneOf(&["text", "code", "json", "tool_result", "error"]), Need::Must),
    f("text", Type::Text, Need::May),
];

/// `inputs`.
pub(super) const INPUTS: &[Field] = &[
    f("context", Type::Text, Need::May),
    f("resources", Type::Array, Need::May),
    f("parameters", Type::Object, Need::May),
];

/// An element of `inputs.resources`.
pub(super) const RESOURCE: &[Field] = &[
    f("type", Type::OneOf(&["url", "file", "db", "tool"]), Need::Must),
    f("id", Type::Text, Need::Must),
    f("hint", Type::Text, Need::May),
];

/// `outputs`.
pub(super) const OUTPUTS: &[Field] =
    &[f("artifacts", Type::Array, Need::May), f("next_actions", Type::Array, Need::May)];

/// An element of `outputs.artifacts`. Kinds are open: the document lists six, its types any.
pub(super) const ARTIFACT: &[Field] = &[
    f("kind", Type::Text, Need::Must),
    f("name", Type::Text, Need::Must),
    f("uri", Type::Text, Need::May),
    f("inline", Type::Text, Need::May),
];

/// An element of `outputs.next_actions`.
pub(super) const NEXT_ACTION: &[Field] = &[
    f("intent", Type::OneOf(INTENTS), Need::Must),
    f("task", Type::Text, Need::Must),
    f("args", Type::Object, Need::May),
];

/// `confidence`.
pub(super) const CONFIDENCE: &[Field] = &[
    f("score", Type::Number, Need::Must),
    f("rationale", Type::Text, Need::May),
    f("risks", Type::Array, Need::May),
];

/// `trace`, where it is an object.
pub(super) const TRACE: &[Field] = &[
    f("parents", Type::Array, Need::May),
    f("id", Type::Text, Need::May),
    f("tags", Type::Array, Need::May),
    f("cost", Type::Object, Need::May),
];

/// `trace.cost`.
pub(super) const COST: &[Field] =
    &[f("input_tokens", Type::Number, Need::May), f("output_tokens", Type::Number, Need::May)];

/// The parts of an envelope that say which tool call it is or answers.
pub(super) struct Tool<'d, 'a> {
    pub(super) id: Node<'d, 'a>,
    pub(super) name: Option<Node<'d, 'a>>,
    pub(super) content: Node<'d, 'a>,
    pub(super) data: Node<'d, 'a>,
}

/// The tool call that an envelope names, if it has the form described above.
pub(super) fn tool<'d, 'a>(root: Node<'d, 'a>) -> Option<Tool<'d, 'a>> {
    root.get("intent").filter(|i| i.is("tool.call"))?;
    let content = root.get("content")?;
    let data = content.get("data")?;
    let id = data.get("call_id").filter(|id| id.is_string())?;
    let known = |key: &str| matches!(key, "call_id" | "result" | "outcome");
    if data.members().any(|(key, _)| !key.str().is_some_and(|key| known(&key))) {
        return None;
    }
    let name = root.pointer("/inputs/resources/0").filter(|r| {
        r.get("type").is_some_and(|t| t.is("tool")) && r.get("id").is_some_and(Node::is_string)
    });
    Some(Tool { id, name: name.and_then(|r| r.get("id")), content, data })
}

/// How sure we are that a source holds envelopes.
pub(super) fn detect(head: &str) -> u8 {
    let head = head.trim_start();
    if !head.starts_with(['{', '[']) {
        return 0;
    }
    let Some(at) = head.find("\"multiagent-") else { return 0 };
    // Ours is a value of `protocol`, near the beginning: not text that quotes an envelope.
    let key = head.get(..at).unwrap_or("").trim_end();
    let key = key.strip_suffix(':').map_or("", str::trim_end);
    match key.strip_suffix("\"protocol\"") {
        Some(before) if !before.contains("\"event\"") => 95,
        _ => 0,
    }
}

/// Which words of an event can be told from the envelopes.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    let words: &[&str] = match event.kind() {
        // How a task ended shows; that it goes on does not.
        Kind::TaskStatus if is_over(event) => &["status"],
        Kind::TaskComplete => &["kind"],
        Kind::ToolComplete => &["success", "outcome", "preliminary"],
        Kind::Message => &["role"],
        Kind::PartStarted => &["partType"],
        Kind::FileWrite | Kind::DatasetWrite => &["complete"],
        _ => &[],
    };
    words.contains(&field)
}

fn is_over(event: &Event<'_>) -> bool {
    matches!(event.body("status"), Some("completed" | "failed" | "canceled"))
}
