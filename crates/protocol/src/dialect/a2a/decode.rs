//! Events, tasks and messages of both versions to events.

use std::collections::{HashMap, HashSet};

use super::artifact::{Arrival, Artifacts};
use super::message::message_parts;
use super::model::State;
use super::part::Shapes;
use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

/// Reads one record after the other.
pub(super) struct Reader {
    pub(super) opening: Opening,
    pub(super) agent: Raw<'static>,
    pub(super) joined: bool,
    /// The thread's own `contextId` on the wire, as JSON text.
    pub(super) context: Option<String>,
    pub(super) tasks: HashMap<String, Task>,
    /// Messages that were read, by the JSON text of their ids.
    pub(super) seen: HashSet<String>,
    /// The task that was told of last and has not ended.
    pub(super) current: Option<String>,
    pub(super) shapes: Shapes,
}

#[derive(Default)]
pub(super) struct Task {
    created: bool,
    artifacts: Artifacts,
}

/// Where a value stands: the JSON text of its context and task.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scope<'a> {
    pub(super) context: Option<&'a str>,
    /// The context, where it is not the thread's.
    foreign: Option<&'a str>,
    pub(super) task: Option<&'a str>,
}

/// What reading a record makes.
pub(super) struct Out<'m, 'a> {
    pub(super) marks: &'m mut Marks,
    pub(super) events: &'m mut Vec<Event<'a>>,
}

