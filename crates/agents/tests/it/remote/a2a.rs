//! A2A: cards, versions, streams, questions, cancels.

use selvedge_agents::Left;
use selvedge_agents::remote::Protocol;
use serde_json::{Value, json};

use super::{KEY, agent, agent_with, answered, end, json_answer, not_found, path, sse};
use crate::model::canned::{Answer, Asked, Ending, serve_with};
use crate::stage::Stage;

/// A card of 1.0.
pub(super) fn card(streaming: bool) -> Answer {
    json_answer(&json!({
        "name": "ada", "version": "1", "skills": [],
        "supportedInterfaces":
            [{"url": "http://0.0.0.0:1/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": streaming},
    }))
}

pub(super) fn result(value: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": value})
}

pub(super) fn status(state: &str) -> Value {
    result(json!({"statusUpdate": {"taskId": "r1", "contextId": "c1",
                                   "status": {"state": format!("TASK_STATE_{state}")}}}))
}

fn says(state: &str, text: &str) -> Value {
    let message = json!({"messageId": format!("m-{state}"), "role": "ROLE_AGENT",
                         "parts": [{"text": text}]});
    result(json!({"statusUpdate": {"taskId": "r1", "contextId": "c1",
        "status": {"state": format!("TASK_STATE_{state}"), "message": message}}}))
}

pub(super) fn task(state: &str, artifacts: Value) -> Value {
    result(json!({"task": {"id": "r1", "contextId": "c1",
                           "status": {"state": format!("TASK_STATE_{state}")},
                           "artifacts": artifacts}}))
}

pub(super) fn piece(text: &str, append: bool, last: bool) -> Value {
    result(json!({"artifactUpdate": {"taskId": "r1", "contextId": "c1", "append": append,
        "lastChunk": last, "artifact": {"artifactId": "answer", "parts": [{"text": text}]}}}))
}

pub(super) fn whole() -> String {
    sse(&[
        task("SUBMITTED", json!([])),
        status("WORKING"),
        piece("Hello ", false, false),
        piece("there", true, true),
        status("COMPLETED"),
    ])
}

pub(super) fn method(asked: &Asked) -> &str {
    asked.body["method"].as_str().unwrap_or("")
}

#[tokio::test]
async fn what_it_streams_is_in_our_task_with_one_end() {
    let (url, log) = serve_with(|asked| match path(asked) {
        "/.well-known/agent-card.json" => card(true),
        "/rpc" => Answer::stream(&whole()),
        _ => not_found(),
    })
    .await;
    let stage = Stage::new("hello").await;
    assert_eq!(stage.ask(&agent(Protocol::A2a, &url), "t").await, Left::Over);
    assert_eq!(
        stage.told(),
        [
            "step-started",
            "internal:checkpoint",
            "part-started",
            "content-delta Hello ",
            "content-delta there",
            "part-finished",
            "step-finished stop",
            "task-complete Hello there",
        ]
    );
    let own = stage.events().into_iter().skip(3);
    for event in own {
        assert_eq!((&event["taskId"], &event["agentId"]), (&json!("t"), &json!("ada")), "{event}");
        assert_eq!(event["contextId"], "talk");
    }
    let asked = log.lock().unwrap().last().unwrap().clone();
    assert_eq!(method(&asked), "SendStreamingMessage");
    assert_eq!(asked.body["params"]["message"]["parts"], json!([{"text": "hello"}]));
    assert!(asked.head.to_lowercase().contains("a2a-version: 1.0"));
    assert!(asked.head.contains(&format!("Bearer {KEY}")));
}

#[tokio::test]
async fn the_conversation_goes_on_in_the_same_context_with_what_is_new() {
    let (url, log) = serve_with(|asked| match path(asked) {
        "/.well-known/agent-card.json" => card(true),
        _ => Answer::stream(&whole()),
    })
    .await;
    let stage = Stage::new("hello").await;
    let ada = agent(Protocol::A2a, &url);
    stage.ask(&ada, "t").await;
    let other = r#"{"kind":"message","role":"agent","author":"bob","agentId":"bob","content":"I am here too"}"#;
    stage.append(other).await;
    stage.say("and you?", "u").await;
    stage.ask(&ada, "u").await;
    let asked = log.lock().unwrap().last().unwrap().clone();
    let message = &asked.body["params"]["message"];
    assert_eq!(message["contextId"], "c1");
    assert_eq!(message.get("taskId"), None, "a task that is over takes no more");
    let texts = json!([{"text": "{agent:bob}: I am here too"}, {"text": "and you?"}]);
    assert_eq!(message["parts"], texts);
    assert_eq!(end(&stage, "u")["content"], "Hello there");
}

#[tokio::test]
async fn without_a_card_the_version_is_found_by_asking() {
    let old = |state: &str, last: bool| {
        result(json!({"kind": "status-update", "taskId": "r1", "contextId": "c1", "final": last,
            "status": {"state": state, "message": {"kind": "message", "messageId": "m1",
                "role": "agent", "parts": [{"kind": "text", "text": "Hi"}]}}}))
    };
    let (url, log) = serve_with(move |asked| match method(asked) {
        "message/stream" => Answer::stream(&sse(&[old("completed", true)])),
        "" => not_found(),
        _ => json_answer(&json!({"jsonrpc": "2.0", "id": 1,
                                 "error": {"code": -32601, "message": "no such method"}})),
    })
    .await;
    let stage = Stage::new("hello").await;
    let ada = agent(Protocol::A2a, &format!("{url}/agent"));
    stage.ask(&ada, "t").await;
    assert_eq!(end(&stage, "t")["content"], "Hi");
    let asked = log.lock().unwrap().last().unwrap().clone();
    assert_eq!(
        asked.body["params"]["message"]["parts"],
        json!([{"kind": "text", "text": "hello"}])
    );
    // It is known from now on.
    stage.say("again", "u").await;
    let before = log.lock().unwrap().len();
    stage.ask(&ada, "u").await;
    assert_eq!(log.lock().unwrap().len(), before + 1);
}

#[tokio::test]
async fn an_agent_that_does_not_stream_is_looked_at_until_it_is_done() {
    let (url, log) = serve_with({
        let looks = std::sync::atomic::AtomicU32::new(0);
        move |asked| match (path(asked), method(asked)) {
            ("/.well-known/agent-card.json", _) => card(false),
            (_, "SendMessage") => json_answer(&task("WORKING", json!([]))),
            (_, "GetTask") => {
                let bare = |mut answer: Value| {
                    let task = answer["result"]["task"].take();
                    answer["result"] = task;
                    json_answer(&answer)
                };
                let part = |text: &str| json!([{"artifactId": "a", "parts": [{"text": text}]}]);
                match looks.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                    0 => bare(task("WORKING", part("Hel"))),
                    _ => bare(task("COMPLETED", part("Hello"))),
                }
            }
            _ => not_found(),
        }
    })
    .await;
    let stage = Stage::new("hello").await;
    stage.ask(&agent(Protocol::A2a, &url), "t").await;
    assert_eq!(end(&stage, "t")["content"], "Hello");
    let deltas = stage.told().into_iter().filter(|told| told.starts_with("content")).count();
    assert_eq!(deltas, 1, "what it says on the way is not mixed with what it says in the end");
    assert_eq!(log.lock().unwrap().iter().filter(|asked| method(asked) == "GetTask").count(), 2);
}

