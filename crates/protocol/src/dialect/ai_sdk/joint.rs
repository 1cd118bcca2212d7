//! Agents that answer one message together: what they say is one message of the AI SDK, as a
//! request is answered with one.
//!
//! Invariant: in such a message every text, thought and call has an id of its own, and says whose
//! it is in its provider metadata under `selvedge`.

use std::collections::{HashMap, HashSet};

use super::{json, meta};
use crate::journal::{Event, Kind};
use crate::json::Raw;

/// Fields that name something within a turn only.
const NAMES: [&str; 3] = ["partId", "thoughtId", "toolCallId"];

/// Who answers together with whom. Turns are named by their ids as JSON.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Joint {
    /// The first turn that answers a message, until something else happens.
    latest: Option<First>,
    turns: HashMap<String, Turn>,
}

#[derive(Debug)]
struct First {
    message: String,
    task: String,
    agent: Option<Raw<'static>>,
}

/// A turn that is not alone.
#[derive(Debug)]
struct Turn {
    /// The first of those that answer together: the message has its id.
    lead: String,
    agent: Option<Raw<'static>>,
    /// Texts without an id that it has ended.
    unnamed: u32,
    /// Texts and thoughts that have said whose they are.
    marked: HashSet<String>,
    /// Whether it has said something in words.
    spoke: bool,
}

impl Joint {
    /// The first of the turns that a turn is told together with; none if it is alone.
    pub(in crate::dialect) fn lead(&self, task: &str) -> Option<&str> {
        self.turns.get(task).map(|turn| turn.lead.as_str())
    }

    /// Whether a turn that is told with others has said something in words.
    pub(in crate::dialect) fn spoke(&self, task: &str) -> Option<bool> {
        self.turns.get(task).map(|turn| turn.spoke)
    }

    /// Takes note of an event. Gives it as it is told, where that differs.
    pub(in crate::dialect) fn told(&mut self, event: &Event<'_>) -> Option<Event<'static>> {
        if event.kind() == Kind::TaskCreated {
            self.created(event);
            return None;
        }
        self.latest = None;
        let task = event.get("taskId")?;
        let turn = self.turns.get_mut(task.as_str())?;
        let mut own = event.to_owned();
        if matches!(event.kind(), Kind::ContentDelta | Kind::ContentComplete)
            && event.get("partId").is_none()
        {
            // Said without a name, it would run into what others say.
            own.set("partId", Raw::owned(format!("\"text-{}\"", turn.unnamed)));
        }
        turn.spoke |= matches!(event.kind(), Kind::ContentDelta | Kind::ContentComplete);
        turn.unnamed += u32::from(event.kind() != Kind::ContentDelta);
        if turn.lead != task.as_str() {
            for name in NAMES {
                if let Some(id) = own.get(name).and_then(|id| within(task, id)) {
                    own.set(name, id);
                }
            }
        }
        turn.mark(&mut own);
        Some(own)
    }

    fn created(&mut self, event: &Event<'_>) {
        let (Some(task), Some(message)) = (event.get("taskId"), event.get("messageId")) else {
            return self.latest = None;
        };
        let child = event.get("parentTaskId").is_some_and(|parent| !parent.is_null());
        if child || !meta::is_dispatched(event) {
            return self.latest = None;
        }
        let (task, agent) = (task.to_string(), event.get("agentId").map(Raw::to_owned));
        match &self.latest {
            Some(first) if first.message == message.as_str() => {
                let lead = first.task.clone();
                let turn = |agent| Turn {
                    lead: lead.clone(),
                    agent,
                    unnamed: 0,
                    marked: HashSet::new(),
                    spoke: false,
                };
                let agents = [(lead.clone(), first.agent.clone()), (task, agent)];
                for (task, agent) in agents {
                    self.turns.entry(task).or_insert_with(|| turn(agent));
                }
            }
            _ => self.latest = Some(First { message: message.to_string(), task, agent }),
        }
    }
}

impl Turn {
    /// Says whose a part is, where it begins and where its provider metadata is replaced.
    fn mark(&mut self, event: &mut Event<'static>) {
        let Some(agent) = &self.agent else { return };
        let given = match event.kind() {
            Kind::ToolCall | Kind::ToolCallStarted => meta::provider(event),
            Kind::PartStarted
            | Kind::ContentDelta
            | Kind::ContentComplete
            | Kind::ThoughtStream
            | Kind::PartFinished => {
                let id = event.get("partId").or(event.get("thoughtId")).map(ToString::to_string);
                let new = self.marked.insert(id.unwrap_or_default());
                let given = meta::provider(event);
                if !new && given.is_none() {
                    return;
                }
                given
            }
            _ => return,
        };
        let own = format!("{{\"selvedge\":{{\"agent\":{agent}}}}}");
        let whole = given.map_or_else(|| own.clone(), |given| json::merge(&given, &own));
        let whole = format!("{{\"providerMetadata\":{whole}}}");
        let metadata = match event.get("metadata").filter(|own| own.is_object()) {
            Some(there) => json::merge(there, &whole),
            None => whole,
        };
        event.set("metadata", Raw::owned(metadata));
    }
}

/// The id of something as it is called outside of its turn.
pub(in crate::dialect) fn within(task: &Raw<'_>, id: &Raw<'_>) -> Option<Raw<'static>> {
    Some(Raw::owned(format!("\"{}/{}\"", task.body()?, id.body()?)))
}
