//! Several stores on one database, as the nodes of a cluster have it.

use std::collections::BTreeSet;

use selvedge_store::{
    Append, AppendError, Create, Draft, Guard, InboxKind, Instead, Key, Store, ThreadKey,
};

use super::append::{event, events, names, thread};
use super::events::say;
use super::guard::{ASK, BEGIN, answer, guarded, input};
use super::home::Home;
use super::projection::check;

fn nodes(home: &Home, count: usize) -> Vec<Store> {
    (0..count).map(|_| home.open()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_write_to_one_thread_leave_no_hole_and_no_duplicate() {
    let Some(home) = Home::new() else { return };
    let nodes = nodes(&home, 3);
    let writers: Vec<_> = (0..12)
        .map(|writer| {
            let node = nodes[writer % nodes.len()].clone();
            tokio::spawn(async move {
                let mut taken = Vec::new();
                for i in 0..20 {
                    // One that all share, and one of a few.
                    let id = if i % 2 == 0 { "hot".to_owned() } else { format!("t{}", i % 6) };
                    let name = format!("w{writer}-{i}");
                    let append = Append::new(thread(&id), vec![event(&name)]);
                    let done = node.append(append.creating(Create::IfMissing)).await.unwrap();
                    taken.push((id, done.first, name));
                }
                taken
            })
        })
        .collect();
    let mut taken = BTreeSet::new();
    for writer in writers {
        taken.extend(writer.await.unwrap());
    }
    assert_eq!(taken.len(), 240);
    for node in &nodes {
        for id in ["hot", "t1", "t3", "t5"] {
            let found = node.thread(&thread(id)).unwrap().unwrap();
            let own = taken.iter().filter(|(own, ..)| own == id);
            let own: Vec<String> = own.map(|(.., name)| name.clone()).collect();
            assert_eq!(names(node, &found), own, "{id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_a_name_and_an_expected_head_are_had_once_by_all_nodes_together() {
    let Some(home) = Home::new() else { return };
    let nodes = nodes(&home, 3);
    let at_once = |append: fn(usize) -> Append| {
        let all: Vec<_> = (0..24)
            .map(|n| {
                let node = nodes[n % 3].clone();
                tokio::spawn(async move { node.append(append(n)).await })
            })
            .collect();
        async move {
            let mut answers = Vec::new();
            for one in all {
                answers.push(one.await.unwrap());
            }
            answers
        }
    };
    let made =
        at_once(|n| Append::new(thread("new"), vec![event(&n.to_string())]).creating(Create::New));
    let made = made.await;
    assert_eq!(made.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert!(
        made.iter().flat_map(|answer| answer.as_ref().err()).all(|e| *e == AppendError::Exists)
    );

    let keyed = at_once(|_| {
        let key = Key { text: "k".into(), digest: [7; 32] };
        Append::new(thread("keyed"), events(["a", "b"])).creating(Create::IfMissing).keyed(key)
    });
    let keyed: Vec<_> = keyed.await.into_iter().map(Result::unwrap).collect();
    assert!(keyed.iter().all(|answer| (answer.first, answer.last) == (1, 2)));
    assert_eq!(keyed.iter().filter(|answer| !answer.duplicate).count(), 1);

    let raced = at_once(|n| Append::new(thread("keyed"), vec![event(&n.to_string())]).expecting(2));
    let raced = raced.await;
    assert_eq!(raced.iter().filter(|answer| answer.is_ok()).count(), 1);
    let late = AppendError::Conflict { expected: 2, head: 3 };
    assert!(raced.iter().flat_map(|answer| answer.as_ref().err()).all(|error| *error == late));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_once_whichever_node_is_asked() {
    let Some(home) = Home::new() else { return };
    let nodes = nodes(&home, 2);
    say(&nodes[0], "t", &[BEGIN, ASK]).await;
    let tries: Vec<_> = (0..8)
        .map(|n| {
            let node = nodes[n % 2].clone();
            let answer = answer(n);
            tokio::spawn(async move { node.append(guarded("t", input("i"), &[&answer])).await })
        })
        .collect();
    let mut taken = 0;
    for tried in tries {
        match tried.await.unwrap() {
            Ok(_) => taken += 1,
            Err(error) => assert_eq!(error, Instead::Answered { seq: 3 }.into()),
        }
    }
    assert_eq!(taken, 1);
    let there = nodes[1].thread(&thread("t")).unwrap().unwrap();
    assert!(nodes[1].question(&there, InboxKind::Input, "i").unwrap().is_some());
}

#[tokio::test]
async fn a_task_that_ended_on_one_node_says_nothing_more_on_another() {
    let Some(home) = Home::new() else { return };
    let [here, there] = [home.open(), home.open()];
    say(&here, "t", &[BEGIN, r#"{"kind":"task-status","taskId":"k","status":"canceled"}"#]).await;
    let piece = Append::new(thread("t"), vec![event("x")]);
    for late in [piece.clone().spoken_by("k"), piece.guarded(Guard::Running { task: "k".into() })] {
        let late = there.append(late).await.unwrap_err();
        assert!(matches!(late, AppendError::Instead(Instead::Over { .. })), "{late}");
    }
}

#[tokio::test]
async fn a_reader_misses_nothing_that_another_node_wrote_in_between() {
    let Some(home) = Home::new() else { return };
    let [here, there] = [home.open(), home.open()];
    let made = Append::new(thread("t"), events(["a", "b"])).creating(Create::New);
    let found = here.append(made).await.unwrap().thread;
    let tail = here.tail(&found).unwrap();
    for (node, name) in [(&here, "c"), (&there, "d"), (&here, "e")] {
        node.append(Append::new(thread("t"), events([name]))).await.unwrap();
    }
    // As readers do: what is at hand, else the journal.
    let mut seen = 2;
    while seen < 5 {
        let entries = match tail.entries(seen, usize::MAX) {
            Some(entries) => entries,
            None => here.read(&found, seen, 99, usize::MAX).unwrap().entries,
        };
        let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
        let last = *seqs.last().unwrap();
        assert_eq!(seqs, (seen + 1..=last).collect::<Vec<_>>());
        seen = last;
    }
}

#[tokio::test]
async fn what_waits_is_followed_without_being_asked_for() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    let made = say(&store, "t", &[r#"{"kind":"message","author":"u","content":"x"}"#]).await;
    // Appends that never pause keep nothing from being followed.
    let mut n = 0;
    while store.summary(&made.thread).unwrap().is_none() {
        say(&store, &format!("u{}", n % 50), &[r#"{"kind":"system","name":"x"}"#]).await;
        n += 1;
    }
    store.delete(thread("t")).await.unwrap();
    while home.count("thread WHERE deleted IS NOT NULL") > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_another_node_left_behind_is_followed() {
    let Some(home) = Home::new() else { return };
    let [here, there] = [home.open(), home.open()];
    for i in 0..30 {
        say(&here, "t", &[&format!(r#"{{"kind":"message","author":"u{i}","content":"w{i}"}}"#)])
            .await;
    }
    there.settle().await.unwrap();
    let found = there.thread(&thread("t")).unwrap().unwrap();
    check(&there, &found);
    assert_eq!(there.search("default", "w29", 9, None).unwrap().items.len(), 1);
    let before = home.dump();
    here.settle().await.unwrap();
    assert_eq!(home.dump(), before, "following again changes nothing");
}

#[tokio::test]
async fn a_node_that_was_cut_off_comes_back_and_has_lost_nothing() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    let mut told = Vec::new();
    for round in 0..6 {
        home.cut_off();
        for i in 0..5 {
            let name = format!("{round}-{i}");
            let key = Key { text: name.clone(), digest: [1; 32] };
            let append = Append::new(thread("t"), vec![event(&name)]);
            let append = append.creating(Create::IfMissing).keyed(key);
            // Refused as long as the connection is gone; then as if nothing had been.
            while let Err(error) = store.append(append.clone()).await {
                assert!(matches!(error, AppendError::Storage(_)), "{error}");
            }
            told.push(name);
        }
    }
    let found = loop {
        if let Ok(found) = store.thread(&thread("t")) {
            break found.unwrap();
        }
    };
    assert_eq!(names(&store, &found), told);
    home.cut_off();
    while store.settle().await.is_err() || store.thread(&thread("t")).is_err() {}
    check(&store, &found);
}

#[test]
fn nodes_that_begin_together_make_the_tables_once() {
    let Some(home) = Home::bare() else { return };
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| drop(home.open()));
        }
    });
    assert_eq!(home.count("migration"), 4);
    assert_eq!(Store::migrate(home.address()).unwrap(), 4);
    home.run("INSERT INTO migration (step, name, release) VALUES (999, 'of another time', 999000)");
    let refused = Store::migrate(home.address()).unwrap_err().to_string();
    assert!(refused.contains("by version 999.0"), "{refused}");
}

#[tokio::test]
async fn names_and_words_may_hold_what_the_database_cannot() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    let key = ThreadKey::new("ten\0ant", "a\0b\u{1}c\u{2}");
    let said = r#"{"kind":"message","author":"a\u0000b","content":"nul\u0000byte","metadata":{}}"#;
    let made = Append::new(key.clone(), vec![Draft::new(said)]).creating(Create::New);
    let keyed = Key { text: "k\0".into(), digest: [3; 32] };
    let made = store.append(made.keyed(keyed.clone())).await.unwrap();
    let again = Append::new(key.clone(), vec![Draft::new(said)]).keyed(keyed);
    assert!(store.append(again).await.unwrap().duplicate);
    assert_eq!(store.thread(&key).unwrap(), Some(made.thread.clone()));
    assert_eq!(store.thread(&ThreadKey::new("ten\0ant", "a\0b")).unwrap(), None);
    store.settle().await.unwrap();
    assert_eq!(store.participants(&made.thread).unwrap()[0].id, "a\0b");
    let found = store.search("ten\0ant", "byte", 9, None).unwrap().items;
    assert_eq!(found[0].thread, "a\0b\u{1}c\u{2}");
}

#[tokio::test]
async fn ids_as_long_as_they_may_be_are_kept() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    // Nothing in it that comes twice: no index can make it shorter.
    let mut seed = 1u32;
    let mut long = |bytes: usize| -> String {
        std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'0' + (seed >> 24) as u8 % 75).to_string().replace('\\', "x")
        })
        .take(bytes)
        .collect()
    };
    let (agent, model, task) = (long(1024), long(1024), long(1024));
    let used = format!(
        r#"{{"kind":"step-finished","taskId":"{task}","agentId":"{agent}","model":"{model}","usage":{{"input_tokens":7}}}}"#
    );
    let (key, value) = (long(1024), long(1022));
    let titled = format!(r#"{{"kind":"thread-created","metadata":{{"{key}":"{value}"}}}}"#);
    let over = format!(r#"{{"kind":"task-complete","taskId":"{task}","agentId":"{agent}"}}"#);
    let made = say(&store, "t", &[&titled, &used, &over]).await;
    store.settle().await.unwrap();
    check(&store, &made.thread);
    assert_eq!(store.usage(&made.thread).unwrap()[0].agent, agent);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn appends_to_one_hot_thread_from_several_nodes() {
    let Some(home) = Home::new() else { return };
    for count in [1, 2, 3] {
        let nodes = nodes(&home, count);
        let id = format!("hot{count}");
        say(&nodes[0], &id, &[BEGIN]).await;
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        let writers: Vec<_> = (0..48)
            .map(|writer| {
                let (node, id) = (nodes[writer % count].clone(), id.clone());
                tokio::spawn(async move {
                    let mut taken = 0u32;
                    while std::time::Instant::now() < until {
                        let append = Append::new(thread(&id), vec![event("x")]);
                        node.append(append).await.unwrap();
                        taken += 1;
                    }
                    taken
                })
            })
            .collect();
        let mut taken = 0;
        for writer in writers {
            taken += writer.await.unwrap();
        }
        println!("{count} nodes: {} appends/s to one thread", taken / 5);
    }
}
