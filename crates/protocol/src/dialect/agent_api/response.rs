//! The response at hand: its messages in the making, its sequence numbers, its output.

mod messages;

use std::collections::{HashMap, HashSet};

use super::write;
use crate::dialect::object::Object;
use crate::journal::flow::{DEFAULT_TASK, Outcome, Signal};
use crate::journal::{Event, Kind};
use crate::json::{Raw, quote};
use crate::time;

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Every step of a response.
    Stream,
    /// Every step of a response, which ends (`incomplete`) when its task says that it waits:
    /// whoever reads it is to answer. What comes of that is a response of the same id.
    Live,
    /// Only the response that it comes to.
    Folded,
}

/// The response at hand and what waits for the next one.
pub(super) struct Stage {
    out: Vec<String>,
    form: Form,
    session: Option<String>,
    response: Option<Response>,
    used: HashSet<String>,
    /// Tasks whose response was ended before they were, since another had something to say.
    left: HashSet<String>,
    parents: HashMap<String, String>,
    agents: HashMap<String, Raw<'static>>,
    /// Messages and records that came before a response did.
    waiting: Vec<(String, Event<'static>)>,
    /// Labels of MCP servers, by call.
    servers: HashMap<String, Raw<'static>>,
    /// Names and arguments of calls, which may have to be agreed to.
    calls: HashMap<String, write::Called>,
    /// The time of the latest event that has one: as it stands there, and in seconds.
    stamp: String,
    now: i64,
}

struct Response {
    task: String,
    id: String,
    number: u64,
    created: i64,
    /// Messages that ended, with the number each began at: they are read in that order.
    output: Vec<(u64, String)>,
    open: Vec<Message>,
    usage: Usage,
    /// Whether an agent said something in it.
    spoken: bool,
}

/// Tokens, added up.
#[derive(Default)]
struct Usage {
    input: i64,
    output: i64,
    any: bool,
}

/// A message that has begun.
struct Message {
    task: String,
    /// What it streams: a part or a call, by the source's id.
    key: String,
    id: String,
    /// Its first sequence number.
    began: u64,
    kind: &'static str,
    role: &'static str,
    metadata: String,
    /// Its text or its arguments so far, as a string body.
    body: String,
    name: String,
}

/// One content of a message: its type and the members of that type.
pub(super) struct Content {
    pub(super) kind: &'static str,
    pub(super) members: Vec<(&'static str, String)>,
}

impl Content {
    pub(super) fn new(kind: &'static str, key: &'static str, value: impl Into<String>) -> Self {
        Self { kind, members: vec![(key, value.into())] }
    }
}

/// How a message ends.
struct End<'e> {
    contents: Vec<Content>,
    /// Code and message of its failure, as JSON text.
    error: Option<(&'e str, &'e str)>,
}

impl Stage {
    pub(super) fn new(form: Form, session: Option<&str>) -> Self {
        Self {
            out: Vec::new(),
            form,
            session: session.map(quote),
            response: None,
            used: HashSet::new(),
            left: HashSet::new(),
            parents: HashMap::new(),
            agents: HashMap::new(),
            waiting: Vec::new(),
            servers: HashMap::new(),
            calls: HashMap::new(),
            stamp: String::new(),
            now: 0,
        }
    }

    /// The records written since the last call.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out)
    }

    /// Ends what is open, and says what still waits for a response.
    pub(super) fn finish(&mut self) {
        if let Some((task, _)) = self.waiting.first() {
            let task = task.clone();
            self.begin(&task);
        }
        self.end(&Outcome::Completed, None);
    }

