//! Decisions written down: events that say who takes what, why, and all that it was decided from.

use selvedge_protocol::dialect::envelope::route::{self, Lineage};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Node, Raw, quote};

use super::fold::{Action, Envelope, Routing, task_id};
use super::{Arrived, Decision, Rules, Stage};

/// Who says what goes wrong with a routing.
const ROUTER: &str = "router";

/// The agents that can be given tasks, and the rules by which they are.
pub trait Team: Sync {
    /// The rules.
    fn rules(&self) -> &Rules;

    /// The model that an agent thinks with, where it is known.
    fn model(&self, agent: &str) -> Option<&str>;
}

/// What was decided about an envelope: the events that say so, in order.
#[derive(Debug, Default)]
pub struct Decided {
    /// To be appended together with the envelope, or not at all.
    pub events: Vec<Event<'static>>,
    /// Why nobody can take it: a code and a reason.
    pub refused: Option<(&'static str, String)>,
}

impl Routing {
    /// Decides about an envelope that was taken in and that nobody has decided about. `request` is
    /// the envelope as it was sent, where it was: its parents are told as the document's mux does.
    pub fn decide(
        &self,
        id: &str,
        team: &dyn Team,
        lineage: Lineage,
        request: Option<Node<'_, '_>>,
    ) -> Decided {
        let Some(envelope) = self.envelopes.get(id) else { return Decided::default() };
        let event = &envelope.event;
        let answered = event.str("answers").and_then(|task| self.routes.get(&*task));
        let said = event.str("intent").unwrap_or_default();
        // What was asked as a second look is one, whatever its author calls it.
        let intent = match answered {
            Some(route) if route.intent == super::REFLECT => super::REFLECT,
            _ => &*said,
        };
        let stage = match answered {
            Some(_) => Stage::Answers,
            None => self.stage(envelope),
        };
        let author = event.str("agentId").or_else(|| event.str("author"));
        let model = author.as_deref().and_then(|author| {
            self.models.get(author).map(String::as_str).or_else(|| team.model(author))
        });
        let score = event.at("confidence", "/score").and_then(|score| score.f64());
        let arrived = Arrived {
            intent,
            stage,
            lineage,
            model,
            score,
            hop: envelope.place.hop,
            visited: &envelope.place.visited,
            made: self.made(envelope),
        };
        let decision = team.rules().decide(&arrived, |agent| team.model(agent));
        let parents = match request {
            Some(request) => route::parents(request, lineage),
            None => format!("[{}]", quote(id)),
        };
        let mut all = Decided::default();
        let asked =
            Asked { id, action: None, parents: &parents, threshold: team.rules().threshold };
        all.add(&asked, &arrived, &decision);
        match &decision {
            Decision::Refused { code, reason } => {
                all.refused = Some((code, reason.clone()));
                all.events.push(error(id, code, reason));
            }
            // What its author is not sure of is not built upon.
            Decision::To { rule, .. } if stage == Stage::Answers && rule == super::REFLECT => {}
            Decision::Done { .. } | Decision::To { .. } | Decision::Open { .. } => {
                self.next_actions(envelope, &arrived, team, &mut all);
            }
        }
        all
    }

    fn next_actions(
        &self,
        envelope: &Envelope,
        arrived: &Arrived<'_>,
        team: &dyn Team,
        all: &mut Decided,
    ) {
        let parents = |action: &Action| format!("[{}]", quote(&action.message));
        for action in &envelope.actions {
            let proposed = Arrived {
                intent: &action.intent,
                stage: Stage::Proposes,
                model: None,
                score: None,
                visited: &[],
                made: self.made(envelope) + all.tasks(),
                ..arrived.clone()
            };
            let decision = team.rules().decide(&proposed, |agent| team.model(agent));
            let asked = Asked {
                id: &action.message,
                action: Some(action),
                parents: &parents(action),
                threshold: team.rules().threshold,
            };
            all.add(&asked, &proposed, &decision);
        }
    }

    /// The events with which someone claims a next action that is open.
    pub fn claim(&self, action: &Action, agent: &str, dispatch: Dispatch) -> Vec<Event<'static>> {
        let Some(envelope) = self.envelopes.get(&action.message) else { return Vec::new() };
        let arrived = Arrived {
            intent: &action.intent,
            stage: Stage::Proposes,
            hop: envelope.place.hop,
            made: self.made(envelope),
            ..Arrived::default()
        };
        let decision = Decision::To {
            agent: agent.to_owned(),
            intent: action.intent.clone(),
            rule: "claim".to_owned(),
            reason: "it was asked for".to_owned(),
        };
        let parents = format!("[{}]", quote(&action.message));
        let asked =
            Asked { id: &action.message, action: Some(action), parents: &parents, threshold: 0.0 };
        let mut all = Decided::default();
        all.add(&asked, &arrived, &decision);
        match dispatch {
            Dispatch::Here => all.events,
            Dispatch::Elsewhere => {
                all.events.retain(|event| event.kind() == Kind::RouteDecided);
                all.events.into_iter().map(without_task).collect()
            }
        }
    }

