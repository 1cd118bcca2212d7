//! Looopy's own URLs: `/invocations`, and the context's stream through npm's `eventsource`.

use super::House;

#[test]
#[ignore = "needs npm's eventsource: cargo xtask test --only surfaces"]
fn npm_eventsource_invokes_resumes_and_follows() {
    House::open().node("client_looopy.mjs");
}
