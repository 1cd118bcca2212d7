//! Two minor versions side by side: a newer one adds to the tables while this one runs.

use selvedge_store::{
    Append, Create, Draft, InboxKind, Key, OpenError, Promote, Redact, Store, ThreadQuery,
};

use super::append::{event, names, thread};
use super::events::say;
use super::home::Home;
use super::projection::check;

/// What a next minor version might add, of each kind that is allowed. It is 0.x now.
fn next(home: &Home, release: i64) {
    home.run(&format!(
        "ALTER TABLE thread ADD COLUMN kind text; \
         ALTER TABLE thread ADD COLUMN weight bigint NOT NULL DEFAULT 1; \
         ALTER TABLE journal ADD COLUMN codec bigint NOT NULL DEFAULT 0; \
         ALTER TABLE summary ADD COLUMN stars bigint NOT NULL DEFAULT 0; \
         ALTER TABLE task ADD COLUMN note text; ALTER TABLE node ADD COLUMN name text; \
         ALTER TABLE api_key ADD COLUMN owner text; \
         CREATE TABLE star (thread bigint PRIMARY KEY, by text NOT NULL); \
         CREATE INDEX summary_by_stars ON summary (tenant, stars); \
         INSERT INTO migration (step, name, release) \
             SELECT max(step) + 1, 'stars', {release} FROM migration; \
         UPDATE made SET version = version + 1"
    ));
}

/// This release, as the tables say it.
fn release() -> i64 {
    env!("CARGO_PKG_VERSION_MAJOR").parse::<i64>().unwrap() * 1000
        + env!("CARGO_PKG_VERSION_MINOR").parse::<i64>().unwrap()
}

/// Everything that a node does, on a thread of its own.
async fn work(store: &Store, id: &str) {
    let asked = r#"{"kind":"input-required","inputId":"i","taskId":"k","prompt":"Sure?"}"#;
    let said = r#"{"kind":"message","author":"u","content":"harvest"}"#;
    let from = say(store, id, &[said, asked]).await.thread;
    let key = || Key { text: "key".into(), digest: [7; 32] };
    for duplicate in [false, true] {
        let keyed = Append::new(thread(id), vec![event("keyed")]).keyed(key());
        assert_eq!(store.append(keyed).await.unwrap().duplicate, duplicate);
    }
    let name = format!("{id}-b");
    let branch = Append::new(thread(&name), vec![event("b")]);
    store.append(branch.creating(Create::Branch { from: from.clone(), at: 2 })).await.unwrap();
    store.fresh(&from).await.unwrap();
    check(store, &from);
    assert!(store.question(&from, InboxKind::Input, "i").unwrap().is_some());
    let timestamp = "2026-11-18T00:00:00Z".to_owned();
    let (by, reason) = ("u".to_owned(), None);
    let redact = Redact { thread: thread(id), events: vec![1], by, reason, timestamp };
    store.redact(redact).await.unwrap();
    let told = || Draft::new(r#"{"kind":"message","content":"now"}"#);
    let old = thread(&format!("{id}-old"));
    let (branch, parent) = (thread(&name), thread(id));
    let promote = Promote { branch, parent, old: old.clone(), told: told(), told_old: told() };
    store.promote(promote).await.unwrap();
    store.delete(old).await.unwrap();
    let found = store.thread(&thread(id)).unwrap().unwrap();
    assert!(store.claim(found.num, "k").unwrap());
    store.release(found.num, "k").unwrap();
    store.settle().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_goes_on_and_another_begins_while_the_next_version_adds_to_the_tables() {
    let Some(home) = Home::bare() else { return };
    let before = home.open();
    work(&before, "before").await;
    // Whoever appends meanwhile waits a moment at most.
    let writer = before.clone();
    let writing = tokio::spawn(async move {
        for n in 0..200 {
            let append = Append::new(thread("busy"), vec![event(&n.to_string())]);
            writer.append(append.creating(Create::IfMissing)).await.unwrap();
        }
    });
    next(&home, release() + 1);
    writing.await.unwrap();
    let after = home.open();
    for (store, id) in [(&before, "then"), (&after, "now")] {
        work(store, id).await;
    }
    for store in [&before, &after] {
        let busy = store.thread(&thread("busy")).unwrap().unwrap();
        assert_eq!(names(store, &busy).len(), 200);
        store.up_to_date().await.unwrap();
        let listed = store.threads(&ThreadQuery::new("default", 99)).unwrap();
        assert_eq!(listed.items.len(), 4);
    }
    drop((before, after));
    let version = home.lines("SELECT version::text FROM made WHERE what = 'projection'");
    drop(home.open());
    assert_eq!(home.lines("SELECT version::text FROM made WHERE what = 'projection'"), version);
    // As whoever brought them sees them.
    home.run("DELETE FROM migration WHERE name = 'stars'");
    assert!(home.checked().await.unwrap().findings.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_two_minors_old_says_what_to_do() {
    let Some(home) = Home::bare() else { return };
    let running = home.open();
    next(&home, release() + 2);
    let refused = Store::open(home.address(), selvedge_store::Options::default());
    assert!(matches!(refused, Err(OpenError::OtherRelease { .. })), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("start a newer one"));
    // One that runs is not stopped: what was added does not matter to it.
    work(&running, "running").await;
}
