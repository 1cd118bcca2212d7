//! The fold from events to what was said and done: messages, thoughts, tool calls and returns.
//!
//! Invariant: applying an event costs time in proportion to the event, not to the message it adds
//! to, the thread, or the number of parts open.
//!
//! Every application says where the event's fields went ([`Placed`]), so that a carrier can leave
//! out what an action already holds.

mod action;

pub use action::{Action, ActionKind, Piece};

use std::collections::HashMap;

use super::{Event, Kind};
use crate::json::Raw;

/// Where an event's field went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The event's field.
    pub field: &'static str,
    /// The action's number, from 0.
    pub action: usize,
    /// Where in the action.
    pub place: Place,
}

/// A place in an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A field of the action, as it is.
    Field(&'static str),
    /// The whole text of a piece.
    Piece(usize),
    /// The text appended last to a piece: so many UTF-16 units.
    Append {
        /// Which piece.
        piece: usize,
        /// Length of the addition.
        units: usize,
    },
    /// The text appended last to a tool call's arguments.
    Arguments {
        /// Length of the addition.
        units: usize,
    },
}

impl Place {
    /// Whether something is added there to what is there already.
    pub(crate) fn adds(self) -> bool {
        match self {
            Self::Append { units, .. } | Self::Arguments { units } => units > 0,
            Self::Field(_) | Self::Piece(_) => false,
        }
    }
}

/// Actions in the order they began.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    actions: Vec<Action>,
    /// Streamed parts that are open, by task and part id.
    parts: HashMap<String, (usize, usize)>,
    /// Thoughts that may still grow, by task and thought id.
    thoughts: HashMap<String, usize>,
    /// The latest call for each tool call id.
    calls: HashMap<String, usize>,
    /// A return that may still be replaced, by tool call id.
    returns: HashMap<String, usize>,
    steps: HashMap<String, Step>,
    step: u32,
}

/// Where a task stands.
#[derive(Debug, Clone, Default)]
struct Step {
    /// Its current model call; 0 before the first.
    number: u32,
    /// What it made since that began, or ended.
    made: Vec<usize>,
}

impl Transcript {
    /// Nothing happened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What happened so far.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Puts something else in the place of a field, for those who read this transcript only.
    pub(crate) fn put(&mut self, action: usize, field: &'static str, value: Raw<'static>) {
        if let Some(action) = self.actions.get_mut(action) {
            action.set(field, value);
        }
    }

    /// Takes an event in. `placed` receives where its fields went.
    pub fn apply(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        match event.kind() {
            // What a task said is there already.
            Kind::Message if event.get("answers").is_some() => {}
            Kind::Message => self.message(event, placed),
            Kind::ContentDelta => self.delta(event, placed),
            Kind::ContentComplete => self.complete(event, placed),
            Kind::PartStarted => self.part_started(event, placed),
            Kind::PartFinished => self.part_finished(event),
            Kind::ThoughtStream => self.thought(event, placed),
            Kind::ToolCallStarted | Kind::ToolCall | Kind::ToolStart => self.call(event, placed),
            Kind::ToolCallDelta => self.call_delta(event, placed),
            Kind::ToolComplete => self.tool_return(event, placed),
            Kind::System => {
                let action = self.begin(ActionKind::System, event, placed);
                self.fields(action, event, &["name", "data", "systemId"], placed);
            }
            Kind::Error => {
                let action = self.begin(ActionKind::System, event, placed);
                self.actions[action].set("name", Raw::Ref("\"error\""));
                let mut data = String::from("{");
                for (i, (name, value)) in event
                    .fields()
                    .filter(|(n, _)| matches!(*n, "code" | "message" | "retryable"))
                    .enumerate()
                {
                    use std::fmt::Write as _;
                    let _ = write!(
                        data,
                        "{}\"{name}\":{value}",
                        if i > 0 { "," } else { "" },
                        value = value.as_str()
                    );
                }
                data.push('}');
                self.actions[action].set("data", Raw::owned(data));
            }
            Kind::StepStarted => {
                self.step += 1;
                let step = Step { number: self.step, made: Vec::new() };
                self.steps.insert(task_key(event), step);
                self.end_unnamed(event);
            }
            Kind::StepFinished => {
                self.step_finished(event, placed);
                self.end_unnamed(event);
            }
            Kind::AttemptSuperseded => self.supersede(event),
            _ => {}
        }
    }

    /// Whether an action may still grow: what is void does not, though the next attempt may give
    /// its parts and calls the same names.
    fn lives(&self, action: usize) -> bool {
        self.actions.get(action).is_some_and(|action| !action.superseded)
    }

    fn begin(&mut self, kind: ActionKind, event: &Event<'_>, placed: &mut Vec<Placed>) -> usize {
        let index = self.actions.len();
        let mut step = 0;
        if kind != ActionKind::UserMessage {
            let current = self.steps.entry(task_key(event)).or_default();
            current.made.push(index);
            if kind.is_agents() {
                step = current.number;
            }
        }
        let mut action = Action::new(kind, step);
        for (field, slot) in [
            ("taskId", &mut action.task),
            ("agentId", &mut action.agent),
            ("timestamp", &mut action.timestamp),
        ] {
            *slot = event.get(field).map(Raw::to_owned);
            if slot.is_some() {
                placed.push(Placed { field, action: index, place: Place::Field(field) });
            }
        }
        self.actions.push(action);
        index
    }

