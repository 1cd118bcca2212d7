//! Events to the Assistants stream.
//!
//! A task is a run, what an agent says in one model call is a message, and its tool calls are a
//! step. Messages of users, which the service itself never streams, are written as
//! `thread.message.created`. Questions become calls of a function `request_input`, and requests
//! for credentials calls of `request_auth`, which the run then requires action on; what a client
//! is to do is the call itself. Thoughts, artifacts and application events have no place here.
//!
//! Ids that the source does not give are made from the run and what came before in it, so that a
//! run has the same ids whether it is written alone or with others.

mod carries;
mod run;
mod speech;
mod tools;
mod wire;

pub(super) use carries::carries;

use std::collections::{HashMap, HashSet};

use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::flow::{Flow, Out, Outcome, Paused, Signal};
use crate::journal::{Batch, Event, Kind};
use crate::json::{Raw, push_escaped, quote, text};
use crate::time;
use run::{Call, Content, Moment, Part, Run, Spoken, Status, Tools};
use wire::{Message, Object, Usage, event};

/// The assistant of a run that names none.
const NOBODY: &str = "\"assistant\"";

/// Writes a stream.
pub(super) struct Writer {
    flow: Flow,
    state: State,
    /// Whether anything was written that is not replayed.
    wrote: bool,
}

struct State {
    thread: Option<String>,
    /// Whether the thread's own event was written.
    opened: bool,
    clock: i64,
    /// The system prompt, as a string body.
    instructions: String,
    /// The model of each agent, and the one heard of last.
    models: HashMap<String, String>,
    model: String,
    runs: HashMap<String, Run>,
    used: HashSet<String>,
    minted: u32,
    /// An error that no run ended with: code and message.
    error: Option<(Raw<'static>, Raw<'static>)>,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        let state = State {
            thread: options.thread_id.as_deref().map(quote),
            opened: false,
            clock: 0,
            instructions: String::new(),
            models: HashMap::new(),
            model: "\"\"".to_owned(),
            runs: HashMap::new(),
            used: HashSet::new(),
            minted: 0,
            error: None,
        };
        Self { flow: Flow::new(), state, wrote: false }
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, out: &mut Records) {
        self.wrote |= !batch.events.is_empty();
        let state = &mut self.state;
        for event in &batch.events {
            state.note(event);
            self.flow.apply(event, &mut |task, event, signal| {
                state.signal(task, event, signal, out);
            });
        }
    }

    fn pause(&mut self, out: &mut Records) {
        let state = &mut self.state;
        let sink: &mut Out<'_> = &mut |task, event, signal| state.signal(task, event, signal, out);
        if self.flow.pause(sink) == Paused::All {
            state.open(None, out);
            self.wrote = false;
        }
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        let (state, out) = (&mut self.state, &mut Records::default());
        for event in &batch.events {
            state.note(event);
            self.flow.observe(event, &mut |task, event, signal| {
                state.signal(task, event, signal, out);
            });
        }
    }

    fn finish(&mut self, out: &mut Records) {
        if !self.wrote {
            return;
        }
        let state = &mut self.state;
        self.flow.finish(&mut |task, event, signal| state.signal(task, event, signal, out));
        state.open(None, out);
        if let Some((code, message)) = state.error.take() {
            let data = Object::new()
                .with("code", code.as_str())
                .with("message", message.as_str())
                .with("param", "null")
                .with("type", "\"server_error\"")
                .end();
            out.item(event("error", &data));
            return;
        }
        out.item(event("done", "[DONE]"));
    }
}

impl State {
    /// Takes note of what any event may say.
    fn note(&mut self, event: &Event<'_>) {
        if self.thread.is_none() {
            let own = event.get("contextId").filter(|id| id.body().is_some_and(|b| !b.is_empty()));
            self.thread = own.map(Raw::to_string);
        }
        let at = event.str("timestamp").or_else(|| event.str("createdAt"));
        if let Some(at) = at.and_then(|t| seconds(&t)) {
            self.clock = at;
        }
        if let Some(model) = event.get("model").filter(|m| m.body().is_some()) {
            self.model = model.to_string();
            let agent = event.get("agentId").or_else(|| event.get("participantId"));
            if let Some(agent) = agent {
                self.models.insert(agent.to_string(), model.to_string());
            }
        }
    }

