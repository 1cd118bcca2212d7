use std::time::Instant;

use crate::db::{Connection, gathered};

use super::{FEW, From, choose, run, statement, threads};
use crate::query::{Scalar, ThreadQuery, ThreadStatus};
use crate::sqlite::open;

/// A store with so many threads: one in 1000 waits, has bob and is red; all have u and a team.
fn filled(count: i64) -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let conn = open::writer(&folder.path().join("s.db")).unwrap();
    conn.execute_batch(&format!(
        "PRAGMA synchronous = off; BEGIN;
         CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
             WHERE i < {count}) SELECT i FROM n;
         INSERT INTO thread (num, tenant, id, epoch, created) \
             SELECT i, 'default', 't' || i, i, i FROM n;
         INSERT INTO summary SELECT i, 'default', 1, i / 7, \
             iif(i % 1000, 'idle', 'waiting'), NULL, NULL, 'words', 1, 0, 1, 0, 0, 0, 0, 0, 0, 0 \
             FROM n;
         INSERT INTO participant SELECT i, 'u', 'default', 0, 1, NULL, NULL, 0 FROM n;
         INSERT INTO participant SELECT i, 'bob', 'default', 1, 1, NULL, NULL, 0 FROM n \
             WHERE i % 1000 = 0;
         INSERT INTO label SELECT i, 'team', iif(i % 1000, '\"blue\"', '\"red\"'), 'default' FROM n;
         INSERT INTO label SELECT i, 'old', 'true', 'default' FROM n WHERE i < {count} / 100;
         COMMIT;"
    ))
    .unwrap();
    (folder, conn)
}

/// Every filter, and some together.
fn queries() -> Vec<(&'static str, ThreadQuery)> {
    let plain = || ThreadQuery::new("default", 50);
    let label = |value: &str| vec![("team".to_owned(), Scalar::Text(value.to_owned()))];
    let status = Some(ThreadStatus::Waiting);
    vec![
        ("all", plain()),
        ("status", ThreadQuery { status, ..plain() }),
        ("rare participant", ThreadQuery { participant: Some("bob".into()), ..plain() }),
        ("common participant", ThreadQuery { participant: Some("u".into()), ..plain() }),
        ("unknown participant", ThreadQuery { participant: Some("x".into()), ..plain() }),
        ("rare label", ThreadQuery { metadata: label("red"), ..plain() }),
        ("common label", ThreadQuery { metadata: label("blue"), ..plain() }),
        (
            "many, all old",
            ThreadQuery { metadata: vec![("old".to_owned(), Scalar::Bool(true))], ..plain() },
        ),
        (
            "common and status",
            ThreadQuery {
                participant: Some("u".into()),
                metadata: label("blue"),
                status,
                ..plain()
            },
        ),
    ]
}

#[test]
fn no_list_reads_or_sorts_a_whole_table() {
    let (_folder, conn) = filled(20_000);
    for (name, query) in queries() {
        let from = choose(&conn, &query, FEW).unwrap();
        let rare = ["rare participant", "unknown participant", "rare label", "many, all old"];
        assert_eq!(from != From::Walk, rare.contains(&name), "{name}: {from:?}");
        for from in [from, From::Stretch] {
            let (sql, values) = statement(&query, &from).unwrap();
            let mut explain = conn.prepare_cached(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let plan = explain.query_map(&gathered(&values), |row| row.get::<String>(3));
            let plan: Vec<_> = plan.unwrap().map(Result::unwrap).collect();
            // The stretch is a table of its own, read from its beginning to its end.
            let scans = plan.iter().any(|step| step.starts_with("SCAN") && step != "SCAN s");
            let scans = scans || from != From::Stretch && plan.iter().any(|s| s == "SCAN s");
            assert!(!scans, "{name}: {plan:#?}");
            let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE"));
            let gathers = plan[0].starts_with("SEARCH d USING");
            assert!(!sorts || gathers, "{name}: {plan:#?}");
            let same = run(&conn, &query, &From::Walk).unwrap();
            assert_eq!(run(&conn, &query, &from).unwrap(), same, "{name}: {from:?}");
        }
    }
}

#[test]
#[ignore = "a million threads take a while to make"]
fn a_million_threads_are_listed_at_once() {
    let (_folder, conn) = filled(1_000_000);
    for (name, query) in queries() {
        let begin = Instant::now();
        let page = threads(&conn, &query).unwrap();
        let first = begin.elapsed();
        let deep = ThreadQuery { after: Some(crate::Place::of([70_000, 0])), ..query };
        let begin = Instant::now();
        threads(&conn, &deep).unwrap();
        println!("{name}: {} in {first:?}, far down {:?}", page.len(), begin.elapsed());
    }
}