#[tokio::test]
async fn what_it_asks_is_asked_here_and_the_answer_goes_to_the_same_task() {
    let (url, log) = serve_with(|asked| {
        let message = &asked.body["params"]["message"];
        match (path(asked), message["taskId"].as_str()) {
            ("/.well-known/agent-card.json", _) => card(true),
            (_, None) => Answer::stream(&sse(&[
                task("SUBMITTED", json!([])),
                piece("Let me see. ", false, true),
                says("INPUT_REQUIRED", "Which city?"),
            ])),
            (_, Some("r1")) => Answer::stream(&sse(&[
                // As it was before the answer.
                task(
                    "INPUT_REQUIRED",
                    json!([{"artifactId": "answer", "parts": [{"text": "Let me see. "}]}]),
                ),
                status("WORKING"),
                piece("Rain.", true, true),
                status("COMPLETED"),
            ])),
            _ => not_found(),
        }
    })
    .await;
    let stage = Stage::new("weather?").await;
    let ada = agent(Protocol::A2a, &url);
    assert_eq!(stage.ask(&ada, "t").await, Left::Waiting);
    let asked = stage.events().into_iter().find(|e| e["kind"] == "input-required").unwrap();
    assert_eq!(
        (&asked["prompt"], &asked["inputType"]),
        (&json!("Which city?"), &json!("clarification"))
    );
    assert_eq!(stage.ask(&ada, "t").await, Left::Waiting, "nothing has changed");
    stage.append(&answered(&asked, json!("Tokyo"))).await;
    assert_eq!(stage.ask(&ada, "t").await, Left::Over);
    assert_eq!(end(&stage, "t")["content"], "Rain.");
    let sent = log.lock().unwrap().last().unwrap().clone();
    let message = &sent.body["params"]["message"];
    assert_eq!((&message["taskId"], &message["contextId"]), (&json!("r1"), &json!("c1")));
    assert_eq!(message["parts"], json!([{"text": "Tokyo"}]));
}

#[tokio::test]
async fn credentials_are_not_asked_for_but_whether_the_user_has_given_them() {
    let (url, _) = serve_with(|asked| match path(asked) {
        "/.well-known/agent-card.json" => card(true),
        _ => Answer::stream(&sse(&[
            task("SUBMITTED", json!([])),
            says("AUTH_REQUIRED", "Log in at …"),
        ])),
    })
    .await;
    let stage = Stage::new("hello").await;
    assert_eq!(stage.ask(&agent(Protocol::A2a, &url), "t").await, Left::Waiting);
    let asked = stage.events().into_iter().find(|e| e["kind"] == "input-required").unwrap();
    assert_eq!(asked["requireUser"], true);
    assert_eq!(
        (&asked["inputType"], &asked["prompt"]),
        (&json!("confirmation"), &json!("Log in at …"))
    );
}

