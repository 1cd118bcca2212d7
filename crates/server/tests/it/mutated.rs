//! Bad input to every surface: a good request of each, mutated. What is refused is refused in the
//! protocol's own words and changes nothing; what is taken leaves a thread that every view shows.

mod answers;
mod mutate;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use selvedge_agents::router::Rules;
use selvedge_agents::script::Script;
use selvedge_agents::{Agent, Desk};
use selvedge_server::Options;
use serde_json::{Value, json};

use self::mutate::{Mutant, Wanted, mutants};
use crate::site::{Frames, Site};

const EVENTS: &str = "selvedge_events_total";

/// Stands for the number of a request, so that each has a thread of its own.
const NUMBER: &str = "{n}";

/// A surface, and a request that is good for it.
struct Probe {
    path: Cow<'static, str>,
    headers: &'static [(&'static str, &'static str)],
    body: Value,
    /// Pointers to what must be there, and of its kind.
    needed: &'static [&'static str],
    verdict: fn(&Answer) -> Result<Verdict, String>,
}

#[derive(Debug)]
struct Answer {
    status: u16,
    content_type: String,
    code: Option<String>,
    text: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Taken,
    Refused,
}

impl Answer {
    fn json(&self) -> Result<Value, String> {
        serde_json::from_str(&self.text).map_err(|error| format!("{error}: not JSON"))
    }

    /// Taken with a status of success; else refused as `is_told` finds right.
    fn judged(&self, is_told: impl FnOnce(&Value) -> bool) -> Result<Verdict, String> {
        match self.status {
            200..=299 => Ok(Verdict::Taken),
            400..=499 if is_told(&self.json()?) => Ok(Verdict::Refused),
            status => Err(format!("status {status} in another shape")),
        }
    }
}

async fn site() -> Site {
    let ada = Agent::new("ada", Arc::new(Script::saying("heard: {input}")));
    let rules = Rules { agents: [("plan".to_owned(), "ada".to_owned())].into(), ..Rules::none() };
    let agents = Some(Desk::routed([ada], rules));
    Site::start_with(Options { agents, ..Options::default() }, &[]).await.0
}

/// Waits until no agent is at work, and all it said is counted.
async fn idle(site: &Site) {
    for _ in 0..5000 {
        let count = site.count(EVENTS).await;
        if site.get("/ping").await.1["status"] == "Healthy" && site.count(EVENTS).await == count {
            return;
        }
    }
    panic!("an agent is at work for ever");
}

