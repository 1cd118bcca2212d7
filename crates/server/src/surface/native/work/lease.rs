//! Leases of those at work: named by a header, renewed, let go.

use std::time::Duration;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Raw, quote};
use selvedge_protocol::time;
use selvedge_store::{
    Append, Guard, Instead, KeyHash, Lease, ReadError, Store, Then, ThreadKey, ThreadRef, Within,
};
use serde_json::json;

use super::period;
use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::Ids;
use crate::query::Query;
use crate::{App, Error, ErrorCode};

/// The header that names a lease.
const HEADER: &str = "selvedge-lease";
/// How long a task may rest after it was let go.
const REST_MAX: Duration = Duration::from_secs(86_400);
/// Why an attempt is void whose worker gave up, unless it says.
const RELEASED: &str = "released";

/// A lease that a request names. Whether it still counts is the store's to judge.
pub(crate) struct Held {
    token: KeyHash,
    pub(crate) lease: Lease,
}

impl Held {
    /// The lease that a request to a thread names, if it names one.
    pub(crate) async fn named(
        app: &App,
        thread: &ThreadKey,
        headers: &HeaderMap,
    ) -> Result<Option<Self>, Error> {
        let Some(value) = headers.get(HEADER) else { return Ok(None) };
        let token = value.to_str().map_err(|_| {
            Error::new(ErrorCode::BadParameter, "`Selvedge-Lease` must be visible ASCII")
        })?;
        let token = KeyHash::of(token.trim());
        let there = app.thread(thread).await?;
        let found = app.blocking(move |store| Ok(store.lease(&there, &token)?)).await?;
        match found {
            Some(lease) => Ok(Some(Self { token, lease })),
            None => Err(Error::instead(&Instead::Unleased)),
        }
    }

    /// Lets an append through only while the lease counts.
    pub(crate) fn guard(&self, then: Then) -> Guard {
        Guard::Held { token: self.token, then }
    }

    /// When it ends if it was renewed at some moment, as JSON.
    pub(crate) fn renewed(&self, at: i64) -> String {
        quote(&after(at, self.lease.time))
    }

    /// The lease of this task that a request must name.
    async fn needed(
        app: &App,
        thread: &ThreadKey,
        task: &str,
        headers: &HeaderMap,
    ) -> Result<Self, Error> {
        app.thread(thread).await?;
        let Some(held) = Self::named(app, thread, headers).await? else {
            let message = "name the lease with the header `Selvedge-Lease`";
            return Err(Error::new(ErrorCode::BadParameter, message));
        };
        if held.lease.task == task { Ok(held) } else { Err(Error::instead(&Instead::Unleased)) }
    }
}

/// `PUT /api/threads/{id}/tasks/{taskId}/lease`
pub(super) async fn renew(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, task): Ids,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let thread = principal.thread(&id);
    let held = Held::needed(&app, &thread, &task, &headers).await?;
    let lease = app.store().hold(thread, held.token, Then::Renew).await?;
    let body = json!({
        "taskId": lease.task,
        "attempt": lease.attempt,
        "expiresAt": time::from_millis(lease.until).unwrap_or_default(),
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response())
}

/// `DELETE /api/threads/{id}/tasks/{taskId}/lease`. What was streamed is void, unless the task
/// waits: then whoever takes it up goes on from there.
pub(super) async fn release(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, task): Ids,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let after = period(&query, "after")?.unwrap_or_default().min(REST_MAX);
    let thread = principal.thread(&id);
    let held = Held::needed(&app, &thread, &task, &headers).await?;
    let there = app.fresh(&thread).await?;
    let own = task.clone();
    let waits = app.blocking(move |store| Ok(waits(store, &there, &own)?)).await?;
    let then = Then::Release { after };
    if waits {
        app.store().hold(thread, held.token, then).await?;
    } else {
        let which = format!("{{\"attempt\":{}}}", held.lease.attempt);
        let void = Event::new(Kind::AttemptSuperseded)
            .with_str("reason", query.get("reason").unwrap_or(RELEASED))
            .with("metadata", Raw::owned(which));
        let stamp = Stamp::new(&id, now()).of(&task, &held.lease.agent);
        let append = Append::new(thread, stamp.own(&[void])?).guarded(held.guard(then));
        app.append_to(&id, append).await?;
    }
    if let Some(desk) = app.desk() {
        desk.stir();
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Whether a task waits for an answer or for a task that it called.
fn waits(store: &Store, thread: &ThreadRef, task: &str) -> Result<bool, ReadError> {
    let asked = store.pending(thread)?.iter().any(|item| item.task.as_deref() == Some(task));
    let within = Within::Task(task.to_owned());
    Ok(asked || store.unfinished(thread, &within)?.tasks.iter().any(|other| other != task))
}

/// A moment so long after another, as events have it.
pub(super) fn after(at: i64, wait: Duration) -> String {
    let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
    time::from_millis(at.saturating_add(wait)).unwrap_or_default()
}
