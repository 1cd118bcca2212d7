//! Histories that are longer than a model takes.

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use selvedge_agents::model::{Failure, FailureKind, Request};
use selvedge_agents::script::Script;
use selvedge_agents::{Agent, Left, Member, Mind, Saying, config};
use selvedge_protocol::perspective::openai;
use serde_json::{Value, json};

use crate::stage::Stage;

/// Says the same always, writes down what it was asked, and refuses what is longer than so many
/// bytes.
struct Listener {
    script: Script,
    most: usize,
    heard: Mutex<Vec<String>>,
}

impl Listener {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { script: Script::saying("hi"), most, heard: Mutex::default() })
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// The same listener, for an agent.
struct Ear(Arc<Listener>);

impl Mind for Ear {
    fn name(&self) -> &str {
        "listener"
    }

    fn provider(&self) -> &str {
        "script"
    }

    fn ask(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Saying, Failure>> {
        let text = openai(request.history, request.view, request.system);
        let too_long = text.len() > self.0.most;
        self.0.heard.lock().unwrap().push(text);
        let message = "the prompt is too long".to_owned();
        let failure = Failure { kind: FailureKind::TooLong, message, retry_after: None };
        let answer = self.0.script.ask(request);
        Box::pin(async move { if too_long { Err(failure) } else { answer.await } })
    }
}

fn agent(listener: &Arc<Listener>, model: &str) -> Arc<Agent> {
    let text = format!(
        "[models.m]\nprovider = \"ollama\"\nmodel = \"x\"\n{model}\n\
         [agents.ada]\nmodel = \"m\"\nsystem = \"be kind\"\nlimits = {{ backoff = \"1ms\" }}"
    );
    let config = config::check("x", text.as_bytes(), Path::new(""), &|_: &str| None).unwrap();
    let mind = |_: &config::plan::Model| Ok(Arc::new(Ear(listener.clone())) as Arc<dyn Mind>);
    match config.build_with(mind).unwrap().remove(0) {
        Member::Here(agent) => agent,
        _ => panic!("nobody works here"),
    }
}

/// A thread in which much was said and done before.
async fn long() -> Stage {
    let stage = Stage::new("the old question").await;
    let long = "x ".repeat(2000);
    let event = |more: Value| {
        let mut event = json!({"taskId": "t", "agentId": "ada"});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event.to_string()
    };
    for more in [
        json!({"kind": "step-started", "model": "x"}),
        json!({"kind": "tool-call", "toolCallId": "c", "toolName": "read", "arguments": {}}),
        json!({"kind": "step-finished"}),
        json!({"kind": "tool-complete", "toolCallId": "c", "toolName": "read", "success": true,
               "result": format!("a book {long}")}),
        json!({"kind": "step-started", "model": "x"}),
        json!({"kind": "content-delta", "delta": format!("the old answer {long}"), "index": 0}),
        json!({"kind": "step-finished"}),
        json!({"kind": "task-complete", "content": "the old answer"}),
    ] {
        stage.append(&event(more)).await;
    }
    stage.append(r#"{"kind":"message","role":"user","content":"the new question"}"#).await;
    stage
        .append(r#"{"kind":"task-created","taskId":"u","initiator":"user","agentId":"ada"}"#)
        .await;
    stage
}

fn has(text: &str) -> [bool; 5] {
    ["a book", "the old question", "the old answer", "the new question", "be kind"]
        .map(|words| text.contains(words))
}

#[tokio::test]
async fn what_does_not_fit_is_left_out_the_oldest_first_and_the_journal_stays() {
    for (context, expected) in [
        (4000, [true; 5]),
        (1500, [false, true, true, true, true]),
        (500, [false, false, false, true, true]),
    ] {
        let stage = long().await;
        let before = stage.events();
        let listener = Listener::new(usize::MAX);
        let agent = agent(&listener, &format!("context_tokens = {context}\nmax_tokens = 100"));
        assert_eq!(stage.run_shared(agent, "u").await, Left::Over);
        assert_eq!(has(&listener.heard()[0]), expected, "{context}");
        let after = stage.events();
        assert_eq!(after[..before.len()], before[..]);
        let told = after.iter().find(|e| e["kind"] == "internal:thought-process");
        assert_eq!(told.is_some(), context < 4000);
        assert_eq!(stage.told().last().unwrap(), "task-complete hi");
    }
}

#[tokio::test]
async fn a_message_that_waits_for_its_turn_is_heard_when_its_turn_comes() {
    let stage = Stage::new("nothing").await;
    let made = |task: &str| {
        json!({"kind": "task-created", "taskId": task, "messageId": task, "initiator": "user",
               "agentId": "ada", "dispatched": true})
    };
    let said = |id: &str, text: &str| json!({"kind": "message", "role": "user", "messageId": id, "content": text});
    for event in [said("u", "the first"), made("u"), said("v", "the second"), made("v")] {
        stage.append(&event.to_string()).await;
    }
    let listener = Listener::new(usize::MAX);
    // The second waits for the first, whoever is asked to do it.
    assert_eq!(stage.run_shared(agent(&listener, ""), "v").await, Left::Waiting);
    assert_eq!(stage.run_shared(agent(&listener, ""), "u").await, Left::Over);
    assert_eq!(stage.run_shared(agent(&listener, ""), "v").await, Left::Over);
    let heard = listener.heard();
    assert!(heard[0].contains("the first") && !heard[0].contains("the second"), "{}", heard[0]);
    let places = ["the first", "hi", "the second"].map(|words| heard[1].rfind(words).unwrap());
    assert!(places.is_sorted(), "{}", heard[1]);
    let answered = json!({"kind": "input-received", "inputId": "i", "providedBy": "user",
        "value": true, "metadata": {"messageId": "w"}});
    for event in [said("w", "yes, please"), answered, said("x", "the third"), made("x")] {
        stage.append(&event.to_string()).await;
    }
    stage.run_shared(agent(&listener, ""), "x").await;
    let last = listener.heard().pop().unwrap();
    assert!(!last.contains("yes, please") && last.contains("the third"), "{last}");
}

#[tokio::test]
async fn what_can_never_fit_is_not_sent() {
    let stage = Stage::new(&"word ".repeat(2000)).await;
    let listener = Listener::new(usize::MAX);
    let agent = agent(&listener, "context_tokens = 1000");
    assert_eq!(stage.run_shared(agent, "t").await, Left::Over);
    assert_eq!(stage.told().last().unwrap(), "task-status failed context_too_long");
    assert!(listener.heard().is_empty());
}

#[tokio::test]
async fn a_model_that_finds_it_too_long_is_asked_once_more_with_less() {
    let stage = long().await;
    let listener = Listener::new(3000);
    assert_eq!(stage.run_shared(agent(&listener, ""), "u").await, Left::Over);
    let heard = listener.heard();
    assert_eq!(heard.len(), 2);
    assert_eq!(has(&heard[0]), [true; 5]);
    assert_eq!(has(&heard[1]), [false, false, false, true, true]);
    assert_eq!(stage.told().last().unwrap(), "task-complete hi");
    let stage = long().await;
    let deaf = Listener::new(0);
    assert_eq!(stage.run_shared(agent(&deaf, ""), "u").await, Left::Over);
    assert_eq!(deaf.heard().len(), 2);
    assert_eq!(stage.told().last().unwrap(), "task-status failed context_too_long");
}
