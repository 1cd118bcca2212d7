//! Events to ModelMessages.
//!
//! Invariant: what is written here is what `ModelMessagesTypeAdapter` of the version asked for
//! dumps again after loading it, byte for byte.

mod part;
mod time;
mod usage;
mod value;

use crate::dialect::{EncodeOptions, Encoder, Id, Records};
use crate::journal::{Batch, Kind};
use crate::json::{Doc, Node, Raw};
use crate::perspective::{Entry, History, Item, Policy, Side, Turn, View, turns};
use crate::record::Role;
use crate::residue::render;

/// Whether a JSON value is a time that the package can read.
pub(super) fn is_time(value: &str) -> bool {
    time::is_time(&Raw::Ref(value))
}

/// The package's major version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// Gathers events and writes the messages at the end.
pub(super) struct Writer {
    version: Version,
    agent: Option<String>,
    history: History,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        let mut history = History::new();
        history.context = options.thread_id.as_deref().map(Raw::string);
        Self {
            version: if options.major() == Some(1) { Version::One } else { Version::Two },
            agent: options.agent.clone(),
            history,
        }
    }
}

impl Writer {
    /// A message of the package's own that has no parts is still one.
    fn silence(&mut self, batch: &Batch<'_>) {
        let own = batch.frame.as_ref().filter(|f| f.dialect == Id::PydanticAi);
        let mut text = String::new();
        let Some(frame) = own.filter(|f| f.role == Role::Item) else { return };
        if render(frame, &batch.events, &mut text).is_err() {
            return;
        }
        let Ok(doc) = Doc::parse(&text) else { return };
        let [kind, parts, run, at] = doc.root().select(["kind", "parts", "run_id", "timestamp"]);
        let side = match kind {
            Some(kind) if kind.is("request") => Side::Input,
            Some(kind) if kind.is("response") => Side::Output,
            _ => return,
        };
        if parts.is_some_and(|p| p.is_array() && p.children().next().is_none()) {
            let own = |node: Option<Node<'_, '_>>| {
                node.filter(|n| n.is_string()).map(|n| Raw::owned(n.raw()))
            };
            let task = batch.events.iter().find_map(|event| event.get("taskId"));
            let task = own(run).or_else(|| task.map(Raw::to_owned));
            self.history.silence(side, task, own(at));
        }
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, _out: &mut Records) {
        let before = self.history.items.len();
        for event in &batch.events {
            self.history.apply(event);
        }
        let mut new = self.history.items.iter().skip(before);
        if new.all(|item| matches!(item, Item::Instructions(_))) {
            self.silence(batch);
        }
    }

    /// What is replayed is written already: only the thread and who takes part matter later.
    fn observe(&mut self, batch: &Batch<'_>) {
        for event in &batch.events {
            if matches!(event.kind(), Kind::ThreadCreated | Kind::ParticipantJoined) {
                self.history.apply(event);
            }
        }
    }

    fn pause(&mut self, out: &mut Records) {
        self.finish(out);
        let written = std::mem::replace(&mut self.history, History::new());
        self.history.context = written.context;
        self.history.participants = written.participants;
    }

    fn finish(&mut self, out: &mut Records) {
        let view = match &self.agent {
            Some(agent) => View::Agent(agent, Policy::default()),
            None => View::Recorder,
        };
        for turn in turns(&self.history, view) {
            let message = Message { version: self.version, history: &self.history, turn: &turn };
            out.item(match turn.side {
                Side::Input => message.request(),
                Side::Output => message.response(),
            });
        }
    }
}

/// One message being written.
struct Message<'h> {
    version: Version,
    history: &'h History,
    turn: &'h Turn,
}

impl Message<'_> {
    fn request(&self) -> String {
        let mut out = String::from("{\"parts\":[");
        let mut list = part::List::new(self.version, self.history, &mut out);
        for entry in &self.turn.entries {
            list.request(entry);
        }
        out.push_str("],\"timestamp\":");
        time::push_or_null(self.turn.call.timestamp.as_ref().or(self.began()), &mut out);
        out.push_str(",\"instructions\":");
        value::text_or_null(self.turn.instructions.as_ref(), &mut out);
        out.push_str(",\"kind\":\"request\"");
        self.ids(&mut out);
        match self.message_id() {
            Some(id) => {
                out.push_str(",\"metadata\":{\"__pydantic_ai__\":{\"ui_message_id\":");
                value::text_or_null(Some(id), &mut out);
                out.push_str("}}");
            }
            None => out.push_str(",\"metadata\":null"),
        }
        if self.version == Version::Two {
            out.push_str(",\"state\":\"complete\"");
        }
        out.push('}');
        out
    }

    fn response(&self) -> String {
        let call = &self.turn.call;
        let mut out = String::from("{\"parts\":[");
        let mut list = part::List::new(self.version, self.history, &mut out);
        for entry in &self.turn.entries {
            list.response(entry);
        }
        out.push_str("],\"usage\":");
        usage::push(call.usage.as_ref(), self.version, &mut out);
        out.push_str(",\"model_name\":");
        value::text_or_null(call.model.as_ref(), &mut out);
        if self.version == Version::Two {
            out.push_str(",\"model_id\":null");
        }
        out.push_str(",\"timestamp\":");
        time::push(call.timestamp.as_ref().or(self.began()), &mut out);
        out.push_str(",\"kind\":\"response\",\"provider_name\":");
        value::text_or_null(call.provider.as_ref(), &mut out);
        out.push_str(",\"provider_url\":null");
        if self.version == Version::Two {
            out.push_str(",\"canonical_system\":null");
        }
        out.push_str(",\"provider_details\":null,\"provider_response_id\":null,\"finish_reason\":");
        let reason = call.finish.as_ref().and_then(Raw::body);
        out.push_str(match reason {
            Some("stop") => "\"stop\"",
            Some("length") => "\"length\"",
            Some("content_filter") => "\"content_filter\"",
            Some("tool_calls" | "tool_call") => "\"tool_call\"",
            Some("error") => "\"error\"",
            _ => "null",
        });
        self.ids(&mut out);
        out.push_str(",\"metadata\":null");
        if self.version == Version::Two {
            out.push_str(
                ",\"workspace_ref\":null,\"history_digest\":null,\"failed_attempts\":null",
            );
        }
        out.push_str(match reason {
            Some("interrupted") => ",\"state\":\"interrupted\"}",
            _ => ",\"state\":\"complete\"}",
        });
        out
    }

    fn ids(&self, out: &mut String) {
        out.push_str(",\"run_id\":");
        value::text_or_null(self.turn.task.as_ref(), out);
        out.push_str(",\"conversation_id\":");
        value::text_or_null(self.history.context.as_ref(), out);
    }

    /// When its first entry began.
    fn began(&self) -> Option<&Raw<'static>> {
        self.turn.entries.iter().find_map(|entry| match entry {
            Entry::Action(at) | Entry::Prompt(at) => {
                self.history.transcript.actions().get(*at)?.timestamp.as_ref()
            }
            Entry::File(at) => self.history.files.get(*at)?.timestamp.as_ref(),
            Entry::Told { timestamp, .. } => timestamp.as_ref(),
        })
    }

    /// The id of the user's message, where the peer's adapters keep it.
    fn message_id(&self) -> Option<&Raw<'static>> {
        self.turn.entries.iter().find_map(|entry| match entry {
            Entry::Action(at) => self.history.transcript.actions().get(*at)?.get("messageId"),
            _ => None,
        })
    }
}
