//! The demonstration: agents that talk through envelopes, at work in a real server, with a real tool.

use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{Server, http};

#[tokio::test]
async fn agents_plan_a_trip_through_envelopes_ask_once_and_answer_the_visitor() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("s.db");
    let server =
        Server::start_with(&["--demo", "--listen", "127.0.0.1:0", "--db", db.to_str().unwrap()]);
    let client = http();
    let get = async |path: &str| -> Value {
        let answer = client.get(format!("{}{path}", server.url)).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    };
    let post = async |path: &str, body: Value| -> Value {
        let request = client.post(format!("{}{path}", server.url)).body(body.to_string());
        serde_json::from_str(&request.send().await.unwrap().text().await.unwrap()).unwrap()
    };
    let wait = async |path: &str, is: &dyn Fn(&Value) -> bool| {
        for _ in 0..1200 {
            let answer = get(path).await;
            if is(&answer) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{path}: {:#}", get(path).await);
    };
    let inbox = wait("/api/inbox", &|inbox| inbox["items"][0]["id"].is_string()).await;
    let question = inbox["items"][0]["id"].as_str().unwrap().replace('/', "%2F");
    let answer =
        post(&format!("/api/threads/demo/inputs/{question}"), json!({"value": true})).await;
    assert_eq!(answer["duplicate"], false, "{answer}");
    let done = |state: &Value| {
        let tasks = state["tasks"].as_array().unwrap();
        tasks.len() == 6 && tasks.iter().all(|task| task["status"] == "completed")
    };
    let state = wait("/api/threads/demo", &done).await;
    let artifacts: Vec<&str> = state["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["kind"].as_str().unwrap())
        .collect();
    assert_eq!(artifacts.len(), 3);
    assert!(["file", "data", "dataset"].iter().all(|kind| artifacts.contains(kind)));
    let results = state["messages"].as_array().unwrap().iter();
    let booked =
        results.filter(|m| m["toolName"] == "booking__book_flight" && m["success"] == true);
    assert_eq!(booked.count(), 1, "{state:#}");

    let path = "/api/threads/demo/events?limit=5000&kinds=route-decided,message";
    let events = get(path).await;
    let events: Vec<&Value> =
        events["entries"].as_array().unwrap().iter().map(|entry| &entry["event"]).collect();
    let taken = events.iter().filter(|e| e["kind"] == "route-decided" && e["to"].is_string());
    let taken: Vec<String> =
        taken.map(|e| format!("{} {}", e["intent"], e["to"]).replace('"', "")).collect();
    let expected = [
        "plan planner",
        "decompose decomposer",
        // The one that is not sure.
        "reflect planner",
        "execute executor",
        "summarize decomposer",
    ];
    assert_eq!(taken, expected);
    let answers = events.iter().filter(|e| e["answers"].is_string());
    let unsure = answers.filter(|e| e["confidence"]["score"].as_f64().unwrap() < 0.5);
    assert_eq!(unsure.count(), 1);

    let replay = |args: &[&str]| {
        let mut all = vec!["replay", "demo", "--url", &server.url];
        all.extend(args);
        let ran =
            std::process::Command::new(env!("CARGO_BIN_EXE_selvedge")).args(all).output().unwrap();
        (ran.status.code().unwrap(), String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    let (code, shown) = replay(&[]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("decomposer answers decompose 0.35 → planner reflect"), "{shown}");
    assert!(shown.contains("below 0.5: another model looks again"), "{shown}");
    // The document's rules know none of these agents.
    let (code, other) = replay(&["--run"]);
    assert!(code == 1 && other.contains("plan → gpt5"), "{code} {other}");
    let file = folder.path().join("rules.toml");
    let demo = include_str!("../../src/serve/demo.toml").replace("{selvedge}", "selvedge");
    std::fs::write(&file, &demo).unwrap();
    let (code, same) = replay(&["--run", "--config", file.to_str().unwrap()]);
    assert_eq!(code, 0, "{same}");
    std::fs::write(&file, demo.replace("threshold = 0.5", "threshold = 0.3")).unwrap();
    let (code, differs) = replay(&["--run", "--config", file.to_str().unwrap()]);
    assert!(code == 1 && differs.contains("1 of them otherwise"), "{differs}");

    let sent = post("/api/threads/demo/messages", json!({"content": "good morning"})).await;
    assert_eq!(sent["tasks"].as_array().unwrap().len(), 1, "only the planner joined: {sent}");
    let answered = |state: &Value| {
        let said = state["messages"].as_array().unwrap().iter();
        said.filter_map(|m| m["text"].as_str()).any(|text| text.contains("You said: good morning"))
    };
    wait("/api/threads/demo", &answered).await;
}

#[test]
fn a_server_with_a_broken_configuration_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("selvedge.toml");
    std::fs::write(&file, "[agents.ada]\nmodel = \"none\"\n").unwrap();
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && told.contains("none") && told.contains(":2:"), "{told}");
    assert!(!folder.path().join("selvedge.db").exists(), "nothing is made");
}