impl<'a> Out<'_, 'a> {
    pub(super) fn bind(&mut self, node: Option<Node<'_, '_>>, ev: usize, field: &'static str) {
        if let Some(node) = node {
            self.marks.bind(node, ev, field);
        }
    }

    pub(super) fn implied(&mut self, node: Option<Node<'_, '_>>) {
        if let Some(node) = node {
            self.marks.implied(node);
        }
    }

    /// Binds a task's id to the first event since `from` that carries it.
    fn bind_task(&mut self, task: Option<Node<'_, 'a>>, from: usize) {
        let Some(task) = task else { return };
        let found = self.events.iter().enumerate().skip(from).find_map(|(at, event)| {
            event.get("taskId").is_some_and(|id| id.as_str() == task.raw()).then_some(at)
        });
        if let Some(at) = found {
            self.marks.bind(task, at, "taskId");
        }
    }
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            agent: Raw::string(options.agent.as_deref().unwrap_or("agent")),
            joined: false,
            context: None,
            tasks: HashMap::new(),
            seen: HashSet::new(),
            current: None,
            shapes: Shapes::Usual,
        }
    }

    pub(super) fn shapes(&self) -> Shapes {
        self.shapes
    }

    pub(super) fn artifacts(&mut self, scope: Scope<'_>) -> &mut Artifacts {
        &mut self.task_of(scope).artifacts
    }

    fn task_of(&mut self, scope: Scope<'_>) -> &mut Task {
        self.tasks.entry(scope.task.unwrap_or("").to_owned()).or_default()
    }

    pub(super) fn task_event<'a>(&self, kind: Kind, scope: Scope<'a>) -> Event<'a> {
        Event::new(kind)
            .with_some("contextId", scope.foreign.map(Raw::Ref))
            .with_some("taskId", scope.task.map(Raw::Ref))
    }

    pub(super) fn agent_event<'a>(&self, kind: Kind, scope: Scope<'a>) -> Event<'a> {
        self.task_event(kind, scope).with("agentId", self.agent.clone())
    }

    /// Says, once, that the agent takes part.
    pub(super) fn join(&mut self, out: &mut Out<'_, '_>) {
        if !self.joined {
            self.joined = true;
            out.events.push(
                Event::new(Kind::ParticipantJoined)
                    .with("participantId", self.agent.clone())
                    .with("role", Raw::Ref("\"agent\"")),
            );
        }
    }

    /// Begins the thread, where this is the first record.
    pub(super) fn enter<'a>(
        &mut self,
        value: Node<'_, 'a>,
        task: Option<Node<'_, 'a>>,
        out: &mut Out<'_, 'a>,
    ) -> Scope<'a> {
        let context = value.some("contextId").filter(|c| c.is_string());
        let task = task.filter(|t| t.is_string()).map(Node::raw);
        let mut scope = Scope { context: context.map(Node::raw), foreign: None, task };
        let ev = out.events.len();
        if let Some(event) = self.opening.open(context.map(Raw::from), value.raw()) {
            out.bind(context, ev, "contextId");
            out.events.push(event);
            self.context = scope.context.map(ToOwned::to_owned);
        } else if let Some(context) = context {
            let own = self.context.get_or_insert_with(|| context.raw().to_owned());
            if own == context.raw() {
                out.marks.implied(context);
            } else {
                // Bound to the event that comes next; kept as it is if none comes.
                scope.foreign = Some(context.raw());
                out.marks.bind(context, ev, "contextId");
            }
        }
        scope
    }

    /// Reads a response, an event, a task, a page of tasks, or a message.
    fn body<'a>(&mut self, value: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        if let Some(kind) = value.get("kind").filter(|k| k.is_string()) {
            match kind.body() {
                "task" => self.task(value, out),
                "message" => self.direct(value, out),
                "status-update" => self.status_update(value, out),
                "artifact-update" => self.artifact_update(value, out),
                _ => return,
            }
            out.marks.implied(kind);
            return;
        }
        let member = |key| value.get(key).filter(|n: &Node<'_, '_>| n.is_object());
        if let Some(task) = member("task") {
            out.marks.open(task);
            self.task(task, out);
        } else if let Some(message) = member("message") {
            out.marks.open(message);
            self.direct(message, out);
        } else if let Some(update) = member("statusUpdate") {
            out.marks.open(update);
            self.status_update(update, out);
        } else if let Some(update) = member("artifactUpdate") {
            out.marks.open(update);
            self.artifact_update(update, out);
        } else if let Some(tasks) = value.get("tasks").filter(|n| n.is_array()) {
            out.marks.list(tasks);
            for task in tasks.children() {
                self.task(task, out);
            }
        } else if let Some(error) = member("error") {
            self.error(error, out);
        } else if value.get("id").is_some() && member("status").is_some() {
            self.task(value, out);
        } else if value.get("messageId").is_some() && message_parts(value).is_some() {
            self.direct(value, out);
        } else if value.get("skills").is_some() && member("capabilities").is_some() {
            self.card(value, out);
        }
    }

    fn request<'a>(&mut self, method: Node<'_, 'a>, params: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        match method.body() {
            "SendMessage" | "SendStreamingMessage" | "message/send" | "message/stream" => {
                out.marks.implied(method);
                out.marks.open(params);
                self.body(params, out);
            }
            "CancelTask" | "tasks/cancel" => {
                let Some(id) = params.get("id").filter(|n| n.is_string()) else { return };
                out.marks.implied(method);
                out.marks.open(params);
                let scope = self.enter(params, Some(id), out);
                out.marks.bind(id, out.events.len(), "taskId");
                out.events.push(self.task_event(Kind::CancelRequested, scope));
            }
            _ => {}
        }
    }

    fn task<'a>(&mut self, value: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let Some(id) = value.get("id").filter(|n| n.is_string()) else { return };
        let scope = self.enter(value, Some(id), out);
        out.implied(value.get("kind"));
        let status = value.get("status").filter(|n| n.is_object());
        let from = out.events.len();
        self.create(status, value.some("metadata"), scope, out);
        if let Some(history) = value.get("history").filter(|n| n.is_array()) {
            out.marks.list(history);
            for message in history.children() {
                let known = message.get("messageId").is_some_and(|m| self.seen.contains(m.raw()));
                if !known {
                    self.message(message, scope, None, out);
                }
            }
        }
        if let Some(artifacts) = value.get("artifacts").filter(|n| n.is_array()) {
            out.marks.list(artifacts);
            for artifact in artifacts.children() {
                self.artifact(artifact, scope, Arrival::Snapshot, None, out);
            }
        }
        if let Some(status) = status {
            self.status(status, None, scope, out);
        }
        out.bind_task(Some(id), from);
    }

    /// Says, once, that a task exists.
    pub(super) fn create<'a>(
        &mut self,
        status: Option<Node<'_, 'a>>,
        metadata: Option<Node<'_, 'a>>,
        scope: Scope<'a>,
        out: &mut Out<'_, 'a>,
    ) {
        if std::mem::replace(&mut self.task_of(scope).created, true) {
            return;
        }
        self.current = scope.task.map(ToOwned::to_owned);
        let ev = out.events.len();
        let time = status.and_then(|s| s.some("timestamp")).filter(|t| t.is_string());
        let submitted = status.and_then(|s| s.get("state")).and_then(State::read);
        if submitted == Some(State::Submitted) {
            out.bind(time, ev, "timestamp");
        }
        let metadata = metadata.filter(|m| m.is_object());
        out.bind(metadata, ev, "metadata");
        let parent = metadata.and_then(|m| m.get("parentTaskId")).filter(|p| p.is_string());
        out.events.push(
            self.task_event(Kind::TaskCreated, scope)
                .with_some("parentTaskId", parent)
                .with("initiator", Raw::Ref("\"user\""))
                .with_some("timestamp", time)
                .with_some("metadata", metadata),
        );
    }

    fn status_update<'a>(&mut self, value: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let task = value.some("taskId");
        let Some(status) = value.get("status").filter(|n| n.is_object()) else { return };
        let scope = self.enter(value, task, out);
        let from = out.events.len();
        self.status(status, value.some("metadata"), scope, out);
        out.bind_task(task, from);
        out.implied(value.get("final"));
    }

    fn artifact_update<'a>(&mut self, value: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let task = value.some("taskId");
        let Some(artifact) = value.get("artifact").filter(|n| n.is_object()) else { return };
        let scope = self.enter(value, task, out);
        let from = out.events.len();
        out.marks.open(artifact);
        let append = value.some("append");
        let more = append.and_then(|a| a.bool()).unwrap_or(false);
        let arrival = if more { Arrival::Append } else { Arrival::New };
        out.implied(append);
        self.artifact(artifact, scope, arrival, value.some("lastChunk"), out);
        out.bind_task(task, from);
        let metadata = value.some("metadata").filter(|m| m.is_object());
        if let (Some(event), Some(metadata)) = (out.events.get_mut(from), metadata)
            && event.get("metadata").is_none()
        {
            event.set("metadata", metadata);
            out.marks.bind(metadata, from, "metadata");
        }
    }

    /// A message by itself: a request's, a response's, or an event's.
    fn direct<'a>(&mut self, message: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let task = message.some("taskId").filter(|t| t.is_string());
        let scope = self.enter(message, task, out);
        let from = out.events.len();
        self.message(message, scope, None, out);
        out.bind_task(task, from);
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::A2a;

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let out = &mut Out { marks, events };
        let Some(version) = root.get("jsonrpc") else {
            self.body(root, out);
            return;
        };
        out.marks.implied(version);
        if let Some(result) = root.some("result") {
            out.marks.open(result);
            self.body(result, out);
        } else if let Some(error) = root.some("error") {
            self.error(error, out);
        } else if let (Some(method), Some(params)) = (root.some("method"), root.some("params")) {
            self.request(method, params, out);
        }
    }
}
