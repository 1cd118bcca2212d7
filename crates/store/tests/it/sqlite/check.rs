//! A file is sound, or what is wrong with it is told.

use rusqlite::Connection;
use selvedge_store::{Append, Checked, Create, Draft, Options, Store, ThreadKey, check};
use tempfile::TempDir;

use super::append::thread;
use super::events::say;

/// A store with threads, a branch, a deleted thread whose past is shared, and what follows.
async fn filled(folder: &TempDir) -> std::path::PathBuf {
    let path = folder.path().join("s.db");
    let store = Store::open(&path, Options::default()).unwrap();
    for id in ["a", "b"] {
        let events = [
            r#"{"kind":"message","role":"user","content":"hello rivers"}"#,
            r#"{"kind":"task-created","taskId":"k","initiator":"user"}"#,
        ];
        say(&store, id, &events).await;
        say(&store, id, &[r#"{"kind":"task-complete","taskId":"k"}"#]).await;
    }
    let from = store.thread(&thread("b")).unwrap().unwrap();
    let drafts = vec![Draft::new(r#"{"kind":"thread-created"}"#.to_owned())];
    let branch = Append::new(thread("c"), drafts).creating(Create::Branch { from, at: 2 });
    store.append(branch).await.unwrap();
    let key: ThreadKey = thread("b");
    store.delete(key).await.unwrap();
    store.settle().await.unwrap();
    path
}

async fn checked(path: &std::path::Path) -> Checked {
    let scratch = tempfile::tempdir().unwrap();
    check(path, scratch.path(), |_, _| {}).await.unwrap()
}

#[tokio::test]
async fn a_sound_file_has_no_findings_also_while_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(&folder).await;
    let store = Store::open(&path, Options::default()).unwrap();
    say(&store, "a", &[r#"{"kind":"error","message":"m"}"#]).await;
    let found = checked(&path).await;
    assert_eq!(found.findings, Vec::<String>::new());
    assert_eq!((found.threads, found.appends), (2, 5));
    assert_eq!(found.events, 3 + 1 + 2 + 1);
}

#[tokio::test]
async fn what_is_wrong_is_told() {
    for (damage, said) in [
        ("UPDATE journal SET first = first + 1, last = last + 1 WHERE row = 2", "4 follows 2"),
        ("UPDATE journal SET body = '{' WHERE row = 2", "event 3 is not JSON"),
        ("UPDATE journal SET body = '{\"a\":1}' WHERE row = 2", "event 3 has no kind"),
        ("UPDATE journal SET last = 9 WHERE row = 2", "should end at 9 and has 1 events"),
        ("UPDATE journal SET thread = 77 WHERE row = 2", "thread 77, which is not there"),
        ("DELETE FROM journal WHERE row = 1", "3 follows 0"),
        ("UPDATE summary SET status = 'failed' WHERE title IS NULL", "`summary`"),
        ("DELETE FROM task", "`task`"),
        ("DELETE FROM position WHERE last = 3", "`position`"),
        ("INSERT INTO search (rowid, text, tenant) VALUES (99, 'ghost', 'x')", "`search`"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = filled(&folder).await;
        let changed = Connection::open(&path).unwrap().execute(damage, []).unwrap();
        assert!(changed > 0, "{damage}");
        let found = checked(&path).await.findings;
        assert!(found.iter().any(|finding| finding.contains(said)), "{damage}: {found:?}");
    }
}

#[tokio::test]
async fn a_damaged_page_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(&folder).await;
    Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = 2 * 4096;
    bytes[middle..middle + 2048].fill(0xab);
    std::fs::write(&path, bytes).unwrap();
    let found = checked(&path).await.findings;
    assert!(found.iter().any(|finding| finding.starts_with("the file: ")), "{found:?}");
}
