//! Turns that run beside each other: what each says stays its own, and ends when it ends.

use selvedge_protocol::dialect::named;
use serde_json::{Value, json};

use crate::ai_sdk_messages::convert_for;
use crate::identity;

fn convert(from: &str, to: &str, source: &str) -> String {
    identity::convert(named(from).unwrap(), named(to).unwrap(), source)
}

/// A journal of native events.
fn journal(events: &[Value]) -> String {
    let line =
        |(nth, event): (usize, &Value)| format!("{{\"seq\":{},\"event\":{event}}}\n", nth + 1);
    events.iter().enumerate().map(line).collect()
}

fn created(message: &str, agent: &str) -> Value {
    json!({"kind": "task-created", "taskId": format!("{message}/{agent}"), "agentId": agent,
           "initiator": "user", "dispatched": true, "messageId": message})
}

fn said(message: &str) -> Value {
    json!({"kind": "message", "messageId": message, "role": "user", "content": message})
}

fn delta(task: &str, text: &str) -> Value {
    json!({"kind": "content-delta", "taskId": task, "partId": "t", "delta": text})
}

/// Two turns that say `A1 A2 A3` and `B1 B2` in turn.
fn interleaved(begin: Vec<Value>, a: &str, b: &str) -> String {
    let step = |kind: &str, task: &str| json!({"kind": kind, "taskId": task});
    let part = |kind: &str, task: &str| json!({"kind": kind, "taskId": task, "partId": "t", "partType": "text"});
    let mut all = begin;
    all.extend([
        step("step-started", a),
        part("part-started", a),
        delta(a, "A1 "),
        step("step-started", b),
        part("part-started", b),
        delta(b, "B1 "),
        delta(a, "A2 "),
        delta(b, "B2"),
        part("part-finished", b),
        step("step-finished", b),
        json!({"kind": "task-complete", "taskId": b}),
        delta(a, "A3"),
        part("part-finished", a),
        step("step-finished", a),
        json!({"kind": "task-complete", "taskId": a}),
    ]);
    journal(&all)
}

fn of_one_message() -> String {
    interleaved(vec![said("m"), created("m", "a"), created("m", "b")], "m/a", "m/b")
}

fn of_two_messages() -> String {
    let begin = vec![said("m"), created("m", "a"), said("n"), created("n", "b")];
    interleaved(begin, "m/a", "n/b")
}

#[test]
fn each_word_of_turns_beside_each_other_is_told_once() {
    let dialects = ["looopy", "a2a", "openai-threads", "agent-api", "ag-ui", "ai-sdk-stream"];
    for source in [of_one_message(), of_two_messages()] {
        for dialect in dialects {
            let told = convert("journal", dialect, &source);
            for word in ["A1 ", "A2 ", "A3", "B1 ", "B2"] {
                let piece = format!("\"{word}\"");
                // The Agent API also says each message as a whole.
                let count = told.lines().filter(|line| line.contains(&piece)).count();
                let most = if dialect == "agent-api" { 5 } else { 1 };
                assert!((1..=most).contains(&count), "{dialect}: {word} {count} times in {told}");
            }
            if dialect == "agent-api" {
                let again = "\"text\":\"B1 B2\"";
                assert!(!told.contains(again), "what came before another response: {told}");
            }
        }
    }
}

#[test]
fn a_turn_ends_for_its_readers_when_it_ends() {
    for source in [of_one_message(), of_two_messages()] {
        for (dialect, end) in [
            ("looopy", "\"kind\":\"task-complete\""),
            ("a2a", "TASK_STATE_COMPLETED"),
            ("openai-threads", "event: thread.run.completed"),
        ] {
            let told = convert("journal", dialect, &source);
            let ends: Vec<usize> = told.match_indices(end).map(|(at, _)| at).collect();
            assert_eq!(ends.len(), 2, "{dialect}: {told}");
            assert!(told.find("\"B2\"").unwrap() < ends[0], "{dialect}: {told}");
            assert!(told.find("\"A3\"").unwrap() < ends[1], "{dialect}: {told}");
            assert!(!told.contains("m/a-2"), "{dialect}: nothing is begun anew: {told}");
        }
    }
}

