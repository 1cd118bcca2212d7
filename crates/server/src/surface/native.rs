//! The native API: small, and everything else is a view of it.

pub(crate) mod acts;
mod archive;
pub(crate) mod branch;
mod connections;
pub(crate) mod demo;
pub(crate) mod events;
pub(crate) mod lists;
mod loss;
mod many;
pub(crate) mod messages;
mod retain;
mod shares;
pub(crate) mod stream;
pub(crate) mod threads;
pub(crate) mod transfer;
mod usage;
pub(crate) mod work;

use axum::routing::{delete, get, patch, post};
use http::Method;

use crate::auth::Scope;
use crate::routes::Route;

pub(crate) fn routes() -> Vec<Route> {
    let mut all = vec![
        Route {
            method: Method::POST,
            path: "/api/threads",
            scope: Scope::Write,
            about: "Make a thread",
            handler: post(threads::create),
        },
        Route {
            method: Method::GET,
            path: "/api/threads",
            scope: Scope::Read,
            about: "Threads, the one updated last first",
            handler: get(lists::threads),
        },
        Route {
            method: Method::GET,
            path: "/api/inbox",
            scope: Scope::Read,
            about: "What waits for someone in all threads, the oldest or the most urgent first",
            handler: get(lists::inbox),
        },
        Route {
            method: Method::GET,
            path: "/api/usage",
            scope: Scope::Read,
            about: "Tokens, money and model calls by agent, model, thread and day",
            handler: get(usage::usage),
        },
        Route {
            method: Method::GET,
            path: "/api/connections",
            scope: Scope::Operator,
            about: "Who reads which thread now, and how far behind they are",
            handler: get(connections::list),
        },
        Route {
            method: Method::GET,
            path: "/api/connections/probe",
            scope: Scope::Read,
            about: "A few events at known times, to find out what a proxy does to streams",
            handler: get(connections::probe),
        },
        Route {
            method: Method::GET,
            path: "/api/search",
            scope: Scope::Read,
            about: "Find what was said, in all threads",
            handler: get(lists::search),
        },
        Route {
            method: Method::DELETE,
            path: "/api/threads/{id}",
            scope: Scope::Write,
            about: "Delete a thread; its id can be used again",
            handler: delete(threads::remove),
        },
        Route {
            method: Method::PATCH,
            path: "/api/threads/{id}",
            scope: Scope::Write,
            about: "Change a thread's title or metadata",
            handler: patch(threads::change),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}",
            scope: Scope::Read,
            about: "A thread's state and head",
            handler: get(threads::show),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/redact",
            scope: Scope::Operator,
            about: "Take the content out of events for good; a receipt stays",
            handler: post(retain::redact),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/erase",
            scope: Scope::Operator,
            about: "Erase a thread: nothing is left of it but a receipt",
            handler: post(retain::erase),
        },
        Route {
            method: Method::GET,
            path: "/api/erasures",
            scope: Scope::Operator,
            about: "Receipts of threads that were erased, the newest first",
            handler: get(retain::erasures),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/archive",
            scope: Scope::Operator,
            about: "The journal byte for byte with its hash chain, to verify a copy by",
            handler: get(archive::archive),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/messages",
            scope: Scope::Write,
            about: "Say something to agents, who are to answer in the thread",
            handler: post(messages::send),
        },
        Route {
            method: Method::POST,
            path: "/api/demo",
            scope: Scope::Operator,
            about: "Begin the demonstration, where no agents are configured",
            handler: post(demo::begin),
        },
        Route {
            method: Method::GET,
            path: "/api/agents",
            scope: Scope::Read,
            about: "The agents that work here",
            handler: get(messages::agents),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/events",
            scope: Scope::Write,
            about: "Append one event, an array of events, or one a line",
            handler: post(events::append),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/events",
            scope: Scope::Read,
            about: "Read a page of the journal",
            handler: get(events::read),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/stream",
            scope: Scope::Read,
            about: "Follow the journal, live and resumable",
            handler: get(stream::open),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/fork",
            scope: Scope::Write,
            about: "Branch off at any point, without a copy",
            handler: post(branch::fork),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/promote",
            scope: Scope::Write,
            about: "Let a branch take the id of the thread it came from",
            handler: post(branch::promote),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/branches",
            scope: Scope::Read,
            about: "The tree of branches that a thread is in",
            handler: get(branch::branches),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/diff",
            scope: Scope::Read,
            about: "What two threads have after the point they share",
            handler: get(branch::diff),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/export",
            scope: Scope::Read,
            about: "The thread in any dialect",
            handler: get(transfer::export),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/loss",
            scope: Scope::Read,
            about: "What of the thread a dialect has no place for",
            handler: get(loss::loss),
        },
        Route {
            method: Method::GET,
            path: "/api/stream",
            scope: Scope::Read,
            about: "Follow many threads on one connection",
            handler: get(many::open),
        },
        Route {
            method: Method::POST,
            path: "/api/import",
            scope: Scope::Write,
            about: "Make a thread from a source in any dialect",
            handler: post(transfer::import),
        },
        Route {
            method: Method::POST,
            path: "/api/threads/{id}/shares",
            scope: Scope::Both,
            about: "Make a link that shows a thread up to a point to whoever has it",
            handler: post(shares::create),
        },
        Route {
            method: Method::GET,
            path: "/api/threads/{id}/shares",
            scope: Scope::Both,
            about: "A thread's links, without their tokens",
            handler: get(shares::list),
        },
        Route {
            method: Method::DELETE,
            path: "/api/threads/{id}/shares/{share}",
            scope: Scope::Both,
            about: "Revoke a link",
            handler: delete(shares::revoke),
        },
        Route {
            method: Method::GET,
            path: "/api/shares/{token}",
            scope: Scope::Share,
            about: "What is shared: its state",
            handler: get(shares::show),
        },
        Route {
            method: Method::GET,
            path: "/api/shares/{token}/events",
            scope: Scope::Share,
            about: "What is shared: a page of its events",
            handler: get(shares::events),
        },
        Route {
            method: Method::GET,
            path: "/api/shares/{token}/stream",
            scope: Scope::Share,
            about: "What is shared, as a stream",
            handler: get(shares::stream),
        },
        Route {
            method: Method::GET,
            path: "/api/shares/{token}/export",
            scope: Scope::Share,
            about: "What is shared, in any dialect",
            handler: get(shares::export),
        },
    ];
    all.extend(acts::routes());
    all.extend(work::routes());
    all
}
