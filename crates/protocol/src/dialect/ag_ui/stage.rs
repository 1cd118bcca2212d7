//! What is open in the run at hand, and how each signal is said in AG-UI.

mod runs;
mod speech;

use std::collections::{HashMap, HashSet};

use super::parts;
use crate::dialect::object::Object;
use crate::journal::flow::{DEFAULT_TASK, Outcome, Signal, Waiting};
use crate::journal::{Event, Kind};
use crate::json::{Raw, quote};
use crate::time;

/// The run at hand and what waits for the next one.
pub(super) struct Stage {
    out: Vec<String>,
    thread: Option<String>,
    run: Option<Run>,
    /// Run and message ids given out.
    used: HashSet<String>,
    /// Runs by the task they called from.
    parents: HashMap<String, String>,
    /// Subtasks announced and not yet begun.
    announced: HashMap<String, Announced>,
    /// Messages, answers and other records for the next run's start.
    messages: Vec<String>,
    answers: Vec<String>,
    deferred: Vec<String>,
    /// The task that the next run is for, if nothing else says.
    next: Option<String>,
    /// The run that was interrupted last, by task.
    interrupted: HashMap<String, String>,
    /// Tasks whose run was ended before they were, since another had something to say.
    left: HashSet<String>,
    /// Tasks that were made here: their parts have names that are their own only within them.
    made: HashSet<String>,
}

/// A run: a task, or a stretch of one.
pub(super) struct Run {
    task: String,
    id: String,
    parent: Option<String>,
    started: bool,
    time: Option<i64>,
    subagents: Vec<String>,
    ended: HashSet<String>,
    steps: Vec<(String, String)>,
    step_count: usize,
    texts: Vec<Open>,
    thoughts: Vec<Open>,
    calls: Vec<OpenCall>,
    interrupts: Vec<(String, String, String)>,
    /// Calls of tools that the client runs.
    pending: Vec<String>,
    waiting: Option<Waiting>,
    usage: Vec<String>,
    /// Whether an agent said something in it.
    spoken: bool,
}

struct Open {
    task: String,
    id: String,
    wire: String,
    /// For a thought: whether its message has begun.
    message: bool,
}

struct OpenCall {
    task: String,
    id: String,
    /// The arguments so far, as a string body.
    written: String,
}

struct Announced {
    parent: String,
    prompt: Option<Raw<'static>>,
    call: Option<Raw<'static>>,
    agent: Option<Raw<'static>>,
}

impl Stage {
    pub(super) fn new(thread: Option<&str>) -> Self {
        Self {
            out: Vec::new(),
            thread: thread.map(quote),
            run: None,
            used: HashSet::new(),
            parents: HashMap::new(),
            announced: HashMap::new(),
            messages: Vec::new(),
            answers: Vec::new(),
            deferred: Vec::new(),
            next: None,
            interrupted: HashMap::new(),
            left: HashSet::new(),
            made: HashSet::new(),
        }
    }

