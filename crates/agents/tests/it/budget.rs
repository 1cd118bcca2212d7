//! What may be spent, and what happens when it is.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use selvedge_agents::config::file::{Bounds, Period};
use selvedge_agents::model::{FailureKind, ToolSpec};
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Doer, Left, Limits, Member, Mind, Tool, config};
use serde_json::{Value, json};

use crate::stage::Stage;

/// An agent of a configuration whose models are a script.
pub(crate) fn configured(text: &str, script: &Script) -> Arc<Agent> {
    let config = config::check("x", text.as_bytes(), Path::new(""), &|_: &str| None).unwrap();
    let mind = |_: &config::plan::Model| Ok(Arc::new(script.clone()) as Arc<dyn Mind>);
    match config.build_with(mind).unwrap().remove(0) {
        Member::Here(agent) => agent,
        _ => panic!("nobody works here"),
    }
}

fn calling(say: &str, tool: &str) -> Line {
    let calls = vec![(tool.to_owned(), json!({"prompt": "please"}))];
    Line { say: say.to_owned(), calls, ..Line::default() }
}

fn saying(say: &str) -> Line {
    Line { say: say.to_owned(), ..Line::default() }
}

fn tool(name: &str, doer: Doer) -> Arc<Tool> {
    let schema = json!({"type": "object"});
    let spec = ToolSpec { name: name.to_owned(), description: String::new(), schema };
    Arc::new(Tool::new(spec, doer).unwrap())
}

/// Calls a tool that the client does, and then is done; each call says three words.
fn ada() -> Agent {
    let mut agent =
        Agent::new("ada", Arc::new(Script::of(vec![calling("a b c", "look"), saying("done")])));
    agent.tools = vec![tool("look", Doer::Client)];
    agent.limits = Limits { backoff: Duration::from_millis(1), ..Limits::default() };
    agent
}

fn tokens(count: u64) -> Bounds {
    Bounds { tokens: Some(count), ..Bounds::default() }
}

fn answer(task: &str, input: &str, value: &Value) -> String {
    json!({"kind": "input-received", "taskId": task, "inputId": input, "providedBy": "user",
           "value": value})
    .to_string()
}

fn looked(task: &str) -> String {
    answer(task, &format!("{task}/call-1-1"), &json!("a bird"))
}

fn questions(stage: &Stage) -> Vec<Value> {
    let all = stage.events().into_iter();
    all.filter(|e| e["kind"] == "input-required" && e["metadata"]["budget"].is_object()).collect()
}

#[tokio::test]
async fn a_model_call_costs_what_its_tokens_cost() {
    let agent = configured(
        "[models.m]\nprovider = \"ollama\"\nmodel = \"x\"\n\
         price = { input = 1000000.0, output = 500000.0 }\n\
         [agents.ada]\nmodel = \"m\"",
        &Script::saying("one two three four"),
    );
    let stage = Stage::new("go").await;
    assert_eq!(stage.run_shared(agent, "t").await, Left::Over);
    let step = stage.events().into_iter().find(|e| e["kind"] == "step-finished").unwrap();
    assert_eq!(step["usage"]["cost"], json!(3.0), "{step}");
}

#[tokio::test]
async fn an_attempt_that_is_void_was_paid_all_the_same() {
    let broken = Line {
        say: "half an answer that is quite long ".to_owned(),
        fail: Some(FailureKind::Connection),
        ..Line::default()
    };
    let agent = configured(
        "[models.m]\nprovider = \"ollama\"\nmodel = \"x\"\n\
         price = { input = 1000000.0, output = 1000000.0 }\n\
         [agents.ada]\nmodel = \"m\"\nlimits = { tries = 2, backoff = \"1ms\" }",
        &Script::of(vec![broken]),
    );
    let stage = Stage::new("go").await;
    stage.run_shared(agent, "t").await;
    let void: Vec<Value> =
        stage.events().into_iter().filter(|e| e["kind"] == "attempt-superseded").collect();
    assert_eq!(void.len(), 2);
    for void in void {
        let usage = &void["metadata"]["usage"];
        assert_eq!(usage["estimated"], true, "{void}");
        assert_eq!(usage["output_tokens"], 9, "{void}");
        let input = usage["input_tokens"].as_f64().unwrap();
        assert_eq!(usage["cost"].as_f64().unwrap(), input + 9.0);
    }
    let thread = stage.store.thread(&stage.key).unwrap().unwrap();
    stage.store.settle().await.unwrap();
    let used = stage.store.usage(&thread).unwrap();
    assert_eq!(used.len(), 1);
    assert_eq!(
        (used[0].model.as_str(), used[0].tokens.output, used[0].tokens.calls),
        ("script", 18, 2)
    );
}

