//! Writing core and system actions, remembering where each value stands.

use std::fmt::Write as _;
use std::ops::Range;

use crate::journal::transcript::{Action, ActionKind, Place};
use crate::json::{Doc, Node, Raw, compact, push_escaped, text};

/// An action's text, and where its values stand in it.
pub(crate) struct Written {
    pub(crate) text: String,
    spans: Vec<(&'static str, Range<usize>)>,
    pieces: usize,
    orphan: bool,
}

impl Written {
    /// The place of an event's field in the action: its key and the pointer below it.
    pub(crate) fn locate(&self, kind: ActionKind, place: Place) -> Option<(&'static str, String)> {
        let piece = |i: usize| {
            let path = if self.pieces > 1 { format!("/{i}/text") } else { String::new() };
            ("content", path)
        };
        let found = match place {
            Place::Piece(i) | Place::Append { piece: i, .. } => piece(i),
            Place::Arguments { .. } => ("args", String::new()),
            Place::Field(field) if self.orphan => {
                let key = key_of(kind, field)?;
                if key == "timestamp" { (key, String::new()) } else { ("data", format!("/{key}")) }
            }
            Place::Field(field) => (key_of(kind, field)?, String::new()),
        };
        self.spans.iter().any(|(key, _)| *key == found.0).then_some(found)
    }

    /// The value under a key.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        let (_, range) = self.spans.iter().find(|(k, _)| *k == key)?;
        self.text.get(range.clone())
    }
}

/// The key that holds an event's field, if it holds it as it is.
fn key_of(kind: ActionKind, field: &str) -> Option<&'static str> {
    Some(match (kind, field) {
        (_, "timestamp") => "timestamp",
        (_, "agentId") => "agent_id",
        (ActionKind::UserMessage | ActionKind::AssistantMessage, "messageId") => "action_id",
        (ActionKind::UserMessage | ActionKind::AssistantMessage, "content") => "content",
        (ActionKind::UserMessage, "attachments") => "attachments",
        (ActionKind::AssistantMessage, "usage") => "usage",
        (ActionKind::Thinking, "signature") => "signature",
        (ActionKind::Thinking, "providerName") => "provider_name",
        (ActionKind::Thinking, "thoughtId") => "thinking_id",
        (ActionKind::ToolCall | ActionKind::ToolReturn, "toolCallId") => "tool_call_id",
        (ActionKind::ToolCall | ActionKind::ToolReturn, "toolName") => "tool_name",
        (ActionKind::ToolCall, "arguments") => "args",
        (ActionKind::ToolReturn, "result" | "error") => "content",
        (ActionKind::System, "data") => "data",
        _ => return None,
    })
}

/// Whether a return has no call before it. The document has no place for such a return among its
/// core actions, so it is written as a system action.
fn is_orphan(action: &Action) -> bool {
    action.kind == ActionKind::ToolReturn && action.counterpart.is_none()
}

/// A letter for an action's kind, to find actions again by.
pub(crate) fn kind_letter(action: &Action) -> char {
    match action.kind {
        _ if is_orphan(action) => 's',
        ActionKind::UserMessage => 'u',
        ActionKind::AssistantMessage => 'm',
        ActionKind::Thinking => 'k',
        ActionKind::ToolCall => 't',
        ActionKind::ToolReturn => 'r',
        ActionKind::System => 's',
    }
}

/// The letter of an action in a document.
pub(crate) fn node_letter(action: Node<'_, '_>) -> char {
    match action.get("action_type").and_then(|t| t.str()).as_deref() {
        Some("user_message") => 'u',
        Some("assistant_message") => 'm',
        Some("thinking") => 'k',
        Some("tool_call") => 't',
        Some("tool_return") => 'r',
        _ => 's',
    }
}

