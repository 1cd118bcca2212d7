//! `openai-threads`: what the objects and the Assistants stream mean, and what is written for them.

use std::collections::HashMap;

use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect::{self, DecodeOptions, Dialect, decode};
use selvedge_protocol::journal::transcript::{Action, ActionKind, Transcript};
use selvedge_protocol::json::text;
use selvedge_protocol::validate::validate;
use serde_json::{Value, json};

use crate::identity::convert;
use crate::recordings::{cached, fixture};

fn openai() -> &'static Dialect {
    dialect::named("openai-threads").unwrap()
}

fn journal() -> &'static Dialect {
    dialect::named("journal").unwrap()
}

fn own(name: &str) -> String {
    fixture(&format!("openai-threads/{name}"))
}

fn events(source: &str) -> Vec<Value> {
    let mut out = Vec::new();
    decode(openai(), &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let mut text = String::new();
            event.write(&mut text);
            out.push(serde_json::from_str(&text).unwrap());
        }
    });
    out
}

fn findings(source: &str) -> Vec<(String, Severity, String)> {
    let mut report = Report::new();
    validate(openai(), source.as_bytes(), &mut report);
    let found = report.diagnostics().iter();
    found.map(|d| (d.code.to_owned(), d.severity, d.pointer.clone())).collect()
}

fn errors(source: &str) -> Vec<(String, String)> {
    let found = findings(source).into_iter();
    found.filter(|f| f.1 == Severity::Error).map(|(code, _, pointer)| (code, pointer)).collect()
}

/// The names and data of a stream's events.
fn stream(text: &str) -> Vec<(String, Value)> {
    text.split("\n\n")
        .filter(|event| !event.is_empty())
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let name = name.strip_prefix("event: ").unwrap().to_owned();
            let data = data.strip_prefix("data: ").unwrap();
            (name, serde_json::from_str(data).unwrap_or(Value::String(data.to_owned())))
        })
        .collect()
}

fn from_events(events: &[Value]) -> String {
    let lines: String = (1..)
        .zip(events)
        .map(|(i, event)| format!("{}\n", json!({"seq": i, "event": event})))
        .collect();
    convert(journal(), openai(), &lines)
}

#[test]
fn every_recording_is_valid() {
    for recording in cached().iter().filter(|r| r.dialect == "openai-threads") {
        assert_eq!(findings(&recording.text), [], "{}", recording.name);
    }
}

#[test]
fn a_stream_that_requires_action_asks_for_tools() {
    for file in ["stream_requires_action.sse", "stream_requires_action.unset.sse"] {
        let run = |mut event: Value| {
            event["taskId"] = json!("run_1");
            event
        };
        let agent = |event: Value| {
            let mut event = run(event);
            event["agentId"] = json!("asst_abc");
            event
        };
        assert_eq!(
            events(&own(file)),
            [
                json!({"kind": "thread-created", "contextId": "thread_abc123", "title": "weather",
                    "createdAt": "2026-11-15T19:13:21Z"}),
                json!({"kind": "participant-joined", "participantId": "asst_abc", "role": "agent",
                    "model": "gpt-4o"}),
                agent(json!({"kind": "task-created", "initiator": "user",
                    "timestamp": "2026-11-15T19:13:30Z"})),
                run(json!({"kind": "message", "role": "system", "content": "be kind"})),
                agent(json!({"kind": "task-status", "status": "working",
                    "timestamp": "2026-11-15T19:13:31Z"})),
                agent(json!({"kind": "step-started", "stepId": "step_1",
                    "timestamp": "2026-11-15T19:13:52Z"})),
                agent(json!({"kind": "tool-call-started", "toolCallId": "call_1",
                    "toolName": "get_weather"})),
                run(
                    json!({"kind": "tool-call-delta", "toolCallId": "call_1", "delta": "{\"city\":"})
                ),
                run(
                    json!({"kind": "tool-call-delta", "toolCallId": "call_1", "delta": "\"Tokyo\"}"})
                ),
                agent(json!({"kind": "tool-call-started", "toolCallId": "call_2",
                    "toolName": "get_time"})),
                agent(
                    json!({"kind": "tool-call", "toolCallId": "call_1", "toolName": "get_weather",
                    "arguments": {"city": "Tokyo"}})
                ),
                agent(json!({"kind": "tool-call", "toolCallId": "call_2", "toolName": "get_time",
                    "arguments": {}})),
                agent(json!({"kind": "task-status", "status": "waiting-input"})),
            ],
            "{file}"
        );
    }
}

