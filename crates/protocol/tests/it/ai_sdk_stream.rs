//! `ai-sdk-stream`: what only this dialect promises.

use std::fs;

use selvedge_protocol::diagnostic::Report;
use selvedge_protocol::dialect::{self, DecodeOptions, decode};
use selvedge_protocol::json::{Doc, same_value};
use selvedge_protocol::validate::validate;

use crate::ai_sdk_messages::{convert_for, reduced};
use crate::identity::convert;
use crate::recordings;

/// The events of a source, one JSON text each.
pub(crate) fn events(from: &str, source: &str) -> Vec<String> {
    let mut out = Vec::new();
    decode(dialect::named(from).unwrap(), &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let mut text = String::new();
            event.write(&mut text);
            out.push(text);
        }
    });
    out
}

/// Codes, severities and pointers of what is wrong with a source.
pub(crate) fn findings(dialect: &str, source: &str) -> Vec<(&'static str, String, String)> {
    let mut report = Report::new();
    validate(dialect::named(dialect).unwrap(), source.as_bytes(), &mut report);
    report
        .diagnostics()
        .iter()
        .map(|d| (d.code, d.severity.to_string(), d.pointer.clone()))
        .collect()
}

pub(crate) fn errors(dialect: &str, source: &str) -> Vec<(&'static str, String, String)> {
    findings(dialect, source).into_iter().filter(|(_, severity, _)| severity == "error").collect()
}

fn sse(chunks: &[&str]) -> String {
    let mut out: String = chunks.iter().map(|c| format!("data: {c}\n\n")).collect();
    out.push_str("data: [DONE]\n\n");
    out
}

