//! Threads, messages, runs, run steps and stream events to events.
//!
//! The stream repeats whole objects as they change; what they say is read once, when it is new.

mod message;
mod run;
mod step;

use std::collections::{HashMap, HashSet};

use crate::dialect::draft::inner_json;
use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;
use crate::time;

/// Reads one object after the other.
pub(super) struct Reader {
    opening: Opening,
    /// Assistants that were introduced.
    joined: HashSet<String>,
    runs: HashMap<String, run::Run>,
    /// The run that was heard of last.
    current: Option<Raw<'static>>,
    messages: HashMap<String, message::Message>,
    steps: HashMap<String, step::Step>,
    calls: HashMap<String, step::Call>,
}

/// Where the meaning of a record goes.
struct Out<'m, 'a> {
    marks: &'m mut Marks,
    events: &'m mut Vec<Event<'a>>,
}

impl<'a> Out<'_, 'a> {
    /// The number of the next event.
    fn next(&self) -> usize {
        self.events.len()
    }

    fn push(&mut self, event: Event<'a>) {
        self.events.push(event);
    }

    fn bind(&mut self, node: Option<Node<'_, '_>>, field: &'static str) {
        let next = self.next();
        if let Some(node) = node {
            self.marks.bind(node, next, field);
        }
    }

    fn implied(&mut self, node: Option<Node<'_, '_>>) {
        if let Some(node) = node {
            self.marks.implied(node);
        }
    }

    /// Binds a string that may hold JSON, and gives the value it stands for.
    fn json(&mut self, node: Node<'_, 'a>, field: &'static str) -> Raw<'a> {
        let next = self.next();
        match inner_json(node) {
            Some(inner) => {
                self.marks.quoted(node, next, field);
                inner
            }
            None => {
                self.marks.bind(node, next, field);
                node.into()
            }
        }
    }
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            joined: HashSet::new(),
            runs: HashMap::new(),
            current: None,
            messages: HashMap::new(),
            steps: HashMap::new(),
            calls: HashMap::new(),
        }
    }

    fn value<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let Some(object) = node.get("object") else {
            return self.bare(node, out);
        };
        match object.body() {
            "thread" => self.thread(node, out),
            "thread.message" => self.message(node, out),
            "thread.message.delta" => self.message_delta(node, out),
            "thread.run" => self.run(node, out),
            "thread.run.step" => self.step(node, out),
            "thread.run.step.delta" => self.step_delta(node, out),
            "list" => self.list(node, out),
            _ => return,
        }
        out.marks.implied(object);
    }

    /// Objects that do not say what they are.
    fn bare<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        if let (Some(name), Some(data)) = (node.get("event"), node.get("data")) {
            // Some servers put the event's name into the data.
            if name.is_string() && data.is_object() {
                out.marks.implied(name);
                out.marks.open(data);
                self.value(data, out);
            }
        } else if let Some(outputs) = node.get("tool_outputs").filter(|o| o.is_array()) {
            self.tool_outputs(node, outputs, out);
        } else if let Some(message) = node.get("message").filter(|m| m.is_string())
            && node.get("role").is_none()
        {
            self.error(node, message, out);
        } else if let Some(error) = node.get("error").filter(|e| e.is_object())
            && let Some(message) = error.get("message").filter(|m| m.is_string())
        {
            out.marks.open(error);
            self.error(error, message, out);
        }
    }

    fn thread<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let Some(id) = node.get("id").filter(|id| id.is_string()) else { return };
        let metadata = node.some("metadata").filter(|m| m.is_object());
        let field = |name| metadata.and_then(|m| m.some(name)).filter(|v| v.is_string());
        let (title, parent) = (field("topic"), field("parent_id"));
        let created = node.some("created_at");
        out.implied(created);
        match self.opening.open(Some(id.into()), node.raw()) {
            Some(event) => {
                if let Some(metadata) = metadata.filter(|_| title.is_some() || parent.is_some()) {
                    out.marks.open(metadata);
                }
                out.bind(Some(id), "contextId");
                out.bind(title, "title");
                out.bind(parent, "parentThreadId");
                out.push(
                    event
                        .with_some("title", title)
                        .with_some("parentThreadId", parent)
                        .with_some("createdAt", created.and_then(stamp)),
                );
            }
            None => out.marks.implied(id),
        }
        // A thread that brings its messages along.
        if let Some(messages) = node.get("messages") {
            let list = messages.get("data").filter(|_| messages.is_object());
            if let Some(data) = list {
                out.marks.open(messages);
                self.elements(data, out);
            } else if messages.is_array() {
                self.elements(messages, out);
            }
        }
    }

    fn list<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        for name in ["first_id", "last_id"] {
            out.implied(node.some(name));
        }
        if let Some(data) = node.get("data").filter(|d| d.is_array()) {
            self.elements(data, out);
        }
    }

    /// Reads the elements of a list in the order they happened: pages usually come newest first.
    fn elements<'a>(&mut self, list: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        out.marks.list(list);
        let mut items: Vec<_> = list.children().collect();
        let made = |node: Option<&Node<'_, '_>>| node.and_then(|n| n.get("created_at")?.i64());
        if made(items.first()) > made(items.last()) {
            items.reverse();
        }
        for item in items {
            self.value(item, out);
        }
    }

    /// Begins the thread, if this is the first that is heard of it.
    fn heard<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let id = node.some("thread_id").filter(|id| id.is_string());
        match self.opening.open(id.map(Raw::from), node.raw()) {
            Some(event) => {
                out.bind(id, "contextId");
                out.push(event);
            }
            None => out.implied(id),
        }
    }

    /// Introduces an assistant the first time it is heard of.
    fn join<'a>(
        &mut self,
        assistant: Option<Node<'_, 'a>>,
        model: Option<Node<'_, 'a>>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(assistant) = assistant else { return };
        if !self.joined.insert(assistant.raw().to_owned()) {
            out.marks.implied(assistant);
            out.implied(model);
            return;
        }
        out.bind(Some(assistant), "participantId");
        out.bind(model, "model");
        out.push(
            Event::new(Kind::ParticipantJoined)
                .with("participantId", assistant)
                .with("role", Raw::Ref("\"agent\""))
                .with_some("model", model),
        );
    }

    fn error<'a>(&mut self, node: Node<'_, 'a>, message: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let code = node.some("code").filter(|c| c.is_string());
        out.bind(Some(message), "message");
        out.bind(code, "code");
        let task =
            self.current.clone().filter(|t| self.runs.get(t.as_str()).is_some_and(|r| !r.done));
        out.push(
            Event::new(Kind::Error)
                .with_some("taskId", task.clone())
                .with_some("code", code)
                .with("message", message),
        );
        if let Some(task) = task {
            if let Some(run) = self.runs.get_mut(task.as_str()) {
                run.done = true;
            }
            out.push(
                Event::new(Kind::TaskStatus)
                    .with("taskId", task)
                    .with("status", Raw::Ref("\"failed\""))
                    .with("message", message),
            );
        }
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::OpenaiThreads;

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        self.value(root, &mut Out { marks, events });
    }
}

/// Unix seconds as RFC 3339 text.
fn stamp<'a>(seconds: Node<'_, '_>) -> Option<Raw<'a>> {
    time::from_seconds(seconds.i64()?).map(|text| Raw::string(&text))
}

/// Token counts under the journal's names, bound one by one to the event that comes next.
fn usage<'a>(node: Node<'_, 'a>, out: &mut Out<'_, 'a>) -> Option<Raw<'a>> {
    let usage = node.some("usage").filter(|u| u.is_object())?;
    out.marks.open(usage);
    let mut text = String::from("{");
    for (name, key) in [
        ("input_tokens", "prompt_tokens"),
        ("output_tokens", "completion_tokens"),
        ("total_tokens", "total_tokens"),
    ] {
        let Some(value) = usage.some(key) else { continue };
        let next = out.next();
        out.marks.bind_at(value, next, "usage", &format!("/{name}"));
        if text.len() > 1 {
            text.push(',');
        }
        text.push('"');
        text.push_str(name);
        text.push_str("\":");
        text.push_str(value.raw());
    }
    text.push('}');
    Some(Raw::owned(text))
}