#[test]
fn a_stream_goes_on_after_tool_outputs() {
    for file in ["stream_tool_outputs_completed.sse", "stream_tool_outputs_completed.unset.sse"] {
        let all = events(&own(file));
        let kinds: Vec<_> = all.iter().map(|e| e["kind"].as_str().unwrap()).collect();
        assert_eq!(
            kinds,
            [
                "thread-created",
                "participant-joined",
                "task-created",
                "step-started",
                "tool-call",
                "tool-complete",
                "tool-call",
                "tool-complete",
                "step-finished",
                "message",
                "task-status",
                "step-started",
                "part-started",
                "content-delta",
                "content-delta",
                "content-delta",
                "content-delta",
                "content-complete",
                "source",
                "source",
                "step-finished",
                "task-complete"
            ]
        );
        assert_eq!(all[5]["result"], json!({"temperature": 18}));
        assert_eq!(all[7]["result"], json!("12:00"));
        assert_eq!(
            all[8]["usage"],
            json!({"input_tokens": 60, "output_tokens": 15, "total_tokens": 75})
        );
        assert_eq!(all[17]["content"], "The weather is 18°C “ok” 😀【4:0†src】");
        assert_eq!(all[17]["partId"], "msg_2:0");
        assert_eq!(all[19]["sourceId"], "file-9");
    }
}

#[test]
fn the_end_of_a_run_is_told() {
    for (file, expected) in [
        (
            "stream_cancelled.sse",
            json!({"status": "canceled", "timestamp": "2026-11-15T19:14:18Z"}),
        ),
        (
            "stream_failed.sse",
            json!({"status": "failed", "message": "slow down",
                "metadata": {"code": "rate_limit_exceeded"}, "timestamp": "2026-11-15T19:14:09Z"}),
        ),
        (
            "stream_expired.sse",
            json!({"status": "failed", "message": "expired", "metadata": {"reason": "timeout"},
                "timestamp": "2026-11-15T19:23:30Z"}),
        ),
        ("stream_error.sse", json!({"status": "failed", "message": "The server had an error"})),
    ] {
        let mut last = events(&own(file)).pop().unwrap();
        let last = last.as_object_mut().unwrap();
        assert_eq!(last.remove("kind"), Some(json!("task-status")), "{file}");
        assert_eq!(last.remove("taskId"), Some(json!("run_1")));
        last.remove("agentId");
        assert_eq!(Value::Object(last.clone()), expected, "{file}");
    }
    let last = events(&own("stream_incomplete.sse")).pop().unwrap();
    assert_eq!(last["kind"], "task-complete");
    assert_eq!(last["metadata"], json!({"reason": "max_completion_tokens"}));
}

#[test]
fn pages_are_read_in_the_order_things_happened() {
    let all = events(&own("messages_page.json"));
    let ids: Vec<_> =
        all.iter().filter(|e| e["kind"] == "message").map(|e| &e["messageId"]).collect();
    assert_eq!(ids, ["msg_1", "msg_2", "msg_3", "msg_4"]);
    let first = all.iter().find(|e| e["kind"] == "message").unwrap();
    assert_eq!(
        first["content"],
        json!([{"type": "text", "text": "What's the weather in Tokyo? é 😀 \u{a0} </b>"},
            {"type": "image", "image_url": "https://example.org/a.png"},
            {"type": "file", "name": "file-2"}])
        .as_array()
        .map(|parts| {
            // The exact white space is the recording's.
            let mut parts = parts.clone();
            parts[0]["text"] = first["content"][0]["text"].clone();
            Value::Array(parts)
        })
        .unwrap()
    );
    assert_eq!(first["attachments"], json!([{"name": "file-1"}]));
}

#[test]
fn threads_with_messages_and_tool_outputs_are_read() {
    let message: Value = serde_json::from_str(&own("message_3_assistant_completed.json")).unwrap();
    let mut thread: Value = serde_json::from_str(&own("thread_minimal.json")).unwrap();
    thread["messages"] = json!([message]);
    let all = events(&thread.to_string());
    assert_eq!(all[0]["contextId"], "thread_min");
    assert_eq!(all[2]["content"], "I cannot do that.");
    assert_eq!(all[2]["finishReason"], "content_filter");

    let request = r#"{"tool_outputs":[{"tool_call_id":"c","output":"{\"a\":1}"}]}"#;
    assert_eq!(
        events(request)[1],
        json!({"kind": "tool-complete", "toolCallId": "c", "success": true, "result": {"a": 1}})
    );
    let wrapped =
        r#"{"event":"thread.created","data":{"id":"t","object":"thread","created_at":1}}"#;
    assert_eq!(events(wrapped)[0]["contextId"], "t");
    for source in [request, wrapped, &thread.to_string()] {
        assert_eq!(convert(journal(), openai(), &convert(openai(), journal(), source)), source);
    }
}

