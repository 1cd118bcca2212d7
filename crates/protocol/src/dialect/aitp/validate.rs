//! Checks of threads, messages and capability messages.
//!
//! A thread must have all that the document gives it; a message by itself, or a list of them, may
//! lack what only the thread knows, as in requests of AITP-T01.

mod dialogue;

use std::collections::{HashMap, HashSet};

use super::capability::{self, Capability, Spelling};
use crate::diagnostic::Report;
use crate::journal::kind::Need::{May, Must};
use crate::journal::kind::{Field, Type};
use crate::json::{Doc, Node, NodeKind};
use crate::validate::{Validator, brief, check_type, fields, span};
use dialogue::Dialogue;

/// The dialect's checks; a source is one document.
pub(super) struct Checks;

const fn f(name: &'static str, ty: Type, need: crate::journal::kind::Need) -> Field {
    Field { name, ty, need }
}

const ROLE: Type = Type::OneOf(&["user", "assistant"]);

const MESSAGE: &[Field] = &[
    f("created_at", Type::Integer, Must),
    f("thread_id", Type::Text, Must),
    f("content", Type::Any, Must),
    f("attachments", Type::Array, May),
    f("role", ROLE, Must),
    f("metadata", Type::Object, Must),
    f("id", Type::Text, May),
];

const ALONE: &[Field] = &[
    f("created_at", Type::Integer, May),
    f("thread_id", Type::Text, May),
    f("content", Type::Any, Must),
    f("attachments", Type::Array, May),
    f("role", ROLE, Must),
    f("metadata", Type::Object, May),
    f("id", Type::Text, May),
];

/// Later than any thread: a time in milliseconds.
const FAR: i64 = 100_000_000_000;

impl Validator for Checks {
    fn value(&mut self, _pointer: &str, root: Node<'_, '_>, report: &mut Report) {
        if root.is_array() {
            let mut thread = Thread::new(Place::Alone);
            for (i, message) in root.children().enumerate() {
                thread.message(&format!("/{i}"), message, report);
            }
        } else if root.get("messages").is_none() && root.get("$schema").is_some() {
            capability::check(root, report);
        } else if root.get("messages").is_none() && root.get("role").is_some() {
            Thread::new(Place::Alone).message("", root, report);
        } else if root.get("messages").is_none() && capability::looks_like(root) {
            capability::check(root, report);
        } else {
            Thread::new(Place::Thread).check(root, report);
        }
    }
}

/// Whether messages stand in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Thread,
    Alone,
}

/// What a thread's messages are checked against.
struct Thread {
    place: Place,
    id: Option<String>,
    /// The actors, if the thread names them.
    actors: Option<HashSet<String>>,
    /// The role each actor spoke in first.
    roles: HashMap<String, String>,
    creator: Option<String>,
    clock: Option<i64>,
    dialogue: Dialogue,
}

impl Thread {
    fn new(place: Place) -> Self {
        Self {
            place,
            id: None,
            actors: None,
            roles: HashMap::new(),
            creator: None,
            clock: None,
            dialogue: Dialogue::default(),
        }
    }

    fn check(&mut self, root: Node<'_, '_>, report: &mut Report) {
        let messages = root.get("messages");
        let new = messages
            .is_some_and(|m| m.children().next().is_some() && m.children().all(Node::is_string));
        // A request to create a thread has strings for messages, and no id yet.
        let id = if new { May } else { Must };
        let table = [
            f("id", Type::Text, id),
            f("messages", Type::Array, Must),
            f("metadata", Type::Object, Must),
        ];
        fields("", root, &table, report);
        self.id = root.get("id").and_then(|id| id.str()).map(|id| id.into_owned());
        if let Some(metadata) = root.some("metadata").filter(|m| m.is_object()) {
            self.metadata(metadata, report);
        }
        for (i, message) in messages.into_iter().flat_map(Node::children).enumerate() {
            let pointer = format!("/messages/{i}");
            if new {
                self.content(&pointer, message, None, report);
            } else {
                self.message(&pointer, message, report);
            }
        }
    }

