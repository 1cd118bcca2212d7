//! Turns: one task of one agent, from its creation to its one end.
//!
//! A turn reads the thread, does what is next, writes what came of it, and reads again. It holds
//! nothing that the journal does not: stopped at any point, another goes on.

mod act;
mod budget;
mod fit;
mod gate;
mod hearing;
mod ledger;
mod measure;
mod progress;
mod spending;
mod think;

use progress::Consulted;
pub use progress::{Answer, Call, Next, Progress, Stage};
pub(crate) use think::backoff;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use selvedge_protocol::dialect::envelope::adapters::Adapter;
use selvedge_protocol::journal::transcript::ActionKind;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Node, Raw, from_utf8};
use selvedge_protocol::perspective::History;
use selvedge_store::{AppendError, Guard, Instead, ThreadKey};
use tokio::task::JoinSet;

use self::budget::Raises;
use self::gate::{Gate, until};
use self::hearing::Hearing;
use self::measure::Measure;
use self::spending::Spending;
use crate::agent::Agent;
use crate::journal::{Journal, JournalError, Thread, Writer, millis};
use crate::model::failure::REJECTED;
use crate::router;
use crate::tool::builtin;
use crate::wish::Wishes;

/// How a turn was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The task is over.
    Over,
    /// It waits for something that will be in the journal; then it is to be taken up again.
    Waiting,
    /// The same, and after so long it is to be taken up in any case.
    WaitingFor(Duration),
}

/// A turn that someone works on.
pub struct Turn {
    agent: Arc<Agent>,
    task: String,
    thread: Thread,
    writer: Writer,
    progress: Progress,
    history: History,
    /// Envelopes of the thread: one of them may be what the task is about.
    envelopes: router::Hearing,
    /// What was spent in the thread, and what was said of it.
    spending: Spending,
    raises: Raises,
    measure: Measure,
    hearing: Hearing,
    wishes: Wishes,
    /// The action of the history that this turn answers.
    heard: usize,
    /// Tools at work for this turn, by their calls.
    tools: JoinSet<(String, Result<(), JournalError>)>,
    running: HashSet<String>,
    /// Whether its end is known to be in the journal.
    over: bool,
}

impl Turn {
    /// Takes up a task of an agent, where the journal ends.
    pub async fn open(
        journal: &Journal,
        thread: &ThreadKey,
        task: &str,
        agent: Arc<Agent>,
    ) -> Result<Self, JournalError> {
        let thread = journal.thread(thread).await?;
        let writer = thread.writer(task, &agent.id);
        let mut turn = Self {
            agent,
            task: task.to_owned(),
            thread,
            writer,
            progress: Progress::new(task),
            history: History::new(),
            envelopes: router::Hearing::default(),
            spending: Spending::default(),
            raises: Raises::default(),
            measure: Measure::default(),
            hearing: Hearing::default(),
            wishes: Wishes::default(),
            heard: 0,
            tools: JoinSet::new(),
            running: HashSet::new(),
            over: false,
        };
        while turn.sync().await? {}
        Ok(turn)
    }