#[test]
fn an_edited_field_shows_in_the_stream() {
    let source = own("stream_tool_outputs_completed.sse");
    let carried = convert(openai(), journal(), &source);
    for (old, new) in [("is 18°C", "is 19°C"), ("12:00", "13:00")] {
        let edited = carried.replace(old, new);
        assert_ne!(edited, carried);
        assert_eq!(convert(journal(), openai(), &edited), source.replace(old, new));
    }
}

#[test]
fn a_turn_becomes_a_run_with_steps_and_messages() {
    let text = from_events(&[
        json!({"kind": "thread-created", "contextId": "t", "title": "T"}),
        json!({"kind": "message", "role": "user", "author": "ann", "content": "hi", "messageId": "m1",
            "timestamp": "2026-01-01T00:00:00Z"}),
        json!({"kind": "task-created", "taskId": "r", "agentId": "a", "initiator": "user",
            "timestamp": "2026-01-01T00:00:01Z"}),
        json!({"kind": "step-started", "taskId": "r", "model": "gpt"}),
        json!({"kind": "thought-stream", "taskId": "r", "thoughtId": "x", "content": "hm",
            "thoughtType": "thinking", "verbosity": "normal"}),
        json!({"kind": "tool-call", "taskId": "r", "toolCallId": "c", "toolName": "f",
            "arguments": {"x": 1}}),
        json!({"kind": "step-finished", "taskId": "r", "finishReason": "tool_calls",
            "usage": {"input_tokens": 3, "output_tokens": 4}}),
        json!({"kind": "tool-complete", "taskId": "r", "toolCallId": "c", "success": true,
            "result": [1, 2]}),
        json!({"kind": "step-started", "taskId": "r"}),
        json!({"kind": "content-delta", "taskId": "r", "delta": "he"}),
        json!({"kind": "content-delta", "taskId": "r", "delta": "llo"}),
        json!({"kind": "step-finished", "taskId": "r", "finishReason": "stop",
            "usage": {"input_tokens": 5, "output_tokens": 6}}),
        json!({"kind": "task-complete", "taskId": "r", "timestamp": "2026-01-01T00:00:09Z"}),
    ]);
    assert_eq!(errors(&text), []);
    let all = stream(&text);
    let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "thread.created",
            "thread.message.created",
            "thread.run.created",
            "thread.run.queued",
            "thread.run.in_progress",
            "thread.run.step.created",
            "thread.run.step.in_progress",
            "thread.run.step.delta",
            "thread.run.step.delta",
            "thread.run.step.completed",
            "thread.run.step.created",
            "thread.run.step.in_progress",
            "thread.message.created",
            "thread.message.in_progress",
            "thread.message.delta",
            "thread.message.delta",
            "thread.message.completed",
            "thread.run.step.completed",
            "thread.run.completed",
            "done"
        ]
    );
    assert_eq!(
        all[1].1,
        json!({"id": "m1", "assistant_id": null, "attachments": [], "completed_at": 1767225600,
            "content": [{"text": {"annotations": [], "value": "hi"}, "type": "text"}],
            "created_at": 1767225600, "incomplete_at": null, "incomplete_details": null,
            "metadata": {"actor": "ann"}, "object": "thread.message", "role": "user",
            "run_id": null, "status": "completed", "thread_id": "t"})
    );
    assert_eq!(
        all[9].1["step_details"]["tool_calls"],
        json!([{"id": "c", "function": {"arguments": "{\"x\":1}", "name": "f", "output": "[1,2]"},
            "type": "function"}])
    );
    assert_eq!(
        all[9].1["usage"],
        json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7})
    );
    assert_eq!(all[16].1["content"][0]["text"]["value"], "hello");
    let run = &all[18].1;
    assert_eq!(
        run["usage"],
        json!({"prompt_tokens": 8, "completion_tokens": 10, "total_tokens": 18})
    );
    assert_eq!(run["completed_at"], 1767225609);
    assert_eq!((&run["model"], &run["assistant_id"]), (&json!("gpt"), &json!("a")));
}

