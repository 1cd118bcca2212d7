//! Workers: tasks are claimed exactly once, by leases, and nobody who lost one writes to it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use selvedge_agents::model::ToolSpec;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Desk, Doer, Member, Tool, Worker};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Frames, Site, answer, key};

const WORK: &str = "/api/agents/ada/work";

fn ada() -> Member {
    Member::Worker(Worker { id: "ada".to_owned(), lease: Duration::from_secs(60) })
}

fn options(members: Vec<Member>) -> Options {
    Options { agents: Some(Desk::new(members)), ..Options::default() }
}

async fn site() -> Site {
    Site::start_with(options(vec![ada()]), &[]).await.0
}

/// Says something to Ada; the task is `ID/ada`.
async fn ask(site: &Site, thread: &str, id: &str, words: &str) {
    let body = json!({"content": words, "to": "ada", "messageId": id}).to_string();
    let (status, sent) = site.post(&format!("/api/threads/{thread}/messages"), body).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{sent}");
}

/// Claims a task that must be there, or come.
async fn claim(site: &Site, query: &str) -> Value {
    let (status, claim) = site.get(&format!("{WORK}?wait=20s&{query}")).await;
    assert_eq!(status, StatusCode::OK, "{claim}");
    claim
}

async fn nothing(site: &Site) {
    let answer = site.request(Method::GET, WORK).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
}

/// Asks with the lease of a claim.
async fn with(
    site: &Site,
    claim: &Value,
    method: Method,
    link: &str,
    body: Value,
) -> (StatusCode, Value) {
    let path = claim["links"][link].as_str().unwrap();
    let request = site.request(method, path).header("Selvedge-Lease", text(claim, "lease"));
    let sent = request.body(body.to_string()).send().await.unwrap();
    if sent.status() == StatusCode::NO_CONTENT {
        return (sent.status(), Value::Null);
    }
    answer(sent).await
}

async fn append(site: &Site, claim: &Value, events: Value) -> (StatusCode, Value) {
    with(site, claim, Method::POST, "events", events).await
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}

fn delta(words: &str) -> Value {
    json!({"kind": "content-delta", "delta": words})
}

fn done(words: &str) -> Value {
    json!({"kind": "task-complete", "content": words})
}

async fn journal(site: &Site, thread: &str) -> Vec<Value> {
    let (_, page) = site.get(&format!("/api/threads/{thread}/events")).await;
    page["entries"].as_array().unwrap().iter().map(|entry| entry["event"].clone()).collect()
}

/// What is said in a thread and not void.
async fn said(site: &Site, thread: &str) -> Vec<String> {
    let (_, state) = site.get(&format!("/api/threads/{thread}")).await;
    let all = state["messages"].as_array().unwrap().iter();
    all.filter_map(|message| message["text"].as_str().map(str::to_owned)).collect()
}

fn code(body: &Value) -> &str {
    text(&body["error"], "code")
}

