//! One event on its way to the wire: its members, what it must have, and the two forms.

use std::borrow::Cow;

use super::model::{INTERNAL, RAW_ARGUMENTS, known_field};
use crate::journal::kind::{self, Need, Type};
use crate::journal::{Event, Kind};
use crate::json::{Raw, Style, print, push_escaped, quote};
use crate::sse;

/// How an event stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// All of it in `data`.
    Document,
    /// With an id, and without `kind` and `contextId` in `data`.
    Code,
}

/// What every event is stamped with.
#[derive(Debug)]
pub(super) struct Stamp {
    pub(super) form: Form,
    context: Option<Raw<'static>>,
    /// The last time seen, for events that have none.
    time: Raw<'static>,
    written: u64,
}

/// The time of events before the first that has one.
const EPOCH: &str = "\"1970-01-01T00:00:00.000Z\"";

impl Stamp {
    pub(super) fn new(form: Form, context: Option<&str>) -> Self {
        Self { form, context: context.map(Raw::string), time: Raw::Ref(EPOCH), written: 0 }
    }

    /// Takes note of an event's context and time.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        if let Some(context) = event.get("contextId").filter(|c| c.body().is_some()) {
            self.context.get_or_insert_with(|| context.to_owned());
        }
        if let Some(time) = event.get("timestamp").filter(|t| t.body().is_some()) {
            self.time = time.to_owned();
        }
    }

    /// The event as a record.
    pub(super) fn write(&mut self, draft: Draft) -> String {
        let context = draft.get("contextId").map(str::to_owned).unwrap_or_else(|| {
            self.context.as_ref().map_or_else(|| "\"thread\"".to_owned(), ToString::to_string)
        });
        let mut data = String::with_capacity(160);
        data.push('{');
        if self.form == Form::Document {
            data.push_str("\"kind\":\"");
            push_escaped(&draft.name, &mut data);
            data.push_str("\",\"contextId\":");
            data.push_str(&context);
        }
        let task = draft.task.as_deref().map(|task| ("taskId", task));
        let stamp = draft.get("timestamp").is_none_or(|t| t == "null");
        let time = stamp.then_some(("timestamp", self.time.as_str()));
        let members = draft
            .members
            .iter()
            .filter(|(name, _)| name != "contextId" && !(stamp && name == "timestamp"))
            .map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in task.into_iter().chain(members).chain(time) {
            if data.len() > 1 {
                data.push(',');
            }
            data.push('"');
            push_escaped(name, &mut data);
            data.push_str("\":");
            data.push_str(value);
        }
        data.push('}');
        self.written += 1;
        match self.form {
            Form::Document => {
                let name = draft.name.strip_prefix(INTERNAL).unwrap_or(&draft.name);
                sse::write(Some(name), None, &data)
            }
            Form::Code => {
                let context = Raw::owned(context);
                let line: String =
                    context.str().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
                let id = format!("{line}-{}", self.written);
                sse::write(Some(&draft.name), Some(&id), &data)
            }
        }
    }
}

/// Which of an event's fields are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fields {
    /// All of them.
    All,
    /// Those of the vocabulary: the others are private to where the event came from.
    Known,
}

/// An event being written: its members as JSON text, in order.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) kind: Kind,
    pub(super) name: String,
    task: Option<String>,
    members: Vec<(String, String)>,
}

impl Draft {
    pub(super) fn new(kind: Kind, task: &str) -> Self {
        let name = kind.name().to_owned();
        Self { kind, name, task: Some(task.to_owned()), members: Vec::new() }
    }

