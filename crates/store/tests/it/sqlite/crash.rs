//! Whatever moment a store stops at, it goes on with what its journal says.

use std::path::Path;

use selvedge_store::{Options, Store};

use super::append::thread;
use super::events::{open, say};
use super::home::dump;
use super::projection::check;

/// Copies a store as a crash would leave it: its logs after the file they belong to. The tests write
/// too little for one to be copied into the other meanwhile.
fn snapshot(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
    for log in ["wal", "log1", "log2"] {
        let name = |path: &Path| format!("{}-{log}", path.display());
        std::fs::copy(name(from), name(to)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_any_moment_catches_up() {
    let Some((home, store)) = open() else { return };
    let path = home.path();
    say(&store, "0", &[r#"{"kind":"thread-created","title":"first"}"#]).await;
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for i in 0..120 {
                    let task = format!(r#""taskId":"k{}","agentId":"a{writer}""#, i / 5);
                    let events = match i % 5 {
                        0 => vec![format!(r#"{{"kind":"task-created",{task}}}"#)],
                        1 => vec![format!(r#"{{"kind":"input-required","inputId":"i",{task}}}"#)],
                        2 => vec![format!(r#"{{"kind":"input-received","inputId":"i",{task}}}"#)],
                        3 => vec![
                            format!(r#"{{"kind":"content-complete","content":"word{i}",{task}}}"#),
                            format!(
                                r#"{{"kind":"step-finished","usage":{{"input_tokens":3}},{task}}}"#
                            ),
                        ],
                        _ => vec![format!(r#"{{"kind":"task-complete",{task}}}"#)],
                    };
                    let events: Vec<_> = events.iter().map(String::as_str).collect();
                    say(&store, &writer.to_string(), &events).await;
                }
            })
        })
        .collect();
    let mut copies = Vec::new();
    while writers.iter().any(|writer| !writer.is_finished()) && copies.len() < 25 {
        let copy = home.folder().join(format!("copy{}.db", copies.len()));
        let (from, to) = (path.clone(), copy.clone());
        tokio::task::spawn_blocking(move || snapshot(&from, &to)).await.unwrap();
        copies.push(copy);
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(!copies.is_empty());
    for copy in &copies {
        let store = Store::open(copy, Options::default()).unwrap();
        store.settle().await.unwrap();
        for id in 0..3 {
            if let Some(thread) = store.thread(&thread(&id.to_string())).unwrap() {
                check(&store, &thread);
            }
        }
        let before = dump(copy);
        store.rebuild(|_| {}).await.unwrap();
        assert_eq!(before, dump(copy));
    }
}

#[tokio::test]
async fn what_cannot_be_projected_holds_up_nothing_else() {
    let Some((home, store)) = open() else { return };
    let path = home.path();
    let conn = rusqlite::Connection::open(&path).unwrap();
    let trouble =
        "CREATE TRIGGER trouble BEFORE INSERT ON task BEGIN SELECT RAISE(ABORT, 'x'); END";
    conn.execute_batch(trouble).unwrap();
    for _ in 0..3 {
        say(&store, "t", &[r#"{"kind":"content-delta","taskId":"k","delta":"x"}"#]).await;
    }
    assert!(store.settle().await.is_err());
    drop(store);
    let store = Store::open(&path, Options::default()).unwrap();
    let found = store.thread(&thread("t")).unwrap().unwrap();
    assert_eq!(store.read(&found, 0, 9, usize::MAX).unwrap().entries.len(), 3);
    assert!(store.settle().await.is_err());
    conn.execute_batch("DROP TRIGGER trouble").unwrap();
    store.settle().await.unwrap();
    check(&store, &found);
}

#[tokio::test]
async fn the_log_of_writes_is_copied_back_while_a_store_is_open() {
    let Some((home, store)) = open() else { return };
    let size =
        |name: &str| std::fs::metadata(home.folder().join(name)).map_or(0, |file| file.len());
    let event = format!(r#"{{"kind":"system","name":"x","data":"{}"}}"#, "x".repeat(8000));
    let mut most = 0;
    for _ in 0..60 {
        say(&store, "t", &[event.as_str(); 50]).await;
        store.settle().await.unwrap();
        most = most.max(size("s.db-wal"));
    }
    // All of it is some 24 MB.
    assert!(size("s.db") > 16 << 20, "only {} bytes were copied", size("s.db"));
    assert!(most < 12 << 20, "the log grew to {most} bytes");
    drop(store);
    assert_eq!(size("s.db-wal"), 0, "nothing is left when it is closed");
}
