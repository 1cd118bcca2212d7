//! Envelopes through agents: who takes them, what they come to, exactly once.

use std::sync::Arc;

use selvedge_agents::router::{NextActions, Routing, Rules};
use selvedge_agents::script::{Confidence, Line, Proposal, Rule, Script};
use selvedge_agents::{Agent, Desk};
use selvedge_protocol::dialect::envelope::route::Lineage;
use selvedge_protocol::journal::Event;
use selvedge_protocol::json::Doc;
use selvedge_store::{Append, Create, Draft, Options, Store, ThreadKey};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::runner::House;

fn line(say: &str, score: f64, next: &[(&str, &str)]) -> Line {
    let proposal = |(intent, task): &(&str, &str)| Proposal {
        intent: (*intent).to_owned(),
        task: (*task).to_owned(),
        args: Some(json!({"n": 1})),
    };
    Line {
        say: say.to_owned(),
        confidence: Some(Confidence { score, rationale: "a guess".to_owned() }),
        next: next.iter().map(proposal).collect(),
        ..Line::default()
    }
}

fn agent(id: &str, model: &str, rules: Vec<(&str, Line)>) -> Agent {
    let rule = |(when, line): (&str, Line)| Rule {
        when: when.to_owned(),
        lines: vec![line],
        ..Rule::default()
    };
    let rules = rules.into_iter().map(rule).collect();
    Agent::new(id, Arc::new(Script { name: model.to_owned(), rules, ..Script::default() }))
}

/// A planner, a decomposer that is not sure, and an executor.
fn team() -> Vec<Agent> {
    let decompose = [("decompose", "cut it up")];
    vec![
        agent(
            "gpt5",
            "gpt-5",
            vec![
                ("Intent=reflect", line("do it so", 0.9, &[("execute", "run it")])),
                ("", line("a plan", 0.8, &decompose)),
            ],
        ),
        agent("claude", "claude-3.7-sonnet", vec![("", line("pieces", 0.3, &[("retrieve", "x")]))]),
        agent("gemini", "gemini-2.5-pro", vec![("", line("ran", 0.9, &[]))]),
    ]
}

fn open(folder: &TempDir, agents: Vec<Agent>, rules: Rules) -> House {
    House::with(folder, Desk::routed(agents, rules))
}

/// The events of an envelope that arrived, as a surface appends them.
fn arrives(house: &House, id: &str, intent: &str, lineage: Lineage) -> Vec<Value> {
    let message = json!({"kind": "message", "messageId": id, "role": "user", "content": "a trip",
        "contextId": "a", "intent": intent, "task": "Plan a trip", "trace": {"id": id}});
    let mut routing = Routing::new();
    let text = message.to_string();
    routing.apply(&Event::parse(Doc::parse(&text).unwrap().root()).unwrap());
    let decided = routing.decide(id, &house.desk, lineage, None);
    let written = decided.events.iter().map(|event| {
        let mut text = String::new();
        event.write(&mut text);
        serde_json::from_str(&text).unwrap()
    });
    std::iter::once(message).chain(written).collect()
}

/// What was decided, as lines.
fn hops(events: &[Value]) -> Vec<String> {
    let decided = events.iter().filter(|event| event["kind"] == "route-decided");
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let line = |e: &Value| {
        format!(
            "{} {} {} -> {} {}",
            e["hop"],
            text(&e["stage"]),
            text(&e["arrived"]),
            text(&e["to"]),
            text(&e["intent"])
        )
    };
    decided.map(line).collect()
}

const WHOLE: [&str; 7] = [
    "0 asks plan -> gpt5 plan",
    "1 answers plan -> - -",
    "1 proposes decompose -> claude decompose",
    // Not sure: another model looks, and what it proposed waits.
    "2 answers decompose -> gpt5 reflect",
    "3 answers reflect -> - -",
    "3 proposes execute -> gemini execute",
    "4 answers execute -> - -",
];

fn ends(events: &[Value]) -> bool {
    hops(events).last().is_some_and(|hop| hop.starts_with("4 answers"))
}

