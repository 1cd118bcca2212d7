//! Checks of both versions: required fields, enums, parts, and what may follow what.

use std::collections::{HashMap, HashSet};

use super::message::message_parts;
use super::model::{State, Version};
use super::tables::{ERROR, REQUEST, RESPONSE, Thing, fields_of};
use super::write::{is_base64, is_timestamp};
use crate::diagnostic::Report;
use crate::json::Node;
use crate::validate::{Validator, brief, fields, span};

/// The checks over one source.
#[derive(Default)]
pub(super) struct Checks {
    tasks: HashMap<String, Seen>,
    /// Whether a message came by itself: nothing may follow it in a stream.
    alone: bool,
}

/// What was seen of a task.
#[derive(Default)]
struct Seen {
    context: Option<String>,
    announced: bool,
    state: Option<State>,
    artifacts: HashSet<String>,
    /// Where its last record was, if it came in a stream.
    last: Option<String>,
}

/// A value, where it is, and whose rules it follows.
#[derive(Clone, Copy)]
struct At<'p, 'd, 'a> {
    pointer: &'p str,
    value: Node<'d, 'a>,
    version: Version,
}

impl Validator for Checks {
    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        if !value.is_object() {
            report.error("wrong-type", pointer, span(value), "expected an object");
            return;
        }
        if value.get("jsonrpc").is_none() {
            self.body(pointer, value, report);
        } else if value.get("method").is_some() {
            fields(pointer, value, REQUEST, report);
            let sends = value.get("method").is_some_and(|m| {
                let method = m.body();
                method.starts_with("Send") || method.starts_with("message/")
            });
            if let Some(params) = value.some("params").filter(|_| sends) {
                self.request(&format!("{pointer}/params"), params, report);
            }
        } else {
            fields(pointer, value, RESPONSE, report);
            match (value.some("result"), value.some("error")) {
                (Some(result), None) => self.body(&format!("{pointer}/result"), result, report),
                (None, Some(error)) => {
                    fields(&format!("{pointer}/error"), error, ERROR, report);
                }
                (None, None) if value.get("result").is_some() => {}
                _ => {
                    let message = "a response has exactly one of `result` and `error`";
                    report.error("a2a-response", pointer, span(value), message);
                }
            }
        }
    }

    fn finish(&mut self, report: &mut Report) {
        let open = |s: &State| !s.is_terminal() && !s.is_interrupted();
        let mut left: Vec<_> =
            self.tasks.values().filter(|t| t.state.as_ref().is_some_and(open)).collect();
        left.sort_by_key(|t| t.last.clone());
        for pointer in left.iter().filter_map(|t| t.last.as_deref()) {
            let message = "the stream ends before the task does";
            report.warning("a2a-unfinished", pointer, None, message);
        }
    }
}

impl Checks {
    fn body(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report) {
        if self.alone {
            let message = "a message is a whole answer: nothing may follow it";
            report.warning("a2a-message-alone", pointer, span(value), message);
            self.alone = false;
        }
        let v03 = |value| At { pointer, value, version: Version::V03 };
        let v1 = |value| At { pointer, value, version: Version::V1 };
        if let Some(kind) = value.get("kind") {
            match kind.str().as_deref() {
                Some("task") => self.task(v03(value), report),
                Some("message") => self.lone(v03(value), report),
                Some("status-update") => self.status_update(v03(value), report),
                Some("artifact-update") => self.artifact_update(v03(value), report),
                _ => {
                    let message = format!("`{}` is not a kind of event", brief(kind.body()));
                    let pointer = format!("{pointer}/kind");
                    report.error("unknown-value", &pointer, span(kind), message);
                }
            }
            return;
        }
        const MEMBERS: [&str; 4] = ["task", "message", "statusUpdate", "artifactUpdate"];
        let members: Vec<_> =
            MEMBERS.iter().filter_map(|key| Some((*key, value.some(key)?))).collect();
        match members.as_slice() {
            [("message", message)] if message.get("kind").is_some() => {
                self.request(pointer, value, report);
            }
            [(key, member)] => {
                let pointer = format!("{pointer}/{key}");
                let at = At { pointer: &pointer, value: *member, version: Version::V1 };
                match *key {
                    "task" => self.task(at, report),
                    "message" => self.lone(at, report),
                    "statusUpdate" => self.status_update(at, report),
                    _ => self.artifact_update(at, report),
                }
            }
            [] => self.other(v1(value), v03(value), report),
            _ => {
                let message = format!("exactly one of {} is allowed", MEMBERS.join(", "));
                report.error("a2a-members", pointer, span(value), message);
            }
        }
    }

