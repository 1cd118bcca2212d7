//! Appends with a condition on what is known of their thread.
//!
//! Invariant: between the look at what is known and the commit nothing else is committed, for the
//! one writer does both. Appends without a condition pay nothing for it.

use super::recent::Known;
use super::tasks::Tasks;
use super::writer::{Target, Writer};
use crate::handle::Reply;
use crate::rows::guard::{check, task_state};
use crate::{Append, AppendError, Guard, TendError, db};

impl Writer {
    /// Commits an append if what it asks for is so.
    pub(super) fn guarded(&mut self, append: Box<Append>, reply: Reply) {
        match self.holds(&append) {
            Ok(()) => self.commit(vec![(append, reply)]),
            // The caller may have gone.
            Err(error) => drop(reply.send(Err(error))),
        }
    }

    /// Whether an append can be judged without having the projections brought up to date: it has
    /// no condition, or one on a task of which the writer knows.
    pub(super) fn needs_no_look(&self, append: &Append) -> bool {
        match &append.guard {
            None => true,
            Some(Guard::Running { task }) => {
                let thread = self.thread_number(&append.thread);
                thread.is_some_and(|thread| self.knows_task(thread, task))
            }
            Some(_) => false,
        }
    }

    fn knows_task(&self, thread: i64, task: &str) -> bool {
        if self.tasks.state(thread, task).is_some() {
            return true;
        }
        // One that runs there has not ended since: that would be known.
        self.recent.known() == Known::All
            && task_state(&self.conn, thread, task)
                .is_ok_and(|state| state.is_some_and(|state| !state.is_terminal()))
    }

    /// Takes in what an event says of its task.
    pub(super) fn note(&mut self, thread: i64, event: &[u8]) -> db::Result<()> {
        let Self { tasks, conn, recent, .. } = self;
        let noted = tasks.note(thread, event, |task| match recent.known() {
            Known::All => task_state(conn, thread, task).map_err(Some),
            Known::Not => Err(None),
        });
        match noted {
            Err(Some(error)) => Err(error),
            Ok(()) | Err(None) => Ok(()),
        }
    }

    /// Makes known anew what is only known of tasks from rows that wait.
    pub(super) fn recall_tasks(&mut self) {
        self.tasks = Tasks::default();
        for (thread, batch) in self.backlog.rows() {
            for (_, event) in batch.events() {
                // A task that is not known is looked at.
                let _ = self.note(thread, event);
            }
        }
    }

    fn holds(&mut self, append: &Append) -> Result<(), AppendError> {
        let Some(guard) = &append.guard else { return Ok(()) };
        let thread = match self.target(append)? {
            Target::There(thread, _) => thread.num,
            // Nothing is known of a thread that is yet to be made.
            Target::New(_) => 0,
        };
        if let Some(key) = &append.key {
            let used = self.used(thread, &key.text);
            // A second try: the commit gives the first answer again.
            if used.map_err(|error| AppendError::Storage(error.to_string()))?.is_some() {
                return Ok(());
            }
        }
        self.known_fresh()?;
        let now = self.tick();
        Ok(check(&self.conn, thread, guard, now)?)
    }
}

impl Writer {
    /// Brings what is known of threads up to date, for whoever is to judge by it.
    pub(super) fn known_fresh(&mut self) -> Result<(), AppendError> {
        self.fresh().map_err(|error| match error {
            TendError::Behind => AppendError::Behind,
            other => AppendError::Storage(other.to_string()),
        })
    }
}
