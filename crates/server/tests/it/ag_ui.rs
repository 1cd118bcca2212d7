//! AG-UI: what its client sends, and what it must not be able to do.

use reqwest::{Method, StatusCode};
use selvedge_agents::Desk;
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Site, answer, asking_where, key};

fn options() -> Options {
    let ada = asking_where();
    Options { agents: Some(Desk::new([ada])), ..Options::default() }
}

fn input(run: &str, messages: Value) -> Value {
    json!({"threadId": "c", "runId": run, "messages": messages, "state": {}, "tools": [],
           "context": [], "forwardedProps": {}})
}

/// The events of a run, which must begin and end as one.
async fn run(site: &Site, key: &str, input: &Value) -> Vec<Value> {
    let request = site.request(Method::POST, "/ag-ui").bearer_auth(key);
    let response = request.body(input.to_string()).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.text().await.unwrap();
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let (first, last) = (events.first().unwrap(), events.last().unwrap());
    for (event, kind) in [(first, "RUN_STARTED"), (last, "RUN_FINISHED")] {
        assert_eq!(event["type"], kind, "{events:#?}");
        assert_eq!((&event["threadId"], &event["runId"]), (&input["threadId"], &input["runId"]));
    }
    let brackets =
        events.iter().filter(|event| event["type"].as_str().unwrap().starts_with("RUN_"));
    assert_eq!(brackets.count(), 2, "{events:#?}");
    events
}

#[tokio::test]
async fn a_turn_that_waits_is_two_runs_for_its_client_and_one_for_who_joins() {
    let site = Site::start_with(options(), &[]).await.0;
    let user = json!({"id": "u", "role": "user", "content": "where?"});
    let first = run(&site, "", &input("r1", json!([user]))).await;
    let call = first.iter().find(|event| event["type"] == "TOOL_CALL_START").unwrap();
    let call = call["toolCallId"].clone();
    let pending = json!({"type": "success", "pendingToolCallIds": [call]});
    assert_eq!(first.last().unwrap()["outcome"], pending);
    let again = run(&site, "", &input("r1", json!([user]))).await;
    assert_eq!(again[1], json!({"type": "MESSAGES_SNAPSHOT", "messages": [user]}));
    assert_eq!(again[2..], first[1..], "who comes again gets all of it");
    let result = json!({"id": "t", "role": "tool", "toolCallId": call, "content": "Oslo"});
    let second = run(&site, "", &input("r2", json!([user, result]))).await;
    assert_eq!(second.last().unwrap()["outcome"], json!({"type": "success"}));
    assert!(second.iter().all(|event| event["type"] != "TOOL_CALL_RESULT"), "{second:#?}");
    let joined = run(&site, "", &input("r3", json!([]))).await;
    let roles: Vec<&str> = joined[1]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(joined.len(), 3);
}

#[tokio::test]
async fn bad_runs_name_what_is_wrong_and_change_nothing() {
    let keys = [key("acme", &["read", "write"]), key("other", &["read", "write"])];
    let (site, keys) = Site::start_with(options(), &keys).await;
    let user = json!({"id": "u", "role": "user", "content": "where?"});
    let good = input("r", json!([user]));
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    let ask = async |key: &str, body: &Value| {
        let request = site.request(Method::POST, "/ag-ui").bearer_auth(key);
        let (status, told) = answer(request.body(body.to_string()).send().await.unwrap()).await;
        assert_eq!(told["type"], "RUN_ERROR", "{body}");
        (status.as_u16(), told["pointer"].as_str().unwrap_or("").to_owned())
    };
    for (body, status, at) in [
        (json!({}), 400, "/messages"),
        (with("threadId", json!(1)), 400, "/threadId"),
        (with("threadId", json!("")), 400, "/threadId"),
        (with("runId", Value::Null), 400, "/runId"),
        (with("messages", json!({})), 400, "/messages"),
        (with("messages", json!([1])), 400, "/messages/0"),
        (with("messages", json!([{"id": "u", "role": "king"}])), 400, "/messages/0/role"),
        (with("messages", json!([{"role": "user", "content": "x"}])), 400, "/messages/0/id"),
        (with("messages", json!([{"id": "u", "role": "user"}])), 400, "/messages/0/content"),
        (
            with("messages", json!([{"id": "u", "role": "user", "content": ""}])),
            400,
            "/messages/0/content",
        ),
        (with("tools", json!("x")), 400, "/tools"),
        (with("tools", json!([{}])), 400, "/tools/0"),
        (with("resume", json!({})), 400, "/resume"),
        (with("resume", json!([{"interruptId": "i", "payload": 1}])), 404, ""),
        (with("forwardedProps", json!({"agent": "bob"})), 400, "/forwardedProps/agent"),
        (with("messages", json!([])), 404, ""),
    ] {
        assert_eq!(ask(&keys[0], &body).await, (status, at.to_owned()), "{body}");
    }
    let missing = site.ask(Method::GET, "/api/threads/c", &keys[0]).await.0;
    assert_eq!(missing, StatusCode::NOT_FOUND);
    run(&site, &keys[0], &good).await;
    let unknown = with("resume", json!([{"interruptId": "i", "payload": 1}]));
    let refused = (404, "/resume/0/interruptId".to_owned());
    assert_eq!(ask(&keys[0], &unknown).await, refused);
    assert_eq!(ask(&keys[1], &with("messages", json!([]))).await.0, 404, "another's thread");
    assert_eq!(ask(&keys[1], &unknown).await.0, 404);
}
