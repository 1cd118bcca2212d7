//! Acting on a thread, exactly once: answering, canceling, writing artifacts.
//!
//! Invariant: what an act needs to be so is judged by the store's writer together with the append
//! ([`selvedge_store::Guard`]), never here alone.

pub(crate) mod artifacts;
pub(crate) mod auths;
pub(crate) mod cancel;
pub(crate) mod inputs;

use axum::routing::{get, post, put};
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
            about: "Hand over a credential, encrypted, or say that a user has authenticated",
            handler: post(auths::authenticated),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/tasks",
            scope: Scope::Read,
            about: "The thread's tasks, each with its parent and children",
            handler: get(cancel::tasks),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/cancel",
            scope: Scope::Write,
            about: "Stop everything that runs in a thread",
            handler: post(cancel::thread),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/tasks/{taskId}/cancel",
            scope: Scope::Write,
            about: "Stop a task with all that came of it",
            handler: post(cancel::task),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/tool-calls/{toolCallId}/cancel",
            scope: Scope::Write,
            about: "Stop one tool call",
            handler: post(cancel::call),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/artifacts",
            scope: Scope::Read,
            about: "The thread's artifacts with their versions",
            handler: get(artifacts::list),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/artifacts/{artifactId}",
            scope: Scope::Read,
            about: "An artifact with its versions",
            handler: get(artifacts::show),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/artifacts/{artifactId}/content",
            scope: Scope::Read,
            about: "Download a version of an artifact",
            handler: get(artifacts::download),
        },
        Route {
            method: Method::PUT,
            path: "/api/threads/{id}/artifacts/{artifactId}/content",
            scope: Scope::Write,
            about: "Write the next version of an artifact",
            handler: put(artifacts::put),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/artifacts/{artifactId}/diff",
            scope: Scope::Read,
            about: "What differs between two versions of an artifact",
            handler: get(artifacts::diff),
        },
    ]
}
