//! One envelope on its way to the wire.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::js;
use super::model::{PROTOCOL, THREAD_TAG};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw, quote, text};

/// The time of events before the first that has one.
pub(super) const EPOCH: &str = "\"1970-01-01T00:00:00.000Z\"";

/// The document's word for a model that is none.
const NO_MODEL: &str = "\"n/a\"";

/// What agents said of themselves, by their ids as JSON.
#[derive(Debug, Default)]
pub(super) struct Agents(HashMap<String, About>);

#[derive(Debug, Default)]
struct About {
    name: Option<Raw<'static>>,
    model: Option<Raw<'static>>,
    version: Option<Raw<'static>>,
}

impl Agents {
    /// Notes what an event says of an agent.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let text = |name: &str| event.get(name).filter(|v| v.body().is_some()).map(Raw::to_owned);
        let joined = event.kind() == Kind::ParticipantJoined;
        let id = match event.kind() {
            Kind::ParticipantJoined => text("participantId"),
            Kind::TaskCreated => text("agentId").or_else(|| event.at("metadata", "/agentId")),
            Kind::StepStarted | Kind::StepFinished | Kind::LlmUsage => text("agentId"),
            _ => return,
        };
        let Some(id) = id else { return };
        let about = self.0.entry(id.to_string()).or_default();
        if joined {
            about.name = text("name").or(about.name.take());
            about.version = text("version").or(about.version.take());
        }
        let model = text("model").or_else(|| event.at("metadata", "/model"));
        if about.model.is_none() || joined {
            about.model = model.filter(|m| m.body().is_some()).or(about.model.take());
        }
    }

    fn write(&self, id: &Raw<'_>, out: &mut String) {
        let about = self.0.get(id.as_str());
        let name = about.and_then(|a| a.name.as_deref()).unwrap_or(id);
        let model = about.and_then(|a| a.model.as_deref()).unwrap_or(NO_MODEL);
        let _ = write!(out, "{{\"id\":{id},\"name\":{name},\"model\":{model}");
        if let Some(version) = about.and_then(|a| a.version.as_deref()) {
            let _ = write!(out, ",\"version\":{version}");
        }
        out.push('}');
    }
}

/// An envelope's members as JSON text.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) role: String,
    pub(super) cost: Option<String>,
    /// The trace without its cost; an event's own is complete.
    pub(super) trace: String,
    own_trace: bool,
    agent: Option<Raw<'static>>,
    timestamp: Raw<'static>,
    intent: String,
    task: String,
    inputs: Option<String>,
    content: String,
    outputs: Option<String>,
    confidence: Option<String>,
}

impl Draft {
    fn new(
        role: &str,
        agent: Option<Raw<'static>>,
        timestamp: Raw<'static>,
        intent: &str,
        task: String,
        content: String,
    ) -> Self {
        Self {
            role: role.to_owned(),
            cost: None,
            trace: String::new(),
            own_trace: false,
            agent,
            timestamp,
            intent: quote(intent),
            task,
            inputs: None,
            content,
            outputs: None,
            confidence: None,
        }
    }

    /// A text, given as a string body.
    pub(super) fn said(
        role: &str,
        agent: Option<Raw<'static>>,
        time: Raw<'static>,
        body: &str,
    ) -> Self {
        let content = format!("{{\"type\":\"text\",\"text\":\"{body}\"}}");
        Self::new(role, agent, time, default_intent(role), purpose(body), content)
    }

    /// An error, its message given as a string body.
    pub(super) fn failed(
        role: &str,
        agent: Option<Raw<'static>>,
        time: Raw<'static>,
        body: &str,
    ) -> Self {
        let content = format!("{{\"type\":\"error\",\"text\":\"{body}\"}}");
        Self::new(role, agent, time, "reflect", purpose(body), content)
    }

    /// A whole message.
    pub(super) fn message(event: &Event<'_>, time: Raw<'static>) -> Self {
        let role = event.str("role").unwrap_or_else(|| "user".into()).into_owned();
        let author = event.get("author").or_else(|| event.get("agentId"));
        let agent = author.filter(|a| a.body().is_some()).map(Raw::to_owned);
        let content = Content::of(event, &role);
        let task = purpose(&content.text);
        let mut draft =
            Self::new(&role, agent, time, default_intent(&role), task, content.json(event));
        let raw = |name: &str| event.get(name).filter(|v| !v.is_null()).map(ToString::to_string);
        if let Some(intent) = raw("intent") {
            draft.intent = intent;
        }
        if let Some(task) = raw("task") {
            draft.task = task;
        }
        draft.inputs = raw("inputs").or_else(|| content.inputs());
        draft.outputs = raw("outputs").or_else(|| content.outputs());
        draft.confidence = raw("confidence");
        draft.cost = event.get("usage").and_then(cost);
        if let Some(trace) = raw("trace") {
            draft.trace = trace;
            draft.own_trace = true;
        }
        draft
    }

