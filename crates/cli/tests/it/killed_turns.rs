//! A server that is killed in any phase of a turn goes on with it: in the end the thread says what
//! it would have said, finished tools were not run again, and nothing half-said is mixed in.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{Server, http};

/// An agent that thinks, uses a tool over HTTP, writes an artifact, asks, and sums up.
const CONFIG: &str = r#"
[tools.stamp]
kind = "http"
description = "Stamps a paper."
method = "POST"
url = "URL"
allow_private = true
schema = { type = "object", properties = { paper = { type = "string" } } }

[tools.burn]
kind = "http"
description = "Burns a paper."
method = "POST"
url = "URL"
allow_private = true
consent = true
schema = { type = "object", properties = { paper = { type = "string" } } }

[agents.ada]
kind = "script"
tools = ["stamp", "burn", "artifacts/*"]
script.pace = "100ms"
[[agents.ada.script.rules]]
lines = [
  { think = "First it is stamped, for what is not stamped is not there.", say = "I stamp the paper and write down that I did, as one does.", calls = [
    { tool = "stamp", arguments = { paper = "one" } },
    { tool = "artifact_create", arguments = { name = "log.md", content = "stamped" } },
  ] },
  { say = "Now it can be burned, if someone agrees.", calls = [{ tool = "burn", arguments = { paper = "one" } }] },
  { say = "It is all done: stamped, written down, and burned to ashes in the end." },
]
"#;

/// A tool elsewhere. It counts what it does, and can be held in the middle of it.
#[derive(Default)]
struct Tool {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    done: u32,
    held: bool,
}

impl Tool {
    fn start(self: &Arc<Self>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let own = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                std::thread::spawn(move || own.serve(stream));
            }
        });
        url
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut length = 0;
        for line in reader.by_ref().lines() {
            let line = line.unwrap_or_default().to_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        let _ = reader.read_exact(&mut body);
        let mut state = self.state.lock().unwrap();
        state.done += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| state.held).unwrap());
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        let _ = write!(&stream, "{head}content-length: 11\r\n\r\n{{\"ok\":true}}");
    }

    fn done(&self) -> u32 {
        self.state.lock().unwrap().done
    }

    fn hold(&self) {
        self.state.lock().unwrap().held = true;
    }

    /// Waits until someone uses it.
    fn wait_for_use(&self) {
        let state = self.state.lock().unwrap();
        let limit = Duration::from_secs(120);
        let (state, _) =
            self.changed.wait_timeout_while(state, limit, |state| state.done == 0).unwrap();
        assert!(state.done > 0, "nobody used the tool");
    }

    fn release(&self) {
        self.state.lock().unwrap().held = false;
        self.changed.notify_all();
    }
}

/// When the server is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Never,
    BeforeTheModel,
    /// When the model has said so many pieces in its step of that number.
    MidStream {
        step: usize,
        pieces: usize,
    },
    /// When the step of that number has ended and its tools may have begun.
    BeforeTheTools,
    /// While a tool is at work.
    InTheTool,
    /// When the first tool has ended.
    AfterTheTool,
    Waiting,
    Answered,
}

/// A thread of which one turn is told.
struct Stage {
    folder: tempfile::TempDir,
    tool: Arc<Tool>,
    server: Option<Server>,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tool = Arc::<Tool>::default();
        std::fs::write(folder.path().join("s.toml"), CONFIG.replace("URL", &tool.start())).unwrap();
        Self { folder, tool, server: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&mut self) {
        let (db, config) = (self.path("s.db"), self.path("s.toml"));
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let args = ["--listen", "127.0.0.1:0", "--db", &text(&db), "--config", &text(&config)];
        self.server = Some(Server::start_with(&args));
    }

    fn kill(&mut self) {
        self.server.take().unwrap().kill();
    }

