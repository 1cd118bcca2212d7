//! Doing what a model asked for.

mod ask;
mod auth;
mod coordinate;
mod share;

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Raw, quote};
use serde_json::Value;

use super::progress::agreed;
use super::{Answer, Call, Consulted, Stage, Turn};
use crate::agent::{Agent, Trace};
use crate::credential::Credential;
use crate::journal::{Journal, JournalError, Writer};
use crate::tool::{Allowance, Asked, Consent, Doer, Invocation, Run, Tool, ToolError, bounded};

/// Where a subtask stands, and what it said.
type Ended = Option<(TaskState, Option<String>)>;

impl Turn {
    /// Begins to do what can be done for a call now.
    pub(super) fn act(&mut self, call: Call) {
        let ended = match &call.stage {
            Stage::Called { subtask } => {
                self.progress.subtask(subtask).map(|(state, said)| (state, said.map(str::to_owned)))
            }
            _ => None,
        };
        let consulted = match &call.stage {
            Stage::Waiting { input } | Stage::Answered { input, .. } => {
                self.progress.consulted(input)
            }
            _ => None,
        };
        let ledger = &self.progress.ledger;
        let doing = Doing {
            agent: self.agent.clone(),
            journal: self.thread.journal().clone(),
            writer: self.writer.clone(),
            task: self.task.clone(),
            thread: self.thread.number(),
            iteration: self.progress.iterations,
            thoughts: self.progress.thoughts,
            asked: self.progress.questions(&call.id),
            coordinator: self.coordinator(),
            consulted,
            people: auth::People::of(ledger, &self.task, &call.id),
            call,
            alone: self.progress.calls() == 1,
            begun: OnceLock::new(),
        };
        self.running.insert(doing.call.id.clone());
        self.tools.spawn(async move { (doing.call.id.clone(), doing.step(ended).await) });
    }
}

/// Doing something for one call.
struct Doing {
    agent: Arc<Agent>,
    journal: Journal,
    writer: Writer,
    task: String,
    /// The thread's number.
    thread: i64,
    /// Which model call asked for it.
    iteration: u32,
    /// Thoughts that the task shared before.
    thoughts: u32,
    call: Call,
    /// Whether the model asked for nothing else at the same time.
    alone: bool,
    /// What was asked for it.
    asked: Vec<Asked>,
    /// The agent that is asked before a user is.
    coordinator: Option<String>,
    /// How that agent was asked.
    consulted: Option<Consulted>,
    people: auth::People,
    /// When this process began to do it.
    begun: OnceLock<Instant>,
}

impl Doing {
    async fn step(&self, ended: Ended) -> Result<(), JournalError> {
        let tool = match self.agent.tool(&self.call.name).await {
            Ok(tool) => tool,
            Err(ToolError(message)) => return self.failed("failed", &message).await,
        };
        let tool = &*tool;
        let arguments = match arguments(tool, &self.call.arguments) {
            Ok(arguments) => arguments,
            Err(message) => return self.failed("validation_error", &message).await,
        };
        match &self.call.stage {
            Stage::Asked if tool.consent == Consent::Needed => self.ask_consent(tool).await,
            Stage::Answered { input, answer } if *input == self.consent_id() => {
                match consent(answer) {
                    Ok(()) => self.begin(tool, arguments).await,
                    Err(reason) => self.failed("denied", &reason).await,
                }
            }
            Stage::Answered { input, answer } if self.is_auth(input) => match answer {
                Answer::Value(_) => self.begin(tool, arguments).await,
                Answer::Expired => self.failed("denied", "nobody authenticated in time").await,
            },
            Stage::Started | Stage::Answered { .. } if tool.is_lost() => {
                let message = "it was interrupted; whether it was done is not known";
                self.failed("interrupted", message).await
            }
            // Whoever asked has stopped: it is run again, asks again, and is told the answer.
            Stage::Answered { .. } if tool.is_here() => self.begin(tool, arguments).await,
            Stage::Answered { answer, .. } => {
                self.release().await?;
                match answer {
                    Answer::Value(value) => self.done(value).await,
                    Answer::Expired => self.failed("failed", "nobody answered in time").await,
                }
            }
            Stage::Asked | Stage::Started => self.begin(tool, arguments).await,
            Stage::Called { .. } => self.subtask_ended(ended).await,
            Stage::Waiting { .. } => self.consulted().await,
            Stage::Done => Ok(()),
        }
    }

