//! What the tasks of a thread have spent, and how long they were at work, from the journal alone.
//!
//! A task is at work from its first model call to its end, but not while all that it does is to
//! wait for people or for other tasks. Time in which nobody worked on it, as whoever takes it up
//! after a restart says, does not count either.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use selvedge_protocol::journal::fold::{TaskState, Tokens, Usage};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use selvedge_protocol::time;

/// With what the names of questions about budgets begin.
pub(super) const BUDGET: &str = "budget/";

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spent {
    /// Tokens, in and out.
    pub(super) tokens: u64,
    /// Money.
    pub(super) cost: f64,
    /// Time at work, in milliseconds.
    pub(super) millis: u64,
}

impl Spent {
    fn count(&mut self, tokens: Tokens) {
        self.tokens = self.tokens.saturating_add(tokens.input.saturating_add(tokens.output));
        self.cost += tokens.cost;
    }

    fn add(mut self, other: Self) -> Self {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.millis = self.millis.saturating_add(other.millis);
        self.cost += other.cost;
        self
    }
}

/// What the tasks of a thread have spent.
#[derive(Debug, Default)]
pub(super) struct Spending {
    /// Which tellings of tokens count.
    usage: Usage,
    lines: HashMap<String, Line>,
    /// Tasks in the order they were made.
    order: Vec<String>,
    /// What was spent outside of tasks.
    loose: Spent,
    /// Tokens and money by agent.
    agents: HashMap<String, Spent>,
    /// Who waits for a question or a task.
    waiting: HashMap<String, Vec<String>>,
    /// The latest event, if it was a piece of an answer: its task and time, as JSON.
    piece: Option<(String, String)>,
}

/// One task.
#[derive(Debug, Default)]
struct Line {
    parent: Option<String>,
    agent: Option<String>,
    /// Whether a user's message made it, to be done here.
    asked: bool,
    begun: bool,
    over: bool,
    spent: Spent,
    /// When its latest event was.
    last: i64,
    /// Whether a model call is under way.
    thinks: bool,
    /// Tool calls that run.
    running: HashSet<String>,
    /// What it waits for, with the call that does.
    waits: HashMap<String, Option<String>>,
}

impl Line {
    fn is_at_work(&self) -> bool {
        let waits = |call: &String| self.waits.values().flatten().any(|waiting| waiting == call);
        let busy = self.thinks || self.running.iter().any(|call| !waits(call));
        self.begun && !self.over && (busy || self.waits.is_empty())
    }

    /// Whether an event says that someone takes the task up where another had stopped.
    fn is_taken_up(&self, event: &Event<'_>) -> bool {
        match event.kind() {
            Kind::AttemptSuperseded => event.at("metadata", "/next").is_none(),
            Kind::ToolStart => {
                event.str("toolCallId").is_some_and(|call| self.running.contains(&*call))
            }
            _ => false,
        }
    }
}

impl Spending {
    /// Takes an event in that was committed at a time.
    pub(super) fn apply(&mut self, event: &Event<'_>, at: i64) {
        if self.is_another_piece(event) {
            return;
        }
        let counted = self.usage.apply(event);
        if let Some(tokens) = counted
            && let Some(agent) = event.str("agentId")
        {
            self.agents.entry(agent.into_owned()).or_default().count(tokens);
        }
        let Some(task) = event.str("taskId").map(|id| id.into_owned()) else {
            self.loose.count(counted.unwrap_or_default());
            return;
        };
        let at = event.str("timestamp").and_then(|told| time::to_millis(&told)).unwrap_or(at);
        let line = self.line(&task);
        if line.is_at_work() && !line.is_taken_up(event) {
            let passed = u64::try_from(at.saturating_sub(line.last)).unwrap_or(0);
            line.spent.millis = line.spent.millis.saturating_add(passed);
        }
        // Until it begins, its time has no beginning.
        line.last = if line.begun { line.last.max(at) } else { at };
        line.spent.count(counted.unwrap_or_default());
        self.happened(&task, event);
    }

    /// Whether an event is but one more piece of an answer, at the same time as the one before:
    /// there are many, and nothing follows from them here.
    fn is_another_piece(&mut self, event: &Event<'_>) -> bool {
        let own = match (event.get("taskId"), event.get("timestamp")) {
            (Some(task), Some(at)) if event.kind().is_piece() => (task.as_str(), at.as_str()),
            _ => {
                self.piece = None;
                return false;
            }
        };
        if self.piece.as_ref().is_some_and(|(task, at)| (task.as_str(), at.as_str()) == own) {
            return true;
        }
        self.piece = Some((own.0.to_owned(), own.1.to_owned()));
        false
    }

    /// What was spent in the thread.
    pub(super) fn of_thread(&self) -> Spent {
        self.lines.values().fold(self.loose, |sum, line| sum.add(line.spent))
    }

    /// What an agent has spent in the thread.
    pub(super) fn of_agent(&self, agent: &str) -> Spent {
        let spent = self.agents.get(agent).copied().unwrap_or_default();
        let own = self.lines.values().filter(|line| line.agent.as_deref() == Some(agent));
        let millis = own.fold(0_u64, |sum, line| sum.saturating_add(line.spent.millis));
        Spent { millis, ..spent }
    }

    /// What a task and all its subtasks have spent.
    pub(super) fn of_tree(&self, root: &str) -> Spent {
        let own = self.lines.iter().filter(|(id, _)| self.root(id) == root);
        own.fold(Spent::default(), |sum, (_, line)| sum.add(line.spent))
    }

