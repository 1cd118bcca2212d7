//! AG-UI: one request per run, and its events as a stream, strictly bracketed.
//!
//! A run is a stretch of a task, until it is over or waits for someone; its id is the client's. A
//! run that brings nothing new joins what is there: all that was said before, as a snapshot, and
//! the run that goes on, from its start.

mod answers;
mod input;
mod run;
mod snapshot;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use http::{Method, header};
use serde_json::json;

use crate::Error;
use crate::auth::Scope;
use crate::routes::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![Route {
        method: Method::POST,
        path: "/ag-ui",
        scope: Scope::Both,
        about: "A run of an agent: messages, answers or nothing new, and its events as a stream",
        handler: post(run::run),
    }]
}

/// What went wrong, as the event that tells it.
pub(crate) fn told(error: Error) -> Response {
    let mut event = json!({
        "type": "RUN_ERROR",
        "message": error.message,
        "code": error.code.name(),
    });
    if let Some(pointer) = &error.pointer {
        event["pointer"] = json!(pointer);
    }
    let mut response = error.into_response();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(event.to_string());
    response
}
