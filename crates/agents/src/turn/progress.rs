//! How far a turn has come, from the journal alone, and what is to be done next.
//!
//! Invariant: what is next follows from the events of the thread and nothing else. Whoever takes
//! up a turn, here or after a restart, goes on where the journal ends.

use std::collections::HashMap;

use selvedge_protocol::journal::fold::{TaskState, Tokens};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use serde_json::Value;

use super::ledger::Ledger;
use crate::model::FailureKind;
use crate::tool::Asked;

/// A turn so far.
#[derive(Debug)]
pub struct Progress {
    task: String,
    /// Where the task stands.
    pub state: TaskState,
    /// Model calls that were begun, those that are void not counted.
    pub iterations: u32,
    /// Model calls that were begun, with those that are void.
    pub steps: u32,
    /// Which of the agent's minds is asked next.
    pub mind: usize,
    /// How often it has failed since it last answered.
    pub attempts: u32,
    /// Whether it refused the whole history and is to be asked with less of it.
    pub shortens: bool,
    /// Tokens of the latest request, where they were estimated.
    pub estimate: Option<u64>,
    /// Bytes that the latest model call has said.
    pub said: usize,
    /// Tokens used.
    pub tokens: Tokens,
    step: Step,
    text: String,
    calls: Vec<Call>,
    questions: HashMap<String, Question>,
    subtasks: HashMap<String, TaskState>,
    /// What subtasks said in the end.
    answers: HashMap<String, String>,
    artifacts: Vec<String>,
    /// Thoughts that the task shared.
    pub(super) thoughts: u32,
    pub(super) ledger: Ledger,
}

/// The latest model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// There was none.
    None,
    /// It has not ended.
    Open,
    Finished,
    /// What it said is void.
    Void,
}

/// A tool call that the latest model call asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Names the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as JSON text.
    pub arguments: String,
    /// How far it has come.
    pub stage: Stage,
}

/// How far a tool call has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Nobody has done anything for it.
    Asked,
    /// A question must be answered first.
    Waiting {
        /// Which.
        input: String,
    },
    /// The question was answered.
    Answered {
        /// Which.
        input: String,
        /// How.
        answer: Answer,
    },
    /// It runs, or ran when whoever ran it stopped.
    Started,
    /// Another task does it.
    Called {
        /// Which.
        subtask: String,
    },
    /// Its result is in the journal.
    Done,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This JSON value.
    Value(String),
    /// Nobody answered in time.
    Expired,
}

#[derive(Debug)]
struct Question {
    call: Option<String>,
    prompt: String,
    answer: Option<Answer>,
    /// The event that asks, if someone but a user may answer.
    asked: Option<String>,
    /// Tasks in which someone else was to answer.
    consulted: Vec<String>,
    /// When the last of them was made.
    since: Option<String>,
    with: With,
}

/// Whose turn it is to answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum With {
    Coordinator,
    User,
}

/// A question that another agent was to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Consulted {
    /// The event that asks.
    pub(super) asked: String,
    /// The task in which it was to answer, and how many there were.
    pub(super) task: String,
    pub(super) rounds: usize,
    /// Where that stands, and what it said in the end.
    pub(super) state: TaskState,
    pub(super) said: Option<String>,
    /// When it was made.
    pub(super) since: Option<String>,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Say that the model call that was under way is void.
    Supersede,
    /// Ask the model.
    Think,
    /// Do something for these calls.
    Act(Vec<Call>),
    /// Nothing, until an answer or a subtask's end is in the journal.
    Wait,
    /// Say that the task is done.
    Finish,
    /// Nothing any more.
    Over,
}

impl Question {
    fn new(call: Option<String>, prompt: String) -> Self {
        let (asked, consulted, since) = (None, Vec::new(), None);
        Self { call, prompt, answer: None, asked, consulted, since, with: With::User }
    }
}

impl Progress {
    /// A turn of which nothing is known.
    pub fn new(task: &str) -> Self {
        Self {
            task: task.to_owned(),
            state: TaskState::Created,
            iterations: 0,
            steps: 0,
            mind: 0,
            attempts: 0,
            shortens: false,
            estimate: None,
            said: 0,
            tokens: Tokens::default(),
            step: Step::None,
            text: String::new(),
            calls: Vec::new(),
            questions: HashMap::new(),
            subtasks: HashMap::new(),
            answers: HashMap::new(),
            artifacts: Vec::new(),
            thoughts: 0,
            ledger: Ledger::default(),
        }
    }

