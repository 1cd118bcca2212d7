//! The router: who is to take an envelope, and why.
//!
//! The document's rules are the default table: intents to agents, and a second look by another
//! model at what its author is not sure of. Pure: what is decided follows from the envelope and
//! the hops before it, so a routing can be shown and run again from the journal.
//!
//! This is the one place that decides. `fold.rs` says what there is to decide, from the journal
//! alone; `decided.rs` writes decisions down; `answer.rs` makes an envelope of what a task came to;
//! `hear.rs` makes of an envelope what an agent hears; `settle.rs` does what is owed.
//!
//! What a routing may spend is bounded by hops and tasks here; money and tokens are those of its
//! tasks, which budgets count as everyone's.

mod answer;
mod decided;
mod fold;
mod hear;
mod replay;
mod settle;

pub use decided::{Decided, Dispatch, Team};
pub(crate) use fold::is_routed;
pub use fold::{Action, Routing, Taken};
pub(crate) use hear::Hearing;
pub use replay::{Hop, Outcome};
pub(crate) use settle::settle;

use std::collections::BTreeMap;

use selvedge_protocol::dialect::envelope::INTENTS;
use selvedge_protocol::dialect::envelope::route::{Family, Lineage, TABLE, THRESHOLD};

/// The intent of a second look, and of what has no rule of its own.
pub(crate) const REFLECT: &str = "reflect";
/// Hops of a routing, and tasks, unless told.
const HOPS: u32 = 8;
const TASKS: u32 = 64;

/// The rules, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Which agent takes which intent.
    pub agents: BTreeMap<String, String>,
    /// Confidence below this asks for a second look.
    pub threshold: f64,
    /// Hops of one envelope, at most.
    pub hops: u32,
    /// Tasks that may come of one envelope, at most.
    pub tasks: u32,
    /// What becomes of next actions.
    pub next_actions: NextActions,
    /// What answers name as their parents. As the document's mux does, one envelope gives one
    /// answer: nobody looks again, and next actions are only listed.
    pub lineage: Lineage,
}

/// What becomes of next actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NextActions {
    /// The agents here claim those that the rules name them for.
    #[default]
    Claim,
    /// They wait for whoever asks.
    Queue,
}

impl Default for Rules {
    fn default() -> Self {
        let agents = TABLE.iter().map(|(intent, family)| {
            let agent = match family {
                Family::Gpt5 => "gpt5",
                Family::Claude => "claude",
                Family::Gemini => "gemini",
            };
            ((*intent).to_owned(), agent.to_owned())
        });
        Self { agents: agents.collect(), ..Self::none() }
    }
}

/// An envelope that arrived, and how it came here.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrived<'a> {
    /// What it is to advance.
    pub intent: &'a str,
    /// Whether it asks for something, answers, or only proposes.
    pub stage: Stage,
    /// As whose answers are traced.
    pub lineage: Lineage,
    /// The model that wrote it, where it was one.
    pub model: Option<&'a str>,
    /// How sure its author is; not to say is not to be unsure.
    pub score: Option<f64>,
    /// Hops before it.
    pub hop: u32,
    /// Models that have seen what it is about.
    pub visited: &'a [String],
    /// Tasks that have come of the first envelope so far.
    pub made: u32,
}

impl Default for Arrived<'_> {
    fn default() -> Self {
        Self {
            intent: "",
            stage: Stage::Asks,
            lineage: Lineage::Parent,
            model: None,
            score: None,
            hop: 0,
            visited: &[],
            made: 0,
        }
    }
}

/// Whether an envelope asks or answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// Someone is to do something.
    #[default]
    Asks,
    /// Someone did.
    Answers,
    /// Someone proposes what may be done next.
    Proposes,
}

impl Stage {
    /// Its name in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asks => "asks",
            Self::Answers => "answers",
            Self::Proposes => "proposes",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Asks, Self::Answers, Self::Proposes].into_iter().find(|stage| stage.name() == name)
    }
}

/// What is to happen with an envelope. Reasons name no agent: who it is stands beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// An agent is to take it.
    To {
        /// Which.
        agent: String,
        /// With which intent.
        intent: String,
        /// The key of the table that named it.
        rule: String,
        /// Why.
        reason: String,
    },
    /// Nobody: it is done.
    Done {
        /// Why.
        reason: String,
    },
    /// Nobody here: it waits for whoever asks.
    Open {
        /// Why.
        reason: String,
    },
    /// Nobody can: its sender gets an error envelope.
    Refused {
        /// A stable name for why.
        code: &'static str,
        /// Why.
        reason: String,
    },
}

impl Rules {
    /// No agent takes anything.
    pub fn none() -> Self {
        Self {
            agents: BTreeMap::new(),
            threshold: THRESHOLD,
            hops: HOPS,
            tasks: TASKS,
            next_actions: NextActions::default(),
            lineage: Lineage::Parent,
        }
    }

