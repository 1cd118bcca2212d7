//! A2A 1.0 and 0.3 on one URL: JSON-RPC and HTTP+JSON, a card for both, streams, push
//! notifications.
//!
//! A context is a thread and a task is a task, under the same ids. Both versions and both bindings
//! come to the same operations; they differ in how they are asked ([`request`], [`rpc`], [`rest`])
//! and in which version of the dialect the records are that a task is told in ([`snapshot`],
//! [`relay`]).

mod answer;
mod caller;
mod card;
mod config;
mod deliver;
mod draft;
mod fault;
mod message;
mod push;
mod relay;
mod request;
mod rest;
mod rpc;
mod send;
mod snapshot;
mod stream;
mod tasks;

pub(crate) use deliver::keep;
pub(crate) use fault::{rest_told, rpc_told};

use axum::routing::{delete, get, post};
use http::Method;

use crate::auth::Scope;
use crate::routes::Route;

/// JSON-RPC, and what finds it.
pub(crate) fn rpc_routes() -> Vec<Route> {
    // Which method is asked for says what it needs.
    let call = |path, about| Route {
        method: Method::POST,
        path,
        scope: Scope::Read,
        about,
        handler: post(rpc::call),
    };
    vec![
        call("/a2a", "A2A 1.0 and 0.3: JSON-RPC"),
        call("/a2a/", "The same"),
        call("/", "The same, for clients that know the server alone"),
        call("/a2a/agents/{agent}", "A2A: JSON-RPC to one agent"),
        Route {
            method: Method::GET,
            path: "/.well-known/agent-card.json",
            scope: Scope::Nobody,
            about: "A2A: the card of the agent that answers here, for both versions",
            handler: get(card::shown),
        },
        Route {
            method: Method::GET,
            path: "/a2a/.well-known/agent-card.json",
            scope: Scope::Nobody,
            about: "The same, for who knows no more than where JSON-RPC is",
            handler: get(card::shown),
        },
        Route {
            method: Method::GET,
            path: "/a2a/agents/{agent}/.well-known/agent-card.json",
            scope: Scope::Read,
            about: "A2A: the card of one agent",
            handler: get(card::of_agent),
        },
    ]
}

/// HTTP+JSON, under the paths of both versions.
pub(crate) fn rest_routes() -> Vec<Route> {
    let mut routes = Vec::new();
    let paths = [
        ["/a2a/message:send", "/a2a/v1/message:send"],
        ["/a2a/message:stream", "/a2a/v1/message:stream"],
        ["/a2a/tasks", "/a2a/v1/tasks"],
        ["/a2a/tasks/{*task}", "/a2a/v1/tasks/{*task}"],
        ["/a2a/extendedAgentCard", "/a2a/v1/card"],
    ];
    for version in 0..2 {
        let [send, stream, list, task, card] = paths.map(|both| both[version]);
        let mut add = |method, path, scope, about, handler| {
            routes.push(Route { method, path, scope, about, handler });
        };
        let both = Scope::Both;
        add(Method::POST, send, both, "A2A: send a message", post(rest::send));
        add(
            Method::POST,
            stream,
            both,
            "A2A: send a message, answered piece by piece",
            post(rest::stream),
        );
        add(Method::GET, list, Scope::Read, "A2A: tasks, a page at a time", get(rest::list));
        add(
            Method::GET,
            task,
            Scope::Read,
            "A2A: a task, its events, or whom it is told to",
            get(rest::get),
        );
        // What comes after the id says what is asked for, and what it needs.
        add(
            Method::POST,
            task,
            Scope::Read,
            "A2A: cancel or follow a task, or have it told",
            post(rest::act),
        );
        add(
            Method::DELETE,
            task,
            both,
            "A2A: tell a task to someone no more",
            delete(rest::remove),
        );
        add(Method::GET, card, Scope::Read, "A2A: the card for who has a key", get(rest::extended));
    }
    routes
}
