//! The document's routing table as data, and what an answer's trace is.
//!
//! Who decides is the router of `selvedge-agents`; here is only what the document says. Where its
//! mux goes wrong, this does not: parents are ids, and what has none has no parent.

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
    /// The family of a model, by its name.
    pub fn of_model(model: &str) -> Option<Self> {
        let model = model.to_ascii_lowercase();
        [("gpt", Self::Gpt5), ("claude", Self::Claude), ("gemini", Self::Gemini)]
            .into_iter()
            .find(|(prefix, _)| model.starts_with(prefix))
            .map(|(_, family)| family)
    }
}

/// The document's table: which family takes which intent.
pub const TABLE: &[(&str, Family)] = &[
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

/// Confidence below this is reflected on.
pub const THRESHOLD: f64 = 0.5;

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

impl Lineage {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parent => "parent",
            Self::MuxV1 => "mux-v1",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Parent, Self::MuxV1].into_iter().find(|lineage| lineage.name() == name)
    }
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

/// The parents that an answer to `request` has, as a JSON array.
pub fn parents(request: Node<'_, '_>, lineage: Lineage) -> String {
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