    /// A tool call.
    pub(super) fn call(
        agent: Option<Raw<'static>>,
        time: Raw<'static>,
        id: &str,
        name: &Raw<'_>,
        arguments: &Raw<'_>,
    ) -> Self {
        let task = format!("\"Call {}\"", name.body().unwrap_or(""));
        let content = format!("{{\"type\":\"json\",\"data\":{{\"call_id\":{id}}}}}");
        let args = match arguments.is_object() {
            true => arguments.to_string(),
            false => format!("{{\"_raw\":{arguments}}}"),
        };
        let mut draft = Self::new("agent", agent, time, "tool.call", task.clone(), content);
        draft.inputs = Some(tool_resource(name));
        draft.outputs = Some(format!(
            "{{\"next_actions\":[{{\"intent\":\"tool.call\",\"task\":{task},\"args\":{args}}}]}}"
        ));
        draft
    }

    /// A tool's return.
    pub(super) fn returned(
        event: &Event<'_>,
        time: Raw<'static>,
        id: &str,
        name: &Raw<'_>,
    ) -> Self {
        let outcome = event.get("outcome").filter(|o| o.body().is_some());
        let failed = match event.get("success").and_then(Raw::bool) {
            Some(success) => !success,
            None => event.get("error").is_some() || outcome.is_some_and(|o| !o.is("success")),
        };
        let mut content = String::from("{\"type\":");
        content.push_str(if failed { "\"error\"" } else { "\"tool_result\"" });
        if let Some(error) = event.get("error").filter(|e| e.body().is_some()) {
            let _ = write!(content, ",\"text\":{error}");
        }
        let id = if id.is_empty() { "\"\"" } else { id };
        let _ = write!(content, ",\"data\":{{\"call_id\":{id}");
        if let Some(result) = event.get("result") {
            let _ = write!(content, ",\"result\":{result}");
        }
        if let Some(outcome) = outcome {
            let _ = write!(content, ",\"outcome\":{outcome}");
        }
        content.push_str("}}");
        let task = format!("\"Result of {}\"", name.body().unwrap_or(""));
        let agent = event.get("agentId").map(Raw::to_owned);
        let mut draft = Self::new("tool", agent, time, "tool.call", task, content);
        draft.inputs = Some(tool_resource(name));
        draft
    }

    /// The id that the event's own trace has.
    pub(super) fn given_id(&self) -> Option<String> {
        let trace = Raw::owned(self.trace.as_str());
        if !self.own_trace || trace.body().is_some() {
            return trace.body().map(|_| self.trace.clone());
        }
        let doc = trace.doc()?;
        let id = doc.root().get("id").map(|id| id.raw().to_owned());
        // A trace without an id still is the event's own.
        Some(id.unwrap_or_default())
    }

    /// The envelope, members in the document's order.
    pub(super) fn write(&self, agents: &Agents) -> String {
        let mut out = String::with_capacity(256 + self.content.len());
        let _ = write!(out, "{{\"protocol\":\"{PROTOCOL}\",\"role\":{}", quote(&self.role));
        if let Some(agent) = &self.agent {
            out.push_str(",\"agent\":");
            agents.write(agent, &mut out);
        }
        let (time, intent, task) = (&self.timestamp, &self.intent, &self.task);
        let _ = write!(out, ",\"timestamp\":{time},\"intent\":{intent},\"task\":{task}");
        let members = [
            ("inputs", self.inputs.as_ref()),
            ("content", Some(&self.content)),
            ("outputs", self.outputs.as_ref()),
            ("confidence", self.confidence.as_ref()),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                let _ = write!(out, ",\"{name}\":{value}");
            }
        }
        let _ = write!(out, ",\"trace\":{}", self.trace);
        if let (Some(cost), false) = (&self.cost, self.own_trace) {
            out.pop();
            let _ = write!(out, ",\"cost\":{cost}}}");
        }
        out.push('}');
        out
    }
}

/// A trace of our own: the direct parent, the id, the thread.
pub(super) fn trace(id: &str, parent: Option<String>, context: Option<&Raw<'_>>) -> String {
    let mut out = String::from("{");
    if let Some(parent) = parent.filter(|p| !p.is_empty()) {
        let _ = write!(out, "\"parents\":[{parent}],");
    }
    let _ = write!(out, "\"id\":{id}");
    if let Some(context) = context.and_then(|c| string_body(c)) {
        let _ = write!(out, ",\"tags\":[\"{THREAD_TAG}{context}\"]");
    }
    out.push('}');
    out
}

