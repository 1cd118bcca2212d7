//! Tools of MCP servers: our own small one here, odd ones in `odd`, the reference servers in
//! `reference`.

mod odd;
mod reference;

use std::sync::Arc;
use std::time::Duration;

use selvedge_agents::script::{Line, Script};
use selvedge_agents::tool::mcp::{Offer, Options, Server, Transport, Which, demo};
use selvedge_agents::{Agent, Left};
use serde_json::{Value, json};

use crate::stage::Stage;

/// What the other tests start: this program again, as a server. Its pace is in the environment.
#[test]
#[ignore = "is a server, for the other tests"]
fn server_for_others() {
    let Ok(pace) = std::env::var("PACE") else { return };
    if std::env::var("SECRET").is_ok_and(|secret| secret == "die") {
        std::process::exit(3);
    }
    eprintln!("it starts with {}", std::env::var("SECRET").unwrap_or_default());
    let pace = Duration::from_millis(pace.parse().unwrap());
    demo::serve(std::io::stdin().lock(), std::io::stdout(), pace).unwrap();
}

fn flights(pace: u64) -> Options {
    let args = ["--exact", "mcp::server_for_others", "--ignored", "--nocapture"];
    Options::new(
        "air",
        Transport::Process {
            command: std::env::current_exe().unwrap(),
            args: args.map(str::to_owned).to_vec(),
            env: vec![("PACE".to_owned(), pace.to_string())],
            folder: None,
        },
    )
}

/// An agent that calls tools, all at once, and then says that it is done.
fn caller(server: &Arc<Server>, calls: &[(&str, Value)]) -> Agent {
    let calls = calls.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let lines =
        vec![Line { calls, ..Line::default() }, Line { say: "done".to_owned(), ..Line::default() }];
    let mut agent = Agent::new("ada", Arc::new(Script::of(lines)));
    agent.servers = vec![Offer::all(server.clone())];
    agent
}

/// How calls ended, in the order of their ids.
fn ends(stage: &Stage) -> Vec<Value> {
    let mut ends: Vec<Value> =
        stage.events().into_iter().filter(|event| event["kind"] == "tool-complete").collect();
    ends.sort_by_key(|event| event["toolCallId"].to_string());
    ends
}