    async fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.server.as_ref().unwrap().url);
        let answer = http().get(url).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.server.as_ref().unwrap().url);
        let answer = http().post(url).body(body.to_string()).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    async fn events(&self) -> Vec<Value> {
        let page = self.get("/api/threads/t/events?limit=10000").await;
        page["entries"].as_array().unwrap().iter().map(|entry| entry["event"].clone()).collect()
    }

    async fn until(&self, is_so: impl Fn(&[Value]) -> bool) {
        let begun = Instant::now();
        while !is_so(&self.events().await) {
            assert!(begun.elapsed() < Duration::from_secs(120), "{:#?}", self.events().await);
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }

    /// Runs the turn through a kill; gives what the thread says in the end.
    async fn run(&mut self, phase: Phase) -> Value {
        if phase == Phase::InTheTool {
            self.tool.hold();
        }
        if phase == Phase::BeforeTheModel {
            // A server that knows no such agent takes the task, and dies.
            self.server = Some(Server::start(&self.path("s.db")));
        } else {
            self.start();
        }
        self.post("/api/threads", &json!({"id": "t"})).await;
        let said = json!({"kind": "message", "role": "user", "content": "Do it."});
        let task = json!({"kind": "task-created", "taskId": "job", "agentId": "ada",
            "initiator": "user", "dispatched": true});
        self.post("/api/threads/t/events", &json!([said, task])).await;
        let waits = |events: &[Value]| count(events, "input-required") == 1;
        match phase {
            Phase::Never | Phase::BeforeTheModel | Phase::Answered => {}
            Phase::MidStream { step, pieces } => {
                if step == 3 {
                    self.until(waits).await;
                    self.answer().await;
                }
                self.until(|events| {
                    let begun = events.iter().rposition(|e| e["kind"] == "step-started");
                    count(events, "step-started") == step
                        && count(&events[begun.unwrap()..], "content-delta") >= pieces
                })
                .await;
            }
            // On a busy machine the next one may have ended before anyone looks.
            Phase::BeforeTheTools => self.until(|e| count(e, "step-finished") >= 1).await,
            Phase::InTheTool => {
                let tool = self.tool.clone();
                tokio::task::spawn_blocking(move || tool.wait_for_use()).await.unwrap();
            }
            Phase::AfterTheTool => self.until(|e| count(e, "tool-complete") >= 1).await,
            Phase::Waiting => self.until(waits).await,
        }
        if phase == Phase::Answered {
            self.until(waits).await;
            self.answer().await;
        }
        if phase != Phase::Never {
            self.kill();
            self.tool.release();
            self.start();
        }
        let open =
            async |stage: &Self| stage.get("/api/inbox").await["items"].as_array().unwrap().len();
        self.until(|events| waits(events) || count(events, "task-complete") == 1).await;
        if count(&self.events().await, "input-received") == 0 {
            assert_eq!(open(self).await, 1, "it still waits after the kill");
            self.answer().await;
        }
        self.until(|events| count(events, "task-complete") == 1).await;
        assert_eq!(open(self).await, 0);
        self.told().await
    }

    async fn answer(&self) {
        let events = self.events().await;
        let asked = events.iter().find(|event| event["kind"] == "input-required").unwrap();
        let id = asked["inputId"].as_str().unwrap().replace('/', "%2F");
        self.post(&format!("/api/threads/t/inputs/{id}"), &json!({"value": true})).await;
    }

    /// What the thread says, without times and numbers of events. Results of tools that ran side by
    /// side come in any order.
    async fn told(&self) -> Value {
        let state = self.get("/api/threads/t").await;
        let mut messages = state["messages"].as_array().unwrap().clone();
        messages.iter_mut().for_each(plain);
        let (mut results, said): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|message| message.get("success").is_some());
        results.sort_by_key(|result| result["toolCallId"].to_string());
        let mut artifacts = state["artifacts"].clone();
        plain(&mut artifacts);
        let status = state["tasks"][0]["status"].clone();
        json!({"said": said, "results": results, "artifacts": artifacts, "status": status})
    }
}

/// Takes out what is another in every run.
fn plain(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(members) => {
            for name in ["seq", "id", "timestamp", "at", "first", "last", "messageId", "thoughtId"]
            {
                members.remove(name);
            }
            members.values_mut().for_each(plain);
        }
        _ => {}
    }
}

fn count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["kind"] == kind).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_ends_as_it_would_have_whenever_its_server_is_killed() {
    let whole = Stage::new().run(Phase::Never).await;
    let said = whole["said"].to_string();
    assert!(
        said.contains("burned to ashes in the end") && said.contains("is not stamped"),
        "{said}"
    );
    for (phase, uses) in [
        (Phase::BeforeTheModel, 2..=2),
        (Phase::MidStream { step: 1, pieces: 4 }, 2..=2),
        // Its tools may have begun, and those that had not ended are done again.
        (Phase::BeforeTheTools, 2..=3),
        (Phase::InTheTool, 3..=3),
        (Phase::AfterTheTool, 2..=3),
        (Phase::Waiting, 2..=2),
        (Phase::Answered, 2..=3),
        (Phase::MidStream { step: 3, pieces: 4 }, 2..=2),
    ] {
        let mut stage = Stage::new();
        let told = stage.run(phase).await;
        assert_eq!(told, whole, "{phase:?}");
        let events = stage.events().await;
        let superseded = count(&events, "attempt-superseded");
        if matches!(phase, Phase::MidStream { .. }) {
            assert_eq!(superseded, 1, "{phase:?}: what was half said is void");
        }
        assert!(superseded <= 1, "{phase:?}");
        assert!(uses.contains(&stage.tool.done()), "{phase:?}: {} uses", stage.tool.done());
        assert_eq!(count(&events, "tool-complete"), 3, "{phase:?}: every call ends once");
        assert_eq!(count(&events, "task-complete"), 1, "{phase:?}");
    }
}
