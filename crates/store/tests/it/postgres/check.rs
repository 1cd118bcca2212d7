//! A database is sound, or what is wrong with it is told.

use selvedge_store::{Append, Create, Draft, HashChain, Options};

use super::append::thread;
use super::events::say;
use super::home::Home;

/// A database with threads, a branch, a deleted thread whose past is shared, and what follows.
async fn filled() -> Option<Home> {
    let home = Home::new()?;
    let store = home.open_with(Options { chain: HashChain::On, ..Options::default() });
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
    store.delete(thread("b")).await.unwrap();
    store.settle().await.unwrap();
    Some(home)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_database_has_no_findings_also_while_nodes_write() {
    let Some(home) = filled().await else { return };
    let store = home.open();
    let writer = tokio::spawn(async move {
        for i in 0..200 {
            say(&store, &format!("w{}", i % 5), &[r#"{"kind":"message","content":"more"}"#]).await;
        }
    });
    let found = home.checked().await.unwrap();
    assert_eq!(found.findings, Vec::<String>::new());
    writer.await.unwrap();
    let store = home.open();
    store.settle().await.unwrap();
    let found = home.checked().await.unwrap();
    assert_eq!(found.findings, Vec::<String>::new());
    assert_eq!((found.threads, found.appends, found.behind), (7, 204, 0));
    assert_eq!((found.events, found.chained), (3 + 2 + 1 + 200, 3 + 2 + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told() {
    let last = "thread = (SELECT num FROM thread WHERE id = 'a') AND last = 3";
    let first = "thread = (SELECT num FROM thread WHERE id = 'a') AND last = 2";
    for (damage, said) in [
        (format!("UPDATE journal SET first = 4, last = 4 WHERE {last}"), "4 follows 2"),
        (format!("UPDATE journal SET body = '{{' WHERE {last}"), "event 3 is not JSON"),
        (format!("UPDATE journal SET body = '{{\"a\":1}}' WHERE {last}"), "event 3 has no kind"),
        (
            format!("UPDATE journal SET body = replace(body, 'k', 'l') WHERE {last}"),
            "entry 3 is not what the hash chain says it was",
        ),
        (format!("UPDATE journal SET last = 9 WHERE {last}"), "should end at 9 and has 1 events"),
        (format!("UPDATE journal SET thread = 77 WHERE {last}"), "thread 77, which is not there"),
        (format!("DELETE FROM journal WHERE {first}"), "3 follows 0"),
        (format!("DELETE FROM journal WHERE {last}"), "its head is 3, and its last entry 2"),
        ("UPDATE thread SET head = 7 WHERE id = 'a'".into(), "its head is 7"),
        ("SELECT setval('thread_num_seq', 1)::text".into(), "the next thread gets the number 2"),
        ("SELECT setval('journal_row', 1)::text".into(), "the next row gets the number 2"),
        ("UPDATE summary SET status = 'failed'".into(), "`summary`"),
        ("DELETE FROM task".into(), "`task` is not what the journal makes in 2 threads"),
        ("UPDATE search SET words = words || 'ghost'::tsvector".into(), "`search`"),
        ("DELETE FROM search".into(), "such as `a`"),
    ] {
        let Some(home) = filled().await else { return };
        home.run(&damage);
        let found = home.checked().await.unwrap().findings;
        assert!(found.iter().any(|finding| finding.contains(said)), "{damage}: {found:?}");
    }
}
