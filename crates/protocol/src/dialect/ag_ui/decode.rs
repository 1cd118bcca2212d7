//! AG-UI events to the journal's.

mod calls;
mod runs;
mod speech;

use std::collections::{HashMap, HashSet};

use crate::dialect::draft::Draft;
use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Doc, INNER_DEPTH, Node, Raw, text};
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
    /// Text of users and systems that is being streamed: role and text so far.
    foreign: HashMap<String, (String, String)>,
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
            foreign: HashMap::new(),
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
            "RUN_ERROR" => self.failed(root, marks, events),
            "SUBAGENT_ERROR" => self.subagent_failed(root, marks, events),
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
    if Doc::parse_within(&written, INNER_DEPTH).is_ok() {
        return Raw::owned(written.as_ref());
    }
    Raw::owned(format!("\"{}\"", call.arguments))
}
