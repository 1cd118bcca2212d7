//! `a2a`: what only this dialect promises.

use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect::{
    self, DecodeOptions, Dialect, EncodeOptions, Encoding, Target, decode,
};
use selvedge_protocol::journal::{Batch, Event, Kind};
use selvedge_protocol::json::Raw;
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings;

fn a2a() -> &'static Dialect {
    dialect::named("a2a").unwrap()
}

/// The events of a source, a line each, without what is the same in all of them.
fn events(from: &Dialect, source: &str) -> Vec<String> {
    let mut lines = Vec::new();
    decode(from, &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let mut line = event.name().to_owned();
            for (name, value) in event.fields() {
                let shown = !matches!(name, "agentId" | "timestamp" | "author" | "taskId");
                if shown {
                    line.push_str(&format!(" {name}={value}"));
                }
            }
            lines.push(line);
        }
    });
    lines
}

fn recording(name: &str) -> String {
    recordings::all().into_iter().find(|r| r.name == name).expect(name).text
}

fn encode(source: &str, from: &Dialect, version: &str) -> String {
    let target = Some(Target { package: "a2a".into(), version: version.into() });
    let mut encoding = Encoding::new(a2a(), &EncodeOptions { target, ..EncodeOptions::default() });
    let mut out = Vec::new();
    decode(from, &DecodeOptions::default(), source, |batch| encoding.batch(&batch, &mut out));
    encoding.finish(&mut out);
    String::from_utf8(out).unwrap()
}

fn write(events: Vec<Event<'static>>, version: &str) -> String {
    let target = Some(Target { package: "a2a".into(), version: version.into() });
    let mut encoding = Encoding::new(a2a(), &EncodeOptions { target, ..EncodeOptions::default() });
    let mut out = Vec::new();
    for event in events {
        encoding.batch(&Batch::native(vec![event]), &mut out);
    }
    encoding.finish(&mut out);
    String::from_utf8(out).unwrap()
}

fn diagnostics(source: &str) -> Vec<(Severity, &'static str, String)> {
    let mut report = Report::new();
    validate(a2a(), source.as_bytes(), &mut report);
    report.diagnostics().iter().map(|d| (d.severity, d.code, d.pointer.clone())).collect()
}

fn errors(source: &str) -> Vec<(&'static str, String)> {
    let found = diagnostics(source).into_iter();
    found.filter(|d| d.0 == Severity::Error).map(|d| (d.1, d.2)).collect()
}

/// The texts of agents and users.
fn texts(from: &Dialect, source: &str) -> Vec<String> {
    let mut texts: Vec<(String, String)> = Vec::new();
    decode(from, &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let system = event.get("role").is_some_and(|r| r.is("system"));
            let field = match event.kind() {
                Kind::ContentDelta => "delta",
                Kind::ContentComplete | Kind::Message if !system => "content",
                _ => continue,
            };
            let part = event.get("partId").map(ToString::to_string).unwrap_or_default();
            let Some(body) = event.str(field) else { continue };
            match texts.last_mut() {
                Some((last, text)) if event.kind() == Kind::ContentDelta && *last == part => {
                    text.push_str(&body);
                }
                _ => texts.push((part, body.into_owned())),
            }
        }
    });
    texts.into_iter().map(|t| t.1).filter(|t| !t.is_empty()).collect()
}

