//! The AI SDK's chat: what its client sends, and what it must not be able to do.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use selvedge_agents::script::Script;
use selvedge_agents::{Agent, Desk};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Site, asking_where, key};

fn options() -> Options {
    let ada = asking_where();
    let bob = Agent::new("bob", Arc::new(Script::saying("Hello.")));
    Options {
        agents: Some(Desk::new([ada, bob])),
        agent: Some("bob".to_owned()),
        ..Options::default()
    }
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

/// Status, header of the protocol, and body.
async fn send(site: &Site, key: &str, body: &Value) -> (u16, Option<String>, String) {
    let request = site.request(Method::POST, "/ai-sdk/chat").bearer_auth(key);
    let response = request.body(body.to_string()).send().await.unwrap();
    let header = response.headers().get("x-vercel-ai-ui-message-stream");
    let header = header.map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), header, response.text().await.unwrap())
}

/// The chunks of a stream, which must end as the protocol wants.
fn chunks(body: &str) -> Vec<Value> {
    let mut data: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(data.pop(), Some("[DONE]"), "{body}");
    data.into_iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect()
}

fn types(chunks: &[Value]) -> Vec<&str> {
    let types = chunks.iter().map(|chunk| chunk["type"].as_str().unwrap());
    types.filter(|ty| !ty.starts_with("data-")).collect()
}

