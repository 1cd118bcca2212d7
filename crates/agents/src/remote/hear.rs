//! What an agent elsewhere says, made into events of our task.
//!
//! Invariant: an event gets in because its kind is listed here, with the fields of its kind and
//! no others. Whose it is, in which task, and when, is ours to say; what speaks of people, of
//! rights or of the journal itself stays out.

mod ask;
mod stamp;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use selvedge_protocol::dialect::{self, DecodeOptions, Decoding, Dialect, Frames};
use selvedge_protocol::journal::fold::{TaskState, Tokens};
use selvedge_protocol::journal::{Batch, Event, Kind};
use selvedge_protocol::json::{Doc, Raw, compact, from_utf8};
use tokio::time::timeout;

use self::stamp::Stamp;
use super::talk::{Ask, Ids, Out, Outcome, Reached, Say};
use super::wire::Answer as Reply;
use crate::model::{Failure, FailureKind};

/// How long it is quiet before what has come is looked at once more.
const QUIET: Duration = Duration::from_millis(200);
/// Bytes of one record.
const LONGEST_RECORD: usize = 16 << 20;
/// Bytes of an id that is believed.
const LONGEST_ID: usize = 256;

/// Listens to one answer.
pub(super) struct Hearing {
    /// Until the source has ended.
    decoding: Option<Decoding>,
    ear: Ear,
}

/// What was heard so far.
struct Ear {
    stamp: Stamp,
    agent: String,
    /// The agent's own task: the first that it speaks of.
    main: Option<String>,
    thread: Option<String>,
    /// What was known before, so that only news is passed on.
    known: Ids,
    /// What was said in earlier rounds, by the agent's names for the parts.
    before: HashMap<String, String>,
    /// Questions that are answered: a task that is told whole may repeat them.
    answered: HashSet<String>,
    /// Whether an answer was given in this round.
    answers: bool,
    out: Vec<Event<'static>>,
    outcome: Option<Outcome>,
    questions: Vec<Event<'static>>,
    /// Tool calls that nobody has done, with their names and arguments.
    calls: Vec<ask::OpenCall>,
    open: Vec<(Raw<'static>, Raw<'static>)>,
    tokens: Option<Tokens>,
    model: Option<Raw<'static>>,
    spoke: bool,
    /// An error that came instead of an answer.
    error: Option<(Option<String>, String)>,
    unread: bool,
    /// Whether it was told whole, waiting for the answer that is to be given.
    waits: bool,
}

impl Hearing {
    /// Listens for what comes of something that was said in a dialect.
    pub(super) fn new(dialect: &'static Dialect, agent: &str, ask: &Ask) -> Self {
        let options = DecodeOptions {
            agent: Some(agent.to_owned()),
            frames: Frames::Skip,
            ..DecodeOptions::default()
        };
        let answers = match &ask.say {
            Say::Answers(answers) => answers.as_slice(),
            Say::Parts(_) | Say::Nothing => &[],
        };
        let ear = Ear {
            stamp: Stamp::new(&ask.task, ask.attempt),
            agent: agent.to_owned(),
            main: None,
            thread: None,
            known: ask.known.clone(),
            before: ask.before.iter().cloned().collect(),
            answered: answers.iter().filter_map(|answer| answer.id.clone()).collect(),
            answers: !answers.is_empty(),
            out: Vec::new(),
            outcome: None,
            questions: Vec::new(),
            calls: Vec::new(),
            open: Vec::new(),
            tokens: None,
            model: None,
            spoke: false,
            error: None,
            unread: false,
            waits: false,
        };
        Self { decoding: Some(Decoding::new(dialect, &options)), ear }
    }

    /// Listens until it has ended, one way or the other, and passes on what is said.
    pub(super) async fn listen(&mut self, reply: &mut Reply, out: &Out) -> Result<(), Failure> {
        while self.ear.outcome.is_none() {
            let next = match timeout(QUIET, reply.next()).await {
                Ok(next) => next?,
                Err(_) => {
                    // What is long is looked at now and then: whether it is whole, for one, when
                    // nothing more comes.
                    self.push(&[])?;
                    self.pass_on(out).await?;
                    if self.ear.outcome.is_some() {
                        return Ok(());
                    }
                    reply.next().await?
                }
            };
            match next {
                Some(bytes) => self.push(&bytes)?,
                None => {
                    self.end()?;
                    return self.pass_on(out).await;
                }
            }
            self.pass_on(out).await?;
        }
        Ok(())
    }

