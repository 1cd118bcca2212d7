//! Tokens by agent and model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::AddAssign;

use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};

/// Tokens by agent and model.
#[derive(Debug, Default)]
pub struct Usage {
    /// By (agent, model), either empty if unknown.
    pub by: BTreeMap<(String, String), Tokens>,
    /// Tasks whose model calls told their usage; other tellings of the same would count twice.
    told: std::collections::BTreeSet<String>,
}

/// Counts of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tokens {
    /// Read by the model.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from a cache, where told.
    pub cached: u64,
    /// Spent on thinking, where told.
    pub reasoning: u64,
    /// Model calls that told their usage.
    pub calls: u64,
    /// Cost, in whatever currency the source counts.
    pub cost: f64,
}

impl Tokens {
    /// What an event tells of tokens used. An `llm-usage` of a task whose `step-finished` told its
    /// own would count twice. An attempt that is void was paid all the same.
    pub fn told(event: &Event<'_>) -> Option<Self> {
        match event.kind() {
            Kind::AttemptSuperseded => {
                let metadata = event.get("metadata")?.doc()?;
                metadata.root().some("usage").map(tokens)
            }
            Kind::StepFinished | Kind::Message => Some(tokens(event.get("usage")?.doc()?.root())),
            Kind::LlmUsage => {
                let count = |field: &str| {
                    event.get(field).and_then(Raw::i64).and_then(|n| u64::try_from(n).ok())
                };
                let detail = |field: &str, pointer: &str| {
                    let value = event.at(field, pointer)?.i64()?;
                    u64::try_from(value).ok()
                };
                Some(Self {
                    input: count("prompt_tokens").unwrap_or(0),
                    output: count("completion_tokens").unwrap_or(0),
                    cached: detail("prompt_tokens_details", "/cached_tokens").unwrap_or(0),
                    reasoning: detail("completion_tokens_details", "/reasoning_tokens")
                        .unwrap_or(0),
                    calls: 1,
                    cost: event.get("cost").and_then(Raw::f64).unwrap_or(0.0),
                })
            }
            _ => None,
        }
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.calls = self.calls.saturating_add(other.calls);
        self.cost += other.cost;
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, own| {
            sum += own;
            sum
        })
    }
}

/// The model whose tokens an event tells of.
pub fn model_of<'e>(event: &'e Event<'_>) -> Option<Cow<'e, str>> {
    event.str("model").or_else(|| {
        let model = event.at("metadata", "/model").filter(|_| is_void(event))?;
        model.str().map(|model| Cow::Owned(model.into_owned()))
    })
}

fn is_void(event: &Event<'_>) -> bool {
    event.kind() == Kind::AttemptSuperseded
}

impl Usage {
    /// Takes an event in; tells what was counted.
    pub fn apply(&mut self, event: &Event<'_>) -> Option<Tokens> {
        let tokens = Tokens::told(event)?;
        let task = event.get("taskId").map_or_else(String::new, ToString::to_string);
        match event.kind() {
            Kind::LlmUsage if self.told.contains(&task) => return None,
            Kind::StepFinished => {
                self.told.insert(task);
            }
            _ => {}
        }
        let text = |found: Option<Cow<'_, str>>| found.map(|s| s.into_owned()).unwrap_or_default();
        let who = (text(event.str("agentId")), text(model_of(event)));
        *self.by.entry(who).or_default() += tokens;
        Some(tokens)
    }

    /// All tokens together.
    pub fn total(&self) -> Tokens {
        self.by.values().copied().sum()
    }
}

fn tokens(usage: Node<'_, '_>) -> Tokens {
    let count = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| usage.get(name).and_then(Node::i64))
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(0)
    };
    Tokens {
        input: count(&["input_tokens", "prompt_tokens", "inputTokens"]),
        output: count(&["output_tokens", "completion_tokens", "outputTokens"]),
        cached: count(&["cache_read_tokens", "cached_tokens", "cachedInputTokens"]),
        reasoning: count(&["reasoning_tokens", "output_reasoning_tokens", "reasoningTokens"]),
        calls: 1,
        cost: usage
            .some("cost")
            .and_then(|c| c.f64().or_else(|| c.str()?.parse().ok()))
            .unwrap_or(0.0),
    }
}
