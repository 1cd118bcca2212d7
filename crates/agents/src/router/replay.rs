//! A routing once more, from the journal alone: what was decided, and what other rules would have.

use selvedge_protocol::dialect::envelope::route::Lineage;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;

use super::{Arrived, Decision, Rules, Stage};

/// One decision, with all that it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Hop {
    /// The envelope.
    pub message: String,
    /// Which of its next actions, if it is about one.
    pub action: Option<u64>,
    /// What is to be done.
    pub task: Option<String>,
    /// Whether it asked, answered or was proposed.
    pub stage: Stage,
    /// As whose answers are traced.
    pub lineage: Lineage,
    /// The intent it arrived with.
    pub arrived: String,
    /// The intent with which it went on.
    pub intent: Option<String>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// How sure its author was.
    pub score: Option<f64>,
    /// Hops before it.
    pub hop: u32,
    /// Models that had seen what it is about.
    pub visited: Vec<String>,
    /// Tasks that had come of the first envelope.
    pub made: u32,
    /// Who took it.
    pub to: Option<String>,
    /// The rule that named them.
    pub rule: Option<String>,
    /// Why nobody could.
    pub code: Option<String>,
    /// Why.
    pub reason: String,
    /// The task that was made.
    pub made_task: Option<String>,
}

/// What rules say to a decision that was made.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The same.
    Same,
    /// It was somebody's own decision.
    NotOurs,
    /// Something else.
    Differs(Decision),
}

impl Hop {
    /// The decision that an event tells.
    pub fn of(event: &Event<'_>) -> Option<Self> {
        if event.kind() != Kind::RouteDecided {
            return None;
        }
        let text = |name: &str| event.str(name).map(|text| text.into_owned());
        let number = |name: &str| {
            let number = event.get(name).and_then(Raw::i64).unwrap_or(0);
            u32::try_from(number).unwrap_or(0)
        };
        let visited = event.get("visited").and_then(|visited| visited.doc());
        let visited = visited.iter().flat_map(|doc| doc.root().children());
        Some(Self {
            message: text("messageId")?,
            action: event.get("action").and_then(Raw::i64).and_then(|n| u64::try_from(n).ok()),
            task: text("task"),
            stage: text("stage").and_then(|stage| Stage::named(&stage)).unwrap_or_default(),
            lineage: text("mode").and_then(|m| Lineage::named(&m)).unwrap_or(Lineage::Parent),
            arrived: text("arrived").or_else(|| text("intent")).unwrap_or_default(),
            intent: text("intent"),
            model: text("model"),
            score: event.get("score").and_then(Raw::f64),
            hop: number("hop"),
            visited: visited.filter_map(|v| v.str()).map(|v| v.into_owned()).collect(),
            made: number("made"),
            to: text("to"),
            rule: text("rule"),
            code: text("code"),
            reason: text("reason").unwrap_or_default(),
            made_task: text("taskId"),
        })
    }

    /// Decides again.
    pub fn again<'m>(&self, rules: &Rules, model: impl Fn(&str) -> Option<&'m str>) -> Outcome {
        if self.rule.as_deref() == Some("claim") {
            return Outcome::NotOurs;
        }
        let arrived = Arrived {
            intent: &self.arrived,
            stage: self.stage,
            lineage: self.lineage,
            model: self.model.as_deref(),
            score: self.score,
            hop: self.hop,
            visited: &self.visited,
            made: self.made,
        };
        let decision = rules.decide(&arrived, model);
        let same = match &decision {
            Decision::To { agent, intent, .. } => {
                self.to.as_ref() == Some(agent) && self.intent.as_ref() == Some(intent)
            }
            Decision::Done { .. } | Decision::Open { .. } => {
                self.to.is_none() && self.code.is_none()
            }
            Decision::Refused { code, .. } => self.code.as_deref() == Some(code),
        };
        if same { Outcome::Same } else { Outcome::Differs(decision) }
    }
}