    /// How long a task was at work until now.
    pub(super) fn worked(&self, task: &str, now: i64) -> Duration {
        let Some(line) = self.lines.get(task) else { return Duration::ZERO };
        let running = if line.is_at_work() { now.saturating_sub(line.last) } else { 0 };
        Duration::from_millis(line.spent.millis) + millis(running)
    }

    /// Whether a task is at work.
    pub(super) fn is_at_work(&self, task: &str) -> bool {
        self.lines.get(task).is_some_and(Line::is_at_work)
    }

    /// The task that a task came of in the end: itself, if nobody called it.
    pub(super) fn root<'s>(&'s self, task: &'s str) -> &'s str {
        let mut root = task;
        // Whatever was said, tasks may be each other's parents.
        for _ in 0..self.lines.len() {
            match self.lines.get(root).and_then(|line| line.parent.as_deref()) {
                Some(parent) => root = parent,
                None => break,
            }
        }
        root
    }

    /// Tasks that came of a task and are not over, with their agents; those that were called last
    /// first.
    pub(super) fn called_by(&self, task: &str) -> Vec<(String, Option<String>)> {
        let is_below = |id: &str| {
            let mut at = id;
            (0..self.lines.len()).any(|_| {
                match self.lines.get(at).and_then(|l| l.parent.as_deref()) {
                    Some(parent) => {
                        at = parent;
                        parent == task
                    }
                    None => false,
                }
            })
        };
        let open = self.order.iter().rev().filter_map(|id| Some((id, self.lines.get(id)?)));
        open.filter(|(id, line)| !line.over && *id != task && is_below(id))
            .map(|(id, line)| (id.clone(), line.agent.clone()))
            .collect()
    }

    /// Tasks of the same agent that a user asked for before a task that has not begun, and that
    /// are not over.
    pub(super) fn before(&self, task: &str) -> Vec<&str> {
        let Some(own) = self.lines.get(task).filter(|line| line.asked && !line.begun) else {
            return Vec::new();
        };
        let earlier = self.order.iter().take_while(|id| *id != task);
        earlier
            .filter(|id| {
                self.lines
                    .get(*id)
                    .is_some_and(|line| line.asked && !line.over && line.agent == own.agent)
            })
            .map(String::as_str)
            .collect()
    }

    fn line(&mut self, task: &str) -> &mut Line {
        if !self.lines.contains_key(task) {
            self.order.push(task.to_owned());
        }
        self.lines.entry(task.to_owned()).or_default()
    }

    fn happened(&mut self, task: &str, event: &Event<'_>) {
        let text = |name: &str| event.str(name).map(|text| text.into_owned());
        let line = self.line(task);
        if line.agent.is_none() {
            line.agent = text("agentId");
        }
        match event.kind() {
            Kind::TaskCreated => {
                line.agent = text("agentId").or(line.agent.take());
                line.parent = line.parent.take().or(text("parentTaskId").filter(|p| p != task));
                let is = |name: &str| event.get(name).and_then(Raw::bool) == Some(true);
                let by_user = event.str("initiator").is_some_and(|by| by == "user");
                line.asked = line.parent.is_none() && by_user && is("dispatched");
            }
            Kind::StepStarted => {
                line.begun = true;
                line.thinks = true;
            }
            Kind::StepFinished | Kind::AttemptSuperseded => line.thinks = false,
            Kind::ToolStart => {
                line.begun = true;
                line.running.extend(text("toolCallId"));
            }
            Kind::ToolComplete if event.get("preliminary").and_then(Raw::bool) != Some(true) => {
                if let Some(call) = event.str("toolCallId") {
                    line.running.remove(&*call);
                }
            }
            Kind::InputRequired | Kind::ToolInputRequired => {
                self.waits(task, text("inputId"), text("toolCallId"));
            }
            Kind::AuthRequired => self.waits(task, text("authId"), text("toolCallId")),
            Kind::TaskStatus => {
                let by = event.at("metadata", "/blockedBy");
                let by = by.and_then(|by| by.str().map(|by| by.into_owned()));
                // Its own questions and subtasks are told as such.
                let by = by.filter(|by| by.starts_with(BUDGET));
                if by.is_some() {
                    self.waits(task, by, None);
                }
            }
            Kind::SubtaskCreated => {
                if let Some(subtask) = text("subtaskId").filter(|id| id != task) {
                    let child = self.line(&subtask);
                    child.parent = child.parent.take().or(Some(task.to_owned()));
                    child.agent = child.agent.take().or(text("agentId"));
                    self.waits(task, Some(subtask), text("toolCallId"));
                }
            }
            Kind::InputReceived | Kind::InputExpired | Kind::AuthCompleted => {
                self.came(text("inputId").or(text("authId")));
            }
            _ => {}
        }
        if TaskState::after(event).is_some_and(TaskState::is_terminal) {
            self.line(task).over = true;
            self.came(Some(task.to_owned()));
        }
    }

    fn waits(&mut self, task: &str, what: Option<String>, call: Option<String>) {
        let Some(what) = what else { return };
        self.line(task).waits.insert(what.clone(), call);
        self.waiting.entry(what).or_default().push(task.to_owned());
    }

    /// Something came that may have been waited for.
    fn came(&mut self, what: Option<String>) {
        let Some(what) = what else { return };
        for task in self.waiting.remove(&what).unwrap_or_default() {
            if let Some(line) = self.lines.get_mut(&task) {
                line.waits.remove(&what);
            }
        }
    }

    /// Nobody answers a question any more.
    pub(super) fn closed(&mut self, input: &str) {
        self.came(Some(input.to_owned()));
    }
}

fn millis(count: i64) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(0))
}
