//! `agent-api`: what only this dialect promises.

use selvedge_protocol::canonical::canonical;
use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect::{
    self, DecodeOptions, Dialect, EncodeOptions, Encoding, Target, decode,
};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::journal::transcript::{ActionKind, Transcript};
use selvedge_protocol::json::{Doc, Raw};
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings::{self, fixture};

fn named(name: &str) -> &'static Dialect {
    dialect::named(name).unwrap()
}

/// The events of a source, one a line.
pub(crate) fn events(name: &str, source: &str) -> Vec<String> {
    let mut all = Vec::new();
    decode(named(name), &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let mut line = String::new();
            event.write(&mut line);
            all.push(line);
        }
    });
    all
}

/// What a source says, as every dialect can say it: text, calls and results.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Gist {
    text: String,
    calls: Vec<String>,
    returns: Vec<String>,
}

/// The gist of a source.
pub(crate) fn gist(name: &str, source: &str) -> Gist {
    let mut transcript = Transcript::new();
    decode(named(name), &DecodeOptions::default(), source, |batch| {
        for event in batch.events.iter().filter(|e| {
            // A result that is not final may be told in other words.
            e.kind() != Kind::ToolComplete || e.get("preliminary").is_none()
        }) {
            transcript.apply(event, &mut Vec::new());
        }
    });
    let mut gist = Gist::default();
    // Numbers and keys may be spelled and ordered otherwise.
    let told = |value: &Raw<'_>| {
        let text = value.str().map_or_else(|| value.to_string(), |text| text.into_owned());
        if text.trim().starts_with(['{', '[']) { canonical(&text).unwrap_or(text) } else { text }
    };
    for action in transcript.actions() {
        let id = action.get("toolCallId").map(ToString::to_string).unwrap_or_default();
        match action.kind {
            ActionKind::AssistantMessage => gist.text.push_str(&action.text()),
            ActionKind::ToolCall => {
                let name = action.get("toolName").map(ToString::to_string).unwrap_or_default();
                // A model that wrote nothing wrote no arguments.
                let arguments = Some(told(&action.arguments())).filter(|a| !a.is_empty());
                gist.calls.push(format!("{id} {name} {}", arguments.as_deref().unwrap_or("{}")));
            }
            ActionKind::ToolReturn => {
                let value = action.get("result").or(action.get("error"));
                gist.returns.push(format!("{id} {}", value.map(told).unwrap_or_default()));
            }
            _ => {}
        }
    }
    gist
}

/// Writes a source in a dialect, for a version of its peer.
pub(crate) fn written(from: &str, to: &str, version: &str, source: &str) -> String {
    let target = Target { package: to.to_owned(), version: version.to_owned() };
    let options = EncodeOptions { target: Some(target), ..EncodeOptions::default() };
    let mut encoding = Encoding::new(named(to), &options);
    let mut out = Vec::new();
    decode(named(from), &DecodeOptions::default(), source, |batch| {
        encoding.batch(&batch, &mut out);
    });
    encoding.finish(&mut out);
    String::from_utf8(out).unwrap()
}

/// The findings on a source.
pub(crate) fn findings(name: &str, source: &str) -> Vec<(Severity, &'static str, String)> {
    let mut report = Report::new();
    validate(named(name), source.as_bytes(), &mut report);
    report.diagnostics().iter().map(|d| (d.severity, d.code, d.pointer.clone())).collect()
}

fn errors(name: &str, source: &str) -> Vec<(Severity, &'static str, String)> {
    findings(name, source).into_iter().filter(|f| f.0 == Severity::Error).collect()
}

