//! Threads, messages and actors to events.
//!
//! Read here: a thread, a message by itself, an array of messages, a capability message by itself,
//! and the shapes of the NEAR AI hub (content as one string or as OpenAI parts).

use std::collections::HashSet;

use super::ask::{self, Asked};
use super::capability;
use crate::dialect::{DecodeOptions, Id, Opening, ReadDocument};
use crate::journal::{Event, Kind};
use crate::json::{Doc, INNER_DEPTH, Node, Raw, quote};
use crate::residue::Marks;
use crate::time;

/// Reads one document.
pub(super) struct Reader {
    opening: Opening,
    /// Whether a message's author is the one who began the thread.
    asked: Asked,
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self { opening: Opening::new(options), asked: Asked::default() }
    }

    fn thread<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let id = root.some("id").filter(|id| id.is_string());
        let metadata = root.some("metadata").filter(|m| m.is_object());
        let parent = metadata.and_then(|m| m.some("parent_id")).filter(|p| p.is_string());
        let topic = metadata.and_then(|m| m.some("topic")).filter(|t| t.is_string());
        let created = root.some("created_at");
        let messages = root.get("messages");
        let own = id.or_else(|| messages?.children().next()?.some("thread_id"));
        if let Some(event) = self.opening.open(own.map(Raw::from), root.raw()) {
            bind(id, 0, "contextId", marks);
            bind(parent, 0, "parentThreadId", marks);
            bind(topic, 0, "title", marks);
            implied(created, marks);
            events.push(
                event
                    .with_some("title", topic)
                    .with_some("parentThreadId", parent)
                    .with_some("createdAt", created.and_then(stamp)),
            );
        }
        if let Some(metadata) = metadata {
            marks.open(metadata);
            let (users, agents) = speakers(messages);
            for list in [metadata.get("actors")].into_iter().flatten() {
                actors(list, &users, &agents, marks, events);
            }
        }
    }

    fn message<'a>(&mut self, item: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let ev = events.len();
        if item.is_string() {
            // AITP-T01 creates threads from bare strings.
            marks.bind(item, ev, "content");
            let event = Event::new(Kind::Message).with("role", Raw::Ref("\"user\""));
            events.push(event.with("content", item));
            return;
        }
        let (Some(role), Some(content)) = (item.get("role"), item.get("content")) else { return };
        let (role_is, user) = match role.body() {
            "user" => ("\"user\"", true),
            "assistant" => ("\"agent\"", false),
            "system" => ("\"system\"", false),
            _ => return,
        };
        marks.implied(role);
        implied(item.some("thread_id"), marks);
        let metadata = item.some("metadata").filter(|m| m.is_object());
        let actor = metadata.and_then(|m| m.some("actor")).filter(|a| a.is_string());
        if let Some(metadata) = metadata {
            marks.open(metadata);
        }
        bind(actor, ev, "author", marks);
        let id = item.some("id").filter(|id| id.is_string());
        bind(id, ev, "messageId", marks);
        let created = item.some("created_at");
        implied(created, marks);
        let when = created.and_then(stamp);
        let agent = if user { None } else { actor };
        let event = Event::new(Kind::Message)
            .with_some("messageId", id)
            .with("role", Raw::Ref(role_is))
            .with_some("author", actor)
            .with_some("agentId", agent)
            .with("content", said(content, ev, marks))
            .with_some("attachments", attached(item, ev, marks))
            .with_some("timestamp", when.clone());
        events.push(event);
        for text in texts(content).filter_map(|t| t.str()).filter(|t| capability::is_message(t)) {
            let Ok(doc) = Doc::parse(&text) else { continue };
            let by = ask::By { user, actor: actor.map(Raw::from), when: when.clone() };
            self.asked.read(doc.root(), &by, events);
        }
    }

    /// A capability message without a thread around it.
    fn alone<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        events.extend(self.opening.open(None, root.raw()));
        let ev = events.len();
        for (key, value) in root.members() {
            let key = key.str().unwrap_or_default().replace('~', "~0").replace('/', "~1");
            marks.bind_at(value, ev, "data", &format!("/{key}"));
        }
        let name = Raw::Ref("\"aitp\"");
        events.push(Event::new(Kind::System).with("name", name).with("data", root));
        let by = ask::By { user: true, actor: None, when: None };
        self.asked.read(root, &by, events);
    }
}

