//! Projections are what the fold makes of a thread's journal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use selvedge_protocol::journal::Event;
use selvedge_protocol::journal::fold::{ArtifactKind, State, Tokens};
use selvedge_protocol::json::{Doc, Raw, text};
use selvedge_store::{
    Append, Create, Draft, InboxKind, Store, ThreadRef, ThreadStatus, Timed, UsageOrder,
    UsageQuery, WhichVersion,
};

use super::append::{event, thread};
use super::events::{any_event, open, say};
use super::home::{Home, ONE_OF};

fn fold(store: &Store, thread: &ThreadRef) -> State {
    let mut state = State::new();
    for entry in store.read(thread, 0, usize::MAX, usize::MAX).unwrap().entries {
        if let Ok(doc) = Doc::parse_bytes(&entry.event)
            && let Some(event) = Event::parse(doc.root())
        {
            state.apply(&event);
        }
    }
    state
}

/// Compares all that is known of a thread with what its journal folds to.
pub(crate) fn check(store: &Store, thread: &ThreadRef) {
    let state = fold(store, thread);
    let tasks = store.tasks(thread).unwrap();
    let got: Vec<_> = tasks.iter().map(|t| (&t.id, &t.parent, &t.agent, t.state)).collect();
    let want: Vec<_> = state.tasks.iter().map(|t| (&t.id, &t.parent, &t.agent, t.state)).collect();
    assert_eq!(got, want);
    assert!(tasks.iter().all(|task| task.ended.is_some() == task.state.is_terminal()));

    let pending = store.pending(thread).unwrap();
    for (kind, want) in [(InboxKind::Input, &state.inputs), (InboxKind::Auth, &state.auths)] {
        let got: BTreeSet<_> =
            pending.iter().filter(|p| p.kind == kind).map(|p| p.id.clone()).collect();
        assert_eq!(got, want.keys().cloned().collect());
    }

    let people = store.participants(thread).unwrap();
    let got: Vec<_> = people.iter().map(|p| (&p.id, p.left)).collect();
    let want: Vec<_> = state.participants.iter().map(|p| (&p.id, p.left)).collect();
    assert_eq!(got, want);

    let artifacts = store.artifacts(thread).unwrap();
    let got: BTreeMap<_, _> = artifacts
        .iter()
        .map(|a| {
            let versions: Vec<_> = a.versions.iter().map(|v| (v.complete, v.rows)).collect();
            (a.id.clone(), (a.kind, a.name.clone(), versions))
        })
        .collect();
    let want: BTreeMap<_, _> = state
        .artifacts
        .iter()
        .map(|(id, a)| {
            let versions: Vec<_> = a.versions.iter().map(|v| (v.complete, v.rows as u64)).collect();
            (id.clone(), (a.kind, a.name.clone(), versions))
        })
        .collect();
    assert_eq!(got, want);
    for artifact in &artifacts {
        for (version, want) in artifact.versions.iter().zip(&state.artifacts[&artifact.id].versions)
        {
            match artifact.kind {
                ArtifactKind::File => {
                    assert_eq!(version.size as usize, text::decode(&want.content).len());
                }
                ArtifactKind::Data => assert_eq!(version.size as usize, want.content.len()),
                ArtifactKind::Dataset => {}
            }
        }
        let latest = store.artifact(thread, &artifact.id, WhichVersion::Latest).unwrap().unwrap();
        assert_eq!(latest.versions.last(), artifact.versions.last());
    }

    let usage = store.usage(thread).unwrap();
    let got: BTreeMap<_, _> = usage.into_iter().map(|u| ((u.agent, u.model), u.tokens)).collect();
    assert_eq!(got, state.usage.by);

    let summary = store.summary(thread).unwrap().unwrap();
    assert_eq!(summary.head, store.head(thread).unwrap());
    let field = |name| state.thread.as_ref().and_then(|t| t.get(name));
    assert_eq!(summary.title, field("title").and_then(Raw::str).map(|t| t.into_owned()));
    assert_eq!(summary.metadata, field("metadata").map(ToString::to_string));
    assert_eq!(summary.pending as usize, state.inputs.len() + state.auths.len());
    assert_eq!(summary.participants as usize, state.participants.len());
    assert_eq!(summary.tasks as usize, state.tasks.iter().count());
    assert_eq!(summary.artifacts as usize, state.artifacts.len());
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Append {
        thread: u8,
        events: Vec<String>,
    },
    Branch {
        from: u8,
        to: u8,
        at: u64,
        event: String,
    },
    Delete {
        thread: u8,
    },
    Settle,
    /// Begins a rebuild and does not wait for it.
    Rebuild,
    Restart,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..3u8, prop::collection::vec(any_event(), 1..12))
            .prop_map(|(thread, events)| Step::Append { thread, events }),
        2 => (0..5u8, 3..6u8, 0..30u64, any_event())
            .prop_map(|(from, to, at, event)| Step::Branch { from, to, at, event }),
        1 => (0..6u8).prop_map(|thread| Step::Delete { thread }),
        2 => Just(Step::Settle),
        1 => Just(Step::Rebuild),
        1 => Just(Step::Restart),
    ]
}