async fn sent(site: &Site, probe: &Probe, mutant: &Mutant, number: usize) -> Answer {
    let path = numbered(probe.path.as_bytes(), number);
    let path = String::from_utf8(path).unwrap();
    let mut request = site.request(Method::POST, &path).timeout(Duration::from_secs(60));
    for (name, value) in probe.headers {
        request = request.header(*name, numbered(value.as_bytes(), number));
    }
    if !mutant.content_type.is_empty() {
        request = request.header("content-type", mutant.content_type);
    }
    let response = request.body(numbered(&mutant.body, number)).send().await.unwrap();
    let header = |name: &str| {
        let value = response.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let (status, code) = (response.status().as_u16(), header("x-error-code"));
    let content_type = header("content-type").unwrap_or_default();
    let text = response.text().await.unwrap_or_else(|e| panic!("{}: {e}", mutant.name));
    Answer { status, content_type, code, text }
}

fn numbered(text: &[u8], number: usize) -> Vec<u8> {
    let at = text.windows(NUMBER.len()).position(|part| part == NUMBER.as_bytes());
    let Some(at) = at else { return text.to_vec() };
    [&text[..at], number.to_string().as_bytes(), &text[at + NUMBER.len()..]].concat()
}

/// The answer to a request with a thread of its own, and whether anything was written meanwhile.
async fn asked(site: &Site, probe: &Probe, mutant: &Mutant, number: usize) -> (Answer, bool) {
    if probe.path.contains("/t-{n}/") {
        site.thread(&format!("t-{number}")).await;
    }
    let known = site.count(EVENTS).await;
    let answer = sent(site, probe, mutant, number).await;
    let changes = site.count(EVENTS).await != known;
    (answer, changes)
}

/// Tries a good request and all its mutants.
async fn tried(probe: Probe) {
    let site = site().await;
    let (mut wrong, mut taken, mut refused) = (Vec::new(), 0, 0);
    for (number, mutant) in mutants(&probe.body, probe.needed).into_iter().enumerate() {
        let (mut answer, mut changes) = asked(&site, &probe, &mutant, number).await;
        // The turn before may have had a word left to say; a request that changes what it should
        // not does so in every thread.
        for again in 1..=3 {
            if !changes || (probe.verdict)(&answer) != Ok(Verdict::Refused) {
                break;
            }
            idle(&site).await;
            (answer, changes) = asked(&site, &probe, &mutant, again * 100_000 + number).await;
        }
        let why = match (probe.verdict)(&answer) {
            Err(why) => why,
            Ok(Verdict::Taken) if mutant.wanted == Wanted::Refused => "taken".to_owned(),
            Ok(Verdict::Refused) if number == 0 => "good, but refused".to_owned(),
            Ok(Verdict::Refused) if changes => "refused, but changes".to_owned(),
            Ok(Verdict::Refused) => {
                refused += 1;
                continue;
            }
            Ok(Verdict::Taken) => {
                taken += 1;
                idle(&site).await;
                continue;
            }
        };
        let text: String = answer.text.chars().take(300).collect();
        wrong.push(format!("{}: {why}: {} {text}", mutant.name, answer.status));
    }
    println!("{}: {taken} taken, {refused} refused", probe.path);
    assert!(wrong.is_empty(), "{}: {}\n{}", probe.path, wrong.len(), wrong.join("\n"));
    assert!(refused > 60, "only {refused} were refused");
    shown(&site).await;
}

/// Every thread is told by every view.
async fn shown(site: &Site) {
    let (_, listed) = site.get("/api/threads?limit=500").await;
    let threads = listed["threads"].as_array().unwrap().clone();
    assert!(!threads.is_empty());
    for thread in threads.iter().step_by(7) {
        let id: String = form_urlencoded::byte_serialize(thread["id"].as_str().unwrap().as_bytes())
            .collect::<String>()
            .replace('+', "%20");
        for path in [
            format!("/api/threads/{id}"),
            format!("/api/threads/{id}/events?limit=1000"),
            format!("/api/threads/{id}/export?dialect=journal"),
            format!("/api/threads/{id}/export?dialect=thread-protocol"),
            format!("/ai-sdk/chat/{id}"),
            format!("/v1/threads/{id}/messages"),
            format!("/v1/threads/{id}/runs"),
            format!("/a2a/tasks?contextId={id}&includeArtifacts=true"),
            format!("/envelopes?thread={id}"),
        ] {
            let response = site.request(Method::GET, &path).send().await.unwrap();
            let status = response.status().as_u16();
            let text = response.text().await.unwrap();
            assert_eq!(status, 200, "{path}: {text}");
        }
        let run = json!({"threadId": thread["id"], "runId": "r", "messages": [], "state": {},
                         "tools": [], "context": [], "forwardedProps": {}});
        let request = site.request(Method::POST, "/ag-ui").body(run.to_string());
        // A task that nobody is at goes on.
        let frames = Frames::open(request).await.take(2).await;
        assert!(frames[1].text.contains("MESSAGES_SNAPSHOT"), "{frames:?}");
    }
}

/// As JSON-RPC tells it; a mistake of the server's own is none.
fn rpc(answer: &Answer) -> Result<Verdict, String> {
    if answer.status >= 500 {
        return Err("a mistake of the server".to_owned());
    }
    // What needs no answer gets none.
    if answer.status == 202 && answer.text.is_empty() {
        return Ok(Verdict::Taken);
    }
    // Clients of streams may take nothing else.
    let data = answer.text.lines().find_map(|line| line.strip_prefix("data: "));
    let told = match data {
        Some(data) => serde_json::from_str(data).map_err(|error| error.to_string())?,
        None => answer.json()?,
    };
    if told["jsonrpc"] != "2.0" {
        return Err("not JSON-RPC".to_owned());
    }
    let error = &told["error"];
    match error["code"].as_i64() {
        None if error.is_null() && told.get("result").is_some() => {
            let refused = told["result"]["isError"] == true;
            Ok(if refused { Verdict::Refused } else { Verdict::Taken })
        }
        Some(-32603) => Err("a mistake of the server".to_owned()),
        Some(_) if error["message"].is_string() => Ok(Verdict::Refused),
        _ => Err("an error in another shape".to_owned()),
    }
}

fn google(answer: &Answer) -> Result<Verdict, String> {
    let status = u64::from(answer.status);
    answer.judged(|told| {
        let error = &told["error"];
        error["code"] == status && error["status"].is_string() && error["message"].is_string()
    })
}

fn ours(answer: &Answer) -> Result<Verdict, String> {
    answer.judged(|told| told["error"]["code"].is_string() && told["error"]["message"].is_string())
}

fn openai(answer: &Answer) -> Result<Verdict, String> {
    answer.judged(|told| {
        let error = told["error"].as_object();
        error.is_some_and(|error| {
            error["message"].is_string()
                && error["type"].is_string()
                && error.contains_key("param")
                && error.contains_key("code")
        })
    })
}

fn detailed(answer: &Answer) -> Result<Verdict, String> {
    answer.judged(|told| {
        let placed = |one: &Value| one["loc"].is_array() && one["msg"].is_string();
        match &told["detail"] {
            Value::Array(list) => !list.is_empty() && list.iter().all(placed),
            other => other.is_string(),
        }
    })
}

fn plain(answer: &Answer) -> Result<Verdict, String> {
    match answer.status {
        200..=299 => Ok(Verdict::Taken),
        400..=499 if answer.content_type.starts_with("text/plain") && answer.code.is_some() => {
            Ok(Verdict::Refused)
        }
        status => Err(format!("status {status} in another shape")),
    }
}

fn run_error(answer: &Answer) -> Result<Verdict, String> {
    answer.judged(|told| told["type"] == "RUN_ERROR" && told["message"].is_string())
}

fn enveloped(answer: &Answer) -> Result<Verdict, String> {
    answer.judged(|told| told["protocol"] == "multiagent-1.0" && told["content"]["type"] == "error")
}

#[tokio::test]
async fn a2a_1_0_over_json_rpc() {
    for method in ["SendMessage", "SendStreamingMessage"] {
        let message = json!({"messageId": "m", "contextId": "c-{n}", "role": "ROLE_USER",
            "parts": [{"text": "hi", "mediaType": "text/plain", "metadata": {"a": 1}}, {"data": {"a": [1]}}],
            "metadata": {"b": "c"}, "extensions": ["https://x.example"], "referenceTaskIds": ["z"]});
        let configuration = json!({"acceptedOutputModes": ["text/plain"], "historyLength": 1});
        tried(Probe {
            path: "/a2a".into(),
            headers: &[("a2a-version", "1.0")],
            body: json!({"jsonrpc": "2.0", "id": 7, "method": method,
                "params": {"message": message, "configuration": configuration}}),
            needed: &[
                "/jsonrpc",
                "/method",
                "/params",
                "/params/message",
                "/params/message/parts",
                "/params/message/messageId",
                "/params/message/role",
            ],
            verdict: rpc,
        })
        .await;
    }
}

#[tokio::test]
async fn a2a_0_3_over_json_rpc() {
    for method in ["message/send", "message/stream"] {
        let message = json!({"kind": "message", "messageId": "m", "contextId": "c-{n}", "role": "user",
            "parts": [{"kind": "text", "text": "hi"}, {"kind": "data", "data": {"a": 1}},
                      {"kind": "file", "file": {"uri": "https://x.example/a", "mimeType": "a/b"}}]});
        tried(Probe {
            path: "/a2a".into(),
            headers: &[],
            body: json!({"jsonrpc": "2.0", "id": "x", "method": method, "params": {
                "message": message, "configuration": {"blocking": true, "historyLength": 2}}}),
            needed: &[
                "/jsonrpc",
                "/method",
                "/params",
                "/params/message",
                "/params/message/parts",
                "/params/message/messageId",
                "/params/message/role",
                "/params/message/parts/0/kind",
                "/params/message/parts/0/text",
            ],
            verdict: rpc,
        })
        .await;
    }
}

#[tokio::test]
async fn a2a_over_http() {
    for (path, role) in [("/a2a/message:send", "ROLE_USER"), ("/a2a/v1/message:send", "user")] {
        let message = json!({"messageId": "m", "contextId": "c-{n}", "role": role,
            "parts": [{"kind": "text", "text": "hi"}]});
        tried(Probe {
            path: path.into(),
            headers: &[],
            body: json!({"message": message, "configuration": {"historyLength": 1}}),
            needed: &["/message", "/message/messageId", "/message/role", "/message/parts"],
            verdict: google,
        })
        .await;
    }
}

#[tokio::test]
async fn mcp() {
    let arguments = json!({"thread": "c-{n}", "text": "hi", "to": "ada", "wait": 10});
    tried(Probe {
        path: "/mcp".into(),
        headers: &[("accept", "application/json, text/event-stream")],
        body: json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "send_message", "arguments": arguments}}),
        needed: &["/jsonrpc", "/method", "/params", "/params/name", "/params/arguments/text"],
        verdict: rpc,
    })
    .await;
}

