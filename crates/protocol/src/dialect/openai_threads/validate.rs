//! Checks of the objects and of the stream.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::Report;
use crate::journal::kind::Need::{May, Must};
use crate::journal::kind::Type::{Any, Array, Bool, Integer, Number, Object, OneOf, Text};
use crate::journal::kind::{Field, Need, Type};
use crate::json::Node;
use crate::sse;
use crate::validate::{Validator, brief, fields, span};

/// The dialect's checks, over one source.
#[derive(Debug, Default)]
pub(super) struct Checks {
    thread: Option<String>,
    /// How each run ended.
    ended: HashMap<String, String>,
    messages: HashSet<String>,
    steps: HashSet<String>,
    /// Whether anything was read that only streams have.
    streamed: bool,
    /// Whether the stream said that it ends.
    done: bool,
}

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}

const THREAD: &[Field] = &[
    f("id", Text, Must),
    f("created_at", Integer, Must),
    f("metadata", Object, May),
    f("tool_resources", Object, May),
    f("messages", Any, May),
];

const MESSAGE: &[Field] = &[
    f("id", Text, Must),
    f("assistant_id", Text, May),
    f("attachments", Array, May),
    f("completed_at", Integer, May),
    f("content", Array, Must),
    f("created_at", Integer, Must),
    f("incomplete_at", Integer, May),
    f("incomplete_details", Object, May),
    f("metadata", Object, May),
    f("role", OneOf(&["user", "assistant"]), Must),
    f("run_id", Text, May),
    f("status", OneOf(&["in_progress", "incomplete", "completed"]), Must),
    f("thread_id", Text, Must),
];

const RUN: &[Field] = &[
    f("id", Text, Must),
    f("assistant_id", Text, Must),
    f("cancelled_at", Integer, May),
    f("completed_at", Integer, May),
    f("created_at", Integer, Must),
    f("expires_at", Integer, May),
    f("failed_at", Integer, May),
    f("incomplete_details", Object, May),
    f("instructions", Text, Must),
    f("last_error", Object, May),
    f("max_completion_tokens", Integer, May),
    f("max_prompt_tokens", Integer, May),
    f("metadata", Object, May),
    f("model", Text, Must),
    f("parallel_tool_calls", Bool, Must),
    f("required_action", Object, May),
    f("started_at", Integer, May),
    f(
        "status",
        OneOf(&[
            "queued",
            "in_progress",
            "requires_action",
            "cancelling",
            "cancelled",
            "failed",
            "completed",
            "incomplete",
            "expired",
        ]),
        Must,
    ),
    f("thread_id", Text, Must),
    f("tools", Array, Must),
    f("truncation_strategy", Object, May),
    f("usage", Object, May),
    f("temperature", Number, May),
    f("top_p", Number, May),
];

const STEP: &[Field] = &[
    f("id", Text, Must),
    f("assistant_id", Text, Must),
    f("cancelled_at", Integer, May),
    f("completed_at", Integer, May),
    f("created_at", Integer, Must),
    f("expired_at", Integer, May),
    f("failed_at", Integer, May),
    f("last_error", Object, May),
    f("metadata", Object, May),
    f("run_id", Text, Must),
    f("status", OneOf(&["in_progress", "cancelled", "failed", "completed", "expired"]), Must),
    f("step_details", Object, Must),
    f("thread_id", Text, Must),
    f("type", OneOf(&["message_creation", "tool_calls"]), Must),
    f("usage", Object, May),
];

const USAGE: &[Field] = &[
    f("completion_tokens", Integer, Must),
    f("prompt_tokens", Integer, Must),
    f("total_tokens", Integer, Must),
];

const RUN_ERROR: &[Field] = &[
    f("code", OneOf(&["server_error", "rate_limit_exceeded", "invalid_prompt"]), Must),
    f("message", Text, Must),
];

const DELTA: &[Field] = &[f("id", Text, Must), f("delta", Object, Must)];
const PAGE: &[Field] = &[f("data", Array, Must), f("has_more", Bool, May)];
const ERROR: &[Field] =
    &[f("code", Text, May), f("message", Text, Must), f("param", Text, May), f("type", Text, Must)];

const CALL: &[Field] = &[
    f("id", Text, Must),
    f("type", OneOf(&["function", "code_interpreter", "file_search"]), Must),
    f("function", Object, May),
    f("code_interpreter", Object, May),
    f("file_search", Object, May),
];

/// Types of parts, each named like the field that holds it.
const PARTS: &[&str] = &["text", "image_url", "image_file", "refusal"];