#[test]
fn a_stream_of_text_becomes_a_task_with_one_growing_part() {
    let task = r#"{"origin":"recording","depth":1}"#;
    let expected = [
        "thread-created contextId=\"ctx-rpc\"".to_owned(),
        format!("task-created initiator=\"user\" metadata={task}"),
        "message role=\"user\" messageId=\"user-j0\" content=\"text\"".to_owned(),
        "participant-joined participantId=\"agent\" role=\"agent\"".to_owned(),
        "task-status status=\"working\" message=\"working on it\"".to_owned(),
        "part-started partId=\"answer\" partType=\"text\" metadata={\"artifact\":{\"name\":\"answer\"}}"
            .to_owned(),
        "content-delta delta=\"The weather \" partId=\"answer\"".to_owned(),
        "content-delta delta=\"in Tokyo \" partId=\"answer\"".to_owned(),
        "content-delta delta=\"is 18°C — “partly cloudy”. \" partId=\"answer\"".to_owned(),
        "content-delta delta=\"日本語 😀\\n\" partId=\"answer\"".to_owned(),
        "part-finished partId=\"answer\" partType=\"text\"".to_owned(),
        "task-complete".to_owned(),
    ];
    assert_eq!(events(a2a(), &recording("a2a_0.3/jsonrpc_text.stream.sse")), expected);
}

#[test]
fn both_versions_and_the_draft_of_0_3_mean_the_same() {
    let said = |name: &str| {
        let all = events(a2a(), &recording(name));
        let keep = |l: &String| {
            ["content-", "part-", "input-", "task-status", "message"]
                .iter()
                .any(|k| l.starts_with(k))
        };
        all.into_iter()
            .filter(keep)
            .map(|l| l.replace(": ", ":").replace(", ", ","))
            .map(|l| l.split(" messageId=").next().unwrap().to_owned())
            .map(|l| l.split(" inputId=").next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for scenario in ["text", "input", "fail"] {
        let new = said(&format!("a2a_1.0/rest_{scenario}.stream.sse"));
        assert_eq!(said(&format!("a2a_1.0/jsonrpc_{scenario}.stream.sse")), new);
        assert_eq!(said(&format!("a2a_0.3/jsonrpc_{scenario}.stream.sse")), new);
    }
}

#[test]
fn a_question_is_asked_with_its_schema() {
    let all = events(a2a(), &recording("a2a_0.3/jsonrpc_input.stream.sse"));
    assert_eq!(
        all.get(all.len() - 2..).unwrap(),
        [
            "input-required inputId=\"f81bf5d6-893d-495f-93de-3168d0c901d1\" inputType=\"data\" \
             prompt=\"Which city?\" schema={\"type\":\"string\",\"enum\":[\"Tokyo\",\"Osaka\"]}",
            "task-status status=\"waiting-input\"",
        ]
    );
}

#[test]
fn a_refusal_is_a_failure_with_its_reason_and_a_crash_ends_the_task() {
    let last = |name: &str| events(a2a(), &recording(name)).pop().unwrap();
    assert_eq!(
        last("a2a_1.0/rest_reject.stream.sse"),
        "task-status status=\"failed\" message=\"not my job\" metadata={\"reason\":\"rejected\"}"
    );
    assert_eq!(
        last("a2a_1.0/jsonrpc_crash.stream.sse"),
        "task-status status=\"failed\" message=\"executor crashed\" metadata={\"code\":-32603}"
    );
    assert_eq!(
        last("a2a_0.3/jsonrpc_not_found.error.json"),
        "error code=\"-32001\" message=\"Task not found\""
    );
}

#[test]
fn artifacts_are_files_and_data() {
    let all = events(a2a(), &recording("a2a_0.3/rest_parts.get_task.json"));
    let files: Vec<_> = all.iter().filter(|l| l.contains("-write")).collect();
    assert_eq!(
        files,
        [
            // Its writer encoded the bytes twice.
            "file-write artifactId=\"a-raw\" data=\"+vv8/f7/AAFQTkc=\" index=0 complete=true \
             encoding=\"base64\" mimeType=\"image/png\" metadata={\"filename\":\"p.png\"} \
             name=\"picture\"",
            "file-write artifactId=\"a-url\" data=\"\" index=0 complete=true \
             uri=\"https://example.org/a?b=c&d=%20\" mimeType=\"application/pdf\" \
             name=\"doc.pdf\" \
             metadata={\"artifact\":{\"extensions\":[\"https://example.org/ext/v1\"]}}",
            "data-write artifactId=\"a-data\" data={\"none\":null,\"rows\":[{\"d\":\"2025-10-01\",\
             \"amount\":1250.5},{\"d\":\"2025-10-02\",\"amount\":980.0}],\"ok\":true} name=\"rows\"",
        ]
    );
}

#[test]
fn requests_are_what_the_user_said() {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"see"},{"url":"https://x/y.png","mediaType":"image/png"},{"data":{"a":1}}]}}}"#;
    let all = events(a2a(), request);
    assert_eq!(
        all.get(1..).unwrap(),
        [
            "message role=\"user\" messageId=\"m1\" content=[{\"type\":\"text\",\"text\":\"see\"},\
             {\"type\":\"image\",\"image_url\":\"https://x/y.png\",\"media_type\":\"image/png\"}]",
            "system name=\"data\" data={\"a\":1}",
        ]
    );
    assert_eq!(errors(request), []);
    let body = r#"{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]},"configuration":{"blocking":true}}"#;
    assert_eq!(
        events(a2a(), body).get(1..).unwrap(),
        ["message role=\"user\" messageId=\"m1\" content=\"hi\""]
    );
    assert_eq!(errors(body), []);
    let cancel = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"t1"}}"#;
    assert_eq!(events(a2a(), cancel).get(1..).unwrap(), ["cancel-requested"]);
}