#[tokio::test]
async fn ai_sdk() {
    let message = json!({"id": "m", "role": "user", "metadata": {"a": 1}, "parts": [
        {"type": "text", "text": "hi"},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"}]});
    tried(Probe {
        path: "/ai-sdk/chat?version=7".into(),
        headers: &[],
        body: json!({"id": "c-{n}", "messages": [message], "trigger": "submit-message", "agent": "ada"}),
        needed: &["/id", "/messages", "/messages/0", "/messages/0/id", "/messages/0/role",
            "/messages/0/parts", "/messages/0/parts/0/text"],
        verdict: plain,
    })
    .await;
}

#[tokio::test]
async fn ag_ui() {
    let tools = json!([{"name": "where", "description": "d", "parameters": {"type": "object"}}]);
    tried(Probe {
        path: "/ag-ui".into(),
        headers: &[],
        body: json!({"threadId": "c-{n}", "runId": "r", "state": {"a": 1}, "tools": tools,
            "messages": [{"id": "m", "role": "user", "content": "hi"}],
            "context": [{"description": "d", "value": "v"}], "forwardedProps": {"agent": "ada"}}),
        needed: &[
            "/threadId",
            "/runId",
            "/messages",
            "/messages/0",
            "/messages/0/id",
            "/messages/0/role",
        ],
        verdict: run_error,
    })
    .await;
}

#[tokio::test]
async fn agent_api() {
    for path in ["/process", "/process/task"] {
        let content = json!([{"type": "text", "text": "hi"}, {"type": "data", "data": {"a": 1}}]);
        let parameters = json!({"type": "object", "properties": {}});
        tried(Probe {
            path: path.into(),
            headers: &[],
            body: json!({"input": [{"role": "user", "type": "message", "content": content}],
                "session_id": "c-{n}", "user_id": "u", "stream": true, "model": "ada",
                "temperature": 0.5, "top_p": 0.5, "max_tokens": 100,
                "tools": [{"type": "function", "function":
                    {"name": "where", "description": "d", "parameters": parameters}}]}),
            needed: &["/input", "/input/0", "/input/0/content/0/type"],
            verdict: detailed,
        })
        .await;
    }
}

#[tokio::test]
async fn envelopes() {
    tried(Probe {
        path: "/envelopes?thread=c-{n}&wait=5s".into(),
        headers: &[],
        body: json!({"protocol": "multiagent-1.0", "role": "user", "intent": "plan",
            "timestamp": "2026-01-31T12:00:00Z", "task": "Plan a trip",
            "content": {"type": "text", "text": "Lisbon"}, "confidence": {"score": 0.5},
            "trace": {"id": "e", "parents": ["p"]}}),
        needed: &["/protocol", "/role", "/intent", "/task", "/content"],
        verdict: enveloped,
    })
    .await;
}

#[tokio::test]
async fn looopy() {
    tried(Probe {
        path: "/invocations".into(),
        headers: &[("x-amzn-bedrock-agentcore-runtime-session-id", "c-{n}")],
        body: json!({"prompt": "hi", "messageId": "m", "metadata": {"a": 1}}),
        needed: &["/prompt"],
        verdict: ours,
    })
    .await;
}

#[tokio::test]
async fn openai_threads() {
    let message = json!({"role": "user", "content": [{"type": "text", "text": "hi"}],
        "metadata": {"a": "b"}, "attachments": []});
    for (path, body, needed) in [
        (
            "/v1/threads",
            json!({"messages": [message], "metadata": {"a": "b"}}),
            &["/messages/0/role"][..],
        ),
        ("/v1/threads/t-{n}/messages", message.clone(), &["/role"]),
        (
            "/v1/threads/t-{n}/runs",
            json!({"assistant_id": "ada", "instructions": "i", "stream": false,
                "additional_messages": [message], "metadata": {"a": "b"}}),
            &["/assistant_id", "/additional_messages/0/role"],
        ),
        (
            "/v1/threads/runs",
            json!({"assistant_id": "ada", "stream": true, "thread": {"messages": [message]}}),
            &["/assistant_id", "/thread/messages/0/role"],
        ),
    ] {
        tried(Probe { path: path.into(), headers: &[], body, needed, verdict: openai }).await;
    }
}

#[tokio::test]
async fn the_native_api() {
    for (path, body, needed) in [
        (
            "/api/threads/t-{n}/messages",
            json!({"content": "hi", "to": ["ada"], "messageId": "m", "metadata": {"a": 1}}),
            &[][..],
        ),
        (
            "/api/threads/t-{n}/events",
            json!([{"kind": "message", "messageId": "m", "role": "user", "content": "x"},
                   {"kind": "content-delta", "taskId": "k", "delta": "x", "index": 0}]),
            &["/0/kind", "/1/delta"],
        ),
    ] {
        tried(Probe { path: path.into(), headers: &[], body, needed, verdict: ours }).await;
    }
}
