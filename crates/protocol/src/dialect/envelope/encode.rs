//! Events to envelopes: one per message, text block, tool call, tool return and artifact.
//!
//! An envelope waits until the model call it belongs to has told its cost, or until the next one
//! begins.

use std::collections::{HashMap, HashSet};

use super::content::Artifact;
use super::write::{self, Agents, Draft, string_body};
use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::flow::{Flow, Outcome, Signal};
use crate::journal::{Batch, Event, Kind};
use crate::json::{Raw, quote, text};

/// Writes envelopes.
pub(super) struct Writer {
    flow: Flow,
    agents: Agents,
    context: Option<Raw<'static>>,
    time: Raw<'static>,
    /// The envelope before.
    last: Option<String>,
    /// The envelope of each tool call.
    calls: HashMap<String, String>,
    /// The message and time that a text part began with.
    parts: HashMap<String, (Option<Raw<'static>>, Raw<'static>)>,
    /// What each task said last, and all of it, as string bodies.
    said: HashMap<String, (String, String)>,
    /// Tasks that the router made: what they say last comes again, as an envelope.
    routed: HashSet<String>,
    held: HashMap<String, Held>,
    files: Vec<(String, Artifact)>,
    used: HashSet<String>,
    minted: u32,
    pending: Vec<Draft>,
    step: Step,
}

/// What a task said that may be its answer.
struct Held {
    draft: Draft,
    message: Option<Raw<'static>>,
    /// Its text, as a string body.
    body: String,
}