    /// Text without a part of its own goes no further than its model call.
    fn end_unnamed(&mut self, event: &Event<'_>) {
        self.parts.remove(&(task_key(event) + "/"));
    }

    /// Makes void what a task has said and asked for since its model call began or ended. What it
    /// had done by tools was done.
    fn supersede(&mut self, event: &Event<'_>) {
        let Some(step) = self.steps.get_mut(&task_key(event)) else { return };
        for index in std::mem::take(&mut step.made) {
            if !self.was_done(index) {
                self.actions[index].superseded = true;
            }
        }
    }

    /// Whether an action is a tool call that someone other than the model's provider has done, or
    /// what it returned.
    fn was_done(&self, index: usize) -> bool {
        let action = &self.actions[index];
        let call = match action.kind {
            ActionKind::ToolCall if action.counterpart.is_some() => Some(action),
            ActionKind::ToolReturn => action.counterpart.and_then(|at| self.actions.get(at)),
            _ => None,
        };
        call.is_some_and(|call| {
            let is_last =
                call.get("toolCallId").is_none_or(|id| !self.returns.contains_key(id.as_str()));
            is_last && call.get("providerExecuted").and_then(Raw::bool) != Some(true)
        })
    }

    fn fields(
        &mut self,
        action: usize,
        event: &Event<'_>,
        names: &[&'static str],
        placed: &mut Vec<Placed>,
    ) {
        for field in names {
            if let Some(value) = event.get(field) {
                self.actions[action].set(field, value.to_owned());
                placed.push(Placed { field, action, place: Place::Field(field) });
            }
        }
    }

    fn message(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        let kind = match event.get("role").and_then(Raw::body) {
            Some("user") => ActionKind::UserMessage,
            Some("agent") => ActionKind::AssistantMessage,
            role => {
                let name =
                    if role == Some("tool") { "\"tool_message\"" } else { "\"system_prompt\"" };
                let action = self.begin(ActionKind::System, event, placed);
                self.actions[action].set("name", Raw::Ref(name));
                if let Some(content) = event.get("content") {
                    self.actions[action].set("data", content.to_owned());
                    let place = Place::Field("data");
                    placed.push(Placed { field: "content", action, place });
                }
                return;
            }
        };
        let action = self.begin(kind, event, placed);
        match event.get("content") {
            Some(content) => match content.body() {
                Some(text) => {
                    self.actions[action].pieces.push(Piece::closed(text));
                    placed.push(Placed { field: "content", action, place: Place::Piece(0) });
                }
                None => self.fields(action, event, &["content"], placed),
            },
            None => self.actions[action].pieces.push(Piece::closed("")),
        }
        self.fields(
            action,
            event,
            &["messageId", "author", "attachments", "finishReason", "usage"],
            placed,
        );
        self.fields(
            action,
            event,
            &["intent", "task", "inputs", "outputs", "confidence", "trace"],
            placed,
        );
    }

    /// The assistant message that text of this event adds to: the last action, if it is text of
    /// the same agent in the same model call; else a new one.
    fn text_action(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) -> usize {
        let step = self.steps.get(&task_key(event)).map_or(0, |step| step.number);
        if let Some(last) = self.actions.last()
            && last.kind == ActionKind::AssistantMessage
            && step > 0
            && last.step == step
            && !last.superseded
            && !last.pieces.is_empty()
            && last.agent.as_deref() == event.get("agentId").map(Raw::as_str)
        {
            return self.actions.len() - 1;
        }
        self.begin(ActionKind::AssistantMessage, event, placed)
    }

    fn piece(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) -> (usize, usize) {
        let action = self.text_action(event, placed);
        self.fields(action, event, &["messageId"], placed);
        let target = &mut self.actions[action];
        target.pieces.push(Piece::open());
        (action, target.pieces.len() - 1)
    }

    fn part_started(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        let key = part_key(event, "partId");
        match event.get("partType").and_then(Raw::body) {
            Some("text") => {
                let at = self.piece(event, placed);
                self.parts.insert(key, at);
            }
            Some("reasoning") => {
                let action = self.begin(ActionKind::Thinking, event, placed);
                self.actions[action].pieces.push(Piece::open());
                self.fields(action, event, &["providerName"], placed);
                self.thoughts.insert(key, action);
            }
            _ => {}
        }
    }

    fn part_finished(&mut self, event: &Event<'_>) {
        let key = part_key(event, "partId");
        self.parts.remove(&key);
        if let Some(action) = self.thoughts.remove(&key) {
            for field in ["signature", "providerName"] {
                if let Some(value) = event.get(field) {
                    self.actions[action].set(field, value.to_owned());
                }
            }
        }
    }

    fn delta(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        let Some(delta) = event.body("delta") else { return };
        let key = part_key(event, "partId");
        let (action, piece) = match self.parts.get(&key).filter(|(at, _)| self.lives(*at)) {
            Some(at) => *at,
            None => {
                let at = self.piece(event, placed);
                self.parts.insert(key, at);
                at
            }
        };
        let units = self.actions[action].pieces[piece].append(delta);
        placed.push(Placed { field: "delta", action, place: Place::Append { piece, units } });
    }

    fn complete(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        let Some(text) = event.body("content") else { return };
        let open = self.parts.remove(&part_key(event, "partId"));
        let (action, piece) = match open.filter(|(at, _)| self.lives(*at)) {
            Some(at) => at,
            None => {
                let (action, piece) = self.piece(event, placed);
                self.actions[action].pieces[piece].append(text);
                (action, piece)
            }
        };
        if self.actions[action].pieces[piece].says(text) {
            placed.push(Placed { field: "content", action, place: Place::Piece(piece) });
        }
        self.fields(action, event, &["finishReason"], placed);
    }

    fn thought(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        let Some(text) = event.body("content") else { return };
        let known = event.get("thoughtId").map(|_| part_key(event, "thoughtId"));
        let open = known.as_ref().and_then(|key| self.thoughts.get(key));
        let action = match open.filter(|at| self.lives(**at)) {
            Some(action) => *action,
            None => {
                let action = self.begin(ActionKind::Thinking, event, placed);
                self.actions[action].pieces.push(Piece::open());
                if let Some(key) = known {
                    self.thoughts.insert(key, action);
                }
                action
            }
        };
        let units = self.actions[action].pieces[0].append(text);
        placed.push(Placed { field: "content", action, place: Place::Append { piece: 0, units } });
        self.fields(
            action,
            event,
            &["thoughtId", "signature", "providerName", "thoughtType", "verbosity"],
            placed,
        );
    }

    fn call(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        let Some(id) = event.get("toolCallId") else { return };
        let key = id.to_string();
        // A call that is still being written, or that a start belongs to, is the same call.
        let open = self.calls.get(&key).copied().filter(|at| self.lives(*at)).filter(|at| {
            event.kind() == Kind::ToolStart && self.actions[*at].counterpart.is_none()
                || event.kind() == Kind::ToolCall && self.actions[*at].get("arguments").is_none()
        });
        let action = match open {
            Some(at) => at,
            None => {
                let at = self.begin(ActionKind::ToolCall, event, placed);
                self.calls.insert(key, at);
                at
            }
        };
        if event.kind() == Kind::ToolStart && open.is_some() {
            return;
        }
        self.fields(
            action,
            event,
            &["toolCallId", "toolName", "arguments", "providerExecuted", "providerName"],
            placed,
        );
    }

    fn call_delta(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        let (Some(id), Some(delta)) = (event.get("toolCallId"), event.body("delta")) else {
            return;
        };
        let Some(action) = self.calls.get(id.as_str()).copied() else { return };
        let units = self.actions[action].append_arguments(delta);
        placed.push(Placed { field: "delta", action, place: Place::Arguments { units } });
    }

    fn tool_return(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        let Some(id) = event.get("toolCallId") else { return };
        let key = id.to_string();
        let open = self.returns.remove(&key);
        let action = match open {
            Some(at) => at,
            None => self.begin(ActionKind::ToolReturn, event, placed),
        };
        self.fields(
            action,
            event,
            &["toolCallId", "toolName", "success", "result", "error", "outcome"],
            placed,
        );
        if event.get("preliminary").and_then(Raw::bool) == Some(true) {
            self.returns.insert(key.clone(), action);
        }
        if let Some(call) = self.calls.get(&key).copied() {
            self.actions[call].counterpart = Some(action);
            self.actions[action].counterpart = Some(call);
            if self.actions[action].get("toolName").is_none()
                && let Some(name) = self.actions[call].get("toolName").cloned()
            {
                self.actions[action].set("toolName", name);
            }
        }
    }

    fn step_finished(&mut self, event: &Event<'_>, placed: &mut Vec<Placed>) {
        let Some(step) = self.steps.get_mut(&task_key(event)) else { return };
        let (number, made) = (step.number, std::mem::take(&mut step.made));
        if number == 0 {
            return;
        }
        let is_said = |at: &usize| {
            let action = &self.actions[*at];
            action.kind == ActionKind::AssistantMessage && action.step == number
        };
        let last = made.into_iter().rev().find(is_said);
        if let Some(action) = last {
            self.fields(action, event, &["usage", "finishReason", "model"], placed);
        }
    }
}

fn task_key(event: &Event<'_>) -> String {
    event.get("taskId").map_or_else(String::new, ToString::to_string)
}

fn part_key(event: &Event<'_>, field: &str) -> String {
    let mut key = task_key(event);
    key.push('/');
    if let Some(id) = event.get(field) {
        key.push_str(id);
    }
    key
}
