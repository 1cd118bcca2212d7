//! The workers of `examples/`: real programs that claim tasks of a real server, and are killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{Server, http};

const CONFIG: &str = r#"
[agents.ada]
kind = "worker"
lease = "1s"
"#;

/// A worker's process, which ends with the test.
struct Worker(Child);

impl Worker {
    fn python(url: &str, pace: &str) -> Self {
        Self::start(Command::new("python3"), "worker.py", url, pace)
    }

    fn start(mut command: Command, file: &str, url: &str, pace: &str) -> Self {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        command.arg(examples.join(file)).args([url, "ada"]).env("WORKER_PACE", pace);
        Self(command.stdout(Stdio::null()).spawn().expect("a program that runs the worker"))
    }

    /// `kill -9`
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server whose agent Ada is a worker.
struct Site {
    server: Server,
    client: reqwest::Client,
    folder: tempfile::TempDir,
}

impl Site {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("selvedge.toml"), CONFIG).unwrap();
        let server = Self::serve(folder.path(), "127.0.0.1:0");
        Self { server, client: http(), folder }
    }

    fn serve(folder: &Path, listen: &str) -> Server {
        let path = |name: &str| -> PathBuf { folder.join(name) };
        let (db, config) = (path("s.db"), path("selvedge.toml"));
        Server::start_with(&[
            "--listen",
            listen,
            "--db",
            db.to_str().unwrap(),
            "--config",
            config.to_str().unwrap(),
        ])
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(format!("{}{path}", self.server.url)).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    /// Makes a thread and asks Ada something in it.
    async fn ask(&self, thread: &str, words: &str) {
        let post = async |path: &str, body: Value| {
            let request = self.client.post(format!("{}{path}", self.server.url));
            assert!(request.body(body.to_string()).send().await.unwrap().status().is_success());
        };
        post("/api/threads", json!({"id": thread})).await;
        let said = json!({"content": words, "to": "ada", "messageId": "m"});
        post(&format!("/api/threads/{thread}/messages"), said).await;
    }

    async fn events(&self, thread: &str) -> Vec<Value> {
        let page = self.get(&format!("/api/threads/{thread}/events")).await;
        page["entries"].as_array().unwrap().iter().map(|entry| entry["event"].clone()).collect()
    }

    /// Waits until a thread's events are so.
    async fn until(&self, thread: &str, is: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        for _ in 0..4800 {
            let events = self.events(thread).await;
            if is(&events) {
                return events;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{:#?}", self.events(thread).await);
    }

    async fn until_done(&self, thread: &str) -> Vec<Value> {
        self.until(thread, |events| of(events, "task-complete").len() == 1).await
    }
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

/// What the task came to, and what is left of what was streamed.
async fn outcome(site: &Site, thread: &str) -> (Value, Vec<Value>) {
    let events = site.until_done(thread).await;
    let state = site.get(&format!("/api/threads/{thread}")).await;
    assert_eq!(state["tasks"][0]["status"], "completed");
    let said = state["messages"].as_array().unwrap().iter();
    let said = said.filter(|message| message["type"] == "assistant-message");
    (of(&events, "task-complete")[0]["content"].clone(), said.map(|m| m["text"].clone()).collect())
}

const ANSWER: &str = r#"You said "How are you?", and 1 things so far."#;

/// Two workers; the one that has the task is killed in the middle of its answer.
async fn killed(site: Site, start: impl Fn(&str, &str) -> Worker) {
    let slow = start(&site.server.url, "0.4");
    site.ask("t", "How are you?").await;
    site.until("t", |events| of(events, "content-delta").len() >= 2).await;
    let other = start(&site.server.url, "0.01");
    slow.kill();
    let (answer, said) = outcome(&site, "t").await;
    assert_eq!(answer, ANSWER);
    assert_eq!(said, [json!(format!("{ANSWER} "))], "nothing is mixed");
    let events = site.events("t").await;
    let void = of(&events, "attempt-superseded");
    assert_eq!((void.len(), &void[0]["reason"]), (1, &json!("lease expired")));
    let working = of(&events, "task-status");
    let attempts: Vec<_> = working.iter().map(|event| &event["metadata"]["attempt"]).collect();
    assert_eq!(attempts, [1, 2]);
    assert_ne!(working[0]["metadata"]["workerId"], working[1]["metadata"]["workerId"]);
    drop(other);
}

#[tokio::test]
async fn a_python_worker_killed_in_the_middle_is_followed_by_another_and_nothing_is_mixed() {
    killed(Site::start(), Worker::python).await;
}

#[tokio::test]
async fn a_task_is_done_once_though_the_server_is_killed_in_the_middle() {
    let site = Site::start();
    // Longer than the lease: it has to be renewed on the way.
    let worker = Worker::python(&site.server.url, "0.25");
    site.ask("t", "How are you?").await;
    site.until("t", |events| of(events, "content-delta").len() >= 2).await;
    let address = site.server.url.trim_start_matches("http://").to_owned();
    let Site { server, folder, .. } = site;
    server.kill();
    let server = Site::serve(folder.path(), &address);
    // One that knows nothing of connections to the first.
    let site = Site { server, client: http(), folder };
    let (answer, said) = outcome(&site, "t").await;
    assert_eq!(answer, ANSWER);
    assert_eq!(said, [json!(format!("{ANSWER} "))]);
    drop(worker);
}

/// `cargo xtask test --only workers` says which node is new enough.
#[tokio::test]
#[ignore = "needs a node that runs TypeScript: cargo xtask test --only workers"]
async fn a_typescript_worker_killed_in_the_middle_is_followed_by_another_and_nothing_is_mixed() {
    let node = std::env::var("SELVEDGE_NODE").unwrap_or_else(|_| "node".to_owned());
    let start = |url: &str, pace: &str| Worker::start(Command::new(&node), "worker.ts", url, pace);
    killed(Site::start(), start).await;
}
