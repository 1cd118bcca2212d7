//! The Agent API: one turn of an agent as one response, streamed or whole, or left to a queue.
//!
//! A session is a thread, a response is a task. Whoever loses a stream sends the same request
//! again: the message's id makes it the same turn, told from its beginning.

mod fault;
mod process;
mod queue;
mod request;
mod whole;

pub(crate) use fault::told;

use axum::routing::{get, post};
use http::Method;

use crate::auth::Scope;
use crate::routes::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route {
            method: Method::POST,
            path: "/process",
            scope: Scope::Both,
            about: "One turn of an agent, as the Agent API has it: streamed, or as one response",
            handler: post(process::process),
        },
        Route {
            method: Method::POST,
            path: "/process/task",
            scope: Scope::Write,
            about: "The same, without waiting for it",
            handler: post(queue::submit),
        },
        Route {
            method: Method::GET,
            path: "/process/task/{task_id}",
            scope: Scope::Read,
            about: "How far a turn that was left to the queue has come, and its response",
            handler: get(queue::status),
        },
    ]
}
