//! What the Agent API's objects must hold, and in which order a stream may bring them.

use std::collections::HashMap;

use super::model::{
    CONTENT, ERROR, EVENT, FUNCTION, MESSAGE, MESSAGE_TYPES, REQUEST, RESPONSE, content_fields,
    data_fields,
};
use crate::diagnostic::Report;
use crate::json::{Doc, Node, NodeKind, text};
use crate::validate::{Validator, brief, fields, span};

/// Checks requests, folded responses and streams.
#[derive(Debug, Default)]
pub(super) struct Checks {
    number: Option<i64>,
    response: Option<State>,
    id: String,
    messages: HashMap<String, Known>,
    streams: bool,
    last: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Ended,
}

/// What is known of a message.
#[derive(Debug, Default)]
struct Known {
    kind: String,
    ended: bool,
    /// Text so far and whether it is complete, by index.
    parts: HashMap<i64, (String, bool)>,
}

impl Validator for Checks {
    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        pointer.clone_into(&mut self.last);
        if !value.is_object() {
            report.error("wrong-type", pointer, span(value), "expected an object");
            return;
        }
        let Some(object) = value.get("object") else {
            if value.get("input").is_some() {
                request(pointer, value, report);
            } else if value.get("error").is_none() {
                report.error("missing-field", pointer, span(value), "`object` is missing");
            }
            return;
        };
        fields(pointer, value, EVENT, report);
        error(pointer, value, report);
        match object.str().as_deref() {
            Some("response") => self.response(pointer, value, report),
            Some("message") => {
                self.sequence(pointer, value, report);
                self.message(pointer, value, report);
            }
            Some("content") => {
                self.sequence(pointer, value, report);
                self.content(pointer, value, report);
            }
            _ => {}
        }
    }

    fn finish(&mut self, report: &mut Report) {
        if self.streams && self.response == Some(State::Open) {
            let message = "the stream ends before its response does";
            report.warning("agent-api-unfinished", &self.last, None, message);
        }
    }
}

impl Checks {
    fn response(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        fields(pointer, value, RESPONSE, report);
        let status = value.get("status").and_then(|s| s.str()).unwrap_or_default();
        let id = value.some("id").map_or("", Node::body);
        if matches!(status.as_ref(), "created" | "queued") || self.id != id {
            id.clone_into(&mut self.id);
            self.number = None;
            self.response = None;
            self.messages.clear();
        }
        self.sequence(pointer, value, report);
        if self.response == Some(State::Ended) {
            let message = "the response has ended before";
            report.error("agent-api-after-end", pointer, span(value), message);
        }
        self.streams |= matches!(status.as_ref(), "created" | "in_progress");
        self.response = Some(match status.as_ref() {
            "created" | "queued" | "in_progress" | "unknown" => State::Open,
            _ => State::Ended,
        });
        if status == "failed" && value.some("error").is_none() {
            let message = "a failed response without `error`";
            report.warning("agent-api-missing-error", pointer, span(value), message);
        }
        let output = value.some("output").filter(|o| o.is_array());
        for (i, message) in output.into_iter().flat_map(Node::children).enumerate() {
            whole_message(&format!("{pointer}/output/{i}"), message, report);
        }
    }

    fn sequence(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        let Some(node) = value.some("sequence_number") else { return };
        let at = format!("{pointer}/sequence_number");
        // The document types it as a string, the package as a whole number.
        let number = node.i64().or_else(|| node.str()?.parse().ok());
        let Some(number) = number else {
            let message = format!("expected a whole number, found `{}`", brief(node.raw()));
            report.error("wrong-type", &at, span(node), message);
            return;
        };
        let before = self.number.replace(number);
        match before {
            Some(before) if number <= before => {
                let message = format!("{number} does not come after {before}");
                report.error("agent-api-sequence", &at, span(node), message);
            }
            Some(before) if number > before.saturating_add(1) => {
                let message = format!("{number} comes after {before}: a gap");
                report.warning("agent-api-sequence-gap", &at, span(node), message);
            }
            _ => {}
        }
        if self.response == Some(State::Ended)
            && value.get("object").is_none_or(|o| !o.is("response"))
        {
            let message = "nothing may follow the end of a response";
            report.error("agent-api-after-end", pointer, span(value), message);
        }
    }

