//! The Agent API: turns as responses, refusals in its own shape, and sessions of other tenants.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Desk};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Frames, Site, answer, key};

/// An agent that calls a tool it does not have, then speaks.
fn options() -> Options {
    let calls = vec![("weather".to_owned(), json!({}))];
    let lines = vec![
        Line { calls, ..Line::default() },
        Line { say: "Rain.".to_owned(), ..Line::default() },
    ];
    let ada = Agent::new("ada", Arc::new(Script::of(lines)));
    Options { agents: Some(Desk::new([ada])), ..Options::default() }
}

fn said(id: &str) -> Value {
    json!({"id": id, "role": "user", "type": "message",
           "content": [{"type": "text", "text": "how is the weather?"}]})
}

fn tools() -> Value {
    json!([{"type": "function", "function": {
        "name": "weather", "description": "", "parameters": {"type": "object"}}}])
}

async fn stream(site: &Site, body: &Value) -> Vec<Value> {
    let request = site.request(Method::POST, "/process").body(body.to_string());
    let mut frames = Frames::open(request).await;
    let mut all = Vec::new();
    while let Some(frame) = frames.maybe().await {
        all.push(frame.data());
    }
    all
}

#[tokio::test]
async fn a_tool_that_the_request_brings_is_called_and_without_it_there_is_none() {
    let site = Site::start_with(options(), &[]).await.0;
    let with = json!({"session_id": "s", "input": [said("m1")], "tools": tools()});
    let events = stream(&site, &with).await;
    let last = events.last().unwrap();
    assert_eq!((&last["object"], &last["status"]), (&json!("response"), &json!("incomplete")));
    assert_eq!(last["session_id"], "s");
    let output = json!({"role": "tool", "type": "function_call_output", "content": [
        {"type": "data", "data": {"call_id": "call-1-1", "output": "wet"}}]});
    let rest = stream(&site, &json!({"session_id": "s", "input": [output]})).await;
    assert_eq!(rest.last().unwrap()["status"], "completed");
    assert_eq!(rest.last().unwrap()["id"], last["id"], "a response is a task");
    // Without the tool the call fails, and the agent hears so.
    let events = stream(&site, &json!({"session_id": "t", "input": [said("m1")]})).await;
    let failed =
        events.iter().find(|e| e["type"] == "plugin_call_output" && e["code"] != json!(null));
    assert_eq!(failed.unwrap()["message"], "there is no tool `weather`");
}

#[tokio::test]
async fn the_same_message_again_is_the_same_turn_and_goes_on_after_the_last_id() {
    let site = Site::start_with(options(), &[]).await.0;
    let body = json!({"session_id": "s", "input": [said("m1")]});
    let first = stream(&site, &body).await;
    assert_eq!(stream(&site, &body).await, first);
    let request = site.request(Method::POST, "/process").body(body.to_string());
    let mut frames = Frames::open(request).await;
    let seen = frames.take(4).await;
    let last = seen[3].field("id").unwrap();
    let request = site.request(Method::POST, "/process").header("Last-Event-ID", last);
    let mut frames = Frames::open(request.body(body.to_string())).await;
    let mut rest = Vec::new();
    while let Some(frame) = frames.maybe().await {
        rest.push(frame.data());
    }
    assert_eq!(rest, first[4..]);
    let (_, state) = site.get("/api/threads/s").await;
    assert_eq!(state["tasks"].as_array().unwrap().len(), 1);
    // Another message under the same id is none of it.
    let mut other = body.clone();
    other["input"][0]["content"][0]["text"] = json!("something else");
    let request = site.request(Method::POST, "/process").body(other.to_string());
    let (status, refused) = answer(request.send().await.unwrap()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
}

#[tokio::test]
async fn what_is_no_request_changes_nothing_and_names_the_field() {
    let site = Site::start_with(options(), &[]).await.0;
    for path in ["/process", "/process/task"] {
        for (body, place) in [
            (json!({"session_id": "n"}), json!(["body", "input"])),
            (json!({"session_id": "n", "input": {}}), json!(["body", "input"])),
            (json!({"session_id": "n", "input": [7]}), json!(["body", "input", 0])),
            (json!({"session_id": 7, "input": [said("m")]}), json!(["body", "session_id"])),
            (
                json!({"session_id": "n", "input": [said("m")], "max_tokens": 1.5}),
                json!(["body", "max_tokens"]),
            ),
            (
                json!({"session_id": "n", "input": [said("m")], "tools": [{"name": ""}]}),
                json!(["body", "tools", 0]),
            ),
        ] {
            let request = site.request(Method::POST, path).body(body.to_string());
            let (status, refused) = answer(request.send().await.unwrap()).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
            assert_eq!(refused["detail"][0]["loc"], place, "{body}: {refused}");
        }
    }
    let output = json!({"type": "function_call_output", "content": [
        {"type": "data", "data": {"call_id": "c", "output": "x"}}]});
    let body = json!({"session_id": "n", "input": [output]});
    let request = site.request(Method::POST, "/process").body(body.to_string());
    let (status, refused) = answer(request.send().await.unwrap()).await;
    assert_eq!(
        (status, &refused["detail"]),
        (StatusCode::NOT_FOUND, &json!("thread `n` not found"))
    );
    assert_eq!(site.get("/api/threads/n").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_session_of_another_tenant_is_not_there() {
    let keys = [key("acme", &["read", "write"]), key("other", &["read", "write"])];
    let (site, keys) = Site::start_with(options(), &keys).await;
    let body = json!({"session_id": "s", "input": [said("m1")]}).to_string();
    let submit = async |key: &str| {
        let request = site.request(Method::POST, "/process/task").bearer_auth(key);
        answer(request.body(body.clone()).send().await.unwrap()).await.1
    };
    let task = submit(&keys[0]).await["task_id"].as_str().unwrap().to_owned();
    let path = format!("/process/task/{task}");
    let (status, refused) = site.ask(Method::GET, &path, &keys[1]).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(refused["detail"], format!("task `{task}` not found"));
    // The same words in another tenant are another session.
    submit(&keys[1]).await;
    let mine = site.ask(Method::GET, "/api/threads/s", &keys[0]).await.1;
    assert_eq!(mine["tasks"].as_array().unwrap().len(), 1);
    let request = site.request(Method::POST, "/process").body(body.clone());
    let (status, refused) = answer(request.send().await.unwrap()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(refused["detail"].is_string(), "{refused}");
}
