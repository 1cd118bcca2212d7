//! Tasks that ended a while ago: what is still said in their name is late.
//!
//! Whoever says an answer piece by piece cannot have the projections brought up to date for each:
//! that would be a commit of its own. This is what the writer has seen itself, which is enough:
//! nobody speaks for a task that ended long ago.

use std::collections::{HashMap, VecDeque};

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Doc;

/// Tasks that are remembered.
const KEPT: usize = 65_536;

/// The tasks that ended last.
#[derive(Debug, Default)]
pub(super) struct Ended {
    states: HashMap<(i64, String), TaskState>,
    order: VecDeque<(i64, String)>,
}

impl Ended {
    /// Takes an event of a thread in.
    pub(super) fn note(&mut self, thread: i64, event: &[u8]) {
        if !matches!(Kind::leading(event), Some(Kind::TaskComplete | Kind::TaskStatus)) {
            return;
        }
        let Ok(doc) = Doc::parse_bytes(event) else { return };
        let Some(event) = Event::parse(doc.root()) else { return };
        let state = TaskState::after(&event).filter(|state| state.is_terminal());
        let (Some(task), Some(state)) = (event.str("taskId"), state) else { return };
        let name = (thread, task.into_owned());
        if self.states.contains_key(&name) {
            return;
        }
        if self.order.len() >= KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.states.remove(&oldest);
        }
        self.order.push_back(name.clone());
        self.states.insert(name, state);
    }

    /// How a task ended, if it is remembered.
    pub(super) fn state(&self, thread: i64, task: &str) -> Option<TaskState> {
        if self.states.is_empty() {
            return None;
        }
        self.states.get(&(thread, task.to_owned())).copied()
    }

    /// Forgets all of them: some may never have been committed.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
