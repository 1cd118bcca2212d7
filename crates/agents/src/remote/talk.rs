//! What is said to an agent elsewhere, and what comes of it, whatever it speaks.

use selvedge_protocol::journal::Event;
use selvedge_protocol::json::Raw;
use selvedge_protocol::perspective::Part;
use tokio::sync::{mpsc, oneshot};

use crate::model::{Failure, FailureKind};
use crate::turn::Answer;

/// What is to be said, and what is known.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    /// Our task.
    pub(super) task: String,
    /// Our thread, as the agent is to know it.
    pub(super) thread: String,
    /// Which round of the task, from 1; the same when it is tried again.
    pub(super) round: u32,
    /// Which attempt of all; never the same.
    pub(super) attempt: u32,
    pub(super) say: Say,
    /// Whether it is known that the same was never said before.
    pub(super) tried: Tried,
    pub(super) known: Ids,
    /// What the agent said in earlier rounds, by its own names for the parts.
    pub(super) before: Vec<(String, String)>,
}

/// What is to be said.
#[derive(Debug, Clone)]
pub(super) enum Say {
    /// This.
    Parts(Vec<Part>),
    /// The answers to what it asked.
    Answers(Vec<Answered>),
    /// Nothing: what became of it is to be found out.
    Nothing,
}

/// Whether the same may have been said before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tried {
    Never,
    Maybe,
}

/// A question of the agent's and the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answered {
    /// What the agent calls it.
    pub(super) id: Option<String>,
    pub(super) answer: Answer,
}

impl Answered {
    /// The answer in words.
    pub(super) fn words(&self) -> String {
        let Answer::Value(text) = &self.answer else { return String::new() };
        let value = Raw::owned(text.as_str());
        match (value.str(), value.bool()) {
            (Some(said), _) => said.into_owned(),
            (None, Some(true)) => "yes".to_owned(),
            (None, Some(false)) => "no".to_owned(),
            (None, None) => text.clone(),
        }
    }
}

/// What an agent elsewhere calls things.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ids {
    /// The conversation.
    pub(super) thread: Option<String>,
    /// Its task, or run.
    pub(super) task: Option<String>,
    /// How far it is known to have heard what is said in this round.
    pub(super) reached: Reached,
}

/// How far a round has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Reached {
    /// Nothing is known.
    #[default]
    Nothing,
    /// The message is there, and nothing was asked yet.
    Message,
    /// The agent has taken it up.
    Taken,
}

/// How it ended.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    /// The agent has done what it was asked.
    Done,
    /// It has not.
    Failed { code: String, message: String },
    /// It was stopped there.
    Canceled,
    /// It asks; each is an event of ours.
    Asks(Vec<Event<'static>>),
}

/// What is passed on while an agent speaks.
pub(super) enum Heard {
    /// Events of ours.
    Events(Vec<Event<'static>>),
    /// What things are called there. Told back when it is in the journal.
    Known(Ids, oneshot::Sender<()>),
}

/// Where what is heard goes.
pub(super) struct Out(pub(super) mpsc::Sender<Heard>);

impl Out {
    /// Passes events on.
    pub(super) async fn say(&self, events: Vec<Event<'static>>) -> Result<(), Failure> {
        if events.is_empty() {
            return Ok(());
        }
        self.0.send(Heard::Events(events)).await.map_err(|_| gone())
    }

    /// Passes ids on, and waits until they are in the journal.
    pub(super) async fn know(&self, ids: Ids) -> Result<(), Failure> {
        let (told, done) = oneshot::channel();
        self.0.send(Heard::Known(ids, told)).await.map_err(|_| gone())?;
        done.await.map_err(|_| gone())
    }
}

fn gone() -> Failure {
    Failure::new(FailureKind::Connection, "nobody listens any more")
}
