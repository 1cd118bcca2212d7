//! Agent API requests, responses, messages and contents to events.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::model::Class;
use crate::dialect::draft::Draft;
use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;
use crate::time;

/// Reads one streamed object, request or folded response after the other.
pub(super) struct Reader {
    opening: Opening,
    agent: Raw<'static>,
    thread: Option<String>,
    task: Option<Raw<'static>>,
    tasks: HashSet<String>,
    participants: HashSet<String>,
    /// Messages by id, as JSON text.
    pub(super) messages: HashMap<String, Msg>,
    /// The message that began last, for contents that name none.
    last: Option<String>,
    /// Tool names by call id.
    pub(super) calls: HashMap<String, Raw<'static>>,
    /// The component called last; its output does not name it.
    pub(super) component: Option<Raw<'static>>,
    /// Questions without an answer.
    pub(super) asked: usize,
    minted: usize,
}

/// What is known of a message.
#[derive(Debug)]
pub(super) struct Msg {
    pub(super) id: Raw<'static>,
    pub(super) kind: String,
    pub(super) class: Class,
    pub(super) role: String,
    pub(super) agent: Option<Raw<'static>>,
    /// Contents by index.
    pub(super) parts: BTreeMap<i64, Part>,
    /// The call that it streams.
    pub(super) call: Option<Raw<'static>>,
    done: bool,
}

/// What is known of a content.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Its text so far, as a string body.
    pub(super) body: String,
    /// Whether `part-started` was said and not yet its end.
    pub(super) open: bool,
    /// Whether the whole was said.
    pub(super) said: bool,
}

impl Msg {
    /// Whether someone other than the agent says it.
    pub(super) fn foreign(&self) -> bool {
        self.class == Class::Said && matches!(self.role.as_str(), "user" | "system" | "tool")
    }