fn oslo() -> (&'static str, Value) {
    ("air__search_flights", json!({"from": "Oslo", "to": "Rome", "date": "2027-01-05"}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_uses_a_tool_of_a_server_and_tells_how_far_it_comes() {
    let stage = Stage::new("go").await;
    let server = Server::new(flights(150)).unwrap();
    assert_eq!(server.protocol().await, None, "it is not started before it is needed");
    let calls = [
        oslo(),
        ("air__search_flights", json!({"from": "Oslo"})),
        ("air__search_flights", json!({"from": "Oslo", "to": ""})),
        ("air__nothing", json!({})),
        oslo(),
    ];
    assert_eq!(stage.run(caller(&server, &calls), "t").await, Left::Over);
    assert_eq!(server.protocol().await.as_deref(), Some("2025-11-25"));
    let ends = ends(&stage);
    let flights = ends[0]["result"]["flights"].as_array().unwrap();
    assert_eq!(flights.len(), 3);
    assert_eq!(flights[0]["airline"], "Nordlys");
    assert_eq!(ends[0]["result"], ends[4]["result"]);
    let failed: Vec<(&str, &str)> = ends[1..4]
        .iter()
        .map(|end| (end["outcome"].as_str().unwrap(), end["error"].as_str().unwrap()))
        .collect();
    assert_eq!(
        failed,
        [
            ("validation_error", "`/to` is missing"),
            ("validation_error", "`/to` must have at least 1 characters, not 0"),
            ("failed", "there is no tool `air__nothing`"),
        ]
    );
    let events = stage.events();
    let progress: Vec<&Value> = events
        .iter()
        .filter(|event| event["kind"] == "tool-progress" && event["toolCallId"] == "call-1-1")
        .collect();
    let parts: Vec<f64> = progress.iter().map(|e| e["progress"].as_f64().unwrap()).collect();
    assert!(parts.len() >= 2 && parts.is_sorted(), "{parts:?}");
    assert_eq!(progress[0]["message"], "asked Nordlys");
    let told = events.iter().find(|event| event["kind"] == "internal:llm-call").unwrap();
    assert_eq!(told["toolCount"], 2);
    assert_eq!(stage.told().last().unwrap(), "task-complete done");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_gets_only_the_tools_that_it_may_use() {
    let stage = Stage::new("go").await;
    let server = Server::new(flights(1)).unwrap();
    let book = ("air__book_flight", json!({"flight": "NL1", "passenger": "Ada"}));
    let mut agent = caller(&server, &[oslo(), book]);
    let which = Which::Named(vec!["search_flights".to_owned()]);
    agent.servers = vec![Offer { server: server.clone(), which }];
    assert_eq!(stage.run(agent, "t").await, Left::Over);
    let ends = ends(&stage);
    assert_eq!(ends[0]["outcome"], "success");
    assert_eq!(ends[1]["error"], "there is no tool `air__book_flight`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_fails_its_calls_and_is_started_again_for_the_next() {
    let server = Server::new(flights(2_000)).unwrap();
    for _ in 0..2 {
        let stage = Stage::new("go").await;
        let running = stage.run(caller(&server, &[oslo()]), "t");
        let kill = async {
            stage.until(|event| event["kind"] == "tool-start").await;
            stage.until(|event| event["kind"] == "tool-progress").await;
            let id = server.process().await.unwrap();
            let killed = std::process::Command::new("kill").args(["-9", &id.to_string()]).status();
            assert!(killed.unwrap().success());
        };
        let (left, ()) = tokio::join!(running, kill);
        assert_eq!(left, Left::Over);
        let end = ends(&stage).remove(0);
        assert_eq!(end["outcome"], "failed");
        assert_eq!(end["error"], "the server `air` stopped before it answered");
        assert_eq!(stage.told().last().unwrap(), "task-complete done");
    }
    let stage = Stage::new("go").await;
    let book = ("air__book_flight", json!({"flight": "NL1", "passenger": "Ada"}));
    assert_eq!(stage.run(caller(&server, &[book]), "t").await, Left::Over);
    assert_eq!(ends(&stage)[0]["result"]["booking"], "NL1-3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_start_costs_its_tools_and_no_more() {
    let mut dies = flights(1);
    if let Transport::Process { env, .. } = &mut dies.transport {
        env.push(("SECRET".to_owned(), "die".to_owned()));
    }
    let transport = Transport::Process {
        command: "/no/such/program".into(),
        args: Vec::new(),
        env: Vec::new(),
        folder: None,
    };
    let away = Transport::Http { url: "http://127.0.0.1:9/mcp".to_owned(), headers: Vec::new() };
    for options in [dies, Options::new("air", transport), Options::new("air", away)] {
        let stage = Stage::new("go").await;
        let server = Server::new(options).unwrap();
        assert_eq!(stage.run(caller(&server, &[oslo()]), "t").await, Left::Over);
        let end = ends(&stage).remove(0);
        let error = end["error"].as_str().unwrap();
        assert!(error.starts_with("the server `air` "), "{error}");
        assert_eq!(stage.told().last().unwrap(), "task-complete done");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_too_long_is_given_up() {
    let stage = Stage::new("go").await;
    let mut options = flights(60_000);
    options.timeout = Duration::from_secs(3);
    let server = Server::new(options).unwrap();
    assert_eq!(stage.run(caller(&server, &[oslo()]), "t").await, Left::Over);
    assert_eq!(ends(&stage)[0]["error"], "it took longer than 3 s");
}

#[test]
fn names_that_could_be_taken_for_others_are_refused() {
    for name in ["", "a b", "a__b", "_a", "a_", "é", &"x".repeat(33)] {
        let mut options = flights(1);
        options.name = name.to_owned();
        assert!(Server::new(options).is_err(), "{name}");
    }
}
