//! `pydantic-ai`: what only this dialect promises.

use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect::{self, DecodeOptions, EncodeOptions, Encoding, decode};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings;

fn events(source: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let own = dialect::named("pydantic-ai").unwrap();
    decode(own, &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let mut line = String::new();
            event.write(&mut line);
            lines.push(line);
        }
    });
    lines
}

/// Writes a source anew for a version of the package.
fn anew(from: &str, source: &str, version: &str) -> String {
    let options = EncodeOptions {
        target: Some(format!("pydantic-ai@{version}").parse().unwrap()),
        ..EncodeOptions::default()
    };
    let mut encoding = Encoding::new(dialect::named("pydantic-ai").unwrap(), &options);
    let mut out = Vec::new();
    let from = dialect::named(from).unwrap();
    decode(from, &DecodeOptions::default(), source, |batch| encoding.batch(&batch, &mut out));
    encoding.finish(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn messages_without_parts_are_written_anew() {
    let source = recordings::fixture("pydantic_kitchen/k02_minimal.messages.json");
    for version in ["1", "2"] {
        let written = anew("pydantic-ai", &source, version);
        let kinds: Vec<_> =
            written.match_indices("\"kind\":").map(|(at, _)| &written[at..]).collect();
        assert_eq!(kinds.len(), 2, "{written}");
        assert!(kinds[0].starts_with("\"kind\":\"request\""), "{written}");
        assert!(kinds[1].starts_with("\"kind\":\"response\""), "{written}");
        assert!(written.contains("\"timestamp\":\"2026-03-14T09:26:53Z\""), "{written}");
        assert_eq!(findings(written.as_bytes()), [], "{written}");
    }
    // Between others, with what they say besides parts.
    let empty = "{\"parts\":[],\"timestamp\":\"2026-03-14T09:26:55Z\",\"instructions\":\"be kind\",\
                 \"kind\":\"request\",\"run_id\":\"r\"}";
    let said = "{\"parts\":[{\"content\":\"hi\",\"part_kind\":\"user-prompt\"}],\"kind\":\"request\",\
                \"run_id\":\"r\"}";
    let written = anew("pydantic-ai", &format!("[{said},{empty},{said},7]"), "2");
    assert_eq!(written.matches("\"kind\":\"request\"").count(), 3, "{written}");
    assert!(
        written.contains(
            "{\"parts\":[],\"timestamp\":\"2026-03-14T09:26:55Z\",\"instructions\":\"be kind\",\
             \"kind\":\"request\",\"run_id\":\"r\""
        ),
        "{written}"
    );
}

fn findings(source: &[u8]) -> Vec<(Severity, &'static str, String)> {
    let mut report = Report::new();
    validate(dialect::named("pydantic-ai").unwrap(), source, &mut report);
    let all = report.diagnostics().iter();
    all.map(|d| (d.severity, d.code, d.pointer.clone())).collect()
}

const SMALL: &str = r#"[{"parts":[{"content":"Hi","timestamp":"2026-01-01T00:00:00Z","part_kind":"user-prompt"},{"speaker":"user","transcript":"spoken","audio":null,"part_kind":"speech"}],"timestamp":null,"instructions":"Be kind.","kind":"request","run_id":"r1","conversation_id":"t1","metadata":{"__pydantic_ai__":{"ui_message_id":"u1"}}},{"parts":[{"content":"hm","id":null,"signature":"s","provider_name":"p","part_kind":"thinking"},{"content":"Hello","id":null,"citations":[{"sources":[{"url":"https://e.com","title":"E","excerpts":[],"kind":"web"}],"anchor":null}],"part_kind":"text"},{"tool_name":"f","args":"{\"a\": 1}","tool_call_id":"c1","part_kind":"tool-call"},{"settings":{},"part_kind":"from-the-future"}],"usage":{"input_tokens":3,"output_tokens":2},"model_name":"m","timestamp":"2026-01-01T00:00:01Z","kind":"response","finish_reason":"tool_call","run_id":"r1","conversation_id":"t1"},{"parts":[{"tool_name":"f","content":[1.0],"tool_call_id":"c1","timestamp":"2026-01-01T00:00:02Z","outcome":"retried","retry":{"cause":"validation_error","attempt":1,"max_retries":2},"part_kind":"tool-return","content_file_digests":[]}],"timestamp":null,"instructions":"Be kind.","kind":"request","run_id":"r1","conversation_id":"t1"}]"#;

#[test]
fn messages_become_events() {
    assert_eq!(
        events(SMALL),
        [
            r#"{"kind":"thread-created","contextId":"t1"}"#,
            r#"{"kind":"task-created","taskId":"r1","initiator":"user"}"#,
            r#"{"kind":"message","taskId":"r1","role":"system","content":"Be kind.","metadata":{"instructions":true}}"#,
            r#"{"kind":"message","taskId":"r1","role":"user","content":"Hi","messageId":"u1","timestamp":"2026-01-01T00:00:00Z"}"#,
            r#"{"kind":"message","taskId":"r1","role":"user","content":"spoken"}"#,
            r#"{"kind":"participant-joined","participantId":"agent","role":"agent","model":"m","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"step-started","taskId":"r1","agentId":"agent","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"thought-stream","taskId":"r1","agentId":"agent","thoughtId":"pydantic-ai:thought:1","thoughtType":"thinking","verbosity":"normal","content":"hm","signature":"s","providerName":"p","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"content-complete","taskId":"r1","agentId":"agent","content":"Hello","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"source","taskId":"r1","agentId":"agent","url":"https://e.com","title":"E","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"tool-call","taskId":"r1","agentId":"agent","toolCallId":"c1","toolName":"f","arguments":{"a": 1},"timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"step-finished","taskId":"r1","agentId":"agent","finishReason":"tool_calls","usage":{"input_tokens":3,"output_tokens":2},"model":"m","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"tool-complete","taskId":"r1","toolCallId":"c1","toolName":"f","success":false,"outcome":"validation_error","result":[1.0],"timestamp":"2026-01-01T00:00:02Z"}"#,
        ]
    );
}

#[test]
fn an_edit_in_the_journal_shows_and_everything_else_stays() {
    let own = dialect::named("pydantic-ai").unwrap();
    let journal = dialect::named("journal").unwrap();
    let carried = convert(own, journal, SMALL);
    assert_eq!(convert(journal, own, &carried), SMALL);
    let edited = carried
        .replace("\"content\":\"Hello\"", "\"content\":\"Good day\"")
        .replace("\"arguments\":{\"a\": 1}", "\"arguments\":{\"a\": \"two\"}")
        .replace("\"content\":\"Be kind.\"", "\"content\":\"Be short.\"");
    assert_eq!(
        convert(journal, own, &edited),
        SMALL
            .replace("\"Hello\"", "\"Good day\"")
            .replace("{\\\"a\\\": 1}", "{\\\"a\\\": \\\"two\\\"}")
            .replacen("Be kind.", "Be short.", 1)
    );
}

#[test]
fn a_history_is_written_anew_for_both_versions() {
    assert_eq!(
        anew("pydantic-ai", SMALL, "2"),
        r#"[{"parts":[{"content":"Hi","timestamp":"2026-01-01T00:00:00Z","part_kind":"user-prompt"},{"content":"spoken","timestamp":"1970-01-01T00:00:00Z","part_kind":"user-prompt"}],"timestamp":"2026-01-01T00:00:00Z","instructions":"Be kind.","kind":"request","run_id":"r1","conversation_id":"t1","metadata":{"__pydantic_ai__":{"ui_message_id":"u1"}},"state":"complete"},{"parts":[{"content":"hm","id":null,"signature":"s","provider_name":"p","provider_details":null,"part_kind":"thinking"},{"content":"Hello","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"},{"tool_name":"f","args":{"a":1},"tool_call_id":"c1","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":3,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":2,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"m","model_id":null,"timestamp":"2026-01-01T00:00:01Z","kind":"response","provider_name":null,"provider_url":null,"canonical_system":null,"provider_details":null,"provider_response_id":null,"finish_reason":"tool_call","run_id":"r1","conversation_id":"t1","metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"},{"parts":[{"tool_name":"f","content":[1.0],"tool_call_id":"c1","tool_kind":null,"metadata":null,"timestamp":"2026-01-01T00:00:02Z","outcome":"retried","retry":{"cause":"validation_error","attempt":null,"max_retries":null},"part_kind":"tool-return","content_file_digests":[]}],"timestamp":"2026-01-01T00:00:02Z","instructions":"Be kind.","kind":"request","run_id":"r1","conversation_id":"t1","metadata":null,"state":"complete"}]"#
    );
    assert_eq!(
        anew("pydantic-ai", SMALL, "1"),
        r#"[{"parts":[{"content":"Hi","timestamp":"2026-01-01T00:00:00Z","part_kind":"user-prompt"},{"content":"spoken","timestamp":"1970-01-01T00:00:00Z","part_kind":"user-prompt"}],"timestamp":"2026-01-01T00:00:00Z","instructions":"Be kind.","kind":"request","run_id":"r1","conversation_id":"t1","metadata":{"__pydantic_ai__":{"ui_message_id":"u1"}}},{"parts":[{"content":"hm","id":null,"signature":"s","provider_name":"p","provider_details":null,"part_kind":"thinking"},{"content":"Hello","id":null,"provider_name":null,"provider_details":null,"part_kind":"text"},{"tool_name":"f","args":{"a":1},"tool_call_id":"c1","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":3,"cache_write_tokens":0,"cache_read_tokens":0,"output_tokens":2,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"details":{}},"model_name":"m","timestamp":"2026-01-01T00:00:01Z","kind":"response","provider_name":null,"provider_url":null,"provider_details":null,"provider_response_id":null,"finish_reason":"tool_call","run_id":"r1","conversation_id":"t1","metadata":null,"state":"complete"},{"parts":[{"content":"[1.0]","tool_name":"f","tool_call_id":"c1","timestamp":"2026-01-01T00:00:02Z","part_kind":"retry-prompt"}],"timestamp":"2026-01-01T00:00:02Z","instructions":"Be kind.","kind":"request","run_id":"r1","conversation_id":"t1","metadata":null}]"#
    );
}

/// What was said, asked of tools and returned.
fn gist(from: &str, source: &str) -> Vec<String> {
    let mut out = Vec::new();
    decode(dialect::named(from).unwrap(), &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let fields: &[&str] = match event.kind() {
                Kind::ContentComplete | Kind::ThoughtStream => &["content"],
                Kind::ToolCall => &["toolCallId", "toolName"],
                Kind::ToolComplete => &["toolCallId", "toolName"],
                _ => continue,
            };
            for field in fields {
                out.push(format!("{} {:?}", event.name(), event.str(field)));
            }
        }
    });
    out
}

