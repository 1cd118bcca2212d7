//! Redacting, erasing and the hash chain from the command line.

use rusqlite::Connection;

use crate::server::Server;
use crate::{selvedge, selvedge_with};

#[test]
fn what_is_redacted_and_erased_is_told_and_a_copy_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("s.db");
    let path = db.to_str().unwrap();
    let server = Server::start_with(&[
        "--listen",
        "127.0.0.1:0",
        "--db",
        path,
        "--hash-chain",
        "--retain-deltas",
        "0s",
    ]);
    let url = server.url.as_str();
    let mut events = vec![
        r#"{"kind":"message","role":"user","author":"ann","content":"xylophonic"}"#.to_owned(),
        r#"{"kind":"task-created","taskId":"k","initiator":"user"}"#.to_owned(),
    ];
    for n in 0..6 {
        events.push(format!(r#"{{"kind":"content-delta","taskId":"k","delta":"p{n} "}}"#));
    }
    events.push(r#"{"kind":"task-complete","taskId":"k"}"#.to_owned());
    let made = selvedge_with(
        &["import", "--from", "journal", "--thread", "t", "--url", url],
        br#"{"seq":1,"event":{"kind":"thread-created","contextId":"t"}}"#,
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let said = selvedge_with(&["append", "t", "--url", url], events.join("\n").as_bytes());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let run = selvedge(&["redact", "t", "2", "--reason", "a password", "--url", url]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.starts_with("2 ") && run.stdout.ends_with("\nreceipt 11\n"),
        "{}",
        run.stdout
    );
    // The server folds when it looks; there is nothing else to wait for.
    let copy = folder.path().join("t.journal");
    let copy = copy.to_str().unwrap();
    let mut text = String::new();
    for _ in 0..600 {
        assert_eq!(selvedge(&["export", "t", "--archive", "-o", copy, "--url", url]).code, Some(0));
        text = std::fs::read_to_string(copy).unwrap();
        if text.contains("\"from\":5") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(text.contains("p1 p2 p3 p4 p5 "), "{text}");
    let verified = selvedge(&["verify", "--archive", copy]);
    assert_eq!(verified.code, Some(0), "{}{text}", verified.stdout);
    assert!(
        verified.stdout.starts_with("ok  7 entries, 11 of them chained, 2 folded or redacted"),
        "{}",
        verified.stdout
    );
    std::fs::write(
        copy,
        text.replace("\"taskId\":\"k\",\"initiator\"", "\"taskId\":\"j\",\"initiator\""),
    )
    .unwrap();
    let verified = selvedge(&["verify", "--archive", copy]);
    assert_eq!(verified.code, Some(1));
    assert_eq!(verified.stdout, "bad entry 3 is not what the hash chain says it was\n");
    let over = selvedge(&["verify", "--url", url]);
    assert_eq!(over.code, Some(0), "{}{}", over.stdout, over.stderr);

    let said = selvedge_with(&["append", "t", "--url", url], br#"{"kind":"error","message":"m"}"#);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let file = selvedge(&["verify", "--db", path]);
    assert!(file.stdout.contains("12 entries by their hash chain"), "{}", file.stdout);
    server.kill();
    let conn = Connection::open(&db).unwrap();
    let changed =
        conn.execute("UPDATE journal SET body = replace(body, '\"m\"', '\"n\"')", []).unwrap();
    assert!(changed > 0);
    let file = selvedge(&["verify", "--db", path]);
    assert_eq!(file.code, Some(1));
    assert!(
        file.stdout.contains("thread `t`: entry 12 is not what the hash chain says"),
        "{}",
        file.stdout
    );

    let server = Server::start(&db);
    let url = server.url.as_str();
    let gone = selvedge(&["erase", "t", "--reason", "asked to", "--url", url]);
    assert!(
        gone.stdout.contains(" t 12 entries ") && gone.stdout.ends_with(" by anyone (asked to)\n"),
        "{gone:?}"
    );
    assert_eq!(selvedge(&["erase", "--list", "--url", url]).stdout, gone.stdout);
    assert_eq!(selvedge(&["erase", "t", "--url", url]).code, Some(2));
}
