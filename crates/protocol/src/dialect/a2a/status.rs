//! The states of tasks to events, with what agents say along with them.

use super::decode::{Out, Reader, Scope};
use super::message::message_parts;
use super::model::{AUTH_FIELDS, EVENTS_EXTENSION, INPUT_FIELDS, State, is_user, usual_input};
use super::part::{Class, Piece, pieces};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};

/// What a status says beside its state.
#[derive(Clone, Copy)]
struct Told<'d, 'a> {
    time: Option<Node<'d, 'a>>,
    metadata: Option<Node<'d, 'a>>,
}

impl Reader {
    pub(super) fn status<'a>(
        &mut self,
        status: Node<'_, 'a>,
        metadata: Option<Node<'_, 'a>>,
        scope: Scope<'a>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(state) = status.get("state") else { return };
        let Some(now) = State::read(state) else { return };
        out.marks.open(status);
        let told = Told {
            time: status.some("timestamp").filter(|t| t.is_string()),
            metadata: metadata.filter(|m| m.is_object()),
        };
        let message = status.some("message").filter(|m| m.is_object());
        if let Some(message) = message {
            out.marks.open(message);
            if let Some(id) = message.get("messageId") {
                self.seen.insert(id.raw().to_owned());
            }
        }
        if let Some(extension) = told.metadata.and_then(|m| m.get(EVENTS_EXTENSION))
            && let Some(mut event) = Event::parse(extension)
            && message.is_none()
            && is_plain(extension)
        {
            out.marks.implied(state);
            out.bind(
                told.time.filter(|_| event.get("timestamp").is_none()),
                out.events.len(),
                "timestamp",
            );
            out.implied(told.time.filter(|_| event.get("timestamp").is_some()));
            out.bind_extension(told.metadata, extension);
            if let Some(time) = told.time.filter(|_| event.get("timestamp").is_none()) {
                event.set("timestamp", time);
            }
            if let Some(task) = scope.task.filter(|_| event.get("taskId").is_none()) {
                event.set("taskId", Raw::Ref(task));
            }
            out.events.push(event);
            return;
        }
        match now {
            State::Submitted => {
                self.create(Some(status), told.metadata, scope, out);
                out.marks.implied(state);
                return;
            }
            State::InputRequired if message.is_some_and(|m| !is_user(m)) => {
                self.ask(Kind::InputRequired, message, told, scope, out);
            }
            State::AuthRequired if message.is_some_and(has_data) => {
                self.ask(Kind::AuthRequired, message, told, scope, out);
            }
            State::Completed => {
                if let Some(message) = message {
                    self.message(message, scope, told.time, out);
                }
                self.close_texts(scope, out);
            }
            _ => {
                if now.is_terminal() {
                    self.close_texts(scope, out);
                }
                self.line(now, message, told, scope, out);
                out.marks.implied(state);
                self.left(now, scope);
                return;
            }
        }
        out.marks.implied(state);
        let asked = now.is_interrupted();
        self.status_event(now, None, told, asked, scope, out);
        self.left(now, scope);
    }

    fn left(&mut self, now: State, scope: Scope<'_>) {
        if now.is_terminal() && self.current.as_deref() == scope.task {
            self.current = None;
        } else if !now.is_terminal() {
            self.current = scope.task.map(ToOwned::to_owned);
        }
    }

    /// A state with what the agent says of it, as one event where the text is all there is.
    fn line<'a>(
        &mut self,
        now: State,
        message: Option<Node<'_, 'a>>,
        told: Told<'_, 'a>,
        scope: Scope<'a>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(message) = message else {
            self.status_event(now, None, told, false, scope, out);
            return;
        };
        let mut parts = message_parts(message).into_iter().flat_map(Node::children);
        let text = match (parts.next(), parts.next()) {
            (Some(part), None) => part.get("text").filter(|t| t.is_string()),
            _ => None,
        };
        if let Some(text) = text.filter(|_| !is_user(message)) {
            self.join(out);
            self.frame(message, scope, out);
            if let Some(parts) = message_parts(message) {
                pieces(parts, self.shapes, out.marks);
            }
            self.status_event(now, Some(text), told, false, scope, out);
        } else if is_user(message) && now == State::Working {
            self.message(message, scope, told.time, out);
        } else {
            self.message(message, scope, None, out);
            self.status_event(now, None, told, false, scope, out);
        }
    }

    fn status_event<'a>(
        &mut self,
        now: State,
        text: Option<Node<'_, 'a>>,
        told: Told<'_, 'a>,
        asked: bool,
        scope: Scope<'a>,
        out: &mut Out<'_, 'a>,
    ) {
        let (kind, status) = match now {
            State::Completed => (Kind::TaskComplete, None),
            State::InputRequired => (Kind::TaskStatus, Some("\"waiting-input\"")),
            State::AuthRequired => (Kind::TaskStatus, Some("\"waiting-auth\"")),
            State::Failed | State::Rejected => (Kind::TaskStatus, Some("\"failed\"")),
            State::Canceled => (Kind::TaskStatus, Some("\"canceled\"")),
            State::Working | State::Submitted => (Kind::TaskStatus, Some("\"working\"")),
        };
        self.join(out);
        let ev = out.events.len();
        let mut event = self
            .agent_event(kind, scope)
            .with_some("status", status.map(Raw::Ref))
            .with_some("message", text)
            .with_some("timestamp", told.time);
        out.bind(text, ev, "message");
        if !asked {
            out.bind(told.time, ev, "timestamp");
            if now == State::Rejected {
                event = event.with("metadata", rejected(told.metadata, ev, out));
            } else if let Some(metadata) = told.metadata {
                out.marks.bind(metadata, ev, "metadata");
                event = event.with("metadata", metadata);
            }
        }
        out.events.push(event);
    }

    /// A question to the user.
    fn ask<'a>(
        &mut self,
        kind: Kind,
        message: Option<Node<'_, 'a>>,
        told: Told<'_, 'a>,
        scope: Scope<'a>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(message) = message else { return };
        self.join(out);
        let ev = out.events.len();
        self.frame(message, scope, out);
        let (id_field, type_field, fields) = match kind {
            Kind::AuthRequired => ("authId", "authType", AUTH_FIELDS),
            _ => ("inputId", "inputType", INPUT_FIELDS),
        };
        let id = message.get("messageId").filter(|n| n.is_string());
        out.bind(id, ev, id_field);
        let parts: Vec<Piece<'_, 'a>> = message_parts(message)
            .map(|parts| pieces(parts, self.shapes, out.marks))
            .unwrap_or_default();
        let prompt = parts.iter().find(|p| p.class == Class::Text);
        if let Some(prompt) = prompt {
            prompt.bind(ev, "prompt", "", out.marks);
        }
        let data = parts.iter().find(|p| p.class == Class::Data && p.value.is_object());
        let has = |key| data.is_some_and(|d| d.value.get(key).is_some());
        let mut event = self.agent_event(kind, scope).with_some(id_field, id);
        if !has(type_field) {
            let usual = if kind == Kind::AuthRequired {
                Raw::Ref("\"custom\"")
            } else {
                usual_input(has("schema"), has("options"))
            };
            event = event.with(type_field, usual);
        }
        event = event.with("prompt", prompt.map_or(Raw::Ref("\"\""), Piece::raw));
        if let Some(data) = data {
            out.marks.open(data.value);
            for &field in fields {
                if let Some(value) = data.value.get(field) {
                    out.marks.bind(value, ev, field);
                    event = event.with(field, value);
                }
            }
        }
        out.bind(told.time, ev, "timestamp");
        out.bind(told.metadata, ev, "metadata");
        out.events
            .push(event.with_some("timestamp", told.time).with_some("metadata", told.metadata));
    }
}

