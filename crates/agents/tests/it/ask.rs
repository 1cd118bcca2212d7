//! Agents ask: the user, or first whoever coordinates; and share thoughts.

use std::sync::Arc;
use std::time::Duration;

use selvedge_agents::model::ToolSpec;
use selvedge_agents::script::{Line, Rule, Script};
use selvedge_agents::tool::builtin;
use selvedge_agents::{Agent, Coordinator, Doer, Left, Tool};
use selvedge_store::{Append, AppendError, Create, Draft, Guard, InboxKind, ThreadKey};
use serde_json::{Value, json};

use crate::runner::House;
use crate::stage::Stage;

/// An agent that calls a tool and then says what it got.
fn asker(id: &str, tool: &str, arguments: Value) -> Agent {
    let lines = vec![
        Line { calls: vec![(tool.to_owned(), arguments)], ..Line::default() },
        Line { say: "thank you".to_owned(), ..Line::default() },
    ];
    let mut agent = Agent::new(id, Arc::new(Script::of(lines)));
    agent.tools = builtin::tools().unwrap().into_iter().map(Arc::new).collect();
    agent
}

/// One who answers questions, each time with the next of these; asked by a user it calls the
/// agent `ada`.
fn coordinator(answers: &[&str]) -> Agent {
    let call = Line { calls: vec![("ada".to_owned(), json!({"prompt": "go"}))], ..Line::default() };
    let end = Line { say: "all is done".to_owned(), ..Line::default() };
    let again = answers.get(1).unwrap_or(&"");
    let rule =
        |when: &str, lines: Vec<Line>| Rule { when: when.to_owned(), lines, ..Rule::default() };
    let say = |text: &str| vec![Line { say: text.to_owned(), ..Line::default() }];
    let rules = vec![
        rule("does not fit", say(again)),
        rule("asks:", say(answers.first().unwrap_or(&""))),
        rule("", vec![call, end]),
    ];
    let script = Script { name: "script".to_owned(), rules, ..Script::default() };
    let mut agent = Agent::new("bob", Arc::new(script));
    let schema = json!({"type": "object", "properties": {"prompt": {"type": "string"}}});
    let spec = ToolSpec { name: "ada".to_owned(), description: String::new(), schema };
    agent.tools = vec![Arc::new(Tool::new(spec, Doer::Agent { id: "ada".to_owned() }).unwrap())];
    agent
}

