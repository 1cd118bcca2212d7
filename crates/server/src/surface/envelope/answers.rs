//! What comes of envelopes: who takes them, and what they answer.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use http::{HeaderMap, header};
use selvedge_agents::router::{Hop, Routing};
use selvedge_protocol::dialect::Id;
use selvedge_protocol::dialect::envelope::route::Lineage;
use selvedge_protocol::journal::{Cursor, Event};
use selvedge_protocol::json::{Doc, from_utf8};
use selvedge_store::Appended;
use serde_json::{Value, json};

use super::receive::accepted;
use super::routing::on;
use crate::auth::Principal;
use crate::query::Query;
use crate::turn::{open, until};
use crate::view::{self, Filter, Format, Kind, Place, Start};
use crate::{App, Error, ErrorCode};

/// Envelopes of one answer.
const MOST: usize = 1000;
/// How long before a request would be given up its answer begins.
const MARGIN: Duration = Duration::from_secs(5);
/// What makes an envelope of its own, and what tells who its author is.
const KINDS: [&str; 5] =
    ["message", "participant-joined", "step-finished", "step-started", "thread-created"];

/// Envelopes that were appended.
pub(super) struct Sent {
    /// The thread.
    pub(super) id: String,
    /// Theirs.
    pub(super) ids: Vec<String>,
    pub(super) appended: Appended,
    pub(super) lineage: Lineage,
}

/// How long to wait for answers: `?wait=30s`, or `Prefer: wait=30`.
pub(super) fn wait(
    query: &Query<'_>,
    headers: &HeaderMap,
    most: Duration,
) -> Result<Option<Duration>, Error> {
    let prefer = headers.get("prefer").and_then(|value| value.to_str().ok());
    let prefer = prefer.into_iter().flat_map(|prefer| prefer.split(','));
    let prefer = prefer.filter_map(|one| one.trim().strip_prefix("wait=")).next();
    let Some(text) = query.get("wait").or(prefer) else { return Ok(None) };
    let seconds: Option<u32> = text.strip_suffix('s').unwrap_or(text).parse().ok();
    let seconds = seconds.ok_or_else(|| {
        Error::new(ErrorCode::BadParameter, "`wait` must be a number of seconds, such as 30s")
    })?;
    Ok(Some(Duration::from_secs(seconds.into()).min(most.saturating_sub(MARGIN))))
}

/// What was decided about envelopes, as JSON.
pub(super) async fn decisions(app: &App, sent: &Sent) -> Result<String, Error> {
    let (thread, first) = (sent.appended.thread.clone(), sent.appended.first);
    let count = usize::try_from(sent.appended.last + 1 - first).unwrap_or(usize::MAX);
    let read = move |store: &selvedge_store::Store| {
        Ok(store.read(&thread, first.saturating_sub(1), count, usize::MAX)?)
    };
    let page = app.blocking(read).await?;
    let hops = page.entries.iter().filter_map(|entry| {
        let doc = Doc::parse(from_utf8(&entry.event).unwrap_or("")).ok()?;
        Hop::of(&Event::parse(doc.root())?)
    });
    let hops: Vec<Hop> = hops.collect();
    let envelopes = sent.ids.iter().map(|id| {
        let own = hops.iter().filter(|hop| hop.message == *id);
        let own: Vec<Value> = own.map(decision).collect();
        json!({ "id": id, "decisions": own })
    });
    let envelopes: Vec<Value> = envelopes.collect();
    let cursor = Cursor { epoch: sent.appended.thread.epoch, seq: sent.appended.last };
    let body = json!({
        "thread": sent.id,
        "cursor": cursor.to_string(),
        "duplicate": sent.appended.duplicate,
        "envelopes": envelopes,
    });
    Ok(body.to_string())
}

fn decision(hop: &Hop) -> Value {
    json!({
        "to": hop.to, "intent": hop.intent, "taskId": hop.made_task, "action": hop.action,
        "reason": hop.reason,
    })
}

/// Waits until nothing more comes of the envelopes, and gives the answers.
pub(super) async fn wait_for(
    app: &App,
    principal: &Principal,
    sent: Sent,
    wait: Duration,
    lines: bool,
) -> Result<Response, Error> {
    let before = sent.appended.first.saturating_sub(1);
    if tokio::time::timeout(wait, settled(app.clone(), &sent)).await.is_err() {
        return accepted(app, &sent).await;
    }
    let (thread, kind) = (sent.appended.thread.clone(), kind(principal));
    let place = Place { cursor: Cursor { epoch: thread.epoch, seq: before }, records: 0 };
    let page = app.blocking(move |store| Ok(view::page(store, &thread, &kind, place, MOST)?));
    let own = |text: &String| {
        let envelope: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        let id = envelope["trace"]["id"].as_str();
        id.is_some_and(|id| !sent.ids.iter().any(|own| own == id))
    };
    let answers: Vec<String> = page.await?.events.into_iter().filter(own).collect();
    if lines {
        let body: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
        return Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response());
    }
    let body = match (&*answers, sent.lineage) {
        // One in, one out.
        ([only], Lineage::MuxV1) if sent.ids.len() == 1 => only.clone(),
        _ => format!("[{}]", answers.join(",")),
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// The answers as they come, until nothing more does.
pub(super) async fn stream(
    app: &App,
    principal: &Principal,
    sent: Sent,
) -> Result<Response, Error> {
    let thread = sent.appended.thread.clone();
    let (id, before) = (sent.id.clone(), sent.appended.first.saturating_sub(1));
    let of = app.clone();
    let ending = async move { settled(of, &sent).await }.boxed();
    let cursor = Cursor { epoch: thread.epoch, seq: before };
    let start = Start::After(Place { cursor, records: 0 });
    Ok(until(open(app, &id, thread, kind(principal), start).await?, ending))
}

fn kind(principal: &Principal) -> Kind {
    let mut filter = Filter::all(principal.sees);
    filter.kinds = KINDS.iter().map(|kind| (*kind).to_owned()).collect();
    filter.kinds.sort();
    Kind { format: Format::Dialect(Id::Envelope), filter }
}

/// The entry with which nothing more comes of envelopes.
async fn settled(app: App, sent: &Sent) -> u64 {
    let thread = sent.appended.thread.clone();
    let of = thread.clone();
    let mut seen = 0;
    let Ok(tail) = app.blocking(move |store| Ok(store.tail(&of)?)).await else { return seen };
    let mut edge = tail.watch();
    let mut routing = Routing::new();
    loop {
        let of = thread.clone();
        let read = move |store: &selvedge_store::Store| {
            let more = on(store, &of, &mut routing, seen)?;
            Ok((routing, more))
        };
        let Ok((known, more)) = app.blocking(read).await else { return seen };
        routing = known;
        if more > seen {
            seen = more;
            continue;
        }
        if sent.ids.iter().all(|id| routing.pending(routing.root(id)) == 0) {
            return seen;
        }
        let more = edge.wait_for(|edge| edge.head > seen || edge.end.is_some()).await;
        if more.map_or(true, |edge| edge.end.is_some()) {
            return seen;
        }
    }
}
