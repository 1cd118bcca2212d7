//! What follows the journal can be dropped and made again.

use selvedge_store::{Append, Create, Draft, Options, Store, ThreadQuery};

use crate::append::thread;
use crate::events::{dump, open, say};
use crate::projection::check;

#[tokio::test]
async fn a_rebuild_tells_how_far_it_is_and_serves_meanwhile() {
    let (folder, store) = open();
    for i in 0..50 {
        for id in ["a", "b"] {
            let said = format!(r#"{{"kind":"message","author":"u{i}","content":"word{i}"}}"#);
            say(&store, id, &[&said]).await;
        }
    }
    store.settle().await.unwrap();
    let before = dump(&folder.path().join("s.db"));
    let mut told = Vec::new();
    store.rebuild(|progress| told.push(progress)).await.unwrap();
    assert_eq!(dump(&folder.path().join("s.db")), before);
    assert!(told.windows(2).all(|two| two[0].done <= two[1].done), "{told:?}");
    assert!(told.last().unwrap().is_done());
    assert_eq!(store.search("default", "word7", 9, None).unwrap().items.len(), 2);
}

#[tokio::test]
async fn another_version_of_the_code_makes_its_part_anew() {
    let (folder, store) = open();
    let path = folder.path().join("s.db");
    let root = say(&store, "a", &[r#"{"kind":"message","author":"u","content":"hello"}"#]).await;
    let branch = Append::new(thread("b"), vec![Draft::new(r#"{"kind":"message","content":"x"}"#)])
        .creating(Create::Branch { from: root.thread, at: 1 });
    store.append(branch).await.unwrap();
    store.settle().await.unwrap();
    drop(store);
    let before = dump(&path);
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch(
        "UPDATE followed SET version = 777 WHERE what IN ('projection', 'search'); \
         UPDATE summary SET title = 'of other code'; DELETE FROM participant;",
    )
    .unwrap();
    drop(conn);
    let store = Store::open(&path, Options::default()).unwrap();
    store.settle().await.unwrap();
    assert_eq!(dump(&path), before);
}

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch(include_str!("first_version.sql")).unwrap();
    drop(conn);
    let store = Store::open(&path, Options::default()).unwrap();
    store.settle().await.unwrap();
    let listed = store.threads(&ThreadQuery::new("default", 10)).unwrap();
    let lines: Vec<_> = listed.items.iter().map(|s| (s.id.as_str(), s.head)).collect();
    assert_eq!(lines, [("t", 2)]);
    check(&store, &store.thread(&thread("t")).unwrap().unwrap());
    assert_eq!(store.search("default", "hello", 9, None).unwrap().items.len(), 1);
}
