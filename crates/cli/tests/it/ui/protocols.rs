//! The same thread in every dialect, side by side.

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn a_thread_is_shown_in_every_dialect_with_what_is_lost() {
    assert_eq!(Site::open(&[]).run("protocols.mjs", &[]).len(), 10);
}
