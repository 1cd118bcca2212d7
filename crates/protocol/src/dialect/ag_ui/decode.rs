//! AG-UI events to the journal's.

use std::collections::{HashMap, HashSet};

use super::messages::content_field;
use crate::dialect::draft::Draft;
use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Doc, Node, Raw, text};
use crate::residue::Marks;
use crate::time;

/// Reads one event after the other.
pub(super) struct Reader {
    opening: Opening,
    agent: Raw<'static>,
    thread: Option<String>,
    /// The run at hand.
    task: Option<Raw<'static>>,
    runs: HashSet<String>,
    participants: HashSet<String>,
    /// Ids of messages that were heard of, as JSON text.
    pub(super) seen: HashSet<String>,
    /// Tool calls by id: name, and the arguments so far.
    calls: HashMap<String, Call>,
    /// The names of subagents, by run.
    subagents: HashMap<String, Raw<'static>>,
    /// Reasoning spans that are open.
    spans: HashSet<String>,
    /// What chunks opened and nothing has closed yet.
    chunk: Option<Chunk>,
}

#[derive(Debug, Default)]
struct Call {
    name: Option<Raw<'static>>,
    arguments: String,
}

/// A message that comes in chunks: its kind, its id and its task.
#[derive(Debug)]
struct Chunk {
    of: Of,
    id: Raw<'static>,
    task: Raw<'static>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Text,
    Reasoning,
    Call,
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            agent: Raw::string(options.agent.as_deref().unwrap_or("agent")),
            thread: None,
            task: None,
            runs: HashSet::new(),
            participants: HashSet::new(),
            seen: HashSet::new(),
            calls: HashMap::new(),
            subagents: HashMap::new(),
            spans: HashSet::new(),
            chunk: None,
        }
    }

    fn task(&self) -> Raw<'static> {
        self.task.clone().unwrap_or(Raw::Ref("\"run-1\""))
    }

    pub(super) fn event<'a>(&self, kind: Kind) -> Event<'a> {
        Event::new(kind).with("taskId", self.task())
    }

    pub(super) fn agent_event<'a>(&self, kind: Kind) -> Event<'a> {
        self.event(kind).with("agentId", self.agent.clone())
    }

    /// The agent that a record comes from.
    fn agent_of(&self, root: Node<'_, '_>) -> Raw<'static> {
        let subagent = root.some("subagentRunId").and_then(|id| self.subagents.get(id.raw()));
        subagent.unwrap_or(&self.agent).clone()
    }

    pub(super) fn note_tool(&mut self, id: &str, name: Option<Node<'_, '_>>) {
        let name = name.map(|n| Raw::owned(n.raw()));
        self.calls.insert(id.to_owned(), Call { name, arguments: String::new() });
    }

    pub(super) fn tool_name(&self, id: &str) -> Option<Raw<'static>> {
        self.calls.get(id).and_then(|call| call.name.clone())
    }

    /// An event of the run, or of the subagent that the record names.
    fn of<'a>(&self, root: Node<'_, 'a>, kind: Kind) -> Event<'a> {
        match root.some("subagentRunId") {
            Some(id) => Event::new(kind).with("taskId", id),
            None => self.event(kind),
        }
    }

    /// A draft of an event for the record, with what any record may say.
    fn draft<'m, 'a>(
        &self,
        root: Node<'_, 'a>,
        kind: Kind,
        events: &[Event<'a>],
        marks: &'m mut Marks,
    ) -> Draft<'m, 'a> {
        let mut draft = Draft::new(self.of(root, kind), events, marks);
        if let Some(id) = root.some("subagentRunId") {
            let ev = draft.number();
            draft.marks().bind(id, ev, "taskId");
        }
        let time = root.some("timestamp");
        let stamp = stamp(root);
        if stamp.is_some() {
            draft = draft.implied([time]);
        }
        draft.implied([root.get("type")]).with_some("timestamp", stamp)
    }

    /// Begins the thread and the run, where the record is the first of either.
    fn begin<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let thread = root.some("threadId");
        let own = thread.map(Raw::from);
        if let Some(event) = self.opening.open(own, root.raw()) {
            if let Some(id) = thread {
                marks.bind(id, events.len(), "contextId");
            }
            events.push(event.with_some("timestamp", stamp(root)));
        } else if let Some(id) = thread
            && self.thread.as_deref().is_none_or(|known| known == id.raw())
        {
            marks.implied(id);
        }
        self.thread = self.thread.take().or(thread.map(|t| t.raw().to_owned()));
        let Some(run) = root.some("runId") else { return };
        self.task = Some(Raw::owned(run.raw()));
        if !self.runs.insert(run.raw().to_owned()) {
            marks.implied(run);
            return;
        }
        self.join(self.agent.clone(), None, events);
        let event = Event::new(Kind::TaskCreated);
        Draft::new(event, events, marks)
            .bind("taskId", Some(run))
            .with("initiator", Raw::Ref("\"user\""))
            .with("agentId", self.agent.clone())
            .with_some("timestamp", stamp(root))
            .meta("parentRunId", root.some("parentRunId"))
            .push(events);
    }

    /// Says once that an agent takes part.
    fn join<'a>(&mut self, id: Raw<'a>, name: Option<Raw<'a>>, events: &mut Vec<Event<'a>>) {
        if self.participants.insert(id.to_string()) {
            events.push(
                Event::new(Kind::ParticipantJoined)
                    .with("participantId", id)
                    .with("role", Raw::Ref("\"agent\""))
                    .with_some("name", name),
            );
        }
    }

    /// Ends what chunks opened, unless the record goes on with it.
    fn close_chunk<'a>(&mut self, next: Option<(Of, Option<&str>)>, events: &mut Vec<Event<'a>>) {
        let goes_on = match (&self.chunk, next) {
            (Some(open), Some((of, id))) => {
                open.of == of && id.is_none_or(|id| id == open.id.as_str())
            }
            _ => false,
        };
        if goes_on {
            return;
        }
        let Some(open) = self.chunk.take() else { return };
        let event = match open.of {
            Of::Call => {
                let call = self.calls.get(open.id.as_str());
                Event::new(Kind::ToolCall)
                    .with("taskId", open.task)
                    .with("agentId", self.agent.clone())
                    .with("toolCallId", open.id.clone())
                    .with_some("toolName", call.and_then(|c| c.name.clone()))
                    .with("arguments", arguments(call))
            }
            of => {
                let kind = if of == Of::Text { "\"text\"" } else { "\"reasoning\"" };
                Event::new(Kind::PartFinished)
                    .with("taskId", open.task)
                    .with("partId", open.id)
                    .with("partType", Raw::Ref(kind))
            }
        };
        events.push(event);
    }

    fn part_started<'a>(
        &mut self,
        root: Node<'_, 'a>,
        reasoning: bool,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let name = root.some("name").filter(|n| n.is_string());
        if let Some(name) = name {
            self.join(name.into(), Some(name.into()), events);
        }
        let id = root.get("messageId");
        if let Some(id) = id {
            self.seen.insert(id.raw().to_owned());
        }
        let kind = if reasoning { "\"reasoning\"" } else { "\"text\"" };
        let assistant = root.get("role").filter(|r| r.is("assistant") || r.is("reasoning"));
        let role = root.some("role").filter(|_| assistant.is_none() && !reasoning);
        let draft = self
            .draft(root, Kind::PartStarted, events, marks)
            .bind("partId", id)
            .with("partType", Raw::Ref(kind))
            .with_some("messageId", id)
            .bind("role", role)
            .implied([assistant]);
        let draft = match name {
            Some(name) => draft.bind("agentId", Some(name)),
            None if role.is_some() => draft,
            None => draft.with("agentId", self.agent_of(root)),
        };
        metadata(draft, root).push(events);
    }

    fn text<'a>(
        &mut self,
        root: Node<'_, 'a>,
        kind: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        match kind {
            "TEXT_MESSAGE_START" => self.part_started(root, false, marks, events),
            "TEXT_MESSAGE_CONTENT" => {
                self.draft(root, Kind::ContentDelta, events, marks)
                    .bind("delta", root.get("delta"))
                    .bind("partId", root.get("messageId"))
                    .push(events);
            }
            _ => self.part_finished(root, "\"text\"", marks, events),
        }
    }

    fn part_finished<'a>(
        &mut self,
        root: Node<'_, 'a>,
        kind: &'static str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let draft = self
            .draft(root, Kind::PartFinished, events, marks)
            .bind("partId", root.get("messageId"))
            .with("partType", Raw::Ref(kind));
        metadata(draft, root).push(events);
    }

    fn thought<'a>(
        &self,
        root: Node<'_, 'a>,
        id: Option<Node<'_, 'a>>,
        events: &[Event<'a>],
        marks: &mut Marks,
    ) -> Event<'a> {
        let mut out = Vec::new();
        self.draft(root, Kind::ThoughtStream, events, marks)
            .bind("thoughtId", id)
            .with("thoughtType", Raw::Ref("\"thinking\""))
            .with("verbosity", Raw::Ref("\"normal\""))
            .bind("content", root.get("delta"))
            .push(&mut out);
        out.pop().unwrap_or_else(|| Event::new(Kind::Opaque))
    }

    fn reasoning<'a>(
        &mut self,
        root: Node<'_, 'a>,
        kind: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(id) =
            root.get(if kind == "REASONING_ENCRYPTED_VALUE" { "entityId" } else { "messageId" })
        else {
            return;
        };
        let own = self.spans.contains(id.raw());
        match kind {
            "REASONING_START" => {
                self.spans.insert(id.raw().to_owned());
                self.part_started(root, true, marks, events);
            }
            "REASONING_END" => {
                self.spans.remove(id.raw());
                self.part_finished(root, "\"reasoning\"", marks, events);
            }
            "REASONING_MESSAGE_START" if !own => self.part_started(root, true, marks, events),
            "REASONING_MESSAGE_END" if !own => {
                self.part_finished(root, "\"reasoning\"", marks, events);
            }
            "REASONING_MESSAGE_CONTENT" => {
                let event = self.thought(root, Some(id), events, marks);
                events.push(event);
            }
            "REASONING_ENCRYPTED_VALUE" => self.encrypted(root, id, own, marks, events),
            _ => {
                // The span says it already.
                for node in ["type", "messageId", "role"].into_iter().filter_map(|k| root.get(k)) {
                    marks.implied(node);
                }
            }
        }
    }

    fn encrypted<'a>(
        &mut self,
        root: Node<'_, 'a>,
        id: Node<'_, 'a>,
        thought: bool,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let value = root.get("encryptedValue");
        if thought {
            self.draft(root, Kind::ThoughtStream, events, marks)
                .bind("thoughtId", Some(id))
                .with("thoughtType", Raw::Ref("\"thinking\""))
                .with("verbosity", Raw::Ref("\"normal\""))
                .with("content", Raw::Ref("\"\""))
                .bind("signature", value)
                .implied([root.get("subtype")])
                .push(events);
            return;
        }
        let mut draft = self
            .draft(root, Kind::System, events, marks)
            .with("name", Raw::Ref("\"encrypted_value\""));
        let mut data = String::new();
        let ev = draft.number();
        for key in ["subtype", "entityId", "encryptedValue"] {
            if let Some(node) = root.get(key) {
                draft.marks().bind_at(node, ev, "data", &format!("/{key}"));
                data.push(if data.is_empty() { '{' } else { ',' });
                data.push_str(&format!("\"{key}\":{}", node.raw()));
            }
        }
        data.push('}');
        draft.with("data", Raw::owned(data)).push(events);
    }

    fn call<'a>(
        &mut self,
        root: Node<'_, 'a>,
        kind: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(id) = root.get("toolCallId") else { return };
        match kind {
            "TOOL_CALL_START" => self.call_started(root, marks, events),
            "TOOL_CALL_ARGS" => self.call_delta(root, Some(id), marks, events),
            "TOOL_CALL_END" => {
                let call = self.calls.get(id.raw());
                let (name, arguments) = (call.and_then(|c| c.name.clone()), arguments(call));
                let draft = self
                    .draft(root, Kind::ToolCall, events, marks)
                    .with("agentId", self.agent_of(root))
                    .bind("toolCallId", Some(id))
                    .with_some("toolName", name)
                    .with("arguments", arguments);
                metadata(draft, root).push(events);
            }
            _ => {
                let message = root.get("messageId");
                if let Some(message) = message {
                    self.seen.insert(message.raw().to_owned());
                }
                let draft = self
                    .draft(root, Kind::ToolComplete, events, marks)
                    .bind("toolCallId", Some(id))
                    .with_some("toolName", self.tool_name(id.raw()))
                    .with("success", Raw::Ref("true"))
                    .bind("messageId", message)
                    .implied([root.get("role")]);
                let draft = content_field(draft, "result", root.get("content"));
                metadata(draft, root).push(events);
            }
        }
    }

    fn call_started<'a>(
        &mut self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let (id, name) = (root.get("toolCallId"), root.some("toolCallName"));
        if let Some(id) = id {
            self.note_tool(id.raw(), name);
        }
        let draft = self
            .draft(root, Kind::ToolCallStarted, events, marks)
            .with("agentId", self.agent_of(root))
            .bind("toolCallId", id)
            .bind("toolName", name)
            .bind("messageId", root.some("parentMessageId"));
        metadata(draft, root).push(events);
    }

    fn call_delta<'a>(
        &mut self,
        root: Node<'_, 'a>,
        id: Option<Node<'_, 'a>>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(delta) = root.some("delta").filter(|d| d.is_string()) else { return };
        let key = match (id, &self.chunk) {
            (Some(id), _) => Raw::from(id),
            (None, Some(chunk)) => chunk.id.clone(),
            (None, None) => return,
        };
        self.calls.entry(key.to_string()).or_default().arguments.push_str(delta.body());
        let draft = self.draft(root, Kind::ToolCallDelta, events, marks);
        match id {
            Some(id) => draft.bind("toolCallId", Some(id)),
            None => draft.with("toolCallId", key),
        }
        .bind("delta", Some(delta))
        .push(events);
    }

    /// A chunk: opens its message if it is new, then says its piece.
    fn chunk<'a>(
        &mut self,
        root: Node<'_, 'a>,
        of: Of,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let key = if of == Of::Call { "toolCallId" } else { "messageId" };
        let id = root.some(key);
        self.close_chunk(Some((of, id.map(Node::raw))), events);
        let fresh = self.chunk.is_none();
        if fresh {
            let Some(id) = id else { return };
            let task = root.some("subagentRunId").map_or(self.task(), |t| Raw::owned(t.raw()));
            self.chunk = Some(Chunk { of, id: Raw::owned(id.raw()), task });
            match of {
                Of::Call => self.call_started(root, marks, events),
                of => self.part_started(root, of == Of::Reasoning, marks, events),
            }
        }
        // Of two events in a record, the first holds what both could: the id goes there.
        let bound = if fresh { None } else { id };
        if root.some("delta").is_none() {
            return;
        }
        let Some(open) = self.chunk.as_ref().map(|c| c.id.clone()) else { return };
        match of {
            Of::Call => self.call_delta(root, bound, marks, events),
            Of::Text => {
                let draft = self.draft(root, Kind::ContentDelta, events, marks);
                match bound {
                    Some(id) => draft.bind("partId", Some(id)),
                    None => draft.with("partId", open),
                }
                .bind("delta", root.get("delta"))
                .push(events);
            }
            Of::Reasoning => {
                let mut event = self.thought(root, bound, events, marks);
                if bound.is_none() {
                    event.set("thoughtId", open);
                }
                events.push(event);
            }
        }
    }

    fn step<'a>(
        &self,
        root: Node<'_, 'a>,
        kind: Kind,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let draft = self.draft(root, kind, events, marks).bind("stepId", root.get("stepName"));
        metadata(draft, root).push(events);
    }

    /// An application's own event.
    fn system<'a>(
        &self,
        root: Node<'_, 'a>,
        name: &'static str,
        data: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let draft = self.draft(root, Kind::System, events, marks);
        let draft = match name {
            "" => draft.bind("name", root.get("name")),
            name => draft.with("name", Raw::owned(format!("\"{name}\""))),
        };
        let draft = draft
            .bind("data", root.get(data))
            .bind("systemId", root.get("messageId"))
            .meta("activityType", root.some("activityType"))
            .meta("replace", root.some("replace"))
            .meta("source", root.some("source"));
        metadata(draft, root).push(events);
    }

    fn run_finished<'a>(
        &mut self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        self.begin(root, marks, events);
        self.usage(root, marks, events);
        let outcome = root.some("outcome").filter(|o| o.is_object());
        let how = outcome.and_then(|o| o.get("type"));
        if let Some(outcome) = outcome {
            marks.open(outcome);
        }
        if let Some(how) = how {
            marks.implied(how);
        }
        let stamp = stamp(root);
        let name = how.and_then(|h| h.str());
        let draft = match name.as_deref() {
            Some("interrupt") => {
                if let Some(list) = outcome.and_then(|o| o.get("interrupts")) {
                    self.interrupts(list, stamp, marks, events);
                }
                self.draft(root, Kind::TaskStatus, events, marks)
                    .with("status", Raw::Ref("\"waiting-input\""))
            }
            Some("cancelled") => self
                .draft(root, Kind::TaskStatus, events, marks)
                .with("status", Raw::Ref("\"canceled\"")),
            _ => self.draft(root, Kind::TaskComplete, events, marks),
        };
        result(draft, root).push(events);
    }

    fn interrupts<'a>(
        &self,
        list: Node<'_, 'a>,
        stamp: Option<Raw<'a>>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        if !list.is_array() {
            return;
        }
        marks.list(list);
        for interrupt in list.children().filter(|i| i.is_object()) {
            let reason = interrupt.get("reason").and_then(|r| r.str()).unwrap_or_default();
            let auth = reason == "auth";
            let kind = if auth { Kind::AuthRequired } else { Kind::InputRequired };
            let input = match reason.as_ref() {
                "tool_call" | "confirmation" => "\"confirmation\"",
                "clarification" | "input_required" | "question" => "\"clarification\"",
                "selection" => "\"selection\"",
                _ if interrupt.some("responseSchema").is_some() => "\"data\"",
                _ => "\"custom\"",
            };
            let draft = Draft::new(self.of(interrupt, kind), events, marks);
            let id = interrupt.get("id");
            let draft = if auth {
                draft.bind("authId", id).with("authType", Raw::Ref("\"custom\""))
            } else {
                draft
                    .bind("inputId", id)
                    .with("requireUser", Raw::Ref("true"))
                    .with("inputType", Raw::Ref(input))
            };
            let draft = match interrupt.some("message") {
                Some(message) => draft.bind("prompt", Some(message)),
                None => draft.with("prompt", Raw::Ref("\"\"")),
            };
            draft
                .bind("schema", interrupt.some("responseSchema"))
                .bind("toolCallId", interrupt.some("toolCallId"))
                .with_some("timestamp", stamp.clone())
                .meta("reason", interrupt.get("reason"))
                .meta("expiresAt", interrupt.some("expiresAt"))
                .meta("details", interrupt.some("metadata"))
                .implied([interrupt.get("subagentRunId")])
                .push(events);
        }
    }

    /// What the models used.
    fn usage<'a>(&self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let Some(list) = root.get("usage").filter(|u| u.is_array()) else { return };
        marks.list(list);
        for used in list.children().filter(|u| u.is_object()) {
            let mut draft = Draft::new(self.event(Kind::LlmUsage), events, marks)
                .bind("model", used.some("model"))
                .bind("prompt_tokens", used.some("inputTokens"))
                .bind("completion_tokens", used.some("outputTokens"))
                .bind("total_tokens", used.some("totalTokens"))
                .meta("provider", used.some("provider"));
            for (key, field, name) in [
                ("reasoningTokens", "completion_tokens_details", "reasoning_tokens"),
                ("cachedInputTokens", "prompt_tokens_details", "cached_tokens"),
            ] {
                if let Some(count) = used.some(key) {
                    let ev = draft.number();
                    draft.marks().bind_at(count, ev, field, &format!("/{name}"));
                    draft =
                        draft.with(field, Raw::owned(format!("{{\"{name}\":{}}}", count.raw())));
                }
            }
            draft.push(events);
        }
    }

    fn failed<'a>(&self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        self.usage(root, marks, events);
        self.draft(root, Kind::TaskStatus, events, marks)
            .with("status", Raw::Ref("\"failed\""))
            .bind("message", root.get("message"))
            .bind("code", root.some("code"))
            .push(events);
    }

    fn subagent_started<'a>(
        &mut self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let (Some(id), Some(name)) = (root.get("subagentRunId"), root.get("name")) else { return };
        self.join(name.into(), Some(name.into()), events);
        self.subagents.insert(id.raw().to_owned(), Raw::owned(name.raw()));
        let parent = match root.some("parentSubagentRunId") {
            Some(parent) => parent.into(),
            None => self.task(),
        };
        let time = root.some("timestamp");
        let stamp = stamp(root);
        let event = Event::new(Kind::SubtaskCreated).with("taskId", parent.clone());
        let draft = Draft::new(event, events, marks)
            .bind("subtaskId", Some(id))
            .bind("agentId", Some(name))
            .with_some("timestamp", stamp.clone())
            .implied([
                root.get("type"),
                root.get("parentSubagentRunId"),
                time.filter(|_| stamp.is_some()),
            ])
            .meta("parentToolCallId", root.some("parentToolCallId"))
            .meta("parentMessageId", root.some("parentMessageId"));
        match root.some("description") {
            Some(description) => draft.bind("prompt", Some(description)),
            None => draft.with("prompt", Raw::Ref("\"\"")),
        }
        .push(events);
        events.push(
            Event::new(Kind::TaskCreated)
                .with("taskId", id)
                .with("initiator", Raw::Ref("\"agent\""))
                .with("parentTaskId", parent)
                .with("agentId", name)
                .with_some("timestamp", stamp),
        );
    }

    fn subagent_finished<'a>(
        &self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let outcome = root.some("outcome").filter(|o| o.is_object());
        let how = outcome.and_then(|o| o.get("type"));
        if let Some(outcome) = outcome {
            marks.open(outcome);
        }
        let draft = if how.is_some_and(|h| h.is("suspended")) {
            self.draft(root, Kind::TaskStatus, events, marks)
                .with("status", Raw::Ref("\"waiting-input\""))
                .meta("interruptIds", outcome.and_then(|o| o.some("interruptIds")))
        } else {
            self.draft(root, Kind::TaskComplete, events, marks)
        };
        result(draft.implied([how]), root).push(events);
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::AgUi;

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        if !root.is_object() {
            return;
        }
        let Some(kind) = root.get("type").and_then(|k| k.str()) else {
            // What a client sends has no type.
            if root.get("messages").is_some() && root.get("threadId").is_some() {
                self.begin(root, marks, events);
                self.input(root, marks, events);
            }
            return;
        };
        let kind = kind.as_ref();
        if self.thread.is_none() && kind != "RUN_STARTED" && super::model::is_event(kind) {
            self.begin(root, marks, events);
            self.thread = Some(String::new());
        }
        if !kind.ends_with("_CHUNK") {
            self.close_chunk(None, events);
        }
        match kind {
            "RUN_STARTED" => {
                self.begin(root, marks, events);
                if let Some(kind) = root.get("type") {
                    marks.implied(kind);
                }
                if let Some(time) = root.get("timestamp").filter(|_| stamp(root).is_some()) {
                    marks.implied(time);
                }
                if let Some(input) = root.some("input").filter(|i| i.is_object()) {
                    marks.open(input);
                    self.input(input, marks, events);
                }
            }
            "RUN_FINISHED" => self.run_finished(root, marks, events),
            "RUN_ERROR" | "SUBAGENT_ERROR" => self.failed(root, marks, events),
            "STEP_STARTED" => self.step(root, Kind::StepStarted, marks, events),
            "STEP_FINISHED" => self.step(root, Kind::StepFinished, marks, events),
            "TEXT_MESSAGE_CHUNK" => self.chunk(root, Of::Text, marks, events),
            "REASONING_MESSAGE_CHUNK" => self.chunk(root, Of::Reasoning, marks, events),
            "TOOL_CALL_CHUNK" => self.chunk(root, Of::Call, marks, events),
            "STATE_SNAPSHOT" => self.system(root, "state_snapshot", "snapshot", marks, events),
            "STATE_DELTA" => self.system(root, "state_delta", "delta", marks, events),
            "ACTIVITY_SNAPSHOT" => {
                self.system(root, "activity_snapshot", "content", marks, events);
            }
            "ACTIVITY_DELTA" => self.system(root, "activity_delta", "patch", marks, events),
            "RAW" => self.system(root, "raw", "event", marks, events),
            "CUSTOM" => self.system(root, "", "value", marks, events),
            "MESSAGES_SNAPSHOT" => {
                if let Some(kind) = root.get("type") {
                    marks.implied(kind);
                }
                if let Some(messages) = root.get("messages") {
                    self.messages(messages, marks, events);
                }
            }
            "SUBAGENT_STARTED" => self.subagent_started(root, marks, events),
            "SUBAGENT_FINISHED" => self.subagent_finished(root, marks, events),
            _ if kind.starts_with("TEXT_MESSAGE_") && super::model::is_event(kind) => {
                self.text(root, kind, marks, events);
            }
            _ if kind.starts_with("TOOL_CALL_") && super::model::is_event(kind) => {
                self.call(root, kind, marks, events);
            }
            _ if kind.starts_with("REASONING_") && super::model::is_event(kind) => {
                self.reasoning(root, kind, marks, events);
            }
            _ => {}
        }
    }

    fn finish(&mut self, events: &mut Vec<Event<'static>>) {
        self.close_chunk(None, events);
    }
}

