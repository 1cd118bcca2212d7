//! What time it is.

use std::time::SystemTime;

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}
