//! Events made regular for the encoders of streaming protocols.
//!
//! Sources differ in what they say: some open and close every part, some only send deltas, some
//! only whole texts; some name runs and steps, some do not. [`Flow`] turns any of them into one
//! small set of well-bracketed [`Signal`]s: a run starts before anything happens in it and ends
//! once, a part starts before its first delta and ends before its run does.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use super::{Event, Kind};
use crate::json::{Raw, text};

/// What a streaming encoder has to say next.
#[derive(Debug, Clone)]
pub enum Signal {
    /// A run (task) starts. `event` may hold more: the parent, the initiator.
    RunStarted {
        /// Whose run it is, if known.
        agent: Option<Raw<'static>>,
        /// The run this one was called from.
        parent: Option<Raw<'static>>,
    },
    /// A run waits for an answer or for credentials.
    RunWaiting {
        /// `input` or `auth`.
        on: Waiting,
    },
    /// A run ended. Comes once.
    RunFinished {
        /// How it ended.
        outcome: Outcome,
    },
    /// One model call starts.
    StepStarted,
    /// One model call ended; the event has `finishReason`, `usage`, `model`.
    StepFinished,
    /// A text part starts.
    TextStarted {
        /// Its id: the source's, or one made up.
        id: String,
    },
    /// A piece of a text part.
    TextDelta {
        /// Its part.
        id: String,
        /// The piece, as a string body.
        body: String,
    },
    /// A text part ends.
    TextFinished {
        /// Its id.
        id: String,
        /// The whole text, as a string body.
        body: String,
    },
    /// A thought starts.
    ThoughtStarted {
        /// Its id.
        id: String,
    },
    /// A piece of a thought.
    ThoughtDelta {
        /// Its thought.
        id: String,
        /// The piece, as a string body.
        body: String,
    },
    /// A thought ends; `signature` and `providerName` as far as they are known.
    ThoughtFinished {
        /// Its id.
        id: String,
        /// The whole thought, as a string body.
        body: String,
        /// The provider's seal on it.
        signature: Option<Raw<'static>>,
        /// The provider.
        provider: Option<Raw<'static>>,
    },
    /// A model begins to write a tool call.
    CallStarted,
    /// A piece of a call's arguments, as a string body.
    CallDelta {
        /// The piece.
        body: String,
    },
    /// A tool call is complete: id, name and arguments are known.
    Call {
        /// Its arguments.
        arguments: Raw<'static>,
        /// Whether [`Signal::CallStarted`] and all deltas came before.
        streamed: Streamed,
    },
    /// A tool returned; see the event's `success`, `result`, `error`, `outcome`, `preliminary`.
    Return {
        /// The tool's name, from its call where the event has none.
        name: Option<Raw<'static>>,
    },
    /// Anything else, including whole messages of users and systems: see the event.
    Event,
}

/// What a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// An answer.
    Input,
    /// Credentials.
    Auth,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Completed,
    /// With an error.
    Failed {
        /// What went wrong, as a string body.
        message: String,
    },
    /// Someone stopped it.
    Canceled,
    /// The source ended while it waited for an answer: it is not over.
    Waiting,
}

/// Whether a tool call's arguments were streamed before it was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    /// They were.
    Yes,
    /// The call came whole.
    No,
}

/// Whether everything was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paused {
    /// It was.
    All,
    /// A run of the source's own goes on.
    Not,
}

/// Makes events regular.
#[derive(Debug, Default)]
pub struct Flow {
    runs: HashMap<String, Run>,
    /// Runs that have not ended, in the order they started. Ended ones are left out, so that a
    /// new turn costs the same in a long thread.
    order: Vec<String>,
    minted: u32,
}

#[derive(Debug, Default)]
struct Run {
    agent: Option<Raw<'static>>,
    child: bool,
    /// Whether someone here is to do it, and so says when it is over: others may run beside it.
    dispatched: bool,
    done: bool,
    waiting: bool,
    /// Whether records of it are replayed.
    replayed: bool,
    texts: Vec<Part>,
    thoughts: Vec<Part>,
    /// Text that something else cut off, in case the source says it again as a whole. Runs are
    /// kept for as long as the thread goes on, so this is not the text itself.
    cut: Option<Fingerprint>,
    /// Tool call ids seen, with the tool's name, and whether the call is complete.
    calls: HashMap<String, (Option<Raw<'static>>, bool, bool)>,
}

/// Enough of a text to know it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint {
    len: usize,
    hash: u64,
}

