//! A2A: what goes wrong in its own words, whose tasks are whose, questions of subtasks, webhooks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use http::{HeaderMap, StatusCode};
use reqwest::Method;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::tool::builtin;
use selvedge_agents::{Agent, Desk};
use selvedge_server::{A2aVersions, Options};
use serde_json::{Value, json};

use crate::site::{Site, answer, calling_bob, host, key};

/// Lets bob look when told to go, who asks first; answers everything else at once.
pub(crate) fn options() -> Options {
    let ada = calling_bob();
    let asks = ("ask_user".to_owned(), json!({"question": "May I look?"}));
    let lines = vec![
        Line { calls: vec![asks], ..Line::default() },
        Line { say: "seen".to_owned(), ..Line::default() },
    ];
    let mut bob = Agent::new("bob", Arc::new(Script::of(lines)));
    let own = builtin::tools().unwrap().into_iter().filter(|tool| tool.spec.name == "ask_user");
    bob.tools = own.map(Arc::new).collect();
    let agents = Some(Desk::new([ada, bob]));
    Options { agents, agent: Some("ada".to_owned()), ..Options::default() }
}

async fn site() -> Site {
    Site::start_with(options(), &[]).await.0
}

pub(crate) async fn call(site: &Site, key: Option<&str>, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let mut request = site.request(Method::POST, "/a2a").header("content-type", "application/json");
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let (status, told) = answer(request.body(body.to_string()).send().await.unwrap()).await;
    assert_eq!((status, &told["id"]), (StatusCode::OK, &json!(7)), "{told}");
    told
}

