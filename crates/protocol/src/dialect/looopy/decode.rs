//! Looopy's events to the journal's, which have the same names and fields.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::model::{context_of, kind_named, known_field, raw_arguments};
use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;
use crate::sse;

/// Fields beyond this many that the kind does not know stay where they are.
const MAX_UNKNOWN: usize = 64;

/// Reads one event after the other.
pub(super) struct Reader {
    opening: Opening,
    /// The kind and the context that the SSE lines around the data give.
    line_kind: Option<String>,
    line_context: Option<Raw<'static>>,
    /// The thread's context as the wire spells it.
    context: Option<Raw<'static>>,
    /// Who works where the source does not say.
    agent: Option<Raw<'static>>,
    /// Who works on a task.
    agents: HashMap<String, Raw<'static>>,
    joined: HashSet<String>,
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            line_kind: None,
            line_context: None,
            context: None,
            agent: options.agent.as_deref().map(Raw::string),
            agents: HashMap::new(),
            joined: HashSet::new(),
        }
    }

    /// The thread's first event, if this is where it begins, and the event's own context, if it
    /// is another than the thread's.
    fn open<'a>(
        &mut self,
        kind: Kind,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) -> Event<'a> {
        let node = root.get("contextId").filter(|c| c.is_string());
        let wire = node.map(Raw::from).or_else(|| self.line_context.clone());
        let mut opened = false;
        let mut event = match self.opening.open(wire.clone(), root.raw()) {
            Some(created) if kind == Kind::ThreadCreated => {
                opened = true;
                created
            }
            Some(created) => {
                opened = true;
                events.push(created.with_some("timestamp", root.some("timestamp")));
                Event::new(kind)
            }
            None => Event::new(kind),
        };
        let own = self.context.get_or_insert_with(|| {
            wire.as_ref().map_or_else(|| Raw::Ref("null"), |wire| Raw::owned(wire.as_str()))
        });
        match (node, wire) {
            (Some(node), _) if opened => marks.bind(node, 0, "contextId"),
            (Some(node), Some(wire)) if *own != wire => {
                marks.bind(node, events.len(), "contextId");
                event.set("contextId", wire);
            }
            (Some(node), _) => marks.implied(node),
            (None, Some(wire)) if *own != wire && !opened => event.set("contextId", wire),
            _ => {}
        }
        event
    }

    /// Notes who works on a new task, and says so the first time.
    fn join<'a>(&mut self, root: Node<'_, 'a>, events: &mut Vec<Event<'a>>) {
        let metadata = root.get("metadata");
        let agent = metadata
            .and_then(|m| m.some("agentId"))
            .or_else(|| root.some("agentId"))
            .filter(|a| a.is_string());
        let (Some(agent), Some(task)) = (agent, root.get("taskId")) else { return };
        self.agents.insert(task.raw().to_owned(), Raw::owned(agent.raw()));
        if self.joined.insert(agent.raw().to_owned()) {
            let model = metadata.and_then(|m| m.some("model")).filter(|m| m.is_string());
            events.push(
                Event::new(Kind::ParticipantJoined)
                    .with("participantId", agent)
                    .with("role", Raw::Ref("\"agent\""))
                    .with_some("model", model)
                    .with_some("timestamp", root.some("timestamp")),
            );
        }
    }

    /// The agent of the event's task, where the event is an agent's and does not say.
    fn attribute(&self, event: &mut Event<'_>) {
        let agents = matches!(
            event.kind(),
            Kind::ContentDelta
                | Kind::ContentComplete
                | Kind::ThoughtStream
                | Kind::ToolCall
                | Kind::ToolStart
        );
        if !agents || event.get("agentId").is_some() {
            return;
        }
        let known = event.get("taskId").and_then(|task| self.agents.get(task.as_str()));
        if let Some(agent) = known.or(self.agent.as_ref()) {
            event.set("agentId", agent.clone());
        }
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::Looopy;

    fn sse_lines(&mut self, event: &str) {
        self.line_kind = None;
        self.line_context = None;
        for field in sse::fields(event) {
            match field.name {
                "event" => self.line_kind = Some(field.value.to_owned()),
                "id" => self.line_context = context_of(field.value).map(Raw::string),
                _ => {}
            }
        }
    }

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let written = root.get("kind").and_then(|k| k.str());
        let kind = match (&written, &self.line_kind) {
            (Some(name), _) => kind_named(name),
            (None, Some(name)) if root.is_object() => kind_named(name),
            _ => return,
        };
        if matches!(kind, Kind::Other | Kind::Opaque) {
            return;
        }
        // An agent's whole message: see the module's documentation.
        let kind = match kind {
            Kind::ContentComplete if root.get("role").is_some() => Kind::Message,
            kind => kind,
        };
        let mut event = self.open(kind, root, marks, events);
        if kind == Kind::TaskCreated {
            self.join(root, events);
        }
        let ev = events.len();
        let parts = root.get("parts").filter(|_| kind == Kind::Message);
        let mut unknown = 0;
        for (key, value) in root.members() {
            let Some(name) = key.str() else { continue };
            match name.as_ref() {
                "kind" => marks.implied(value),
                "contextId" => {}
                "parts" if parts.is_some() => add(&mut event, ev, "content", value, marks),
                "content" if parts.is_some() => marks.implied(value),
                "message" if kind == Kind::Message && value.is_object() => {
                    message(&mut event, ev, value, marks);
                }
                "arguments" => match raw_arguments(value) {
                    Some(inner) => {
                        marks.open(value);
                        add(&mut event, ev, "arguments", inner, marks);
                    }
                    None => add(&mut event, ev, "arguments", value, marks),
                },
                _ => match known_field(kind, &name) {
                    Some(name) => add(&mut event, ev, name, value, marks),
                    None if unknown < MAX_UNKNOWN => {
                        unknown += 1;
                        add_unknown(&mut event, ev, name, value, marks);
                    }
                    None => {}
                },
            }
        }
        self.attribute(&mut event);
        events.push(event);
    }
}

/// Adds a field that the wire's value is. Of repeated members, the first counts.
fn add<'a>(
    event: &mut Event<'a>,
    ev: usize,
    name: &'static str,
    value: Node<'_, 'a>,
    marks: &mut Marks,
) {
    if event.get(name).is_none() {
        marks.bind(value, ev, name);
        event.set(name, value);
    }
}

fn add_unknown<'a>(
    event: &mut Event<'a>,
    ev: usize,
    name: Cow<'a, str>,
    value: Node<'_, 'a>,
    marks: &mut Marks,
) {
    if event.get(&name).is_none() {
        marks.bind_named(value, ev, &name);
        event.set(name, value);
    }
}

/// The message object of Looopy's code: `{role, content, toolCalls?, toolCallId?, name?}`.
fn message<'a>(event: &mut Event<'a>, ev: usize, value: Node<'_, 'a>, marks: &mut Marks) {
    marks.open(value);
    for (key, value) in value.members() {
        match key.str().as_deref() {
            Some("role") if event.get("role").is_none() => {
                let role = match value.str().as_deref() {
                    Some("assistant" | "agent") => "\"agent\"",
                    Some("system") => "\"system\"",
                    Some("tool") => "\"tool\"",
                    _ => "\"user\"",
                };
                marks.implied(value);
                event.set("role", Raw::Ref(role));
            }
            Some("content") => add(event, ev, "content", value, marks),
            Some("toolCallId") => add(event, ev, "toolCallId", value, marks),
            Some("toolCalls") => add(event, ev, "toolCalls", value, marks),
            _ => {}
        }
    }
}
