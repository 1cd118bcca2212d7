//! OpenAI's threads and AITP's first transport, which is the same with less of it.
//!
//! A run is a task, an assistant is an agent, and objects that can be asked for are gathered from
//! what the stream of the same run says ([`gather`]), so both tell the same.

mod assistants;
mod bodies;
mod capabilities;
mod errors;
mod files;
mod gather;
mod history;
mod messages;
mod multipart;
mod outputs;
mod pages;
mod questions;
mod runs;
mod steps;
mod stream;
mod threads;

pub(crate) use errors::told;

use axum::routing::{MethodRouter, delete, get, post};
use http::Method;

use crate::App;
use crate::auth::Scope;
use crate::routes::Route;

pub(crate) fn routes() -> Vec<Route> {
    let mut all = Vec::new();
    let mut add = |method: Method, path, scope, about, handler: MethodRouter<App>| {
        all.push(Route { method, path, scope, about, handler });
    };
    let (read, write, both) = (Scope::Read, Scope::Write, Scope::Both);
    const THREADS: &str = "/v1/threads";
    add(Method::POST, THREADS, write, "Make a thread", post(threads::create));
    add(
        Method::POST,
        "/v1/thread",
        write,
        "Make a thread, as AITP-T01 has it",
        post(threads::create),
    );
    add(Method::GET, THREADS, read, "Threads, the one updated last first", get(threads::list));
    const THREAD: &str = "/v1/threads/{id}";
    add(Method::GET, THREAD, read, "A thread", get(threads::retrieve));
    add(
        Method::POST,
        THREAD,
        both,
        "Change a thread's metadata; without a body, the thread with its messages as AITP has it",
        post(threads::modify),
    );
    add(Method::DELETE, THREAD, write, "Delete a thread", delete(threads::remove));
    add(
        Method::POST,
        "/v1/threads/{id}/fork",
        both,
        "Branch a thread off where it stands",
        post(threads::fork),
    );
    add(
        Method::POST,
        "/v1/threads/{id}/subthread",
        both,
        "Make a thread below another, with some of its messages",
        post(threads::subthread),
    );
    const MESSAGES: &str = "/v1/threads/{id}/messages";
    add(Method::POST, MESSAGES, write, "Add a message", post(messages::create));
    add(Method::GET, MESSAGES, read, "A thread's messages", get(messages::list));
    const MESSAGE: &str = "/v1/threads/{id}/messages/{message}";
    add(Method::GET, MESSAGE, read, "A message", get(messages::retrieve));
    add(Method::POST, MESSAGE, both, "Change a message's metadata", post(messages::modify));
    add(
        Method::DELETE,
        MESSAGE,
        write,
        "Refused: what was said in a journal stays",
        delete(messages::remove),
    );
    add(
        Method::POST,
        "/v1/threads/runs",
        both,
        "Make a thread and let an agent answer in it",
        post(runs::create_with_thread),
    );
    const RUNS: &str = "/v1/threads/{id}/runs";
    add(Method::POST, RUNS, both, "Let an agent answer", post(runs::create));
    add(Method::GET, RUNS, read, "A thread's runs", get(runs::list));
    const RUN: &str = "/v1/threads/{id}/runs/{run}";
    add(Method::GET, RUN, read, "A run", get(runs::retrieve));
    add(
        Method::POST,
        RUN,
        both,
        "Change the metadata of a run that is not over",
        post(runs::modify),
    );
    add(Method::POST, "/v1/threads/{id}/runs/{run}/cancel", both, "Stop a run", post(runs::cancel));
    add(
        Method::POST,
        "/v1/threads/{id}/runs/{run}/submit_tool_outputs",
        both,
        "Answer what a run requires",
        post(outputs::submit),
    );
    add(
        Method::GET,
        "/v1/threads/{id}/stream/{run}",
        read,
        "What happens in a run, from its beginning or after the last event seen",
        get(stream::rejoin),
    );
    const STEPS: &str = "/v1/threads/{id}/runs/{run}/steps";
    add(Method::GET, STEPS, read, "The steps of a run", get(steps::list));
    add(
        Method::GET,
        "/v1/threads/{id}/runs/{run}/steps/{step}",
        read,
        "A step of a run",
        get(steps::retrieve),
    );
    add(Method::GET, "/v1/assistants", read, "The agents that work here", get(assistants::list));
    add(Method::GET, "/v1/assistants/{id}", read, "An agent", get(assistants::retrieve));
    const FILES: &str = "/v1/files";
    add(Method::POST, FILES, write, "Upload a file", post(files::create));
    add(Method::GET, FILES, read, "Files that were uploaded", get(files::list));
    const FILE: &str = "/v1/files/{id}";
    add(Method::GET, FILE, read, "What is known of a file", get(files::retrieve));
    add(Method::DELETE, FILE, write, "Delete a file", delete(files::remove));
    add(Method::GET, "/v1/files/{id}/content", read, "Download a file", get(files::content));
    all
}