    fn message(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        message_fields(pointer, value, report);
        let Some(id) = value.some("id").filter(|i| i.is_string()) else {
            report.error("missing-field", pointer, span(value), "`id` is missing");
            return;
        };
        let known = self.messages.entry(id.body().to_owned()).or_default();
        if let Some(kind) = value.get("type").and_then(|k| k.str()) {
            known.kind = kind.into_owned();
        }
        let status = value.get("status").and_then(|s| s.str()).unwrap_or_default();
        let ends =
            !matches!(status.as_ref(), "created" | "queued" | "in_progress" | "unknown" | "");
        if known.ended {
            let message = format!("message `{}` has ended before", brief(id.body()));
            report.error("agent-api-after-end", pointer, span(value), message);
        }
        known.ended |= ends;
        contents(pointer, value, &known.kind, report);
    }

    fn content(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        fields(pointer, value, CONTENT, report);
        let id = value.some("msg_id").filter(|i| i.is_string());
        let Some(id) = id else {
            let message = "a content without `msg_id` belongs to no message for sure";
            report.warning("agent-api-unknown-message", pointer, span(value), message);
            content_data(pointer, value, "", report);
            return;
        };
        if !self.messages.contains_key(id.body()) {
            let message = format!("message `{}` has not begun", brief(id.body()));
            let at = format!("{pointer}/msg_id");
            report.warning("agent-api-unknown-message", &at, span(id), message);
        }
        let known = self.messages.entry(id.body().to_owned()).or_default();
        if known.ended {
            let message = format!("message `{}` has ended before", brief(id.body()));
            report.error("agent-api-after-end", pointer, span(value), message);
        }
        content_data(pointer, value, &known.kind, report);
        let index = value.get("index").and_then(Node::i64);
        if let Some(node) = value.get("index").filter(|_| index.is_some_and(|i| i < 0)) {
            let at = format!("{pointer}/index");
            report.error("agent-api-index", &at, span(node), "an index is not negative");
        }
        let delta = value.get("delta").and_then(Node::bool) == Some(true);
        let status = value.get("status").and_then(|s| s.str()).unwrap_or_default();
        if delta && index.is_none() {
            let message = "a delta needs the `index` of the content that it adds to";
            report.error("agent-api-index", pointer, span(value), message);
        }
        let (said, complete) = known.parts.entry(index.unwrap_or(0)).or_default();
        if delta && *complete {
            let message = "a delta of a content that is complete";
            report.error("agent-api-delta", pointer, span(value), message);
        }
        let Some(piece) = value.some("text").filter(|t| t.is_string()) else { return };
        if delta {
            said.push_str(piece.body());
        } else if status == "completed" {
            if !said.is_empty() && text::minimal(said) != text::minimal(piece.body()) {
                let message = "the text is not what its deltas add up to";
                let at = format!("{pointer}/text");
                report.warning("agent-api-text", &at, span(piece), message);
            }
            *complete = true;
        }
    }
}

