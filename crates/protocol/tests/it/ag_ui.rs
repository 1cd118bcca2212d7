//! `ag-ui`: what only this dialect promises.

use selvedge_protocol::diagnostic::Severity;
use selvedge_protocol::dialect;

use crate::agent_api::{events, findings, gist, retold, written};
use crate::identity::convert;
use crate::recordings::{self, fixture};

fn kinds(source: &str) -> Vec<String> {
    events("ag-ui", source).iter().map(|e| e.split('"').nth(3).unwrap().to_owned()).collect()
}

fn types(stream: &str) -> Vec<String> {
    let records = stream.lines().filter_map(|l| l.strip_prefix("data: {\"type\":\""));
    records.map(|l| l.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn text_comes_as_a_part_of_its_run() {
    let all = events("ag-ui", &fixture("pydantic/s01_multi_turn_text/turn1.agui.sse"));
    let id = "f96b0e5c-adb4-4ded-8a6c-c8782edc6fd5";
    let at = |ms: u32| {
        format!("\"timestamp\":\"2026-03-14T09:26:{}.{:03}Z\"", 53 + ms / 1000, ms % 1000)
    };
    let run = "\"taskId\":\"run-0\"";
    let delta = |ms, text: &str| {
        format!(
            "{{\"kind\":\"content-delta\",{run},{},\"delta\":\"{text}\",\"partId\":\"{id}\"}}",
            at(ms)
        )
    };
    assert_eq!(
        all,
        [
            format!("{{\"kind\":\"thread-created\",\"contextId\":\"chat-1\",{}}}", at(863)),
            "{\"kind\":\"participant-joined\",\"participantId\":\"agent\",\"role\":\"agent\"}"
                .into(),
            format!(
                "{{\"kind\":\"task-created\",{run},\"initiator\":\"user\",\"agentId\":\"agent\",{}}}",
                at(863)
            ),
            format!(
                "{{\"kind\":\"part-started\",{run},{},\"partId\":\"{id}\",\"partType\":\"text\",\
                 \"messageId\":\"{id}\",\"agentId\":\"agent\"}}",
                at(1411)
            ),
            delta(1548, "Hel"),
            delta(1685, "lo! How can"),
            delta(1822, " I help?"),
            format!(
                "{{\"kind\":\"part-finished\",{run},{},\"partId\":\"{id}\",\"partType\":\"text\"}}",
                at(1959)
            ),
            format!("{{\"kind\":\"task-complete\",{run},{}}}", at(2096)),
        ]
    );
}

#[test]
fn chunks_open_and_close_their_messages() {
    assert_eq!(
        kinds(&fixture("ag-ui/py_09_chunks.sse")),
        [
            "thread-created",
            "participant-joined",
            "task-created",
            "part-started",
            "thought-stream",
            "thought-stream",
            "thought-stream",
            "part-finished",
            "participant-joined",
            "part-started",
            "content-delta",
            "content-delta",
            "part-finished",
            "tool-call-started",
            "tool-call-delta",
            "tool-call-delta",
            "tool-call",
            "part-started",
            "content-delta",
            "part-finished",
            "task-complete"
        ]
    );
}

#[test]
fn an_interrupt_is_a_question_and_a_resume_its_answer() {
    let asked = events("ag-ui", &fixture("ag-ui/py_06_interrupt.sse"));
    let ask = asked.iter().find(|e| e.contains("\"input-required\"")).unwrap();
    for part in [
        "\"inputId\":\"int-1\"",
        "\"inputType\":\"confirmation\"",
        "\"prompt\":\"Delete a.txt?\"",
        "\"toolCallId\":\"c1\"",
        "\"schema\":{\"type\":\"object\"",
        "\"expiresAt\":\"2026-12-01T00:00:00Z\"",
    ] {
        assert!(ask.contains(part), "{part} in {ask}");
    }
    assert!(asked.last().unwrap().contains("\"status\":\"waiting-input\""));
    let answered = events("ag-ui", &fixture("ag-ui/py_07_resume.sse"));
    let answer = answered.iter().find(|e| e.contains("\"input-received\"")).unwrap();
    assert!(answer.contains("\"value\":{\"approved\":true}"), "{answer}");
}

#[test]
fn a_run_that_goes_on_after_a_question_is_a_new_run() {
    let out = written("agent-api", "ag-ui", "1.0", &fixture("agent-api/b03_mcp.sse"));
    let all = types(&out);
    assert_eq!(all.iter().filter(|t| *t == "RUN_STARTED").count(), 2, "{all:?}");
    assert!(out.contains("\"outcome\":{\"type\":\"interrupt\",\"interrupts\":[{\"id\":\"ap1\""));
    assert!(out.contains("\"resume\":[{\"interruptId\":\"ap1\",\"status\":\"resolved\""), "{out}");
}

#[test]
fn subagents_are_tasks_of_their_own() {
    let source = fixture("ag-ui/py_05_subagents.sse");
    let all = events("ag-ui", &source);
    let child = "\"taskId\":\"sub-2\",\"initiator\":\"agent\",\"parentTaskId\":\"sub-1\",\
                 \"agentId\":\"scraper\"";
    assert!(all.iter().any(|e| e.contains(child)), "{all:#?}");
    let again = written("ag-ui", "ag-ui", "1.0", &source);
    assert_eq!(types(&again), types(&source));
}

#[test]
fn the_input_of_a_run_is_read_as_messages() {
    let all = events("ag-ui", &fixture("ag-ui/py_run_agent_input.json"));
    assert_eq!(
        all.last().unwrap(),
        "{\"kind\":\"message\",\"taskId\":\"run-1\",\"role\":\"user\",\"messageId\":\"u1\",\
         \"content\":[{\"type\":\"text\",\"text\":\"What is on the picture? é 😀\"},\
         {\"type\":\"image\",\"image_url\":\"https://example.org/a.png\",\"media_type\":\"image/png\"},\
         {\"type\":\"file\",\"data\":\"JVBERi0=\",\"media_type\":\"application/pdf\"},\
         {\"type\":\"audio\",\"name\":\"file-1\"}]}"
    );
}

#[test]
fn an_edited_event_shows_in_the_stream() {
    let (ag_ui, journal) = (dialect::named("ag-ui").unwrap(), dialect::named("journal").unwrap());
    let source = fixture("ag-ui/py_01_text.sse");
    let edited = convert(ag_ui, journal, &source)
        .replace("What is on the picture?", "Who?")
        .replace("\"in Tokyo \"", "\"in Paris \"");
    let want = source.replace("What is on the picture?", "Who?").replace("in Tokyo", "in Paris");
    assert_eq!(convert(journal, ag_ui, &edited), want);
}

#[test]
fn every_recording_is_retold() {
    // Its streamed arguments are not those of the call in the end.
    retold("ag-ui", "1.0", &["stream_expired"]);
}

#[test]
fn user_messages_begin_runs() {
    let source = fixture("pydantic/s01_multi_turn_text/messages.json");
    let out = written("pydantic-ai", "ag-ui", "1.0", &source);
    let runs = out.matches("\"type\":\"RUN_STARTED\"").count();
    assert_eq!(runs, out.matches("\"role\":\"user\"").count());
    assert_eq!(gist("ag-ui", &out), gist("pydantic-ai", &source));
}

#[test]
fn recordings_are_valid_and_known_by_their_beginning() {
    for recording in recordings::all().iter().filter(|r| r.dialect == "ag-ui") {
        assert_eq!(findings("ag-ui", &recording.text), [], "{}", recording.name);
        let found = dialect::detect(&recording.text).map(|d| d.id.name());
        assert_eq!(found, Some("ag-ui"), "{}", recording.name);
    }
}

#[test]
fn broken_rules_are_found_where_they_are() {
    let start = "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}";
    let finish = "{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}";
    let text = "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\"}";
    for (records, code, pointer) in [
        (vec![finish], "ag-ui-run-order", "/0"),
        (vec![start, start], "ag-ui-run-order", "/1"),
        (vec![start, finish, text], "ag-ui-run-order", "/2"),
        (vec![start, text, finish], "ag-ui-left-open", "/2"),
        (vec![start, text, text], "ag-ui-bracket", "/2/messageId"),
        (
            vec![start, "{\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"c\",\"delta\":\"{}\"}"],
            "ag-ui-bracket",
            "/1/toolCallId",
        ),
        (
            vec![start, "{\"type\":\"STEP_FINISHED\",\"stepName\":\"s\"}"],
            "ag-ui-step",
            "/1/stepName",
        ),
        (vec![start, "{\"type\":\"SONG\"}"], "unknown-value", "/1/type"),
        (vec![start, "{\"type\":\"CUSTOM\",\"name\":7}"], "missing-field", "/1"),
        (vec![start, "{\"type\":\"CUSTOM\",\"name\":7,\"value\":1}"], "wrong-type", "/1/name"),
        (vec![start, "{\"type\":\"TEXT_MESSAGE_CHUNK\",\"delta\":\"x\"}"], "ag-ui-chunk", "/1"),
        (
            vec![start, "{\"type\":\"SUBAGENT_FINISHED\",\"subagentRunId\":\"s\"}"],
            "ag-ui-subagent",
            "/1/subagentRunId",
        ),
        (
            vec![start, "{\"type\":\"RAW\",\"event\":1,\"subagentRunId\":null}"],
            "ag-ui-null",
            "/1/subagentRunId",
        ),
        (
            vec![
                start,
                "{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\",\"outcome\":{\"type\":\"interrupt\",\"interrupts\":[{\"id\":\"i\"}]}}",
            ],
            "missing-field",
            "/1/outcome/interrupts/0",
        ),
        (
            vec![start, "{\"type\":\"STATE_DELTA\",\"delta\":[{\"op\":\"sing\",\"path\":\"/\"}]}"],
            "unknown-value",
            "/1/delta/0/op",
        ),
        (
            vec![
                start,
                "{\"type\":\"MESSAGES_SNAPSHOT\",\"messages\":[{\"id\":\"m\",\"role\":\"tool\",\"content\":\"x\"}]}",
            ],
            "missing-field",
            "/1/messages/0",
        ),
    ] {
        let source: String = records.iter().map(|r| format!("data: {r}\n\n")).collect();
        let found = findings("ag-ui", &source);
        assert!(
            found.contains(&(Severity::Error, code, pointer.to_owned())),
            "wanted {code} at {pointer}: {found:?}"
        );
    }
}

#[test]
fn hostile_sources_are_read_and_checked_without_harm() {
    let (ag_ui, journal) = (dialect::named("ag-ui").unwrap(), dialect::named("journal").unwrap());
    let bomb = "[".repeat(100_000);
    for source in [
        "data: {\"type\":\"RUN_STARTED\"}\n\n",
        "data: {\"type\":\"RUN_FINISHED\",\"outcome\":{\"type\":\"interrupt\",\"interrupts\":[1,{}]}}\n\n",
        "data: {\"type\":\"TOOL_CALL_CHUNK\",\"delta\":\"x\"}\n\n",
        "data: {\"type\":\"TOOL_CALL_END\",\"toolCallId\":{}}\n\n",
        "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"timestamp\":1e999,\"delta\":[]}\n\n",
        "data: {\"type\":\"MESSAGES_SNAPSHOT\",\"messages\":[{\"role\":\"assistant\",\"toolCalls\":[1,{\"id\":1,\"function\":2}]}]}\n\n",
        "data: {\"type\":\"SUBAGENT_STARTED\",\"subagentRunId\":\"s\",\"name\":\"s\",\"parentSubagentRunId\":\"s\"}\n\n",
        "data: {\"type\":\"STEP_STARTED\"",
        "data: \u{0}\n\n",
        bomb.as_str(),
    ] {
        assert_eq!(convert(journal, ag_ui, &convert(ag_ui, journal, source)), source);
        written("ag-ui", "ag-ui", "1.0", source);
        findings("ag-ui", source);
    }
}

/// A journal of these events.
fn journal(events: &[&str]) -> String {
    let lines = events.iter().enumerate();
    let line = |(n, event): (usize, &&str)| format!("{{\"seq\":{},\"event\":{event}}}\n", n + 1);
    lines.map(line).collect()
}

/// Which tasks were canceled and which failed.
fn stops(dialect: &str, stream: &str) -> Vec<(String, String)> {
    let all = events(dialect, stream);
    let all = all.iter().map(|event| serde_json::from_str::<serde_json::Value>(event).unwrap());
    let stops = all.filter(|event| event["kind"] == "task-status");
    let stops = stops.filter(|event| event["status"] == "canceled" || event["status"] == "failed");
    let text = |event: &serde_json::Value, field: &str| event[field].as_str().unwrap().to_owned();
    stops.map(|event| (text(&event, "taskId"), text(&event, "status"))).collect()
}

#[test]
fn who_is_stopped_while_another_speaks_is_told_as_stopped() {
    let delta = |task: &str, text: &str| {
        format!("{{\"kind\":\"content-delta\",\"taskId\":\"{task}\",\"delta\":\"{text}\"}}")
    };
    let begun = |task: &str, more: &str| {
        format!("{{\"kind\":\"task-created\",\"taskId\":\"{task}\",\"agentId\":\"x\"{more}}}")
    };
    let (a, b) = (begun("a", ""), begun("b", ""));
    let (one, two, three) = (delta("a", "one"), delta("b", "two"), delta("a", "three"));
    let done = "{\"kind\":\"task-complete\",\"taskId\":\"a\"}";
    for status in ["canceled", "failed"] {
        let stopped =
            format!("{{\"kind\":\"task-status\",\"taskId\":\"b\",\"status\":\"{status}\"}}");
        for rest in [[&*three, &*stopped, done], [&*three, done, &*stopped]] {
            let source = journal(&[&[&*a, &*b, &*one, &*two], &rest[..]].concat());
            for dialect in ["ag-ui", "agent-api"] {
                let stream = written("journal", dialect, "1.0", &source);
                let told = stops(dialect, &stream);
                assert_eq!(told.len(), 1, "{stream}");
                assert!(told[0].0.starts_with('b') && told[0].1 == status, "{told:?} of {stream}");
                assert!(findings(dialect, &stream).is_empty(), "{stream}");
            }
        }
    }
    // And a subtask, which has no end of its own for that.
    let made = begun("b", ",\"parentTaskId\":\"a\"");
    let stopped = "{\"kind\":\"task-status\",\"taskId\":\"b\",\"status\":\"canceled\"}";
    let stream = written(
        "journal",
        "ag-ui",
        "1.0",
        &journal(&[&a, &one, &made, &two, stopped, &three, done]),
    );
    assert!(stream.contains("SUBAGENT_ERROR"), "{stream}");
    assert_eq!(stops("ag-ui", &stream), [("b".to_owned(), "canceled".to_owned())]);
}
