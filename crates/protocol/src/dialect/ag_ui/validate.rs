//! What AG-UI's events must hold, and in which order they may come.

use std::collections::HashSet;

use super::model::{
    self, BASE, CALL, CONTEXT, FUNCTION, INPUT, INTERRUPT, MESSAGE, RESUME, TOOL, USAGE,
};
use crate::diagnostic::Report;
use crate::journal::kind::{Field, Type};
use crate::json::Node;
use crate::validate::{Validator, brief, check_type, fields, span};

/// Checks events one after the other, as the real client verifies them.
#[derive(Debug, Default)]
pub(super) struct Checks {
    run: Run,
    open: HashSet<(Of, String)>,
    steps: HashSet<(String, String)>,
    active: HashSet<String>,
    ended: HashSet<String>,
    chunk: Option<Of>,
    events: usize,
    last: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Run {
    #[default]
    None,
    Active,
    Finished,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    Text,
    Call,
    Span,
    Reasoning,
}

impl Of {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text message",
            Self::Call => "tool call",
            Self::Span => "reasoning span",
            Self::Reasoning => "reasoning message",
        }
    }
}

impl Validator for Checks {
    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        pointer.clone_into(&mut self.last);
        if !value.is_object() {
            report.error("wrong-type", pointer, span(value), "expected an object");
            return;
        }
        let Some(kind) = value.get("type") else {
            if value.get("messages").is_some() || value.get("runId").is_some() {
                input(pointer, value, report);
            } else {
                report.error("missing-field", pointer, span(value), "`type` is missing");
            }
            return;
        };
        self.events += 1;
        let name = kind.str().unwrap_or_default();
        let Some(event) = model::event(&name) else {
            let message = format!("`{}` is no event type of AG-UI 1.0", brief(&name));
            report.error("unknown-value", &format!("{pointer}/type"), span(kind), message);
            return;
        };
        fields(pointer, value, BASE, report);
        fields(pointer, value, event.fields, report);
        inside(pointer, value, &name, report);
        self.order(pointer, value, &name, report);
    }

    fn finish(&mut self, report: &mut Report) {
        if self.run == Run::Active {
            let message = "the stream ends inside a run: `RUN_FINISHED` or `RUN_ERROR` is missing";
            report.warning("ag-ui-unfinished-run", &self.last, None, message);
        }
    }
}

