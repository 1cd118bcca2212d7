//! `kill -9` at random moments under load: nothing acknowledged is lost, nothing is there twice,
//! sequences have no hole, and whoever resumes sees exactly the journal.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::follow::{Patience, Reader, Scene, Shown, whole};
use super::{Place, Plan, Random, Report, address, start, thread, verified};

pub(super) const THREADS: usize = 4;
pub(super) const WRITERS: usize = 12;
/// Kills of one journal. Then another begins, so that a long run needs no more room than a short.
const UNIT: u32 = 10;
pub(super) const VIEWS: [&str; 2] = ["", "?dialect=ai-sdk-stream"];

/// What all tasks share.
pub(super) struct Load {
    pub(super) scene: Arc<Scene>,
    pub(super) stop: AtomicBool,
    /// Names of acknowledged events by thread and sequence number.
    acknowledged: Mutex<Vec<HashMap<u64, String>>>,
    pub(super) retried: AtomicU64,
    /// How long a writer waits for an answer.
    patience: Duration,
    pauses: Mutex<Pauses>,
}

/// When something was acknowledged last, and the longest time that nothing was.
struct Pauses {
    last: Instant,
    longest: Duration,
}

impl Load {
    pub(super) fn new(scene: &Arc<Scene>, patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            scene: scene.clone(),
            stop: AtomicBool::new(false),
            acknowledged: Mutex::new(vec![HashMap::new(); THREADS]),
            retried: AtomicU64::new(0),
            patience,
            pauses: Mutex::new(Pauses { last: Instant::now(), longest: Duration::ZERO }),
        })
    }

    /// Sends writers off.
    pub(super) fn writers(self: &Arc<Self>, random: &mut Random) -> Vec<JoinHandle<()>> {
        let write = |writer| tokio::spawn(write(self.clone(), writer, random.other()));
        (0..WRITERS).map(write).collect()
    }

    /// The longest time that nothing was acknowledged to anyone.
    pub(super) fn longest_pause(&self) -> Duration {
        self.pauses.lock().unwrap().longest
    }

    fn note(&self) {
        let mut pauses = self.pauses.lock().unwrap();
        pauses.longest = pauses.longest.max(pauses.last.elapsed());
        pauses.last = Instant::now();
    }
}

/// What was done in all.
#[derive(Default)]
struct Total {
    kills: u32,
    early: u32,
    events: usize,
    resumed: u64,
    retried: u64,
    forks: usize,
}

pub(super) async fn run(plan: &Plan, mut random: Random, client: &Client, report: &mut Report) {
    let (mut total, began) = (Total::default(), Instant::now());
    while total.kills < plan.kills || began.elapsed() < plan.at_least {
        unit(UNIT.min(plan.kills), &mut random, client, report, &mut total).await;
        eprintln!(
            "    {} kills in {} s: {} events, {} violations",
            total.kills,
            began.elapsed().as_secs(),
            total.events,
            report.violations.len()
        );
    }
    report.tried(format!(
        "kills: {} in {} s ({} of them while it started), {} events acknowledged by {WRITERS} \
         writers, {} requests tried again, {} readers' resumptions, {} forks",
        total.kills,
        began.elapsed().as_secs(),
        total.early,
        total.events,
        total.retried,
        total.resumed,
        total.forks,
    ));
}