    /// The records written since the last call.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out)
    }

    /// The records so far were replayed; `waits`: a run ended there with a question.
    pub(super) fn replayed(&mut self, waits: bool) {
        self.flush();
        if waits && self.run.as_ref().is_some_and(|run| run.waiting.is_some()) {
            self.run = None;
        }
        self.out.clear();
    }

    /// Ends what is open, and says what still waits for a run.
    pub(super) fn finish(&mut self) {
        let left =
            !self.messages.is_empty() || !self.deferred.is_empty() || !self.answers.is_empty();
        if left && self.run.as_ref().is_none_or(|run| run.started) {
            let task = self.next.take().unwrap_or_else(|| DEFAULT_TASK.to_owned());
            self.begin(&task, None);
        }
        self.end(&Outcome::Completed, None);
    }

    pub(super) fn signal(&mut self, task: &str, event: Option<&Event<'_>>, signal: Signal) {
        match signal {
            Signal::RunStarted { agent, parent } => self.run_started(task, event, agent, parent),
            Signal::RunWaiting { on } => {
                if let Some(run) = self.run.as_mut().filter(|run| run.has(task)) {
                    run.waiting = Some(on);
                }
            }
            Signal::RunFinished { outcome } => self.run_finished(task, event, &outcome),
            Signal::StepStarted => self.step_started(task, event),
            Signal::StepFinished => self.step_finished(task, event),
            Signal::TextStarted { id } => self.text_started(task, &id, event),
            Signal::TextDelta { id, body } => self.text_delta(task, &id, &body, event),
            Signal::TextFinished { id, .. } => self.text_finished(task, &id, event),
            Signal::ThoughtStarted { id } => self.thought_started(task, &id, event),
            Signal::ThoughtDelta { id, body } => self.thought_delta(task, &id, &body, event),
            Signal::ThoughtFinished { id, signature, .. } => {
                self.thought_finished(task, &id, signature, event);
            }
            Signal::CallStarted => self.call_started(task, event),
            Signal::CallDelta { body } => self.call_delta(task, &body, event),
            Signal::Call { arguments, streamed } => {
                self.call(task, &arguments, streamed, event);
            }
            Signal::Return { .. } => self.returned(task, event),
            Signal::Event => {
                if let Some(event) = event {
                    self.event(task, event);
                }
            }
        }
    }

    /// The id of a part of a task, as JSON text: the same in whatever part of a thread it is told.
    pub(super) fn part_id(&mut self, task: &str, id: &str) -> String {
        match self.made.contains(task) {
            true => self.unique(&format!("{}/{id}", plain(task))),
            false => self.unique(id),
        }
    }

    /// An id that was not given out before, as JSON text.
    pub(super) fn unique(&mut self, wanted: &str) -> String {
        let wanted = if wanted.is_empty() { "id" } else { wanted };
        let mut id = wanted.to_owned();
        let mut n = 2;
        while !self.used.insert(id.clone()) {
            id = format!("{wanted}:{n}");
            n += 1;
        }
        quote(&id)
    }

    fn thread(&self) -> String {
        self.thread.clone().unwrap_or_else(|| String::from("\"thread-1\""))
    }

    /// Makes sure that a run is at hand in which the task can speak.
    fn enter(&mut self, task: &str) {
        match &self.run {
            Some(run) if run.has(task) || self.descends(task, run) => {
                if run.waits() {
                    // The task goes on after it asked: that is a run of its own here.
                    let root = run.task.clone();
                    self.end(&Outcome::Waiting, None);
                    self.begin(&root, None);
                }
            }
            _ => self.begin(task, None),
        }
        self.flush();
    }

    fn descends(&self, task: &str, run: &Run) -> bool {
        let mut at = task;
        for _ in 0..64 {
            match self.parents.get(at) {
                Some(parent) if *parent == run.task => return true,
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    /// Writes a record of a task, in a run of its own if there is none.
    fn write(&mut self, task: &str, record: Object, event: Option<&Event<'_>>) {
        self.enter(task);
        self.put(task, record, event);
    }

    /// Writes a record that goes on with what is open in the run, also while the run waits.
    fn put(&mut self, task: &str, record: Object, event: Option<&Event<'_>>) {
        let subagent = self.run.as_ref().is_some_and(|run| run.subagents.iter().any(|s| s == task));
        let record = if subagent { record.raw("subagentRunId", task) } else { record };
        self.out.push(stamped(record, event.and_then(millis)));
    }

    /// Writes an application's record: it starts no run by itself.
    fn note(&mut self, task: &str, record: Object, event: &Event<'_>) {
        let started = self.run.as_ref().is_some_and(|run| run.started && !run.waits());
        if started {
            self.write(task, record, Some(event));
        } else {
            self.next.get_or_insert_with(|| task.to_owned());
            self.deferred.push(stamped(record, millis(event)));
        }
    }

    fn custom(&mut self, task: &str, name: &str, value: &str, event: &Event<'_>) {
        let record = record("CUSTOM").raw("name", name).raw("value", value);
        self.note(task, record, event);
    }

    fn usage(&mut self, task: &str, event: &Event<'_>) {
        let Some(run) = self.run.as_mut().filter(|run| run.has(task)) else { return };
        run.usage.extend(parts::usage(event));
    }

    fn event(&mut self, task: &str, event: &Event<'_>) {
        match event.kind() {
            Kind::ThreadCreated => {
                if let Some(id) = event.get("contextId").filter(|_| self.thread.is_none()) {
                    self.thread = Some(text(id));
                }
            }
            Kind::Message => self.message(task, event),
            Kind::SubtaskCreated => {
                if let Some(subtask) = event.get("subtaskId") {
                    let announced = Announced {
                        parent: task.to_owned(),
                        prompt: event.get("prompt").map(Raw::to_owned),
                        call: event
                            .at("metadata", "/parentToolCallId")
                            .or_else(|| event.get("toolCallId").map(Raw::to_owned)),
                        agent: event.get("agentId").map(Raw::to_owned),
                    };
                    self.announced.insert(subtask.to_string(), announced);
                }
            }
            Kind::InputRequired | Kind::ToolInputRequired | Kind::AuthRequired => {
                self.ask(task, event);
            }
            Kind::InputReceived | Kind::AuthCompleted => self.answer(task, event),
            Kind::LlmUsage => self.usage(task, event),
            Kind::System => self.system(task, event),
            Kind::ToolProgress => {
                let id = event.str("toolCallId").unwrap_or_default();
                let record = record("ACTIVITY_SNAPSHOT")
                    .text("messageId", &format!("{id}:progress"))
                    .raw("activityType", "\"TOOL_PROGRESS\"")
                    .raw("content", &parts::fields(event, &["toolCallId", "progress", "message"]));
                self.note(task, record, event);
            }
            Kind::TaskStatus if event.get("message").or(event.get("code")).is_some() => {
                let value = parts::fields(event, &["status", "message", "code"]);
                self.custom(task, "\"task-status\"", &value, event);
            }
            Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite | Kind::Source | Kind::Error => {
                let name = quote(event.kind().name());
                self.custom(task, &name, &Object::of(event).end(), event);
            }
            _ => {}
        }
    }

    fn ask(&mut self, task: &str, event: &Event<'_>) {
        if !self.run.as_ref().is_some_and(|run| run.has(task) || self.descends(task, run)) {
            self.enter(task);
        }
        self.flush();
        let (id, interrupt) = parts::interrupt(event);
        let Some(run) = self.run.as_mut() else { return };
        let call = event.get("toolCallId").filter(|call| call.body().is_some());
        if let Some(call) = call
            && event.get("inputType").is_some_and(|ty| ty.is("tool-execution"))
            && self.made.contains(task)
        {
            // The client runs it, and comes with the result in its next run.
            run.pending.push(call.to_string());
            return;
        }
        let subagent = run.subagents.iter().any(|s| s == task);
        let interrupt = if subagent { interrupt.raw("subagentRunId", task) } else { interrupt };
        run.interrupts.retain(|(_, known, _)| *known != id);
        run.interrupts.push((task.to_owned(), id, interrupt.end()));
    }

    fn answer(&mut self, task: &str, event: &Event<'_>) {
        if let Some(run) = self.run.as_ref().filter(|run| run.waits()) {
            let root = run.task.clone();
            self.end(&Outcome::Waiting, None);
            self.next = Some(root);
        }
        let answer = parts::answer(event);
        if self.run.as_ref().is_some_and(|run| run.started) {
            self.custom(task, "\"input-received\"", &answer, event);
        } else {
            self.next.get_or_insert_with(|| task.to_owned());
            self.answers.push(answer);
        }
    }

    fn message(&mut self, task: &str, event: &Event<'_>) {
        let role = event.get("role").and_then(Raw::body).unwrap_or("user");
        if role == "agent" {
            if let Some(rest) = parts::beside_text(event) {
                self.custom(task, "\"content\"", &rest, event);
            }
            return;
        }
        if role == "tool" {
            let value = parts::fields(event, &["messageId", "content"]);
            self.custom(task, "\"tool_message\"", &value, event);
            return;
        }
        let busy = self.run.as_ref().is_some_and(Run::busy);
        let started = self.run.as_ref().is_some_and(|run| run.started);
        if started && (busy || role != "user") {
            // In the middle of something: as text of that role.
            let id = event.str("messageId").map_or_else(|| role.to_owned(), |id| id.into_owned());
            let body = parts::text_body(event);
            self.text_started(task, &id, Some(event));
            self.text_delta(task, &id, &body, Some(event));
            self.text_finished(task, &id, Some(event));
            return;
        }
        if started {
            // A new turn.
            self.end(&Outcome::Completed, None);
        }
        let wanted = event.str("messageId").unwrap_or_else(|| role.into());
        let id = self.unique(&wanted);
        self.next.get_or_insert_with(|| task.to_owned());
        self.messages.push(parts::message(event, &id));
    }

    fn system(&mut self, task: &str, event: &Event<'_>) {
        let record = parts::system(event);
        self.note(task, record, event);
    }
}

impl Run {
    /// Whether the task speaks in this run under its own name.
    fn has(&self, task: &str) -> bool {
        self.task == task || self.subagents.iter().any(|s| s == task)
    }

    fn waits(&self) -> bool {
        self.waiting.is_some() || !self.interrupts.is_empty()
    }

    /// Whether something is open that cannot be ended yet.
    fn busy(&self) -> bool {
        !(self.texts.is_empty()
            && self.thoughts.is_empty()
            && self.calls.is_empty()
            && self.subagents.is_empty())
    }
}

/// A record of a type.
pub(super) fn record(kind: &str) -> Object {
    Object::new().text("type", kind)
}

fn stamped(record: Object, time: Option<i64>) -> String {
    match time {
        Some(time) => record.raw("timestamp", &time.to_string()).end(),
        None => record.end(),
    }
}

fn millis(event: &Event<'_>) -> Option<i64> {
    time::to_millis(&event.str("timestamp")?)
}

/// An id as a JSON string, whatever it was.
fn text(id: &str) -> String {
    if id.starts_with('"') { id.to_owned() } else { quote(id) }
}

/// An id's text.
fn plain(id: &str) -> String {
    Raw::Ref(id).str().map_or_else(|| id.to_owned(), |s| s.into_owned())
}

/// An error's code.
fn code(event: &Event<'_>) -> Option<Raw<'static>> {
    event.get("code").filter(|c| c.body().is_some()).map(Raw::to_owned)
}

/// What a task came to.
fn result(event: &Event<'_>) -> Option<Raw<'static>> {
    event.get("content").map(Raw::to_owned).or_else(|| event.at("metadata", "/result"))
}
