//! Which sites' pages may ask.

use axum::extract::Request;
use http::{HeaderMap, HeaderValue, Method, header};

use crate::Options;

/// Whether a site is on the list.
pub(crate) fn is_listed(options: &Options, origin: &str) -> bool {
    options.cors.iter().any(|listed| listed == "*" || listed.eq_ignore_ascii_case(origin))
}

/// The request's site, if it is on the list.
pub(super) fn origin(options: &Options, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    is_listed(options, origin.to_str().ok()?).then(|| origin.clone())
}

/// Whether a browser asks if it may ask.
pub(super) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Lets a listed site's page read the answer. There are no cookies, so none are allowed.
pub(super) fn add(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    // Or a cache would give one site's answer to another.
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let Some(origin) = origin else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, PATCH, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, idempotency-key, if-match, if-none-match, \
             last-event-id, selvedge-lease, x-request-id",
        ),
        (
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            "artifact-complete, artifact-version, content-disposition, etag, location, \
             retry-after, thread-epoch, x-request-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
