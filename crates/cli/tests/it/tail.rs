//! Following threads through a server that goes and comes back.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use crate::server::Server;
use crate::{Folder, selvedge, selvedge_with};

fn say(url: &str, thread: &str, words: &str) {
    let event = format!("{{\"kind\":\"system\",\"name\":\"{words}\",\"data\":null}}");
    let run = selvedge_with(&["append", thread, "--url", url], event.as_bytes());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn nothing_is_missed_or_repeated_when_the_server_comes_back() {
    let folder = Folder::new("tail");
    let db = &folder.path("s.db");
    let mut server = Server::start_with(&["--listen", "127.0.0.1:0", "--db", db]);
    let url = server.url.clone();
    let address = url.trim_start_matches("http://").to_owned();
    for thread in ["a", "b"] {
        let line = format!(
            "{{\"seq\":1,\"at\":\"2026-01-01T00:00:00Z\",\"event\":{{\"kind\":\"system\",\
             \"name\":\"{thread}0\",\"data\":1}}}}"
        );
        let made = selvedge_with(&["import", "--thread", thread, "--url", &url], line.as_bytes());
        assert_eq!(made.code, Some(0), "{}", made.stderr);
    }
    let mut tail = Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(["tail", "a", "b", "--kinds", "system", "--url", &url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut seen: Vec<String> = lines.by_ref().take(2).collect();
    for round in 1..4 {
        for thread in ["a", "b"] {
            say(&url, thread, &format!("{thread}{round}"));
        }
        seen.extend(lines.by_ref().take(2));
        server.kill();
        server = Server::start_with(&["--listen", &address, "--db", db]);
    }
    say(&url, "a", "end");
    seen.extend(lines.by_ref().take(1));
    tail.kill().unwrap();
    tail.wait().unwrap();
    assert_eq!(lines.count(), 0);
    for (thread, names) in
        [("a ", vec!["a0", "a1", "a2", "a3", "end"]), ("b ", vec!["b0", "b1", "b2", "b3"])]
    {
        let own = seen.iter().filter(|line| line.starts_with(thread));
        let own: Vec<&String> = own.collect();
        assert_eq!(own.len(), names.len(), "{seen:?}");
        for (line, name) in own.iter().zip(names) {
            assert!(line.contains(name), "{name}: {seen:?}");
        }
    }
    let mut said = String::new();
    tail.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("connected to a again"), "{said}");
}

#[test]
fn a_cursor_of_another_journal_is_said_to_be_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s.db"));
    let url = server.url.as_str();
    let line =
        br#"{"seq":1,"at":"2026-01-01T00:00:00Z","event":{"kind":"system","name":"n","data":1}}"#;
    selvedge_with(&["import", "--thread", "a", "--url", url], line);
    let run = selvedge(&["tail", "a", "--after", "7.9", "--no-follow", "--url", url]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.starts_with("gap in a: there is no 7.9"), "{}", run.stderr);
    assert!(run.stdout.contains(" system "), "all of it follows: {}", run.stdout);
    let both = selvedge(&["tail", "a", "b", "--after", "7.9", "--url", url]);
    assert_eq!(both.code, Some(2));
    assert!(both.stderr.contains("cursor of one thread"), "{}", both.stderr);
}