/// Tokens as the envelope counts them.
pub(super) fn cost(usage: &Raw<'_>) -> Option<String> {
    let doc = usage.doc()?;
    let tokens = |name: &str| doc.root().some(name).map(|n| n.raw().to_owned());
    costs(tokens("input_tokens"), tokens("output_tokens"))
}

/// The same, as Looopy's code counts them.
pub(super) fn llm_cost(event: &Event<'_>) -> Option<String> {
    let tokens = |name: &str| event.get(name).filter(|n| !n.is_null()).map(ToString::to_string);
    costs(tokens("prompt_tokens"), tokens("completion_tokens"))
}

fn costs(input: Option<String>, output: Option<String>) -> Option<String> {
    let parts: Vec<String> = [("input_tokens", input), ("output_tokens", output)]
        .into_iter()
        .filter_map(|(name, n)| Some(format!("\"{name}\":{}", n?)))
        .collect();
    (!parts.is_empty()).then(|| format!("{{{}}}", parts.join(",")))
}

/// The body of a string that is not empty.
pub(super) fn string_body<'r>(raw: &'r Raw<'_>) -> Option<&'r str> {
    raw.body().filter(|body| !body.is_empty())
}

fn default_intent(role: &str) -> &'static str {
    match role {
        "user" => "plan",
        "agent" => "finalize",
        "tool" => "tool.call",
        _ => "reflect",
    }
}

/// The purpose line of a text, as the document's adapters cut it.
fn purpose(body: &str) -> String {
    format!("\"{}\"", js::slice(body, 160))
}

fn tool_resource(name: &Raw<'_>) -> String {
    format!("{{\"resources\":[{{\"type\":\"tool\",\"id\":{name}}}]}}")
}

/// A message's content, taken apart.
#[derive(Debug, Default)]
struct Content {
    /// Its text, as a string body.
    text: String,
    data: Option<String>,
    class: Option<String>,
    resources: Vec<String>,
    artifacts: Vec<String>,
}

impl Content {
    fn of(event: &Event<'_>, role: &str) -> Self {
        let mut content = Self::default();
        if let Some(given) = event.get("content") {
            match given.body() {
                Some(body) => content.text = body.to_owned(),
                None if given.is_array() => {
                    let doc = given.doc();
                    let parts = doc.iter().flat_map(|doc| doc.root().children());
                    parts.for_each(|part| content.part(part));
                }
                None if given.is_null() => {}
                None => content.data = Some(given.to_string()),
            }
        }
        let attachments = event.get("attachments").and_then(|a| a.doc());
        for item in attachments.iter().flat_map(|doc| doc.root().children()) {
            content.attachment(item);
        }
        content.class = match event.get("contentType").map(ToString::to_string) {
            Some(class) => Some(class),
            None if content.data.is_none() => None,
            None if role == "tool" => Some("\"tool_result\"".to_owned()),
            None => Some("\"json\"".to_owned()),
        };
        content
    }

    fn part(&mut self, part: Node<'_, '_>) {
        let class = part.get("type").and_then(|t| t.str()).unwrap_or_default();
        let text_of = |name: &str| part.get(name).filter(|v| v.is_string());
        if let Some(said) = text_of("text").filter(|_| class == "text") {
            self.text.push_str(&text::minimal(said.body()));
        } else if let Some(data) =
            part.get("data").filter(|_| class == "data" && self.data.is_none())
        {
            self.data = Some(data.raw().to_owned());
        } else {
            let uri = text_of("image_url").or_else(|| text_of("url"));
            let inline = text_of("image_base64").or_else(|| text_of("data"));
            let name = text_of("name").map(|n| n.raw().to_owned());
            let name = name.unwrap_or_else(|| quote(&class));
            self.artifact(&quote(&class), &name, uri, inline);
        }
    }

    fn attachment(&mut self, item: Node<'_, '_>) {
        let text_of = |name: &str| item.get(name).filter(|v| v.is_string());
        let name = text_of("name").or_else(|| text_of("file_id"));
        match (text_of("url"), text_of("data")) {
            (Some(url), _) => {
                let hint = name.map(|n| format!(",\"hint\":{}", n.raw())).unwrap_or_default();
                let id = url.raw();
                self.resources.push(format!("{{\"type\":\"url\",\"id\":{id}{hint}}}"));
            }
            (None, Some(data)) => {
                let name = name.map_or("\"file\"", |n| n.raw());
                self.artifact("\"file\"", name, None, Some(data));
            }
            (None, None) => {
                if let Some(name) = name {
                    let id = name.raw();
                    self.resources.push(format!("{{\"type\":\"file\",\"id\":{id}}}"));
                }
            }
        }
    }

