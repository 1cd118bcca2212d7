//! Events: appended, read.

use std::fmt::Write as _;

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use selvedge_protocol::journal::{Cursor, Event, Kind};
use selvedge_protocol::json::{Doc, from_utf8};
use selvedge_protocol::time;
use selvedge_store::{Append, Appended, Draft, Expect, Key, Page, Then, ThreadRef};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::lists;
use super::stream::{filter, start};
use super::threads::encode;
use super::work::Held;
use crate::auth::{Principal, Scope};
pub(crate) use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Id, Payload, visible};
use crate::ingest::expanded;
use crate::query::Query;
use crate::view::{Filter, Sieve, Start};
use crate::{App, Error, ErrorCode};

/// Entries of a page, unless asked otherwise, and at most.
const PAGE: usize = 1000;
const PAGE_MAX: usize = 10_000;
/// Bytes of a page.
const PAGE_BYTES: usize = 8 << 20;
/// The header with an idempotency key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// `POST /api/threads/{id}/events`
pub(crate) async fn append(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    appended(&app, &principal, &id, &headers, &body).await
}

async fn appended(
    app: &App,
    principal: &Principal,
    id: &str,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Response, Error> {
    let held = Held::named(app, &principal.thread(id), headers).await?;
    let value = |name| headers.get(name).map(HeaderValue::as_bytes);
    let given = Given { key: value(KEY), expected: value(header::IF_MATCH), body };
    let append = given.append(app, principal, id, held.as_ref())?;
    let appended = app.append_to(id, append).await?;
    let more = held.map(|held| format!(",\"leaseExpiresAt\":{}", held.renewed(appended.at)));
    Ok(told(&appended, more.as_deref().unwrap_or("")))
}

/// What an append is asked for with, besides its thread.
pub(crate) struct Given<'a> {
    /// `Idempotency-Key`
    pub(crate) key: Option<&'a [u8]>,
    /// `If-Match`
    pub(crate) expected: Option<&'a [u8]>,
    pub(crate) body: &'a [u8],
}

impl Given<'_> {
    /// The append, if it is one that someone may make.
    pub(crate) fn append(
        &self,
        app: &App,
        principal: &Principal,
        id: &str,
        held: Option<&Held>,
    ) -> Result<Append, Error> {
        let stamp = Stamp::new(id, now());
        let stamp = match held {
            Some(held) => stamp.of(&held.lease.task, &held.lease.agent),
            None => stamp,
        };
        let drafts = app.options().coalesce.apply(stamp.events(&expanded(self.body)?)?);
        may_say(principal, &drafts)?;
        let mut append = Append::new(principal.thread(id), drafts);
        append.key = keyed(self.key, || Sha256::digest(self.body).into())?;
        append.guard = held.map(|held| held.guard(Then::Renew));
        if let Some(expected) = self.expected {
            append.expect = match expected_head(expected)? {
                Expected::Any => Expect::Anything,
                Expected::Seq(seq) => Expect::Head(seq),
                Expected::Cursor(cursor) => Expect::At(cursor),
            };
        }
        Ok(append)
    }
}

/// Whether someone may say that. Agents answer questions where it is looked at who may, and whoever
/// has a token makes tasks for nobody else: credentials are kept for users.
fn may_say(principal: &Principal, drafts: &[Draft]) -> Result<(), Error> {
    let user = principal.subject.as_deref().filter(|_| !principal.may(Scope::Operator));
    if user.is_none() && !principal.is_agent() {
        return Ok(());
    }
    for (i, draft) in drafts.iter().enumerate() {
        let Ok(doc) = Doc::parse_bytes(&draft.event) else { continue };
        let Some(event) = Event::parse(doc.root()) else { continue };
        let answers = matches!(event.kind(), Kind::InputReceived | Kind::AuthCompleted);
        if principal.is_agent() && answers {
            let message = "an agent answers questions at `/api/threads/{id}/inputs/{inputId}`";
            return Err(Error::new(ErrorCode::UserRequired, message).at(format!("/{i}/kind")));
        }
        let own = event.at("metadata", "/userId");
        if event.kind() == Kind::TaskCreated
            && own.is_some_and(|own| user.is_some_and(|user| !own.is(user)))
        {
            let message = "`userId` is not whom the token was made for";
            let at = format!("/{i}/metadata/userId");
            return Err(Error::new(ErrorCode::Forbidden, message).at(at));
        }
    }
    Ok(())
}

