//! When an agent hears a message: not while it answers an earlier one.
//!
//! A message whose task waits for its turn is taken out of the history, and comes to its end when
//! the task begins. One that only answers a question is heard as the answer.

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::perspective::{History, Item};

use super::spending::Spending;

/// Messages that are not heard yet, by the tasks that answer them.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    deferred: Vec<(String, Item)>,
}

impl Hearing {
    /// Takes an event in that history and spending have taken in.
    pub(super) fn apply(
        &mut self,
        event: &Event<'_>,
        agent: &str,
        spending: &Spending,
        history: &mut History,
    ) {
        let task = event.str("taskId").unwrap_or_default();
        match event.kind() {
            Kind::TaskCreated if event.str("agentId").is_some_and(|own| own == agent) => {
                if let Some(message) = event.str("messageId")
                    && !spending.before(&task).is_empty()
                    && let Some(item) = taken(history, &message)
                {
                    self.deferred.push((task.into_owned(), item));
                }
            }
            Kind::InputReceived => {
                let message = event.at("metadata", "/messageId");
                if let Some(message) = message.as_ref().and_then(|message| message.str()) {
                    taken(history, &message);
                }
            }
            Kind::StepStarted => self.begins(&task, history),
            _ if TaskState::after(event).is_some_and(TaskState::is_terminal) => {
                self.begins(&task, history);
            }
            _ => {}
        }
    }

    /// A task begins: what it answers is heard.
    pub(super) fn begins(&mut self, task: &str, history: &mut History) {
        if let Some(at) = self.deferred.iter().position(|(own, _)| own == task) {
            history.items.push(self.deferred.remove(at).1);
        }
    }
}

/// A message that was said, taken out of a history.
fn taken(history: &mut History, message: &str) -> Option<Item> {
    let actions = history.transcript.actions();
    let at = history.items.iter().rposition(|item| match item {
        Item::Action { index, .. } => {
            let own = actions.get(*index).and_then(|action| action.get("messageId"));
            own.is_some_and(|own| own.is(message))
        }
        _ => false,
    })?;
    Some(history.items.remove(at))
}
