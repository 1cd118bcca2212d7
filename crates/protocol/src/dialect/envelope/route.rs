//! The document's routing rules as data: which model family an envelope goes to next.
//!
//! Pure functions; whoever sends the envelopes keeps the [`Trail`]. Where the document's mux goes
//! wrong, this does not: a rule is one of the table's own keys (`constructor` is none), a missing
//! `reflect` rule is an answer and no exception, parents are ids, and a chain of low confidence
//! ends.

use std::collections::BTreeSet;

use crate::json::{Node, Raw, Style, print, quote};

use super::model::PROTOCOL;

/// A family of models that the rules name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Planner and controller.
    Gpt5,
    /// Structure and clarity.
    Claude,
    /// Fast tools, search and code execution.
    Gemini,
}

impl Family {
    /// Every family, in the order they are asked to reflect.
    pub const ALL: [Family; 3] = [Family::Gpt5, Family::Claude, Family::Gemini];

    /// The family of a model, by its name.
    pub fn of_model(model: &str) -> Option<Self> {
        let model = model.to_ascii_lowercase();
        [("gpt", Self::Gpt5), ("claude", Self::Claude), ("gemini", Self::Gemini)]
            .into_iter()
            .find(|(prefix, _)| model.starts_with(prefix))
            .map(|(_, family)| family)
    }
}

/// Where intents go, and when to think again.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Intent to family.
    pub rules: Vec<(String, Family)>,
    /// Confidence below this is reflected on.
    pub threshold: f64,
    /// Envelopes that a chain may have.
    pub hop_limit: usize,
}

/// The document's table.
const RULES: &[(&str, Family)] = &[
    ("plan", Family::Gpt5),
    ("reflect", Family::Gpt5),
    ("finalize", Family::Gpt5),
    ("decompose", Family::Claude),
    ("summarize", Family::Claude),
    ("analyze", Family::Claude),
    ("execute", Family::Gemini),
    ("tool.call", Family::Gemini),
    ("retrieve", Family::Gemini),
];

impl Default for Policy {
    /// The document's rules: below 0.5 is low, and a chain ends after 16 hops.
    fn default() -> Self {
        let rules = RULES.iter().map(|(intent, to)| ((*intent).to_owned(), *to)).collect();
        Self { rules, threshold: 0.5, hop_limit: 16 }
    }
}

impl Policy {
    /// The family that a rule names.
    pub fn rule(&self, intent: &str) -> Option<Family> {
        self.rules.iter().find(|(key, _)| key == intent).map(|(_, family)| *family)
    }
}

/// Where a chain of envelopes has been.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    /// Envelopes so far.
    pub hops: usize,
    /// Families that answered already.
    pub visited: BTreeSet<Family>,
}

/// What to do with an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Pass it on for what it intends.
    Forward {
        /// The rule that matched: the envelope's intent, or `reflect` where it has none.
        rule: String,
        /// To whom.
        to: Family,
    },
    /// Ask another model to reflect on it, with these parents.
    Reflect {
        /// To whom.
        to: Family,
        /// The envelope's id, as JSON; empty if it has none and one must be minted first.
        parents: Vec<Raw<'static>>,
    },
    /// Go no further.
    Stop(Stop),
}

/// Why an envelope goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// No rule for the intent, and none to reflect.
    NoRule,
    /// The chain is as long as it may be.
    HopLimit,
}