/// Where events were put, and what else there is to say: nothing, or members with a comma before.
pub(in crate::surface) fn told(appended: &Appended, more: &str) -> Response {
    let cursor = reached(appended).to_string();
    let mut body = String::with_capacity(96 + more.len());
    tell(appended, &cursor, more, &mut body);
    at(&cursor, body)
}

/// Where a thread stands after an append.
pub(crate) fn reached(appended: &Appended) -> Cursor {
    Cursor { epoch: appended.thread.epoch, seq: appended.last }
}

/// Where events were put, as JSON.
pub(crate) fn tell(appended: &Appended, cursor: &str, more: &str, out: &mut String) {
    let (first, last, duplicate) = (appended.first, appended.last, appended.duplicate);
    // Writing into memory does not fail.
    let _ = write!(
        out,
        "{{\"first\":{first},\"last\":{last},\"cursor\":\"{cursor}\",\"duplicate\":{duplicate}{more}}}"
    );
}

/// An answer in JSON that leaves its reader at a cursor.
pub(crate) fn placed(cursor: Cursor, body: String) -> Response {
    at(&cursor.to_string(), body)
}

fn at(cursor: &str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.reserve(4);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(tag) = HeaderValue::try_from(format!("\"{cursor}\"")) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// The answer for a thread that was made, or was there already under the same key.
pub(super) fn made(id: &str, appended: &Appended, body: String) -> Response {
    let cursor = reached(appended);
    let status = if appended.duplicate { StatusCode::OK } else { StatusCode::CREATED };
    let location = [(header::LOCATION, format!("/api/threads/{}", encode(id)))];
    (status, location, placed(cursor, body)).into_response()
}

/// `GET /api/threads/{id}/events`
pub(crate) async fn read(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let filter = filter(&query, &principal)?;
    let thread = app.thread(&principal.thread(&id)).await?;
    match query.count("last", PAGE_MAX)? {
        Some(last) => recent(&app, thread, filter, last).await,
        None => page(&app, &query, thread, filter).await,
    }
}

/// The end of a thread's journal, with the thread's line in a list: what a page can show before it
/// has read the rest.
async fn recent(
    app: &App,
    thread: ThreadRef,
    filter: Filter,
    last: usize,
) -> Result<Response, Error> {
    let (of, upto) = (thread.clone(), filter.upto());
    let (page, after, line) = app
        .blocking(move |store| {
            let after = store.head(&of)?.min(upto).saturating_sub(last as u64);
            let page = store.read(&of, after, last, PAGE_BYTES)?;
            let summary = store.summary(&of)?;
            let glance = store.glances(&[of.num])?.pop();
            Ok((page, after, summary.zip(glance)))
        })
        .await?;
    let line = line.map_or(Value::Null, |(summary, glance)| lists::thread(&summary, &glance));
    Ok(paged(page, after, &thread, filter, &format!(",\"thread\":{line}")))
}

/// A page of a thread's journal.
pub(crate) async fn page(
    app: &App,
    query: &Query<'_>,
    thread: ThreadRef,
    filter: Filter,
) -> Result<Response, Error> {
    let limit = query.limit(PAGE, PAGE_MAX)?;
    let after = match start(query, &HeaderMap::new())?.unwrap_or(Start::Earliest) {
        Start::Earliest => 0,
        Start::Tail => u64::MAX,
        Start::After(place) if place.cursor.epoch == thread.epoch => place.cursor.seq,
        Start::After(place) => {
            let message = format!("cursor `{}` is of another journal", place.cursor);
            return Err(Error::new(ErrorCode::BadCursor, message));
        }
    };
    let of = thread.clone();
    let page = app.blocking(move |store| Ok(store.read(&of, after, limit, PAGE_BYTES)?)).await?;
    Ok(paged(page, after, &thread, filter, ""))
}

/// A page as an answer, and what else there is to say: nothing, or members with a comma before.
fn paged(mut page: Page, after: u64, thread: &ThreadRef, filter: Filter, more: &str) -> Response {
    let folded = page.folded(after).map(|folded| {
        format!(",\"folded\":{{\"from\":{},\"to\":{}}}", folded.start(), folded.end())
    });
    let folded = folded.unwrap_or_default();
    let upto = filter.upto();
    page.head = page.head.min(upto);
    page.entries.retain(|entry| entry.seq <= upto);
    let (list, seen) = entries(&page, after, &mut Sieve::new(filter));
    let cursor = Cursor { epoch: thread.epoch, seq: seen };
    let head = page.head;
    let out =
        format!("{{\"entries\":[{list}],\"cursor\":\"{cursor}\",\"head\":{head}{folded}{more}}}");
    ([(header::CONTENT_TYPE, "application/json")], out).into_response()
}

/// A page's entries as JSON, those that pass, and the last that was looked at.
pub(super) fn entries(page: &Page, after: u64, sieve: &mut Sieve) -> (String, u64) {
    let mut out = String::new();
    let mut seen = after.min(page.head);
    for entry in &page.entries {
        seen = entry.seq;
        let Some(entry) = sieve.see(entry) else { continue };
        let event = from_utf8(&entry.event).unwrap_or("{}");
        if !out.is_empty() {
            out.push(',');
        }
        let at = time::from_millis(entry.at).unwrap_or_default();
        let _ = write!(out, "{{\"seq\":{}", entry.seq);
        if entry.from < entry.seq {
            let _ = write!(out, ",\"from\":{}", entry.from);
        }
        let _ = write!(out, ",\"at\":\"{at}\",\"event\":{event}}}");
    }
    (out, seen)
}

/// The request's idempotency key, with a digest of what it is for.
pub(crate) fn key(headers: &HeaderMap, body: &[u8]) -> Result<Option<Key>, Error> {
    keyed(given_key(headers), || Sha256::digest(body).into())
}

/// The same for a request whose body alone does not say what it is for.
pub(in crate::surface) fn key_of(
    headers: &HeaderMap,
    parts: &[&[u8]],
) -> Result<Option<Key>, Error> {
    keyed(given_key(headers), || {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    })
}

fn given_key(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(KEY).map(HeaderValue::as_bytes)
}

fn keyed(given: Option<&[u8]>, digest: impl FnOnce() -> [u8; 32]) -> Result<Option<Key>, Error> {
    let Some(value) = given else { return Ok(None) };
    let text = visible(value).ok_or_else(|| {
        Error::new(ErrorCode::BadParameter, "`Idempotency-Key` must be visible ASCII")
    })?;
    Ok(Some(Key { text: text.to_owned(), digest: digest() }))
}

enum Expected {
    Any,
    Seq(u64),
    Cursor(Cursor),
}

/// `If-Match`: a cursor, quoted or not, or a sequence number.
fn expected_head(value: &[u8]) -> Result<Expected, Error> {
    let text = std::str::from_utf8(value).unwrap_or("").trim();
    let text = text.strip_prefix("W/").unwrap_or(text);
    let text = text.trim_matches('"');
    if text == "*" {
        return Ok(Expected::Any);
    }
    if let Ok(cursor) = text.parse() {
        return Ok(Expected::Cursor(cursor));
    }
    text.parse().map(Expected::Seq).map_err(|_| {
        let message = "`If-Match` must be a cursor or a sequence number";
        Error::new(ErrorCode::BadCursor, message)
    })
}
