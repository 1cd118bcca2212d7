//! What a ThreadProtocol document must hold: its fields, and the document's five rules.

mod turns;

use std::collections::{HashMap, HashSet};

use crate::diagnostic::Report;
use crate::journal::kind::Need::{May, Must};
use crate::journal::kind::Type::{Any, Array, Integer, Object, OneOf, Text};
use crate::journal::kind::{Field, Need, Type};
use crate::json::Node;
use crate::time;
use crate::validate::{self, Validator, brief, span};

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}

const THREAD: &[Field] = &[
    f("version", Text, Must),
    f("thread_id", Text, Must),
    f("parent_thread_id", Text, May),
    f("created_at", Text, Must),
    f("updated_at", Text, Must),
    f("title", Text, Must),
    f("metadata", Object, May),
    f("agents", Object, Must),
    f("actions", Array, Must),
];

const AGENT: &[Field] = &[
    f("agent_id", Text, Must),
    f("agent_identifier", Text, Must),
    f("agent_name", Text, Must),
    f("created_at", Text, Must),
    f("config_ref", Text, May),
];

const BASE: &[Field] = &[
    f("action_type", Text, Must),
    f("action_id", Text, May),
    f("timestamp", Text, Must),
    f("sequence", Integer, Must),
];

const FINISH: Type = OneOf(&["stop", "tool_call", "length", "content_filter"]);
const STATUS: Type = OneOf(&["success", "error", "validation_error"]);

/// The fields of a core action besides [`BASE`].
fn core(action_type: &str) -> Option<&'static [Field]> {
    Some(match action_type {
        "user_message" => const { &[f("content", Any, Must), f("attachments", Array, May)] },
        "assistant_message" => {
            const {
                &[
                    f("agent_id", Text, Must),
                    f("content", Any, Must),
                    f("finish_reason", FINISH, May),
                    f("usage", Object, May),
                ]
            }
        }
        "thinking" => {
            const {
                &[
                    f("agent_id", Text, Must),
                    f("content", Text, May),
                    f("signature", Text, May),
                    f("provider_name", Text, Must),
                    f("thinking_id", Text, May),
                    f("usage", Object, May),
                ]
            }
        }
        "tool_call" => {
            const {
                &[
                    f("agent_id", Text, Must),
                    f("tool_name", Text, Must),
                    f("tool_call_id", Text, Must),
                    f("args", Any, Must),
                ]
            }
        }
        "tool_return" => {
            const {
                &[
                    f("tool_call_id", Text, Must),
                    f("tool_name", Text, Must),
                    f("status", STATUS, Must),
                    f("content", Any, Must),
                ]
            }
        }
        _ => return None,
    })
}

const USAGE: &[Field] = &[
    f("input_tokens", Integer, Must),
    f("output_tokens", Integer, Must),
    f("total_tokens", Integer, May),
];

const ATTACHMENT: &[Field] = &[
    f("name", Text, Must),
    f("url", Text, May),
    f("data", Text, May),
    f("media_type", Text, Must),
    f("size_bytes", Integer, May),
];

/// Checks a thread.
#[derive(Debug, Default)]
pub(super) struct Checks;

impl Validator for Checks {
    fn value(&mut self, pointer: &str, root: Node<'_, '_>, report: &mut Report) {
        if !root.is_object() {
            report.error("wrong-type", pointer, span(root), "expected a thread object");
            return;
        }
        if root.get("turns").is_some() && root.get("actions").is_none() {
            turns::thread(root, report);
            return;
        }
        validate::fields("", root, THREAD, report);
        unknown_fields("", root, &[THREAD], report);
        if let Some(version) = root.get("version").filter(|v| v.is_string() && !v.is("1.0.0")) {
            let message = format!("version {} is not \"1.0.0\"", brief(version.raw()));
            report.error("tp-version", "/version", span(version), message);
        }
        for key in ["created_at", "updated_at"] {
            time_text(&format!("/{key}"), root.get(key), report);
        }
        let agents = agents(root, AGENT, report);
        let mut rules = Rules { agents, expected: 1, calls: HashMap::new(), last: None };
        if let Some(actions) = root.get("actions") {
            for (i, action) in actions.children().enumerate() {
                rules.action(&format!("/actions/{i}"), action, report);
            }
        }
    }
}