pub(crate) fn message(text: &str, more: Value) -> Value {
    let mut message = json!({
        "messageId": uuid::Uuid::now_v7().to_string(),
        "role": "ROLE_USER",
        "parts": [{"text": text}],
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    json!({ "message": message })
}

pub(crate) async fn sent(site: &Site, text: &str, more: Value) -> Value {
    let told = call(site, None, "SendMessage", message(text, more)).await;
    told["result"]["task"].clone()
}

/// Waits until no agent is at work.
async fn idle(site: &Site) {
    while site.get("/ping").await.1["status"] != "Healthy" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn texts(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().into_iter().flatten();
    let parts = artifacts.flat_map(|artifact| artifact["parts"].as_array().cloned().unwrap());
    parts.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn what_a_subtask_asks_of_the_user_is_asked_by_the_task_that_was_sent() {
    let site = site().await;
    let task = sent(&site, "go", json!({})).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task}");
    assert!(
        task["status"]["message"]["parts"][0]["text"]
            .as_str()
            .unwrap()
            .to_lowercase()
            .contains("look")
    );
    idle(&site).await;
    let task = sent(&site, "yes", json!({"taskId": task["id"]})).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    assert_eq!(texts(&task), "done");
}

#[tokio::test]
async fn bad_requests_are_told_in_both_bindings_and_change_nothing() {
    let site = site().await;
    let long = "x".repeat(300);
    let send = |message: Value| json!({ "message": message });
    let cases = [
        ("SendMessage", json!({}), -32602),
        ("SendMessage", send(json!({"role": "ROLE_USER", "parts": [{"text": "a"}]})), -32602),
        ("SendMessage", send(json!({"messageId": "m", "role": "ROLE_USER", "parts": []})), -32602),
        (
            "SendMessage",
            send(json!({"messageId": "m", "role": "user", "parts": [{"text": "a"}]})),
            -32602,
        ),
        (
            "SendMessage",
            send(
                json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a", "url": "b"}]}),
            ),
            -32602,
        ),
        (
            "SendMessage",
            send(json!({"messageId": long, "role": "ROLE_USER", "parts": [{"text": "a"}]})),
            -32602,
        ),
        ("SendMessage", message("a", json!({"taskId": "nobody's"})), -32001),
        ("SendMessage", message("a", json!({"contextId": long})), -32602),
        ("SendStreamingMessage", json!({"message": 1}), -32602),
        (
            "message/send",
            send(json!({"messageId": "m", "role": "user", "parts": [{"kind": "image"}]})),
            -32602,
        ),
        ("GetTask", json!({}), -32602),
        ("GetTask", json!({"id": "nobody's"}), -32001),
        ("GetTask", json!({"id": "nobody's", "historyLength": -1}), -32602),
        ("tasks/get", json!({"id": 5}), -32602),
        ("ListTasks", json!({"pageSize": 0}), -32602),
        ("ListTasks", json!({"pageSize": 101}), -32602),
        ("ListTasks", json!({"pageToken": "nowhere"}), -32602),
        ("ListTasks", json!({"status": "TASK_STATE_LOST"}), -32602),
        ("ListTasks", json!({"statusTimestampAfter": "yesterday"}), -32602),
        ("CancelTask", json!({"id": "nobody's"}), -32001),
        ("SubscribeToTask", json!({"id": "nobody's"}), -32001),
        ("CreateTaskPushNotificationConfig", json!({"taskId": "x", "url": "ftp://a"}), -32602),
        ("Nonsense", json!({}), -32601),
    ];
    for (method, params, code) in cases {
        let told = call(&site, None, method, params.clone()).await;
        assert_eq!(told["error"]["code"], code, "{method} {params}: {told}");
    }
    let rest = [
        (Method::POST, "/a2a/message:send", "{}", 400),
        (Method::POST, "/a2a/v1/message:send", "[]", 400),
        (Method::POST, "/a2a/message:stream", "{", 400),
        (Method::GET, "/a2a/tasks/nobody/s", "", 404),
        (Method::GET, "/a2a/tasks?pageSize=x", "", 400),
        (Method::POST, "/a2a/tasks/nobody/s:cancel", "", 404),
        (Method::GET, "/a2a/tasks/x/pushNotificationConfigs/y", "", 404),
    ];
    for (method, path, body, wanted) in rest {
        let request = site.request(method.clone(), path).header("content-type", "application/json");
        let (status, told) = answer(request.body(body).send().await.unwrap()).await;
        assert_eq!(status.as_u16(), wanted, "{method} {path}: {told}");
        assert_eq!(told["error"]["code"], wanted, "{told}");
    }
    let raw = |body: &'static str, kind: &'static str, version: &'static str| {
        let request = site.request(Method::POST, "/a2a").header("content-type", kind);
        request.header("a2a-version", version).body(body).send()
    };
    let good = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}"#;
    for (body, kind, version, code) in [
        ("{", "application/json", "1.0", -32700),
        ("[]", "application/json", "1.0", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, "application/json", "1.0", -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, "application/json", "1.0", -32600),
        (good, "text/plain", "1.0", -32005),
        (good, "application/json", "99.0", -32009),
    ] {
        let (_, told) = answer(raw(body, kind, version).await.unwrap()).await;
        assert_eq!(told["error"]["code"], code, "{body} {kind} {version}: {told}");
    }
    let (_, threads) = site.get("/api/threads").await;
    assert_eq!(threads["threads"], json!([]), "nothing was made");
}

#[tokio::test]
async fn a_task_of_another_tenant_is_not_found_and_readers_cannot_send() {
    let made = [key("acme", &["agent"]), key("other", &["agent"]), key("acme", &["read"])];
    let (site, keys) = Site::start_with(options(), &made).await;
    let told = call(&site, Some(&keys[0]), "SendMessage", message("hi", json!({}))).await;
    let id = told["result"]["task"]["id"].clone();
    let context = told["result"]["task"]["contextId"].clone();
    for (method, params) in [
        ("GetTask", json!({"id": id})),
        ("CancelTask", json!({"id": id})),
        ("SubscribeToTask", json!({"id": id})),
        ("SendMessage", message("x", json!({"taskId": id}))),
        ("ListTaskPushNotificationConfigs", json!({"taskId": id})),
        ("CreateTaskPushNotificationConfig", json!({"taskId": id, "url": "https://a.example/"})),
    ] {
        let foreign = call(&site, Some(&keys[1]), method, params.clone()).await;
        assert_eq!(foreign["error"]["code"], -32001, "{method}: {foreign}");
        let name = params["message"]["taskId"].as_str().or(params["id"].as_str());
        let name = name.or(params["taskId"].as_str()).unwrap();
        let unknown = params.to_string().replace(name, "nobody");
        let unknown: Value = serde_json::from_str(&unknown).unwrap();
        let unknown = call(&site, Some(&keys[1]), method, unknown).await;
        let same = unknown.to_string().replace("nobody", name);
        assert_eq!(foreign.to_string(), same, "as if it were not there");
    }
    let listed = call(&site, Some(&keys[1]), "ListTasks", json!({"contextId": context})).await;
    assert_eq!(listed["result"]["tasks"], json!([]));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
                      "params": message("hi", json!({}))});
    let request = site.request(Method::POST, "/a2a").bearer_auth(&keys[2]);
    let request = request.header("content-type", "application/json").body(body.to_string());
    assert_eq!(request.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let read = call(&site, Some(&keys[2]), "GetTask", json!({"id": id})).await;
    assert_eq!(read["result"]["id"], id);
}

