//! Appends that are only taken if something is so: exactly one of many gets through.

use std::sync::Arc;

use selvedge_protocol::journal::fold::{ArtifactKind, TaskState};
use selvedge_store::{
    Append, AppendError, Call, Create, Draft, Due, Guard, InboxKind, Instead, Key, Overdue, Store,
    ThreadRef, Unfinished, Within,
};

use super::append::thread;
use super::events::{open, say};

pub(crate) const ASK: &str = r#"{"kind":"input-required","taskId":"k","inputId":"i","inputType":"confirmation","prompt":"Sure?"}"#;
pub(crate) const BEGIN: &str = r#"{"kind":"task-created","taskId":"k","initiator":"user"}"#;

pub(crate) fn guarded(id: &str, guard: Guard, events: &[&str]) -> Append {
    let drafts = events.iter().map(|event| Draft::new((*event).to_owned())).collect();
    Append::new(thread(id), drafts).guarded(guard)
}

pub(crate) fn input(id: &str) -> Guard {
    Guard::Open { kind: InboxKind::Input, id: id.into() }
}

pub(crate) fn answer(n: usize) -> String {
    format!(r#"{{"kind":"input-received","taskId":"k","inputId":"i","value":{n}}}"#)
}

fn instead<T: std::fmt::Debug>(result: Result<T, AppendError>) -> Instead {
    match result {
        Err(AppendError::Instead(instead)) => instead,
        other => panic!("{other:?}"),
    }
}

fn events(store: &Store, thread: &ThreadRef, kind: &str) -> Vec<u64> {
    let kind = format!("\"kind\":\"{kind}\"");
    let page = store.read(thread, 0, usize::MAX, usize::MAX).unwrap();
    let all = page.entries.iter();
    let found = all.filter(|e| std::str::from_utf8(&e.event).unwrap().contains(&kind));
    found.map(|entry| entry.seq).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_answers_at_once_exactly_one_is_taken_and_the_others_hear_of_it() {
    let Some((_home, store)) = open() else { return };
    for round in 0..8 {
        let id = format!("t{round}");
        say(&store, &id, &[BEGIN, ASK]).await;
        let start = Arc::new(tokio::sync::Barrier::new(48));
        let tries = (0..48).map(|n| {
            let (store, start, id) = (store.clone(), start.clone(), id.clone());
            tokio::spawn(async move {
                start.wait().await;
                // Others say other things meanwhile, and one answers without asking whether it may.
                if n % 3 == 0 {
                    let noise = r#"{"kind":"content-delta","taskId":"other","delta":"x"}"#;
                    let raw = if n == 24 { answer(n) } else { noise.to_owned() };
                    say(&store, &id, &[raw.as_str()]).await;
                    return None;
                }
                Some(store.append(guarded(&id, input("i"), &[answer(n).as_str()])).await)
            })
        });
        let tries: Vec<_> = tries.collect();
        let mut taken = Vec::new();
        let mut told = Vec::new();
        for one in tries {
            match one.await.unwrap() {
                Some(Ok(appended)) => taken.push(appended.first),
                Some(refused) => told.push(instead(refused)),
                None => {}
            }
        }
        let there = store.thread(&thread(&id)).unwrap().unwrap();
        let answers = events(&store, &there, "input-received");
        let first = answers[0];
        // The raw one came first and there is no other, or one was taken before it.
        assert!(taken.is_empty() && answers.len() == 1 || taken == [first] && answers.len() == 2);
        assert_eq!(told, vec![Instead::Answered { seq: first }; told.len()]);
        assert_eq!(told.len() + taken.len(), 32);
    }
}

#[tokio::test]
async fn a_second_try_under_the_same_key_gets_the_first_answer_and_not_a_refusal() {
    let Some((_home, store)) = open() else { return };
    say(&store, "t", &[BEGIN, ASK]).await;
    let one = |digest| {
        let key = Key { text: "once".into(), digest: [digest; 32] };
        guarded("t", input("i"), &[answer(1).as_str()]).keyed(key)
    };
    let first = store.append(one(1)).await.unwrap();
    assert_eq!((first.first, first.duplicate), (3, false));
    let again = store.append(one(1)).await.unwrap();
    assert_eq!((again.first, again.last, again.duplicate), (3, 3, true));
    store.settle().await.unwrap();
    assert!(store.append(one(1)).await.unwrap().duplicate);
    assert_eq!(store.append(one(2)).await, Err(AppendError::KeyReused));
    let other = guarded("t", input("i"), &[answer(1).as_str()]);
    assert_eq!(instead(store.append(other).await), Instead::Answered { seq: 3 });
    assert_eq!(store.head(&first.thread).unwrap(), 3);
}

#[tokio::test]
async fn what_is_so_instead_is_told() {
    let Some((_home, store)) = open() else { return };
    let none = guarded("none", input("i"), &[ASK]);
    assert_eq!(store.append(none.clone()).await, Err(AppendError::NotFound));
    let none = none.creating(Create::IfMissing);
    assert_eq!(instead(store.append(none).await), Instead::Unknown);
    assert_eq!(store.thread(&thread("none")).unwrap(), None, "nothing was made");

    say(&store, "t", &[BEGIN, ASK]).await;
    let ask = |id: &str| store.append(guarded("t", input(id), &[ASK]));
    assert_eq!(instead(ask("other").await), Instead::Unknown);
    let auth = Guard::Open { kind: InboxKind::Auth, id: "i".into() };
    assert_eq!(instead(store.append(guarded("t", auth, &[ASK])).await), Instead::Unknown);
    say(&store, "t", &[r#"{"kind":"task-status","taskId":"k","status":"failed"}"#]).await;
    assert_eq!(instead(ask("i").await), Instead::Over { state: TaskState::Failed });

    let past =
        ASK.replace("\"i\"", "\"late\"").replace('}', ",\"expiresAt\":\"2020-01-01T00:00:00Z\"}");
    let past = past.replace("\"k\"", "\"k2\"");
    say(&store, "t", &[past.as_str()]).await;
    assert_eq!(instead(ask("late").await), Instead::Expired);
    let overdue = store.due(i64::MAX, 10).unwrap();
    let expected = Due {
        kind: InboxKind::Input,
        id: "late".into(),
        seq: 4,
        task: Some("k2".into()),
        stalls: true,
        calls: vec![],
    };
    let items = vec![(thread("t"), expected.clone())];
    assert_eq!(overdue, Overdue { items, next: None });
    let expire = || {
        let told = r#"{"kind":"input-expired","inputId":"late"}"#;
        store.append(guarded("t", Guard::Due(expected.clone()), &[told]))
    };
    expire().await.unwrap();
    assert_eq!(instead(expire().await), Instead::Changed);
    assert_eq!(instead(ask("late").await), Instead::Expired);
    store.settle().await.unwrap();
    assert_eq!(store.due(i64::MAX, 10).unwrap(), Overdue::default());
}

#[tokio::test]
async fn tasks_are_found_with_all_that_came_of_them_and_guarded_against_change() {
    let Some((_home, store)) = open() else { return };
    let made = say(
        &store,
        "t",
        &[
            BEGIN,
            r#"{"kind":"subtask-created","taskId":"k","subtaskId":"a","prompt":"p"}"#,
            r#"{"kind":"subtask-created","taskId":"a","subtaskId":"b","prompt":"p"}"#,
            r#"{"kind":"task-complete","taskId":"a","content":"done"}"#,
            r#"{"kind":"tool-call","taskId":"b","toolCallId":"c1","toolName":"x","arguments":{}}"#,
            r#"{"kind":"tool-start","taskId":"b","toolCallId":"c1","toolName":"x","arguments":{}}"#,
            r#"{"kind":"tool-call","taskId":"k","toolCallId":"c2","toolName":"y","arguments":{}}"#,
            r#"{"kind":"tool-complete","taskId":"k","toolCallId":"c2","toolName":"y","success":true}"#,
            r#"{"kind":"message","taskId":"mentioned","role":"user","content":"hi"}"#,
            r#"{"kind":"task-created","taskId":"apart","initiator":"user"}"#,
            r#"{"kind":"content-delta","taskId":"round","parentTaskId":"trip","delta":"x"}"#,
            r#"{"kind":"content-delta","taskId":"trip","parentTaskId":"round","delta":"x"}"#,
        ],
    )
    .await;
    store.fresh(&made.thread).await.unwrap();
    let call = Call {
        id: "c1".into(),
        tool: Some("x".into()),
        task: Some("b".into()),
        began: 5,
        ended: None,
    };
    let within = Within::Task("k".into());
    let found = store.unfinished(&made.thread, &within).unwrap();
    assert_eq!(found, Unfinished { tasks: vec!["b".into(), "k".into()], calls: vec![call] });
    let circle = store.unfinished(&made.thread, &Within::Task("trip".into())).unwrap();
    assert_eq!(circle.tasks.len(), 2);
    let all = store.unfinished(&made.thread, &Within::Thread).unwrap();
    assert_eq!(all.tasks.len(), 5, "{:?}", all.tasks);

    let cancel = |found: &Unfinished| {
        let guard = Guard::Unfinished { within: within.clone(), found: found.clone() };
        let ended = [
            r#"{"kind":"task-status","taskId":"b","status":"canceled"}"#,
            r#"{"kind":"task-status","taskId":"k","status":"canceled"}"#,
        ];
        store.append(guarded("t", guard, &ended))
    };
    let calling = || Guard::Calling { id: "c1".into() };
    say(&store, "t", &[r#"{"kind":"subtask-created","taskId":"b","subtaskId":"d","prompt":"p"}"#])
        .await;
    assert_eq!(instead(cancel(&found).await), Instead::Changed);
    store.fresh(&made.thread).await.unwrap();
    let found = store.unfinished(&made.thread, &within).unwrap();
    assert_eq!(found.tasks, ["d", "b", "k"]);
    cancel(&found).await.unwrap();
    assert_eq!(instead(cancel(&found).await), Instead::Over { state: TaskState::Canceled });
    let ended = instead(store.append(guarded("t", calling(), &[ASK])).await);
    assert_eq!(ended, Instead::Ended { seq: 14 }, "it ended with its task");
}

#[tokio::test]
async fn a_version_is_written_on_top_of_the_one_that_was_read() {
    let Some((_home, store)) = open() else { return };
    say(&store, "t", &[BEGIN]).await;
    let write = |version, index: u8, complete: bool| {
        let guard = Guard::Version { artifact: "f".into(), kind: ArtifactKind::File, version };
        let event = format!(
            r#"{{"kind":"file-write","artifactId":"f","data":"x","index":{index},"complete":{complete}}}"#
        );
        store.append(guarded("t", guard, &[event.as_str()]))
    };
    assert_eq!(instead(write(1, 0, true).await), Instead::Version { version: 0 });
    write(0, 0, true).await.unwrap();
    assert_eq!(instead(write(0, 0, true).await), Instead::Version { version: 1 });
    write(1, 0, false).await.unwrap();
    assert_eq!(instead(write(2, 0, true).await), Instead::Unsealed { version: 2 });
    let data = Guard::Version { artifact: "f".into(), kind: ArtifactKind::Data, version: 2 };
    let other = instead(store.append(guarded("t", data, &[ASK])).await);
    assert_eq!(other, Instead::OtherKind { kind: ArtifactKind::File });
}
