//! What was written of each task, and how the next thing is written.
//!
//! Invariant: the first record of a task is the task, submitted, with what the user said; nothing
//! of a task follows its end. What comes later all the same begins another task.

use std::collections::{HashMap, VecDeque};

use super::model::{ANSWER_FIELDS, AUTH_FIELDS, INPUT_FIELDS, State, Version, usual_input};
use super::paint::Text;
use super::say::{self, Says, members, object, time};
use super::write::{Envelope, Object, Part, array, clean, string};
use crate::dialect::Records;
use crate::journal::flow::DEFAULT_TASK;
use crate::journal::{Event, Kind};
use crate::json::{Raw, quote};

/// Messages that are remembered for tasks that begin later.
const HEARD: usize = 16;

/// Writes records and remembers what it wrote.
pub(super) struct Pen {
    pub(super) version: Version,
    pub(super) envelope: Envelope,
    /// The thread's id, as JSON text.
    context: Option<String>,
    pub(super) runs: HashMap<String, Run>,
    /// What the user said before the task it is for began.
    said: Vec<Event<'static>>,
    /// What was said last and has its task: another may be for the same.
    heard: VecDeque<Event<'static>>,
    /// Prompts of subtasks that have not begun, with the task that gave them.
    prompts: Vec<(String, Event<'static>)>,
    minted: u32,
}

#[derive(Default)]
pub(super) struct Run {
    /// The task's id, as JSON text.
    pub(super) id: String,
    context: Option<String>,
    /// How many tasks this run became.
    turn: u32,
    parent: Option<String>,
    /// The id of the message that it is for, if its beginning names one.
    asked: Option<Raw<'static>>,
    /// The last state written; none before the task itself.
    state: Option<State>,
    /// Whether it waits for someone who is not the user.
    waits: bool,
    time: Option<String>,
    metadata: Option<String>,
    history: Vec<Event<'static>>,
    messages: u32,
    pub(super) texts: HashMap<String, Text>,
    /// Artifact ids that were given out.
    pub(super) used: HashMap<String, u32>,
    /// Files and data that began, and whether their first chunk came.
    pub(super) files: HashMap<String, bool>,
    /// What the agent said last, and all it said.
    pub(super) last: String,
    pub(super) all: String,
}

impl Pen {
    pub(super) fn new(version: Version, envelope: Envelope, thread: Option<&str>) -> Self {
        Self {
            version,
            envelope,
            context: thread.map(quote),
            runs: HashMap::new(),
            said: Vec::new(),
            heard: VecDeque::new(),
            prompts: Vec::new(),
            minted: 0,
        }
    }

    /// The thread begins.
    pub(super) fn enter(&mut self, event: &Event<'_>) {
        if self.context.is_none() {
            self.context = event.get("contextId").and_then(string);
        }
    }

    pub(super) fn mint(&mut self, what: &str) -> String {
        self.minted += 1;
        quote(&format!("{what}-{}", self.minted))
    }

    /// A run starts: nothing is written until it is known what the user said.
    pub(super) fn start(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        parent: Option<Raw<'static>>,
    ) {
        if self.runs.contains_key(task) {
            return;
        }
        let created = event.filter(|e| e.kind() == Kind::TaskCreated);
        let id = Raw::parse(task).ok().and_then(|id| string(&id));
        let id = match id {
            Some(id) => id,
            None => self.mint("task"),
        };
        let mut run = Run {
            id,
            context: event.and_then(|e| e.get("contextId")).and_then(string),
            parent: parent.as_ref().and_then(string),
            asked: created.and_then(|e| e.get("messageId")).map(Raw::to_owned),
            time: created.and_then(time),
            metadata: created.and_then(object),
            ..Run::default()
        };
        self.prompts.retain(|(parent, prompt)| {
            let own = prompt.get("subtaskId").is_some_and(|id| id.as_str() == task);
            if own {
                run.parent.get_or_insert_with(|| parent.clone());
                run.history.push(prompt.clone());
            }
            !own
        });
        self.runs.insert(task.to_owned(), run);
    }

    /// A task called another.
    pub(super) fn subtask(&mut self, task: &str, event: &Event<'_>) {
        let parent = self.runs.get(task).map_or_else(|| task.to_owned(), |run| run.id.clone());
        let child = event.get("subtaskId").and_then(|id| self.runs.get_mut(id.as_str()));
        match child.filter(|run| run.state.is_none()) {
            Some(run) => {
                run.parent.get_or_insert(parent);
                run.history.push(event.to_owned());
            }
            None => self.prompts.push((parent, event.to_owned())),
        }
    }