#[tokio::test]
async fn webhooks_of_a_server_with_keys_are_on_the_internet_only() {
    let (site, keys) = Site::start_with(options(), &[key("acme", &["agent"])]).await;
    let told = call(&site, Some(&keys[0]), "SendMessage", message("go", json!({}))).await;
    let id = told["result"]["task"]["id"].clone();
    for url in ["http://127.0.0.1:9/", "http://[::1]/", "http://169.254.169.254/", "file:///x", "x"]
    {
        let params = json!({"taskId": id, "url": url});
        let told = call(&site, Some(&keys[0]), "CreateTaskPushNotificationConfig", params).await;
        assert_eq!(told["error"]["code"], -32602, "{url}: {told}");
        let mut sending = message("hi", json!({}));
        sending["configuration"] = json!({"taskPushNotificationConfig": {"url": url}});
        let told = call(&site, Some(&keys[0]), "SendMessage", sending).await;
        assert_eq!(told["error"]["code"], -32602, "{url}: {told}");
    }
}

pub(crate) type Got = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

pub(crate) async fn hook() -> (String, Got) {
    let got = Got::default();
    let take = |State(got): State<Got>, headers: HeaderMap, body: Bytes| async move {
        got.lock().unwrap().push((headers, serde_json::from_slice(&body).unwrap()));
    };
    (host(Router::new().route("/", post(take)).with_state(got.clone())).await, got)
}

pub(crate) async fn until(got: &Got, sign: &str) -> Vec<Value> {
    let waiting = async {
        loop {
            let all: Vec<Value> =
                got.lock().unwrap().iter().map(|(_, body)| body.clone()).collect();
            if all.last().is_some_and(|last| last.to_string().contains(sign)) {
                return all;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap()
}

#[tokio::test]
async fn a_webhook_is_told_on_after_a_restart_in_order_and_without_its_secret_on_disk() {
    let site = site().await;
    let (url, got) = hook().await;
    let mut sending = message("go", json!({}));
    sending["configuration"] = json!({"taskPushNotificationConfig": {
        "id": "c", "url": url, "token": "hush-hush",
        "authentication": {"scheme": "Bearer", "credentials": "very-secret"},
    }});
    let told = call(&site, None, "SendMessage", sending).await;
    let id = told["result"]["task"]["id"].clone();
    until(&got, "INPUT_REQUIRED").await;
    idle(&site).await;
    let db = site.db.clone();
    let site = site.again_with(options()).await;
    for file in [db.clone(), db.with_extension("db-wal")] {
        let bytes = std::fs::read(file).unwrap_or_default();
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!has("very-secret") && !has("hush-hush"));
    }
    let listed = call(&site, None, "ListTaskPushNotificationConfigs", json!({"taskId": id})).await;
    assert_eq!(listed["result"]["configs"][0]["url"], url);
    idle(&site).await;
    sent(&site, "yes", json!({"taskId": id})).await;
    let all = until(&got, "TASK_STATE_COMPLETED").await;
    assert!(all[0]["task"]["id"] == id, "the task comes first: {}", all[0]);
    let ends = all.iter().filter(|body| body.to_string().contains("TASK_STATE_COMPLETED"));
    assert_eq!(ends.count(), 1);
    let tasks = all.iter().filter(|body| body["task"].is_object());
    assert_eq!(tasks.count(), 1, "what was told before the restart is not told again");
    let (headers, _) = got.lock().unwrap()[0].clone();
    assert_eq!(headers["authorization"], "Bearer very-secret");
    assert_eq!(headers["x-a2a-notification-token"], "hush-hush");
}

#[tokio::test]
async fn tasks_of_other_surfaces_are_found_by_their_ids_slashes_and_all() {
    let site = site().await;
    site.thread("t").await;
    let body = json!({"content": "hi", "to": "ada", "messageId": "m"}).to_string();
    site.post("/api/threads/t/messages", body).await;
    for path in ["/a2a/tasks/m/ada", "/a2a/tasks/m%2Fada", "/a2a/v1/tasks/m/ada"] {
        let (status, task) = site.get(path).await;
        assert_eq!((status, &task["contextId"]), (StatusCode::OK, &json!("t")), "{path}: {task}");
    }
}

#[tokio::test]
async fn the_same_message_again_in_its_context_is_the_same_task() {
    let site = site().await;
    let once = message("hi", json!({"contextId": "c"}));
    let first = call(&site, None, "SendMessage", once.clone()).await;
    let mut otherwise = once.clone();
    otherwise["configuration"] = json!({"returnImmediately": true});
    for again in [once, otherwise] {
        let again = call(&site, None, "SendMessage", again).await;
        assert_eq!(first["result"]["task"]["id"], again["result"]["task"]["id"]);
    }
    idle(&site).await;
    let (_, thread) = site.get("/api/threads/c").await;
    assert_eq!(thread["tasks"].as_array().unwrap().len(), 1, "nobody answers it again: {thread}");
    let other = sent(&site, "hi", json!({"contextId": "c"})).await;
    assert_ne!(first["result"]["task"]["id"], other["id"]);
}

#[tokio::test]
async fn who_names_the_last_event_gets_exactly_the_rest() {
    let site = site().await;
    let task = sent(&site, "hi", json!({})).await;
    let path = format!("/a2a/tasks/{}:subscribe", task["id"].as_str().unwrap());
    let (status, told) = site.post(&path, "").await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "a task that is over is not followed: {told}");
    let (_, thread) =
        site.get(&format!("/api/threads/{}", task["contextId"].as_str().unwrap())).await;
    let epoch = thread["cursor"].as_str().unwrap().split('.').next().unwrap().to_owned();
    let all = frames(&site, &path, &format!("{epoch}.0")).await;
    assert!(all.len() >= 4 && all[0].1["task"].is_object(), "{all:?}");
    for at in 1..all.len() {
        assert_eq!(
            frames(&site, &path, &all[at - 1].0).await,
            all[at..],
            "after {}",
            all[at - 1].0
        );
    }
}

async fn frames(site: &Site, path: &str, last: &str) -> Vec<(String, Value)> {
    let request = site.request(Method::POST, path).header("Last-Event-ID", last);
    let text = request.send().await.unwrap().text().await.unwrap();
    let frames = text.split("\n\n").filter_map(|frame| {
        let (id, data) = frame.strip_prefix("id: ")?.split_once("\ndata: ")?;
        Some((id.to_owned(), serde_json::from_str(data).ok()?))
    });
    frames.collect()
}

#[tokio::test]
async fn a_server_for_1_0_alone_has_a_card_of_1_0_and_refuses_0_3() {
    let options = Options { a2a: A2aVersions::Newest, ..options() };
    let site = Site::start_with(options, &[]).await.0;
    let (_, card) = site.get("/.well-known/agent-card.json").await;
    assert!(card.get("url").is_none() && card.get("protocolVersion").is_none(), "{card}");
    let old = json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "a"}]});
    let told = call(&site, None, "message/send", json!({ "message": old })).await;
    assert_eq!(told["error"]["code"], -32009);
    let both = self::site().await;
    let (_, card) = both.get("/.well-known/agent-card.json").await;
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert_eq!((interfaces.len(), &card["url"]), (4, &json!(format!("{}/a2a", both.url))));
}

