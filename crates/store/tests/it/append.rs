//! Appending: dense sequences, compare-and-set, idempotency, branches, restarts.

use selvedge_store::{
    Append, AppendError, Create, Draft, Instead, Key, Limits, Options, Store, ThreadKey, ThreadRef,
};

use super::events::open;
use super::home::Home;

pub(crate) fn event(text: &str) -> Draft {
    Draft::new(format!("{{\"kind\":\"system\",\"name\":\"{text}\"}}"))
}

pub(crate) fn events<const N: usize>(texts: [&str; N]) -> Vec<Draft> {
    texts.iter().map(|text| event(text)).collect()
}

pub(crate) fn thread(id: &str) -> ThreadKey {
    ThreadKey::new("default", id)
}

fn key(text: &str, digest: u8) -> Key {
    Key { text: text.into(), digest: [digest; 32] }
}

/// The names of a thread's events, in order.
pub(crate) fn names(store: &Store, thread: &ThreadRef) -> Vec<String> {
    let page = store.read(thread, 0, usize::MAX, usize::MAX).unwrap();
    let seqs: Vec<u64> = page.entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, (1..=page.head).collect::<Vec<_>>(), "dense from 1 to the head");
    page.entries
        .iter()
        .map(|entry| {
            let text = std::str::from_utf8(&entry.event).unwrap();
            text.split('"').nth(7).unwrap().to_owned()
        })
        .collect()
}

#[tokio::test]
async fn sequences_are_dense_and_survive_a_restart() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    let first = Append::new(thread("t"), events(["a", "b"])).creating(Create::IfMissing);
    let first = store.append(first).await.unwrap();
    assert_eq!((first.first, first.last, first.duplicate), (1, 2, false));
    let second = store.append(Append::new(thread("t"), events(["c"]))).await.unwrap();
    assert_eq!((second.first, second.last), (3, 3));
    assert_eq!(names(&store, &second.thread), ["a", "b", "c"]);
    drop(store);

    let store = home.open();
    let again = store.thread(&thread("t")).unwrap().unwrap();
    assert_eq!(again, second.thread);
    assert_eq!(store.head(&again).unwrap(), 3);
    let third = store.append(Append::new(thread("t"), events(["d"]))).await.unwrap();
    assert_eq!(third.first, 4);
    assert_eq!(names(&store, &again), ["a", "b", "c", "d"]);
    assert_eq!(store.thread(&ThreadKey::new("other", "t")).unwrap(), None);
}

#[tokio::test]
async fn a_refused_append_changes_nothing() {
    let Some(home) = Home::new() else { return };
    let limits = Limits { events: 3, event_bytes: 64, batch_bytes: 100, ..Limits::default() };
    let store = home.open_with(Options { limits, ..Options::default() });
    let append = |events| Append::new(thread("t"), events);

    let refused = store.append(append(events(["a"]))).await;
    assert_eq!(refused, Err(AppendError::NotFound));
    let refused = append(events(["a"])).creating(Create::IfMissing).expecting(1);
    let refused = store.append(refused).await;
    assert_eq!(refused, Err(AppendError::Conflict { expected: 1, head: 0 }));
    assert_eq!(store.thread(&thread("t")).unwrap(), None);

    let made = append(events(["a"])).creating(Create::New).expecting(0);
    let made = store.append(made).await.unwrap();
    let again = store.append(append(events(["a"])).creating(Create::New)).await;
    assert_eq!(again, Err(AppendError::Exists));
    let stale = store.append(append(events(["b"])).expecting(0)).await;
    assert_eq!(stale, Err(AppendError::Conflict { expected: 0, head: 1 }));
    let long = store.append(append(vec![event(&"x".repeat(64))])).await;
    assert_eq!(long, Err(AppendError::EventTooLarge { index: 0, size: 91, limit: 64 }));
    let many = store.append(append(events(["a"; 4]))).await;
    assert_eq!(many, Err(AppendError::TooManyEvents { limit: 3 }));
    let large = store.append(append(events(["abcdefgh"; 3]))).await;
    assert_eq!(large, Err(AppendError::BatchTooLarge { size: 105, limit: 100 }));
    assert_eq!(store.append(append(Vec::new())).await, Err(AppendError::NoEvents));
    let nameless = Append::new(thread(""), events(["a"])).creating(Create::IfMissing);
    assert_eq!(store.append(nameless).await, Err(AppendError::BadId { limit: 256 }));
    assert_eq!(names(&store, &made.thread), ["a"]);
}

