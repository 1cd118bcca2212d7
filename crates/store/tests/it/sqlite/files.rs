//! What holds for a store in a file only.

use selvedge_store::{
    AppendError, Branches, Erase, InboxKind, Options, Store, TendError, ThreadQuery, Vault,
};

use super::append::thread;
use super::events::{open, say};
use super::guard::{ASK, BEGIN, answer, guarded, input};
use super::home::Home;
use super::projection::check;
use super::retain::{SECRET, chained, spill};

#[tokio::test]
async fn a_newer_file_is_refused() {
    let Some(home) = Home::new() else { return };
    let path = home.path();
    drop(Store::open(&path, Options::default()).unwrap());
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.pragma_update(None, "user_version", 999).unwrap();
    drop(conn);
    let refused = Store::open(&path, Options::default()).unwrap_err().to_string();
    assert!(refused.contains("newer version (schema 999"), "{refused}");
}

#[tokio::test]
async fn a_file_has_one_store_at_a_time() {
    let Some(home) = Home::new() else { return };
    let path = home.path();
    let store = Store::open(&path, Options::default()).unwrap();
    let second = Store::open(&path, Options::default()).unwrap_err().to_string();
    assert!(second.contains("open in another process"), "{second}");
    drop(store);
    Store::open(&path, Options::default()).unwrap();
}

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date() {
    let Some(home) = Home::new() else { return };
    let path = home.path();
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch(include_str!("first_version.sql")).unwrap();
    drop(conn);
    let store = home.open();
    store.settle().await.unwrap();
    let listed = store.threads(&ThreadQuery::new("default", 10)).unwrap();
    let lines: Vec<_> = listed.items.iter().map(|s| (s.id.as_str(), s.head)).collect();
    assert_eq!(lines, [("t", 2)]);
    check(&store, &store.thread(&thread("t")).unwrap().unwrap());
    assert_eq!(store.search("default", "hello", 9, None).unwrap().items.len(), 1);
}

#[tokio::test]
async fn a_file_of_an_older_version_is_scrubbed_whole() {
    let Some((home, store)) = open() else { return };
    spill(&store, "t").await;
    store.settle().await.unwrap();
    drop(store);
    home.run(&format!(
        "UPDATE chore SET value = 0 WHERE what = 'zeroed'; PRAGMA secure_delete = off; \
         CREATE TABLE junk (a); INSERT INTO junk SELECT '{SECRET}' FROM journal; DROP TABLE junk;"
    ));
    let store = home.open();
    let asked =
        Erase { thread: thread("t"), branches: Branches::Stay, by: "ops".into(), reason: None };
    store.erase(asked).await.unwrap();
    store.scrubbed().await.unwrap();
    assert!(!home.holds(SECRET));
}

#[tokio::test]
async fn a_changed_byte_breaks_the_chain_where_it_stands() {
    for (damage, said) in [
        ("UPDATE journal SET body = replace(body, 'you see', 'you sea') WHERE row = 6", "entry 8"),
        ("UPDATE journal SET body = replace(body, 'on x', 'on y') WHERE row = 1", "entry 1 "),
        ("UPDATE journal SET body = replace(body, 'tell', 'told') WHERE row = 1", "entry 3 "),
        ("UPDATE journal SET at = at + 1 WHERE row = 4", "entry 6 "),
        ("UPDATE chain SET bodies = zeroblob(32) WHERE row = 5", "entry 7 has a link"),
        ("UPDATE chain SET before = zeroblob(32) WHERE row = 5", "entry 7 does not follow"),
    ] {
        let Some(home) = Home::new() else { return };
        let store = chained(&home).await;
        store.settle().await.unwrap();
        drop(store);
        let found = home.checked().await.unwrap();
        assert_eq!((found.findings, found.chained), (Vec::new(), 13));
        home.run(damage);
        let found = home.checked().await.unwrap().findings;
        assert!(found.first().is_some_and(|first| first.contains(said)), "{damage}: {found:?}");
    }
}

#[tokio::test]
async fn what_stands_instead_of_what_was_chained_is_looked_at_too() {
    let Some(home) = Home::new() else { return };
    let store = chained(&home).await;
    super::retain::redact(&store, "t", &[1, 3]).await.unwrap();
    drop(store);
    home.run("UPDATE journal SET body = replace(body, 'user', 'tool') WHERE row = 1");
    let found = home.checked().await.unwrap().findings;
    assert!(found.first().is_some_and(|first| first.contains("entry 3 ")), "{found:?}");
}

#[tokio::test]
async fn while_all_is_built_anew_a_guarded_append_is_told_to_come_again() {
    let Some((_home, store)) = open() else { return };
    let said: Vec<String> = (0..500)
        .map(|n| format!(r#"{{"kind":"message","role":"user","author":"u{n}","content":"{n}"}}"#))
        .collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    for n in 0..40 {
        say(&store, &format!("t{n}"), &said).await;
    }
    say(&store, "t", &[BEGIN, ASK]).await;
    tokio::select! {
        biased;
        done = store.rebuild(|_| {}) => panic!("{done:?} at once"),
        () = tokio::task::yield_now() => {}
    }
    // Behind the rebuild in the writer's line: when this is answered, it has begun.
    assert_eq!(store.delete(thread("none")).await, Err(TendError::NotFound));
    let there = store.thread(&thread("t")).unwrap().unwrap();
    assert_eq!(store.fresh(&there).await, Err(TendError::Behind), "rather than half of it");
    let mut told_behind = false;
    let answered = loop {
        match store.append(guarded("t", input("i"), &[answer(1).as_str()])).await {
            Err(AppendError::Behind) => told_behind = true,
            other => break other.unwrap(),
        }
    };
    assert!(told_behind, "20,000 events are not projected in one step");
    assert_eq!(answered.first, 3);
    store.fresh(&there).await.unwrap();
    assert_eq!(store.pending(&there).unwrap(), []);
    assert!(store.question(&there, InboxKind::Input, "i").unwrap().is_some());
}

#[tokio::test]
async fn secrets_of_threads_that_are_gone_go_and_those_of_one_that_was_just_made_stay() {
    let Some((home, store)) = open() else { return };
    let mut threads = Vec::new();
    for id in ["kept", "deleted", "removed"] {
        threads.push(say(&store, id, &[BEGIN]).await.thread.num);
    }
    store.settle().await.unwrap();
    for id in ["removed", "deleted"] {
        store.delete(thread(id)).await.unwrap();
    }
    let vault = Vault::open(home.address()).unwrap();
    // The tables have not heard of the last: its first append is in the log only.
    let new = threads[2] + 1;
    for num in threads.iter().chain([&new]) {
        vault.put_key(*num, "a", b"sealed", i64::MAX).unwrap();
    }
    store.settle().await.unwrap();
    assert_eq!(home.count("thread"), 1, "the others were removed");
    vault.sweep(0).unwrap();
    let left = threads.iter().chain([&new]).map(|num| vault.key(*num, "a", 0).unwrap().is_some());
    assert_eq!(left.collect::<Vec<_>>(), [true, false, false, true]);
}
