//! What ModelMessages must hold.

use std::collections::HashSet;

use super::encode::is_time;
use super::model::{
    ATTEMPT, BINARY, CITATION, CONTENT, ERROR, FEEDBACK_RETRY, Field, INSTRUCTIONS, Need,
    OWN_RETURNS, REQUEST, REQUEST_PARTS, RESPONSE, RESPONSE_PARTS, SETTINGS, SOURCES, SPOKEN,
    TOOL_RETRY, USAGE, WORKSPACE,
};
use crate::base64;
use crate::diagnostic::Report;
use crate::json::{Node, NodeKind};
use crate::validate::{Validator, brief, check_type, span};

/// Checks messages and parts, and that returns have calls.
#[derive(Debug, Default)]
pub(super) struct Checks {
    calls: HashSet<String>,
}

impl Validator for Checks {
    fn value(&mut self, pointer: &str, message: Node<'_, '_>, report: &mut Report) {
        if !message.is_object() {
            report.error("wrong-type", pointer, span(message), "expected a message object");
            return;
        }
        let Some(kind) = message.get("kind") else {
            report.error("missing-field", pointer, span(message), "`kind` is missing");
            return;
        };
        let (fields, parts) = match kind.str().as_deref() {
            Some("request") => (REQUEST, REQUEST_PARTS),
            Some("response") => (RESPONSE, RESPONSE_PARTS),
            _ => {
                let text = format!("`{}` is not one of request, response", brief(kind.raw()));
                report.error("unknown-value", &format!("{pointer}/kind"), span(kind), text);
                return;
            }
        };
        check(pointer, message, fields, report);
        usage(pointer, message, report);
        each(pointer, message, "failed_attempts", ATTEMPT, report);
        for (i, attempt) in
            message.get("failed_attempts").into_iter().flat_map(Node::children).enumerate()
        {
            usage(&format!("{pointer}/failed_attempts/{i}"), attempt, report);
        }
        if let Some(workspace) = message.some("workspace_ref").filter(|w| w.is_object()) {
            check(&format!("{pointer}/workspace_ref"), workspace, WORKSPACE, report);
        }
        let parts_of = message.get("parts").into_iter().flat_map(Node::children);
        for (i, part) in parts_of.enumerate() {
            self.part(&format!("{pointer}/parts/{i}"), part, parts, report);
        }
    }
}

impl Checks {
    fn part(
        &mut self,
        pointer: &str,
        part: Node<'_, '_>,
        kinds: &[(&str, &[Field])],
        report: &mut Report,
    ) {
        let Some(kind) = tagged(pointer, part, "part_kind", kinds, report) else { return };
        let content = part.get("content");
        let at = |key: &str| format!("{pointer}/{key}");
        match (kind, content) {
            ("user-prompt", Some(content)) => prompt(&at("content"), content, report),
            ("retry-prompt", Some(content)) => {
                feedback(&at("content"), content, report);
                if part.some("tool_name").is_some() {
                    self.returned(pointer, part, report);
                }
            }
            ("retry-feedback", Some(content)) => {
                feedback(&at("content"), content, report);
                if let Some(retry) = part.get("retry").filter(|r| r.is_object()) {
                    check(&at("retry"), retry, FEEDBACK_RETRY, report);
                }
            }
            ("tool-return" | "builtin-tool-return", _) => {
                if let Some(retry) = part.get("retry").filter(|r| r.is_object()) {
                    check(&at("retry"), retry, TOOL_RETRY, report);
                }
                let digests = part.get("content_file_digests");
                for (i, digest) in digests.into_iter().flat_map(Node::children).enumerate() {
                    text(&format!("{pointer}/content_file_digests/{i}"), digest, report);
                }
                let own = part.some("tool_kind").and_then(|k| k.str());
                let own = OWN_RETURNS.iter().find(|(kind, _)| own.as_deref() == Some(*kind));
                if let (Some((_, fields)), Some(content)) = (own, content) {
                    objects(&at("content"), content, fields, report);
                }
                self.returned(pointer, part, report);
            }
            ("text", _) => citations(pointer, part, report),
            ("instruction-baseline", _) => {
                let list = part.get("instructions").into_iter().flat_map(Node::children);
                for (i, instruction) in list.enumerate() {
                    let at = format!("{pointer}/instructions/{i}");
                    tagged(&at, instruction, "part_kind", INSTRUCTIONS, report);
                }
            }
            ("model-settings-delta", _) => {
                if let Some(settings) = part.get("settings").filter(|s| s.is_object()) {
                    check(&at("settings"), settings, SETTINGS, report);
                }
            }
            ("tool-call" | "builtin-tool-call", _) => {
                if let Some(id) = part.get("tool_call_id").and_then(|id| id.str()) {
                    self.calls.insert(id.into_owned());
                }
                let args = part.some("args");
                if let Some(args) = args.filter(|a| !a.is_string() && !a.is_object()) {
                    let text = format!(
                        "expected a string, an object or null, found `{}`",
                        brief(args.raw())
                    );
                    report.error("wrong-type", &at("args"), span(args), text);
                }
            }
            ("file", Some(content)) if content.is_object() => {
                binary(&at("content"), content, report);
            }
            ("speech", _) => {
                if let Some(audio) = part.some("audio").filter(|a| a.is_object()) {
                    binary(&at("audio"), audio, report);
                }
                each(pointer, part, "timestamps", SPOKEN, report);
            }
            ("tool-availability-delta" | "capability-load-delta", _) => {
                for key in ["tools_added", "loaded"] {
                    let names = part.get(key).into_iter().flat_map(Node::children);
                    for (i, name) in names.enumerate() {
                        text(&format!("{pointer}/{key}/{i}"), name, report);
                    }
                }
            }
            _ => {}
        }
    }