    fn signal(&mut self, task: &str, event: Option<&Event<'_>>, signal: Signal, out: &mut Records) {
        if let Some(run) = self.runs.get_mut(task)
            && run.agent == NOBODY
            && let Some(agent) = event.and_then(|e| e.get("agentId")).filter(|a| a.body().is_some())
        {
            run.agent = agent.to_string();
        }
        if begins(event, &signal) {
            self.begin(task, out);
        }
        match signal {
            Signal::RunStarted { agent, parent } => self.start(task, agent, parent, event, out),
            Signal::RunWaiting { .. } => self.wait(task, out),
            Signal::RunFinished { outcome } => self.end(task, event, &outcome, out),
            Signal::StepStarted => {
                self.resume(task, out);
                self.close_message(task, None, out);
                let step = event.and_then(|e| e.get("stepId")).map(Raw::to_string);
                if let Some(run) = self.runs.get_mut(task) {
                    run.step_id = step;
                }
            }
            Signal::StepFinished => self.step_finished(task, event, out),
            Signal::TextStarted { id } => self.text_started(task, &id, event, out),
            Signal::TextDelta { id, body } => {
                if event.is_none_or(|e| e.kind() != Kind::Message) {
                    self.text_delta(task, &id, &body, out);
                }
            }
            Signal::TextFinished { id, .. } => {
                self.text_finished(task, &id, out);
                let whole = event.filter(|e| e.kind() == Kind::ContentComplete);
                if let Some(cut) = whole.and_then(|e| e.body("finishReason")).and_then(cut_by) {
                    self.close_message(task, Some(cut), out);
                }
            }
            Signal::CallStarted => {
                if let Some(event) = event {
                    self.begin_call(task, event, out);
                }
            }
            Signal::CallDelta { body } => {
                if let Some(id) = event.and_then(|e| e.get("toolCallId")) {
                    self.call_delta(task, id, &body, out);
                }
            }
            Signal::Call { arguments, .. } => {
                if let Some(event) = event {
                    self.call(task, event, &arguments, out);
                }
            }
            Signal::Return { name } => {
                if let Some(event) = event {
                    self.returned(task, event, name, out);
                }
            }
            Signal::Event => {
                if let Some(event) = event {
                    self.other(task, event, out);
                }
            }
            Signal::ThoughtStarted { .. }
            | Signal::ThoughtDelta { .. }
            | Signal::ThoughtFinished { .. } => {}
        }
    }

    fn other(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        match event.kind() {
            Kind::ThreadCreated => self.open(Some(event), out),
            Kind::Message => match event.get("role").and_then(Raw::body) {
                Some("user") => self.user_message(event, out),
                Some("system") => {
                    let mut said = String::new();
                    match event.body("content") {
                        Some(body) => said.push_str(body),
                        None => push_parts(event, &mut said),
                    }
                    if !self.instructions.is_empty() {
                        self.instructions.push_str("\\n");
                    }
                    self.instructions.push_str(&text::minimal(&said));
                }
                _ => {}
            },
            Kind::InputRequired | Kind::ToolInputRequired => {
                self.ask(task, event, "inputId", tools::REQUEST_INPUT, out);
            }
            Kind::AuthRequired => self.ask(task, event, "authId", tools::REQUEST_AUTH, out),
            Kind::InputReceived => self.answered(event, "inputId", "value", out),
            Kind::AuthCompleted => self.answered(event, "authId", "userId", out),
            Kind::LlmUsage => {
                let mut text = String::new();
                event.write(&mut text);
                let raw = Raw::owned(text);
                if let Some(used) = raw.doc().and_then(|doc| Usage::read(doc.root()))
                    && let Some(run) = self.runs.get_mut(task)
                {
                    run.usage.get_or_insert_default().add(used);
                }
            }
            Kind::TaskStatus => {
                let said = event.get("message").filter(|m| m.body().is_some_and(|b| !b.is_empty()));
                if let Some(said) = said {
                    let said = Some(said.as_str());
                    self.run_event(task, "in_progress", Moment { said, ..Moment::default() }, out);
                }
            }
            Kind::CancelRequested => {
                let run = self.runs.get(task).filter(|run| run.status != Status::Done);
                if run.is_some() && event.get("toolCallId").is_none() {
                    self.run_event(task, "cancelling", Moment::default(), out);
                }
            }
            Kind::Error => {
                let code = event.get("code").filter(|c| c.body().is_some());
                let code = code.map_or(Raw::Ref("null"), Raw::to_owned);
                let message = event.get("message").filter(|m| m.body().is_some());
                let message = message.map_or(Raw::Ref("\"error\""), Raw::to_owned);
                self.error = Some((code, message));
            }
            _ => {}
        }
    }