/// Some kills of one journal.
async fn unit(
    kills: u32,
    random: &mut Random,
    client: &Client,
    report: &mut Report,
    total: &mut Total,
) {
    let place = Place::new(&format!("kills-{}", total.kills), report);
    let db = place.db();
    let mut server = start(&db);
    let scene = Scene::new(client, &server.url);
    let load = Load::new(&scene, Duration::from_secs(30));
    for number in 0..THREADS {
        thread(client, &server.url, &format!("t{number}")).await;
    }
    let readers: Vec<_> = (0..THREADS * 2 * VIEWS.len())
        .map(|n| {
            let path = format!("/api/threads/t{}/stream{}", n % THREADS, VIEWS[n / THREADS % 2]);
            Reader::spawn(&scene, path, Patience::Endless)
        })
        .collect();
    let writers = load.writers(random);
    let mut journals = vec![Vec::new(); THREADS];
    let began = total.kills;
    let mut log = String::new();
    while total.kills < began + kills {
        sleep(Duration::from_millis(20 + random.below(700))).await;
        log = server.kill();
        total.kills += 1;
        // Sometimes it does not even come to listen.
        if random.below(5) == 0 {
            killed_early(&db, random.below(120)).await;
            total.kills += 1;
            total.early += 1;
        }
        server = start(&db);
        scene.moved(&server.url);
        for (number, journal) in journals.iter_mut().enumerate() {
            let known = load.acknowledged.lock().unwrap()[number].clone();
            read_on(&scene, number, journal, report).await;
            check(report, number, journal, &known);
        }
    }
    load.stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    for (number, journal) in journals.iter_mut().enumerate() {
        *journal = ended(&load, number, std::mem::take(journal), report).await;
        total.events += journal.len();
        total.forks += forked(&load, number, journal, random, report).await;
    }
    judge(&scene, readers, &journals, report).await;
    verified(report, &["--url", &server.url]);
    server.kill();
    verified(report, &["--db", db.to_str().unwrap()]);
    total.resumed += scene.resumed.load(Ordering::Relaxed);
    total.retried += load.retried.load(Ordering::Relaxed);
    std::fs::write(place.path.join("log"), log).unwrap();
    place.done(report);
}

/// Waits for readers to come to an end, who must have seen what a new one sees: all there is.
pub(super) async fn judge(
    scene: &Arc<Scene>,
    readers: Vec<Reader>,
    journals: &[Vec<String>],
    report: &mut Report,
) {
    scene.end();
    let mut all: HashMap<String, Option<Shown>> = HashMap::new();
    for reader in readers {
        let path = reader.path.clone();
        if !all.contains_key(&path) {
            let shown = whole(scene, &path, report).await;
            all.insert(path.clone(), shown);
        }
        if let Some(whole) = &all[&path] {
            reader.judge(whole, report).await;
        }
    }
    for (number, journal) in journals.iter().enumerate() {
        let Some(shown) = &all[&format!("/api/threads/t{number}/stream")] else { continue };
        let (seen, there) = (shown.len(), journal.len());
        report.hold(seen == there, || format!("t{number}: {seen} of {there} are streamed"));
    }
}