#[test]
fn an_edited_text_shows_and_everything_else_stays() {
    let journal = dialect::named("journal").unwrap();
    for (name, old, new) in [
        ("a2a_1.0/rest_text.stream.sse", "in Tokyo ", "in Kyoto "),
        ("a2a_0.3/jsonrpc_text.get_task.json", "in Tokyo ", "in Kyoto "),
        ("a2a_1.0/jsonrpc_list_tasks.json", "model unavailable", "model asleep"),
        ("a2a_1.0/rest_input.stream.sse", "Which city?", "Which town?"),
        ("a2a_1.0/jsonrpc_message.stream.sse", "Hello, plain", "Goodbye, plain"),
    ] {
        let source = recording(name);
        let carried = convert(a2a(), journal, &source);
        assert_eq!(carried.matches(old).count(), source.matches(old).count(), "{name}");
        let edited = carried.replace(old, new);
        assert_eq!(convert(journal, a2a(), &edited), source.replace(old, new), "{name}");
    }
}

#[test]
fn recordings_are_valid_and_recognised() {
    for recording in recordings::all() {
        let mut end = recording.text.len().min(64 << 10);
        while !recording.text.is_char_boundary(end) {
            end -= 1;
        }
        let score = (a2a().detect)(&recording.text[..end]);
        if recording.dialect == "a2a" {
            assert_eq!(errors(&recording.text), [], "{}", recording.name);
            assert!(score >= 60, "{}: {score}", recording.name);
        } else {
            assert_eq!(score, 0, "{}", recording.name);
        }
    }
}

#[test]
fn every_dialect_can_be_written_as_a2a() {
    let mut tried = 0;
    for recording in recordings::all() {
        let Some(from) = dialect::named(recording.dialect) else { continue };
        for version in ["1.0", "0.3-jsonrpc", "1.0-jsonrpc+events"] {
            let written = encode(&recording.text, from, version);
            if written.is_empty() {
                continue;
            }
            tried += 1;
            let name = &recording.name;
            let found: Vec<_> =
                diagnostics(&written).into_iter().filter(|d| d.1 != "a2a-unfinished").collect();
            assert_eq!(found, [], "{name} as {version}:\n{written}");
            let mut end = written.len().min(64 << 10);
            while !written.is_char_boundary(end) {
                end -= 1;
            }
            assert!((a2a().detect)(&written[..end]) >= 60, "{name} as {version}");
            if version != "1.0" {
                let again = convert(a2a(), dialect::named("journal").unwrap(), &written);
                let back = convert(dialect::named("journal").unwrap(), a2a(), &again);
                assert_eq!(back, written, "{name} as {version}");
            }
        }
    }
    assert!(tried > 0);
}

