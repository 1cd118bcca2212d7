//! The Model Context Protocol, through `rmcp`'s client: who may do what, and what others see.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use rmcp::ClientLifecycleMode;
use rmcp::model::{
    CallToolRequestParams, ProtocolVersion, ReadResourceRequestParams, ResourceContents,
    ServerNotification, SubscriptionFilter,
};
use rmcp::service::{ClientServiceExt as _, RoleClient, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use selvedge_agents::script::Script;
use selvedge_agents::{Agent, Desk};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::cut::proxy::proxy;
use crate::site::{Site, answer, http, key};

fn options() -> Options {
    let ada = Agent::new("ada", Arc::new(Script::saying("hi")));
    Options { agents: Some(Desk::new([ada])), ..Options::default() }
}

/// A client of the newest version, which has no sessions and can listen.
fn newest() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

async fn connected(
    site: &Site,
    key: &str,
    how: ClientLifecycleMode,
) -> RunningService<RoleClient, ()> {
    let config = StreamableHttpClientTransportConfig::with_uri(format!("{}/mcp", site.url));
    let transport = StreamableHttpClientTransport::with_client(http(), config.auth_header(key));
    ().serve_with_lifecycle(transport, how).await.unwrap()
}

async fn call(
    client: &RunningService<RoleClient, ()>,
    name: &'static str,
    arguments: Value,
) -> (bool, Value) {
    let arguments = arguments.as_object().cloned().unwrap();
    let params = CallToolRequestParams::new(name).with_arguments(arguments);
    let result = client.call_tool(params).await.unwrap();
    (result.is_error == Some(true), result.structured_content.unwrap())
}

#[tokio::test]
async fn a_thread_of_another_tenant_is_not_there_and_reading_is_not_writing() {
    let keys =
        [key("acme", &["read", "write"]), key("other", &["read", "write"]), key("acme", &["read"])];
    let (site, keys) = Site::start_with(options(), &keys).await;
    let acme = connected(&site, &keys[0], ClientLifecycleMode::Initialize).await;
    let (failed, said) = call(&acme, "send_message", json!({"thread": "own", "text": "x"})).await;
    assert!(!failed, "{said}");
    assert_eq!(said["messages"][0]["text"], "hi");
    let read = async |key: &str, uri: &str| {
        let client = connected(&site, key, newest()).await;
        client.read_resource(ReadResourceRequestParams::new(uri)).await
    };
    let own = read(&keys[2], "thread://own").await.unwrap();
    let ResourceContents::TextResourceContents { text, .. } = &own.contents[0] else { panic!() };
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["id"], "own");
    for uri in [
        "thread://own",
        "thread://own/events",
        "thread://own/tasks",
        "thread://own/artifacts",
        "thread://own/tasks/x",
        "thread://own/artifacts/x",
    ] {
        let Err(ServiceError::McpError(refused)) = read(&keys[1], uri).await else {
            panic!("{uri} is another's")
        };
        // The newest version has no code of its own for it.
        assert_eq!((refused.code.0, &*refused.message), (-32602, "thread `own` not found"));
    }
    let other = connected(&site, &keys[1], newest()).await;
    assert_eq!(other.list_all_resources().await.unwrap(), Vec::new());
    let asked = json!({"thread": "own", "input": "i", "value": 1});
    for (name, arguments) in [
        ("read_thread", json!({"thread": "own"})),
        ("answer", asked),
        ("cancel_task", json!({"thread": "own", "task": "t"})),
    ] {
        let (failed, refused) = call(&other, name, arguments).await;
        assert_eq!((failed, &refused["error"]["code"]), (true, &json!("not_found")), "{name}");
    }
    let reader = connected(&site, &keys[2], newest()).await;
    let (failed, refused) = call(&reader, "send_message", json!({"text": "x"})).await;
    assert_eq!((failed, &refused["error"]["code"]), (true, &json!("forbidden")));
    // Without a key nothing is read.
    let request = site.request(Method::POST, "/mcp").body("{}");
    let (status, refused) = answer(request.send().await.unwrap()).await;
    assert_eq!((status.as_u16(), &refused["error"]["data"]["code"]), (401, &json!("unauthorized")));
}

#[tokio::test]
async fn whoever_listens_hears_that_a_thread_has_changed() {
    let site = Site::start_with(options(), &[]).await.0;
    site.thread("t").await;
    let client = connected(&site, "", newest()).await;
    let wanted = ["thread://t".to_owned(), "file:///etc/passwd".to_owned()];
    let filter = SubscriptionFilter::builder().resource_subscriptions(wanted).build();
    let mut changes = client.listen(filter).await.unwrap();
    // First it is told that it is to be read, then that it has changed.
    for _ in 0..2 {
        let change = tokio::time::timeout(Duration::from_secs(60), changes.next()).await;
        let Some(ServerNotification::ResourceUpdatedNotification(change)) =
            change.unwrap().unwrap()
        else {
            panic!("a resource changed")
        };
        assert_eq!(change.params.uri, "thread://t");
        let event = r#"{"kind":"message","role":"user","content":"x"}"#;
        site.post("/api/threads/t/events", event).await;
    }
}

#[tokio::test]
async fn a_client_that_is_cut_off_calls_again_and_nothing_is_said_twice() {
    let site = Site::start_with(options(), &[]).await.0;
    let (proxy, _) = proxy(site.url.trim_start_matches("http://").to_owned(), 100..4101).await;
    let url = format!("http://{proxy}/mcp");
    let (mut said, mut cuts) = (0, 0);
    while cuts < 20 {
        said += 1;
        let arguments = json!({"thread": "t", "text": format!("word {said}"),
                               "message": format!("m-{said}")});
        let arguments = arguments.as_object().cloned().unwrap();
        loop {
            let config = StreamableHttpClientTransportConfig::with_uri(url.clone());
            let transport = StreamableHttpClientTransport::with_client(http(), config);
            let call = async {
                let how = ClientLifecycleMode::Initialize;
                let client = ().serve_with_lifecycle(transport, how).await.ok()?;
                let params = CallToolRequestParams::new("send_message");
                let params = params.with_arguments(arguments.clone());
                client.call_tool(params).await.ok()?.structured_content
            };
            // A client that hears nothing any more was cut off, too.
            match tokio::time::timeout(Duration::from_secs(10), call).await {
                Ok(Some(told)) => {
                    assert_eq!(told["messages"][0]["text"], "hi", "{told}");
                    break;
                }
                _ => cuts += 1,
            }
        }
    }
    let (_, state) = site.get("/api/threads/t").await;
    let of = |kind: &str| -> Vec<&str> {
        let all = state["messages"].as_array().unwrap().iter();
        all.filter(|one| one["type"] == kind).map(|one| one["text"].as_str().unwrap()).collect()
    };
    let words: Vec<String> = (1..=said).map(|nth| format!("word {nth}")).collect();
    assert_eq!(of("user-message"), words);
    assert_eq!(of("assistant-message"), vec!["hi"; said]);
}
