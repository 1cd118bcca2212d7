//! A name for every request, in its answer and in the log.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::clock::now;
use crate::extract::visible;

pub(super) const NAME: HeaderName = HeaderName::from_static("x-request-id");

/// The id that the caller gave, if it is sane, else a new one.
pub(super) fn of(given: Option<&[u8]>) -> String {
    let sane = |id: &&str| {
        (1..=128).contains(&id.len())
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/+=".contains(&b))
    };
    given.and_then(visible).filter(sane).map_or_else(fresh, str::to_owned)
}

/// A new one: told apart from all others, and no secret, so that it needs no word with the system.
fn fresh() -> String {
    let [one, two] = [(); 2].map(|()| RandomState::new().build_hasher().finish().to_le_bytes());
    let mut bytes = [0; 10];
    bytes.iter_mut().zip(one.iter().chain(&two)).for_each(|(to, from)| *to = *from);
    let millis = u64::try_from(now()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid().to_string()
}

/// Says it in the answer.
pub(super) fn add(headers: &mut HeaderMap, id: &str) {
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert(NAME, value);
    }
}