impl ReadDocument for Reader {
    const ID: Id = Id::Aitp;

    fn items<'d, 'a>(&self, root: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
        if root.is_array() { Some(root) } else { root.get("messages") }
    }

    fn head<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        if root.is_array() {
            let first = root.children().next();
            let own = first.and_then(|m| m.some("thread_id")).filter(|id| id.is_string());
            events.extend(self.opening.open(own.map(Raw::from), root.raw()));
        } else if root.get("messages").is_some() {
            self.thread(root, marks, events);
        } else if capability::schema(root).is_some() {
            self.alone(root, marks, events);
        } else if root.get("role").is_some() {
            let own = root.some("thread_id").filter(|id| id.is_string());
            events.extend(self.opening.open(own.map(Raw::from), root.raw()));
            self.message(root, marks, events);
        } else if root.some("id").is_some() && root.get("metadata").is_some() {
            self.thread(root, marks, events);
        }
    }

    fn item<'a>(&mut self, item: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        self.message(item, marks, events);
    }

    fn tail<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, _events: &mut Vec<Event<'a>>) {
        // The head has said it already.
        implied(root.get("id"), marks);
        if let Some(metadata) = root.get("metadata").filter(|m| m.is_object()) {
            marks.open(metadata);
            for name in ["parent_id", "topic", "actors"] {
                implied(metadata.get(name), marks);
            }
        }
    }
}

fn bind(node: Option<Node<'_, '_>>, ev: usize, field: &'static str, marks: &mut Marks) {
    if let Some(node) = node {
        marks.bind(node, ev, field);
    }
}

fn implied(node: Option<Node<'_, '_>>, marks: &mut Marks) {
    if let Some(node) = node {
        marks.implied(node);
    }
}

/// Unix seconds as RFC 3339 text.
fn stamp<'a>(seconds: Node<'_, 'a>) -> Option<Raw<'a>> {
    time::from_seconds(seconds.i64()?).map(|text| Raw::string(&text))
}

/// Who spoke as the thread's creator, and who as anyone else.
fn speakers(messages: Option<Node<'_, '_>>) -> (HashSet<String>, HashSet<String>) {
    let (mut users, mut agents) = (HashSet::new(), HashSet::new());
    for message in messages.into_iter().flat_map(Node::children) {
        let actor = message.get("metadata").and_then(|m| m.get("actor")).and_then(|a| a.str());
        let (Some(actor), Some(role)) = (actor, message.get("role")) else { continue };
        let known = if role.is("user") { &mut users } else { &mut agents };
        if !known.contains(&*actor) {
            known.insert(actor.into_owned());
        }
    }
    (users, agents)
}

/// One `participant-joined` for each actor.
fn actors<'a>(
    list: Node<'_, 'a>,
    users: &HashSet<String>,
    agents: &HashSet<String>,
    marks: &mut Marks,
    events: &mut Vec<Event<'a>>,
) {
    if let Some(text) = list.str() {
        // The whole list as JSON inside a string.
        if let Ok(doc) = Doc::parse_within(&text, INNER_DEPTH) {
            let mut own = Vec::new();
            let mut unused = Marks::new();
            actors(doc.root(), users, agents, &mut unused, &mut own);
            for event in &own {
                events.push(event.to_owned());
            }
            marks.implied(list);
        }
        return;
    }
    marks.list(list);
    for actor in list.children() {
        let ev = events.len();
        let id = if actor.is_string() { Some(actor) } else { actor.some("id") };
        let Some(id) = id.filter(|id| id.is_string()) else { continue };
        marks.bind(id, ev, "participantId");
        let client = actor.some("client_id").filter(|c| c.is_string());
        bind(client, ev, "clientId", marks);
        let name = id.str().unwrap_or_default();
        let role = match (users.contains(&*name), agents.contains(&*name)) {
            (true, _) => Some(Raw::Ref("\"user\"")),
            (false, true) => Some(Raw::Ref("\"agent\"")),
            (false, false) => None,
        };
        let able = actor.some("capabilities").map(|list| capabilities(list, ev, marks));
        events.push(
            Event::new(Kind::ParticipantJoined)
                .with("participantId", id)
                .with_some("role", role)
                .with_some("capabilities", able)
                .with_some("clientId", client),
        );
    }
}

