//! A store of its own for a test, with a thread in it.

use std::sync::Arc;
use std::time::Duration;

use selvedge_agents::{Agent, Journal, Left, Remote, Turn, remote};
use selvedge_store::{Append, Create, Draft, Options, Store, ThreadKey};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Stage {
    pub(crate) journal: Journal,
    pub(crate) key: ThreadKey,
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
}

impl Stage {
    /// A thread in which the user said something and a task was made.
    pub(crate) async fn new(said: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("s.db"), Options::default()).unwrap();
        let key = ThreadKey::new("", "talk");
        let stage = Self { journal: Journal::of(store.clone()), key, store, folder };
        let said = Value::String(said.to_owned());
        let events = [
            r#"{"kind":"thread-created","contextId":"talk"}"#.to_owned(),
            format!(r#"{{"kind":"message","role":"user","content":{said}}}"#),
            r#"{"kind":"task-created","taskId":"t","initiator":"user","agentId":"ada"}"#.to_owned(),
        ];
        let drafts = events.into_iter().map(Draft::new).collect();
        let append = Append::new(stage.key.clone(), drafts).creating(Create::New);
        stage.store.append(append).await.unwrap();
        stage
    }

    pub(crate) async fn append(&self, event: &str) {
        let drafts = vec![Draft::new(event.to_owned())];
        self.store.append(Append::new(self.key.clone(), drafts)).await.unwrap();
    }

    pub(crate) async fn run(&self, agent: Agent, task: &str) -> Left {
        self.run_shared(Arc::new(agent), task).await
    }

    pub(crate) async fn run_shared(&self, agent: Arc<Agent>, task: &str) -> Left {
        let mut turn = Turn::open(&self.journal, &self.key, task, agent).await.unwrap();
        turn.run().await.unwrap()
    }

    /// One turn of an agent elsewhere.
    pub(crate) async fn ask(&self, agent: &Arc<Remote>, task: &str) -> Left {
        let turn = remote::Turn::open(&self.journal, &self.key, task, agent.clone());
        let mut turn = turn.await.unwrap();
        tokio::time::timeout(Duration::from_secs(120), turn.run()).await.unwrap().unwrap()
    }

    /// The user says more, and another task is made.
    pub(crate) async fn say(&self, said: &str, task: &str) {
        let said = Value::String(said.to_owned());
        self.append(&format!(r#"{{"kind":"message","role":"user","content":{said}}}"#)).await;
        let made = format!(
            r#"{{"kind":"task-created","taskId":"{task}","initiator":"user","agentId":"ada"}}"#
        );
        self.append(&made).await;
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let thread = self.store.thread(&self.key).unwrap().unwrap();
        let page = self.store.read(&thread, 0, usize::MAX, usize::MAX).unwrap();
        page.entries.iter().map(|entry| serde_json::from_slice(&entry.event).unwrap()).collect()
    }

    /// Waits for an event.
    pub(crate) async fn until(&self, found: impl Fn(&Value) -> bool) -> Value {
        let thread = self.store.thread(&self.key).unwrap().unwrap();
        let tail = self.store.tail(&thread).unwrap();
        let mut heads = tail.watch();
        let wait = async {
            loop {
                if let Some(event) = self.events().into_iter().find(&found) {
                    return event;
                }
                heads.changed().await.unwrap();
            }
        };
        let event = tokio::time::timeout(Duration::from_secs(120), wait).await;
        event.unwrap_or_else(|_| panic!("{:#?}", self.told()))
    }

    /// What happened after the task was made: each event's kind and what matters of it.
    pub(crate) fn told(&self) -> Vec<String> {
        self.events().iter().skip(3).map(brief).collect()
    }
}

fn brief(event: &Value) -> String {
    let kind = event["kind"].as_str().unwrap();
    let names = [
        "delta",
        "content",
        "status",
        "finishReason",
        "toolCallId",
        "inputId",
        "subtaskId",
        "outcome",
        "result",
        "error",
        "code",
        "reason",
    ];
    let mut out = kind.to_owned();
    for name in names {
        match &event[name] {
            Value::Null => {}
            Value::String(text) => out.push_str(&format!(" {text}")),
            other => out.push_str(&format!(" {other}")),
        }
    }
    out
}
