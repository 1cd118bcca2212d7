//! Readers with their lag, and the doctor.

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn readers_are_seen_and_proxies_in_the_way_are_noticed() {
    assert_eq!(Site::open(&[]).run("connections.mjs", &[]).len(), 6);
}
