//! What there is to decide, from the journal alone.
//!
//! Invariant: what is owed follows from the events of the thread and nothing else. Whoever takes
//! it up, here or after a restart, decides about the same.

use std::collections::HashMap;

use selvedge_protocol::dialect::envelope::route::Lineage;
use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Node, Raw};

use super::{REFLECT, Stage};
use crate::turn::Progress;

/// How the ids of tasks begin that the router makes.
const TASK: &str = "route-";
/// Next actions of one envelope that are listed.
const ACTIONS: usize = 64;

/// The envelopes of a thread and what became of them.
#[derive(Debug, Default)]
pub struct Routing {
    pub(super) envelopes: HashMap<String, Envelope>,
    /// Ids in the order they came.
    order: Vec<String>,
    pub(super) routes: HashMap<String, Route>,
    /// Tasks that came of each first envelope.
    pub(super) made: HashMap<String, u32>,
    /// The model that each agent was last said to have.
    pub(super) models: HashMap<String, String>,
}

/// An envelope of the thread.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) event: Event<'static>,
    pub(super) place: Place,
    pub(super) actions: Vec<Action>,
}

/// Where an envelope stands in its routing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Hops before it.
    pub(super) hop: u32,
    /// The first envelope.
    pub(super) root: String,
    /// Models that have seen what it is about.
    pub(super) visited: Vec<String>,
}

/// A next action of an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The envelope that proposes it.
    pub message: String,
    /// Which of its next actions, from 0.
    pub number: usize,
    /// What it is to advance.
    pub intent: String,
    /// What is to be done.
    pub task: String,
    /// With what, as JSON.
    pub args: Option<String>,
    /// Who has claimed it.
    pub taken: Option<Taken>,
}

impl Action {
    /// Names it in its thread.
    pub fn id(&self) -> String {
        format!("{}.{}", self.message, self.number)
    }
}

/// Who has claimed a next action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Who.
    pub by: String,
    /// The task with which it is done, where someone here does it.
    pub task: Option<String>,
}

/// A task that the router made.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) agent: String,
    pub(super) intent: String,
    /// What is to be done.
    pub(super) task: String,
    pub(super) lineage: Lineage,
    /// As a JSON array.
    pub(super) parents: String,
    pub(super) place: Place,
    pub(super) progress: Progress,
    pub(super) end: Option<End>,
    /// What was said of the latest answer beside it.
    pub(super) aside: Option<Raw<'static>>,
    pub(super) artifacts: Vec<Artifact>,
    pub(super) answered: bool,
}

/// How a task ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) state: TaskState,
    pub(super) said: Option<String>,
    pub(super) code: Option<String>,
}

#[derive(Debug)]
pub(super) struct Artifact {
    pub(super) id: String,
    pub(super) kind: &'static str,
    pub(super) name: Option<String>,
}

/// Whether a task is one that the router made, as far as its id tells.
pub(crate) fn is_routed(task: &str) -> bool {
    task.starts_with(TASK)
}

/// The id of the task with which an agent takes an envelope, or one of its next actions.
pub(super) fn task_id(message: &str, action: Option<usize>, agent: &str) -> String {
    let action = action.map_or(String::new(), |number| number.to_string());
    let text = format!("{message}\n{action}\n{agent}");
    format!("{TASK}{}", selvedge_protocol::ident::from_text(&text))
}

impl Routing {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event of the thread in.
    pub fn apply(&mut self, event: &Event<'_>) {
        match event.kind() {
            Kind::Message => self.message(event),
            Kind::RouteDecided => self.decided(event),
            Kind::ParticipantJoined => self.model(event, "participantId"),
            Kind::StepStarted | Kind::StepFinished => self.model(event, "agentId"),
            _ => {}
        }
        let task = event.str("taskId");
        if let Some(route) = task.and_then(|task| self.routes.get_mut(&*task)) {
            route.apply(event);
        }
    }

    /// Tasks whose end nobody has taken up.
    pub fn owed(&self) -> impl Iterator<Item = &str> {
        let owed = self.routes.iter().filter(|(_, route)| route.is_owed());
        owed.map(|(task, _)| task.as_str())
    }

    /// Whether the end of a task is to be taken up.
    pub fn owes(&self, task: &str) -> bool {
        self.routes.get(task).is_some_and(Route::is_owed)
    }

    /// As whose the answers to what a task is about are traced.
    pub(super) fn lineage(&self, task: &str) -> Lineage {
        self.routes.get(task).map_or(Lineage::Parent, |route| route.lineage)
    }

    /// Next actions that nobody has claimed, in the order they came.
    pub fn open(&self) -> impl Iterator<Item = &Action> {
        let envelopes = self.order.iter().filter_map(|id| self.envelopes.get(id));
        envelopes.flat_map(|e| &e.actions).filter(|action| action.taken.is_none())
    }

    /// The next action of that id; of an envelope's, its first.
    pub fn action(&self, id: &str) -> Option<&Action> {
        if let Some(first) = self.envelopes.get(id) {
            return first.actions.first();
        }
        let (message, number) = id.rsplit_once('.')?;
        self.envelopes.get(message)?.actions.get(number.parse::<usize>().ok()?)
    }

