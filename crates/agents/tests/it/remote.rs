//! Turns of agents elsewhere, against small servers that answer as a test says.

mod a2a;
mod agent_api;
mod aitp;
mod hostile;
mod restart;

use std::sync::Arc;
use std::time::Duration;

use selvedge_agents::Remote;
use selvedge_agents::model::Key;
use selvedge_agents::remote::{Options, Protocol, Reach};
use serde_json::{Value, json};

use crate::model::canned::{Answer, Asked};
use crate::stage::Stage;

/// The key that every request carries.
const KEY: &str = "sk-not-to-be-told";

/// An agent at a server of this machine, with little patience.
fn agent(protocol: Protocol, url: &str) -> Arc<Remote> {
    agent_with(protocol, url, |_| {})
}

fn agent_with(protocol: Protocol, url: &str, change: impl FnOnce(&mut Options)) -> Arc<Remote> {
    let mut options = Options::new("ada", protocol, url.parse().unwrap());
    options.reach = Reach::Private;
    options.key = Some(Key::new(KEY).unwrap());
    options.silence = Duration::from_secs(20);
    options.limits.backoff = Duration::from_millis(10);
    change(&mut options);
    Arc::new(Remote::new(options).unwrap())
}

/// Events as they are streamed.
fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn json_answer(value: &Value) -> Answer {
    Answer::error(200, "content-type: application/json\r\n", &value.to_string())
}

fn not_found() -> Answer {
    Answer::error(404, "content-type: text/plain\r\n", "no")
}

/// The path of a request.
fn path(asked: &Asked) -> &str {
    asked.head.split(' ').nth(1).unwrap()
}

/// The events of a task that say how it ended.
fn ends(stage: &Stage, task: &str) -> Vec<Value> {
    let over = |event: &Value| {
        let status = event["status"].as_str().unwrap_or_default();
        event["kind"] == "task-complete" || ["failed", "canceled"].contains(&status)
    };
    let own = stage.events().into_iter().filter(|event| event["taskId"] == task);
    own.filter(over).collect()
}

/// The one end of a task.
fn end(stage: &Stage, task: &str) -> Value {
    let ends = ends(stage, task);
    assert_eq!(ends.len(), 1, "{:#?}", stage.told());
    ends[0].clone()
}

/// The answer to a question.
fn answered(asked: &Value, value: Value) -> String {
    json!({"kind": "input-received", "taskId": asked["taskId"], "inputId": asked["inputId"],
           "providedBy": "user", "value": value})
    .to_string()
}
