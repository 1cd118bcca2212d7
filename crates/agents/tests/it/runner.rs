//! Many tasks of several agents, started by what is committed and taken up after a restart.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::FutureExt as _;
use selvedge_agents::model::ToolSpec;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Consent, Desk, Doer, Journal, Runner, Tool};
use selvedge_store::{Append, AppendError, Create, Draft, Options, Store, ThreadKey};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A store whose appends are hints for a runner, as in a server.
pub(crate) struct House {
    pub(crate) store: Store,
    pub(crate) desk: Desk,
    running: tokio::task::JoinSet<()>,
}

impl House {
    pub(crate) fn open(folder: &TempDir, agents: Vec<Agent>) -> Self {
        Self::with(folder, Desk::new(agents))
    }

    pub(crate) fn with(folder: &TempDir, desk: Desk) -> Self {
        let store = Store::open(&folder.path().join("s.db"), Options::default()).unwrap();
        let (own, told) = (store.clone(), desk.clone());
        let append = move |append: Append| {
            let (store, told) = (own.clone(), told.clone());
            async move {
                let thread = append.thread.clone();
                let events: Vec<_> = append.events.iter().map(|d| d.event.clone()).collect();
                let appended = store.append(append).await?;
                told.committed(&thread, &events);
                Ok(appended)
            }
            .boxed()
        };
        let journal = Journal::new(store.clone(), Arc::new(append));
        let mut running = tokio::task::JoinSet::new();
        running.spawn(Runner::new(desk.clone(), journal, 100).run());
        Self { store, desk, running }
    }

    /// Stops everything where it is, and waits until nobody has the journal open: what reads it on
    /// another thread is not stopped with what waits for it.
    pub(crate) async fn close(mut self) {
        self.running.shutdown().await;
        let lock = format!("{}-lock", self.store.address());
        drop(self);
        let lock = std::fs::File::options().append(true).open(lock).unwrap();
        for _ in 0..6000 {
            if lock.try_lock().is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the journal is open for ever");
    }

    pub(crate) async fn append(&self, thread: &str, create: Create, events: &[Value]) {
        let key = ThreadKey::new("", thread);
        let drafts: Vec<Draft> = events.iter().map(|e| Draft::new(e.to_string())).collect();
        let events: Vec<_> = drafts.iter().map(|draft| draft.event.clone()).collect();
        self.store.append(Append::new(key.clone(), drafts).creating(create)).await.unwrap();
        self.desk.committed(&key, &events);
    }

    /// An append with its guard.
    pub(crate) async fn append_raw(&self, append: Append) -> Result<(), AppendError> {
        let (key, events) = (append.thread.clone(), append.events.clone());
        let events: Vec<_> = events.iter().map(|draft| draft.event.clone()).collect();
        self.store.append(append).await?;
        self.desk.committed(&key, &events);
        Ok(())
    }

    pub(crate) async fn ask(&self, thread: &str, agent: &str) {
        let events = [
            json!({"kind": "message", "role": "user", "content": "hello"}),
            json!({"kind": "task-created", "taskId": "t", "initiator": "user", "agentId": agent,
                   "dispatched": true}),
        ];
        self.append(thread, Create::IfMissing, &events).await;
    }

    pub(crate) fn events(&self, thread: &str) -> Vec<Value> {
        let thread = self.store.thread(&ThreadKey::new("", thread)).unwrap().unwrap();
        let page = self.store.read(&thread, 0, usize::MAX, usize::MAX).unwrap();
        page.entries.iter().map(|entry| serde_json::from_slice(&entry.event).unwrap()).collect()
    }

    /// Waits for an event of a thread.
    pub(crate) async fn until(&self, thread: &str, found: impl Fn(&Value) -> bool) -> Value {
        let event = |events: Vec<Value>| events.into_iter().find(&found);
        self.until_some(thread, event).await
    }

    /// Waits until something holds for all events of a thread.
    pub(crate) async fn until_all(&self, thread: &str, holds: impl Fn(&[Value]) -> bool) {
        self.until_some(thread, |events| holds(&events).then_some(())).await;
    }

    async fn until_some<T>(&self, thread: &str, found: impl Fn(Vec<Value>) -> Option<T>) -> T {
        let key = ThreadKey::new("", thread);
        let reference = self.store.thread(&key).unwrap().unwrap();
        let tail = self.store.tail(&reference).unwrap();
        let mut heads = tail.watch();
        let wait = async {
            loop {
                if let Some(found) = found(self.events(thread)) {
                    return found;
                }
                heads.changed().await.unwrap();
            }
        };
        let event = tokio::time::timeout(Duration::from_secs(60), wait).await;
        drop(tail);
        event.unwrap_or_else(|_| panic!("{:#?}", self.events(thread)))
    }
}

fn over(task: &'static str) -> impl Fn(&Value) -> bool {
    move |event| event["kind"] == "task-complete" && event["taskId"] == task
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: String::new(), schema: json!({}) }
}