#[tokio::test]
async fn a_message_alone_is_an_answer() {
    let (url, _) = serve_with(|asked| match path(asked) {
        "/.well-known/agent-card.json" => card(true),
        _ => {
            Answer::stream(&sse(&[result(json!({"message": {"messageId": "m", "contextId": "c9",
            "role": "ROLE_AGENT", "parts": [{"text": "Hello"}, {"data": {"n": 1}}]}}))]))
        }
    })
    .await;
    let stage = Stage::new("hello").await;
    stage.ask(&agent(Protocol::A2a, &url), "t").await;
    assert_eq!(end(&stage, "t")["content"], "Hello");
    let message = stage.events().into_iter().rfind(|e| e["kind"] == "message").unwrap();
    assert_eq!((&message["author"], &message["messageId"]), (&json!("ada"), &json!("t/1.m")));
}

#[tokio::test]
async fn a_stream_that_is_cut_is_void_and_the_task_tells_the_rest() {
    let (url, _) = serve_with(|asked| match (path(asked), method(asked)) {
        ("/.well-known/agent-card.json", _) => card(true),
        (_, "SendStreamingMessage") => {
            let begun = sse(&[task("SUBMITTED", json!([])), piece("Hel", false, false)]);
            Answer::stream(&begun).ending(Ending::Cut)
        }
        _ => json_answer(&task(
            "COMPLETED",
            json!([{"artifactId": "answer", "parts": [{"text": "Hello"}]}]),
        )),
    })
    .await;
    let stage = Stage::new("hello").await;
    stage.ask(&agent(Protocol::A2a, &url), "t").await;
    assert_eq!(end(&stage, "t")["content"], "Hello");
    let void = stage.events().into_iter().filter(|e| e["kind"] == "attempt-superseded").count();
    assert_eq!(void, 1);
    let starts: Vec<String> =
        stage.told().into_iter().filter(|t| t.starts_with("content")).collect();
    assert_eq!(starts, ["content-delta Hel", "content-complete Hello"]);
}

#[tokio::test]
async fn what_may_succeed_later_is_tried_again_and_what_will_not_is_not() {
    for (status, tries, code) in [
        (500, 4, "remote_error"),
        (429, 4, "remote_busy"),
        (400, 1, "remote_refused"),
        (401, 1, "remote_unauthorized"),
    ] {
        let (url, log) = serve_with(move |asked| match path(asked) {
            "/.well-known/agent-card.json" => card(true),
            _ => Answer::error(status, "content-type: text/plain\r\n", &format!("no, {KEY}")),
        })
        .await;
        let stage = Stage::new("hello").await;
        stage.ask(&agent(Protocol::A2a, &url), "t").await;
        let end = end(&stage, "t");
        assert_eq!((&end["status"], &end["code"]), (&json!("failed"), &json!(code)), "{status}");
        let sent = log.lock().unwrap().iter().filter(|a| !method(a).is_empty()).count();
        assert_eq!(sent, tries, "{status}");
        assert!(!stage.events().iter().any(|e| e.to_string().contains(KEY)), "{status}");
    }
}

#[tokio::test]
async fn a_task_that_is_canceled_here_is_canceled_there() {
    let (url, log) = serve_with(|asked| match (path(asked), method(asked)) {
        ("/.well-known/agent-card.json", _) => card(true),
        (_, "SendStreamingMessage") => {
            let begun = sse(&[task("SUBMITTED", json!([])), piece("Hel", false, false)]);
            Answer::stream(&begun).ending(Ending::Silence)
        }
        _ => json_answer(&task("CANCELED", json!([]))),
    })
    .await;
    let stage = std::sync::Arc::new(Stage::new("hello").await);
    let ada = agent(Protocol::A2a, &url);
    let turn = tokio::spawn({
        let (stage, ada) = (stage.clone(), ada.clone());
        async move { stage.ask(&ada, "t").await }
    });
    stage.until(|event| event["kind"] == "content-delta").await;
    stage.append(r#"{"kind":"task-status","taskId":"t","status":"canceled"}"#).await;
    assert_eq!(turn.await.unwrap(), Left::Over);
    let last = log.lock().unwrap().last().unwrap().clone();
    assert_eq!((method(&last), &last.body["params"]["id"]), ("CancelTask", &json!("r1")));
    assert_eq!(end(&stage, "t")["status"], "canceled");
}

#[tokio::test]
async fn silence_is_not_waited_for_for_ever() {
    let (url, _) = serve_with(|asked| match path(asked) {
        "/.well-known/agent-card.json" => card(true),
        _ => Answer::stream(": here\n\n").ending(Ending::Silence),
    })
    .await;
    let stage = Stage::new("hello").await;
    let hasty = agent_with(Protocol::A2a, &url, |options| {
        options.silence = std::time::Duration::from_millis(200);
        options.limits.tries = 2;
    });
    stage.ask(&hasty, "t").await;
    assert_eq!(end(&stage, "t")["code"], "remote_connection");
}
