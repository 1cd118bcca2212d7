//! Turns of agents elsewhere: one task, from its creation to its one end.
//!
//! As with our own agents, a turn holds nothing that the journal does not: it reads the thread,
//! does what is next, writes what came of it, and reads again.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Raw, from_utf8, quote};
use selvedge_store::{AppendError, ThreadKey};
use tokio::sync::mpsc;

use super::Remote;
use super::progress::{Memory, Next, Progress, Saying};
use super::talk::{Ask, Heard, Ids, Out, Outcome, Reached};
use crate::journal::{Journal, JournalError, Thread, Writer};
use crate::model::{Failure, FailureKind};
use crate::turn::{Left, backoff};

/// Events of one append.
const EVENTS: usize = 500;
/// How long it may take to tell an agent that it is to stop.
const CANCEL: Duration = Duration::from_secs(10);

/// A turn that someone works on.
pub struct Turn {
    agent: Arc<Remote>,
    task: String,
    thread: Thread,
    writer: Writer,
    progress: Progress,
}

/// Why an attempt stopped.
enum Stopped {
    /// The agent has ended it.
    Outcome(Outcome),
    /// Something went wrong on the way.
    Failure(Failure),
    /// The task ended meanwhile.
    Over,
}

impl Turn {
    /// Takes up a task of an agent, where the journal ends.
    pub async fn open(
        journal: &Journal,
        thread: &ThreadKey,
        task: &str,
        agent: Arc<Remote>,
    ) -> Result<Self, JournalError> {
        let thread = journal.thread(thread).await?;
        let writer = thread.writer(task, &agent.id);
        let memory = if agent.remembers() { Memory::Remembers } else { Memory::Forgets };
        let progress = Progress::new(task, &agent.id, agent.policy, memory);
        let mut turn = Self { agent, task: task.to_owned(), thread, writer, progress };
        while turn.sync().await? {}
        Ok(turn)
    }

    /// Works until the task is over or has to wait. Dropped, all that is under way stops.
    pub async fn run(&mut self) -> Result<Left, JournalError> {
        loop {
            while self.sync().await? {}
            match self.progress.next() {
                Next::Over => {
                    self.stop_there().await;
                    return Ok(Left::Over);
                }
                Next::Wait => return Ok(Left::Waiting),
                Next::Supersede => {
                    let void = Event::new(Kind::AttemptSuperseded).with_str("reason", "restarted");
                    self.writer.append(vec![void]).await?;
                }
                Next::Talk(saying) => self.talk(saying).await?,
                Next::Expire => {
                    self.end(failed("input_expired", "nobody answered the agent in time")).await?;
                }
                Next::Interrupt => {
                    let message = "the answer broke off; whether all was done is not known";
                    self.end(failed("interrupted", message)).await?;
                }
                Next::Finish => self.end(self.done()).await?,
            }
        }
    }

    /// The last event of the thread that it has seen.
    pub(crate) fn seen(&self) -> u64 {
        self.thread.seen()
    }

    /// Takes in what was committed; `false` at the end.
    async fn sync(&mut self) -> Result<bool, JournalError> {
        let entries = self.thread.read().await?;
        for entry in &entries {
            let text = from_utf8(&entry.event).unwrap_or("");
            if let Ok(doc) = Doc::parse(text)
                && let Some(event) = Event::parse(doc.root())
            {
                self.progress.apply(&event);
            }
        }
        Ok(!entries.is_empty())
    }