#[tokio::test]
async fn an_envelope_goes_from_agent_to_agent_and_low_confidence_to_another_model() {
    let folder = tempfile::tempdir().unwrap();
    let house = open(&folder, team(), Rules::default());
    let arrived = arrives(&house, "m1", "plan", Lineage::Parent);
    house.append("a", Create::IfMissing, &arrived).await;
    house.until_all("a", ends).await;
    let events = house.events("a");
    assert_eq!(hops(&events), WHOLE);
    let answers: Vec<&Value> = events.iter().filter(|e| e["answers"].is_string()).collect();
    assert_eq!(answers.len(), 4);
    let plan = answers[0];
    assert_eq!((&plan["intent"], &plan["content"]), (&json!("plan"), &json!("a plan")));
    assert_eq!(plan["trace"]["parents"], json!(["m1"]));
    assert_eq!(plan["trace"]["cost"], json!({"input_tokens": 1, "output_tokens": 2}));
    assert_eq!(plan["confidence"], json!({"score": 0.8, "rationale": "a guess"}));
    assert_eq!(plan["outputs"]["next_actions"][0]["args"], json!({"n": 1}));
    let (unsure, second) = (answers[1], answers[2]);
    assert_eq!(second["trace"]["parents"], json!([unsure["messageId"]]), "the direct parent");
    assert_eq!((&second["intent"], &second["agentId"]), (&json!("reflect"), &json!("gpt5")));
    // What the unsure one proposed was left open.
    let mut routing = Routing::new();
    for event in &events {
        let text = event.to_string();
        routing.apply(&Event::parse(Doc::parse(&text).unwrap().root()).unwrap());
    }
    let open: Vec<&str> = routing.open().map(|action| action.intent.as_str()).collect();
    assert_eq!(open, ["retrieve"]);
    assert_eq!(routing.owed().count(), 0);
}

#[tokio::test]
async fn cut_anywhere_a_routing_goes_on_to_the_same_end() {
    let folder = tempfile::tempdir().unwrap();
    let house = open(&folder, team(), Rules::default());
    let arrived = arrives(&house, "m1", "plan", Lineage::Parent);
    house.append("a", Create::IfMissing, &arrived).await;
    house.until_all("a", ends).await;
    let events = house.events("a");
    house.close().await;
    let answers = |events: &[Value]| -> Vec<Value> {
        let answers = events.iter().filter(|event| event["answers"].is_string());
        // What a void attempt cost was spent all the same.
        let parents = |event: &Value| event["trace"]["parents"].clone();
        answers.map(|e| json!([e["messageId"], e["content"], e["answers"], parents(e)])).collect()
    };
    // What is appended together is there together.
    let together = |at: usize| {
        let kind = events[at]["kind"].as_str().unwrap();
        kind == "route-decided" || kind == "task-created"
    };
    for at in (arrived.len()..events.len()).filter(|at| !together(*at)) {
        let folder = tempfile::tempdir().unwrap();
        // Appended with nobody there: what is to be done is found by a look.
        let store = Store::open(&folder.path().join("s.db"), Options::default()).unwrap();
        let drafts = events[..at].iter().map(|event| Draft::new(event.to_string())).collect();
        let append = Append::new(ThreadKey::new("", "a"), drafts).creating(Create::New);
        store.append(append).await.unwrap();
        drop(store);
        let house = open(&folder, team(), Rules::default());
        house.until_all("a", ends).await;
        let again = house.events("a");
        assert_eq!(hops(&again), WHOLE, "cut at {at}");
        assert_eq!(answers(&again), answers(&events), "cut at {at}");
        house.close().await;
    }
}