/// Every recording, told in `to` and read back; `but` those says the same, just otherwise.
pub(crate) fn retold(to: &str, version: &str, but: &[&str]) {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for recording in recordings::all() {
        let out = written(recording.dialect, to, version, &recording.text);
        if out.is_empty() {
            continue;
        }
        tried += 1;
        let found = errors(to, &out);
        if !found.is_empty() {
            wrong.push(format!("{}: {found:?}", recording.name));
        }
        let (before, after) = (gist(recording.dialect, &recording.text), gist(to, &out));
        if before != after && !but.iter().any(|name| recording.name.contains(name)) {
            wrong.push(format!("{}:\n  was {before:?}\n  is  {after:?}", recording.name));
        }
    }
    assert!(tried > 100, "only {tried} recordings");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_stream_is_read_with_deltas_bound_to_their_message() {
    let run = "\"taskId\":\"response_fixed\"";
    let id = "msg_d9607155-d5f0-4c1b-b8e0-5c096dc30942";
    let part = format!("\"partId\":\"{id}:0\"");
    let delta = |text: &str| {
        format!(
            "{{\"kind\":\"content-delta\",{run},\"delta\":\"{text}\",{part},\"messageId\":\"{id}\"}}"
        )
    };
    let at = "\"timestamp\":\"2026-11-15T19:29:12Z\"";
    assert_eq!(
        events("agent-api", &fixture("agent-api/process.txt")),
        [
            format!("{{\"kind\":\"thread-created\",\"contextId\":\"s1\",{at}}}"),
            "{\"kind\":\"participant-joined\",\"participantId\":\"agent\",\"role\":\"agent\"}"
                .into(),
            format!(
                "{{\"kind\":\"task-created\",{run},\"initiator\":\"user\",\"agentId\":\"agent\",{at}}}"
            ),
            format!("{{\"kind\":\"task-status\",{run},{at},\"status\":\"working\"}}"),
            format!(
                "{{\"kind\":\"part-started\",{run},\"agentId\":\"agent\",{part},\"partType\":\"text\",\"messageId\":\"{id}\"}}"
            ),
            delta("Hello"),
            delta(", "),
            delta("world"),
            format!(
                "{{\"kind\":\"content-complete\",{run},\"agentId\":\"agent\",\"content\":\"Hello, world\",{part},\"messageId\":\"{id}\"}}"
            ),
            format!("{{\"kind\":\"task-complete\",{run},{at}}}"),
        ]
    );
}

#[test]
fn a_stream_without_blank_lines_and_a_folded_response_are_read_like_any_other() {
    let tools = gist("agent-api", &fixture("agent-api/tools.txt"));
    assert_eq!(
        tools,
        Gist {
            text: "Let me check18C".into(),
            calls: vec!["\"call_1\" \"get_weather\" {\"city\":\"Tokyo\"}".into()],
            returns: vec!["\"call_1\" [{\"text\":\"18C\",\"type\":\"text\"}]".into()],
        }
    );
    let folded = gist("agent-api", &fixture("agent-api/b01_response.json"));
    assert_eq!(folded, gist("agent-api", &fixture("agent-api/b02_function_call.sse")));
}

#[test]
fn a_request_is_read_as_messages() {
    let kinds: Vec<String> = events("agent-api", &fixture("agent-api/b01_request.json"))
        .iter()
        .map(|e| e.split('"').nth(3).unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "thread-created",
            "participant-joined",
            "task-created",
            "participant-joined",
            "message",
            "message",
            "data-write",
            "tool-complete"
        ]
    );
}

#[test]
fn a_failure_keeps_its_code() {
    let source = fixture("agent-api/b05_failed.sse");
    let last = events("agent-api", &source).pop().unwrap();
    assert!(last.contains("\"code\":\"AGENT_UNKNOWN_ERROR\""), "{last}");
    let again = written("agent-api", "agent-api", "stream", &source);
    let end = "\"status\":\"failed\",\"error\":{\"code\":\"AGENT_UNKNOWN_ERROR\",\
               \"message\":\"Unknown agent error: ValueError: kaput\"}";
    assert!(again.lines().rev().nth(1).unwrap().contains(end), "{again}");
    let ag_ui = written("agent-api", "ag-ui", "1.0", &source);
    assert!(ag_ui.contains("\"type\":\"RUN_ERROR\"") && ag_ui.contains("\"AGENT_UNKNOWN_ERROR\""));
}

#[test]
fn an_edited_event_shows_in_the_stream() {
    let source = fixture("agent-api/b02_function_call.sse");
    let journal = convert(named("agent-api"), named("journal"), &source);
    let edited = journal.replace("{\"city\": \"Tokyo\"}", "{\"city\": \"Paris\"}");
    let back = convert(named("journal"), named("agent-api"), &edited);
    let changed: Vec<_> = back.lines().zip(source.lines()).filter(|(a, b)| a != b).collect();
    let [(is, was)] = changed.as_slice() else { panic!("{} lines differ", changed.len()) };
    assert_eq!(*is, was.replace("Tokyo", "Paris"));
}

#[test]
fn every_recording_is_retold_as_a_stream() {
    // Its parts begin in another order than they speak.
    retold("agent-api", "stream", &["a11_writer_all_data.sse"]);
}

#[test]
fn every_recording_is_retold_as_folded_responses() {
    retold("agent-api", "folded", &[]);
}

#[test]
fn the_folded_response_is_the_last_of_the_stream() {
    let source = fixture("pydantic/s02_parallel_tool_calls/messages.json");
    let stream = written("pydantic-ai", "agent-api", "stream", &source);
    let last = stream.lines().rev().find(|l| l.starts_with("data: ")).unwrap();
    let folded = written("pydantic-ai", "agent-api", "folded", &source);
    assert_eq!(folded, last.strip_prefix("data: ").unwrap());
}

#[test]
fn sequence_numbers_count_from_zero_in_every_response() {
    let source = fixture("pydantic/s13_tool_approval_flow/messages.json");
    let stream = written("pydantic-ai", "agent-api", "stream", &source);
    let numbers: Vec<i64> = stream
        .lines()
        .filter_map(|l| l.strip_prefix("data: "))
        .map(|l| Doc::parse(l).unwrap().root().get("sequence_number").unwrap().i64().unwrap())
        .collect();
    let second = numbers.iter().skip(1).position(|n| *n == 0).unwrap() + 1;
    let (a, b) = numbers.split_at(second);
    assert!(a.iter().copied().eq(0..a.len() as i64) && b.iter().copied().eq(0..b.len() as i64));
}

