//! Agents elsewhere that others wrote: a2a-sdk for A2A 1.0 and 0.3, AgentScope's runtime, and a
//! Pydantic AI agent behind `to_a2a`. `cargo xtask test --only remote` starts them.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Server, http};

/// A server of ours whose agents are the peers.
struct House {
    folder: TempDir,
    server: Server,
    client: reqwest::Client,
}

/// The peers: what we call each, its kind, and where the variable of its URL leads.
const PEERS: [(&str, &str, &str, &str); 4] = [
    ("new", "a2a", "SELVEDGE_PEER_A2A_1_0", ""),
    ("old", "a2a", "SELVEDGE_PEER_A2A_0_3", ""),
    ("scope", "agent-api", "SELVEDGE_PEER_AGENT_API", "/process"),
    ("pydantic", "a2a", "SELVEDGE_PEER_PYDANTIC_AI", ""),
];

fn start(folder: &Path) -> Server {
    let (db, config) = (folder.join("s.db"), folder.join("selvedge.toml"));
    let (db, config) = (db.to_str().unwrap(), config.to_str().unwrap());
    Server::start_with(&["--config", config, "--listen", "127.0.0.1:0", "--db", db])
}

impl House {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = String::new();
        for (name, kind, variable, path) in PEERS {
            let url = std::env::var(variable).unwrap();
            config.push_str(&format!(
                "[agents.{name}]\nkind = \"{kind}\"\nurl = \"{url}{path}\"\nallow_private = true\n\n"
            ));
        }
        config.push_str(
            "[agents.boss]\nkind = \"script\"\ntools = [\"agents/new\"]\n\n\
             [[agents.boss.script.rules]]\n\
             [[agents.boss.script.rules.lines]]\n\
             calls = [{ tool = \"new\", arguments = { prompt = \"please\" } }]\n\
             [[agents.boss.script.rules.lines]]\nsay = \"done\"\n",
        );
        std::fs::write(folder.path().join("selvedge.toml"), config).unwrap();
        let server = start(folder.path());
        Self { folder, server, client: http() }
    }

    /// `kill -9`, and another on the same journal.
    fn restart(self) -> Self {
        let Self { folder, server, client } = self;
        server.kill();
        let server = start(folder.path());
        Self { folder, server, client }
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(format!("{}{path}", self.server.url)).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let url = format!("{}{path}", self.server.url);
        let answer = self.client.post(url).body(body.to_string()).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    async fn events(&self, thread: &str) -> Vec<Value> {
        let page = self.get(&format!("/api/threads/{thread}/events?limit=10000")).await;
        let entries = page["entries"].as_array().unwrap();
        entries.iter().map(|entry| entry["event"].clone()).collect()
    }

    /// Says something to an agent in a thread; gives the task.
    async fn say(&self, thread: &str, to: &str, said: &str) -> String {
        self.post("/api/threads", json!({ "id": thread })).await;
        let body = json!({ "content": said, "to": to });
        let sent = self.post(&format!("/api/threads/{thread}/messages"), body).await;
        sent["tasks"][0]["taskId"].as_str().unwrap_or_else(|| panic!("{sent:#}")).to_owned()
    }

    /// Waits for an event.
    async fn until(&self, thread: &str, is: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..600 {
            if let Some(found) = self.events(thread).await.into_iter().find(&is) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{:#?}", self.events(thread).await);
    }

    /// Waits for the one end of a task.
    async fn end(&self, thread: &str, task: &str) -> Value {
        let is_end = |event: &Value| {
            let status = event["status"].as_str().unwrap_or_default();
            let ends = event["kind"] == "task-complete" || ["failed", "canceled"].contains(&status);
            event["taskId"] == task && ends
        };
        let end = self.until(thread, is_end).await;
        let all = self.events(thread).await;
        assert_eq!(all.iter().filter(|event| is_end(event)).count(), 1, "{all:#?}");
        end
    }
}

fn of(events: &[Value], kind: &str) -> Vec<Value> {
    events.iter().filter(|event| event["kind"] == kind).cloned().collect()
}

#[tokio::test]
#[ignore = "needs the peers: cargo xtask test --only remote"]
async fn every_peer_answers_and_the_second_turn_goes_on_in_the_same_conversation() {
    let house = House::open();
    for (name, ..) in PEERS {
        let thread = &format!("{name}-talks");
        for (said, nth) in [("hello", 1), ("again", 2)] {
            let task = house.say(thread, name, said).await;
            let end = house.end(thread, &task).await;
            let expected = format!("You said {said}. Message {nth}.");
            assert_eq!(
                end["content"],
                json!(expected),
                "{name}: {:#?}",
                house.events(thread).await
            );
        }
        let events = house.events(thread).await;
        assert_eq!(of(&events, "step-started").len(), 2, "{name}");
        assert!(of(&events, "attempt-superseded").is_empty(), "{name}: {events:#?}");
        let agents: Vec<&Value> = events.iter().map(|event| &event["agentId"]).collect();
        assert!(agents.iter().all(|agent| agent.is_null() || **agent == json!(name)), "{name}");
    }
    let thoughts = of(&house.events("scope-talks").await, "thought-stream");
    assert!(!thoughts.is_empty(), "AgentScope's thoughts are told");
    assert!(of(&house.events("new-talks").await, "content-delta").len() >= 4, "it is streamed");
}

#[tokio::test]
#[ignore = "needs the peers: cargo xtask test --only remote"]
async fn what_an_a2a_agent_asks_is_answered_in_its_task_also_after_a_kill() {
    let mut house = House::open();
    for name in ["new", "old"] {
        let thread = &format!("{name}-asks");
        let task = house.say(thread, name, "ask me").await;
        let asked = house.until(thread, |event| event["kind"] == "input-required").await;
        assert_eq!(asked["prompt"], "Which city?");
        house = house.restart();
        let input = asked["inputId"].as_str().unwrap().replace('/', "%2F");
        let path = format!("/api/threads/{thread}/inputs/{input}");
        house.post(&path, json!({ "value": "Tokyo" })).await;
        let end = house.end(thread, &task).await;
        assert_eq!(end["content"], "Rain in Tokyo.", "{:#?}", house.events(thread).await);
        let said = of(&house.events(thread).await, "message");
        assert_eq!(said.len(), 1, "only the user's: {said:#?}");
    }
}

#[tokio::test]
#[ignore = "needs the peers: cargo xtask test --only remote"]
async fn artifacts_of_an_a2a_agent_are_artifacts_of_the_thread() {
    let house = House::open();
    for name in ["new", "old"] {
        let thread = &format!("{name}-writes");
        let task = house.say(thread, name, "files").await;
        let end = house.end(thread, &task).await;
        assert_eq!(end["artifacts"].as_array().unwrap().len(), 2, "{end:#}");
        assert_eq!(end["content"], "Two files.");
        let state = house.get(&format!("/api/threads/{thread}")).await;
        let kinds: Vec<&Value> =
            state["artifacts"].as_array().unwrap().iter().map(|a| &a["kind"]).collect();
        assert_eq!(kinds, [&json!("data"), &json!("file")]);
    }
}

#[tokio::test]
#[ignore = "needs the peers: cargo xtask test --only remote"]
async fn a_cancel_reaches_the_agent_and_the_task_ends_once() {
    let house = House::open();
    for name in ["new", "old", "scope"] {
        let thread = &format!("{name}-stops");
        let task = house.say(thread, name, "slow").await;
        house.until(thread, |event| event["kind"] == "content-delta").await;
        let path = format!("/api/threads/{thread}/tasks/{}/cancel", task.replace('/', "%2F"));
        house.post(&path, json!({})).await;
        let end = house.end(thread, &task).await;
        assert_eq!(end["status"], "canceled", "{end}");
    }
    // And the agents know.
    for name in ["new", "old"] {
        let thread = &format!("{name}-knows");
        let mut told = String::new();
        for _ in 0..50 {
            let task = house.say(thread, name, "how many were stopped?").await;
            told = house.end(thread, &task).await["content"].as_str().unwrap().to_owned();
            if told != "Stopped 0." {
                break;
            }
        }
        assert_eq!(told, "Stopped 1.", "{name}");
    }
}

#[tokio::test]
#[ignore = "needs the peers: cargo xtask test --only remote"]
async fn after_a_kill_amid_an_answer_it_is_told_once_and_whole() {
    let mut house = House::open();
    let whole: String = (0..60).map(|i| format!("{i} ")).collect();
    for name in ["new", "old", "scope"] {
        let thread = &format!("{name}-goes-on");
        let task = house.say(thread, name, "slow").await;
        house.until(thread, |event| event["kind"] == "content-delta").await;
        house = house.restart();
        let end = house.end(thread, &task).await;
        let content = end["content"].as_str().unwrap_or_else(|| panic!("{name}: {end}"));
        assert_eq!(content.trim(), whole.trim(), "{name}");
        let events = house.events(thread).await;
        assert_eq!(of(&events, "attempt-superseded").len(), 1, "{name}");
        let state = house.get(&format!("/api/threads/{thread}")).await;
        let shown = state["messages"].as_array().unwrap().iter();
        let shown: Vec<&str> = shown.filter_map(|message| message["text"].as_str()).collect();
        let told = shown.iter().filter(|text| text.contains("0 1 2")).count();
        assert_eq!(told, 1, "{name}: {state:#}");
    }
}

#[tokio::test]
#[ignore = "needs the peers: cargo xtask test --only remote"]
async fn an_agent_elsewhere_can_be_called_by_one_of_ours() {
    let house = House::open();
    let task = house.say("calls", "boss", "go").await;
    let end = house.end("calls", &task).await;
    assert_eq!(end["content"], "done");
    let events = house.events("calls").await;
    let result = &of(&events, "tool-complete")[0];
    assert_eq!(result["result"], "You said please. Message 1.", "it hears the prompt and no more");
    assert_eq!(of(&events, "subtask-created").len(), 1);
}
