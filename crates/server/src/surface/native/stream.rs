//! Streams: the journal as it grows.

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};
use selvedge_protocol::journal::Visibility;
use selvedge_store::ThreadRef;

use crate::auth::Principal;
use crate::extract::Id;
use crate::query::Query;
use crate::view::{Descendants, Filter, Format, Kind, Reader, Start, Thoughts};
use crate::{App, Error, ErrorCode};

/// `GET /api/threads/{id}/stream`
pub(crate) async fn open(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let kind = Kind { format: format(&query)?, filter: filter(&query, &principal)? };
    let start = start(&query, &headers)?.unwrap_or(Start::Earliest);
    let thread = app.thread(&principal.thread(&id)).await?;
    let snapshot = format!("/api/threads/{id}");
    follow(&app, (snapshot, Some(&id)), thread, kind, start).await
}

/// Follows a thread, whose state is at `snapshot`; of that id, if whoever asks may know it.
pub(super) async fn follow(
    app: &App,
    (snapshot, id): (String, Option<&str>),
    thread: ThreadRef,
    kind: Kind,
    start: Start,
) -> Result<Response, Error> {
    let shared = app.clone();
    let epoch = thread.epoch;
    let open = move || Reader::open(&shared, &snapshot, &thread, &kind, start);
    let reader = tokio::task::spawn_blocking(open).await;
    let reader = reader.map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))??;
    let mut reader = reader.seated(app, id);
    let bytes = stream::poll_fn(move |cx| reader.poll_next(cx));
    let mut response = event_stream(Body::from_stream(bytes));
    response.headers_mut().insert("thread-epoch", HeaderValue::from(epoch));
    Ok(response)
}

/// An answer that goes on.
pub(crate) fn event_stream(body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Or nginx would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The dialect that was asked for.
pub(crate) fn format(query: &Query<'_>) -> Result<Format, Error> {
    let name = query.get("dialect").unwrap_or("native");
    Format::named(name).ok_or_else(|| {
        let message = format!("`{}` is no dialect that has streams", brief(name));
        Error::new(ErrorCode::UnknownDialect, message)
    })
}

/// Where to begin: the query, else what the reader saw last.
pub(crate) fn start(query: &Query<'_>, headers: &HeaderMap) -> Result<Option<Start>, Error> {
    // A reconnecting reader repeats its query: what it saw since counts more.
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = last.filter(|text| !text.is_empty());
    let asked = ["last_event_id", "lastEventId", "after"].iter().find_map(|name| query.get(name));
    last.or(asked).map(str::parse).transpose()
}

/// What the reader asked for, within what it may see.
pub(crate) fn filter(query: &Query<'_>, principal: &Principal) -> Result<Filter, Error> {
    let wrong = |name: &str, is: &str| {
        Error::new(ErrorCode::BadParameter, format!("`{name}` must be {is}"))
    };
    let sees = match query.get("visibility") {
        Some(name) => Visibility::named(name)
            .ok_or_else(|| wrong("visibility", "public, participants, operator or internal"))?,
        None => Visibility::Participants,
    };
    let mut filter = Filter::all(sees.min(principal.sees));
    filter.kinds = query.list("kinds");
    filter.tasks = query.list("tasks");
    filter.participants = query.list("participants");
    filter.thought_types = query.list("thoughtTypes");
    if let Some(name) = query.get("thoughts") {
        filter.thoughts = Thoughts::named(name)
            .ok_or_else(|| wrong("thoughts", "off, brief, normal or detailed"))?;
    }
    filter.descendants = match query.get("descendants") {
        None | Some("true" | "1") => Descendants::Included,
        Some("false" | "0") => Descendants::Left,
        Some(_) => return Err(wrong("descendants", "true or false")),
    };
    let least: Option<f64> = query.parsed("minConfidence", "a number from 0 to 1")?;
    if let Some(least) = least {
        if !(0.0..=1.0).contains(&least) {
            return Err(wrong("minConfidence", "a number from 0 to 1"));
        }
        filter.min_confidence = Some((least * 1000.0).round() as u32);
    }
    for list in [&mut filter.kinds, &mut filter.tasks, &mut filter.participants] {
        list.sort();
        list.dedup();
    }
    Ok(filter)
}

fn brief(text: &str) -> String {
    selvedge_protocol::validate::brief(text)
}