#[test]
fn recordings_and_the_documents_examples_are_valid() {
    let documents = [
        "documents/agent-api/01-request.json",
        "documents/agent-api/02-streaming-sequence.ndjson",
        "documents/agent-api/03-response-stream.ndjson",
        "documents/agent-api/04-streaming-sequence.sse",
        "documents/agent-api/05-response-stream.sse",
    ];
    for name in documents {
        assert_eq!(errors("agent-api", &fixture(name)), [], "{name}");
    }
    for recording in recordings::all().iter().filter(|r| r.dialect == "agent-api") {
        assert_eq!(errors("agent-api", &recording.text), [], "{}", recording.name);
        assert_eq!(
            dialect::detect(&recording.text).map(|d| d.id.name()),
            Some("agent-api"),
            "{}",
            recording.name
        );
    }
    let warned = findings("agent-api", &fixture("documents/agent-api/05-response-stream.sse"));
    assert_eq!(warned, [(Severity::Warning, "agent-api-message-type", "/1/type".to_owned())]);
    let mismatch = findings("agent-api", &fixture(documents[1]));
    assert_eq!(mismatch.len(), 5, "{mismatch:?}");
}

#[test]
fn broken_rules_are_found_where_they_are() {
    let response = |number: u32, status: &str| {
        format!(
            "{{\"sequence_number\":{number},\"object\":\"response\",\"status\":\"{status}\",\"id\":\"r\"}}\n"
        )
    };
    let begun = response(0, "created") + &response(1, "in_progress");
    let message = "{\"sequence_number\":2,\"object\":\"message\",\"status\":\"in_progress\",\"id\":\"m\",\"type\":\"message\"}\n";
    for (rest, code, pointer) in [
        (response(1, "completed"), "agent-api-sequence", "/2/sequence_number"),
        (response(2, "singing"), "unknown-value", "/2/status"),
        ("{\"object\":\"message\",\"type\":\"song\",\"id\":\"m\"}".into(), "unknown-value", "/2/type"),
        ("{\"object\":\"message\",\"type\":\"message\"}".into(), "missing-field", "/2"),
        ("{\"object\":\"song\"}".into(), "unknown-value", "/2/object"),
        ("{\"n\":1}".into(), "missing-field", "/2"),
        (
            format!("{message}{{\"object\":\"content\",\"type\":\"text\",\"delta\":true,\"msg_id\":\"m\",\"text\":\"x\"}}"),
            "agent-api-index",
            "/3",
        ),
        (
            format!("{message}{{\"object\":\"content\",\"type\":\"smell\",\"msg_id\":\"m\"}}"),
            "unknown-value",
            "/3/type",
        ),
        (
            "{\"object\":\"message\",\"id\":\"m\",\"type\":\"plugin_call_output\",\"content\":[{\"type\":\"data\",\"data\":{\"call_id\":\"c\",\"output\":{}}}]}".into(),
            "wrong-type",
            "/2/content/0/data/output",
        ),
        (
            response(2, "completed") + "{\"sequence_number\":3,\"object\":\"message\",\"id\":\"m\",\"type\":\"message\"}",
            "agent-api-after-end",
            "/3",
        ),
        ("{\"input\":[{\"role\":\"cook\"}],\"n\":9,\"stop\":[1]}".into(), "agent-api-range", "/2/n"),
    ] {
        let found = findings("agent-api", &format!("{begun}{rest}"));
        assert!(
            found.contains(&(Severity::Error, code, pointer.to_owned())),
            "wanted {code} at {pointer}: {found:?}"
        );
    }
}

#[test]
fn hostile_sources_are_read_and_checked_without_harm() {
    let bomb = "[".repeat(100_000);
    for source in [
        "data: {\"object\":\"response\"}\n\n",
        "data: {\"object\":\"content\",\"delta\":true,\"index\":-9223372036854775808,\"text\":1}\n\n",
        "data: {\"object\":\"message\",\"id\":7,\"content\":[1,null,{}]}\n\n",
        "data: {\"object\":\"content\",\"type\":\"data\",\"data\":{\"arguments\":7},\"msg_id\":\"\"}\n\n",
        "data: {\"input\":[null,{\"content\":\"x\"},{\"content\":[[]]}]}\n\n",
        "data: {\"object\":\"response\",\"id\":\"r\",\"created_at\":1e400,\"output\":[{}]}\n\n",
        "data: {\"object\":\"response\"",
        "data: \u{0}\n\n",
        bomb.as_str(),
    ] {
        let journal = convert(named("agent-api"), named("journal"), source);
        assert_eq!(convert(named("journal"), named("agent-api"), &journal), source);
        written("agent-api", "agent-api", "stream", source);
        findings("agent-api", source);
    }
}
