//! What of an event can be found again in the stream.

use crate::journal::{Event, Kind};

/// Which event fields can be found again in the stream.
pub(in crate::dialect::openai_threads) fn carries(event: &Event<'_>, field: &str) -> bool {
    let kind = event.kind();
    // What any event of a run may tell about the run.
    let stamp: &[&str] = match kind {
        Kind::ToolCallDelta => &["taskId"],
        Kind::StepFinished | Kind::LlmUsage => &["taskId", "timestamp"],
        Kind::InputReceived | Kind::AuthCompleted => &["taskId", "timestamp"],
        Kind::Message => &["taskId", "agentId", "timestamp"],
        Kind::ThreadCreated => &["taskId", "timestamp"],
        Kind::ParticipantJoined => &["taskId"],
        _ => &["taskId", "agentId", "parentTaskId", "timestamp"],
    };
    let own: &[&str] = match kind {
        Kind::ThreadCreated => &["contextId", "title", "parentThreadId", "createdAt"],
        Kind::ParticipantJoined => &["participantId", "model"],
        Kind::TaskCreated | Kind::ThoughtStream => &[],
        Kind::TaskStatus => &["status", "message"],
        Kind::TaskComplete => &["content"],
        Kind::ContentDelta => &["delta", "messageId"],
        Kind::ContentComplete => &["content", "messageId", "finishReason"],
        Kind::PartStarted => &["messageId"],
        Kind::Message => &["messageId", "role", "author", "content", "attachments"],
        Kind::StepStarted => &["stepId", "model"],
        Kind::StepFinished => &["finishReason", "usage", "model"],
        Kind::ToolCallStarted => &["toolCallId", "toolName"],
        Kind::ToolCallDelta => &["toolCallId", "delta"],
        Kind::ToolCall | Kind::ToolStart => &["toolCallId", "toolName", "arguments"],
        Kind::ToolComplete => &["toolCallId", "toolName", "result", "error"],
        Kind::InputRequired | Kind::ToolInputRequired => {
            &["inputId", "inputType", "prompt", "options", "schema", "toolCallId", "requireUser"]
        }
        Kind::InputReceived => &["inputId", "value"],
        Kind::AuthRequired => &[
            "authId",
            "authType",
            "provider",
            "scopes",
            "prompt",
            "authUrl",
            "authorizationEndpoint",
            "infoUrl",
        ],
        Kind::AuthCompleted => &["authId", "userId"],
        Kind::LlmUsage => &["prompt_tokens", "completion_tokens", "total_tokens", "model"],
        Kind::Error => return matches!(field, "code" | "message"),
        _ => return false,
    };
    stamp.contains(&field) || own.contains(&field)
}