    fn metadata(&mut self, metadata: Node<'_, '_>, report: &mut Report) {
        fields("/metadata", metadata, &[f("parent_id", Type::Text, May)], report);
        self.dialogue.forked = metadata.some("parent_id").is_some();
        let pointer = "/metadata/actors";
        let Some(actors) = metadata.some("actors") else {
            let message = "the thread does not say who takes part";
            report.warning("aitp-no-actors", "/metadata", span(metadata), message);
            return;
        };
        let known = self.actors.insert(HashSet::new());
        if actors.is_array() {
            list_actors(pointer, actors, known, report);
        } else if let Some(text) = actors.str() {
            // The whole list as JSON inside a string.
            match Doc::parse(&text) {
                Ok(doc) if doc.root().is_array() => {
                    let mut inner = Report::new();
                    list_actors("", doc.root(), known, &mut inner);
                    for found in inner.diagnostics() {
                        let at = format!(" (at `{}` inside the string)", found.pointer);
                        inside(found, pointer, &at, report);
                    }
                }
                _ => {
                    let message = "expected an array, or a string that holds one";
                    report.error("wrong-type", pointer, span(actors), message);
                }
            }
        } else {
            check_type(pointer, actors, Type::Array, report);
        }
    }

    fn message(&mut self, pointer: &str, node: Node<'_, '_>, report: &mut Report) {
        let table = if self.place == Place::Thread { MESSAGE } else { ALONE };
        fields(pointer, node, table, report);
        if !node.is_object() {
            return;
        }
        let actor = self.author(pointer, node, report);
        if let Some(id) = node.get("thread_id").and_then(|id| id.str()) {
            let own = self.id.get_or_insert_with(|| id.to_string());
            if *own != id {
                let message = format!("the message is of thread `{}`, not this one", brief(&id));
                let pointer = format!("{pointer}/thread_id");
                report.error(
                    "aitp-thread-id",
                    &pointer,
                    node.get("thread_id").and_then(span),
                    message,
                );
            }
        }
        self.time(pointer, node, report);
        for (i, file) in node.some("attachments").into_iter().flat_map(Node::children).enumerate() {
            let pointer = format!("{pointer}/attachments/{i}");
            fields(&pointer, file, &[f("file_id", Type::Text, Must)], report);
        }
        let Some(content) = node.get("content") else { return };
        let pointer = format!("{pointer}/content");
        if content.is_array() {
            for (i, item) in content.children().enumerate() {
                let pointer = format!("{pointer}/{i}");
                if item.is_object() && item.get("type").is_some_and(|t| t.is("text")) {
                    let message = "AITP content is strings; this is a part of OpenAI's";
                    report.warning("aitp-content-part", &pointer, span(item), message);
                } else {
                    self.content(&pointer, item, actor.as_deref(), report);
                }
            }
        } else {
            if content.is_string() && self.place == Place::Thread {
                let message = "content is an array of strings";
                report.warning("aitp-content-string", &pointer, span(content), message);
            }
            self.content(&pointer, content, actor.as_deref(), report);
        }
    }

    /// Checks who speaks, and in which role.
    fn author(&mut self, pointer: &str, node: Node<'_, '_>, report: &mut Report) -> Option<String> {
        let metadata = node.some("metadata").filter(|m| m.is_object())?;
        let need = if self.place == Place::Thread { Must } else { May };
        let pointer = format!("{pointer}/metadata");
        fields(&pointer, metadata, &[f("actor", Type::Text, need)], report);
        let actor_node = metadata.get("actor")?;
        let actor = actor_node.str()?.into_owned();
        let pointer = format!("{pointer}/actor");
        if self.actors.as_ref().is_some_and(|known| !known.contains(&actor)) {
            let message = format!("`{}` is not among the thread's actors", brief(&actor));
            report.error("aitp-unknown-actor", &pointer, span(actor_node), message);
        }
        let role = node.get("role").and_then(|r| r.str())?.into_owned();
        let before = self.roles.entry(actor.clone()).or_insert_with(|| role.clone());
        if *before != role {
            let message = format!("`{}` spoke as `{}` before", brief(&actor), brief(before));
            report.error("aitp-role", &pointer, span(actor_node), message);
        } else if role == "user" {
            let creator = self.creator.get_or_insert_with(|| actor.clone());
            if *creator != actor {
                let message = format!(
                    "only the thread's creator is `user`, and that is `{}`",
                    brief(creator)
                );
                report.error("aitp-role", &pointer, span(actor_node), message);
            }
        }
        Some(actor)
    }