    /// One round: begun, said, heard, ended. What goes wrong is in the journal when it returns.
    async fn talk(&mut self, saying: Saying) -> Result<(), JournalError> {
        let limits = &self.agent.limits;
        if self.progress.rounds >= limits.iterations && self.progress.failures == 0 {
            let message = format!("{} rounds were not enough", self.progress.rounds);
            return self.end(failed("max_iterations", &message)).await;
        }
        let tried = self.progress.tried();
        // Before the effect, so that whoever comes after knows of it.
        let mut began: Vec<Event<'static>> = Vec::new();
        if saying == Saying::Answers {
            began.extend(self.progress.results().iter().map(|(id, tool, result)| {
                Event::new(Kind::ToolComplete)
                    .with_str("toolCallId", id)
                    .with_str("toolName", tool)
                    .with("success", Raw::Ref("true"))
                    .with("outcome", Raw::Ref("\"success\""))
                    .with("result", Raw::owned(result.as_str()))
            }));
        }
        let metadata = format!("{{\"remote\":{{\"says\":\"{}\"}}}}", saying.name());
        began.push(Event::new(Kind::StepStarted).with("metadata", Raw::owned(metadata)));
        self.writer.append_unless_over(began).await?;
        while self.sync().await? {}
        if self.progress.state.is_terminal() {
            return Ok(());
        }
        let key = self.writer.thread();
        let ask = Ask {
            task: self.task.clone(),
            thread: match &*key.tenant {
                "" => key.id.to_string(),
                tenant => format!("{tenant}/{}", key.id),
            },
            round: self.progress.rounds,
            attempt: self.progress.attempts,
            say: self.progress.say(),
            tried,
            known: self.progress.known.clone(),
            before: self.progress.before(),
        };
        match self.listen(&ask).await? {
            Stopped::Over => Ok(()),
            Stopped::Failure(failure) => self.failed(&failure).await,
            Stopped::Outcome(outcome) => self.ended(outcome).await,
        }
    }

    /// Says it, and writes down what is heard, until it ends.
    async fn listen(&mut self, ask: &Ask) -> Result<Stopped, JournalError> {
        let agent = self.agent.clone();
        let (sender, mut heard) = mpsc::channel(16);
        let out = Out(sender);
        let mut talk = pin!(agent.talk(ask, &out));
        let ended = loop {
            tokio::select! {
                biased;
                Some(piece) = heard.recv() => {
                    if let Some(failure) = self.write(piece).await? {
                        break Err(failure);
                    }
                }
                ended = &mut talk => break ended,
                more = self.thread.more() => {
                    more?;
                    while self.sync().await? {}
                    if self.progress.state.is_terminal() {
                        return Ok(Stopped::Over);
                    }
                }
            }
        };
        while let Ok(piece) = heard.try_recv() {
            if let Some(failure) = self.write(piece).await? {
                return Ok(Stopped::Failure(failure));
            }
        }
        while self.sync().await? {}
        Ok(match ended {
            _ if self.progress.state.is_terminal() => Stopped::Over,
            Ok(outcome) => Stopped::Outcome(outcome),
            Err(failure) => Stopped::Failure(failure),
        })
    }

    /// Writes down what was heard; tells if it does not fit.
    async fn write(&self, heard: Heard) -> Result<Option<Failure>, JournalError> {
        let (events, told) = match heard {
            Heard::Events(events) => (events, None),
            Heard::Known(ids, told) => (vec![self.checkpoint(&ids)], Some(told)),
        };
        for events in events.chunks(EVENTS) {
            match self.writer.append(events.to_vec()).await {
                Err(JournalError::Append(
                    AppendError::EventTooLarge { .. } | AppendError::BatchTooLarge { .. },
                )) => {
                    let message = "it says more at once than a journal takes in";
                    return Ok(Some(Failure::new(FailureKind::Refused, message)));
                }
                other => other?,
            };
        }
        // Whoever waits for it may be gone.
        told.map(|told| told.send(()));
        Ok(None)
    }

