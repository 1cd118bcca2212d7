//! The Looopy document's own URLs.

mod invocations;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::{HeaderMap, Method};
use selvedge_protocol::journal::Cursor;

use super::native::events::placed;
use super::native::stream::{self, filter, format, start};
use crate::auth::{Principal, Scope};
use crate::extract::Id;
use crate::query::Query;
use crate::routes::Route;
use crate::view::{self, Kind, Place, Start};
use crate::{App, Error, ErrorCode};

/// Events of a page, unless asked otherwise, and at most.
const PAGE: usize = 1000;
const PAGE_MAX: usize = 10_000;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route {
            method: Method::GET,
            path: "/api/contexts/{id}/stream",
            scope: Scope::Read,
            about: "Follow a context's events",
            handler: get(stream::open),
        },
        Route {
            method: Method::GET,
            path: "/api/contexts/{id}/events",
            scope: Scope::Read,
            about: "A page of what the stream of a context gives",
            handler: get(events),
        },
        Route {
            method: Method::GET,
            path: "/ping",
            scope: Scope::Nobody,
            about: "Whether agents can be invoked, and whether some are at work",
            handler: get(invocations::ping),
        },
        Route {
            method: Method::GET,
            path: "/invocations",
            scope: Scope::Read,
            about: "The state of the context that a header names",
            handler: get(invocations::state),
        },
        Route {
            method: Method::POST,
            path: "/invocations",
            scope: Scope::Both,
            about: "One turn of an agent: a prompt or answers, and what happens as a stream",
            handler: post(invocations::invoke),
        },
    ]
}

/// `GET /api/contexts/{id}/events`: the same events as the stream beside it, with the same
/// filters, dialects and cursors, as one answer.
async fn events(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let kind = Kind { format: format(&query)?, filter: filter(&query, &principal)? };
    let limit = query.parsed("limit", "a number from 1 to 10000")?.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        let message = "`limit` must be a number from 1 to 10000";
        return Err(Error::new(ErrorCode::BadParameter, message));
    }
    let start = start(&query, &headers)?.unwrap_or(Start::Earliest);
    let thread = app.thread(&principal.thread(&id)).await?;
    let epoch = thread.epoch;
    let (page, head) = app
        .blocking(move |store| {
            let head = store.head(&thread)?;
            let at = |seq| Place { cursor: Cursor { epoch, seq }, records: 0 };
            let place = match start {
                Start::Earliest => at(0),
                Start::Tail => at(head),
                Start::After(place) => place,
            };
            if place.cursor.epoch != epoch || place.cursor.seq > head {
                let message = format!("cursor `{}` is of another journal", place.cursor);
                return Err(Error::new(ErrorCode::BadCursor, message));
            }
            Ok((view::page(store, &thread, &kind, place, limit)?, head))
        })
        .await?;
    let body = format!(
        "{{\"events\":[{}],\"cursor\":\"{}\",\"head\":{head}}}",
        page.events.join(","),
        page.cursor
    );
    Ok(placed(Cursor { epoch, seq: head }, body))
}
