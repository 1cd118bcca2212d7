//! How far a turn of an agent elsewhere has come, from the journal alone, and what is next.
//!
//! Invariant: what is next follows from the events of the thread and nothing else. A round that
//! the agent is known to have taken up is not begun twice: it is looked for where the agent can
//! say what became of it, and failed where it cannot and may have done something.

use selvedge_protocol::dialect::envelope::adapters::Adapter;
use selvedge_protocol::journal::fold::{TaskState, Tokens};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use selvedge_protocol::perspective::{Part, Policy, parts};

use super::say::Told;
use super::talk::{Answered, Ids, Reached, Say, Tried};
use crate::router::Hearing;
use crate::turn::{Answer, called};

/// A turn so far.
pub(super) struct Progress {
    task: String,
    agent: String,
    memory: Memory,
    /// Where the task stands.
    pub(super) state: TaskState,
    /// Rounds that were begun; one that is tried again counts once.
    pub(super) rounds: u32,
    /// Attempts of all rounds.
    pub(super) attempts: u32,
    /// How often the latest round has failed.
    pub(super) failures: u32,
    /// What things are called there.
    pub(super) known: Ids,
    /// What was used.
    pub(super) tokens: Tokens,
    /// Artifacts that the task wrote.
    pub(super) artifacts: Vec<String>,
    /// Tasks below this one that are not over.
    pub(super) below: Vec<String>,
    step: Step,
    /// What the latest attempt says.
    saying: Saying,
    say: Vec<Part>,
    /// Whether the latest attempt did more than speak.
    acted: bool,
    /// What the latest round said, by the agent's names for the parts.
    spoken: Vec<(String, String)>,
    calls: Vec<String>,
    /// What earlier rounds said.
    before: Vec<(String, String)>,
    questions: Vec<Question>,
    prompt: Option<Raw<'static>>,
    hearing: Hearing,
    told: Told,
}

/// Whether an agent can say what became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    Remembers,
    Forgets,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    None,
    /// It has not ended.
    Open,
    Finished,
    /// What it said is void.
    Void,
}

/// What a round says, as its `step-started` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saying {
    /// What was said in the thread.
    Thread,
    /// What the agent that called this one asks.
    Prompt,
    /// The answers to what the agent asked.
    Answers,
    /// Nothing: what became of it is looked for.
    Nothing,
}

impl Saying {
    const ALL: [Self; 4] = [Self::Thread, Self::Prompt, Self::Answers, Self::Nothing];

    /// Its name in the journal.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Prompt => "prompt",
            Self::Answers => "answers",
            Self::Nothing => "nothing",
        }
    }
}

/// A question of the agent's.
struct Question {
    input: String,
    /// What the agent calls it.
    id: Option<String>,
    /// The tool call that is to be done, and its tool.
    call: Option<(String, String)>,
    answer: Option<Answer>,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Say that the attempt that was under way is void.
    Supersede,
    /// Say something, and listen.
    Talk(Saying),
    /// Say that nobody answered the agent in time.
    Expire,
    /// Say that the agent was interrupted, and may have done something.
    Interrupt,
    /// Nothing, until the answers are in the journal.
    Wait,
    /// Say that the task is done.
    Finish,
    /// Nothing any more.
    Over,
}

impl Progress {
    pub(super) fn new(task: &str, agent: &str, policy: Policy, memory: Memory) -> Self {
        Self {
            task: task.to_owned(),
            agent: agent.to_owned(),
            memory,
            state: TaskState::Created,
            rounds: 0,
            attempts: 0,
            failures: 0,
            known: Ids::default(),
            tokens: Tokens::default(),
            artifacts: Vec::new(),
            below: Vec::new(),
            step: Step::None,
            saying: Saying::Thread,
            say: Vec::new(),
            acted: false,
            spoken: Vec::new(),
            calls: Vec::new(),
            before: Vec::new(),
            questions: Vec::new(),
            prompt: None,
            hearing: Hearing::default(),
            told: Told::new(agent, policy),
        }
    }

    /// Takes an event of the thread in.
    pub(super) fn apply(&mut self, event: &Event<'_>) {
        let heard = self.hearing.hear(&self.task, event, Adapter::Ollama);
        if let Some(asked) = called(&self.task, event).or(heard) {
            self.prompt = asked.get("content").map(Raw::to_owned);
        }
        match event.str("taskId") {
            Some(task) if task == self.task => self.own(event),
            Some(task) => {
                let task = task.into_owned();
                self.other(&task, event);
            }
            None => {}
        }
        self.told.apply(event);
    }

