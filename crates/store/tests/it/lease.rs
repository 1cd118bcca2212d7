//! Leases: a task is claimed exactly once at a time, and whoever lost it writes nothing more.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use selvedge_protocol::journal::fold::TaskState;
use selvedge_store::{
    Append, AppendError, Appended, Draft, Guard, Instead, KeyHash, NewLease, Prior, Queue, Queued,
    Store, Then, ThreadKey, lease_token,
};

use super::append::thread;
use super::events::{open, say};

const LONG: Duration = Duration::from_secs(600);
/// Ends before anyone can look.
const NONE: Duration = Duration::ZERO;

fn wanted(task: &str) -> String {
    format!(
        r#"{{"kind":"task-created","taskId":"{task}","agentId":"w","initiator":"user","dispatched":true}}"#
    )
}

fn status(task: &str, status: &str) -> String {
    format!(r#"{{"kind":"task-status","taskId":"{task}","status":"{status}"}}"#)
}

async fn queue(store: &Store) -> Queue {
    store.up_to_date().await.unwrap();
    store.queue("default", "w", i64::MAX / 2, 1000).unwrap()
}

/// What can be claimed now, not in some future.
async fn free(store: &Store) -> Vec<Queued> {
    store.up_to_date().await.unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    store.queue("default", "w", i64::try_from(now).unwrap(), 1000).unwrap().items
}

async fn claim(
    store: &Store,
    key: &ThreadKey,
    task: &str,
    attempt: u32,
    time: Duration,
) -> Result<(KeyHash, Appended), AppendError> {
    let (_, token) = lease_token().unwrap();
    let (task, agent, worker) = (task.to_owned(), "w".to_owned(), "me".to_owned());
    let event = Draft::new(status(&task, "working"));
    let lease = NewLease { task, agent, worker, token, attempt, time };
    let append = Append::new(key.clone(), vec![event]).guarded(Guard::Free(Box::new(lease)));
    store.append(append).await.map(|appended| (token, appended))
}

async fn append(
    store: &Store,
    token: KeyHash,
    then: Then,
    event: &str,
) -> Result<Appended, AppendError> {
    let draft = Draft::new(event.to_owned());
    store.append(Append::new(thread("t"), vec![draft]).guarded(Guard::Held { token, then })).await
}

fn instead<T: std::fmt::Debug>(result: Result<T, AppendError>) -> Instead {
    match result {
        Err(AppendError::Instead(instead)) => instead,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_eight_claimers_over_a_hundred_tasks_each_gets_others() {
    let Some((_home, store)) = open() else { return };
    for n in 0..100 {
        say(&store, &format!("t{}", n % 7), &[&wanted(&format!("k{n}"))]).await;
    }
    let all = queue(&store).await.items;
    assert_eq!(all.len(), 100);
    let won: Arc<Mutex<Vec<String>>> = Arc::default();
    let start = Arc::new(tokio::sync::Barrier::new(8));
    let claimers: Vec<_> = (0..8)
        .map(|_| {
            let (store, all, won, start) = (store.clone(), all.clone(), won.clone(), start.clone());
            tokio::spawn(async move {
                start.wait().await;
                for item in all {
                    match claim(&store, &item.thread, &item.task, 1, LONG).await {
                        Ok(_) => won.lock().unwrap().push(item.task),
                        refused => assert_eq!(instead(refused), Instead::Changed),
                    }
                }
            })
        })
        .collect();
    for claimer in claimers {
        claimer.await.unwrap();
    }
    let mut won = won.lock().unwrap().clone();
    won.sort();
    let mut expected: Vec<String> = (0..100).map(|n| format!("k{n}")).collect();
    expected.sort();
    assert_eq!(won, expected, "each exactly once");
    assert_eq!(free(&store).await, []);
}

#[tokio::test]
async fn whoever_lost_a_task_writes_nothing_more_not_even_its_end() {
    let Some((_home, store)) = open() else { return };
    say(&store, "t", &[&wanted("k")]).await;
    let key = thread("t");
    let (first, _) = claim(&store, &key, "k", 1, NONE).await.unwrap();
    // A lease that ended is good until someone else comes.
    let piece = r#"{"kind":"content-delta","taskId":"k","delta":"x"}"#;
    append(&store, first, Then::Renew, piece).await.unwrap();
    let item = free(&store).await.remove(0);
    assert_eq!((item.attempts, item.prior), (1, Prior::Expired));
    let (second, appended) = claim(&store, &key, "k", 2, LONG).await.unwrap();
    let done = r#"{"kind":"task-complete","taskId":"k","content":"done"}"#;
    for event in [piece, done] {
        let refused = append(&store, first, Then::Renew, event).await;
        assert_eq!(instead(refused), Instead::Lost { attempt: 2 });
    }
    assert_eq!(
        instead(store.hold(key.clone(), first, Then::Renew).await),
        Instead::Lost { attempt: 2 }
    );
    assert_eq!(store.head(&appended.thread).unwrap(), appended.last, "nothing was written");
    // One that was never given out, and one of another thread.
    let (_, stranger) = lease_token().unwrap();
    assert_eq!(instead(append(&store, stranger, Then::Renew, piece).await), Instead::Unleased);
    say(&store, "u", &[piece]).await;
    assert_eq!(instead(store.hold(thread("u"), second, Then::Renew).await), Instead::Unleased);
    append(&store, second, Then::Renew, done).await.unwrap();
    let over = Instead::Over { state: TaskState::Completed };
    assert_eq!(instead(append(&store, second, Then::Renew, done).await), over);
    assert_eq!(instead(claim(&store, &key, "k", 3, LONG).await), over);
    assert_eq!(free(&store).await, []);
}

#[tokio::test]
async fn what_is_let_go_can_be_claimed_at_once_or_after_a_while() {
    let Some((_home, store)) = open() else { return };
    say(&store, "t", &[&wanted("k"), &wanted("l")]).await;
    let key = thread("t");
    let (k, _) = claim(&store, &key, "k", 1, LONG).await.unwrap();
    let (l, _) = claim(&store, &key, "l", 1, LONG).await.unwrap();
    assert_eq!(free(&store).await, []);
    store.hold(key.clone(), k, Then::Release { after: Duration::ZERO }).await.unwrap();
    let void = r#"{"kind":"attempt-superseded","taskId":"l","reason":"released"}"#;
    append(&store, l, Then::Release { after: LONG }, void).await.unwrap();
    let items = free(&store).await;
    assert_eq!(items.len(), 1);
    assert_eq!((&*items[0].task, items[0].prior), ("k", Prior::Released));
    assert_eq!(instead(append(&store, k, Then::Renew, void).await), Instead::Released);
    assert_eq!(instead(claim(&store, &key, "l", 2, LONG).await), Instead::Changed);
}

#[tokio::test]
async fn leases_outlive_the_process_and_rebuilding_what_follows_the_journal() {
    let Some((home, store)) = open() else { return };
    say(&store, "t", &[&wanted("k")]).await;
    let (token, appended) = claim(&store, &thread("t"), "k", 1, LONG).await.unwrap();
    drop(store);
    let store = home.open();
    assert_eq!(free(&store).await, []);
    store.rebuild(|_| {}).await.unwrap();
    assert_eq!(free(&store).await, []);
    let lease = store.hold(thread("t"), token, Then::Renew).await.unwrap();
    assert_eq!((&*lease.task, lease.attempt, lease.time), ("k", 1, LONG));
    assert!(lease.until >= appended.at + 600_000);
    assert_eq!(store.lease(&appended.thread, &token).unwrap(), Some(lease));
}

#[tokio::test]
async fn nobody_claims_what_waits_what_is_anothers_or_what_was_not_dispatched() {
    let Some((_home, store)) = open() else { return };
    let ask = r#"{"kind":"input-required","taskId":"asks","inputId":"i","inputType":"confirmation","prompt":"?"}"#;
    let called =
        r#"{"kind":"task-created","taskId":"child","parentTaskId":"calls","initiator":"agent"}"#;
    let other = wanted("other").replace("\"w\"", "\"v\"");
    let events = [
        &*wanted("asks"),
        ask,
        &*wanted("calls"),
        called,
        &*status("calls", "waiting-subtask"),
        &*other,
        r#"{"kind":"task-created","taskId":"own","agentId":"w","initiator":"user"}"#,
    ];
    say(&store, "t", &events).await;
    assert_eq!(free(&store).await, []);
    for task in ["other", "own", "nothing"] {
        let refused = claim(&store, &thread("t"), task, 1, LONG).await;
        assert_eq!(instead(refused), Instead::Unknown, "{task}");
    }
    let answer = r#"{"kind":"input-received","taskId":"asks","inputId":"i","providedBy":"user","value":true}"#;
    say(&store, "t", &[answer, &status("child", "failed")]).await;
    let tasks: Vec<String> = free(&store).await.into_iter().map(|item| item.task).collect();
    assert_eq!(tasks, ["asks", "calls"]);
    // In another tenant there is nothing of it.
    assert_eq!(store.queue("acme", "w", i64::MAX, 10).unwrap(), Queue::default());
}