/// Takes steps; gives the store, settled, and the threads that are there.
pub(crate) fn take(home: &Home, steps: &[Step]) -> (Store, Vec<ThreadRef>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut store = home.open();
    for step in steps {
        match step {
            Step::Append { thread, events } => {
                let events: Vec<_> = events.iter().map(String::as_str).collect();
                runtime.block_on(say(&store, &thread.to_string(), &events));
            }
            Step::Branch { from, to, at, event } => {
                let Some(from) = store.thread(&thread(&from.to_string())).unwrap() else {
                    continue;
                };
                let at = (*at).min(store.head(&from).unwrap());
                let append = Append::new(thread(&to.to_string()), vec![Draft::new(event.clone())]);
                let append = append.creating(Create::Branch { from, at });
                // Refused where the thread is there already.
                let _ = runtime.block_on(store.append(append));
            }
            Step::Delete { thread: id } => {
                let _ = runtime.block_on(store.delete(thread(&id.to_string())));
            }
            Step::Settle => runtime.block_on(store.settle()).unwrap(),
            Step::Rebuild => runtime.block_on(async {
                tokio::select! {
                    biased;
                    done = store.rebuild(|_| {}) => done.unwrap(),
                    () = tokio::task::yield_now() => {}
                }
            }),
            Step::Restart => {
                drop(store);
                store = home.open();
            }
        }
    }
    runtime.block_on(store.settle()).unwrap();
    let threads = (0..6u8).filter_map(|id| store.thread(&thread(&id.to_string())).unwrap());
    let threads = threads.collect();
    (store, threads)
}

pub(crate) fn cases(or: u32) -> ProptestConfig {
    let cases = std::env::var("SELVEDGE_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig::with_cases(cases.unwrap_or(or) / ONE_OF)
}

proptest! {
    #![proptest_config(cases(64))]
    #[test]
    fn projections_are_what_the_fold_gives_and_a_rebuild_gives_them_again(
        steps in prop::collection::vec(step(), 1..30)
    ) {
        let Some(home) = Home::new() else { return Ok(()) };
            let (store, threads) = take(&home, &steps);
        for thread in &threads {
            check(&store, thread);
        }
        let before = home.dump();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.rebuild(|_| {})).unwrap();
        let after = home.dump();
        let lost: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
        let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
        prop_assert!(lost.is_empty() && new.is_empty(), "lost {lost:#?}, new {new:#?}");
    }
}

