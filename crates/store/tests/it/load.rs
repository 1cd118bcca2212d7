//! How fast appends are while everything else follows.

use std::time::Instant;

use selvedge_store::{Append, Create, Draft, Options, Store};

use crate::append::thread;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn appends_of_many_threads_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("s.db"), Options::default()).unwrap();
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