impl Fingerprint {
    fn of(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        Self { len: text.len(), hash: hasher.finish() }
    }
}

#[derive(Debug)]
struct Part {
    id: String,
    body: String,
    /// Whether the source gave it an id of its own.
    named: bool,
    signature: Option<Raw<'static>>,
    provider: Option<Raw<'static>>,
}

/// Receives signals with the task (as JSON text) and the event they come from, if any.
pub type Out<'o> = dyn FnMut(&str, Option<&Event<'_>>, Signal) + 'o;

/// The task of events that name none.
pub const DEFAULT_TASK: &str = "\"run-1\"";

impl Flow {
    /// Nothing happened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event in and passes on what there is to say.
    pub fn apply(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let task = event.get("taskId").map_or_else(
            || self.current().unwrap_or_else(|| DEFAULT_TASK.to_owned()),
            ToString::to_string,
        );
        match event.kind() {
            Kind::TaskCreated => self.start(&task, event, out),
            Kind::TaskComplete => self.end(&task, Some(event), Outcome::Completed, out),
            Kind::TaskStatus => self.status(&task, event, out),
            Kind::StepStarted => {
                self.ensure(&task, event, out);
                out(&task, Some(event), Signal::StepStarted);
            }
            Kind::StepFinished => {
                self.ensure(&task, event, out);
                self.close_parts(&task, out);
                out(&task, Some(event), Signal::StepFinished);
            }
            Kind::PartStarted => {
                self.ensure(&task, event, out);
                let id = event.str("partId").unwrap_or_default().into_owned();
                if event.get("partType").and_then(Raw::body) == Some("reasoning") {
                    self.open_thought(&task, id, true, event, out);
                } else {
                    self.open_text(&task, id, true, event, out);
                }
            }
            // What was said is void, and the next attempt may give its parts the same names.
            Kind::AttemptSuperseded => {
                self.close_parts(&task, out);
                out(&task, Some(event), Signal::Event);
            }
            Kind::PartFinished => self.finish_part(&task, event, out),
            Kind::ContentDelta => {
                self.ensure(&task, event, out);
                self.text(&task, event, event.body("delta").unwrap_or(""), out);
            }
            Kind::ContentComplete => self.content_complete(&task, event, out),
            Kind::ThoughtStream => {
                self.ensure(&task, event, out);
                self.thought(&task, event, out);
            }
            Kind::ToolCallStarted => {
                self.ensure(&task, event, out);
                self.close_unnamed(&task, out);
                self.note_call(&task, event, false);
                out(&task, Some(event), Signal::CallStarted);
            }
            Kind::ToolCallDelta => {
                let body = event.body("delta").unwrap_or("").to_owned();
                out(&task, Some(event), Signal::CallDelta { body });
            }
            Kind::ToolCall | Kind::ToolStart => self.call(&task, event, out),
            Kind::ToolComplete => {
                self.ensure(&task, event, out);
                self.close_unnamed(&task, out);
                let known = event.get("toolCallId").and_then(|id| self.call_name(&task, id));
                let name = event.get("toolName").map(Raw::to_owned).or(known);
                out(&task, Some(event), Signal::Return { name });
            }
            Kind::Message if event.get("role").is_some_and(|r| r.is("agent")) => {
                self.message(&task, event, out);
            }
            Kind::InputRequired | Kind::ToolInputRequired | Kind::AuthRequired => {
                self.ensure(&task, event, out);
                self.close_parts(&task, out);
                out(&task, Some(event), Signal::Event);
                self.wait(&task, event, out);
            }
            _ => out(&task, Some(event), Signal::Event),
        }
    }

    /// Takes an event in whose record is replayed: its run is the source's to end.
    pub fn observe(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        self.apply(event, out);
        let task = event.get("taskId").map(Raw::as_str);
        let task = task.or(self.order.last().map(String::as_str));
        if let Some(run) = task.and_then(|task| self.runs.get_mut(task)) {
            run.replayed = true;
        }
    }

    /// Ends the runs that no record is replayed of, unless another is going on that is the
    /// source's to end.
    pub fn pause(&mut self, out: &mut Out<'_>) -> Paused {
        let open = |run: &Run| run.replayed && !run.waiting;
        if self.order.iter().any(|task| self.runs.get(task).is_some_and(open)) {
            return Paused::Not;
        }
        self.finish_where(|run| !run.replayed, out);
        Paused::All
    }

