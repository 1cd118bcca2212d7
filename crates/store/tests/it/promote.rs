//! A branch takes the place of the thread it came from: names change, journals do not.

use selvedge_store::{
    Append, Create, Draft, End, Promote, PromoteError, Store, TendError, ThreadKey, ThreadQuery,
};

use super::append::thread;
use super::events::{open, say};
use super::projection::check;

const TOLD: &str = r#"{"kind":"system","name":"thread.promoted","data":{}}"#;

fn said(word: &str) -> String {
    format!(r#"{{"kind":"message","author":"u","content":"{word}"}}"#)
}

async fn branch(store: &Store, from: &str, at: u64, to: &str) {
    let from = store.thread(&thread(from)).unwrap().unwrap();
    let append = Append::new(thread(to), vec![Draft::new(said(&format!("of{to}")))]);
    store.append(append.creating(Create::Branch { from, at })).await.unwrap();
}

fn asked(branch: &str, parent: &str, old: &str) -> Promote {
    Promote {
        branch: thread(branch),
        parent: thread(parent),
        old: thread(old),
        told: Draft::new(TOLD),
        told_old: Draft::new(TOLD),
    }
}

/// The texts of a thread's journal.
fn texts(store: &Store, id: &str) -> Vec<String> {
    let thread = store.thread(&thread(id)).unwrap().unwrap();
    let page = store.read(&thread, 0, usize::MAX, usize::MAX).unwrap();
    page.entries.iter().map(|e| String::from_utf8(e.event.to_vec()).unwrap()).collect()
}

fn ids(store: &Store) -> Vec<String> {
    let listed = store.threads(&ThreadQuery::new("default", 9)).unwrap();
    let mut ids: Vec<String> = listed.items.into_iter().map(|item| item.id).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn names_change_and_journals_stay_through_restarts_rebuilds_and_deletes() {
    let Some((home, store)) = open() else { return };
    let root = say(&store, "t", &[&said("one"), &said("two")]).await.thread;
    branch(&store, "t", 1, "b").await;
    branch(&store, "b", 2, "c").await;
    let own = store.thread(&thread("b")).unwrap().unwrap();
    let (tail, old_tail) = (store.tail(&own).unwrap(), store.tail(&root).unwrap());
    let promoted = store.promote(asked("b", "t", "old")).await.unwrap();
    assert_eq!((promoted.thread.num, promoted.thread.epoch), (own.num, own.epoch));
    assert_eq!(promoted.head, 3);
    assert_eq!((tail.ended(), old_tail.ended()), (Some(End::Renamed), Some(End::Renamed)));
    // Who found a thread by the name it had and opens it now is told too.
    assert_eq!(store.tail(&own).unwrap().ended(), Some(End::Renamed));
    let now = store.thread(&thread("t")).unwrap().unwrap();
    assert_eq!(store.tail(&now).unwrap().ended(), None);

    assert_eq!(store.thread(&thread("b")).unwrap(), None);
    let (line, old) =
        ([said("one"), said("ofb"), TOLD.into()], [said("one"), said("two"), TOLD.into()]);
    assert_eq!((texts(&store, "t"), texts(&store, "old")), (line.to_vec(), old.to_vec()));
    assert_eq!(texts(&store, "c"), [said("one"), said("ofb"), said("ofc")]);
    // Appends go where the names lead, the same keys and heads included.
    say(&store, "t", &[&said("new")]).await;
    assert_eq!(texts(&store, "t").len(), 4);
    assert_eq!(texts(&store, "old").len(), 3);

    store.settle().await.unwrap();
    assert_eq!(ids(&store), ["c", "old", "t"]);
    let found = store.search("default", "two", 9, None).unwrap();
    assert_eq!(found.items[0].thread, "old");
    for id in ["t", "old", "c"] {
        check(&store, &store.thread(&thread(id)).unwrap().unwrap());
    }
    let before = home.dump();
    store.rebuild(|_| {}).await.unwrap();
    assert_eq!(home.dump(), before);
    drop(store);
    let store = home.open();
    assert_eq!(texts(&store, "t").len(), 4);

    // Asked again by the name it had, the same line is found, and known to be done.
    let lineage = store.lineage(&thread("b")).unwrap().unwrap();
    assert_eq!((lineage.id.as_str(), lineage.parent.as_deref()), ("t", Some("old")));
    assert!(lineage.promoted && lineage.thread.num == own.num);
    assert_eq!(store.lineage(&ThreadKey::new("other", "b")).unwrap(), None);

    // A fork of the fork takes its place in turn.
    store.promote(asked("c", "t", "older")).await.unwrap();
    assert_eq!(texts(&store, "t")[2], said("ofc"));
    assert_eq!(texts(&store, "older").len(), 5);
    // The old line goes, and what branched off from it keeps its past.
    store.delete(thread("old")).await.unwrap();
    store.delete(thread("older")).await.unwrap();
    store.settle().await.unwrap();
    assert_eq!(ids(&store), ["t"]);
    assert_eq!(texts(&store, "t"), [said("one"), said("ofb"), said("ofc"), TOLD.into()]);
    check(&store, &store.thread(&thread("t")).unwrap().unwrap());
}

#[tokio::test]
async fn what_cannot_be_promoted_changes_nothing() {
    let Some((home, store)) = open() else { return };
    say(&store, "t", &[&said("one")]).await;
    say(&store, "u", &[&said("two")]).await;
    branch(&store, "t", 1, "b").await;
    store.settle().await.unwrap();
    let before = home.dump();
    for (promote, error) in [
        (asked("none", "t", "old"), PromoteError::Tend(TendError::NotFound)),
        (asked("b", "u", "old"), PromoteError::NoBranch { parent: "u".into() }),
        (asked("b", "none", "old"), PromoteError::NoBranch { parent: "none".into() }),
        (asked("t", "b", "old"), PromoteError::NoBranch { parent: "b".into() }),
        (asked("b", "t", "u"), PromoteError::Exists { id: "u".into() }),
    ] {
        assert_eq!(store.promote(promote).await, Err(error));
    }
    store.settle().await.unwrap();
    assert_eq!(home.dump(), before);
    assert_eq!(texts(&store, "b").len(), 2);
}

#[tokio::test]
async fn a_family_is_all_that_came_of_one_thread() {
    let Some((_home, store)) = open() else { return };
    say(&store, "t", &[&said("one"), &said("two")]).await;
    say(&store, "alone", &[&said("one")]).await;
    branch(&store, "t", 1, "b").await;
    branch(&store, "b", 2, "c").await;
    branch(&store, "t", 2, "d").await;
    store.settle().await.unwrap();
    let family = |id: &str| {
        let thread = store.thread(&thread(id)).unwrap().unwrap();
        let kin = store.family(&thread, 9).unwrap();
        let name = |num: i64| kin.iter().find(|k| k.num == num).and_then(|k| k.id.clone());
        let told = kin.iter().map(|k| {
            assert_eq!(k.id, k.summary.as_ref().map(|summary| summary.id.clone()));
            (k.id.clone(), k.parent.and_then(name), k.at, k.promoted)
        });
        told.collect::<Vec<_>>()
    };
    let some = |id: &str| Some(id.to_owned());
    let all = [
        (some("t"), None, 0, false),
        (some("b"), some("t"), 1, false),
        (some("c"), some("b"), 2, false),
        (some("d"), some("t"), 2, false),
    ];
    for id in ["t", "b", "c", "d"] {
        assert_eq!(family(id), all, "{id}");
    }
    assert_eq!(family("alone"), [(some("alone"), None, 0, false)]);
    // What was deleted is there as long as something came of it.
    store.delete(thread("b")).await.unwrap();
    store.delete(thread("d")).await.unwrap();
    let [root, _, _, _] = all;
    let rest = [root, (None, some("t"), 1, false), (some("c"), None, 2, false)];
    assert_eq!(family("c"), rest);
}
