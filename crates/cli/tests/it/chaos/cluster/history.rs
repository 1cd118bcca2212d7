//! Clients of all nodes that write down what they asked for, when, and what came of it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::linear::{Act, Came, What, contradictions};
use crate::chaos::follow::Scene;
use crate::chaos::kills::read_on;
use crate::chaos::{Random, Report};

/// Clients of each thread.
const CLIENTS: usize = 4;
/// How long one waits for an answer: longer than a node is stopped for, so that what it says when it
/// goes on is heard.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two requests of a client: the checker is to see many turns of fate, not many appends.
const REST: Duration = Duration::from_millis(5);

/// The history of one thread, in the making.
pub(super) struct History {
    thread: usize,
    scene: Arc<Scene>,
    began: Instant,
    stop: AtomicBool,
    names: AtomicUsize,
    acts: Mutex<Vec<Act>>,
}

/// One whose clients are at work.
pub(super) struct Recording(Arc<History>, Vec<JoinHandle<()>>);

impl Recording {
    /// Sends clients off to a thread that nobody else writes to.
    pub(super) fn begin(scene: &Arc<Scene>, thread: usize, random: &mut Random) -> Self {
        let history = Arc::new(History {
            thread,
            scene: scene.clone(),
            began: Instant::now(),
            stop: AtomicBool::new(false),
            names: AtomicUsize::new(0),
            acts: Mutex::default(),
        });
        let clients = (0..CLIENTS).map(|_| {
            let (history, random) = (history.clone(), random.other());
            tokio::spawn(async move { history.client(random).await })
        });
        let clients = clients.collect();
        Self(history, clients)
    }

    /// Waits for the clients and judges what they saw; how many acts that were, and how many of
    /// them had an outcome that nobody knows.
    pub(super) async fn judge(self, report: &mut Report) -> (usize, usize) {
        let Self(history, clients) = self;
        history.stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.await.unwrap();
        }
        let mut journal = Vec::new();
        read_on(&history.scene, history.thread, &mut journal, report).await;
        let acts = std::mem::take(&mut *history.acts.lock().unwrap());
        for wrong in contradictions(&journal, &acts) {
            report.hold(false, || format!("t{}: not one by one: {wrong}", history.thread));
        }
        let unknown = acts.iter().filter(|act| act.came == Came::Unknown).count();
        (acts.len(), unknown)
    }
}

impl History {
    /// Asks for one thing after the other.
    async fn client(&self, mut random: Random) {
        // The thread's epoch, and the last end that this client knows of.
        let (mut epoch, mut end) = (None, 0);
        while !self.stop.load(Ordering::Relaxed) {
            let (what, key, node) = (random.below(10), random.below(2) == 0, self.scene.url());
            let asked = self.began.elapsed();
            let (what, came) = match what {
                0..3 => (What::Read, self.read(&node, &mut epoch).await),
                kind => {
                    let number = self.names.fetch_add(1, Ordering::Relaxed);
                    let count = 1 + random.below(3);
                    let names: Vec<_> = (0..count).map(|i| format!("h{number}.{i}")).collect();
                    let behind = (kind >= 6).then_some(end);
                    let key = key.then(|| format!("h{number}"));
                    let came = self.append(&names, behind, key, epoch.as_deref(), node).await;
                    (What::Append { names, behind }, came)
                }
            };
            let answered = (came != Came::Unknown).then(|| self.began.elapsed());
            if let Came::Put(_, now) | Came::End(now) | Came::Refused(now) = came {
                end = now;
            }
            self.acts.lock().unwrap().push(Act { what, asked, answered, came });
            tokio::time::sleep(REST).await;
        }
    }

    fn url(&self, node: &str) -> String {
        format!("{node}/api/threads/t{}/events", self.thread)
    }

    async fn read(&self, node: &str, epoch: &mut Option<String>) -> Came {
        let url = format!("{}?limit=1", self.url(node));
        let request = self.scene.client.get(url).timeout(PATIENCE);
        let Ok(answer) = request.send().await else { return Came::Unknown };
        if answer.status().is_server_error() {
            return Came::Unknown;
        }
        assert_eq!(answer.status().as_u16(), 200);
        let Ok(text) = answer.text().await else { return Came::Unknown };
        let page: Value = serde_json::from_str(&text).unwrap();
        let cursor = page["cursor"].as_str().unwrap();
        *epoch = Some(cursor.split_once('.').unwrap().0.to_owned());
        Came::End(page["head"].as_u64().unwrap())
    }

    /// Appends; one with a key comes again, to another node, until it is told what became of it.
    async fn append(
        &self,
        names: &[String],
        behind: Option<u64>,
        key: Option<String>,
        epoch: Option<&str>,
        mut node: String,
    ) -> Came {
        let event =
            |name| json!({"kind": "content-delta", "taskId": "k", "delta": format!("{name} ")});
        let body = Value::Array(names.iter().map(event).collect()).to_string();
        let until = Instant::now() + PATIENCE * 2;
        loop {
            let mut request = self.scene.client.post(self.url(&node)).timeout(PATIENCE);
            if let Some(behind) = behind {
                let expected =
                    epoch.map_or(behind.to_string(), |epoch| format!("\"{epoch}.{behind}\""));
                request = request.header("If-Match", expected);
            }
            if let Some(key) = &key {
                request = request.header("Idempotency-Key", key);
            }
            if let Some(came) = told(request.body(body.clone())).await {
                return came;
            }
            if key.is_none() || Instant::now() > until {
                return Came::Unknown;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            node = self.scene.url();
        }
    }
}

/// What an append is told; none if nobody knows what became of it.
async fn told(request: reqwest::RequestBuilder) -> Option<Came> {
    let answer = request.send().await.ok()?;
    let status = answer.status().as_u16();
    if status >= 500 {
        return None;
    }
    let text = answer.text().await.ok()?;
    let told: Value = serde_json::from_str(&text).unwrap();
    match status {
        200 => Some(Came::Put(told["first"].as_u64().unwrap(), told["last"].as_u64().unwrap())),
        409 => {
            let head = told["error"]["details"]["head"].as_u64();
            Some(Came::Refused(head.unwrap_or_else(|| panic!("{text}"))))
        }
        _ => panic!("{status}: {text}"),
    }
}
