//! The rail, keys, theme, addresses, and the prompt for a key.

use std::process::Command;

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn the_shell_is_used_by_keys_and_links() {
    assert_eq!(Site::open(&[]).run("shell.mjs", &[]).len(), 4);
}

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn a_server_with_keys_asks_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("s.db");
    let mut program = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    program.args(["keys", "--db"]).arg(&db);
    program.args(["add", "--tenant", "acme", "--scope", "operator", "--name", "test"]);
    let made = program.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let told = String::from_utf8(made.stdout).unwrap();
    let key = told.split_whitespace().find(|word| word.starts_with("sk_")).unwrap().to_owned();
    assert_eq!(Site::open_in(folder, &[]).run("shell.mjs", &[&key]).len(), 1);
}

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn every_view_is_used_large_small_and_by_ear() {
    assert_eq!(Site::open(&[]).run("reach.mjs", &[]).len(), 3);
}