impl Validator for Checks {
    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        let Some(object) = value.get("object") else {
            return self.bare(pointer, value, report);
        };
        match object.str().as_deref() {
            Some("thread") => self.thread(pointer, value, report),
            Some("thread.message") => self.message(pointer, value, report),
            Some("thread.run") => self.run(pointer, value, report),
            Some("thread.run.step") => self.step(pointer, value, report),
            Some("thread.message.delta") => self.message_delta(pointer, value, report),
            Some("thread.run.step.delta") => self.step_delta(pointer, value, report),
            Some("list") => {
                fields(pointer, value, PAGE, report);
                let items = value.get("data").into_iter().flat_map(Node::children);
                for (i, item) in items.enumerate() {
                    self.value(&format!("{pointer}/data/{i}"), item, report);
                }
            }
            _ => {
                let message = format!("`{}` is no object of threads", brief(object.body()));
                report.warning(
                    "openai-object",
                    &format!("{pointer}/object"),
                    span(object),
                    message,
                );
            }
        }
    }

    fn event(&mut self, pointer: &str, event: &str, report: &mut Report) {
        if let sse::Data::Line { text, .. } = sse::data(event) {
            if text.trim() == "[DONE]" {
                self.done = true;
            } else {
                report.error("json-syntax", pointer, None, "the event's data is not JSON");
            }
        }
    }

    fn finish(&mut self, report: &mut Report) {
        if self.streamed && !self.done {
            let message = "the stream does not end with `[DONE]`";
            report.warning("openai-no-done", "", None, message);
        }
    }
}

impl Checks {
    fn bare(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        if let (Some(_), Some(data)) = (value.get("event"), value.get("data"))
            && data.is_object()
        {
            self.value(&format!("{pointer}/data"), data, report);
        } else if let Some(outputs) = value.get("tool_outputs") {
            for (i, output) in outputs.children().enumerate() {
                let table = [f("tool_call_id", Text, May), f("output", Text, May)];
                fields(&format!("{pointer}/tool_outputs/{i}"), output, &table, report);
            }
        } else if value.get("message").is_some() && value.get("role").is_none() {
            fields(pointer, value, ERROR, report);
            // An error ends a stream without further ado.
            self.done = true;
        } else {
            let table = [f("object", Text, Must)];
            fields(pointer, value, &table, report);
        }
    }

    fn belongs(&mut self, pointer: &str, value: Node<'_, '_>, name: &str, report: &mut Report) {
        let Some(id) = value.get(name).filter(|id| id.is_string()) else { return };
        let text = id.str().unwrap_or_default();
        let own = self.thread.get_or_insert_with(|| text.to_string());
        if *own != text {
            let message = format!("this is of thread `{}`, not `{}`", brief(&text), brief(own));
            report.warning("openai-thread-id", &format!("{pointer}/{name}"), span(id), message);
        }
    }

    fn thread(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        fields(pointer, value, THREAD, report);
        self.belongs(pointer, value, "id", report);
        let Some(messages) = value.get("messages") else { return };
        let (list, pointer) = match messages.get("data") {
            Some(data) => (data, format!("{pointer}/messages/data")),
            None => (messages, format!("{pointer}/messages")),
        };
        for (i, message) in list.children().enumerate() {
            self.value(&format!("{pointer}/{i}"), message, report);
        }
    }

    fn message(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        fields(pointer, value, MESSAGE, report);
        self.belongs(pointer, value, "thread_id", report);
        if let Some(id) = value.get("id").and_then(|id| id.str()) {
            self.messages.insert(id.into_owned());
        }
        if let Some(details) = value.some("incomplete_details").filter(|d| d.is_object()) {
            let reasons =
                &["content_filter", "max_tokens", "run_cancelled", "run_expired", "run_failed"];
            let table = [f("reason", OneOf(reasons), Must)];
            fields(&format!("{pointer}/incomplete_details"), details, &table, report);
        }
        for (i, part) in value.get("content").into_iter().flat_map(Node::children).enumerate() {
            let pointer = format!("{pointer}/content/{i}");
            content_part(&pointer, part, report);
            if let Some(text) = part.get("text").filter(|t| t.is_object()) {
                let table = [f("value", Text, Must), f("annotations", Array, Must)];
                fields(&format!("{pointer}/text"), text, &table, report);
            }
        }
    }

    fn run(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        fields(pointer, value, RUN, report);
        self.belongs(pointer, value, "thread_id", report);
        usage(pointer, value, report);
        if let Some(error) = value.some("last_error").filter(|e| e.is_object()) {
            fields(&format!("{pointer}/last_error"), error, RUN_ERROR, report);
        }
        let status = value.get("status").and_then(|s| s.str()).unwrap_or_default();
        let action = value.some("required_action").filter(|a| a.is_object());
        match action {
            Some(action) => required(pointer, action, report),
            None if status == "requires_action" => {
                let message = "the run requires an action but does not say which";
                report.error("openai-required-action", pointer, span(value), message);
            }
            None => {}
        }
        let Some(id) = value.get("id").and_then(|id| id.str()) else { return };
        let ends = ["completed", "incomplete", "failed", "cancelled", "expired"];
        match self.ended.get(&*id) {
            Some(before) if *before != status => {
                let message = format!("run `{}` had ended as `{before}`", brief(&id));
                let at = value.get("status").and_then(span);
                report.error("openai-after-end", &format!("{pointer}/status"), at, message);
            }
            Some(_) => {}
            None if ends.contains(&&*status) => {
                self.ended.insert(id.into_owned(), status.into_owned());
            }
            None => {}
        }
    }

