//! A thread's conversation: reading it, answering, saying more; and what must not go wrong.

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn a_conversation_is_read_and_its_questions_are_answered() {
    assert_eq!(Site::open(&[]).run("conversation.mjs", &[]).len(), 13);
}

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn an_empty_server_begins_the_demonstration_whose_agents_are_talked_to() {
    assert_eq!(Site::open(&[]).run("conversation.mjs", &["talk"]).len(), 2);
}

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn of_two_tabs_that_answer_at_once_one_is_told() {
    assert_eq!(Site::open(&[]).run("conversation.mjs", &["race"]).len(), 1);
}

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn a_page_goes_on_after_its_server_was_killed_without_a_doubled_word() {
    let site = Site::open(&[]);
    let folder = site.folder.path().to_str().unwrap().to_owned();
    let told = site.run("resume.mjs", &[env!("CARGO_BIN_EXE_selvedge"), &folder]);
    assert_eq!(told.len(), 3);
}

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn ten_thousand_events_open_and_scroll() {
    assert_eq!(Site::open(&[]).run("large.mjs", &[]).len(), 3);
}

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn whatever_events_hold_is_text() {
    assert_eq!(Site::open(&[]).run("hostile.mjs", &[]).len(), 1);
}

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn the_fold_of_the_page_comes_to_what_the_servers_does() {
    assert_eq!(Site::open(&[]).run("fold.mjs", &[]).len(), 1);
}
