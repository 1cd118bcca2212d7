//! Events to chunks.
//!
//! One stream per run, one after the other, each from `start` to `finish`, and one `[DONE]` at the
//! end: the real reader begins a new message when `start` names another one. A run that waits for
//! someone ends its stream, and goes on with the same message in another once it has the answer; if
//! the answer was a message of its own, what follows is a new message too. What runs called by a
//! run say is part of its message, and so is what others say who answer the same message. Where
//! another turn begins beside one, its message is put aside, and taken up again. What the protocol has no chunk for is a `data-*` chunk named
//! after its event kind; it is transient where it is news rather than content.

use std::collections::{HashMap, HashSet};

use super::chunk;
use super::open::{Crew, Resting};
use crate::dialect::ai_sdk::joint::Joint;
use crate::dialect::ai_sdk::json::Object;
use crate::dialect::ai_sdk::{Version, content, meta};
use crate::dialect::{EncodeOptions, Encoder, Id, Records};
use crate::journal::flow::{Flow, Outcome, Paused, Signal};
use crate::journal::{Batch, Event, Kind};
use crate::json::{Raw, quote};
use crate::sse;

/// Writes chunks as events come.
pub(super) struct Writer {
    flow: Flow,
    stream: Stream,
}

/// The output so far.
pub(super) struct Stream {
    pub(super) version: Version,
    pub(super) chunks: Vec<String>,
    /// Chunks that came while no message was open.
    pub(super) waiting: Vec<String>,
    /// The message that is open, by the run that it began with.
    pub(super) open: Option<String>,
    /// The id of that message, if it has one.
    pub(super) message: Option<String>,
    /// Messages that its run has had before.
    pub(super) before: u32,
    /// Who is at it.
    pub(super) crew: Crew,
    /// Messages that are not open and may go on.
    pub(super) resting: HashMap<String, Resting>,
    /// Runs that came of another one, with the turn that all came of.
    pub(super) children: HashMap<String, String>,
    /// Turns that answer together with others.
    pub(super) joint: Joint,
    /// Turns whose message is not called after them.
    pub(super) elsewhere: HashMap<String, String>,
    pub(super) started: bool,
    pub(super) step: bool,
    /// Whether the open message has text.
    pub(super) said: bool,
    pub(super) reason: Option<Raw<'static>>,
    /// Thoughts of the open message whose signature went out.
    pub(super) sealed: HashSet<String>,
    /// Texts and thoughts that are open, each with a letter for which it is.
    pub(super) parts: HashSet<String>,
    /// Those that were open when the message was put aside.
    pub(super) cut: HashSet<String>,
    /// Calls of the current step.
    pub(super) step_calls: Vec<String>,
    /// Calls of the open message, by id.
    pub(super) calls: HashSet<String>,
    pub(super) approvals: HashSet<String>,
    /// Whether the events at hand come from a stream of this protocol, which may go on with a
    /// message that its reader has.
    pub(super) own: bool,
    /// Calls that have not returned, in any message.
    pub(super) pending: HashMap<String, Pending>,
}

/// A call that has not returned.
#[derive(Clone)]
pub(super) struct Pending {
    pub(super) name: Raw<'static>,
    pub(super) input: Option<Raw<'static>>,
    pub(super) dynamic: bool,
    /// The call's event, if its input was refused.
    pub(super) refused: Option<Event<'static>>,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self {
            flow: Flow::new(),
            stream: Stream {
                version: Version::of(options),
                chunks: Vec::new(),
                waiting: Vec::new(),
                open: None,
                message: None,
                before: 0,
                crew: Crew::default(),
                resting: HashMap::new(),
                children: HashMap::new(),
                joint: Joint::default(),
                elsewhere: HashMap::new(),
                started: false,
                step: false,
                said: false,
                reason: None,
                sealed: HashSet::new(),
                parts: HashSet::new(),
                cut: HashSet::new(),
                step_calls: Vec::new(),
                calls: HashSet::new(),
                own: false,
                approvals: HashSet::new(),
                pending: HashMap::new(),
            },
        }
    }

    fn own(&mut self, batch: &Batch<'_>) {
        self.stream.own = batch.frame.as_ref().is_some_and(|f| f.dialect == Id::AiSdkStream);
    }

    fn flush(&mut self, out: &mut Records) {
        for chunk in self.stream.chunks.drain(..) {
            out.item(sse::write(None, None, &chunk));
        }
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, out: &mut Records) {
        self.own(batch);
        let stream = &mut self.stream;
        for event in &batch.events {
            let own = stream.joint.told(event);
            let event = own.as_ref().unwrap_or(event);
            self.flow.apply(event, &mut |task, event, signal| stream.signal(task, event, signal));
        }
        self.flush(out);
    }

    fn pause(&mut self, out: &mut Records) {
        let stream = &mut self.stream;
        let paused = self.flow.pause(&mut |task, event, signal| stream.signal(task, event, signal));
        if paused == Paused::All && (stream.started || !stream.waiting.is_empty()) {
            stream.end();
        }
        self.flush(out);
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        self.own(batch);
        let stream = &mut self.stream;
        for event in &batch.events {
            let own = stream.joint.told(event);
            let event = own.as_ref().unwrap_or(event);
            self.flow.observe(event, &mut |task, event, signal| stream.signal(task, event, signal));
        }
        self.stream.chunks.clear();
        self.stream.waiting.clear();
        // The source's own end is replayed too.
        self.stream.started = false;
    }

    fn finish(&mut self, out: &mut Records) {
        if !self.stream.started && self.stream.waiting.is_empty() {
            return;
        }
        let stream = &mut self.stream;
        self.flow.finish(&mut |task, event, signal| stream.signal(task, event, signal));
        stream.end();
        self.flush(out);
        out.item("data: [DONE]\n\n");
    }
}

