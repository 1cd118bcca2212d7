//! How often someone may ask.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Callers that are remembered. Beyond that, those who could ask at once anyway are forgotten.
const CALLERS: usize = 1 << 16;

/// Whose requests are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Who {
    /// A key or a token's subject.
    Caller(Arc<str>),
    /// An address, for those who have neither.
    Address(IpAddr),
}

/// A bucket per caller that fills with time: a second's worth at once, then one by one.
pub(crate) struct Rate {
    per_second: f64,
    buckets: Mutex<HashMap<Who, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rate {
    /// So many requests a second.
    pub(crate) fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second.max(1)), buckets: Mutex::default() }
    }

    /// Counts a request; whether it is within the rate.
    pub(super) fn admits(&self, who: Who, now: Instant) -> bool {
        let full = self.per_second;
        let filled = |bucket: &Bucket| {
            let since = now.saturating_duration_since(bucket.at).as_secs_f64();
            (bucket.left + since * full).min(full)
        };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= CALLERS && !buckets.contains_key(&who) {
            buckets.retain(|_, bucket| filled(bucket) < full);
            if buckets.len() >= CALLERS {
                return false;
            }
        }
        let bucket = buckets.entry(who).or_insert(Bucket { left: full, at: now });
        bucket.left = filled(bucket);
        bucket.at = now;
        if bucket.left < 1.0 {
            return false;
        }
        bucket.left -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_at_a_time() {
        let rate = Rate::new(10);
        let start = Instant::now();
        let (a, b) = (Who::Caller("a".into()), Who::Address([127, 0, 0, 1].into()));
        let passed = (0..50).filter(|_| rate.admits(a.clone(), start)).count();
        assert_eq!(passed, 10);
        assert!(rate.admits(b, start), "others are not held up");
        let later = start + Duration::from_millis(110);
        assert!(rate.admits(a.clone(), later) && !rate.admits(a.clone(), later));
        let idle = start + Duration::from_secs(60);
        assert_eq!((0..50).filter(|_| rate.admits(a.clone(), idle)).count(), 10);
    }
}