#[tokio::test]
async fn a_key_makes_a_second_try_harmless() {
    let Some(home) = Home::new() else { return };
    let mut store = home.open();
    let append =
        |text, key| Append::new(thread("t"), events([text])).creating(Create::IfMissing).keyed(key);
    let first = store.append(append("a", key("k", 1))).await.unwrap();
    for round in ["recent", "followed", "restarted"] {
        let again = store.append(append("a", key("k", 1))).await.unwrap();
        assert_eq!((again.first, again.last, again.duplicate), (1, 1, true), "{round}");
        assert_eq!(again.at, first.at);
        let other = store.append(append("b", key("k", 2))).await;
        assert_eq!(other, Err(AppendError::KeyReused), "{round}");
        store.settle().await.unwrap();
        if round == "followed" {
            drop(store);
            store = home.open();
        }
    }
    // At the same time, too.
    let tries = (0..32).map(|_| {
        let (store, append) = (store.clone(), append("c", key("k2", 3)));
        tokio::spawn(async move { store.append(append).await.unwrap() })
    });
    let mut fresh = 0;
    for tried in tries.collect::<Vec<_>>() {
        let answer = tried.await.unwrap();
        assert_eq!((answer.first, answer.last), (2, 2));
        fresh += usize::from(!answer.duplicate);
    }
    assert_eq!(fresh, 1);
    assert_eq!(names(&store, &first.thread), ["a", "c"]);
}

#[tokio::test]
async fn a_branch_shares_its_beginning_without_a_copy() {
    let Some(home) = Home::new() else { return };
    let mut store = home.open();
    let root = Append::new(thread("t"), events(["a", "b", "c"])).creating(Create::New);
    let root = store.append(root).await.unwrap().thread;
    let branch = |from: &ThreadRef, at, id, text| {
        let create = Create::Branch { from: from.clone(), at };
        Append::new(thread(id), events([text])).creating(create)
    };
    let fork = store.append(branch(&root, 2, "f", "x")).await.unwrap();
    assert_eq!((fork.first, fork.last), (3, 3));
    let deeper = store.append(branch(&fork.thread, 3, "g", "y")).await.unwrap();
    let early = store.append(branch(&deeper.thread, 1, "h", "z")).await.unwrap();
    store.append(Append::new(thread("t"), events(["d"]))).await.unwrap();
    let refused = store.append(branch(&root, 5, "i", "z")).await;
    assert_eq!(refused, Err(AppendError::BadBranch { head: 4 }));
    for round in ["recent", "followed", "restarted"] {
        let get = |id| store.thread(&thread(id)).unwrap().unwrap();
        assert_eq!(names(&store, &get("t")), ["a", "b", "c", "d"], "{round}");
        assert_eq!(names(&store, &get("f")), ["a", "b", "x"], "{round}");
        assert_eq!(names(&store, &get("g")), ["a", "b", "x", "y"], "{round}");
        assert_eq!(names(&store, &get("h")), ["a", "z"], "{round}");
        assert_eq!(get("h"), early.thread);
        store.settle().await.unwrap();
        if round == "followed" {
            drop(store);
            store = home.open();
        }
    }
}

#[tokio::test]
async fn pages_have_at_least_one_entry_and_stay_within_bounds() {
    let Some((_home, store)) = open() else { return };
    let all = Append::new(thread("t"), events(["a", "b", "c", "d"])).creating(Create::New);
    let thread = store.append(all).await.unwrap().thread;
    let seqs = |after, entries, bytes| {
        let page = store.read(&thread, after, entries, bytes).unwrap();
        assert_eq!(page.head, 4);
        page.entries.iter().map(|entry| entry.seq).collect::<Vec<_>>()
    };
    assert_eq!(seqs(0, 2, usize::MAX), [1, 2]);
    assert_eq!(seqs(2, 9, 1), [3]);
    assert_eq!(seqs(4, 9, 9), [0; 0]);
    assert_eq!(seqs(9, 9, 9), [0; 0]);
}

#[tokio::test]
async fn what_is_said_in_the_name_of_a_task_that_ended_is_late() {
    let Some((_home, store)) = open() else { return };
    let task = |status: &str| {
        Draft::new(format!(r#"{{"kind":"task-status","taskId":"k","status":"{status}"}}"#))
    };
    let made = Append::new(thread("t"), vec![task("working")]).creating(Create::New);
    store.append(made).await.unwrap();
    let piece = |name: &str| Append::new(thread("t"), vec![event("x")]).spoken_by(name);
    store.append(piece("k")).await.unwrap();
    store.append(Append::new(thread("t"), vec![task("canceled")])).await.unwrap();
    let late = store.append(piece("k")).await.unwrap_err();
    assert!(matches!(late, AppendError::Instead(Instead::Over { .. })), "{late}");
    store.append(piece("other")).await.unwrap();
    // Of another thread it is another task.
    let other = Append::new(thread("u"), vec![event("x")]).creating(Create::New).spoken_by("k");
    store.append(other).await.unwrap();
}
