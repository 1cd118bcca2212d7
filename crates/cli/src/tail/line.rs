//! One event as one line for people.

use selvedge_protocol::journal::Kind;
use selvedge_protocol::json::{Doc, Node};

use super::colour;
use crate::args;
use crate::output::one_line;

/// The most of a text that is shown.
const TEXT: usize = 160;
/// The most of a name.
const NAMES: usize = 40;

/// The line of an event: when, who, what, and what it says.
pub(crate) fn line(event: &str) -> Option<String> {
    let doc = Doc::parse(event).ok()?;
    let event = doc.root();
    let (time, who) = (time(event), who(event));
    let (dim, name, own) = (args::DIM, args::NAME, colour(&who));
    let kind = event.get("kind").and_then(Node::str).unwrap_or_default();
    let (who, kind) = (one_line(&who, NAMES), one_line(&kind, NAMES));
    let says = says(event);
    Some(format!("{dim}{time:<15}{dim:#} {own}{who:<12}{own:#} {name}{kind:<20}{name:#} {says}"))
}

/// The time of day of an event.
pub(super) fn time(event: Node<'_, '_>) -> String {
    let time = event.get("timestamp").and_then(Node::str).unwrap_or_default();
    one_line(time.split('T').nth(1).unwrap_or("").trim_end_matches('Z'), NAMES)
}

/// Whose event it is.
pub(super) fn who(event: Node<'_, '_>) -> String {
    let who = ["agentId", "author", "participantId", "role"].iter();
    let who = who.filter_map(|name| event.get(name).and_then(Node::str)).next();
    who.unwrap_or_default().into_owned()
}

/// What was decided about an envelope: who takes it, for what, and why.
pub(super) fn hop(event: Node<'_, '_>) -> Option<String> {
    event.get("kind").filter(|kind| kind.is(Kind::RouteDecided.name()))?;
    let text = |name: &str| event.get(name).and_then(Node::str);
    let reason = text("reason")?;
    let what = text("intent").or_else(|| text("arrived")).unwrap_or_default();
    Some(match (text("to"), text("task")) {
        (Some(to), Some(task)) => format!("{what} → {to}: {task} ({reason})"),
        (Some(to), None) => format!("{what} → {to} ({reason})"),
        (None, _) => format!("{what} → nobody ({reason})"),
    })
}

/// What an envelope adds to what its task has said: how sure it is, and what may be done next.
pub(super) fn answer(event: Node<'_, '_>) -> Option<String> {
    event.get("answers")?;
    let mut out = event.get("intent").and_then(Node::str)?.into_owned();
    if let Some(score) = event.pointer("/confidence/score") {
        out.push_str(&format!(", confidence {}", score.raw()));
    }
    if let Some(why) = event.pointer("/confidence/rationale").and_then(Node::str) {
        out.push_str(&format!(" ({why})"));
    }
    let next = event.pointer("/outputs/next_actions").into_iter().flat_map(Node::children);
    for action in next {
        let [intent, task] =
            ["intent", "task"].map(|name| action.get(name).and_then(Node::str).unwrap_or_default());
        out.push_str(&format!(", next {intent}: {task}"));
    }
    Some(out)
}

/// What an event says: its text, or what is left when what every event has is taken away.
fn says(event: Node<'_, '_>) -> String {
    if let Some(hop) = hop(event) {
        return one_line(&hop, TEXT);
    }
    if let Some(answer) = answer(event) {
        return one_line(&answer, TEXT);
    }
    for name in ["delta", "content", "message", "prompt", "title", "status"] {
        if let Some(text) = event.get(name).and_then(Node::str).filter(|text| !text.is_empty()) {
            return one_line(&text, TEXT);
        }
    }
    let common = ["kind", "contextId", "timestamp", "taskId", "agentId", "participantId"];
    let rest = event.members().filter(|(key, _)| !common.iter().any(|name| key.is(name)));
    let rest: Vec<String> =
        rest.map(|(key, value)| format!("{}={}", key.body(), value.raw())).collect();
    one_line(&rest.join(" "), TEXT)
}