    /// What is not an event: a task, a page, a message, a card, an error.
    fn other(&mut self, v1: At<'_, '_, '_>, v03: At<'_, '_, '_>, report: &mut Report) {
        let At { pointer, value, .. } = v1;
        if let Some(error) = value.some("error") {
            fields(&format!("{pointer}/error"), error, ERROR, report);
        } else if let Some(tasks) = value.some("tasks").filter(|t| t.is_array()) {
            for (i, task) in tasks.children().enumerate() {
                let pointer = format!("{pointer}/tasks/{i}");
                let version = if task.get("kind").is_some() { Version::V03 } else { Version::V1 };
                self.task(At { pointer: &pointer, value: task, version }, report);
            }
        } else if value.get("status").is_some() {
            self.task(v1, report);
        } else if value.get("messageId").is_some() {
            self.message(v1, report);
        } else if value.get("skills").is_some() {
            let at = if value.get("supportedInterfaces").is_some() { v1 } else { v03 };
            fields(pointer, value, fields_of(Thing::Card, at.version), report);
        } else {
            let message = "not an event, task, page of tasks, message, card or error of A2A";
            report.error("a2a-unknown", pointer, span(value), message);
        }
    }

    fn request(&mut self, pointer: &str, params: Node<'_, '_>, report: &mut Report) {
        let Some(message) = params.get("message").filter(|m| m.is_object()) else {
            report.error("missing-field", pointer, span(params), "`message` is missing");
            return;
        };
        let version = if message.get("kind").is_some() { Version::V03 } else { Version::V1 };
        let pointer = format!("{pointer}/message");
        self.message(At { pointer: &pointer, value: message, version }, report);
    }

    fn lone(&mut self, at: At<'_, '_, '_>, report: &mut Report) {
        self.message(at, report);
        self.alone = at.value.get("role").is_some_and(|r| r.is("agent") || r.is("ROLE_AGENT"));
    }

    fn task(&mut self, at: At<'_, '_, '_>, report: &mut Report) {
        check(Thing::Task, at, report);
        let At { pointer, value, version } = at;
        id(pointer, value, "id", report);
        let state = status(at, report);
        for (i, message) in value.get("history").into_iter().flat_map(Node::children).enumerate() {
            let pointer = format!("{pointer}/history/{i}");
            self.message(At { pointer: &pointer, value: message, version }, report);
        }
        let Some(key) = value.get("id").map(|id| id.raw().to_owned()) else { return };
        let mut artifacts = HashSet::new();
        for (i, item) in value.get("artifacts").into_iter().flat_map(Node::children).enumerate() {
            let pointer = format!("{pointer}/artifacts/{i}");
            artifact(At { pointer: &pointer, value: item, version }, report);
            artifacts.extend(item.get("artifactId").map(|id| id.raw().to_owned()));
        }
        let seen = self.tasks.entry(key).or_default();
        seen.announced = true;
        seen.state = state.or(seen.state);
        seen.context = value.get("contextId").map(|c| c.raw().to_owned());
        seen.artifacts.extend(artifacts);
    }

    fn status_update(&mut self, at: At<'_, '_, '_>, report: &mut Report) {
        check(Thing::StatusUpdate, at, report);
        let At { pointer, value, .. } = at;
        let state = status(at, report);
        self.follows(at, report);
        if let (Some(last), Some(state)) = (value.get("final").and_then(|f| f.bool()), state)
            && at.version == Version::V03
        {
            let pointer = format!("{pointer}/final");
            if state.is_terminal() && !last {
                let message = "the update that ends a task must be final";
                report.error("a2a-final", &pointer, span(value), message);
            } else if last && !state.is_terminal() && !state.is_interrupted() {
                let message = "a task that goes on is said to be final";
                report.warning("a2a-final", &pointer, span(value), message);
            }
        }
        if let Some(seen) = value.get("taskId").and_then(|id| self.tasks.get_mut(id.raw())) {
            // 0.3 ends with a state of its own, `unknown`.
            let last = value.get("final").is_some_and(|f| f.bool() == Some(true));
            seen.state = if state.is_none() && last { None } else { state.or(seen.state) };
        }
    }

