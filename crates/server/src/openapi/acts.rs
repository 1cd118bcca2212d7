//! Schemas of what acts on a thread takes and gives.

use selvedge_protocol::dialect::envelope::INTENTS;
use serde_json::{Map, Value, json};

use super::schema::{list, named, object};

/// The named schemas.
pub(super) fn components() -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let maybe = || json!({"type": ["string", "null"]});
    let count = || json!({"type": "integer", "minimum": 0});
    let flag = || json!({"type": "boolean"});
    let time = || json!({"type": ["string", "null"], "format": "date-time"});
    let next = || json!({"type": ["integer", "null"], "description": "`after` of the next page"});
    let kind = || json!({"enum": ["file", "data", "dataset"]});
    let jwe = json!({"type": "string", "maxLength": 16384, "description":
        "A compact JWE (ECDH-ES, A256GCM) for the request's `encryptionKey`, with `authId`, \
         `contextId`, `iat` and `exp` in its protected header"});
    let receipt = object(
        &[
            ("thread", text()),
            ("at", text()),
            ("by", text()),
            ("reason", maybe()),
            ("entries", count()),
            ("hash", text()),
            ("sharedWith", list(text())),
        ],
        &[],
    );
    let taken = object(&[("seq", count()), ("hash", text())], &[]);
    let number = json!({"type": ["integer", "null"], "minimum": 0});
    let all = [
        ("Redaction", object(&[("events", list(count()))], &[("reason", text())])),
        (
            "Redacted",
            object(
                &[
                    ("id", text()),
                    ("events", list(taken)),
                    ("receipt", number),
                    ("at", text()),
                    ("by", text()),
                    ("scrubbed", flag()),
                ],
                &[],
            ),
        ),
        ("Erasing", object(&[], &[("branches", flag()), ("reason", text())])),
        ("Erasures", object(&[("erasures", list(receipt))], &[("scrubbed", flag())])),
        ("Inputs", object(&[("items", list(named("Question"))), ("next", next())], &[])),
        (
            "Question",
            object(
                &[
                    ("kind", json!({"enum": ["input", "auth"]})),
                    ("id", text()),
                    ("taskId", maybe()),
                    ("seq", count()),
                    ("at", time()),
                    ("requireUser", flag()),
                    ("urgency", json!({"enum": ["low", "medium", "high"]})),
                    ("expiresAt", time()),
                    ("question", named("Event")),
                ],
                &[],
            ),
        ),
        ("Answer", object(&[("value", json!({}))], &[("userId", text()), ("reason", text())])),
        (
            "Envelope",
            object(
                &[
                    ("protocol", json!({"const": "multiagent-1.0"})),
                    ("role", json!({"enum": ["agent", "user", "system", "tool"]})),
                    ("timestamp", text()),
                    ("intent", json!({"enum": INTENTS})),
                    ("task", text()),
                    ("content", json!({"type": "object"})),
                ],
                &[
                    ("agent", json!({"type": "object"})),
                    ("inputs", json!({"type": "object"})),
                    ("outputs", json!({"type": "object"})),
                    ("confidence", json!({"type": "object"})),
                    ("trace", json!({"type": ["object", "string"]})),
                ],
            ),
        ),
        (
            "Routed",
            object(
                &[
                    ("thread", text()),
                    ("cursor", named("Cursor")),
                    ("duplicate", flag()),
                    (
                        "envelopes",
                        list(object(
                            &[("id", text()), ("decisions", list(named("RouteDecision")))],
                            &[],
                        )),
                    ),
                ],
                &[],
            ),
        ),
        (
            "RouteDecision",
            object(
                &[
                    ("to", maybe()),
                    ("intent", maybe()),
                    ("taskId", maybe()),
                    ("action", json!({"type": ["integer", "null"]})),
                    ("reason", text()),
                ],
                &[],
            ),
        ),
        ("Actions", object(&[("actions", list(named("NextAction")))], &[])),
        (
            "NextAction",
            object(
                &[
                    ("id", text()),
                    ("messageId", text()),
                    ("intent", text()),
                    ("task", text()),
                    ("args", json!({"type": ["object", "null"]})),
                ],
                &[],
            ),
        ),
        ("Claim", object(&[("agent", text())], &[])),
        (
            "Claimed",
            object(
                &[
                    ("action", named("NextAction")),
                    ("by", text()),
                    ("taskId", maybe()),
                    ("cursor", named("Cursor")),
                ],
                &[],
            ),
        ),
        ("Authenticated", object(&[], &[("userId", text()), ("credential", jwe)])),
        ("Cancel", object(&[], &[("reason", text())])),
        ("Tasks", object(&[("tasks", list(named("Task"))), ("next", next())], &[])),
        (
            "Task",
            object(
                &[
                    ("id", text()),
                    ("parent", maybe()),
                    ("children", list(text())),
                    ("agent", maybe()),
                    ("initiator", maybe()),
                    ("status", text()),
                    ("message", maybe()),
                    ("began", maybe()),
                    ("ended", maybe()),
                ],
                &[],
            ),
        ),
        (
            "Work",
            object(
                &[
                    ("threadId", text()),
                    ("taskId", text()),
                    ("parentTaskId", maybe()),
                    ("agentId", text()),
                    ("workerId", text()),
                    ("attempt", count()),
                    ("messageId", maybe()),
                    ("prompt", maybe()),
                    ("lease", json!({"type": "string", "description": "For `Selvedge-Lease`"})),
                    ("leaseMs", count()),
                    ("expiresAt", time()),
                    ("cursor", named("Cursor")),
                    ("links", json!({"type": "object", "additionalProperties": text()})),
                ],
                &[],
            ),
        ),
        ("Lease", object(&[("taskId", text()), ("attempt", count()), ("expiresAt", time())], &[])),
        ("Artifacts", object(&[("artifacts", list(named("Artifact"))), ("next", next())], &[])),
        (
            "Artifact",
            object(
                &[
                    ("id", text()),
                    ("kind", kind()),
                    ("name", maybe()),
                    ("description", maybe()),
                    ("version", count()),
                    ("versions", list(named("Version"))),
                ],
                &[],
            ),
        ),
        (
            "Version",
            object(
                &[
                    ("version", count()),
                    ("mimeType", maybe()),
                    ("size", count()),
                    ("rows", count()),
                    ("complete", flag()),
                    ("first", count()),
                    ("last", count()),
                ],
                &[],
            ),
        ),
        (
            "Written",
            object(
                &[
                    ("first", count()),
                    ("last", count()),
                    ("cursor", named("Cursor")),
                    ("duplicate", flag()),
                    ("version", count()),
                ],
                &[],
            ),
        ),
        (
            "ArtifactDiff",
            object(
                &[("from", count()), ("to", count()), ("kind", kind()), ("equal", flag())],
                &[
                    ("diff", json!({"type": "string", "description": "Of texts: unified"})),
                    ("changes", list(json!({"type": "object"}))),
                    ("added", list(json!({}))),
                    ("addedCount", count()),
                    ("removed", list(json!({}))),
                    ("removedCount", count()),
                    ("binary", flag()),
                    ("large", flag()),
                    ("truncated", flag()),
                ],
            ),
        ),
    ];
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}
