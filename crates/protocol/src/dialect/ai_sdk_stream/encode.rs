//! Events to chunks.
//!
//! One stream per run, one after the other, each from `start` to `finish`, and one `[DONE]` at the
//! end: the real reader begins a new message when `start` names another one. A run that waits for
//! someone ends its stream, and goes on with the same message in another once it has the answer; if
//! the answer was a message of its own, what follows is a new message too. What runs called by a
//! run say is part of its message. What the protocol has no chunk for is a `data-*` chunk named
//! after its event kind; it is transient where it is news rather than content.

use std::collections::{HashMap, HashSet};

use super::chunk;
use crate::dialect::ai_sdk::json::Object;
use crate::dialect::ai_sdk::{Version, content, finish_reason_out, meta};
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
    chunks: Vec<String>,
    /// Chunks that came while no message was open.
    waiting: Vec<String>,
    /// The run whose message is open.
    open: Option<String>,
    /// The id of that message, if it has one.
    message: Option<String>,
    /// Messages that its run has had before.
    before: u32,
    /// Runs that wait for someone, and what is known of their messages.
    resting: HashMap<String, Resting>,
    /// Runs that are part of another one's message.
    children: HashSet<String>,
    started: bool,
    step: bool,
    /// Whether the open message has text.
    pub(super) said: bool,
    reason: Option<Raw<'static>>,
    /// Thoughts of the open message whose signature went out.
    sealed: HashSet<String>,
    /// Texts and thoughts that are open, each with a letter for which it is.
    parts: HashSet<String>,
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

/// The message of a run that waits for someone.
struct Resting {
    message: Option<String>,
    /// Messages of the run before it.
    before: u32,
    calls: HashSet<String>,
    approvals: HashSet<String>,
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
                resting: HashMap::new(),
                children: HashSet::new(),
                started: false,
                step: false,
                said: false,
                reason: None,
                sealed: HashSet::new(),
                parts: HashSet::new(),
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

    fn send_type(&mut self, ty: &str) {
        self.send(format!("{{\"type\":\"{ty}\"}}"));
    }

    fn end(&mut self) {
        if let Some(task) = self.open.clone() {
            self.finish(&task, None, &Outcome::Completed);
        }
        if !self.waiting.is_empty() && !self.started {
            self.start("\"run-1\"", None);
            self.finish("\"run-1\"", None, &Outcome::Completed);
        }
        self.chunks.append(&mut self.waiting);
    }

