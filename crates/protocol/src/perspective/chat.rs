//! What the chat messages of all providers have in common: turns read out into plain pieces.

use std::collections::HashSet;

use super::content::{Part, parts};
use super::history::History;
use super::turns::{Entry, Side, turns};
use super::{Media, REDACTED, Source, View};
use crate::journal::transcript::{Action, ActionKind};
use crate::json::{Doc, Raw, compact, text};

/// A conversation as a request to a model has it.
#[derive(Debug, Default)]
pub(super) struct Chat {
    /// System prompts and instructions, each once.
    pub(super) system: Vec<String>,
    /// What was said and done, the sides in turn.
    pub(super) messages: Vec<Message>,
}

/// One side's turn.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) side: Side,
    pub(super) pieces: Vec<Piece>,
}

/// A piece of a message.
#[derive(Debug)]
pub(super) enum Piece {
    Text(String),
    Media(Media),
    Thought(Thought),
    Call { id: String, name: String, arguments: Raw<'static> },
    Return { id: String, name: String, failed: bool, content: Raw<'static> },
}

/// What a model thought.
#[derive(Debug)]
pub(super) struct Thought {
    pub(super) text: String,
    signature: Option<String>,
    provider: Option<String>,
    id: Option<String>,
}

impl Thought {
    /// Whether it may be sent back to providers whose names begin so.
    pub(super) fn is_of(&self, provider: &str) -> bool {
        self.provider.as_deref().is_none_or(|name| name.starts_with(provider))
    }

    /// Whether it says that it is of this provider.
    pub(super) fn is_named(&self, provider: &str) -> bool {
        self.provider.as_deref() == Some(provider)
    }

    /// The proof that it is a thought of providers whose names begin so.
    pub(super) fn signature(&self, provider: &str) -> Option<&str> {
        self.signature.as_deref().filter(|_| self.is_of(provider))
    }

    /// Whether the signature is all of it, encrypted: [`REDACTED`] says so, or an id as Pydantic AI
    /// gives it. Text that is only left out is not meant.
    pub(super) fn is_redacted(&self) -> bool {
        self.is_named(REDACTED) || self.id.as_deref() == Some("redacted_thinking")
    }
}

/// Reads a thread out. Calls that never returned and returns nobody called for are left out, as
/// no provider takes them; so are calls that the provider ran itself.
pub(super) fn chat(history: &History, view: View<'_>, system: Option<&str>) -> Chat {
    let mut chat = Chat::default();
    chat.prompt(system.map(str::to_owned));
    let mut called: HashSet<String> = HashSet::new();
    for turn in turns(history, view) {
        let instructions = turn.instructions.as_ref().and_then(|i| i.str());
        chat.prompt(instructions.map(|i| i.into_owned()));
        let mut pieces = Vec::new();
        for entry in &turn.entries {
            match entry {
                Entry::Prompt(at) => {
                    let action = history.transcript.actions().get(*at);
                    let said = action.map(|a| words(parts(a.get("data"), None)));
                    chat.prompt(said);
                }
                Entry::Told { content, .. } => said(parts(Some(content), None), &mut pieces),
                Entry::File(at) => {
                    let Some(file) = history.files.get(*at) else { continue };
                    let media_type = file.media_type.as_ref().and_then(|m| m.str());
                    pieces.push(Piece::Media(Media {
                        class: "file",
                        source: Source::Bytes(file.bytes.clone()),
                        media_type: media_type.map_or_else(String::new, |m| m.into_owned()),
                        name: None,
                    }));
                }
                Entry::Action(at) => {
                    if let Some(action) = history.transcript.actions().get(*at) {
                        act(action, &mut called, &mut pieces);
                    }
                }
            }
        }
        chat.add(turn.side, pieces);
    }
    chat
}

impl Chat {
    fn prompt(&mut self, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.is_empty() && !self.system.contains(text)) {
            self.system.push(text);
        }
    }

    fn add(&mut self, side: Side, mut pieces: Vec<Piece>) {
        if pieces.is_empty() {
            return;
        }
        // Providers want a call's return before anything else that is said.
        if side == Side::Input {
            pieces.sort_by_key(|piece| !matches!(piece, Piece::Return { .. }));
        }
        match self.messages.last_mut().filter(|message| message.side == side) {
            Some(message) => message.pieces.append(&mut pieces),
            None => self.messages.push(Message { side, pieces }),
        }
    }
}

fn act(action: &Action, called: &mut HashSet<String>, pieces: &mut Vec<Piece>) {
    let field = |name: &str| action.get(name).and_then(|v| v.str()).map(|s| s.into_owned());
    let id = || field("toolCallId").unwrap_or_default();
    let name = || field("toolName").unwrap_or_else(|| "unknown".to_owned());
    match action.kind {
        ActionKind::UserMessage | ActionKind::AssistantMessage => {
            for piece in &action.pieces {
                pieces.push(Piece::Text(text::decode(&piece.body).into_owned()));
            }
            said(parts(action.get("content"), action.get("attachments")), pieces);
        }
        ActionKind::Thinking => pieces.push(Piece::Thought(Thought {
            text: action.text(),
            signature: field("signature"),
            provider: field("providerName"),
            id: field("thoughtId"),
        })),
        ActionKind::ToolCall => {
            let providers = action.get("providerExecuted").and_then(Raw::bool) == Some(true);
            if action.counterpart.is_some() && !providers {
                called.insert(id());
                let arguments = action.arguments();
                pieces.push(Piece::Call { id: id(), name: name(), arguments });
            }
        }
        ActionKind::ToolReturn => {
            if called.contains(&id()) {
                let failed = action.get("success").and_then(Raw::bool) == Some(false);
                let content = action.get("result").filter(|r| !r.is_null());
                let content = content.or_else(|| action.get("error")).or(action.get("result"));
                let content = content.cloned().unwrap_or(Raw::Ref("null"));
                pieces.push(Piece::Return { id: id(), name: name(), failed, content });
            }
        }
        ActionKind::System => {
            if let Some(data) = action.get("data") {
                pieces.push(Piece::Text(plain(data)));
            }
        }
    }
}

fn said(content: Vec<Part>, pieces: &mut Vec<Piece>) {
    pieces.extend(content.into_iter().map(|part| match part {
        Part::Text(text) => Piece::Text(text),
        Part::Media(media) => Piece::Media(media),
    }));
}

fn words(content: Vec<Part>) -> String {
    let text = content.into_iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Media(_) => None,
    });
    text.collect()
}

/// A value as text for a model: a string as it is, anything else as compact JSON.
pub(super) fn plain(value: &Raw<'_>) -> String {
    match value.str() {
        Some(text) => text.into_owned(),
        None => value.doc().map_or_else(String::new, |doc| compact(doc.root())),
    }
}

/// A value as a JSON object: itself, or under a name if it is something else.
pub(super) fn object(value: &Raw<'_>, name: &str) -> String {
    // Arguments that are the text of an object mean that object.
    let inner = value.str().filter(|text| text.starts_with('{'));
    if let Some(doc) = inner.as_deref().and_then(|text| Doc::parse(text).ok()) {
        return compact(doc.root());
    }
    match value.doc() {
        Some(doc) if doc.root().is_object() => compact(doc.root()),
        Some(doc) => format!("{{\"{name}\":{}}}", compact(doc.root())),
        None => "{}".to_owned(),
    }
}
