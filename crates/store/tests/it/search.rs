//! Finding words.

use proptest::prelude::*;
use selvedge_store::{Append, Create, Draft, Piece, Store};

use super::append::thread;
use super::events::{open, say};
use super::projection::cases;

fn found(store: &Store, words: &str) -> Vec<(String, u64)> {
    let page = store.search("default", words, 100, None).unwrap();
    page.items.into_iter().map(|found| (found.thread, found.seq)).collect()
}

#[tokio::test]
async fn finished_text_is_found_and_nothing_else() {
    let Some((_home, store)) = open() else { return };
    say(&store, "t", &[
        r#"{"kind":"thread-created","title":"The harvest"}"#,
        r#"{"kind":"content-delta","delta":"piecemeal"}"#,
        r#"{"kind":"content-complete","content":"Crème brûlée, \u0022quoted\u0022"}"#,
        r#"{"kind":"message","role":"user","content":[{"type":"text","text":"two parts"},{"type":"file","data":"nothing"}]}"#,
        r#"{"kind":"tool-complete","toolCallId":"c","success":true,"result":{"rows":[["deep inside"]]}}"#,
        r#"{"kind":"thought-stream","verbosity":"detailed","content":"pondering"}"#,
        r#"{"kind":"message","content":"confidential","visibility":"operator"}"#,
        r#"{"kind":"internal:tool-complete","result":"confidential"}"#,
        r#"{"kind":"message","content":"open to all","visibility":"public"}"#,
    ]).await;
    say(&store, "u", &[r#"{"kind":"message","content":"another harvest"}"#]).await;
    store.settle().await.unwrap();
    let at = |seq| vec![("t".to_owned(), seq)];
    assert_eq!(found(&store, "harvest"), [("u".to_owned(), 1), ("t".to_owned(), 1)]);
    assert_eq!(found(&store, "creme BRULEE"), at(3));
    assert_eq!(found(&store, "\"two parts\""), at(4));
    assert_eq!(found(&store, "\"parts two\""), []);
    assert_eq!(found(&store, "inside deep"), at(5));
    assert_eq!(found(&store, "insi*"), at(5));
    assert_eq!(found(&store, "open"), at(9));
    for nothing in ["piecemeal", "pondering", "confidential", "nothing", "harvest two", ""] {
        assert_eq!(found(&store, nothing), [], "{nothing}");
    }
    assert!(store.search("other", "harvest", 9, None).unwrap().items.is_empty());
    let creme = store.search("default", "brulee", 9, None).unwrap().items.remove(0);
    let pieces = [
        Piece::Around("Crème ".into()),
        Piece::Hit("brûlée".into()),
        Piece::Around(", \"quoted\"".into()),
    ];
    assert_eq!(creme.snippet, pieces);
}

#[tokio::test]
async fn streamed_text_is_found_where_its_part_ends() {
    let Some((_home, store)) = open() else { return };
    let events = [
        r#"{"kind":"part-started","partId":"p","partType":"text"}"#,
        r#"{"kind":"content-delta","partId":"p","delta":"A har"}"#,
        r#"{"kind":"content-delta","partId":"q","delta":"noise"}"#,
        r#"{"kind":"content-delta","partId":"p","delta":"vest"}"#,
        r#"{"kind":"part-finished","partId":"p","partType":"text"}"#,
        r#"{"kind":"part-finished","partId":"q","partType":"reasoning"}"#,
    ];
    say(&store, "t", &events[..2]).await;
    for event in &events[2..] {
        say(&store, "t", &[event]).await;
    }
    let whole = say(&store, "whole", &events).await;
    let from = whole.thread.clone();
    let branch = Append::new(thread("branch"), vec![Draft::new("{}")])
        .creating(Create::Branch { from, at: 5 });
    let branch = store.append(branch).await.unwrap();
    store.settle().await.unwrap();
    assert_eq!(found(&store, "harvest"), [("whole".to_owned(), 5), ("t".to_owned(), 5)]);
    assert_eq!(found(&store, "noise"), []);
    for thread in [whole.thread, branch.thread] {
        let summary = store.summary(&thread).unwrap().unwrap();
        assert_eq!((summary.words.as_deref(), summary.messages), (Some("A harvest"), 1));
    }
}

#[tokio::test]
async fn results_come_in_pages_the_newest_first() {
    let Some((_home, store)) = open() else { return };
    for i in 0..30 {
        let said = format!(r#"{{"kind":"message","content":"common {i}"}}"#);
        say(&store, &format!("t{}", i % 4), &[&said]).await;
        // What several databases have of one millisecond is in no order.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    store.settle().await.unwrap();
    let (mut after, mut texts) = (None, Vec::new());
    loop {
        let page = store.search("default", "common", 7, after.as_ref()).unwrap();
        texts.extend(page.items.into_iter().map(|found| match found.snippet.last() {
            Some(Piece::Around(text)) => text.trim().parse::<u32>().unwrap(),
            other => panic!("{other:?}"),
        }));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(texts, (0..30).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn hostile_words_find_something_or_nothing() {
    let Some((_home, store)) = open() else { return };
    say(&store, "t", &[r#"{"kind":"message","content":"plain NEAR text AND more don't"}"#]).await;
    store.settle().await.unwrap();
    assert_eq!(found(&store, "NEAR AND text").len(), 1);
    assert_eq!(found(&store, "don't").len(), 1);
    assert_eq!(found(&store, "(plain"), [("t".to_owned(), 1)]);
    let long = "plain ".repeat(2000);
    assert_eq!(found(&store, &long).len(), 1);
    for words in [
        "\"",
        "\"\"",
        "*",
        "**",
        "- plain",
        "plain OR",
        "NOT plain",
        "text:plain",
        "tenant:x",
        "^plain",
        "NEAR(plain text)",
        "{text} : x",
        "\0",
        "plain\0more",
        "'; DROP TABLE thread; --",
        "\u{2}\u{3}",
        "\u{301}",
        "plain \"unclosed",
        "+",
        "a + b",
        "…",
        &"\"".repeat(10_000),
        &"(".repeat(10_000),
        &"é".repeat(10_000),
        &"a*".repeat(5_000),
    ] {
        store.search("default", words, 10, None).unwrap();
    }
}

proptest! {
    #![proptest_config(cases(16))]
    #[test]
    fn no_words_give_an_error(words in prop::collection::vec("\\PC{0,40}|[\"*()^:+\\- a\\x00]{0,40}", 20)) {
        let Some((_home, store)) = open() else { return Ok(()) };
        for words in words {
            store.search("default", &words, 10, None).unwrap();
        }
    }
}
