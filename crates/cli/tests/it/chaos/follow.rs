//! A reader who comes again with the last id it was given, until nothing more is to come; and
//! waiting for one, which tells a slow one from one that is stuck.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Client;
use selvedge_protocol::sse::{Cutter, Frame};
use tokio::task::JoinHandle;

use super::{Random, Report};

/// What a view shows: an id and a digest of id and data for each of its events.
pub(super) type Shown = Vec<(String, u64)>;

/// How long nothing may come until a reader looks whether it is to end.
const LOOK: Duration = Duration::from_millis(250);

/// How long a reader may be without anything new until it is looked at. However long it takes, one
/// that something comes to is only slow.
const STILL: Duration = Duration::from_secs(120);

/// Where readers find the server now, or its nodes, and whether they are to end.
pub(super) struct Scene {
    pub(super) client: Client,
    urls: Mutex<Vec<String>>,
    /// Whose turn it is.
    turn: AtomicUsize,
    /// Nothing more is written.
    last: AtomicBool,
    /// How often readers have come again.
    pub(super) resumed: AtomicU64,
}

impl Scene {
    pub(super) fn new(client: &Client, url: &str) -> Arc<Self> {
        Self::of_nodes(client, vec![url.to_owned()])
    }

    /// Several nodes, of which each takes its turn.
    pub(super) fn of_nodes(client: &Client, urls: Vec<String>) -> Arc<Self> {
        Arc::new(Self {
            client: client.clone(),
            urls: Mutex::new(urls),
            turn: AtomicUsize::new(0),
            last: AtomicBool::new(false),
            resumed: AtomicU64::new(0),
        })
    }

    pub(super) fn url(&self) -> String {
        let urls = self.urls.lock().unwrap();
        urls[self.turn.fetch_add(1, Ordering::Relaxed) % urls.len()].clone()
    }

    pub(super) fn moved(&self, url: &str) {
        self.node_moved(0, url);
    }

    /// One of the nodes is elsewhere now.
    pub(super) fn node_moved(&self, node: usize, url: &str) {
        url.clone_into(&mut self.urls.lock().unwrap()[node]);
    }

    /// Whether there is another one to ask when one cannot answer.
    pub(super) fn has_others(&self) -> bool {
        self.urls.lock().unwrap().len() > 1
    }

    /// Readers end as soon as they have all there is.
    pub(super) fn end(&self) {
        self.last.store(true, Ordering::Relaxed);
    }

    fn ends(&self) -> bool {
        self.last.load(Ordering::Relaxed)
    }
}

/// How patient a reader is with a connection.
pub(super) enum Patience {
    /// It stays while the connection does.
    Endless,
    /// It leaves after some of its events.
    Random(Random),
}

/// A reader at work.
pub(super) struct Reader {
    scene: Arc<Scene>,
    pub(super) path: String,
    progress: Arc<Mutex<Progress>>,
    task: JoinHandle<Result<(), String>>,
}

/// How far a reader is.
#[derive(Default)]
struct Progress {
    shown: Shown,
    /// What it waits for.
    doing: String,
}

impl Reader {
    /// Sends one off.
    pub(super) fn spawn(scene: &Arc<Scene>, path: String, patience: Patience) -> Self {
        let progress = Arc::new(Mutex::new(Progress::default()));
        let task = follow(scene.clone(), path.clone(), patience, progress.clone());
        Self { scene: scene.clone(), path, progress, task: tokio::spawn(task) }
    }

    /// Waits for all that it is shown, which is so much at most; otherwise what stopped it.
    async fn end(&mut self, most: usize) -> Result<Shown, Stop> {
        let mut seen = self.seen();
        loop {
            match tokio::time::timeout(STILL, &mut self.task).await {
                Ok(Ok(Ok(()))) => return Ok(std::mem::take(&mut self.lock().shown)),
                Ok(Ok(Err(trouble))) => return Err(Stop::Trouble(trouble)),
                Ok(Err(panic)) => return Err(Stop::Trouble(panic.to_string())),
                Err(_) if self.seen() > most => {
                    return Err(Stop::Trouble(format!("more than the {most} events there are")));
                }
                Err(_) if self.seen() > seen => seen = self.seen(),
                Err(_) => return Err(Stop::Still(self.lock().doing.clone())),
            }
        }
    }

    fn seen(&self) -> usize {
        self.lock().shown.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap()
    }

    /// Waits for it to come to an end, and checks that it has seen what a new reader sees. Says how
    /// many events that were, if it has.
    pub(super) async fn judge(mut self, whole: &Shown, report: &mut Report) -> Option<usize> {
        let stop = match self.end(whole.len()).await {
            Ok(shown) => {
                let wrong = difference(&shown, whole);
                let own = &self.path;
                report.hold(wrong.is_none(), || format!("{own}: {}", wrong.unwrap_or_default()));
                return (shown == *whole).then_some(shown.len());
            }
            Err(stop) => stop,
        };
        self.task.abort();
        match stop {
            Stop::Trouble(trouble) => report.hold(false, || format!("{}: {trouble}", self.path)),
            Stop::Still(doing) => self.still(&doing, whole, report).await,
        }
        None
    }