#[tokio::test]
async fn a_worker_claims_a_task_learns_all_of_it_and_finishes_it() {
    let site = site().await;
    let epoch = site.thread("a thread").await;
    nothing(&site).await;
    // Whoever waits is served when something comes.
    let waiting = claim(&site, "worker=w1&lease=30s");
    let asking = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        ask(&site, "a thread", "m", "What is new?").await;
    };
    let (claim, ()) = tokio::join!(waiting, asking);
    let expected = json!({
        "threadId": "a thread", "taskId": "m/ada", "parentTaskId": null, "agentId": "ada",
        "workerId": "w1", "attempt": 1, "messageId": "m", "prompt": "What is new?",
        "leaseMs": 30_000, "cursor": format!("{epoch}.4"),
        "lease": claim["lease"], "expiresAt": claim["expiresAt"],
        "links": {
            "thread": "/api/threads/a%20thread",
            "events": "/api/threads/a%20thread/events",
            "stream": format!("/api/threads/a%20thread/stream?after={epoch}.4"),
            "history": "/api/threads/a%20thread/export?dialect=pydantic-ai&agent=ada",
            "lease": "/api/threads/a%20thread/tasks/m%2Fada/lease",
        },
    });
    assert_eq!(claim, expected);
    nothing(&site).await;
    let (status, history) = site.get(text(&claim["links"], "history")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(history.to_string().contains("What is new?"), "{history}");
    let (status, renewed) = with(&site, &claim, Method::PUT, "lease", json!({})).await;
    assert_eq!((status, &renewed["taskId"]), (StatusCode::OK, &json!("m/ada")), "{renewed}");
    assert!(text(&renewed, "expiresAt") >= text(&claim, "expiresAt"));
    let (status, told) = append(&site, &claim, json!([delta("Not "), delta("much.")])).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    assert!(text(&told, "leaseExpiresAt") >= text(&renewed, "expiresAt"));
    assert_eq!(append(&site, &claim, done("Not much.")).await.0, StatusCode::OK);
    let events = journal(&site, "a thread").await;
    let kinds: Vec<_> = events.iter().map(|event| text(event, "kind")).collect();
    assert_eq!(kinds[3..], ["task-status", "content-delta", "content-delta", "task-complete"]);
    assert_eq!(events[3]["metadata"], json!({"workerId": "w1", "attempt": 1}));
    for event in &events[3..] {
        assert_eq!((text(event, "taskId"), text(event, "agentId")), ("m/ada", "ada"));
    }
    // Its one end is there; a second one is not.
    let (status, refused) = append(&site, &claim, done("More.")).await;
    assert_eq!((status, code(&refused)), (StatusCode::CONFLICT, "already_over"), "{refused}");
    nothing(&site).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_claimers_over_a_hundred_tasks_get_each_exactly_once() {
    let site = Arc::new(site().await);
    site.thread("t").await;
    for n in 0..50 {
        ask(&site, "t", &format!("m{n}"), "go").await;
    }
    let claimers: Vec<_> = (0..8)
        .map(|n| {
            let site = site.clone();
            tokio::spawn(async move {
                let mut got = Vec::new();
                // Half of them come while others are served.
                while got.len() < 100 {
                    let path = format!("{WORK}?wait=1s&worker=w{n}");
                    let sent = site.request(Method::GET, &path).send().await.unwrap();
                    if sent.status() == StatusCode::NO_CONTENT {
                        break;
                    }
                    let (status, claim) = answer(sent).await;
                    assert_eq!(status, StatusCode::OK, "{claim}");
                    let (status, told) = append(&site, &claim, done("ok")).await;
                    assert_eq!(status, StatusCode::OK, "{told}");
                    got.push(text(&claim, "taskId").to_owned());
                }
                got
            })
        })
        .collect();
    for n in 50..100 {
        ask(&site, "t", &format!("m{n}"), "go").await;
    }
    let mut all = Vec::new();
    for claimer in claimers {
        all.extend(claimer.await.unwrap());
    }
    assert_eq!(all.len(), 100);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 100);
    let events = journal(&site, "t").await;
    let count = |kind: &str| events.iter().filter(|event| event["kind"] == kind).count();
    assert_eq!((count("task-complete"), count("attempt-superseded")), (100, 0));
}

