//! A reader who comes again with the last id it was given, until nothing more is to come.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Client;
use selvedge_protocol::sse::{Cutter, Frame};

use super::Random;

/// What a view shows: an id and a digest of id and data for each of its events.
pub(super) type Shown = Vec<(String, u64)>;

/// How long nothing may come until a reader looks whether it is to end.
const LOOK: Duration = Duration::from_millis(250);

/// Where readers find the server now, and whether they are to end.
pub(super) struct Scene {
    pub(super) client: Client,
    url: Mutex<String>,
    /// Nothing more is written.
    last: AtomicBool,
    /// How often readers have come again.
    pub(super) resumed: AtomicU64,
}

impl Scene {
    pub(super) fn new(client: &Client, url: &str) -> Arc<Self> {
        Arc::new(Self {
            client: client.clone(),
            url: Mutex::new(url.to_owned()),
            last: AtomicBool::new(false),
            resumed: AtomicU64::new(0),
        })
    }

    pub(super) fn url(&self) -> String {
        self.url.lock().unwrap().clone()
    }

    pub(super) fn moved(&self, url: &str) {
        url.clone_into(&mut self.url.lock().unwrap());
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

/// Follows a view until all there is was shown; what was shown. Connections that break, for
/// whatever reason, are made again.
pub(super) async fn follow(
    scene: Arc<Scene>,
    path: String,
    mut patience: Patience,
) -> Result<Shown, String> {
    let mut shown = Shown::new();
    let mut last: Option<String> = None;
    loop {
        // What was written before this connection is shown on it before it is caught up.
        let is_last = scene.ends();
        let mut left = match &mut patience {
            Patience::Endless => u64::MAX,
            Patience::Random(_) if is_last => u64::MAX,
            Patience::Random(random) => 1 + random.below(400),
        };
        let mut request = scene.client.get(format!("{}{path}", scene.url()));
        if let Some(last) = &last {
            request = request.header("Last-Event-ID", last);
            scene.resumed.fetch_add(1, Ordering::Relaxed);
        }
        let Ok(mut response) = request.send().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        if response.status() != 200 {
            return Err(format!("{path} after {last:?}: {}", response.status()));
        }
        let mut cutter = Cutter::unlimited();
        let mut caught_up = false;
        let mut trouble = None;
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
                        other => trouble = Some(format!("{path}: `{other}`: {}", frame.data)),
                    }
                    return;
                };
                if !frame.data.is_empty() {
                    let mut digest = DefaultHasher::new();
                    (&id, &frame.event, &frame.data).hash(&mut digest);
                    shown.push((id.clone(), digest.finish()));
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
            return Ok(shown);
        }
    }
}

/// Where two readers saw something else; none if they saw the same.
pub(super) fn difference(one: &Shown, other: &Shown) -> Option<String> {
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
