//! One envelope on its way to the wire.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::content::Content;
use super::js;
use super::model::{PROTOCOL, THREAD_TAG};
use crate::journal::{Event, Kind};
use crate::json::{Raw, quote};

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
    pub(super) outputs: Option<String>,
    confidence: Option<String>,
}

impl Draft {
    pub(super) fn new(
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

/// Tokens as the envelope counts them; the names are the journal's too.
pub(super) fn cost(usage: &Raw<'_>) -> Option<String> {
    (usage.is_object() && usage.doc()?.root().members().next().is_some()).then(|| usage.to_string())
}

/// Tokens as Looopy's code counts them.
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
