//! Gathering events: the transcript, and what else the messages of a model call need.

use std::collections::HashMap;

use super::turns::Side;
use crate::base64;
use crate::journal::transcript::Transcript;
use crate::journal::{Event, Kind};
use crate::json::Raw;

/// A thread so far.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The thread's id.
    pub context: Option<Raw<'static>>,
    /// What was said and done.
    pub transcript: Transcript,
    /// Who took part, in the order they joined.
    pub participants: Vec<Participant>,
    /// What there is, in the order it began.
    pub items: Vec<Item>,
    /// Files that agents wrote.
    pub files: Vec<File>,
    /// Model calls; number `n` of an action's `step` is at `n - 1`.
    pub steps: Vec<Step>,
    current: HashMap<String, u32>,
}

/// Something in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// An action of the transcript.
    Action {
        /// Which.
        index: usize,
        /// Whether it came as one whole message.
        whole: bool,
    },
    /// A system prompt, as an action of the transcript.
    Prompt {
        /// Which.
        index: usize,
    },
    /// Instructions that hold from here on.
    Instructions(Raw<'static>),
    /// A file of [`History::files`].
    File(usize),
    /// Input or output that nothing is in.
    Empty {
        /// Which.
        side: Side,
        /// The task it belongs to.
        task: Option<Raw<'static>>,
        /// What is known of the model call.
        call: Box<Step>,
    },
    /// What is known of the model call that made what came before it, outside any step.
    Call {
        /// Whose.
        task: Option<Raw<'static>>,
        /// What is known.
        step: Box<Step>,
    },
}

/// Someone who takes part.
#[derive(Debug, Clone, Default)]
pub struct Participant {
    /// Their id, decoded.
    pub id: String,
    /// Their name in the thread.
    pub name: Option<String>,
    /// Their identifier in the thread.
    pub identifier: Option<String>,
    /// The model behind them.
    pub model: Option<Raw<'static>>,
}

/// What is known of one model call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// The model.
    pub model: Option<Raw<'static>>,
    /// Its provider.
    pub provider: Option<Raw<'static>>,
    /// Tokens used.
    pub usage: Option<Raw<'static>>,
    /// Why it stopped.
    pub finish: Option<Raw<'static>>,
    /// When it ended.
    pub timestamp: Option<Raw<'static>>,
}

/// A file an agent wrote.
#[derive(Debug, Clone)]
pub struct File {
    /// Its id.
    pub id: Option<Raw<'static>>,
    /// Its task.
    pub task: Option<Raw<'static>>,
    /// Whose it is.
    pub agent: Option<Raw<'static>>,
    /// The model call that made it; 0 for none.
    pub step: u32,
    /// When it began.
    pub timestamp: Option<Raw<'static>>,
    /// What it is.
    pub media_type: Option<Raw<'static>>,
    /// Its bytes so far.
    pub bytes: Vec<u8>,
}

impl History {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event in.
    pub fn apply(&mut self, event: &Event<'_>) {
        let own = |name: &str| event.get(name).map(Raw::to_owned);
        match event.kind() {
            Kind::ThreadCreated => self.context = own("contextId").or(self.context.take()),
            Kind::ParticipantJoined => self.joined(event),
            Kind::FileWrite => return self.file(event),
            Kind::LlmUsage => return self.usage(event),
            Kind::Message if is_instructions(event) => {
                self.items.extend(own("content").map(Item::Instructions));
                return;
            }
            Kind::StepStarted => {
                self.steps.push(Step { model: own("model"), ..Step::default() });
                self.current.insert(task_key(event), self.steps.len() as u32);
            }
            Kind::StepFinished => {
                let known = Step {
                    model: own("model"),
                    provider: own("providerName"),
                    usage: own("usage"),
                    finish: own("finishReason"),
                    timestamp: own("timestamp"),
                };
                self.learn(event, known);
            }
            _ => {}
        }
        let before = self.transcript.actions().len();
        self.transcript.apply(event, &mut Vec::new());
        let prompt = event.kind() == Kind::Message
            && event.get("role").is_some_and(|role| role.is("system"));
        let whole = event.kind() == Kind::Message;
        for index in before..self.transcript.actions().len() {
            self.items.push(if prompt {
                Item::Prompt { index }
            } else {
                Item::Action { index, whole }
            });
        }
        if event.kind() == Kind::ContentComplete && event.get("finishReason").is_some() {
            self.learn(event, Step { finish: own("finishReason"), ..Step::default() });
        }
    }

