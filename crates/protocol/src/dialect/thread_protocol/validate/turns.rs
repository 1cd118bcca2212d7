//! What a document of the later shapes must hold: 2.0.0, 0.0.3 and 0.0.4, which have turns of
//! messages of parts where 1.0.0 has actions.

use std::collections::{HashMap, HashSet};

use super::{STATUS, agents, f, registered, time_text, token, unknown_fields};
use crate::diagnostic::Report;
use crate::journal::kind::Field;
use crate::journal::kind::Need::{May, Must};
use crate::journal::kind::Type::{Any, Array, Integer, Object, OneOf, Text};
use crate::json::Node;
use crate::validate::{self, brief, span};

/// Which of the shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    V2,
    V003,
    V004,
}

const THREAD: &[Field] = &[
    f("version", OneOf(&["2.0.0", "0.0.3", "0.0.4"]), Must),
    f("thread_id", Text, Must),
    f("parent_thread_id", Text, May),
    f("created_at", Text, Must),
    f("updated_at", Text, Must),
    f("title", Text, May),
    f("metadata", Object, May),
    f("agents", Object, Must),
    f("turns", Array, Must),
];

const AGENT: &[Field] = &[
    f("agent_id", Text, Must),
    f("agent_name", Text, Must),
    f("model_name", Text, May),
    f("provider_name", Text, May),
    f("created_at", Text, Must),
    f("config_ref", Text, May),
];

const TURN: &[Field] = &[f("turn_type", OneOf(&["user", "agent"]), Must)];
const USER: &[Field] = &[f("submitted_at", Text, Must), f("parts", Array, Must)];
const AGENTS: &[Field] = &[
    f("agent_id", Text, Must),
    f("started_at", Text, Must),
    f("completed_at", Text, May),
    f("messages", Array, Must),
    f("total_usage", Object, May),
];

const MESSAGE: &[Field] = &[
    f("message_type", OneOf(&["request", "response", "system"]), Must),
    f("timestamp", Text, Must),
];
const SAID: &[Field] = &[
    f("agent_id", Text, Must),
    f("parts", Array, Must),
    f("model_name", Text, May),
    f("provider_name", Text, May),
    f("provider_response_id", Text, May),
    f("usage", Object, May),
    f("finish_reason", OneOf(&["stop", "tool_call", "length", "content_filter", "error"]), May),
];
const EVENT: &[Field] = &[
    f("event_type", Text, Must),
    f("event_data", Any, Must),
    f("source_agent", Text, May),
    f("target_agents", Array, May),
];

const USAGE: &[Field] = &[
    f("input_tokens", Integer, May),
    f("output_tokens", Integer, May),
    f("thinking_tokens", Integer, May),
    f("total_tokens", Integer, May),
];

const PARTS: [&str; 7] =
    ["text", "thinking", "tool-call", "tool-return", "retry-prompt", "file", "user-prompt"];

/// The fields of a part besides its kind.
fn part_fields(kind: &str) -> Option<&'static [Field]> {
    Some(match kind {
        "text" => const { &[f("content", Text, Must)] },
        "thinking" => {
            const {
                &[
                    f("content", Text, May),
                    f("signature", Text, May),
                    f("provider_name", Text, May),
                    f("thinking_id", Text, May),
                ]
            }
        }
        "tool-call" => {
            const { &[f("tool_name", Text, Must), f("tool_call_id", Text, Must), f("args", Any, May)] }
        }
        "tool-return" => {
            const {
                &[
                    f("tool_name", Text, Must),
                    f("tool_call_id", Text, Must),
                    f("status", STATUS, May),
                ]
            }
        }
        "retry-prompt" => {
            const { &[f("content", Any, Must), f("tool_name", Text, May), f("tool_call_id", Text, May)] }
        }
        "file" | "user-prompt" => const { &[f("content", Any, Must)] },
        _ => return None,
    })
}

/// Checks a thread of turns.
pub(super) fn thread(root: Node<'_, '_>, report: &mut Report) {
    let version = root.get("version").and_then(|v| v.str());
    let shape = match version.as_deref() {
        Some("0.0.3") => Shape::V003,
        Some("0.0.4") => Shape::V004,
        _ => Shape::V2,
    };
    validate::fields("", root, THREAD, report);
    let later = &[f("relationships", Object, May)];
    let own = if shape >= Shape::V003 { &later[..] } else { &[] };
    validate::fields("", root, own, report);
    unknown_fields("", root, &[THREAD, own], report);
    for key in ["created_at", "updated_at"] {
        time_text(&format!("/{key}"), root.get(key), report);
    }
    let links = root.get("relationships").filter(|_| shape >= Shape::V003);
    let links = links.and_then(|r| r.get("links")).into_iter().flat_map(Node::children);
    for (i, link) in links.enumerate() {
        const LINK: &[Field] = &[
            f("thread_id", Text, Must),
            f("relation", OneOf(&["spawned_from", "merged_from", "referenced"]), Must),
            f("metadata", Object, May),
        ];
        validate::fields(&format!("/relationships/links/{i}"), link, LINK, report);
    }
    let agents = agents(root, AGENT, report);
    let mut rules = Rules { shape, agents, calls: HashMap::new() };
    for (i, turn) in root.get("turns").into_iter().flat_map(Node::children).enumerate() {
        rules.turn(&format!("/turns/{i}"), turn, report);
    }
}