    /// Takes an event of the thread in.
    pub fn apply(&mut self, event: &Event<'_>) {
        self.ledger.apply(event);
        let Some(task) = event.str("taskId") else { return };
        if task != self.task {
            self.other(&task, event);
            return;
        }
        if let Some(tokens) = Tokens::told(event) {
            self.tokens += tokens;
        }
        match event.kind() {
            Kind::StepStarted => {
                self.step = Step::Open;
                self.iterations += 1;
                self.steps += 1;
                self.begin();
            }
            Kind::InternalLlmCall => {
                let tokens = event.at("metadata", "/tokens").and_then(|tokens| tokens.i64());
                self.estimate = tokens.and_then(|tokens| u64::try_from(tokens).ok());
            }
            Kind::ContentDelta => {
                if let Some(delta) = event.str("delta") {
                    self.said += delta.len();
                    self.text.push_str(&delta);
                }
            }
            Kind::ThoughtStream => {
                self.said += event.get("content").map_or(0, |content| content.len());
                self.thoughts += 1;
            }
            Kind::ToolCall => {
                self.said += event.get("arguments").map_or(0, |arguments| arguments.len());
                self.asked(event);
            }
            Kind::StepFinished => {
                self.step = Step::Finished;
                self.attempts = 0;
                self.shortens = false;
            }
            Kind::AttemptSuperseded => {
                self.step = Step::Void;
                self.iterations = self.iterations.saturating_sub(1);
                self.begin();
                self.failed(event);
            }
            Kind::ToolStart => self.stage(event, Stage::Started),
            Kind::ToolComplete if event.get("preliminary").and_then(Raw::bool) != Some(true) => {
                self.stage(event, Stage::Done);
            }
            Kind::SubtaskCreated => {
                if let Some(subtask) = event.str("subtaskId").map(|id| id.into_owned()) {
                    self.subtasks.entry(subtask.clone()).or_insert(TaskState::Created);
                    self.consult(event, &subtask);
                    self.stage(event, Stage::Called { subtask });
                }
            }
            Kind::TaskStatus => self.handed_over(event),
            Kind::InputRequired | Kind::ToolInputRequired => self.question(event),
            Kind::AuthRequired => self.auth(event),
            Kind::AuthCompleted => self.answer(event, Answer::Value("null".to_owned())),
            Kind::InputReceived => {
                let value = event.get("value").map_or("null", Raw::as_str).to_owned();
                self.answer(event, Answer::Value(value));
            }
            Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite => {
                if let Some(id) = event.str("artifactId")
                    && !self.artifacts.iter().any(|known| *known == id)
                {
                    self.artifacts.push(id.into_owned());
                }
            }
            Kind::InputExpired => self.answer(event, Answer::Expired),
            _ => {}
        }
        if let Some(state) = TaskState::after(event)
            && !self.state.is_terminal()
        {
            self.state = state;
        }
    }

    /// What is to be done next.
    pub fn next(&self) -> Next {
        if self.state.is_terminal() {
            return Next::Over;
        }
        match self.step {
            Step::Open => return Next::Supersede,
            Step::None | Step::Void => return Next::Think,
            Step::Finished => {}
        }
        let ready: Vec<Call> =
            self.calls.iter().filter(|call| self.is_ready(call)).cloned().collect();
        if !ready.is_empty() {
            return Next::Act(ready);
        }
        if self.calls.iter().any(|call| call.stage != Stage::Done) {
            return Next::Wait;
        }
        if self.calls.is_empty() { Next::Finish } else { Next::Think }
    }