    fn artifact(
        &mut self,
        kind: &str,
        name: &str,
        uri: Option<Node<'_, '_>>,
        inline: Option<Node<'_, '_>>,
    ) {
        if uri.is_none() && inline.is_none() {
            return;
        }
        let uri = uri.map(|uri| format!(",\"uri\":{}", uri.raw())).unwrap_or_default();
        let inline = inline.map(|i| format!(",\"inline\":{}", i.raw())).unwrap_or_default();
        self.artifacts.push(format!("{{\"kind\":{kind},\"name\":{name}{uri}{inline}}}"));
    }

    fn json(&self, event: &Event<'_>) -> String {
        let class = self.class.as_deref().unwrap_or("\"text\"");
        let mut out = format!("{{\"type\":{class}");
        let said = event.get("content").is_some_and(|c| c.body().is_some());
        if !self.text.is_empty() || self.data.is_none() && (said || self.class.is_none()) {
            let _ = write!(out, ",\"text\":\"{}\"", self.text);
        }
        if let Some(data) = &self.data {
            let _ = write!(out, ",\"data\":{data}");
        }
        out.push('}');
        out
    }

    fn inputs(&self) -> Option<String> {
        let list = self.resources.join(",");
        (!list.is_empty()).then(|| format!("{{\"resources\":[{list}]}}"))
    }

    fn outputs(&self) -> Option<String> {
        let list = self.artifacts.join(",");
        (!list.is_empty()).then(|| format!("{{\"artifacts\":[{list}]}}"))
    }
}

/// An artifact being written, chunk by chunk.
#[derive(Debug)]
pub(super) struct Artifact {
    kind: Kind,
    agent: Option<Raw<'static>>,
    time: Raw<'static>,
    name: Raw<'static>,
    uri: Option<Raw<'static>>,
    /// A file's text as a string body, a dataset's rows, or the data.
    held: String,
}

impl Artifact {
    pub(super) fn new(event: &Event<'_>, agent: Option<Raw<'static>>, time: Raw<'static>) -> Self {
        let name = event.get("name").or_else(|| event.get("artifactId"));
        let name = name.map_or(Raw::Ref("\"artifact\""), Raw::to_owned);
        let uri = event.get("uri").map(Raw::to_owned);
        Self { kind: event.kind(), agent, time, name, uri, held: String::new() }
    }

    /// Adds a chunk; whether it was the last.
    pub(super) fn add(&mut self, event: &Event<'_>) -> bool {
        match event.kind() {
            Kind::FileWrite => self.held.push_str(event.body("data").unwrap_or("")),
            Kind::DatasetWrite => {
                let doc = event.get("rows").and_then(|rows| rows.doc());
                for row in doc.iter().flat_map(|doc| doc.root().children()) {
                    self.held.push_str(if self.held.is_empty() { "" } else { "," });
                    self.held.push_str(row.raw());
                }
            }
            _ => self.held = event.get("data").map_or("null".to_owned(), ToString::to_string),
        }
        event.get("complete").and_then(Raw::bool) != Some(false)
    }

    pub(super) fn draft(self) -> Draft {
        let (kind, content) = match self.kind {
            Kind::FileWrite => ("file", "{\"type\":\"text\",\"text\":\"\"}".to_owned()),
            Kind::DatasetWrite => {
                ("dataset", format!("{{\"type\":\"json\",\"data\":[{}]}}", self.held))
            }
            _ => ("data", format!("{{\"type\":\"json\",\"data\":{}}}", self.held)),
        };
        let task = format!("\"Write {}\"", self.name.body().unwrap_or(""));
        let mut draft = Draft::new("agent", self.agent, self.time, "execute", task, content);
        let name = &self.name;
        let mut artifact = format!("{{\"kind\":\"{kind}\",\"name\":{name}");
        if let Some(uri) = &self.uri {
            let _ = write!(artifact, ",\"uri\":{uri}");
        }
        if self.kind == Kind::FileWrite && !(self.uri.is_some() && self.held.is_empty()) {
            let _ = write!(artifact, ",\"inline\":\"{}\"", self.held);
        }
        draft.outputs = Some(format!("{{\"artifacts\":[{artifact}}}]}}"));
        draft
    }
}