    /// A return should answer a call.
    fn returned(&mut self, pointer: &str, part: Node<'_, '_>, report: &mut Report) {
        let Some(id) = part.get("tool_call_id").filter(|id| id.is_string()) else { return };
        let Some(name) = id.str() else { return };
        if !self.calls.contains(name.as_ref()) {
            let text = format!("no tool call has the id `{}`", brief(&name));
            let at = format!("{pointer}/tool_call_id");
            report.warning("pydantic-ai-return-without-call", &at, span(id), text);
        }
    }
}

/// Checks an object by its discriminator, and says which it is. Unknown kinds are only odd.
fn tagged<'k>(
    pointer: &str,
    object: Node<'_, '_>,
    tag: &str,
    kinds: &'k [(&'k str, &'k [Field])],
    report: &mut Report,
) -> Option<&'k str> {
    if !object.is_object() {
        report.error("wrong-type", pointer, span(object), "expected an object");
        return None;
    }
    let Some(kind) = object.get(tag) else {
        report.error("missing-field", pointer, span(object), format!("`{tag}` is missing"));
        return None;
    };
    let Some(name) = kind.str() else {
        text(&format!("{pointer}/{tag}"), kind, report);
        return None;
    };
    let Some((name, fields)) = kinds.iter().find(|(k, _)| *k == name) else {
        let text = format!("the package does not know the {tag} `{}` here", brief(&name));
        report.warning("pydantic-ai-unknown-kind", &format!("{pointer}/{tag}"), span(kind), text);
        return None;
    };
    check(pointer, object, fields, report);
    Some(name)
}

/// Checks an object's fields.
fn check(pointer: &str, object: Node<'_, '_>, fields: &[Field], report: &mut Report) {
    for field in fields {
        let Some(value) = object.get(field.name) else {
            if matches!(field.need, Need::Must | Need::MustOrNull) {
                let text = format!("`{}` is missing", field.name);
                report.error("missing-field", pointer, span(object), text);
            }
            continue;
        };
        if value.is_null() && matches!(field.need, Need::MustOrNull | Need::MayOrNull) {
            continue;
        }
        let at = format!("{pointer}/{}", field.name);
        if value.is_null() {
            report.error("wrong-type", &at, span(value), "null is not allowed here");
        } else if field.name == "timestamp" {
            if !is_time(value.raw()) {
                let text = format!("`{}` is not a time", brief(value.raw()));
                report.error("pydantic-ai-time", &at, span(value), text);
            }
        } else {
            check_type(&at, value, field.ty, report);
        }
    }
}