    /// The id of a content: the message's with the content's index.
    pub(super) fn part_id(&self, index: i64) -> Raw<'static> {
        Raw::owned(format!("\"{}:{index}\"", self.id.body().unwrap_or("")))
    }
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            agent: Raw::string(options.agent.as_deref().unwrap_or("agent")),
            thread: None,
            task: None,
            tasks: HashSet::new(),
            participants: HashSet::new(),
            messages: HashMap::new(),
            last: None,
            calls: HashMap::new(),
            component: None,
            asked: 0,
            minted: 0,
        }
    }

    pub(super) fn event<'a>(&self, kind: Kind) -> Event<'a> {
        Event::new(kind).with("taskId", self.task.clone().unwrap_or(Raw::Ref("\"run-1\"")))
    }

    pub(super) fn agent_event<'a>(&self, kind: Kind, msg: &Msg) -> Event<'a> {
        let agent = msg.agent.as_ref().unwrap_or(&self.agent).clone();
        self.event(kind).with("agentId", agent)
    }

    /// Begins the thread, where the record is its first.
    fn begin_thread<'a>(
        &mut self,
        root: Node<'_, 'a>,
        stamp: Option<&str>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let session = root.some("session_id");
        let own = session.map(Raw::from);
        if let Some(event) = self.opening.open(own, root.raw()) {
            if let Some(id) = session {
                marks.bind(id, events.len(), "contextId");
            }
            events.push(event.with_some("timestamp", stamp.map(Raw::string)));
        } else if let Some(id) = session
            && self.thread.as_deref().is_none_or(|known| known == id.raw())
        {
            marks.implied(id);
        }
        self.thread = self.thread.take().or(session.map(|s| s.raw().to_owned()));
    }

    /// Begins the run, where the record is its first; says whether it was.
    fn begin_task<'a>(
        &mut self,
        id: Option<Node<'_, 'a>>,
        stamp: Option<&str>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) -> bool {
        let task = id.map_or(Raw::Ref("\"run-1\""), |id| Raw::owned(id.raw()));
        let fresh = self.tasks.insert(task.to_string());
        self.task = Some(task.clone());
        if !fresh {
            return false;
        }
        self.join(self.agent.clone(), "\"agent\"", None, events);
        let draft = Draft::new(Event::new(Kind::TaskCreated), events, marks);
        match id {
            Some(id) => draft.bind("taskId", Some(id)),
            None => draft.with("taskId", task),
        }
        .with("initiator", Raw::Ref("\"user\""))
        .with("agentId", self.agent.clone())
        .with_some("timestamp", stamp.map(Raw::string))
        .push(events);
        true
    }

    /// Begins what a message or content needs that comes without its response.
    fn ensure<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        if self.task.is_none() {
            self.begin_thread(root, None, marks, events);
            self.begin_task(None, None, marks, events);
        }
    }

    fn join<'a>(
        &mut self,
        id: Raw<'a>,
        role: &'static str,
        name: Option<Raw<'a>>,
        events: &mut Vec<Event<'a>>,
    ) {
        if self.participants.insert(id.to_string()) {
            events.push(
                Event::new(Kind::ParticipantJoined)
                    .with("participantId", id)
                    .with("role", Raw::Ref(role))
                    .with_some("name", name),
            );
        }
    }

    fn request<'a>(
        &mut self,
        root: Node<'_, 'a>,
        input: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        self.begin_thread(root, None, marks, events);
        self.begin_task(root.some("id").or(root.some("response_id")), None, marks, events);
        if let Some(user) = root.some("user_id").filter(|u| u.is_string()) {
            marks.implied(user);
            self.join(user.into(), "\"user\"", None, events);
        }
        marks.list(input);
        for message in input.children().filter(|m| m.is_object()) {
            self.message(message, true, marks, events);
        }
    }

    fn response<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let created = root.get("created_at").and_then(stamp);
        let completed = root.get("completed_at").and_then(stamp);
        for (key, read) in [("created_at", &created), ("completed_at", &completed)] {
            if let Some(node) = root.get(key).filter(|n| read.is_some() || n.is_null()) {
                marks.implied(node);
            }
        }
        self.begin_thread(root, created.as_deref(), marks, events);
        let id = root.some("id");
        let fresh = self.begin_task(id, created.as_deref(), marks, events);
        let bound = id.filter(|_| !fresh);
        if let Some(output) = root.some("output").filter(|o| o.is_array()) {
            marks.list(output);
            for message in output.children().filter(|m| m.is_object()) {
                self.message(message, true, marks, events);
            }
        }
        self.usage(root, marks, events);
        let status = root.get("status").and_then(|s| s.str()).unwrap_or_default();
        let (kind, state) = match status.as_ref() {
            "in_progress" => (Kind::TaskStatus, "\"working\""),
            "completed" => (Kind::TaskComplete, ""),
            "failed" | "rejected" => (Kind::TaskStatus, "\"failed\""),
            "canceled" => (Kind::TaskStatus, "\"canceled\""),
            "incomplete" if self.asked > 0 => (Kind::TaskStatus, "\"waiting-input\""),
            "incomplete" => (Kind::TaskStatus, "\"failed\""),
            _ => {
                // That there is a response is all that its first record says.
                let said = [root.get("status"), root.get("object"), bound];
                said.into_iter().flatten().for_each(|node| marks.implied(node));
                return;
            }
        };
        let event = match bound {
            Some(id) => Event::new(kind).with("taskId", id),
            None => self.event(kind),
        };
        if let Some(id) = bound {
            marks.bind(id, events.len(), "taskId");
        }
        let error = root.some("error").filter(|e| e.is_object());
        if let Some(error) = error {
            marks.open(error);
        }
        let mut draft = Draft::new(event, events, marks)
            .with_some("timestamp", completed.or(created).map(|s| Raw::string(&s)))
            .implied([root.get("status"), root.get("object")]);
        if !state.is_empty() {
            draft = draft.with("status", Raw::Ref(state));
        }
        draft = match error.and_then(|e| e.some("message")) {
            Some(message) => draft.bind("message", Some(message)),
            None if state == "\"failed\"" => {
                draft.with("message", Raw::owned(format!("\"{status}\"")))
            }
            None => draft,
        };
        draft = draft.bind("code", error.and_then(|e| e.some("code")));
        if matches!(status.as_ref(), "rejected" | "incomplete") && !draft.has_metadata() {
            draft = draft.with("metadata", Raw::owned(format!("{{\"reason\":\"{status}\"}}")));
        }
        draft.push(events);
        if kind == Kind::TaskComplete || state == "\"failed\"" || state == "\"canceled\"" {
            self.messages.clear();
            self.last = None;
        }
    }

    /// What a response or a message used.
    fn usage<'a>(&self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let Some(usage) = root.some("usage").filter(|u| u.is_object()) else { return };
        let first = |names: [&str; 2]| names.into_iter().find_map(|n| usage.some(n));
        let input = first(["input_tokens", "prompt_tokens"]);
        let output = first(["output_tokens", "completion_tokens"]);
        if input.is_none() && output.is_none() {
            return;
        }
        marks.open(usage);
        Draft::new(self.event(Kind::LlmUsage), events, marks)
            .bind("prompt_tokens", input)
            .bind("completion_tokens", output)
            .bind("total_tokens", usage.some("total_tokens"))
            .bind("cost", usage.some("cost"))
            .push(events);
    }

    /// A message: one that begins, one that ended, or (`whole`) one that was not streamed.
    fn message<'a>(
        &mut self,
        node: Node<'_, 'a>,
        whole: bool,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let id = node.some("id").filter(|i| i.is_string());
        let key = match id {
            Some(id) => id.raw().to_owned(),
            None if !whole && self.last.is_some() => self.last.clone().unwrap_or_default(),
            None => {
                self.minted += 1;
                format!("\"msg-{}\"", self.minted)
            }
        };
        for name in ["object", "status", "sequence_number", "role"] {
            if let Some(node) = node.get(name) {
                marks.implied(node);
            }
        }
        let kind = node.get("type").and_then(|k| k.str()).unwrap_or_default();
        if let Some(node) = node.get("type").filter(|k| !is_variant(k.body())) {
            marks.implied(node);
        }
        let mut msg = self.messages.remove(&key).unwrap_or_else(|| Msg {
            id: Raw::owned(key.as_str()),
            kind: String::new(),
            class: Class::Said,
            role: String::new(),
            agent: None,
            parts: BTreeMap::new(),
            call: None,
            done: false,
        });
        if !kind.is_empty() {
            msg.class = Class::of(&kind);
            msg.kind = kind.into_owned();
        }
        if let Some(role) = node.some("role").and_then(|r| r.str()) {
            msg.role = role.into_owned();
        }
        self.metadata(node, &mut msg, marks, events);
        let status = node.get("status").and_then(|s| s.str()).unwrap_or_default();
        let begins = !whole && matches!(status.as_ref(), "created" | "in_progress" | "queued" | "");
        if begins {
            self.last = Some(key.clone());
        } else if msg.done {
            repeated(node, &msg, marks);
        } else {
            self.complete(node, &status, &mut msg, marks, events);
        }
        if let Some(id) = id {
            marks.implied(id);
        }
        self.messages.insert(key, msg);
    }

    /// Who speaks, where the message's metadata says so.
    fn metadata<'a>(
        &mut self,
        node: Node<'_, 'a>,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(metadata) = node.some("metadata").filter(|m| m.is_object()) else { return };
        let Some(agent) = metadata.some("agent_id").filter(|a| a.is_string()) else { return };
        marks.open(metadata);
        marks.implied(agent);
        if let Some(name) = metadata.get("name") {
            marks.implied(name);
        }
        msg.agent = Some(Raw::owned(agent.raw()));
        self.join(agent.into(), "\"agent\"", metadata.some("name").map(Raw::from), events);
    }

    /// What a message says that its contents have not said yet.
    fn complete<'a>(
        &mut self,
        node: Node<'_, 'a>,
        status: &str,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        msg.done = true;
        let content = node.some("content");
        if msg.foreign() {
            self.foreign(node, content, msg, marks, events);
            return;
        }
        if let Some(list) = content.filter(|c| c.is_array()) {
            marks.list(list);
            for (place, item) in list.children().enumerate().filter(|(_, c)| c.is_object()) {
                let index = item.get("index").and_then(Node::i64).unwrap_or(place as i64);
                if msg.parts.get(&index).is_some_and(|p| p.said) {
                    repeated_content(item, msg, index, marks);
                } else {
                    self.whole(item, index, status == "failed", msg, marks, events);
                }
            }
        }
        let open: Vec<i64> = msg.parts.iter().filter(|(_, p)| p.open).map(|(i, _)| *i).collect();
        for index in open {
            self.finish_part(msg, index, events);
        }
        self.usage(node, marks, events);
        if status == "failed" && msg.class != Class::Output && node.some("message").is_some() {
            let error = node.some("error").filter(|e| e.is_object());
            Draft::new(self.event(Kind::Error), events, marks)
                .bind("code", node.some("code"))
                .bind("message", node.some("message"))
                .implied([error])
                .push(events);
        }
    }

    pub(super) fn finish_part<'a>(&self, msg: &mut Msg, index: i64, events: &mut Vec<Event<'a>>) {
        let id = msg.part_id(index);
        if let Some(part) = msg.parts.get_mut(&index) {
            part.open = false;
            part.said = true;
        }
        let kind = if msg.class == Class::Thought { "\"reasoning\"" } else { "\"text\"" };
        events.push(
            self.event(Kind::PartFinished).with("partId", id).with("partType", Raw::Ref(kind)),
        );
    }

    /// A streamed content.
    fn content<'a>(&mut self, node: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let named = node.some("msg_id").filter(|i| i.is_string());
        let key = match (named, &self.last) {
            (Some(id), _) => id.raw().to_owned(),
            (None, Some(last)) => last.clone(),
            (None, None) => String::from("\"msg-0\""),
        };
        for name in ["object", "status", "sequence_number", "index", "delta", "type"] {
            if let Some(node) = node.get(name) {
                marks.implied(node);
            }
        }
        let mut msg = self.messages.remove(&key).unwrap_or_else(|| Msg {
            id: Raw::owned(key.as_str()),
            kind: String::from("message"),
            class: Class::Said,
            role: String::from("assistant"),
            agent: None,
            parts: BTreeMap::new(),
            call: None,
            done: false,
        });
        let index = node.get("index").and_then(Node::i64).unwrap_or(0);
        let status = node.get("status").and_then(|s| s.str()).unwrap_or_default();
        let ended = matches!(status.as_ref(), "completed" | "failed" | "incomplete" | "canceled");
        if msg.foreign() {
            // The message says it as a whole when it ends.
        } else if ended && msg.parts.get(&index).is_some_and(|p| p.said) {
            repeated_content(node, &msg, index, marks);
        } else if ended {
            self.whole(node, index, status == "failed", &mut msg, marks, events);
        } else if node.get("delta").and_then(Node::bool) == Some(true) {
            self.delta(node, index, &mut msg, marks, events);
        }
        if let Some(id) = named {
            marks.implied(id);
        }
        self.messages.insert(key, msg);
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::AgentApi;

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        if !root.is_object() {
            return;
        }
        if let Some(number) = root.get("sequence_number") {
            marks.implied(number);
        }
        let object = root.get("object").and_then(|o| o.str());
        match object.as_deref() {
            Some("response") => self.response(root, marks, events),
            Some("message") => {
                self.ensure(root, marks, events);
                self.message(root, false, marks, events);
            }
            Some("content") => {
                self.ensure(root, marks, events);
                self.content(root, marks, events);
            }
            Some(_) => {}
            None => {
                if let Some(input) = root.get("input").filter(|i| i.is_array()) {
                    self.request(root, input, marks, events);
                } else if let Some(error) = root.some("error") {
                    // The server's answer to a request that it cannot read.
                    self.ensure(root, marks, events);
                    let message =
                        if error.is_object() { error.get("message") } else { Some(error) };
                    if error.is_object() {
                        marks.open(error);
                    }
                    Draft::new(self.event(Kind::Error), events, marks)
                        .bind("code", error.some("code"))
                        .bind("message", message.filter(|m| m.is_string()))
                        .push(events);
                }
            }
        }
    }
}