/// Writes an action.
pub(crate) fn write(action: &Action, sequence: usize, time: &str) -> Written {
    let mut out = Out { text: String::with_capacity(160), spans: Vec::new() };
    let id = |out: &mut Out| {
        if let Some(id) = action.get("messageId").filter(|id| id.body().is_some()) {
            out.value("action_id", id);
        }
    };
    match action.kind {
        ActionKind::UserMessage => {
            out.open("user_message", sequence, time);
            id(&mut out);
            out.content(action);
            if let Some(list) = action.get("attachments").filter(|a| are_attachments(a)) {
                out.value("attachments", list);
            }
        }
        ActionKind::AssistantMessage => {
            out.open("assistant_message", sequence, time);
            id(&mut out);
            out.agent(action);
            out.content(action);
            finish(action, &mut out);
        }
        ActionKind::Thinking => {
            out.open("thinking", sequence, time);
            out.agent(action);
            out.content(action);
            if let Some(signature) = action.get("signature").filter(|s| s.body().is_some()) {
                out.value("signature", signature);
            }
            match action.get("providerName").filter(|p| p.body().is_some()) {
                Some(provider) => out.value("provider_name", provider),
                None => out.text.push_str(",\"provider_name\":\"unknown\""),
            }
            if let Some(id) = action.get("thoughtId").filter(|id| id.body().is_some()) {
                out.value("thinking_id", id);
            }
        }
        ActionKind::ToolCall => {
            out.open("tool_call", sequence, time);
            out.agent(action);
            out.string("tool_name", action.get("toolName"));
            out.string("tool_call_id", action.get("toolCallId"));
            out.value("args", &action.arguments());
        }
        ActionKind::ToolReturn => {
            if is_orphan(action) {
                out.open("system.tool_return", sequence, time);
                out.text.push_str(",\"data\":{");
            } else {
                out.open("tool_return", sequence, time);
            }
            let data = out.text.len().saturating_sub(1);
            out.string("tool_call_id", action.get("toolCallId"));
            out.string("tool_name", action.get("toolName"));
            let invalid = action.get("outcome").is_some_and(|o| o.is("validation_error"));
            let ok = action.get("success").and_then(Raw::bool).unwrap_or(true);
            out.text.push_str(match (invalid, ok) {
                (true, _) => ",\"status\":\"validation_error\"",
                (false, true) => ",\"status\":\"success\"",
                (false, false) => ",\"status\":\"error\"",
            });
            let content = action.get("result").or_else(|| action.get("error"));
            out.value("content", content.unwrap_or(&Raw::Ref("null")));
            if is_orphan(action) {
                out.text.push('}');
                out.text.replace_range(data + 1..data + 2, "");
                let end = out.text.len();
                out.spans.retain(|(key, _)| *key == "timestamp");
                out.spans.push(("data", data..end));
            }
        }
        ActionKind::System => {
            let name = action.get("name").and_then(Raw::str).unwrap_or_default();
            out.open(&format!("system.{}", system_name(&name)), sequence, time);
            out.value("data", action.get("data").unwrap_or(&Raw::Ref("null")));
        }
    }
    out.text.push('}');
    Written {
        text: out.text,
        spans: out.spans,
        pieces: action.pieces.len(),
        orphan: is_orphan(action),
    }
}

/// An application's name for an event; one that looks like a dialect's records is set apart.
fn system_name(name: &str) -> String {
    match name {
        "" => "event".to_owned(),
        name if name.ends_with(".record") => format!("{name}_"),
        name => name.to_owned(),
    }
}

fn finish(action: &Action, out: &mut Out) {
    let reason = match action.get("finishReason").and_then(Raw::body) {
        Some("tool_calls") => Some("tool_call"),
        Some(reason @ ("stop" | "length" | "content_filter")) => Some(reason),
        _ => None,
    };
    if let Some(reason) = reason {
        let _ = write!(out.text, ",\"finish_reason\":\"{reason}\"");
    }
    let Some(usage) = action.get("usage") else { return };
    let Some(doc) = usage.doc() else { return };
    let number = |key: &str| doc.root().get(key).filter(|n| n.i64().is_some_and(|n| n >= 0));
    let (Some(input), Some(output)) = (number("input_tokens"), number("output_tokens")) else {
        return;
    };
    out.text.push_str(",\"usage\":");
    let from = out.text.len();
    let _ =
        write!(out.text, "{{\"input_tokens\":{},\"output_tokens\":{}", input.raw(), output.raw());
    if let Some(total) = number("total_tokens") {
        let _ = write!(out.text, ",\"total_tokens\":{}", total.raw());
    }
    out.text.push('}');
    out.spans.push(("usage", from..out.text.len()));
}

