//! The Agent API's objects: the document's lists, and what the package added to them later.

use crate::journal::kind::Need::{May, Must};
use crate::journal::kind::Type::{Any, Array, Bool, Integer, Number, Object, OneOf, Text};
use crate::journal::kind::{Field, Need, Type};

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}

/// States of a response, a message or a content.
pub(super) const STATUS: &[&str] = &[
    "created",
    "in_progress",
    "completed",
    "canceled",
    "failed",
    "rejected",
    "unknown",
    "queued",
    "incomplete",
];

/// Kinds of messages.
pub(super) const MESSAGE_TYPES: &[&str] = &[
    "message",
    "function_call",
    "function_call_output",
    "plugin_call",
    "plugin_call_output",
    "component_call",
    "component_call_output",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_call",
    "mcp_approval_response",
    "mcp_call_output",
    "reasoning",
    "heartbeat",
    "error",
    "a2ui_response",
    "a2ui_action",
];

/// Kinds of content.
pub(super) const CONTENT_TYPES: &[&str] =
    &["text", "image", "data", "audio", "video", "file", "refusal"];

const ROLE: Type = OneOf(&["assistant", "user", "system", "tool"]);

/// Fields of everything that is streamed.
pub(super) const EVENT: &[Field] = &[
    f("sequence_number", Any, May),
    f("object", OneOf(&["response", "message", "content"]), Must),
    f("error", Object, May),
];

/// Fields of a response.
pub(super) const RESPONSE: &[Field] = &[
    f("id", Text, Must),
    f("status", OneOf(STATUS), Must),
    f("created_at", Integer, May),
    f("completed_at", Integer, May),
    f("output", Array, May),
    f("usage", Object, May),
    f("session_id", Text, May),
];

/// Fields of a message; one that comes alone needs its `id`.
pub(super) const MESSAGE: &[Field] = &[
    f("id", Text, May),
    f("type", Text, May),
    f("status", OneOf(STATUS), May),
    f("role", ROLE, May),
    f("content", Array, May),
    f("code", Text, May),
    f("message", Text, May),
    f("usage", Object, May),
    f("metadata", Object, May),
];

/// Fields of a content, beside those of its type.
pub(super) const CONTENT: &[Field] = &[
    f("type", OneOf(CONTENT_TYPES), Must),
    f("index", Integer, May),
    f("delta", Bool, May),
    f("msg_id", Text, May),
    f("status", OneOf(STATUS), May),
];

/// Fields that a type of content has of its own.
pub(super) fn content_fields(kind: &str) -> &'static [Field] {
    match kind {
        "text" => const { &[f("text", Text, May)] },
        "image" => const { &[f("image_url", Text, May)] },
        "data" => const { &[f("data", Object, May)] },
        "audio" => const { &[f("data", Text, May), f("format", Text, May)] },
        "video" => const { &[f("video_url", Text, May)] },
        "file" => {
            const {
                &[
                    f("file_url", Text, May),
                    f("file_id", Text, May),
                    f("filename", Text, May),
                    f("file_data", Text, May),
                ]
            }
        }
        "refusal" => const { &[f("refusal", Text, May)] },
        _ => &[],
    }
}

/// Fields of the `data` that a type of message carries; empty where it is free.
pub(super) fn data_fields(message: &str) -> &'static [Field] {
    match message {
        "function_call" | "plugin_call" | "mcp_call" => {
            const {
                &[
                    f("call_id", Text, May),
                    f("name", Text, May),
                    f("arguments", Text, May),
                    f("server_label", Text, May),
                ]
            }
        }
        "function_call_output" | "plugin_call_output" | "mcp_call_output" => {
            const { &[f("call_id", Text, Must), f("name", Text, May), f("output", Text, Must)] }
        }
        "mcp_list_tools" => {
            const {
                &[
                    f("id", Text, Must),
                    f("server_label", Text, Must),
                    f("tools", Array, Must),
                    f("error", Text, May),
                ]
            }
        }
        "mcp_approval_request" => {
            const {
                &[
                    f("id", Text, Must),
                    f("arguments", Text, Must),
                    f("name", Text, Must),
                    f("server_label", Text, Must),
                ]
            }
        }
        "mcp_approval_response" => {
            const {
                &[
                    f("approval_request_id", Text, Must),
                    f("approve", Bool, Must),
                    f("id", Text, May),
                    f("reason", Text, May),
                ]
            }
        }
        _ => &[],
    }
}

/// Fields of a request.
pub(super) const REQUEST: &[Field] = &[
    f("input", Array, Must),
    f("stream", Bool, May),
    f("id", Text, May),
    f("response_id", Text, May),
    f("model", Text, May),
    f("top_p", Number, May),
    f("temperature", Number, May),
    f("frequency_penalty", Number, May),
    f("presence_penalty", Number, May),
    f("max_tokens", Integer, May),
    f("stop", Any, May),
    f("n", Integer, May),
    f("seed", Integer, May),
    f("tools", Array, May),
    f("session_id", Text, May),
    f("user_id", Text, May),
];

/// Fields of a tool's function.
pub(super) const FUNCTION: &[Field] =
    &[f("name", Text, Must), f("description", Text, Must), f("parameters", Object, Must)];

/// Fields of an error.
pub(super) const ERROR: &[Field] = &[f("code", Text, Must), f("message", Text, Must)];

/// What a type of message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Something said, in any content.
    Said,
    /// A thought.
    Thought,
    /// A call of a tool.
    Call,
    /// What a tool returned.
    Output,
    /// A question whether a tool may run.
    Ask,
    /// The answer to it.
    Answer,
    /// Something that failed.
    Error,
    /// An application's own.
    System,
    /// A sign of life.
    Heartbeat,
}

impl Class {
    /// What a message of that type is about; a type unknown counts as something said.
    pub(super) fn of(kind: &str) -> Self {
        match kind {
            "reasoning" => Self::Thought,
            "function_call" | "plugin_call" | "component_call" | "mcp_call" => Self::Call,
            "function_call_output"
            | "plugin_call_output"
            | "component_call_output"
            | "mcp_call_output" => Self::Output,
            "mcp_approval_request" => Self::Ask,
            "mcp_approval_response" => Self::Answer,
            "error" => Self::Error,
            "mcp_list_tools" | "a2ui_response" | "a2ui_action" => Self::System,
            "heartbeat" => Self::Heartbeat,
            _ => Self::Said,
        }
    }
}
