//! Tasks that began or ended a while ago, so that what is said in their name can be judged at once.
//!
//! To have the projections brought up to date for each word of an answer would be a commit for
//! each. This is what the writer has seen itself.
//!
//! Invariant: an end that is neither here nor in the projections has not happened. What is here is
//! right; what is not here is forgotten only when the projections know it.

use std::collections::{HashMap, VecDeque};

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Doc;

/// Tasks that are remembered for long.
const KEPT: usize = 65_536;

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It began, and has not ended.
    Begun,
    Over(TaskState),
}

/// What an event says of a task.
pub(crate) struct Told {
    pub(crate) task: String,
    is_new: bool,
    /// The state that it ended in.
    pub(crate) over: Option<TaskState>,
}

/// What an event says of a task's begin or end, if it may say something.
pub(crate) fn told(event: &[u8]) -> Option<Told> {
    match Kind::leading(event) {
        None | Some(Kind::TaskCreated | Kind::TaskComplete | Kind::TaskStatus) => {}
        Some(_) => return None,
    }
    let doc = Doc::parse_bytes(event).ok()?;
    let event = Event::parse(doc.root())?;
    let task = event.str("taskId")?.into_owned();
    let over = TaskState::after(&event).filter(|state| state.is_terminal());
    Some(Told { task, is_new: event.kind() == Kind::TaskCreated, over })
}

/// The tasks that began or ended last.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    known: HashMap<i64, HashMap<String, (Standing, i64)>>,
    order: VecDeque<(i64, String)>,
}

impl Tasks {
    /// Takes an event of a row and thread in. `before` tells what the projections know of its task.
    pub(super) fn note<E>(
        &mut self,
        (row, thread): (i64, i64),
        event: &[u8],
        before: impl FnOnce(&str) -> Result<Option<TaskState>, E>,
    ) -> Result<(), E> {
        let Some(Told { task, is_new, over }) = told(event) else { return Ok(()) };
        let known = self.state(thread, &task);
        let now = match (known, over) {
            // The first end counts, and a task does not begin twice.
            (Some(Standing::Over(_)), _) | (Some(Standing::Begun), None) => return Ok(()),
            (_, Some(state)) => Standing::Over(state),
            (None, None) if is_new => match before(&task)? {
                None => Standing::Begun,
                Some(state) if state.is_terminal() => Standing::Over(state),
                Some(_) => Standing::Begun,
            },
            (None, None) => return Ok(()),
        };
        if known.is_none() {
            self.order.push_back((thread, task.clone()));
        }
        self.known.entry(thread).or_default().insert(task, (now, row));
        Ok(())
    }

    /// How a task stands, if it is remembered.
    pub(super) fn state(&self, thread: i64, task: &str) -> Option<Standing> {
        self.known.get(&thread)?.get(task).map(|(standing, _)| *standing)
    }

    /// Forgets those that have been here for long. Only when the projections know of all that was
    /// said up to a row, and only what was said up to there.
    pub(super) fn trim(&mut self, upto: i64) {
        while self.order.len() > KEPT
            && let Some((thread, task)) = self.order.pop_front()
        {
            let Some(tasks) = self.known.get_mut(&thread) else { continue };
            if tasks.get(&task).is_some_and(|(_, row)| *row > upto) {
                self.order.push_back((thread, task));
                return;
            }
            tasks.remove(&task);
            if tasks.is_empty() {
                self.known.remove(&thread);
            }
        }
    }
}
