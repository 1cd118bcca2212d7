//! Which event fields can be found again in what the encoder writes, for the loss report.

use crate::journal::{Event, Kind};

/// Whether the encoder writes a field of a kind.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    let kind = event.kind();
    let stamp = matches!(field, "contextId" | "taskId" | "parentTaskId")
        || field == "timestamp" && matches!(kind, Kind::TaskCreated | Kind::TaskComplete);
    let own: &[&str] = match kind {
        Kind::TaskStatus => &["agentId", "message", "code", "status"],
        Kind::TaskComplete => &["agentId", "content"],
        Kind::ContentDelta => &["agentId", "delta", "messageId"],
        Kind::ContentComplete => &["agentId", "content", "messageId"],
        Kind::ToolStart => &["agentId", "toolCallId", "toolName", "arguments"],
        Kind::ToolProgress => &["agentId", "toolCallId", "progress", "message", "icon"],
        Kind::ToolComplete => {
            &["toolCallId", "toolName", "result", "error", "messageId", "success", "preliminary"]
        }
        Kind::InputRequired => {
            &["agentId", "inputId", "prompt", "schema", "options", "toolCallId", "inputType"]
        }
        Kind::InputReceived => &["inputId", "value"],
        Kind::AuthCompleted => &["authId"],
        Kind::AuthRequired => {
            &["agentId", "authId", "provider", "scopes", "prompt", "authUrl", "authType"]
        }
        Kind::FileWrite => &[
            "agentId",
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
        Kind::DataWrite => &["agentId", "artifactId", "data"],
        Kind::DatasetWrite => {
            &["agentId", "artifactId", "rows", "index", "name", "description", "schema", "complete"]
        }
        Kind::ThoughtStream => &["agentId", "thoughtId", "content"],
        Kind::ToolCall => &["agentId", "toolCallId", "toolName", "arguments", "messageId"],
        Kind::ToolInputRequired => {
            &["agentId", "toolCallId", "inputId", "prompt", "schema", "options", "inputType"]
        }
        Kind::LlmUsage => &["prompt_tokens", "completion_tokens"],
        Kind::Message => &["messageId", "content", "role"],
        Kind::ParticipantJoined => &["participantId"],
        Kind::StepFinished => &["usage"],
        Kind::PartStarted => &["agentId", "messageId", "partType"],
        Kind::PartFinished => &["partType"],
        Kind::ToolCallStarted => &["agentId", "toolCallId", "toolName", "messageId"],
        Kind::ToolCallDelta => &["toolCallId", "delta"],
        Kind::Source => &["agentId", "sourceId", "url", "title", "filename"],
        Kind::Error => &["code", "message"],
        Kind::System => &["name", "data", "systemId"],
        _ => &[],
    };
    stamp || own.contains(&field)
}
