//! `thread-protocol`: what only this dialect promises.

use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect;
use selvedge_protocol::json::Doc;
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings::{self, fixture};

fn report(text: &str) -> Report {
    let mut report = Report::new();
    validate(dialect::named("thread-protocol").unwrap(), text.as_bytes(), &mut report);
    report
}

/// The rule a fixture breaks, as our code for it.
fn code_of(rule: &str, severity: &str) -> &'static str {
    match (rule, severity) {
        ("sequence", _) => "tp-sequence",
        ("tool_call_id", _) => "tp-tool-call-id",
        ("agent_id", _) => "tp-agent-id",
        ("action_type", _) => "tp-action-type",
        ("timestamp", "warning") => "tp-time-order",
        ("timestamp", _) => "tp-timestamp",
        ("version", _) => "tp-version",
        ("required", _) => "missing-field",
        ("enum", _) => "unknown-value",
        ("unknown_field", _) => "unknown-field",
        ("type", _) => "wrong-type",
        (rule, _) => panic!("no code for rule {rule}"),
    }
}

#[test]
fn each_rule_is_found_where_it_is_broken_and_nowhere_else() {
    let index = fixture("thread-protocol/index.json");
    let index = Doc::parse(&index).unwrap();
    let mut tried = 0;
    for entry in index.root().children() {
        let get = |key: &str| entry.get(key).and_then(|v| v.str());
        let file = get("file").unwrap();
        let text = fixture(&format!("thread-protocol/{file}"));
        let report = report(&text);
        assert_eq!(
            report.is_valid(),
            entry.get("valid").unwrap().bool().unwrap(),
            "{file}: {:?}",
            report.diagnostics()
        );
        if let Some(rule) = get("rule") {
            let found: Vec<_> = report
                .diagnostics()
                .iter()
                .map(|d| (d.code, d.pointer.as_str(), d.severity.to_string()))
                .collect();
            let severity = get("severity").unwrap().to_string();
            let want = (code_of(&rule, &severity), &*get("pointer").unwrap(), severity);
            assert!(found.contains(&want), "{file}: wanted {want:?}, found {found:?}");
        } else {
            let errors = report.diagnostics().iter().filter(|d| d.severity == Severity::Error);
            assert_eq!(errors.count(), 0, "{file}");
        }
        tried += 1;
    }
    assert!(tried > 25);
}

#[test]
fn the_documents_example_is_valid() {
    let text = fixture("documents/thread-protocol/01-example-thread.json");
    assert_eq!(report(&text).diagnostics(), []);
}

#[test]
fn what_carries_a_recording_is_valid() {
    let own = dialect::named("thread-protocol").unwrap();
    let mut tried = 0;
    for recording in recordings::all() {
        if recording.dialect == "thread-protocol" {
            continue;
        }
        let Some(from) = dialect::named(recording.dialect) else { continue };
        let carried = convert(from, own, &recording.text);
        let report = report(&carried);
        assert!(report.is_valid(), "{}: {:?}", recording.name, report.diagnostics());
        tried += 1;
    }
    assert!(tried > 500);
}

/// A value for the schema to look at. `serde_json` refuses lone surrogates, which are legal JSON.
fn value(node: selvedge_protocol::json::Node<'_, '_>) -> serde_json::Value {
    use serde_json::Value;
    if node.is_object() {
        let members = node.members().map(|(k, v)| (k.str().unwrap().into_owned(), value(v)));
        return Value::Object(members.collect());
    }
    if node.is_array() {
        return Value::Array(node.children().map(value).collect());
    }
    match node.str() {
        Some(text) => Value::String(text.into_owned()),
        None => serde_json::from_str(node.raw()).unwrap_or_else(|_| Value::from(0)),
    }
}