fn request(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    fields(pointer, value, REQUEST, report);
    let input = value.get("input").filter(|i| i.is_array());
    for (i, message) in input.into_iter().flat_map(Node::children).enumerate() {
        whole_message(&format!("{pointer}/input/{i}"), message, report);
    }
    if let Some(n) = value.some("n")
        && n.i64().is_some_and(|n| !(1..=5).contains(&n))
    {
        report.error("agent-api-range", &format!("{pointer}/n"), span(n), "`n` is from 1 to 5");
    }
    if let Some(stop) = value.some("stop") {
        let texts = stop.is_string()
            || stop.is_array() && stop.children().all(|s| s.is_string() || s.is_null());
        if !texts {
            let message = "expected a string or a list of strings";
            report.error("wrong-type", &format!("{pointer}/stop"), span(stop), message);
        }
    }
    let tools = value.some("tools").filter(|t| t.is_array());
    for (i, tool) in tools.into_iter().flat_map(Node::children).enumerate() {
        let at = format!("{pointer}/tools/{i}");
        if !tool.is_object() {
            report.error("wrong-type", &at, span(tool), "expected an object");
        }
        if let Some(kind) = tool.some("type").filter(|k| !k.is("function")) {
            let message = "only tools of type `function` are defined";
            report.warning("agent-api-tool-type", &format!("{at}/type"), span(kind), message);
        }
        if let Some(function) = tool.some("function") {
            let at = format!("{at}/function");
            fields(&at, function, FUNCTION, report);
            if let Some(kind) = function.get("parameters").and_then(|p| p.get("type"))
                && !kind.is("object")
            {
                let message = "parameters are of type `object`";
                let at = format!("{at}/parameters/type");
                report.warning("agent-api-parameters", &at, span(kind), message);
            }
        }
    }
}

/// A message in a request or in an output.
fn whole_message(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    if !value.is_object() {
        report.error("wrong-type", pointer, span(value), "expected an object");
        return;
    }
    message_fields(pointer, value, report);
    error(pointer, value, report);
    let kind = value.get("type").and_then(|k| k.str()).unwrap_or_default();
    contents(pointer, value, &kind, report);
}

fn message_fields(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    fields(pointer, value, MESSAGE, report);
    let Some(kind) = value.some("type") else { return };
    let Some(name) = kind.str().filter(|k| !MESSAGE_TYPES.contains(&k.as_ref())) else { return };
    let at = format!("{pointer}/type");
    let message = format!("`{}` is no message type", brief(&name));
    if matches!(name.as_ref(), "assistant" | "user" | "system" | "tool") {
        // The document's own streams put the role there.
        report.warning("agent-api-message-type", &at, span(kind), message);
    } else {
        report.error("unknown-value", &at, span(kind), message);
    }
}

fn contents(pointer: &str, value: Node<'_, '_>, kind: &str, report: &mut Report) {
    let list = value.some("content").filter(|c| c.is_array());
    for (i, content) in list.into_iter().flat_map(Node::children).enumerate() {
        let at = format!("{pointer}/content/{i}");
        if !content.is_object() {
            report.error("wrong-type", &at, span(content), "expected an object");
            continue;
        }
        fields(&at, content, CONTENT, report);
        content_data(&at, content, kind, report);
    }
}

/// Checks what a content of its type says, and the data that a message's type asks for.
fn content_data(pointer: &str, value: Node<'_, '_>, kind: &str, report: &mut Report) {
    let Some(name) = value.get("type").and_then(|t| t.str()) else { return };
    fields(pointer, value, content_fields(&name), report);
    if name != "data" {
        return;
    }
    let at = format!("{pointer}/data");
    let Some(data) = value.some("data").filter(|d| d.is_object()) else { return };
    fields(&at, data, data_fields(kind), report);
    let done = value.get("status").is_some_and(|s| s.is("completed"));
    if let Some(arguments) = data.some("arguments").filter(|_| done && kind.ends_with("_call"))
        && arguments.kind() != NodeKind::Null
        && let Some(written) = arguments.str()
        && Doc::parse(&written).is_err()
    {
        let message = "the arguments are not JSON";
        let at = format!("{at}/arguments");
        report.warning("agent-api-arguments", &at, span(arguments), message);
    }
}

fn error(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    if let Some(error) = value.some("error").filter(|e| e.is_object()) {
        fields(&format!("{pointer}/error"), error, ERROR, report);
    }
}
