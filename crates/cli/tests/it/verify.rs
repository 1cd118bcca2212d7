//! Whole journals are told from damaged ones.

use rusqlite::Connection;

use crate::database::{database, sql};
use crate::server::Server;
use crate::{Run, fixture, selvedge, selvedge_with};

/// A server with some threads, stopped; its file.
fn filled(folder: &tempfile::TempDir) -> String {
    let db = folder.path().join("s.db");
    let server = Server::start(&db);
    for source in ["pydantic/s01_multi_turn_text/messages.json", "a2a_1.0/jsonrpc_text.stream.sse"]
    {
        let run = selvedge(&["import", &fixture(source), "--url", &server.url]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let internal = br#"{"kind":"internal:checkpoint","iteration":1}"#;
    selvedge_with(&["append", "ctx-rpc", "--url", &server.url], internal);
    selvedge(&["fork", "ctx-rpc", "--at", "3", "--id", "b", "--url", &server.url]);
    server.kill();
    // Lists follow behind the acknowledgement; the next start would catch up.
    assert_eq!(selvedge(&["rebuild", "--db", db.to_str().unwrap()]).code, Some(0));
    db.to_str().unwrap().to_owned()
}

fn over_http(db: &str, args: &[&str]) -> Run {
    let server = Server::start(db.as_ref());
    selvedge(&[&["verify", "--url", &server.url], args].concat())
}

#[test]
fn whole_journals_have_their_digest_and_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    let db = &filled(&folder);
    let run = over_http(db, &[]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.ends_with("3 threads, 0 with something wrong\n"), "{}", run.stdout);
    let source = fixture("pydantic/s01_multi_turn_text/messages.json");
    let digest = selvedge(&["canon", "--digest", "--from", "pydantic-ai", &source]).stdout;
    let line = format!("ok  chat-1 18 events {}\n", digest.trim_end());
    assert!(run.stdout.contains(&line), "{line}{}", run.stdout);
    let file = selvedge(&["verify", "--db", db]);
    assert_eq!(file.code, Some(0), "{}{}", file.stdout, file.stderr);
    assert!(file.stdout.starts_with("ok  3 threads, "), "{}", file.stdout);
    let mut names: Vec<_> =
        folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| !name.to_str().unwrap().starts_with("s.db"));
    assert!(names.is_empty(), "the copies are gone: {names:?}");
}

#[test]
fn who_may_not_see_all_is_told_how_much_is_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let db = &filled(&folder);
    let add = ["keys", "add", "--db", db, "--tenant", "default", "--scope", "read", "--name", "n"];
    let key = selvedge(&add).stdout;
    let run = over_http(db, &["ctx-rpc", "--key", key.trim()]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("12 events, 1 hidden from this key"), "{}", run.stdout);
}

#[test]
fn what_is_missing_or_wrong_is_found() {
    for (damage, over, in_file) in [
        (
            "DELETE FROM position WHERE row = (SELECT min(row) FROM journal WHERE thread = 1)",
            "the journal is empty",
            "`position`",
        ),
        (
            "UPDATE journal SET body = replace(body, '\"kind\"', '\"kino\"') WHERE thread = 1",
            "entries are missing",
            "has no kind",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let db = &filled(&folder);
        assert!(Connection::open(db).unwrap().execute(damage, []).unwrap() > 0);
        let file = selvedge(&["verify", "--db", db]);
        assert_eq!(file.code, Some(1), "{damage}: {}", file.stderr);
        assert!(file.stdout.contains(in_file), "{damage}: {}", file.stdout);
        let run = over_http(db, &[]);
        assert_eq!(run.code, Some(1), "{damage}: {}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains(over), "{damage}: {}", run.stdout);
    }
}

#[test]
fn a_database_is_checked_as_a_file_is() {
    let Some(url) = database() else { return };
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder);
    let copied = selvedge(&["copy", "--from", &db, "--to", &url]);
    assert_eq!(copied.code, Some(0), "{}{}", copied.stdout, copied.stderr);
    let sound = selvedge(&["verify", "--store", &url]);
    assert_eq!(sound.code, Some(0), "{}{}", sound.stdout, sound.stderr);
    assert!(sound.stdout.starts_with("ok  3 threads, "), "{}", sound.stdout);
    assert!(sound.stdout.contains("rows, heads, lists and search"), "{}", sound.stdout);
    for (damage, said) in [
        ("DELETE FROM summary", "`summary` is not what the journal makes in 3 threads"),
        ("UPDATE journal SET body = replace(body, '\"kind\"', '\"kino\"')", "has no kind"),
    ] {
        sql(&url, damage);
        let run = selvedge(&["verify", "--store", &url]);
        assert_eq!(run.code, Some(1), "{damage}: {}", run.stderr);
        assert!(run.stdout.contains(said), "{damage}: {}", run.stdout);
    }
    let none = selvedge(&["verify", "--store", "postgres://nobody@127.0.0.1:1/none"]);
    assert_eq!(none.code, Some(2), "{}", none.stdout);
}

#[test]
fn what_cannot_be_checked_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none.db");
    assert_eq!(selvedge(&["verify", "--db", none.to_str().unwrap()]).code, Some(2));
    assert!(!none.exists(), "it makes nothing");
    let text = folder.path().join("text.db");
    std::fs::write(&text, "no database ".repeat(1000)).unwrap();
    let run = selvedge(&["verify", "--db", text.to_str().unwrap()]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains("not a database"), "{}", run.stdout);
}
