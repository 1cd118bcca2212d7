//! Telling of tasks by requests of our own: in order, again where nobody took it, and on from
//! there after a restart.
//!
//! Owned by whoever serves, and ends with it.
//!
//! Invariant: a config is told one thing at a time, by one node at a time, and the next only when
//! the one before was taken or given up with all that follows; how far it has come is written down
//! in between.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use http::HeaderMap;
use selvedge_agents::tool::http::screen;
use selvedge_store::Push;
use serde_json::json;

use super::caller::{Caller, Version};
use super::config::{Config, reach};
use super::push::opened;
use super::relay::{Relay, body};
use super::snapshot::{Found, find};
use super::stream::whole;
use super::tasks::folded;
use crate::auth::Principal;
use crate::query::Query;
use crate::turn::{Until, Writing};
use crate::view::Start;
use crate::{App, Error};
use selvedge_protocol::json::Doc;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The first and the longest wait before something is tried again.
const WAIT: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
/// How long something is tried before it is given up.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How often it is looked for more to do, if nobody says so, and the same where other nodes may
/// have been asked, or have died.
const PERIOD: Duration = Duration::from_secs(30);
const PERIOD_SHARED: Duration = Duration::from_secs(2);
/// After so long without a word, another node may have taken over.
const TRUSTED: Duration = Duration::from_secs(2);

/// Which config, at which setting of it.
type Name = (i64, String, String, Vec<u8>);

/// Tells everyone, as long as it serves.
pub(crate) async fn keep(app: App) {
    // All of them end with this, at once.
    let mut telling: FuturesUnordered<BoxFuture<'_, Name>> = FuturesUnordered::new();
    let mut known: HashSet<Name> = HashSet::new();
    let period = if app.store().is_shared() { PERIOD_SHARED } else { PERIOD };
    loop {
        let shared = app.clone();
        match app.blocking(move |_| Ok(shared.pushes().open_ones()?)).await {
            Ok(open) => {
                for push in open {
                    let name = name(&push);
                    if known.insert(name.clone()) {
                        let app = &app;
                        telling.push(
                            async move {
                                match claimed(app, &push).await {
                                    Some(push) => tell(app, push).await,
                                    // Another node is at it, as long as it lives.
                                    None => tokio::time::sleep(PERIOD_SHARED).await,
                                }
                                name
                            }
                            .boxed(),
                        );
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "could not look for whom to tell of tasks"),
        }
        tokio::select! {
            () = app.push_news().notified() => {}
            () = tokio::time::sleep(period) => {}
            Some(ended) = telling.next() => {
                known.remove(&ended);
            }
        }
    }
}

fn name(push: &Push) -> Name {
    (push.thread, push.task.clone(), push.id.clone(), push.sealed.clone())
}

/// What a config is claimed by.
fn claim(push: &Push) -> String {
    format!("push/{}/{}/{}", push.task.len(), push.task, push.id)
}

/// A config as it is now, if this node may tell it.
async fn claimed(app: &App, push: &Push) -> Option<Push> {
    if !app.store().is_shared() {
        return Some(push.clone());
    }
    let (shared, own) = (app.clone(), push.clone());
    let now = app.blocking(move |store| {
        if !store.claim(own.thread, &claim(&own))? {
            return Ok(None);
        }
        // Whoever had it before may have told more.
        Ok(shared.pushes().get(own.thread, &own.task, &own.id)?)
    });
    now.await.ok().flatten().filter(|now| now.sealed == push.sealed && !now.over)
}

/// Tells one config all there is.
async fn tell(app: &App, mut push: Push) {
    match follow(app, &mut push).await {
        Ok(()) => {}
        Err(error) => {
            tracing::warn!(%error, "someone could not be told of a task");
            let told = push.told.clone();
            note(app, &mut push, told, true).await;
        }
    }
    if app.store().is_shared() {
        let _ = app.blocking(move |store| Ok(store.release(push.thread, &claim(&push))?)).await;
    }
}

async fn follow(app: &App, push: &mut Push) -> Result<(), String> {
    let config = opened(app, push).await.map_err(|error| error.to_string())?;
    let version = Version::named(&config.version);
    let mut principal = Principal::anyone();
    principal.tenant = push.tenant.as_str().into();
    principal.sees = selvedge_protocol::journal::Visibility::Participants;
    let caller = Caller::new(app.clone(), principal, version, &HeaderMap::new(), &Query::new(None));
    let caller = caller.map_err(|error| error.to_string())?;
    let found = find(&caller, &push.task).await.map_err(|fault| fault.message)?;
    if found.thread.num != push.thread {
        return Err("its thread is gone".to_owned());
    }
    let start: Start = push.told.parse().map_err(|error: Error| error.to_string())?;
    let client = screen::client(reach(app))?;
    let mut records = read(&caller, &found, start).await?;
    let mut told = push.told.clone();
    let mut trusted = Instant::now();
    while let Some((place, record)) = records.next().await {
        if trusted.elapsed() > TRUSTED && claimed(app, push).await.is_none() {
            return Ok(());
        }
        let body = match version {
            Version::V1 => Some(record),
            Version::V03 => as_task(&caller, &found, &place, &record).await,
        };
        if let Some(body) = body {
            posted(app, push, &client, &config, body).await?;
        }
        told = place;
        if !note(app, push, told.clone(), false).await {
            return Ok(());
        }
        trusted = Instant::now();
    }
    let over = find(&caller, &push.task).await.is_ok_and(|found| found.task.ended.is_some());
    note(app, push, told, over).await;
    Ok(())
}

/// What is told of a task, with the place that each brings its reader to.
async fn read(
    caller: &Caller,
    found: &Found,
    start: Start,
) -> Result<futures_util::stream::BoxStream<'static, (String, String)>, String> {
    let turn = whole(found, Until::Over);
    let kind = caller.kind(&found.context, &found.task.id, turn.after);
    let mut relay = Relay::new(caller.version, caller.extension, &found.task.id);
    let writing = Writing {
        frame: Box::new(move |frame, out| {
            if let Some(told) = relay.pass(frame.data, frame.id) {
                out.push_str(&format!("{}\t{told}\n", frame.id));
            }
        }),
        end: Box::new(|_| {}),
    };
    let written = turn.written(&caller.app, kind, start, writing).await;
    let bytes = written.map_err(|error| error.to_string())?.into_body().into_data_stream();
    let lines = bytes.filter_map(|piece| async move { piece.ok() }).flat_map(|piece| {
        let text = String::from_utf8_lossy(&piece).into_owned();
        let pairs: Vec<_> = text
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(place, record)| (place.to_owned(), record.to_owned()))
            .collect();
        futures_util::stream::iter(pairs)
    });
    Ok(lines.boxed())
}