impl Checks {
    fn order(&mut self, pointer: &str, value: Node<'_, '_>, name: &str, report: &mut Report) {
        let wrong = |report: &mut Report, message: String| {
            report.error("ag-ui-run-order", pointer, span(value), message);
        };
        match (&self.run, name) {
            (Run::None, "RUN_STARTED" | "RUN_ERROR") => {}
            (Run::None, _) => {
                wrong(report, format!("the first event must be `RUN_STARTED`, not `{name}`"));
                self.run = Run::Active;
            }
            (Run::Active, "RUN_STARTED") => {
                wrong(report, "`RUN_STARTED` while a run is active".to_owned());
            }
            (Run::Failed, name) if name != "RUN_STARTED" => {
                wrong(report, format!("`{name}` after `RUN_ERROR`"));
            }
            (Run::Finished, name) if name != "RUN_STARTED" && name != "RUN_ERROR" => {
                wrong(report, format!("`{name}` after `RUN_FINISHED`"));
            }
            _ => {}
        }
        if !name.ends_with("_CHUNK") {
            self.chunk = None;
        }
        let mut bracket = |checks: &mut Self, key: &str, of: Of, step: Step| {
            checks.bracket(pointer, value, key, of, step, report);
        };
        match name {
            "RUN_STARTED" => {
                self.run = Run::Active;
                self.open.clear();
                self.steps.clear();
                self.active.clear();
                self.ended.clear();
            }
            "RUN_FINISHED" => {
                self.closed(pointer, value, report);
                self.run = Run::Finished;
            }
            "RUN_ERROR" => self.run = Run::Failed,
            "TEXT_MESSAGE_START" => bracket(self, "messageId", Of::Text, Step::Start),
            "TEXT_MESSAGE_CONTENT" => bracket(self, "messageId", Of::Text, Step::Go),
            "TEXT_MESSAGE_END" => bracket(self, "messageId", Of::Text, Step::End),
            "TOOL_CALL_START" => bracket(self, "toolCallId", Of::Call, Step::Start),
            "TOOL_CALL_ARGS" => bracket(self, "toolCallId", Of::Call, Step::Go),
            "TOOL_CALL_END" => bracket(self, "toolCallId", Of::Call, Step::End),
            "REASONING_START" => bracket(self, "messageId", Of::Span, Step::Start),
            "REASONING_END" => bracket(self, "messageId", Of::Span, Step::End),
            "REASONING_MESSAGE_START" => bracket(self, "messageId", Of::Reasoning, Step::Start),
            "REASONING_MESSAGE_CONTENT" => bracket(self, "messageId", Of::Reasoning, Step::Go),
            "REASONING_MESSAGE_END" => bracket(self, "messageId", Of::Reasoning, Step::End),
            "TEXT_MESSAGE_CHUNK" => self.chunked(pointer, value, Of::Text, "messageId", report),
            "TOOL_CALL_CHUNK" => self.chunked(pointer, value, Of::Call, "toolCallId", report),
            "REASONING_MESSAGE_CHUNK" => {
                self.chunked(pointer, value, Of::Reasoning, "messageId", report);
            }
            "STEP_STARTED" | "STEP_FINISHED" => self.step(pointer, value, name, report),
            "SUBAGENT_STARTED" | "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => {
                self.subagent(pointer, value, name, report);
            }
            _ => {}
        }
    }

    fn bracket(
        &mut self,
        pointer: &str,
        value: Node<'_, '_>,
        key: &str,
        of: Of,
        step: Step,
        report: &mut Report,
    ) {
        let Some(id) = value.get(key).filter(|id| id.is_string()) else { return };
        let at = (of, id.body().to_owned());
        let fine = match step {
            Step::Start => self.open.insert(at),
            Step::Go => self.open.contains(&at),
            Step::End => self.open.remove(&at),
        };
        if !fine {
            let what = match step {
                Step::Start => "is open already",
                Step::Go | Step::End => "has not been started",
            };
            let message = format!("{} `{}` {what}", of.name(), brief(id.body()));
            report.error("ag-ui-bracket", &format!("{pointer}/{key}"), span(id), message);
        }
    }

    fn chunked(
        &mut self,
        pointer: &str,
        value: Node<'_, '_>,
        of: Of,
        key: &str,
        report: &mut Report,
    ) {
        if self.chunk != Some(of) && value.some(key).is_none() {
            let message = format!("the first chunk of a {} needs `{key}`", of.name());
            report.error("ag-ui-chunk", pointer, span(value), message);
        }
        if of == Of::Call && self.chunk != Some(of) && value.some("toolCallName").is_none() {
            let message = "the first chunk of a tool call needs `toolCallName`";
            report.error("ag-ui-chunk", pointer, span(value), message);
        }
        self.chunk = Some(of);
    }

    fn step(&mut self, pointer: &str, value: Node<'_, '_>, name: &str, report: &mut Report) {
        let Some(step) = value.get("stepName").filter(|s| s.is_string()) else { return };
        let owner = value.some("subagentRunId").map_or("", Node::body).to_owned();
        let at = (owner, step.body().to_owned());
        let starts = name == "STEP_STARTED";
        let fine = if starts { self.steps.insert(at) } else { self.steps.remove(&at) };
        if !fine {
            let what = if starts { "is active already" } else { "was not started" };
            let message = format!("step `{}` {what}", brief(step.body()));
            report.error("ag-ui-step", &format!("{pointer}/stepName"), span(step), message);
        }
    }

    fn subagent(&mut self, pointer: &str, value: Node<'_, '_>, name: &str, report: &mut Report) {
        let Some(id) = value.get("subagentRunId").filter(|i| i.is_string()) else { return };
        let key = id.body().to_owned();
        let at = format!("{pointer}/subagentRunId");
        if name == "SUBAGENT_STARTED" {
            if self.ended.contains(&key) || !self.active.insert(key) {
                let message = format!("subagent run `{}` was started before", brief(id.body()));
                report.error("ag-ui-subagent", &at, span(id), message);
            }
            if let Some(parent) = value.some("parentSubagentRunId")
                && !self.active.contains(parent.body())
                && !self.ended.contains(parent.body())
            {
                let message = format!("subagent run `{}` is not known", brief(parent.body()));
                let at = format!("{pointer}/parentSubagentRunId");
                report.error("ag-ui-subagent", &at, span(parent), message);
            }
        } else if self.active.remove(&key) {
            self.ended.insert(key);
        } else {
            let message = format!("subagent run `{}` is not active", brief(id.body()));
            report.error("ag-ui-subagent", &at, span(id), message);
        }
    }

    fn closed(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        let mut open: Vec<String> = self
            .open
            .iter()
            .map(|(of, id)| format!("{} `{}`", of.name(), brief(id)))
            .chain(self.steps.iter().map(|(_, step)| format!("step `{}`", brief(step))))
            .chain(self.active.iter().map(|id| format!("subagent `{}`", brief(id))))
            .collect();
        open.sort_unstable();
        for what in open {
            let message = format!("`RUN_FINISHED` while {what} is open");
            report.error("ag-ui-left-open", pointer, span(value), message);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Start,
    Go,
    End,
}

/// Checks what an event holds beside its own fields.
fn inside(pointer: &str, value: Node<'_, '_>, name: &str, report: &mut Report) {
    list(pointer, value, "usage", USAGE, report);
    if let Some(null) = value.get("subagentRunId").filter(|n| n.is_null()) {
        let message = "`subagentRunId` is null: leave it out";
        report.error("ag-ui-null", &format!("{pointer}/subagentRunId"), span(null), message);
    }
    match name {
        "TOOL_CALL_RESULT" => content(pointer, value, report),
        "MESSAGES_SNAPSHOT" => messages(pointer, value, report),
        "RUN_STARTED" => {
            if let Some(given) = value.some("input").filter(|i| i.is_object()) {
                input(&format!("{pointer}/input"), given, report);
            }
        }
        "RUN_FINISHED" | "SUBAGENT_FINISHED" => outcome(pointer, value, name, report),
        "STATE_DELTA" => patch(pointer, value, "delta", report),
        "ACTIVITY_DELTA" => patch(pointer, value, "patch", report),
        _ => {}
    }
}

fn outcome(pointer: &str, value: Node<'_, '_>, name: &str, report: &mut Report) {
    let Some(outcome) = value.some("outcome").filter(|o| o.is_object()) else { return };
    let at = format!("{pointer}/outcome");
    let kinds: &[&str] = if name == "RUN_FINISHED" {
        &["success", "interrupt", "cancelled"]
    } else {
        &["success", "suspended"]
    };
    match outcome.get("type").and_then(|k| k.str()) {
        Some(kind) if !kinds.contains(&kind.as_ref()) => {
            let message = format!("`{}` is not one of {}", brief(&kind), kinds.join(", "));
            report.error("unknown-value", &format!("{at}/type"), span(outcome), message);
        }
        Some(kind) if kind == "interrupt" => {
            if outcome.get("interrupts").is_none_or(|i| !i.is_array()) {
                let message = "`interrupts` is missing";
                report.error("missing-field", &at, span(outcome), message);
            }
            list(&at, outcome, "interrupts", INTERRUPT, report);
        }
        Some(_) => {}
        None => report.error("missing-field", &at, span(outcome), "`type` is missing"),
    }
}

/// Checks every object of a list.
fn list(pointer: &str, value: Node<'_, '_>, key: &str, table: &[Field], report: &mut Report) {
    let items = value.some(key).filter(|l| l.is_array());
    for (i, item) in items.into_iter().flat_map(Node::children).enumerate() {
        fields(&format!("{pointer}/{key}/{i}"), item, table, report);
    }
}

/// Checks the input of a run.
fn input(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    fields(pointer, value, INPUT, report);
    list(pointer, value, "tools", TOOL, report);
    list(pointer, value, "context", CONTEXT, report);
    list(pointer, value, "resume", RESUME, report);
    messages(pointer, value, report);
}

fn messages(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    let items = value.some("messages").filter(|l| l.is_array());
    for (i, message) in items.into_iter().flat_map(Node::children).enumerate() {
        let at = format!("{pointer}/messages/{i}");
        fields(&at, message, MESSAGE, report);
        let role = message.get("role").and_then(|r| r.str()).unwrap_or_default();
        let needs: &[(&str, Type)] = match role.as_ref() {
            "tool" => &[("toolCallId", Type::Text), ("content", Type::Any)],
            "activity" => &[("activityType", Type::Text), ("content", Type::Object)],
            "developer" | "system" | "reasoning" => &[("content", Type::Text)],
            "user" => &[("content", Type::Any)],
            _ => &[],
        };
        for (key, ty) in needs {
            match message.get(key) {
                Some(value) => check_type(&format!("{at}/{key}"), value, *ty, report),
                None => {
                    let message_text = format!("`{key}` is missing");
                    report.error("missing-field", &at, span(message), message_text);
                }
            }
        }
        if matches!(role.as_ref(), "user" | "tool") {
            content(&at, message, report);
        }
        if let Some(text) = message.some("content").filter(|_| role == "assistant") {
            check_type(&format!("{at}/content"), text, Type::Text, report);
        }
        list(&at, message, "toolCalls", CALL, report);
        let calls = message.some("toolCalls").filter(|c| c.is_array());
        for (n, call) in calls.into_iter().flat_map(Node::children).enumerate() {
            if let Some(function) = call.get("function").filter(|f| f.is_object()) {
                fields(&format!("{at}/toolCalls/{n}/function"), function, FUNCTION, report);
            }
        }
    }
}

/// Checks content: a string or a list of parts.
fn content(pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    let Some(content) = value.get("content") else { return };
    let at = format!("{pointer}/content");
    if !content.is_array() {
        check_type(&at, content, Type::Text, report);
        return;
    }
    for (i, part) in content.children().enumerate() {
        let at = format!("{at}/{i}");
        let kind = part.get("type").and_then(|k| k.str()).unwrap_or_default();
        let needed = match kind.as_ref() {
            "text" => "text",
            "image" | "audio" | "video" | "document" => "source",
            _ => {
                let message = format!("`{}` is no content part", brief(&kind));
                report.error("unknown-value", &format!("{at}/type"), span(part), message);
                continue;
            }
        };
        match part.get(needed) {
            None => {
                let message = format!("`{needed}` is missing");
                report.error("missing-field", &at, span(part), message);
            }
            Some(source) if needed == "source" => {
                check_type(&format!("{at}/source"), source, Type::Object, report);
            }
            Some(text) => check_type(&format!("{at}/text"), text, Type::Text, report),
        }
    }
}

/// Checks a JSON patch.
fn patch(pointer: &str, value: Node<'_, '_>, key: &str, report: &mut Report) {
    let steps = value.get(key).filter(|p| p.is_array());
    for (i, step) in steps.into_iter().flat_map(Node::children).enumerate() {
        let at = format!("{pointer}/{key}/{i}");
        let op = step.get("op").and_then(|o| o.str()).unwrap_or_default();
        let needs: &[&str] = match op.as_ref() {
            "add" | "replace" | "test" => &["path", "value"],
            "move" | "copy" => &["path", "from"],
            "remove" => &["path"],
            _ => {
                let message = format!("`{}` is no operation of a JSON patch", brief(&op));
                report.error("unknown-value", &format!("{at}/op"), span(step), message);
                continue;
            }
        };
        for key in needs.iter().filter(|key| step.get(key).is_none()) {
            report.error("missing-field", &at, span(step), format!("`{key}` is missing"));
        }
    }
}
