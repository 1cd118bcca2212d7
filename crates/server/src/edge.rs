//! What every answer has, whatever is asked: an id, a line in the log, a count, headers that tell
//! browsers to be careful (whoever writes the answer adds them), and an end to waiting.

pub(crate) mod cors;
pub(crate) mod headers;
mod request_id;

use std::time::Instant;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode};
use selvedge_store::SHARE_PREFIX;

use crate::auth::guard::Caller;
use crate::{App, Error, ErrorCode};

/// Stands around everything.
pub(crate) async fn edge(
    app: &App,
    request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let named = request.headers().get(request_id::NAME).map(HeaderValue::as_bytes);
    let asked = Asked::new(named, request.method().clone(), request.uri().path());
    let origin = cors::origin(app.options(), request.headers());
    let response = if cors::is_preflight(&request) {
        StatusCode::NO_CONTENT.into_response()
    } else {
        let limit = app.options().request_timeout;
        match tokio::time::timeout(limit, next(request)).await {
            Ok(response) => response,
            Err(_) => late(app).into_response(),
        }
    };
    asked.finish(app, response, origin)
}

/// What someone is told who has waited for too long.
pub(crate) fn late(app: &App) -> Error {
    let limit = app.options().request_timeout.as_secs();
    Error::new(ErrorCode::Timeout, format!("not done within {limit} seconds"))
}

/// A request, as its answer and its line in the log know it.
pub(crate) struct Asked {
    pub(crate) id: String,
    method: Method,
    path: String,
    began: Instant,
}

impl Asked {
    /// One that may have been given a name.
    pub(crate) fn new(name: Option<&[u8]>, method: Method, path: &str) -> Self {
        let (id, path) = (request_id::of(name), path.to_owned());
        Self { id, method, path, began: Instant::now() }
    }

    /// Counts and logs the answer, and adds what every answer has.
    pub(crate) fn finish(
        &self,
        app: &App,
        mut response: Response,
        origin: Option<HeaderValue>,
    ) -> Response {
        let code = response.extensions().get::<Error>().map(|error| error.code);
        let caller = response.extensions().get::<Caller>().map(|caller| caller.0.clone());
        self.note(app, (response.status(), code), caller.as_deref());
        let headers = response.headers_mut();
        if app.options().tls.is_some() {
            headers::add_strict(headers);
        }
        cors::add(headers, origin);
        request_id::add(headers, &self.id);
        response
    }

    /// Counts an answer, and puts it into the log if it is to be there: without the query, which
    /// may hold a key.
    pub(crate) fn note(
        &self,
        app: &App,
        (status, code): (StatusCode, Option<ErrorCode>),
        caller: Option<&str>,
    ) {
        app.metrics().answer(status, code);
        if !status.is_server_error() && !tracing::enabled!(tracing::Level::INFO) {
            return;
        }
        let Self { id, method, .. } = self;
        let path = without_tokens(&self.path);
        let (caller, code) = (caller.unwrap_or("-"), code.map_or("-", ErrorCode::name));
        let micros = self.began.elapsed().as_micros() as u64;
        let status = status.as_u16();
        if status >= 500 {
            tracing::error!(request = %id, %method, path, status, code, caller, micros, "failed");
        } else {
            tracing::info!(request = %id, %method, path, status, code, caller, micros, "answered");
        }
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