    /// What things are called there, for whoever comes after.
    fn checkpoint(&self, ids: &Ids) -> Event<'static> {
        let mut told = Vec::new();
        for (name, id) in [("thread", &ids.thread), ("task", &ids.task)] {
            told.extend(id.as_ref().map(|id| format!("\"{name}\":{}", quote(id))));
        }
        match ids.reached {
            Reached::Nothing => {}
            Reached::Message => told.push("\"reached\":\"message\"".to_owned()),
            Reached::Taken => told.push("\"reached\":\"taken\"".to_owned()),
        }
        Event::new(Kind::InternalCheckpoint)
            .with("iteration", Raw::owned(self.progress.rounds.to_string()))
            .with("metadata", Raw::owned(format!("{{\"remote\":{{{}}}}}", told.join(","))))
    }

    /// Ends the round as the agent did.
    async fn ended(&mut self, outcome: Outcome) -> Result<(), JournalError> {
        match outcome {
            Outcome::Done => self.end(self.done()).await,
            Outcome::Failed { code, message } => self.end(failed(&code, &message)).await,
            Outcome::Canceled => {
                let canceled =
                    Event::new(Kind::TaskStatus).with("status", Raw::Ref("\"canceled\""));
                self.end(canceled.with_str("message", "the agent was stopped")).await
            }
            Outcome::Asks(mut questions) => {
                let prompt = questions.first().and_then(|asked| asked.get("prompt"));
                let waits = Event::new(Kind::TaskStatus)
                    .with("status", Raw::Ref("\"waiting-input\""))
                    .with_some("message", prompt.map(Raw::to_owned));
                let mut events = vec![finished("stop")];
                events.append(&mut questions);
                events.push(waits);
                self.writer.append_unless_over(events).await
            }
        }
    }

    /// That the task is done.
    fn done(&self) -> Event<'static> {
        let progress = &self.progress;
        let tokens = progress.tokens.input.saturating_add(progress.tokens.output);
        let metadata = format!("{{\"iterations\":{},\"tokensUsed\":{tokens}}}", progress.rounds);
        let mut done = Event::new(Kind::TaskComplete)
            .with_str("content", &progress.text())
            .with("metadata", Raw::owned(metadata));
        if !progress.artifacts.is_empty() {
            let ids: Vec<String> = progress.artifacts.iter().map(|id| quote(id)).collect();
            done = done.with("artifacts", Raw::owned(format!("[{}]", ids.join(","))));
        }
        done
    }

    /// Ends the task, and what is below it, unless it has ended.
    async fn end(&mut self, event: Event<'static>) -> Result<(), JournalError> {
        let mut events = Vec::new();
        if self.progress.is_open() {
            let reason = if event.kind() == Kind::TaskComplete { "stop" } else { "error" };
            events.push(finished(reason));
        }
        // Nobody says any more what became of them.
        events.extend(self.progress.below.iter().map(|below| {
            Event::new(Kind::TaskStatus)
                .with_str("taskId", below)
                .with("status", Raw::Ref("\"canceled\""))
        }));
        events.push(event);
        self.writer.append_unless_over(events).await
    }

    /// Makes a failed attempt void and waits before the next, or ends the task.
    async fn failed(&mut self, failure: &Failure) -> Result<(), JournalError> {
        let limits = &self.agent.limits;
        let tries = self.progress.failures + 1;
        let again = failure.kind.is_retryable() && tries < limits.tries;
        let code = code(failure.kind);
        let wait = match again {
            true => backoff(limits.backoff, limits.backoff_max, tries, failure.retry_after),
            false => Duration::ZERO,
        };
        let metadata = format!("{{\"code\":\"{code}\",\"waitMs\":{}}}", wait.as_millis());
        let void = Event::new(Kind::AttemptSuperseded)
            .with_str("reason", &failure.message)
            .with("metadata", Raw::owned(metadata));
        self.writer.append_unless_over(vec![void]).await?;
        while self.sync().await? {}
        if !again {
            return self.end(failed(code, &failure.message)).await;
        }
        let end = tokio::time::Instant::now() + wait;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(end) => return Ok(()),
                more = self.thread.more() => {
                    more?;
                    while self.sync().await? {}
                    if self.progress.state.is_terminal() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Tells the agent that nobody waits for it any more, unless it has ended by itself.
    async fn stop_there(&self) {
        if !self.progress.is_left_there() {
            return;
        }
        let told = tokio::time::timeout(CANCEL, self.agent.cancel(&self.progress.known)).await;
        if !matches!(told, Ok(Ok(()))) {
            tracing::info!(task = self.task, agent = self.agent.id, "it could not be told to stop");
        }
    }
}

fn finished(reason: &str) -> Event<'static> {
    Event::new(Kind::StepFinished).with_str("finishReason", reason)
}

fn failed(code: &str, message: &str) -> Event<'static> {
    Event::new(Kind::TaskStatus)
        .with("status", Raw::Ref("\"failed\""))
        .with_str("code", code)
        .with_str("message", message)
}

/// A stable name for what went wrong on the way.
fn code(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Busy => "remote_busy",
        FailureKind::Connection => "remote_connection",
        FailureKind::Provider => "remote_error",
        FailureKind::Unauthorized => "remote_unauthorized",
        FailureKind::TooLong | FailureKind::Refused | FailureKind::Rejected => "remote_refused",
    }
}
