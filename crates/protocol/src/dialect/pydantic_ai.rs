//! `pydantic-ai`: ModelMessages as `ModelMessagesTypeAdapter` dumps them, 2.x and 1.x.

mod decode;
mod encode;
mod model;
mod validate;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::journal::Kind;
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::PydanticAi,
    about: "Pydantic AI ModelMessages (2.x and 1.x)",
    versions: &["2", "1"],
    framing: Framing::Array,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options))),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks::default()),
    carrier: Carrier::Nothing,
    detect,
    carries,
};

/// Every record of the package has parts with a `part_kind`; a response may have none.
fn detect(head: &str) -> u8 {
    let head = head.trim_start();
    if !head.starts_with('[') {
        return 0;
    }
    let has = |key: &str| head.contains(key);
    if head.trim_end() == "[]" {
        1
    } else if !has("\"parts\"") {
        0
    } else if has("\"part_kind\"") {
        95
    } else if has("\"usage\"") && has("\"kind\"") && (has("\"request\"") || has("\"response\"")) {
        80
    } else {
        0
    }
}

/// Which event fields are found again in what the encoder writes.
fn carries(kind: Kind, field: &str) -> bool {
    let common = matches!(field, "taskId" | "timestamp" | "contextId");
    match kind {
        Kind::ThreadCreated => field == "contextId",
        Kind::TaskCreated | Kind::TaskStatus | Kind::TaskComplete => field == "taskId",
        Kind::ParticipantJoined => field == "model",
        Kind::Message => {
            common
                || matches!(
                    field,
                    "role" | "content" | "attachments" | "messageId" | "usage" | "finishReason"
                )
        }
        Kind::ContentDelta => common || field == "delta",
        Kind::ContentComplete => common || matches!(field, "content" | "finishReason"),
        Kind::ThoughtStream => {
            common || matches!(field, "thoughtId" | "content" | "signature" | "providerName")
        }
        Kind::ToolCall => {
            common
                || matches!(
                    field,
                    "toolCallId" | "toolName" | "arguments" | "providerExecuted" | "providerName"
                )
        }
        Kind::ToolCallStarted => common || matches!(field, "toolCallId" | "toolName"),
        Kind::ToolCallDelta => matches!(field, "toolCallId" | "delta"),
        Kind::ToolStart => common || matches!(field, "toolCallId" | "toolName" | "arguments"),
        Kind::ToolComplete => {
            common
                || matches!(
                    field,
                    "toolCallId" | "toolName" | "success" | "result" | "error" | "outcome"
                )
        }
        Kind::FileWrite => {
            common
                || matches!(
                    field,
                    "artifactId" | "data" | "index" | "complete" | "mimeType" | "encoding"
                )
        }
        Kind::StepStarted => matches!(field, "taskId" | "model"),
        Kind::StepFinished => {
            common || matches!(field, "finishReason" | "usage" | "model" | "providerName")
        }
        Kind::LlmUsage => {
            matches!(
                field,
                "taskId"
                    | "model"
                    | "prompt_tokens"
                    | "completion_tokens"
                    | "total_tokens"
                    | "cost"
            )
        }
        Kind::PartStarted | Kind::PartFinished => matches!(field, "taskId" | "partType"),
        _ => false,
    }
}