/// 0.3 tells the whole task, when its state changes.
async fn as_task(caller: &Caller, found: &Found, place: &str, record: &str) -> Option<String> {
    let doc = Doc::parse(record).ok()?;
    let (kind, _) = body(doc.root(), caller.version)?;
    if kind == "artifactUpdate" {
        return None;
    }
    let seq = place.split('.').nth(1)?.parse().ok()?;
    let (own, found) = (caller.clone(), found.clone());
    let task = caller.app.blocking(move |store| folded(store, &own, &found, seq)).await.ok()?;
    Some(json!(task).to_string())
}

/// Posts something until it is taken; what is not for too long is given up.
async fn posted(
    app: &App,
    push: &Push,
    client: &reqwest::Client,
    config: &Config,
    body: String,
) -> Result<(), String> {
    let began = Instant::now();
    let mut wait = WAIT;
    loop {
        let mut request = client
            .post(&config.url)
            .timeout(TIMEOUT)
            .header("content-type", "application/json")
            .header("a2a-version", &config.version)
            .body(body.clone());
        if let Some(token) = &config.token {
            request = request.header("x-a2a-notification-token", token);
        }
        if let Some(credentials) = &config.credentials {
            let scheme = config.scheme.as_deref().unwrap_or("Bearer");
            request = request.header("authorization", format!("{scheme} {credentials}"));
        }
        let why = match request.send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            // Nothing that comes later would be taken either.
            Ok(answer) if answer.status().as_u16() == 410 => {
                return Err("it is told to be gone".to_owned());
            }
            Ok(answer) => format!("it answers {}", answer.status().as_u16()),
            Err(error) => error.without_url().to_string(),
        };
        if began.elapsed() > PATIENCE {
            return Err(why);
        }
        tracing::debug!(why, "someone did not take what they are told of a task");
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST);
        // Another setting of the same config, or none, ends this one.
        if !is_kept(app, push).await {
            return Err("it is not wanted any more".to_owned());
        }
    }
}

async fn is_kept(app: &App, push: &Push) -> bool {
    let (shared, own) = (app.clone(), push.clone());
    let look = app.blocking(move |_| Ok(shared.pushes().get(own.thread, &own.task, &own.id)?));
    look.await.ok().flatten().is_some_and(|kept| kept.sealed == push.sealed)
}

/// Writes down how far a config has come; `false` if it is not the same any more, or another node
/// was faster.
async fn note(app: &App, push: &mut Push, told: String, over: bool) -> bool {
    let (shared, own, place) = (app.clone(), push.clone(), told.clone());
    let noted = app.blocking(move |_| Ok(shared.pushes().told(&own, &place, over)?)).await;
    let noted = noted.unwrap_or(false);
    if noted {
        push.told = told;
    }
    noted
}