    pub(super) fn signal(&mut self, task: &str, event: Option<&Event<'_>>, signal: Signal) {
        self.tick(event);
        if self.session.is_none() {
            self.session = event.and_then(|e| e.get("contextId")).map(|id| text(id));
        }
        match signal {
            Signal::RunStarted { agent, parent } => self.run_started(task, agent, parent),
            Signal::RunWaiting { .. } => self.run_waiting(task, event),
            Signal::StepStarted => {}
            Signal::RunFinished { outcome } => self.run_finished(task, event, &outcome),
            Signal::StepFinished => self.usage(task, event),
            Signal::TextStarted { id } => self.text_started(task, &id, "message", event),
            Signal::ThoughtStarted { id } => self.text_started(task, &id, "reasoning", event),
            Signal::TextDelta { id, body } => self.delta(task, &id, "message", &body, event),
            Signal::ThoughtDelta { id, body } => self.delta(task, &id, "reasoning", &body, event),
            Signal::TextFinished { id, body } | Signal::ThoughtFinished { id, body, .. } => {
                self.text_finished(task, &id, &body);
            }
            Signal::CallStarted => self.call_started(task, event),
            Signal::CallDelta { body } => {
                let key = event.and_then(|e| e.get("toolCallId")).map(|id| text(id));
                let open = self.response.as_mut().and_then(|r| r.find(task, key.as_deref()?));
                if let Some(open) = open {
                    open.body.push_str(&body);
                }
            }
            Signal::Call { arguments, .. } => self.call(task, &arguments, event),
            Signal::Return { name } => self.returned(task, name, event),
            Signal::Event => {
                if let Some(event) = event {
                    self.event(task, event);
                }
            }
        }
    }

    /// Notes the time of an event. Pieces that were said together have the same.
    fn tick(&mut self, event: Option<&Event<'_>>) {
        let Some(told) = event.and_then(|e| e.get("timestamp")) else { return };
        if told.as_str() == self.stamp {
            return;
        }
        if let Some(millis) = told.str().and_then(|t| time::to_millis(&t)) {
            self.now = millis.div_euclid(1000);
            told.as_str().clone_into(&mut self.stamp);
        }
    }

    fn run_started(
        &mut self,
        task: &str,
        agent: Option<Raw<'static>>,
        parent: Option<Raw<'static>>,
    ) {
        if let Some(agent) = agent.filter(|a| a.body().is_some()) {
            self.agents.insert(task.to_owned(), agent);
        }
        if let Some(parent) = parent.filter(|p| p.as_str() != task) {
            self.parents.insert(task.to_owned(), parent.to_string());
        }
        if !self.speaks(task) {
            self.begin(task);
        }
    }

    fn run_finished(&mut self, task: &str, event: Option<&Event<'_>>, outcome: &Outcome) {
        let is_stopped = matches!(outcome, Outcome::Failed { .. } | Outcome::Canceled);
        if self.left.remove(task) && is_stopped && !self.speaks(task) {
            // Its response was ended for another's, as if all had gone well.
            self.begin(task);
            self.end(outcome, event);
        } else if self.response.as_ref().is_some_and(|r| r.task == task) {
            self.end(outcome, event);
        } else if self.speaks(task)
            && let Outcome::Failed { message } = outcome
        {
            let code = event.and_then(code);
            let message = format!("\"{message}\"");
            self.error(task, code.as_deref(), &message);
        }
    }

    fn run_waiting(&mut self, task: &str, event: Option<&Event<'_>>) {
        let says = event.is_some_and(|e| e.kind() == Kind::TaskStatus) && self.form == Form::Live;
        if says && self.response.as_ref().is_some_and(|r| r.task == task) {
            self.end(&Outcome::Waiting, None);
        }
    }

