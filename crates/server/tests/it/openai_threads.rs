//! OpenAI's threads and AITP's: what clients cannot show, errors, other tenants and capabilities.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Desk};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Site, answer, key};

const PAYMENTS: &str = "https://aitp.dev/capabilities/aitp-01-payments/v1.0.0/schema.json";
const DECISIONS: &str = "https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json";

fn options() -> Options {
    let line = Line { say: "Here I am.".to_owned(), ..Line::default() };
    let ada = Agent::new("ada", Arc::new(Script::of(vec![line])));
    Options { agents: Some(Desk::new([ada])), ..Options::default() }
}

async fn made(site: &Site, body: Value) -> String {
    let (status, thread) = site.post("/v1/threads", body.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{thread}");
    thread["id"].as_str().unwrap().to_owned()
}

/// Texts of a thread's messages, the first one first.
async fn texts(site: &Site, thread: &str) -> Vec<String> {
    let (_, list) = site.get(&format!("/v1/threads/{thread}/messages?order=asc&limit=100")).await;
    let data = list["data"].as_array().unwrap().iter();
    data.map(|message| message["content"][0]["text"]["value"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_request_under_the_same_key_makes_the_same_once() {
    let site = Site::start_with(options(), &[]).await.0;
    let thread = made(&site, json!({})).await;
    let again = async |path: &str, body: Value| {
        let request = site.request(Method::POST, path).header("Idempotency-Key", "k");
        answer(request.body(body.to_string()).send().await.unwrap()).await.1["id"].clone()
    };
    for (path, body) in [
        ("/v1/threads".to_owned(), json!({"metadata": {"a": "b"}})),
        (format!("/v1/threads/{thread}/messages"), json!({"role": "user", "content": "x"})),
        ("/v1/threads/runs".to_owned(), json!({"assistant_id": "ada"})),
    ] {
        let first = again(&path, body.clone()).await;
        assert!(first.is_string(), "{path}");
        assert_eq!(again(&path, body).await, first, "{path}");
    }
    assert_eq!(texts(&site, &thread).await, ["x"]);
}

#[tokio::test]
async fn a_long_thread_is_listed_from_its_end_as_from_its_beginning() {
    let site = Site::start_with(options(), &[]).await.0;
    let thread = made(&site, json!({})).await;
    // Tasks that overlap, with more entries than are looked at first.
    for round in 0..6 {
        let mut events = Vec::new();
        for task in 0..3 {
            let id = format!("t{round}-{task}");
            events.push(json!({"kind": "message", "role": "user", "messageId": format!("u{id}"), "content": id}));
            events.push(
                json!({"kind": "task-created", "taskId": id, "initiator": "user", "agentId": "b"}),
            );
        }
        for n in 0..60 {
            for task in 0..3 {
                events.push(json!({"kind": "content-delta", "taskId": format!("t{round}-{task}"), "delta": format!("{n} ")}));
            }
        }
        for task in 0..3 {
            events.push(json!({"kind": "task-complete", "taskId": format!("t{round}-{task}")}));
        }
        let (status, _) =
            site.post(&format!("/api/threads/{thread}/events"), json!(events).to_string()).await;
        assert_eq!(status, StatusCode::OK);
    }
    let ids = |list: &Value| -> Vec<String> {
        let data = list["data"].as_array().unwrap().iter();
        data.map(|message| message["id"].as_str().unwrap().to_owned()).collect()
    };
    let path = format!("/v1/threads/{thread}/messages");
    let mut whole = ids(&site.get(&format!("{path}?order=asc&limit=100")).await.1);
    assert_eq!(whole.len(), 36);
    whole.reverse();
    for limit in [1, 5, 20] {
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let page = site.get(&format!("{path}?limit={limit}{after}")).await.1;
            seen.extend(ids(&page));
            if page["has_more"] == false {
                break;
            }
            after = format!("&after={}", seen.last().unwrap());
        }
        assert_eq!(seen, whole, "{limit}");
    }
    // What each run said is whole, though they spoke at once.
    let run = site.get(&format!("{path}?run_id=t3-1")).await.1;
    let said: String = (0..60).map(|n| format!("{n} ")).collect();
    assert_eq!(run["data"][0]["content"][0]["text"]["value"], said);
    assert_eq!(run["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn another_tenants_threads_runs_and_files_are_not_there() {
    let made = [key("acme", &["operator"]), key("other", &["operator"])];
    let (site, keys) = Site::start_with(options(), &made).await;
    let post = async |path: &str, key: &str, body: &'static str| {
        let request = site.request(Method::POST, path).bearer_auth(key).body(body);
        answer(request.send().await.unwrap()).await
    };
    let (_, run) = post("/v1/threads/runs", &keys[0], r#"{"assistant_id":"ada"}"#).await;
    let (thread, run) = (run["thread_id"].as_str().unwrap(), run["id"].as_str().unwrap());
    let form = "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nvision\r\n--x\r\n\
                Content-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nb\r\n--x--";
    let upload = site.request(Method::POST, "/v1/files").bearer_auth(&keys[0]).body(form);
    let upload = upload.header("content-type", "multipart/form-data; boundary=x");
    let (_, file) = answer(upload.send().await.unwrap()).await;
    let file = file["id"].as_str().unwrap();
    for path in [
        format!("/v1/threads/{thread}"),
        format!("/v1/threads/{thread}/messages"),
        format!("/v1/threads/{thread}/runs/{run}"),
        format!("/v1/threads/{thread}/runs/{run}/steps"),
        format!("/v1/threads/{thread}/stream/{run}"),
        format!("/v1/files/{file}"),
        format!("/v1/files/{file}/content"),
    ] {
        let own = site.request(Method::GET, &path).bearer_auth(&keys[0]).send().await.unwrap();
        assert!(own.status().is_success(), "{path}");
        let (status, body) = site.ask(Method::GET, &path, &keys[1]).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(body["error"]["type"], "invalid_request_error");
    }
    for list in ["/v1/threads", "/v1/files"] {
        let (_, body) = site.ask(Method::GET, list, &keys[1]).await;
        assert_eq!(body["data"], json!([]), "{list}");
    }
}

#[tokio::test]
async fn a_file_is_of_bytes_and_no_form_is_half_taken() {
    let site = Site::start().await;
    for body in ["", "--x", "--x\r\n\r\n--x--", "{}"] {
        let upload = site.request(Method::POST, "/v1/files").body(body);
        let upload = upload.header("content-type", "multipart/form-data; boundary=x");
        let (status, told) = answer(upload.send().await.unwrap()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {told}");
    }
    assert_eq!(site.get("/v1/files").await.1["data"], json!([]));
}

/// Appends events of a task.
async fn append(site: &Site, thread: &str, task: &str, events: Value) {
    let mut events = events;
    for event in events.as_array_mut().unwrap() {
        event["taskId"] = task.into();
    }
    let (status, told) =
        site.post(&format!("/api/threads/{thread}/events"), events.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{told}");
}

#[tokio::test]
async fn a_run_has_the_status_that_its_task_came_to() {
    let site = Site::start().await;
    let thread = made(&site, json!({})).await;
    let created = json!({"kind": "task-created", "initiator": "user", "agentId": "b"});
    let working = json!({"kind": "task-status", "status": "working"});
    for (status, events) in [
        ("queued", json!([])),
        ("in_progress", json!([working])),
        (
            "expired",
            json!([working, {"kind": "task-status", "status": "failed", "code": "timeout"}]),
        ),
        ("failed", json!([working, {"kind": "task-status", "status": "failed", "code": "x"}])),
        ("cancelled", json!([{"kind": "task-status", "status": "canceled"}])),
        ("completed", json!([{"kind": "task-complete", "content": "done"}])),
        (
            "incomplete",
            json!([
            {"kind": "step-started"}, {"kind": "content-delta", "delta": "cut o"},
            {"kind": "step-finished", "finishReason": "length"}, {"kind": "task-complete"}]),
        ),
    ] {
        append(&site, &thread, status, json!([created])).await;
        if events != json!([]) {
            append(&site, &thread, status, events).await;
        }
        let (_, run) = site.get(&format!("/v1/threads/{thread}/runs/{status}")).await;
        assert_eq!(run["status"], status, "{run}");
    }
    let (_, runs) =
        site.get(&format!("/v1/threads/{thread}/runs?order=asc&limit=2&after=queued")).await;
    let ids: Vec<&str> =
        runs["data"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["in_progress", "expired"]);
    assert_eq!(runs["has_more"], true);
}

#[tokio::test]
async fn several_required_outputs_may_come_one_by_one_and_a_stream_is_rejoined_where_it_waits() {
    let site = Site::start().await;
    let thread = made(&site, json!({})).await;
    let call = |id: &str| {
        json!([{"kind": "tool-call", "toolCallId": id, "toolName": "locate", "arguments": {"n": id}},
            {"kind": "input-required", "inputId": format!("q-{id}"), "toolCallId": id,
             "inputType": "tool-execution", "prompt": "locate"}])
    };
    append(
        &site,
        &thread,
        "r",
        json!([{"kind": "task-created", "initiator": "user", "agentId": "b"}]),
    )
    .await;
    append(&site, &thread, "r", call("a")).await;
    append(&site, &thread, "r", call("b")).await;
    let path = format!("/v1/threads/{thread}/runs/r");
    let required = |run: &Value| -> Vec<String> {
        let calls = &run["required_action"]["submit_tool_outputs"]["tool_calls"];
        let calls = calls.as_array().into_iter().flatten();
        calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(required(&site.get(&path).await.1), ["a", "b"]);
    let told = async |last: Option<&str>| -> Vec<(String, String)> {
        let mut frames = site.stream(&format!("/v1/threads/{thread}/stream/r"), last).await;
        let mut all = Vec::new();
        while let Some(frame) = frames.maybe().await {
            let field = |name| frame.field(name).unwrap_or_default().to_owned();
            all.push((field("event"), field("id")));
        }
        all
    };
    let first = told(None).await;
    let names: Vec<&str> = first.iter().map(|(event, _)| event.as_str()).collect();
    assert_eq!(names.last(), Some(&"done"), "{names:?}");
    assert_eq!(names.iter().filter(|name| **name == "thread.run.requires_action").count(), 2);
    let submit = async |id: &str| {
        let body = json!({"tool_outputs": [{"tool_call_id": id, "output": "x"}]}).to_string();
        site.post(&format!("{path}/submit_tool_outputs"), body).await
    };
    let (status, run) = submit("a").await;
    assert_eq!((status, required(&run)), (StatusCode::OK, vec!["b".to_owned()]));
    assert_eq!(submit("a").await.0, StatusCode::BAD_REQUEST, "answered before");
    let (_, run) = submit("b").await;
    assert_eq!((&run["status"], &run["required_action"]), (&json!("in_progress"), &Value::Null));
    append(&site, &thread, "r", json!([{"kind": "task-complete", "content": "there"}])).await;
    let (_, seen) = &first[first.len() - 2];
    let rest = told(Some(seen)).await;
    assert_eq!(rest[rest.len() - 2].0, "thread.run.completed");
    assert!(rest.iter().all(|(event, _)| event != "thread.run.created"), "{rest:?}");
    let whole = told(None).await;
    assert_eq!(&whole[whole.len() - rest.len()..], rest, "the same from the beginning");
    let end = told(Some(&rest[rest.len() - 2].1)).await;
    assert_eq!(end, [("done".to_owned(), String::new())]);
}

fn quote() -> String {
    let quote = json!({"$schema": PAYMENTS, "quote": {
        "quote_id": "q1", "merchant_id": "m", "description": "A flight",
        "payment_options": [{"amount": "10", "currency": "USD", "payment_methods": [
            {"type": "near_payment_channel", "token": "t", "recipient": "r"}]}],
        "merchant_signature": "s"}});
    quote.to_string()
}

fn payment() -> String {
    let payment = json!({"$schema": PAYMENTS, "payment": {
        "quote_id": "q1", "payer_id": "p", "timestamp": "2026-01-01T00:00:00Z",
        "payer_signature": "s", "payment_method": {
            "type": "near_payment_channel", "token": "t", "channel_id": "c", "currency": "USD"}}});
    payment.to_string()
}

#[tokio::test]
async fn capability_messages_reach_only_those_who_declared_them() {
    let site = Site::start_with(options(), &[]).await.0;
    let thread = made(
        &site,
        json!({"metadata": {"actors": [
        {"id": "user.near", "capabilities": [PAYMENTS]}, {"id": "ada", "capabilities": []}]}}),
    );
    let thread = thread.await;
    let path = format!("/v1/threads/{thread}/messages");
    let decision = json!({"$schema": DECISIONS, "request_decision": {
        "id": "d1", "options": [{"id": "a"}]}});
    let say = async |role: &str, content: String| {
        site.post(&path, json!({"role": role, "content": content}).to_string()).await
    };
    let (status, told) = say("assistant", decision.to_string()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(told["error"]["param"], "content");
    assert!(told["error"]["message"].as_str().unwrap().contains("declared"), "{told}");
    let (status, _) = say("user", quote()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "the agent has declared nothing");
    let (status, told) =
        say("assistant", json!({"$schema": PAYMENTS, "quote": {}}).to_string()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{told}");
    assert_eq!(texts(&site, &thread).await, Vec::<String>::new());
    assert_eq!(say("assistant", quote()).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_payment_waits_for_a_user_and_no_agent_answers_it() {
    let made =
        [key("acme", &["operator"]), key("acme", &["agent"]), key("acme", &["read", "write"])];
    let (site, keys) = Site::start_with(options(), &made).await;
    let post = async |path: &str, key: &str, body: Value| {
        let request = site.request(Method::POST, path).bearer_auth(key).body(body.to_string());
        answer(request.send().await.unwrap()).await
    };
    let actors = json!({"metadata": {"actors": [{"id": "user.near", "capabilities": [PAYMENTS]}]}});
    let (_, thread) = post("/v1/threads", &keys[0], actors).await;
    let thread = thread["id"].as_str().unwrap();
    let path = format!("/v1/threads/{thread}/messages");
    let said = json!({"role": "assistant", "content": quote()});
    assert_eq!(post(&path, &keys[1], said).await.0, StatusCode::OK);
    let inputs = format!("/api/threads/{thread}/inputs");
    let (_, waiting) = site.ask(Method::GET, &inputs, &keys[0]).await;
    assert_eq!(waiting["items"][0]["id"], "q1");
    assert_eq!(waiting["items"][0]["requireUser"], true);
    for role in ["user", "assistant"] {
        let said = json!({"role": role, "content": payment()});
        assert_eq!(post(&path, &keys[1], said).await.0, StatusCode::FORBIDDEN, "{role}");
    }
    let said = json!({"role": "user", "content": payment()});
    let (status, told) = post(&path, &keys[2], said.clone()).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    let (_, waiting) = site.ask(Method::GET, &inputs, &keys[0]).await;
    assert_eq!(waiting["items"], json!([]), "it is answered, once");
    let (status, _) = post(&path, &keys[2], said).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "nothing is open, and no agent has declared it");
}