#[tokio::test]
async fn an_expired_lease_is_claimed_once_and_what_was_streamed_is_not_mixed() {
    let site = site().await;
    site.thread("t").await;
    ask(&site, "t", "m", "count").await;
    let first = claim(&site, "worker=w1&lease=100ms").await;
    let call = json!({"kind": "tool-call", "toolCallId": "c", "toolName": "n", "arguments": {}});
    let result =
        json!({"kind": "tool-complete", "toolCallId": "c", "toolName": "n", "success": true});
    let half = json!([delta("one two "), call, result]);
    assert_eq!(append(&site, &first, half).await.0, StatusCode::OK);
    // It can be had when the lease ends, without anybody telling, and by one of two.
    let get = async |worker: &str| {
        let path = format!("{WORK}?wait=3s&worker={worker}");
        let sent = site.request(Method::GET, &path).send().await.unwrap();
        if sent.status() == StatusCode::OK { Some(answer(sent).await.1) } else { None }
    };
    let (one, other) = loop {
        let both = tokio::join!(get("w2"), get("w3"));
        if both.0.is_some() || both.1.is_some() {
            break both;
        }
    };
    assert!(one.is_some() != other.is_some(), "{one:?} {other:?}");
    let second = one.or(other).unwrap();
    assert_eq!((second["attempt"].clone(), text(&second, "taskId")), (json!(2), "m/ada"));
    // The first is still alive, and late.
    for event in [delta("three"), done("one two three")] {
        let (status, refused) = append(&site, &first, event).await;
        assert_eq!((status, code(&refused)), (StatusCode::CONFLICT, "lease_lost"));
        assert_eq!(refused["error"]["details"], json!({"attempt": 2}));
    }
    let (status, refused) = with(&site, &first, Method::PUT, "lease", json!({})).await;
    assert_eq!((status, code(&refused)), (StatusCode::CONFLICT, "lease_lost"));
    for events in [delta("1 2 3"), done("1 2 3")] {
        assert_eq!(append(&site, &second, events).await.0, StatusCode::OK);
    }
    let events = journal(&site, "t").await;
    let void = events.iter().find(|event| event["kind"] == "attempt-superseded").unwrap();
    assert_eq!((text(void, "reason"), text(void, "taskId")), ("lease expired", "m/ada"));
    assert_eq!(said(&site, "t").await, ["count", "1 2 3"]);
    let (_, state) = site.get("/api/threads/t").await;
    let types: Vec<_> =
        state["messages"].as_array().unwrap().iter().map(|m| text(m, "type")).collect();
    let expected = ["user-message", "tool-call", "tool-return", "assistant-message"];
    assert_eq!(types, expected, "what a tool did stays done");
    assert_eq!(state["tasks"][0]["status"], "completed");
}

#[tokio::test]
async fn a_stream_gives_so_many_at_once_and_tells_of_a_cancel() {
    let site = site().await;
    site.thread("t").await;
    let accept = [("accept", "text/event-stream")];
    let path = format!("{WORK}?max=2&worker=w");
    let mut request = site.request(Method::GET, &path);
    for (name, value) in accept {
        request = request.header(name, value);
    }
    let mut stream = Frames::open(request).await;
    assert_eq!(stream.next().await.text, "retry: 1000\n\n");
    for id in ["a", "b", "c"] {
        ask(&site, "t", id, id).await;
    }
    let next = async |stream: &mut Frames, event: &str| {
        let frame = stream.next().await;
        assert_eq!(frame.field("event"), Some(event), "{frame:?}");
        frame.data()
    };
    let first = next(&mut stream, "work").await;
    let second = next(&mut stream, "work").await;
    assert_eq!((text(&first, "prompt"), text(&second, "prompt")), ("a", "b"));
    assert_eq!(append(&site, &first, done("A")).await.0, StatusCode::OK);
    let third = next(&mut stream, "work").await;
    assert_eq!(text(&third, "prompt"), "c");
    // Someone stops the second.
    let (status, _) = site.post("/api/threads/t/tasks/b%2Fada/cancel", "{}").await;
    assert_eq!(status, StatusCode::OK);
    let told = next(&mut stream, "canceled").await;
    assert_eq!(told, json!({"threadId": "t", "taskId": "b/ada", "attempt": 1}));
    for link in ["events", "lease"] {
        let method = if link == "events" { Method::POST } else { Method::PUT };
        let (status, refused) = with(&site, &second, method, link, delta("B")).await;
        assert_eq!((status, code(&refused)), (StatusCode::CONFLICT, "already_over"), "{refused}");
        assert_eq!(refused["error"]["details"], json!({"state": "canceled"}));
    }
}