/// Decides where an envelope goes.
///
/// Low confidence goes to `reflect` on a family that neither wrote the envelope nor answered in
/// the chain before; if there is none, or if the envelope is a reflection itself, it goes on by
/// its intent. No confidence is not low confidence.
pub fn decide(envelope: Node<'_, '_>, policy: &Policy, trail: &Trail) -> Decision {
    if trail.hops >= policy.hop_limit {
        return Decision::Stop(Stop::HopLimit);
    }
    let intent = envelope.get("intent").and_then(|i| i.str()).unwrap_or_default();
    let score = envelope.pointer("/confidence/score").and_then(Node::f64);
    if intent != "reflect" && score.is_some_and(|score| score < policy.threshold) {
        let writer = envelope.pointer("/agent/model").and_then(|m| m.str());
        let writer = writer.and_then(|model| Family::of_model(&model));
        let preferred = policy.rule("reflect");
        let other = preferred
            .into_iter()
            .chain(Family::ALL)
            .find(|family| Some(*family) != writer && !trail.visited.contains(family));
        if let Some(to) = other {
            return Decision::Reflect { to, parents: id(envelope).into_iter().collect() };
        }
    }
    let rule = if policy.rule(&intent).is_some() { intent.as_ref() } else { "reflect" };
    match policy.rule(rule) {
        Some(to) => Decision::Forward { rule: rule.to_owned(), to },
        None => Decision::Stop(Stop::NoRule),
    }
}

/// An envelope's id as JSON: `trace.id`, a `trace` that is a string, or a top-level `id`.
pub fn id(envelope: Node<'_, '_>) -> Option<Raw<'static>> {
    let trace = envelope.some("trace");
    let found = trace.and_then(|t| t.some("id")).or(trace).or_else(|| envelope.some("id"));
    found.filter(|id| id.is_string()).map(|id| Raw::owned(id.raw()))
}

/// Which ancestors an answer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lineage {
    /// The envelope it answers: the rules' text and the examples.
    Parent,
    /// All of them, and whatever stands for an id: what the document's mux does.
    MuxV1,
}

/// The answer as it leaves the router: `answer` with the protocol's name, and a trace that has
/// `new_id` (a JSON string) and the parents it has as the answer to `request`.
pub fn traced(
    answer: Node<'_, '_>,
    request: Node<'_, '_>,
    new_id: &Raw<'_>,
    lineage: Lineage,
) -> Raw<'static> {
    let parents = parents(request, lineage);
    let trace = answer.some("trace").filter(|t| t.is_object());
    let trace = with(trace, &[("parents", parents), ("id", new_id.to_string())]);
    Raw::owned(with(Some(answer), &[("protocol", quote(PROTOCOL)), ("trace", trace)]))
}

fn parents(request: Node<'_, '_>, lineage: Lineage) -> String {
    let mut list: Vec<String> = Vec::new();
    match lineage {
        Lineage::Parent => list.extend(id(request).map(|id| id.to_string())),
        Lineage::MuxV1 => {
            let trace = request.some("trace");
            let before = trace.and_then(|t| t.get("parents")).filter(|p| p.is_array());
            list.extend(before.into_iter().flat_map(Node::children).map(compact));
            let own = trace.and_then(|t| t.some("id")).or(trace).or_else(|| request.some("id"));
            list.push(own.map_or_else(|| "\"unknown\"".to_owned(), compact));
        }
    }
    format!("[{}]", list.join(","))
}

/// An object with members set: in their place where they are there, else at the end.
fn with(object: Option<Node<'_, '_>>, set: &[(&str, String)]) -> String {
    let mut out = String::from("{");
    let mut push = |key: &str, value: &str| {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(key);
        out.push(':');
        out.push_str(value);
    };
    let mut there = vec![false; set.len()];
    for (key, value) in object.into_iter().flat_map(Node::members) {
        match set.iter().position(|(name, _)| key.is(name)) {
            // Of repeated members one is left.
            Some(at) if there.get(at) == Some(&true) => {}
            Some(at) => {
                if let (Some(there), Some((_, value))) = (there.get_mut(at), set.get(at)) {
                    *there = true;
                    push(key.raw(), value);
                }
            }
            None => push(key.raw(), &compact(value)),
        }
    }
    for ((name, value), _) in set.iter().zip(there).filter(|(_, there)| !there) {
        push(&quote(name), value);
    }
    out.push('}');
    out
}

fn compact(node: Node<'_, '_>) -> String {
    let mut out = String::with_capacity(node.raw().len());
    print(node, Style::Compact, &mut out);
    out
}
