//! One conversation, driven by five clients at once: `openai`, `a2a-sdk`, the AI SDK, AgentScope's
//! runtime and an `EventSource`. Afterwards every client's own view tells the same story.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::House;
use crate::server::http;

const THREAD: &str = "crossing";
/// Dialects that carry a whole journal.
const CARRIERS: [&str; 2] = ["journal", "thread-protocol"];
/// Dialects of clients, and what of a conversation comes back from them.
const DIALECTS: [(&str, &[&str]); 7] = [
    ("looopy", &["messages", "tools", "artifacts", "stops"]),
    ("ai-sdk-messages", &["messages", "tools"]),
    ("openai-threads", &["messages", "stops"]),
    ("a2a", &["artifacts", "stops"]),
    ("agent-api", &["tools"]),
    ("ag-ui", &["tools", "stops"]),
    ("ai-sdk-stream", &["tools"]),
];

/// A list of a story in no order: clients speak at the same time.
fn sorted(story: &Value, name: &str) -> Vec<String> {
    let all = story[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    let mut all: Vec<String> = all.map(|text| text.trim().to_owned()).collect();
    all.retain(|text| !text.is_empty());
    all.sort();
    all
}

/// What a client was told, as far as its protocol tells it.
fn story(told: &[String]) -> BTreeMap<String, Value> {
    let story: Value = serde_json::from_str(told.last().unwrap()).unwrap();
    let own = |(name, value): (&String, &Value)| match value.is_array() {
        true => (name.clone(), json!(sorted(&story, name))),
        false => (name.clone(), value.clone()),
    };
    story.as_object().unwrap().iter().map(own).collect()
}

/// The events of a journal, as they are in every thread.
fn events(journal: &str) -> Vec<Value> {
    let event = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        entry["event"].as_object_mut().unwrap().remove("contextId");
        entry["event"].take()
    };
    journal.lines().filter(|line| !line.is_empty()).map(event).collect()
}

/// The tools, the artifacts and the turns that were stopped, in the events of a journal.
fn deeds(events: &[Value]) -> [(&'static str, Vec<String>); 3] {
    let of = |kinds: &[&str], field: &str| -> Vec<String> {
        let all = events.iter().filter(|event| kinds.contains(&event["kind"].as_str().unwrap()));
        let mut all: Vec<String> =
            all.filter_map(|event| event[field].as_str().map(str::to_owned)).collect();
        all.sort();
        all
    };
    let mut artifacts = of(&["file-write", "data-write", "dataset-write"], "name");
    artifacts.dedup();
    let mut stops = of(&["task-status"], "status");
    stops.retain(|status| status == "canceled");
    stops.dedup();
    let tools = of(&["tool-call"], "toolName");
    [("tools", tools), ("artifacts", artifacts), ("stops", stops)]
}

#[test]
#[ignore = "needs five real clients: cargo xtask test --only surfaces"]
fn five_clients_at_once_drive_one_conversation_and_are_told_the_same_story() {
    let house = House::open();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let post = |path: &str, body: String| {
        let request = http().post(format!("{}{path}", house.server.url)).body(body);
        runtime.block_on(async { request.send().await.unwrap().text().await.unwrap() })
    };
    let get = |path: &str| {
        let request = http().get(format!("{}{path}", house.server.url));
        runtime.block_on(async { request.send().await.unwrap().text().await.unwrap() })
    };
    post("/api/threads", format!("{{\"id\":\"{THREAD}\"}}"));
    let seen = std::thread::scope(|scope| {
        let seen = scope.spawn(|| house.node_with("crossing.mjs", &["drive", THREAD]));
        let one =
            scope.spawn(|| house.python_with("openai", "crossing_openai.py", &["drive", THREAD]));
        let two =
            scope.spawn(|| house.python_with("a2a-1.0", "crossing_a2a.py", &["drive", THREAD]));
        one.join().unwrap();
        two.join().unwrap();
        seen.join().unwrap()
    });
    let seen = story(&seen);
    assert_eq!(
        seen["user"],
        json!(["book it", "go on", "hello from AgentScope", "search for flights", "write it"])
    );
    let agents = seen["assistant"].as_array().unwrap();
    assert!(agents.contains(&json!("What you decided is done.")), "{agents:#?}");
    let tools = [
        "artifact_create",
        "artifact_create",
        "artifact_create",
        "booking__book_flight",
        "flights__search_flights",
    ];
    assert_eq!(seen["tools"], json!(tools));
    assert_eq!(seen["artifacts"], json!(["choice", "note.md", "prices"]));
    assert_eq!((&seen["approved"], &seen["canceled"]), (&json!(1), &json!(1)));
    let view = ["view", THREAD];
    for (told, tells) in [
        (house.node_with("crossing.mjs", &["again", THREAD]), 6),
        (house.node_with("crossing.mjs", &view), 4),
        (house.python_with("openai", "crossing_openai.py", &view), 4),
        (house.python_with("a2a-1.0", "crossing_a2a.py", &view), 4),
    ] {
        let told = story(&told);
        assert_eq!(told.len(), tells, "{told:#?}");
        for (name, value) in told {
            assert_eq!(Some(&value), seen.get(&name), "{name}");
        }
    }

    // Each view's export comes back as the same conversation.
    let said = |thread: &str| {
        let state: Value = serde_json::from_str(&get(&format!("/api/threads/{thread}"))).unwrap();
        let all = state["messages"].as_array().unwrap().iter();
        let all = all.filter(|one| {
            matches!(one["type"].as_str(), Some("user-message" | "assistant-message"))
        });
        let text =
            |one: &Value| one["text"].as_str().or(one["content"].as_str()).map(str::to_owned);
        let mut all: Vec<String> =
            all.filter_map(text).map(|text| text.trim().to_owned()).collect();
        all.retain(|text| !text.is_empty());
        // The journal also has the word that the agent had on its tongue when it was stopped.
        all.iter_mut().filter(|text| text.starts_with("w1")).for_each(|text| text.truncate(2));
        all.sort();
        all
    };
    let whole = said(THREAD);
    let journal = |thread: &str| get(&format!("/api/threads/{thread}/export?dialect=journal"));
    let all = events(&journal(THREAD));
    for dialect in CARRIERS.into_iter().chain(DIALECTS.map(|(dialect, _)| dialect)) {
        let export = get(&format!("/api/threads/{THREAD}/export?dialect={dialect}"));
        let back = format!("back-{dialect}");
        let made = post(&format!("/api/import?dialect={dialect}&thread={back}"), export.clone());
        assert!(made.contains(&back), "{dialect}: {made}");
        let came = events(&journal(&back));
        let Some((_, tells)) = DIALECTS.iter().find(|(own, _)| *own == dialect) else {
            // When each entry was recorded is another time for what came back.
            assert_eq!(came, all, "{dialect}: the same journal");
            continue;
        };
        let again = get(&format!("/api/threads/{back}/export?dialect={dialect}"));
        assert_eq!(again, export, "{dialect}: the same bytes");
        if tells.contains(&"messages") {
            assert_eq!(said(&back), whole, "{dialect}");
        }
        for (came, own) in deeds(&came).into_iter().zip(deeds(&all)) {
            assert!(came == own || !tells.contains(&own.0), "{dialect}: {came:?} for {own:?}");
        }
    }
}