#[test]
fn what_carries_a_recording_passes_a_strict_schema() {
    let schema = include_str!("../../schemas/thread-protocol-1.0.0.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let own = dialect::named("thread-protocol").unwrap();
    let mut wrong = Vec::new();
    for recording in recordings::cached() {
        if recording.dialect == "thread-protocol" {
            continue;
        }
        let Some(from) = dialect::named(recording.dialect) else { continue };
        let carried = convert(from, own, &recording.text);
        if let Err(e) = schema.validate(&value(Doc::parse(&carried).unwrap().root())) {
            wrong.push(format!("{}: {} at {}", recording.name, e, e.instance_path()));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Another tool's printing of a document: spaced, ASCII only, as Python's `json` does it.
fn reprinted(text: &str) -> String {
    let doc = Doc::parse(text).unwrap();
    let mut out = String::new();
    selvedge_protocol::json::print(
        doc.root(),
        selvedge_protocol::json::Style::SpacedAscii,
        &mut out,
    );
    out
}

#[test]
fn a_document_printed_anew_by_another_tool_still_gives_every_byte_back() {
    let own = dialect::named("thread-protocol").unwrap();
    let mut wrong = Vec::new();
    for recording in recordings::cached() {
        if recording.dialect == "thread-protocol" {
            continue;
        }
        let Some(from) = dialect::named(recording.dialect) else { continue };
        let carried = reprinted(&convert(from, own, &recording.text));
        if convert(own, from, &carried) != recording.text {
            wrong.push(recording.name.clone());
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_edited_text_shows_and_everything_else_stays() {
    let own = dialect::named("thread-protocol").unwrap();
    let cases = [
        ("pydantic-ai", "pydantic/s02_parallel_tool_calls/messages.json", "several things."),
        ("ai-sdk-messages", "ai_7.0.169/a01_text.ui_message.json", "Hello"),
    ];
    for (name, file, old) in cases {
        let from = dialect::named(name).unwrap();
        let text = fixture(file);
        assert!(text.contains(old), "{file}");
        let carried = reprinted(&convert(from, own, &text));
        let edited = carried.replace(old, "EDITED \\u00e9");
        assert_ne!(edited, carried, "{file}");
        assert_eq!(convert(own, from, &edited), text.replace(old, "EDITED é"), "{file}");
    }
}

/// A later shape's example with one thing changed: what is found, and where.
#[test]
fn the_later_shapes_are_checked_too() {
    let (v2, v3, v4) = ("v2.0.0-thread", "v0.0.3-thread", "v0.0.4-thread");
    let cases: &[(&str, &str, &str, &str, &str)] = &[
        (v2, "\"version\": \"2.0.0\"", "\"version\": \"3.0.0\"", "unknown-value", "/version"),
        (
            v2,
            "\"created_at\": \"2025-01-15T10:00:00Z\",\n  \"updated_at\"",
            "\"updated_at\"",
            "missing-field",
            "",
        ),
        (v2, "\"agent_name\": \"Weather\",", "", "missing-field", "/agents/agent_001"),
        (
            v2,
            "\"turn_type\": \"user\"",
            "\"turn_type\": \"human\"",
            "unknown-value",
            "/turns/0/turn_type",
        ),
        (v2, "\"submitted_at\": \"2025-01-15T10:00:00Z\",", "", "missing-field", "/turns/0"),
        (
            v2,
            "\"submitted_at\": \"2025-01-15T10:00:00Z\"",
            "\"submitted_at\": \"today\"",
            "tp-timestamp",
            "/turns/0/submitted_at",
        ),
        (v2, "\"part_kind\": \"user-prompt\",", "", "missing-field", "/turns/0/parts/0"),
        (
            v2,
            "\"part_kind\": \"user-prompt\"",
            "\"part_kind\": \"song\"",
            "unknown-value",
            "/turns/0/parts/0/part_kind",
        ),
        (v2, "\"completed_at\": \"2025-01-15T10:00:05Z\",", "", "missing-field", "/turns/1"),
        (
            v2,
            "\"agent_id\": \"agent_001\",\n      \"started_at\"",
            "\"agent_id\": \"nobody\",\n      \"started_at\"",
            "tp-agent-id",
            "/turns/1/agent_id",
        ),
        (
            v2,
            "\"message_type\": \"system\"",
            "\"message_type\": \"note\"",
            "unknown-value",
            "/turns/1/messages/0/message_type",
        ),
        (v2, "\"event_type\": \"prompt.enriched\",", "", "missing-field", "/turns/1/messages/0"),
        (
            v2,
            "\"finish_reason\": \"tool_call\"",
            "\"finish_reason\": \"bored\"",
            "unknown-value",
            "/turns/1/messages/1/finish_reason",
        ),
        (
            v2,
            "\"input_tokens\": 10",
            "\"input_tokens\": \"10\"",
            "wrong-type",
            "/turns/1/total_usage/input_tokens",
        ),
        (
            v2,
            "\"status\": \"validation_error\"",
            "\"status\": \"odd\"",
            "unknown-value",
            "/turns/1/messages/2/parts/1/status",
        ),
        (
            v2,
            "\"tool_call_id\": \"c1\",\n              \"status\"",
            "\"tool_call_id\": \"c9\",\n              \"status\"",
            "tp-tool-call-id",
            "/turns/1/messages/2/parts/0/tool_call_id",
        ),
        (
            v3,
            "\"ui:locale\"",
            "\"locale\"",
            "tp-client-metadata",
            "/turns/0/client_metadata/locale",
        ),
        (
            v3,
            "\"relation\": \"referenced\"",
            "\"relation\": \"married\"",
            "unknown-value",
            "/relationships/links/1/relation",
        ),
        (
            v3,
            "\"uri\": \"s3://b/k\",",
            "",
            "missing-field",
            "/turns/1/messages/2/parts/0/content_ref",
        ),
        (
            v3,
            "\"part_kind\": \"custom:chart\"",
            "\"part_kind\": \"chart\"",
            "tp-part-kind",
            "/turns/1/messages/3/parts/0/part_kind",
        ),
        (
            v3,
            "\"event_type\": \"meta:latency\"",
            "\"event_type\": \"latency\"",
            "tp-event-type",
            "/turns/1/messages/4/event_type",
        ),
        (
            v4,
            "\"completion_status\": \"interrupted\"",
            "\"completion_status\": \"bored\"",
            "unknown-value",
            "/turns/1/completion_status",
        ),
        (v4, "\"completion_status\": \"interrupted\",", "", "missing-field", "/turns/1"),
        (
            v4,
            "\"reason\": \"user_cancelled\"",
            "\"reason\": \"bored\"",
            "unknown-value",
            "/turns/1/interruption/reason",
        ),
        (v4, "\"completed_at\": \"2025-01-20T10:00:20Z\",", "", "missing-field", "/turns/3"),
        (
            v4,
            "\"tool_call_id\": \"c1\",\n              \"args\"",
            "\"tool_call_id\": \"c2\",\n              \"args\"",
            "tp-open-call",
            "/turns/1/messages/0/parts/0/tool_call_id",
        ),
        (
            v4,
            "data-tp-agent_handoff",
            "data-tp-song",
            "tp-event-type",
            "/turns/3/messages/0/event_type",
        ),
    ];
    for file in [v2, v3, v4, "v2.0.0-minimal"] {
        assert_eq!(
            report(&fixture(&format!("thread-protocol/{file}.json"))).diagnostics(),
            [],
            "{file}"
        );
    }
    for (file, old, new, code, pointer) in cases {
        let text = fixture(&format!("thread-protocol/{file}.json"));
        assert!(text.contains(old), "{file}: {old}");
        let report = report(&text.replacen(old, new, 1));
        let found: Vec<_> =
            report.diagnostics().iter().map(|d| (d.code, d.pointer.as_str())).collect();
        assert!(found.contains(&(code, pointer)), "{file}, {new}: {found:?}");
    }
}
