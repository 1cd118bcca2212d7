//! Real answers, held against what the description of the API says of them.

use std::sync::Arc;

use jsonschema::Validator;
use reqwest::{Method, StatusCode};
use selvedge_agents::router::Rules;
use selvedge_agents::script::Script;
use selvedge_agents::{Agent, Desk, Member, Worker};
use selvedge_server::{Options, openapi, routes};
use serde_json::{Value, json};

use crate::site::Site;

/// What happens in the thread that is asked for.
fn talk() -> Value {
    json!([
        {"kind": "participant-joined", "participantId": "ada", "role": "user", "name": "Ada"},
        {"kind": "message", "role": "user", "author": "ada", "content": "find words"},
        {"kind": "task-created", "taskId": "own", "initiator": "user", "agentId": "planner"},
        {"kind": "step-started", "taskId": "own", "model": "m"},
        {"kind": "thought-stream", "taskId": "own", "thoughtId": "a", "thoughtType": "planning",
         "verbosity": "brief", "content": "look"},
        {"kind": "tool-call", "taskId": "own", "toolCallId": "own", "toolName": "f", "arguments": {}},
        {"kind": "step-finished", "taskId": "own", "finishReason": "tool_calls",
         "usage": {"input_tokens": 1, "output_tokens": 2}},
        {"kind": "tool-start", "taskId": "own", "toolCallId": "own", "toolName": "f", "arguments": {}},
        {"kind": "data-write", "taskId": "own", "artifactId": "own", "data": {"a": 1}},
        {"kind": "input-required", "taskId": "own", "inputId": "own", "inputType": "confirmation",
         "prompt": "go on?", "requireUser": true},
        {"kind": "auth-required", "taskId": "own", "authId": "own", "authType": "oauth2",
         "prompt": "log in"},
        {"kind": "message", "messageId": "own", "role": "agent", "content": "", "intent": "plan",
         "outputs": {"next_actions": [{"intent": "execute", "task": "go", "args": {"n": 1}}]}},
        {"kind": "of-my-own", "anything": [1, null]},
    ])
}

/// The body for a route that takes one.
fn body(method: &Method, path: &str) -> Option<Value> {
    Some(match (method.as_str(), path) {
        ("POST", "/api/threads") => json!({
            "title": "t", "metadata": {"a": 1}, "agents": ["a", {"id": "b", "name": "B"}],
        }),
        ("PATCH", "/api/threads/{id}") => json!({"title": "new"}),
        ("POST", "/api/threads/{id}/events") => talk(),
        ("POST", "/envelopes") => json!({
            "protocol": "multiagent-1.0", "role": "user", "timestamp": "2026-01-01T00:00:00Z",
            "intent": "plan", "task": "t", "content": {"type": "text", "text": "hello"},
        }),
        ("POST", "/api/threads/{id}/actions/{action}/claim") => json!({"agent": "ada"}),
        ("POST", "/process" | "/process/task") => json!({
            "model": "ada", "session_id": "agent-api",
            "input": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        }),
        ("POST", "/invocations") => json!({"prompt": "hello"}),
        ("POST", "/ag-ui") => json!({
            "threadId": "run", "runId": "r", "state": {}, "tools": [], "context": [],
            "forwardedProps": {"agent": "ada"},
            "messages": [{"id": "m", "role": "user", "content": "hi"}],
        }),
        ("POST", "/ai-sdk/chat") => json!({
            "id": "chat", "trigger": "submit-message", "agent": "ada",
            "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],
        }),
        ("POST", "/api/threads/{id}/messages") => json!({"content": "hello", "to": ["ada"]}),
        ("POST", "/api/threads/{id}/fork") => json!({"at": 3, "title": "other"}),
        ("POST", "/api/threads/{id}/redact") => json!({"events": [2], "reason": "a word"}),
        ("POST", "/api/threads/{id}/erase") => json!({"branches": true, "reason": "a word"}),
        ("POST", "/api/threads/{id}/promote") => json!({"old": "was"}),
        ("POST", "/api/threads/{id}/shares") => json!({
            "at": 2, "title": "t", "show": ["tools"], "expiresAt": "2999-01-01T00:00:00Z",
        }),
        ("POST", "/api/import") => json!([{"kind": "request", "parts": [
            {"part_kind": "user-prompt", "content": "hi", "timestamp": "2026-01-01T00:00:00Z"}]}]),
        ("POST", "/api/threads/{id}/inputs/{inputId}") => json!({"value": true, "userId": "u"}),
        ("POST", "/api/threads/{id}/auths/{authId}") => json!({"userId": "u"}),
        ("POST", path) if path.starts_with("/api/") && path.ends_with("/cancel") => {
            json!({"reason": "enough"})
        }
        ("PUT", path) if path.ends_with("/content") => json!({"a": 2}),
        _ => return None,
    })
}

