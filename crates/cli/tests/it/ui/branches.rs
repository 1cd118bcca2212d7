//! The tree of forks, and two of them compared.

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn branches_are_made_compared_and_promoted() {
    assert_eq!(Site::open(&[]).run("branches.mjs", &[]).len(), 5);
}
