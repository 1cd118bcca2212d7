//! What is taken out is gone from everywhere, what is folded says the same, and the chain tells
//! when something else was changed.

use std::collections::BTreeSet;

use proptest::prelude::*;
use selvedge_protocol::journal::Event;
use selvedge_protocol::journal::fold::State;
use selvedge_protocol::json::Doc;
use selvedge_store::{
    Append, AppendError, Branches, Create, Draft, Erase, HashChain, Options, Redact, RedactError,
    Redacted, Store, TendError,
};

use super::append::thread;
use super::events::{any_event, open, say};
use super::home::Home;
use super::projection::cases;

pub(crate) const SECRET: &str = "xylophonic";

/// What is wrong with where a store is, if that can be said.
async fn findings(home: &Home) -> Vec<String> {
    home.checked().await.map(|checked| checked.findings).unwrap_or_default()
}

pub(crate) async fn redact(
    store: &Store,
    id: &str,
    events: &[u64],
) -> Result<Redacted, RedactError> {
    let asked = Redact {
        thread: thread(id),
        events: events.to_vec(),
        by: "ops".into(),
        reason: Some("asked to".into()),
        timestamp: "2026-11-16T00:00:00Z".into(),
    };
    store.redact(asked).await
}

fn entries(store: &Store, id: &str) -> Vec<(u64, String)> {
    let thread = store.thread(&thread(id)).unwrap().unwrap();
    let page = store.read(&thread, 0, usize::MAX, usize::MAX).unwrap();
    let text = |event: &[u8]| String::from_utf8(event.to_vec()).unwrap();
    page.entries.iter().map(|entry| (entry.seq, text(&entry.event))).collect()
}

