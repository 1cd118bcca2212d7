//! What an envelope must hold.

use super::model::{
    AGENT, ARTIFACT, CONFIDENCE, CONTENT, COST, ENVELOPE, INPUTS, NEXT_ACTION, OUTPUTS, RESOURCE,
    TRACE,
};
use crate::diagnostic::Report;
use crate::journal::kind::Field;
use crate::json::Node;
use crate::validate::{self, Validator, brief, span};

/// Checks envelopes one by one: the protocol has no rules across them.
#[derive(Debug, Default)]
pub(super) struct Checks;

impl Validator for Checks {
    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        validate::fields(pointer, value, ENVELOPE, report);
        if !value.is_object() {
            return;
        }
        object(pointer, value, "agent", AGENT, report);
        self.content(pointer, value, report);
        if let Some((pointer, inputs)) = object(pointer, value, "inputs", INPUTS, report) {
            list(&pointer, inputs, "resources", RESOURCE, report);
        }
        if let Some((pointer, outputs)) = object(pointer, value, "outputs", OUTPUTS, report) {
            list(&pointer, outputs, "artifacts", ARTIFACT, report);
            list(&pointer, outputs, "next_actions", NEXT_ACTION, report);
        }
        if let Some((pointer, given)) = object(pointer, value, "confidence", CONFIDENCE, report) {
            strings(&pointer, given, "risks", report);
            if let Some(score) = given.get("score")
                && score.f64().is_some_and(|s| !(0.0..=1.0).contains(&s))
            {
                let message = format!("a score lies between 0 and 1, found {}", brief(score.raw()));
                let pointer = format!("{pointer}/score");
                report.error("envelope-score", &pointer, span(score), message);
            }
        }
        self.trace(pointer, value, report);
    }
}

impl Checks {
    fn content(&self, pointer: &str, envelope: Node<'_, '_>, report: &mut Report) {
        let Some(content) = envelope.get("content") else {
            // The mux and its tests send requests without one.
            let message = "`content` is missing";
            report.error("missing-field", pointer, span(envelope), message);
            return;
        };
        let pointer = format!("{pointer}/content");
        validate::fields(&pointer, content, CONTENT, report);
        let class = content.get("type").and_then(|t| t.str());
        let (wanted, named) = match class.as_deref() {
            Some("text" | "code") => (content.some("text"), "text"),
            Some("json" | "tool_result") => (content.get("data"), "data"),
            _ => return,
        };
        if wanted.is_none() {
            let message = format!("content of this type has its payload in `{named}`");
            report.warning("envelope-payload", &pointer, span(content), message);
        }
    }

    fn trace(&self, pointer: &str, envelope: Node<'_, '_>, report: &mut Report) {
        let Some(trace) = envelope.some("trace") else { return };
        let pointer = format!("{pointer}/trace");
        if trace.is_string() {
            let message = "`trace` is an id; the document has an object with an id";
            report.warning("envelope-trace-string", &pointer, span(trace), message);
            return;
        }
        validate::fields(&pointer, trace, TRACE, report);
        strings(&pointer, trace, "tags", report);
        for (i, parent) in trace.get("parents").into_iter().flat_map(Node::children).enumerate() {
            if !parent.is_string() {
                // What the document's mux writes for a trace without an id.
                let message = "a parent is the id of an envelope";
                let pointer = format!("{pointer}/parents/{i}");
                report.warning("envelope-parent", &pointer, span(parent), message);
            }
        }
        object(&pointer, trace, "cost", COST, report);
    }
}

/// Checks an object inside an object, if it is there.
fn object<'d, 'a>(
    pointer: &str,
    parent: Node<'d, 'a>,
    name: &str,
    table: &[Field],
    report: &mut Report,
) -> Option<(String, Node<'d, 'a>)> {
    let value = parent.get(name).filter(|v| v.is_object())?;
    let pointer = format!("{pointer}/{name}");
    validate::fields(&pointer, value, table, report);
    Some((pointer, value))
}

/// Checks the objects of an array, if it is there.
fn list(pointer: &str, parent: Node<'_, '_>, name: &str, table: &[Field], report: &mut Report) {
    for (i, item) in parent.get(name).into_iter().flat_map(Node::children).enumerate() {
        validate::fields(&format!("{pointer}/{name}/{i}"), item, table, report);
    }
}

/// Checks the strings of an array, if it is there.
fn strings(pointer: &str, parent: Node<'_, '_>, name: &str, report: &mut Report) {
    for (i, item) in parent.get(name).into_iter().flat_map(Node::children).enumerate() {
        if !item.is_string() {
            let message = format!("expected a string, found `{}`", brief(item.raw()));
            report.error("wrong-type", &format!("{pointer}/{name}/{i}"), span(item), message);
        }
    }
}