#[tokio::test]
async fn a_request_that_comes_again_says_nothing_twice() {
    let site = Site::start_with(options(), &[]).await.0;
    let body = json!({"id": "c", "messages": [user("u1", "hi")]});
    let (status, header, first) = send(&site, "", &body).await;
    assert_eq!((status, header.as_deref()), (200, Some("v1")));
    let (_, _, second) = send(&site, "", &body).await;
    assert_eq!(chunks(&first), chunks(&second));
    let all = chunks(&first);
    assert_eq!(all[0], json!({"type": "start", "messageId": "u1/bob"}));
    let expected =
        ["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"];
    assert_eq!(types(&all), expected);
    // What was said before, and did not arrive, comes with the next.
    let both =
        json!({"id": "c", "messages": [user("u1", "hi"), user("u2", "lost"), user("u3", "x")]});
    assert_eq!(send(&site, "", &both).await.0, 200);
    let (_, page) = site.get("/api/threads/c/events").await;
    let said: Vec<&Value> =
        page["entries"].as_array().unwrap().iter().map(|e| &e["event"]).collect();
    let ids = |kind: &str, name: &str| -> Vec<String> {
        let own = said.iter().filter(|event| event["kind"] == kind);
        own.map(|event| event[name].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("message", "messageId"), ["u1", "u2", "u3"]);
    assert_eq!(ids("task-created", "taskId"), ["u1/bob", "u3/bob"]);
    // The id of a message is taken: other words under it are not.
    let other = json!({"id": "d", "messages": [user("u1", "hi")]});
    assert_eq!(send(&site, "", &other).await.0, 200);
}

#[tokio::test]
async fn only_chunks_that_the_version_knows_are_sent() {
    let site = Site::start_with(options(), &[]).await.0;
    let talk = json!([
        {"kind": "thread-created"},
        {"kind": "task-created", "taskId": "t", "agentId": "x", "initiator": "user"},
        {"kind": "tool-call", "taskId": "t", "toolCallId": "k", "toolName": "pay", "arguments": {}},
        {"kind": "input-required", "taskId": "t", "inputId": "i", "inputType": "confirmation",
         "prompt": "Pay?", "toolCallId": "k"},
        {"kind": "input-received", "taskId": "t", "inputId": "i", "providedBy": "user", "value": true},
    ]);
    site.thread("c").await;
    site.post("/api/threads/c/events", talk.to_string()).await;
    for (version, asked, answered) in
        [("5", false, false), ("6.0.1", true, false), ("7", true, true)]
    {
        let request = site.request(Method::GET, "/ai-sdk/chat/c/stream");
        let mut response = request.header("x-ai-sdk-version", version).send().await.unwrap();
        let mut body = String::new();
        while !body.contains("input-received") && !body.contains("approval-response") {
            body += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
        }
        assert_eq!(body.contains("\"tool-approval-request\""), asked, "{version}: {body}");
        assert_eq!(body.contains("\"tool-approval-response\""), answered, "{version}: {body}");
    }
    for version in ["4", "x", ""] {
        let request = site.request(Method::GET, "/ai-sdk/chat/c/stream");
        let response = request.header("x-ai-sdk-version", version).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{version}");
    }
}

#[tokio::test]
async fn bad_requests_name_what_is_wrong_and_change_nothing() {
    let site = Site::start_with(options(), &[]).await.0;
    let text = |parts: Value| json!({"id": "c", "messages": [{"id": "u", "role": "user", "parts": parts}]});
    for (body, at) in [
        (json!({}), "/id"),
        (json!({"id": ""}), "/id"),
        (json!({"id": 7}), "/id"),
        (json!({"id": "c"}), "/messages"),
        (json!({"id": "c", "messages": {}}), "/messages"),
        (json!({"id": "c", "messages": []}), "/messages"),
        (json!({"id": "c", "messages": [1]}), "/messages/0"),
        (json!({"id": "c", "messages": [{"role": "user", "parts": []}]}), "/messages/0/id"),
        (
            json!({"id": "c", "messages": [{"id": "u", "role": "x", "parts": []}]}),
            "/messages/0/role",
        ),
        (json!({"id": "c", "messages": [{"id": "u", "role": "user"}]}), "/messages/0/parts"),
        (text(json!([])), "/messages/0/parts"),
        (text(json!([{"type": "text", "text": ""}])), "/messages/0/parts"),
        (text(json!([{"type": "text"}])), "/messages/0/parts/0/text"),
        (text(json!([{"text": "x"}])), "/messages/0/parts/0/type"),
        (text(json!([{"type": "file"}])), "/messages/0/parts/0/url"),
        (
            json!({"id": "c", "messages": [{"id": "u", "role": "system", "parts": []}]}),
            "/messages/0/role",
        ),
        (json!({"id": "c", "messages": [user("u", "x")], "trigger": "resume-stream"}), "/trigger"),
        (json!({"id": "c", "messages": [user("u", "x")], "messageId": 1}), "/messageId"),
        (json!({"id": "c", "messages": [user("u", "x")], "agent": "nobody"}), "/agent"),
        (
            json!({"id": "c", "messages": (0..99).map(|i| user(&format!("u{i}"), "x")).collect::<Vec<_>>()}),
            "/messages",
        ),
    ] {
        let (status, header, told) = send(&site, "", &body).await;
        assert_eq!((status, header), (400, None), "{body}: {told}");
        assert!(told.ends_with(&format!("(at {at})")), "{body}: {told}");
    }
    for (path, status) in [
        ("/ai-sdk/chat/c", 404),
        ("/ai-sdk/chat/c/stream", 204),
        ("/ai-sdk/chat/c/stream?version=0", 400),
    ] {
        let response = site.request(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{path}");
    }
    assert_eq!(site.get("/api/threads/c").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn answers_are_taken_once_and_only_from_the_thread_they_belong_to() {
    let keys = [key("acme", &["read", "write"]), key("other", &["read", "write"])];
    let (site, keys) = Site::start_with(options(), &keys).await;
    let ask = json!({"id": "c", "agent": "ada", "messages": [user("u", "where?")]});
    let first = chunks(&send(&site, &keys[0], &ask).await.2);
    assert_eq!(first.last().unwrap(), &json!({"type": "finish", "finishReason": "tool-calls"}));
    let call = first.iter().find(|chunk| chunk["type"] == "tool-input-available").unwrap();
    let part = json!({"type": "tool-where", "toolCallId": call["toolCallId"],
        "state": "output-available", "input": {}, "output": "Oslo"});
    let copy = |parts: Value| {
        json!({"id": "c", "messages": [user("u", "where?"),
            {"id": "u/ada", "role": "assistant", "parts": parts}]})
    };
    assert_eq!(send(&site, &keys[1], &copy(json!([part]))).await.0, 404, "another's chat");
    let (status, _, told) = send(&site, &keys[0], &copy(json!([]))).await;
    assert_eq!(status, 409, "{told}");
    let rest = chunks(&send(&site, &keys[0], &copy(json!([part]))).await.2);
    assert_eq!(rest[0], json!({"type": "start", "messageId": "u/ada"}));
    let expected = [
        "start",
        "tool-output-available",
        "start-step",
        "text-start",
        "text-delta",
        "text-delta",
        "text-delta",
        "text-end",
        "finish-step",
        "finish",
    ];
    assert_eq!(types(&rest), expected);
    // Who lost what came of it gets it again.
    assert_eq!(chunks(&send(&site, &keys[0], &copy(json!([part]))).await.2), rest);
    let (_, all) = site.ask(Method::GET, "/ai-sdk/chat/c?version=7", &keys[0]).await;
    assert_eq!(all[1]["id"], "u/ada");
    assert_eq!(site.ask(Method::GET, "/ai-sdk/chat/c", &keys[1]).await.0, StatusCode::NOT_FOUND);
    let stop = site.ask(Method::POST, "/ai-sdk/chat/c/stop", &keys[1]).await.0;
    assert_eq!(stop, StatusCode::NOT_FOUND);
    let (status, told) = site.ask(Method::POST, "/ai-sdk/chat/c/stop", &keys[0]).await;
    assert_eq!((status, told), (StatusCode::OK, json!({"stopped": []})), "nothing runs");
}
