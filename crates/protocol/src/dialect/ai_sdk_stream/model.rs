//! The chunks: their fields and the version that brought them.

use crate::dialect::ai_sdk::Version;
use crate::journal::kind::{Field, Need, Type};

use Need::{May, Must};
use Type::{Any, Array, Bool, Object, OneOf, Text};

/// A chunk type.
pub(super) struct Chunk {
    /// The value of `type`.
    pub(super) name: &'static str,
    /// The first version that has it.
    pub(super) since: Version,
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

macro_rules! chunks {
    ($($name:literal $since:ident [$($field:expr),* $(,)?])*) => {
        /// Every chunk type but `data-*`.
        pub(super) const CHUNKS: &[Chunk] = &[$(
            Chunk { name: $name, since: Version::$since, fields: &[$($field),*] },
        )*];
    };
}

chunks! {
    "start" V5 [f("messageId", Text, May), f("messageMetadata", Any, May)]
    "finish" V5 [f("finishReason", FINISH, May), f("messageMetadata", Any, May)]
    "abort" V5 [f("reason", Text, May)]
    "message-metadata" V5 [f("messageMetadata", Any, Must)]
    "start-step" V5 []
    "finish-step" V5 []
    "reset-step" V7 []
    "error" V5 [f("errorText", Text, Must)]
    "text-start" V5 [f("id", Text, Must), PROVIDER]
    "text-delta" V5 [f("id", Text, Must), f("delta", Text, Must), PROVIDER]
    "text-end" V5 [f("id", Text, Must), f("citations", Array, May), PROVIDER]
    "reasoning-start" V5 [f("id", Text, Must), PROVIDER]
    "reasoning-delta" V5 [f("id", Text, Must), f("delta", Text, Must), PROVIDER]
    "reasoning-end" V5 [f("id", Text, Must), PROVIDER]
    "reasoning-file" V7 [f("url", Text, Must), f("mediaType", Text, Must), PROVIDER]
    "file" V5 [f("url", Text, Must), f("mediaType", Text, Must), PROVIDER]
    "source-url" V5 [f("sourceId", Text, Must), f("url", Text, Must), TITLE, PROVIDER]
    "source-document" V5 [f("sourceId", Text, Must), f("mediaType", Text, Must),
        f("title", Text, Must), f("filename", Text, May), PROVIDER]
    "custom" V7 [f("kind", Text, Must), PROVIDER]
    "steering-message" V7 [f("id", Text, Must), f("parts", Array, Must)]
    "tool-input-start" V5 [f("toolCallId", Text, Must), f("toolName", Text, Must), EXECUTED,
        DYNAMIC, f("inputEncoding", OneOf(&["json", "text"]), May), PROVIDER, TOOL, TITLE]
    "tool-input-delta" V5 [f("toolCallId", Text, Must), f("inputTextDelta", Text, Must)]
    "tool-input-available" V5 [f("toolCallId", Text, Must), f("toolName", Text, Must),
        f("input", Any, Must), EXECUTED, DYNAMIC, PROVIDER, TOOL, TITLE]
    "tool-input-error" V5 [f("toolCallId", Text, Must), f("toolName", Text, Must),
        f("input", Any, Must), f("errorText", Text, Must), EXECUTED, DYNAMIC, PROVIDER, TOOL,
        TITLE]
    "tool-approval-request" V6 [f("approvalId", Text, Must), f("toolCallId", Text, Must),
        f("approvalDescriptor", Any, May), f("inputSchemaInput", Any, May),
        f("signature", Text, May), f("reason", Text, May), f("isAutomatic", Bool, May)]
    "tool-approval-response" V7 [f("approvalId", Text, Must), f("approved", Bool, Must),
        f("reason", Text, May), EXECUTED, PROVIDER]
    "tool-output-available" V5 [f("toolCallId", Text, Must), f("output", Any, May), EXECUTED,
        DYNAMIC, f("preliminary", Bool, May), PROVIDER, TOOL]
    "tool-output-error" V5 [f("toolCallId", Text, Must), f("errorText", Text, Must), EXECUTED,
        DYNAMIC, PROVIDER, TOOL]
    "tool-output-denied" V6 [f("toolCallId", Text, Must)]
}

/// The chunk of that name.
pub(super) fn chunk(name: &str) -> Option<&'static Chunk> {
    CHUNKS.iter().find(|c| c.name == name)
}

/// Whether a chunk type is known.
pub(super) fn is_chunk(name: &str) -> bool {
    name.starts_with("data-") || chunk(name).is_some()
}