    fn artifact_update(&mut self, at: At<'_, '_, '_>, report: &mut Report) {
        check(Thing::ArtifactUpdate, at, report);
        let At { pointer, value, version } = at;
        self.follows(at, report);
        let Some(item) = value.get("artifact").filter(|a| a.is_object()) else { return };
        let place = format!("{pointer}/artifact");
        artifact(At { pointer: &place, value: item, version }, report);
        let append = value.get("append").is_some_and(|a| a.bool() == Some(true));
        let (Some(task), Some(id)) = (value.get("taskId"), item.get("artifactId")) else { return };
        if let Some(seen) = self.tasks.get_mut(task.raw()) {
            let new = seen.artifacts.insert(id.raw().to_owned());
            if append && new {
                let message = format!("artifact {} has not begun", brief(id.raw()));
                report.warning("a2a-append", &format!("{pointer}/append"), span(id), message);
            }
        }
    }

    /// Checks an update against what came before it.
    fn follows(&mut self, at: At<'_, '_, '_>, report: &mut Report) {
        let At { pointer, value, .. } = at;
        for key in ["taskId", "contextId"] {
            id(pointer, value, key, report);
        }
        let Some(task) = value.get("taskId").filter(|t| t.is_string()) else { return };
        let first = !self.tasks.contains_key(task.raw());
        let seen = self.tasks.entry(task.raw().to_owned()).or_default();
        if first {
            let message = "the first event of a task should be the task itself";
            report.warning("a2a-first-event", pointer, span(value), message);
        }
        if seen.state.is_some_and(State::is_terminal) {
            let message = "the task has ended: nothing may follow";
            report.error("a2a-after-end", pointer, span(value), message);
        }
        let context = value.get("contextId").map(|c| c.raw().to_owned());
        if seen.context.is_some() && context.is_some() && seen.context != context {
            let message = "the task is in another context";
            report.error("a2a-context", &format!("{pointer}/contextId"), span(value), message);
        }
        seen.context = seen.context.take().or(context);
        seen.last = Some(pointer.to_owned());
    }

    fn message(&mut self, at: At<'_, '_, '_>, report: &mut Report) {
        message(at, report);
    }
}

fn check(thing: Thing, at: At<'_, '_, '_>, report: &mut Report) {
    fields(at.pointer, at.value, fields_of(thing, at.version), report);
}

/// An id must say something.
fn id(pointer: &str, value: Node<'_, '_>, key: &str, report: &mut Report) {
    if let Some(id) = value.get(key).filter(|id| id.is("")) {
        let message = format!("`{key}` is empty");
        report.error("a2a-empty-id", &format!("{pointer}/{key}"), span(id), message);
    }
}

fn status(at: At<'_, '_, '_>, report: &mut Report) -> Option<State> {
    let value = at.value.get("status").filter(|s| s.is_object())?;
    let pointer = format!("{}/status", at.pointer);
    check(Thing::Status, At { pointer: &pointer, value, ..at }, report);
    if let Some(time) = value.get("timestamp").filter(|t| t.is_string() && !is_timestamp(t.body()))
    {
        let pointer = format!("{pointer}/timestamp");
        let message = format!("`{}` is not a time as RFC 3339 has it", brief(time.body()));
        report.error("a2a-timestamp", &pointer, span(time), message);
    }
    if let Some(said) = value.some("message").filter(|m| m.is_object()) {
        let pointer = format!("{pointer}/message");
        message(At { pointer: &pointer, value: said, ..at }, report);
    }
    value.get("state").and_then(State::read)
}

