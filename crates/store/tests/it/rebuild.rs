//! What follows the journal can be dropped and made again.

use selvedge_store::{Append, Create, Draft};

use super::append::thread;
use super::events::{open, say};

#[tokio::test]
async fn a_rebuild_tells_how_far_it_is_and_serves_meanwhile() {
    let Some((home, store)) = open() else { return };
    for i in 0..50 {
        for id in ["a", "b"] {
            let said = format!(r#"{{"kind":"message","author":"u{i}","content":"word{i}"}}"#);
            say(&store, id, &[&said]).await;
        }
    }
    store.settle().await.unwrap();
    let before = home.dump();
    let mut told = Vec::new();
    store.rebuild(|progress| told.push(progress)).await.unwrap();
    assert_eq!(home.dump(), before);
    assert!(told.windows(2).all(|two| two[0].done <= two[1].done), "{told:?}");
    assert!(told.last().unwrap().is_done());
    assert_eq!(store.search("default", "word7", 9, None).unwrap().items.len(), 2);
}

#[tokio::test]
async fn another_version_of_the_code_makes_its_part_anew() {
    let Some((home, store)) = open() else { return };
    let root = say(&store, "a", &[r#"{"kind":"message","author":"u","content":"hello"}"#]).await;
    let branch = Append::new(thread("b"), vec![Draft::new(r#"{"kind":"message","content":"x"}"#)])
        .creating(Create::Branch { from: root.thread, at: 1 });
    store.append(branch).await.unwrap();
    store.settle().await.unwrap();
    drop(store);
    let before = home.dump();
    home.outdate();
    home.run("UPDATE summary SET title = 'of other code'; DELETE FROM participant;");
    let store = home.open();
    store.settle().await.unwrap();
    assert_eq!(home.dump(), before);
}