#[tokio::test]
async fn a_budget_that_is_reached_pauses_the_task_and_asks_until_it_is_raised() {
    for (value, after) in [
        (json!(true), None),
        (json!(100), None),
        (json!({"approved": true}), None),
        (json!("25"), None),
        // One more is not enough for the next call.
        (json!(1), Some(2)),
        (json!(false), Some(0)),
        (json!(-5), Some(0)),
    ] {
        let agent = || Agent { budget: budget(|b| b.thread = tokens(3)), ..ada() };
        let stage = Stage::new("go").await;
        assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
        stage.append(&looked("t")).await;
        assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
        let asked = questions(&stage);
        assert_eq!(asked.len(), 1);
        let metadata = json!({"budget": {"scope": "thread", "kind": "tokens", "limit": 3,
            "used": 4, "raise": 3}, "urgency": "high"});
        assert_eq!(asked[0]["metadata"], metadata);
        assert_eq!(
            (&asked[0]["inputType"], &asked[0]["requireUser"]),
            (&json!("confirmation"), &json!(true))
        );
        assert!(asked[0]["prompt"].as_str().unwrap().contains("4 of 3 tokens"), "{}", asked[0]);
        assert_eq!(stage.told().last().unwrap(), "task-status waiting-input");
        // After a restart it waits for the same, and asks nothing again.
        assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
        assert_eq!(questions(&stage).len(), 1);
        stage.append(&answer("t", "budget/thread/tokens/1", &value)).await;
        let left = stage.run(agent(), "t").await;
        let told = stage.told();
        match after {
            None => assert_eq!(told.last().unwrap(), "task-complete done", "{value}"),
            Some(0) => assert_eq!(told.last().unwrap(), "task-status failed budget_exceeded"),
            Some(count) => {
                assert_eq!((left, questions(&stage).len()), (Left::Waiting, count));
                assert_eq!(questions(&stage)[1]["metadata"]["budget"]["limit"], 4);
            }
        }
    }
}

fn budget(set: impl FnOnce(&mut config::file::Budget)) -> config::file::Budget {
    let mut budget = config::file::Budget::default();
    set(&mut budget);
    budget
}

#[tokio::test]
async fn cut_anywhere_a_turn_that_was_asked_about_its_budget_goes_on_and_asks_once() {
    let agent = || Agent { budget: budget(|b| b.task = tokens(3)), ..ada() };
    let finish = async |stage: &Stage| {
        for _ in 0..3 {
            if stage.run(agent(), "t").await == Left::Over {
                return;
            }
            let open = stage.events().into_iter().rev();
            let open = open.filter(|e| e["kind"] == "input-required").collect::<Vec<_>>();
            let input = open[0]["inputId"].as_str().unwrap();
            // An attempt that a cut makes void is spent too.
            stage.append(&answer("t", input, &json!(1000))).await;
        }
    };
    let whole = Stage::new("go").await;
    finish(&whole).await;
    let all = whole.events();
    assert_eq!(whole.told().last().unwrap(), "task-complete done");
    assert_eq!(questions(&whole).len(), 1);
    for cut in 3..all.len() {
        let stage = Stage::new("go").await;
        for event in &all[3..cut] {
            stage.append(&event.to_string()).await;
        }
        finish(&stage).await;
        assert_eq!(stage.told().last().unwrap(), "task-complete done", "cut at {cut}");
        assert_eq!(questions(&stage).len(), 1, "cut at {cut}");
    }
}

