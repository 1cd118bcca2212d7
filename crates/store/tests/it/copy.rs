//! A store that was copied is the same store: every row, every cursor, every list.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use selvedge_store::{
    Address, Append, Begin, Branches, Copied, Copy, CopyError, Create, Draft, Erase, Grant, Guard,
    HashChain, Key, Keys, NewKey, NewLease, NewShare, OpenError, Options, Outcome, Promote, Push,
    Pushes, Shares, Store, ThreadKey, Vault, copy, lease_token,
};
use tempfile::TempDir;

use crate::postgres::home::Home as Database;
use crate::sqlite::append::{event, thread};
use crate::sqlite::events::{any_event, say};
use crate::sqlite::home::Home;
use crate::sqlite::model;
use crate::sqlite::retain::{redact, spill};

/// Every table of a file, by what becomes of it in a copy. A new one has to be put into one of the
/// lists here, and into `copy/table.rs` if it is copied.
const COPIED: &[&str] = &[
    "api_key",
    "auth_key",
    "chain",
    "credential",
    "erasure",
    "instead",
    "journal",
    "lease",
    "push",
    "share",
    "thread",
    "unfolded",
];
/// Made again, and then the same.
const MADE: &[&str] = &["idempotency", "position"];
/// How far things have come here.
const OWN: &[&str] = &["chore", "followed"];
/// Tables that only a database has: made again, about its nodes, or empty where there is one.
const DATABASE: &[&str] = &[
    "claim",
    "followed",
    "made",
    "migration",
    "node",
    "pace",
    "place",
    "search",
    "shard",
    "task_over",
];

fn copied(from: &Address, to: &Address) -> Result<Copied, CopyError> {
    copy(&Copy { from: from.clone(), to: to.clone(), begin: Begin::Resume }, |_, _| {})
}

/// A file in a folder.
fn file(folder: &TempDir, name: &str) -> Address {
    Address::from(&folder.path().join(name))
}

fn path(address: &Address) -> &Path {
    match address {
        Address::File(path) => path,
        Address::Postgres(_) => panic!("no file"),
    }
}

/// All rows of all tables but those that say how far things have come, by table.
fn everything(address: &Address) -> BTreeMap<String, Vec<String>> {
    let conn = rusqlite::Connection::open(path(address)).unwrap();
    let mut tables = conn
        .prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'search%' \
             AND name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let known = [COPIED, MADE, OWN, super::MADE].concat();
    let mut all = BTreeMap::new();
    for table in tables {
        assert!(known.contains(&table.as_str()), "does a copy take `{table}` along?");
        if OWN.contains(&table.as_str()) {
            continue;
        }
        let mut rows = conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = rows.column_count();
        let found = rows.query_map([], |row| {
            let values = (0..columns).map(|column| Ok(format!("{:?}", row.get_ref(column)?)));
            Ok(values.collect::<rusqlite::Result<Vec<_>>>()?.join(" "))
        });
        let mut found: Vec<String> = found.unwrap().collect::<Result<_, _>>().unwrap();
        found.sort();
        all.insert(table, found);
    }
    all
}

async fn settle(address: &Address) {
    let store = Store::open(address, Options::default()).unwrap();
    store.settle().await.unwrap();
}

/// What can be read of a thread: entries and the hash chain, under the same cursors.
fn read(store: &Store, id: &str) -> String {
    let thread = store.thread(&thread(id)).unwrap();
    let Some(thread) = thread else { return "none".to_owned() };
    let page = store.read(&thread, 0, usize::MAX, usize::MAX).unwrap();
    let chained = store.chained(&thread, 0, usize::MAX).unwrap();
    format!("{thread:?} {page:?} {chained:?}")
}