    pub(super) fn context(&self, run: &Run, event: Option<&Event<'_>>) -> String {
        // A task stays in the context it was announced in.
        let told = run.context.clone().filter(|_| run.state.is_some());
        told.or_else(|| event.and_then(|e| e.get("contextId")).and_then(string))
            .or_else(|| run.context.clone())
            .or_else(|| self.context.clone())
            .unwrap_or_else(|| quote(&crate::ident::from_text(&run.id)))
    }

    fn message(&self, run: &mut Run, context: &str, says: &Says<'_>) -> String {
        run.messages += 1;
        let id = says.id.and_then(string).unwrap_or_else(|| {
            let body = run.id.trim_matches('"');
            format!("\"{body}-m{}\"", run.messages)
        });
        let role = match (self.version, says.user) {
            (Version::V1, true) => "ROLE_USER",
            (Version::V1, false) => "ROLE_AGENT",
            (Version::V03, true) => "user",
            (Version::V03, false) => "agent",
        };
        let parts: Vec<_> = says.parts.iter().map(|p| p.write(self.version)).collect();
        Object::default()
            .with("messageId", id)
            .with("contextId", context)
            .with("taskId", run.id.as_str())
            .with("role", quote(role))
            .with("parts", array(&parts))
            .some("metadata", says.metadata.as_deref())
            .kind(self.version, "message")
            .text(self.version)
    }