#[tokio::test]
async fn tasks_of_a_thread_wait_for_one_answer_and_it_holds_for_all_of_them() {
    for (value, end) in
        [(json!(100), "task-complete done"), (json!(false), "task-status failed budget_exceeded")]
    {
        let agent = || Agent { budget: budget(|b| b.thread = tokens(3)), ..ada() };
        let stage = Stage::new("go").await;
        stage
            .append(r#"{"kind":"task-created","taskId":"u","initiator":"user","agentId":"ada"}"#)
            .await;
        assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
        stage.append(&looked("t")).await;
        assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
        assert_eq!(stage.run(agent(), "u").await, Left::Waiting);
        assert_eq!(stage.run(agent(), "u").await, Left::Waiting);
        assert_eq!(questions(&stage).len(), 1);
        let waits = stage.events().pop().unwrap();
        assert_eq!(waits["metadata"]["blockedBy"], "budget/thread/tokens/1");
        stage.append(&answer("t", "budget/thread/tokens/1", &value)).await;
        assert_eq!(stage.run(agent(), "t").await, Left::Over);
        assert_eq!(stage.told().last().unwrap(), end);
        let left = stage.run(agent(), "u").await;
        match value == json!(100) {
            // It goes on to its own call.
            true => assert_eq!(left, Left::Waiting),
            false => assert_eq!(stage.told().last().unwrap(), end),
        }
        assert_eq!(questions(&stage).len(), 1);
    }
}

#[tokio::test]
async fn when_whoever_asked_is_canceled_the_next_asks_anew() {
    let agent = || Agent { budget: budget(|b| b.thread = tokens(3)), ..ada() };
    let stage = Stage::new("go").await;
    stage
        .append(r#"{"kind":"task-created","taskId":"u","initiator":"user","agentId":"ada"}"#)
        .await;
    stage.run(agent(), "t").await;
    stage.append(&looked("t")).await;
    stage.run(agent(), "t").await;
    stage.run(agent(), "u").await;
    stage.append(r#"{"kind":"task-status","taskId":"t","status":"canceled"}"#).await;
    assert_eq!(stage.run(agent(), "u").await, Left::Waiting);
    let asked = questions(&stage);
    assert_eq!((asked.len(), &asked[1]["taskId"]), (2, &json!("u")));
}

#[tokio::test]
async fn what_subtasks_spend_counts_for_the_task_and_for_their_own_agent_alone() {
    let ask_bob = || tool("ask_bob", Doer::Agent { id: "bob".to_owned() });
    let agent = || {
        let lines = vec![calling("hm", "ask_bob"), saying("done")];
        let mut agent = Agent::new("ada", Arc::new(Script::of(lines)));
        agent.tools = vec![ask_bob()];
        agent.budget = budget(|b| (b.task, b.agent) = (tokens(10), tokens(5)));
        agent
    };
    let stage = Stage::new("go").await;
    assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
    let mut bob = Agent::new("bob", Arc::new(Script::saying("1 2 3 4 5 6 7 8")));
    bob.budget = budget(|b| b.agent = tokens(100));
    assert_eq!(stage.run(bob, "t/call-1-1").await, Left::Over);
    assert_eq!(stage.run(agent(), "t").await, Left::Waiting);
    let asked = questions(&stage);
    assert_eq!(asked[0]["metadata"]["budget"]["scope"], "task:t");
    assert_eq!(asked[0]["metadata"]["budget"]["used"], 11);
    // Another agent is not called either when there is nothing left.
    let stage = Stage::new("go").await;
    let agent = Agent { budget: budget(|b| b.agent = tokens(2)), ..agent() };
    assert_eq!(stage.run(agent, "t").await, Left::Waiting);
    assert_eq!(questions(&stage)[0]["metadata"]["budget"]["scope"], "agent:ada");
    assert!(!stage.events().iter().any(|e| e["kind"] == "subtask-created"));
}

/// Events of a task at work from one second to another.
fn worked(from: u32, to: u32) -> [String; 4] {
    let at = |second: u32| format!("2026-01-01T00:{:02}:{:02}Z", second / 60, second % 60);
    let event = |kind: &str, second: u32, more: &str| {
        format!(
            r#"{{"kind":"{kind}","taskId":"t","agentId":"ada","timestamp":"{}"{more}}}"#,
            at(second)
        )
    };
    let call = r#","toolCallId":"call-1-1","toolName":"look","arguments":{}"#;
    let asked = r#","inputId":"t/call-1-1","inputType":"tool-execution","prompt":"look","toolCallId":"call-1-1""#;
    [
        event("step-started", from, ""),
        event("tool-call", from, call),
        event("step-finished", to, ""),
        event("input-required", to, asked),
    ]
}

#[tokio::test]
async fn time_at_work_is_counted_and_waiting_for_people_is_not() {
    let time =
        |seconds| Bounds { time: Some(Period(Duration::from_secs(seconds))), ..Bounds::default() };
    for (limit, asks) in [(100, true), (101, false)] {
        let stage = Stage::new("go").await;
        for event in worked(0, 100) {
            stage.append(&event).await;
        }
        // Half an hour later.
        let mut late: Value = serde_json::from_str(&looked("t")).unwrap();
        late["timestamp"] = json!("2026-01-01T00:31:40Z");
        stage.append(&late.to_string()).await;
        let done = r#"{"kind":"tool-complete","taskId":"t","agentId":"ada","toolCallId":"call-1-1","toolName":"look","success":true,"result":"a bird","timestamp":"2026-01-01T00:31:40Z"}"#;
        stage.append(done).await;
        let agent = Agent { budget: budget(|b| b.thread = time(limit)), ..ada() };
        // The turn itself has had its time since 2026-01-01; that is not what this is about.
        let limits = Limits { timeout: Duration::from_secs(u32::MAX.into()), ..Limits::default() };
        stage.run(Agent { limits, ..agent }, "t").await;
        assert_eq!(!questions(&stage).is_empty(), asks, "{:#?}", stage.told());
        if asks {
            let told = &questions(&stage)[0]["metadata"]["budget"];
            assert_eq!((&told["kind"], &told["used"]), (&json!("time"), &json!(100)));
        }
    }
}

#[tokio::test]
async fn a_question_says_how_urgent_it_is_and_until_when_it_can_be_answered() {
    let agent = configured(
        "[models.m]\nprovider = \"ollama\"\nmodel = \"x\"\n\
         [agents.ada]\nmodel = \"m\"\ntools = [\"look\"]\n\
         [tools.look]\nkind = \"client\"\ndescription = \"Looks.\"\nconsent = true\n\
         answer_within = \"5m\"\nurgency = \"high\"\nschema = { type = \"object\" }",
        &Script::of(vec![calling("", "look"), saying("done")]),
    );
    let stage = Stage::new("go").await;
    assert_eq!(stage.run_shared(agent.clone(), "t").await, Left::Waiting);
    stage.append(&answer("t", "t/call-1-1/consent", &json!(true))).await;
    assert_eq!(stage.run_shared(agent, "t").await, Left::Waiting);
    let asked: Vec<Value> =
        stage.events().into_iter().filter(|e| e["kind"] == "input-required").collect();
    assert_eq!(asked.len(), 2);
    for asked in &asked {
        let told = &asked["metadata"];
        assert_eq!((&told["urgency"], &told["timeout"]), (&json!("high"), &json!(300)), "{asked}");
        assert!(asked["expiresAt"].as_str().unwrap() > asked["timestamp"].as_str().unwrap());
    }
    assert_eq!(asked[1]["metadata"]["toolCall"]["id"], "call-1-1");
}