/// The record's own metadata, where the event has none yet.
fn metadata<'m, 'a>(draft: Draft<'m, 'a>, root: Node<'_, 'a>) -> Draft<'m, 'a> {
    let own = root.some("metadata").filter(|m| m.is_object() && !draft.has_metadata());
    draft.bind("metadata", own)
}

/// What a run or a subagent came to.
fn result<'m, 'a>(draft: Draft<'m, 'a>, root: Node<'_, 'a>) -> Draft<'m, 'a> {
    match root.some("result") {
        Some(text) if text.is_string() => draft.bind("content", Some(text)),
        other => draft.meta("result", other),
    }
}

/// The record's time, spelled out.
fn stamp<'a>(root: Node<'_, '_>) -> Option<Raw<'a>> {
    let millis = root.get("timestamp")?.i64()?;
    time::from_millis(millis).map(|text| Raw::string(&text))
}

/// A call's arguments as a value: what was written, if it is JSON, else its text.
fn arguments(call: Option<&Call>) -> Raw<'static> {
    let Some(call) = call.filter(|c| !c.arguments.is_empty()) else { return Raw::Ref("{}") };
    let written = text::decode(&call.arguments);
    if Doc::parse(&written).is_ok() {
        return Raw::owned(written.as_ref());
    }
    Raw::owned(format!("\"{}\"", call.arguments))
}
