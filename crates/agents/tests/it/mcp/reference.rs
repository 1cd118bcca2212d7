//! The reference servers of the protocol, from npm. `cargo xtask test` installs and runs them.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use selvedge_agents::tool::mcp::{Options, Rerun, Server, Transport};
use selvedge_agents::{Interrupted, Left};
use serde_json::{Value, json};

use super::{caller, ends};
use crate::stage::Stage;

/// Where the peers are installed.
fn peers() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(target).join("conformance/js/node_modules").canonicalize().unwrap()
}

fn node() -> PathBuf {
    let own = peers().join(".bin/node");
    if own.exists() { own } else { "node".into() }
}

fn script(package: &str) -> String {
    let path = peers().join("@modelcontextprotocol").join(package).join("dist/index.js");
    path.to_str().unwrap().to_owned()
}

fn everything() -> Options {
    let transport = Transport::Process {
        command: node(),
        args: vec![script("server-everything"), "stdio".to_owned()],
        env: vec![("GIVEN".to_owned(), "to the server".to_owned())],
        folder: None,
    };
    Options::new("everything", transport)
}

/// The same over HTTP, on a port of its own.
struct Served(Child, u16);

impl Served {
    async fn start() -> (Self, Options) {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::start_at(port).await
    }

    async fn start_at(port: u16) -> (Self, Options) {
        let child = Command::new(node())
            .args([&script("server-everything"), "streamableHttp"])
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let served = Self(child, port);
        let up = async {
            while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), up).await.unwrap();
        let url = format!("http://127.0.0.1:{port}/mcp");
        (served, Options::new("everything", Transport::Http { url, headers: Vec::new() }))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every feature of the server, by one turn.
async fn all_features(options: Options) {
    let stage = Stage::new("go").await;
    let server = Server::new(options).unwrap();
    let calls = [
        ("everything__echo", json!({"message": "hello"})),
        ("everything__get-sum", json!({"a": 2, "b": 40})),
        ("everything__get-tiny-image", json!({})),
        ("everything__get-structured-content", json!({"location": "Chicago"})),
        ("everything__get-resource-links", json!({"count": 2})),
        ("everything__trigger-long-running-operation", json!({"duration": 2, "steps": 4})),
        ("everything__get-sum", json!({"a": "two", "b": 40})),
    ];
    assert_eq!(stage.run(caller(&server, &calls), "t").await, Left::Over);
    let ends = ends(&stage);
    let outcomes: Vec<&Value> = ends.iter().map(|end| &end["outcome"]).collect();
    let mut wanted = vec!["success"; 6];
    wanted.push("validation_error");
    assert_eq!(outcomes, wanted, "{ends:#?}");
    assert_eq!(ends[0]["result"], "Echo: hello");
    assert_eq!(ends[1]["result"], "The sum of 2 and 40 is 42.");
    let image = &ends[2]["result"]["content"][1];
    assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")));
    assert!(image["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    assert!(ends[3]["result"]["temperature"].is_number(), "{}", ends[3]);
    let link = &ends[4]["result"]["content"][1];
    assert_eq!(link["type"], "resource_link");
    assert!(ends[5]["result"].as_str().unwrap().contains("Long running operation completed"));
    assert_eq!(ends[6]["error"], "`/a` must be number, not string");
    let events = stage.events();
    let parts: Vec<f64> = events
        .iter()
        .filter(|e| e["kind"] == "tool-progress" && e["toolCallId"] == "call-1-6")
        .map(|event| event["progress"].as_f64().unwrap())
        .collect();
    assert!(parts.len() >= 3 && parts.is_sorted(), "{parts:?}");
    assert_eq!(stage.told().last().unwrap(), "task-complete done");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the npm peers: cargo xtask test"]
async fn everything_works_through_a_process() {
    all_features(everything()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the npm peers: cargo xtask test"]
async fn everything_works_over_http() {
    let (_served, options) = Served::start().await;
    all_features(options).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the npm peers: cargo xtask test"]
async fn a_server_over_http_that_was_away_is_used_again() {
    let (served, options) = Served::start().await;
    let port = served.1;
    let server = Server::new(options).unwrap();
    let calls = [("everything__echo", json!({"message": "hello"}))];
    let echo = async || {
        let stage = Stage::new("go").await;
        assert_eq!(stage.run(caller(&server, &calls), "t").await, Left::Over);
        ends(&stage).remove(0)
    };
    assert_eq!(echo().await["result"], "Echo: hello");
    drop(served);
    let end = echo().await;
    assert!(end["error"].as_str().unwrap().starts_with("the server `everything` "), "{end:#}");
    let _served = Served::start_at(port).await;
    assert_eq!(echo().await["result"], "Echo: hello");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the npm peers: cargo xtask test"]
async fn a_process_gets_the_environment_that_is_configured_and_no_other() {
    let stage = Stage::new("go").await;
    let server = Server::new(everything()).unwrap();
    stage.run(caller(&server, &[("everything__get-env", json!({}))]), "t").await;
    let env: Value = serde_json::from_str(ends(&stage)[0]["result"].as_str().unwrap()).unwrap();
    let mut names: Vec<&String> = env.as_object().unwrap().keys().collect();
    names.retain(|name| !["PATH", "HOME"].contains(&name.as_str()));
    assert_eq!(names, ["GIVEN"]);
}

/// Asks a user, who answers in each way that there is.
async fn elicits(options: impl Fn() -> Options) {
    for (answers, wanted) in [
        (vec![json!({"name": "Ada", "integer": 7})], "- Favorite Integer: 7"),
        (vec![json!({"action": "accept", "content": {"name": "Ada"}})], "- Name: Ada"),
        (vec![json!({"action": "decline"})], "User declined"),
        (vec![json!(null)], "User declined"),
        (vec![json!({"action": "cancel"})], "User cancelled"),
        (vec![json!({"integer": "x"}), json!({"name": "Eve"})], "- Name: Eve"),
    ] {
        let stage = Stage::new("go").await;
        let server = Server::new(options()).unwrap();
        let calls = [("everything__trigger-elicitation-request", json!({}))];
        let running = stage.run(caller(&server, &calls), "t");
        let answering = async {
            for (i, value) in answers.iter().enumerate() {
                let id = format!("t/call-1-1/question-{i}");
                let asked = stage.until(|event| event["inputId"] == *id).await;
                assert_eq!(asked["kind"], "input-required");
                assert_eq!(asked["toolCallId"], "call-1-1");
                assert_eq!(asked["requireUser"], true);
                assert_eq!(asked["schema"]["anyOf"][0]["required"], json!(["name"]));
                let event = json!({"kind": "input-received", "taskId": "t", "inputId": id,
                                   "providedBy": "user", "value": value});
                stage.append(&event.to_string()).await;
            }
        };
        let (left, ()) = tokio::join!(running, answering);
        assert_eq!(left, Left::Over);
        let end = ends(&stage).remove(0);
        assert!(end["result"].to_string().contains(wanted), "{wanted}: {end:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the npm peers: cargo xtask test"]
async fn a_user_answers_what_a_process_asks() {
    elicits(everything).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the npm peers: cargo xtask test"]
async fn a_user_answers_what_a_server_asks_over_http() {
    let (_served, options) = Served::start().await;
    elicits(move || options.clone()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the npm peers: cargo xtask test"]
async fn a_question_outlives_whoever_waits_for_its_answer() {
    for (rerun, wanted) in [
        (Interrupted::Again, "- Name: Ada"),
        (Interrupted::Fail, "whether it was done is not known"),
    ] {
        let stage = Stage::new("go").await;
        let server = || {
            let mut options = everything();
            options.interrupted = Rerun::All(rerun);
            Server::new(options).unwrap()
        };
        let calls = [("everything__trigger-elicitation-request", json!({}))];
        let asked = async { stage.until(|event| event["kind"] == "input-required").await };
        let first = server();
        // Whoever waits is stopped.
        tokio::select! {
            left = stage.run(caller(&first, &calls), "t") => panic!("{left:?}"),
            _ = asked => {}
        }
        drop(first);
        let server = server();
        assert_eq!(stage.run(caller(&server, &calls), "t").await, Left::Waiting);
        let event = json!({"kind": "input-received", "taskId": "t", "providedBy": "user",
                           "inputId": "t/call-1-1/question-0", "value": {"name": "Ada"}});
        stage.append(&event.to_string()).await;
        assert_eq!(stage.run(caller(&server, &calls), "t").await, Left::Over);
        let end = ends(&stage).remove(0);
        assert!(end.to_string().contains(wanted), "{end:#}");
        let asked = stage.events().iter().filter(|e| e["kind"] == "input-required").count();
        assert_eq!(asked, 1, "it is asked once");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the npm peers: cargo xtask test"]
async fn what_a_server_asks_in_two_calls_at_once_goes_to_neither_unless_it_tells() {
    let stage = Stage::new("go").await;
    let server = Server::new(everything()).unwrap();
    let ask = ("everything__trigger-elicitation-request", json!({}));
    let wait = ("everything__trigger-long-running-operation", json!({"duration": 3, "steps": 1}));
    assert_eq!(stage.run(caller(&server, &[wait, ask]), "t").await, Left::Over);
    let end = ends(&stage).remove(1);
    assert!(end["result"].to_string().contains("User cancelled"), "{end:#}");
    assert!(!stage.events().iter().any(|event| event["kind"] == "input-required"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the npm peers: cargo xtask test"]
async fn files_are_read_and_written_where_the_server_may() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.txt"), "seen").unwrap();
    let transport = Transport::Process {
        command: node(),
        args: vec![script("server-filesystem"), path("")],
        env: Vec::new(),
        folder: None,
    };
    let server: Arc<Server> = Server::new(Options::new("fs", transport)).unwrap();
    let stage = Stage::new("go").await;
    let calls = [
        ("fs__read_text_file", json!({"path": path("a.txt")})),
        ("fs__write_file", json!({"path": path("b.txt"), "content": "made"})),
        ("fs__read_text_file", json!({"path": "/etc/passwd"})),
    ];
    assert_eq!(stage.run(caller(&server, &calls), "t").await, Left::Over);
    let ends = ends(&stage);
    assert_eq!(ends[0]["result"]["content"], "seen", "{}", ends[0]);
    assert_eq!(ends[1]["outcome"], "success");
    assert_eq!(std::fs::read_to_string(path("b.txt")).unwrap(), "made");
    assert_eq!(ends[2]["outcome"], "failed");
    assert!(ends[2]["error"].as_str().unwrap().contains("Access denied"), "{}", ends[2]);
}