#[test]
fn texts_survive_the_way_from_pydantic_ai() {
    let pydantic = dialect::named("pydantic-ai").unwrap();
    for name in ["s01_text_multiturn", "s02_parallel_tools", "s07_thinking"] {
        let Some(recording) = recordings::all().into_iter().find(|r| {
            r.name.starts_with(&format!("pydantic/{}", &name[..3])) && r.dialect == "pydantic-ai"
        }) else {
            panic!("no {name}")
        };
        for version in ["1.0", "0.3-jsonrpc"] {
            let written = encode(&recording.text, pydantic, version);
            assert_eq!(texts(a2a(), &written), texts(pydantic, &recording.text), "{name}");
        }
    }
}

#[test]
fn tools_and_thoughts_travel_under_the_extension() {
    let pydantic = dialect::named("pydantic-ai").unwrap();
    let source = recording_like("pydantic/s02");
    let calls = |from: &Dialect, source: &str| {
        events(from, source)
            .into_iter()
            .filter(|l| l.starts_with("tool-"))
            .map(|l| l.replace("\": ", "\":").replace("\", \"", "\",\""))
            .collect::<Vec<_>>()
    };
    let expected = calls(pydantic, &source);
    assert!(!expected.is_empty());
    for version in ["1.0+events", "0.3-jsonrpc+events"] {
        let written = encode(&source, pydantic, version);
        assert_eq!(calls(a2a(), &written), expected, "{version}");
    }
    let plain = encode(&source, pydantic, "1.0");
    assert_eq!(calls(a2a(), &plain), [""; 0]);
    assert!(!plain.contains("selvedge"));
}

fn recording_like(start: &str) -> String {
    let found = recordings::all()
        .into_iter()
        .find(|r| r.name.starts_with(start) && r.name.ends_with("/messages.json"));
    found.expect(start).text
}

fn event(kind: Kind) -> Event<'static> {
    Event::new(kind).with_str("taskId", "t1")
}

#[test]
fn a_task_is_announced_with_what_the_user_said() {
    let written = write(
        vec![
            Event::new(Kind::ThreadCreated).with_str("contextId", "c1"),
            Event::new(Kind::Message).with_str("role", "user").with_str("content", "hi"),
            event(Kind::TaskCreated)
                .with_str("initiator", "user")
                .with_str("timestamp", "2026-01-01T00:00:00Z"),
            event(Kind::ContentDelta).with_str("delta", "he"),
            event(Kind::ContentDelta).with("delta", Raw::Ref("\"llo \\ud83d\"")),
            event(Kind::ContentDelta).with("delta", Raw::Ref("\"\\ude00\"")),
            event(Kind::TaskComplete).with("content", Raw::Ref("\"hello \\ud83d\\ude00\"")),
        ],
        "0.3",
    );
    let lines: Vec<_> = written.lines().filter(|l| !l.is_empty()).collect();
    assert_eq!(
        lines,
        [
            r#"data: {"contextId":"c1","history":[{"contextId":"c1","kind":"message","messageId":"t1-m1","parts":[{"kind":"text","text":"hi"}],"role":"user","taskId":"t1"}],"id":"t1","kind":"task","status":{"state":"submitted","timestamp":"2026-01-01T00:00:00Z"}}"#,
            r#"data: {"contextId":"c1","final":false,"kind":"status-update","status":{"state":"working"},"taskId":"t1"}"#,
            r#"data: {"artifact":{"artifactId":"text-1","parts":[{"kind":"text","text":"he"}]},"contextId":"c1","kind":"artifact-update","taskId":"t1"}"#,
            r#"data: {"append":true,"artifact":{"artifactId":"text-1","parts":[{"kind":"text","text":"llo "}]},"contextId":"c1","kind":"artifact-update","taskId":"t1"}"#,
            r#"data: {"append":true,"artifact":{"artifactId":"text-1","parts":[{"kind":"text","text":"\ud83d\ude00"}]},"contextId":"c1","kind":"artifact-update","taskId":"t1"}"#,
            r#"data: {"append":true,"artifact":{"artifactId":"text-1","parts":[{"kind":"text","text":""}]},"contextId":"c1","kind":"artifact-update","lastChunk":true,"taskId":"t1"}"#,
            r#"data: {"contextId":"c1","final":true,"kind":"status-update","status":{"state":"completed"},"taskId":"t1"}"#,
        ]
    );
}

