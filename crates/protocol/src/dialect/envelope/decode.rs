//! Envelopes to events.

use std::collections::HashMap;

use super::model::{THREAD_TAG, tool};
use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

/// Reads one envelope after the other.
pub(super) struct Reader {
    opening: Opening,
    /// Who speaks where the envelope does not say.
    agent: Option<Raw<'static>>,
    /// Agents that spoke before, with what they said of themselves.
    joined: HashMap<String, String>,
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            agent: options.agent.as_deref().map(Raw::string),
            joined: HashMap::new(),
        }
    }

    /// Who speaks: a participant that joins the first time it does.
    fn agent<'a>(
        &mut self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) -> Option<Raw<'a>> {
        let agent = root.get("agent").filter(|a| a.is_object())?;
        let id = agent.get("id").filter(|id| id.is_string())?;
        marks.open(agent);
        let about: Vec<_> = ["name", "model", "version"]
            .into_iter()
            .filter_map(|key| Some((key, agent.some(key).filter(|v| v.is_string())?)))
            .collect();
        match self.joined.get(id.raw()) {
            None => {
                let role = match root.get("role").and_then(|r| r.str()).as_deref() {
                    Some("user") => "\"user\"",
                    Some("system") => "\"service\"",
                    _ => "\"agent\"",
                };
                let mut event = Event::new(Kind::ParticipantJoined)
                    .with("participantId", id)
                    .with("role", Raw::Ref(role));
                for (key, value) in &about {
                    marks.bind(*value, events.len(), key);
                    event = event.with(*key, *value);
                }
                events.push(event.with_some("timestamp", text(root, "timestamp")));
                self.joined.insert(id.raw().to_owned(), agent.raw().to_owned());
            }
            // It said the same when it joined.
            Some(known) if known == agent.raw() => {
                for (_, value) in &about {
                    marks.implied(*value);
                }
            }
            Some(_) => {}
        }
        Some(Raw::from(id))
    }

    fn tool<'a>(root: Node<'_, 'a>, role: &str, ev: usize, marks: &mut Marks) -> Option<Event<'a>> {
        let tool = tool(root)?;
        let args = root.pointer("/outputs/next_actions/0/args");
        let kind = match role {
            "agent" if args.is_some() && tool.data.get("result").is_none() => Kind::ToolCall,
            "tool" => Kind::ToolComplete,
            _ => return None,
        };
        let mut event = Event::new(kind).with("toolCallId", tool.id);
        marks.open(tool.content);
        marks.open(tool.data);
        marks.bind(tool.id, ev, "toolCallId");
        for key in ["inputs", "outputs"] {
            root.get(key).into_iter().for_each(|node| marks.open(node));
        }
        for (list, names) in
            [("/inputs/resources", ["type", "id"]), ("/outputs/next_actions", ["intent", "task"])]
        {
            let Some(list) = root.pointer(list) else { continue };
            marks.list(list);
            for name in names.into_iter().filter(|name| *name != "id") {
                list.children().filter_map(|c| c.get(name)).for_each(|n| marks.implied(n));
            }
        }
        if let Some(name) = tool.name {
            marks.bind(name, ev, "toolName");
            event = event.with("toolName", name);
        }
        for key in ["intent", "task"] {
            root.get(key).into_iter().for_each(|node| marks.implied(node));
        }
        let class = tool.content.get("type");
        class.into_iter().for_each(|node| marks.implied(node));
        if let Some(args) = args.filter(|_| kind == Kind::ToolCall) {
            let mut members = args.members();
            let raw = members.next().filter(|(k, _)| k.is("_raw") && members.next().is_none());
            let value = match raw {
                Some((_, value)) => {
                    marks.open(args);
                    value
                }
                None => args,
            };
            marks.bind(value, ev, "arguments");
            return Some(event.with("arguments", value));
        }
        let failed = class.is_some_and(|c| c.is("error"));
        event = event.with("success", Raw::Ref(if failed { "false" } else { "true" }));
        for (node, field) in [
            (tool.data.get("result"), "result"),
            (tool.content.get("text").filter(|t| failed && t.is_string()), "error"),
            (tool.data.get("outcome").filter(|o| o.is_string()), "outcome"),
        ] {
            if let Some(node) = node {
                marks.bind(node, ev, field);
                event = event.with(field, node);
            }
        }
        Some(event)
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::Envelope;

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let protocol = root.get("protocol").and_then(|p| p.str());
        if !protocol.is_some_and(|p| p.starts_with("multiagent-")) {
            return;
        }
        // It says no more than that this is an envelope.
        root.get("protocol").into_iter().for_each(|protocol| marks.implied(protocol));
        let time = text(root, "timestamp");
        let trace = root.some("trace");
        if let Some(event) = self.opening.open(trace.and_then(thread_of), root.raw()) {
            events.push(event.with_some("timestamp", time));
        }
        let author = self.agent(root, marks, events);
        let ev = events.len();
        let role = match root.get("role").and_then(|r| r.str()).as_deref() {
            Some("user") => "user",
            Some("system") => "system",
            Some("tool") => "tool",
            _ => "agent",
        };
        let agents = matches!(role, "agent" | "tool");
        if let Some(id) = root.get("agent").and_then(|a| a.get("id")).filter(|_| author.is_some()) {
            marks.bind(id, ev, if agents { "agentId" } else { "author" });
        }
        let author = author.or_else(|| self.agent.clone().filter(|_| role == "agent"));
        if let Some(time) = time {
            marks.bind(time, ev, "timestamp");
        }
        if let Some(node) = root.get("role").filter(|r| r.is(role)) {
            marks.implied(node);
        }
        if let Some(event) = Self::tool(root, role, ev, marks) {
            events.push(event.with_some("agentId", author).with_some("timestamp", time));
            return;
        }
        let mut event = Event::new(Kind::Message)
            .with_some("messageId", trace.and_then(id_of))
            .with("role", Raw::string(role))
            .with_some("author", author.clone())
            .with_some("agentId", author.filter(|_| agents));
        event = content(root, ev, event, marks);
        for field in ["intent", "task", "inputs", "outputs", "confidence", "trace"] {
            if let Some(value) = root.some(field) {
                marks.bind(value, ev, field);
                event = event.with(field, value);
            }
        }
        let cost = trace.and_then(|t| t.some("cost")).filter(|c| c.is_object());
        events.push(event.with_some("usage", cost).with_some("timestamp", time));
    }
}

