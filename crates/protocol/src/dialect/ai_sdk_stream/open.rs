//! Messages from their start to their finish: who is at one, which one is open, and which ones go on
//! later.
//!
//! Invariant: one message is open at a time. One that is left while someone is at it goes on where
//! it was left, under its id.

use std::collections::HashSet;

use super::chunk;
use super::encode::Stream;
use crate::dialect::ai_sdk::json::Object;
use crate::dialect::ai_sdk::{Version, finish_reason_out, meta};
use crate::journal::flow::Outcome;
use crate::journal::{Event, Kind};
use crate::json::{Raw, quote};

/// The runs of a message.
#[derive(Default)]
pub(super) struct Crew {
    /// Those at work.
    busy: HashSet<String>,
    /// Those that wait for someone.
    waiting: HashSet<String>,
    /// What went wrong in one that is over.
    failed: Option<String>,
    /// Whether one of those that are over was not stopped.
    ended: bool,
    /// Whether they say themselves when they are over.
    dispatched: bool,
}

impl Crew {
    fn of(task: &str, created: Option<&Event<'_>>) -> Self {
        let dispatched = created.is_some_and(meta::is_dispatched);
        Self { busy: HashSet::from([task.to_owned()]), dispatched, ..Self::default() }
    }
}

/// A message that is not open.
pub(super) struct Resting {
    why: Why,
    message: Option<String>,
    /// Messages of the run before it.
    before: u32,
    crew: Crew,
    said: bool,
    reason: Option<Raw<'static>>,
    parts: HashSet<String>,
    calls: HashSet<String>,
    approvals: HashSet<String>,
}

/// Why a message is not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// Whoever is not over waits for someone.
    Waits,
    /// Another one was told meanwhile.
    Aside,
}

impl Stream {
    /// Whether an event is of a turn that is told with others.
    pub(super) fn is_joint(&self, event: &Event<'_>) -> bool {
        event.get("taskId").is_some_and(|task| self.joint.lead(task).is_some())
    }

    /// The message of a turn, by the run that it began with.
    pub(super) fn home(&self, root: &str) -> String {
        self.elsewhere.get(root).map_or(root, String::as_str).to_owned()
    }