#[test]
fn a_question_reaches_the_user_and_one_for_the_coordinator_does_not() {
    let ask = |task: &str| {
        Event::new(Kind::InputRequired)
            .with("taskId", Raw::string(task))
            .with_str("inputId", "i1")
            .with_str("inputType", "confirmation")
            .with_str("prompt", "Sure?")
    };
    let child = || {
        Event::new(Kind::TaskCreated)
            .with_str("taskId", "t2")
            .with_str("parentTaskId", "t1")
            .with_str("initiator", "agent")
    };
    let states = |events| {
        let written = write(events, "1.0");
        assert_eq!(errors(&written), []);
        written
            .lines()
            .filter_map(|l| l.split("\"state\":\"").nth(1)?.split('"').next().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        states(vec![event(Kind::TaskCreated), ask("t1")]),
        ["TASK_STATE_SUBMITTED", "TASK_STATE_INPUT_REQUIRED"]
    );
    assert_eq!(
        states(vec![event(Kind::TaskCreated), child(), ask("t2")]),
        [
            "TASK_STATE_SUBMITTED",
            "TASK_STATE_WORKING",
            "TASK_STATE_SUBMITTED",
            "TASK_STATE_COMPLETED"
        ]
    );
    let user = ask("t2").with("requireUser", Raw::Ref("true"));
    assert_eq!(
        states(vec![event(Kind::TaskCreated), child(), user]).last().unwrap(),
        "TASK_STATE_COMPLETED"
    );
}

#[test]
fn what_comes_after_the_end_is_another_task() {
    let written = write(
        vec![
            event(Kind::TaskCreated),
            event(Kind::TaskComplete),
            event(Kind::ContentComplete).with_str("content", "late"),
        ],
        "1.0",
    );
    assert_eq!(errors(&written), []);
    assert_eq!(texts(a2a(), &written), ["late"]);
    assert!(written.contains("\"id\":\"t1-2\""), "{written}");
}

#[test]
fn chunks_of_a_file_go_on_only_where_it_began() {
    let chunk = |index: &'static str, complete: &'static str| {
        event(Kind::FileWrite)
            .with_str("artifactId", "f")
            .with_str("data", "x")
            .with("index", Raw::Ref(index))
            .with("complete", Raw::Ref(complete))
    };
    let flags = |events| {
        write(events, "1.0")
            .lines()
            .filter(|l| l.contains("artifactUpdate"))
            .map(|l| (l.contains("\"append\":true"), l.contains("\"lastChunk\":true")))
            .collect::<Vec<_>>()
    };
    let in_order = vec![chunk("0", "false"), chunk("1", "true"), chunk("0", "true")];
    assert_eq!(flags(in_order), [(false, false), (true, true), (false, true)]);
    let late = vec![chunk("1", "false"), chunk("0", "true")];
    assert_eq!(flags(late), [(false, false), (true, true)]);
}

#[test]
fn broken_streams_are_told() {
    let task = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}"#;
    let done = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    for (source, expected) in [
        (format!("{task}\n{done}\n{done}"), ("a2a-after-end", "/2/statusUpdate")),
        (r#"{"task":{},"message":{}}"#.to_owned(), ("a2a-members", "/0")),
        (task.replace("SUBMITTED", "LOST"), ("unknown-value", "/0/task/status/state")),
        (task.replace("\"t\"", "\"\""), ("a2a-empty-id", "/0/task/id")),
        (done.replace("\"taskId\":\"t\",", ""), ("missing-field", "/0/statusUpdate")),
        (
            format!("{task}\n{}", done.replace("\"c\"", "\"d\"")),
            ("a2a-context", "/1/statusUpdate/contextId"),
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a","url":"b"}]}}"#
                .to_owned(),
            ("a2a-part", "/0/message/parts/0"),
        ),
        (
            r#"{"message":{"messageId":"m","role":"agent","parts":[{"text":"a"}]}}"#.to_owned(),
            ("unknown-value", "/0/message/role"),
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"raw":"&&"}]}}"#.to_owned(),
            ("a2a-base64", "/0/message/parts/0/raw"),
        ),
        (
            r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"completed"},"final":false}"#.to_owned(),
            ("a2a-final", "/0/final"),
        ),
        (
            r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"final":false}"#.to_owned(),
            ("unknown-value", "/0/status/state"),
        ),
        (
            r#"{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"file","file":{}}]}"#.to_owned(),
            ("a2a-part", "/0/parts/0"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"id":"t","status":{"state":"TASK_STATE_WORKING","timestamp":"noon"}}}"#.to_owned(),
            ("a2a-timestamp", "/0/result/status/timestamp"),
        ),
        (r#"{"hello":1}"#.to_owned(), ("a2a-unknown", "/0")),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), ("a2a-response", "/0")),
    ] {
        assert_eq!(errors(&source), [(expected.0, expected.1.to_owned())], "{source}");
    }
    let append = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":""}]},"append":true}}"#;
    let codes: Vec<_> = diagnostics(append).into_iter().map(|d| (d.0, d.1)).collect();
    assert_eq!(codes, [(Severity::Warning, "a2a-first-event"), (Severity::Warning, "a2a-append")]);
}