#[tokio::test]
async fn whoever_authenticated_elsewhere_says_so_with_a_message() {
    let site = site().await;
    site.thread("t").await;
    let events = json!([
        {"kind": "task-created", "taskId": "k", "initiator": "user", "agentId": "ada"},
        {"kind": "auth-required", "taskId": "k", "authId": "a", "authType": "oauth2", "prompt": "Log in"},
        {"kind": "task-status", "taskId": "k", "status": "waiting-auth"},
    ]);
    site.post("/api/threads/t/events", events.to_string()).await;
    let waiting = call(&site, None, "GetTask", json!({"id": "k"})).await;
    assert_eq!(waiting["result"]["status"]["state"], "TASK_STATE_AUTH_REQUIRED", "{waiting}");
    let mut sending = message("done", json!({"taskId": "k"}));
    sending["configuration"] = json!({"returnImmediately": true});
    call(&site, None, "SendMessage", sending).await;
    let (_, events) = site.get("/api/threads/t/events").await;
    assert!(events.to_string().contains("auth-completed"), "{events}");
}

#[tokio::test]
async fn a_follower_of_a_task_that_waits_is_told_until_it_is_over() {
    let site = site().await;
    let task = sent(&site, "go", json!({})).await;
    let path = format!("/a2a/tasks/{}:subscribe", task["id"].as_str().unwrap());
    let follower = site.request(Method::POST, &path).send().await.unwrap();
    idle(&site).await;
    sent(&site, "yes", json!({"taskId": task["id"]})).await;
    let text = follower.text().await.unwrap();
    let first = text.lines().find(|line| line.starts_with("data: ")).unwrap();
    assert!(first.contains("TASK_STATE_INPUT_REQUIRED"), "{first}");
    assert!(text.trim_end().lines().last().unwrap().contains("TASK_STATE_COMPLETED"), "{text}");
}