    /// Nothing comes to it any more: its own doing if another one gets all of it meanwhile.
    async fn still(&self, doing: &str, whole: &Shown, report: &mut Report) {
        let shown = std::mem::take(&mut self.lock().shown);
        let is_part = whole.starts_with(&shown);
        let wrong = difference(&shown, whole).unwrap_or_default();
        report.hold(is_part, || format!("{}: {wrong}", self.path));
        let began = Instant::now();
        let mut other = Self::spawn(&self.scene, self.path.clone(), Patience::Endless);
        let other = other.end(whole.len()).await;
        let (took, path, seen) = (began.elapsed(), &self.path, shown.len());
        let text = format!("{path}: nothing for {STILL:?} after {seen} of {} events", whole.len());
        match other {
            Ok(_) => report.hold(false, || {
                format!("{text} while it {doing}; a new reader had all of it in {took:?}")
            }),
            Err(Stop::Trouble(trouble)) => {
                report.hold(false, || format!("{text} while it {doing}; a new reader: {trouble}"));
            }
            Err(Stop::Still(_)) => {
                report.unjudged(&format!("{text} while it {doing}; nor for a new reader"));
            }
        }
    }
}

/// Why a reader has not come to an end.
enum Stop {
    Trouble(String),
    /// Nothing comes; what it waits for.
    Still(String),
}

/// What a new reader sees when nothing more is written; none if it does not come to an end, which
/// is told.
pub(super) async fn whole(scene: &Arc<Scene>, path: &str, report: &mut Report) -> Option<Shown> {
    let mut reader = Reader::spawn(scene, path.to_owned(), Patience::Endless);
    match reader.end(usize::MAX).await {
        Ok(shown) => return Some(shown),
        Err(Stop::Trouble(trouble)) => report.hold(false, || format!("a new reader: {trouble}")),
        Err(Stop::Still(doing)) => {
            report.unjudged(&format!("{path}: nothing for {STILL:?} while a new reader {doing}"));
        }
    }
    reader.task.abort();
    None
}

/// Follows a view until all there is was shown. Connections that break, for whatever reason, are
/// made again.
async fn follow(
    scene: Arc<Scene>,
    path: String,
    mut patience: Patience,
    progress: Arc<Mutex<Progress>>,
) -> Result<(), String> {
    let mut last: Option<String> = None;
    loop {
        // What was written before this connection is shown on it before it is caught up.
        let is_last = scene.ends();
        let mut left = match &mut patience {
            Patience::Endless => u64::MAX,
            Patience::Random(_) if is_last => u64::MAX,
            Patience::Random(random) => 1 + random.below(400),
        };
        let url = scene.url();
        progress.lock().unwrap().doing = format!("asked {url} after {last:?}");
        let mut request = scene.client.get(format!("{url}{path}"));
        if let Some(last) = &last {
            request = request.header("Last-Event-ID", last);
            scene.resumed.fetch_add(1, Ordering::Relaxed);
        }
        let Ok(mut response) = request.send().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        if response.status().is_server_error() && scene.has_others() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        if response.status() != 200 {
            return Err(format!("{url} after {last:?}: {}", response.status()));
        }
        let mut cutter = Cutter::unlimited();
        let mut caught_up = false;
        let mut trouble = None;
        progress.lock().unwrap().doing =
            format!("read from {url} after {last:?}, for the last time: {is_last}");
        while left > 0 && !(is_last && caught_up) && trouble.is_none() {
            let piece = match tokio::time::timeout(LOOK, response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(_) => break,
                // Nothing came: there may be nothing more.
                Err(_) if scene.ends() && !is_last => break,
                Err(_) => continue,
            };
            let cut = cutter.push(&piece, |event| {
                let Some(frame) = Frame::read(&String::from_utf8_lossy(event)) else { return };
                let Some(id) = frame.id else {
                    match &*frame.event {
                        "caught-up" => caught_up = true,
                        other => trouble = Some(format!("`{other}`: {}", frame.data)),
                    }
                    return;
                };
                if !frame.data.is_empty() {
                    let mut digest = DefaultHasher::new();
                    (&id, &frame.event, &frame.data).hash(&mut digest);
                    progress.lock().unwrap().shown.push((id.clone(), digest.finish()));
                    left = left.saturating_sub(1);
                }
                last = Some(id);
            });
            cut.map_err(|_| "an event without an end".to_owned())?;
        }
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        if is_last && caught_up {
            return Ok(());
        }
    }
}

/// Where two readers saw something else; none if they saw the same.
fn difference(one: &Shown, other: &Shown) -> Option<String> {
    if one == other {
        return None;
    }
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let near = |shown: &Shown| {
        let ids: Vec<_> = shown.iter().skip(same).take(3).map(|(id, _)| id.clone()).collect();
        format!("{} events, then {ids:?}", shown.len())
    };
    Some(format!("the same up to {same}: {} and {}", near(one), near(other)))
}
