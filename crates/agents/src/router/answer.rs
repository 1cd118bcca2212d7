//! What a task came to, as an envelope.
//!
//! A text that is an envelope is taken as one; of any other the adapter of the model's family makes
//! one, with the intent it was asked with. What a mind says beside its text, and the artifacts that
//! the task wrote, are added.

use std::fmt::Write as _;

use selvedge_protocol::dialect::envelope::adapters::Adapter;
use selvedge_protocol::dialect::envelope::{DIALECT, INTENTS, PROTOCOL};
use selvedge_protocol::dialect::{DecodeOptions, Frames, Start, decode};
use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Node, compact, quote};

use super::Team;
use super::fold::{Route, Routing};

impl Routing {
    /// The envelope of a task that is over.
    pub(super) fn answer(
        &self,
        task: &str,
        team: &dyn Team,
        (thread, now): (&str, &str),
    ) -> Option<Event<'static>> {
        let route = self.routes.get(task)?;
        let model = self.models.get(&route.agent).map(String::as_str);
        let model = model.or_else(|| team.model(&route.agent)).unwrap_or("n/a");
        let said = route.said();
        let parts = match route.end.as_ref()?.state {
            TaskState::Completed => Parts::of(said, route, model, now),
            state => Parts::failed(route, state, said),
        };
        let id = selvedge_protocol::ident::from_text(&format!("{task}/answer"));
        let agent = format!(
            "{{\"id\":{},\"name\":{},\"model\":{}}}",
            quote(&route.agent),
            quote(&route.agent),
            quote(model)
        );
        let mut text = format!(
            "{{\"protocol\":\"{PROTOCOL}\",\"role\":\"agent\",\"agent\":{agent},\"timestamp\":{},\
             \"intent\":{},\"task\":{},\"content\":{}",
            quote(now),
            quote(&parts.intent),
            parts.task,
            parts.content
        );
        if let Some(outputs) = parts.outputs(route, thread) {
            let _ = write!(text, ",\"outputs\":{outputs}");
        }
        if let Some(confidence) = &parts.confidence {
            let _ = write!(text, ",\"confidence\":{confidence}");
        }
        let tokens = route.progress.tokens;
        let cost = match tokens.calls {
            0 => String::new(),
            _ => format!(
                ",\"cost\":{{\"input_tokens\":{},\"output_tokens\":{}}}",
                tokens.input, tokens.output
            ),
        };
        let _ = write!(
            text,
            ",\"trace\":{{\"parents\":{},\"id\":{}{cost}}}}}",
            route.parents,
            quote(&id)
        );
        message(&text, task)
    }
}

/// The envelope as an event.
fn message(text: &str, task: &str) -> Option<Event<'static>> {
    let options =
        DecodeOptions { start: Start::Continue, frames: Frames::Skip, ..DecodeOptions::default() };
    let mut found = None;
    decode(&DIALECT, &options, text, |batch| {
        let message = batch.events.iter().find(|event| event.kind() == Kind::Message);
        found = message.map(Event::to_owned).or(found.take());
    });
    let mut out = Event::new(Kind::Message);
    // Its tokens are counted where they were used.
    for (name, value) in found?.fields().filter(|(name, _)| *name != "usage") {
        out.set(name.to_owned(), value.to_owned());
    }
    Some(out.with_str("answers", task))
}

impl Route {
    /// What the task said in the end.
    fn said(&self) -> &str {
        let end = self.end.as_ref().and_then(|end| end.said.as_deref());
        end.unwrap_or_else(|| self.progress.text())
    }
}

/// What an answer says, as JSON but for the intent.
struct Parts {
    intent: String,
    task: String,
    content: String,
    confidence: Option<String>,
    artifacts: Vec<String>,
    next: Vec<String>,
}

