//! The chunks of ai 5, 6 and 7: their fields, and what the encoder writes of an event.

use super::chunk::lasting;
use crate::journal::kind::{Field, Need, Type, spec};
use crate::journal::{Event, Kind};

use Need::{May, Must};
use Type::{Any, Array, Bool, Object, OneOf, Text};

/// A chunk type.
pub(super) struct Chunk {
    /// The value of `type`.
    pub(super) name: &'static str,
    /// Its fields.
    pub(super) fields: &'static [Field],
}

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}

const PROVIDER: Field = f("providerMetadata", Object, May);
const EXECUTED: Field = f("providerExecuted", Bool, May);
const DYNAMIC: Field = f("dynamic", Bool, May);
const TOOL: Field = f("toolMetadata", Object, May);
const TITLE: Field = f("title", Text, May);
const FINISH: Type = OneOf(&[
    "stop",
    "length",
    "content-filter",
    "tool-calls",
    "error",
    "other",
    "unknown",
    "interrupted",
]);

/// What every chunk has.
pub(super) const TYPE: Field = f("type", Text, Must);

/// The fields of `data-*`.
pub(super) const DATA: &[Field] =
    &[f("id", Text, May), f("data", Any, Must), f("transient", Bool, May)];

macro_rules! chunks {
    ($($name:literal [$($field:expr),* $(,)?])*) => {
        /// Every chunk type but `data-*`.
        pub(super) const CHUNKS: &[Chunk] = &[$(
            Chunk { name: $name, fields: &[$($field),*] },
        )*];
    };
}

chunks! {
    "start" [f("messageId", Text, May), f("messageMetadata", Any, May)]
    "finish" [f("finishReason", FINISH, May), f("messageMetadata", Any, May)]
    "abort" [f("reason", Text, May)]
    "message-metadata" [f("messageMetadata", Any, Must)]
    "start-step" []
    "finish-step" []
    "reset-step" []
    "error" [f("errorText", Text, Must)]
    "text-start" [f("id", Text, Must), PROVIDER]
    "text-delta" [f("id", Text, Must), f("delta", Text, Must), PROVIDER]
    "text-end" [f("id", Text, Must), f("citations", Array, May), PROVIDER]
    "reasoning-start" [f("id", Text, Must), PROVIDER]
    "reasoning-delta" [f("id", Text, Must), f("delta", Text, Must), PROVIDER]
    "reasoning-end" [f("id", Text, Must), PROVIDER]
    "reasoning-file" [f("url", Text, Must), f("mediaType", Text, Must), PROVIDER]
    "file" [f("url", Text, Must), f("mediaType", Text, Must), PROVIDER]
    "source-url" [f("sourceId", Text, Must), f("url", Text, Must), TITLE, PROVIDER]
    "source-document" [f("sourceId", Text, Must), f("mediaType", Text, Must),
        f("title", Text, Must), f("filename", Text, May), PROVIDER]
    "custom" [f("kind", Text, Must), PROVIDER]
    "steering-message" [f("id", Text, Must), f("parts", Array, Must)]
    "tool-input-start" [f("toolCallId", Text, Must), f("toolName", Text, Must), EXECUTED,
        DYNAMIC, f("inputEncoding", OneOf(&["json", "text"]), May), PROVIDER, TOOL, TITLE]
    "tool-input-delta" [f("toolCallId", Text, Must), f("inputTextDelta", Text, Must)]
    "tool-input-available" [f("toolCallId", Text, Must), f("toolName", Text, Must),
        f("input", Any, Must), EXECUTED, DYNAMIC, PROVIDER, TOOL, TITLE]
    "tool-input-error" [f("toolCallId", Text, Must), f("toolName", Text, Must),
        f("input", Any, Must), f("errorText", Text, Must), EXECUTED, DYNAMIC, PROVIDER, TOOL,
        TITLE]
    "tool-approval-request" [f("approvalId", Text, Must), f("toolCallId", Text, Must),
        f("approvalDescriptor", Any, May), f("inputSchemaInput", Any, May),
        f("signature", Text, May), f("reason", Text, May), f("isAutomatic", Bool, May)]
    "tool-approval-response" [f("approvalId", Text, Must), f("approved", Bool, Must),
        f("reason", Text, May), EXECUTED, PROVIDER]
    "tool-output-available" [f("toolCallId", Text, Must), f("output", Any, May), EXECUTED,
        DYNAMIC, f("preliminary", Bool, May), PROVIDER, TOOL]
    "tool-output-error" [f("toolCallId", Text, Must), f("errorText", Text, Must), EXECUTED,
        DYNAMIC, PROVIDER, TOOL]
    "tool-output-denied" [f("toolCallId", Text, Must)]
}

/// The chunk of that name.
pub(super) fn chunk(name: &str) -> Option<&'static Chunk> {
    CHUNKS.iter().find(|c| c.name == name)
}

/// Whether a chunk type is known.
pub(super) fn is_chunk(name: &str) -> bool {
    name.starts_with("data-") || chunk(name).is_some()
}

/// Which words of an event can be told from the stream.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    let words: &[&str] = match event.kind() {
        Kind::TaskCreated if event.get("parentTaskId").is_none() => &[],
        Kind::TaskComplete => &["kind", "finishReason"],
        Kind::StepFinished => &["finishReason"],
        Kind::PartStarted | Kind::PartFinished => &["partType"],
        Kind::ToolCallStarted | Kind::ToolCall => {
            &["providerExecuted", "metadata/dynamic", "metadata/invalid"]
        }
        Kind::ToolComplete => &["success", "preliminary", "providerExecuted", "metadata/dynamic"],
        Kind::Source => &["sourceType"],
        Kind::System => &["metadata/transient"],
        kind => {
            let known = spec(kind).map_or(&[][..], |s| s.fields);
            let has = field.starts_with("metadata/") || known.iter().any(|f| f.name == field);
            return lasting(kind).is_some() && has;
        }
    };
    words.contains(&field)
}