    /// An event's own members. The agent is left out where the task already says who it is.
    pub(super) fn of(
        event: &Event<'_>,
        fields: Fields,
        task: Option<&str>,
        agent: Option<&Raw<'_>>,
    ) -> Self {
        let kind = event.kind();
        let mut draft = Self {
            kind,
            name: event.name().to_owned(),
            task: task.map(str::to_owned),
            members: Vec::new(),
        };
        let told = !matches!(
            kind,
            Kind::TaskCreated
                | Kind::SubtaskCreated
                | Kind::InputReceived
                | Kind::ParticipantJoined
        );
        for (name, value) in event.fields() {
            match name {
                "taskId" => {}
                _ if fields == Fields::Known && known_field(kind, name).is_none() => {}
                "agentId" if told && agent.is_some_and(|a| a == value) => {}
                // The document has a task's agent in its metadata.
                "agentId" if kind == Kind::TaskCreated && event.get("metadata").is_none() => {
                    draft.push("metadata", &format!("{{\"agentId\":{value}}}"));
                }
                _ => draft.push(name, &line(value)),
            }
        }
        if kind == Kind::Message {
            draft.nest_message();
        }
        draft
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(super) fn push(&mut self, name: &str, value: &str) {
        self.members.push((name.to_owned(), value.to_owned()));
    }

    /// Adds a member that is not there.
    pub(super) fn default(&mut self, name: &str, value: impl FnOnce() -> String) {
        if self.get(name).is_none() {
            self.members.push((name.to_owned(), value()));
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<String> {
        let at = self.members.iter().position(|(n, _)| n == name)?;
        Some(self.members.remove(at).1)
    }

    /// Makes it an event of another kind, of a task.
    pub(super) fn rename(&mut self, kind: Kind, task: &str) {
        self.kind = kind;
        self.name = kind.name().to_owned();
        self.task.get_or_insert_with(|| task.to_owned());
    }

    /// Puts a message's role and content where Looopy has them.
    fn nest_message(&mut self) {
        let mut object = String::from("{\"role\":");
        let role = self.remove("role").unwrap_or_else(|| "\"user\"".to_owned());
        object.push_str(if role == "\"agent\"" { "\"assistant\"" } else { &role });
        for name in ["content", "toolCalls", "toolCallId"] {
            let value = self.remove(name).or((name == "content").then(|| "\"\"".to_owned()));
            if let Some(value) = value {
                object.push_str(&format!(",\"{name}\":{value}"));
            }
        }
        object.push('}');
        self.members.insert(0, ("message".to_owned(), object));
    }

    /// An agent's message as the text that the document's clients show; content that is more than
    /// text goes along in `parts`.
    pub(super) fn agents_message(&mut self, body: &str) {
        let Some(message) = self.remove("message").map(Raw::owned) else { return };
        let content = message
            .doc()
            .and_then(|doc| doc.root().get("content").map(|content| content.raw().to_owned()));
        let content = Raw::owned(content.unwrap_or_else(|| "\"\"".to_owned()));
        let mut first = vec![("role".to_owned(), "\"agent\"".to_owned())];
        if content.body().is_some() {
            first.push(("content".to_owned(), content.to_string()));
        } else {
            let shown = if body.is_empty() { shown(&content) } else { format!("\"{body}\"") };
            first.push(("content".to_owned(), shown));
            first.push(("parts".to_owned(), content.to_string()));
        }
        self.members.splice(0..0, first);
    }

    /// Adds what the kind requires and the event lacks, and puts arguments into an object.
    pub(super) fn fill(&mut self) {
        if let Some((_, value)) = self.members.iter_mut().find(|(n, _)| n == "arguments")
            && matches!(self.kind, Kind::ToolCall | Kind::ToolStart)
            && !value.starts_with('{')
        {
            *value = format!("{{\"{RAW_ARGUMENTS}\":{value}}}");
        }
        let fields = kind::spec(self.kind).map_or(&[][..], |spec| spec.fields);
        for field in fields.iter().filter(|f| f.need == Need::Must && f.name != "timestamp") {
            let nested = self.kind == Kind::Message;
            if !nested && self.get(field.name).is_none() {
                self.push(field.name, missing(field.name, field.ty));
            }
        }
    }
}

/// A value for a required member that nobody gave.
fn missing(name: &str, ty: Type) -> &'static str {
    match (name, ty) {
        ("thoughtType", _) => "\"reasoning\"",
        ("verbosity", _) => "\"normal\"",
        ("inputType", _) => "\"clarification\"",
        ("authType", _) => "\"custom\"",
        ("providedBy" | "userId", _) => "\"user\"",
        ("artifactId", _) => "\"artifact\"",
        ("arguments", _) | (_, Type::Object) => "{}",
        (_, Type::OneOf(["user", "agent"])) => "\"user\"",
        (_, Type::OneOf(["working", ..])) => "\"working\"",
        (_, Type::OneOf(["pre-llm", ..])) => "\"pre-llm\"",
        (_, Type::Number | Type::Integer) => "0",
        (_, Type::Bool) => "true",
        (_, Type::Array) => "[]",
        (_, Type::Any) => "null",
        (_, Type::Text | Type::OneOf(_)) => "\"\"",
    }
}

/// What to show of content without text: its data as JSON.
fn shown(content: &Raw<'_>) -> String {
    let data: Vec<String> = content
        .doc()
        .map(|doc| {
            let parts = doc.root().children();
            parts.filter_map(|part| part.get("data").map(|d| d.raw().to_owned())).collect()
        })
        .unwrap_or_default();
    if data.is_empty() && content.is_object() { quote(content) } else { quote(&data.join("\n")) }
}

/// A value on one line, as server-sent events need it.
fn line<'v>(value: &'v Raw<'_>) -> Cow<'v, str> {
    if !value.contains(['\n', '\r']) {
        return Cow::Borrowed(value.as_str());
    }
    let mut out = String::with_capacity(value.len());
    if let Some(doc) = value.doc() {
        print(doc.root(), Style::Compact, &mut out);
    }
    Cow::Owned(out)
}