    /// The source has ended: ends what is still open.
    pub fn finish(&mut self, out: &mut Out<'_>) {
        self.finish_where(|_| true, out);
    }

    fn finish_where(&mut self, which: impl Fn(&Run) -> bool, out: &mut Out<'_>) {
        for task in self.order.clone().into_iter().rev() {
            let Some(run) = self.runs.get(&task).filter(|run| which(run)) else { continue };
            let outcome = if run.waiting { Outcome::Waiting } else { Outcome::Completed };
            self.end(&task, None, outcome, out);
        }
    }

    /// The run that started last and has not ended.
    fn current(&self) -> Option<String> {
        self.order.last().cloned()
    }

    fn start(&mut self, task: &str, event: &Event<'_>, out: &mut Out<'_>) {
        if self.runs.contains_key(task) {
            return;
        }
        let parent = event.get("parentTaskId").filter(|p| !p.is_null()).map(Raw::to_owned);
        if parent.is_none() {
            // A new turn: what a source left open of the one before is over.
            let left = |run: &Run| !run.child && !run.waiting && !run.dispatched;
            for open in self.order.clone() {
                if self.runs.get(&open).is_some_and(left) {
                    self.end(&open, None, Outcome::Completed, out);
                }
            }
        }
        let agent =
            event.get("agentId").map(Raw::to_owned).or_else(|| event.at("metadata", "/agentId"));
        let run = Run {
            agent: agent.clone(),
            child: parent.is_some(),
            dispatched: event.get("dispatched").and_then(Raw::bool) == Some(true),
            ..Run::default()
        };
        self.runs.insert(task.to_owned(), run);
        self.order.push(task.to_owned());
        out(task, Some(event), Signal::RunStarted { agent, parent });
    }

    fn ensure(&mut self, task: &str, event: &Event<'_>, out: &mut Out<'_>) {
        match self.runs.get_mut(task) {
            Some(run) => run.waiting = false,
            None => self.start(task, event, out),
        }
    }

    fn status(&mut self, task: &str, event: &Event<'_>, out: &mut Out<'_>) {
        self.ensure(task, event, out);
        match event.get("status").and_then(Raw::body) {
            Some("completed") => self.end(task, Some(event), Outcome::Completed, out),
            Some("failed") => {
                let message = event.body("message").unwrap_or("failed").to_owned();
                self.end(task, Some(event), Outcome::Failed { message }, out);
            }
            Some("canceled") => self.end(task, Some(event), Outcome::Canceled, out),
            Some(status @ ("waiting-input" | "waiting-auth")) => {
                self.close_parts(task, out);
                if let Some(run) = self.runs.get_mut(task) {
                    run.waiting = true;
                }
                let on = if status == "waiting-auth" { Waiting::Auth } else { Waiting::Input };
                out(task, Some(event), Signal::RunWaiting { on });
            }
            _ => out(task, Some(event), Signal::Event),
        }
    }

    fn wait(&mut self, task: &str, event: &Event<'_>, out: &mut Out<'_>) {
        if let Some(run) = self.runs.get_mut(task) {
            run.waiting = true;
        }
        let on = match event.kind() {
            Kind::AuthRequired => Waiting::Auth,
            _ => Waiting::Input,
        };
        out(task, Some(event), Signal::RunWaiting { on });
    }

    fn end(&mut self, task: &str, event: Option<&Event<'_>>, outcome: Outcome, out: &mut Out<'_>) {
        if !self.runs.contains_key(task)
            && let Some(event) = event
        {
            self.start(task, event, out);
        }
        if self.runs.get(task).is_none_or(|run| run.done) {
            return;
        }
        self.close_parts(task, out);
        // A task that only says its result at the end still said it.
        if let Some(run) = self.runs.get_mut(task) {
            run.done = true;
            self.order.retain(|open| open != task);
        }
        out(task, event, Signal::RunFinished { outcome });
    }

    fn mint(&mut self, what: &str) -> String {
        self.minted += 1;
        format!("{what}-{}", self.minted)
    }

    fn run(&mut self, task: &str) -> &mut Run {
        self.runs.entry(task.to_owned()).or_default()
    }

