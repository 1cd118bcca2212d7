//! The router: who is to take an envelope, and why.
//!
//! The document's rules are the default table: intents to agents, and a second look by another
//! model at what its author is not sure of. Pure: what is decided follows from the envelope and
//! the hops before it, so a routing can be shown and run again from the journal.

use std::collections::BTreeMap;

use selvedge_protocol::dialect::envelope::INTENTS;
use selvedge_protocol::dialect::envelope::route::{Family, Policy};

/// The intent of a second look, and of what has no rule of its own.
const REFLECT: &str = "reflect";

/// The rules, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Which agent takes which intent.
    pub agents: BTreeMap<String, String>,
    /// Confidence below this asks for a second look.
    pub threshold: f64,
    /// Hops of one envelope, at most.
    pub hops: u32,
}

impl Default for Rules {
    fn default() -> Self {
        let Policy { rules, threshold, .. } = Policy::default();
        let agents = rules.into_iter().map(|(intent, family)| {
            let agent = match family {
                Family::Gpt5 => "gpt5",
                Family::Claude => "claude",
                Family::Gemini => "gemini",
            };
            (intent, agent.to_owned())
        });
        Self { agents: agents.collect(), threshold, hops: 8 }
    }
}

/// An envelope that arrived, and how it came here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arrived<'a> {
    /// What it is to advance.
    pub intent: &'a str,
    /// Whether it asks for something, or is the answer of someone who was asked.
    pub stage: Stage,
    /// The model that wrote it, where it was one.
    pub model: Option<&'a str>,
    /// How sure its author is; not to say is not to be unsure.
    pub score: Option<f64>,
    /// Hops before it.
    pub hop: u32,
    /// Models that have seen what it is about.
    pub visited: &'a [String],
}

/// Whether an envelope asks or answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// Someone is to do something.
    #[default]
    Asks,
    /// Someone did.
    Answers,
}

/// What is to happen with an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// An agent is to take it.
    To {
        /// Which.
        agent: String,
        /// With which intent.
        intent: String,
        /// Why.
        reason: String,
    },
    /// Nobody: it is done.
    Done {
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
    /// Decides. `model` says which model an agent thinks with.
    pub fn decide<'m>(
        &self,
        arrived: &Arrived<'_>,
        model: impl Fn(&str) -> Option<&'m str>,
    ) -> Decision {
        if !INTENTS.contains(&arrived.intent) {
            let reason = format!(
                "`{}` is no intent; there are {}",
                short(arrived.intent),
                INTENTS.join(", ")
            );
            return Decision::Refused { code: "unknown_intent", reason };
        }
        if arrived.hop >= self.hops {
            let reason = format!("{} hops were not enough", arrived.hop);
            return Decision::Refused { code: "hop_limit", reason };
        }
        let unsure = arrived.score.filter(|score| *score < self.threshold);
        match (arrived.stage, unsure) {
            // A second look is not looked at again.
            (_, Some(score)) if arrived.intent != REFLECT => {
                self.second_look(arrived, score, model)
            }
            (Stage::Answers, _) => {
                Decision::Done { reason: "it is an answer that its author is sure of".to_owned() }
            }
            (Stage::Asks, _) => self.by_intent(arrived.intent),
        }
    }

    fn by_intent(&self, intent: &str) -> Decision {
        if let Some(agent) = self.agents.get(intent) {
            let reason = format!("`{intent}` goes to {agent}");
            return Decision::To { agent: agent.clone(), intent: intent.to_owned(), reason };
        }
        match self.agents.get(REFLECT) {
            Some(agent) => {
                let reason = format!("`{intent}` has no rule; `{REFLECT}` goes to {agent}");
                Decision::To { agent: agent.clone(), intent: intent.to_owned(), reason }
            }
            None => {
                let reason = format!("neither `{intent}` nor `{REFLECT}` has a rule");
                Decision::Refused { code: "no_rule", reason }
            }
        }
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
        let first = self.agents.get(REFLECT).into_iter();
        let fresh = first.chain(self.agents.values()).find(|agent| !seen(agent));
        match fresh {
            Some(agent) => Decision::To {
                agent: agent.clone(),
                intent: REFLECT.to_owned(),
                reason: format!(
                    "confidence {score} is below {}: {agent} looks again",
                    self.threshold
                ),
            },
            None => Decision::Done {
                reason: format!("confidence {score} is low, but every model has seen it"),
            },
        }
    }
}

fn short(text: &str) -> String {
    selvedge_protocol::validate::brief(text)
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
    fn hops_are_counted() {
        let rules = Rules::default();
        let arrived = Arrived { intent: "plan", hop: 8, ..Arrived::default() };
        assert_eq!(to(rules.decide(&arrived, model)).0, "hop_limit");
    }
}
