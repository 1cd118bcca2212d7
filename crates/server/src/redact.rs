//! What strangers see of a thread that is shared with them.
//!
//! Invariant: a field is shown because this table says so, never because nothing forbids it. Kinds
//! and fields that it does not name are left out, and ids are replaced by names that mean nothing
//! outside the share. Frames are never shown: they hold what the events do not.

use std::sync::Arc;

use selvedge_protocol::journal::Kind;
use selvedge_protocol::json::{Doc, Node, Style, from_utf8, print, quote};
use selvedge_store::Entry;
use sha2::{Digest as _, Sha256};

/// What can be shown beyond the usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Show {
    /// What agents thought.
    Thoughts,
    /// Arguments, results, errors and messages of tools.
    Tools,
    /// Metadata, models, tokens, costs, reasons and messages of errors.
    Metadata,
    /// Artifacts, attachments and sources.
    Artifacts,
    /// Questions to people, and their answers.
    Inputs,
    /// That credentials were asked for; never where or with what.
    Auth,
    /// System prompts and applications' own events.
    System,
    /// Who takes part, by their own ids and names.
    Participants,
}

impl Show {
    pub(crate) const ALL: [Self; 8] = [
        Self::Thoughts,
        Self::Tools,
        Self::Metadata,
        Self::Artifacts,
        Self::Inputs,
        Self::Auth,
        Self::System,
        Self::Participants,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Thoughts => "thoughts",
            Self::Tools => "tools",
            Self::Metadata => "metadata",
            Self::Artifacts => "artifacts",
            Self::Inputs => "inputs",
            Self::Auth => "auth",
            Self::System => "system",
            Self::Participants => "participants",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|show| show.name() == name)
    }
}

/// How a field is shown.
enum As {
    /// As it is.
    Itself,
    /// As it is, if that was asked for.
    If(Show),
    /// As a name that means nothing outside the share.
    Name,
    /// As such a name, unless participants are shown.
    Person,
    /// Its texts: text as it is, of parts only those that are text.
    Text,
    /// As something empty, where readers expect something, unless that was asked for.
    Empty(&'static str, Show),
}

use As::{Empty, If, Itself, Name, Person, Text};

/// What every event shows.
const COMMON: &[(&str, As)] = &[
    ("timestamp", Itself),
    ("taskId", Name),
    ("parentTaskId", Name),
    ("stepId", Name),
    ("agentId", Person),
    ("metadata", If(Show::Metadata)),
];

/// What must be shown for a kind to be, and its fields.
type Shown = (Option<Show>, &'static [(&'static str, As)]);