#[test]
fn every_recording_is_valid_and_keeps_its_gist_when_written_anew() {
    let mut tried = 0;
    for recording in recordings::all().iter().filter(|r| r.dialect == "pydantic-ai") {
        tried += 1;
        let errors: Vec<_> = findings(recording.text.as_bytes())
            .into_iter()
            .filter(|(severity, ..)| *severity == Severity::Error)
            .collect();
        assert_eq!(errors, [], "{}", recording.name);
        let score = (dialect::named("pydantic-ai").unwrap().detect)(&recording.text);
        assert!(score > 0, "{}", recording.name);
        for version in ["2", "1"] {
            let written = anew("pydantic-ai", &recording.text, version);
            assert_eq!(findings(written.as_bytes()).iter().find(|f| f.0 == Severity::Error), None);
            assert_eq!(
                gist("pydantic-ai", &written),
                gist("pydantic-ai", &recording.text),
                "{} for {version}",
                recording.name
            );
        }
    }
    assert!(tried > 80);
}

#[test]
fn nobody_elses_recordings_are_taken_for_ours() {
    let own = dialect::named("pydantic-ai").unwrap();
    for recording in recordings::all().iter().filter(|r| r.dialect != "pydantic-ai") {
        let empty = recording.text.trim() == "[]";
        assert_eq!((own.detect)(&recording.text), u8::from(empty), "{}", recording.name);
    }
}

