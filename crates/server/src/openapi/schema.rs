//! Schemas: what bodies and answers look like.
//!
//! Events are described by the table of kinds, so that the document and what is taken agree. A test
//! holds real answers against these.

use selvedge_protocol::journal::kind::{COMMON, Field, Need, SPECS, Type};
use serde_json::{Map, Value, json};

/// Every named schema.
pub(super) fn components() -> Value {
    let text = json!({"type": "string"});
    let maybe = json!({"type": ["string", "null"]});
    let count = json!({"type": "integer", "minimum": 0});
    let maybe_count = json!({"type": ["integer", "null"], "minimum": 0});
    let time = json!({"type": ["string", "null"], "format": "date-time"});
    let any_object = json!({"type": "object"});
    let mut all = json!({
        "Event": event(),
        "Error": error(),
        "Cursor": {"type": "string", "pattern": "^[0-9]+\\.[0-9]+$", "description": "`<epoch>.<seq>`"},
        "Health": object(&[("status", json!({"enum": ["ok", "unavailable"]}))], &[]),
        "NewThread": object(&[], &[
            ("id", text.clone()), ("title", text.clone()), ("metadata", any_object.clone()),
            ("agents", json!({"type": "array", "items": {"anyOf": [
                {"type": "string"},
                object(&[("id", text.clone())], &[
                    ("name", text.clone()), ("model", text.clone()), ("metadata", any_object.clone()),
                ]),
            ]}})),
        ]),
        "MadeThread": object(&[
            ("id", text.clone()), ("cursor", named("Cursor")), ("head", count.clone()),
            ("duplicate", json!({"type": "boolean"})),
        ], &[]),
        "ThreadChange": object(&[], &[("title", text.clone()), ("metadata", any_object.clone())]),
        "ChangedThread": object(&[
            ("id", text.clone()), ("cursor", named("Cursor")), ("head", count.clone()),
        ], &[]),
        "Summary": object(&[
            ("id", text.clone()), ("cursor", named("Cursor")), ("head", count.clone()),
            ("createdAt", time.clone()), ("updatedAt", time.clone()),
            ("status", json!({"enum": ["waiting", "working", "failed", "idle"]})),
            ("title", maybe.clone()), ("metadata", json!({"type": ["object", "null"]})),
            ("lastWords", maybe.clone()), ("messages", count.clone()), ("tasks", count.clone()),
            ("participants", count.clone()), ("artifacts", count.clone()), ("pending", count.clone()),
            ("agents", json!({"type": "array", "items": object(&[("id", text.clone()), ("name", maybe.clone())], &[]),
                "description": "The first six of them"})),
            ("tokens", count.clone()), ("cost", json!({"type": "number"})),
        ], &[]),
        "State": object(&[
            ("id", text.clone()), ("cursor", named("Cursor")), ("head", count.clone()),
            ("title", maybe.clone()), ("parent", maybe.clone()),
            ("forkedAt", maybe_count.clone()),
            ("messages", list(object(&[
                ("type", json!({"enum": ["user-message", "assistant-message", "thinking",
                    "tool-call", "tool-return", "system"]})),
            ], &[("text", text.clone()), ("taskId", text.clone()), ("agentId", text.clone()),
                 ("timestamp", text.clone())]))),
            ("inputs", list(named("Event"))), ("auths", list(named("Event"))),
            ("participants", list(object(&[("id", text.clone()), ("left", json!({"type": "boolean"}))],
                &[("role", text.clone()), ("name", text.clone()), ("model", text.clone())]))),
            ("tasks", list(object(&[
                ("id", text.clone()), ("parent", maybe.clone()), ("agent", maybe.clone()),
                ("initiator", maybe.clone()), ("status", text.clone()), ("message", maybe.clone()),
                ("began", maybe.clone()), ("ended", maybe.clone()),
            ], &[]))),
            ("artifacts", list(object(&[
                ("id", text.clone()), ("kind", json!({"enum": ["file", "data", "dataset"]})),
                ("name", maybe.clone()), ("description", maybe.clone()),
                ("versions", list(any_object.clone())),
            ], &[]))),
            ("usage", list(object(&[
                ("agent", text.clone()), ("model", text.clone()), ("input", count.clone()),
                ("output", count.clone()), ("cached", count.clone()), ("reasoning", count.clone()),
                ("calls", count.clone()), ("cost", json!({"type": "number"})),
            ], &[]))),
        ], &[("metadata", any_object.clone())]),
        "Appended": object(&[
            ("first", count.clone()), ("last", count.clone()), ("cursor", named("Cursor")),
            ("duplicate", json!({"type": "boolean", "description": "The same key and body were appended before"})),
        ], &[("leaseExpiresAt", json!({"type": "string", "format": "date-time",
            "description": "Of the lease that the request named"}))]),
        "NewMessage": object(&[("content", json!({"type": ["string", "array"]}))], &[
            ("to", json!({"anyOf": [text, list(text.clone())],
                "description": "Agents that are to answer; those of the thread unless told"})),
            ("author", text.clone()), ("messageId", text.clone()),
            ("attachments", list(any_object.clone())), ("metadata", any_object.clone()),
        ]),
        "SentMessage": object(&[
            ("messageId", text.clone()),
            ("tasks", list(object(&[("taskId", text.clone()), ("agent", text.clone())], &[]))),
            ("answered", list(object(&[("inputId", text.clone()), ("taskId", text.clone())], &[]))),
            ("canceled", list(text.clone())),
            ("first", count.clone()), ("last", count.clone()), ("cursor", named("Cursor")),
            ("duplicate", json!({"type": "boolean"})),
        ], &[]),
        "Agents": object(&[("agents", list(object(&[
            ("id", text.clone()), ("models", list(text.clone())), ("tools", list(text.clone())),
        ], &[("budget", json!({"type": "object"}))]))), ("demo", json!({"type": "boolean", "description": "Whether the demonstration can begin"}))], &[]),
        "BegunDemo": object(&[("thread", text.clone()), ("begun", json!({"type": "boolean", "description": "Not before"}))], &[]),
        "Entry": object(&[
            ("seq", count.clone()), ("at", json!({"type": "string", "format": "date-time"})),
            ("event", named("Event")),
        ], &[("from", json!({"type": "integer", "minimum": 0,
            "description": "The first entry that it stands for, where several were folded"}))]),
        "Page": object(&[
            ("entries", list(named("Entry"))), ("cursor", named("Cursor")), ("head", count.clone()),
        ], &[("thread", named("Summary")),
             ("folded", object(&[("from", count.clone()), ("to", count.clone())], &[]))]),
        "NewBranch": object(&[], &[
            ("id", text.clone()), ("title", text.clone()),
            ("at", json!({"anyOf": [count.clone(), named("Cursor")],
                "description": "The last entry that is shared; the head unless told"})),
        ]),
        "MadeBranch": object(&[
            ("id", text.clone()), ("parent", text.clone()), ("at", count.clone()),
            ("cursor", named("Cursor")), ("head", count.clone()),
            ("duplicate", json!({"type": "boolean"})),
        ], &[]),
        "Promotion": object(&[], &[("old", text.clone())]),
        "Promoted": object(&[
            ("id", text.clone()), ("old", maybe.clone()), ("cursor", named("Cursor")),
            ("head", count.clone()), ("duplicate", json!({"type": "boolean"})),
        ], &[]),
        "Tokens": object(&[
            ("input", count.clone()), ("output", count.clone()), ("cached", count.clone()),
            ("reasoning", count.clone()), ("calls", count.clone()),
            ("cost", json!({"type": "number"})),
        ], &[]),
        "Side": object(&[
            ("id", text.clone()), ("entries", list(named("Entry"))), ("cursor", named("Cursor")),
            ("head", count.clone()),
            ("summary", object(&[
                ("events", count.clone()), ("messages", count.clone()),
                ("toolCalls", count.clone()), ("artifacts", count.clone()),
                ("tasks", count.clone()), ("usage", named("Tokens")),
            ], &[])),
        ], &[]),
        "Difference": object(&[
            ("base", count.clone()), ("left", named("Side")), ("right", named("Side")),
            ("difference", object(&[
                ("messages", any_object.clone()), ("toolCalls", any_object.clone()),
                ("usage", any_object.clone()), ("artifacts", any_object.clone()),
                ("tasks", any_object.clone()),
            ], &[])),
        ], &[]),
        "Branches": object(&[
            ("threads", list(json!({
                "description": "A line of the list of threads with where it branched off; of one \
                    that was deleted, only that",
                "type": "object", "required": ["id", "parent", "at", "promoted"],
                "properties": {
                    "id": maybe,
                    "parent": {"type": ["integer", "null"], "description": "Its place in this list"},
                    "at": maybe_count, "promoted": {"type": "boolean"},
                },
            }))),
            ("more", json!({"type": "boolean"})),
        ], &[]),
        "Loss": object(&[
            ("dialect", text.clone()), ("at", count.clone()), ("count", count.clone()),
            ("losses", list(object(&[
                ("seq", maybe_count.clone()),
                ("pointer", json!({"type": "string",
                    "description": "Into the event, or into the record that the entry came as"})),
                ("reason", text.clone()),
            ], &[]))),
        ], &[]),
        "NewShare": object(&[], &[
            ("at", json!({"anyOf": [count.clone(), named("Cursor")],
                "description": "The last entry that is shown; the head unless told"})),
            ("expiresAt", json!({"type": "string", "format": "date-time"})),
            ("title", text.clone()),
            ("show", list(json!({"enum": crate::redact::Show::ALL.map(crate::redact::Show::name)}))),
        ]),
        "Share": object(&[
            ("id", text.clone()), ("at", count.clone()), ("title", maybe.clone()),
            ("show", list(text.clone())), ("createdAt", time.clone()), ("expiresAt", time.clone()),
            ("revokedAt", time.clone()),
        ], &[]),
        "MadeShare": object(&[
            ("id", text.clone()), ("at", count.clone()), ("link", text.clone()),
            ("token", json!({"type": "string", "description": "Told this once"})),
        ], &[]),
        "Shares": object(&[("shares", list(named("Share")))], &[]),
        "Events": object(&[
            ("events", list(any_object.clone())),
            ("cursor", json!({"type": "string", "description": "As the ids of the stream"})),
            ("head", count.clone()),
        ], &[]),
        "Imported": object(&[
            ("id", text.clone()), ("dialect", text.clone()), ("head", count.clone()),
            ("cursor", named("Cursor")),
        ], &[]),
        "Usage": object(&[
            ("from", text.clone()), ("to", text.clone()), ("total", named("Tokens")),
            ("latency", named("Latency")),
            ("errors", list(object(&[
                ("what", json!({"enum": ["task", "tool", "error"]})), ("code", text.clone()),
                ("agent", text.clone()), ("times", count.clone()), ("last", text.clone()),
            ], &[]))),
            ("usage", list(object(&[
                ("input", count.clone()), ("output", count.clone()), ("cached", count.clone()),
                ("reasoning", count.clone()), ("calls", count.clone()),
                ("cost", json!({"type": "number"})), ("latency", named("Latency")),
            ], &[
                ("day", text.clone()), ("thread", text.clone()), ("agent", text.clone()),
                ("model", text.clone()),
            ]))),
            ("next", maybe.clone()),
        ], &[]),
        "Latency": object(&[
            ("calls", count.clone()), ("millis", count.clone()), ("slowest", count.clone()),
        ], &[]),
        "Connections": object(&[
            ("at", time.clone()), ("total", count.clone()),
            ("bound", object(&[("entries", count.clone()), ("seconds", count.clone())], &[])),
            ("connections", list(object(&[
                ("id", count.clone()), ("thread", maybe.clone()), ("dialect", text.clone()),
                ("version", maybe.clone()), ("caller", text.clone()), ("peer", maybe.clone()),
                ("client", maybe.clone()), ("since", time.clone()), ("cursor", named("Cursor")),
                ("lag", count.clone()), ("rung", json!({"enum": ["live", "journal"]})),
            ], &[]))),
        ], &[]),
        "Waiting": object(&[
            ("thread", text.clone()), ("kind", json!({"enum": ["input", "auth"]})),
            ("id", text.clone()), ("taskId", maybe.clone()), ("seq", count.clone()),
            ("at", time.clone()), ("type", maybe.clone()), ("prompt", maybe.clone()),
            ("requireUser", json!({"type": "boolean"})), ("expiresAt", time.clone()),
            ("urgency", json!({"enum": ["low", "medium", "high"]})),
        ], &[]),
        "Found": object(&[
            ("thread", text.clone()), ("title", maybe.clone()), ("seq", count.clone()), ("at", time),
            ("snippet", list(json!({"anyOf": [
                object(&[("text", text.clone())], &[]), object(&[("hit", text)], &[]),
            ]}))),
        ], &[]),
        "Threads": listed("threads", "Summary"),
        "Inbox": listed("items", "Waiting"),
        "Results": listed("results", "Found"),
    });
    if let Some(all) = all.as_object_mut() {
        all.extend(super::acts::components());
        all.extend(super::surfaces::components());
    }
    all
}