/// A store with something in every table, and with things that were taken out of it.
async fn rich(address: &Address) {
    let options = Options { chain: HashChain::On, ..Options::default() };
    let store = Store::open(address, options).unwrap();
    spill(&store, "spilled").await;
    let parent = store.thread(&thread("spilled")).unwrap().unwrap();
    for (id, at) in [("b1", 4), ("b2", 6)] {
        let create = Create::Branch { from: parent.clone(), at };
        let key = Key { text: format!("k\0{id}"), digest: [7; 32] };
        let branch = Append::new(thread(id), vec![event(id)]).creating(create).keyed(key);
        store.append(branch).await.unwrap();
    }
    // A name with signs that one of the databases cannot hold as they are, and text of any kind.
    let odd = ThreadKey::new("o\u{1}dd", "n\0\u{2}'\u{1F600}");
    let frame = Draft {
        event: r#"{"kind":"message","content":"\u0000 é"}"#.into(),
        source: Some("{\"frame\":1}".into()),
    };
    store.append(Append::new(odd, vec![frame]).creating(Create::IfMissing)).await.unwrap();
    let (told, told_old) = (event("p"), event("q"));
    let [branch, parent_id, old] = ["b1", "spilled", "old"].map(thread);
    store.promote(Promote { branch, parent: parent_id, old, told, told_old }).await.unwrap();
    redact(&store, "b2", &[7]).await.unwrap();
    while store.fold_before(i64::MAX).await.unwrap().more {}
    for i in 0..3 {
        say(&store, "unfinished", &[&format!(r#"{{"kind":"content-delta","delta":"{i}"}}"#)]).await;
    }
    while store.fold_before(i64::MAX).await.unwrap().more {}
    say(&store, "gone", &[r#"{"kind":"message","content":"x"}"#]).await;
    let erase =
        Erase { thread: thread("gone"), by: "ops".into(), reason: None, branches: Branches::Stay };
    store.erase(erase).await.unwrap();
    // A thread whose past is shared, and the last number that was given, are gone.
    store.delete(thread("old")).await.unwrap();
    let wanted = r#"{"kind":"task-created","taskId":"w","agentId":"w","dispatched":true}"#;
    let done = r#"{"kind":"task-complete","taskId":"over"}"#;
    let made = say(&store, "work", &[wanted, done]).await;
    let (_, token) = lease_token().unwrap();
    let lease = NewLease {
        task: "w".into(),
        agent: "w".into(),
        worker: "me".into(),
        token,
        attempt: 1,
        time: std::time::Duration::from_secs(600),
    };
    let status = Draft::new(r#"{"kind":"task-status","taskId":"w","status":"working"}"#);
    let claim = Append::new(thread("work"), vec![status]).guarded(Guard::Free(Box::new(lease)));
    store.append(claim).await.unwrap();
    say(&store, "last", &[r#"{"kind":"message","content":"x"}"#]).await;
    store.delete(thread("last")).await.unwrap();
    store.settle().await.unwrap();
    beside(address, made.thread.num);
}

/// Keys, shares, pushes and secrets.
fn beside(address: &Address, num: i64) {
    let keys = Keys::open(address).unwrap();
    for name in ["a", "b"] {
        let scopes = vec!["read".into()];
        let new = NewKey { name: name.into(), tenant: "t".into(), scopes, expires: Some(5) };
        keys.add(new, 1).unwrap();
    }
    let id = keys.list().unwrap()[0].id.clone();
    keys.revoke(&id, 3).unwrap();
    let new = NewShare {
        tenant: "default".into(),
        thread: num,
        upto: 1,
        title: Some("t".into()),
        shows: vec!["usage".into()],
        expires: None,
    };
    assert!(Shares::open(address).unwrap().add(new, 1).unwrap().is_some());
    let push = Push {
        thread: num,
        task: "w".into(),
        id: "p".into(),
        tenant: "default".into(),
        context: "work".into(),
        sealed: vec![0, 255],
        told: "1.2".into(),
        over: false,
    };
    assert!(Pushes::open(address).unwrap().put(&push).unwrap());
    let vault = Vault::open(address).unwrap();
    vault.put_key(num, "a", &[1, 0], i64::MAX).unwrap();
    vault.count_try(num, "a").unwrap();
    let grant = Grant { thread: num, tool: "t".into(), user: "u".into() };
    vault.put_credential("c", &grant, &[0], i64::MAX).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_table_comes_along_through_both_databases_and_what_follows_is_made_the_same() {
    let Some(database) = Database::bare() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (from, back) = (file(&folder, "from.db"), file(&folder, "back.db"));
    rich(&from).await;
    let before = everything(&from);
    for table in COPIED {
        assert!(!before[*table].is_empty(), "`{table}` is not tried");
    }
    let there = copied(&from, &database.address()).unwrap();
    assert_eq!(there.outcome, Outcome::Complete);
    assert_eq!(there.written, there.events);
    let known = [COPIED, DATABASE, super::MADE].concat();
    for table in database.tables() {
        assert!(known.contains(&table.as_str()), "does a copy take `{table}` along?");
    }
    let again = copied(&database.address(), &back).unwrap();
    assert_eq!((again.digest, again.events), (there.digest, there.events));
    assert!(!folder.path().join("back.db-copying").exists());

    // Cursors hold: the same threads, epochs, entries and links on all three.
    let reads = |address: &Address| {
        let store = Store::open(address, Options::default()).unwrap();
        ["spilled", "b2", "unfinished", "work", "old", "last", "gone"].map(|id| read(&store, id))
    };
    let was = reads(&from);
    assert_eq!(reads(&database.address()), was);
    assert_eq!(reads(&back), was);

    // What goes on from here goes on alike, with numbers that were never given.
    for address in [&from, &database.address(), &back] {
        let store = Store::open(address, Options::default()).unwrap();
        let new = say(&store, "new", &[r#"{"kind":"message","content":"on"}"#]).await;
        let over = Append::new(thread("work"), vec![event("late")])
            .guarded(Guard::Running { task: "over".into() });
        assert!(store.append(over).await.is_err(), "a task that has ended says nothing more");
        let key = Key { text: "k\0b2".into(), digest: [7; 32] };
        let twice = store.append(Append::new(thread("b2"), vec![event("b2")]).keyed(key)).await;
        assert!(twice.unwrap().duplicate, "a key is still known");
        store.settle().await.unwrap();
        assert_eq!(new.thread.num, 9, "the number after that of `last`: {address}");
    }
    let sound = |found: BTreeMap<String, Vec<String>>| {
        // The new thread has an epoch and a time of its own.
        let old = |row: &String| !row.contains("Integer(9)");
        let kept = found
            .into_iter()
            .map(|(table, rows)| (table, rows.into_iter().filter(old).collect::<Vec<_>>()));
        kept.filter(|(table, _)| table != "journal").collect::<BTreeMap<_, _>>()
    };
    assert_eq!(sound(everything(&back)), sound(everything(&from)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_holds_something_else_is_refused_and_the_same_is_not() {
    let Some(database) = Database::bare() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [from, other, to] = ["from.db", "other.db", "to.db"].map(|name| file(&folder, name));
    rich(&from).await;
    let store = Store::open(&other, Options::default()).unwrap();
    say(&store, "t", &[r#"{"kind":"message","content":"x"}"#]).await;
    drop(store);
    for place in [&to, &database.address()] {
        assert_eq!(copied(&from, place).unwrap().outcome, Outcome::Complete);
        assert_eq!(copied(&from, place).unwrap().outcome, Outcome::Same);
        settle(place).await;
        assert_eq!(copied(&from, place).unwrap().outcome, Outcome::Same, "also when it has swept");
        assert!(matches!(copied(&other, place), Err(CopyError::Occupied { .. })));
        let store = Store::open(place, Options::default()).unwrap();
        say(&store, "work", &[r#"{"kind":"message","content":"x"}"#]).await;
        drop(store);
        assert!(matches!(copied(&from, place), Err(CopyError::Occupied { .. })));
    }
    let none = file(&folder, "none.db");
    assert!(matches!(copied(&none, &file(&folder, "x.db")), Err(CopyError::Missing { .. })));
    assert!(!path(&none).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_not_complete_is_opened_by_nobody_and_goes_on() {
    let Some(database) = Database::bare() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [from, other] = ["from.db", "other.db"].map(|name| file(&folder, name));
    rich(&from).await;
    rich(&other).await;
    let place = database.address();
    // The source is served: what there is comes along, and the copy is not complete.
    let store = Store::open(&from, Options::default()).unwrap();
    let first = copied(&from, &place).unwrap();
    assert_eq!(first.outcome, Outcome::Behind { threads: 0 });
    let refused = Store::open(&place, Options::default());
    assert!(matches!(refused, Err(OpenError::Copying { .. })), "{refused:?}");
    assert!(Keys::open(&place).is_err());
    assert!(matches!(copied(&other, &place), Err(CopyError::OtherSource { .. })));
    assert!(matches!(copied(&place, &file(&folder, "x.db")), Err(CopyError::Open(_))));

    // Meanwhile threads are written, renamed, taken out of, made and removed.
    say(&store, "work", &[r#"{"kind":"message","content":"more"}"#]).await;
    let branch = Create::Branch { from: store.thread(&thread("work")).unwrap().unwrap(), at: 2 };
    let append = Append::new(thread("b3"), vec![event("b3")]).creating(branch);
    store.append(append).await.unwrap();
    let (told, told_old) = (event("p"), event("q"));
    let [branch, parent, old] = ["b3", "work", "b3-old"].map(thread);
    store.promote(Promote { branch, parent, old, told, told_old }).await.unwrap();
    redact(&store, "spilled", &[1]).await.unwrap();
    store.delete(thread("unfinished")).await.unwrap();
    store.settle().await.unwrap();
    assert!(matches!(copied(&from, &place).unwrap().outcome, Outcome::Behind { .. }));
    drop(store);

    let done = copied(&from, &place).unwrap();
    assert_eq!(done.outcome, Outcome::Complete);
    let back = file(&folder, "back.db");
    assert_eq!(copied(&place, &back).unwrap().digest, done.digest);
    settle(&from).await;
    settle(&back).await;
    assert_eq!(everything(&back), everything(&from));
    // What was begun with another source can be dropped.
    let begun = file(&folder, "begun.db");
    let store = Store::open(&other, Options::default()).unwrap();
    assert!(matches!(copied(&other, &begun).unwrap().outcome, Outcome::Behind { .. }));
    drop(store);
    assert!(matches!(copied(&from, &begun), Err(CopyError::OtherSource { .. })));
    let anew = Copy { from: from.clone(), to: begun.clone(), begin: Begin::Anew };
    assert_eq!(copy(&anew, |_, _| {}).unwrap().outcome, Outcome::Complete);
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("SELVEDGE_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: cases.unwrap_or(8), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn any_journal_is_the_same_after_both_databases(
        steps in prop::collection::vec(model::step(), 1..60),
        events in prop::collection::vec(any_event(), 1..40),
    ) {
        let home: Home = model::after(&steps).unwrap();
        let Some(database) = Database::new() else { return Ok(()) };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = home.open();
            for (i, event) in events.iter().enumerate() {
                say(&store, &format!("e{}", i % 3), &[event]).await;
            }
            store.settle().await.unwrap();
        });
        let there = copied(&home.address(), &database.address()).unwrap();
        let back = Address::from(&home.folder().join("back.db"));
        let again = copied(&database.address(), &back).unwrap();
        prop_assert_eq!(there.digest, again.digest);
        runtime.block_on(settle(&back));
        let (is, was) = (everything(&back), everything(&home.address()));
        for (table, rows) in &was {
            prop_assert_eq!(is.get(table), Some(rows), "{}", table);
        }
    }
}