/// The message's content: its text, its data as a part, or both.
fn content<'a>(root: Node<'_, 'a>, ev: usize, event: Event<'a>, marks: &mut Marks) -> Event<'a> {
    let Some(content) = root.get("content").filter(|c| c.is_object()) else {
        return event.with("content", Raw::Ref("\"\""));
    };
    marks.open(content);
    let mut event = event;
    if let Some(class) = content.get("type").filter(|c| c.is_string()) {
        if class.is("text") {
            marks.implied(class);
        } else {
            marks.bind(class, ev, "contentType");
            event = event.with("contentType", class);
        }
    }
    let said = content.get("text").filter(|t| t.is_string());
    let Some(data) = content.get("data") else {
        if let Some(said) = said {
            marks.bind(said, ev, "content");
        }
        return event.with("content", said.map_or(Raw::Ref("\"\""), Raw::from));
    };
    let mut parts = String::with_capacity(data.raw().len() + 64);
    parts.push('[');
    let mut at = 0;
    if let Some(said) = said {
        parts.push_str("{\"type\":\"text\",\"text\":");
        parts.push_str(said.raw());
        parts.push_str("},");
        marks.bind_at(said, ev, "content", "/0/text");
        at = 1;
    }
    parts.push_str("{\"type\":\"data\",\"data\":");
    parts.push_str(data.raw());
    parts.push_str("}]");
    marks.bind_at(data, ev, "content", &format!("/{at}/data"));
    event.with("content", Raw::owned(parts))
}

/// A string member.
fn text<'d, 'a>(root: Node<'d, 'a>, key: &str) -> Option<Node<'d, 'a>> {
    root.get(key).filter(|value| value.is_string())
}

/// The envelope's id: `trace.id`, or `trace` itself where it is a string.
fn id_of<'a>(trace: Node<'_, 'a>) -> Option<Raw<'a>> {
    if trace.is_string() {
        return Some(Raw::from(trace));
    }
    text(trace, "id").map(Raw::from)
}

/// The thread that a trace's tags name.
fn thread_of<'a>(trace: Node<'_, 'a>) -> Option<Raw<'a>> {
    let tag = trace.get("tags")?.children().filter_map(Node::str).find_map(|tag| {
        tag.strip_prefix(THREAD_TAG).filter(|id| !id.is_empty()).map(str::to_owned)
    })?;
    Some(Raw::string(&tag))
}