#[tokio::test]
async fn a_summary_tells_where_a_thread_stands() {
    let Some((_home, store)) = open() else { return };
    let mut told = Vec::new();
    for event in [
        r#"{"kind":"thread-created","title":"A title","metadata":{"team":"blue","n":1}}"#,
        r#"{"kind":"message","role":"user","author":"u","content":[{"type":"text","text":"Please  do"}]}"#,
        r#"{"kind":"task-created","taskId":"k","agentId":"a","initiator":"user"}"#,
        r#"{"kind":"content-complete","taskId":"k","content":"secret","visibility":"operator"}"#,
        r#"{"kind":"input-required","taskId":"k","inputId":"i","inputType":"confirmation","prompt":"Sure?"}"#,
        r#"{"kind":"input-received","taskId":"k","inputId":"i","providedBy":"user"}"#,
        r#"{"kind":"task-status","taskId":"k","status":"failed"}"#,
        r#"{"kind":"task-created","taskId":"k2","initiator":"user"}"#,
        r#"{"kind":"task-complete","taskId":"k2"}"#,
    ] {
        let thread = say(&store, "t", &[event]).await.thread;
        store.settle().await.unwrap();
        told.push(store.summary(&thread).unwrap().unwrap());
    }
    use ThreadStatus::{Failed, Idle, Waiting, Working};
    let statuses: Vec<_> = told.iter().map(|s| s.status).collect();
    assert_eq!(statuses, [Idle, Idle, Working, Working, Waiting, Working, Failed, Working, Idle]);
    let last = told.pop().unwrap();
    assert_eq!(last.title.as_deref(), Some("A title"));
    assert_eq!(last.words.as_deref(), Some("Please do"));
    assert_eq!((last.head, last.messages, last.tasks, last.participants), (9, 1, 2, 2));
}

#[tokio::test]
async fn usage_by_day_counts_a_shared_past_once() {
    let Some((_home, store)) = open() else { return };
    let used = r#"{"kind":"step-finished","agentId":"a","model":"m","usage":{"input_tokens":10}}"#;
    let root = say(&store, "t", &[used, used]).await;
    let branch = Append::new(thread("b"), vec![Draft::new(used)])
        .creating(Create::Branch { from: root.thread.clone(), at: 1 });
    let branch = store.append(branch).await.unwrap();
    store.settle().await.unwrap();
    let input =
        |usage: Vec<selvedge_store::Usage>| usage.iter().map(|u| u.tokens.input).sum::<u64>();
    assert_eq!(input(store.usage(&root.thread).unwrap()), 20);
    assert_eq!(input(store.usage(&branch.thread).unwrap()), 20);
    let day = root.at / 86_400_000;
    let days = store.usage_by_day("default", day..day + 2).unwrap();
    let total = Tokens { input: 30, calls: 3, ..Tokens::default() };
    assert_eq!(days.iter().map(|d| d.tokens).collect::<Vec<_>>(), [total]);
    assert!(store.usage_by_day("other", day..day + 2).unwrap().is_empty());
}