#[test]
fn a_question_becomes_a_required_action() {
    let text = from_events(&[
        json!({"kind": "thread-created", "contextId": "t"}),
        json!({"kind": "task-created", "taskId": "r", "initiator": "user"}),
        json!({"kind": "input-required", "taskId": "r", "inputId": "i", "inputType": "selection",
            "prompt": "which?", "options": ["a", "b"]}),
        json!({"kind": "input-received", "taskId": "r", "inputId": "i", "providedBy": "user",
            "value": "b"}),
        json!({"kind": "content-complete", "taskId": "r", "content": "b it is"}),
        json!({"kind": "task-complete", "taskId": "r"}),
    ]);
    assert_eq!(errors(&text), []);
    let all = stream(&text);
    let names: Vec<_> =
        all.iter().map(|(name, _)| name.strip_prefix("thread.").unwrap_or(name)).collect();
    assert_eq!(
        names,
        [
            "created",
            "run.created",
            "run.queued",
            "run.in_progress",
            "run.step.created",
            "run.step.in_progress",
            "run.step.delta",
            "run.step.delta",
            "run.requires_action",
            "run.step.completed",
            "run.queued",
            "run.in_progress",
            "run.step.created",
            "run.step.in_progress",
            "message.created",
            "message.in_progress",
            "message.delta",
            "message.completed",
            "run.step.completed",
            "run.completed",
            "done"
        ]
    );
    let call = &all[8].1["required_action"]["submit_tool_outputs"]["tool_calls"][0];
    assert_eq!(call["id"], "i");
    assert_eq!(call["function"]["name"], "request_input");
    let arguments: Value =
        serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(
        arguments,
        json!({"input_type": "selection", "prompt": "which?", "options": ["a", "b"]})
    );
    assert_eq!(all[9].1["step_details"]["tool_calls"][0]["function"]["output"], "b");
}

/// Texts of each kind, calls and returns: what other protocols must agree on.
fn gist(dialect: &'static Dialect, source: &str) -> HashMap<&'static str, Vec<String>> {
    let mut transcript = Transcript::new();
    decode(dialect, &DecodeOptions::default(), source, |batch| {
        batch.events.iter().for_each(|event| transcript.apply(event, &mut Vec::new()));
    });
    let mut out: HashMap<_, Vec<String>> = HashMap::new();
    for action in transcript.actions().iter().filter(|a| !a.superseded) {
        match action.kind {
            ActionKind::UserMessage => out.entry("user").or_default().extend(texts(action)),
            ActionKind::AssistantMessage => out.entry("agent").or_default().extend(texts(action)),
            ActionKind::ToolCall => {
                let name = action.get("toolName").map_or("", |n| n.as_str());
                let arguments = compact(&action.arguments());
                let arguments = if arguments.is_empty() { "{}" } else { &arguments };
                out.entry("call").or_default().push(format!("{name}({arguments})"));
            }
            ActionKind::ToolReturn => {
                let failed = action.get("success").and_then(|s| s.bool()) == Some(false);
                let (first, second) =
                    if failed { ("error", "result") } else { ("result", "error") };
                let value = action.get(first).or_else(|| action.get(second));
                let value = value.map_or(String::new(), |v| compact(v));
                out.entry("return").or_default().push(value);
            }
            ActionKind::Thinking | ActionKind::System => {}
        }
    }
    out
}

/// The texts of a message, part by part.
fn texts(action: &Action) -> Vec<String> {
    let mut out: Vec<String> =
        action.pieces.iter().map(|piece| text::decode(&piece.body).into_owned()).collect();
    if let Some(content) = action.get("content") {
        let parts: Value = serde_json::from_str(content).unwrap();
        let parts = parts.as_array().unwrap().iter();
        out.extend(parts.filter_map(|part| Some(part["text"].as_str()?.to_owned())));
    }
    out.retain(|text| !text.is_empty());
    out
}

/// What is missing of `source` in `back`. More may be there: calls that stand for questions, links
/// that stand for files, text that was taken back after it was streamed.
fn missing<'a>(source: &'a [String], back: &[String]) -> Vec<&'a String> {
    let mut left = back.to_vec();
    source
        .iter()
        .filter(|text| match left.iter().position(|other| other == *text) {
            Some(at) => {
                left.remove(at);
                false
            }
            None => true,
        })
        .collect()
}

/// A value however it is wrapped: the JSON inside a string counts as the value.
fn compact(text: &str) -> String {
    let value: Result<Value, _> = serde_json::from_str(text);
    match value {
        Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => value.to_string(),
            _ => inner,
        },
        Ok(value) => value.to_string(),
        Err(_) => text.to_owned(),
    }
}

