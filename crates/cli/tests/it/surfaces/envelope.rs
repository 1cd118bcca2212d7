//! Envelopes through curl, and through a mux of our own as a peer agent.

use std::process::Command;

use serde_json::{Value, json};

use super::{House, peers};

fn envelope(id: &str, text: &str) -> Value {
    json!({"protocol": "multiagent-1.0", "role": "user", "timestamp": "2026-01-31T12:00:00Z",
           "intent": "plan", "task": text, "content": {"type": "text", "text": text},
           "trace": {"id": id}})
}

/// What curl gets: the status, and the body.
fn curl(house: &House, path: &str, more: &[&str]) -> (String, String) {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", "60", "--write-out", "\n%{http_code}"]);
    let ran = curl.args(more).arg(format!("{}{path}", house.server.url)).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let out = String::from_utf8(ran.stdout).unwrap();
    let (body, status) = out.rsplit_once('\n').unwrap();
    (status.to_owned(), body.to_owned())
}

fn texts(answers: &str) -> Vec<Value> {
    let answers: Value = serde_json::from_str(answers).unwrap_or_else(|e| panic!("{e}: {answers}"));
    let list = answers.as_array().cloned().unwrap_or_else(|| vec![answers]);
    list.iter().map(|one| one["content"]["text"].clone()).collect()
}

#[test]
#[ignore = "runs with the other surfaces: cargo xtask test --only surfaces"]
fn curl_sends_one_many_and_lines_and_reads_answers_streams_and_the_log() {
    let house = House::open();
    let said = json!("First look, then tell.");
    let one = envelope("e1", "one").to_string();
    let (status, answer) = curl(&house, "/envelopes?thread=e&wait=30s", &["--data", &one]);
    assert_eq!((status.as_str(), texts(&answer)), ("200", vec![said.clone()]));
    let (status, routed) = curl(&house, "/envelopes?thread=e", &["--data", &one]);
    assert_eq!(status, "202", "sent again it is the same: {routed}");
    let two = json!([envelope("e2", "two"), envelope("e3", "three")]).to_string();
    let (status, answers) = curl(&house, "/envelopes?thread=e&wait=30s", &["--data", &two]);
    assert_eq!((status.as_str(), texts(&answers)), ("200", vec![said.clone(); 2]));
    let lines = format!("{}\n{}\n", envelope("e4", "four"), envelope("e5", "five"));
    let accept = ["--header", "Accept: application/x-ndjson", "--data-binary", &lines];
    let (status, answers) = curl(&house, "/envelopes?thread=e&wait=30s", &accept);
    let told: Vec<Value> = answers.lines().flat_map(texts).collect();
    assert_eq!((status.as_str(), told), ("200", vec![said.clone(); 2]), "{answers}");
    let six = envelope("e6", "six").to_string();
    let accept = ["--no-buffer", "--header", "Accept: text/event-stream", "--data", &six];
    let (status, stream) = curl(&house, "/envelopes?thread=e", &accept);
    let data: Vec<&str> = stream.lines().filter_map(|l| l.strip_prefix("data: ")).collect();
    assert_eq!(status, "200");
    assert!(data.iter().any(|data| data.contains("First look, then tell.")), "{stream}");
    let (status, hello) = curl(&house, "/envelopes/handshake", &[]);
    assert_eq!(status, "200");
    assert!(hello.contains("multiagent-1.0") && hello.contains("planner"), "{hello}");
    let (status, log) = curl(&house, "/envelopes?thread=e", &[]);
    assert_eq!((status.as_str(), log.lines().next()), ("200", Some(one.as_str())));
    assert_eq!(log.lines().filter(|line| !line.is_empty()).count(), 12, "{log}");
    // What is no envelope is refused in one, and changes nothing.
    let (status, refused) =
        curl(&house, "/envelopes?thread=n", &["--data", r#"{"intent":"plan"}"#]);
    let refused: Value = serde_json::from_str(&refused).unwrap();
    assert_eq!((status.as_str(), &refused["content"]["type"]), ("422", &json!("error")));
    assert_eq!(curl(&house, "/api/threads/n", &[]).0, "404");
}

#[test]
#[ignore = "needs a node that runs TypeScript: cargo xtask test --only surfaces"]
fn a_mux_in_typescript_takes_next_actions_and_answers_them() {
    let house = House::open();
    let mux = |thread: &str| {
        let mut node = Command::new(peers().join("js/node_modules/.bin/node"));
        node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mux.ts"));
        let ran = node.args([&house.server.url, thread, "Plan a trip"]).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    let told = mux("m");
    assert_eq!(
        told.lines().collect::<Vec<_>>(),
        [
            "plan: Plan a trip",
            "planner: First look, then tell.",
            "execute: Look for flights: done with {\"to\":\"Lisbon\"}",
            "summarize: In short: Tell what was found",
        ]
    );
    // What it has no rule for is left to others.
    let open: Value = serde_json::from_str(&curl(&house, "/api/threads/m/actions", &[]).1).unwrap();
    let open: Vec<&Value> = open["actions"].as_array().unwrap().iter().collect();
    assert_eq!((open.len(), &open[0]["intent"]), (1, &json!("retrieve")));
    // Its answers are in every view of the thread.
    let state: Value = serde_json::from_str(&curl(&house, "/api/threads/m", &[]).1).unwrap();
    let said: Vec<&Value> = state["messages"].as_array().unwrap().iter().collect();
    assert!(said.iter().any(|one| one["text"] == "In short: Tell what was found"), "{state}");
}

#[test]
#[ignore = "needs a node: cargo xtask test --only surfaces"]
fn envelopes_and_the_log_come_whole_through_cuts() {
    House::open().node("client_envelope.mjs");
}