    /// What is to be done next.
    pub(super) fn next(&self) -> Next {
        if self.state.is_terminal() {
            return Next::Over;
        }
        let first = if self.prompt.is_some() { Saying::Prompt } else { Saying::Thread };
        match self.step {
            Step::None => Next::Talk(first),
            Step::Open => Next::Supersede,
            Step::Void if self.known.reached < Reached::Taken => match self.saying {
                Saying::Answers => Next::Talk(Saying::Answers),
                _ => Next::Talk(first),
            },
            Step::Void if self.memory == Memory::Remembers && self.known.task.is_some() => {
                Next::Talk(Saying::Nothing)
            }
            Step::Void if self.acted => Next::Interrupt,
            Step::Void => Next::Talk(self.saying),
            Step::Finished if self.questions.is_empty() => Next::Finish,
            Step::Finished if self.questions.iter().any(|q| q.answer.is_none()) => Next::Wait,
            Step::Finished if self.questions.iter().any(|q| q.answer == Some(Answer::Expired)) => {
                Next::Expire
            }
            Step::Finished => Next::Talk(Saying::Answers),
        }
    }

    /// Whether an attempt is under way.
    pub(super) fn is_open(&self) -> bool {
        self.step == Step::Open
    }

    /// Whether the agent may still be at it, or wait for us.
    pub(super) fn is_left_there(&self) -> bool {
        let waits = !self.questions.is_empty();
        self.known.task.is_some() && (self.step != Step::Finished || waits)
    }

    /// What the attempt that was begun is to say.
    pub(super) fn say(&self) -> Say {
        match self.saying {
            Saying::Thread | Saying::Prompt => Say::Parts(self.say.clone()),
            Saying::Answers => {
                let given = |question: &Question| {
                    let answer = question.answer.clone()?;
                    Some(Answered { id: question.id.clone(), answer })
                };
                Say::Answers(self.questions.iter().filter_map(given).collect())
            }
            Saying::Nothing => Say::Nothing,
        }
    }

    /// Whether the same may have been said before.
    pub(super) fn tried(&self) -> Tried {
        if self.step == Step::Void { Tried::Maybe } else { Tried::Never }
    }

    /// What was said and called in earlier rounds, by the agent's names.
    pub(super) fn before(&self) -> Vec<(String, String)> {
        self.before.clone()
    }

    /// What the latest round said.
    pub(super) fn text(&self) -> String {
        let said: Vec<&str> = self.spoken.iter().map(|(_, text)| text.as_str()).collect();
        said.join("\n\n")
    }

    /// Tool calls that were answered and have not ended: their ids, names and results.
    pub(super) fn results(&self) -> Vec<(String, String, String)> {
        let done = |question: &Question| match (&question.call, &question.answer) {
            (Some((id, name)), Some(Answer::Value(value))) => {
                Some((id.clone(), name.clone(), value.clone()))
            }
            _ => None,
        };
        self.questions.iter().filter_map(done).collect()
    }

    fn own(&mut self, event: &Event<'_>) {
        match event.kind() {
            Kind::InternalCheckpoint => self.learn(event),
            Kind::StepStarted => self.begun(event),
            Kind::StepFinished => {
                self.step = Step::Finished;
                self.failures = 0;
                self.questions.clear();
                self.before.extend(self.spoken.iter().cloned());
                self.before.extend(self.calls.drain(..).map(|call| (call, String::new())));
            }
            Kind::AttemptSuperseded => {
                self.step = Step::Void;
                self.spoken.clear();
                self.calls.clear();
                if event.at("metadata", "/code").is_some() {
                    self.failures += 1;
                }
            }
            Kind::ContentDelta | Kind::ContentComplete | Kind::Message => self.said(event),
            Kind::ToolCall | Kind::ToolStart => {
                self.acted = true;
                let id = event.str("toolCallId");
                self.calls.extend(id.and_then(|id| Some(id.split_once('.')?.1.to_owned())));
            }
            Kind::ToolComplete => {
                let id = event.str("toolCallId").unwrap_or_default();
                for question in &mut self.questions {
                    question.call.take_if(|(call, _)| *call == id);
                }
            }
            Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite => {
                self.acted = true;
                if let Some(id) = event.str("artifactId")
                    && !self.artifacts.iter().any(|known| *known == id)
                {
                    self.artifacts.push(id.into_owned());
                }
            }
            Kind::InputRequired => self.asked(event),
            Kind::InputReceived => {
                let value = event.get("value").map_or("null", Raw::as_str).to_owned();
                self.answer(event, Answer::Value(value));
            }
            Kind::InputExpired => self.answer(event, Answer::Expired),
            Kind::LlmUsage => {
                let more = Tokens::told(event).unwrap_or_default();
                self.tokens.input = self.tokens.input.saturating_add(more.input);
                self.tokens.output = self.tokens.output.saturating_add(more.output);
            }
            _ => {}
        }
        if let Some(state) = TaskState::after(event)
            && !self.state.is_terminal()
        {
            self.state = state;
        }
    }