    fn open_text(
        &mut self,
        task: &str,
        id: String,
        named: bool,
        event: &Event<'_>,
        out: &mut Out<'_>,
    ) {
        self.close_unnamed(task, out);
        self.run(task).texts.push(Part {
            id: id.clone(),
            body: String::new(),
            named,
            signature: None,
            provider: None,
        });
        out(task, Some(event), Signal::TextStarted { id });
    }

    fn open_thought(
        &mut self,
        task: &str,
        id: String,
        named: bool,
        event: &Event<'_>,
        out: &mut Out<'_>,
    ) {
        self.close_unnamed(task, out);
        self.run(task).thoughts.push(Part {
            id: id.clone(),
            body: String::new(),
            named,
            signature: None,
            provider: None,
        });
        out(task, Some(event), Signal::ThoughtStarted { id });
    }

    fn text(&mut self, task: &str, event: &Event<'_>, body: &str, out: &mut Out<'_>) {
        let given = event.str("partId").map(std::borrow::Cow::into_owned);
        let found = self.run(task).texts.iter().position(|p| match &given {
            Some(id) => p.id == *id,
            None => !p.named,
        });
        let at = match found {
            Some(at) => at,
            None => {
                let named = given.is_some();
                let id = given.unwrap_or_else(|| self.mint("text"));
                self.open_text(task, id, named, event, out);
                self.run(task).texts.len() - 1
            }
        };
        let part = &mut self.run(task).texts[at];
        part.body.push_str(body);
        let id = part.id.clone();
        out(task, Some(event), Signal::TextDelta { id, body: body.to_owned() });
    }

    fn content_complete(&mut self, task: &str, event: &Event<'_>, out: &mut Out<'_>) {
        self.ensure(task, event, out);
        let body = event.body("content").unwrap_or("");
        let given = event.str("partId").map(std::borrow::Cow::into_owned);
        let open = self.run(task).texts.iter().position(|p| match &given {
            Some(id) => p.id == *id,
            None => true,
        });
        let known = open.map(|at| self.run(task).texts[at].body.clone());
        if open.is_none()
            && given.is_none()
            && let Some(cut) = self.run(task).cut.take()
            && cut == Fingerprint::of(body)
        {
            return;
        }
        match (open, known) {
            (Some(at), Some(known)) if !known.is_empty() => {
                // Say what the deltas left out, if the whole begins with what they said.
                if let Some(rest) = body.strip_prefix(known.as_str())
                    && !rest.is_empty()
                {
                    self.text(task, event, rest, out);
                }
                let part = self.run(task).texts.remove(at);
                let (id, body) = (part.id, part.body);
                out(task, Some(event), Signal::TextFinished { id, body });
            }
            _ => {
                self.text(task, event, body, out);
                if let Some(part) = self.run(task).texts.pop() {
                    let (id, body) = (part.id, part.body);
                    out(task, Some(event), Signal::TextFinished { id, body });
                }
            }
        }
    }

    fn message(&mut self, task: &str, event: &Event<'_>, out: &mut Out<'_>) {
        self.ensure(task, event, out);
        self.close_unnamed(task, out);
        let id = match event.str("messageId") {
            Some(id) => id.into_owned(),
            None => self.mint("text"),
        };
        let body = event.get("content").map(|content| match content.body() {
            Some(body) => body.to_owned(),
            None => content_text(content),
        });
        self.open_text(task, id.clone(), true, event, out);
        self.run(task).texts.pop();
        let body = body.unwrap_or_default();
        out(task, Some(event), Signal::TextDelta { id: id.clone(), body: body.clone() });
        out(task, Some(event), Signal::TextFinished { id, body });
        out(task, Some(event), Signal::Event);
    }

    fn thought(&mut self, task: &str, event: &Event<'_>, out: &mut Out<'_>) {
        let body = event.body("content").unwrap_or("").to_owned();
        let given = event.str("thoughtId").map(std::borrow::Cow::into_owned);
        let at = self.run(task).thoughts.iter().position(|p| given.as_ref() == Some(&p.id));
        let at = match at {
            Some(at) => at,
            None => {
                let id = given.unwrap_or_else(|| self.mint("thought"));
                self.open_thought(task, id, false, event, out);
                self.run(task).thoughts.len() - 1
            }
        };
        let part = &mut self.run(task).thoughts[at];
        part.body.push_str(&body);
        if let Some(signature) = event.get("signature") {
            part.signature = Some(signature.to_owned());
        }
        if let Some(provider) = event.get("providerName") {
            part.provider = Some(provider.to_owned());
        }
        let id = part.id.clone();
        out(task, Some(event), Signal::ThoughtDelta { id, body });
    }