    /// Whether the task is the response's or was called from it.
    fn speaks(&self, task: &str) -> bool {
        let Some(response) = &self.response else { return false };
        let mut at = task;
        for _ in 0..64 {
            if at == response.task {
                return true;
            }
            match self.parents.get(at) {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    /// Makes sure that a response is at hand in which the task can speak.
    fn enter(&mut self, task: &str) {
        if !self.speaks(task) {
            self.begin(task);
        }
    }

    fn begin(&mut self, task: &str) {
        self.left.extend(self.response.as_ref().map(|response| response.task.clone()));
        self.end(&Outcome::Completed, None);
        self.left.remove(task);
        self.response = Some(Response {
            task: task.to_owned(),
            id: text(task),
            number: 0,
            created: self.now,
            output: Vec::new(),
            open: Vec::new(),
            usage: Usage::default(),
            spoken: false,
        });
        self.response_record("created", None, None);
        self.response_record("in_progress", None, None);
        for (task, event) in std::mem::take(&mut self.waiting) {
            let task = if self.speaks(&task) { task } else { self.task() };
            self.event(&task, &event);
        }
    }

    fn task(&self) -> String {
        self.response.as_ref().map_or_else(|| DEFAULT_TASK.to_owned(), |r| r.task.clone())
    }

    /// Ends the response at hand.
    fn end(&mut self, outcome: &Outcome, event: Option<&Event<'_>>) {
        let Some(response) = self.response.as_mut() else { return };
        for open in std::mem::take(&mut response.open) {
            self.abandon(open);
        }
        self.conclude(event);
        let reason = event.and_then(|e| e.at("metadata", "/reason"));
        match outcome {
            Outcome::Completed => self.response_record("completed", None, Some(self.now)),
            Outcome::Canceled => self.response_record("canceled", None, None),
            Outcome::Waiting => self.response_record("incomplete", None, None),
            Outcome::Failed { message } => {
                let given = event.and_then(code);
                let code = given.as_deref().unwrap_or("\"AGENT_UNKNOWN_ERROR\"");
                let error = Object::new().raw("code", code).body("message", message).end();
                match reason.as_ref().and_then(Raw::body) {
                    Some("rejected") => self.response_record("rejected", Some(error), None),
                    _ => self.response_record("failed", Some(error), None),
                }
            }
        }
        self.response = None;
    }

    /// Says the result of a task that said nothing else.
    fn conclude(&mut self, event: Option<&Event<'_>>) {
        let Some(event) = event.filter(|_| self.response.as_ref().is_some_and(|r| !r.spoken))
        else {
            return;
        };
        let content = event.get("content").filter(|c| c.body().is_some_and(|b| !b.is_empty()));
        if let Some(content) = content {
            let task = self.task();
            let wanted = format!("msg_{}", self.used.len() + 1);
            let contents = vec![Content::new("text", "text", content.to_string())];
            self.whole(&task, &wanted, "message", "assistant", contents, event);
        }
    }

    fn response_record(&mut self, status: &str, error: Option<String>, completed: Option<i64>) {
        let session = self.session.clone().unwrap_or_else(|| String::from("null"));
        let form = self.form;
        let Some(response) = self.response.as_mut() else { return };
        let begins = matches!(status, "created" | "in_progress");
        let output = if begins || response.output.is_empty() && completed.is_none() {
            String::from("null")
        } else {
            response.output.sort_by_key(|(began, _)| *began);
            let all: Vec<&str> = response.output.iter().map(|(_, m)| m.as_str()).collect();
            format!("[{}]", all.join(","))
        };
        let usage = match &response.usage {
            usage if usage.any && !begins => Object::new()
                .raw("input_tokens", &usage.input.to_string())
                .raw("output_tokens", &usage.output.to_string())
                .raw("total_tokens", &usage.input.saturating_add(usage.output).to_string())
                .end(),
            _ => String::from("null"),
        };
        let record = Object::new()
            .raw("sequence_number", &response.next())
            .text("object", "response")
            .text("status", status)
            .raw("error", error.as_deref().unwrap_or("null"))
            .raw("id", &response.id)
            .raw("created_at", &response.created.to_string())
            .raw("completed_at", &completed.map_or_else(|| "null".to_owned(), |c| c.to_string()))
            .raw("output", &output)
            .raw("usage", &usage)
            .raw("session_id", &session)
            .end();
        if form != Form::Folded || !begins {
            self.out.push(record);
        }
    }

    /// Writes a record of a message or a content.
    fn step(&mut self, record: String) {
        if self.form != Form::Folded {
            self.out.push(record);
        }
    }

    /// An id that was not given out before, as JSON text.
    fn unique(&mut self, wanted: &str) -> String {
        let mut id = wanted.to_owned();
        let mut n = 2;
        while !self.used.insert(id.clone()) {
            id = format!("{wanted}:{n}");
            n += 1;
        }
        quote(&id)
    }

    fn usage(&mut self, task: &str, event: Option<&Event<'_>>) {
        let (Some(event), true) = (event, self.speaks(task)) else { return };
        let read = |field: &str, key: &str| match event.kind() {
            Kind::LlmUsage => event.get(field).and_then(Raw::i64),
            _ => event.at("usage", key).and_then(|n| n.i64()),
        };
        let input = read("prompt_tokens", "/input_tokens");
        let output = read("completion_tokens", "/output_tokens");
        let Some(response) = self.response.as_mut() else { return };
        let usage = &mut response.usage;
        usage.any |= input.is_some() || output.is_some();
        usage.input = usage.input.saturating_add(input.unwrap_or(0));
        usage.output = usage.output.saturating_add(output.unwrap_or(0));
    }

    fn event(&mut self, task: &str, event: &Event<'_>) {
        match event.kind() {
            Kind::ThreadCreated => return,
            Kind::LlmUsage => return self.usage(task, Some(event)),
            Kind::SubtaskCreated => {
                if let Some(subtask) = event.get("subtaskId").filter(|s| s.as_str() != task) {
                    self.parents.insert(subtask.to_string(), task.to_owned());
                }
                return;
            }
            _ => {}
        }
        let call = event.get("toolCallId").and_then(|id| self.calls.get(&text(id)));
        let Some(said) = write::said(event, call) else { return };
        if self.response.is_none() {
            self.waiting.push((task.to_owned(), event.to_owned()));
            return;
        }
        if event.kind() == Kind::Error {
            let message = text(event.get("message").map_or("\"error\"", |m| m.as_str()));
            let code = event.get("code").filter(|c| c.body().is_some());
            self.error(task, code.map(|c| c.as_str()), &message);
            return;
        }
        let named = event.str("messageId").map(|m| m.into_owned());
        let wanted = named.or(said.id).unwrap_or_else(|| format!("msg_{}", self.used.len() + 1));
        self.whole(task, &wanted, said.kind, said.role, said.contents, event);
    }
}

impl Response {
    fn next(&mut self) -> String {
        let number = self.number;
        self.number += 1;
        number.to_string()
    }

    fn find(&mut self, task: &str, key: &str) -> Option<&mut Message> {
        self.open.iter_mut().find(|m| m.task == task && m.key == key)
    }

    fn remove(&mut self, task: &str, key: &str) -> Option<Message> {
        let at = self.open.iter().position(|m| m.task == task && m.key == key)?;
        Some(self.open.remove(at))
    }
}

impl Message {
    fn record(
        &self,
        number: &str,
        status: &str,
        contents: &str,
        error: Option<(&str, &str)>,
    ) -> String {
        let object = error.map_or_else(
            || String::from("null"),
            |(code, message)| Object::new().raw("code", code).raw("message", message).end(),
        );
        Object::new()
            .raw("sequence_number", number)
            .text("object", "message")
            .text("status", status)
            .raw("error", &object)
            .raw("id", &self.id)
            .text("type", self.kind)
            .text("role", self.role)
            .raw("content", contents)
            .raw("code", error.map_or("null", |e| e.0))
            .raw("message", error.map_or("null", |e| e.1))
            .raw("usage", "null")
            .raw("metadata", &self.metadata)
            .end()
    }
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
