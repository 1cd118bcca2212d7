//! Checks of UIMessages: what `validateUIMessages` of ai 5, 6 and 7 asks for.

use super::model;
use crate::diagnostic::Report;
use crate::json::Node;
use crate::validate::{Validator, brief, fields, span};

/// Checks one message after the other.
pub(super) struct Checks;

impl Validator for Checks {
    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        fields(pointer, value, model::MESSAGE, report);
        let Some(parts) = value.get("parts").filter(|p| p.is_array()) else { return };
        if parts.children().next().is_none() {
            let message = "a message without parts";
            report.warning("ai-sdk-no-parts", &format!("{pointer}/parts"), span(parts), message);
        }
        for (i, item) in parts.children().enumerate() {
            part(&format!("{pointer}/parts/{i}"), item, report);
        }
    }
}

fn part(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    fields(pointer, value, model::TYPE, report);
    let Some(kind) = value.get("type").filter(|t| t.is_string()) else { return };
    let name = kind.body();
    let Some(table) = model::part(name) else {
        let message = format!("`{}` is not a part type of ai 5, 6 or 7", brief(name));
        report.error("unknown-value", &format!("{pointer}/type"), span(kind), message);
        return;
    };
    fields(pointer, value, table, report);
    if name == "dynamic-tool" || name.starts_with("tool-") {
        tool(pointer, value, report);
    }
}

fn tool(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    fields(pointer, value, model::TOOL, report);
    let state = value.get("state").map_or("", Node::body);
    let needs: &[&str] = match state {
        "output-available" => &["output"],
        "output-error" => &["errorText"],
        "approval-requested" | "approval-responded" => &["approval"],
        _ => &[],
    };
    for name in needs {
        if value.get(name).is_none() {
            let message = format!("`{name}` is missing in state `{state}`");
            report.error("missing-field", pointer, span(value), message);
        }
    }
    let Some(approval) = value.some("approval") else {
        if state == "output-denied" {
            let message = "a denial without its approval";
            report.warning("ai-sdk-no-approval", pointer, span(value), message);
        }
        return;
    };
    let pointer = format!("{pointer}/approval");
    fields(&pointer, approval, model::APPROVAL, report);
    let answered = approval.get("approved").and_then(Node::bool);
    let wrong = match state {
        "approval-responded" => answered.is_none(),
        "output-denied" => answered != Some(false),
        _ => false,
    };
    if wrong {
        let message = format!("state `{state}` does not go with this answer");
        report.warning("ai-sdk-approval", &pointer, span(approval), message);
    }
}