    fn finish_part(&mut self, task: &str, event: &Event<'_>, out: &mut Out<'_>) {
        let id = event.str("partId").unwrap_or_default().into_owned();
        let run = self.run(task);
        if let Some(at) = run.texts.iter().position(|p| p.id == id) {
            let body = run.texts.remove(at).body;
            out(task, Some(event), Signal::TextFinished { id, body });
        } else if let Some(at) = run.thoughts.iter().position(|p| p.id == id) {
            let mut part = run.thoughts.remove(at);
            if let Some(signature) = event.get("signature") {
                part.signature = Some(signature.to_owned());
            }
            out(task, Some(event), thought_finished(part));
        }
    }

    fn note_call(&mut self, task: &str, event: &Event<'_>, complete: bool) -> (bool, bool) {
        let Some(id) = event.get("toolCallId") else { return (false, false) };
        let name = event.get("toolName").map(Raw::to_owned);
        let calls = &mut self.run(task).calls;
        let before = calls.get(id.as_str()).map(|(_, complete, _)| *complete);
        let name = name.or_else(|| calls.get(id.as_str()).and_then(|c| c.0.clone()));
        calls.insert(id.to_string(), (name, complete, before.is_some()));
        (before.is_some(), before == Some(true))
    }

    fn call_name(&self, task: &str, id: &Raw<'_>) -> Option<Raw<'static>> {
        let own = self.runs.get(task).and_then(|run| run.calls.get(id.as_str()));
        own.or_else(|| self.runs.values().find_map(|run| run.calls.get(id.as_str())))
            .and_then(|call| call.0.clone())
    }

    fn call(&mut self, task: &str, event: &Event<'_>, out: &mut Out<'_>) {
        self.ensure(task, event, out);
        self.close_unnamed(task, out);
        let (started, complete) = self.note_call(task, event, true);
        if complete && event.kind() == Kind::ToolStart {
            out(task, Some(event), Signal::Event);
            return;
        }
        let arguments = event.get("arguments").map_or(Raw::Ref("{}"), Raw::to_owned);
        let streamed = if started && !complete { Streamed::Yes } else { Streamed::No };
        out(task, Some(event), Signal::Call { arguments, streamed });
    }

    /// Ends the parts that end when something else begins.
    fn close_unnamed(&mut self, task: &str, out: &mut Out<'_>) {
        self.close(task, false, out);
    }

    fn close_parts(&mut self, task: &str, out: &mut Out<'_>) {
        self.close(task, true, out);
    }

    fn close(&mut self, task: &str, named: bool, out: &mut Out<'_>) {
        let Some(run) = self.runs.get_mut(task) else { return };
        let (closing, open): (Vec<_>, Vec<_>) =
            run.texts.drain(..).partition(|part| named || !part.named);
        run.texts = open;
        let (thoughts, open): (Vec<_>, Vec<_>) =
            run.thoughts.drain(..).partition(|part| named || !part.named);
        run.thoughts = open;
        for part in thoughts {
            out(task, None, thought_finished(part));
        }
        if let Some(part) = closing.iter().rev().find(|part| !part.named) {
            run.cut = Some(Fingerprint::of(&part.body));
        }
        for part in closing {
            out(task, None, Signal::TextFinished { id: part.id, body: part.body });
        }
    }

    /// The agent of a run, if known.
    pub fn agent(&self, task: &str) -> Option<&Raw<'static>> {
        self.runs.get(task)?.agent.as_ref()
    }
}

fn thought_finished(part: Part) -> Signal {
    Signal::ThoughtFinished {
        id: part.id,
        body: part.body,
        signature: part.signature,
        provider: part.provider,
    }
}

/// The text parts of structured content, as one string body.
fn content_text(content: &Raw<'_>) -> String {
    let mut out = String::new();
    if let Some(doc) = content.doc() {
        for part in doc.root().children() {
            if let Some(part) = part.get("text").filter(|t| t.is_string()) {
                out.push_str(&text::minimal(part.body()));
            }
        }
    }
    out
}
