//! AITP and OpenAI threads. No public server speaks them any more, so this one is made of what
//! was recorded of them.

use selvedge_agents::Left;
use selvedge_agents::remote::Protocol;
use serde_json::{Value, json};

use super::{agent_with, answered, end, json_answer, not_found, path};
use crate::model::canned::{Answer, Asked, Ending, serve_with};
use crate::stage::Stage;

const ASKS: &str =
    include_str!("../../../../protocol/tests/fixtures/openai-threads/stream_requires_action.sse");
const GOES_ON: &str = include_str!(
    "../../../../protocol/tests/fixtures/openai-threads/stream_tool_outputs_completed.sse"
);
const RUN: &str =
    include_str!("../../../../protocol/tests/fixtures/openai-threads/run_completed.json");
const MESSAGES: &str =
    include_str!("../../../../protocol/tests/fixtures/openai-threads/messages_page.json");

/// A server that has one thread.
fn answer(asked: &Asked) -> Answer {
    let method = asked.head.split(' ').next().unwrap();
    match (method, path(asked)) {
        ("POST", "/v1/threads") => json_answer(&json!({"id": "thread_abc123", "object": "thread"})),
        ("POST", "/v1/threads/thread_abc123/messages") => json_answer(&json!({"id": "msg_0"})),
        ("POST", "/v1/threads/thread_abc123/runs") => Answer::stream(ASKS),
        ("POST", "/v1/threads/thread_abc123/runs/run_1/submit_tool_outputs") => {
            Answer::stream(GOES_ON)
        }
        ("POST", "/v1/threads/thread_abc123/runs/run_1/cancel") => json_answer(&json!({})),
        ("GET", "/v1/threads/thread_abc123/runs/run_1") => text(RUN),
        ("GET", "/v1/threads/thread_abc123/messages?run_id=run_1&order=asc") => text(MESSAGES),
        _ => not_found(),
    }
}

fn text(body: &str) -> Answer {
    Answer::error(200, "content-type: application/json\r\n", body)
}

fn ada(url: &str) -> std::sync::Arc<selvedge_agents::Remote> {
    agent_with(Protocol::Aitp, &format!("{url}/v1"), |options| {
        options.assistant = Some("asst_abc".to_owned());
    })
}

fn asked(stage: &Stage) -> Vec<Value> {
    stage.events().into_iter().filter(|e| e["kind"] == "input-required").collect()
}

#[tokio::test]
async fn tools_that_a_run_asks_for_are_done_here_and_the_run_goes_on() {
    let (url, log) = serve_with(answer).await;
    let stage = Stage::new("weather?").await;
    let ada = ada(&url);
    assert_eq!(stage.ask(&ada, "t").await, Left::Waiting);
    let questions = asked(&stage);
    assert_eq!(questions.len(), 2);
    for question in &questions {
        assert_eq!(question["inputType"], "tool-execution");
    }
    assert_eq!(questions[0]["metadata"]["toolCall"]["function"]["name"], "get_weather");
    stage.append(&answered(&questions[0], json!({"temperature": 18}))).await;
    assert_eq!(stage.ask(&ada, "t").await, Left::Waiting, "one answer is missing");
    stage.append(&answered(&questions[1], json!("12:00"))).await;
    assert_eq!(stage.ask(&ada, "t").await, Left::Over);
    assert_eq!(end(&stage, "t")["kind"], "task-complete");
    let log: Vec<Asked> = log.lock().unwrap().clone();
    let paths: Vec<&str> = log.iter().map(path).collect();
    assert_eq!(
        paths,
        [
            "/v1/threads",
            "/v1/threads/thread_abc123/messages",
            "/v1/threads/thread_abc123/runs",
            "/v1/threads/thread_abc123/runs/run_1/submit_tool_outputs",
        ]
    );
    assert_eq!(log[1].body, json!({"role": "user", "content": "weather?"}));
    assert_eq!(log[2].body, json!({"assistant_id": "asst_abc", "stream": true}));
    let outputs = json!([{"tool_call_id": "call_1", "output": "{\"temperature\":18}"},
                         {"tool_call_id": "call_2", "output": "12:00"}]);
    assert_eq!(log[3].body["tool_outputs"], outputs);
    // Each tool was called once, and returned once.
    for kind in ["tool-call", "tool-complete"] {
        let ids: Vec<Value> = stage
            .events()
            .iter()
            .filter(|e| e["kind"] == kind)
            .map(|e| e["toolCallId"].clone())
            .collect();
        assert_eq!(ids.iter().filter(|id| **id == json!("1.call_1")).count(), 1, "{kind} {ids:?}");
    }
}

#[tokio::test]
async fn the_thread_there_is_the_same_for_the_next_task() {
    let (url, log) = serve_with(|asked| match path(asked) {
        "/v1/threads/thread_abc123/runs" => Answer::stream(GOES_ON),
        _ => answer(asked),
    })
    .await;
    let stage = Stage::new("hello").await;
    let ada = ada(&url);
    stage.ask(&ada, "t").await;
    stage.say("more", "u").await;
    stage.ask(&ada, "u").await;
    end(&stage, "u");
    let log = log.lock().unwrap();
    assert_eq!(log.iter().filter(|asked| path(asked) == "/v1/threads").count(), 1);
    let last = log.iter().rfind(|asked| path(asked).ends_with("/messages")).unwrap();
    assert_eq!(last.body["content"], "more");
}

#[tokio::test]
async fn a_run_that_was_lost_sight_of_is_looked_for() {
    let (url, log) = serve_with(|asked| match path(asked) {
        "/v1/threads/thread_abc123/runs" => {
            let run = ASKS.find("thread.run.in_progress").unwrap();
            let at = run + ASKS[run..].find("\n\n").unwrap() + 2;
            Answer::stream(&ASKS[..at]).ending(Ending::Cut)
        }
        _ => answer(asked),
    })
    .await;
    let stage = Stage::new("hello").await;
    stage.ask(&ada(&url), "t").await;
    let end = end(&stage, "t");
    assert_eq!(end["kind"], "task-complete", "{end}");
    assert!(!end["content"].as_str().unwrap().is_empty());
    let log = log.lock().unwrap();
    assert_eq!(log.iter().filter(|asked| path(asked).ends_with("/runs")).count(), 1);
}

#[tokio::test]
async fn a_run_that_waits_is_canceled_with_its_task() {
    let (url, log) = serve_with(answer).await;
    let stage = Stage::new("weather?").await;
    let ada = ada(&url);
    stage.ask(&ada, "t").await;
    stage.append(r#"{"kind":"task-status","taskId":"t","status":"canceled"}"#).await;
    assert_eq!(stage.ask(&ada, "t").await, Left::Over);
    let log = log.lock().unwrap();
    assert_eq!(path(log.last().unwrap()), "/v1/threads/thread_abc123/runs/run_1/cancel");
}
