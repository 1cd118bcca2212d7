//! AG-UI 1.0's event types and their fields, from the protocol's own schema.

use crate::journal::kind::Need::{May, Must};
use crate::journal::kind::Type::{Any, Array, Bool, Integer, Object, OneOf, Text};
use crate::journal::kind::{Field, Need, Type};

/// The code of an error that a canceled subagent ends with: it has no other end for that.
pub(super) const CANCELED: &str = "CANCELED";

/// An event type and its own fields, beside [`BASE`].
pub(super) struct EventType {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
}

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}

/// Fields that any event may have.
pub(super) const BASE: &[Field] = &[
    f("timestamp", Type::Number, May),
    f("rawEvent", Any, May),
    f("metadata", Object, May),
    f("subagentRunId", Text, May),
];

const ROLE: Type = OneOf(&["developer", "system", "assistant", "user"]);

macro_rules! events {
    ($($name:literal [$($field:expr),* $(,)?])*) => {
        /// Every event type.
        pub(super) const EVENTS: &[EventType] = &[$(
            EventType { name: $name, fields: &[$($field),*] },
        )*];
    };
}

events! {
    "TEXT_MESSAGE_START" [f("messageId", Text, Must), f("role", ROLE, May), f("name", Text, May)]
    "TEXT_MESSAGE_CONTENT" [f("messageId", Text, Must), f("delta", Text, Must)]
    "TEXT_MESSAGE_END" [f("messageId", Text, Must)]
    "TEXT_MESSAGE_CHUNK" [f("messageId", Text, May), f("role", ROLE, May), f("delta", Text, May),
        f("name", Text, May)]
    "TOOL_CALL_START" [f("toolCallId", Text, Must), f("toolCallName", Text, Must),
        f("parentMessageId", Text, May)]
    "TOOL_CALL_ARGS" [f("toolCallId", Text, Must), f("delta", Text, Must)]
    "TOOL_CALL_END" [f("toolCallId", Text, Must)]
    "TOOL_CALL_CHUNK" [f("toolCallId", Text, May), f("toolCallName", Text, May),
        f("parentMessageId", Text, May), f("delta", Text, May)]
    "TOOL_CALL_RESULT" [f("messageId", Text, Must), f("toolCallId", Text, Must),
        f("content", Any, Must), f("role", OneOf(&["tool"]), May)]
    "STATE_SNAPSHOT" [f("snapshot", Any, Must)]
    "STATE_DELTA" [f("delta", Array, Must)]
    "MESSAGES_SNAPSHOT" [f("messages", Array, Must)]
    "ACTIVITY_SNAPSHOT" [f("messageId", Text, Must), f("activityType", Text, Must),
        f("content", Object, Must), f("replace", Bool, May)]
    "ACTIVITY_DELTA" [f("messageId", Text, Must), f("activityType", Text, Must),
        f("patch", Array, Must)]
    "RAW" [f("event", Any, Must), f("source", Text, May)]
    "CUSTOM" [f("name", Text, Must), f("value", Any, Must)]
    "RUN_STARTED" [f("threadId", Text, Must), f("runId", Text, Must),
        f("protocolVersion", Text, May), f("parentRunId", Text, May), f("input", Object, May)]
    "RUN_FINISHED" [f("threadId", Text, Must), f("runId", Text, Must), f("result", Any, May),
        f("outcome", Object, May), f("usage", Array, May)]
    "RUN_ERROR" [f("message", Text, Must), f("code", Text, May), f("usage", Array, May)]
    "STEP_STARTED" [f("stepName", Text, Must)]
    "STEP_FINISHED" [f("stepName", Text, Must)]
    "REASONING_START" [f("messageId", Text, Must)]
    "REASONING_MESSAGE_START" [f("messageId", Text, Must), f("role", OneOf(&["reasoning"]), Must)]
    "REASONING_MESSAGE_CONTENT" [f("messageId", Text, Must), f("delta", Text, Must)]
    "REASONING_MESSAGE_END" [f("messageId", Text, Must)]
    "REASONING_MESSAGE_CHUNK" [f("messageId", Text, May), f("delta", Text, May)]
    "REASONING_END" [f("messageId", Text, Must)]
    "REASONING_ENCRYPTED_VALUE" [f("subtype", OneOf(&["tool-call", "message"]), Must),
        f("entityId", Text, Must), f("encryptedValue", Text, Must)]
    "SUBAGENT_STARTED" [f("subagentRunId", Text, Must), f("name", Text, Must),
        f("description", Text, May), f("parentSubagentRunId", Text, May),
        f("parentToolCallId", Text, May), f("parentMessageId", Text, May)]
    "SUBAGENT_FINISHED" [f("subagentRunId", Text, Must), f("result", Any, May),
        f("outcome", Object, May)]
    "SUBAGENT_ERROR" [f("subagentRunId", Text, Must), f("message", Text, Must),
        f("code", Text, May)]
}

