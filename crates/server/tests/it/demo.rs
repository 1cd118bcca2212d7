//! The demonstration: agents that a server gets when someone wants to see them.

use std::sync::Arc;
use std::time::Duration;

use selvedge_agents::router::Rules;
use selvedge_agents::script::Script;
use selvedge_agents::{Agent, Desk};
use selvedge_server::{Demo, Options};
use serde_json::json;

use crate::site::Site;

/// A demonstration of one agent that says one thing.
pub(crate) const DEMO: Demo = Demo {
    agents: || {
        let mut rules = Rules::none();
        rules.agents.insert("plan".to_owned(), "ada".to_owned());
        let ada = Agent::new("ada", Arc::new(Script::saying("A plan.")));
        Ok(Desk::routed([ada], rules))
    },
    agent: "ada",
    thread: "demo",
    title: "A plan",
    prompt: "Plan something.",
};

#[tokio::test]
async fn a_server_without_agents_gets_them_when_the_demonstration_begins() {
    let options = Options { demo: Some(DEMO), ..Options::default() };
    let site = Site::start_with(options, &[]).await.0;
    let said = json!({"content": "hello"}).to_string();
    site.thread("own").await;
    let (status, _) = site.post("/api/threads/own/messages", said.clone()).await;
    assert!(status.is_client_error(), "nobody is here yet");
    assert_eq!(site.get("/api/agents").await.1, json!({"agents": [], "demo": true}));

    let (status, begun) = site.post("/api/demo", "").await;
    assert_eq!((status.as_u16(), begun), (200, json!({"thread": "demo", "begun": true})));
    let mut state = site.get("/api/threads/demo").await.1;
    while state["tasks"][0]["status"] != "completed" {
        tokio::time::sleep(Duration::from_millis(10)).await;
        state = site.get("/api/threads/demo").await.1;
    }
    assert_eq!(state["title"], "A plan");
    assert_eq!(site.post("/api/demo", "").await.1, json!({"thread": "demo", "begun": false}));
    // Whoever names nobody is answered by the one who answers there.
    assert!(site.post("/api/threads/own/messages", said).await.0.is_success());
}

#[tokio::test]
async fn a_server_with_agents_of_its_own_has_no_demonstration() {
    let site = Site::start().await;
    let (status, refused) = site.post("/api/demo", "").await;
    assert_eq!((status.as_u16(), &refused["error"]["code"]), (409, &json!("conflict")));
    assert_eq!(site.get("/api/agents").await.1["demo"], false);
}
