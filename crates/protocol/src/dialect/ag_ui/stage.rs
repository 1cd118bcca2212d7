//! What is open in the run at hand, and how each signal is said in AG-UI.

use std::collections::{HashMap, HashSet};

use super::parts;
use crate::dialect::object::Object;
use crate::journal::flow::{DEFAULT_TASK, Outcome, Signal, Streamed, Waiting};
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
    written: bool,
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

    /// Begins a run for a task; ends the one at hand.
    fn begin(&mut self, task: &str, event: Option<&Event<'_>>) {
        self.end(&Outcome::Completed, None);
        let wanted = plain(task);
        let id = self.unique(&wanted);
        let parent = self.interrupted.remove(task);
        let meta = event.and_then(|e| e.at("metadata", "/parentRunId"));
        self.run = Some(Run {
            task: task.to_owned(),
            id,
            parent: parent.or(meta.map(|m| m.to_string())),
            started: false,
            time: event.and_then(millis),
            subagents: Vec::new(),
            ended: HashSet::new(),
            steps: Vec::new(),
            step_count: 0,
            texts: Vec::new(),
            thoughts: Vec::new(),
            calls: Vec::new(),
            interrupts: Vec::new(),
            waiting: None,
            usage: Vec::new(),
            spoken: false,
        });
    }

    /// Says that the run started, once something happens in it.
    fn flush(&mut self) {
        let thread = self.thread();
        let Some(run) = self.run.as_mut().filter(|run| !run.started) else { return };
        run.started = true;
        let messages = std::mem::take(&mut self.messages);
        let answers = std::mem::take(&mut self.answers);
        let mut start = record("RUN_STARTED")
            .raw("threadId", &thread)
            .raw("runId", &run.id)
            .some("parentRunId", run.parent.as_ref());
        if !messages.is_empty() || !answers.is_empty() {
            let mut input = Object::new()
                .raw("threadId", &thread)
                .raw("runId", &run.id)
                .raw("messages", &format!("[{}]", messages.join(",")))
                .raw("tools", "[]")
                .raw("context", "[]");
            if !answers.is_empty() {
                input = input.raw("resume", &format!("[{}]", answers.join(",")));
            }
            start = start.raw("input", &input.end());
        }
        let time = run.time;
        self.out.push(stamped(start, time));
        self.out.append(&mut self.deferred);
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

    fn run_started(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        agent: Option<Raw<'static>>,
        parent: Option<Raw<'static>>,
    ) {
        let announced = self.announced.remove(task);
        let parent = parent
            .map(|p| p.to_string())
            .or_else(|| announced.as_ref().map(|a| a.parent.clone()))
            .filter(|parent| parent != task);
        let under = match (&parent, &self.run) {
            (Some(parent), Some(run)) => {
                run.has(parent) || run.ended.contains(parent) || self.descends(parent, run)
            }
            _ => false,
        };
        let Some(parent) = parent.filter(|_| under) else {
            self.begin(task, event);
            return;
        };
        self.parents.insert(task.to_owned(), parent.clone());
        self.enter(&parent);
        let Some(run) = self.run.as_mut() else { return };
        if run.ended.contains(task) || run.has(task) {
            return;
        }
        let nested = run.task != parent && run.has(&parent);
        let name = agent.or_else(|| announced.as_ref().and_then(|a| a.agent.clone()));
        let name = name.filter(|n| n.body().is_some()).unwrap_or(Raw::Ref("\"subagent\""));
        let prompt = announced.as_ref().and_then(|a| a.prompt.as_ref());
        let call = announced.as_ref().and_then(|a| a.call.as_ref());
        let record = record("SUBAGENT_STARTED")
            .raw("subagentRunId", &text(task))
            .raw("name", &name)
            .some("description", prompt.filter(|p| p.body().is_some_and(|b| !b.is_empty())))
            .some("parentSubagentRunId", nested.then_some(&parent))
            .some("parentToolCallId", call);
        run.subagents.push(task.to_owned());
        self.out.push(stamped(record, event.and_then(millis)));
    }

    fn run_finished(&mut self, task: &str, event: Option<&Event<'_>>, outcome: &Outcome) {
        let Some(run) = &self.run else {
            // It ended here when it asked; an answer that came since belongs to what follows.
            if event.is_some() && (self.interrupted.contains_key(task) || !self.answers.is_empty())
            {
                self.begin(task, event);
                self.flush();
                self.end(outcome, event);
            }
            return;
        };
        if run.task == task {
            if run.waits() && *outcome != Outcome::Waiting {
                self.enter(task);
            }
            self.end(outcome, event);
        } else if run.subagents.iter().any(|s| s == task) {
            self.subagent_finished(task, event, outcome);
        }
    }

    fn subagent_finished(&mut self, task: &str, event: Option<&Event<'_>>, outcome: &Outcome) {
        self.close(Some(task));
        let Some(run) = self.run.as_mut() else { return };
        run.subagents.retain(|s| s != task);
        run.ended.insert(task.to_owned());
        let record = match outcome {
            Outcome::Failed { message } => record("SUBAGENT_ERROR")
                .raw("subagentRunId", task)
                .body("message", message)
                .some("code", event.and_then(code)),
            Outcome::Canceled => record("SUBAGENT_ERROR")
                .raw("subagentRunId", task)
                .raw("message", "\"canceled\"")
                .raw("code", "\"CANCELED\""),
            Outcome::Waiting => {
                let ids: Vec<&str> = run
                    .interrupts
                    .iter()
                    .filter(|(t, ..)| t == task)
                    .map(|(_, id, _)| id.as_str())
                    .collect();
                let outcome =
                    format!("{{\"type\":\"suspended\",\"interruptIds\":[{}]}}", ids.join(","));
                record("SUBAGENT_FINISHED").raw("subagentRunId", task).raw("outcome", &outcome)
            }
            Outcome::Completed => record("SUBAGENT_FINISHED")
                .raw("subagentRunId", task)
                .some("result", event.and_then(result))
                .raw("outcome", "{\"type\":\"success\"}"),
        };
        self.out.push(stamped(record, event.and_then(millis)));
    }

    /// Closes what a task left open, or everything.
    fn close(&mut self, only: Option<&str>) {
        let Some(run) = self.run.as_mut() else { return };
        let closes = |task: &str| only.is_none_or(|only| only == task);
        let subagents = run.subagents.clone();
        let mut records = Vec::new();
        let mut say = |task: &str, record: Object| {
            let subagent = subagents.iter().any(|s| s == task);
            let record = if subagent { record.raw("subagentRunId", task) } else { record };
            records.push(record.end());
        };
        for open in run.thoughts.extract_if(.., |open| closes(&open.task)) {
            if open.message {
                say(&open.task, record("REASONING_MESSAGE_END").raw("messageId", &open.wire));
            }
            say(&open.task, record("REASONING_END").raw("messageId", &open.wire));
        }
        for open in run.texts.extract_if(.., |open| closes(&open.task)) {
            say(&open.task, record("TEXT_MESSAGE_END").raw("messageId", &open.wire));
        }
        for open in run.calls.extract_if(.., |open| closes(&open.task)) {
            say(&open.task, record("TOOL_CALL_END").raw("toolCallId", &open.id));
        }
        for (task, name) in run.steps.extract_if(.., |(task, _)| closes(task)) {
            say(&task, record("STEP_FINISHED").raw("stepName", &name));
        }
        self.out.append(&mut records);
    }

    /// Ends the run at hand.
    fn end(&mut self, outcome: &Outcome, event: Option<&Event<'_>>) {
        if self.run.is_none() {
            return;
        }
        self.flush();
        self.conclude(event);
        self.close(None);
        let children: Vec<String> =
            self.run.iter().flat_map(|run| run.subagents.iter().rev().cloned()).collect();
        for child in children {
            let asked =
                self.run.iter().any(|r| r.interrupts.iter().any(|(task, ..)| *task == child));
            let outcome = if asked { Outcome::Waiting } else { Outcome::Completed };
            self.subagent_finished(&child, None, &outcome);
        }
        let thread = self.thread();
        let Some(mut run) = self.run.take() else { return };
        let waits = run.waits() && !matches!(outcome, Outcome::Failed { .. } | Outcome::Canceled);
        let usage = (!run.usage.is_empty()).then(|| format!("[{}]", run.usage.join(",")));
        let finished = || record("RUN_FINISHED").raw("threadId", &thread).raw("runId", &run.id);
        let record = match outcome {
            Outcome::Failed { message } => record("RUN_ERROR")
                .body("message", message)
                .some("code", event.and_then(code))
                .some("usage", usage),
            Outcome::Canceled => {
                finished().raw("outcome", "{\"type\":\"cancelled\"}").some("usage", usage)
            }
            _ if waits || *outcome == Outcome::Waiting => {
                if run.interrupts.is_empty() {
                    let reason = match run.waiting {
                        Some(Waiting::Auth) => "auth",
                        _ => "input_required",
                    };
                    let one = Object::new().raw("id", &run.id).text("reason", reason).end();
                    run.interrupts.push((run.task.clone(), run.id.clone(), one));
                }
                let all: Vec<&str> = run.interrupts.iter().map(|(.., i)| i.as_str()).collect();
                let outcome =
                    format!("{{\"type\":\"interrupt\",\"interrupts\":[{}]}}", all.join(","));
                self.interrupted.insert(run.task.clone(), run.id.clone());
                finished().raw("outcome", &outcome).some("usage", usage)
            }
            _ => finished()
                .some("result", event.and_then(result))
                .raw("outcome", "{\"type\":\"success\"}")
                .some("usage", usage),
        };
        self.out.push(stamped(record, event.and_then(millis)));
    }

    /// Says the result of a task that said nothing else.
    fn conclude(&mut self, event: Option<&Event<'_>>) {
        let Some(run) = self.run.as_ref().filter(|run| !run.spoken) else { return };
        let body = event.and_then(|e| e.body("content")).unwrap_or("");
        if !body.is_empty() {
            let task = run.task.clone();
            let id = format!("{}:result", plain(&run.id));
            self.text_delta(&task, &id, body, event);
            self.text_finished(&task, &id, event);
        }
    }

    fn step_started(&mut self, task: &str, event: Option<&Event<'_>>) {
        self.enter(task);
        let given = event.and_then(|e| e.get("stepId")).filter(|s| s.body().is_some());
        let Some(run) = self.run.as_mut() else { return };
        run.step_count += 1;
        let open = |name: &str| run.steps.iter().any(|(t, s)| t == task && s == name);
        let name = match given {
            Some(name) if !open(name) => name.to_string(),
            Some(name) => quote(&format!("{}:{}", plain(name), run.step_count)),
            None => format!("\"step-{}\"", run.step_count),
        };
        let record = record("STEP_STARTED").raw("stepName", &name);
        run.steps.push((task.to_owned(), name));
        self.write(task, record, event);
    }

    fn step_finished(&mut self, task: &str, event: Option<&Event<'_>>) {
        if let Some(event) = event {
            self.usage(task, event);
        }
        let given = event.and_then(|e| e.get("stepId"));
        let Some(run) = self.run.as_mut() else { return };
        let mine = |(t, s): &(String, String)| t == task && given.is_none_or(|g| s == g.as_str());
        let at = run.steps.iter().rposition(mine);
        let at = at.or_else(|| run.steps.iter().rposition(|(t, _)| t == task));
        let Some((_, name)) = at.map(|at| run.steps.remove(at)) else { return };
        self.write(task, record("STEP_FINISHED").raw("stepName", &name), event);
    }

    fn usage(&mut self, task: &str, event: &Event<'_>) {
        let Some(run) = self.run.as_mut().filter(|run| run.has(task)) else { return };
        run.usage.extend(parts::usage(event));
    }

    fn text_started(&mut self, task: &str, id: &str, event: Option<&Event<'_>>) {
        self.enter(task);
        let role = event.and_then(|e| e.get("role")).and_then(Raw::body);
        let role = match role {
            Some(role @ ("user" | "system" | "developer")) => role,
            _ => "assistant",
        };
        let name = event.and_then(|e| e.get("agentId").or(e.get("author")));
        let wire = self.unique(id);
        let record = record("TEXT_MESSAGE_START")
            .raw("messageId", &wire)
            .text("role", role)
            .some("name", name.filter(|n| n.body().is_some()));
        if let Some(run) = self.run.as_mut() {
            run.spoken |= role == "assistant";
            run.texts.push(Open { task: task.to_owned(), id: id.to_owned(), wire, message: false });
        }
        self.write(task, record, event);
    }

    fn text_delta(&mut self, task: &str, id: &str, body: &str, event: Option<&Event<'_>>) {
        if body.is_empty() {
            return;
        }
        self.enter(task);
        let find = |run: &Run| {
            run.texts.iter().find(|o| o.task == task && o.id == id).map(|o| o.wire.clone())
        };
        let wire = match self.run.as_ref().and_then(find) {
            Some(wire) => wire,
            None => {
                self.text_started(task, id, event);
                self.run.as_ref().and_then(find).unwrap_or_default()
            }
        };
        let record = record("TEXT_MESSAGE_CONTENT").raw("messageId", &wire).body("delta", body);
        self.write(task, record, event);
    }

    fn text_finished(&mut self, task: &str, id: &str, event: Option<&Event<'_>>) {
        let Some(run) = self.run.as_mut() else { return };
        let at = run.texts.iter().position(|o| o.task == task && o.id == id);
        let Some(open) = at.map(|at| run.texts.remove(at)) else { return };
        self.write(task, record("TEXT_MESSAGE_END").raw("messageId", &open.wire), event);
    }

    fn thought_started(&mut self, task: &str, id: &str, event: Option<&Event<'_>>) {
        self.enter(task);
        let wire = self.unique(id);
        let record = record("REASONING_START").raw("messageId", &wire);
        if let Some(run) = self.run.as_mut() {
            run.thoughts.push(Open {
                task: task.to_owned(),
                id: id.to_owned(),
                wire,
                message: false,
            });
        }
        self.write(task, record, event);
    }

    fn thought_delta(&mut self, task: &str, id: &str, body: &str, event: Option<&Event<'_>>) {
        if body.is_empty() {
            return;
        }
        self.enter(task);
        let known =
            self.run.iter().any(|r| r.thoughts.iter().any(|o| o.task == task && o.id == id));
        if !known {
            self.thought_started(task, id, event);
        }
        let Some(run) = self.run.as_mut() else { return };
        let Some(open) = run.thoughts.iter_mut().find(|o| o.task == task && o.id == id) else {
            return;
        };
        let wire = open.wire.clone();
        if !std::mem::replace(&mut open.message, true) {
            let start = record("REASONING_MESSAGE_START")
                .raw("messageId", &wire)
                .raw("role", "\"reasoning\"");
            self.write(task, start, event);
        }
        let record =
            record("REASONING_MESSAGE_CONTENT").raw("messageId", &wire).body("delta", body);
        self.write(task, record, event);
    }

    fn thought_finished(
        &mut self,
        task: &str,
        id: &str,
        signature: Option<Raw<'static>>,
        event: Option<&Event<'_>>,
    ) {
        let Some(run) = self.run.as_mut() else { return };
        let at = run.thoughts.iter().position(|o| o.task == task && o.id == id);
        let Some(open) = at.map(|at| run.thoughts.remove(at)) else { return };
        if open.message {
            let record = record("REASONING_MESSAGE_END").raw("messageId", &open.wire);
            self.write(task, record, event);
        }
        if let Some(signature) = signature.filter(|s| s.body().is_some()) {
            let record = record("REASONING_ENCRYPTED_VALUE")
                .raw("subtype", "\"message\"")
                .raw("entityId", &open.wire)
                .raw("encryptedValue", &signature);
            self.write(task, record, event);
        }
        self.write(task, record("REASONING_END").raw("messageId", &open.wire), event);
    }

    fn call_started(&mut self, task: &str, event: Option<&Event<'_>>) {
        let Some(event) = event else { return };
        self.enter(task);
        let id = text(event.get("toolCallId").map_or("\"call\"", |id| id.as_str()));
        let name = text(event.get("toolName").map_or("\"tool\"", |name| name.as_str()));
        let Some(run) = self.run.as_mut() else { return };
        if run.calls.iter().any(|call| call.id == id) {
            return;
        }
        let parent = event
            .get("messageId")
            .filter(|m| m.str().is_some_and(|m| self.used.contains(m.as_ref())));
        run.calls.push(OpenCall { task: task.to_owned(), id: id.clone(), written: false });
        let record = record("TOOL_CALL_START")
            .raw("toolCallId", &id)
            .raw("toolCallName", &name)
            .some("parentMessageId", parent);
        self.write(task, record, Some(event));
    }

    fn call_delta(&mut self, task: &str, body: &str, event: Option<&Event<'_>>) {
        let Some(id) = event.and_then(|e| e.get("toolCallId")).map(|id| text(id)) else { return };
        let Some(run) = self.run.as_mut() else { return };
        let Some(open) = run.calls.iter_mut().find(|call| call.id == id) else { return };
        if body.is_empty() {
            return;
        }
        open.written = true;
        let record = record("TOOL_CALL_ARGS").raw("toolCallId", &id).body("delta", body);
        self.write(task, record, event);
    }

    fn call(
        &mut self,
        task: &str,
        arguments: &Raw<'_>,
        streamed: Streamed,
        event: Option<&Event<'_>>,
    ) {
        let Some(id) = event.and_then(|e| e.get("toolCallId")).map(|id| text(id)) else { return };
        self.enter(task);
        let is_open = self.run.iter().any(|run| run.calls.iter().any(|call| call.id == id));
        if streamed == Streamed::No || !is_open {
            self.call_started(task, event);
        }
        let Some(run) = self.run.as_mut() else { return };
        let at = run.calls.iter().position(|call| call.id == id);
        let Some(open) = at.map(|at| run.calls.remove(at)) else { return };
        if !open.written {
            // A string that is no JSON is what the model wrote.
            let delta = match arguments.body() {
                Some(_) => arguments.to_string(),
                None => quote(arguments),
            };
            let record = record("TOOL_CALL_ARGS").raw("toolCallId", &id).raw("delta", &delta);
            self.write(task, record, event);
        }
        self.write(task, record("TOOL_CALL_END").raw("toolCallId", &id), event);
    }

    fn returned(&mut self, task: &str, event: Option<&Event<'_>>) {
        let Some(event) = event else { return };
        let id = text(event.get("toolCallId").map_or("\"call\"", |id| id.as_str()));
        let content = parts::result(event);
        if event.get("preliminary").and_then(Raw::bool) == Some(true) {
            let value = Object::new().raw("toolCallId", &id).raw("content", &content).end();
            self.custom(task, "\"tool_output_preliminary\"", &value, event);
            return;
        }
        let wanted = match event.str("messageId") {
            Some(message) => message.into_owned(),
            None => format!("{}:result", plain(&id)),
        };
        let message = self.unique(&wanted);
        let record = record("TOOL_CALL_RESULT")
            .raw("messageId", &message)
            .raw("toolCallId", &id)
            .raw("content", &content)
            .raw("role", "\"tool\"");
        self.write(task, record, Some(event));
        let error =
            event.get("error").filter(|_| event.get("result").is_some_and(|r| !r.is_null()));
        if let Some(error) = error {
            // A result has no place for an error beside it.
            let value = Object::new().raw("toolCallId", &id).raw("error", error).end();
            self.custom(task, "\"tool_error\"", &value, event);
        }
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
                        call: event.at("metadata", "/parentToolCallId"),
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
