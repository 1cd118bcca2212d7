//! One task of one agent, from its creation to its one end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use selvedge_agents::model::{FailureKind, ToolSpec};
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{
    Agent, Consent, Doer, Interrupted, Invocation, Left, Limits, Run, Tool, ToolError,
};
use serde_json::{Value, json};

use crate::stage::Stage;

/// Says what it was given, and counts.
#[derive(Default)]
struct Echo(AtomicU32);

impl Run for Echo {
    fn run(&self, call: Invocation) -> BoxFuture<'static, Result<Value, ToolError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        async move {
            call.progress(0.5, Some("half")).await?;
            match call.arguments["fail"].as_str() {
                Some(message) => Err(ToolError(message.to_owned())),
                None => Ok(call.arguments),
            }
        }
        .boxed()
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        schema: json!({"type": "object"}),
    }
}

fn line(say: &str, calls: &[(&str, Value)]) -> Line {
    let calls = calls.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Line { say: say.to_owned(), calls, ..Line::default() }
}

fn ada(lines: Vec<Line>) -> Agent {
    let mut agent = Agent::new("ada", Arc::new(Script::of(lines)));
    agent.limits = Limits { backoff: Duration::from_millis(1), ..Limits::default() };
    agent
}

#[tokio::test]
async fn a_turn_without_tools_is_said_and_ends_once() {
    let stage = Stage::new("hello").await;
    let mut line = line("You said {input}", &[]);
    line.think = "hm".to_owned();
    assert_eq!(stage.run(ada(vec![line]), "t").await, Left::Over);
    let told = stage.told();
    assert_eq!(
        told,
        [
            "task-status working",
            "internal:llm-call",
            "step-started",
            "part-started",
            "thought-stream hm",
            "part-finished",
            "content-delta You ",
            "content-delta said ",
            "content-delta hello",
            "content-complete You said hello",
            "step-finished stop",
            "internal:checkpoint",
            "task-complete You said hello",
        ]
    );
    let mut last = stage.events().pop().unwrap();
    assert!(last["metadata"]["duration"].take().is_u64(), "{last}");
    assert_eq!(last["metadata"], json!({"duration": null, "iterations": 1, "tokensUsed": 6}));
    assert_eq!(
        (&last["agentId"], &last["taskId"], &last["contextId"]),
        (&json!("ada"), &json!("t"), &json!("talk"))
    );
    // Taken up again, there is nothing to do.
    assert_eq!(stage.run(ada(vec![]), "t").await, Left::Over);
    assert_eq!(stage.told(), told);
}

#[tokio::test]
async fn tools_run_side_by_side_and_the_model_sees_how_each_ended() {
    let stage = Stage::new("go").await;
    let echo = Arc::new(Echo::default());
    let calls = [
        ("echo", json!({"a": 1})),
        ("echo", json!({"fail": "no luck"})),
        ("nothing", json!({})),
        ("echo", json!("not an object")),
    ];
    let mut agent = ada(vec![line("", &calls), line("done", &[])]);
    agent.tools = vec![Arc::new(Tool::here(spec("echo"), echo.clone()).unwrap())];
    assert_eq!(stage.run(agent, "t").await, Left::Over);
    let told = stage.told();
    let ended: Vec<&String> = told.iter().filter(|e| e.starts_with("tool-complete")).collect();
    let mut ended: Vec<&str> = ended.into_iter().map(String::as_str).collect();
    ended.sort_unstable();
    assert_eq!(
        ended,
        [
            "tool-complete call-1-1 success {\"a\":1}",
            "tool-complete call-1-2 failed no luck",
            "tool-complete call-1-3 failed there is no tool `nothing`",
            "tool-complete call-1-4 validation_error the arguments must be an object",
        ]
    );
    assert_eq!(echo.0.load(Ordering::SeqCst), 2);
    assert_eq!(told.iter().filter(|e| *e == "tool-progress call-1-1").count(), 1);
    assert_eq!(told.last().unwrap(), "task-complete done");
    assert_eq!(told.iter().filter(|e| e.starts_with("step-started")).count(), 2);
}

