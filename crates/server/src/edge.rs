//! What every answer has, whatever is asked: an id, a line in the log, a count, headers that tell
//! browsers to be careful, and an end to waiting.

pub(crate) mod cors;
mod headers;
mod request_id;

use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use crate::auth::guard::Caller;
use crate::{App, Error, ErrorCode};

/// Stands around everything.
pub(crate) async fn edge(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request_id::of(request.headers());
    let origin = cors::origin(app.options(), request.headers());
    let method = request.method().clone();
    // Without the query: it may hold a key.
    let path = request.uri().path().to_owned();
    let mut response = if cors::is_preflight(&request) {
        StatusCode::NO_CONTENT.into_response()
    } else {
        let limit = app.options().request_timeout;
        match tokio::time::timeout(limit, next.run(request)).await {
            Ok(response) => response,
            Err(_) => {
                let message = format!("not done within {} seconds", limit.as_secs());
                Error::new(ErrorCode::Timeout, message).into_response()
            }
        }
    };
    let status = response.status();
    let code = response.extensions().get::<ErrorCode>().copied();
    app.metrics().answer(status, code);
    let caller = response.extensions().get::<Caller>().map(|caller| caller.0.name.clone());
    let (caller, code) = (caller.as_deref().unwrap_or("-"), code.map_or("-", ErrorCode::name));
    let took = began.elapsed().as_micros() as u64;
    let status = status.as_u16();
    if status >= 500 {
        tracing::error!(request = %id, %method, path, status, code, caller, micros = took, "failed");
    } else {
        tracing::info!(request = %id, %method, path, status, code, caller, micros = took, "answered");
    }
    let headers = response.headers_mut();
    headers::add(headers);
    if app.options().tls.is_some() {
        headers::add_strict(headers);
    }
    cors::add(headers, origin);
    request_id::add(headers, &id);
    response
}