#[tokio::test]
async fn how_long_calls_took_and_what_failed_is_counted_by_whose_it_was() {
    let Some((_home, store)) = open() else { return };
    let began = r#"{"kind":"step-started","taskId":"k","agentId":"a","model":"m"}"#;
    let used = r#"{"kind":"step-finished","taskId":"k","agentId":"a","model":"m","usage":{"input_tokens":1}}"#;
    let tool = |id: &str, more: &str| {
        format!(
            r#"{{"kind":"tool-complete","taskId":"k","toolCallId":"{id}","toolName":"t","success":false{more}}}"#
        )
    };
    let first = say(&store, "t", &[began]).await;
    // Each projected by itself, and some time later.
    store.settle().await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let root = say(&store, "t", &[used]).await;
    // What was told afterwards has no time, and so has what nobody saw begin.
    say(&store, "t", &[began, used, used]).await;
    let denied = tool("c1", r#","outcome":"denied""#);
    say(&store, "t", &[&denied, &denied, &tool("c2", ""), &tool("c3", r#","preliminary":true"#)])
        .await;
    let failed = r#"{"kind":"task-status","taskId":"k","status":"failed","code":"busy"}"#;
    say(&store, "t", &[failed, failed, r#"{"kind":"error","agentId":"b","message":"x"}"#]).await;
    let branch = Append::new(thread("b"), vec![Draft::new(began)])
        .creating(Create::Branch { from: root.thread.clone(), at: root.last });
    let branch = store.append(branch).await.unwrap().thread;
    store.settle().await.unwrap();
    let day = first.at / 86_400_000;
    let asked = |of: Option<ThreadRef>| UsageQuery {
        thread: of,
        days: day..day + 2,
        by: Vec::new(),
        order: UsageOrder::Dearest,
        after: None,
        limit: 10,
    };
    let took = u64::try_from(root.at - first.at).unwrap();
    let time = Timed { calls: 1, millis: took, slowest: took };
    for (of, calls) in [(None, 3), (Some(branch), 1)] {
        let spent = store.spent("default", &asked(of)).unwrap().items;
        assert_eq!(
            spent.iter().map(|s| (s.tokens.calls, s.time)).collect::<Vec<_>>(),
            [(calls, time)]
        );
    }
    let told = store.failures("default", &asked(None)).unwrap();
    let told: Vec<_> = told
        .iter()
        .map(|f| (f.what.as_str(), f.code.as_str(), f.agent.as_str(), f.times))
        .collect();
    let expected = [
        ("error", "unknown", "b", 1),
        ("task", "busy", "a", 1),
        ("tool", "denied", "a", 1),
        ("tool", "failed", "a", 1),
    ];
    assert_eq!(told, expected);
    assert!(store.failures("other", &asked(None)).unwrap().is_empty());
}

#[tokio::test]
async fn hostile_numbers_and_ids_stop_nothing() {
    let Some((_home, store)) = open() else { return };
    let long = "x".repeat(5000);
    let long = format!(r#"{{"kind":"content-delta","taskId":"{long}","agentId":"{long}"}}"#);
    let many =
        r#"{"kind":"step-finished","usage":{"input_tokens":9223372036854775807,"cost":"-inf"}}"#;
    let cost = r#"{"kind":"message","content":"x","usage":{"output_tokens":1e400,"cost":1e999}}"#;
    let early = r#"{"kind":"file-write","artifactId":"f","data":"x","index":9223372036854775807}"#;
    let nul = r#"{"kind":"message","author":"\u0000","content":"\u0000\ud800 words","metadata":{"a\u0000":"\u0000"}}"#;
    let mut last = None;
    for event in [&long, many, many, many, cost, cost, early, early, nul, "\u{7f}", "{}"] {
        last = Some(say(&store, "t", &[event]).await.thread);
    }
    store.settle().await.unwrap();
    let thread = last.unwrap();
    let usage = store.usage(&thread).unwrap();
    assert_eq!(usage.iter().map(|u| u.tokens.input).collect::<Vec<_>>(), [1 << 53]);
    assert_eq!(store.summary(&thread).unwrap().unwrap().head, 11);
}

/// Appends are committed by whoever appends or by the journal's thread, and what follows is the
/// thread's: it must hear of every append, at whatever moment it comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_follows_comes_by_itself_whenever_appends_come() {
    const ROUNDS: u64 = 120;
    let Some((_home, store)) = open() else { return };
    for round in 1..=ROUNDS {
        let appends = (0..3).map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                // About when what the others appended is due.
                let micros = n * 5_000 + round * 97 % 6_000;
                tokio::time::sleep(Duration::from_micros(micros)).await;
                let append = Append::new(thread(&format!("t{n}")), vec![event("x")]);
                store.append(append.creating(Create::IfMissing)).await.unwrap().thread
            })
        });
        for append in appends.collect::<Vec<_>>() {
            let of = append.await.unwrap();
            let begin = Instant::now();
            while store.summary(&of).unwrap().is_none_or(|summary| summary.head < round) {
                assert!(
                    begin.elapsed() < Duration::from_secs(60),
                    "round {round}: it never follows"
                );
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}