/// Whether a model call is open that may still tell its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Open,
    Closed,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self {
            flow: Flow::new(),
            agents: Agents::default(),
            context: options.thread_id.as_deref().map(Raw::string),
            time: Raw::Ref(write::EPOCH),
            last: None,
            calls: HashMap::new(),
            parts: HashMap::new(),
            said: HashMap::new(),
            routed: HashSet::new(),
            held: HashMap::new(),
            files: Vec::new(),
            used: HashSet::new(),
            minted: 0,
            pending: Vec::new(),
            step: Step::Closed,
        }
    }

    /// Notes what later envelopes need of an event.
    fn see(&mut self, event: &Event<'_>) {
        if let Some(context) = event.get("contextId").filter(|c| c.body().is_some()) {
            self.context.get_or_insert_with(|| context.to_owned());
        }
        if let Some(time) = event.get("timestamp").filter(|t| t.body().is_some()) {
            self.time = time.to_owned();
        }
        self.agents.see(event);
        if event.kind() == Kind::RouteDecided {
            self.routed.extend(event.get("taskId").map(ToString::to_string));
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Records) {
        self.see(event);
        let mut signals = Vec::new();
        self.flow.apply(event, &mut |task, from, signal| {
            signals.push((task.to_owned(), from.is_some(), signal));
        });
        if event.kind() == Kind::Message {
            self.message(event, out);
        }
        for (task, told, signal) in signals {
            self.signal(&task, told.then_some(event), signal, out);
        }
    }

    fn signal(&mut self, task: &str, event: Option<&Event<'_>>, signal: Signal, out: &mut Records) {
        let whole = event.is_some_and(|e| e.kind() == Kind::Message);
        if matches!(signal, Signal::TextStarted { .. } | Signal::Call { .. } | Signal::StepStarted)
        {
            self.release(task, out);
        }
        match (signal, event) {
            (Signal::TextStarted { id }, Some(event)) if !whole => {
                let message = event.get("messageId").map(Raw::to_owned);
                let time = event.get("timestamp").map_or_else(|| self.time.clone(), Raw::to_owned);
                self.parts.insert(format!("{task}/{id}"), (message, time));
            }
            (Signal::TextFinished { id, body }, _) if !whole => {
                let (message, time) =
                    self.parts.remove(&format!("{task}/{id}")).unwrap_or((None, self.time.clone()));
                let message = message.or_else(|| event?.get("messageId").map(Raw::to_owned));
                if !body.is_empty() {
                    let (last, all) = self.said.entry(task.to_owned()).or_default();
                    last.clone_from(&body);
                    all.push_str(&body);
                    let agent = self.agent(task, event);
                    let draft = Draft::said("agent", agent, time, &body);
                    if self.routed.contains(task) {
                        self.held.insert(task.to_owned(), Held { draft, message, body });
                    } else {
                        self.add(draft, message.as_ref(), None, out);
                    }
                }
            }
            (Signal::Call { arguments, .. }, Some(event)) => {
                self.call(task, event, &arguments, out)
            }
            (Signal::Return { name }, Some(event))
                if event.get("preliminary").and_then(Raw::bool) != Some(true) =>
            {
                self.returned(event, name, out);
            }
            (Signal::StepStarted, _) => {
                self.flush(out);
                self.step = Step::Open;
            }
            (Signal::StepFinished, Some(event)) => {
                let cost = event.get("usage").and_then(write::cost);
                match self.held.get_mut(task) {
                    Some(held) => held.draft.cost = cost,
                    None => self.cost(cost),
                }
                self.step = Step::Closed;
                self.flush(out);
            }
            (Signal::RunFinished { outcome }, _) => {
                self.result(task, event, out);
                if let Outcome::Failed { message } = outcome {
                    let agent = self.agent(task, event);
                    let draft = Draft::failed("agent", agent, self.time(event), &message);
                    self.add(draft, None, None, out);
                }
                self.step = Step::Closed;
                self.flush(out);
            }
            (Signal::Event, Some(event)) => self.other(task, event, out),
            _ => {}
        }
    }

    /// Lets what a task said go out: it was not its answer, or the answer says something else.
    fn release(&mut self, task: &str, out: &mut Records) {
        if let Some(held) = self.held.remove(task) {
            self.add(held.draft, held.message.as_ref(), None, out);
        }
    }

    /// A task's result, if it is not what the task said already.
    fn result(&mut self, task: &str, event: Option<&Event<'_>>, out: &mut Records) {
        let result = event.filter(|e| e.kind() == Kind::TaskComplete);
        let Some(body) = result.and_then(|e| e.body("content")).filter(|b| !b.is_empty()) else {
            return;
        };
        let whole = text::minimal(body);
        let said = self.said.remove(task);
        let known = said.is_some_and(|(last, all)| {
            text::minimal(&last) == whole || text::minimal(&all) == whole
        });
        if !known {
            let draft = Draft::said("agent", self.agent(task, event), self.time(event), body);
            self.add(draft, None, None, out);
        }
    }

    fn other(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        match event.kind() {
            Kind::LlmUsage => self.cost(write::llm_cost(event)),
            Kind::Error => {
                let agent = event.get("agentId").map(Raw::to_owned);
                let message = event.body("message").unwrap_or("");
                let draft = Draft::failed("system", agent, self.time(Some(event)), message);
                self.add(draft, None, None, out);
            }
            Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite => {
                let id = event.get("artifactId").map(ToString::to_string).unwrap_or_default();
                let at = match self.files.iter().position(|(known, _)| *known == id) {
                    Some(at) => at,
                    None => {
                        let agent = self.agent(task, Some(event));
                        let time = self.time(Some(event));
                        self.files.push((id, Artifact::new(event, agent, time)));
                        self.files.len() - 1
                    }
                };
                let Some((_, artifact)) = self.files.get_mut(at) else { return };
                if artifact.add(event) {
                    let (_, artifact) = self.files.remove(at);
                    self.add(artifact.draft(), None, None, out);
                }
            }
            _ => {}
        }
    }

    fn message(&mut self, event: &Event<'_>, out: &mut Records) {
        if let Some(task) = event.get("answers").map(ToString::to_string) {
            let said = event.body("content").map(text::minimal);
            let held = self.held.get(&task).map(|held| text::minimal(&held.body));
            if said.is_some() && said == held {
                self.held.remove(&task);
            }
            self.release(&task, out);
        }
        let draft = Draft::message(event, self.time(Some(event)));
        // One that has its trace has its cost; only order holds it back.
        let whole = draft.given_id().is_some();
        self.add(draft, event.get("messageId"), None, out);
        if whole && (self.step == Step::Closed || self.pending.len() == 1) {
            self.flush(out);
        }
    }

    fn call(&mut self, task: &str, event: &Event<'_>, arguments: &Raw<'_>, out: &mut Records) {
        let Some(call) = event.get("toolCallId").map(ToString::to_string) else { return };
        let name = event.get("toolName").map_or(Raw::Ref("\"\""), Raw::to_owned);
        let agent = self.agent(task, Some(event));
        let draft = Draft::call(agent, self.time(Some(event)), &call, &name, arguments);
        let id = self.add(draft, None, None, out);
        self.calls.insert(call, id);
    }

    fn returned(&mut self, event: &Event<'_>, name: Option<Raw<'static>>, out: &mut Records) {
        let call = event.get("toolCallId").map(ToString::to_string).unwrap_or_default();
        let name = name.unwrap_or(Raw::Ref("\"\""));
        let draft = Draft::returned(event, self.time(Some(event)), &call, &name);
        let parent = self.calls.get(&call).cloned();
        self.add(draft, None, parent, out);
    }

    fn agent(&self, task: &str, event: Option<&Event<'_>>) -> Option<Raw<'static>> {
        let own = event.and_then(|e| e.get("agentId")).map(Raw::to_owned);
        own.or_else(|| self.flow.agent(task).cloned())
    }

    fn time(&self, event: Option<&Event<'_>>) -> Raw<'static> {
        let own = event.and_then(|e| e.get("timestamp")).filter(|t| t.body().is_some());
        own.map_or_else(|| self.time.clone(), Raw::to_owned)
    }

    /// Adds an envelope to those that wait; its id.
    fn add(
        &mut self,
        mut draft: Draft,
        id: Option<&Raw<'_>>,
        parent: Option<String>,
        out: &mut Records,
    ) -> String {
        if self.step == Step::Closed {
            self.flush(out);
        }
        let id = match draft.given_id() {
            Some(id) => id,
            None => {
                let id = self.fresh(id);
                draft.trace =
                    write::trace(&id, parent.or(self.last.clone()), self.context.as_ref());
                id
            }
        };
        self.used.insert(id.clone());
        self.last = Some(id.clone());
        self.pending.push(draft);
        id
    }

    /// An id that no envelope has: the message's own, else a counted one.
    fn fresh(&mut self, own: Option<&Raw<'_>>) -> String {
        let own = own.filter(|id| string_body(id).is_some()).map(ToString::to_string);
        if let Some(id) = own.filter(|id| !self.used.contains(id)) {
            return id;
        }
        loop {
            self.minted += 1;
            let id = quote(&format!("msg_{:03}", self.minted));
            if !self.used.contains(&id) {
                return id;
            }
        }
    }

    /// The last envelope of an agent that waits is what the tokens were used for.
    fn cost(&mut self, cost: Option<String>) {
        let last = self.pending.iter_mut().rev().find(|d| d.role == "agent");
        if let (Some(cost), Some(draft)) = (cost, last) {
            draft.cost = Some(cost);
        }
    }

    fn flush(&mut self, out: &mut Records) {
        for draft in self.pending.drain(..) {
            out.item(draft.write(&self.agents));
        }
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, out: &mut Records) {
        for event in &batch.events {
            self.event(event, out);
        }
    }

    fn pause(&mut self, out: &mut Records) {
        let mut signals = Vec::new();
        self.flow.pause(&mut |task, _, signal| signals.push((task.to_owned(), signal)));
        for (task, signal) in signals {
            self.signal(&task, None, signal, out);
        }
        self.step = Step::Closed;
        self.flush(out);
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        for event in &batch.events {
            self.see(event);
            self.flow.observe(event, &mut |_, _, _| {});
            let id = event.get("messageId").map(ToString::to_string);
            if let Some(id) = id.filter(|_| event.kind() == Kind::Message) {
                self.used.insert(id.clone());
                self.last = Some(id);
            }
        }
    }

    fn finish(&mut self, out: &mut Records) {
        let mut signals = Vec::new();
        self.flow.finish(&mut |task, _, signal| signals.push((task.to_owned(), signal)));
        for (task, signal) in signals {
            self.signal(&task, None, signal, out);
        }
        let mut held: Vec<String> = self.held.keys().cloned().collect();
        held.sort();
        for task in held {
            self.release(&task, out);
        }
        for (_, artifact) in std::mem::take(&mut self.files) {
            self.add(artifact.draft(), None, None, out);
        }
        self.flush(out);
    }
}