    /// Writes the thread's own event, once.
    fn open(&mut self, created: Option<&Event<'_>>, out: &mut Records) {
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        let field = |name| created.and_then(|e| e.get(name)).filter(|v| v.body().is_some());
        if self.thread.is_none() {
            let given = field("contextId").map(Raw::to_string);
            self.thread = Some(given.unwrap_or_else(|| mint("thread_", "thread")));
        }
        let mut metadata = Object::new();
        for (name, field) in [("topic", field("title")), ("parent_id", field("parentThreadId"))] {
            if let Some(value) = field {
                metadata = metadata.with(name, value.as_str());
            }
        }
        let data = Object::new()
            .with("id", self.thread())
            .with("created_at", self.clock.to_string())
            .with("metadata", metadata.end())
            .with("object", "\"thread\"")
            .with("tool_resources", "{}")
            .end();
        out.item(event("thread.created", &data));
    }

    fn thread(&self) -> &str {
        self.thread.as_deref().unwrap_or("\"thread\"")
    }

    /// An id that was not used yet: the given one, or one made from where it stands.
    fn id(&mut self, prefix: &str, given: Option<String>, task: &str) -> String {
        if let Some(given) = given
            && given.len() > 2
            && self.used.insert(format!("{prefix}{given}"))
        {
            return given;
        }
        let minted = self.runs.get_mut(task).map_or(&mut self.minted, |run| &mut run.minted);
        *minted += 1;
        let seed = format!("{task}/{minted}");
        mint(prefix, &format!("{}/{seed}", self.thread()))
    }

    fn user_message(&mut self, message: &Event<'_>, out: &mut Records) {
        self.open(None, out);
        let given = message.get("messageId").filter(|id| id.body().is_some());
        let id = self.id("msg_", given.map(Raw::to_string), "user");
        let (parts, attachments) =
            wire::content(message.get("content"), message.get("attachments"));
        let author = message.get("author").or_else(|| message.get("agentId"));
        let author = author.filter(|a| a.body().is_some());
        let run = message.get("taskId").filter(|t| t.body().is_some());
        let metadata =
            author.into_iter().fold(Object::new(), |out, a| out.with("actor", a.as_str()));
        let metadata = wire::labels(message.get("metadata"), "actor", metadata).end();
        let data = Message {
            id: &id,
            assistant: None,
            attachments: &attachments,
            completed: Some(self.clock),
            content: &format!("[{}]", parts.join(",")),
            created: self.clock,
            incomplete: None,
            incomplete_at: None,
            metadata: &metadata,
            role: "user",
            run: run.map(Raw::as_str),
            status: "completed",
            thread: self.thread(),
        };
        out.item(event("thread.message.created", &data.write()));
    }

