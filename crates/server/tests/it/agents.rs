//! Agents that work in the server's threads.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use selvedge_agents::model::ToolSpec;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Consent, Desk, Doer, Tool};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::Site;

async fn site(agents: Vec<Agent>) -> Site {
    let options = Options { agents: Some(Desk::new(agents)), ..Options::default() };
    Site::start_with(options, &[]).await.0
}

fn saying(id: &str, text: &str) -> Agent {
    Agent::new(id, Arc::new(Script::saying(text)))
}

/// Reads a thread's stream until a task is over; gives the kinds and the last event.
async fn until_over(site: &Site, thread: &str, task: &str) -> (Vec<String>, Value) {
    let mut stream = site.stream(&format!("/api/threads/{thread}/stream"), None).await;
    let mut kinds = Vec::new();
    let wait = async {
        loop {
            let frame = stream.next().await;
            let Some(kind) = frame.field("event").map(str::to_owned) else { continue };
            if frame.field("id").is_none() {
                continue;
            }
            let event = frame.data();
            kinds.push(kind.clone());
            let over = kind == "task-complete" || event["status"] == "failed";
            if over && event["taskId"] == task {
                return event;
            }
        }
    };
    let event = tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap();
    (kinds, event)
}

#[tokio::test]
async fn a_message_is_answered_in_the_thread_by_whom_it_is_for() {
    let site = site(vec![saying("ada", "I am Ada: {input}"), saying("bob", "I am Bob")]).await;
    site.thread("t").await;
    let (status, sent) =
        site.post("/api/threads/t/messages", r#"{"content":"hello","to":"ada"}"#).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{sent}");
    let task = sent["tasks"][0]["taskId"].as_str().unwrap().to_owned();
    let (kinds, last) = until_over(&site, "t", &task).await;
    assert_eq!(last["content"], "I am Ada: hello");
    assert!(kinds.iter().any(|kind| kind == "content-delta"));
    assert!(!kinds.iter().any(|kind| kind.starts_with("internal:")), "operators only");
    // To both at once; each has a task of its own.
    let body = r#"{"content":"and you?","to":["ada","bob","ada"],"messageId":"m2"}"#;
    let (_, sent) = site.post("/api/threads/t/messages", body).await;
    let tasks = json!([
        {"taskId": "m2/ada", "agent": "ada"}, {"taskId": "m2/bob", "agent": "bob"},
    ]);
    assert_eq!(sent["tasks"], tasks);
    assert_eq!(until_over(&site, "t", "m2/bob").await.1["content"], "I am Bob");
    assert_eq!(until_over(&site, "t", "m2/ada").await.1["content"], "I am Ada: and you?");
    let (_, agents) = site.get("/api/agents").await;
    let ids: Vec<&Value> = agents["agents"].as_array().unwrap().iter().map(|a| &a["id"]).collect();
    assert_eq!(ids, ["ada", "bob"]);
}

#[tokio::test]
async fn a_question_of_an_agent_is_answered_over_http_and_the_turn_goes_on() {
    let lines = vec![
        Line { calls: vec![("look".to_owned(), json!({}))], ..Line::default() },
        Line { say: "thank you".to_owned(), ..Line::default() },
    ];
    let mut ada = Agent::new("ada", Arc::new(Script::of(lines)));
    let schema = json!({"type": "object"});
    let spec = ToolSpec { name: "look".to_owned(), description: String::new(), schema };
    let mut tool = Tool::new(spec, Doer::Client).unwrap();
    tool.consent = Consent::Needed;
    ada.tools = vec![Arc::new(tool)];
    let site = site(vec![ada]).await;
    site.thread("t").await;
    let body = r#"{"content":"go","messageId":"m"}"#;
    assert_eq!(site.post("/api/threads/t/messages", body).await.0, StatusCode::ACCEPTED);
    for (kind, value) in [("confirmation", json!(true)), ("tool-execution", json!("a bird"))] {
        let question = loop {
            let (_, waiting) = site.get("/api/threads/t").await;
            let found =
                waiting["inputs"].as_array().unwrap().iter().find(|i| i["inputType"] == kind);
            if let Some(found) = found {
                break found["inputId"].as_str().unwrap().replace('/', "%2F");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let path = format!("/api/threads/t/inputs/{question}");
        let (status, answer) = site.post(&path, json!({"value": value}).to_string()).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }
    assert_eq!(until_over(&site, "t", "m/ada").await.1["content"], "thank you");
}

#[tokio::test]
async fn an_agent_goes_on_when_nobody_answers_in_time() {
    let lines = vec![
        Line { calls: vec![("look".to_owned(), json!({}))], ..Line::default() },
        Line { say: "never mind".to_owned(), ..Line::default() },
    ];
    let mut ada = Agent::new("ada", Arc::new(Script::of(lines)));
    let schema = json!({"type": "object"});
    let spec = ToolSpec { name: "look".to_owned(), description: String::new(), schema };
    let mut tool = Tool::new(spec, Doer::Client).unwrap();
    tool.patience = Some(Duration::from_millis(50));
    ada.tools = vec![Arc::new(tool)];
    let site = site(vec![ada]).await;
    site.thread("t").await;
    site.post("/api/threads/t/messages", r#"{"content":"go","messageId":"m"}"#).await;
    let (kinds, last) = until_over(&site, "t", "m/ada").await;
    assert_eq!(last["content"], "never mind");
    assert_eq!(kinds.iter().filter(|kind| *kind == "input-expired").count(), 1);
}

#[tokio::test]
async fn a_canceled_turn_stops() {
    let mut script = Script::saying(&"word ".repeat(10_000));
    script.pace = Duration::from_millis(1);
    let site = site(vec![Agent::new("ada", Arc::new(script))]).await;
    site.thread("t").await;
    site.post("/api/threads/t/messages", r#"{"content":"go","messageId":"m"}"#).await;
    let mut stream = site.stream("/api/threads/t/stream?kinds=content-delta", None).await;
    while stream.next().await.field("data").is_none_or(|data| !data.contains("delta")) {}
    let (status, answer) = site.post("/api/threads/t/tasks/m%2Fada/cancel", "{}").await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let (_, state) = site.get("/api/threads/t").await;
    assert_eq!(state["tasks"][0]["status"], "canceled");
    // Nothing is said by a task that was stopped, not even what was on its way.
    let (_, said) = site.post("/api/threads/t/messages", r#"{"content":"again"}"#).await;
    let next = said["first"].as_u64().unwrap();
    let (_, page) = site.get("/api/threads/t/events?limit=10000").await;
    let after = page["entries"].as_array().unwrap().iter().skip_while(|entry| {
        entry["event"]["kind"] != "task-status" || entry["event"]["status"] != "canceled"
    });
    let late: Vec<&Value> =
        after.skip(1).take_while(|entry| entry["seq"].as_u64().unwrap() < next).collect();
    assert!(late.is_empty(), "{late:#?}");
}

#[tokio::test]
async fn messages_that_nobody_can_answer_are_refused_and_change_nothing() {
    let two = site(vec![saying("ada", "a"), saying("bob", "b")]).await;
    two.thread("t").await;
    for (body, status, code, pointer) in [
        (r#"{"to":"ada"}"#, 400, "bad_parameter", "/content"),
        (r#"{"content":7,"to":"ada"}"#, 400, "bad_parameter", "/content"),
        (r#"{"content":"x"}"#, 400, "bad_parameter", "/to"),
        (r#"{"content":"x","to":"eve"}"#, 400, "bad_parameter", "/to"),
        (r#"{"content":"x","to":[]}"#, 400, "bad_parameter", "/to"),
        (r#"{"content":"x","to":7}"#, 400, "bad_parameter", "/to"),
        (r#"{"content":"x","to":"ada","author":7}"#, 400, "bad_parameter", "/author"),
    ] {
        let (got, answer) = two.post("/api/threads/t/messages", body).await;
        let error = &answer["error"];
        let seen = (got.as_u16(), error["code"].as_str(), error["pointer"].as_str());
        assert_eq!(seen, (status, Some(code), Some(pointer)), "{body}");
    }
    assert_eq!(two.get("/api/threads/t").await.1["head"], 1);
    let body = r#"{"content":"x","to":"ada"}"#;
    assert_eq!(two.post("/api/threads/none/messages", body).await.0, StatusCode::NOT_FOUND);
    let none = Site::start().await;
    none.thread("t").await;
    let (status, answer) = none.post("/api/threads/t/messages", body).await;
    assert_eq!((status.as_u16(), answer["error"]["code"].as_str()), (409, Some("no_agents")));
}