    /// Calls of the latest model call that have no result.
    pub fn open_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.stage != Stage::Done)
    }

    /// How many calls the latest model call asked for.
    pub(super) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Whether a model call has not ended.
    pub fn is_thinking(&self) -> bool {
        self.step == Step::Open
    }

    /// What the latest model call said.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Artifacts that the task wrote.
    pub fn artifacts(&self) -> &[String] {
        &self.artifacts
    }

    /// What was asked for a call.
    pub fn questions(&self, call: &str) -> Vec<Asked> {
        let own = self.questions.iter().filter(|(_, q)| q.call.as_deref() == Some(call));
        own.map(|(input, question)| Asked {
            input: input.clone(),
            prompt: question.prompt.clone(),
            answer: question.answer.clone(),
        })
        .collect()
    }

    /// Where a subtask stands, and what it said in the end.
    pub fn subtask(&self, id: &str) -> Option<(TaskState, Option<&str>)> {
        Some((*self.subtasks.get(id)?, self.answers.get(id).map(String::as_str)))
    }

    /// How another agent was asked a question that is not answered yet.
    pub(super) fn consulted(&self, input: &str) -> Option<Consulted> {
        let question = self.questions.get(input)?;
        let task = question.consulted.last().filter(|_| question.with == With::Coordinator)?;
        let (state, said) = self.subtask(task)?;
        Some(Consulted {
            asked: question.asked.clone()?,
            task: task.clone(),
            rounds: question.consulted.len(),
            state,
            said: said.map(str::to_owned),
            since: question.since.clone(),
        })
    }

    /// Questions of the latest model call's calls that other agents are at.
    pub(super) fn consulting(&self) -> impl Iterator<Item = Consulted> {
        self.calls.iter().filter_map(|call| match &call.stage {
            Stage::Waiting { input } => self.consulted(input),
            _ => None,
        })
    }

    /// Whether something can be done for a call now.
    fn is_ready(&self, call: &Call) -> bool {
        match &call.stage {
            Stage::Asked | Stage::Answered { .. } | Stage::Started => true,
            Stage::Called { subtask } => {
                self.subtasks.get(subtask).is_some_and(|state| state.is_terminal())
            }
            Stage::Waiting { input } => {
                self.consulted(input).is_some_and(|asked| asked.state.is_terminal())
            }
            Stage::Done => false,
        }
    }

    /// An event of another task: only those that this one called matter.
    fn other(&mut self, task: &str, event: &Event<'_>) {
        let Some(known) = self.subtasks.get_mut(task) else { return };
        if let Some(state) = TaskState::after(event)
            && !known.is_terminal()
        {
            *known = state;
            let said = event.str("content").or_else(|| event.str("message"));
            if let Some(said) = said.filter(|_| state.is_terminal()) {
                self.answers.insert(task.to_owned(), said.into_owned());
            }
        }
    }

    fn begin(&mut self) {
        self.said = 0;
        self.text.clear();
        self.calls.clear();
    }

    /// A model call failed, unless it is only that whoever asked has stopped.
    fn failed(&mut self, event: &Event<'_>) {
        let Some(next) = event.at("metadata", "/next").and_then(|next| next.i64()) else { return };
        let next = usize::try_from(next).unwrap_or(0);
        let code = event.at("metadata", "/code");
        let too_long = code.is_some_and(|code| code.is(FailureKind::TooLong.code()));
        self.shortens = next == self.mind && (too_long || self.shortens);
        self.attempts = if next == self.mind { self.attempts + 1 } else { 0 };
        self.mind = next;
    }

    fn asked(&mut self, event: &Event<'_>) {
        let (Some(id), Some(name)) = (event.str("toolCallId"), event.str("toolName")) else {
            return;
        };
        if self.calls.iter().all(|call| call.id != id) {
            self.calls.push(Call {
                id: id.into_owned(),
                name: name.into_owned(),
                arguments: event.get("arguments").map_or("null", Raw::as_str).to_owned(),
                stage: Stage::Asked,
            });
        }
    }

    fn stage(&mut self, event: &Event<'_>, stage: Stage) {
        let Some(id) = event.str("toolCallId") else { return };
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id)
            && call.stage != Stage::Done
        {
            call.stage = stage;
        }
    }

    fn question(&mut self, event: &Event<'_>) {
        let Some(input) = event.str("inputId").map(|id| id.into_owned()) else { return };
        let call = event.str("toolCallId").map(|id| id.into_owned());
        self.stage(event, Stage::Waiting { input: input.clone() });
        let prompt = event.str("prompt").unwrap_or_default().into_owned();
        let asked = (event.get("requireUser").and_then(Raw::bool) != Some(true)).then(|| {
            let mut text = String::new();
            event.write(&mut text);
            text
        });
        self.questions.insert(input, Question { asked, ..Question::new(call, prompt) });
    }

    /// Credentials are waited for like an answer.
    fn auth(&mut self, event: &Event<'_>) {
        let Some(id) = event.str("authId").map(|id| id.into_owned()) else { return };
        let call = event.at("metadata", "/toolCallId");
        let call = call.as_ref().and_then(Raw::str).map(|id| id.into_owned());
        if let Some(call) = self.calls.iter_mut().find(|own| Some(&own.id) == call.as_ref())
            && call.stage != Stage::Done
        {
            call.stage = Stage::Waiting { input: id.clone() };
        }
        let prompt = event.str("prompt").unwrap_or_default().into_owned();
        self.questions.insert(id, Question::new(call, prompt));
    }

    /// Another agent is to answer a question.
    fn consult(&mut self, event: &Event<'_>, task: &str) {
        let Some(input) = event.at("metadata", "/inputId") else { return };
        let question = input.str().and_then(|input| self.questions.get_mut(&*input));
        if let Some(question) = question {
            question.consulted.push(task.to_owned());
            question.since = event.str("timestamp").map(|at| at.into_owned());
            question.with = With::Coordinator;
        }
    }

    /// It was said that a question waits for the user now.
    fn handed_over(&mut self, event: &Event<'_>) {
        let with = event.at("metadata", "/blockedBy");
        let Some(input) = event.at("metadata", "/inputId") else { return };
        if with.is_some_and(|with| with.is("user"))
            && let Some(question) = input.str().and_then(|id| self.questions.get_mut(&*id))
        {
            question.with = With::User;
        }
    }

    /// The first answer counts.
    fn answer(&mut self, event: &Event<'_>, answer: Answer) {
        let Some(input) = event.str("inputId").or_else(|| event.str("authId")) else { return };
        let Some(question) = self.questions.get_mut(&*input) else { return };
        if question.answer.is_some() {
            return;
        }
        question.answer = Some(answer.clone());
        let Some(call) = question.call.clone() else { return };
        let waiting = Stage::Waiting { input: input.clone().into_owned() };
        if let Some(call) = self.calls.iter_mut().find(|c| c.id == call && c.stage == waiting) {
            call.stage = Stage::Answered { input: input.into_owned(), answer };
        }
    }
}

/// Whether an answer to a question says yes.
pub(super) fn agreed(value: &Value) -> bool {
    let agreed = value
        .as_bool()
        .or_else(|| value.get("approved")?.as_bool())
        .or_else(|| Some(matches!(value.as_str()?, "yes" | "approve" | "approved" | "true")));
    agreed == Some(true)
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