/// Capabilities in any of their spellings, as `[{"schema":…}]`.
fn capabilities<'a>(list: Node<'_, 'a>, ev: usize, marks: &mut Marks) -> Raw<'a> {
    let mut out = String::from("[");
    if let Some(text) = list.str() {
        marks.implied(list);
        if let Ok(doc) = Doc::parse_within(&text, INNER_DEPTH) {
            let mut unused = Marks::new();
            return capabilities(doc.root(), ev, &mut unused).to_owned();
        }
    }
    marks.list(list);
    let mut count = 0;
    for item in list.children() {
        let url = match item.get("schema").or_else(|| item.get("$schema")) {
            Some(url) => Some(url),
            None => item.is_string().then_some(item),
        };
        let Some(url) = url.filter(|u| u.is_string()) else { continue };
        marks.bind_at(url, ev, "capabilities", &format!("/{count}/schema"));
        if count > 0 {
            out.push(',');
        }
        out.push_str("{\"schema\":");
        out.push_str(url.raw());
        out.push('}');
        count += 1;
    }
    out.push(']');
    Raw::owned(out)
}

/// The texts of a message's content, in any of its shapes.
fn texts<'d, 'a: 'd>(content: Node<'d, 'a>) -> impl Iterator<Item = Node<'d, 'a>> {
    let alone = content.is_string().then_some(content);
    alone.into_iter().chain(content.children().filter_map(text_of))
}

/// The text of one element of content: a string, or an OpenAI text part.
fn text_of<'d, 'a>(item: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
    if item.is_string() {
        return Some(item);
    }
    let text = item.get("text")?;
    Some(text.get("value").unwrap_or(text)).filter(|t| t.is_string())
}

/// The content of a message: its only string, or parts.
fn said<'a>(content: Node<'_, 'a>, ev: usize, marks: &mut Marks) -> Raw<'a> {
    if content.is_string() {
        marks.bind(content, ev, "content");
        return content.into();
    }
    if !content.is_array() {
        return Raw::Ref("\"\"");
    }
    marks.list(content);
    let only = content.children().next().filter(|_| content.children().count() == 1);
    if let Some(text) = only.filter(|item| item.is_string()) {
        marks.bind(text, ev, "content");
        return text.into();
    }
    let mut out = String::from("[");
    let mut count = 0;
    for item in content.children() {
        let Some(text) = text_of(item) else { continue };
        if let Some(holder) = item.get("text").filter(|t| t.is_object()) {
            marks.open(holder);
        }
        implied(item.get("type"), marks);
        marks.bind_at(text, ev, "content", &format!("/{count}/text"));
        if count > 0 {
            out.push(',');
        }
        out.push_str("{\"type\":\"text\",\"text\":");
        out.push_str(text.raw());
        out.push('}');
        count += 1;
    }
    out.push(']');
    Raw::owned(out)
}

/// Attached files, by id.
fn attached<'a>(item: Node<'_, 'a>, ev: usize, marks: &mut Marks) -> Option<Raw<'a>> {
    let list = item.some("attachments").filter(|a| a.is_array())?;
    marks.list(list);
    let mut out = String::from("[");
    let mut count = 0;
    for file in list.children() {
        let Some(id) = file.some("file_id").filter(|id| id.is_string()) else { continue };
        marks.bind_at(id, ev, "attachments", &format!("/{count}/name"));
        if count > 0 {
            out.push(',');
        }
        out.push_str("{\"name\":");
        out.push_str(id.raw());
        out.push('}');
        count += 1;
    }
    out.push(']');
    (count > 0).then(|| Raw::owned(out))
}

/// Joins members to an object.
pub(super) fn object(members: &[(&str, &str)]) -> String {
    let mut out = String::from("{");
    for (i, (name, value)) in members.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&quote(name));
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}