/// Checks the agents registry; gives the ids in it.
fn agents(root: Node<'_, '_>, table: &[Field], report: &mut Report) -> HashSet<String> {
    let mut agents = HashSet::new();
    for (key, agent) in root.get("agents").into_iter().flat_map(Node::members) {
        let id = key.str().unwrap_or_default().into_owned();
        let at = format!("/agents/{}", token(&id));
        validate::fields(&at, agent, table, report);
        unknown_fields(&at, agent, &[table], report);
        time_text(&format!("{at}/created_at"), agent.get("created_at"), report);
        if let Some(own) = agent.get("agent_id").filter(|own| own.is_string())
            && !own.is(&id)
        {
            let message = format!("agent_id {} is not its key `{}`", brief(own.raw()), brief(&id));
            report.error("tp-agent-id", &format!("{at}/agent_id"), span(own), message);
        }
        agents.insert(id);
    }
    agents
}

/// Reports an agent that is not registered.
fn registered(at: &str, object: Node<'_, '_>, agents: &HashSet<String>, report: &mut Report) {
    let Some(node) = object.get("agent_id") else { return };
    if let Some(agent) = node.str().filter(|agent| !agents.contains(agent.as_ref())) {
        let message = format!("agent `{}` is not in the agents registry", brief(&agent));
        report.error("tp-agent-id", &format!("{at}/agent_id"), span(node), message);
    }
}

/// The rules that look beyond one action.
struct Rules {
    agents: HashSet<String>,
    expected: i64,
    /// Calls that wait for their return: the tool's name, by id.
    calls: HashMap<String, Vec<String>>,
    last: Option<i64>,
}

impl Rules {
    fn action(&mut self, at: &str, action: Node<'_, '_>, report: &mut Report) {
        validate::fields(at, action, BASE, report);
        let kind = action.get("action_type").and_then(|t| t.str()).unwrap_or_default();
        match core(&kind) {
            Some(own) => {
                validate::fields(at, action, own, report);
                unknown_fields(at, action, &[BASE, own], report);
            }
            None if kind.strip_prefix("system.").is_some_and(|name| !name.is_empty()) => {
                let own = &[f("data", Any, Must)];
                validate::fields(at, action, own, report);
                unknown_fields(at, action, &[BASE, own], report);
            }
            None => {
                if let Some(kind) = action.get("action_type").filter(|k| k.is_string()) {
                    let message = format!(
                        "{} is neither a core action nor `system.<name>`",
                        brief(kind.raw())
                    );
                    report.error(
                        "tp-action-type",
                        &format!("{at}/action_type"),
                        span(kind),
                        message,
                    );
                }
            }
        }
        self.sequence(at, action, report);
        self.time(at, action, report);
        if core(&kind).is_some() {
            registered(at, action, &self.agents, report);
        }
        match kind.as_ref() {
            "tool_call" => self.call(action),
            "tool_return" => self.tool_return(at, action, report),
            "user_message" | "assistant_message" => content(at, action, report),
            _ => {}
        }
        if kind == "assistant_message"
            && let Some(usage) = action.some("usage").filter(|u| u.is_object())
        {
            validate::fields(&format!("{at}/usage"), usage, USAGE, report);
        }
    }

    fn sequence(&mut self, at: &str, action: Node<'_, '_>, report: &mut Report) {
        let Some(node) = action.get("sequence") else {
            self.expected += 1;
            return;
        };
        let Some(sequence) = node.i64() else { return };
        if sequence != self.expected {
            let message = format!("expected sequence {}, found {sequence}", self.expected);
            report.error("tp-sequence", &format!("{at}/sequence"), span(node), message);
        }
        self.expected = sequence.saturating_add(1).max(self.expected);
    }

    fn time(&mut self, at: &str, action: Node<'_, '_>, report: &mut Report) {
        let pointer = format!("{at}/timestamp");
        let Some(now) = time_text(&pointer, action.get("timestamp"), report) else { return };
        if self.last.is_some_and(|last| now < last) {
            let node = action.get("timestamp").and_then(span);
            let message = "earlier than the action before it";
            report.warning("tp-time-order", &pointer, node, message);
        }
        self.last = Some(now);
    }

