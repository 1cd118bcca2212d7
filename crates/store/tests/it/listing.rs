//! Lists: in order, in pages, filtered.

use selvedge_store::{
    InboxKind, InboxQuery, Place, ReadError, Scalar, Store, Summary, ThreadQuery, ThreadStatus,
};

use super::events::{open, say};

fn ids(items: &[Summary]) -> Vec<&str> {
    items.iter().map(|item| item.id.as_str()).collect()
}

/// All pages of a list.
fn all(store: &Store, mut query: ThreadQuery) -> Vec<Summary> {
    let mut out = Vec::new();
    loop {
        let page = store.threads(&query).unwrap();
        out.extend(page.items);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return out,
        }
    }
}

#[tokio::test]
async fn threads_are_found_by_status_participant_and_metadata() {
    let Some((_home, store)) = open() else { return };
    for (id, events) in [
        ("a", &[r#"{"kind":"thread-created","metadata":{"team":"blue","n":1.0,"big":true}}"#][..]),
        ("b", &[r#"{"kind":"participant-joined","participantId":"bob"}"#]),
        (
            "c",
            &[
                r#"{"kind":"thread-created","metadata":{"team":"blue","n":2}}"#,
                r#"{"kind":"message","author":"bob","content":"x"}"#,
                r#"{"kind":"task-created","taskId":"k"}"#,
            ],
        ),
        (
            "d",
            &[
                r#"{"kind":"thread-created","metadata":{"team":"\u0062lue"}}"#,
                r#"{"kind":"thread-updated","metadata":{"team":"red"}}"#,
            ],
        ),
    ] {
        say(&store, id, events).await;
    }
    store.settle().await.unwrap();
    let query = |change: &dyn Fn(&mut ThreadQuery)| {
        let mut query = ThreadQuery::new("default", 10);
        change(&mut query);
        let mut found: Vec<_> = all(&store, query).into_iter().map(|s| s.id).collect();
        found.sort();
        found.join("")
    };
    let text = |text: &str| Scalar::Text(text.into());
    let label = |key: &str, value: Scalar| {
        let label = (key.to_owned(), value);
        query(&|q| q.metadata.push(label.clone()))
    };
    assert_eq!(query(&|_| {}), "abcd");
    assert_eq!(query(&|q| q.tenant = "other".into()), "");
    assert_eq!(query(&|q| q.status = Some(ThreadStatus::Working)), "c");
    assert_eq!(query(&|q| q.status = Some(ThreadStatus::Idle)), "abd");
    assert_eq!(query(&|q| q.participant = Some("bob".into())), "bc");
    assert_eq!(label("team", text("blue")), "ac");
    assert_eq!(label("team", text("red")), "d");
    assert_eq!(label("n", Scalar::Number(1.0)), "a");
    assert_eq!(label("n", text("1")), "");
    assert_eq!(label("big", Scalar::Bool(true)), "a");
    assert_eq!(label("team\"", text("\" OR 1=1 --")), "");
    let both = query(&|q| {
        q.participant = Some("bob".into());
        q.metadata = vec![("team".into(), text("blue")), ("n".into(), Scalar::Number(2.0))];
        q.status = Some(ThreadStatus::Working);
    });
    assert_eq!(both, "c");
}

#[tokio::test]
async fn pages_are_stable_while_other_threads_are_updated() {
    let Some((_home, store)) = open() else { return };
    let made = r#"{"kind":"message","author":"u","content":"made"}"#;
    for i in (0..10_000).step_by(500) {
        let ids: Vec<String> = (i..i + 500).map(|i| i.to_string()).collect();
        let appends: Vec<_> = ids
            .into_iter()
            .map(|id| {
                let store = store.clone();
                tokio::spawn(async move { say(&store, &id, &[made]).await })
            })
            .collect();
        for append in appends {
            append.await.unwrap();
        }
    }
    store.settle().await.unwrap();
    for participant in [None, Some("u".to_owned())] {
        let mut query = ThreadQuery::new("default", 700);
        query.participant = participant;
        let mut seen = Vec::new();
        let mut touched = Vec::new();
        loop {
            let page = store.threads(&query).unwrap();
            assert!(page.items.len() == 700 || page.next.is_none());
            seen.extend(page.items);
            // One that was seen and one that was not; both move to the front.
            for id in [seen[seen.len() / 2].id.clone(), (seen.len() % 10_000).to_string()] {
                say(&store, &id, &[made]).await;
                touched.push(id);
            }
            store.settle().await.unwrap();
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let order = |s: &Summary| (s.updated, s.num);
        assert!(seen.windows(2).all(|two| order(&two[0]) > order(&two[1])));
        let mut found = ids(&seen);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), seen.len(), "none twice");
        let missing = (0..10_000).map(|i| i.to_string());
        let missing: Vec<_> =
            missing.filter(|id| found.binary_search(&id.as_str()).is_err()).collect();
        assert!(
            missing.iter().all(|id| touched.contains(id)),
            "only those that moved: {missing:?}"
        );
    }
}

#[tokio::test]
async fn the_inbox_is_of_all_threads_and_the_oldest_first() {
    let Some((_home, store)) = open() else { return };
    for i in 0..25 {
        let ask = format!(
            r#"{{"kind":"input-required","inputId":"i","taskId":"k","inputType":"confirmation","prompt":"Sure {i}?","requireUser":{},"expiresAt":"2026-01-01T00:00:00Z"}}"#,
            i % 2 == 0
        );
        say(&store, &format!("t{i}"), &[&ask]).await;
    }
    say(&store, "t3", &[r#"{"kind":"input-received","inputId":"i"}"#]).await;
    say(&store, "t4", &[r#"{"kind":"task-complete","taskId":"k"}"#]).await;
    // The order is that of milliseconds; within one it is that of threads.
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    say(&store, "t5", &[r#"{"kind":"auth-required","authId":"z","authType":"oauth2"}"#]).await;
    store.settle().await.unwrap();
    let all = |mut query: InboxQuery| {
        let mut out = Vec::new();
        loop {
            let page = store.inbox("default", &query).unwrap();
            out.extend(page.items);
            match page.next {
                Some(next) => query.after = Some(next),
                None => return out,
            }
        }
    };
    let items = all(InboxQuery { limit: 7, ..InboxQuery::default() });
    let mut want: Vec<_> =
        (0..25).filter(|i| ![3, 4].contains(i)).map(|i| format!("t{i}")).collect();
    want.push("t5".into());
    assert_eq!(items.iter().map(|item| item.thread.clone()).collect::<Vec<_>>(), want);
    assert_eq!(items[0].prompt.as_deref(), Some("Sure 0?"));
    assert_eq!((items[0].expires, items[0].require_user), (Some(1_767_225_600_000), true));
    let auths = InboxQuery { kind: Some(InboxKind::Auth), limit: 9, ..InboxQuery::default() };
    assert_eq!(all(auths).len(), 1);
    let user = InboxQuery { user_only: true, limit: 3, ..InboxQuery::default() };
    assert_eq!(all(user).len(), 13, "even ones but t4, and the credentials");
    assert!(
        store
            .inbox("other", &InboxQuery { limit: 9, ..InboxQuery::default() })
            .unwrap()
            .items
            .is_empty()
    );
}

#[test]
fn a_made_up_place_is_refused() {
    let Some((_home, store)) = open() else { return };
    for place in ["", "x", "1", "1.2.3", "1.2 or 1", &"f".repeat(999)] {
        let query =
            ThreadQuery { after: Some(Place::new(place)), ..ThreadQuery::new("default", 1) };
        let refused = store.threads(&query).unwrap_err();
        assert!(matches!(refused, ReadError::BadPlace(_)), "{place}");
    }
}