#[tokio::test]
async fn a_failing_model_is_asked_again_then_another_and_nothing_is_mixed() {
    let stage = Stage::new("go").await;
    let fail = |kind| Line { say: "half an ".to_owned(), fail: Some(kind), ..Line::default() };
    let mut agent = ada(vec![fail(FailureKind::Busy)]);
    agent.limits.tries = 2;
    agent.minds.push(Arc::new(Script::of(vec![fail(FailureKind::Refused)])));
    agent.minds.push(Arc::new(Script::saying("whole")));
    assert_eq!(stage.run(agent, "t").await, Left::Over);
    let told = stage.told();
    let void: Vec<&String> = told.iter().filter(|e| e.starts_with("attempt")).collect();
    assert_eq!(
        void,
        [
            "attempt-superseded the script fails: model_busy",
            "attempt-superseded the script fails: model_busy",
            "attempt-superseded the script fails: model_refused",
        ]
    );
    assert_eq!(told.last().unwrap(), "task-complete whole");
    let mut alone = ada(vec![fail(FailureKind::Unauthorized)]);
    alone.limits.tries = 9;
    let stage = Stage::new("go").await;
    stage.run(alone, "t").await;
    assert_eq!(stage.told().last().unwrap(), "task-status failed model_unauthorized");
}

#[tokio::test]
async fn an_endless_turn_ends() {
    let stage = Stage::new("go").await;
    let mut agent = ada(vec![line("again", &[("echo", json!({}))])]);
    agent.tools = vec![Arc::new(Tool::here(spec("echo"), Arc::new(Echo::default())).unwrap())];
    agent.limits.iterations = 3;
    stage.run(agent, "t").await;
    assert_eq!(stage.told().last().unwrap(), "task-status failed max_iterations");
}

#[tokio::test]
async fn a_tool_that_needs_consent_waits_in_the_journal_for_it() {
    for (answer, outcome) in [
        ("true", "tool-complete call-1-1 success {\"a\":1}"),
        (
            r#"{"approved":false,"reason":"too dear"}"#,
            "tool-complete call-1-1 denied the user did not agree: too dear",
        ),
        ("false", "tool-complete call-1-1 denied the user did not agree"),
    ] {
        let stage = Stage::new("go").await;
        let agent = || {
            let mut agent = ada(vec![line("", &[("echo", json!({"a": 1}))]), line("done", &[])]);
            let mut tool = Tool::here(spec("echo"), Arc::new(Echo::default())).unwrap();
            tool.consent = Consent::Needed;
            agent.tools = vec![Arc::new(tool)];
            agent
        };
        assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
        assert_eq!(stage.told().last().unwrap(), "task-status waiting-input",);
        let asked = stage.events().into_iter().rev().nth(1).unwrap();
        assert_eq!(
            (&asked["inputId"], &asked["requireUser"]),
            (&json!("t/call-1-1/consent"), &json!(true))
        );
        // Another turn, as after a restart, waits for the same.
        assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
        stage
            .append(&format!(
                r#"{{"kind":"input-received","taskId":"t","inputId":"t/call-1-1/consent","providedBy":"user","value":{answer}}}"#
            ))
            .await;
        assert_eq!(stage.run(agent(), "t").await, Left::Over);
        let told = stage.told();
        assert!(told.iter().any(|event| event == outcome), "{told:#?}");
        assert_eq!(told.last().unwrap(), "task-complete done");
    }
}

