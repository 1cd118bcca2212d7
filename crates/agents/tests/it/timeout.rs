//! How long a turn may take.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use selvedge_agents::model::ToolSpec;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Doer, Invocation, Left, Limits, Run, Tool, ToolError};
use serde_json::{Value, json};

use crate::stage::Stage;

/// Never ends.
struct Forever;

impl Run for Forever {
    fn run(&self, _: Invocation) -> BoxFuture<'static, Result<Value, ToolError>> {
        std::future::pending().boxed()
    }
}

fn calling(tools: &[(&str, Doer)]) -> Agent {
    let calls =
        tools.iter().map(|(name, _)| ((*name).to_owned(), json!({"prompt": "x"}))).collect();
    let lines =
        vec![Line { calls, ..Line::default() }, Line { say: "done".to_owned(), ..Line::default() }];
    Agent::new("ada", Arc::new(Script::of(lines)))
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: String::new(), schema: json!({}) }
}

fn within(millis: u64) -> Limits {
    let backoff = Duration::from_millis(1);
    Limits { timeout: Duration::from_millis(millis), backoff, ..Limits::default() }
}

#[tokio::test]
async fn a_turn_that_takes_too_long_ends_with_all_that_it_began() {
    let stage = Stage::new("go").await;
    let doers = [("stall", Doer::Client), ("ask_bob", Doer::Agent { id: "bob".to_owned() })];
    let mut agent = calling(&doers);
    agent.tools = vec![
        Arc::new(Tool::here(spec("stall"), Arc::new(Forever)).unwrap()),
        Arc::new(Tool::new(spec("ask_bob"), Doer::Agent { id: "bob".to_owned() }).unwrap()),
    ];
    // Long enough to get as far as the tools, whatever else goes on.
    agent.limits = within(3000);
    assert_eq!(stage.run(agent, "t").await, Left::Over);
    let told = stage.told();
    let end = &told[told.len() - 4..];
    assert_eq!(end[0], "task-status canceled");
    assert!(end[1].starts_with("tool-complete call-1-1 interrupted"), "{end:#?}");
    assert!(end[2].starts_with("tool-complete call-1-2 interrupted"), "{end:#?}");
    assert_eq!(end[3], "task-status failed timeout");
    let canceled = stage.events().into_iter().rev().nth(3).unwrap();
    assert_eq!((&canceled["taskId"], &canceled["agentId"]), (&json!("t/call-1-2"), &json!("bob")));
}

#[tokio::test]
async fn a_model_that_takes_too_long_is_void() {
    let stage = Stage::new("go").await;
    let mut script = Script::saying(&"word ".repeat(10_000));
    script.pace = Duration::from_millis(5);
    let mut agent = Agent::new("ada", Arc::new(script.clone()));
    agent.limits = within(2000);
    assert_eq!(stage.run(agent, "t").await, Left::Over);
    let told = stage.told();
    assert!(told[told.len() - 2].starts_with("attempt-superseded"), "{told:#?}");
    assert_eq!(told.last().unwrap(), "task-status failed timeout");
    // One call alone: another model takes over.
    let stage = Stage::new("go").await;
    let mut agent = Agent::new("ada", Arc::new(script));
    agent.minds.push(Arc::new(Script::saying("done")));
    agent.limits = Limits { call_timeout: Duration::from_secs(2), tries: 1, ..within(60_000) };
    assert_eq!(stage.run(agent, "t").await, Left::Over);
    let told = stage.told();
    assert!(told.iter().any(|e| e == "attempt-superseded the answer took longer than 2 s"));
    assert_eq!(told.last().unwrap(), "task-complete done");
}

/// Events of a task that was at work for an hour and then was left amid something.
async fn left(stage: &Stage, amid: &str) {
    let at = |minute: u32| format!("2026-01-01T00:{minute:02}:00Z");
    for (kind, minute, more) in [
        ("step-started", 0, ""),
        ("tool-call", 0, r#","toolCallId":"c","toolName":"echo","arguments":{}"#),
        ("step-finished", 50, ""),
        ("tool-start", 50, r#","toolCallId":"c","toolName":"echo","arguments":{}"#),
        ("tool-complete", 51, r#","toolCallId":"c","toolName":"echo","success":true,"result":1"#),
        (amid, 51, ""),
    ] {
        let event = format!(
            r#"{{"kind":"{kind}","taskId":"t","agentId":"ada","timestamp":"{}"{more}}}"#,
            at(minute)
        );
        stage.append(&event).await;
    }
}

#[tokio::test]
async fn a_restart_gives_no_new_time_and_takes_none_in_which_nobody_worked() {
    for (limit, end) in [(50, "task-status failed timeout"), (52, "task-complete hi")] {
        let stage = Stage::new("go").await;
        left(&stage, "step-started").await;
        let mut agent = Agent::new("ada", Arc::new(Script::saying("hi")));
        agent.limits = within(limit * 60_000);
        assert_eq!(stage.run(agent, "t").await, Left::Over);
        assert_eq!(stage.told().last().unwrap(), end, "{limit}: {:#?}", stage.told());
    }
}