impl Stream {
    /// Sends a chunk of the open message; kept until there is one.
    pub(super) fn send(&mut self, chunk: String) {
        if self.open.is_some() {
            self.started = true;
            self.chunks.push(chunk);
        } else {
            self.waiting.push(chunk);
        }
    }

    pub(super) fn send_type(&mut self, ty: &str) {
        self.send(format!("{{\"type\":\"{ty}\"}}"));
    }

    fn end(&mut self) {
        if self.open.is_some() {
            self.close(None, &Outcome::Completed);
        }
        if !self.waiting.is_empty() && !self.started {
            self.start("\"run-1\"", None);
            self.finish("\"run-1\"", None, &Outcome::Completed);
        }
        self.chunks.append(&mut self.waiting);
    }

    fn signal(&mut self, task: &str, event: Option<&Event<'_>>, signal: Signal) {
        let root = self.children.get(task).map_or(task, String::as_str).to_owned();
        let child = root != task;
        let waits = matches!(
            signal,
            Signal::RunWaiting { .. } | Signal::RunFinished { outcome: Outcome::Waiting }
        );
        if !waits {
            self.go_on(&root, child, event);
        }
        // Two runs in one message may give their parts the same names.
        let own = |id: String| match child {
            true => format!("{}/{id}", task.trim_matches('"')),
            false => id,
        };
        match signal {
            Signal::RunStarted { parent, .. } => {
                if let Some(parent) = parent.filter(|_| self.open.is_some()) {
                    let parent = parent.to_string();
                    let root = self.children.get(&parent).cloned().unwrap_or(parent);
                    self.children.insert(task.to_owned(), root);
                    if let Some(event) = event.filter(|e| e.kind() == Kind::TaskCreated) {
                        self.event(event);
                    }
                } else {
                    self.start(task, event);
                }
            }
            Signal::RunFinished { outcome } if !child => self.finish(task, event, &outcome),
            Signal::RunFinished { outcome: Outcome::Failed { message } } => {
                self.send(chunk::error(&message));
            }
            Signal::RunWaiting { .. } => {
                if let Some(event) = event.filter(|e| e.kind() == Kind::TaskStatus)
                    && !self.resting.contains_key(&self.home(task))
                {
                    self.event(event);
                }
                self.rest(task);
            }
            Signal::StepStarted if !child && self.joint.lead(task).is_some() => {
                // The end of a step would end what others say. A client looks for what is to be
                // answered in the last step.
                if !self.calls.iter().any(|call| self.pending.contains_key(call)) {
                    self.send_type("start-step");
                }
            }
            Signal::StepStarted if !child => {
                self.end_step();
                self.send_type("start-step");
                self.step = true;
                self.step_calls.clear();
            }
            Signal::StepFinished if !child => {
                self.end_step();
                let reason = event.and_then(|e| e.get("finishReason"));
                self.reason = reason.map(Raw::to_owned).or(self.reason.take());
            }
            Signal::RunFinished { .. } | Signal::StepStarted | Signal::StepFinished => {}
            Signal::TextStarted { id } => {
                let id = own(id);
                let side = side_of(event, &[Kind::PartStarted]);
                self.part("text-start", &id, None, side, None);
            }
            Signal::TextDelta { id, body } => {
                let id = own(id);
                let side = side_of(event, &[Kind::ContentDelta]);
                self.part("text-delta", &id, Some(&body), side, None);
                self.said = true;
            }
            Signal::TextFinished { id, .. } => {
                let id = own(id);
                let ends = [Kind::PartFinished, Kind::ContentComplete];
                let side = side_of(event, &ends);
                let cited = event.and_then(|e| meta::find(e, "citations"));
                self.part("text-end", &id, None, side, cited);
            }
            Signal::ThoughtStarted { id } => {
                let id = own(id);
                self.sealed.remove(&id);
                let side = side_of(event, &[Kind::PartStarted]);
                self.thought("reasoning-start", &id, None, side);
            }
            Signal::ThoughtDelta { id, body } => {
                let id = own(id);
                let side = side_of(event, &[Kind::ThoughtStream]);
                self.thought("reasoning-delta", &id, Some(&body), side);
            }
            Signal::ThoughtFinished { id, signature, provider, .. } => {
                let id = own(id);
                let own = side_of(event, &[Kind::PartFinished]);
                let sealed = self.sealed.contains(&id);
                let made =
                    if sealed { None } else { meta::seal(signature.as_ref(), provider.as_ref()) };
                self.thought("reasoning-end", &id, None, own.or(made));
            }
            Signal::CallStarted => event.into_iter().for_each(|e| self.call_started(e)),
            Signal::CallDelta { body } => {
                let id = event.and_then(|e| e.get("toolCallId")).map_or("", Raw::as_str);
                if self.calls.contains(id) {
                    let mut json = String::with_capacity(body.len() + 80);
                    Object::new(&mut json)
                        .raw("type", "\"tool-input-delta\"")
                        .raw("toolCallId", id)
                        .body("inputTextDelta", &body)
                        .end();
                    self.send(json);
                }
            }
            Signal::Call { arguments, .. } => {
                event.into_iter().for_each(|e| self.call(e, arguments.clone()));
            }
            Signal::Return { name } => {
                event.into_iter().for_each(|e| self.returned(e, name.clone()));
            }
            Signal::Event => event.into_iter().for_each(|e| self.event(e)),
        }
    }

