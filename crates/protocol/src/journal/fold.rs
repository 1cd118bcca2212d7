//! The fold: from a journal to the state of its thread.
//!
//! A pure function: the same events give the same state, and each event costs time in proportion
//! to itself. What does not fit has a defined answer, and is told as an [`Anomaly`]:
//!
//! - a chunk that came before is ignored, one that comes early is held until the gap closes;
//! - after a task's terminal state, another one is ignored: the first wins;
//! - an event of a task nobody created creates it;
//! - an answer to a question nobody asked, or that was answered, is ignored.

mod artifact;
mod task;
mod usage;

pub use artifact::{Artifact, ArtifactKind, Version};
pub use task::{Task, TaskState};
pub use usage::{Tokens, Usage, model_of};

use std::collections::BTreeMap;

use super::transcript::Transcript;
use super::{Event, Kind};
use crate::json::Raw;

/// A thread's state.
#[derive(Debug, Default)]
pub struct State {
    /// The thread's id, title and the like: `thread-created` with later updates applied.
    pub thread: Option<Event<'static>>,
    /// Who takes part, by id, with what is known of them; in the order they joined.
    pub participants: Vec<Participant>,
    /// Tasks in the order they began; parents and children by id.
    pub tasks: task::Tasks,
    /// What was said and done.
    pub transcript: Transcript,
    /// Artifacts by id.
    pub artifacts: BTreeMap<String, Artifact>,
    /// Questions that wait for an answer, by id.
    pub inputs: BTreeMap<String, Event<'static>>,
    /// Credentials that are waited for, by id.
    pub auths: BTreeMap<String, Event<'static>>,
    /// Tokens by agent and model.
    pub usage: Usage,
    /// What did not fit.
    pub anomalies: Vec<Anomaly>,
    /// How many events were folded.
    pub events: u64,
    /// The first and the last time that an event names, as received.
    pub span: Option<(String, String)>,
}

/// Someone who takes part.
#[derive(Debug, Clone)]
pub struct Participant {
    /// The id, decoded.
    pub id: String,
    /// `participant-joined`, or nothing where they just acted.
    pub joined: Option<Event<'static>>,
    /// Whether they left.
    pub left: bool,
}

/// Something that does not fit what came before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Which event it was, counted from 1.
    pub event: u64,
    /// What is odd.
    pub what: Oddity,
    /// The task, artifact or question it is about.
    pub subject: String,
}

/// What is odd about an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oddity {
    /// A task ended before.
    SecondTerminal,
    /// A chunk came before.
    RepeatedChunk,
    /// A chunk came before the ones it follows.
    EarlyChunk,
    /// Nobody created this task.
    UnknownTask,
    /// Nobody asked, or it was answered before.
    UnknownInput,
}

impl State {
    /// Nothing happened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event in.
    pub fn apply(&mut self, event: &Event<'_>) {
        self.events += 1;
        self.note_time(event);
        self.note_actors(event);
        let mut placed = Vec::new();
        self.transcript.apply(event, &mut placed);
        self.task_event(event);
        self.usage.apply(event);
        match event.kind() {
            Kind::ThreadCreated => {
                self.thread.get_or_insert_with(|| event.to_owned());
            }
            Kind::ThreadUpdated => {
                let thread = self.thread.get_or_insert_with(|| Event::new(Kind::ThreadCreated));
                for (name, value) in event.fields() {
                    thread.set(name.to_owned(), value.to_owned());
                }
            }
            Kind::ParticipantJoined => {
                if let Some(id) = event.str("participantId") {
                    let at = self.participant(&id);
                    if let Some(participant) = self.participants.get_mut(at) {
                        participant.joined = Some(event.to_owned());
                        participant.left = false;
                    }
                }
            }
            Kind::ParticipantLeft => {
                if let Some(id) = event.str("participantId") {
                    let at = self.participant(&id);
                    if let Some(participant) = self.participants.get_mut(at) {
                        participant.left = true;
                    }
                }
            }
            Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite => self.write_artifact(event),
            Kind::InputRequired | Kind::ToolInputRequired => {
                if let Some(id) = event.str("inputId") {
                    self.inputs.insert(id.into_owned(), event.to_owned());
                }
            }
            Kind::InputReceived => {
                let id = event.str("inputId").unwrap_or_default().into_owned();
                if self.inputs.remove(&id).is_none() {
                    self.odd(Oddity::UnknownInput, id);
                }
            }
            Kind::AuthRequired => {
                if let Some(id) = event.str("authId") {
                    self.auths.insert(id.into_owned(), event.to_owned());
                }
            }
            Kind::AuthCompleted => {
                let id = event.str("authId").unwrap_or_default().into_owned();
                if self.auths.remove(&id).is_none() {
                    self.odd(Oddity::UnknownInput, id);
                }
            }
            Kind::InputExpired => {
                let [input, auth] = ["inputId", "authId"].map(|name| event.str(name));
                let input = input.map(|id| self.inputs.remove(id.as_ref()));
                let auth = auth.map(|id| self.auths.remove(id.as_ref()));
                if input.flatten().or(auth.flatten()).is_none() {
                    let id = event.str("inputId").or_else(|| event.str("authId"));
                    self.odd(Oddity::UnknownInput, id.unwrap_or_default().into_owned());
                }
            }
            _ => {}
        }
    }