    /// The message of that id that a user said last.
    fn heard_as(&mut self, id: &Raw<'_>) -> Option<Event<'static>> {
        let is = |said: &Event<'_>| said.get("messageId").is_some_and(|own| own == id);
        if let Some(at) = self.said.iter().rposition(is) {
            self.heard.push_back(self.said.remove(at));
            if self.heard.len() > HEARD {
                self.heard.pop_front();
            }
        }
        self.heard.iter().rev().find(|said| is(said)).cloned()
    }

    /// Writes the task itself, once.
    pub(super) fn announce(&mut self, task: &str, event: Option<&Event<'_>>, out: &mut Records) {
        let Some(mut run) = self.runs.remove(task) else { return };
        if run.state.is_none() {
            let context = self.context(&run, event);
            run.context = Some(context.clone());
            run.state = Some(State::Submitted);
            let mut history = std::mem::take(&mut run.history);
            match &run.asked {
                Some(asked) => history.extend(self.heard_as(asked)),
                None => {
                    let root = run.parent.is_none();
                    self.said.retain(|said| {
                        let own = root || said.get("taskId").is_some_and(|id| id.as_str() == task);
                        if own {
                            history.push(said.clone());
                        }
                        !own
                    });
                }
            }
            let history: Vec<_> = history
                .iter()
                .map(|said| self.message(&mut run, &context, &Says::user(said)))
                .collect();
            let status = Object::default()
                .with("state", quote(State::Submitted.name(self.version)))
                .some("timestamp", run.time.as_deref());
            let metadata = match (&run.parent, run.metadata.take()) {
                (Some(parent), Some(own)) if !own.contains("\"parentTaskId\"") => {
                    let rest = own.strip_prefix('{').unwrap_or("}");
                    let comma = if rest == "}" { "" } else { "," };
                    Some(format!("{{\"parentTaskId\":{parent}{comma}{rest}"))
                }
                (Some(parent), None) => Some(format!("{{\"parentTaskId\":{parent}}}")),
                (_, own) => own,
            };
            let body = Object::default()
                .with("id", run.id.as_str())
                .with("contextId", context)
                .with("status", status.text(self.version))
                .some("history", (!history.is_empty()).then(|| array(&history)))
                .some("metadata", metadata)
                .kind(self.version, "task")
                .text(self.version);
            out.item(self.envelope.wrap(self.version, "task", body));
        }
        self.runs.insert(task.to_owned(), run);
    }

    /// Makes the task ready for something: announced, not ended, and after what the user said.
    fn ready(&mut self, task: &str, event: Option<&Event<'_>>, out: &mut Records) {
        if !self.runs.contains_key(task) {
            let parent = event.and_then(|e| e.get("parentTaskId")).map(Raw::to_owned);
            self.start(task, event, parent);
        }
        if let Some(run) = self.runs.get_mut(task)
            && run.state.is_some_and(State::is_terminal)
        {
            let turn = run.turn + 1;
            let first = run.id.trim_matches('"');
            let first = if run.turn == 0 {
                first
            } else {
                first.rsplit_once('-').map_or(first, |(first, _)| first)
            };
            *run = Run {
                id: format!("\"{first}-{}\"", turn + 1),
                context: run.context.clone(),
                turn,
                parent: run.parent.clone(),
                ..Run::default()
            };
        }
        self.announce(task, event, out);
        let own =
            self.runs.get(task).is_some_and(|run| run.parent.is_none() && run.asked.is_none());
        if own {
            for said in std::mem::take(&mut self.said) {
                let says = Says::user(&said);
                self.update(task, event, State::Working, Some(says), None, None, out);
            }
        }
    }

    /// Makes the task ready and says that it is worked on.
    pub(super) fn work(&mut self, task: &str, event: Option<&Event<'_>>, out: &mut Records) {
        if self.runs.get(task).is_some_and(|run| run.state.is_some_and(State::is_terminal)) {
            return;
        }
        self.working(task, event, out);
    }

    pub(super) fn working(&mut self, task: &str, event: Option<&Event<'_>>, out: &mut Records) {
        self.ready(task, event, out);
        if self.runs.get(task).is_some_and(|run| run.state != Some(State::Working)) {
            self.update(task, event, State::Working, None, None, None, out);
        }
    }

    /// Writes a status update.
    fn update(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        state: State,
        says: Option<Says<'_>>,
        time: Option<String>,
        metadata: Option<String>,
        out: &mut Records,
    ) {
        let Some(mut run) = self.runs.remove(task) else { return };
        run.state = Some(state);
        run.waits = false;
        let context = self.context(&run, event);
        let message = says.map(|says| self.message(&mut run, &context, &says));
        let status = Object::default()
            .with("state", quote(state.name(self.version)))
            .some("message", message)
            .some("timestamp", time.or_else(|| event.and_then(say::time)));
        let mut body = Object::default()
            .with("taskId", run.id.as_str())
            .with("contextId", context)
            .with("status", status.text(self.version))
            .some("metadata", metadata)
            .kind(self.version, "status-update");
        if self.version == Version::V03 {
            let last = state.is_terminal() || state.is_interrupted();
            body = body.with("final", if last { "true" } else { "false" });
        }
        let body = body.text(self.version);
        out.item(self.envelope.wrap(self.version, "statusUpdate", body));
        self.runs.insert(task.to_owned(), run);
    }

    /// A task's state, with the line that goes with it.
    pub(super) fn status(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        state: State,
        text: Option<&str>,
        out: &mut Records,
    ) {
        let Some(event) = event else { return };
        let text = text.or_else(|| event.body("message"));
        let metadata = object(event);
        let known = self.runs.get(task).and_then(|run| run.state);
        if known.is_some_and(State::is_terminal) && text.is_none() {
            return;
        }
        if known == Some(state) && text.is_none() && metadata.is_none() && state.is_interrupted() {
            return;
        }
        self.ready(task, Some(event), out);
        let says = text.map(Says::agent);
        self.update(task, Some(event), state, says, time(event), metadata, out);
    }

    /// A task ends.
    pub(super) fn end(
        &mut self,
        task: &str,
        event: Option<&Event<'_>>,
        state: State,
        out: &mut Records,
    ) {
        let held = std::mem::take(&mut self.said);
        let fresh = self.runs.get(task).is_some_and(|run| run.state.is_none());
        let held = if fresh && event.is_some() {
            self.said = held;
            Vec::new()
        } else {
            held
        };
        self.announce(task, event, out);
        let Some(run) = self.runs.get_mut(task) else { return };
        let (last, all) = (std::mem::take(&mut run.last), std::mem::take(&mut run.all));
        run.texts.clear();
        // A result that was said already is not said again.
        let text = event.and_then(|e| match e.kind() {
            Kind::TaskComplete => {
                e.body("content").filter(|c| !c.is_empty() && *c != last && *c != all)
            }
            _ => e.body("message"),
        });
        let own = event
            .and_then(object)
            .filter(|m| state != State::Rejected || m != "{\"reason\":\"rejected\"}");
        let says = text.map(Says::agent);
        self.update(task, event, state, says, event.and_then(time), own, out);
        self.said = held;
    }

    /// Something a user said.
    pub(super) fn user(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        let named = event.get("taskId").is_some();
        match self.runs.get_mut(task) {
            Some(run) if run.state.is_none() && run.asked.is_none() => {
                run.history.push(event.to_owned());
            }
            Some(run) if named && !run.state.is_some_and(State::is_terminal) => {
                self.ready(task, Some(event), out);
                let says = Some(Says::user(event));
                self.update(task, Some(event), State::Working, says, None, None, out);
            }
            _ => self.said.push(event.to_owned()),
        }
    }

    /// The answer to a question.
    pub(super) fn answer(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        let (time, mut metadata) = (time(event), object(event));
        // One that was said as a message is told as it was said.
        let said = event.at("metadata", "/messageId").and_then(|id| self.heard_as(&id));
        self.ready(task, Some(event), out);
        let says = match &said {
            Some(said) => {
                metadata = None;
                Says::user(said)
            }
            None => {
                let parts = vec![Part::data(&members(event, ANSWER_FIELDS))];
                Says { user: true, id: None, parts, metadata: None }
            }
        };
        self.update(task, Some(event), State::Working, Some(says), time, metadata, out);
    }

    /// A question. One that a coordinator may answer does not reach the user.
    pub(super) fn ask(&mut self, task: &str, event: &Event<'_>, state: State, out: &mut Records) {
        let child = self.runs.get(task).is_some_and(|run| run.parent.is_some());
        // A tool's question comes with one of its task where a coordinator may answer.
        let user = event.get("requireUser").and_then(Raw::bool) == Some(true)
            || event.kind() == Kind::ToolInputRequired;
        if state == State::InputRequired && child && !user {
            self.working(task, Some(event), out);
            if let Some(run) = self.runs.get_mut(task) {
                run.waits = true;
            }
            return;
        }
        self.ready(task, Some(event), out);
        let (id, fields) = match state {
            State::AuthRequired => ("authId", AUTH_FIELDS),
            _ => ("inputId", INPUT_FIELDS),
        };
        let usual = usual_input(event.get("schema").is_some(), event.get("options").is_some());
        let fields: Vec<_> = fields
            .iter()
            .copied()
            .filter(|f| *f != "inputType" || event.get(f) != Some(&usual))
            .filter(|f| event.get(f).is_some())
            .collect();
        let mut parts = vec![Part::text(event.body("prompt").unwrap_or(""))];
        if !fields.is_empty() || state == State::AuthRequired {
            parts.push(Part::data(&members(event, &fields)));
        }
        let says = Says { user: false, id: event.get(id), parts, metadata: None };
        let (time, metadata) = (time(event), object(event));
        self.update(task, Some(event), state, Some(says), time, metadata, out);
    }

    /// Something failed, but not the task; or there is no task.
    pub(super) fn error(&mut self, task: &str, event: &Event<'_>, out: &mut Records) {
        let message = event.body("message").unwrap_or("");
        let open = |run: &Run| !run.state.is_some_and(State::is_terminal);
        if event.get("taskId").is_none() && !self.runs.get(task).is_some_and(open) {
            out.item(self.envelope.error(event.get("code"), message));
            return;
        }
        self.ready(task, Some(event), out);
        let code = event.get("code").map(|c| format!("{{\"code\":{}}}", clean(c)));
        let says = Some(Says::agent(message));
        self.update(task, Some(event), State::Working, says, time(event), code, out);
    }

    /// An event under the extension. Before the first task there is no place for it.
    pub(super) fn extra(
        &mut self,
        task: &str,
        event: &Event<'_>,
        metadata: String,
        out: &mut Records,
    ) {
        let open = self.runs.get(task).is_some_and(|r| !r.state.is_some_and(State::is_terminal));
        if open {
            self.ready(task, Some(event), out);
            self.update(task, Some(event), State::Working, None, None, Some(metadata), out);
        }
    }

    /// The source has ended: what was never begun is announced.
    pub(super) fn finish(&mut self, out: &mut Records) {
        for (parent, prompt) in std::mem::take(&mut self.prompts) {
            let Some(id) = prompt.get("subtaskId").map(ToString::to_string) else { continue };
            self.start(&id, None, None);
            if let Some(run) = self.runs.get_mut(&id) {
                run.parent = Some(parent);
                run.history.push(prompt);
            }
            self.announce(&id, None, out);
        }
        if let Some(first) = self.said.first().cloned() {
            let task = first.get("taskId").map_or(DEFAULT_TASK, |task| task.as_str());
            self.ready(task, Some(&first), out);
        }
        // What came after an end, or outside any run, ends here too.
        let mut open: Vec<_> = self
            .runs
            .iter()
            .filter(|(_, run)| run.state == Some(State::Working) && !run.waits)
            .map(|(task, _)| task.clone())
            .collect();
        open.sort();
        for task in open {
            self.update(&task, None, State::Completed, None, None, None, out);
        }
    }
}
