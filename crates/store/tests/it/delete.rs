//! A deleted thread is gone; what branched off from it is not.

use selvedge_store::{
    Append, AppendError, Create, Draft, InboxQuery, Store, TendError, ThreadQuery,
};

use super::append::thread;
use super::events::{open, say};
use super::projection::check;

const SAID: &str = r#"{"kind":"message","author":"u","content":"harvest"}"#;
const ASKED: &str = r#"{"kind":"input-required","inputId":"i","taskId":"k","prompt":"Sure?"}"#;
const USED: &str = r#"{"kind":"step-finished","taskId":"k","usage":{"input_tokens":7}}"#;

async fn branch(store: &Store, from: &str, at: u64, to: &str) -> Result<u64, AppendError> {
    let from = store.thread(&thread(from)).unwrap().unwrap();
    let append = Append::new(thread(to), vec![Draft::new(SAID)]);
    store.append(append.creating(Create::Branch { from, at })).await.map(|a| a.first)
}

#[tokio::test]
async fn a_deleted_thread_is_gone_at_once_and_its_rows_behind() {
    let Some((home, store)) = open() else { return };
    let first = say(&store, "t", &[SAID, ASKED, USED]).await;
    for _ in 0..500 {
        say(&store, "t", &[SAID]).await;
    }
    store.settle().await.unwrap();
    assert_eq!(store.search("default", "harvest", 9, None).unwrap().items.len(), 9);
    store.delete(thread("t")).await.unwrap();

    let day = first.at / 86_400_000;
    assert_eq!(store.thread(&thread("t")).unwrap(), None);
    assert!(store.threads(&ThreadQuery::new("default", 9)).unwrap().items.is_empty());
    assert!(
        store
            .inbox("default", &InboxQuery { limit: 9, ..Default::default() })
            .unwrap()
            .items
            .is_empty()
    );
    assert!(store.search("default", "harvest", 9, None).unwrap().items.is_empty());
    assert!(store.usage_by_day("default", day..day + 2).unwrap().is_empty());
    assert!(store.tasks(&first.thread).unwrap().is_empty());
    assert_eq!(store.delete(thread("t")).await, Err(TendError::NotFound));
    let refused = store.append(Append::new(thread("t"), vec![Draft::new(SAID)])).await;
    assert_eq!(refused, Err(AppendError::NotFound));
    let from = Create::Branch { from: first.thread.clone(), at: 1 };
    let refused =
        store.append(Append::new(thread("b"), vec![Draft::new(SAID)]).creating(from)).await;
    assert_eq!(refused, Err(AppendError::NotFound));

    let again = say(&store, "t", &[SAID]).await;
    assert_eq!(again.first, 1);
    assert_ne!((again.thread.num, again.thread.epoch), (first.thread.num, first.thread.epoch));
    store.settle().await.unwrap();
    check(&store, &again.thread);
    assert_eq!(store.search("default", "harvest", 9, None).unwrap().items.len(), 1);
    for table in ["journal", "position", "thread", "summary", "participant"] {
        assert_eq!(home.count(table), 1, "{table}");
    }
    for table in ["task", "inbox", "usage"] {
        assert_eq!(home.count(table), 0, "{table}");
    }
    store.rebuild(|_| {}).await.unwrap();
    check(&store, &again.thread);
}

#[tokio::test]
async fn branches_keep_their_shared_past() {
    let Some((home, store)) = open() else { return };
    say(&store, "t", &[SAID, ASKED]).await;
    say(&store, "t", &[USED, SAID]).await;
    assert_eq!(branch(&store, "t", 3, "f").await, Ok(4));
    assert_eq!(branch(&store, "f", 1, "g").await, Ok(2));
    say(&store, "t", &[SAID]).await;
    store.delete(thread("t")).await.unwrap();
    store.settle().await.unwrap();
    store.delete(thread("f")).await.unwrap();
    say(&store, "f", &[ASKED]).await;
    for round in ["at once", "settled", "rebuilt"] {
        let kept = store.thread(&thread("g")).unwrap().unwrap();
        let page = store.read(&kept, 0, 99, usize::MAX).unwrap();
        assert_eq!(page.entries.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2], "{round}");
        store.settle().await.unwrap();
        check(&store, &kept);
        if round == "settled" {
            store.rebuild(|_| {}).await.unwrap();
        }
    }
    // The first row of the first thread, and one each of the others.
    assert_eq!((home.count("journal"), home.count("thread")), (3, 4));
    store.delete(thread("g")).await.unwrap();
    store.settle().await.unwrap();
    assert_eq!((home.count("journal"), home.count("thread")), (1, 1));
    drop(store);
    // The last rows are gone: new ones must still come after what was followed.
    let store = home.open();
    store.delete(thread("f")).await.unwrap();
    store.settle().await.unwrap();
    drop(store);
    let store = home.open();
    let new = say(&store, "n", &[SAID]).await;
    store.settle().await.unwrap();
    check(&store, &new.thread);
    assert_eq!(store.search("default", "harvest", 9, None).unwrap().items.len(), 1);
}

#[tokio::test]
async fn the_number_of_a_removed_thread_is_not_given_again_also_after_a_restart() {
    let Some((home, store)) = open() else { return };
    say(&store, "kept", &[SAID]).await;
    let gone = say(&store, "gone", &[SAID]).await.thread;
    store.delete(thread("gone")).await.unwrap();
    // Until its rows are gone, too.
    store.settle().await.unwrap();
    assert_eq!(home.count("thread"), 1);
    drop(store);
    let store = home.open();
    let new = say(&store, "gone", &[SAID]).await.thread;
    assert!(new.num > gone.num, "{} after {}", new.num, gone.num);
    assert_eq!(store.numbered(gone.num).unwrap(), None);
}