    /// Takes in that a model was given nothing, or that the last call said nothing.
    pub fn silence(&mut self, side: Side, task: Option<Raw<'static>>, at: Option<Raw<'static>>) {
        let call = self.steps.last().filter(|_| side == Side::Output).cloned();
        let mut call = Box::new(call.unwrap_or_default());
        call.timestamp = call.timestamp.take().or(at);
        self.items.push(Item::Empty { side, task, call });
    }

    /// Whom an agent's id, identifier or name means, as an id.
    pub fn resolve<'s>(&'s self, agent: &'s str) -> &'s str {
        let by = |key: fn(&Participant) -> Option<&str>| {
            self.participants.iter().find(|p| key(p) == Some(agent)).map(|p| p.id.as_str())
        };
        by(|p| Some(&p.id))
            .or_else(|| by(|p| p.identifier.as_deref()))
            .or_else(|| by(|p| p.name.as_deref()))
            .unwrap_or(agent)
    }

    /// The participant with that id.
    pub fn participant(&self, id: &str) -> Option<&Participant> {
        self.participants.iter().find(|p| p.id == id)
    }

    fn joined(&mut self, event: &Event<'_>) {
        let Some(id) = event.str("participantId") else { return };
        let at = match self.participants.iter().position(|p| p.id == id) {
            Some(at) => at,
            None => {
                self.participants
                    .push(Participant { id: id.into_owned(), ..Participant::default() });
                self.participants.len() - 1
            }
        };
        let Some(who) = self.participants.get_mut(at) else { return };
        who.name = event.str("name").map(|s| s.into_owned()).or(who.name.take());
        who.identifier = event.str("identifier").map(|s| s.into_owned()).or(who.identifier.take());
        who.model = event.get("model").map(Raw::to_owned).or(who.model.take());
    }

    /// Adds what an event says of the model call it belongs to.
    fn learn(&mut self, event: &Event<'_>, known: Step) {
        let step = self.current.get(&task_key(event)).copied().unwrap_or(0);
        match self.steps.get_mut((step as usize).wrapping_sub(1)) {
            Some(step) => step.add(&known),
            None => self.items.push(Item::Call {
                task: event.get("taskId").map(Raw::to_owned),
                step: Box::new(known),
            }),
        }
    }

    fn usage(&mut self, event: &Event<'_>) {
        let mut usage = String::from("{");
        for (name, value) in event.fields() {
            let usage_field = name.ends_with("_tokens") || name == "cost";
            if usage_field {
                let comma = if usage.len() > 1 { "," } else { "" };
                usage.push_str(&format!("{comma}\"{name}\":{value}"));
            }
        }
        usage.push('}');
        let known = Step {
            model: event.get("model").map(Raw::to_owned),
            usage: Some(Raw::owned(usage)),
            ..Step::default()
        };
        self.learn(event, known);
    }

    fn file(&mut self, event: &Event<'_>) {
        let Some(data) = event.str("data") else { return };
        let bytes = match event.get("encoding") {
            Some(encoding) if encoding.is("base64") => base64::decode(&data),
            _ => None,
        };
        let bytes = bytes.unwrap_or_else(|| data.as_bytes().to_vec());
        let id = event.get("artifactId").map(Raw::to_owned);
        let first = event.get("index").and_then(Raw::i64).unwrap_or(0) == 0;
        if !first && let Some(file) = self.files.iter_mut().rev().find(|f| f.id == id) {
            file.bytes.extend_from_slice(&bytes);
            return;
        }
        self.items.push(Item::File(self.files.len()));
        let own = |name: &str| event.get(name).map(Raw::to_owned);
        self.files.push(File {
            id,
            task: own("taskId"),
            agent: own("agentId"),
            step: self.current.get(&task_key(event)).copied().unwrap_or(0),
            timestamp: own("timestamp"),
            media_type: own("mimeType"),
            bytes,
        });
    }
}

impl Step {
    /// Adds what is not known yet.
    pub fn add(&mut self, other: &Self) {
        let fill = |mine: &mut Option<Raw<'static>>, theirs: &Option<Raw<'static>>| {
            if theirs.is_some() {
                mine.clone_from(theirs);
            }
        };
        fill(&mut self.model, &other.model);
        fill(&mut self.provider, &other.provider);
        fill(&mut self.usage, &other.usage);
        fill(&mut self.finish, &other.finish);
        fill(&mut self.timestamp, &other.timestamp);
    }
}

/// Whether a system message gives the instructions that hold from here on.
fn is_instructions(event: &Event<'_>) -> bool {
    event.get("metadata").is_some_and(|m| m.as_str() == "{\"instructions\":true}")
}

fn task_key(event: &Event<'_>) -> String {
    event.get("taskId").map_or_else(String::new, ToString::to_string)
}
