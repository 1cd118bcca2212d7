//! The AI SDK's chat transport: one request per turn, and a message as a stream of chunks.
//!
//! A chat is a thread. The client sends all it has with every request; what the journal has already
//! is left alone, and nothing is taken from a client that others have said. See ADR 0026.

mod answers;
mod chat;
mod follow;
mod request;
mod rewind;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, post};
use http::{HeaderMap, HeaderValue, Method, header};

use crate::auth::Scope;
use crate::query::Query;
use crate::routes::Route;
use crate::{Error, ErrorCode};

/// Names the major version of `ai` that the client uses.
const VERSION: &str = "x-ai-sdk-version";
/// The version for clients that do not say: what it knows, all later ones know too.
const OLDEST: u32 = 5;
const NEWEST: u32 = 7;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route {
            method: Method::POST,
            path: "/ai-sdk/chat",
            scope: Scope::Both,
            about: "One turn in a chat: a message or answers, and the agent's message as chunks",
            handler: post(chat::send),
        },
        Route {
            method: Method::GET,
            path: "/ai-sdk/chat/{id}",
            scope: Scope::Read,
            about: "A chat as UIMessages",
            handler: get(chat::history),
        },
        Route {
            method: Method::GET,
            path: "/ai-sdk/chat/{id}/stream",
            scope: Scope::Read,
            about: "The message that an agent is at, from its start; 204 if there is none",
            handler: get(follow::resume),
        },
        Route {
            method: Method::POST,
            path: "/ai-sdk/chat/{id}/stop",
            scope: Scope::Write,
            about: "Stop what agents do in a chat",
            handler: post(chat::stop),
        },
        Route {
            method: Method::DELETE,
            path: "/ai-sdk/chat/{id}/stream",
            scope: Scope::Write,
            about: "Stop what agents do in a chat",
            handler: delete(chat::stop),
        },
    ]
}

/// What went wrong. The client makes an error of it whose message is the body.
pub(crate) fn told(error: Error) -> Response {
    let at = error.pointer.as_deref().filter(|pointer| !pointer.is_empty());
    let at = at.map_or(String::new(), |pointer| format!(" (at {pointer})"));
    let text = format!("{}{at}", error.message);
    let code = HeaderValue::from_static(error.code.name());
    let mut response = error.into_response();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert("x-error-code", code);
    *response.body_mut() = Body::from(text);
    response
}

/// A version as the dialect's targets name it.
fn spelled(version: u32) -> &'static str {
    match version {
        ..=5 => "5",
        6 => "6",
        _ => "7",
    }
}

/// The major version of the client, as its header or the query says.
fn version(query: &Query<'_>, headers: &HeaderMap) -> Result<u32, Error> {
    let header = headers.get(VERSION).map(|value| value.to_str().unwrap_or("?"));
    let Some(given) = header.or(query.get("version")) else { return Ok(OLDEST) };
    let major = given.trim().trim_start_matches('v').split('.').next().unwrap_or("");
    match major.parse::<u32>() {
        Ok(major) if major >= OLDEST => Ok(major.min(NEWEST)),
        _ => {
            let message = format!("`{VERSION}` must be a version of `ai` from {OLDEST} on");
            Err(Error::new(ErrorCode::BadParameter, message))
        }
    }
}