    fn step(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        fields(pointer, value, STEP, report);
        self.belongs(pointer, value, "thread_id", report);
        usage(pointer, value, report);
        if let Some(id) = value.get("id").and_then(|id| id.str()) {
            self.steps.insert(id.into_owned());
        }
        let Some(details) = value.get("step_details").filter(|d| d.is_object()) else { return };
        let pointer = format!("{pointer}/step_details");
        fields(&pointer, details, &[f("type", Text, Must)], report);
        if let (Some(kind), Some(own)) = (value.get("type"), details.get("type"))
            && kind.str() != own.str()
        {
            let message = "the step and its details differ in type";
            report.error("openai-step-type", &format!("{pointer}/type"), span(own), message);
        }
        for (i, call) in details.get("tool_calls").into_iter().flat_map(Node::children).enumerate()
        {
            let pointer = format!("{pointer}/tool_calls/{i}");
            fields(&pointer, call, CALL, report);
            function(&pointer, call, report);
        }
        if let Some(made) = details.get("message_creation") {
            let table = [f("message_id", Text, Must)];
            fields(&format!("{pointer}/message_creation"), made, &table, report);
        }
    }

    fn message_delta(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        self.streamed = true;
        fields(pointer, value, DELTA, report);
        known(pointer, value, &self.messages, "message", report);
        let content = value.get("delta").and_then(|d| d.get("content"));
        for (i, part) in content.into_iter().flat_map(Node::children).enumerate() {
            let pointer = format!("{pointer}/delta/content/{i}");
            fields(&pointer, part, &[f("index", Integer, Must)], report);
            content_part(&pointer, part, report);
        }
    }

    fn step_delta(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        self.streamed = true;
        fields(pointer, value, DELTA, report);
        known(pointer, value, &self.steps, "step", report);
        let calls = value.pointer("/delta/step_details/tool_calls");
        for (i, call) in calls.into_iter().flat_map(Node::children).enumerate() {
            let pointer = format!("{pointer}/delta/step_details/tool_calls/{i}");
            fields(&pointer, call, &[f("index", Integer, Must), f("type", Text, Must)], report);
        }
    }
}

/// Deltas add to something that was announced.
fn known(
    pointer: &str,
    value: Node<'_, '_>,
    heard: &HashSet<String>,
    what: &str,
    report: &mut Report,
) {
    let Some(id) = value.get("id").filter(|id| id.is_string()) else { return };
    let text = id.str().unwrap_or_default();
    if !heard.contains(&*text) {
        let message = format!("{what} `{}` was not created before", brief(&text));
        report.error("openai-unknown-id", &format!("{pointer}/id"), span(id), message);
    }
}

fn content_part(pointer: &str, part: Node<'_, '_>, report: &mut Report) {
    fields(pointer, part, &[f("type", Text, Must)], report);
    let Some(kind) = part.get("type").and_then(|t| t.str()) else { return };
    match PARTS.iter().find(|name| **name == kind) {
        Some(field) if part.get(field).is_none() => {
            let message = format!("`{field}` is missing");
            report.error("missing-field", pointer, span(part), message);
        }
        Some(_) => {}
        None => {
            let message = format!("`{}` is no part of a message", brief(&kind));
            report.warning("openai-part", &format!("{pointer}/type"), span(part), message);
        }
    }
}

fn usage(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    if let Some(usage) = value.some("usage").filter(|u| u.is_object()) {
        fields(&format!("{pointer}/usage"), usage, USAGE, report);
    }
}

fn required(pointer: &str, action: Node<'_, '_>, report: &mut Report) {
    let pointer = format!("{pointer}/required_action");
    let table =
        [f("type", OneOf(&["submit_tool_outputs"]), Must), f("submit_tool_outputs", Object, Must)];
    fields(&pointer, action, &table, report);
    let Some(submit) = action.get("submit_tool_outputs").filter(|s| s.is_object()) else { return };
    let pointer = format!("{pointer}/submit_tool_outputs");
    fields(&pointer, submit, &[f("tool_calls", Array, Must)], report);
    for (i, call) in submit.get("tool_calls").into_iter().flat_map(Node::children).enumerate() {
        let pointer = format!("{pointer}/tool_calls/{i}");
        fields(&pointer, call, CALL, report);
        function(&pointer, call, report);
    }
}

fn function(pointer: &str, call: Node<'_, '_>, report: &mut Report) {
    if call.get("type").is_some_and(|t| t.is("function")) {
        let table = [f("name", Text, Must), f("arguments", Text, Must), f("output", Text, May)];
        match call.get("function") {
            Some(function) => {
                fields(&format!("{pointer}/function"), function, &table, report);
            }
            None => {
                report.error("missing-field", pointer, span(call), "`function` is missing");
            }
        }
    }
}