    /// Takes in a piece of a stream.
    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let (ear, Some(decoding)) = (&mut self.ear, &mut self.decoding) else { return Ok(()) };
        let read = decoding.push(bytes, |batch| ear.batch(&batch));
        read.map_err(|error| nonsense(&format!("it says what is no text: {}", error.kind)))?;
        let pending = decoding.pending();
        self.is_read()?;
        if pending > LONGEST_RECORD {
            let message = "it says more at once than is taken in";
            return Err(Failure::new(FailureKind::Refused, message));
        }
        Ok(())
    }

    /// The stream has ended.
    fn end(&mut self) -> Result<(), Failure> {
        let (ear, Some(decoding)) = (&mut self.ear, self.decoding.take()) else { return Ok(()) };
        let read = decoding.finish(|batch| ear.batch(&batch));
        read.map_err(|error| nonsense(&format!("it says what is no text: {}", error.kind)))?;
        self.is_read()
    }

    fn is_read(&self) -> Result<(), Failure> {
        if self.ear.unread { Err(nonsense("it says what cannot be read")) } else { Ok(()) }
    }

    /// Takes in a whole document.
    pub(super) fn document(&mut self, body: &[u8]) -> Result<(), Failure> {
        let text = from_utf8(body).map_err(|_| nonsense("it says what is no text"))?;
        let doc = Doc::parse(text).map_err(|_| nonsense("it says what is no JSON"))?;
        self.push(format!("data: {}\n\n", compact(doc.root())).as_bytes())?;
        self.push(&[])
    }

    /// Passes on what is new, and ids that were not known.
    pub(super) async fn pass_on(&mut self, out: &Out) -> Result<(), Failure> {
        let known = self.ids();
        if known != self.ear.known {
            self.ear.known = known.clone();
            out.know(known).await?;
        }
        out.say(std::mem::take(&mut self.ear.out)).await
    }

    /// What things are called there, as far as is known.
    pub(super) fn ids(&self) -> Ids {
        let (ear, known) = (&self.ear, &self.ear.known);
        let heard = ear.main.is_some() || ear.spoke;
        Ids {
            thread: ear.thread.clone().or_else(|| known.thread.clone()),
            task: ear.main.clone().or_else(|| known.task.clone()),
            reached: if heard { Reached::Taken } else { known.reached },
        }
    }

    /// How it ended, if it has.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.ear.outcome.clone()
    }

    /// Whether the agent waits for the answer that is to be given.
    pub(super) fn waits(&self) -> bool {
        self.ear.waits
    }

    /// Whether the agent said anything.
    pub(super) fn spoke(&self) -> bool {
        self.ear.spoke
    }

    /// The error that came instead of an answer: its code, and what it says.
    pub(super) fn error(&self) -> Option<(Option<&str>, &str)> {
        self.ear.error.as_ref().map(|(code, message)| (code.as_deref(), message.as_str()))
    }

    /// The end of the round: what was left open is closed, and what was used is told.
    pub(super) async fn finish(&mut self, out: &Out) -> Result<(), Failure> {
        self.pass_on(out).await?;
        let mut last: Vec<Event<'static>> = self.ear.open.drain(..).map(closed).collect();
        if let Some(tokens) = self.ear.tokens.take() {
            let count = |n: u64| Raw::owned(n.to_string());
            let usage = Event::new(Kind::LlmUsage)
                .with_some("model", self.ear.model.take())
                .with("prompt_tokens", count(tokens.input))
                .with("completion_tokens", count(tokens.output))
                .with("total_tokens", count(tokens.input.saturating_add(tokens.output)));
            last.push(usage);
        }
        out.say(last).await
    }
}

