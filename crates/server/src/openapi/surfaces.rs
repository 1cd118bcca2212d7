//! Schemas of what other protocols take and give, and how each tells what went wrong.

use serde_json::{Map, Value, json};

use super::schema::{list, named, object};

/// The named schemas.
pub(super) fn components() -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let maybe = || json!({"type": ["string", "null"]});
    let count = || json!({"type": "integer", "minimum": 0});
    let number = || json!({"type": "number"});
    let flag = || json!({"type": "boolean"});
    let any = || json!({"type": "object"});
    let wrong = [("message", text()), ("type", text()), ("param", maybe()), ("code", maybe())];
    let input = object(&[("inputId", text()), ("value", json!({}))], &[]);
    let credential = object(&[("authId", text()), ("credential", text())], &[]);
    let all = [
        ("OpenaiError", object(&[("error", object(&wrong, &[]))], &[])),
        (
            "Ping",
            object(
                &[
                    ("status", json!({"enum": ["Healthy", "HealthyBusy"]})),
                    ("time_of_last_update", count()),
                ],
                &[],
            ),
        ),
        (
            "Invocation",
            object(
                &[],
                &[
                    ("type", json!({"enum": ["prompt", "resume"]})),
                    ("prompt", text()),
                    ("inputs", list(input)),
                    ("credentials", list(credential)),
                    ("metadata", any()),
                ],
            ),
        ),
        (
            "ChatRequest",
            object(
                &[("id", text()), ("messages", named("UiMessages"))],
                &[
                    ("trigger", json!({"enum": ["submit-message", "regenerate-message"]})),
                    ("messageId", text()),
                    ("agent", text()),
                ],
            ),
        ),
        (
            "RunAgentInput",
            object(
                &[
                    ("threadId", text()),
                    ("runId", text()),
                    (
                        "messages",
                        list(object(
                            &[("id", text()), ("role", text())],
                            &[("content", json!({})), ("toolCallId", text())],
                        )),
                    ),
                ],
                &[
                    ("parentRunId", text()),
                    ("protocolVersion", text()),
                    ("tools", list(any())),
                    ("context", list(any())),
                    ("state", json!({})),
                    ("forwardedProps", json!({})),
                    (
                        "resume",
                        list(object(
                            &[("interruptId", text())],
                            &[
                                ("status", json!({"enum": ["resolved", "cancelled"]})),
                                ("payload", json!({})),
                            ],
                        )),
                    ),
                ],
            ),
        ),
        (
            "UiMessages",
            list(object(
                &[
                    ("id", text()),
                    ("role", json!({"enum": ["system", "user", "assistant"]})),
                    ("parts", list(any())),
                ],
                &[("metadata", json!({}))],
            )),
        ),
        ("Stopped", object(&[("stopped", list(text()))], &[])),
        (
            "AgentRequest",
            object(
                &[("input", list(any()))],
                &[
                    ("session_id", text()),
                    ("stream", flag()),
                    ("id", text()),
                    ("user_id", text()),
                    ("model", text()),
                    ("tools", list(any())),
                    ("temperature", number()),
                    ("top_p", number()),
                    ("max_tokens", count()),
                ],
            ),
        ),
        (
            "AgentTask",
            object(
                &[("task_id", text()), ("status", text()), ("queue", text()), ("message", text())],
                &[],
            ),
        ),
        (
            "AgentTaskStatus",
            object(
                &[
                    ("status", json!({"enum": ["pending", "running", "finished", "error"]})),
                    ("result", json!({"type": ["object", "string", "null"]})),
                ],
                &[],
            ),
        ),
    ];
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// How a path tells what went wrong: the name of a response.
pub(super) fn wrong(path: &str) -> &'static str {
    let below = |prefix: &str| {
        path.strip_prefix(prefix)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    let own = ["/a2a", "/.well-known", "/ai-sdk", "/ag-ui", "/process", "/mcp"];
    match path {
        _ if below("/v1") => "OpenaiError",
        _ if below("/envelopes") => "EnvelopeError",
        "/" => "OwnError",
        _ if own.iter().any(|prefix| below(prefix)) => "OwnError",
        _ => "Error",
    }
}

/// Those responses, besides our own.
pub(super) fn responses() -> Map<String, Value> {
    let told = |about: &str, schema: &str| {
        let schema = json!({"schema": named(schema)});
        json!({"description": about, "content": {"application/json": schema}})
    };
    let all = [
        ("OpenaiError", told("What went wrong, as OpenAI tells it", "OpenaiError")),
        ("EnvelopeError", told("What went wrong, as an envelope", "Envelope")),
        ("OwnError", json!({"description": "What went wrong, as the protocol tells it"})),
    ];
    all.into_iter().map(|(name, response)| (name.to_owned(), response)).collect()
}