/// Message types that other types say as well, so that the choice is only kept here.
fn is_variant(kind: &str) -> bool {
    let class = Class::of(kind);
    match class {
        Class::Call => kind != "plugin_call",
        Class::Output => kind != "plugin_call_output",
        // The document's example says who speaks instead.
        Class::Said => !matches!(kind, "message" | "assistant"),
        _ => false,
    }
}

/// Marks what a message repeats of what its contents said.
fn repeated(node: Node<'_, '_>, msg: &Msg, marks: &mut Marks) {
    let Some(list) = node.some("content").filter(|c| c.is_array()) else { return };
    marks.list(list);
    for (place, item) in list.children().enumerate().filter(|(_, c)| c.is_object()) {
        let index = item.get("index").and_then(Node::i64).unwrap_or(place as i64);
        repeated_content(item, msg, index, marks);
    }
}

/// Marks what a content repeats.
fn repeated_content(item: Node<'_, '_>, msg: &Msg, index: i64, marks: &mut Marks) {
    let known = msg.parts.get(&index).map(|p| p.body.as_str());
    for (key, value) in item.members() {
        let key = key.body();
        let same = match key {
            "text" | "image_url" | "video_url" | "file_url" | "file_id" | "file_data" | "data"
            | "refusal" => known == Some(value.body()),
            _ => key != "filename" && key != "format",
        };
        if same {
            marks.implied(value);
        }
    }
}

/// Seconds since 1970, spelled out.
fn stamp(node: Node<'_, '_>) -> Option<String> {
    time::from_seconds(node.i64()?)
}
