//! The live tail: every reader sees the journal, whole and in order, however slow it is.

use std::sync::Arc;
use std::time::Duration;

use selvedge_store::{Ahead, Append, Create, Store, Tail, ThreadRef};

use super::append::{event, thread};
use super::events::open;

/// Reads on from `seen` until `upto`, as a reader does: the ring, else the journal, else waiting.
async fn follow(store: &Store, thread: &ThreadRef, tail: &Arc<Tail>, upto: u64, slow: u64) {
    let mut seen = 0;
    let mut watch = tail.watch();
    while seen < upto {
        match tail.ahead(seen, 4096) {
            Ahead::Nothing => {
                let _ = watch.wait_for(|edge| edge.head > seen).await;
            }
            Ahead::Batches(batches) => {
                for batch in batches {
                    for entry in batch.after(seen) {
                        assert_eq!(entry.seq, seen + 1);
                        seen = entry.seq;
                    }
                }
            }
            Ahead::Journal => {
                let (store, thread) = (store.clone(), thread.clone());
                let page = move || store.read(&thread, seen, 50, usize::MAX);
                let page = tokio::task::spawn_blocking(page).await.unwrap().unwrap();
                assert!(!page.entries.is_empty());
                for entry in page.entries {
                    assert_eq!(entry.seq, seen + 1);
                    seen = entry.seq;
                }
            }
        }
        if slow > 0 && seen % slow == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_everything_once_and_in_order() {
    const WRITERS: u64 = 8;
    const EACH: u64 = 500;
    let Some((_home, store)) = open() else { return };
    let first = Append::new(thread("t"), vec![event("x")]).creating(Create::New);
    let of = store.append(first).await.unwrap().thread;
    let upto = 1 + WRITERS * EACH;
    let readers: Vec<_> = (0..16)
        .map(|i| {
            let (store, of) = (store.clone(), of.clone());
            tokio::spawn(async move {
                let tail = store.tail(&of).unwrap();
                follow(&store, &of, &tail, upto, if i % 4 == 0 { 7 } else { 0 }).await;
            })
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..EACH {
                    let text = "y".repeat(600);
                    store.append(Append::new(thread("t"), vec![event(&text)])).await.unwrap();
                }
            })
        })
        .collect();
    for task in writers.into_iter().chain(readers) {
        tokio::time::timeout(Duration::from_secs(300), task).await.unwrap().unwrap();
    }
}
