//! Model Context Protocol: threads, tasks and artifacts as resources; tools that send, read,
//! search and answer.
//!
//! Invariant: there are no sessions. Every request stands by itself and passes the authorizer, so
//! a key that is revoked ends with the next request, and any server of the house can answer.

mod listen;
mod resources;
mod serve;
mod tools;
mod turns;
mod uri;

use axum::body::{self, Body};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::{Method, header};
use serde_json::{Value, json};

use crate::auth::Scope;
use crate::routes::Route;
use crate::{Error, ErrorCode};

pub(crate) fn routes() -> Vec<Route> {
    vec![Route {
        method: Method::POST,
        path: "/mcp",
        scope: Scope::Read,
        about: "Model Context Protocol, without sessions; what its tools write needs `write` too",
        handler: post(serve::serve),
    }]
}

/// What went wrong before a request was read, as JSON-RPC.
pub(crate) fn told(error: Error) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": {
        "code": -32600, "message": error.message, "data": { "code": error.code.name() } } });
    let mut response = error.into_response();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(body.to_string());
    response
}

/// What the native API answers, as JSON.
async fn value(response: Response) -> Result<Value, Error> {
    let bytes = body::to_bytes(response.into_body(), usize::MAX).await;
    let bytes = bytes.map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))
}

/// A query of the native API.
fn query(members: &[(&str, Option<&Value>)]) -> Option<String> {
    let mut out = form_urlencoded::Serializer::new(String::new());
    for (name, value) in members {
        match value {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => {
                out.append_pair(name, text);
            }
            Some(other) => {
                out.append_pair(name, &other.to_string());
            }
        }
    }
    Some(out.finish())
}
