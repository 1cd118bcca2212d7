//! The list of threads, and the search in it.

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn threads_are_listed_live_filtered_searched_and_scrolled() {
    assert_eq!(Site::open(&[]).run("threads.mjs", &[]).len(), 6);
}

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn a_list_of_a_million_is_scrolled_through() {
    assert_eq!(Site::open(&[]).run("many.mjs", &[]).len(), 2);
}
