//! Looopy's events: both forms read and written, and what other dialects become.

use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect::{DecodeOptions, EncodeOptions, Encoding, decode, detect, named};
use selvedge_protocol::journal::transcript::{ActionKind, Transcript};
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings::{self, Recording};

fn events(dialect: &str, source: &str) -> Vec<String> {
    let mut all = Vec::new();
    decode(named(dialect).unwrap(), &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let mut line = String::new();
            event.write(&mut line);
            all.push(line);
        }
    });
    all
}

fn write_for(from: &str, to: &str, target: &str, source: &str) -> String {
    let options =
        EncodeOptions { target: Some(target.parse().unwrap()), ..EncodeOptions::default() };
    let mut encoding = Encoding::new(named(to).unwrap(), &options);
    let mut out = Vec::new();
    decode(named(from).unwrap(), &DecodeOptions::default(), source, |batch| {
        encoding.batch(&batch, &mut out);
    });
    encoding.finish(&mut out);
    String::from_utf8(out).unwrap()
}

/// Errors and warnings of a source, as `code pointer`.
fn findings(dialect: &str, source: &str, severity: Severity) -> Vec<String> {
    let mut report = Report::new();
    validate(named(dialect).unwrap(), source.as_bytes(), &mut report);
    let found = report.diagnostics().iter().filter(|d| d.severity == severity);
    found.map(|d| format!("{} {}", d.code, d.pointer)).collect()
}

/// What was said and done, thoughts left out where a dialect has no place for them.
pub(crate) fn said(dialect: &str, source: &str, thoughts: bool) -> Vec<String> {
    let mut transcript = Transcript::new();
    decode(named(dialect).unwrap(), &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            transcript.apply(event, &mut Vec::new());
        }
    });
    let mut all = Vec::new();
    for action in transcript.actions() {
        let field = |name: &str| action.get(name).map(ToString::to_string).unwrap_or_default();
        all.push(match action.kind {
            ActionKind::Thinking if !thoughts => continue,
            ActionKind::System => continue,
            ActionKind::ToolCall => {
                format!("call {} {} {}", field("toolCallId"), field("toolName"), action.arguments())
            }
            ActionKind::ToolReturn => format!(
                "return {} {} {}{}",
                field("toolCallId"),
                field("toolName"),
                field("result"),
                field("error")
            ),
            kind => format!("{kind:?} {}", action.text()),
        });
    }
    // Where text is nothing, some protocols say nothing.
    all.retain(|line| !line.ends_with("Message "));
    all
}

fn looopy() -> Vec<Recording> {
    recordings::all().into_iter().filter(|r| r.dialect == "looopy").collect()
}

fn recording(name: &str) -> String {
    let name = format!("looopy/{name}");
    looopy().into_iter().find(|r| r.name == name).unwrap().text
}

