//! The parts: their fields, and what the encoder writes of an event.

use crate::journal::kind::{Field, Need, Type, spec};
use crate::journal::{Event, Kind};

use Need::{May, Must};
use Type::{Any, Array, Bool, Object, OneOf, Text};

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}

/// A message.
pub(super) const MESSAGE: &[Field] = &[
    f("id", Text, Must),
    f("role", OneOf(&["system", "user", "assistant"]), Must),
    f("parts", Array, Must),
];

/// What every part has.
pub(super) const TYPE: &[Field] = &[f("type", Text, Must)];

const STATE: Field = f("state", OneOf(&["streaming", "done"]), May);
const PROVIDER: Field = f("providerMetadata", Object, May);

/// The states of a tool part.
const STATES: Type = OneOf(&[
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
]);

/// A tool part.
pub(super) const TOOL: &[Field] = &[
    f("toolCallId", Text, Must),
    f("state", STATES, Must),
    f("title", Text, May),
    f("toolMetadata", Object, May),
    f("providerExecuted", Bool, May),
    f("preliminary", Bool, May),
    f("callProviderMetadata", Object, May),
    f("resultProviderMetadata", Object, May),
    f("approval", Object, May),
    f("errorText", Text, May),
];

/// An approval.
pub(super) const APPROVAL: &[Field] =
    &[f("id", Text, Must), f("approved", Bool, May), f("reason", Text, May)];

/// Part types with one name, and their fields.
const PARTS: &[(&str, &[Field])] = &[
    ("text", &[f("text", Text, Must), STATE, PROVIDER, f("citations", Array, May)]),
    ("reasoning", &[f("text", Text, Must), f("id", Text, May), STATE, PROVIDER]),
    (
        "file",
        &[f("mediaType", Text, Must), f("url", Text, Must), f("filename", Text, May), PROVIDER],
    ),
    ("reasoning-file", &[f("mediaType", Text, Must), f("url", Text, Must), PROVIDER]),
    (
        "source-url",
        &[f("sourceId", Text, Must), f("url", Text, Must), f("title", Text, May), PROVIDER],
    ),
    (
        "source-document",
        &[
            f("sourceId", Text, Must),
            f("mediaType", Text, Must),
            f("title", Text, Must),
            f("filename", Text, May),
            PROVIDER,
        ],
    ),
    ("custom", &[f("kind", Text, Must), PROVIDER]),
    ("steering-message", &[f("id", Text, Must), f("parts", Array, Must)]),
    ("step-start", &[]),
    ("dynamic-tool", &[f("toolName", Text, Must)]),
];

/// The fields of a part `data-*`.
const DATA: &[Field] = &[f("data", Any, Must), f("id", Text, May)];

/// The fields of a part type; `None` for a type that no version has.
pub(super) fn part(name: &str) -> Option<&'static [Field]> {
    match PARTS.iter().find(|(known, _)| *known == name) {
        Some((_, fields)) => Some(fields),
        None if name.starts_with("tool-") => Some(&[]),
        None if name.starts_with("data-") => Some(DATA),
        None => None,
    }
}

/// Which words of an event can be told from the messages.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    let words: &[&str] = match event.kind() {
        Kind::PartStarted | Kind::PartFinished => &["partType"],
        Kind::ToolCallStarted | Kind::ToolCall => {
            &["providerExecuted", "metadata/dynamic", "metadata/invalid"]
        }
        Kind::ToolComplete => &["success", "providerExecuted", "metadata/dynamic"],
        Kind::Source => &["sourceType"],
        Kind::System => &["metadata/transient"],
        Kind::Message => &["role"],
        kind @ (Kind::InputRequired
        | Kind::ToolInputRequired
        | Kind::InputReceived
        | Kind::FileWrite
        | Kind::AuthRequired
        | Kind::AuthCompleted
        | Kind::DataWrite
        | Kind::DatasetWrite
        | Kind::SubtaskCreated) => {
            let known = spec(kind).map_or(&[][..], |s| s.fields);
            return field.starts_with("metadata/") || known.iter().any(|f| f.name == field);
        }
        _ => &[],
    };
    words.contains(&field)
}