impl<'a> Out<'_, 'a> {
    /// Binds the members of one of our own events, which is pushed next.
    fn bind_extension(&mut self, metadata: Option<Node<'_, 'a>>, extension: Node<'_, 'a>) {
        let ev = self.events.len();
        if let Some(metadata) = metadata {
            self.marks.open(metadata);
        }
        self.marks.open(extension);
        let spec = extension
            .get("kind")
            .and_then(|k| k.str())
            .and_then(|k| crate::journal::kind::spec(Kind::named(&k)));
        for (key, value) in extension.members() {
            let common = crate::journal::kind::COMMON.iter();
            let own = spec.map_or(&[][..], |s| s.fields).iter();
            if key.is("kind") {
                self.marks.implied(value);
            } else if let Some(field) = own.chain(common).find(|f| key.is(f.name)) {
                self.marks.bind(value, ev, field.name);
            }
        }
    }
}

/// Whether no key is repeated.
fn is_plain(object: Node<'_, '_>) -> bool {
    let mut keys: Vec<_> = object.members().filter_map(|(key, _)| key.str()).collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    keys.len() == count
}

fn has_data(message: Node<'_, '_>) -> bool {
    message_parts(message)
        .is_some_and(|p| p.children().any(|p| p.get("data").is_some_and(Node::is_object)))
}

/// The metadata of a task that was refused: the reason, and what the wire says.
fn rejected<'a>(metadata: Option<Node<'_, 'a>>, ev: usize, out: &mut Out<'_, 'a>) -> Raw<'a> {
    let mut text = String::from("{\"reason\":\"rejected\"");
    if let Some(metadata) = metadata {
        out.marks.open(metadata);
        for (key, value) in metadata.members() {
            if key.is("reason") || key.body().contains(['~', '/', '\\']) {
                continue;
            }
            text.push(',');
            text.push_str(key.raw());
            text.push(':');
            text.push_str(value.raw());
            out.marks.bind_at(value, ev, "metadata", &format!("/{}", key.body()));
        }
    }
    text.push('}');
    Raw::owned(text)
}