    fn start(
        &mut self,
        task: &str,
        agent: Option<Raw<'static>>,
        parent: Option<Raw<'static>>,
        event: Option<&Event<'_>>,
        out: &mut Records,
    ) {
        self.open(None, out);
        let author = event.and_then(|e| e.get("author").or_else(|| e.get("agentId")));
        let agent = agent.or_else(|| author.map(Raw::to_owned)).filter(|a| a.body().is_some());
        let id = if task.starts_with('"') { task.to_owned() } else { quote(task) };
        let labels = event.and_then(|e| e.at("metadata", "/labels"));
        let run = Run {
            id,
            agent: agent.map_or_else(|| NOBODY.to_owned(), |a| a.to_string()),
            parent: parent.filter(|p| p.body().is_some()),
            created: self.clock,
            labels: wire::labels(labels.as_ref(), "", Object::new()),
            status: Status::Queued,
            required: None,
            minted: 0,
            usage: None,
            finish: None,
            step_id: None,
            message: None,
            tools: None,
            spoke: false,
        };
        self.runs.insert(task.to_owned(), run);
        for name in ["created", "queued"] {
            self.run_named(task, name, Moment { status: "queued", ..Moment::default() }, out);
        }
    }

    /// A run that was only asked for is at work.
    fn begin(&mut self, task: &str, out: &mut Records) {
        let Some(run) = self.runs.get_mut(task) else { return };
        if run.status == Status::Queued {
            run.status = Status::InProgress;
            self.run_event(task, "in_progress", Moment::default(), out);
        }
    }

    fn run_event(&self, task: &str, status: &str, moment: Moment<'_>, out: &mut Records) {
        self.run_named(task, status, Moment { status, ..moment }, out);
    }

    fn run_named(&self, task: &str, name: &str, moment: Moment<'_>, out: &mut Records) {
        let Some(run) = self.runs.get(task) else { return };
        let model = self.models.get(&run.agent).unwrap_or(&self.model);
        let moment = Moment {
            now: self.clock,
            thread: self.thread(),
            instructions: &self.instructions,
            model,
            ..moment
        };
        out.item(event(&format!("thread.run.{name}"), &run.write(&moment)));
    }

    /// Goes on with a run that waited.
    fn resume(&mut self, task: &str, out: &mut Records) {
        let Some(run) = self.runs.get_mut(task) else { return };
        if run.status == Status::RequiresAction {
            run.status = Status::InProgress;
            run.required = None;
            for status in ["queued", "in_progress"] {
                self.run_event(task, status, Moment::default(), out);
            }
        }
    }

    fn wait(&mut self, task: &str, out: &mut Records) {
        self.close_message(task, None, out);
        let Some(run) = self.runs.get_mut(task) else { return };
        let pending = run.pending().join(",");
        // What is required is said once.
        let told = run.required.as_ref().is_some_and(|told| *told == pending);
        if run.status == Status::RequiresAction && (pending.is_empty() || told) {
            return;
        }
        run.status = Status::RequiresAction;
        run.required = Some(pending.clone());
        let calls = Object::new().with("tool_calls", format!("[{pending}]"));
        let required = Object::new()
            .with("submit_tool_outputs", calls.end())
            .with("type", "\"submit_tool_outputs\"")
            .end();
        let moment = Moment { required: Some(required), ..Moment::default() };
        self.run_event(task, "requires_action", moment, out);
    }

