//! Work for programs elsewhere: they claim the tasks of an agent, append events, and finish.
//!
//! Invariant: who has a task is decided by the store's writer together with what the journal says
//! of it ([`selvedge_store::Guard::Free`], [`selvedge_store::Guard::Held`]), never here alone.

mod asked;
mod claim;
mod lease;
mod line;
mod stream;

use std::time::Duration;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, put};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use selvedge_agents::Member;
use selvedge_agents::config::file::Period;
use tokio::time::Instant;

pub(crate) use lease::Held;
pub(crate) use line::Lines;

use crate::auth::{Principal, Scope};
use crate::extract::Id;
use crate::query::Query;
use crate::routes::Route;
use crate::{App, Error, ErrorCode};
use claim::Asker;

/// How long one request may wait for work, at most.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// What is left of the time that a request may take, to answer in.
const SPARE: Duration = Duration::from_secs(2);
/// The shortest lease that can be asked for.
const LEASE_MIN: Duration = Duration::from_millis(100);
/// Tasks that one stream may hold at once.
const AT_ONCE: usize = 64;
/// Bytes of a worker's name.
const NAME_BYTES: usize = 256;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            method: Method::GET,
            path: "/api/agents/{id}/work",
            scope: Scope::Agent,
            about: "Claim a task of an agent, with a lease; as a stream, one after the other",
            handler: get(work),
        },
        Route {
            method: Method::PUT,
            path: "/api/threads/{id}/tasks/{taskId}/lease",
            scope: Scope::Agent,
            about: "Renew the lease of a task",
            handler: put(lease::renew),
        },
        Route {
            method: Method::DELETE,
            path: "/api/threads/{id}/tasks/{taskId}/lease",
            scope: Scope::Agent,
            about: "Let go of a task, so that another can claim it",
            handler: delete(lease::release),
        },
    ]
}

/// `GET /api/agents/{id}/work`
async fn work(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    method: Method,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let Some(desk) = app.desk().cloned() else {
        return Err(Error::new(ErrorCode::NoAgents, "this server has no agents; configure some"));
    };
    let Some(Member::Worker(agent)) = desk.member(&id) else {
        let id = selvedge_protocol::validate::brief(&id);
        let message = format!("there is no agent `{id}` whose tasks are claimed");
        return Err(Error::new(ErrorCode::NotFound, message));
    };
    let query = Query::new(query.as_deref());
    let wait = period(&query, "wait")?.unwrap_or_default();
    let time = period(&query, "lease")?.unwrap_or(agent.lease);
    if time < LEASE_MIN || time > agent.lease {
        let longest = agent.lease.as_millis();
        let message = format!("`lease` must be from {}ms to {longest}ms", LEASE_MIN.as_millis());
        return Err(Error::new(ErrorCode::BadParameter, message));
    }
    let max: usize = query.parsed("max", "a number")?.unwrap_or(1);
    if !(1..=AT_ONCE).contains(&max) {
        let message = format!("`max` must be a number from 1 to {AT_ONCE}");
        return Err(Error::new(ErrorCode::BadParameter, message));
    }
    let worker = query.get("worker").or(principal.subject.as_deref()).unwrap_or(&principal.name);
    if worker.len() > NAME_BYTES {
        let message = format!("`worker` must have up to {NAME_BYTES} bytes");
        return Err(Error::new(ErrorCode::BadParameter, message));
    }
    // Whoever only wants to see the head must not get a task with it.
    if method == Method::HEAD {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let (tenant, agent, worker) = (principal.tenant, agent.id.clone(), worker.to_owned());
    let limit = app.options().request_timeout.saturating_sub(SPARE).min(WAIT_MAX);
    let asker = Asker { app, desk, tenant, agent, worker, time };
    if is_stream(&headers) {
        return Ok(stream::open(asker, max));
    }
    match asker.claim(Instant::now() + wait.min(limit)).await? {
        Some(claim) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ];
            Ok((headers, claim.json()).into_response())
        }
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let mut kinds = accepted.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    kinds.any(|kind| kind.trim().to_ascii_lowercase().starts_with("text/event-stream"))
}

/// A time such as `30s`.
fn period(query: &Query<'_>, name: &str) -> Result<Option<Duration>, Error> {
    let Some(text) = query.get(name) else { return Ok(None) };
    match Period::try_from(text.to_owned()) {
        Ok(Period(time)) => Ok(Some(time)),
        Err(_) => {
            let message = format!("`{name}` must be a time such as `30s` or `500ms`");
            Err(Error::new(ErrorCode::BadParameter, message))
        }
    }
}