#[tokio::test]
async fn what_a_worker_lets_go_is_void_and_another_takes_it_up() {
    let site = site().await;
    site.thread("t").await;
    ask(&site, "t", "m", "hard").await;
    let first = claim(&site, "worker=w1").await;
    assert_eq!(append(&site, &first, delta("Hm")).await.0, StatusCode::OK);
    let path = format!("{}?reason=too+hard", text(&first["links"], "lease"));
    let release = || site.request(Method::DELETE, &path);
    let (status, refused) = answer(release().send().await.unwrap()).await;
    assert_eq!((status, code(&refused)), (StatusCode::BAD_REQUEST, "bad_parameter"));
    let lease = text(&first, "lease");
    let let_go = release().header("Selvedge-Lease", lease).send().await.unwrap();
    assert_eq!(let_go.status(), StatusCode::NO_CONTENT);
    let second = claim(&site, "worker=w2").await;
    assert_eq!(second["attempt"], 2);
    assert_eq!(append(&site, &second, done("Easy")).await.0, StatusCode::OK);
    let events = journal(&site, "t").await;
    let void: Vec<_> =
        events.iter().filter(|event| event["kind"] == "attempt-superseded").collect();
    assert_eq!(void.len(), 1, "let go, not expired");
    assert_eq!(text(void[0], "reason"), "too hard");
    let (status, refused) = append(&site, &first, delta("mmm")).await;
    assert_eq!((status, code(&refused)), (StatusCode::CONFLICT, "lease_lost"));
}