#[tokio::test]
async fn a_client_does_what_only_it_can_and_another_agent_what_it_is_asked() {
    let stage = Stage::new("go").await;
    let agent = || {
        let calls = [("where_am_i", json!({})), ("ask_bob", json!({"prompt": "how are you?"}))];
        let mut agent = ada(vec![line("", &calls), line("done", &[])]);
        agent.tools = vec![
            Arc::new(Tool::new(spec("where_am_i"), Doer::Client).unwrap()),
            Arc::new(Tool::new(spec("ask_bob"), Doer::Agent { id: "bob".to_owned() }).unwrap()),
        ];
        agent
    };
    assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
    stage
        .append(r#"{"kind":"input-received","taskId":"t","inputId":"t/call-1-1","providedBy":"user","value":{"city":"Oslo"}}"#)
        .await;
    assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
    let bob = Agent::new("bob", Arc::new(Script::saying("fine, you asked: {input}")));
    assert_eq!(stage.run(bob, "t/call-1-2").await, Left::Over);
    assert_eq!(stage.run(agent(), "t").await, Left::Over);
    let told = stage.told();
    for event in [
        "tool-complete call-1-1 success {\"city\":\"Oslo\"}",
        "subtask-created call-1-2 t/call-1-2",
        "task-complete fine, you asked: how are you?",
        "tool-complete call-1-2 success fine, you asked: how are you?",
        "task-complete done",
    ] {
        assert!(told.iter().any(|told| told == event), "{event}: {told:#?}");
    }
}

#[tokio::test]
async fn a_turn_goes_on_wherever_it_was_stopped() {
    // What a whole turn looks like, and how often its tool ran.
    let lines = || vec![line("first", &[("echo", json!({"a": 1}))]), line("last", &[])];
    let whole = Stage::new("go").await;
    let echo = Arc::new(Echo::default());
    let agent = |echo: &Arc<Echo>, interrupted| {
        let mut agent = ada(lines());
        let mut tool = Tool::here(spec("echo"), echo.clone()).unwrap();
        tool.interrupted = interrupted;
        agent.tools = vec![Arc::new(tool)];
        agent
    };
    whole.run(agent(&echo, Interrupted::Again), "t").await;
    let all = whole.events();
    for cut in 3..all.len() {
        let stage = Stage::new("go").await;
        for event in &all[3..cut] {
            stage.append(&event.to_string()).await;
        }
        let finished = all[3..cut].iter().any(|event| event["kind"] == "tool-complete");
        let echo = Arc::new(Echo::default());
        assert_eq!(stage.run(agent(&echo, Interrupted::Again), "t").await, Left::Over);
        let told = stage.told();
        assert_eq!(told.last().unwrap(), "task-complete last", "cut at {cut}");
        assert_eq!(echo.0.load(Ordering::SeqCst), u32::from(!finished), "cut at {cut}");
        let ends = told.iter().filter(|event| event.starts_with("task-complete")).count();
        assert_eq!(ends, 1, "cut at {cut}");
    }
    let stage = Stage::new("go").await;
    let started = all.iter().position(|event| event["kind"] == "tool-start").unwrap();
    for event in &all[3..=started] {
        stage.append(&event.to_string()).await;
    }
    let echo = Arc::new(Echo::default());
    stage.run(agent(&echo, Interrupted::Fail), "t").await;
    assert_eq!(echo.0.load(Ordering::SeqCst), 0);
    let told = stage.told();
    assert!(told.iter().any(|e| e.starts_with("tool-complete call-1-1 interrupted")), "{told:#?}");
}

#[tokio::test]
async fn a_canceled_task_stops_at_once_and_says_nothing_more() {
    let stage = Stage::new("go").await;
    let mut script = Script::saying(&"word ".repeat(10_000));
    script.pace = Duration::from_millis(2);
    let agent = Agent::new("ada", Arc::new(script));
    let running = stage.run(agent, "t");
    let cancel = async {
        while !stage.told().iter().any(|event| event.starts_with("content-delta")) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stage.append(r#"{"kind":"task-status","taskId":"t","status":"canceled"}"#).await;
    };
    let (left, ()) = tokio::join!(running, cancel);
    assert_eq!(left, Left::Over);
    let told = stage.told();
    assert!(told.len() < 9000, "{}", told.len());
    assert!(!told.iter().any(|event| event.starts_with("task-complete")));
}
