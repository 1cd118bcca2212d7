//! Acting on a thread, exactly once: answering, canceling, writing artifacts.
//!
//! Invariant: what an act needs to be so is judged by the store's writer together with the append
//! ([`selvedge_store::Guard`]), never here alone.

mod inputs;

pub(crate) use inputs::entry as question_at;

use axum::routing::{get, post};
use http::Method;

use crate::auth::Scope;
use crate::routes::Route;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/inputs",
            scope: Scope::Read,
            about: "What waits for someone in this thread, with the whole question",
            handler: get(inputs::list),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/inputs/{inputId}",
            scope: Scope::Write,
            about: "Answer a question; the first answer counts",
            handler: post(inputs::answer),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/auths/{authId}",
            scope: Scope::Write,
            about: "Say that a user has authenticated",
            handler: post(inputs::authenticated),
        },
    ]
}