struct Rules {
    shape: Shape,
    agents: HashSet<String>,
    /// The tools that were called, by id.
    calls: HashMap<String, String>,
}

impl Rules {
    fn turn(&mut self, at: &str, turn: Node<'_, '_>, report: &mut Report) {
        if turn.get("turn_type").is_none() && turn.get("message_type").is_some() {
            self.message(at, turn, &mut Vec::new(), report);
            return;
        }
        validate::fields(at, turn, TURN, report);
        match turn.get("turn_type").and_then(|t| t.str()).as_deref() {
            Some("user") => self.users(at, turn, report),
            Some("agent") => self.agents(at, turn, report),
            _ => {}
        }
    }

    fn users(&mut self, at: &str, turn: Node<'_, '_>, report: &mut Report) {
        let later = &[f("client_metadata", Object, May)];
        let own = if self.shape >= Shape::V003 { &later[..] } else { &[] };
        validate::fields(at, turn, USER, report);
        validate::fields(at, turn, own, report);
        unknown_fields(at, turn, &[TURN, USER, own], report);
        time_text(&format!("{at}/submitted_at"), turn.get("submitted_at"), report);
        let metadata = turn.get("client_metadata").filter(|_| self.shape >= Shape::V003);
        for (key, _) in metadata.into_iter().flat_map(Node::members) {
            let name = key.str().unwrap_or_default();
            if !name.contains([':', '.', '/', '_', '-']) {
                let message =
                    format!("key `{}` names no space: it has none of : . / _ -", brief(&name));
                let at = format!("{at}/client_metadata/{}", token(&name));
                report.error("tp-client-metadata", &at, span(key), message);
            }
        }
        self.parts(at, turn, &mut Vec::new(), report);
    }

    fn agents(&mut self, at: &str, turn: Node<'_, '_>, report: &mut Report) {
        const STATE: &[Field] = &[
            f("completion_status", OneOf(&["complete", "interrupted"]), Must),
            f("interruption", Object, May),
        ];
        const REASONS: &[&str] =
            &["user_cancelled", "timeout", "network_failure", "safety_halt", "error"];
        const INTERRUPTION: &[Field] =
            &[f("reason", OneOf(REASONS), Must), f("interrupted_at", Text, Must)];
        let own = if self.shape == Shape::V004 { STATE } else { &[] };
        validate::fields(at, turn, AGENTS, report);
        validate::fields(at, turn, own, report);
        unknown_fields(at, turn, &[TURN, AGENTS, own], report);
        registered(at, turn, &self.agents, report);
        for key in ["started_at", "completed_at"] {
            time_text(&format!("{at}/{key}"), turn.get(key), report);
        }
        usage(at, "total_usage", turn, report);
        let interrupted = self.shape == Shape::V004
            && turn.get("completion_status").is_some_and(|s| s.is("interrupted"));
        let needed = if interrupted { "interruption" } else { "completed_at" };
        if turn.some(needed).is_none() {
            let message = format!("`{needed}` is missing");
            report.error("missing-field", at, span(turn), message);
        }
        if let Some(interruption) = turn.some("interruption").filter(|_| interrupted) {
            let at = format!("{at}/interruption");
            validate::fields(&at, interruption, INTERRUPTION, report);
            let pointer = format!("{at}/interrupted_at");
            time_text(&pointer, interruption.get("interrupted_at"), report);
        }
        let mut open = Vec::new();
        let messages = turn.get("messages").into_iter().flat_map(Node::children);
        for (i, message) in messages.enumerate() {
            self.message(&format!("{at}/messages/{i}"), message, &mut open, report);
        }
        if self.shape == Shape::V004 {
            for (id, at, span) in open {
                let message = format!("call `{}` has no return in its turn", brief(&id));
                report.error("tp-open-call", &at, span, message);
            }
        }
    }

    fn message(
        &mut self,
        at: &str,
        message: Node<'_, '_>,
        open: &mut Vec<OpenCall>,
        report: &mut Report,
    ) {
        validate::fields(at, message, MESSAGE, report);
        time_text(&format!("{at}/timestamp"), message.get("timestamp"), report);
        match message.get("message_type").and_then(|t| t.str()).as_deref() {
            Some("system") => {
                validate::fields(at, message, EVENT, report);
                unknown_fields(at, message, &[MESSAGE, EVENT], report);
                self.event_type(at, message, report);
            }
            Some("request" | "response") => {
                validate::fields(at, message, SAID, report);
                unknown_fields(at, message, &[MESSAGE, SAID], report);
                registered(at, message, &self.agents, report);
                usage(at, "usage", message, report);
                self.parts(at, message, open, report);
            }
            _ => {}
        }
    }