fn message(at: At<'_, '_, '_>, report: &mut Report) {
    check(Thing::Message, at, report);
    let At { pointer, value, .. } = at;
    id(pointer, value, "messageId", report);
    match message_parts(value) {
        // The 0.3 draft calls them content, and has shapes of its own.
        Some(list) if value.get("parts").is_none() => {
            draft_parts(&format!("{pointer}/content"), list, report);
        }
        Some(list) => parts(At { pointer: &format!("{pointer}/parts"), value: list, ..at }, report),
        None => match value.get("parts") {
            Some(other) => {
                let pointer = format!("{pointer}/parts");
                report.error("wrong-type", &pointer, span(other), "expected an array");
            }
            None => report.error("missing-field", pointer, span(value), "`parts` is missing"),
        },
    }
}

fn artifact(at: At<'_, '_, '_>, report: &mut Report) {
    check(Thing::Artifact, at, report);
    id(at.pointer, at.value, "artifactId", report);
    if let Some(list) = at.value.get("parts").filter(|p| p.is_array()) {
        parts(At { pointer: &format!("{}/parts", at.pointer), value: list, ..at }, report);
    }
}

fn parts(at: At<'_, '_, '_>, report: &mut Report) {
    let At { pointer, value, version } = at;
    if value.children().next().is_none() && version == Version::V1 {
        report.error("a2a-no-parts", pointer, span(value), "there must be at least one part");
    }
    for (i, part) in value.children().enumerate() {
        let pointer = format!("{pointer}/{i}");
        match version {
            Version::V03 => part_03(&pointer, part, report),
            // What the 0.3 draft has and 1.0 has not.
            Version::V1 if part.get("file").is_some() => draft_part(&pointer, part, report),
            Version::V1 => part_1(&pointer, part, report),
        }
    }
}

fn part_1(pointer: &str, part: Node<'_, '_>, report: &mut Report) {
    const CONTENT: [&str; 4] = ["text", "raw", "url", "data"];
    let members: Vec<_> = CONTENT.iter().filter_map(|key| Some((*key, part.get(key)?))).collect();
    let [(key, value)] = members.as_slice() else {
        let message = format!("a part has exactly one of {}", CONTENT.join(", "));
        report.error("a2a-part", pointer, span(part), message);
        return;
    };
    let pointer = format!("{pointer}/{key}");
    if *key != "data" && !value.is_string() {
        report.error("wrong-type", &pointer, span(*value), "expected a string");
    } else if *key == "raw" && !is_base64(value.body()) {
        report.error("a2a-base64", &pointer, span(*value), "the bytes are not base64");
    }
}

fn part_03(pointer: &str, part: Node<'_, '_>, report: &mut Report) {
    let kind = part.get("kind").and_then(|k| k.str());
    let right = match kind.as_deref() {
        Some("text") => part.get("text").is_some_and(Node::is_string),
        Some("data") => part.get("data").is_some_and(Node::is_object),
        Some("file") => part.get("file").is_some_and(|file| {
            let has = |key| file.get(key).is_some_and(Node::is_string);
            has("bytes") != has("uri")
        }),
        Some(other) => {
            let message = format!("`{}` is not one of text, file, data", brief(other));
            report.error("unknown-value", &format!("{pointer}/kind"), span(part), message);
            return;
        }
        None => {
            report.error("missing-field", pointer, span(part), "`kind` is missing");
            return;
        }
    };
    if !right {
        let message = "a part has what its kind says: `text`, a `file` with `bytes` or `uri`, or a \
                       `data` object";
        report.error("a2a-part", pointer, span(part), message);
    }
}

fn draft_parts(pointer: &str, list: Node<'_, '_>, report: &mut Report) {
    for (i, part) in list.children().enumerate() {
        draft_part(&format!("{pointer}/{i}"), part, report);
    }
}

fn draft_part(pointer: &str, part: Node<'_, '_>, report: &mut Report) {
    let count = ["text", "file", "data"].iter().filter(|key| part.get(key).is_some()).count();
    if count != 1 {
        let message = "a part has exactly one of text, file, data";
        report.error("a2a-part", pointer, span(part), message);
    }
}
