//! What waits for a person, answered.

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn what_waits_is_answered_from_the_keyboard_and_by_one_person() {
    assert_eq!(Site::open(&[]).run("inbox.mjs", &[]).len(), 7);
}
