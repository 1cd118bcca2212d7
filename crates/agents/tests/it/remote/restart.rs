//! A turn that is stopped anywhere and taken up again.

use selvedge_agents::remote::Protocol;
use serde_json::{Value, json};

use super::a2a::{card, method, piece, result, status, task, whole};
use super::{agent, answered, end, json_answer, path, sse};
use crate::model::canned::{Answer, serve_with};
use crate::stage::Stage;

/// A thread with these events, whoever wrote them.
async fn with(events: &[Value]) -> Stage {
    let stage = Stage::new("hello").await;
    for event in events.iter().skip(3) {
        stage.append(&event.to_string()).await;
    }
    stage
}

#[tokio::test]
async fn wherever_it_is_stopped_it_ends_once_and_says_the_same() {
    let (url, log) = serve_with(|asked| match (path(asked), method(asked)) {
        ("/.well-known/agent-card.json", _) => card(true),
        (_, "SendStreamingMessage") => Answer::stream(&whole()),
        _ => {
            let said = json!([{"artifactId": "answer", "parts": [{"text": "Hello there"}]}]);
            json_answer(&task("COMPLETED", said))
        }
    })
    .await;
    let ada = agent(Protocol::A2a, &url);
    let stage = Stage::new("hello").await;
    stage.ask(&ada, "t").await;
    let events = stage.events();
    for cut in 3..events.len() {
        let taken = events[..cut].iter().any(|e| e["metadata"]["remote"]["reached"] == "taken");
        log.lock().unwrap().clear();
        let stage = with(&events[..cut]).await;
        stage.ask(&ada, "t").await;
        assert_eq!(end(&stage, "t")["content"], "Hello there", "cut at {cut}");
        let sent = log.lock().unwrap().iter().filter(|a| method(a).starts_with("Send")).count();
        assert_eq!(sent, usize::from(!taken), "cut at {cut}: what was taken up is not said again");
    }
}

#[tokio::test]
async fn an_answer_that_may_have_arrived_is_not_given_twice() {
    let question = || {
        let message =
            json!({"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "Which?"}]});
        result(json!({"statusUpdate": {"taskId": "r1", "contextId": "c1",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": message}}}))
    };
    let has_it = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let heard = has_it.clone();
    let looks = std::sync::atomic::AtomicU32::new(0);
    let (url, log) = serve_with(move |asked| match (path(asked), method(asked)) {
        ("/.well-known/agent-card.json", _) => card(true),
        (_, "GetTask") if heard.load(std::sync::atomic::Ordering::SeqCst) => {
            // It is still at it the first time.
            if looks.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
                return json_answer(&task("WORKING", json!([])));
            }
            let said = json!([{"artifactId": "answer", "parts": [{"text": "Fine"}]}]);
            json_answer(&task("COMPLETED", said))
        }
        (_, "GetTask") => json_answer(&task("INPUT_REQUIRED", json!([]))),
        _ if asked.body["params"]["message"]["taskId"] == "r1" => {
            Answer::stream(&sse(&[piece("Fine", false, true), status("COMPLETED")]))
        }
        _ => Answer::stream(&sse(&[task("SUBMITTED", json!([])), question()])),
    })
    .await;
    let ada = agent(Protocol::A2a, &url);
    let stage = Stage::new("hello").await;
    stage.ask(&ada, "t").await;
    let asked = stage.events().into_iter().find(|e| e["kind"] == "input-required").unwrap();
    stage.append(&answered(&asked, json!("this"))).await;
    let begun = json!({"kind": "step-started", "taskId": "t", "agentId": "ada",
                       "metadata": {"remote": {"says": "answers"}}});
    stage.append(&begun.to_string()).await;
    let events = stage.events();
    for (arrived, sends) in [(true, 0), (false, 1)] {
        has_it.store(arrived, std::sync::atomic::Ordering::SeqCst);
        log.lock().unwrap().clear();
        let stage = with(&events).await;
        stage.ask(&ada, "t").await;
        assert_eq!(end(&stage, "t")["content"], "Fine");
        let sent = log.lock().unwrap().iter().filter(|a| method(a).starts_with("Send")).count();
        assert_eq!(sent, sends);
    }
}

#[tokio::test]
async fn a_task_that_nobody_there_remembers_is_interrupted() {
    let (url, _) = serve_with(|asked| match (path(asked), method(asked)) {
        ("/.well-known/agent-card.json", _) => card(true),
        _ => json_answer(&json!({"jsonrpc": "2.0", "id": 1,
                                 "error": {"code": -32001, "message": "Task not found"}})),
    })
    .await;
    let stage = Stage::new("hello").await;
    for event in [
        json!({"kind": "step-started", "taskId": "t", "agentId": "ada",
               "metadata": {"remote": {"says": "thread"}}}),
        json!({"kind": "internal:checkpoint", "taskId": "t", "agentId": "ada", "iteration": 1,
               "metadata": {"remote": {"thread": "c1", "task": "r1", "reached": "taken"}}}),
    ] {
        stage.append(&event.to_string()).await;
    }
    stage.ask(&agent(Protocol::A2a, &url), "t").await;
    assert_eq!(end(&stage, "t")["code"], "interrupted");
}

#[tokio::test]
async fn what_a_user_says_amid_an_attempt_that_is_void_is_told_too() {
    let (url, log) = serve_with(|asked| match path(asked) {
        "/.well-known/agent-card.json" => card(true),
        _ => Answer::stream(&whole()),
    })
    .await;
    let stage = Stage::new("hello").await;
    for event in [
        json!({"kind": "step-started", "taskId": "t", "agentId": "ada",
               "metadata": {"remote": {"says": "thread"}}}),
        json!({"kind": "message", "role": "user", "content": "and hurry"}),
    ] {
        stage.append(&event.to_string()).await;
    }
    stage.ask(&agent(Protocol::A2a, &url), "t").await;
    end(&stage, "t");
    let asked = log.lock().unwrap().last().unwrap().clone();
    let parts = json!([{"text": "hello"}, {"text": "and hurry"}]);
    assert_eq!(asked.body["params"]["message"]["parts"], parts);
    // What was told is not told again.
    stage.say("thanks", "u").await;
    stage.ask(&agent(Protocol::A2a, &url), "u").await;
    let asked = log.lock().unwrap().last().unwrap().clone();
    assert_eq!(asked.body["params"]["message"]["parts"], json!([{"text": "thanks"}]));
}
