//! The same event as one of ours: ids under our names, nothing but the fields of its kind.

use selvedge_protocol::diagnostic::Report;
use selvedge_protocol::ident;
use selvedge_protocol::journal::kind::{self, Spec};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Raw};
use selvedge_protocol::validate;

/// Bytes of an id that is kept as it is.
const LONGEST: usize = 160;

/// Names things of an agent elsewhere.
pub(super) struct Stamp {
    task: String,
    attempt: u32,
}

impl Stamp {
    pub(super) fn new(task: &str, attempt: u32) -> Self {
        Self { task: task.to_owned(), attempt }
    }

    /// Our task.
    pub(super) fn task(&self) -> &str {
        &self.task
    }

    /// Names something in the thread.
    pub(super) fn name(&self, id: &str) -> String {
        format!("{}/{}", self.task, short(id))
    }

    /// Names something of this attempt, so that what is void and what is told again stay apart.
    pub(super) fn piece(&self, id: &str) -> String {
        format!("{}.{}", self.attempt, short(id))
    }

    /// The event, if it is one that an agent elsewhere may say.
    pub(super) fn event(&self, event: &Event<'_>, agent: &str) -> Option<Event<'static>> {
        if !is_let_in(event) {
            return None;
        }
        let spec = kind::spec(event.kind())?;
        let mut own = Event::new(event.kind());
        for field in spec.fields {
            let Some(value) = event.get(field.name) else { continue };
            let id = || value.str().map(|id| id.into_owned());
            let value = match field.name {
                // Ours to say.
                "timestamp" | "author" | "usage" => continue,
                "partId" | "thoughtId" | "toolCallId" => Raw::string(&self.piece(&id()?)),
                "messageId" => Raw::string(&format!("{}/{}", self.task, self.piece(&id()?))),
                "artifactId" | "sourceId" => Raw::string(&self.name(&id()?)),
                _ => value.to_owned(),
            };
            own = own.with(field.name, value);
        }
        if event.kind() == Kind::Message {
            own = own.with_str("author", agent);
        }
        if matches!(event.kind(), Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite) {
            let metadata = event.get("metadata").filter(|metadata| metadata.is_object());
            own = own.with_some("metadata", metadata.map(Raw::to_owned));
        }
        own.single_line();
        fits(&own, spec).then_some(own)
    }
}

/// Whether an agent elsewhere may say such a thing.
fn is_let_in(event: &Event<'_>) -> bool {
    match event.kind() {
        Kind::ContentDelta
        | Kind::ContentComplete
        | Kind::PartStarted
        | Kind::PartFinished
        | Kind::ThoughtStream
        | Kind::ToolCallStarted
        | Kind::ToolCallDelta
        | Kind::ToolCall
        | Kind::ToolStart
        | Kind::ToolProgress
        | Kind::ToolComplete
        | Kind::FileWrite
        | Kind::DataWrite
        | Kind::DatasetWrite
        | Kind::Source
        | Kind::Error => true,
        Kind::Message => event.get("role").is_some_and(|role| role.is("agent")),
        Kind::System => event.get("name").is_some_and(|name| name.is("data")),
        _ => false,
    }
}

/// Whether an event has what its kind must have.
fn fits(event: &Event<'_>, spec: &Spec) -> bool {
    let mut text = String::new();
    event.write(&mut text);
    let Ok(doc) = Doc::parse(&text) else { return false };
    let mut report = Report::new();
    for field in spec.fields.iter().filter(|field| field.name != "timestamp") {
        validate::fields("", doc.root(), std::slice::from_ref(field), &mut report);
    }
    report.is_valid()
}

/// An id that fits beside others; one that is too long is told by its digest.
fn short(id: &str) -> String {
    if id.len() <= LONGEST { id.to_owned() } else { ident::from_text(id) }
}