fn text(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    check_type(pointer, value, crate::journal::kind::Type::Text, report);
}

/// Checks an object that must be one.
fn objects(pointer: &str, value: Node<'_, '_>, fields: &[Field], report: &mut Report) {
    if value.is_object() {
        check(pointer, value, fields, report);
    } else {
        report.error("wrong-type", pointer, span(value), "expected an object");
    }
}

/// Checks the objects of a list, if there is one.
fn each(pointer: &str, object: Node<'_, '_>, name: &str, fields: &[Field], report: &mut Report) {
    for (i, item) in object.get(name).into_iter().flat_map(Node::children).enumerate() {
        objects(&format!("{pointer}/{name}/{i}"), item, fields, report);
    }
}

fn citations(pointer: &str, part: Node<'_, '_>, report: &mut Report) {
    each(pointer, part, "citations", CITATION, report);
    for (i, citation) in part.get("citations").into_iter().flat_map(Node::children).enumerate() {
        let sources = citation.get("sources").into_iter().flat_map(Node::children);
        for (j, source) in sources.enumerate() {
            let at = format!("{pointer}/citations/{i}/sources/{j}");
            tagged(&at, source, "kind", SOURCES, report);
        }
    }
}

fn usage(pointer: &str, object: Node<'_, '_>, report: &mut Report) {
    if let Some(usage) = object.some("usage").filter(|u| u.is_object()) {
        let at = format!("{pointer}/usage");
        check(&at, usage, USAGE, report);
        numbers(&at, usage, report);
    }
}

/// Usage details are whole numbers; a cost is a number, possibly as text.
fn numbers(pointer: &str, usage: Node<'_, '_>, report: &mut Report) {
    let integer = crate::journal::kind::Type::Integer;
    for (key, value) in usage.get("details").into_iter().flat_map(Node::members) {
        check_type(&format!("{pointer}/details/{}", key.body()), value, integer, report);
    }
    let Some(cost) = usage.some("cost") else { return };
    let decimal = match cost.str() {
        Some(text) => text.trim().parse::<f64>().is_ok_and(f64::is_finite),
        None => cost.kind() == NodeKind::Number,
    };
    if !decimal {
        let text = format!("`{}` is not a decimal number", brief(cost.raw()));
        report.error("wrong-type", &format!("{pointer}/cost"), span(cost), text);
    }
}

/// A user's content: text, or a list of text and other things.
fn prompt(pointer: &str, content: Node<'_, '_>, report: &mut Report) {
    if content.is_array() {
        for (i, item) in content.children().enumerate().filter(|(_, item)| !item.is_string()) {
            let at = format!("{pointer}/{i}");
            if item.is_object() && item.get("kind").is_none() {
                let text = "`kind` is missing: the package takes this for a cache point";
                report.warning("pydantic-ai-unknown-kind", &at, span(item), text);
            } else if tagged(&at, item, "kind", CONTENT, report) == Some("binary") {
                bytes(&at, item, report);
            }
        }
    } else if !content.is_string() {
        let text = format!("expected a string or an array, found `{}`", brief(content.raw()));
        report.error("wrong-type", pointer, span(content), text);
    }
}

/// Feedback to a model: text, or a list of errors.
fn feedback(pointer: &str, content: Node<'_, '_>, report: &mut Report) {
    if content.is_array() {
        for (i, error) in content.children().enumerate() {
            let at = format!("{pointer}/{i}");
            objects(&at, error, ERROR, report);
        }
    } else if !content.is_string() {
        let text = format!("expected a string or an array, found `{}`", brief(content.raw()));
        report.error("wrong-type", pointer, span(content), text);
    }
}

fn binary(pointer: &str, object: Node<'_, '_>, report: &mut Report) {
    check(pointer, object, BINARY, report);
    bytes(pointer, object, report);
}

fn bytes(pointer: &str, object: Node<'_, '_>, report: &mut Report) {
    let Some(data) = object.get("data").filter(|data| data.is_string()) else { return };
    if data.str().is_none_or(|text| base64::decode(&text).is_none()) {
        let at = format!("{pointer}/data");
        report.error("pydantic-ai-base64", &at, span(data), "the data is not base64");
    }
}
