//! Traces: what a collector gets to know of tasks, model calls and tools.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use selvedge_server::{Options, TraceOptions};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::site::{Site, host};

/// A collector, and what it is sent.
async fn collector() -> (String, UnboundedReceiver<Value>) {
    let (sender, receiver) = unbounded_channel();
    let take = move |body: Bytes| async move {
        sender.send(serde_json::from_slice(&body).unwrap()).unwrap();
        "{}"
    };
    let url = host(Router::new().route("/v1/traces", post(take))).await;
    (url, receiver)
}

/// Spans by their names: parent's name, attributes, whether it failed, milliseconds.
fn spans(sent: &[Value]) -> BTreeMap<String, Value> {
    let all: Vec<&Value> = sent
        .iter()
        .flat_map(|body| body["resourceSpans"].as_array().unwrap())
        .flat_map(|resource| resource["scopeSpans"].as_array().unwrap())
        .flat_map(|scope| scope["spans"].as_array().unwrap())
        .collect();
    let name = |span: &Value| span["name"].as_str().unwrap().to_owned();
    let by_id: BTreeMap<&str, String> =
        all.iter().map(|span| (span["spanId"].as_str().unwrap(), name(span))).collect();
    let traces: BTreeSet<&str> = all.iter().map(|s| s["traceId"].as_str().unwrap()).collect();
    assert_eq!(traces.len(), 1, "one turn is one trace");
    let nanos = |time: &Value| time.as_str().unwrap().parse::<u64>().unwrap();
    let told = all.iter().map(|span| {
        let parent = span["parentSpanId"].as_str().and_then(|id| by_id.get(id));
        let attributes: BTreeMap<&str, Value> = span["attributes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| {
                let value = a["value"].as_object().unwrap().values().next().unwrap().clone();
                (a["key"].as_str().unwrap(), value)
            })
            .collect();
        let millis =
            (nanos(&span["endTimeUnixNano"]) - nanos(&span["startTimeUnixNano"])) / 1_000_000;
        let failed = span["status"]["code"] == json!(2);
        let value = json!({
            "parent": parent, "attributes": attributes, "failed": failed, "millis": millis,
        });
        (name(span), value)
    });
    told.collect()
}

#[tokio::test]
async fn a_turn_is_a_trace_of_its_tasks_model_calls_and_tools_without_what_was_said() {
    let (endpoint, mut sent) = collector().await;
    let options = Options { traces: Some(TraceOptions { endpoint }), ..Options::default() };
    let mut site = Site::start_with(options, &[]).await.0;
    site.thread("talk").await;
    let at = |second: u32| format!("2026-01-01T00:00:{second:02}Z");
    let events = json!([
        {"kind": "task-created", "taskId": "t", "initiator": "user", "agentId": "planner", "timestamp": at(0)},
        {"kind": "step-started", "taskId": "t", "model": "m-1", "timestamp": at(1)},
        {"kind": "content-delta", "taskId": "t", "delta": "secret words"},
        {"kind": "step-finished", "taskId": "t", "model": "m-1-large", "finishReason": "tool_calls",
         "providerName": "acme", "usage": {"input_tokens": 7, "output_tokens": 5}, "timestamp": at(3)},
        {"kind": "tool-start", "taskId": "t", "toolCallId": "c", "toolName": "look",
         "arguments": {"q": "secret words"}, "timestamp": at(3)},
        {"kind": "subtask-created", "taskId": "t", "subtaskId": "u", "prompt": "secret words", "timestamp": at(4)},
        {"kind": "task-created", "taskId": "u", "parentTaskId": "t", "initiator": "agent", "agentId": "helper", "timestamp": at(4)},
        {"kind": "task-status", "taskId": "u", "agentId": "helper", "status": "failed", "code": "boom",
         "message": "secret words", "timestamp": at(5)},
        {"kind": "tool-complete", "taskId": "t", "toolCallId": "c", "toolName": "look", "success": false,
         "outcome": "denied", "error": "secret words", "timestamp": at(6)},
        {"kind": "task-complete", "taskId": "t", "timestamp": at(9)},
        {"kind": "task-status", "taskId": "t", "status": "failed", "timestamp": at(10)},
    ]);
    let (status, answer) = site.post("/api/threads/talk/events", events.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    // Told at the latest when the server ends.
    site.stop().await;
    let mut all = Vec::new();
    while let Ok(body) = sent.try_recv() {
        all.push(body);
    }
    assert!(!serde_json::to_string(&all).unwrap().contains("secret"));
    let told = spans(&all);
    let names: Vec<&str> = told.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["chat m-1", "execute_tool look", "invoke_agent helper", "invoke_agent planner"]
    );
    assert_eq!(
        told["invoke_agent planner"],
        json!({"parent": null, "failed": false, "millis": 9000, "attributes": {
            "gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "talk",
            "gen_ai.agent.name": "planner", "selvedge.task.id": "t",
            "selvedge.task.state": "completed",
            "gen_ai.usage.input_tokens": "7", "gen_ai.usage.output_tokens": "5"}})
    );
    assert_eq!(
        told["invoke_agent helper"],
        json!({"parent": "invoke_agent planner", "failed": true, "millis": 1000, "attributes": {
            "gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "talk",
            "gen_ai.agent.name": "helper", "selvedge.task.id": "u",
            "selvedge.task.state": "failed", "error.type": "boom"}})
    );
    assert_eq!(
        told["chat m-1"],
        json!({"parent": "invoke_agent planner", "failed": false, "millis": 2000, "attributes": {
            "gen_ai.operation.name": "chat", "gen_ai.conversation.id": "talk",
            "gen_ai.agent.name": "planner", "gen_ai.request.model": "m-1",
            "gen_ai.response.model": "m-1-large", "gen_ai.provider.name": "acme",
            "gen_ai.usage.input_tokens": "7", "gen_ai.usage.output_tokens": "5",
            "gen_ai.response.finish_reasons": {"values": [{"stringValue": "tool_calls"}]}}})
    );
    assert_eq!(
        told["execute_tool look"],
        json!({"parent": "invoke_agent planner", "failed": true, "millis": 3000, "attributes": {
            "gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "talk",
            "gen_ai.agent.name": "planner", "gen_ai.tool.name": "look",
            "gen_ai.tool.call.id": "c", "error.type": "denied"}})
    );
}

#[tokio::test]
async fn a_collector_that_is_not_there_holds_nothing_up() {
    let endpoint = "http://127.0.0.1:9".to_owned();
    let options = Options { traces: Some(TraceOptions { endpoint }), ..Options::default() };
    let mut site = Site::start_with(options, &[]).await.0;
    site.thread("talk").await;
    let events = r#"[{"kind":"task-created","taskId":"t","initiator":"user"},{"kind":"task-complete","taskId":"t"}]"#;
    assert_eq!(site.post("/api/threads/talk/events", events).await.0, 200);
    site.stop().await;
}