    fn signal(&mut self, task: &str, event: Option<&Event<'_>>, signal: Signal) {
        let child = self.children.contains(task);
        let waits = matches!(
            signal,
            Signal::RunWaiting { .. } | Signal::RunFinished { outcome: Outcome::Waiting }
        );
        if !waits && let Some(resting) = self.resting.remove(task) {
            self.resume(task, resting, event);
        }
        // Two runs in one message may give their parts the same names.
        let own = |id: String| match child {
            true => format!("{}/{id}", task.trim_matches('"')),
            false => id,
        };
        match signal {
            Signal::RunStarted { parent, .. } => {
                if parent.is_some() && self.open.is_some() {
                    self.children.insert(task.to_owned());
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
                    && !self.resting.contains_key(task)
                {
                    self.event(event);
                }
                self.rest(task);
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

    fn start(&mut self, task: &str, event: Option<&Event<'_>>) {
        if let Some(open) = self.open.clone() {
            self.finish(&open, None, &Outcome::Completed);
        }
        self.open = Some(task.to_owned());
        self.said = false;
        self.reason = None;
        self.sealed.clear();
        self.parts.clear();
        self.calls.clear();
        self.approvals.clear();
        let created = event.filter(|e| e.kind() == Kind::TaskCreated);
        let id = created.and_then(meta::own_message);
        // A stream of this kind that names no message may go on with one that the reader has.
        let id = id.map(Raw::as_str).or((!self.own).then_some(task));
        self.message = id.map(str::to_owned);
        self.before = 0;
        let metadata = created.and_then(|e| e.get("metadata")).filter(|m| m.is_object());
        self.begin(metadata);
    }

    /// Begins the open message, or goes on with it.
    fn begin(&mut self, metadata: Option<&Raw<'_>>) {
        let mut json = String::new();
        Object::new(&mut json)
            .raw("type", "\"start\"")
            .some("messageId", self.message.as_deref())
            .some("messageMetadata", metadata.map(Raw::as_str))
            .end();
        self.send(json);
        for chunk in std::mem::take(&mut self.waiting) {
            self.send(chunk);
        }
    }

    /// The open run waits for someone: its reader gets no more until there is an answer.
    fn rest(&mut self, task: &str) {
        // A stream of this kind says itself where it ends.
        if self.own || self.open.as_deref() != Some(task) {
            return;
        }
        self.end_step();
        self.send(String::from("{\"type\":\"finish\",\"finishReason\":\"tool-calls\"}"));
        self.open = None;
        let resting = Resting {
            message: self.message.take(),
            before: self.before,
            calls: std::mem::take(&mut self.calls),
            approvals: std::mem::take(&mut self.approvals),
        };
        self.resting.insert(task.to_owned(), resting);
    }

    /// A run that waited goes on.
    fn resume(&mut self, task: &str, resting: Resting, event: Option<&Event<'_>>) {
        if let Some(open) = self.open.clone() {
            self.finish(&open, None, &Outcome::Completed);
        }
        self.open = Some(task.to_owned());
        self.parts.clear();
        self.sealed.clear();
        let Resting { message, before, calls, approvals } = resting;
        if event.is_some_and(meta::is_message) {
            self.before = before + 1;
            self.message = Some(meta::next_message(task, self.before));
            self.calls.clear();
            self.approvals.clear();
        } else {
            (self.message, self.before) = (message, before);
            (self.calls, self.approvals) = (calls, approvals);
        }
        self.begin(None);
    }

    fn end_step(&mut self) {
        if std::mem::take(&mut self.step) {
            self.send_type("finish-step");
        }
    }

    fn finish(&mut self, task: &str, event: Option<&Event<'_>>, outcome: &Outcome) {
        if self.open.as_deref() != Some(task) {
            return;
        }
        let complete = event.filter(|e| e.kind() == Kind::TaskComplete);
        if let Some(said) = complete.and_then(|e| e.body("content"))
            && !self.said
            && !said.is_empty()
        {
            // Said only at the end.
            let said = said.to_owned();
            self.part("text-start", "result", None, None, None);
            self.part("text-delta", "result", Some(&said), None, None);
            self.part("text-end", "result", None, None, None);
        }
        if *outcome == Outcome::Canceled {
            let mut json = String::new();
            let mut object = Object::new(&mut json);
            object.raw("type", "\"abort\"");
            if self.version >= Version::V6 {
                object.some("reason", event.and_then(|e| e.get("message")).map(Raw::as_str));
            }
            object.end();
            self.step = false;
            self.send(json);
            self.open = None;
            return;
        }
        self.end_step();
        let given = complete.and_then(|e| e.get("finishReason")).map(Raw::to_owned);
        let known = given.or(self.reason.take());
        let reason = match outcome {
            Outcome::Failed { message } => {
                self.send(chunk::error(message));
                Some("error")
            }
            Outcome::Waiting => Some("tool-calls"),
            _ => known.as_ref().and_then(Raw::body).map(|r| finish_reason_out(r, self.version)),
        };
        let metadata = complete.and_then(|e| e.get("metadata")).filter(|m| m.is_object());
        let mut json = String::new();
        Object::new(&mut json)
            .raw("type", "\"finish\"")
            .some("finishReason", reason.map(quote))
            .some("messageMetadata", metadata.map(Raw::as_str))
            .end();
        self.send(json);
        self.open = None;
    }

    fn part(
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
