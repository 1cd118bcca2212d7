//! One conversation, driven by five clients at once: `openai`, `a2a-sdk`, the AI SDK, AgentScope's
//! runtime and an `EventSource`. Afterwards every client's own view tells the same story.

use serde_json::Value;

use super::House;
use crate::server::http;

const THREAD: &str = "crossing";
/// Dialects that tell a whole conversation.
const DIALECTS: [&str; 4] = ["looopy", "thread-protocol", "ai-sdk-messages", "openai-threads"];

/// What users said, and what agents said, in any order: they speak at the same time.
fn story(told: &[String]) -> (Vec<String>, Vec<String>) {
    let story: Value = serde_json::from_str(told.last().unwrap()).unwrap();
    let sorted = |name: &str| {
        let all = story[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        let mut all: Vec<String> = all.map(|text| text.trim().to_owned()).collect();
        all.retain(|text| !text.is_empty());
        all.sort();
        all
    };
    (sorted("user"), sorted("assistant"))
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
    let (users, agents) = story(&seen);
    assert_eq!(
        users,
        ["book it", "go on", "hello from AgentScope", "search for flights", "write it"]
    );
    assert!(agents.contains(&"What you decided is done.".to_owned()), "{agents:#?}");
    let view = ["view", THREAD];
    for told in [
        house.node_with("crossing.mjs", &view),
        house.python_with("openai", "crossing_openai.py", &view),
        house.python_with("a2a-1.0", "crossing_a2a.py", &view),
    ] {
        assert_eq!(story(&told), (users.clone(), agents.clone()));
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
    for dialect in DIALECTS {
        let export = get(&format!("/api/threads/{THREAD}/export?dialect={dialect}"));
        let back = format!("back-{dialect}");
        let made = post(&format!("/api/import?dialect={dialect}&thread={back}"), export.clone());
        assert!(made.contains(&back), "{dialect}: {made}");
        assert_eq!(said(&back), whole, "{dialect}");
        // It carries when each entry was recorded, and that is another time for what came back.
        if dialect == "thread-protocol" {
            continue;
        }
        let again = get(&format!("/api/threads/{back}/export?dialect={dialect}"));
        assert_eq!(again, export, "{dialect}: the same bytes");
    }
}
