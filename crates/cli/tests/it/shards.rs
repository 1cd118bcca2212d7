//! Three nodes over two databases, as processes: any node has any thread.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::Value;

use crate::database::{database, sql};
use crate::selvedge;
use crate::server::{Server, http};

const THREADS: usize = 24;

async fn get(url: String) -> Value {
    let answer = http().get(&url).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK, "{url}");
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

async fn post(url: String, body: String) {
    let answer = http().post(&url).body(body).send().await.unwrap();
    assert!(answer.status().is_success(), "{url}: {}", answer.text().await.unwrap());
}

/// How many items all pages of a list have, and which.
async fn listed(node: &str, list: &str, field: &str, id: &str) -> (usize, BTreeSet<String>) {
    let (mut seen, mut count, mut after) = (BTreeSet::new(), 0, String::new());
    loop {
        let page = get(format!("{node}/api/{list}limit=5{after}")).await;
        for item in page[field].as_array().unwrap() {
            count += 1;
            seen.insert(item[id].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next"].as_str() else { return (count, seen) };
        after = format!("&after={next}");
    }
}

#[tokio::test]
async fn three_nodes_over_two_databases_are_one_server() {
    let (Some(first), Some(second)) = (database(), database()) else { return };
    let migrated = selvedge(&["migrate", "--store", &first, "--shard", &second]);
    assert_eq!(migrated.code, Some(0), "{}", migrated.stderr);
    assert_eq!(migrated.stdout.lines().count(), 2);
    let args = ["--listen", "127.0.0.1:0", "--store", &first, "--shard", &second];
    // From the environment as well.
    let by_name = ["--listen", "127.0.0.1:0", "--store", &first];
    let nodes = [
        Server::start_with(&args),
        Server::start_in(&by_name, &[("SELVEDGE_SHARDS", &second)]),
        Server::start_with(&args),
    ];
    assert!(nodes[0].who.contains("and 1 more"), "{}", nodes[0].who);
    let node = |n: usize| nodes[n % nodes.len()].url.as_str();
    for n in 0..THREADS {
        post(format!("{}/api/threads", node(n)), format!(r#"{{"id":"t{n}"}}"#)).await;
        let said = format!(r#"{{"kind":"message","role":"user","content":"plum {n}"}}"#);
        post(format!("{}/api/threads/t{n}/events", node(n + 1)), said).await;
    }
    for database in [&first, &second] {
        let count: usize = sql(database, "SELECT count(*) FROM thread").parse().unwrap();
        assert!(count > 0 && count < THREADS, "{count} threads in one database");
    }
    // Each is read through a third node, and followed through another while it is written to.
    for n in 0..THREADS {
        let events = get(format!("{}/api/threads/t{n}/events", node(n + 2))).await;
        assert!(events.to_string().contains(&format!("plum {n}")), "{events}");
    }
    for n in [0, 1, 2, 3, 4, 5] {
        let url = format!("{}/api/threads/t{n}/stream", node(n));
        let mut stream = http().get(url).send().await.unwrap();
        let said = format!(r#"{{"kind":"message","role":"user","content":"late {n}"}}"#);
        post(format!("{}/api/threads/t{n}/events", node(n + 1)), said).await;
        let (mut told, begin) = (String::new(), Instant::now());
        while !told.contains(&format!("late {n}")) {
            assert!(begin.elapsed() < Duration::from_secs(20), "{told}");
            let piece = tokio::time::timeout(Duration::from_secs(20), stream.chunk()).await;
            told.push_str(&String::from_utf8_lossy(&piece.unwrap().unwrap().unwrap()));
        }
    }
    // Lists and search are whole on every node, page by page, once what was just written is in them:
    // until then a thread may move to the front, past whoever is on a later page.
    for n in 0..nodes.len() {
        for (list, field, id) in
            [("threads?", "threads", "id"), ("search?q=plum&", "results", "thread")]
        {
            let begin = Instant::now();
            loop {
                let (count, seen) = listed(node(n), list, field, id).await;
                assert_eq!(count, seen.len(), "{list} of node {n}: nothing comes twice");
                if count == THREADS {
                    break;
                }
                assert!(begin.elapsed() < Duration::from_secs(20), "{list} of node {n}: {seen:?}");
            }
        }
    }
    drop(nodes);

    // What is not the whole of it is refused, and what to do is said.
    for (args, told) in [
        (vec!["rebuild", "--store", &first], "--shard"),
        (vec!["rebuild", "--store", &second, "--shard", &first], "--store"),
        (vec!["keys", "list", "--store", &second], "--store"),
        (vec!["copy", "--from", &first, "--to", "/nowhere/copy.db"], "pg_dump"),
        (vec!["serve", "--db", "x.db", "--shard", &second], "PostgreSQL"),
    ] {
        let run = selvedge(&args);
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.stdout);
        assert!(run.stderr.contains(told), "{args:?}: {}", run.stderr);
    }
    let rebuilt = selvedge(&["rebuild", "--store", &first, "--shard", &second]);
    assert_eq!(rebuilt.code, Some(0), "{}", rebuilt.stderr);
    let verify = || selvedge(&["verify", "--store", &first, "--shard", &second]);
    let verified = verify();
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    assert_eq!(verified.stdout.lines().count(), 3, "{}", verified.stdout);
    sql(&first, "UPDATE place SET shard = 1 - shard WHERE id = 't7'");
    let verified = verify();
    assert_eq!(verified.code, Some(1), "{}", verified.stdout);
    assert!(verified.stdout.contains("`t7`"), "{}", verified.stdout);
}