/// Whether content parts are what the document allows.
fn is_content(node: Node<'_, '_>) -> bool {
    node.is_array()
        && node.children().all(|part| {
            let class = part.get("type").and_then(|t| t.str()).unwrap_or_default();
            let keys: &[&str] = match class.as_ref() {
                "text" => &["type", "text"],
                "image" => &["type", "image_url", "image_base64", "media_type"],
                "file" | "audio" | "video" => &["type", "url", "data", "media_type", "name"],
                _ => return false,
            };
            part.members().all(|(key, value)| {
                key.str().is_some_and(|k| keys.contains(&k.as_ref())) && value.is_string()
            })
        })
}

fn are_attachments(list: &Raw<'_>) -> bool {
    list.doc().is_some_and(|doc| {
        doc.root().is_array()
            && doc.root().children().all(|a| {
                a.get("name").is_some_and(Node::is_string)
                    && a.get("media_type").is_some_and(Node::is_string)
                    && a.members().all(|(key, _)| {
                        ["name", "url", "data", "media_type", "size_bytes"].contains(&key.body())
                    })
            })
    })
}

struct Out {
    text: String,
    spans: Vec<(&'static str, Range<usize>)>,
}

impl Out {
    fn open(&mut self, action_type: &str, sequence: usize, time: &str) {
        self.text.push_str("{\"action_type\":\"");
        push_escaped(action_type, &mut self.text);
        self.text.push_str("\",\"timestamp\":");
        let from = self.text.len();
        self.text.push_str(time);
        self.spans.push(("timestamp", from..self.text.len()));
        let _ = write!(self.text, ",\"sequence\":{sequence}");
    }

    fn agent(&mut self, action: &Action) {
        match action.agent.as_ref().filter(|a| a.body().is_some()) {
            Some(agent) => self.value("agent_id", agent),
            None => self.text.push_str(",\"agent_id\":\"agent\""),
        }
    }

    /// A string the document requires, empty if there is none.
    fn string(&mut self, key: &'static str, value: Option<&Raw<'_>>) {
        match value.filter(|v| v.body().is_some()) {
            Some(value) => self.value(key, value),
            None => {
                let _ = write!(self.text, ",\"{key}\":\"\"");
            }
        }
    }

    /// A value in the compact, minimal spelling.
    fn value(&mut self, key: &'static str, value: &Raw<'_>) {
        let _ = write!(self.text, ",\"{key}\":");
        let from = self.text.len();
        match value.body() {
            Some(body) => self.literal(body),
            None => match Doc::parse(value) {
                Ok(doc) => self.text.push_str(&compact(doc.root())),
                Err(_) => self.text.push_str("null"),
            },
        }
        self.spans.push((key, from..self.text.len()));
    }

    fn literal(&mut self, body: &str) {
        self.text.push('"');
        self.text.push_str(&text::minimal(body));
        self.text.push('"');
    }

    fn content(&mut self, action: &Action) {
        if let Some(content) = action.get("content") {
            if content.doc().is_some_and(|doc| is_content(doc.root())) {
                self.value("content", content);
            } else {
                // Structured in a way the document has no words for: its text, as text.
                self.text.push_str(",\"content\":\"");
                push_escaped(&action.text(), &mut self.text);
                self.text.push('"');
            }
            return;
        }
        self.text.push_str(",\"content\":");
        let from = self.text.len();
        match action.pieces.as_slice() {
            [] => self.text.push_str("\"\""),
            [piece] => self.literal(&piece.body),
            pieces if action.kind == ActionKind::Thinking => {
                let all: String = pieces.iter().map(|p| p.body.as_str()).collect();
                self.literal(&all);
            }
            pieces => {
                for (i, piece) in pieces.iter().enumerate() {
                    self.text.push_str(if i > 0 { "," } else { "[" });
                    self.text.push_str("{\"type\":\"text\",\"text\":");
                    self.literal(&piece.body);
                    self.text.push('}');
                }
                self.text.push(']');
            }
        }
        self.spans.push(("content", from..self.text.len()));
    }
}