/// What a kind of event shows besides; none if it is not shown at all.
fn fields(kind: Kind) -> Option<Shown> {
    use Show::{Artifacts, Auth, Inputs, Metadata, Participants, System, Thoughts, Tools};
    Some(match kind {
        Kind::TaskCreated => (None, &[("initiator", Itself), ("messageId", Name)]),
        Kind::TaskStatus => {
            (None, &[("status", Itself), ("message", If(Metadata)), ("code", If(Metadata))])
        }
        Kind::TaskComplete => {
            (None, &[("content", Text), ("finishReason", Itself), ("artifacts", If(Artifacts))])
        }
        Kind::ContentDelta => {
            (None, &[("delta", Itself), ("index", Itself), ("partId", Name), ("messageId", Name)])
        }
        Kind::ContentComplete => (
            None,
            &[
                ("content", Text),
                ("finishReason", Itself),
                ("partId", Name),
                ("messageId", Name),
                ("toolCalls", If(Tools)),
            ],
        ),
        Kind::Message => (
            None,
            &[
                ("role", Itself),
                ("author", Person),
                ("content", Text),
                ("messageId", Name),
                ("answers", Name),
                ("finishReason", Itself),
                ("attachments", If(Artifacts)),
                ("intent", If(Metadata)),
                ("confidence", If(Metadata)),
                ("usage", If(Metadata)),
            ],
        ),
        Kind::PartStarted | Kind::PartFinished => {
            (None, &[("partId", Name), ("partType", Itself), ("messageId", Name)])
        }
        Kind::ToolCall | Kind::ToolStart | Kind::ToolCallStarted => (
            None,
            &[
                ("toolCallId", Name),
                ("toolName", Itself),
                ("arguments", Empty("{}", Tools)),
                ("messageId", Name),
            ],
        ),
        Kind::ToolCallDelta => (Some(Tools), &[("toolCallId", Name), ("delta", Itself)]),
        Kind::ToolProgress => {
            (None, &[("toolCallId", Name), ("progress", Itself), ("message", If(Tools))])
        }
        Kind::ToolComplete => (
            None,
            &[
                ("toolCallId", Name),
                ("toolName", Itself),
                ("success", Itself),
                ("outcome", Itself),
                ("preliminary", Itself),
                ("result", Empty("null", Tools)),
                ("error", Empty("\"failed\"", Tools)),
                ("messageId", Name),
            ],
        ),
        Kind::ThoughtStream => (
            Some(Thoughts),
            &[
                ("thoughtId", Name),
                ("thoughtType", Itself),
                ("verbosity", Itself),
                ("content", Itself),
                ("index", Itself),
            ],
        ),
        Kind::StepStarted => (None, &[("model", If(Metadata))]),
        Kind::StepFinished => {
            (None, &[("finishReason", Itself), ("model", If(Metadata)), ("usage", If(Metadata))])
        }
        Kind::LlmUsage => (
            Some(Metadata),
            &[
                ("model", Itself),
                ("prompt_tokens", Itself),
                ("completion_tokens", Itself),
                ("total_tokens", Itself),
                ("cost", Itself),
            ],
        ),
        Kind::AttemptSuperseded => (None, &[]),
        Kind::CancelRequested => (None, &[("toolCallId", Name), ("reason", If(Metadata))]),
        Kind::Error => (
            None,
            &[
                ("message", Empty("\"something failed\"", Metadata)),
                ("code", If(Metadata)),
                ("retryable", Itself),
            ],
        ),
        Kind::SubtaskCreated => (None, &[("subtaskId", Name), ("prompt", Empty("\"\"", Tools))]),
        Kind::ThreadCreated | Kind::ThreadUpdated => (None, &[("title", Itself)]),
        Kind::ParticipantJoined => (
            None,
            &[
                ("participantId", Person),
                ("role", Itself),
                ("name", If(Participants)),
                ("model", If(Metadata)),
            ],
        ),
        Kind::ParticipantLeft => (None, &[("participantId", Person)]),
        Kind::RouteDecided => (Some(Metadata), &[("to", Person), ("reason", Itself)]),
        Kind::InputRequired | Kind::ToolInputRequired => (
            Some(Inputs),
            &[
                ("inputId", Name),
                ("inputType", Itself),
                ("requireUser", Itself),
                ("prompt", Itself),
                ("schema", Itself),
                ("options", Itself),
                ("toolCallId", Name),
            ],
        ),
        Kind::InputReceived => (
            Some(Inputs),
            &[("inputId", Name), ("providedBy", Itself), ("userId", Person), ("value", Itself)],
        ),
        Kind::AuthRequired => (
            Some(Auth),
            &[("authId", Name), ("authType", Itself), ("provider", Itself), ("prompt", Itself)],
        ),
        Kind::AuthCompleted => (Some(Auth), &[("authId", Name), ("userId", Person)]),
        Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite => (
            Some(Artifacts),
            &[
                ("artifactId", Name),
                ("data", Itself),
                ("rows", Itself),
                ("index", Itself),
                ("complete", Itself),
                ("name", Itself),
                ("description", Itself),
                ("mimeType", Itself),
                ("encoding", Itself),
                ("schema", Itself),
            ],
        ),
        Kind::Source => (
            Some(Artifacts),
            &[
                ("sourceId", Name),
                ("url", Itself),
                ("title", Itself),
                ("mediaType", Itself),
                ("filename", Itself),
                ("sourceType", Itself),
            ],
        ),
        Kind::System => (Some(System), &[("name", Itself), ("data", Itself)]),
        _ => return None,
    })
}