#[test]
fn what_other_protocols_say_is_read_back() {
    let mut tried = 0;
    let mut wrong = Vec::new();
    for recording in cached() {
        let Some(from) = dialect::named(recording.dialect) else { continue };
        if matches!(recording.dialect, "openai-threads" | "thread-protocol") {
            continue;
        }
        let source = gist(from, &recording.text);
        let text = convert(from, openai(), &recording.text);
        tried += 1;
        if text.is_empty() {
            continue;
        }
        let found = errors(&text);
        if !found.is_empty() {
            wrong.push(format!("{}: {found:?}", recording.name));
            continue;
        }
        let back = gist(openai(), &text);
        for (what, said) in &source {
            let none = Vec::new();
            let back = back.get(what).unwrap_or(&none);
            let missing = missing(said, back);
            if !missing.is_empty() {
                let name = &recording.name;
                wrong.push(format!("{name}: {what} lacks {missing:?}\n  has {back:?}"));
            }
        }
    }
    assert!(tried > 100, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn objects_are_checked() {
    let run = own("run_completed.json");
    for (old, new, code, pointer) in [
        ("\"status\":\"completed\"", "\"status\":\"done\"", "unknown-value", "/0/status"),
        ("\"model\":\"gpt-4o\",", "", "missing-field", "/0"),
        ("\"created_at\":1794770010", "\"created_at\":\"x\"", "wrong-type", "/0/created_at"),
        ("\"completed\"", "\"requires_action\"", "openai-required-action", "/0"),
    ] {
        assert_eq!(errors(&run.replacen(old, new, 1)), [(code.to_owned(), pointer.to_owned())]);
    }
    let stream = own("stream_cancelled.sse");
    let cut = stream.replace("event: done\ndata: [DONE]\n\n", "");
    assert_eq!(findings(&cut), [("openai-no-done".into(), Severity::Warning, String::new())]);
    let again = format!("{stream}{}", own("stream_incomplete.sse"));
    assert!(errors(&again).iter().any(|(code, _)| code == "openai-after-end"));
    let orphan = "event: thread.message.delta\ndata: {\"id\":\"m\",\"object\":\"thread.message.delta\",\"delta\":{}}\n\n";
    assert_eq!(errors(orphan), [("openai-unknown-id".into(), "/0/id".into())]);
}

#[test]
fn hostile_input_gives_diagnostics() {
    for source in ["", "{", "{}", "[1]", "data: {\n\n", "event: thread.run.created\ndata: nul\n\n"]
    {
        assert!(!findings(source).is_empty(), "{source:?}");
        events(source);
    }
    for object in [
        "thread",
        "thread.message",
        "thread.run",
        "thread.run.step",
        "list",
        "thread.message.delta",
        "thread.run.step.delta",
    ] {
        for odd in ["null", "7", "[]", "[7]", "{}", "\"\"", "{\"a\":{}}"] {
            let source = format!(
                "{{\"object\":\"{object}\",\"id\":{odd},\"run_id\":\"r\",\"role\":\"user\",\"content\":{odd},\
                 \"delta\":{odd},\"step_details\":{odd},\"status\":{odd},\"data\":{odd},\"usage\":{odd},\
                 \"metadata\":{odd},\"required_action\":{odd},\"created_at\":{odd},\"messages\":{odd}}}"
            );
            events(&source);
            findings(&source);
            assert_eq!(
                convert(journal(), openai(), &convert(openai(), journal(), &source)),
                source
            );
        }
    }
}

#[test]
fn recordings_are_told_apart() {
    for name in ["openai-threads", "aitp"] {
        let own = dialect::named(name).unwrap();
        for recording in cached() {
            let end = (0..=recording.text.len().min(65536))
                .rev()
                .find(|at| recording.text.is_char_boundary(*at))
                .unwrap();
            let score = (own.detect)(&recording.text[..end]);
            let listed = recording.name.ends_with("threads.json");
            if recording.dialect == name && !listed {
                assert!(score >= 85, "{name} on {}: {score}", recording.name);
            } else if recording.dialect != name {
                assert_eq!(score, 0, "{name} on {}", recording.name);
            }
        }
    }
}

#[test]
fn a_stream_written_anew_says_the_same() {
    for recording in cached().iter().filter(|r| r.dialect == "openai-threads") {
        let text = from_events(&events(&recording.text));
        assert_eq!(errors(&text), [], "{}: {text}", recording.name);
        let (was, is) = (gist(openai(), &recording.text), gist(openai(), &text));
        for (what, said) in &was {
            let none = Vec::new();
            let missing = missing(said, is.get(what).unwrap_or(&none));
            assert!(missing.is_empty(), "{}: {what} lacks {missing:?}", recording.name);
        }
    }
}