    fn time(&mut self, pointer: &str, node: Node<'_, '_>, report: &mut Report) {
        let Some(created) = node.get("created_at") else { return };
        let Some(at) = created.i64() else { return };
        let pointer = format!("{pointer}/created_at");
        if at >= FAR {
            let message = "this looks like milliseconds; expected Unix seconds";
            report.warning("aitp-milliseconds", &pointer, span(created), message);
        } else if at < 0 {
            let message = "the message is older than Unix time";
            report.warning("aitp-time", &pointer, span(created), message);
        }
        if self.clock.is_some_and(|before| at < before) {
            let message = "the message is older than the one before it";
            report.warning("aitp-time-order", &pointer, span(created), message);
        }
        self.clock = Some(at);
    }

    /// Checks a string of content, and the capability message in it.
    fn content(
        &mut self,
        pointer: &str,
        node: Node<'_, '_>,
        actor: Option<&str>,
        report: &mut Report,
    ) {
        if !matches!(node.kind(), NodeKind::Plain | NodeKind::Escaped) {
            check_type(pointer, node, Type::Text, report);
            return;
        }
        let Some(text) = node.str().filter(|t| capability::is_message(t)) else { return };
        let Ok(doc) = Doc::parse(&text) else { return };
        let mut inner = Report::new();
        capability::check(doc.root(), &mut inner);
        self.dialogue.read(doc.root(), actor, &mut inner);
        for found in inner.diagnostics() {
            let at = match found.pointer.as_str() {
                "" => String::new(),
                at => format!(" (at `{at}` inside the string)"),
            };
            // A party may pass on what it does not know.
            if found.code == "unknown-capability" {
                report.warning(found.code, pointer, span(node), found.message.clone());
            } else {
                inside(found, pointer, &at, report);
            }
        }
    }
}

/// Passes on what was found inside a string, which no pointer reaches.
fn inside(found: &crate::diagnostic::Diagnostic, pointer: &str, at: &str, report: &mut Report) {
    let mut found = found.clone();
    found.message.push_str(at);
    found.span = None;
    capability::pass_on(&found, pointer, report);
}

fn list_actors(
    pointer: &str,
    list: Node<'_, '_>,
    known: &mut HashSet<String>,
    report: &mut Report,
) {
    for (i, actor) in list.children().enumerate() {
        let pointer = format!("{pointer}/{i}");
        let table = [f("id", Type::Text, Must), f("client_id", Type::Text, May)];
        fields(&pointer, actor, &table, report);
        if let Some(id) = actor.get("id").and_then(|id| id.str())
            && !known.insert(id.to_string())
        {
            let message = format!("actor `{}` is named twice", brief(&id));
            report.error("aitp-duplicate-actor", &format!("{pointer}/id"), span(actor), message);
        }
        let Some(able) = actor.some("capabilities") else { continue };
        let pointer = format!("{pointer}/capabilities");
        if able.is_string() {
            continue;
        }
        check_type(&pointer, able, Type::Array, report);
        for (j, item) in able.children().enumerate() {
            capability_named(&format!("{pointer}/{j}"), item, report);
        }
    }
}

fn capability_named(pointer: &str, item: Node<'_, '_>, report: &mut Report) {
    let url = item.get("schema").or_else(|| item.get("$schema"));
    let url = url.or_else(|| item.is_string().then_some(item));
    let Some(url) = url else {
        let message = "expected a schema URL, or an object with `schema`";
        report.error("missing-field", pointer, span(item), message);
        return;
    };
    check_type(pointer, url, Type::Text, report);
    let Some(text) = url.str() else { return };
    let message = match Capability::of(&text) {
        Some((_, Spelling::Current)) => return,
        Some(_) => "an old URL: use the capability's v1.0.0".to_owned(),
        None => format!("`{}` is no capability known here", brief(&text)),
    };
    report.warning("aitp-capability", pointer, span(url), message);
}
