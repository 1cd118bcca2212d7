//! Commands over HTTP, against a server of their own.

use std::fs;

use crate::server::{Server, http};
use crate::{selvedge, selvedge_with};

const HISTORY: &str = r#"[{"parts":[{"content":"How long is the Seine?","timestamp":"2026-01-01T00:00:00Z","part_kind":"user-prompt"}],"kind":"request"},{"parts":[{"content":"777 km","part_kind":"text"}],"model_name":"m","timestamp":"2026-01-01T00:00:01Z","kind":"response"}]"#;

#[test]
fn a_history_goes_in_is_followed_and_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s.db"));
    let url = server.url.as_str();
    let made = selvedge_with(&["import", "--thread", "a b", "--url", url], HISTORY.as_bytes());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(made.stdout.starts_with("a b ") && made.stdout.contains("(pydantic-ai)"));

    let event =
        br#"{"kind":"message","role":"user","author":"ann","content":"and the Loire?\u001b[31m"}"#;
    let appended = selvedge_with(&["append", "a b", "--url", url], event);
    assert_eq!(appended.code, Some(0), "{}", appended.stderr);
    let cursor = appended.stdout.trim();

    let talk = selvedge(&["tail", "a b", "--no-follow", "--url", url]).stdout;
    assert!(talk.ends_with("ann          and the Loire?\u{fffd}[31m\n"), "{talk}");
    let tail = ["tail", "a b", "--no-follow", "--format", "events", "--url", url];
    let tail = selvedge(&tail).stdout;
    let last = tail.lines().last().unwrap();
    assert!(last.contains("ann") && last.contains("and the Loire?·[31m"), "{last}");
    let json = selvedge(&["tail", "a b", "--no-follow", "--format", "json", "--url", url]).stdout;
    assert_eq!(json.lines().count(), tail.lines().count());
    for line in json.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    let none = selvedge(&["tail", "a b", "--no-follow", "--after", cursor, "--url", url]);
    assert_eq!((none.stdout.as_str(), none.code), ("", Some(0)));
    let kinds = ["tail", "a b", "--no-follow", "--kinds", "content-*", "--url", url];
    assert_eq!(selvedge(&kinds).stdout.lines().count(), 1);

    let out = folder.path().join("out.json");
    let out_name = out.to_str().unwrap();
    let export = ["export", "a b", "--to", "pydantic-ai", "-o", out_name, "--url", url];
    assert_eq!(selvedge(&export).code, Some(0));
    let text = fs::read_to_string(out).unwrap();
    assert!(
        text.starts_with(HISTORY.strip_suffix(']').unwrap()),
        "the same bytes, and more: {text}"
    );
    assert!(text.contains("and the Loire?"));
    server.kill();
}

#[test]
fn what_the_server_refuses_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s.db"));
    let url = server.url.clone();
    let gone = selvedge(&["tail", "none", "--url", &url]);
    assert_eq!(gone.code, Some(2));
    assert!(gone.stderr.contains("thread `none` not found"), "{}", gone.stderr);
    let missing = selvedge_with(&["append", "none", "--url", &url], b"{\"kind\":\"x\"}");
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("`--create`"), "{}", missing.stderr);
    for cursor_ends in [".2\n", ".3\n"] {
        let args = ["append", "fresh", "--create", "--url", &url];
        let made = selvedge_with(&args, b"{\"kind\":\"x\"}");
        assert!(made.stdout.ends_with(cursor_ends), "{} {}", made.stdout, made.stderr);
    }
    let bad = selvedge_with(&["append", "none", "--url", &url], b"{\"kind\":3}");
    assert!(bad.stderr.contains("bad_event") && bad.stderr.contains("/kind"), "{}", bad.stderr);
    server.kill();
    let lost = selvedge_with(&["append", "t", "--url", &url], b"{\"kind\":\"x\"}");
    assert_eq!(lost.code, Some(2));
    assert!(lost.stderr.contains("selvedge serve"), "{}", lost.stderr);
    let exposed = selvedge(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(exposed.code, Some(2));
    assert!(exposed.stderr.contains("there are no keys"), "{}", exposed.stderr);
}

#[test]
fn threads_are_listed_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s.db"));
    let url = server.url.as_str();
    selvedge_with(&["import", "--thread", "t", "--url", url], HISTORY.as_bytes());
    let ask = br#"{"kind":"input-required","taskId":"k","inputId":"i","inputType":"confirmation","prompt":"Swim?"}"#;
    selvedge_with(&["append", "t", "--url", url], ask);
    // What follows behind the acknowledgement is some milliseconds late.
    let shows = |args: &[&str], text: &str| {
        for _ in 0..1500 {
            let run = selvedge(&[args, &["--url", url]].concat());
            assert_eq!(run.code, Some(0), "{}", run.stderr);
            if run.stdout.contains(text) {
                return run.stdout;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("{args:?} never shows {text}");
    };
    assert!(shows(&["threads"], "waiting").starts_with("t "));
    assert!(shows(&["inbox"], "Swim?").starts_with("t "));
    assert!(shows(&["search", "seine"], "How long is the Seine?").starts_with("t "));
    let json = shows(&["threads", "--format", "json"], "waiting");
    let thread: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!((&thread["id"], &thread["pending"]), (&"t".into(), &1.into()));
    assert_eq!(selvedge(&["threads", "--status", "failed", "--url", url]).stdout, "");
    let db = folder.path().join("s.db");
    let db = db.to_str().unwrap();
    let running = selvedge(&["rebuild", "--db", db]);
    assert!(running.stderr.contains("open in another process"), "{}", running.stderr);
    server.kill();
    let rebuilt = selvedge(&["rebuild", "--db", db]);
    assert_eq!(
        rebuilt.stdout, "lists, inbox, usage and search are made anew\n",
        "{}",
        rebuilt.stderr
    );
    let none = folder.path().join("none.db");
    assert_eq!(selvedge(&["rebuild", "--db", none.to_str().unwrap()]).code, Some(2));
    assert!(!none.exists(), "it makes nothing");
}

#[test]
fn a_thread_is_shared_and_a_branch_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s.db"));
    let url = server.url.as_str();
    selvedge_with(&["import", "--thread", "t", "--url", url], HISTORY.as_bytes());
    let run = |args: &[&str]| {
        let run = selvedge(&[args, &["--url", url]].concat());
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        run.stdout
    };
    let link = run(&["share", "t", "--expires", "7d", "--title", "Look", "--show", "tools"]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let read = |link: &str| {
        runtime
            .block_on(async { http().get(link.trim()).send().await.unwrap().text().await.unwrap() })
    };
    assert!(read(&link).contains("777 km"), "{link}");
    let listed = run(&["share", "t", "--list"]);
    assert!(listed.contains("Look") && listed.contains("until 20"), "{listed}");
    let id = listed.split_whitespace().next().unwrap();
    run(&["share", "t", "--revoke", id]);
    assert!(read(&link).contains("not_found"));

    let fork = format!("{url}/api/threads/t/fork");
    runtime.block_on(async {
        let made = http().post(fork).body(r#"{"id":"f"}"#).send().await.unwrap();
        assert_eq!(made.status().as_u16(), 201);
    });
    let done = "t is now f, and what it was is was";
    assert_eq!(run(&["promote", "f", "--old", "was"]).trim(), done);
    assert_eq!(run(&["promote", "f"]).trim(), format!("{done} (done before)"));
}