    fn end(&mut self, task: &str, event: Option<&Event<'_>>, how: &Outcome, out: &mut Records) {
        let said = event.filter(|e| e.kind() == Kind::TaskComplete).and_then(|e| e.get("content"));
        let silent = self.runs.get(task).is_some_and(|run| !run.spoke);
        if let Some(body) = said.and_then(Raw::body).filter(|b| silent && !b.is_empty()) {
            // A task that only says its result at the end still said it.
            self.text_started(task, "result", event, out);
            self.text_delta(task, "result", body, out);
            self.text_finished(task, "result", out);
        }
        let reason = event.and_then(|e| e.at("metadata", "/reason"));
        let reason = reason.or_else(|| event.and_then(|e| e.get("code")).map(Raw::to_owned));
        let finish = self.runs.get(task).and_then(|run| run.finish.clone());
        let cut = ["max_completion_tokens", "max_prompt_tokens"]
            .into_iter()
            .find(|r| reason.as_ref().is_some_and(|reason| reason.is(r)))
            .or((finish.as_deref() == Some("length")).then_some("max_completion_tokens"));
        let (status, step, message) = match how {
            Outcome::Waiting => {
                let waits = self.runs.get(task).is_some_and(|r| r.status == Status::RequiresAction);
                if !waits {
                    self.wait(task, out);
                }
                return;
            }
            Outcome::Completed if cut.is_some() => ("incomplete", "completed", None),
            Outcome::Completed => ("completed", "completed", None),
            Outcome::Canceled => ("cancelled", "cancelled", Some("run_cancelled")),
            Outcome::Failed { .. } if reason.as_ref().is_some_and(|r| r.is("timeout")) => {
                ("expired", "expired", Some("run_expired"))
            }
            Outcome::Failed { .. } => ("failed", "failed", Some("run_failed")),
        };
        self.close_message(task, message, out);
        self.close_tools(task, step, out);
        let error = self.error.take();
        let code = event.and_then(|e| e.at("metadata", "/code")).or(error.map(|e| e.0));
        let code = ["rate_limit_exceeded", "invalid_prompt"]
            .into_iter()
            .find(|known| code.as_ref().is_some_and(|code| code.is(known)))
            .unwrap_or("server_error");
        let error = match how {
            Outcome::Failed { message } if status == "failed" => Some((code, message.as_str())),
            _ => None,
        };
        let incomplete = cut.filter(|_| status == "incomplete");
        let moment = Moment { error, incomplete, ..Moment::default() };
        self.run_event(task, status, moment, out);
        if let Some(run) = self.runs.get_mut(task) {
            run.status = Status::Done;
        }
    }

    fn step_finished(&mut self, task: &str, event: Option<&Event<'_>>, out: &mut Records) {
        let usage = event.and_then(|e| e.get("usage"));
        let usage = usage.and_then(Raw::doc).and_then(|doc| Usage::read(doc.root()));
        let finish = event.and_then(|e| e.body("finishReason")).map(str::to_owned);
        let cut = finish.as_deref().and_then(cut_by);
        if let Some(run) = self.runs.get_mut(task) {
            run.finish = finish;
            if let Some(usage) = usage {
                run.usage.get_or_insert_default().add(usage);
                if run.message.is_none()
                    && let Some(tools) = &mut run.tools
                {
                    tools.usage = Some(usage);
                }
            }
        }
        self.close_with(task, cut, usage, out);
    }
}

/// Whether what is said about a run shows that someone is at work on it.
fn begins(event: Option<&Event<'_>>, signal: &Signal) -> bool {
    match signal {
        Signal::RunStarted { .. } | Signal::RunFinished { outcome: Outcome::Canceled } => false,
        // An event that names no run is told with the one that is open.
        Signal::Event => event.is_some_and(|event| {
            event.get("taskId").is_some() && event.kind() != Kind::CancelRequested
        }),
        _ => true,
    }
}

/// Unix seconds of a time.
fn seconds(text: &str) -> Option<i64> {
    time::to_millis(text).map(|at| at.div_euclid(1000))
}

/// What a message that a model call did not complete says of it.
fn cut_by(finish: &str) -> Option<&'static str> {
    match finish {
        "length" => Some("max_tokens"),
        "content_filter" => Some("content_filter"),
        "interrupted" => Some("run_cancelled"),
        "error" => Some("run_failed"),
        _ => None,
    }
}

/// An id made from text.
fn mint(prefix: &str, seed: &str) -> String {
    let id = crate::ident::from_text(seed).replace('-', "");
    format!("\"{prefix}{}\"", id.get(..24).unwrap_or(&id))
}

/// The text parts of a message, as a string body.
fn push_parts(event: &Event<'_>, out: &mut String) {
    let Some(doc) = event.get("content").and_then(Raw::doc) else { return };
    for part in doc.root().children() {
        if let Some(text) = part.get("text").and_then(|t| t.str()) {
            push_escaped(&text, out);
        }
    }
}
