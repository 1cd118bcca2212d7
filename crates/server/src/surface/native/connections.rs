//! Who reads now, and a stream that tells what is in the way of one.

use std::cmp::Reverse;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, header};
use selvedge_protocol::dialect;
use selvedge_protocol::time;
use serde_json::{Value, json};

use super::stream::event_stream;
use crate::auth::Principal;
use crate::clock::now;
use crate::query::Query;
use crate::view::{Format, Reading};
use crate::{App, Error};

/// Readers that are told of, unless asked otherwise, and at most: those that lag most.
const LISTED: usize = 200;
const LISTED_MOST: usize = 1000;
/// Events of a probe, and the time from one to the next.
const EVENTS: u32 = 8;
const EVERY: Duration = Duration::from_millis(100);

/// `GET /api/connections`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let limit = query.limit(LISTED, LISTED_MOST)?;
    let readings = app.readers().of(&principal.tenant);
    let total = readings.len();
    let mut standing: Vec<_> =
        readings.iter().map(|reading| (reading, reading.standing())).collect();
    standing.sort_by_key(|(reading, (_, lag, _))| (Reverse(*lag), reading.id));
    standing.truncate(limit);
    let shown: Vec<Value> = standing
        .into_iter()
        .map(|(reading, (told, lag, rung))| {
            let mut own = shown(reading);
            own["cursor"] = json!(format!("{}.{told}", reading.epoch));
            own["lag"] = json!(lag);
            own["rung"] = json!(rung.name());
            own
        })
        .collect();
    let bound = app.options().lag;
    let body = json!({
        "at": time::from_millis(now()),
        "bound": { "entries": bound.entries, "seconds": bound.time.as_secs() },
        "total": total,
        "connections": shown,
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response())
}

fn shown(of: &Reading) -> Value {
    let (id, version) = match of.format {
        Format::Native => (None, None),
        Format::Dialect(id) => (Some(id), None),
        Format::Version(id, version) => (Some(id), Some(version)),
    };
    let dialect = id.and_then(dialect::get).map_or("native", |dialect| dialect.id.name());
    json!({
        "id": of.id,
        "thread": of.thread,
        "dialect": dialect,
        "version": version,
        "caller": of.caller.name,
        "peer": of.caller.peer.map(|peer| peer.to_string()),
        "client": of.caller.client(),
        "since": time::from_millis(of.since),
    })
}

/// `GET /api/connections/probe`: each event says when it was sent, the first how the request came.
pub(super) async fn probe(headers: HeaderMap) -> Response {
    let began = tokio::time::Instant::now();
    let came = came(&headers);
    let events = stream::unfold(0, move |nth| {
        let came = came.clone();
        async move {
            if nth == EVENTS {
                return None;
            }
            tokio::time::sleep_until(began + EVERY * nth).await;
            let mut data = json!({
                "nth": nth, "of": EVENTS, "sent": began.elapsed().as_millis() as u64,
            });
            if nth == 0 {
                data["came"] = came;
            }
            let frame = format!("event: probe\ndata: {data}\n\n");
            Some((Ok::<_, std::convert::Infallible>(Bytes::from(frame)), nth + 1))
        }
    });
    event_stream(Body::from_stream(events))
}

/// What the request tells of the way that it came: no proxy adds a secret here.
fn came(headers: &HeaderMap) -> Value {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip"];
    json!({
        "forwarded": forwarded.iter().any(|name| headers.contains_key(*name)),
        "via": text("via"),
        "proto": text("x-forwarded-proto"),
        "cloudflare": headers.contains_key("cf-ray"),
        "acceptEncoding": text("accept-encoding"),
    })
}