    /// Works until the task is over or has to wait. Dropped, all that is under way stops.
    pub async fn run(&mut self) -> Result<Left, JournalError> {
        loop {
            // What it wrote itself need not be read to know that.
            if self.over {
                return Ok(Left::Over);
            }
            while self.sync().await? {}
            match self.progress.next() {
                Next::Over => return Ok(Left::Over),
                Next::Supersede => {
                    let void = self.void("restarted");
                    self.writer.append(vec![void]).await?;
                }
                Next::Think => match self.gate().await? {
                    Gate::Go => self.think().await?,
                    Gate::Stay => return Ok(Left::Waiting),
                    Gate::Again => {}
                },
                Next::Finish => self.finish().await?,
                Next::Act(calls) => {
                    let mut new: Vec<Call> =
                        calls.into_iter().filter(|call| !self.running.contains(&call.id)).collect();
                    if new.iter().any(|call| self.calls_agent(call)) {
                        match self.gate().await? {
                            Gate::Go => {}
                            Gate::Stay => new.retain(|call| !self.calls_agent(call)),
                            Gate::Again => continue,
                        }
                    }
                    match new.is_empty() {
                        true if self.tools.is_empty() => return Ok(Left::Waiting),
                        true => self.wait().await?,
                        false => new.into_iter().for_each(|call| self.act(call)),
                    }
                }
                Next::Wait if self.tools.is_empty() => {
                    if let Some(left) = self.pause().await? {
                        return Ok(left);
                    }
                }
                Next::Wait => self.wait().await?,
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
        let docs = entries
            .iter()
            .filter_map(|entry| Some((entry.at, Doc::parse(from_utf8(&entry.event).ok()?).ok()?)));
        let docs: Vec<_> = docs.collect();
        let own = docs.iter().find_map(|(_, doc)| self.given(doc.root()));
        for (at, doc) in &docs {
            if let Some(event) = Event::parse(doc.root()) {
                self.progress.apply(&event);
                if let Some(wished) = self.wishes.apply(&event, &self.task, &self.agent) {
                    self.agent = wished;
                }
                // What it is given it hears in its own words, and what it shared as a thought it
                // knows from its own call.
                let shared = event.get("providerName").is_some_and(|by| by.is(builtin::SHARED));
                let given = own.is_some() && event.str("messageId") == own;
                if !shared && !given {
                    self.history.apply(&event);
                }
                self.spending.apply(&event, *at);
                self.raises.apply(&event, &mut self.spending);
                self.measure.apply(&event);
                self.hearing.apply(&event, &self.agent.id, &self.spending, &mut self.history);
                if let Some(asked) = called(&self.task, &event) {
                    self.history.apply(&asked);
                    self.hear();
                }
                self.routed(&event);
                let is_own = event.str("taskId").is_some_and(|task| task == self.task);
                if event.kind() == Kind::TaskCreated && is_own {
                    self.hear();
                }
            }
        }
        Ok(!entries.is_empty())
    }

    /// The envelope that a decision gives to this task.
    fn given<'a>(&self, event: Node<'_, 'a>) -> Option<Cow<'a, str>> {
        event.get("kind").filter(|kind| kind.is(Kind::RouteDecided.name()))?;
        event.get("taskId").filter(|task| task.is(&self.task))?;
        event.get("messageId").and_then(Node::str)
    }

    /// An envelope that was given to this task is what its agent hears last.
    fn routed(&mut self, event: &Event<'_>) {
        let model = self.agent.minds.first().map_or("", |mind| mind.name());
        let heard = self.envelopes.hear(&self.task, event, Adapter::of_model(model));
        if let Some(heard) = heard {
            self.history.apply(&heard);
            self.hear();
        }
    }

    /// What was said last is what this turn answers.
    fn hear(&mut self) {
        let actions = self.history.transcript.actions();
        let last = actions.iter().rposition(|action| action.kind == ActionKind::UserMessage);
        self.heard = last.unwrap_or(actions.len());
    }

    /// Waits until a tool has ended, there is more in the journal, or the time is over.
    async fn wait(&mut self) -> Result<(), JournalError> {
        let end = self.deadline();
        tokio::select! {
            () = until(end) => self.timed_out().await,
            Some(ended) = self.tools.join_next() => self.ended(ended),
            more = self.thread.more() => more,
        }
    }

    fn ended(
        &mut self,
        ended: Result<(String, Result<(), JournalError>), tokio::task::JoinError>,
    ) -> Result<(), JournalError> {
        match ended {
            Ok((call, result)) => {
                self.running.remove(&call);
                result
            }
            Err(error) => Err(JournalError::Read(format!("a tool was dropped: {error}"))),
        }
    }

    /// Says that the task is done.
    async fn finish(&mut self) -> Result<(), JournalError> {
        let tokens = self.progress.tokens;
        let done = self.completed(
            self.progress.text(),
            self.progress.iterations,
            tokens.input + tokens.output,
        );
        self.end(vec![done]).await
    }

    /// That the task is done, with what was said in the end.
    fn completed(&self, said: &str, iterations: u32, tokens: u64) -> Event<'static> {
        let artifacts: Vec<String> =
            self.progress.artifacts().iter().map(|id| Raw::string(id).to_string()).collect();
        let metadata = format!(
            "{{\"duration\":{},\"iterations\":{},\"tokensUsed\":{}}}",
            self.spending.worked(&self.task, millis()).as_millis(),
            iterations,
            tokens
        );
        let mut done = Event::new(Kind::TaskComplete)
            .with_str("content", said)
            .with("metadata", Raw::owned(metadata));
        if !artifacts.is_empty() {
            done = done.with("artifacts", Raw::owned(format!("[{}]", artifacts.join(","))));
        }
        done
    }

    /// Says that the task failed, and how all that it began ends with it.
    async fn fail(&mut self, code: &str, message: &str) -> Result<(), JournalError> {
        let mut events = self.ends(message);
        let failed = Event::new(Kind::TaskStatus)
            .with("status", Raw::Ref("\"failed\""))
            .with_str("code", code)
            .with_str("message", message);
        let failed = match code {
            REJECTED => failed.with("metadata", Raw::Ref("{\"reason\":\"rejected\"}")),
            _ => failed,
        };
        events.push(failed);
        self.end(events).await
    }

    /// Ends the task, unless it has ended.
    async fn end(&mut self, events: Vec<Event<'static>>) -> Result<(), JournalError> {
        let guard = Guard::Running { task: self.task.clone() };
        match self.writer.append_if(guard, events).await {
            Ok(_) | Err(JournalError::Append(AppendError::Instead(Instead::Over { .. }))) => {
                self.over = true;
                Ok(())
            }
            // How it stands is in the journal.
            Err(JournalError::Append(AppendError::Instead(_))) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Why something is done, for operators.
fn traced(iteration: u32, stage: &'static str, why: &str, state: String) -> Event<'static> {
    Event::new(Kind::InternalThoughtProcess)
        .with("iteration", Raw::owned(iteration.to_string()))
        .with_str("stage", stage)
        .with_str("reasoning", why)
        .with("state", Raw::owned(state))
}

/// What the agent that called this task's asks, as a message: it is what the task hears last.
pub(crate) fn called(task: &str, event: &Event<'_>) -> Option<Event<'static>> {
    if event.kind() != Kind::SubtaskCreated || event.str("subtaskId")? != task {
        return None;
    }
    let asked = Event::new(Kind::Message)
        .with("role", Raw::Ref("\"user\""))
        .with("content", event.get("prompt")?.to_owned())
        .with_some("taskId", event.get("subtaskId").map(Raw::to_owned));
    Some(asked)
}