fn calling(id: &str, tool: Tool) -> Agent {
    let calls = vec![(tool.spec.name.clone(), json!({"prompt": "please"}))];
    let lines =
        vec![Line { calls, ..Line::default() }, Line { say: "done".to_owned(), ..Line::default() }];
    let mut agent = Agent::new(id, Arc::new(Script::of(lines)));
    agent.tools = vec![Arc::new(tool)];
    agent
}

#[tokio::test]
async fn tasks_for_its_agents_are_done_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let house = House::open(&folder, vec![Agent::new("ada", Arc::new(Script::saying("hi")))]);
    house.ask("a", "ada").await;
    house.ask("b", "someone").await;
    let mine =
        json!({"kind": "task-created", "taskId": "u", "initiator": "user", "agentId": "ada"});
    house.append("b", Create::Never, &[mine]).await;
    assert_eq!(house.until("a", over("t")).await["content"], "hi");
    assert_eq!(house.events("b").len(), 3, "what others do is not done here");
}

#[tokio::test]
async fn an_agent_calls_another_and_goes_on_with_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    let ask_bob = Tool::new(spec("ask_bob"), Doer::Agent { id: "bob".to_owned() }).unwrap();
    let bob = Agent::new("bob", Arc::new(Script::saying("fine")));
    let house = House::open(&folder, vec![calling("ada", ask_bob), bob]);
    house.ask("a", "ada").await;
    assert_eq!(house.until("a", over("t")).await["content"], "done");
    let result = house.until("a", |event| event["kind"] == "tool-complete").await;
    assert_eq!(result["result"], "fine");
}

#[tokio::test]
async fn what_waits_is_taken_up_when_it_is_answered_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let agents = || {
        let mut tool = Tool::new(spec("look"), Doer::Client).unwrap();
        tool.consent = Consent::Needed;
        vec![calling("ada", tool)]
    };
    let answer = |input: &Value, value: Value| {
        json!({"kind": "input-received", "taskId": "t", "inputId": input, "providedBy": "user",
               "value": value})
    };
    let asked = |kind: &'static str| move |event: &Value| event["inputType"] == kind;
    let house = House::open(&folder, agents());
    house.ask("a", "ada").await;
    let consent = house.until("a", asked("confirmation")).await;
    house.append("a", Create::Never, &[answer(&consent["inputId"], json!(true))]).await;
    let look = house.until("a", asked("tool-execution")).await;
    house.close().await;
    let house = House::open(&folder, agents());
    house.append("a", Create::Never, &[answer(&look["inputId"], json!("a bird"))]).await;
    assert_eq!(house.until("a", over("t")).await["content"], "done");
    let ends: Vec<Value> =
        house.events("a").into_iter().filter(|e| e["kind"] == "tool-complete").collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0]["result"], "a bird");
}

#[tokio::test]
async fn an_agent_answers_a_threads_messages_one_after_the_other_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let agents = || vec![calling("ada", Tool::new(spec("look"), Doer::Client).unwrap())];
    let house = House::open(&folder, agents());
    house.ask("a", "ada").await;
    let look = house.until("a", |event| event["kind"] == "input-required").await;
    for (thread, task, agent) in [("a", "u", "ada"), ("a", "v", "ada"), ("b", "t", "ada")] {
        let made = json!({"kind": "task-created", "taskId": task, "initiator": "user",
                          "agentId": agent, "dispatched": true});
        house.append(thread, Create::IfMissing, &[made]).await;
    }
    // In another thread, nothing is waited for.
    house.until("b", |event| event["kind"] == "input-required").await;
    house.close().await;
    let house = House::open(&folder, agents());
    let begun = |house: &House| {
        let events = house.events("a").into_iter();
        let begun = events.filter(|e| e["kind"] == "step-started" && e["taskId"] != "t");
        begun.map(|e| e["taskId"].clone()).collect::<Vec<_>>()
    };
    assert!(begun(&house).is_empty());
    let answer = |task: &str, input: &Value| {
        json!({"kind": "input-received", "taskId": task, "inputId": input, "providedBy": "user",
               "value": "a bird"})
    };
    house.append("a", Create::Never, &[answer("t", &look["inputId"])]).await;
    house.until("a", over("t")).await;
    let look = |task: &'static str| {
        move |event: &Value| event["kind"] == "input-required" && event["taskId"] == task
    };
    let next = house.until("a", look("u")).await;
    assert_eq!(begun(&house), ["u"]);
    house.append("a", Create::Never, &[answer("u", &next["inputId"])]).await;
    house.until("a", look("v")).await;
    let events = house.events("a");
    let at = |found: &dyn Fn(&Value) -> bool| events.iter().position(found).unwrap();
    let first = at(&|e| e["kind"] == "step-started" && e["taskId"] == "v");
    assert!(at(&over("u")) < first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_tasks_at_once_all_end() {
    let folder = tempfile::tempdir().unwrap();
    let house = House::open(&folder, vec![Agent::new("ada", Arc::new(Script::saying("hi there")))]);
    for i in 0..1000 {
        house.ask(&format!("t{i}"), "ada").await;
    }
    for i in 0..1000 {
        house.until(&format!("t{i}"), over("t")).await;
    }
}
