//! Replay: any moment of a thread, by link, key and pointer.

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn a_thread_is_replayed_from_any_moment() {
    assert_eq!(Site::open(&[]).run("replay.mjs", &[]).len(), 6);
}