    /// Warns of events outside the spaces that a version has for them; all are to be kept.
    fn event_type(&self, at: &str, message: Node<'_, '_>, report: &mut Report) {
        const COMMON: [&str; 5] =
            ["agent_handoff", "thread_spawn", "thread_merge", "thread_end", "error"];
        let Some(node) = message.get("event_type") else { return };
        let Some(name) = node.str() else { return };
        let known = match self.shape {
            Shape::V2 => true,
            Shape::V003 => COMMON.contains(&name.replace('.', "_").as_str()) || is_extension(&name),
            Shape::V004 => match name.strip_prefix("data-tp-") {
                Some(name) => COMMON.contains(&name),
                None => name.starts_with("data-sys-") || name.starts_with("data-app-"),
            },
        };
        if !known {
            let message =
                format!("`{}` is in none of the version's spaces for events", brief(&name));
            report.warning("tp-event-type", &format!("{at}/event_type"), span(node), message);
        }
    }

    fn parts(
        &mut self,
        at: &str,
        holder: Node<'_, '_>,
        open: &mut Vec<OpenCall>,
        report: &mut Report,
    ) {
        let parts = holder.get("parts").into_iter().flat_map(Node::children);
        for (i, part) in parts.enumerate() {
            self.part(&format!("{at}/parts/{i}"), part, open, report);
        }
    }

    fn part(
        &mut self,
        at: &str,
        part: Node<'_, '_>,
        open: &mut Vec<OpenCall>,
        report: &mut Report,
    ) {
        let class = if self.shape == Shape::V2 { OneOf(&PARTS) } else { Text };
        validate::fields(at, part, &[f("part_kind", class, Must)], report);
        let Some(node) = part.get("part_kind") else { return };
        let kind = node.str().unwrap_or_default();
        let Some(own) = part_fields(&kind) else {
            if self.shape >= Shape::V003 && node.is_string() && !is_extension(&kind) {
                let message = format!(
                    "`{}` is no part of the version, nor in a space for others",
                    brief(&kind)
                );
                report.warning("tp-part-kind", &format!("{at}/part_kind"), span(node), message);
            }
            return;
        };
        validate::fields(at, part, own, report);
        let id = part.get("tool_call_id").filter(|id| id.is_string());
        match (kind.as_ref(), id) {
            ("tool-call", Some(id)) => {
                let name = part.get("tool_name").and_then(|n| n.str()).unwrap_or_default();
                let key = id.str().unwrap_or_default().into_owned();
                open.push((key.clone(), format!("{at}/tool_call_id"), span(id)));
                self.calls.insert(key, name.into_owned());
            }
            ("tool-return" | "retry-prompt", Some(id)) => self.answer(at, part, id, open, report),
            _ => {}
        }
        if kind == "tool-return" {
            self.content(at, part, report);
        }
    }

    /// A return has its content, or says where that is.
    fn content(&self, at: &str, part: Node<'_, '_>, report: &mut Report) {
        const REFERENCE: &[Field] = &[
            f("uri", Text, Must),
            f("size_bytes", Integer, May),
            f("hash", Text, May),
            f("media_type", Text, May),
        ];
        let elsewhere = part.some("content_ref").filter(|_| self.shape >= Shape::V003);
        if let Some(reference) = elsewhere {
            validate::fields(&format!("{at}/content_ref"), reference, REFERENCE, report);
        } else if part.get("content").is_none() {
            report.error("missing-field", at, span(part), "`content` is missing");
        }
    }

    fn answer(
        &mut self,
        at: &str,
        part: Node<'_, '_>,
        id: Node<'_, '_>,
        open: &mut Vec<OpenCall>,
        report: &mut Report,
    ) {
        let key = id.str().unwrap_or_default();
        let name = part.get("tool_name").filter(|name| name.is_string());
        match (self.calls.get(key.as_ref()), name) {
            (None, _) => {
                let message = format!("no tool-call before it has the id {}", brief(id.raw()));
                report.error("tp-tool-call-id", &format!("{at}/tool_call_id"), span(id), message);
            }
            (Some(called), Some(name)) if !name.is(called) => {
                let message = format!("its call was to `{}`", brief(called));
                report.error("tp-tool-call-id", &format!("{at}/tool_name"), span(name), message);
            }
            _ => {}
        }
        open.retain(|(call, ..)| *call != key);
    }
}

/// A call without its return so far: its id, and where that is.
type OpenCall = (String, String, Option<std::ops::Range<usize>>);

/// Whether a name is in a space that is left to applications.
fn is_extension(name: &str) -> bool {
    ["data-", "custom:", "meta:"].iter().any(|space| name.starts_with(space))
}

fn usage(at: &str, key: &str, holder: Node<'_, '_>, report: &mut Report) {
    if let Some(usage) = holder.some(key).filter(|u| u.is_object()) {
        validate::fields(&format!("{at}/{key}"), usage, USAGE, report);
    }
}