    /// An event of another task: one of the same agent tells which conversation it is.
    fn other(&mut self, task: &str, event: &Event<'_>) {
        if event.kind() == Kind::InternalCheckpoint
            && event.str("agentId").is_some_and(|agent| agent == self.agent)
            && let Some(thread) = event.at("metadata", "/remote/thread")
        {
            self.known.thread = thread.str().map(|id| id.into_owned());
        }
        let is_below = |id: &str| id == self.task || self.below.iter().any(|below| below == id);
        if event.kind() == Kind::TaskCreated
            && event.str("parentTaskId").is_some_and(|parent| is_below(&parent))
        {
            self.below.push(task.to_owned());
        } else if TaskState::after(event).is_some_and(TaskState::is_terminal) {
            self.below.retain(|below| below != task);
        }
    }

    fn begun(&mut self, event: &Event<'_>) {
        if self.step != Step::Void {
            self.rounds += 1;
            self.known.reached = Reached::Nothing;
        }
        self.step = Step::Open;
        self.attempts += 1;
        self.acted = false;
        self.spoken.clear();
        self.calls.clear();
        let says = event.at("metadata", "/remote/says");
        let named = |saying: &Saying| says.as_ref().is_some_and(|says| says.is(saying.name()));
        self.saying = Saying::ALL.into_iter().find(named).unwrap_or(Saying::Thread);
        // As of here, so that what is said later is for the next turn.
        self.say = match &self.prompt {
            Some(prompt) => parts(Some(prompt), None),
            None if self.saying == Saying::Thread => self.told.parts(),
            None => Vec::new(),
        };
    }

    /// What the agent calls things.
    fn learn(&mut self, event: &Event<'_>) {
        let told = |pointer: &str| {
            let id = event.at("metadata", pointer)?;
            id.str().map(|id| id.into_owned())
        };
        let known = &mut self.known;
        known.thread = told("/remote/thread").or(known.thread.take());
        known.task = told("/remote/task").or(known.task.take());
        known.reached = match told("/remote/reached").as_deref() {
            Some("taken") => Reached::Taken,
            Some("message") => known.reached.max(Reached::Message),
            _ => known.reached,
        };
    }

    /// What the agent said, part by part.
    fn said(&mut self, event: &Event<'_>) {
        let kind = event.kind();
        if kind == Kind::Message && !event.get("role").is_some_and(|role| role.is("agent")) {
            return;
        }
        let id = event.str(if kind == Kind::Message { "messageId" } else { "partId" });
        let id = id.unwrap_or_default();
        let id = id.strip_prefix(&format!("{}/", self.task)).unwrap_or(&id);
        let id = id.split_once('.').map_or(id, |(_, id)| id).to_owned();
        let text = match kind {
            Kind::ContentDelta => event.str("delta").unwrap_or_default().into_owned(),
            _ => {
                let parts = parts(event.get("content"), None).into_iter();
                let texts = parts.filter_map(|part| match part {
                    Part::Text(text) => Some(text),
                    Part::Media(_) => None,
                });
                texts.collect::<Vec<_>>().join("\n\n")
            }
        };
        match self.spoken.iter_mut().find(|(known, _)| *known == id) {
            Some((_, said)) if kind == Kind::ContentDelta => said.push_str(&text),
            // A part that was streamed, told once more as a whole.
            Some(_) if kind == Kind::ContentComplete && !id.is_empty() => {}
            _ if text.is_empty() => {}
            _ => self.spoken.push((id, text)),
        }
    }

    fn asked(&mut self, event: &Event<'_>) {
        let Some(input) = event.str("inputId") else { return };
        let id = event.at("metadata", "/remote/id");
        let id = id.as_ref().and_then(Raw::str).map(|id| id.into_owned());
        let tool = event.at("metadata", "/toolCall/function/name");
        let tool = tool.as_ref().and_then(Raw::str).map(|name| name.into_owned());
        let call = event.str("toolCallId").map(|id| id.into_owned()).zip(tool);
        self.questions.push(Question { input: input.into_owned(), id, call, answer: None });
    }

    /// The first answer counts.
    fn answer(&mut self, event: &Event<'_>, answer: Answer) {
        let Some(input) = event.str("inputId") else { return };
        if let Some(question) = self.questions.iter_mut().find(|q| q.input == input) {
            question.answer.get_or_insert(answer);
        }
    }
}