#[test]
fn other_dialects_give_messages_that_are_valid() {
    for recording in recordings::all() {
        if recording.dialect == "pydantic-ai" || dialect::named(recording.dialect).is_none() {
            continue;
        }
        for version in ["2", "1"] {
            let written = anew(recording.dialect, &recording.text, version);
            let errors: Vec<_> = findings(written.as_bytes())
                .into_iter()
                .filter(|(severity, ..)| *severity == Severity::Error)
                .collect();
            assert_eq!(errors, [], "{}", recording.name);
        }
    }
}

#[test]
fn faults_are_found_where_they_are() {
    use Severity::{Error, Warning};
    let at = |pointer: &str| pointer.to_owned();
    for (source, expected) in [
        ("[1]", vec![(Error, "wrong-type", at("/0"))]),
        ("[{\"parts\":[]}]", vec![(Error, "missing-field", at("/0"))]),
        ("[{\"kind\":\"reply\"}]", vec![(Error, "unknown-value", at("/0/kind"))]),
        ("[{\"kind\":\"request\"}]", vec![(Error, "missing-field", at("/0"))]),
        (
            "[{\"kind\":\"request\",\"parts\":[{\"part_kind\":\"user-prompt\",\"content\":\"x\",\"timestamp\":\"soon\"}]}]",
            vec![(Error, "pydantic-ai-time", at("/0/parts/0/timestamp"))],
        ),
        (
            "[{\"kind\":\"request\",\"parts\":[{\"part_kind\":\"tool-return\",\"tool_name\":\"t\",\"content\":null,\"tool_call_id\":\"c\",\"outcome\":\"odd\"}]}]",
            vec![
                (Error, "unknown-value", at("/0/parts/0/outcome")),
                (Warning, "pydantic-ai-return-without-call", at("/0/parts/0/tool_call_id")),
            ],
        ),
        (
            "[{\"kind\":\"response\",\"parts\":[{\"part_kind\":\"dance\"},{\"part_kind\":\"tool-call\",\"tool_name\":null,\"args\":[]}],\"usage\":{\"details\":{\"x\":1.5}}}]",
            vec![
                (Error, "wrong-type", at("/0/usage/details/x")),
                (Warning, "pydantic-ai-unknown-kind", at("/0/parts/0/part_kind")),
                (Error, "wrong-type", at("/0/parts/1/tool_name")),
                (Error, "wrong-type", at("/0/parts/1/args")),
            ],
        ),
        (
            "[{\"kind\":\"request\",\"parts\":[{\"part_kind\":\"user-prompt\",\"content\":[{\"kind\":\"binary\",\"data\":\"!\",\"media_type\":\"a/b\"}]}]}]",
            vec![(Error, "pydantic-ai-base64", at("/0/parts/0/content/0/data"))],
        ),
        (
            "[{\"kind\":\"request\",\"parts\":[",
            vec![(Error, "json-syntax", at("")), (Error, "json-syntax", at("/0"))],
        ),
        ("", vec![(Error, "empty", at(""))]),
    ] {
        assert_eq!(findings(source.as_bytes()), expected, "{source}");
    }
    let bomb = format!("[{}", "[".repeat(1_000_000));
    assert!(!findings(bomb.as_bytes()).is_empty());
    assert_eq!(findings(b"[\"\xff\"]"), [(Error, "utf8", at(""))]);
}