/// UIMessages of the assistant: ids, and what their parts show.
fn shown(messages: &str) -> Value {
    let all: Vec<Value> = serde_json::from_str(messages).unwrap();
    let part = |part: &Value| match part["type"].as_str() {
        Some(kind) if kind.starts_with("data-") => None,
        Some("text") => Some(json!([part["text"], part["providerMetadata"]["selvedge"]["agent"]])),
        Some("step-start") => Some(json!("step")),
        _ => {
            let agent = &part["callProviderMetadata"]["selvedge"]["agent"];
            Some(json!([part["toolCallId"], part["state"], agent]))
        }
    };
    let message = |one: &Value| {
        let parts = one["parts"].as_array().unwrap().iter().filter_map(part);
        json!([one["id"], parts.collect::<Vec<_>>()])
    };
    all.iter().filter(|one| one["role"] == "assistant").map(message).collect()
}

/// What a reader of the stream has in the end, and what the history says.
fn both(source: &str, version: &str) -> (Value, Value) {
    let stream = convert_for("journal", "ai-sdk-stream", version, source);
    let reduced = convert_for("ai-sdk-stream", "ai-sdk-messages", version, &stream);
    (shown(&reduced), shown(&convert_for("journal", "ai-sdk-messages", version, source)))
}

#[test]
fn agents_that_answer_one_message_are_one_message_of_the_ai_sdk() {
    for version in ["5", "6", "7"] {
        let (streamed, history) = both(&of_one_message(), version);
        let parts = json!(["step", ["A1 A2 A3", "a"], "step", ["B1 B2", "b"]]);
        assert_eq!(history, json!([["m/a", parts]]), "{version}");
        assert_eq!(streamed, history, "{version}");
    }
}

#[test]
fn turns_of_two_messages_are_messages_of_their_own_in_the_ai_sdk() {
    let history = convert_for("journal", "ai-sdk-messages", "6", &of_two_messages());
    let parts = |text: &str| json!(["step", [text, null]]);
    let own = json!([["m/a", parts("A1 A2 A3")], ["n/b", parts("B1 B2")]]);
    assert_eq!(shown(&history), own);
}

#[test]
fn a_question_of_one_of_several_agents_waits_in_the_last_step_until_it_is_answered() {
    let call = |task: &str, tool: &str| {
        json!({"kind": "tool-call", "taskId": task, "toolCallId": "call-1", "toolName": tool,
               "arguments": {}})
    };
    let done = |task: &str| {
        json!({"kind": "tool-complete", "taskId": task, "toolCallId": "call-1", "success": true,
               "result": 1})
    };
    let step = |task: &str| json!({"kind": "step-started", "taskId": task});
    let mut events = vec![
        said("m"),
        created("m", "a"),
        created("m", "b"),
        step("m/a"),
        call("m/a", "book"),
        json!({"kind": "input-required", "taskId": "m/a", "inputId": "i", "toolCallId": "call-1",
               "inputType": "confirmation", "prompt": ""}),
        step("m/b"),
        call("m/b", "look"),
        done("m/b"),
        step("m/b"),
        delta("m/b", "B"),
        json!({"kind": "task-complete", "taskId": "m/b"}),
    ];
    for version in ["6", "7"] {
        let (streamed, history) = both(&journal(&events), version);
        let parts = json!([
            "step",
            ["call-1", "approval-requested", "a"],
            ["m/b/call-1", "output-available", "b"],
            ["B", "b"],
        ]);
        assert_eq!(history, json!([["m/a", parts]]), "{version}");
        assert_eq!(streamed, history, "{version}");
    }
    events.extend([
        json!({"kind": "input-received", "taskId": "m/a", "inputId": "i", "value": true,
               "providedBy": "user"}),
        done("m/a"),
        step("m/a"),
        delta("m/a", "A"),
        json!({"kind": "task-complete", "taskId": "m/a"}),
    ]);
    for version in ["6", "7"] {
        let (streamed, history) = both(&journal(&events), version);
        let parts = json!([
            "step",
            ["call-1", "output-available", "a"],
            ["m/b/call-1", "output-available", "b"],
            ["B", "b"],
            "step",
            ["A", "a"],
        ]);
        assert_eq!(history, json!([["m/a", parts]]), "{version}");
        assert_eq!(streamed, history, "{version}");
    }
}