/// Says the secret in every way that something is made of.
pub(crate) async fn spill(store: &Store, id: &str) {
    let s = SECRET;
    say(
        store,
        id,
        &[
            &format!(
                r#"{{"kind":"thread-created","title":"on {s}","metadata":{{"label":"{s}"}}}}"#
            ),
            &format!(r#"{{"kind":"participant-joined","participantId":"p","name":"{s}"}}"#),
            &format!(r#"{{"kind":"message","role":"user","author":"u","content":"tell {s}"}}"#),
        ],
    )
    .await;
    say(store, id, &[r#"{"kind":"task-created","taskId":"k","initiator":"user"}"#]).await;
    say(store, id, &[r#"{"kind":"part-started","partId":"p1","partType":"text","taskId":"k"}"#])
        .await;
    for piece in ["it is ", s, " you see"] {
        let delta =
            format!(r#"{{"kind":"content-delta","partId":"p1","taskId":"k","delta":"{piece}"}}"#);
        say(store, id, &[&delta]).await;
    }
    say(
        store,
        id,
        &[
            r#"{"kind":"part-finished","partId":"p1","partType":"text","taskId":"k"}"#,
            &format!(
                r#"{{"kind":"input-required","inputId":"i","inputType":"confirmation","prompt":"{s}?"}}"#
            ),
            &format!(
                r#"{{"kind":"file-write","artifactId":"f","name":"{s}","description":"{s}","data":"{s}","index":0,"complete":true}}"#
            ),
            r#"{"kind":"task-complete","taskId":"k"}"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn what_was_taken_out_of_events_is_nowhere_in_the_files_and_its_receipt_is() {
    let Some((home, store)) = open() else { return };
    spill(&store, "t").await;
    for i in 0..300 {
        let other = format!(r#"{{"kind":"message","role":"user","content":"word{i} {i}"}}"#);
        say(&store, "other", &[&other]).await;
    }
    store.settle().await.unwrap();
    assert_eq!(store.search("default", SECRET, 9, None).unwrap().items.len(), 3);
    assert!(home.holds(SECRET));
    let tail = store.tail(&store.thread(&thread("t")).unwrap().unwrap()).unwrap();
    let before = tail.rewritten();

    let all: Vec<u64> = entries(&store, "t")
        .iter()
        .filter(|(_, event)| event.contains(SECRET))
        .map(|(seq, _)| *seq)
        .collect();
    assert_eq!(all, [1, 2, 3, 7, 10, 11]);
    let done = redact(&store, "t", &all).await.unwrap();
    assert_eq!(done.receipt, Some(13));
    assert_eq!(tail.rewritten(), before + 1);
    let told = entries(&store, "t");
    assert_eq!(told.len(), 13);
    assert!(!told.iter().any(|(_, event)| event.contains(SECRET)));
    let (hash, at) = (done.events[3].1.hex(), done.at);
    assert!(at > 0);
    assert_eq!(
        told[6].1,
        format!(
            r#"{{"kind":"content-delta","partId":"p1","taskId":"k","delta":"","redacted":{{"hash":"{hash}","receipt":13}}}}"#
        )
    );
    let receipt = &told[12].1;
    assert!(receipt.starts_with(r#"{"kind":"redacted","contextId":"t","events":[{"seq":1,"#));
    assert!(receipt.contains(&format!(r#"{{"seq":7,"hash":"{hash}"}}"#)));
    assert!(
        receipt.ends_with(r#""by":"ops","reason":"asked to","timestamp":"2026-11-16T00:00:00Z"}"#)
    );
    store.scrubbed().await.unwrap();
    assert!(store.search("default", SECRET, 9, None).unwrap().items.is_empty());
    assert_eq!(store.search("default", "\"it is you see\"", 9, None).unwrap().items.len(), 1);
    assert_eq!(store.search("default", "word77", 9, None).unwrap().items.len(), 1);
    assert!(!home.holds(SECRET));
    // States stay: the task is over, the question is open, the file is complete.
    let there = store.thread(&thread("t")).unwrap().unwrap();
    assert_eq!(store.tasks(&there).unwrap().len(), 1);
    assert_eq!(store.pending(&there).unwrap().len(), 1);
    assert!(store.artifacts(&there).unwrap()[0].versions[0].complete);

    // Done before is done; a receipt stays; what is not there cannot go.
    assert_eq!(redact(&store, "t", &[3]).await.unwrap().receipt, None);
    let refused = redact(&store, "t", &[13]).await;
    assert_eq!(refused, Err(RedactError::Receipt { seq: 13 }));
    let refused = redact(&store, "t", &[99]).await;
    assert_eq!(refused, Err(RedactError::NoEvent { seq: 99, head: 13 }));
    assert_eq!(redact(&store, "no", &[1]).await, Err(TendError::NotFound.into()));
    assert_eq!(say(&store, "t", &[r#"{"kind":"error","message":"m"}"#]).await.first, 14);
    assert_eq!(findings(&home).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_a_branch_shares_is_taken_out_of_it_too() {
    let Some((home, store)) = open() else { return };
    spill(&store, "t").await;
    let from = store.thread(&thread("t")).unwrap().unwrap();
    let append = Append::new(thread("b"), vec![Draft::new(r#"{"kind":"thread-updated"}"#)]);
    store.append(append.creating(Create::Branch { from, at: 12 })).await.unwrap();
    redact(&store, "b", &[1, 2, 3, 7, 10, 11]).await.unwrap();
    store.scrubbed().await.unwrap();
    assert!(!home.holds(SECRET));
    assert_eq!(entries(&store, "t").len(), 12);
    assert_eq!(entries(&store, "b").len(), 14);
    assert_eq!(findings(&home).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_erased_thread_leaves_a_receipt_and_nothing_else() {
    let Some((home, store)) = open() else { return };
    spill(&store, "t").await;
    say(&store, "other", &[r#"{"kind":"message","role":"user","content":"stays"}"#]).await;
    let from = store.thread(&thread("t")).unwrap().unwrap();
    let append = Append::new(thread("b"), vec![Draft::new(r#"{"kind":"thread-updated"}"#)]);
    store.append(append.creating(Create::Branch { from, at: 3 })).await.unwrap();
    store.settle().await.unwrap();
    let erase = |branches| Erase {
        thread: thread("t"),
        branches,
        by: "ops".into(),
        reason: Some("asked to".into()),
    };
    let gone = store.erase(erase(Branches::Go)).await.unwrap();
    assert_eq!(gone.iter().map(|receipt| &*receipt.thread).collect::<Vec<_>>(), ["b", "t"]);
    assert_eq!((gone[1].entries, gone[1].by.as_str()), (12, "ops"));
    assert_eq!(gone[1].shared_with, Vec::<String>::new());
    store.scrubbed().await.unwrap();
    assert!(!home.holds(SECRET));
    assert_eq!(store.thread(&thread("t")).unwrap(), None);
    let mut kept = store.erasures("default", 9).unwrap();
    kept.reverse();
    assert_eq!(kept, gone);
    assert_eq!(store.erasures("else", 9).unwrap(), []);
    assert_eq!(store.erase(erase(Branches::Stay)).await, Err(TendError::NotFound));
    assert_eq!(findings(&home).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_branch_that_stays_is_named_in_the_receipt() {
    let Some((_home, store)) = open() else { return };
    spill(&store, "t").await;
    let from = store.thread(&thread("t")).unwrap().unwrap();
    let append = Append::new(thread("b"), vec![Draft::new(r#"{"kind":"thread-updated"}"#)]);
    store.append(append.creating(Create::Branch { from, at: 3 })).await.unwrap();
    let asked =
        Erase { thread: thread("t"), branches: Branches::Stay, by: "ops".into(), reason: None };
    let gone = store.erase(asked).await.unwrap();
    assert_eq!(gone[0].shared_with, ["b"]);
    store.scrubbed().await.unwrap();
    assert_eq!(entries(&store, "b").len(), 4);
}

fn state(events: &[(u64, String)]) -> String {
    let mut state = State::new();
    for (_, event) in events {
        let doc = Doc::parse(event).unwrap();
        if let Some(event) = Event::parse(doc.root()) {
            state.apply(&event);
        }
    }
    // Without how many events there were, and in an order.
    let odd: Vec<_> = state.anomalies.iter().map(|odd| (odd.what, &odd.subject)).collect();
    let tasks: Vec<_> = state.tasks.iter().collect();
    format!(
        "{:?} {:?} {tasks:?} {:?} {:?} {:?} {:?} {:?} {odd:?} {:?}",
        state.thread,
        state.participants,
        state.transcript.actions(),
        state.artifacts,
        state.inputs,
        state.auths,
        state.usage,
        state.span
    )
}

async fn fold_all(store: &Store) -> u64 {
    let mut entries = 0;
    loop {
        let done = store.fold_before(i64::MAX).await.unwrap();
        entries += done.entries;
        if !done.more {
            return entries;
        }
    }
}

/// What is made from a journal, but for how far that has come.
fn made(home: &Home) -> BTreeSet<String> {
    home.dump().into_iter().filter(|line| !line.starts_with("followed")).collect()
}

fn delta(task: &str, text: &str) -> String {
    format!(r#"{{"kind":"content-delta","taskId":"{task}","delta":"{text}"}}"#)
}

#[tokio::test]
async fn finished_pieces_are_folded_and_whoever_stands_between_them_is_told() {
    let Some((home, store)) = open() else { return };
    say(&store, "t", &[r#"{"kind":"task-created","taskId":"k","initiator":"user"}"#]).await;
    for text in ["a", "b", "c", "d"] {
        say(&store, "t", &[&delta("k", text)]).await;
    }
    assert_eq!(fold_all(&store).await, 0, "the task is not over");
    say(&store, "t", &[r#"{"kind":"task-complete","taskId":"k","content":"abcd"}"#]).await;
    let there = store.thread(&thread("t")).unwrap().unwrap();
    let from = there.clone();
    assert_eq!(fold_all(&store).await, 2);
    let told = entries(&store, "t");
    assert_eq!(told.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1, 2, 5, 6]);
    assert_eq!(told[2].1, delta("k", "bcd"));
    for seq in 0..=6 {
        let page = store.read(&there, seq, usize::MAX, usize::MAX).unwrap();
        let between = (seq == 3 || seq == 4).then_some(3..=5);
        assert_eq!(page.folded(seq), between);
        assert_eq!(store.folded(&there, seq).unwrap(), between);
        assert!(page.entries.iter().all(|entry| entry.seq > seq));
        assert_eq!(page.head, 6);
    }
    // No one branches off in the middle of what is one now.
    let branch = |at| {
        let append = Append::new(thread("b"), vec![Draft::new(r#"{"kind":"thread-updated"}"#)]);
        append.creating(Create::Branch { from: from.clone(), at })
    };
    let refused = store.append(branch(4)).await;
    assert_eq!(refused, Err(AppendError::Folded { from: 3, to: 5 }));
    assert_eq!(store.append(branch(5)).await.unwrap().first, 6);
    assert_eq!(
        redact(&store, "t", &[4]).await,
        Err(RedactError::Folded { seq: 4, from: 3, to: 5 })
    );
    assert_eq!(redact(&store, "t", &[5]).await.unwrap().receipt, Some(7));
    assert_eq!(entries(&store, "t")[2].0, 5);
    assert_eq!(say(&store, "t", &[r#"{"kind":"error","message":"m"}"#]).await.first, 8);
    assert_eq!(findings(&home).await, Vec::<String>::new());
}

#[tokio::test]
async fn keys_of_folded_appends_still_give_the_first_answer() {
    let Some((_home, store)) = open() else { return };
    say(&store, "t", &[r#"{"kind":"task-created","taskId":"k","initiator":"user"}"#]).await;
    let keyed = |n: u8| {
        let key = selvedge_store::Key { text: format!("key{n}"), digest: [n; 32] };
        Append::new(thread("t"), vec![Draft::new(delta("k", "x"))]).keyed(key)
    };
    for n in 0..5 {
        store.append(keyed(n)).await.unwrap();
    }
    say(&store, "t", &[r#"{"kind":"task-complete","taskId":"k"}"#]).await;
    assert_eq!(fold_all(&store).await, 3);
    let again = store.append(keyed(2)).await.unwrap();
    assert_eq!((again.first, again.last, again.duplicate), (4, 4, true));
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn what_is_folded_says_the_same(
        events in proptest::collection::vec(prop_oneof![
            2 => any_event(),
            6 => (0..2u8, "[a-z]{1,3}").prop_map(|(task, text)| delta(&format!("k{task}"), &text)),
            1 => (0..2u8).prop_map(|t| format!(r#"{{"kind":"task-complete","taskId":"k{t}"}}"#)),
        ], 1..60),
        cut in 1..4usize,
        fork in 0..60u64,
    ) {
        let is_event = |event: &String| {
            Doc::parse(event).is_ok_and(|doc| doc.root().get("kind").is_some_and(|kind| kind.is_string()))
        };
        let events: Vec<String> = events.into_iter().filter(is_event).collect();
        prop_assume!(!events.is_empty());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let Some((home, store)) = open() else { return };
                    for some in events.chunks(cut) {
                let some: Vec<&str> = some.iter().map(String::as_str).collect();
                say(&store, "t", &some).await;
            }
            let from = store.thread(&thread("t")).unwrap().unwrap();
            let fork = fork.min(events.len() as u64);
            let append = Append::new(thread("b"), vec![Draft::new(delta("k0", "z"))]);
            store.append(append.creating(Create::Branch { from: from.clone(), at: fork })).await.unwrap();
            store.settle().await.unwrap();
            let before = [entries(&store, "t"), entries(&store, "b")];
            let known = made(&home);
            fold_all(&store).await;
            store.settle().await.unwrap();
            let after = [entries(&store, "t"), entries(&store, "b")];
            for (before, after) in before.iter().zip(&after) {
                assert_eq!(state(before), state(after));
            }
            assert_eq!(made(&home), known);
            // From every cursor: the exact rest, or the word that it is not.
            for seq in 0..=events.len() as u64 {
                let page = store.read(&from, seq, usize::MAX, usize::MAX).unwrap();
                let rest: Vec<_> = before[0].iter().filter(|(at, _)| *at > seq).cloned().collect();
                let own: Vec<_> = page.entries.iter()
                    .map(|e| (e.seq, String::from_utf8(e.event.to_vec()).unwrap())).collect();
                let seen: Vec<_> = before[0].iter().filter(|(at, _)| *at <= seq).cloned().collect();
                match page.folded(seq) {
                    None => {
                        let all = [&seen[..], &own].concat();
                        assert_eq!(state(&all), state(&before[0]));
                        assert_eq!(own.last().map(|e| e.0), rest.last().map(|e| e.0));
                    }
                    // Without what it has of those that are one now.
                    Some(folded) => {
                        let seen: Vec<_> = seen.into_iter().filter(|e| !folded.contains(&e.0)).collect();
                        assert_eq!(state(&[&seen[..], &own].concat()), state(&before[0]));
                    }
                }
            }
            drop(store);
            assert_eq!(findings(&home).await, Vec::<String>::new());
        });
    }
}

pub(crate) async fn chained(home: &Home) -> Store {
    let store = home.open_with(Options { chain: HashChain::On, ..Options::default() });
    spill(&store, "t").await;
    say(&store, "u", &[r#"{"kind":"message","role":"user","content":"u"}"#]).await;
    store
}

#[tokio::test]
async fn the_chain_holds_through_restarts_redaction_and_folding() {
    let Some(home) = Home::new() else { return };
    drop(chained(&home).await);
    let store = home.open_with(Options { chain: HashChain::On, ..Options::default() });
    say(&store, "t", &[r#"{"kind":"error","message":"m"}"#]).await;
    redact(&store, "t", &[1, 3]).await.unwrap();
    assert_eq!(fold_all(&store).await, 1);
    redact(&store, "t", &[8]).await.unwrap();
    store.scrubbed().await.unwrap();
    if let Some(found) = home.checked().await {
        assert_eq!((found.findings, found.chained), (Vec::new(), 16));
    }
    store.fresh(&store.thread(&thread("t")).unwrap().unwrap()).await.unwrap();
    let there = store.thread(&thread("t")).unwrap().unwrap();
    let all = store.chained(&there, 0, usize::MAX).unwrap();
    assert_eq!(all.len(), 14);
    let folded = all.iter().find(|one| one.entry.seq == 8).unwrap();
    assert_eq!((folded.entry.from, folded.were.len()), (7, 2));
    for two in all.windows(2) {
        assert_eq!(two[0].links.unwrap().1, two[1].links.unwrap().0);
    }
}

#[tokio::test]
async fn without_the_chain_nothing_is_written_for_it() {
    let Some((home, store)) = open() else { return };
    spill(&store, "t").await;
    redact(&store, "t", &[1]).await.unwrap();
    drop(store);
    for table in ["chain", "instead"] {
        assert_eq!(home.count(table), 0, "{table}");
    }
}
