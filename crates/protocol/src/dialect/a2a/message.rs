//! Messages, errors and agent cards to events.

use super::decode::{Out, Reader, Scope};
use super::model::{ANSWER_FIELDS, is_user};
use super::part::{Shapes, content, pieces};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};

impl Reader {
    /// Marks what a message repeats of its surroundings; its event is pushed next.
    pub(super) fn frame<'a>(
        &mut self,
        message: Node<'_, 'a>,
        scope: Scope<'a>,
        out: &mut Out<'_, 'a>,
    ) {
        if message.get("parts").is_none() && message.get("content").is_some() {
            self.shapes = Shapes::Draft;
        }
        out.implied(message.get("kind"));
        out.implied(message.get("role"));
        out.implied(message.get("contextId").filter(|n| Some(n.raw()) == scope.context));
        let task = message.get("taskId").filter(|n| Some(n.raw()) == scope.task);
        out.bind(task, out.events.len(), "taskId");
    }

    pub(super) fn message<'a>(
        &mut self,
        message: Node<'_, 'a>,
        scope: Scope<'a>,
        time: Option<Node<'_, 'a>>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(parts) = message_parts(message) else { return };
        let user = is_user(message);
        if !user {
            self.join(out);
        }
        self.frame(message, scope, out);
        let id = message.get("messageId").filter(|n| n.is_string());
        if let Some(id) = id {
            self.seen.insert(id.raw().to_owned());
        }
        let pieces = pieces(parts, self.shapes, out.marks);
        let answer = pieces.iter().find(|p| user && p.value.get("inputId").is_some());
        if let (Some(answer), 1) = (answer, pieces.len()) {
            let ev = out.events.len();
            let mut event = self.task_event(Kind::InputReceived, scope);
            out.marks.open(answer.value);
            for &field in ANSWER_FIELDS {
                if let Some(value) = answer.value.get(field) {
                    out.marks.bind(value, ev, field);
                    event = event.with(field, value);
                }
            }
            out.bind(time, ev, "timestamp");
            out.events.push(event.with_some("timestamp", time));
            return;
        }
        let ev = out.events.len();
        let mut data = Vec::new();
        let content = content(pieces, ev, out.marks, &mut data);
        let metadata = message.some("metadata").filter(|m| m.is_object());
        out.bind(id, ev, "messageId");
        out.bind(metadata, ev, "metadata");
        let event = if user {
            self.task_event(Kind::Message, scope).with("role", Raw::Ref("\"user\""))
        } else {
            self.agent_event(Kind::Message, scope)
                .with("role", Raw::Ref("\"agent\""))
                .with("author", self.agent.clone())
        };
        out.events.push(
            event
                .with_some("messageId", id)
                .with("content", content)
                .with_some("timestamp", time)
                .with_some("metadata", metadata),
        );
        for piece in data {
            let ev = out.events.len();
            piece.bind(ev, "data", "", out.marks);
            out.events.push(
                self.task_event(Kind::System, scope)
                    .with("name", Raw::Ref("\"data\""))
                    .with("data", piece.raw()),
            );
        }
    }

    pub(super) fn error<'a>(&mut self, error: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let Some(message) = error.get("message").filter(|m| m.is_string()) else { return };
        out.marks.open(error);
        self.enter(error, None, out);
        let code = error.some("code").filter(|c| c.is_string() || c.f64().is_some());
        let ev = match self.current.take() {
            // The task that was under way is over.
            Some(task) => {
                self.join(out);
                let ev = out.events.len();
                out.events.push(
                    Event::new(Kind::TaskStatus)
                        .with("taskId", Raw::owned(task))
                        .with("agentId", self.agent.clone())
                        .with("status", Raw::Ref("\"failed\"")),
                );
                ev
            }
            None => {
                out.implied(code);
                let code = code.map(|c| Raw::owned(format!("\"{}\"", c.body())));
                out.events.push(Event::new(Kind::Error).with_some("code", code));
                out.events.len() - 1
            }
        };
        out.marks.bind(message, ev, "message");
        let mut metadata = String::new();
        for (key, value) in error.members() {
            let code =
                key.is("code") && out.events.get(ev).is_some_and(|e| e.get("code").is_some());
            if key.is("message") || code || key.body().contains(['~', '/', '\\']) {
                continue;
            }
            metadata.push(if metadata.is_empty() { '{' } else { ',' });
            metadata.push_str(key.raw());
            metadata.push(':');
            metadata.push_str(value.raw());
            out.marks.bind_at(value, ev, "metadata", &format!("/{}", key.body()));
        }
        if let Some(event) = out.events.get_mut(ev) {
            event.set("message", message);
            if !metadata.is_empty() {
                metadata.push('}');
                event.set("metadata", Raw::owned(metadata));
            }
        }
    }

    /// An agent card: who takes part.
    pub(super) fn card<'a>(&mut self, card: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        self.enter(card, None, out);
        let ev = out.events.len();
        let url = card.some("url").filter(|u| u.is_string());
        let id = match url {
            Some(url) => {
                out.marks.bind(url, ev, "participantId");
                Raw::from(url)
            }
            None => {
                let url = card.pointer("/supportedInterfaces/0/url").filter(|u| u.is_string());
                url.map_or_else(|| Raw::to_owned(&self.agent), Raw::from)
            }
        };
        let mut event = Event::new(Kind::ParticipantJoined)
            .with("participantId", id)
            .with("role", Raw::Ref("\"agent\""));
        for (key, field) in [("name", "name"), ("version", "version"), ("skills", "capabilities")] {
            if let Some(value) = card.some(key).filter(|v| v.is_string() || v.is_array()) {
                out.marks.bind(value, ev, field);
                event = event.with(field, value);
            }
        }
        if let Some(about) = card.some("description").filter(|d| d.is_string()) {
            out.marks.bind_at(about, ev, "metadata", "/description");
            let metadata = format!("{{\"description\":{}}}", about.raw());
            event = event.with("metadata", Raw::owned(metadata));
        }
        self.joined = true;
        out.events.push(event);
    }
}

/// The parts of a message; the 0.3 draft calls them its content.
pub(super) fn message_parts<'d, 'a>(message: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
    message.get("parts").or_else(|| message.get("content")).filter(|n| n.is_array())
}