/// What a share leaves of a thread.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cut {
    /// The share, which stands for the thread.
    pub(crate) id: String,
    pub(crate) salt: [u8; 32],
    pub(crate) shows: Vec<Show>,
    /// The last entry.
    pub(crate) upto: u64,
}

/// A cut that views and readers share.
pub(crate) type SharedCut = Arc<Cut>;

impl Cut {
    /// An entry as strangers see it, if they do.
    pub(crate) fn entry(&self, entry: &Entry) -> Option<Entry> {
        if entry.seq > self.upto {
            return None;
        }
        let text = from_utf8(&entry.event).ok()?;
        let doc = Doc::parse(text).ok()?;
        Some(self.alone(entry, self.event(doc.root())?))
    }

    /// What stands for an entry that strangers do not see.
    pub(crate) fn nothing(&self, entry: &Entry) -> Entry {
        self.alone(entry, "{\"kind\":\"opaque\"}".to_owned())
    }

    /// An event by itself: what the append says of its records would be of the whole events.
    fn alone(&self, entry: &Entry, event: String) -> Entry {
        let Entry { seq, from, at, .. } = *entry;
        Entry { seq, from, append: seq, at, event: event.into(), source: None }
    }

    fn shows(&self, show: Show) -> bool {
        self.shows.contains(&show)
    }

    fn event(&self, event: Node<'_, '_>) -> Option<String> {
        let kind = Kind::named(&event.get("kind")?.str()?);
        let (needs, own) = fields(kind)?;
        let mut needs = needs;
        match kind {
            Kind::Message => {
                needs = match event.get("role").and_then(Node::str).as_deref() {
                    Some("user" | "agent") => None,
                    Some("tool") => Some(Show::Tools),
                    _ => Some(Show::System),
                };
            }
            Kind::PartStarted | Kind::PartFinished
                if event.get("partType").and_then(Node::str).as_deref() != Some("text") =>
            {
                needs = Some(Show::Thoughts);
            }
            _ => {}
        }
        if needs.is_some_and(|needs| !self.shows(needs)) {
            return None;
        }
        let mut out =
            format!("{{\"kind\":{},\"contextId\":{}", quote(kind.name()), quote(&self.id));
        for (name, shown) in COMMON.iter().chain(own) {
            let Some(value) = event.get(name) else { continue };
            if let Some(value) = self.value(value, shown) {
                out.push_str(&format!(",\"{name}\":{value}"));
            }
        }
        out.push('}');
        Some(out)
    }

    fn value(&self, value: Node<'_, '_>, shown: &As) -> Option<String> {
        match shown {
            As::Itself => Some(line(value)),
            As::If(show) => self.shows(*show).then(|| line(value)),
            As::Empty(instead, show) => {
                Some(if self.shows(*show) { line(value) } else { (*instead).to_owned() })
            }
            As::Person if self.shows(Show::Participants) => Some(line(value)),
            As::Name | As::Person => Some(quote(&self.name(&value.str()?))),
            As::Text if value.is_string() => Some(line(value)),
            As::Text => {
                let texts = value.children().filter_map(|part| part.get("text"));
                let parts: Vec<String> = texts
                    .filter(|text| text.is_string())
                    .map(|text| format!("{{\"type\":\"text\",\"text\":{}}}", line(text)))
                    .collect();
                Some(format!("[{}]", parts.join(",")))
            }
        }
    }

    /// A name for an id: the same for the same id in this share, and of no use to guess it by.
    fn name(&self, id: &str) -> String {
        let digest = Sha256::new().chain_update(self.salt).chain_update(id.as_bytes()).finalize();
        digest.iter().take(8).fold("x".to_owned(), |out, byte| out + &format!("{byte:02x}"))
    }
}

fn line(value: Node<'_, '_>) -> String {
    let mut out = String::new();
    print(value, Style::Compact, &mut out);
    out
}