/// The schema of a body or an answer, with all it refers to.
fn validator(document: &Value, content: &Value) -> Option<Validator> {
    let mut schema = content.pointer("/application~1json/schema")?.clone();
    schema["components"] = document["components"].clone();
    Some(jsonschema::validator_for(&schema).unwrap())
}

fn check(what: &str, validator: &Validator, value: &Value) {
    let wrong: Vec<String> =
        validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{what}: {wrong:#?}\n{value:#}");
}

#[tokio::test]
async fn answers_are_what_the_description_says() {
    let mut rules = Rules::none();
    rules.agents.insert("plan".to_owned(), "ada".to_owned());
    let ada = Agent::new("ada", Arc::new(Script::saying("hi")));
    let own = Worker { id: "own".to_owned(), lease: std::time::Duration::from_secs(60) };
    let agents = Some(Desk::routed([ada.into(), Member::Worker(own)], rules));
    let demo = Some(crate::demo::DEMO);
    let options = Options { agents, demo, ..Options::default() };
    let site = Site::start_with(options, &[]).await.0;
    site.thread("own").await;
    let (status, answer) = site.post("/api/threads/own/events", talk().to_string()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    // Lists follow behind the acknowledgement.
    while site.get("/api/inbox").await.1["items"].as_array().unwrap().is_empty()
        || site.get("/api/search?q=words").await.1["results"].as_array().unwrap().is_empty()
    {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let task = r#"{"content":"go","to":"own","messageId":"m"}"#;
    assert_eq!(site.post("/api/threads/own/messages", task).await.0, StatusCode::ACCEPTED);
    let mut claim = Value::Null;
    site.post("/api/threads/own/fork", r#"{"id":"branch"}"#).await;
    let (_, shared) = site.post("/api/threads/own/shares", "").await;
    let document: Value = serde_json::from_str(&openapi()).unwrap();
    let mut tried = 0;
    for route in routes() {
        let (method, path) = (route.method.as_str(), route.path);
        let operation = &document["paths"][path][method.to_lowercase()];
        let told = validator(&document, &operation["responses"]["2XX"]["content"]);
        let body = body(&route.method, path);
        let what = format!("{method} {path}");
        if let Some(body) = &body {
            let taken = validator(&document, &operation["requestBody"]["content"]);
            check(&what, &taken.unwrap_or_else(|| panic!("{what} takes a body")), body);
        }
        let Some(told) = told else { continue };
        // For servers without agents of their own.
        if path == "/api/demo" {
            continue;
        }
        tried += 1;
        let query = "?q=words&with=own&threads=own&dialect=pydantic-ai";
        // What ends something needs something of its own.
        let thread = match path.rsplit('/').next() {
            Some("cancel" | "redact" | "erase") => format!("own-{tried}"),
            Some("promote") => "branch".to_owned(),
            _ => "own".to_owned(),
        };
        if thread.starts_with("own-") {
            site.thread(&thread).await;
            site.post(&format!("/api/threads/{thread}/events"), talk().to_string()).await;
        }
        let anywhere = path.replace("{id}", &thread);
        let anywhere = anywhere
            .split('/')
            .map(|part| match part {
                "{token}" => shared["token"].as_str().unwrap(),
                "{task_id}" => "own~2",
                part if part.starts_with('{') => "own",
                part => part,
            })
            .collect::<Vec<_>>()
            .join("/");
        // Of the task that was claimed before.
        let url = claim["links"]["lease"].as_str().filter(|_| path.ends_with("/lease"));
        let url = url.map_or(anywhere, str::to_owned);
        let asks = method == "GET" && path != "/api/contexts/{id}/events";
        let query = match method {
            "PUT" => "?kind=data",
            _ if path == "/api/import" || asks => query,
            _ => "",
        };
        let mut request = site.request(route.method.clone(), &format!("{url}{query}"));
        if path.ends_with("/lease") {
            request = request.header("Selvedge-Lease", claim["lease"].as_str().unwrap());
        }
        let request = request.body(body.map(|body| body.to_string()).unwrap_or_default());
        let (status, answer) = crate::site::answer(request.send().await.unwrap()).await;
        assert!(status.is_success(), "{what}: {status} {answer}");
        check(&what, &told, &answer);
        if path.ends_with("/work") {
            claim = answer;
        }
        assert!(!told.is_valid(&json!({})), "{what} says nothing");
    }
    assert!(tried >= 13, "{tried}");
    let refused = &document["components"]["responses"]["Error"]["content"];
    let (status, answer) = site.get("/api/threads/none").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    check("an error", &validator(&document, refused).unwrap(), &answer);
}
