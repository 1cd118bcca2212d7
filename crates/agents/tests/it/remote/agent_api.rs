//! The Agent API, with streams that were recorded of the real runtime.

use selvedge_agents::Left;
use selvedge_agents::remote::Protocol;
use serde_json::json;

use super::{agent, end, ends};
use crate::model::canned::{Answer, Ending, serve_with};
use crate::stage::Stage;

const REASONING: &str =
    include_str!("../../../../protocol/tests/fixtures/agent-api/c01_reasoning.sse");
const TOOLS: &str = include_str!("../../../../protocol/tests/fixtures/agent-api/c02_tools.sse");
const FAILS: &str = include_str!("../../../../protocol/tests/fixtures/agent-api/c05_fail.sse");

#[tokio::test]
async fn thoughts_text_and_tools_are_in_our_task_with_one_end() {
    for (recorded, kinds) in [
        (REASONING, &["thought-stream", "content-delta"][..]),
        (TOOLS, &["tool-call", "tool-complete", "content-delta"][..]),
    ] {
        let (url, log) = serve_with(move |_| Answer::stream(recorded)).await;
        let stage = Stage::new("hello").await;
        assert_eq!(stage.ask(&agent(Protocol::AgentApi, &url), "t").await, Left::Over);
        let end = end(&stage, "t");
        assert_eq!(end["kind"], "task-complete");
        assert!(!end["content"].as_str().unwrap().is_empty());
        for kind in kinds {
            assert!(
                stage.events().iter().any(|e| e["kind"] == *kind && e["taskId"] == "t"),
                "{kind}"
            );
        }
        let asked = log.lock().unwrap()[0].body.clone();
        assert_eq!(asked["session_id"], "talk");
        let content = json!([{"type": "text", "text": "hello"}]);
        assert_eq!(
            asked["input"],
            json!([{"role": "user", "type": "message", "content": content}])
        );
    }
}

#[tokio::test]
async fn what_fails_there_fails_here() {
    let (url, log) = serve_with(|_| Answer::stream(FAILS)).await;
    let stage = Stage::new("hello").await;
    stage.ask(&agent(Protocol::AgentApi, &url), "t").await;
    assert_eq!(end(&stage, "t")["status"], "failed");
    assert_eq!(log.lock().unwrap().len(), 1, "the agent itself said so");
}

/// A recording up to where something is said for the first time.
fn begun(recorded: &str, until: &str) -> String {
    let at = recorded.find(until).unwrap();
    let end = recorded[at..].find("\n\n").unwrap() + at + 2;
    recorded[..end].to_owned()
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again_unless_a_tool_was_used() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let (url, log) =
        serve_with(move |_| match first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            true => Answer::stream(&begun(REASONING, "\"delta\":true")).ending(Ending::Cut),
            false => Answer::stream(REASONING),
        })
        .await;
    let stage = Stage::new("hello").await;
    stage.ask(&agent(Protocol::AgentApi, &url), "t").await;
    assert_eq!(end(&stage, "t")["kind"], "task-complete");
    assert_eq!(log.lock().unwrap().len(), 2);
    assert!(stage.events().iter().any(|e| e["kind"] == "attempt-superseded"));

    let (url, log) = serve_with(|_| {
        let begun = begun(TOOLS, "\"output\":\"[{");
        Answer::stream(&begun).ending(Ending::Cut)
    })
    .await;
    let stage = Stage::new("hello").await;
    stage.ask(&agent(Protocol::AgentApi, &url), "t").await;
    assert_eq!(end(&stage, "t")["code"], "interrupted");
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn after_a_restart_it_is_asked_again() {
    let (url, _) = serve_with(|_| Answer::stream(REASONING)).await;
    let stage = Stage::new("hello").await;
    let half = [
        r#"{"kind":"step-started","taskId":"t","agentId":"ada","metadata":{"remote":{"says":"thread"}}}"#,
        r#"{"kind":"internal:checkpoint","taskId":"t","agentId":"ada","iteration":1,"metadata":{"remote":{"reached":"taken"}}}"#,
        r#"{"kind":"content-delta","taskId":"t","agentId":"ada","delta":"half","partId":"1.a"}"#,
    ];
    for event in half {
        stage.append(event).await;
    }
    assert!(ends(&stage, "t").is_empty());
    stage.ask(&agent(Protocol::AgentApi, &url), "t").await;
    let end = end(&stage, "t");
    assert!(!end["content"].as_str().unwrap().contains("half"));
    let void = stage.events().into_iter().find(|e| e["kind"] == "attempt-superseded").unwrap();
    assert_eq!(void["reason"], "restarted");
}