    /// Begins the use itself.
    async fn begin(&self, tool: &Tool, arguments: Value) -> Result<(), JournalError> {
        match &tool.doer {
            Doer::Here(run) => self.run(tool, run, arguments).await,
            Doer::Client => self.ask_client(tool).await,
            Doer::Agent { id } => self.call_agent(id, &arguments).await,
            Doer::Ask(whom) => self.ask_question(tool, *whom, &arguments).await,
            Doer::Share => self.share(&arguments).await,
        }
    }

    async fn run(
        &self,
        tool: &Tool,
        run: &Arc<dyn Run>,
        arguments: Value,
    ) -> Result<(), JournalError> {
        let credential = match &tool.auth {
            None => None,
            Some(need) => match self.credential(need).await {
                Ok(Some(credential)) => Some(credential),
                Ok(None) => return self.ask_auth(need).await,
                Err(error) => return self.failed("failed", &error.to_string()).await,
            },
        };
        let mut begun = vec![self.start(run.provider())];
        if self.agent.trace == Trace::On {
            begun.insert(0, self.trace("pre-tool", &format!("`{}` is used", self.call.name)));
        }
        self.writer.append(begun).await?;
        let _ = self.begun.set(Instant::now());
        let allowance = Allowance::new(tool.timeout);
        let invocation = Invocation {
            id: self.call.id.clone(),
            place: self.place(),
            tool: self.call.name.clone(),
            arguments,
            journal: self.journal.clone(),
            writer: self.writer.clone(),
            asked: self.asked.clone(),
            allowance: allowance.clone(),
            patience: tool.patience,
            credential: credential.clone(),
            urgency: tool.urgency,
        };
        let ended = allowance.with(run.run(invocation)).await;
        if let (Some(need), Some(credential)) = (&tool.auth, &credential)
            && credential.is_refused()
        {
            return self.ask_again(need, credential).await;
        }
        // What was given must not come back in what the tool says.
        let clean = |text: &str| match &credential {
            Some(credential) => Credential::strike(credential, text),
            None => text.to_owned(),
        };
        match ended {
            Ok(Ok(result)) => self.done(&clean(&bounded(&result))).await,
            Ok(Err(ToolError(message))) => self.failed("failed", &clean(&message)).await,
            Err(_) => {
                let message = format!("it took longer than {} s", tool.timeout.as_secs_f64());
                self.failed("failed", &message).await
            }
        }
    }

    /// Lets another agent do it, in a task of its own.
    async fn call_agent(&self, agent: &str, arguments: &Value) -> Result<(), JournalError> {
        let subtask = self.place();
        let prompt = match arguments.get("prompt").and_then(Value::as_str) {
            Some(prompt) => prompt.to_owned(),
            None => arguments.to_string(),
        };
        let [called, made] = self.subtask(&subtask, agent, &prompt);
        let events = vec![
            called.with_str("toolCallId", &self.call.id),
            made,
            Event::new(Kind::TaskStatus)
                .with("status", Raw::Ref("\"waiting-subtask\""))
                .with("metadata", Raw::owned(format!("{{\"blockedBy\":{}}}", quote(&subtask)))),
        ];
        self.writer.append(events).await.map(|_| ())
    }