#[test]
fn streams_written_anew_reduce_to_the_same_message() {
    let mut wrong = Vec::new();
    for (stream, _, version) in reduced() {
        // We close the text before the abort, its writer does not.
        if stream.to_str().unwrap().contains("b02_abort") {
            continue;
        }
        let source = fs::read_to_string(&stream).unwrap();
        let anew = convert_for("ai-sdk-stream", "ai-sdk-stream", version, &source);
        let before = convert_for("ai-sdk-stream", "ai-sdk-messages", version, &source);
        let after = convert_for("ai-sdk-stream", "ai-sdk-messages", version, &anew);
        let (one, two) = (Doc::parse(&before).unwrap(), Doc::parse(&after).unwrap());
        if !same_value(one.root(), two.root()) {
            wrong.push(format!(
                "{} for {version}\n  is     {after}\n  should {before}",
                stream.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn chunks_become_events() {
    let source = sse(&[
        r#"{"type":"start","messageId":"m1","messageMetadata":{"a":1}}"#,
        r#"{"type":"start-step"}"#,
        r#"{"type":"reasoning-start","id":"r"}"#,
        r#"{"type":"reasoning-delta","id":"r","delta":"hm"}"#,
        r#"{"type":"reasoning-end","id":"r","providerMetadata":{"anthropic":{"signature":"s="}}}"#,
        r#"{"type":"text-start","id":"t"}"#,
        r#"{"type":"text-delta","id":"t","delta":"\ud83d"}"#,
        r#"{"type":"text-end","id":"t"}"#,
        r#"{"type":"tool-input-start","toolCallId":"c","toolName":"add","dynamic":true}"#,
        r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{}"}"#,
        r#"{"type":"tool-input-available","toolCallId":"c","toolName":"add","input":{"x":949.0}}"#,
        r#"{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}"#,
        r#"{"type":"tool-approval-response","approvalId":"a","approved":false,"reason":"no"}"#,
        r#"{"type":"tool-output-denied","toolCallId":"c"}"#,
        r#"{"type":"data-weather","id":"w","data":{"t":1},"transient":true}"#,
        r#"{"type":"error","errorText":"boom"}"#,
        r#"{"type":"reset-step"}"#,
        r#"{"type":"finish-step"}"#,
        r#"{"type":"finish","finishReason":"content-filter"}"#,
    ]);
    let all = events("ai-sdk-stream", &source);
    let expected = [
        r#"{"kind":"task-created","taskId":"m1","initiator":"user","messageId":"m1","metadata":{"a":1}}"#,
        r#"{"kind":"step-started","taskId":"m1"}"#,
        r#"{"kind":"part-started","taskId":"m1","partId":"r","partType":"reasoning"}"#,
        r#"{"kind":"thought-stream","taskId":"m1","thoughtId":"r","thoughtType":"thinking","verbosity":"normal","content":"hm"}"#,
        r#"{"kind":"part-finished","taskId":"m1","partId":"r","partType":"reasoning","signature":"s=","providerName":"anthropic"}"#,
        r#"{"kind":"part-started","taskId":"m1","partId":"t","partType":"text"}"#,
        r#"{"kind":"content-delta","taskId":"m1","delta":"\ud83d","partId":"t"}"#,
        r#"{"kind":"part-finished","taskId":"m1","partId":"t","partType":"text"}"#,
        r#"{"kind":"tool-call-started","taskId":"m1","toolCallId":"c","toolName":"add","metadata":{"dynamic":true}}"#,
        r#"{"kind":"tool-call-delta","taskId":"m1","toolCallId":"c","delta":"{}"}"#,
        r#"{"kind":"tool-call","taskId":"m1","toolCallId":"c","toolName":"add","arguments":{"x":949.0}}"#,
        r#"{"kind":"input-required","taskId":"m1","inputId":"a","inputType":"confirmation","prompt":"Approve the call of add?","toolCallId":"c"}"#,
        r#"{"kind":"input-received","taskId":"m1","inputId":"a","providedBy":"user","value":{"approved":false,"reason":"no"}}"#,
        r#"{"kind":"tool-complete","taskId":"m1","toolCallId":"c","toolName":"add","success":false,"outcome":"denied"}"#,
        r#"{"kind":"system","taskId":"m1","name":"weather","data":{"t":1},"systemId":"w","metadata":{"transient":true}}"#,
        r#"{"kind":"error","taskId":"m1","message":"boom"}"#,
        r#"{"kind":"attempt-superseded","taskId":"m1"}"#,
        r#"{"kind":"step-finished","taskId":"m1"}"#,
        r#"{"kind":"task-complete","taskId":"m1","finishReason":"content_filter"}"#,
    ];
    assert_eq!(all[1..], expected.map(str::to_owned));
    assert!(all[0].starts_with(r#"{"kind":"thread-created","contextId":"#), "{}", all[0]);
}

#[test]
fn a_refused_input_is_told_apart_from_a_failed_tool() {
    let source = sse(&[
        r#"{"type":"start","messageId":"m"}"#,
        r#"{"type":"tool-input-error","toolCallId":"c","toolName":"add","input":"{x","errorText":"bad"}"#,
        r#"{"type":"tool-output-error","toolCallId":"c","errorText":"bad"}"#,
        r#"{"type":"tool-input-available","toolCallId":"d","toolName":"add","input":{}}"#,
        r#"{"type":"tool-output-error","toolCallId":"d","errorText":"boom"}"#,
        r#"{"type":"finish"}"#,
    ]);
    let all = events("ai-sdk-stream", &source);
    assert_eq!(
        all[2..6],
        [
            r#"{"kind":"tool-call","taskId":"m","toolCallId":"c","toolName":"add","arguments":"{x","metadata":{"invalid":true}}"#,
            r#"{"kind":"tool-complete","taskId":"m","toolCallId":"c","toolName":"add","success":false,"error":"bad","outcome":"validation_error"}"#,
            r#"{"kind":"tool-call","taskId":"m","toolCallId":"d","toolName":"add","arguments":{}}"#,
            r#"{"kind":"tool-complete","taskId":"m","toolCallId":"d","toolName":"add","success":false,"error":"boom","outcome":"failed"}"#,
        ]
        .map(str::to_owned)
    );
    let anew = convert_for("ai-sdk-stream", "ai-sdk-stream", "7", &source);
    assert!(anew.contains(r#"{"type":"tool-input-error","toolCallId":"c","toolName":"add","input":"{x","errorText":"bad"}"#), "{anew}");
    assert!(!anew.contains(r#""tool-output-error","toolCallId":"c""#), "{anew}");
}

#[test]
fn a_second_error_that_says_something_else_is_kept() {
    let source = sse(&[
        r#"{"type":"start","messageId":"m"}"#,
        r#"{"type":"tool-input-error","toolCallId":"c","toolName":"add","input":"{x","errorText":"bad"}"#,
        r#"{"type":"tool-output-error","toolCallId":"c","errorText":"worse"}"#,
    ]);
    let all = events("ai-sdk-stream", &source);
    assert_eq!(
        all.last().unwrap(),
        r#"{"kind":"tool-complete","taskId":"m","toolCallId":"c","toolName":"add","success":false,"error":"worse","outcome":"failed"}"#
    );
    let got = convert_for("ai-sdk-stream", "ai-sdk-messages", "6", &source);
    assert!(got.contains(r#""errorText":"worse""#), "{got}");
}

#[test]
fn every_recording_is_valid_and_recognised() {
    for recording in recordings::all() {
        let own = recording.dialect;
        let found = dialect::detect(&recording.text).map(|d| d.id.name());
        if own == "ai-sdk-stream" || own == "ai-sdk-messages" {
            assert_eq!(errors(own, &recording.text), [], "{}", recording.name);
            if recording.text.trim() != "[]" {
                assert_eq!(found, Some(own), "{}", recording.name);
            }
        } else {
            assert_ne!(found, Some("ai-sdk-stream"), "{}", recording.name);
            assert_ne!(found, Some("ai-sdk-messages"), "{}", recording.name);
        }
    }
}

#[test]
fn an_edited_event_shows_in_the_stream() {
    let stream = dialect::named("ai-sdk-stream").unwrap();
    let journal = dialect::named("journal").unwrap();
    let source = sse(&[
        r#"{"type":"start","messageId":"m"}"#,
        r#"{"type":"text-start","id":"t"}"#,
        r#"{"type":"text-delta","id":"t","delta":"teh word"}"#,
        r#"{"type":"text-end","id":"t"}"#,
        r#"{"type":"source-url","sourceId":"s","url":"https://old.example"}"#,
    ]);
    let carried = convert(stream, journal, &source);
    let edited = carried.replace("teh word", "the word").replace("old.example", "new.example");
    let back = convert(journal, stream, &edited);
    assert_eq!(back, source.replace("teh word", "the word").replace("old.example", "new.example"));
}

#[test]
fn other_dialects_become_streams_of_each_version() {
    let newest = [
        "reset-step",
        "reasoning-file",
        "\"custom\"",
        "steering-message\"",
        "tool-approval-response",
    ];
    for recording in recordings::all() {
        let from = dialect::named(recording.dialect);
        if from.is_none_or(|d| d.id.name() == "ai-sdk-stream") {
            continue;
        }
        for version in ["5", "6", "7"] {
            let stream = convert_for(recording.dialect, "ai-sdk-stream", version, &recording.text);
            if stream.is_empty() {
                continue;
            }
            let name = &recording.name;
            assert!(stream.starts_with("data: {\"type\":\"start\","), "{name}: {stream}");
            assert!(stream.ends_with("data: [DONE]\n\n"), "{name}: {stream}");
            assert_eq!(errors("ai-sdk-stream", &stream), [], "{name} for {version}: {stream}");
            if version != "7" {
                for ty in newest {
                    let wire = format!("{{\"type\":\"{}", ty.trim_matches('"'));
                    assert!(!stream.contains(&wire), "{name} for {version}: {ty}");
                }
            }
        }
    }
}

#[test]
fn hostile_streams_give_findings() {
    for (source, code, pointer) in [
        ("data: {\"type\":\"nonsense\"}\n\n", "unknown-value", "/0/type"),
        (
            "data: {\"type\":\"text-delta\",\"id\":\"x\",\"delta\":\"y\"}\n\n",
            "ai-sdk-part-not-open",
            "/0/id",
        ),
        ("data: {\"type\":\"error\"}\n\n", "missing-field", "/0"),
        ("data: {\"type\":\"text-start\",\"id\":7}\n\n", "wrong-type", "/0/id"),
        (
            "data: {\"type\":\"finish\",\"finishReason\":\"tired\"}\n\n",
            "unknown-value",
            "/0/finishReason",
        ),
        ("data: {\"id\":1}\n\n", "missing-field", "/0"),
        ("data: {\"type\":\n\n", "json-syntax", "/0"),
        ("data: {\"type\":\"start\"}", "sse-truncated", "/0"),
    ] {
        let found = errors("ai-sdk-stream", source);
        assert!(found.iter().any(|(c, _, p)| *c == code && p == pointer), "{source}: {found:?}");
        // Whatever is wrong with it, it survives.
        let stream = dialect::named("ai-sdk-stream").unwrap();
        let journal = dialect::named("journal").unwrap();
        assert_eq!(convert(journal, stream, &convert(stream, journal, source)), source);
    }
}

#[test]
fn a_stream_that_names_no_message_names_none_when_written_anew() {
    // It goes on with the message of the turn before, whatever that is called.
    let source =
        crate::recordings::fixture("pydantic/s13_tool_approval_flow/turn2.vercel_sdk6.sse");
    for version in ["5", "6", "7"] {
        let written = crate::agent_api::written("ai-sdk-stream", "ai-sdk-stream", version, &source);
        assert!(written.starts_with("data: {\"type\":\"start\"}\n"), "{written}");
    }
}
