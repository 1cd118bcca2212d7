//! Appends to threads that a node knows, which it writes in one round trip: whatever it believes,
//! the database decides.

use selvedge_protocol::journal::Cursor;
use selvedge_store::{
    Append, AppendError, Create, Draft, Expect, Instead, Key, Store, ThreadQuery,
};

use super::append::{event, events, names, thread};
use super::home::Home;

const BEGIN: &str = r#"{"kind":"task-created","taskId":"k","agentId":"a"}"#;
const END: &str = r#"{"kind":"task-complete","taskId":"k","outcome":"completed"}"#;

/// Two nodes that know a thread `t` with two entries.
async fn acquainted() -> Option<(Home, Store, Store)> {
    let home = Home::new()?;
    let (one, other) = (home.open(), home.open());
    let made = Append::new(thread("t"), vec![Draft::new(BEGIN)]).creating(Create::New);
    one.append(made).await.unwrap();
    for node in [&one, &other] {
        // The second finds that it was taken: both know the thread now.
        append(node, plain("first").keyed(key("begin"))).await.unwrap();
    }
    Some((home, one, other))
}

fn plain(name: &str) -> Append {
    Append::new(thread("t"), vec![event(name)])
}

fn key(text: &str) -> Key {
    Key { text: text.into(), digest: [1; 32] }
}

/// Appends; the entries it became, or why not.
async fn append(node: &Store, append: Append) -> Result<(u64, u64), AppendError> {
    node.append(append).await.map(|done| (done.first, done.last))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_another_node_has_moved_is_no_hindrance_and_no_lie() {
    let Some((_home, one, other)) = acquainted().await else { return };
    assert_eq!(append(&one, plain("a")).await, Ok((3, 3)));
    assert_eq!(append(&other, Append::new(thread("t"), events(["b", "c"]))).await, Ok((4, 5)));
    let late = append(&one, plain("x").expecting(3)).await;
    assert_eq!(late, Err(AppendError::Conflict { expected: 3, head: 5 }));
    assert_eq!(append(&one, plain("d").expecting(5)).await, Ok((6, 6)));
    let found = one.thread(&thread("t")).unwrap().unwrap();
    let at = |epoch, seq| Append { expect: Expect::At(Cursor { epoch, seq }), ..plain("e") };
    assert_eq!(append(&one, at(found.epoch ^ 1, 6)).await, Err(AppendError::OtherJournal));
    assert_eq!(append(&one, at(found.epoch, 6)).await, Ok((7, 7)));
    assert_eq!(names(&other, &found)[2..], ["a", "b", "c", "d", "e"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_means_another_thread_now_is_looked_up_anew() {
    let Some((_home, one, other)) = acquainted().await else { return };
    let before = append(&one, plain("a")).await.unwrap();
    other.delete(thread("t")).await.unwrap();
    assert_eq!(append(&one, plain("b")).await, Err(AppendError::NotFound));
    // Twice: what is not there is not remembered either.
    assert_eq!(append(&one, plain("b")).await, Err(AppendError::NotFound));
    append(&other, plain("new").creating(Create::New)).await.unwrap();
    assert_eq!((before, append(&one, plain("c")).await), ((3, 3), Ok((2, 2))));
    let found = one.thread(&thread("t")).unwrap().unwrap();
    assert_eq!(names(&one, &found), ["new", "c"]);
    assert_eq!(append(&one, plain("d").creating(Create::IfMissing)).await, Ok((3, 3)));
    assert_eq!(append(&one, plain("e").creating(Create::New)).await, Err(AppendError::Exists));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_another_node_took_gives_the_same_entries() {
    let Some((_home, one, other)) = acquainted().await else { return };
    assert_eq!(append(&one, plain("a").keyed(key("k"))).await, Ok((3, 3)));
    let again = other.append(plain("a").keyed(key("k"))).await.unwrap();
    assert_eq!((again.first, again.duplicate), (3, true));
    let reused = plain("b").keyed(Key { digest: [2; 32], ..key("k") });
    assert_eq!(append(&other, reused).await, Err(AppendError::KeyReused));
    // In one group, with others that have nothing to do with it.
    let all: Vec<_> = (0..16)
        .map(|n| {
            let (node, key) = (one.clone(), key(&format!("k{}", n % 4)));
            tokio::spawn(async move { node.append(plain("c").keyed(key)).await.unwrap() })
        })
        .collect();
    let mut new = 0;
    for one in all {
        new += usize::from(!one.await.unwrap().duplicate);
    }
    assert_eq!((new, append(&one, plain("d")).await), (4, Ok((8, 8))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_for_a_task_that_ended_elsewhere_is_refused() {
    let Some((_home, one, other)) = acquainted().await else { return };
    assert_eq!(append(&one, plain("a").spoken_by("k")).await, Ok((3, 3)));
    let end = Append::new(thread("t"), vec![Draft::new(END)]);
    assert_eq!(append(&other, end).await, Ok((4, 4)));
    let refused = append(&one, plain("b").spoken_by("k")).await;
    assert!(matches!(refused, Err(AppendError::Instead(Instead::Over { .. }))), "{refused:?}");
    assert_eq!(append(&one, plain("c").spoken_by("other")).await, Ok((5, 5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_another_nodes_now_takes_nothing() {
    let Some((home, one, other)) = acquainted().await else { return };
    let num = one.thread(&thread("t")).unwrap().unwrap().num;
    assert!(one.claim(num, "k").unwrap());
    assert_eq!(append(&one, plain("a").claimed("k")).await, Ok((3, 3)));
    assert_eq!(append(&other, plain("x").claimed("k")).await, Err(Instead::Elsewhere.into()));
    home.run("UPDATE claim SET node = node + 1000");
    assert_eq!(append(&one, plain("x").claimed("k")).await, Err(Instead::Elsewhere.into()));
    assert_eq!(append(&one, plain("b")).await, Ok((4, 4)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_threads_time_does_not_go_back() {
    let Some((home, one, _)) = acquainted().await else { return };
    let later = one.append(plain("a")).await.unwrap().at + 60_000;
    home.run(&format!("UPDATE thread SET at = {later}"));
    assert_eq!(one.append(plain("b")).await.unwrap().at, later);
    home.run("UPDATE thread SET at = 0");
    assert!(one.append(plain("c")).await.unwrap().at < later);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_what_all_nodes_have_appended_by_turns() {
    let Some((_home, one, other)) = acquainted().await else { return };
    for round in 0..10u64 {
        // Each follows what the other has followed before.
        for (n, node) in [&one, &other].into_iter().enumerate() {
            let said =
                format!(r#"{{"kind":"message","role":"user","content":"word {round} {n}"}}"#);
            append(node, Append::new(thread("t"), vec![Draft::new(said)])).await.unwrap();
            node.settle().await.unwrap();
            let listed = node.threads(&ThreadQuery::new("default", 9)).unwrap();
            assert_eq!(listed.items[0].messages, round * 2 + n as u64 + 1);
        }
    }
}
