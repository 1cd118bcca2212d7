//! Whether tasks rest: they are over, or wait for someone.
//!
//! Invariant: what is known depends on the events alone. Those that say nothing of it are passed
//! over without being read, which most are.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use memchr::memmem::Finder;
use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Raw};

use super::Until;

/// Some tasks, as far as their events were taken in.
pub(super) struct Rest {
    rests: HashMap<String, bool>,
    /// Subtasks, by the task that they came of.
    roots: HashMap<String, String>,
    /// Those that are over: the first end counts, for an agent may say a word more before it hears
    /// of a cancel.
    over: HashSet<String>,
    /// Calls that are under way, with their tasks.
    calls: HashSet<(String, String)>,
    until: Until,
}

impl Rest {
    pub(super) fn new(tasks: Vec<String>, until: Until) -> Self {
        let rests = tasks.into_iter().map(|task| (task, false)).collect();
        let (roots, over, calls) = (HashMap::new(), HashSet::new(), HashSet::new());
        Self { rests, roots, over, calls, until }
    }

    /// Whether all of them rest, whatever calls of theirs may do.
    pub(super) fn is_told(&self) -> bool {
        self.rests.values().all(|rest| *rest)
    }

    /// Whether all of them rest.
    pub(super) fn is_complete(&self) -> bool {
        self.is_told() && self.calls.is_empty()
    }

    /// Takes an event in; whether it was about one of the tasks.
    pub(super) fn apply(&mut self, event: &[u8]) -> bool {
        if self.is_nothing(event) {
            return false;
        }
        let Ok(doc) = Doc::parse_bytes(event) else { return false };
        Event::parse(doc.root()).is_some_and(|event| self.event(&event))
    }

    /// Whether an event surely changes nothing, as far as can be seen without reading it.
    fn is_nothing(&self, event: &[u8]) -> bool {
        let is_nothing = match Kind::leading(event) {
            // They say that a task is at work, which it is until it rests.
            Some(
                Kind::ContentDelta
                | Kind::ContentComplete
                | Kind::ThoughtStream
                | Kind::StepStarted,
            ) => !self.rests.values().any(|rest| *rest),
            Some(kind) => {
                kind.is_internal()
                    || matches!(kind, Kind::Message | Kind::StepFinished | Kind::ThreadCreated)
            }
            None => false,
        };
        is_nothing && !says_more(event)
    }

    fn event(&mut self, event: &Event<'_>) -> bool {
        let task = event.str("taskId");
        let Some(task) = task.filter(|task| !self.over.contains(&**task)) else { return false };
        self.came_of(event, &task);
        if let Some(root) = self.roots.get(&*task) {
            // What a subtask asks of a user, its task waits for too.
            if let Some(rest) = self.rests.get_mut(root)
                && let Some(waits) = waits_for_user(event)
            {
                *rest = waits && self.until != Until::Over;
            }
            return true;
        }
        if !self.rests.contains_key(&*task) {
            return false;
        }
        self.own(event, &task);
        true
    }

    /// Notes a task that came of one of these.
    fn came_of(&mut self, event: &Event<'_>, task: &str) {
        let Some(parent) = event.str("parentTaskId") else { return };
        let own = || self.rests.contains_key(&*parent).then(|| parent.clone().into_owned());
        if let Some(root) = self.roots.get(&*parent).cloned().or_else(own) {
            self.roots.insert(task.to_owned(), root);
        }
    }

    /// Takes in an event of one of the tasks itself.
    fn own(&mut self, event: &Event<'_>, task: &str) {
        let state = TaskState::after(event);
        if let Some(call) = event.str("toolCallId") {
            let call = (task.to_owned(), call.into_owned());
            match event.kind() {
                Kind::ToolCall => drop(self.calls.insert(call)),
                _ => drop(self.calls.remove(&call)),
            }
        }
        if state.is_some_and(TaskState::is_terminal) {
            self.over.insert(task.to_owned());
            self.calls.retain(|(of, _)| of != task);
        }
        let Some(rest) = self.rests.get_mut(task) else { return };
        *rest = match state {
            Some(TaskState::WaitingInput | TaskState::WaitingAuth) => self.until != Until::Over,
            Some(state) => state.is_terminal(),
            None => *rest,
        };
    }
}

