//! Looopy's runtime: one turn as one answer.

use reqwest::{Method, StatusCode};
use selvedge_agents::Desk;
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Frames, Site, answer, asking_where, key};

const SESSION: &str = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id";

fn options() -> Options {
    Options { agents: Some(Desk::new([asking_where()])), ..Options::default() }
}

/// The events of an answer, up to its end.
async fn events(site: &Site, session: &str, body: Value) -> Vec<Value> {
    let request = site.request(Method::POST, "/invocations").header(SESSION, session);
    let mut frames = Frames::open(request.body(body.to_string())).await;
    let mut all = Vec::new();
    while let Some(frame) = frames.maybe().await {
        if frame.field("id").is_some() && frame.field("data").is_some() {
            all.push(frame.data());
        }
    }
    all
}

#[tokio::test]
async fn a_prompt_is_answered_until_someone_must_help_and_answers_go_on() {
    let site = Site::start_with(options(), &[]).await.0;
    assert_eq!(site.get("/ping").await.1["status"], "Healthy");
    let first = events(&site, "c1", json!({"prompt": "where am I?"})).await;
    let kinds: Vec<&str> = first.iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"task-created"), "{kinds:?}");
    let last = first.last().unwrap();
    assert_eq!((&last["kind"], &last["status"]), (&json!("task-status"), &json!("waiting-input")));
    let input = first.iter().find(|e| e["kind"] == "input-required").unwrap();
    let resumed = json!({"inputs": [{"inputId": input["inputId"], "value": "Oslo"}]});
    let rest = events(&site, "c1", resumed.clone()).await;
    assert_eq!(rest.first().unwrap()["kind"], "input-received");
    let last = rest.last().unwrap();
    assert_eq!(
        (&last["kind"], &last["content"]),
        (&json!("task-complete"), &json!("There you are."))
    );
    // The same answers again are too late, and say which.
    let request = site.request(Method::POST, "/invocations").header(SESSION, "c1");
    let (status, late) = answer(request.body(resumed.to_string()).send().await.unwrap()).await;
    let error = &late["error"];
    assert_eq!((status.as_u16(), error["code"].as_str()), (409, Some("already_answered")));
    assert_eq!(error["pointer"], "/inputs/0");
    let request = site.request(Method::GET, "/invocations").header(SESSION, "c1");
    let (_, state) = answer(request.send().await.unwrap()).await;
    assert_eq!(state["tasks"][0]["status"], "completed");
    assert_eq!(state, site.get("/api/threads/c1").await.1);
}

#[tokio::test]
async fn what_cannot_be_invoked_is_refused_and_another_tenants_context_is_not_seen() {
    let keys = [key("acme", &["read", "write"]), key("other", &["read", "write"])];
    let (site, keys) = Site::start_with(options(), &keys).await;
    let ask = async |key: &str, session: Option<&str>, body: &str| {
        let mut request = site.request(Method::POST, "/invocations").bearer_auth(key);
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        let (status, answer) = answer(request.body(body.to_owned()).send().await.unwrap()).await;
        (status.as_u16(), answer["error"]["pointer"].as_str().unwrap_or("").to_owned())
    };
    for (session, body, refused) in [
        (None, r#"{"prompt":"x"}"#, (400, "")),
        (Some("c"), "{}", (400, "/prompt")),
        (Some("c"), r#"{"prompt":""}"#, (400, "/prompt")),
        (Some("c"), r#"{"type":"sing","prompt":"x"}"#, (400, "/type")),
        (Some("c"), r#"{"type":"resume"}"#, (400, "/inputs")),
        (Some("c"), r#"{"inputs":[{"inputId":"i","value":1}]}"#, (404, "/inputs/0")),
        (
            Some("c"),
            r#"{"credentials":[{"authId":"a","credential":"e"}]}"#,
            (404, "/credentials/0"),
        ),
        (Some("c"), r#"{"type":"resume","credentials":[]}"#, (400, "/inputs")),
    ] {
        let refused = (refused.0, refused.1.to_owned());
        assert_eq!(ask(&keys[0], session, body).await, refused, "{body}");
    }
    assert_eq!(site.ask(Method::GET, "/api/threads/c", &keys[0]).await.0, StatusCode::NOT_FOUND);
    let made = site.request(Method::POST, "/api/threads").bearer_auth(&keys[0]);
    assert_eq!(made.body(r#"{"id":"c"}"#).send().await.unwrap().status(), StatusCode::CREATED);
    let request = site.request(Method::GET, "/invocations").bearer_auth(&keys[1]);
    let (status, _) = answer(request.header(SESSION, "c").send().await.unwrap()).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let inputs = r#"{"inputs":[{"inputId":"i","value":1}]}"#;
    assert_eq!(ask(&keys[1], Some("c"), inputs).await.0, 404);
}