    fn odd(&mut self, what: Oddity, subject: String) {
        self.anomalies.push(Anomaly { event: self.events, what, subject });
    }

    fn participant(&mut self, id: &str) -> usize {
        match self.participants.iter().position(|p| p.id == id) {
            Some(at) => at,
            None => {
                self.participants.push(Participant {
                    id: id.to_owned(),
                    joined: None,
                    left: false,
                });
                self.participants.len() - 1
            }
        }
    }

    fn note_actors(&mut self, event: &Event<'_>) {
        for field in ["agentId", "author"] {
            if let Some(id) = event.str(field) {
                self.participant(&id);
            }
        }
    }

    fn note_time(&mut self, event: &Event<'_>) {
        if let Some(time) = event.str("timestamp") {
            match &mut self.span {
                Some((_, last)) => time.clone_into_string(last),
                None => self.span = Some((time.to_string(), time.into_owned())),
            }
        }
    }

    fn task_event(&mut self, event: &Event<'_>) {
        let Some(id) = event.str("taskId") else { return };
        let known = self.tasks.get(&id).is_some();
        if !known && !matches!(event.kind(), Kind::TaskCreated | Kind::Message) {
            self.odd(Oddity::UnknownTask, id.to_string());
        }
        let terminal_before = self.tasks.get(&id).is_some_and(|t| t.state.is_terminal());
        let ends = self.tasks.apply(&id, event);
        if ends && terminal_before {
            // Looopy says both `task-status: completed` and `task-complete`: one end, told twice.
            let told_twice = event.kind() == Kind::TaskComplete
                && self.tasks.get(&id).is_some_and(|t| t.state == TaskState::Completed);
            if !told_twice {
                self.odd(Oddity::SecondTerminal, id.to_string());
            }
        }
        if ends {
            // What a task asked for is not asked for any more.
            let over = |e: &Event<'static>| e.get("taskId").is_some_and(|t| t.is(&id));
            self.inputs.retain(|_, e| !over(e));
            self.auths.retain(|_, e| !over(e));
        }
    }

    fn write_artifact(&mut self, event: &Event<'_>) {
        let Some(id) = event.str("artifactId").map(|id| id.into_owned()) else { return };
        let artifact = self.artifacts.entry(id.clone());
        let artifact = artifact.or_insert_with(|| Artifact::new(ArtifactKind::of(event)));
        if let Some(what) = artifact.apply(event) {
            self.odd(what, id);
        }
    }

    /// The thread's id, decoded.
    pub fn thread_id(&self) -> Option<String> {
        self.thread.as_ref()?.get("contextId").and_then(Raw::str).map(|id| id.into_owned())
    }
}

/// Writes a decoded string over another, keeping its allocation.
trait CloneIntoString {
    fn clone_into_string(&self, target: &mut String);
}

impl CloneIntoString for std::borrow::Cow<'_, str> {
    fn clone_into_string(&self, target: &mut String) {
        target.clear();
        target.push_str(self);
    }
}
