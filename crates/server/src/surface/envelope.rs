//! Envelopes over HTTP: posted, routed, answered, read again; and the queue of next actions.
//!
//! Invariant: an envelope, what was decided about it and the tasks that come of it are one append.

mod actions;
mod answers;
mod fault;
mod handshake;
mod receive;
mod replay;
mod routing;

pub(crate) use fault::told;
pub(crate) use receive::receive;

use axum::routing::{get, post};
use http::Method;

use crate::auth::Scope;
use crate::routes::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route {
            method: Method::POST,
            path: "/envelopes",
            scope: Scope::Both,
            about: "Send envelopes to whom the rules name: one, an array, or one a line",
            handler: post(receive::receive),
        },
        Route {
            method: Method::GET,
            path: "/envelopes",
            scope: Scope::Read,
            about: "A thread as envelopes, one a line",
            handler: get(replay::log),
        },
        Route {
            method: Method::GET,
            path: "/envelopes/handshake",
            scope: Scope::Read,
            about: "Who takes which envelopes here, and whether they are at work",
            handler: get(handshake::show),
        },
    ]
}

/// Next actions of native threads.
pub(crate) fn action_routes() -> Vec<Route> {
    vec![
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/actions",
            scope: Scope::Read,
            about: "Next actions that nobody has claimed",
            handler: get(actions::list),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/actions/{action}/claim",
            scope: Scope::Write,
            about: "Claim a next action; the first claim counts",
            handler: post(actions::claim),
        },
    ]
}
