//! The timeline of a thread: lanes, list, tree and graph, live and long.

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn a_timeline_shows_who_did_what_and_when() {
    assert_eq!(Site::open(&[]).run("timeline.mjs", &[]).len(), 7);
}
