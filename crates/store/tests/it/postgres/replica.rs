//! What was written long ago is read from a replica, and never what is no longer so.

use selvedge_store::{Address, Append, Create, Options, Store, ThreadRef};

use super::append::{event, names, thread};
use super::home::Home;
use super::retain::{SECRET, redact};
use crate::cluster::{PRIMARY, Postgres, STANDBY};
use crate::server::{lines, server};

/// More than are read from the primary at once.
const EVENTS: usize = 700;

/// A primary with a standby, and a node that reads from it.
struct Stage {
    postgres: Postgres,
    url: String,
    store: Store,
}

impl Stage {
    fn new() -> Option<Self> {
        // Another server than one's own has no standby that could be stopped.
        if server().is_none() || std::env::var_os("SELVEDGE_TEST_POSTGRES").is_some() {
            return None;
        }
        let postgres = Postgres::start(100);
        let url = postgres.make("journal");
        postgres.add_standby();
        let replicas = vec![Address::parse(&Self::standby(&url))];
        let options = Options { replicas, ..Options::default() };
        let store = Store::open(Address::parse(&url), options).unwrap();
        Some(Self { postgres, url, store })
    }

    fn standby(url: &str) -> String {
        url.replace(&format!("{PRIMARY}.at"), &format!("{STANDBY}.at"))
    }

    /// Waits until the standby has all that there is.
    fn catch_up(&self) {
        let mark = self.postgres.sql("journal", "SELECT pg_current_wal_lsn()");
        let there = format!("SELECT (pg_last_wal_replay_lsn() >= '{mark}')::text");
        for _ in 0..600 {
            if lines(&Self::standby(&self.url), &there) == ["true"] {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("the standby never kept pace");
    }

    /// Lets the standby stay where it is, or go on.
    fn replay(&self, what: &str) {
        lines(&Self::standby(&self.url), &format!("SELECT pg_wal_replay_{what}()::text"));
    }

    /// Waits until the replica is asked again.
    async fn rest(&self) {
        tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    }

    async fn fill(&self, id: &str, from: usize) -> ThreadRef {
        let mut made = None;
        for some in (from..from + EVENTS).collect::<Vec<_>>().chunks(7) {
            let events = some.iter().map(|n| event(&format!("{SECRET}-{n}"))).collect();
            let append = Append::new(thread(id), events).creating(Create::IfMissing);
            made = Some(self.store.append(append).await.unwrap().thread);
        }
        made.unwrap()
    }

    /// A thread and a branch of it, which the standby has, too.
    async fn family(&self) -> (ThreadRef, ThreadRef) {
        let root = self.fill("root", 0).await;
        let branch = Append::new(thread("branch"), vec![event("own")]);
        let create = Create::Branch { from: root.clone(), at: 600 };
        let branch = self.store.append(branch.creating(create)).await.unwrap().thread;
        self.catch_up();
        (root, branch)
    }

    fn read(&self, thread: &ThreadRef) -> Vec<String> {
        let page = self.store.read(thread, 0, usize::MAX, usize::MAX).unwrap();
        assert_eq!(page.entries.len() as u64, page.head);
        let seqs = page.entries.iter().map(|entry| entry.seq);
        assert!(seqs.eq(1..=page.head), "every entry once and in order");
        page.entries.iter().map(|e| String::from_utf8(e.event.to_vec()).unwrap()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cold_entries_come_from_a_replica_that_has_them_and_from_nowhere_else_if_not() {
    let Some(stage) = Stage::new() else { return };
    let store = &stage.store;
    let (root, branch) = stage.family().await;
    let all = stage.read(&root);
    let shared = stage.read(&branch);
    assert_eq!((all.len(), shared.len()), (EVENTS, 601));

    // The primary has lost it all: whatever is told now is the replica's.
    stage.replay("pause");
    stage
        .postgres
        .sql("journal", "CREATE TABLE kept AS SELECT * FROM journal; DELETE FROM journal");
    stage.rest().await;
    assert_eq!((stage.read(&root), stage.read(&branch)), (all.clone(), shared.clone()));
    assert_eq!(names(store, &root).len(), EVENTS);
    stage.postgres.sql("journal", "INSERT INTO journal SELECT * FROM kept; DROP TABLE kept");

    // What it does not have yet is the primary's.
    stage.fill("root", EVENTS).await;
    assert_eq!(stage.read(&root).len(), 2 * EVENTS);
    stage.rest().await;
    assert_eq!(stage.read(&root).len(), 2 * EVENTS);
    let new = stage.fill("new", 0).await;
    stage.rest().await;
    assert_eq!(stage.read(&new), all);

    // A replica that is gone costs a try.
    stage.replay("resume");
    stage.postgres.sql("journal", "ALTER SYSTEM SET synchronous_standby_names = ''");
    stage.postgres.sql("journal", "SELECT pg_reload_conf()");
    stage.postgres.crash(STANDBY);
    stage.rest().await;
    assert_eq!(stage.read(&new), all);
    assert_eq!(stage.read(&branch), shared);
    stage.postgres.up(STANDBY);
    assert_eq!(stage.read(&branch), shared);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_replica_of_the_database_tells_nothing() {
    let (Some(home), Some(other)) = (Home::new(), Home::new()) else { return };
    let fill = async |store: &Store, text: &str| {
        let events = (0..EVENTS).map(|n| event(&format!("{text}-{n}"))).collect();
        let append = Append::new(thread("t"), events).creating(Create::IfMissing);
        store.append(append).await.unwrap().thread
    };
    let (replicas, theirs) = (vec![other.address()], other.open());
    let store = home.open_with(Options { replicas, ..Options::default() });
    let (own, foreign) = (fill(&store, "own").await, fill(&theirs, "foreign").await);
    assert_eq!(own.num, foreign.num);
    assert!(names(&store, &own).iter().all(|name| name.starts_with("own")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_replica_tells_nothing_that_was_redacted() {
    let Some(stage) = Stage::new() else { return };
    let store = &stage.store;
    let (root, branch) = stage.family().await;
    assert!(stage.read(&root)[2].contains(SECRET));
    stage.replay("pause");
    redact(store, "root", &[3, 550]).await.unwrap();
    let clean = |thread: &ThreadRef| {
        let told = stage.read(thread);
        assert!(!told[2].contains(SECRET) && !told[549].contains(SECRET));
        assert!(told[3].contains(SECRET));
    };
    stage.rest().await;
    clean(&root);
    stage.rest().await;
    clean(&branch);
    // A branch that was made at that moment does not know of it itself.
    let num = branch.num;
    stage
        .postgres
        .sql("journal", &format!("UPDATE thread SET rewrites = rewrites - 1 WHERE num = {num}"));
    stage.rest().await;
    clean(&branch);
    stage.replay("resume");
    stage.catch_up();
    stage.rest().await;
    clean(&root);
    clean(&branch);
    // And what was erased is not there.
    stage.replay("pause");
    store.delete(thread("root")).await.unwrap();
    stage.rest().await;
    assert_eq!(store.thread(&thread("root")).unwrap(), None);
    assert_eq!(store.numbered(root.num).unwrap(), None);
    clean(&branch);
}