    fn made(&self, envelope: &Envelope) -> u32 {
        self.made.get(&envelope.place.root).copied().unwrap_or(0)
    }

    /// An envelope asks, unless it says what an agent or a tool did, or answers one that was given
    /// to its author.
    fn stage(&self, envelope: &Envelope) -> Stage {
        let event = &envelope.event;
        let works = event.get("role").is_some_and(|role| role.is("agent") || role.is("tool"));
        let author = event.str("agentId").or_else(|| event.str("author"));
        let asked = |parent: &str| {
            let claimed = self.envelopes.get(parent).into_iter().flat_map(|e| &e.actions);
            let mut claimed = claimed.filter_map(|action| action.taken.as_ref());
            claimed.any(|taken| Some(&*taken.by) == author.as_deref())
        };
        let parents = event.at("trace", "/parents");
        let parents = parents.as_ref().and_then(Raw::doc);
        let mut parents = parents.iter().flat_map(|doc| doc.root().children());
        let answers = parents.any(|parent| parent.str().is_some_and(|parent| asked(&parent)));
        if works && (answers || event.get("outputs").is_some()) {
            Stage::Answers
        } else {
            Stage::Asks
        }
    }
}

/// Whether a claimed action is done by an agent of this desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatch {
    /// It is, in a task.
    Here,
    /// Whoever claimed it does it, and sends an envelope.
    Elsewhere,
}

/// What is decided about.
struct Asked<'a> {
    id: &'a str,
    action: Option<&'a Action>,
    parents: &'a str,
    threshold: f64,
}

impl Decided {
    /// Tasks that are made.
    fn tasks(&self) -> u32 {
        let made = self.events.iter().filter(|event| event.kind() == Kind::TaskCreated);
        u32::try_from(made.count()).unwrap_or(u32::MAX)
    }

    fn add(&mut self, asked: &Asked<'_>, arrived: &Arrived<'_>, decision: &Decision) {
        let number = |n: u32| Raw::owned(n.to_string());
        let visited: Vec<String> = arrived.visited.iter().map(|model| quote(model)).collect();
        let mut event = Event::new(Kind::RouteDecided).with_str("messageId", asked.id);
        if let Some(action) = asked.action {
            event = event
                .with("action", Raw::owned(action.number.to_string()))
                .with_str("task", &action.task);
        }
        event = event
            .with_str("stage", arrived.stage.name())
            .with_str("arrived", arrived.intent)
            .with_str("mode", arrived.lineage.name())
            .with("hop", number(arrived.hop))
            .with("visited", Raw::owned(format!("[{}]", visited.join(","))))
            .with("made", number(arrived.made))
            .with("threshold", Raw::owned(asked.threshold.to_string()));
        if let Some(model) = arrived.model {
            event = event.with_str("model", model);
        }
        if let Some(score) = arrived.score {
            event = event.with("score", Raw::owned(score.to_string()));
        }
        let reason = match decision {
            Decision::To { agent, intent, rule, reason } => {
                let number = asked.action.map(|action| action.number);
                let task = task_id(asked.id, number, agent);
                self.events.push(
                    Event::new(Kind::TaskCreated)
                        .with_str("taskId", &task)
                        .with_str("agentId", agent)
                        .with("initiator", Raw::Ref("\"agent\""))
                        .with_str("messageId", asked.id)
                        .with("dispatched", Raw::Ref("true")),
                );
                event = event
                    .with_str("taskId", &task)
                    .with_str("to", agent)
                    .with_str("intent", intent)
                    .with_str("rule", rule)
                    .with("parents", Raw::owned(asked.parents.to_owned()));
                reason
            }
            Decision::Refused { code, reason } => {
                event = event.with_str("code", code);
                reason
            }
            Decision::Done { reason } | Decision::Open { reason } => reason,
        };
        self.events.push(event.with_str("reason", reason));
    }
}

fn without_task(event: Event<'static>) -> Event<'static> {
    let mut out = Event::new(event.kind());
    for (name, value) in event.fields().filter(|(name, _)| *name != "taskId") {
        out.set(name.to_owned(), value.to_owned());
    }
    out
}

/// The envelope that says why nobody takes another.
fn error(id: &str, code: &str, reason: &str) -> Event<'static> {
    let own = selvedge_protocol::ident::from_text(&format!("{id}/{code}"));
    let content = format!(
        "[{{\"type\":\"text\",\"text\":{}}},{{\"type\":\"data\",\"data\":{{\"code\":{}}}}}]",
        quote(reason),
        quote(code)
    );
    let trace = format!("{{\"parents\":[{}],\"id\":{}}}", quote(id), quote(&own));
    Event::new(Kind::Message)
        .with_str("messageId", &own)
        .with("role", Raw::Ref("\"system\""))
        .with_str("author", ROUTER)
        .with("content", Raw::owned(content))
        .with("contentType", Raw::Ref("\"error\""))
        .with_str("intent", super::REFLECT)
        .with_str("task", "Say why nobody takes an envelope")
        .with("trace", Raw::owned(trace))
}
