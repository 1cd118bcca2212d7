//! What every answer has, whatever is asked: an id, a line in the log, a count, headers that tell
//! browsers to be careful (whoever writes the answer adds them), and an end to waiting.

pub(crate) mod cors;
pub(crate) mod headers;
mod request_id;

use std::time::Instant;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode, Uri};
use selvedge_store::SHARE_PREFIX;

use crate::auth::guard::Caller;
use crate::{App, Error, ErrorCode};

/// Stands around everything.
pub(crate) async fn edge(
    app: &App,
    request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let began = Instant::now();
    let id = request_id::of(request.headers());
    let origin = cors::origin(app.options(), request.headers());
    // What is not logged need not be put into words. A failure is always worth it.
    let asked = (request.method().clone(), request.uri().clone());
    let mut response = if cors::is_preflight(&request) {
        StatusCode::NO_CONTENT.into_response()
    } else {
        let limit = app.options().request_timeout;
        match tokio::time::timeout(limit, next(request)).await {
            Ok(response) => response,
            Err(_) => {
                let message = format!("not done within {} seconds", limit.as_secs());
                Error::new(ErrorCode::Timeout, message).into_response()
            }
        }
    };
    let status = response.status();
    let code = response.extensions().get::<Error>().map(|error| error.code);
    app.metrics().answer(status, code);
    if status.is_server_error() || tracing::enabled!(tracing::Level::INFO) {
        log(&id, asked, code, &response, began);
    }
    let headers = response.headers_mut();
    if app.options().tls.is_some() {
        headers::add_strict(headers);
    }
    cors::add(headers, origin);
    request_id::add(headers, &id);
    response
}

/// A line about a request, without its query, which may hold a key.
fn log(
    id: &str,
    (method, uri): (Method, Uri),
    code: Option<ErrorCode>,
    response: &Response,
    began: Instant,
) {
    let path = without_tokens(uri.path());
    let caller = response.extensions().get::<Caller>().map(|caller| caller.0.name.clone());
    let (caller, code) = (caller.as_deref().unwrap_or("-"), code.map_or("-", ErrorCode::name));
    let micros = began.elapsed().as_micros() as u64;
    let status = response.status().as_u16();
    if status >= 500 {
        tracing::error!(request = %id, %method, path, status, code, caller, micros, "failed");
    } else {
        tracing::info!(request = %id, %method, path, status, code, caller, micros, "answered");
    }
}

/// A path as it may be logged: what looks like a share's token is cut off, wherever it stands.
fn without_tokens(path: &str) -> String {
    let parts = path.split('/').map(|part| match part.find(SHARE_PREFIX) {
        Some(at) => part.get(..at).unwrap_or_default().to_owned() + SHARE_PREFIX + "…",
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_is_in_a_path_that_is_logged() {
        assert_eq!(without_tokens("/api/threads/t1/events"), "/api/threads/t1/events");
        assert_eq!(without_tokens("/api/shares/sh_00ff/stream"), "/api/shares/sh_…/stream");
        assert_eq!(without_tokens("/x%2fsh_00ff"), "/x%2fsh_…");
    }
}