    fn call(&mut self, action: Node<'_, '_>) {
        let text =
            |key: &str| action.get(key).and_then(|v| v.str()).unwrap_or_default().into_owned();
        self.calls.entry(text("tool_call_id")).or_default().push(text("tool_name"));
    }

    fn tool_return(&mut self, at: &str, action: Node<'_, '_>, report: &mut Report) {
        let Some(id) = action.get("tool_call_id").filter(|id| id.is_string()) else { return };
        let name = action.get("tool_name").and_then(|n| n.str()).unwrap_or_default();
        let open = self.calls.get_mut(id.str().unwrap_or_default().as_ref());
        match open {
            None => {
                let message = format!("no tool_call before it has the id {}", brief(id.raw()));
                report.error("tp-tool-call-id", &format!("{at}/tool_call_id"), span(id), message);
            }
            Some(names) => {
                // The nearest open call is the one that is answered; ids may be used again.
                match names.iter().rposition(|n| *n == name) {
                    Some(i) if names.len() > 1 => {
                        names.remove(i);
                    }
                    Some(_) => {}
                    None => {
                        let called = names.last().cloned().unwrap_or_default();
                        let message = format!("its call was to `{}`", brief(&called));
                        let node = action.get("tool_name").and_then(span);
                        report.error("tp-tool-call-id", &format!("{at}/tool_name"), node, message);
                    }
                }
            }
        }
    }
}

fn content(at: &str, action: Node<'_, '_>, report: &mut Report) {
    let Some(content) = action.get("content") else { return };
    let at_content = format!("{at}/content");
    if content.is_array() {
        for (i, part) in content.children().enumerate() {
            content_part(&format!("{at_content}/{i}"), part, report);
        }
    } else {
        validate::check_type(&at_content, content, Text, report);
    }
    let attachments = action.some("attachments");
    for (i, attachment) in attachments.into_iter().flat_map(Node::children).enumerate() {
        let at = format!("{at}/attachments/{i}");
        validate::fields(&at, attachment, ATTACHMENT, report);
        unknown_fields(&at, attachment, &[ATTACHMENT], report);
    }
}

fn content_part(at: &str, part: Node<'_, '_>, report: &mut Report) {
    const CLASS: &[Field] = &[f("type", OneOf(&["text", "image", "file", "audio", "video"]), Must)];
    validate::fields(at, part, CLASS, report);
    let own: &[Field] = match part.get("type").and_then(|t| t.str()).as_deref() {
        Some("text") => &[f("text", Text, Must)],
        Some("image") => {
            &[f("image_url", Text, May), f("image_base64", Text, May), f("media_type", Text, May)]
        }
        Some("file" | "audio" | "video") => &[
            f("url", Text, May),
            f("data", Text, May),
            f("media_type", Text, May),
            f("name", Text, May),
        ],
        _ => return,
    };
    validate::fields(at, part, own, report);
    unknown_fields(at, part, &[CLASS, own], report);
}

/// Warns of fields the document does not name: readers keep them, strict ones refuse them.
fn unknown_fields(at: &str, object: Node<'_, '_>, known: &[&[Field]], report: &mut Report) {
    for (key, _) in object.members() {
        let Some(name) = key.str() else { continue };
        if !known.iter().any(|table| table.iter().any(|field| field.name == name)) {
            let message = format!("the document has no field `{}` here", brief(&name));
            report.warning("unknown-field", &format!("{at}/{}", token(&name)), span(key), message);
        }
    }
}

/// Checks a time; gives it in milliseconds if it is one.
fn time_text(at: &str, value: Option<Node<'_, '_>>, report: &mut Report) -> Option<i64> {
    let value = value.filter(|v| v.is_string())?;
    let millis = time::to_millis(&value.str()?);
    if millis.is_none() {
        let message = format!("{} is not an ISO 8601 time", brief(value.raw()));
        report.error("tp-timestamp", at, span(value), message);
    }
    millis
}

fn token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