    pub(super) fn part(
        &mut self,
        ty: &str,
        id: &str,
        delta: Option<&str>,
        provider: Option<Raw<'static>>,
        citations: Option<Raw<'static>>,
    ) {
        // Parts that a new attempt made void are gone for the reader.
        let key = format!("{}{id}", ty.get(..1).unwrap_or(""));
        let there = match ty.rsplit('-').next() {
            Some("start") => self.parts.insert(key),
            Some("delta") if self.cut.remove(&key) => {
                // It was open when its message was put aside.
                self.part(&ty.replace("-delta", "-start"), id, None, None, None);
                true
            }
            Some("delta") => self.parts.contains(&key),
            _ => self.parts.remove(&key),
        };
        if !there {
            return;
        }
        let mut json = String::with_capacity(delta.map_or(0, str::len) + 64);
        let mut object = Object::new(&mut json);
        object.raw("type", &quote(ty)).raw("id", &quote(id));
        if let Some(delta) = delta {
            object.body("delta", delta);
        }
        if self.version >= Version::V7 {
            object.some("citations", citations.as_deref());
        }
        object.some("providerMetadata", provider.as_deref()).end();
        self.send(json);
    }

    /// What the current step sent is void.
    pub(super) fn reset_step(&mut self) {
        self.parts.clear();
        for id in std::mem::take(&mut self.step_calls) {
            self.calls.remove(&id);
        }
        self.send_type("reset-step");
    }

    fn thought(&mut self, ty: &str, id: &str, delta: Option<&str>, provider: Option<Raw<'static>>) {
        if provider.as_ref().is_some_and(|p| p.contains("\"signature\"")) {
            self.sealed.insert(id.to_owned());
        }
        self.part(ty, id, delta, provider, None);
    }

    /// A user's message inside a run, or anyone's elsewhere.
    pub(super) fn message(&mut self, event: &Event<'_>) {
        if meta::find(event, "part").is_some_and(|p| p.is("steering-message")) {
            let id = event.get("messageId").map_or("\"\"", Raw::as_str);
            let parts = content::write(event.get("content"), event.get("attachments"));
            let mut json = String::new();
            let mut object = Object::new(&mut json);
            if self.version >= Version::V7 {
                object.raw("type", "\"steering-message\"").raw("id", id).raw("parts", &parts);
            } else {
                object.raw("type", "\"data-steering-message\"").raw("id", id).raw("data", &parts);
            }
            object.end();
            self.send(json);
            return;
        }
        let agent = event.get("role").is_some_and(|r| r.is("agent"));
        self.send(chunk::data(event, chunk::Lasting::Transient, agent.then_some("content")));
    }
}

/// The provider metadata of an event, if it is of one of these kinds.
fn side_of(event: Option<&Event<'_>>, kinds: &[Kind]) -> Option<Raw<'static>> {
    event.filter(|e| kinds.contains(&e.kind())).and_then(|e| match e.kind() {
        // A signature that comes with a piece is sent at the end.
        Kind::ThoughtStream => meta::find(e, "providerMetadata"),
        _ => meta::provider(e),
    })
}