    /// Decides. `model` says which model an agent thinks with.
    pub fn decide<'m>(
        &self,
        arrived: &Arrived<'_>,
        model: impl Fn(&str) -> Option<&'m str>,
    ) -> Decision {
        let mux = arrived.lineage == Lineage::MuxV1;
        // The document's mux lets whatever it does not know be reflected on.
        if !mux && !INTENTS.contains(&arrived.intent) {
            let intent = selvedge_protocol::validate::brief(arrived.intent);
            let reason = format!("`{intent}` is no intent; there are {}", INTENTS.join(", "));
            return Decision::Refused { code: "unknown_intent", reason };
        }
        // A second look is not looked at again.
        let unsure = arrived
            .score
            .filter(|score| *score < self.threshold && arrived.intent != REFLECT && !mux);
        match (arrived.stage, unsure) {
            (Stage::Asks | Stage::Answers, Some(score)) => {
                self.bounded(arrived).unwrap_or_else(|| self.second_look(arrived, score, model))
            }
            (Stage::Answers, None) => {
                let reason = match arrived.score {
                    _ if arrived.intent == REFLECT => "a second look is not looked at again",
                    Some(_) => "its author is sure enough",
                    None => "its author does not say that it is unsure",
                };
                Decision::Done { reason: reason.to_owned() }
            }
            (Stage::Asks, None) => {
                self.bounded(arrived).unwrap_or_else(|| self.by_intent(arrived.intent))
            }
            (Stage::Proposes, _) => self.proposed(arrived, mux),
        }
    }

    /// That there were too many already.
    fn bounded(&self, arrived: &Arrived<'_>) -> Option<Decision> {
        let (code, reason) = if arrived.hop >= self.hops {
            ("hop_limit", format!("{} hops were not enough", arrived.hop))
        } else if arrived.made >= self.tasks {
            ("task_limit", format!("{} tasks were not enough", arrived.made))
        } else {
            return None;
        };
        Some(Decision::Refused { code, reason })
    }

    fn by_intent(&self, intent: &str) -> Decision {
        let to = |agent: &String, rule: &str, reason: String| Decision::To {
            agent: agent.clone(),
            intent: intent.to_owned(),
            rule: rule.to_owned(),
            reason,
        };
        if let Some(agent) = self.agents.get(intent) {
            return to(agent, intent, format!("the rule for `{intent}`"));
        }
        let intent = selvedge_protocol::validate::brief(intent);
        match self.agents.get(REFLECT) {
            Some(agent) => {
                to(agent, REFLECT, format!("`{intent}` has no rule: the one for `{REFLECT}`"))
            }
            None => {
                let reason = format!("neither `{intent}` nor `{REFLECT}` has a rule");
                Decision::Refused { code: "no_rule", reason }
            }
        }
    }

    /// A next action is claimed by whom the rules name for it, and only by them.
    fn proposed(&self, arrived: &Arrived<'_>, mux: bool) -> Decision {
        let open = |reason: &str| Decision::Open { reason: reason.to_owned() };
        if mux {
            return open("the mux leaves next actions to others");
        }
        if self.next_actions == NextActions::Queue {
            return open("next actions wait for whoever asks");
        }
        if !self.agents.contains_key(arrived.intent) {
            return open("no rule names an agent for it");
        }
        self.bounded(arrived).unwrap_or_else(|| self.by_intent(arrived.intent))
    }

    /// Another model is to look, one that has not seen it.
    fn second_look<'m>(
        &self,
        arrived: &Arrived<'_>,
        score: f64,
        model: impl Fn(&str) -> Option<&'m str>,
    ) -> Decision {
        let seen = |agent: &str| {
            let own = model(agent);
            own.is_none_or(|own| {
                arrived.model == Some(own) || arrived.visited.iter().any(|visited| visited == own)
            })
        };
        let Some(first) = self.agents.get(REFLECT) else {
            let reason = format!("confidence {score} is low, but `{REFLECT}` has no rule");
            return Decision::Refused { code: "no_rule", reason };
        };
        let fresh = std::iter::once(first).chain(self.agents.values()).find(|agent| !seen(agent));
        match fresh {
            Some(agent) => Decision::To {
                agent: agent.clone(),
                intent: REFLECT.to_owned(),
                rule: REFLECT.to_owned(),
                reason: format!(
                    "confidence {score} is below {}: another model looks again",
                    self.threshold
                ),
            },
            None => Decision::Done {
                reason: format!("confidence {score} is low, but every model has seen it"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(agent: &str) -> Option<&'static str> {
        Some(match agent {
            "gpt5" => "gpt-5",
            "claude" => "claude-3.7-sonnet",
            "gemini" => "gemini-2.5-pro",
            _ => return None,
        })
    }

    fn to(decision: Decision) -> (String, String) {
        match decision {
            Decision::To { agent, intent, .. } => (agent, intent),
            Decision::Done { .. } => ("nobody".to_owned(), String::new()),
            Decision::Open { .. } => ("open".to_owned(), String::new()),
            Decision::Refused { code, .. } => (code.to_owned(), String::new()),
        }
    }

    fn asks(intent: &str) -> Arrived<'_> {
        Arrived { intent, ..Arrived::default() }
    }

    #[test]
    fn the_documents_rules_are_the_default() {
        let rules = Rules::default();
        for (intent, agent) in [
            ("plan", "gpt5"),
            ("finalize", "gpt5"),
            ("reflect", "gpt5"),
            ("decompose", "claude"),
            ("summarize", "claude"),
            ("analyze", "claude"),
            ("execute", "gemini"),
            ("tool.call", "gemini"),
            ("retrieve", "gemini"),
            // No rule of its own.
            ("route", "gpt5"),
        ] {
            let expected = (agent.to_owned(), intent.to_owned());
            assert_eq!(to(rules.decide(&asks(intent), model)), expected, "{intent}");
        }
        assert_eq!(to(rules.decide(&asks("constructor"), model)).0, "unknown_intent");
        let mut bare = rules.clone();
        bare.agents.remove("reflect");
        assert_eq!(to(bare.decide(&asks("route"), model)).0, "no_rule");
    }

    #[test]
    fn what_its_author_is_not_sure_of_goes_to_a_model_that_has_not_seen_it() {
        let rules = Rules::default();
        let answer = |intent, model, score, visited| Arrived {
            intent,
            stage: Stage::Answers,
            model: Some(model),
            score,
            hop: 1,
            visited,
            ..Arrived::default()
        };
        let decide = |arrived: &Arrived<'_>| to(rules.decide(arrived, model)).0;
        assert_eq!(decide(&answer("execute", "gemini-2.5-pro", Some(0.49), &[])), "gpt5");
        assert_eq!(decide(&answer("execute", "gemini-2.5-pro", Some(0.5), &[])), "nobody");
        assert_eq!(decide(&answer("execute", "gemini-2.5-pro", None, &[])), "nobody");
        // The planner does not look at its own plan.
        assert_eq!(decide(&answer("plan", "gpt-5", Some(0.2), &[])), "claude");
        let seen = ["claude-3.7-sonnet".to_owned()];
        assert_eq!(decide(&answer("plan", "gpt-5", Some(0.2), &seen)), "gemini");
        let all = ["claude-3.7-sonnet".to_owned(), "gemini-2.5-pro".to_owned()];
        assert_eq!(decide(&answer("plan", "gpt-5", Some(0.2), &all)), "nobody");
        // Never a reflection of a reflection.
        assert_eq!(decide(&answer("reflect", "claude-3.7-sonnet", Some(0.1), &[])), "nobody");
    }

    #[test]
    fn hops_and_tasks_are_counted() {
        let rules = Rules::default();
        let arrived = Arrived { intent: "plan", hop: 8, ..Arrived::default() };
        assert_eq!(to(rules.decide(&arrived, model)).0, "hop_limit");
        let arrived = Arrived { intent: "plan", made: 64, ..Arrived::default() };
        assert_eq!(to(rules.decide(&arrived, model)).0, "task_limit");
        // An answer needs no more of either.
        let answer = Arrived { stage: Stage::Answers, hop: 8, ..asks("plan") };
        assert_eq!(to(rules.decide(&answer, model)).0, "nobody");
    }

    #[test]
    fn next_actions_are_claimed_by_whom_a_rule_names_or_left() {
        let mut rules = Rules::default();
        let next = |intent| Arrived { stage: Stage::Proposes, ..asks(intent) };
        let decide = |rules: &Rules, arrived: &Arrived<'_>| to(rules.decide(arrived, model)).0;
        assert_eq!(decide(&rules, &next("execute")), "gemini");
        assert_eq!(decide(&rules, &next("route")), "open");
        let late = Arrived { hop: 8, ..next("execute") };
        assert_eq!(decide(&rules, &late), "hop_limit");
        rules.next_actions = NextActions::Queue;
        assert_eq!(decide(&rules, &next("execute")), "open");
    }

    #[test]
    fn the_mux_reflects_on_what_it_does_not_know_and_looks_at_nothing_twice() {
        let rules = Rules::default();
        let mux = |intent| Arrived { lineage: Lineage::MuxV1, ..asks(intent) };
        let decide = |arrived: &Arrived<'_>| to(rules.decide(arrived, model));
        assert_eq!(decide(&mux("execute")).0, "gemini");
        assert_eq!(decide(&mux("constructor")), ("gpt5".to_owned(), "constructor".to_owned()));
        let unsure = Arrived { stage: Stage::Answers, score: Some(0.1), ..mux("execute") };
        assert_eq!(decide(&unsure).0, "nobody");
    }
}
