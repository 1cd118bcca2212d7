//! What Looopy's events must hold, one by one and in their order.

use std::collections::{HashMap, HashSet};

use super::model::{INTERNAL, context_of, is_looopys, kind_named};
use crate::diagnostic::Report;
use crate::journal::Kind;
use crate::journal::kind::{self, COMMON, Field, Need, Type};
use crate::json::Node;
use crate::sse;
use crate::validate::{self, Validator, brief, span};

/// Checks events against the document's tables, and tasks and chunks across events.
#[derive(Debug, Default)]
pub(super) struct Checks {
    line_kind: Option<String>,
    line_context: Option<String>,
    /// Tasks that were created.
    tasks: HashSet<String>,
    /// Tasks that ended, and how.
    ended: HashMap<String, End>,
    /// The next chunk expected, by kind and task or artifact.
    chunks: HashMap<(Kind, String), i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// `task-status` said so; `task-complete` may still bring the result.
    Status,
    /// For good.
    Final,
}

const fn must(name: &'static str, ty: Type) -> Field {
    Field { name, ty, need: Need::Must }
}

const CONTEXT: &[Field] = &[must("contextId", Type::Text)];
const TASK: &[Field] = &[must("taskId", Type::Text), must("timestamp", Type::Text)];
const INDEX: &[Field] = &[must("index", Type::Integer)];
const ARGUMENTS: &[Field] = &[must("arguments", Type::Object)];
/// Looopy's message, beside the journal's own.
const NESTED: &[Field] = &[
    must("role", Type::OneOf(&["user", "assistant", "system", "tool"])),
    must("content", Type::Any),
];
const FIRST_CHUNK_ONLY: &[&str] = &["name", "description", "mimeType", "encoding", "schema"];

impl Validator for Checks {
    fn head(&mut self, event: &str) {
        let line = |name| sse::field(event, name).map(|v| v.into_owned());
        self.line_kind = line("event");
        self.line_context = line("id").as_deref().and_then(context_of).map(str::to_owned);
    }

    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        if !value.is_object() {
            report.error("wrong-type", pointer, span(value), "expected an object");
            return;
        }
        let written = value.get("kind");
        let name = match (written, &self.line_kind) {
            (Some(node), _) => match node.str() {
                Some(name) => name.into_owned(),
                None => {
                    let pointer = format!("{pointer}/kind");
                    validate::check_type(&pointer, node, Type::Text, report);
                    return;
                }
            },
            (None, Some(name)) => name.clone(),
            (None, None) => {
                let message = "`kind` is missing, and there is no `event:` line";
                report.error("missing-field", pointer, span(value), message);
                return;
            }
        };
        if let (Some(_), Some(line)) = (written, &self.line_kind)
            && *line != name
            && Some(line.as_str()) != name.strip_prefix(INTERNAL)
        {
            let message = format!("`event: {}` does not name the kind `{name}`", brief(line));
            report.warning("looopy-event-name", pointer, span(value), message);
        }
        let kind = kind_named(&name);
        if matches!(kind, Kind::Other | Kind::Opaque) {
            let message = format!("`{}` is no kind of event", brief(&name));
            report.warning("looopy-unknown-kind", pointer, span(value), message);
            return;
        }
        self.fields(kind, pointer, value, report);
        ranges(kind, pointer, value, report);
        self.task(kind, pointer, value, report);
        self.chunk(kind, pointer, value, report);
    }
}

impl Checks {
    fn fields(&self, kind: Kind, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        // The code's form has the context in the event's id.
        let stamped = value.get("kind").is_none() && self.line_context.is_some();
        if !stamped {
            validate::fields(pointer, value, CONTEXT, report);
        }
        let optional = COMMON.iter().filter(|f| f.need == Need::May);
        let named: &[&str] = if is_looopys(kind) { &["taskId", "timestamp"] } else { &[] };
        for field in optional.filter(|f| !named.contains(&f.name)) {
            validate::fields(pointer, value, std::slice::from_ref(field), report);
        }
        let nested = value.get("message").filter(|m| kind == Kind::Message && m.is_object());
        if let Some(message) = nested {
            validate::fields(&format!("{pointer}/message"), message, NESTED, report);
            return;
        }
        let own = kind::spec(kind).map_or(&[][..], |spec| spec.fields);
        for field in own.iter().filter(|f| f.name != "timestamp") {
            validate::fields(pointer, value, std::slice::from_ref(field), report);
        }
        if is_looopys(kind) && kind != Kind::Message {
            validate::fields(pointer, value, TASK, report);
        }
        if matches!(kind, Kind::ContentDelta | Kind::ThoughtStream) {
            validate::fields(pointer, value, INDEX, report);
        }
        if matches!(kind, Kind::ToolStart | Kind::ToolCall) && value.get("arguments").is_some() {
            validate::fields(pointer, value, ARGUMENTS, report);
        }
        if let Some(time) = value.get("timestamp").filter(|t| t.is_string() && !is_time(t.body())) {
            let message = format!("`{}` is no ISO 8601 time", brief(time.body()));
            let pointer = format!("{pointer}/timestamp");
            report.warning("looopy-timestamp", &pointer, span(time), message);
        }
    }