#[test]
fn hostile_sources_give_diagnostics_and_come_back_as_they_were() {
    let journal = dialect::named("journal").unwrap();
    for source in [
        "data: {\"task\":{\"id\":7,\"status\":[]}}\n\n",
        "data: {\"task\":{\"id\":\"t\",\"status\":{\"state\":\"TASK_STATE_WORKING\",\"message\":{}}}}\n\n",
        "data: {\"statusUpdate\":{\"taskId\":null,\"status\":{\"state\":5}}}\n\n",
        "data: {\"artifactUpdate\":{\"artifact\":{\"artifactId\":\"a\",\"parts\":[null,{},{\"file\":{}},{\"data\":1}]}}}\n\n",
        "data: {\"jsonrpc\":1,\"result\":null}\n\ndata: {\"jsonrpc\":\"2.0\",\"result\":3,\"error\":{}}\n\n",
        "data: {\"error\":{\"message\":\"\\ud800\",\"code\":\"x\",\"a/b\":1}}\n\n",
        "data: {\"kind\":\"message\",\"messageId\":\"m\",\"parts\":{},\"content\":[[]]}\n\n",
        "data: {\"statusUpdate\":{\"taskId\":\"t\",\"status\":{\"state\":\"TASK_STATE_WORKING\"},\"metadata\":{\"https://selvedge.dev/a2a/events/v1\":{\"kind\":\"tool-start\",\"toolCallId\":\"c\",\"toolCallId\":\"d\"}}}}\n\n",
        "data: {\"task\"",
    ] {
        assert!(!diagnostics(source).is_empty(), "{source}");
        let carried = convert(a2a(), journal, source);
        assert_eq!(convert(journal, a2a(), &carried), source);
        encode(source, a2a(), "0.3");
    }
}
