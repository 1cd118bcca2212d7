//! Tasks and their tree.

use crate::journal::{Event, Kind};
use crate::json::Raw;

/// Tasks in the order they began.
#[derive(Debug, Default)]
pub struct Tasks {
    list: Vec<Task>,
    by_id: std::collections::HashMap<String, usize>,
}

/// One agent turn.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// The task it was called from.
    pub parent: Option<String>,
    /// Tasks it called, in order.
    pub children: Vec<String>,
    /// The agent at work.
    pub agent: Option<String>,
    /// `user` or `agent`.
    pub initiator: Option<String>,
    /// Where it stands.
    pub state: TaskState,
    /// The latest word on its state, or its result.
    pub message: Option<String>,
    /// When it began and when it ended, as received.
    pub began: Option<String>,
    /// When it ended, as received.
    pub ended: Option<String>,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Begun, nothing done yet.
    Created,
    /// At work.
    Working,
    /// Waits for an answer.
    WaitingInput,
    /// Waits for credentials.
    WaitingAuth,
    /// Waits for a task it called.
    WaitingSubtask,
    /// Ended well.
    Completed,
    /// Ended in failure.
    Failed,
    /// Was stopped.
    Canceled,
}

impl TaskState {
    /// Whether it is over.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }

    /// The state's name in `task-status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Working => "working",
            Self::WaitingInput => "waiting-input",
            Self::WaitingAuth => "waiting-auth",
            Self::WaitingSubtask => "waiting-subtask",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// The state that an event brings its task to, unless the task is over.
    pub fn after(event: &Event<'_>) -> Option<Self> {
        Some(match event.kind() {
            Kind::TaskStatus => {
                return event.get("status").and_then(Raw::body).and_then(Self::named);
            }
            Kind::TaskComplete => Self::Completed,
            Kind::InputRequired | Kind::ToolInputRequired => Self::WaitingInput,
            Kind::AuthRequired => Self::WaitingAuth,
            Kind::InputReceived
            | Kind::AuthCompleted
            | Kind::StepStarted
            | Kind::ContentDelta
            | Kind::ContentComplete
            | Kind::ToolStart
            | Kind::ToolCall
            | Kind::ThoughtStream => Self::Working,
            _ => return None,
        })
    }

    /// The state of that name.
    pub fn named(name: &str) -> Option<Self> {
        [
            Self::Created,
            Self::Working,
            Self::WaitingInput,
            Self::WaitingAuth,
            Self::WaitingSubtask,
            Self::Completed,
            Self::Failed,
            Self::Canceled,
        ]
        .into_iter()
        .find(|s| s.name() == name)
    }
}

impl Tasks {
    /// All tasks, in the order they began.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.list.iter()
    }

    /// The task of that id.
    pub fn get(&self, id: &str) -> Option<&Task> {
        self.list.get(*self.by_id.get(id)?)
    }

    /// Tasks nobody called.
    pub fn roots(&self) -> impl Iterator<Item = &Task> {
        self.list.iter().filter(|t| t.parent.as_ref().is_none_or(|p| self.get(p).is_none()))
    }

    fn entry(&mut self, id: &str) -> &mut Task {
        let at = match self.by_id.get(id) {
            Some(at) => *at,
            None => {
                self.by_id.insert(id.to_owned(), self.list.len());
                self.list.push(Task {
                    id: id.to_owned(),
                    parent: None,
                    children: Vec::new(),
                    agent: None,
                    initiator: None,
                    state: TaskState::Created,
                    message: None,
                    began: None,
                    ended: None,
                });
                self.list.len() - 1
            }
        };
        &mut self.list[at]
    }

    fn adopt(&mut self, parent: &str, child: &str) {
        if parent == child || self.entry(child).parent.is_some() {
            return;
        }
        self.entry(child).parent = Some(parent.to_owned());
        self.entry(parent).children.push(child.to_owned());
    }

    /// Takes an event of a task in; says whether it is one that ends the task.
    pub(super) fn apply(&mut self, id: &str, event: &Event<'_>) -> bool {
        let text = |field: &str| event.str(field).map(|s| s.into_owned());
        let task = self.entry(id);
        task.began = task.began.take().or_else(|| text("timestamp"));
        if let Some(agent) = text("agentId").or_else(|| {
            event.at("metadata", "/agentId").and_then(|a| a.str().map(|s| s.into_owned()))
        }) {
            task.agent.get_or_insert(agent);
        }
        if let Some(initiator) = text("initiator") {
            task.initiator.get_or_insert(initiator);
        }
        if let Some(parent) = text("parentTaskId") {
            self.adopt(&parent, id);
        }
        if event.kind() == Kind::SubtaskCreated
            && let Some(child) = text("subtaskId")
        {
            self.adopt(id, &child);
            if let Some(agent) = text("agentId") {
                self.entry(&child).agent = Some(agent);
            }
        }
        let task = self.entry(id);
        let Some(state) = TaskState::after(event) else { return false };
        if !task.state.is_terminal() {
            task.state = state;
            if matches!(event.kind(), Kind::TaskStatus | Kind::TaskComplete)
                && let Some(message) = text("message").or_else(|| text("content"))
            {
                task.message = Some(message);
            }
            if state.is_terminal() {
                task.ended = text("timestamp");
            }
        }
        state.is_terminal()
    }
}
