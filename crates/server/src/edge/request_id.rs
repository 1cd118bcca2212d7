//! A name for every request, in its answer and in the log.

use http::{HeaderMap, HeaderName, HeaderValue};

const NAME: HeaderName = HeaderName::from_static("x-request-id");

/// The id that the caller gave, if it is sane, else a new one.
pub(super) fn of(headers: &HeaderMap) -> String {
    let given = headers.get(NAME).and_then(|value| value.to_str().ok());
    let sane = |id: &&str| {
        (1..=128).contains(&id.len())
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/+=".contains(&b))
    };
    given.filter(sane).map_or_else(|| uuid::Uuid::now_v7().to_string(), str::to_owned)
}

/// Says it in the answer.
pub(super) fn add(headers: &mut HeaderMap, id: &str) {
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert(NAME, value);
    }
}
