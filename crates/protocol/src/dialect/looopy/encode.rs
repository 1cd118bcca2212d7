//! Events to Looopy's: mostly as they are, with the brackets and fields that it demands.
//!
//! Events that came from Looopy are written field by field. For all others [`Flow`] says where a
//! task begins and ends and when a text is complete, and what the document requires and the event
//! lacks is filled in. Kinds that Looopy lacks keep their names: its clients pass over them.

use std::collections::{HashMap, HashSet};

use super::model::is_looopys;
use super::tools::{Call, Started};
use super::write::{Draft, Fields, Form, Stamp};
use crate::dialect::{EncodeOptions, Encoder, Id, Records};
use crate::journal::flow::{DEFAULT_TASK, Flow, Outcome, Signal, Waiting};
use crate::journal::{Batch, Event, Kind};
use crate::json::{Raw, quote};

/// Writes one event after the other.
pub(super) struct Writer {
    pub(super) stamp: Stamp,
    flow: Flow,
    pub(super) tasks: HashMap<String, Task>,
    /// Where the batch at hand came from.
    pub(super) origin: Origin,
}

/// Where a batch came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Looopy,
    Native,
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Task {
    /// Looopy itself told of it: nothing is added.
    own: bool,
    /// It began, and no event has told its state yet.
    silent: bool,
    /// The state it waits in, as told.
    waiting: Option<Waiting>,
    told_waiting: bool,
    /// The text it said last, as a string body.
    said: Option<String>,
    deltas: i64,
    thoughts: i64,
    parts: HashSet<String>,
    pub(super) calls: HashMap<String, Call>,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        let code = options.target.as_ref().is_some_and(|t| t.version == "code");
        let form = if code { Form::Code } else { Form::Document };
        let stamp = Stamp::new(form, options.thread_id.as_deref());
        Self { stamp, flow: Flow::new(), tasks: HashMap::new(), origin: Origin::Native }
    }

    pub(super) fn task(&mut self, task: &str) -> &mut Task {
        self.tasks.entry(task.to_owned()).or_default()
    }

    /// Takes note of an event that Looopy told.
    fn note(&mut self, event: &Event<'_>) -> String {
        self.stamp.see(event);
        let mut at = event.get("taskId").map(ToString::to_string);
        self.flow.observe(event, &mut |task, _, _| {
            at.get_or_insert_with(|| task.to_owned());
        });
        let at = at.unwrap_or_else(|| DEFAULT_TASK.to_owned());
        let task = self.task(&at);
        task.own = true;
        let counter = match event.kind() {
            Kind::ContentDelta => &mut task.deltas,
            Kind::ThoughtStream => &mut task.thoughts,
            _ => return at,
        };
        *counter = event.get("index").and_then(Raw::i64).unwrap_or(*counter).saturating_add(1);
        at
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Records) {
        self.stamp.see(event);
        let mut signals = Vec::new();
        self.flow.apply(event, &mut |task, from, signal| {
            signals.push((task.to_owned(), from.is_some(), signal));
        });
        let mut written = false;
        for (task, told, signal) in signals {
            let event = told.then_some(event);
            written |= self.signal(&task, event, signal, out);
        }
        // Flow has nothing to say of a second beginning or end, or of the end of an unknown part.
        if !written
            && matches!(
                event.kind(),
                Kind::TaskCreated | Kind::TaskStatus | Kind::TaskComplete | Kind::PartFinished
            )
        {
            let task = event.get("taskId").map_or(DEFAULT_TASK.to_owned(), ToString::to_string);
            self.pass(&task, event, out);
        }
    }

    /// Writes what a signal says; whether that was the event itself.
    fn signal(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        signal: Signal,
        out: &mut Records,
    ) -> bool {
        let kind = event.map(Event::kind);
        match (signal, event) {
            (Signal::RunStarted { .. }, Some(event)) => {
                self.task(task).silent = true;
                if kind == Some(Kind::TaskCreated) {
                    self.pass(task, event, out);
                    return true;
                }
                self.created(task, event, out);
            }
            (Signal::RunWaiting { on }, Some(event)) => {
                self.task(task).waiting = Some(on);
                if kind == Some(Kind::TaskStatus) {
                    self.task(task).told_waiting = true;
                    self.pass(task, event, out);
                    return true;
                }
            }
            (Signal::RunFinished { .. }, Some(event))
                if matches!(kind, Some(Kind::TaskComplete | Kind::TaskStatus)) =>
            {
                self.pass(task, event, out);
                // The task is kept for as long as the thread goes on; its text need not be.
                self.task(task).said = None;
                return true;
            }
            (Signal::RunFinished { outcome }, _) => self.ended(task, outcome, out),
            (Signal::TextStarted { id }, Some(event)) => {
                if event.get("partId").is_some() {
                    self.task(task).parts.insert(id);
                }
                if kind == Some(Kind::PartStarted) {
                    self.pass(task, event, out);
                    return true;
                }
            }
            (Signal::TextDelta { .. }, Some(event)) if kind == Some(Kind::ContentDelta) => {
                self.task(task).said = None;
                self.pass(task, event, out);
                return true;
            }
            (Signal::TextFinished { id, body }, event) => {
                self.text_finished(task, event, &id, &body, out);
                return true;
            }
            (Signal::ThoughtDelta { id, .. }, Some(event)) => {
                self.lead(task, out);
                let mut draft = self.draft(task, event);
                draft.default("thoughtId", || quote(&id));
                self.finish_draft(task, draft, out);
                return true;
            }
            (Signal::Call { arguments, .. }, Some(event)) => {
                self.pass(task, event, out);
                self.called(task, event, arguments, out);
                return true;
            }
            (Signal::Return { name }, Some(event)) => {
                self.returned(task, event, name, out);
                return true;
            }
            (Signal::Event, Some(event)) => return self.other(task, event, out),
            (
                Signal::StepStarted
                | Signal::StepFinished
                | Signal::CallStarted
                | Signal::CallDelta { .. }
                | Signal::ThoughtStarted { .. }
                | Signal::ThoughtFinished { .. },
                Some(event),
            ) if kind != Some(Kind::ThoughtStream) => {
                self.pass(task, event, out);
                return true;
            }
            _ => {}
        }
        false
    }

    /// What a signal says no more about than its event.
    fn other(&mut self, task: &str, event: &Event<'_>, out: &mut Records) -> bool {
        match event.kind() {
            // Its text is out already.
            Kind::Message if event.get("role").is_some_and(|r| r.is("agent")) => return true,
            Kind::Opaque | Kind::Other => return true,
            Kind::ToolStart => {
                let id = event.get("toolCallId").map(ToString::to_string).unwrap_or_default();
                if let Some(call) = self.task(task).calls.get_mut(&id) {
                    let said = call.started == Started::Said;
                    call.started = Started::Told;
                    if said && event.get("icon").is_none() && event.get("metadata").is_none() {
                        return true;
                    }
                }
            }
            Kind::InputRequired
                if self.stamp.form == Form::Code
                    && self.origin == Origin::Other
                    && event.get("toolCallId").is_some() =>
            {
                // Looopy's server says it this way, its client reads the other one.
                self.lead(task, out);
                let mut draft = self.draft(task, event);
                draft.name = Kind::ToolInputRequired.name().to_owned();
                self.finish_draft(task, draft, out);
            }
            _ => {}
        }
        self.pass(task, event, out);
        true
    }

    /// Says that a task works, if it began and nothing was said since.
    pub(super) fn lead(&mut self, task: &str, out: &mut Records) {
        let Some(known) = self.tasks.get_mut(task).filter(|t| t.silent) else { return };
        known.silent = false;
        let mut draft = Draft::new(Kind::TaskStatus, task);
        draft.push("status", "\"working\"");
        out.item(self.stamp.write(draft));
    }

    /// Writes the event itself.
    fn pass(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        match event.kind() {
            Kind::TaskCreated => {}
            Kind::TaskStatus => self.task(task).silent = false,
            _ => self.lead(task, out),
        }
        let draft = self.draft(task, event);
        self.finish_draft(task, draft, out);
    }

    pub(super) fn draft(&self, task: &str, event: &Event<'_>) -> Draft {
        let known = is_looopys(event.kind()) && self.tasks.contains_key(task);
        let stamped = known || is_looopys(event.kind()) && event.kind() != Kind::Message;
        let task_id = event.get("taskId").map(Raw::as_str).or(stamped.then_some(task));
        let fields = match self.origin {
            Origin::Other => Fields::Known,
            Origin::Looopy | Origin::Native => Fields::All,
        };
        Draft::of(event, fields, task_id, self.flow.agent(task))
    }

    /// Fills in what the document requires, and writes.
    pub(super) fn finish_draft(&mut self, task: &str, mut draft: Draft, out: &mut Records) {
        let counter = match draft.kind {
            Kind::ContentDelta => Some(&mut self.task(task).deltas),
            Kind::ThoughtStream => Some(&mut self.task(task).thoughts),
            _ => None,
        };
        if let Some(counter) = counter {
            let index = draft.get("index").and_then(|i| i.parse().ok()).unwrap_or(*counter);
            draft.default("index", || index.to_string());
            *counter = index.saturating_add(1);
        }
        draft.fill();
        out.item(self.stamp.write(draft));
    }

    fn created(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        let mut draft = Draft::new(Kind::TaskCreated, task);
        let parent = event.get("parentTaskId").filter(|p| !p.is_null());
        draft.push("initiator", if parent.is_some() { "\"agent\"" } else { "\"user\"" });
        if let Some(parent) = parent {
            draft.push("parentTaskId", parent);
        }
        if let Some(agent) = self.flow.agent(task) {
            draft.push("metadata", &format!("{{\"agentId\":{agent}}}"));
        }
        out.item(self.stamp.write(draft));
    }

    fn ended(&mut self, task: &str, outcome: Outcome, out: &mut Records) {
        let known = self.task(task);
        if known.own || outcome == Outcome::Waiting && known.told_waiting {
            return;
        }
        self.lead(task, out);
        let known = self.task(task);
        let mut draft = Draft::new(Kind::TaskStatus, task);
        match outcome {
            Outcome::Completed => {
                draft = Draft::new(Kind::TaskComplete, task);
                if let Some(said) = known.said.take() {
                    draft.push("content", &format!("\"{said}\""));
                }
            }
            Outcome::Waiting => {
                let auth = known.waiting == Some(Waiting::Auth);
                draft.push("status", if auth { "\"waiting-auth\"" } else { "\"waiting-input\"" });
            }
            Outcome::Failed { message } => {
                draft.push("status", "\"failed\"");
                draft.push("message", &format!("\"{message}\""));
            }
            Outcome::Canceled => draft.push("status", "\"canceled\""),
        }
        out.item(self.stamp.write(draft));
    }

    /// A text is complete: the document has an event for that.
    fn text_finished(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        id: &str,
        body: &str,
        out: &mut Records,
    ) {
        let known = self.task(task);
        if !known.own {
            known.said = Some(body.to_owned());
        }
        let mut draft = match event {
            Some(event) if event.kind() == Kind::ContentComplete => {
                self.pass(task, event, out);
                return;
            }
            Some(event) if event.kind() == Kind::PartFinished => {
                let mut draft = self.draft(task, event);
                draft.rename(Kind::ContentComplete, task);
                draft.remove("partType");
                draft
            }
            Some(event) if event.kind() == Kind::Message => {
                let mut draft = self.draft(task, event);
                draft.rename(Kind::ContentComplete, task);
                draft.agents_message(body);
                draft
            }
            _ => {
                let mut draft = Draft::new(Kind::ContentComplete, task);
                if self.task(task).parts.contains(id) {
                    draft.push("partId", &quote(id));
                }
                draft
            }
        };
        draft.default("content", || format!("\"{body}\""));
        self.lead(task, out);
        self.finish_draft(task, draft, out);
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, out: &mut Records) {
        self.origin = match &batch.frame {
            Some(frame) if frame.dialect == Id::Looopy => Origin::Looopy,
            Some(_) => Origin::Other,
            None => Origin::Native,
        };
        if self.origin != Origin::Looopy {
            for event in &batch.events {
                self.event(event, out);
            }
            return;
        }
        // The record itself comes last; what was concluded from it, before.
        let last = batch.events.len().saturating_sub(1);
        for (i, event) in batch.events.iter().enumerate() {
            let task = self.note(event);
            if i == last && !matches!(event.kind(), Kind::Opaque | Kind::Other) {
                let mut draft = self.draft(&task, event);
                if event.kind() == Kind::Message
                    && event.get("role").is_some_and(|r| r.is("agent"))
                    && event.get("toolCalls").is_none()
                {
                    draft.rename(Kind::ContentComplete, &task);
                    draft.agents_message(event.body("content").unwrap_or(""));
                }
                draft.fill();
                out.item(self.stamp.write(draft));
            }
        }
    }

    fn pause(&mut self, out: &mut Records) {
        let mut signals = Vec::new();
        self.flow.pause(&mut |task, _, signal| signals.push((task.to_owned(), signal)));
        for (task, signal) in signals {
            self.signal(&task, None, signal, out);
        }
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        for event in &batch.events {
            self.note(event);
        }
    }

    fn finish(&mut self, out: &mut Records) {
        let mut signals = Vec::new();
        self.flow.finish(&mut |task, _, signal| signals.push((task.to_owned(), signal)));
        for (task, signal) in signals {
            if !self.tasks.get(&task).is_some_and(|t| t.own) {
                self.signal(&task, None, signal, out);
            }
        }
    }
}