    /// A task is created before anything happens in it, and ends once.
    fn task(&mut self, kind: Kind, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        let Some(task) = value.get("taskId").filter(|t| t.is_string()) else { return };
        if kind == Kind::TaskCreated {
            self.tasks.insert(task.raw().to_owned());
            return;
        }
        if kind == Kind::SubtaskCreated
            && let Some(subtask) = value.get("subtaskId")
        {
            self.tasks.insert(subtask.raw().to_owned());
        }
        if is_looopys(kind) && !self.tasks.is_empty() && !self.tasks.contains(task.raw()) {
            // Once is enough.
            self.tasks.insert(task.raw().to_owned());
            let message = format!("task `{}` was never created", brief(task.body()));
            let pointer = format!("{pointer}/taskId");
            report.warning("looopy-unknown-task", &pointer, span(task), message);
        }
        let status = value.get("status").and_then(|s| s.str());
        let end = match (kind, status.as_deref()) {
            (Kind::TaskComplete, _) | (Kind::TaskStatus, Some("failed" | "canceled")) => End::Final,
            (Kind::TaskStatus, Some("completed")) => End::Status,
            _ => return,
        };
        match self.ended.get(task.raw()) {
            None => {}
            Some(End::Status) if kind == Kind::TaskComplete => {}
            Some(_) => {
                let message = "the task has ended before; its first end counts";
                report.warning("looopy-second-end", pointer, span(value), message);
                return;
            }
        }
        self.ended.insert(task.raw().to_owned(), end);
    }

    /// Chunks are counted from 0, and only the first says what they are chunks of.
    fn chunk(&mut self, kind: Kind, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        let of = match kind {
            Kind::ContentComplete => {
                if let Some(task) = value.get("taskId") {
                    self.chunks.remove(&(Kind::ContentDelta, task.raw().to_owned()));
                }
                return;
            }
            Kind::ContentDelta => "taskId",
            Kind::FileWrite | Kind::DatasetWrite => "artifactId",
            Kind::ThoughtStream => "thoughtId",
            _ => return,
        };
        let Some(index) = value.get("index") else { return };
        let Some(n) = index.i64() else { return };
        let at = format!("{pointer}/index");
        if n < 0 {
            report.error("looopy-index", &at, span(index), "chunks are counted from 0");
            return;
        }
        let written = matches!(kind, Kind::FileWrite | Kind::DatasetWrite);
        for name in FIRST_CHUNK_ONLY.iter().filter(|_| written && n > 0) {
            if let Some(extra) = value.some(name) {
                let message = format!("`{name}` belongs to the first chunk");
                let pointer = format!("{pointer}/{name}");
                report.warning("looopy-first-chunk", &pointer, span(extra), message);
            }
        }
        if kind == Kind::ThoughtStream {
            return;
        }
        let Some(of) = value.get(of) else { return };
        let key = (kind, of.raw().to_owned());
        let expected = self.chunks.get(&key).copied();
        if expected.is_some_and(|expected| n != expected && n != 0) {
            let message = format!("expected chunk {}, found {n}", expected.unwrap_or(0));
            report.warning("looopy-chunk-order", &at, span(index), message);
        }
        self.chunks.insert(key, n.saturating_add(1));
    }
}

/// Shares lie between 0 and 1.
fn ranges(kind: Kind, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
    let (path, what) = match kind {
        Kind::ToolProgress => ("/progress", "progress"),
        Kind::ThoughtStream => ("/metadata/confidence", "confidence"),
        _ => return,
    };
    let Some(share) = value.pointer(path) else { return };
    match share.f64() {
        Some(n) if (0.0..=1.0).contains(&n) => {}
        // A table's business, where it has the field.
        None if kind == Kind::ToolProgress => {}
        _ => {
            let message = format!("{what} lies between 0 and 1, found {}", brief(share.raw()));
            report.error("looopy-range", &format!("{pointer}{path}"), span(share), message);
        }
    }
}

/// Whether a text begins as `2025-11-06T10:30` does.
fn is_time(text: &str) -> bool {
    let shape = b"0000-00-00T00:00";
    text.len() >= shape.len()
        && text
            .bytes()
            .zip(shape)
            .all(|(b, s)| if *s == b'0' { b.is_ascii_digit() } else { b == *s })
}
