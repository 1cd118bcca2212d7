//! Acting on threads from the command line.

use std::fs;

use crate::server::Server;
use crate::{selvedge, selvedge_with};

const ASK: &[u8] = br#"[{"kind":"task-created","taskId":"k","initiator":"user"},
    {"kind":"input-required","taskId":"k","inputId":"i","inputType":"selection","prompt":"Which?","options":["true","b"]},
    {"kind":"auth-required","taskId":"k","authId":"au","authType":"oauth2","prompt":"Log in"},
    {"kind":"tool-start","taskId":"k","toolCallId":"c","toolName":"t","arguments":{}}]"#;

#[test]
fn questions_are_answered_and_what_runs_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s.db"));
    let url = server.url.as_str();
    let run = |args: &[&str]| selvedge(&[args, &["--url", url]].concat());
    let import = selvedge_with(&["import", "--thread", "t", "--from", "looopy", "--url", url], b"{\"kind\":\"task-created\",\"contextId\":\"t\",\"taskId\":\"z\",\"initiator\":\"user\",\"timestamp\":\"2026-01-01T00:00:00Z\"}");
    assert_eq!(import.code, Some(0), "{}", import.stderr);
    let appended = selvedge_with(&["append", "t", "--url", url], ASK);
    assert_eq!(appended.code, Some(0), "{}", appended.stderr);

    let wrong = run(&["inbox", "answer", "t", "i", "true"]);
    assert_eq!(wrong.code, Some(2), "as JSON, `true` is none of the options");
    assert!(wrong.stderr.contains("none of the options"), "{}", wrong.stderr);
    let right =
        run(&["inbox", "answer", "t", "i", "true", "--text", "--user", "ann", "--reason", "it is"]);
    assert_eq!(right.code, Some(0), "{}", right.stderr);
    let again = run(&["inbox", "answer", "t", "i", "b"]);
    assert!(again.stderr.contains("already_answered") && again.code == Some(2), "{}", again.stderr);
    assert_eq!(run(&["inbox", "authenticated", "t", "au", "--user", "ann"]).code, Some(0));
    let tail =
        run(&["tail", "t", "--no-follow", "--format", "json", "--kinds", "input-received"]).stdout;
    assert!(tail.contains("\"value\":\"true\"") && tail.contains("it is"), "{tail}");

    assert_eq!(run(&["cancel", "t", "--tool-call", "c"]).code, Some(0));
    assert_eq!(run(&["cancel", "t", "k", "--reason", "enough"]).code, Some(0));
    let over = run(&["cancel", "t", "k"]);
    assert!(over.stderr.contains("canceled") && over.code == Some(2), "{}", over.stderr);
    let none = run(&["cancel", "t", "none"]);
    assert!(none.stderr.contains("task `none` not found"), "{}", none.stderr);
    server.kill();
}

#[test]
fn artifacts_come_out_as_they_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s.db"));
    let url = server.url.as_str();
    let run = |args: &[&str]| selvedge(&[args, &["--url", url]].concat());
    selvedge_with(&["import", "--thread", "t", "--from", "looopy", "--url", url], b"{\"kind\":\"task-created\",\"contextId\":\"t\",\"taskId\":\"z\",\"initiator\":\"user\",\"timestamp\":\"2026-01-01T00:00:00Z\"}");
    let (from, to) = (folder.path().join("in.bin"), folder.path().join("out.bin"));
    let bytes: Vec<u8> = (0..=255).rev().collect();
    fs::write(&from, &bytes).unwrap();
    let (from, to_name) = (from.to_str().unwrap(), to.to_str().unwrap());
    let put = run(&["artifacts", "t", "a b", "--put", from]);
    assert!(put.stdout.starts_with("version 1 "), "{}{}", put.stdout, put.stderr);
    let listed = run(&["artifacts", "t"]).stdout;
    assert!(
        listed.starts_with("a b ") && listed.contains("1 version,") && listed.contains("in.bin"),
        "{listed}"
    );
    assert_eq!(run(&["artifacts", "t", "a b", "-o", to_name]).code, Some(0));
    assert_eq!(fs::read(&to).unwrap(), bytes);
    let stale = run(&["artifacts", "t", "a b", "--put", from, "--version", "7"]);
    assert!(stale.stderr.contains("version_conflict") && stale.code == Some(2), "{}", stale.stderr);
    assert!(
        run(&["artifacts", "t", "a b", "--put", from, "--version", "1"])
            .stdout
            .starts_with("version 2 ")
    );
    assert_eq!(run(&["artifacts", "t", "none"]).code, Some(2));
    server.kill();
}