    /// That a task is made, which this one called.
    fn subtask(&self, id: &str, agent: &str, prompt: &str) -> [Event<'static>; 2] {
        [
            Event::new(Kind::SubtaskCreated)
                .with_str("subtaskId", id)
                .with_str("agentId", agent)
                .with_str("prompt", prompt),
            Event::new(Kind::TaskCreated)
                .with_str("taskId", id)
                .with_str("parentTaskId", &self.task)
                .with_str("agentId", agent)
                .with("initiator", Raw::Ref("\"agent\""))
                .with("dispatched", Raw::Ref("true")),
        ]
    }

    async fn subtask_ended(&self, ended: Ended) -> Result<(), JournalError> {
        match ended {
            Some((TaskState::Completed, said)) => {
                let said = said.unwrap_or_default();
                self.done(&quote(&said)).await
            }
            Some((state, said)) => {
                let said = said.unwrap_or_else(|| format!("the task is {}", state.name()));
                self.failed("failed", &said).await
            }
            None => Ok(()),
        }
    }

    async fn done(&self, result: &str) -> Result<(), JournalError> {
        let event = self
            .complete(Raw::Ref("true"))
            .with("outcome", Raw::Ref("\"success\""))
            .with("result", Raw::owned(result.to_owned()));
        self.ended(event, &format!("`{}` has a result", self.call.name)).await
    }

    async fn failed(&self, outcome: &str, message: &str) -> Result<(), JournalError> {
        let event = self
            .complete(Raw::Ref("false"))
            .with_str("outcome", outcome)
            .with_str("error", message);
        self.ended(event, &format!("`{}` failed ({outcome})", self.call.name)).await
    }

    async fn ended(&self, event: Event<'static>, why: &str) -> Result<(), JournalError> {
        let mut events = vec![event];
        if self.agent.trace == Trace::On {
            events.push(self.trace("post-tool", why));
        }
        self.writer.append(events).await.map(|_| ())
    }

    fn start(&self, provider: &str) -> Event<'static> {
        let concurrent = !self.alone;
        let provider = quote(provider);
        let metadata = format!("{{\"provider\":{provider},\"concurrent\":{concurrent}}}");
        Event::new(Kind::ToolStart)
            .with_str("toolCallId", &self.call.id)
            .with_str("toolName", &self.call.name)
            .with("arguments", Raw::owned(self.call.arguments.clone()))
            .with("metadata", Raw::owned(metadata))
    }

    fn complete(&self, success: Raw<'static>) -> Event<'static> {
        let took = self.begun.get().map(Instant::elapsed);
        let took = took.map(|took| Raw::owned(format!("{{\"duration\":{}}}", took.as_millis())));
        Event::new(Kind::ToolComplete)
            .with_str("toolCallId", &self.call.id)
            .with_str("toolName", &self.call.name)
            .with("success", success)
            .with_some("metadata", took)
    }

    /// Why something is done, for operators.
    fn trace(&self, stage: &'static str, why: &str) -> Event<'static> {
        let state = format!("{{\"toolCallId\":{}}}", quote(&self.call.id));
        super::traced(self.iteration, stage, why, state)
    }

    /// Names the call among all calls of the thread.
    fn place(&self) -> String {
        format!("{}/{}", self.task, self.call.id)
    }

    fn consent_id(&self) -> String {
        format!("{}/consent", self.place())
    }
}

/// What a user said to the use of a tool.
fn consent(answer: &Answer) -> Result<(), String> {
    let Answer::Value(text) = answer else { return Err("nobody agreed in time".to_owned()) };
    let value: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    match agreed(&value) {
        true => Ok(()),
        false => {
            let reason = value.get("reason").and_then(Value::as_str);
            Err(reason.map_or_else(
                || "the user did not agree".to_owned(),
                |reason| format!("the user did not agree: {reason}"),
            ))
        }
    }
}

/// The arguments of a call, if they are what the tool takes.
fn arguments(tool: &Tool, text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("the arguments are not JSON: {error}"))?;
    tool.check(&value)?;
    Ok(value)
}