fn colour() -> Value {
    json!({"question": "Which colour?", "options": ["red", "blue"]})
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

#[tokio::test]
async fn a_question_for_the_user_says_so_and_its_answer_is_the_result() {
    let stage = Stage::new("go").await;
    let question = json!({"question": "Pay 5 €?", "type": "confirmation", "urgency": "high",
                          "timeout": 60, "schema": {"type": "boolean"}});
    let ada = || {
        let mut ada = asker("ada", "ask_user", question.clone());
        ada.coordination.who = Coordinator::Agent("bob".to_owned());
        ada
    };
    assert_eq!(stage.run(ada(), "t").await, Left::Waiting);
    let events = stage.events();
    let asked = of(&events, "input-required")[0];
    assert_eq!(
        (&asked["requireUser"], &asked["inputType"]),
        (&json!(true), &json!("confirmation"))
    );
    assert_eq!(asked["metadata"], json!({"urgency": "high", "timeout": 60}));
    assert!(asked["expiresAt"].is_string() && asked["schema"]["type"] == "boolean");
    assert!(of(&events, "subtask-created").is_empty(), "only the user is asked");
    let waits = of(&events, "task-status").into_iter().last().unwrap();
    assert_eq!(waits["metadata"]["blockedBy"], "user");
    stage
        .append(r#"{"kind":"input-received","taskId":"t","inputId":"t/call-1-1","providedBy":"user","value":true}"#)
        .await;
    assert_eq!(stage.run(ada(), "t").await, Left::Over);
    assert_eq!(of(&stage.events(), "tool-complete")[0]["result"], json!(true));
}

#[tokio::test]
async fn a_choice_without_options_is_refused() {
    let stage = Stage::new("go").await;
    let wrong = json!({"question": "Which?", "type": "selection"});
    assert_eq!(stage.run(asker("ada", "ask_user", wrong), "t").await, Left::Over);
    assert_eq!(of(&stage.events(), "tool-complete")[0]["outcome"], "validation_error");
}

/// A house in which `bob` called `ada`, who asked something.
async fn called(folder: &tempfile::TempDir, ada: Agent, bob: Agent) -> House {
    let house = House::open(folder, vec![ada, bob]);
    house.append("talk", Create::New, &[json!({"kind": "thread-created"})]).await;
    house.ask("talk", "bob").await;
    house
}

async fn over(house: &House) -> Vec<Value> {
    house.until("talk", |e| e["kind"] == "task-complete" && e["taskId"] == "t").await;
    house.events("talk")
}

#[tokio::test]
async fn the_agent_that_called_answers_what_a_user_need_not() {
    let folder = tempfile::tempdir().unwrap();
    let ada = asker("ada", "ask_coordinator", colour());
    let house = called(&folder, ada, coordinator(&["blue"])).await;
    let events = over(&house).await;
    let received = of(&events, "input-received")[0];
    assert_eq!(
        (&received["providedBy"], &received["agentId"], &received["value"]),
        (&json!("agent"), &json!("bob"), &json!("blue"))
    );
    let asked = of(&events, "input-required")[0];
    assert_eq!(asked["requireUser"], json!(false));
    let input = &asked["inputId"];
    let made = events
        .iter()
        .find(|e| e["kind"] == "task-created" && e["metadata"]["inputId"] == *input)
        .unwrap();
    assert_eq!((&made["agentId"], &made["parentTaskId"]), (&json!("bob"), &asked["taskId"]));
    let ends = of(&events, "tool-complete");
    assert!(ends.iter().any(|end| end["toolName"] == "ask_coordinator" && end["result"] == "blue"));
    assert_eq!(of(&events, "input-required").len(), 1, "nobody else was asked");
    house.close().await;
}

#[tokio::test]
async fn a_tool_of_the_client_is_asked_of_the_coordinator_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut ada = asker("ada", "look", json!({}));
    let spec = ToolSpec {
        name: "look".to_owned(),
        description: String::new(),
        schema: json!({"type": "object"}),
    };
    ada.tools = vec![Arc::new(Tool::new(spec, Doer::Client).unwrap())];
    let house = called(&folder, ada, coordinator(&["{\"seen\": \"a bird\"}"])).await;
    let events = over(&house).await;
    assert_eq!(of(&events, "input-received")[0]["value"], json!({"seen": "a bird"}));
    house.close().await;
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_once_more_and_then_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let ada = asker("ada", "ask_coordinator", colour());
    let house = called(&folder, ada, coordinator(&["green", "blue"])).await;
    let events = over(&house).await;
    assert_eq!(of(&events, "input-received")[0]["value"], "blue");
    house.close().await;
    for (answers, reason) in [
        (["green", "pink"], "bob gave no answer that fits: the answer is none of the options"),
        (["HAND OVER: it is a matter of taste", ""], "it is a matter of taste"),
        (["", ""], "it said nothing"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ada = asker("ada", "ask_coordinator", colour());
        let house = called(&folder, ada, coordinator(&answers)).await;
        let handed = |e: &Value| e["metadata"]["blockedBy"] == "user";
        let told = house.until("talk", handed).await;
        assert_eq!(
            (&told["status"], &told["metadata"]["reason"]),
            (&json!("waiting-input"), &json!(reason))
        );
        // Nobody asks the coordinator again, also after a restart; the user answers.
        house.close().await;
        let house = House::open(
            &folder,
            vec![asker("ada", "ask_coordinator", colour()), coordinator(&answers)],
        );
        answer(&house, "red").await.unwrap();
        let events = over(&house).await;
        assert_eq!(of(&events, "input-received")[0]["providedBy"], "user");
        house.close().await;
    }
}

/// What a server does when a user answers.
async fn answer(house: &House, value: &str) -> Result<(), AppendError> {
    let events = house.events("talk");
    let asked = of(&events, "input-required")[0];
    let (input, task) = (asked["inputId"].as_str().unwrap(), &asked["taskId"]);
    let event = json!({"kind": "input-received", "inputId": input, "taskId": task,
                       "providedBy": "user", "value": value});
    let key = ThreadKey::new("", "talk");
    let guard = Guard::Open { kind: InboxKind::Input, id: input.to_owned() };
    let append = Append::new(key, vec![Draft::new(event.to_string())]).guarded(guard);
    house.append_raw(append).await
}

#[tokio::test]
async fn a_coordinator_that_does_not_answer_in_time_is_stopped_and_the_user_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut ada = asker("ada", "ask_coordinator", colour());
    ada.coordination.patience = Duration::from_millis(100);
    ada.coordination.who = Coordinator::Agent("nobody".to_owned());
    let house = called(&folder, ada, coordinator(&[])).await;
    let told = house.until("talk", |e| e["metadata"]["blockedBy"] == "user").await;
    assert!(told["metadata"]["reason"].as_str().unwrap().contains("did not answer in time"));
    answer(&house, "red").await.unwrap();
    over(&house).await;
    house.close().await;
}

#[tokio::test]
async fn a_user_who_answers_first_is_the_one_who_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut ada = asker("ada", "ask_coordinator", colour());
    ada.coordination.who = Coordinator::Agent("nobody".to_owned());
    let house = called(&folder, ada, coordinator(&[])).await;
    house.until("talk", |e| e["kind"] == "input-required").await;
    answer(&house, "red").await.unwrap();
    let events = over(&house).await;
    assert_eq!(of(&events, "input-received").len(), 1);
    let task = &of(&events, "task-created").into_iter().find(|e| e["agentId"] == "nobody").unwrap()
        ["taskId"];
    let end = events.iter().find(|e| e["taskId"] == *task && e["status"] == "canceled").unwrap();
    assert_eq!(end["message"], "someone else has answered");
    assert!(matches!(answer(&house, "blue").await, Err(AppendError::Instead(_))));
    house.close().await;
}

#[tokio::test]
async fn thoughts_that_are_shared_are_in_the_journal_once_and_not_in_what_the_model_is_told() {
    let stage = Stage::new("go").await;
    let thought = json!({"content": "I shall ask first", "type": "decision", "verbosity": "detailed",
                         "confidence": 0.8, "alternatives": ["guess"], "related_to": "call-9"});
    assert_eq!(stage.run(asker("ada", "think", thought), "t").await, Left::Over);
    let events = stage.events();
    let [shared] = of(&events, "thought-stream")[..] else { panic!("{events:#?}") };
    assert_eq!(shared["thoughtType"], "decision");
    assert_eq!(
        shared["metadata"],
        json!({"source": "tool-call", "confidence": 0.8, "alternatives": ["guess"], "relatedTo": "call-9"})
    );
    assert_eq!(of(&events, "tool-complete")[0]["success"], true);
}
