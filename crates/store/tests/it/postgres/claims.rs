//! What only one of several nodes does: claims, and what becomes of those of a node that died.

use std::time::{Duration, Instant};

use selvedge_store::{
    Append, AppendError, Create, Draft, InboxQuery, Instead, Store, ThreadQuery, ThreadRef,
};

use super::append::{event, thread};
use super::events::say;
use super::home::Home;

const TASK: &str = r#"{"kind":"task-created","taskId":"k","agentId":"a","dispatched":true}"#;

async fn begun(store: &Store) -> ThreadRef {
    let made = Append::new(thread("t"), vec![Draft::new(TASK)]).creating(Create::New);
    store.append(made).await.unwrap().thread
}

/// Takes a node for dead, as the others do when it was not heard of.
fn bury(home: &Home, nth: usize) {
    home.run(&format!(
        "UPDATE node SET until = 0 WHERE id = (SELECT id FROM node ORDER BY id OFFSET {nth} LIMIT 1)"
    ));
}

async fn append(store: &Store, name: &str) -> Result<(), AppendError> {
    store.append(Append::new(thread("t"), vec![event(name)]).claimed("k")).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_one_nodes_at_a_time() {
    let Some(home) = Home::new() else { return };
    let nodes: Vec<Store> = (0..3).map(|_| home.open()).collect();
    let found = begun(&nodes[0]).await;
    let tries: Vec<_> = (0..12)
        .map(|n| {
            let (node, num) = (nodes[n % 3].clone(), found.num);
            tokio::task::spawn_blocking(move || (n % 3, node.claim(num, "k").unwrap()))
        })
        .collect();
    let mut winners = Vec::new();
    for tried in tries {
        let (node, is_mine) = tried.await.unwrap();
        if is_mine {
            winners.push(node);
        }
    }
    winners.dedup();
    assert!(winners.iter().all(|node| *node == winners[0]) && winners.len() <= 4, "{winners:?}");
    let [own, other] = [winners[0], (winners[0] + 1) % 3];
    append(&nodes[own], "mine").await.unwrap();
    assert_eq!(append(&nodes[other], "x").await, Err(Instead::Elsewhere.into()));
    // What needs no claim is everyone's.
    nodes[other].append(Append::new(thread("t"), vec![event("y")])).await.unwrap();
    // Nobody else is offered it, and it is everyone's again when it was given back.
    nodes[own].settle().await.unwrap();
    assert_eq!(nodes[other].unclaimed(9, None).unwrap().items, []);
    assert_eq!(nodes[other].wanted(9, None).unwrap().items.len(), 1);
    nodes[own].release(found.num, "k").unwrap();
    assert_eq!(nodes[other].unclaimed(9, None).unwrap().items.len(), 1);
    assert_eq!(append(&nodes[own], "z").await, Err(Instead::Elsewhere.into()));
    assert!(nodes[other].claim(found.num, "k").unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_taken_for_dead_writes_nothing_more_under_what_it_lost() {
    let Some(home) = Home::new() else { return };
    let [here, there] = [home.open(), home.open()];
    let found = begun(&here).await;
    assert!(here.claim(found.num, "k").unwrap());
    assert!(!there.claim(found.num, "k").unwrap());
    append(&here, "one").await.unwrap();
    // It hangs, and its appends go on all the while, as those of one do that wakes up.
    let hammer = {
        let here = here.clone();
        tokio::spawn(async move {
            let mut taken = 0;
            while append(&here, "more").await.is_ok() {
                taken += 1;
            }
            taken
        })
    };
    // Until its heart beats again.
    let began = Instant::now();
    let mut is_taken = false;
    while !is_taken {
        assert!(began.elapsed() < Duration::from_secs(20), "it is never free");
        bury(&home, 0);
        is_taken = there.claim(found.num, "k").unwrap();
    }
    let head = there.head(&found).unwrap();
    append(&there, "other").await.unwrap();
    let taken = hammer.await.unwrap();
    // All that the first one was told is there, and before the other's.
    let entries = there.read(&found, 0, usize::MAX, usize::MAX).unwrap().entries;
    let names: Vec<String> =
        entries.iter().map(|entry| String::from_utf8(entry.event.to_vec()).unwrap()).collect();
    assert_eq!(names.iter().filter(|name| name.contains("more")).count(), taken);
    let other = names.iter().position(|name| name.contains("other")).unwrap();
    assert_eq!(other, names.len() - 1);
    assert_eq!(other as u64, head);
    assert_eq!(append(&here, "x").await, Err(Instead::Elsewhere.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_leaves_when_it_closes_is_free_at_once() {
    let Some(home) = Home::new() else { return };
    let [here, there] = [home.open(), home.open()];
    let found = begun(&here).await;
    assert!(here.claim(found.num, "k").unwrap());
    drop(here);
    assert!(there.claim(found.num, "k").unwrap());
    drop(there);
    assert_eq!((home.count("node"), home.count("pace")), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_on_one_node_tell_what_another_was_just_told() {
    let Some(home) = Home::new() else { return };
    let nodes: Vec<Store> = (0..3).map(|_| home.open()).collect();
    // Once they know of each other.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    // One that never comes to rest.
    let busy = {
        let node = nodes[2].clone();
        tokio::spawn(async move {
            for n in 0.. {
                let name = format!("busy{}", n % 7);
                say(&node, &name, &[r#"{"kind":"message","author":"u","content":"x"}"#]).await;
            }
        })
    };
    for n in 0..15 {
        let [writer, reader] = [&nodes[n % 2], &nodes[(n + 1) % 2]];
        let id = format!("t{n}");
        let ask = r#"{"kind":"input-required","inputId":"i","taskId":"k","prompt":"?"}"#;
        let made = say(writer, &id, &[TASK, ask]).await;
        reader.up_to_date().await.unwrap();
        let query = ThreadQuery::new("default", 100);
        let listed = reader.threads(&query).unwrap().items;
        assert!(listed.iter().any(|summary| summary.id == id), "{id} is not listed");
        let inbox =
            reader.inbox("default", &InboxQuery { limit: 100, ..InboxQuery::default() }).unwrap();
        assert!(inbox.items.iter().any(|item| item.thread == id), "{id} asks nothing");
        say(writer, &id, &[r#"{"kind":"task-complete","taskId":"k"}"#]).await;
        reader.fresh(&made.thread).await.unwrap();
        let task = reader.task(&made.thread, "k").unwrap().unwrap();
        assert!(task.ended.is_some());
    }
    busy.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_node_left_is_followed_by_another() {
    let Some(home) = Home::new() else { return };
    let [here, there] = [home.open(), home.open()];
    say(&here, "t", &[r#"{"kind":"message","author":"u","content":"x"}"#]).await;
    there.settle().await.unwrap();
    // As if it had died between the acknowledgement and what follows. In one transaction: a node
    // that looks through all threads as it begins would follow it between the two.
    home.run("UPDATE followed SET projected = 0, searched = 0; DELETE FROM summary");
    let found = there.thread(&thread("t")).unwrap().unwrap();
    let began = Instant::now();
    while there.summary(&found).unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody follows it");
        bury(&home, 0);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
