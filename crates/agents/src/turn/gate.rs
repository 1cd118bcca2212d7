//! Whether a turn may go on: whose turn it is, its time, and what may be spent.
//!
//! Invariant: all of it is judged from the journal, so a restart gives no new time and no new
//! money, and asks nothing twice.

use std::time::Duration;

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use selvedge_store::AppendError;
use tokio::time::Instant;

use super::budget::Verdict;
use super::{Call, Stage, Turn};
use crate::journal::{JournalError, millis};
use crate::tool::Doer;

/// Times that a question is tried while others write to the thread; then it is written whatever
/// they write.
const TRIES: usize = 32;

/// Whether a turn may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    Go,
    /// It waits for something that will be in the journal.
    Stay,
    /// Something was written: what is next is to be looked at again.
    Again,
}

/// Why a model call was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The task is over.
    Over,
    /// The turn's time is over.
    Turn,
    /// The call's time is over.
    Call,
}

impl Turn {
    /// Whether to ask a model or another agent now.
    pub(super) async fn gate(&mut self) -> Result<Gate, JournalError> {
        if self.is_queued().await? {
            return Ok(Gate::Stay);
        }
        if self.deadline().is_some_and(|end| end <= Instant::now()) {
            self.timed_out().await?;
            return Ok(Gate::Again);
        }
        for _ in 0..TRIES {
            let (budget, agent) = (&self.agent.budget, &self.agent.id);
            match self.raises.judge(&self.spending, budget, &self.task, agent) {
                Verdict::Go => return Ok(Gate::Go),
                Verdict::Wait => return Ok(Gate::Stay),
                Verdict::No(message) => {
                    self.fail("budget_exceeded", &message).await?;
                    return Ok(Gate::Again);
                }
                Verdict::Ask(events) => {
                    let head = self.thread.seen();
                    match self.writer.append_after(head, events).await {
                        // Another task may have asked the same.
                        Err(JournalError::Append(AppendError::Conflict { .. })) => {}
                        result => {
                            result?;
                        }
                    }
                }
            }
            while self.sync().await? {}
            if self.progress.state.is_terminal() {
                return Ok(Gate::Again);
            }
        }
        Err(JournalError::Read("others write too fast to ask a question between".to_owned()))
    }

    /// Whether the agent has earlier messages of the user to answer first. A task that is not to
    /// be done here, such as one that a branch shares, holds nobody up.
    async fn is_queued(&self) -> Result<bool, JournalError> {
        let before = self.spending.before(&self.task);
        if before.is_empty() {
            return Ok(false);
        }
        let wanted = self.thread.wanted().await?;
        Ok(wanted.iter().any(|task| before.contains(&task.id.as_str())))
    }

    /// Whether another agent is to begin to work for a call.
    pub(super) fn calls_agent(&self, call: &Call) -> bool {
        let begins = matches!(call.stage, Stage::Asked | Stage::Answered { .. });
        let tool = self.agent.tools.iter().find(|tool| tool.spec.name == call.name);
        begins && tool.is_some_and(|tool| matches!(tool.doer, Doer::Agent { .. }))
    }

    /// When the turn's time is over, if it goes on as it does; never while it waits.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let worked = self.spending.worked(&self.task, millis());
        let left = self.agent.limits.timeout.saturating_sub(worked);
        let counts = left.is_zero() || self.spending.is_at_work(&self.task);
        counts.then(|| from_now(left))
    }

    /// Says that the turn took too long.
    pub(super) async fn timed_out(&mut self) -> Result<(), JournalError> {
        let limit = self.agent.limits.timeout.as_secs_f64();
        self.fail("timeout", &format!("the task was at work for more than {limit} s")).await
    }

    /// Waits until there is a reason to stop a model call.
    pub(super) async fn stopped(&mut self, end: Instant) -> Result<Stop, JournalError> {
        loop {
            let turn = self.deadline();
            tokio::select! {
                more = self.thread.more() => {
                    more?;
                    while self.sync().await? {}
                    if self.progress.state.is_terminal() {
                        return Ok(Stop::Over);
                    }
                }
                () = until(turn) => return Ok(Stop::Turn),
                () = tokio::time::sleep_until(end) => return Ok(Stop::Call),
            }
        }
    }

    /// How all ends that a task has begun, before it ends itself.
    pub(super) fn ends(&self, why: &str) -> Vec<Event<'static>> {
        let mut out = Vec::new();
        if self.progress.is_thinking() {
            out.push(self.void(why));
        }
        let called = self.spending.called_by(&self.task);
        out.extend(called.into_iter().map(|(task, agent)| {
            Event::new(Kind::TaskStatus)
                .with_str("taskId", &task)
                .with_some("agentId", agent.map(|agent| Raw::string(&agent)))
                .with("status", Raw::Ref("\"canceled\""))
                .with_str("message", why)
        }));
        let open = self.progress.open_calls().filter(|_| !self.progress.is_thinking());
        out.extend(open.map(|call| {
            Event::new(Kind::ToolComplete)
                .with_str("toolCallId", &call.id)
                .with_str("toolName", &call.name)
                .with("success", Raw::Ref("false"))
                .with("outcome", Raw::Ref("\"interrupted\""))
                .with_str("error", why)
        }));
        out
    }
}

/// Waits until a time; for ever if there is none.
pub(super) async fn until(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// The end of a time that begins now.
pub(super) fn from_now(time: Duration) -> Instant {
    Instant::now() + time.min(Duration::from_secs(86_400 * 365))
}
