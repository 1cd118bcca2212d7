//! Checks of a stream: what the readers of ai 5, 6 and 7 refuse, and what they stumble over.

use std::collections::HashSet;

use super::model;
use crate::diagnostic::Report;
use crate::json::Node;
use crate::sse;
use crate::validate::{Validator, brief, fields, span};

/// Checks one chunk after the other.
#[derive(Default)]
pub(super) struct Checks {
    /// Parts that are open, by kind and id.
    open: HashSet<String>,
    calls: HashSet<String>,
    started: bool,
    finished: bool,
    done: bool,
}

impl Validator for Checks {
    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        let Some(kind) = value.get("type").filter(|t| t.is_string()) else {
            fields(pointer, value, &[model::TYPE], report);
            return;
        };
        if self.done {
            let message = "a chunk after `[DONE]` is not read";
            report.warning("ai-sdk-after-done", pointer, span(value), message);
        }
        let name = kind.body();
        match model::chunk(name) {
            Some(chunk) => fields(pointer, value, chunk.fields, report),
            None if name.starts_with("data-") => fields(pointer, value, model::DATA, report),
            None => {
                let message = format!("`{}` is not a chunk type of ai 5, 6 or 7", brief(name));
                report.error("unknown-value", &format!("{pointer}/type"), span(kind), message);
                return;
            }
        }
        self.order(pointer, name, value, report);
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
        if !self.done {
            let message = "the stream does not end with `data: [DONE]`";
            report.warning("ai-sdk-no-done", "", None, message);
        }
    }
}

impl Checks {
    fn order(&mut self, pointer: &str, name: &str, value: Node<'_, '_>, report: &mut Report) {
        let id = |field: &str| value.get(field).map_or("", Node::raw);
        match name {
            "start" => {
                self.started = true;
                self.finished = false;
                self.open.clear();
                self.calls.clear();
                return;
            }
            "reset-step" => self.open.clear(),
            "text-start" | "reasoning-start" => {
                self.open.insert(format!("{}{}", part(name), id("id")));
            }
            "text-delta" | "text-end" | "reasoning-delta" | "reasoning-end" => {
                let key = format!("{}{}", part(name), id("id"));
                let there = if name.ends_with("-end") {
                    self.open.remove(&key)
                } else {
                    self.open.contains(&key)
                };
                if !there {
                    let message = format!("`{name}` for a part that was not started");
                    report.error(
                        "ai-sdk-part-not-open",
                        &format!("{pointer}/id"),
                        span(value),
                        message,
                    );
                }
            }
            "tool-input-start" | "tool-input-available" | "tool-input-error" => {
                self.calls.insert(id("toolCallId").to_owned());
            }
            "tool-input-delta" if !self.calls.contains(id("toolCallId")) => {
                let message = "a piece of a tool call that was not started";
                let pointer = format!("{pointer}/toolCallId");
                report.error("ai-sdk-call-not-open", &pointer, span(value), message);
            }
            "tool-output-available"
            | "tool-output-error"
            | "tool-output-denied"
            | "tool-approval-request"
                if !self.calls.contains(id("toolCallId")) =>
            {
                let message = "the call is not in this stream: its reader must have it already";
                let pointer = format!("{pointer}/toolCallId");
                report.warning("ai-sdk-call-elsewhere", &pointer, span(value), message);
            }
            _ => {}
        }
        if name == "tool-output-available" && value.get("output").is_none() {
            let message = "`output` is missing: readers with zod 4.6 refuse the stream";
            report.warning("ai-sdk-no-output", pointer, span(value), message);
        }
        if self.finished
            && !name.starts_with("data-")
            && name != "message-metadata"
            && name != "error"
        {
            let message = format!("`{name}` after the message was finished");
            report.warning("ai-sdk-after-finish", pointer, span(value), message);
        }
        if matches!(name, "finish" | "abort") {
            self.finished = true;
        }
        if !std::mem::replace(&mut self.started, true) {
            let message = "the stream does not begin with `start`";
            report.warning("ai-sdk-no-start", pointer, span(value), message);
        }
    }
}

/// Which kind of part a chunk belongs to.
fn part(name: &str) -> &'static str {
    if name.starts_with("text") { "text" } else { "reasoning" }
}
