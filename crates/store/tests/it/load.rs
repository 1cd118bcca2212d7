//! How fast appends are while everything else follows.

use std::time::Instant;

use selvedge_store::{Append, Create, Draft};

use super::append::thread;
use super::events::open;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn appends_of_many_threads_at_once() {
    let Some((_home, store)) = open() else { return };
    for (name, threads, appends) in [("64 threads", 64, 1000), ("4096 threads", 4096, 12)] {
        let begin = Instant::now();
        let writers: Vec<_> = (0..threads)
            .map(|writer| {
                let store = store.clone();
                tokio::spawn(async move {
                    let key = thread(&format!("{name} {writer}"));
                    for i in 0..appends {
                        let event = if i % 100 == 99 {
                            r#"{"kind":"content-complete","taskId":"k","agentId":"a","content":"The quick brown fox jumps over the lazy dog"}"#
                        } else {
                            r#"{"kind":"content-delta","taskId":"k","agentId":"a","delta":"quick ","timestamp":"2026-11-15T19:29:12Z"}"#
                        };
                        let append = Append::new(key.clone(), vec![Draft::new(event)]);
                        store.append(append.creating(Create::IfMissing)).await.unwrap();
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        let appended = begin.elapsed();
        store.settle().await.unwrap();
        let rate = f64::from(threads * appends) / appended.as_secs_f64();
        println!(
            "{name}: {rate:.0} appends/s, all followed {:?} later",
            begin.elapsed() - appended
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn a_branch_of_a_long_thread() {
    let Some((_home, store)) = open() else { return };
    let delta = r#"{"kind":"content-delta","taskId":"k","agentId":"a","delta":"quick "}"#;
    let drafts = || (0..1000).map(|_| Draft::new(delta)).collect::<Vec<_>>();
    for _ in 0..100 {
        let append = Append::new(thread("t"), drafts()).creating(Create::IfMissing);
        store.append(append).await.unwrap();
    }
    store.settle().await.unwrap();
    let from = store.thread(&thread("t")).unwrap().unwrap();
    let branch = Append::new(thread("b"), drafts());
    store.append(branch.creating(Create::Branch { from, at: 100_000 })).await.unwrap();
    let begin = Instant::now();
    store.settle().await.unwrap();
    println!("the shared past of 100000 events: {:?}", begin.elapsed());
    let begin = Instant::now();
    store.rebuild(|_| {}).await.unwrap();
    println!("a rebuild of 201000 events: {:?}", begin.elapsed());
}