/// Starts the server and kills it before it has said anything.
async fn killed_early(db: &Path, after: u64) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(["serve", "--listen", &address(), "--db", db.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    sleep(Duration::from_millis(after)).await;
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Appends under one key after the other, each until it is acknowledged.
async fn write(load: Arc<Load>, writer: usize, mut random: Random) {
    let number = writer % THREADS;
    for n in 0.. {
        if load.stop.load(Ordering::Relaxed) {
            return;
        }
        let name = format!("w{writer}-{n}");
        let events: Vec<Value> = (0..1 + random.below(3))
            .map(|i| {
                let delta = format!("{name}.{i} {}", "x".repeat(random.below(300) as usize));
                json!({"kind": "content-delta", "taskId": format!("k{writer}"), "delta": delta})
            })
            .collect();
        let body = Value::Array(events).to_string();
        loop {
            let url = format!("{}/api/threads/t{number}/events", load.scene.url());
            let request = load.scene.client.post(url).header("Idempotency-Key", &name);
            let request = request.timeout(load.patience).body(body.clone());
            if let Ok(response) = request.send().await
                && response.status() == 200
                && let Ok(text) = response.text().await
                && let Ok(answer) = serde_json::from_str::<Value>(&text)
            {
                let (first, last) = (answer["first"].as_u64(), answer["last"].as_u64());
                load.note();
                let mut known = load.acknowledged.lock().unwrap();
                for (i, seq) in (first.unwrap()..=last.unwrap()).enumerate() {
                    known[number].insert(seq, format!("{name}.{i}"));
                }
                break;
            }
            load.retried.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Reads what a journal has more than was known; by name where its events have one.
pub(super) async fn read_on(
    scene: &Scene,
    number: usize,
    journal: &mut Vec<String>,
    report: &mut Report,
) {
    let name = format!("t{number}");
    let mut epoch = None;
    loop {
        let after = match &epoch {
            Some(epoch) => format!("&after={epoch}.{}", journal.len()),
            None if journal.is_empty() => String::new(),
            None => {
                let shown = get(scene, &format!("/api/threads/{name}")).await;
                let cursor = shown["cursor"].as_str().unwrap().to_owned();
                epoch = Some(cursor.split('.').next().unwrap().to_owned());
                continue;
            }
        };
        let path = format!("/api/threads/{name}/events?limit=10000{after}");
        let page = get(scene, &path).await;
        let entries = page["entries"].as_array().unwrap_or_else(|| panic!("{path}: {page}"));
        for entry in entries {
            let next = journal.len() as u64 + 1;
            report.hold(entry["seq"] == next, || format!("{name}: a hole before {next}: {entry}"));
            let delta = entry["event"]["delta"].as_str().unwrap_or("");
            journal.push(delta.split(' ').next().unwrap_or("").to_owned());
        }
        if entries.is_empty() || journal.len() as u64 == page["head"].as_u64().unwrap() {
            return;
        }
    }
}

async fn get(scene: &Scene, path: &str) -> Value {
    let began = Instant::now();
    loop {
        let answer = scene.client.get(format!("{}{path}", scene.url())).send().await.unwrap();
        // Where there are others, one of them can answer, or will soon.
        let waits = scene.has_others() && began.elapsed() < Duration::from_secs(60);
        if answer.status().is_server_error() && waits {
            sleep(Duration::from_millis(50)).await;
            continue;
        }
        return serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    }
}

/// Whether all that was acknowledged is in the journal, at its place.
fn check(report: &mut Report, number: usize, journal: &[String], known: &HashMap<u64, String>) {
    for (seq, name) in known {
        let found = journal.get(*seq as usize - 1);
        report.hold(found == Some(name), || {
            format!("t{number}: {name} was acknowledged at {seq}, where there is {found:?}")
        });
    }
}

/// The whole journal, when nothing more is written: what was read before, and each event once.
pub(super) async fn ended(
    load: &Load,
    number: usize,
    mut before: Vec<String>,
    report: &mut Report,
) -> Vec<String> {
    read_on(&load.scene, number, &mut before, report).await;
    let mut journal = Vec::new();
    read_on(&load.scene, number, &mut journal, report).await;
    report.hold(journal == before, || format!("t{number}: what was read before has changed"));
    let known = load.acknowledged.lock().unwrap()[number].clone();
    check(report, number, &journal, &known);
    let said = journal.iter().filter(|name| !name.is_empty()).count();
    report.hold(said == known.len(), || {
        format!("t{number}: {said} events, of which {} were acknowledged", known.len())
    });
    journal
}

/// Branches off somewhere: the past is shared.
pub(super) async fn forked(
    load: &Load,
    number: usize,
    journal: &[String],
    random: &mut Random,
    report: &mut Report,
) -> usize {
    let at = 1 + random.below(journal.len() as u64);
    let url = format!("{}/api/threads/t{number}/fork", load.scene.url());
    let body = format!("{{\"id\":\"f{number}\",\"at\":{at}}}");
    let made = load.scene.client.post(url).body(body).send().await.unwrap();
    assert_eq!(made.status().as_u16(), 201, "{}", made.text().await.unwrap());
    let page = get(&load.scene, &format!("/api/threads/f{number}/events?limit=10000")).await;
    let entries = page["entries"].as_array().unwrap();
    let same = entries.iter().zip(&journal[..at as usize]).all(|(entry, name)| {
        entry["event"]["delta"].as_str().unwrap_or("").split(' ').next() == Some(name)
    });
    report.hold(same, || format!("f{number}: a branch of t{number} at {at} has another past"));
    1
}