/// An event: its kind, and the fields of its kind.
fn event() -> Value {
    let kinds = SPECS.iter().map(|spec| {
        let mut properties = Map::from_iter([("kind".to_owned(), json!({"const": spec.name}))]);
        properties.extend(spec.fields.iter().map(|f| (f.name.to_owned(), value(f.ty))));
        let must = spec.fields.iter().filter(|f| f.need == Need::Must && f.name != "timestamp");
        let required: Vec<&str> = std::iter::once("kind").chain(must.map(|f| f.name)).collect();
        json!({
            "title": spec.name, "description": spec.about, "type": "object",
            "properties": properties, "required": required,
        })
    });
    let known: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
    let other = json!({
        "title": "another kind", "description": "Kinds of your own are kept as they are.",
        "properties": {"kind": {"not": {"enum": known}}},
    });
    let common: Map<String, Value> =
        COMMON.iter().map(|f: &Field| (f.name.to_owned(), value(f.ty))).collect();
    json!({
        "description": "`contextId` and `timestamp` are stamped where they are missing.",
        "type": "object",
        "required": ["kind"],
        "properties": common,
        "anyOf": kinds.chain([other]).collect::<Vec<_>>(),
    })
}

fn value(ty: Type) -> Value {
    match ty {
        Type::Any => json!({}),
        Type::Text => json!({"type": "string"}),
        Type::Number => json!({"type": "number"}),
        Type::Integer => json!({"type": "integer"}),
        Type::Bool => json!({"type": "boolean"}),
        Type::Object => json!({"type": "object"}),
        Type::Array => json!({"type": "array"}),
        Type::OneOf(words) => json!({"enum": words}),
    }
}

fn error() -> Value {
    let codes: Vec<&str> = crate::ErrorCode::ALL.iter().map(|code| code.name()).collect();
    object(
        &[(
            "error",
            object(
                &[("code", json!({"enum": codes})), ("message", json!({"type": "string"}))],
                &[
                    (
                        "pointer",
                        json!({"type": "string", "description": "JSON pointer into the body"}),
                    ),
                    ("details", json!({"type": "object"})),
                ],
            ),
        )],
        &[],
    )
}

fn listed(name: &'static str, of: &str) -> Value {
    let next = json!({"type": ["string", "null"], "description": "`after` of the next page"});
    object(&[(name, list(named(of))), ("next", next)], &[])
}

pub(super) fn list(of: Value) -> Value {
    json!({"type": "array", "items": of})
}

pub(super) fn named(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// An object with what it must and may have.
pub(super) fn object(must: &[(&str, Value)], may: &[(&str, Value)]) -> Value {
    let all = must.iter().chain(may).map(|(name, value)| ((*name).to_owned(), value.clone()));
    let required: Vec<&str> = must.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": all.collect::<Map<_, _>>(), "required": required})
}