impl Parts {
    fn of(said: &str, route: &Route, model: &str, now: &str) -> Self {
        let text = unfenced(said);
        let own = Doc::parse(text).ok().filter(|doc| is_envelope(doc.root()));
        let made = Adapter::of_model(model).answer(&route.task, said, now);
        let made = made.doc();
        let aside = route.aside.as_ref().and_then(|aside| aside.doc());
        // What the text says counts more than what is said beside it.
        let spoken = own.as_ref().map(Doc::root);
        let sources = [spoken, aside.as_ref().map(Doc::root)];
        let find = |pointer: &str, is: fn(Node<'_, '_>) -> bool| {
            let mut found = sources.iter().flatten().filter_map(|node| node.pointer(pointer));
            found.find(|node| is(*node))
        };
        let plain = |name: &str| made.as_ref().and_then(|made| made.root().get(name));
        let list = |pointer: &str, is: fn(Node<'_, '_>) -> bool| {
            let all = find(pointer, |node| node.is_array()).into_iter().flat_map(Node::children);
            all.filter(|node| is(*node)).map(compact).collect()
        };
        let intent = find("/intent", is_intent).and_then(Node::str);
        let content = spoken.and_then(|e| e.get("content")).filter(|c| has_type(*c));
        let task = spoken.and_then(|e| e.get("task")).filter(|task| task.is_string());
        Self {
            intent: intent.map_or_else(|| route.intent.clone(), |intent| intent.into_owned()),
            task: task.or_else(|| plain("task")).map_or_else(|| quote(&route.task), compact),
            content: content.or_else(|| plain("content")).map_or_else(|| text_of(said), compact),
            confidence: find("/confidence", is_confidence).map(compact),
            artifacts: list("/outputs/artifacts", is_artifact),
            next: list("/outputs/next_actions", is_action),
        }
    }

    fn failed(route: &Route, state: TaskState, said: &str) -> Self {
        let code = route.end.as_ref().and_then(|end| end.code.as_deref());
        let content = format!(
            "{{\"type\":\"error\",\"text\":{},\"data\":{{\"code\":{}}}}}",
            quote(if said.is_empty() { "the task did not come to its end" } else { said }),
            quote(code.unwrap_or(state.name()))
        );
        Self {
            intent: route.intent.clone(),
            task: quote(&route.task),
            content,
            confidence: None,
            artifacts: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Artifacts and next actions, if there are any.
    fn outputs(&self, route: &Route, thread: &str) -> Option<String> {
        let mut artifacts = self.artifacts.clone();
        for artifact in &route.artifacts {
            let uri = format!(
                "/api/threads/{}/artifacts/{}/content",
                encoded(thread),
                encoded(&artifact.id)
            );
            artifacts.push(format!(
                "{{\"kind\":\"{}\",\"name\":{},\"uri\":{}}}",
                artifact.kind,
                quote(artifact.name.as_deref().unwrap_or(&artifact.id)),
                quote(&uri)
            ));
        }
        let lists = [("artifacts", &artifacts), ("next_actions", &self.next)];
        let lists = lists.iter().filter(|(_, list)| !list.is_empty());
        let lists: Vec<String> =
            lists.map(|(name, list)| format!("\"{name}\":[{}]", list.join(","))).collect();
        (!lists.is_empty()).then(|| format!("{{{}}}", lists.join(",")))
    }
}

/// A text without the fence that models put around JSON.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).map_or(text, str::trim)
}

/// Whether a value is an envelope, or enough of one to be meant as one.
fn is_envelope(node: Node<'_, '_>) -> bool {
    let named = node.get("protocol").and_then(Node::str);
    named.is_some_and(|name| name.starts_with("multiagent-"))
        || node.get("content").is_some_and(has_type) && node.get("intent").is_some_and(is_intent)
}

fn is_intent(node: Node<'_, '_>) -> bool {
    INTENTS.iter().any(|intent| node.is(intent))
}

fn has_type(node: Node<'_, '_>) -> bool {
    node.get("type").is_some_and(Node::is_string)
}

fn is_confidence(node: Node<'_, '_>) -> bool {
    let score = node.get("score").and_then(Node::f64);
    score.is_some_and(|score| (0.0..=1.0).contains(&score))
}

fn is_artifact(node: Node<'_, '_>) -> bool {
    ["kind", "name"].iter().all(|name| node.get(name).is_some_and(Node::is_string))
}

fn is_action(node: Node<'_, '_>) -> bool {
    node.get("intent").is_some_and(is_intent) && node.get("task").is_some_and(Node::is_string)
}

fn text_of(said: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(said))
}

fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