    pub(super) fn start(&mut self, task: &str, event: Option<&Event<'_>>) {
        let created = event.filter(|e| e.kind() == Kind::TaskCreated);
        let lead = self.joint.lead(task).filter(|lead| self.open.as_deref() == Some(*lead));
        if let Some(lead) = lead.map(str::to_owned) {
            self.elsewhere.insert(task.to_owned(), lead);
            self.crew.busy.insert(task.to_owned());
            return;
        }
        self.leave();
        self.open = Some(task.to_owned());
        self.crew = Crew::of(task, created);
        self.said = false;
        self.reason = None;
        self.sealed.clear();
        self.parts.clear();
        self.cut.clear();
        self.calls.clear();
        self.approvals.clear();
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

    /// Another message follows: what is open is over, or goes on later.
    fn leave(&mut self) {
        if self.open.is_none() {
            return;
        }
        if !self.crew.dispatched {
            return self.close(None, &Outcome::Completed);
        }
        let mut parts: Vec<_> = self.parts.iter().cloned().collect();
        parts.sort();
        for part in parts {
            let (ty, id) = part.split_at(1);
            let ty = if ty == "t" { "text-end" } else { "reasoning-end" };
            self.send(format!("{{\"type\":\"{ty}\",\"id\":{}}}", quote(id)));
        }
        self.end_step();
        self.send_type("finish");
        self.put_away(Why::Aside);
    }

    fn put_away(&mut self, why: Why) {
        let Some(open) = self.open.take() else { return };
        let resting = Resting {
            why,
            message: self.message.take(),
            before: self.before,
            crew: std::mem::take(&mut self.crew),
            said: self.said,
            reason: self.reason.take(),
            parts: std::mem::take(&mut self.parts),
            calls: std::mem::take(&mut self.calls),
            approvals: std::mem::take(&mut self.approvals),
        };
        self.resting.insert(open, resting);
    }

    /// A run of the open message waits for someone. If all do, its reader gets no more until there
    /// is an answer.
    pub(super) fn rest(&mut self, task: &str) {
        // A stream of this kind says itself where it ends.
        if self.own || self.open != Some(self.home(task)) {
            return;
        }
        self.crew.busy.remove(task);
        self.crew.waiting.insert(task.to_owned());
        if self.crew.busy.is_empty() {
            self.wait();
        }
    }

    fn wait(&mut self) {
        self.end_step();
        self.send(String::from("{\"type\":\"finish\",\"finishReason\":\"tool-calls\"}"));
        self.parts.clear();
        self.put_away(Why::Waits);
    }

    /// Something happens in a turn: its message is to be open.
    pub(super) fn go_on(&mut self, root: &str, child: bool, event: Option<&Event<'_>>) {
        let home = self.home(root);
        if !child && event.is_some_and(meta::is_message) && self.joint.lead(root).is_some() {
            return self.go_apart(root, &home);
        }
        let is_open = self.open.as_ref() == Some(&home);
        if !is_open && let Some(resting) = self.resting.remove(&home) {
            // What a run came to say that was called by one that waits stays for its message.
            if child && resting.why == Why::Waits {
                self.resting.insert(home, resting);
                return;
            }
            self.resume(&home, resting, event);
        }
        if !child && self.crew.waiting.remove(root) {
            self.crew.busy.insert(root.to_owned());
        }
    }

    /// A turn leaves the message that it shares, as the answer that it got was a message.
    fn go_apart(&mut self, root: &str, home: &str) {
        let mut before = 1;
        if self.open.as_deref() == Some(home) {
            self.crew.waiting.remove(root);
        } else if let Some(mut resting) = self.resting.remove(home) {
            resting.crew.waiting.remove(root);
            before += resting.before;
            if !resting.crew.waiting.is_empty() || !resting.crew.busy.is_empty() {
                self.resting.insert(home.to_owned(), resting);
            }
        }
        self.leave();
        let name = meta::next_message(root, before);
        self.elsewhere.insert(root.to_owned(), name.clone());
        let crew = Crew { dispatched: true, ..Crew::of(root, None) };
        (self.message, self.before, self.crew) = (Some(name.clone()), before, crew);
        self.open = Some(name);
        (self.said, self.reason) = (false, None);
        self.parts.clear();
        self.cut.clear();
        self.sealed.clear();
        self.calls.clear();
        self.approvals.clear();
        self.begin(None);
    }

    /// A message goes on.
    fn resume(&mut self, home: &str, resting: Resting, event: Option<&Event<'_>>) {
        self.leave();
        self.open = Some(home.to_owned());
        self.parts.clear();
        self.sealed.clear();
        let Resting { message, before, crew, said, reason, parts, calls, approvals, .. } = resting;
        (self.crew, self.cut) = (crew, parts);
        (self.said, self.reason) = (said, reason);
        if event.is_some_and(meta::is_message) {
            self.before = before + 1;
            self.message = Some(meta::next_message(home, self.before));
            self.calls.clear();
            self.approvals.clear();
        } else {
            (self.message, self.before) = (message, before);
            (self.calls, self.approvals) = (calls, approvals);
        }
        self.begin(None);
    }

    pub(super) fn end_step(&mut self) {
        if std::mem::take(&mut self.step) {
            self.send_type("finish-step");
        }
    }

    /// A turn is over, and with the last one its message.
    pub(super) fn finish(&mut self, task: &str, event: Option<&Event<'_>>, outcome: &Outcome) {
        let home = self.home(task);
        if self.open.as_ref() != Some(&home) {
            return;
        }
        let complete = event.filter(|e| e.kind() == Kind::TaskComplete);
        if let Some(said) = complete.and_then(|e| e.body("content"))
            && !self.joint.spoke(task).unwrap_or(self.said)
            && !said.is_empty()
        {
            // Said only at the end.
            let said = said.to_owned();
            let id = match home == task {
                true => String::from("result"),
                false => format!("{}/result", task.trim_matches('"')),
            };
            self.part("text-start", &id, None, None, None);
            self.part("text-delta", &id, Some(&said), None, None);
            self.part("text-end", &id, None, None, None);
        }
        self.crew.busy.remove(task);
        match outcome {
            Outcome::Failed { message } => self.crew.failed = Some(message.clone()),
            Outcome::Completed => self.crew.ended = true,
            Outcome::Canceled | Outcome::Waiting => {}
        }
        if !self.crew.busy.is_empty() {
            let metadata = complete.and_then(|e| e.get("metadata")).filter(|m| m.is_object());
            if let Some(metadata) = metadata {
                self.send(format!(
                    "{{\"type\":\"message-metadata\",\"messageMetadata\":{metadata}}}"
                ));
            }
        } else if self.crew.waiting.is_empty() {
            self.close(event, outcome);
        } else {
            self.wait();
        }
    }

    /// The open message is over.
    pub(super) fn close(&mut self, event: Option<&Event<'_>>, outcome: &Outcome) {
        let complete = event.filter(|e| e.kind() == Kind::TaskComplete);
        let crew = std::mem::take(&mut self.crew);
        if *outcome == Outcome::Canceled && !crew.ended && crew.failed.is_none() {
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
        let reason = match (crew.failed, outcome) {
            (Some(message), _) => {
                self.send(chunk::error(&message));
                Some("error")
            }
            (None, Outcome::Waiting) => Some("tool-calls"),
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
}