#[tokio::test]
async fn an_end_that_two_hear_of_is_taken_up_once() {
    let folder = tempfile::tempdir().unwrap();
    let house = open(&folder, team(), Rules::default());
    let arrived = arrives(&house, "m1", "execute", Lineage::Parent);
    house.append("a", Create::IfMissing, &arrived).await;
    let done = house.until("a", |event| event["kind"] == "task-complete").await;
    let hint = bytes::Bytes::from(done.to_string());
    let key = ThreadKey::new("", "a");
    for _ in 0..20 {
        house.desk.committed(&key, [&hint]);
        tokio::task::yield_now().await;
    }
    house.until("a", |event| event["answers"].is_string()).await;
    house.ask("b", "gemini").await;
    house.until("b", |event| event["kind"] == "task-complete").await;
    let events = house.events("a");
    assert_eq!(events.iter().filter(|e| e["answers"].is_string()).count(), 1, "{events:#?}");
    assert_eq!(hops(&events).len(), 2);
}

#[tokio::test]
async fn a_model_that_speaks_envelopes_is_taken_at_its_word_and_a_failure_is_an_error_envelope() {
    let folder = tempfile::tempdir().unwrap();
    let said = json!({"protocol": "multiagent-1.0", "intent": "finalize", "task": "Say it",
        "content": {"type": "json", "data": {"n": 2}},
        "outputs": {"artifacts": [{"kind": "plan", "name": "p", "inline": "1"}, {"kind": 1}],
                    "next_actions": [{"intent": "sing", "task": "x"}]},
        "confidence": {"score": 7}});
    let fenced = format!("```json\n{said}\n```");
    let speaks = Line { say: fenced, ..Line::default() };
    let fails =
        Line { fail: Some(selvedge_agents::model::FailureKind::Refused), ..Line::default() };
    let agents = vec![
        agent("gpt5", "gpt-5", vec![("", speaks)]),
        agent("claude", "claude-3.7-sonnet", vec![("", fails)]),
    ];
    let house = open(&folder, agents, Rules::default());
    house.append("a", Create::IfMissing, &arrives(&house, "m1", "plan", Lineage::Parent)).await;
    let answer = house.until("a", |event| event["answers"].is_string()).await;
    assert_eq!((&answer["intent"], &answer["task"]), (&json!("finalize"), &json!("Say it")));
    assert_eq!(answer["content"], json!([{"type": "data", "data": {"n": 2}}]));
    assert_eq!(
        answer["outputs"],
        json!({"artifacts": [{"kind": "plan", "name": "p", "inline": "1"}]})
    );
    assert_eq!(answer["confidence"], Value::Null, "what is nonsense is not taken over");
    house.append("b", Create::IfMissing, &arrives(&house, "m1", "analyze", Lineage::Parent)).await;
    let answer = house.until("b", |event| event["answers"].is_string()).await;
    assert_eq!(answer["contentType"], "error");
    assert_eq!(answer["content"][1]["data"]["code"], "model_refused");
}

#[tokio::test]
async fn a_chain_ends_where_its_hops_do_with_an_error_envelope() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rules { hops: 2, ..Rules::default() };
    let house = open(&folder, team(), rules);
    house.append("a", Create::IfMissing, &arrives(&house, "m1", "plan", Lineage::Parent)).await;
    let error = house.until("a", |event| event["contentType"] == "error").await;
    assert_eq!(error["content"][1]["data"]["code"], "hop_limit");
    let refused = house.until("a", |event| event["code"] == "hop_limit").await;
    assert_eq!(refused["messageId"], error["trace"]["parents"][0]);
}

#[tokio::test]
async fn next_actions_wait_if_they_are_to_and_the_mux_gives_one_answer() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rules { next_actions: NextActions::Queue, ..Rules::default() };
    let house = open(&folder, team(), rules);
    house.append("a", Create::IfMissing, &arrives(&house, "m1", "plan", Lineage::Parent)).await;
    house.until("a", |event| event["stage"] == "proposes").await;
    let expected =
        ["0 asks plan -> gpt5 plan", "1 answers plan -> - -", "1 proposes decompose -> - -"];
    assert_eq!(hops(&house.events("a")), expected);
    house.append("b", Create::IfMissing, &arrives(&house, "m1", "sing", Lineage::MuxV1)).await;
    house.until("b", |event| event["stage"] == "proposes").await;
    let expected =
        ["0 asks sing -> gpt5 sing", "1 answers sing -> - -", "1 proposes decompose -> - -"];
    assert_eq!(hops(&house.events("b")), expected);
}