/// Whether an event may name a call or a task that its own came of, or another kind, in whatever
/// spelling.
fn says_more(event: &[u8]) -> bool {
    static SAYS: LazyLock<[Finder<'static>; 4]> = LazyLock::new(|| {
        ["\"parentTaskId\"", "\"toolCallId\"", "\"kind\"", "\\u"].map(Finder::new)
    });
    let rest = event.get("{\"kind\"".len()..).unwrap_or_default();
    SAYS.iter().any(|word| word.find(rest).is_some())
}

/// Whether an event leaves a subtask waiting for a user; none if it says nothing of that.
fn waits_for_user(event: &Event<'_>) -> Option<bool> {
    match event.kind() {
        Kind::AuthRequired | Kind::ToolInputRequired => Some(true),
        Kind::InputRequired => event.get("requireUser").and_then(Raw::bool),
        Kind::InputReceived | Kind::AuthCompleted => Some(false),
        _ => match TaskState::after(event) {
            Some(state) if state.is_terminal() || state == TaskState::Working => Some(false),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a row of events comes to, and whether all of it was read.
    fn taken_in(events: &[&str], all: bool) -> Vec<(bool, bool)> {
        let mut rest = Rest::new(vec!["t".to_owned()], Until::Rest);
        let step = |event: &&str| {
            match all {
                true => {
                    let doc = Doc::parse(event).unwrap();
                    rest.event(&Event::parse(doc.root()).unwrap());
                }
                false => drop(rest.apply(event.as_bytes())),
            }
            (rest.is_told(), rest.is_complete())
        };
        events.iter().map(step).collect()
    }

    const EVENTS: &[&str] = &[
        r#"{"kind":"thread-created","contextId":"c"}"#,
        r#"{"kind":"message","role":"user","content":"x"}"#,
        r#"{"kind":"task-created","taskId":"t"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"a"}"#,
        r#"{"kind":"tool-call","taskId":"t","toolCallId":"c"}"#,
        r#"{"kind":"input-required","taskId":"t","inputId":"i"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"b"}"#,
        r#"{"kind":"task-status","taskId":"t","status":"waiting-input"}"#,
        r#"{"kind":"internal:checkpoint","taskId":"t","toolCallId":"c"}"#,
        r#"{"kind":"step-started","taskId":"t"}"#,
        r#"{"kind":"thought-stream","taskId":"s","parentTaskId":"t","content":""}"#,
        r#"{"kind":"auth-required","taskId":"s"}"#,
        r#"{"kind":"content-delta","taskId":"s","delta":"c"}"#,
        r#"{"kind":"content-delta","\u0070arentTaskId":"s","taskId":"u","delta":"d"}"#,
        r#"{"kind":"auth-required","taskId":"u"}"#,
        r#"{"kind":"step-finished","taskId":"t"}"#,
        r#"{"kind":"task-complete","taskId":"t"}"#,
        r#"{"kind":"content-complete","taskId":"t","content":"late"}"#,
    ];

    #[test]
    fn what_is_not_read_would_have_changed_nothing() {
        // From every place on: what came before decides what can be passed over.
        for from in 0..EVENTS.len() {
            let events = &EVENTS[from..];
            assert_eq!(taken_in(events, false), taken_in(events, true), "from {from}");
        }
    }

    #[test]
    fn pieces_of_an_answer_are_not_read() {
        let rest = Rest::new(vec!["t".to_owned()], Until::Rest);
        for (event, nothing) in [
            (r#"{"kind":"content-delta","taskId":"t","delta":"a"}"#, true),
            (r#"{"kind":"internal:checkpoint","taskId":"t"}"#, true),
            (r#"{"kind":"content-delta","taskId":"t","kind":"task-complete"}"#, false),
            (r#"{"kind":"task-complete","taskId":"t"}"#, false),
            (r#"{"taskId":"t","kind":"content-delta"}"#, false),
        ] {
            assert_eq!(rest.is_nothing(event.as_bytes()), nothing, "{event}");
        }
    }
}
