//! One thing said or done.

use crate::json::{Raw, text};

/// What sort of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionKind {
    /// A user said something.
    UserMessage,
    /// An agent said something.
    AssistantMessage,
    /// An agent thought.
    Thinking,
    /// An agent called a tool.
    ToolCall,
    /// A tool returned.
    ToolReturn,
    /// Anything an application records for itself.
    System,
}

impl ActionKind {
    /// Whether an agent's model call makes it.
    pub fn is_agents(self) -> bool {
        matches!(self, Self::AssistantMessage | Self::Thinking | Self::ToolCall)
    }
}

/// An action with its fields as raw JSON, named as in the events they came from.
#[derive(Debug, Clone)]
pub struct Action {
    /// What sort of action.
    pub kind: ActionKind,
    /// The model call it belongs to; 0 for none. Actions of one call share it.
    pub step: u32,
    /// The task it belongs to.
    pub task: Option<Raw<'static>>,
    /// The agent that did it.
    pub agent: Option<Raw<'static>>,
    /// When it began.
    pub timestamp: Option<Raw<'static>>,
    /// Its text, in pieces; empty where `content` is a field of its own.
    pub pieces: Vec<Piece>,
    /// For a call: the action that is its return. For a return: its call.
    pub counterpart: Option<usize>,
    /// Whether a later attempt replaced it.
    pub superseded: bool,
    arguments: Option<Piece>,
    fields: Vec<(&'static str, Raw<'static>)>,
}

impl Action {
    pub(super) fn new(kind: ActionKind, step: u32) -> Self {
        Self {
            kind,
            step,
            task: None,
            agent: None,
            timestamp: None,
            pieces: Vec::new(),
            counterpart: None,
            superseded: false,
            arguments: None,
            fields: Vec::new(),
        }
    }

    /// A field's value.
    pub fn get(&self, name: &str) -> Option<&Raw<'static>> {
        self.fields.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// All fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &Raw<'static>)> {
        self.fields.iter().map(|(n, v)| (*n, v))
    }

    /// The whole text, decoded.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            out.push_str(&text::decode(&piece.body));
        }
        if let Some(content) = self.get("content") {
            push_content_text(content, &mut out);
        }
        out
    }

    /// The arguments as the model streamed them, as a string body; `None` if it did not.
    pub fn arguments_text(&self) -> Option<&str> {
        self.arguments.as_ref().map(|p| p.body.as_str())
    }

    /// A tool call's arguments: the value, or what was streamed of it as a value.
    pub fn arguments(&self) -> Raw<'static> {
        if let Some(value) = self.get("arguments") {
            return value.clone();
        }
        let streamed = self.arguments_text().unwrap_or("");
        let decoded = text::decode(streamed);
        if crate::json::Doc::parse_within(&decoded, crate::json::INNER_DEPTH).is_ok() {
            return Raw::owned(decoded.as_ref());
        }
        Raw::owned(format!("\"{streamed}\""))
    }

    pub(super) fn set(&mut self, name: &'static str, value: Raw<'static>) {
        match self.fields.iter_mut().find(|(n, _)| *n == name) {
            Some(field) => field.1 = value,
            None => self.fields.push((name, value)),
        }
    }

    pub(super) fn append_arguments(&mut self, body: &str) -> usize {
        self.arguments.get_or_insert_with(Piece::open).append(body)
    }
}

/// The text of structured content: its text parts, one after the other.
fn push_content_text(content: &Raw<'_>, out: &mut String) {
    let Some(doc) = content.doc() else { return };
    for part in doc.root().children() {
        if let Some(text) = part.get("text").and_then(|t| t.str()) {
            out.push_str(&text);
        }
    }
}

/// A stretch of text: the body of a JSON string, escapes as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text so far.
    pub body: String,
}

impl Piece {
    pub(super) fn open() -> Self {
        Self { body: String::new() }
    }

    pub(super) fn closed(body: &str) -> Self {
        Self { body: body.to_owned() }
    }

    /// Adds text; returns how many UTF-16 units it was.
    pub(super) fn append(&mut self, body: &str) -> usize {
        self.body.push_str(body);
        text::utf16_len(body)
    }

    /// Whether the piece says the same as a body, however spelled.
    pub fn says(&self, body: &str) -> bool {
        self.body == body || text::minimal(&self.body) == text::minimal(body)
    }
}
