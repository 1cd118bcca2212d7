//! Branches from the command line, and what differs between two.

use crate::server::Server;
use crate::{selvedge, selvedge_with};

/// An append that must go well.
fn say(url: &str, thread: &str, events: &str) {
    let run = selvedge_with(&["append", thread, "--url", url], events.as_bytes());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

const SAID: [&str; 4] = [
    r#"{"kind":"message","role":"user","author":"ann","content":"one"}"#,
    r#"{"kind":"message","role":"user","author":"ann","content":"two"}"#,
    r#"{"kind":"message","role":"user","author":"ann","content":"three"}"#,
    r#"{"kind":"message","role":"user","author":"ann","content":"f\u001b[31mour"}"#,
];

#[test]
fn a_branch_goes_another_way_and_the_difference_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s.db"));
    let url = server.url.as_str();
    let import = r#"{"seq":1,"at":"2026-01-01T00:00:00Z","event":{"kind":"thread-created","contextId":"a"}}"#;
    let made = selvedge_with(&["import", "--thread", "a", "--url", url], import.as_bytes());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    say(url, "a", &format!("[{}]", SAID[..3].join(",")));

    let forked = selvedge(&["fork", "a", "--at", "2", "--id", "b", "--url", url]);
    assert_eq!(forked.code, Some(0), "{}", forked.stderr);
    assert!(forked.stdout.starts_with("b ") && forked.stdout.ends_with(".3\n"), "{forked:?}");
    say(url, "b", &format!("[{},{}]", SAID[2], SAID[3]));

    let shown = selvedge(&["diff", "a", "b", "--url", url]).stdout;
    let marks: Vec<(char, &str)> = shown
        .lines()
        .skip(3)
        .map(|line| (line.chars().next().unwrap(), line.split_whitespace().last().unwrap()))
        .collect();
    assert!(shown.starts_with("they share 2 events\n- a\n+ b\n"), "{shown}");
    let last = marks.len() - 1;
    assert_eq!((marks[0], marks[last]), (('-', "two"), ('+', "f·[31mour")), "{shown}");
    assert!(marks.contains(&(' ', "three")), "what both say is shown once: {shown}");

    let json = selvedge(&["diff", "a", "b", "--json", "--url", url]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let count = |side: &str| json[side]["entries"].as_array().unwrap().len();
    assert_eq!((json["base"].as_u64(), count("left"), count("right")), (Some(2), 2, 3));

    for (args, code) in [
        (vec!["fork", "a", "--at", "99"], "bad_parameter"),
        (vec!["fork", "a", "--at", "x"], "bad_parameter"),
        (vec!["fork", "none"], "not_found"),
        (vec!["diff", "a", "none"], "not_found"),
    ] {
        let run = selvedge(&[&args[..], &["--url", url]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.stderr.contains(code), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn a_side_longer_than_one_answer_is_shown_whole() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s.db"));
    let url = server.url.as_str();
    let made = selvedge_with(
        &["import", "--thread", "a", "--url", url],
        br#"{"seq":1,"at":"2026-01-01T00:00:00Z","event":{"kind":"thread-created","contextId":"a"}}"#,
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    selvedge(&["fork", "a", "--id", "b", "--url", url]);
    let many = vec![r#"{"kind":"system","name":"n","data":1}"#; 6000].join("\n");
    for _ in 0..2 {
        say(url, "b", &many);
    }
    let shown = selvedge(&["diff", "a", "b", "--url", url]).stdout;
    assert_eq!(shown.lines().count(), 3 + 1 + 12_000);
}