    /// The envelope of that id, as an event.
    pub fn envelope(&self, id: &str) -> Option<&Event<'static>> {
        self.envelopes.get(id).map(|envelope| &envelope.event)
    }

    /// The first envelope of the routing that an envelope is of.
    pub fn root<'a>(&'a self, id: &'a str) -> &'a str {
        self.envelopes.get(id).map_or(id, |envelope| &envelope.place.root)
    }

    /// The tasks that came of an envelope and that are not answered, all hops counted.
    pub fn pending(&self, root: &str) -> usize {
        let own = self.routes.values().filter(|route| route.place.root == root);
        own.filter(|route| !route.answered).count()
    }

    fn model(&mut self, event: &Event<'_>, who: &str) {
        if let (Some(agent), Some(model)) = (event.str(who), event.str("model")) {
            self.models.insert(agent.into_owned(), model.into_owned());
        }
    }

    fn message(&mut self, event: &Event<'_>) {
        let Some(id) = event.str("messageId") else { return };
        if event.get("intent").is_none() || self.envelopes.contains_key(&*id) {
            return;
        }
        let id = id.into_owned();
        let place = self.place(&id, event);
        if let Some(route) = event.str("answers").and_then(|task| self.routes.get_mut(&*task)) {
            route.answered = true;
        }
        let actions = actions(&id, event);
        self.order.push(id.clone());
        self.envelopes.insert(id, Envelope { event: event.to_owned(), place, actions });
    }

    /// Where an envelope stands: behind the task it answers, else behind a parent, else first.
    pub(super) fn place(&self, id: &str, event: &Event<'_>) -> Place {
        if let Some(route) = event.str("answers").and_then(|task| self.routes.get(&*task)) {
            return Place { hop: route.place.hop.saturating_add(1), ..route.place.clone() };
        }
        let parents = event.at("trace", "/parents");
        let parents = parents.as_ref().and_then(Raw::doc);
        let mut parents = parents.iter().flat_map(|doc| doc.root().children());
        let parent = parents.find_map(|parent| self.envelopes.get(&*parent.str()?));
        match parent {
            Some(parent) => {
                Place { hop: parent.place.hop.saturating_add(1), ..parent.place.clone() }
            }
            None => Place { root: id.to_owned(), ..Place::default() },
        }
    }

    fn decided(&mut self, event: &Event<'_>) {
        let Some(message) = event.str("messageId").map(|id| id.into_owned()) else { return };
        let text = |name: &str| event.str(name).map(|text| text.into_owned());
        let task = text("taskId");
        let action = event.get("action").and_then(Raw::i64).and_then(|n| usize::try_from(n).ok());
        let Some(envelope) = self.envelopes.get_mut(&message) else { return };
        let Some(to) = text("to") else { return };
        if let Some(action) = action.and_then(|number| envelope.actions.get_mut(number))
            && action.taken.is_none()
        {
            action.taken = Some(Taken { by: to.clone(), task: task.clone() });
        }
        let Some(task) = task.filter(|task| !self.routes.contains_key(task)) else { return };
        let mut place = envelope.place.clone();
        let proposed = text("stage").as_deref() == Some(Stage::Proposes.name());
        if proposed {
            // Other work: nobody has seen it.
            place.visited.clear();
        } else if let Some(model) = text("model")
            && !place.visited.contains(&model)
        {
            place.visited.push(model);
        }
        *self.made.entry(place.root.clone()).or_default() += 1;
        let own = envelope.event.str("task").unwrap_or_default().into_owned();
        let route = Route {
            agent: to,
            intent: text("intent").unwrap_or_else(|| REFLECT.to_owned()),
            task: text("task").unwrap_or(own),
            lineage: text("mode").and_then(|m| Lineage::named(&m)).unwrap_or(Lineage::Parent),
            parents: event.get("parents").map_or("[]", Raw::as_str).to_owned(),
            place,
            progress: Progress::new(&task),
            end: None,
            aside: None,
            artifacts: Vec::new(),
            answered: false,
        };
        self.routes.insert(task, route);
    }
}

impl Route {
    fn is_owed(&self) -> bool {
        self.end.is_some() && !self.answered
    }

    fn apply(&mut self, event: &Event<'_>) {
        self.progress.apply(event);
        let text = |name: &str| event.str(name).map(|text| text.into_owned());
        match event.kind() {
            Kind::StepFinished => self.aside = event.at("metadata", "/envelope"),
            Kind::StepStarted | Kind::AttemptSuperseded => self.aside = None,
            Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite => {
                let kind = match event.kind() {
                    Kind::FileWrite => "file",
                    Kind::DataWrite => "data",
                    _ => "dataset",
                };
                let Some(id) = text("artifactId") else { return };
                match self.artifacts.iter_mut().find(|known| known.id == id) {
                    Some(known) => known.name = known.name.take().or(text("name")),
                    None => self.artifacts.push(Artifact { id, kind, name: text("name") }),
                }
            }
            _ => {}
        }
        if let Some(state) = TaskState::after(event).filter(|state| state.is_terminal())
            && self.end.is_none()
        {
            let said = text("content").or_else(|| text("message"));
            self.end = Some(End { state, said, code: text("code") });
        }
    }
}

/// The next actions of an envelope that say what they are.
fn actions(message: &str, event: &Event<'_>) -> Vec<Action> {
    let list = event.at("outputs", "/next_actions");
    let list = list.as_ref().and_then(Raw::doc);
    let all = list.iter().flat_map(|doc| doc.root().children()).enumerate().take(ACTIONS);
    let action = |(number, action): (usize, Node<'_, '_>)| Action {
        message: message.to_owned(),
        number,
        intent: action.get("intent").and_then(Node::str).unwrap_or_default().into_owned(),
        task: action.get("task").and_then(Node::str).unwrap_or_default().into_owned(),
        args: action.some("args").map(|args| args.raw().to_owned()),
        taken: None,
    };
    all.map(action).collect()
}
