//! Headers that tell browsers to be careful. What a handler set itself stays.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// For answers that are data: nothing in them is to be run, shown in a frame, guessed or kept.
const ALWAYS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Those of them that an answer does not have.
pub(crate) fn missing(headers: &HeaderMap) -> impl Iterator<Item = (HeaderName, &'static str)> {
    ALWAYS.into_iter().filter(|(name, _)| !headers.contains_key(name))
}

/// Adds them, for whoever writes no more than what an answer has.
pub(crate) fn add(headers: &mut HeaderMap) {
    headers.reserve(ALWAYS.len());
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// Where there is TLS, browsers are not to ask without it.
pub(super) fn add_strict(headers: &mut HeaderMap) {
    let value = HeaderValue::from_static("max-age=31536000");
    headers.entry(header::STRICT_TRANSPORT_SECURITY).or_insert(value);
}