impl Ear {
    fn batch(&mut self, batch: &Batch<'_>) {
        self.unread |= batch.unread.is_some();
        let whole = batch.events.iter().any(|event| event.kind() == Kind::TaskCreated);
        for (at, event) in batch.events.iter().enumerate() {
            if self.outcome.is_some() {
                return;
            }
            let rest = batch.events.get(at + 1..).unwrap_or_default();
            if event.kind() == Kind::Message && is_past(event, whole, rest) {
                continue;
            }
            self.event(event, whole);
        }
    }

    fn event(&mut self, event: &Event<'_>, whole: bool) {
        if event.kind() == Kind::ThreadCreated {
            self.thread = event.str("contextId").map(|id| id.into_owned()).filter(|id| told(id));
            return;
        }
        let task = event.str("taskId").map(|id| id.into_owned());
        if self.main.is_none() {
            self.main = task.clone().filter(|id| (1..=LONGEST_ID).contains(&id.len()));
        }
        let below = task.filter(|task| Some(task) != self.main.as_ref());
        if let Some(task) = below {
            return self.below(&task, event);
        }
        match event.kind() {
            Kind::TaskStatus => self.status(event, whole),
            Kind::TaskComplete => self.outcome = Some(Outcome::Done),
            Kind::InputRequired | Kind::ToolInputRequired | Kind::AuthRequired => self.asks(event),
            Kind::Error => self.fails(event),
            Kind::LlmUsage | Kind::StepFinished => self.used(event),
            _ => self.says(event),
        }
    }

    /// A task below the agent's own is one below ours.
    fn below(&mut self, task: &str, event: &Event<'_>) {
        let own = Raw::string(&self.stamp.name(task));
        match event.kind() {
            Kind::TaskCreated => {
                let parent = event.str("parentTaskId");
                let parent = parent.filter(|id| Some(&**id) != self.main.as_deref());
                let parent = parent.map_or_else(
                    || self.stamp.task().to_owned(),
                    |parent| self.stamp.name(&parent),
                );
                let made = Event::new(Kind::TaskCreated)
                    .with("taskId", own)
                    .with_str("parentTaskId", &parent)
                    .with("initiator", Raw::Ref("\"agent\""));
                self.out.push(made);
            }
            Kind::TaskComplete => {
                let done = Event::new(Kind::TaskComplete).with("taskId", own);
                self.out.push(done.with_some("content", event.get("content").map(Raw::to_owned)));
            }
            Kind::TaskStatus => {
                let Some(state) = TaskState::after(event) else { return };
                // Whoever waits there, waits in the agent's own task here.
                let state = if state.is_terminal() { state } else { TaskState::Working };
                let status = Event::new(Kind::TaskStatus)
                    .with("taskId", own)
                    .with_str("status", state.name())
                    .with_some("message", event.get("message").map(Raw::to_owned));
                self.out.push(status);
            }
            Kind::InputRequired | Kind::ToolInputRequired | Kind::AuthRequired => self.asks(event),
            Kind::LlmUsage | Kind::StepFinished => self.used(event),
            _ => {
                if let Some(said) = self.stamp.event(event, &self.agent) {
                    self.out.push(said.with("taskId", own));
                }
            }
        }
    }

    fn status(&mut self, event: &Event<'_>, whole: bool) {
        let message = event.str("message").map(|message| message.into_owned());
        match TaskState::after(event) {
            Some(TaskState::Working) => {
                if let Some(message) = message {
                    let works = Event::new(Kind::TaskStatus)
                        .with("status", Raw::Ref("\"working\""))
                        .with_str("message", &message);
                    self.out.push(works);
                }
            }
            Some(TaskState::Completed) => self.outcome = Some(Outcome::Done),
            Some(TaskState::Canceled) => self.outcome = Some(Outcome::Canceled),
            Some(TaskState::Failed) => {
                let code = event.str("code").map(|code| code.into_owned());
                let code = code.filter(|code| is_word(code)).unwrap_or("remote_failed".to_owned());
                let message = message.unwrap_or_else(|| "the agent failed".to_owned());
                self.outcome = Some(Outcome::Failed { code, message });
            }
            Some(state @ (TaskState::WaitingInput | TaskState::WaitingAuth)) => {
                self.waits(state, message, whole);
            }
            Some(TaskState::Created | TaskState::WaitingSubtask) | None => {}
        }
    }

