//! Which event fields can be found again in what the encoder writes, for the loss report.

use crate::journal::{Event, Kind};

/// Whether the encoder writes a field of a kind.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    let kind = event.kind();
    let stamp = matches!(field, "contextId" | "taskId" | "timestamp" | "parentTaskId");
    let own: &[&str] = match kind {
        Kind::TaskStatus => &["message", "code", "status"],
        Kind::TaskComplete => &["agentId", "content"],
        Kind::ContentDelta => &["agentId", "delta", "partId"],
        Kind::ContentComplete => &["agentId", "content", "partId"],
        Kind::ToolStart => &["toolCallId", "toolName", "arguments"],
        Kind::ToolProgress => &["toolCallId", "progress", "message"],
        Kind::ToolComplete => &["toolCallId", "result", "error", "messageId", "preliminary"],
        Kind::InputRequired => {
            &["inputId", "prompt", "schema", "options", "toolCallId", "inputType", "requireUser"]
        }
        Kind::InputReceived => &["inputId", "value"],
        Kind::AuthRequired => &["authId", "prompt"],
        Kind::AuthCompleted => &["authId"],
        Kind::FileWrite => &[
            "artifactId",
            "data",
            "index",
            "name",
            "description",
            "mimeType",
            "uri",
            "complete",
            "encoding",
        ],
        Kind::DataWrite => &["artifactId", "name", "description", "data"],
        Kind::DatasetWrite => {
            &["artifactId", "rows", "index", "name", "description", "schema", "complete"]
        }
        Kind::ThoughtStream => &["thoughtId", "content", "signature"],
        Kind::ToolCall => &["toolCallId", "toolName", "arguments"],
        Kind::ToolInputRequired => {
            &["toolCallId", "inputId", "prompt", "schema", "options", "inputType"]
        }
        Kind::LlmUsage => &["model", "prompt_tokens", "completion_tokens", "total_tokens"],
        Kind::Message => &["messageId", "author", "content", "role"],
        Kind::ParticipantJoined => &["participantId"],
        Kind::StepStarted => &["stepId"],
        Kind::StepFinished => &["usage", "model", "providerName"],
        Kind::PartStarted => &["agentId", "partId", "partType"],
        Kind::PartFinished => &["partType", "signature"],
        Kind::ToolCallStarted => &["toolCallId", "toolName"],
        Kind::ToolCallDelta => &["toolCallId", "delta"],
        Kind::Source => &["sourceId", "url", "title", "mediaType", "filename"],
        Kind::Error => &["code", "message", "retryable"],
        Kind::System => &["name", "data"],
        _ => &[],
    };
    stamp || own.contains(&field)
}