fn document_examples() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all: Vec<_> = std::fs::read_dir(root.join("tests/fixtures/documents/looopy-events"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    all.sort();
    assert!(all.len() > 30);
    all
}

#[test]
fn both_forms_and_bare_events_say_the_same() {
    for name in [
        "01_text",
        "02_tools",
        "03_waiting_input",
        "04_waiting_auth",
        "05_artifacts",
        "06_subagents",
        "07_thoughts",
        "08_internal",
        "09_two_terminals_out_of_order",
    ] {
        let document = events("looopy", &recording(&format!("{name}.document.sse")));
        assert_eq!(document, events("looopy", &recording(&format!("{name}.ndjson"))), "{name}");
        assert_eq!(document, events("looopy", &recording(&format!("{name}.code.sse"))), "{name}");
    }
}

#[test]
fn an_event_on_the_wire_is_the_journals_event() {
    let code = "id: ctx-1-1\nevent: task-created\ndata: {\"taskId\":\"t\",\"initiator\":\"user\",\"metadata\":{\"agentId\":\"a\",\"model\":\"m\"},\"timestamp\":\"2026-11-15T10:00:00.125Z\"}\n\n\
        id: ctx-1-2\nevent: internal:llm-call\ndata: {\"taskId\":\"t\",\"iteration\":1,\"odd\":1.0}\n\n\
        id: ctx-1-3\nevent: content-delta\ndata: {\"taskId\":\"t\",\"delta\":\"\\ud83d\",\"index\":0}\n\n\
        id: ctx-1-4\nevent: dance\ndata: {\"taskId\":\"t\"}\n\n";
    assert_eq!(
        events("looopy", code),
        [
            r#"{"kind":"thread-created","contextId":"ctx-1","timestamp":"2026-11-15T10:00:00.125Z"}"#,
            r#"{"kind":"participant-joined","participantId":"a","role":"agent","model":"m","timestamp":"2026-11-15T10:00:00.125Z"}"#,
            r#"{"kind":"task-created","taskId":"t","initiator":"user","metadata":{"agentId":"a","model":"m"},"timestamp":"2026-11-15T10:00:00.125Z"}"#,
            r#"{"kind":"internal:llm-call","taskId":"t","iteration":1,"odd":1.0}"#,
            r#"{"kind":"content-delta","taskId":"t","delta":"\ud83d","index":0,"agentId":"a"}"#,
        ]
    );
}

#[test]
fn each_form_is_written_from_the_other_byte_for_byte() {
    for recording in looopy().iter().filter(|r| r.name.ends_with(".document.sse")) {
        let code = recording.name.replace(".document.", ".code.");
        let code = looopy().into_iter().find(|r| r.name == code).unwrap().text;
        let quiet = code.replace(": heartbeat\n\n", "");
        assert_eq!(write_for("looopy", "looopy", "looopy@code", &recording.text), quiet);
        assert_eq!(write_for("looopy", "looopy", "looopy@document", &code), recording.text);
    }
}

#[test]
fn recordings_and_document_examples_validate_and_are_detected() {
    let recorded = looopy().into_iter().map(|r| (r.name, r.text));
    for (name, text) in recorded.chain(document_examples()) {
        if name.ends_with(".txt") {
            continue;
        }
        assert_eq!(findings("looopy", &text, Severity::Error), [""; 0], "{name}");
        let detected = detect(&text).map(|d| d.id.name());
        assert_eq!(detected, Some("looopy"), "{name}");
    }
    for other in recordings::all().iter().filter(|r| r.dialect != "looopy") {
        let score = (named("looopy").unwrap().detect)(&other.text);
        assert_eq!(score, 0, "{}", other.name);
    }
}

#[test]
fn document_examples_survive_the_journal() {
    let (own, journal) = (named("looopy").unwrap(), named("journal").unwrap());
    for (name, source) in document_examples() {
        let carried = convert(own, journal, &source);
        assert_eq!(convert(journal, own, &carried), source, "{name}");
    }
}

#[test]
fn an_edited_delta_shows_in_the_re_export() {
    let source = recording("01_text.code.sse");
    let (own, journal) = (named("looopy").unwrap(), named("journal").unwrap());
    let carried = convert(own, journal, &source);
    assert_eq!(carried.matches("“that” \"").count(), 1);
    let edited = carried.replacen("“that” \"", "“this” \"", 1);
    let back = convert(journal, own, &edited);
    assert_eq!(back, source.replacen("“that” \"", "“this” \"", 1));
}

#[test]
fn other_dialects_become_valid_events_that_say_the_same() {
    let mut tried = 0;
    for recording in recordings::all() {
        if recording.dialect != "pydantic-ai" || recording.name.contains("reloaded") {
            continue;
        }
        tried += 1;
        for target in ["looopy@document", "looopy@code"] {
            let written = write_for(recording.dialect, "looopy", target, &recording.text);
            if written.is_empty() {
                continue;
            }
            let errors = findings("looopy", &written, Severity::Error);
            assert_eq!(errors, [""; 0], "{} {written}", recording.name);
            let warnings = findings("looopy", &written, Severity::Warning);
            assert_eq!(warnings, [""; 0], "{} {written}", recording.name);
            assert_eq!(
                said("looopy", &written, true),
                said(recording.dialect, &recording.text, true),
                "{} {written}",
                recording.name
            );
        }
    }
    assert!(tried > 20);
}

fn native(lines: &str) -> String {
    let journal: String = lines
        .lines()
        .filter(|l| !l.trim().is_empty())
        .enumerate()
        .map(|(i, event)| format!("{{\"seq\":{},\"event\":{}}}\n", i + 1, event.trim()))
        .collect();
    convert(named("journal").unwrap(), named("looopy").unwrap(), &journal)
}

#[test]
fn what_the_document_demands_is_filled_in() {
    let written = native(
        r#"
        {"kind":"thread-created","contextId":"c"}
        {"kind":"message","role":"user","content":"hi","messageId":"m1"}
        {"kind":"part-started","taskId":"t","agentId":"a","partId":"p","partType":"text","timestamp":"2026-01-01T00:00:01Z"}
        {"kind":"content-delta","taskId":"t","agentId":"a","partId":"p","delta":"He"}
        {"kind":"content-delta","taskId":"t","agentId":"a","partId":"p","delta":"y"}
        {"kind":"part-finished","taskId":"t","partId":"p","partType":"text"}
        {"kind":"tool-call","taskId":"t","toolCallId":"k","toolName":"f","arguments":"oops"}
        {"kind":"tool-complete","taskId":"t","toolCallId":"k","result":1.0}
        {"kind":"thought-stream","taskId":"t","content":"hm"}
        "#,
    );
    let data: Vec<&str> = written.lines().filter_map(|l| l.strip_prefix("data: ")).collect();
    assert_eq!(
        data,
        [
            r#"{"kind":"thread-created","contextId":"c","timestamp":"1970-01-01T00:00:00.000Z"}"#,
            r#"{"kind":"message","contextId":"c","message":{"role":"user","content":"hi"},"messageId":"m1","timestamp":"1970-01-01T00:00:00.000Z"}"#,
            r#"{"kind":"task-created","contextId":"c","taskId":"t","initiator":"user","metadata":{"agentId":"a"},"timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"task-status","contextId":"c","taskId":"t","status":"working","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"part-started","contextId":"c","taskId":"t","partId":"p","partType":"text","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"content-delta","contextId":"c","taskId":"t","partId":"p","delta":"He","index":0,"timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"content-delta","contextId":"c","taskId":"t","partId":"p","delta":"y","index":1,"timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"content-complete","contextId":"c","taskId":"t","partId":"p","content":"Hey","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"tool-call","contextId":"c","taskId":"t","toolCallId":"k","toolName":"f","arguments":{"_raw":"oops"},"timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"tool-start","contextId":"c","taskId":"t","toolCallId":"k","toolName":"f","arguments":{"_raw":"oops"},"timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"tool-complete","contextId":"c","taskId":"t","toolCallId":"k","result":1.0,"toolName":"f","success":true,"timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"thought-stream","contextId":"c","taskId":"t","content":"hm","thoughtId":"thought-1","index":0,"thoughtType":"reasoning","verbosity":"normal","timestamp":"2026-01-01T00:00:01Z"}"#,
            r#"{"kind":"task-complete","contextId":"c","taskId":"t","content":"Hey","timestamp":"2026-01-01T00:00:01Z"}"#,
        ]
    );
    assert_eq!(findings("looopy", &written, Severity::Error), [""; 0]);
}

#[test]
fn whole_messages_come_back_whole() {
    let events_in = [
        r#"{"kind":"message","role":"agent","author":"a","agentId":"a","content":"done","contentType":"code","intent":"finalize","task":"x","confidence":{"score":0.9},"trace":{"id":"m2"},"taskId":"run-1","timestamp":"2026-01-01T00:00:01Z"}"#,
        r#"{"kind":"message","role":"agent","author":"a","content":[{"type":"data","data":{"n":1.0}}],"taskId":"run-1","timestamp":"2026-01-01T00:00:02Z"}"#,
        r#"{"kind":"system","name":"x","data":[1],"timestamp":"2026-01-01T00:00:03Z"}"#,
    ];
    let mut lines = String::from("{\"kind\":\"thread-created\",\"contextId\":\"c\"}\n");
    lines.push_str(&events_in.join("\n"));
    let written = native(&lines);
    assert_eq!(findings("looopy", &written, Severity::Error), [""; 0], "{written}");
    let back = events("looopy", &written);
    for event in events_in {
        let fields = |text: &str| {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            let mut fields = value.as_object().unwrap().clone();
            // The task says who works on it.
            fields.remove("agentId");
            fields
        };
        assert!(back.iter().any(|line| fields(line) == fields(event)), "{event}\n{back:#?}");
    }
}

#[test]
fn broken_events_are_told_apart() {
    for (event, expected) in [
        (r#"{"contextId":"c","taskId":"t"}"#, "missing-field /0"),
        (
            r#"{"kind":"task-created","contextId":"c","taskId":"t","timestamp":"2026-01-01T00:00:00Z"}"#,
            "missing-field /0",
        ),
        (
            r#"{"kind":"task-status","contextId":"c","taskId":"t","status":"dancing","timestamp":"2026-01-01T00:00:00Z"}"#,
            "unknown-value /0/status",
        ),
        (
            r#"{"kind":"content-delta","contextId":"c","taskId":"t","delta":"x","timestamp":"2026-01-01T00:00:00Z"}"#,
            "missing-field /0",
        ),
        (
            r#"{"kind":"content-delta","contextId":"c","taskId":"t","delta":"x","index":-1,"timestamp":"2026-01-01T00:00:00Z"}"#,
            "looopy-index /0/index",
        ),
        (
            r#"{"kind":"tool-progress","contextId":"c","taskId":"t","toolCallId":"k","progress":1.5,"timestamp":"2026-01-01T00:00:00Z"}"#,
            "looopy-range /0/progress",
        ),
        (
            r#"{"kind":"thought-stream","contextId":"c","taskId":"t","thoughtId":"h","thoughtType":"planning","verbosity":"brief","content":"x","index":0,"timestamp":"2026-01-01T00:00:00Z","metadata":{"confidence":2}}"#,
            "looopy-range /0/metadata/confidence",
        ),
        (
            r#"{"kind":"tool-start","contextId":"c","taskId":"t","toolCallId":"k","toolName":"f","arguments":"{}","timestamp":"2026-01-01T00:00:00Z"}"#,
            "wrong-type /0/arguments",
        ),
        (
            r#"{"kind":"content-complete","taskId":"t","content":"x","timestamp":"2026-01-01T00:00:00Z"}"#,
            "missing-field /0",
        ),
        (r#"{"kind":7,"contextId":"c"}"#, "wrong-type /0/kind"),
        ("data: [1]\n\n", "wrong-type /0"),
        ("data: {\"kind\"", "sse-truncated /0"),
    ] {
        let found = findings("looopy", event, Severity::Error);
        assert_eq!(found.first().map(String::as_str), Some(expected), "{event}");
    }
    let twice =
        findings("looopy", &recording("09_two_terminals_out_of_order.code.sse"), Severity::Warning);
    for code in
        ["looopy-second-end /7", "looopy-unknown-task /10/taskId", "looopy-chunk-order /3/index"]
    {
        assert!(
            twice.iter().any(|w| w.starts_with(code.split(' ').next().unwrap())),
            "{code} {twice:?}"
        );
    }
    let depth = format!("data: {}\n\n", "[".repeat(100_000));
    assert_eq!(findings("looopy", &depth, Severity::Error), ["json-syntax /0"]);
}

/// Events with values swapped for others that do not belong there.
fn odd_events(source: &str) -> Vec<String> {
    const ODD: &[&str] = &[
        "null",
        "7",
        "-0.0",
        "\"\\ud83d\"",
        "[]",
        "{}",
        "[[1,{\"a\":null}]]",
        "{\"id\":{}}",
        "true",
    ];
    let value: serde_json::Value = serde_json::from_str(source).unwrap();
    let mut all = Vec::new();
    for (key, _) in value.as_object().unwrap() {
        for odd in ODD {
            let mut members = Vec::new();
            for (other, value) in value.as_object().unwrap() {
                let text = if other == key { (*odd).to_owned() } else { value.to_string() };
                members.push(format!("\"{other}\": {text}"));
            }
            // Once swapped, once said twice.
            all.push(format!("{{{}}}", members.join(", ")));
            members.push(format!("\"{key}\":{}", value[key]));
            all.push(format!("{{{}}}", members.join(",")));
        }
    }
    all
}

#[test]
fn odd_values_survive_and_never_panic() {
    let examples = [
        r#"{"kind":"tool-start","contextId":"c","taskId":"t","toolCallId":"k","toolName":"f","arguments":{"_raw":1},"x":1,"timestamp":"2026"}"#,
        r#"{"kind":"task-created","contextId":"c","taskId":"t","initiator":"user","metadata":{"agentId":"a"},"agentId":"b"}"#,
        r#"{"kind":"content-complete","contextId":"c","taskId":"t","role":"agent","content":"x","parts":[1]}"#,
        r#"{"kind":"message","contextId":"c","message":{"role":"assistant","content":"x","role":"user"},"content":"y"}"#,
        r#"{"kind":"thread-created","contextId":"c","title":"x"}"#,
        r#"{"protocol":"multiagent-1.0","role":"tool","agent":{"id":"a","name":"n","model":"m"},"timestamp":"t","intent":"tool.call","task":"x","inputs":{"resources":[{"type":"tool","id":"f"}]},"content":{"type":"json","data":{"call_id":"k"}},"outputs":{"next_actions":[{"intent":"tool.call","args":{"a":1}}]},"confidence":{"score":1},"trace":{"id":"m","tags":["thread:"],"parents":[]}}"#,
        r#"{"protocol":"multiagent-1.0","role":"agent","agent":{"id":"a"},"intent":"tool.call","task":"x","inputs":{"resources":[{"type":"tool","id":"f"}]},"content":{"type":"json","text":"s","data":{"call_id":"k"}},"outputs":{"next_actions":[{"args":{"_raw":1}}]},"trace":"m"}"#,
    ];
    for example in examples {
        let name = if example.contains("multiagent") { "envelope" } else { "looopy" };
        let (own, journal) = (named(name).unwrap(), named("journal").unwrap());
        for odd in odd_events(example) {
            let source = format!("{odd}\n{odd}\n{example}\n{odd}\n");
            let carried = convert(own, journal, &source);
            assert_eq!(convert(journal, own, &carried), source, "{carried}");
            for to in ["looopy", "envelope"] {
                let bare: String = (1..)
                    .zip(events(name, &source))
                    .map(|(i, event)| format!("{{\"seq\":{i},\"event\":{event}}}\n"))
                    .collect();
                // With frames and without.
                for journaled in [&carried, &bare] {
                    let written = convert(journal, named(to).unwrap(), journaled);
                    let mut report = Report::new();
                    validate(named(to).unwrap(), written.as_bytes(), &mut report);
                    let broken = report.diagnostics().iter().any(|d| d.code == "json-syntax");
                    assert!(!broken, "{source}{written}");
                }
            }
        }
    }
}