    fn fails(&mut self, event: &Event<'_>) {
        let message = event.str("message").unwrap_or_default().into_owned();
        let code = event.get("code").map(|code| code.body().unwrap_or(code.as_str()).to_owned());
        if self.main.is_some() || self.spoke {
            self.says(event);
        }
        self.error = Some((code, message));
    }

    fn used(&mut self, event: &Event<'_>) {
        let Some(more) = Tokens::told(event) else { return };
        let sum = self.tokens.get_or_insert_with(Tokens::default);
        sum.input = sum.input.saturating_add(more.input);
        sum.output = sum.output.saturating_add(more.output);
        if let Some(model) = event.get("model").filter(|model| model.body().is_some()) {
            self.model = Some(model.to_owned());
        }
    }

    /// Anything that the agent says or does.
    fn says(&mut self, event: &Event<'_>) {
        let mut event = event.clone();
        if self.is_known(&mut event) {
            return;
        }
        let Some(said) = self.stamp.event(&event, &self.agent) else { return };
        match event.kind() {
            Kind::PartStarted | Kind::PartFinished => {
                let (Some(id), Some(ty)) = (said.get("partId"), said.get("partType")) else {
                    return;
                };
                let part = (id.to_owned(), ty.to_owned());
                self.open.retain(|open| open.0 != part.0);
                if event.kind() == Kind::PartStarted {
                    self.open.push(part);
                }
            }
            Kind::ToolCall | Kind::ToolComplete => self.call(&event),
            _ => {}
        }
        self.spoke |= !matches!(event.kind(), Kind::Error | Kind::PartFinished);
        self.out.push(said);
    }

    /// Whether an event says only what was said in an earlier round; cuts off what was.
    fn is_known(&self, event: &mut Event<'_>) -> bool {
        let (id, content) = match event.kind() {
            Kind::ContentComplete => ("partId", event.str("content")),
            Kind::Message => ("messageId", None),
            Kind::ToolCall | Kind::ToolCallStarted | Kind::ToolCallDelta | Kind::ToolComplete => {
                ("toolCallId", None)
            }
            _ => return false,
        };
        let Some(before) = event.str(id).and_then(|id| self.before.get(&*id)) else { return false };
        match content.as_deref().map(|content| content.strip_prefix(before.as_str())) {
            None | Some(Some("")) => true,
            Some(Some(more)) => {
                let more = Raw::string(more);
                event.set("content", more);
                false
            }
            // It says something else now.
            Some(None) => false,
        }
    }
}

/// Whether a message of a task that is told whole was told when it was said: only the last word
/// before the end is not.
fn is_past(message: &Event<'_>, whole: bool, rest: &[Event<'_>]) -> bool {
    let agents = message.get("role").is_some_and(|role| role.is("agent"));
    let ends = |event: &Event<'_>| {
        TaskState::after(event).is_some_and(TaskState::is_terminal) && event.kind() != Kind::Message
    };
    let beside = |event: &&Event<'_>| matches!(event.kind(), Kind::System | Kind::PartFinished);
    let next = rest.iter().find(|event| !beside(event));
    !agents || whole && !next.is_some_and(ends)
}

fn closed((id, ty): (Raw<'static>, Raw<'static>)) -> Event<'static> {
    Event::new(Kind::PartFinished).with("partId", id).with("partType", ty)
}

/// Whether a thread's id is the agent's own. A decoder makes one up, of version 8, where the agent
/// says none.
fn told(id: &str) -> bool {
    let made_up = id.len() == 36 && id.as_bytes().get(14) == Some(&b'8');
    (1..=LONGEST_ID).contains(&id.len()) && !made_up
}

/// Whether a code may stand for itself: short, and one word.
fn is_word(code: &str) -> bool {
    (1..=64).contains(&code.len())
        && code.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

fn nonsense(message: &str) -> Failure {
    Failure::nonsense(message)
}

/// The dialect of that id.
pub(super) fn dialect_of(id: dialect::Id) -> Result<&'static Dialect, Failure> {
    dialect::get(id).ok_or_else(|| nonsense("its dialect is not known"))
}