#[tokio::test]
async fn a_task_that_waits_for_an_answer_is_claimed_again_when_it_came() {
    let site = site().await;
    site.thread("t").await;
    ask(&site, "t", "m", "book it").await;
    let first = claim(&site, "worker=w1").await;
    let question = json!({"kind": "input-required", "inputId": "q",
        "inputType": "confirmation", "prompt": "Sure?"});
    let asked = json!([delta("I have to ask. "), question]);
    assert_eq!(append(&site, &first, asked).await.0, StatusCode::OK);
    let (status, _) = with(&site, &first, Method::DELETE, "lease", json!({})).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    nothing(&site).await;
    let answering = async {
        let (status, told) = site.post("/api/threads/t/inputs/q", r#"{"value":true}"#).await;
        assert_eq!(status, StatusCode::OK, "{told}");
    };
    let (second, ()) = tokio::join!(claim(&site, "worker=w2"), answering);
    assert_eq!(text(&second, "taskId"), "m/ada");
    assert_eq!(append(&site, &second, done("Booked.")).await.0, StatusCode::OK);
    let kinds: Vec<_> =
        journal(&site, "t").await.iter().map(|event| text(event, "kind").to_owned()).collect();
    assert!(!kinds.contains(&"attempt-superseded".to_owned()), "nothing is void: {kinds:?}");
}

/// An agent here that asks Ada, a worker, by a tool.
fn boss() -> Member {
    let lines = vec![
        Line {
            calls: vec![("ada".to_owned(), json!({"prompt": "six times seven"}))],
            ..Line::default()
        },
        Line { say: "Ada says {result}".to_owned(), ..Line::default() },
    ];
    let mut boss = Agent::new("boss", Arc::new(Script::of(lines)));
    let schema = json!({"type": "object"});
    let spec = ToolSpec { name: "ada".to_owned(), description: String::new(), schema };
    boss.tools = vec![Arc::new(Tool::new(spec, Doer::Agent { id: "ada".to_owned() }).unwrap())];
    boss.into()
}

#[tokio::test]
async fn an_agent_that_calls_a_worker_goes_on_when_it_has_finished_or_failed() {
    let (site, _) = Site::start_with(options(vec![ada(), boss()]), &[]).await;
    let failed = json!({"kind": "task-status", "status": "failed", "message": "I cannot count"});
    for (thread, end, success) in [("well", done("42"), true), ("badly", failed, false)] {
        site.thread(thread).await;
        let body = r#"{"content":"go","to":"boss","messageId":"m"}"#;
        let (status, _) = site.post(&format!("/api/threads/{thread}/messages"), body).await;
        assert_eq!(status, StatusCode::ACCEPTED);
        let claim = claim(&site, "").await;
        assert_eq!(text(&claim, "prompt"), "six times seven");
        assert_eq!((text(&claim, "threadId"), text(&claim, "parentTaskId")), (thread, "m/boss"));
        assert_eq!(append(&site, &claim, end).await.0, StatusCode::OK);
        let mut stream = site.stream(&format!("/api/threads/{thread}/stream"), None).await;
        let events = async {
            let mut events = Vec::new();
            loop {
                let frame = stream.next().await;
                if frame.field("id").is_none() || frame.field("data").is_none() {
                    continue;
                }
                events.push(frame.data());
                let last = events.last().unwrap();
                if last["kind"] == "task-complete" && last["taskId"] == "m/boss" {
                    return events;
                }
            }
        };
        let events = tokio::time::timeout(Duration::from_secs(60), events).await.unwrap();
        let result = events.iter().find(|event| event["kind"] == "tool-complete").unwrap();
        assert_eq!(result["success"], success, "{result}");
        let told = if success { &result["result"] } else { &result["error"] };
        assert_eq!(told, if success { "42" } else { "I cannot count" });
    }
}

#[tokio::test]
async fn workers_of_one_tenant_see_nothing_of_anothers_tasks() {
    let made = [key("acme", &["agent"]), key("other", &["agent"])];
    let (site, keys) = Site::start_with(options(vec![ada()]), &made).await;
    let post = async |path: &str, key: &str, body: Value| {
        let request = site.request(Method::POST, path).bearer_auth(key);
        answer(request.body(body.to_string()).send().await.unwrap()).await
    };
    assert_eq!(post("/api/threads", &keys[0], json!({"id": "t"})).await.0, StatusCode::CREATED);
    let asked = json!({"content": "go", "to": "ada", "messageId": "m"});
    let (status, _) = post("/api/threads/t/messages", &keys[0], asked).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let claims =
        async |key: &str| site.request(Method::GET, WORK).bearer_auth(key).send().await.unwrap();
    assert_eq!(claims(&keys[1]).await.status(), StatusCode::NO_CONTENT);
    let (status, claim) = answer(claims(&keys[0]).await).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(text(&claim, "workerId").len(), 12, "the id of the key");
    // A token that leaked is of no use without a key of the tenant.
    let request = site.request(Method::POST, text(&claim["links"], "events"));
    let request = request.bearer_auth(&keys[1]).header("Selvedge-Lease", text(&claim, "lease"));
    let (status, refused) =
        answer(request.body(delta("x").to_string()).send().await.unwrap()).await;
    assert_eq!((status, code(&refused)), (StatusCode::NOT_FOUND, "not_found"));
}

#[tokio::test]
async fn what_is_asked_wrongly_claims_nothing() {
    let site = site().await;
    site.thread("t").await;
    ask(&site, "t", "m", "go").await;
    for query in ["wait=soon", "wait=0s", "lease=61s", "lease=1ms", "max=0", "max=65", "max=x"] {
        let (status, refused) = site.get(&format!("{WORK}?{query}")).await;
        assert_eq!((status, code(&refused)), (StatusCode::BAD_REQUEST, "bad_parameter"), "{query}");
    }
    let long = "w".repeat(257);
    assert_eq!(site.get(&format!("{WORK}?worker={long}")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(site.get("/api/agents/bob/work").await.0, StatusCode::NOT_FOUND);
    let head = site.request(Method::HEAD, WORK).send().await.unwrap();
    assert_eq!(head.status(), StatusCode::NO_CONTENT);
    let nonsense = json!({"lease": "ls_nonsense", "links": {"events": "/api/threads/t/events"}});
    let (status, refused) = append(&site, &nonsense, delta("x")).await;
    assert_eq!((status, code(&refused)), (StatusCode::CONFLICT, "lease_lost"));
    assert_eq!(claim(&site, "").await["attempt"], 1, "it is still there");
}