/// The input of a run.
pub(super) const INPUT: &[Field] = &[
    f("threadId", Text, Must),
    f("runId", Text, Must),
    f("protocolVersion", Text, May),
    f("parentRunId", Text, May),
    f("state", Any, May),
    f("messages", Array, Must),
    f("tools", Array, May),
    f("context", Array, May),
    f("forwardedProps", Any, May),
    f("resume", Array, May),
];

/// A tool that the client offers.
pub(super) const TOOL: &[Field] = &[
    f("name", Text, Must),
    f("description", Text, Must),
    f("parameters", Any, May),
    f("metadata", Object, May),
];

/// A piece of context.
pub(super) const CONTEXT: &[Field] = &[f("description", Text, Must), f("value", Text, Must)];

/// An answer to an interrupt.
pub(super) const RESUME: &[Field] = &[
    f("interruptId", Text, Must),
    f("status", OneOf(&["resolved", "cancelled"]), Must),
    f("payload", Any, May),
    f("metadata", Object, May),
];

/// A question that ends a run.
pub(super) const INTERRUPT: &[Field] = &[
    f("subagentRunId", Text, May),
    f("id", Text, Must),
    f("reason", Text, Must),
    f("message", Text, May),
    f("toolCallId", Text, May),
    f("responseSchema", Object, May),
    f("expiresAt", Text, May),
    f("metadata", Object, May),
];

/// What a model used.
pub(super) const USAGE: &[Field] = &[
    f("provider", Text, May),
    f("model", Text, May),
    f("inputTokens", Integer, May),
    f("outputTokens", Integer, May),
    f("totalTokens", Integer, May),
    f("reasoningTokens", Integer, May),
    f("cachedInputTokens", Integer, May),
    f("cacheWriteInputTokens", Integer, May),
];

/// Fields that any message has; `content` differs by role.
pub(super) const MESSAGE: &[Field] = &[
    f("id", Text, Must),
    f(
        "role",
        OneOf(&["developer", "system", "assistant", "user", "tool", "activity", "reasoning"]),
        Must,
    ),
    f("name", Text, May),
    f("encryptedValue", Text, May),
    f("metadata", Object, May),
    f("subagentRunId", Text, May),
    f("toolCallId", Text, May),
    f("toolCalls", Array, May),
    f("error", Text, May),
    f("activityType", Text, May),
];

/// A tool call in a message.
pub(super) const CALL: &[Field] = &[
    f("id", Text, Must),
    f("type", OneOf(&["function"]), Must),
    f("function", Object, Must),
    f("encryptedValue", Text, May),
    f("metadata", Object, May),
];

/// A tool call's function.
pub(super) const FUNCTION: &[Field] = &[f("name", Text, Must), f("arguments", Text, Must)];

/// The event type of that name.
pub(super) fn event(name: &str) -> Option<&'static EventType> {
    EVENTS.iter().find(|e| e.name == name)
}

/// Whether AG-UI has an event type of that name.
pub(super) fn is_event(name: &str) -> bool {
    event(name).is_some()
}
