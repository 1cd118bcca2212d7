//! Threads over several databases: where they go, who finds them, and what is refused.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_store::{
    Append, AppendError, Branches, Copy, Create, Draft, Erase, Grant, InboxOrder, InboxQuery, Keys,
    NewShare, OpenError, Options, Place, Promote, PromoteError, Push, Pushes, ShardError, Shares,
    Store, TaskQuery, ThreadQuery, UsageBy, UsageOrder, UsageQuery, Vault,
};

use super::append::{event, names, thread};
use super::events::say;
use super::home::Home;

const THREADS: usize = 40;

fn shard(num: i64) -> i64 {
    num >> 40
}

/// Makes threads with something in every list.
async fn fill(store: &Store) -> BTreeMap<String, i64> {
    let mut made = BTreeMap::new();
    for n in 0..THREADS {
        let id = format!("t{n}");
        let said = format!(r#"{{"kind":"message","author":"u","content":"harvest number {n}"}}"#);
        let asked = format!(
            r#"{{"kind":"input-required","inputId":"i{n}","taskId":"k","prompt":"Sure?"}}"#
        );
        let used = format!(
            r#"{{"kind":"step-finished","taskId":"k","agentId":"a{}","usage":{{"input_tokens":{}}}}}"#,
            n % 3,
            n + 1
        );
        let first = say(store, &id, &[&said, &asked, &used]).await;
        made.insert(id, first.thread.num);
    }
    store.settle().await.unwrap();
    made
}

/// All pages of a list.
fn pages<T>(mut page: impl FnMut(Option<Place>) -> (Vec<T>, Option<Place>)) -> Vec<T> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (items, next) = page(after);
        all.extend(items);
        after = next;
        if after.is_none() {
            return all;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_are_spread_and_found_by_every_node_under_one_number() {
    let Some(home) = Home::new() else { return };
    let (one, other) = (home.open(), home.open());
    let made = fill(&one).await;
    let shards: BTreeSet<i64> = made.values().map(|num| shard(*num)).collect();
    assert_eq!(shards, BTreeSet::from([0, 1, 2]));
    for (id, num) in &made {
        let found = other.thread(&thread(id)).unwrap().unwrap();
        assert_eq!(found.num, *num);
        assert_eq!(other.numbered(*num).unwrap().as_ref(), Some(&found));
        assert_eq!(other.head(&found).unwrap(), 3);
    }
    assert_eq!(other.thread(&thread("never")).unwrap(), None);
    assert_eq!(
        other.append(Append::new(thread("never"), vec![event("e")])).await,
        Err(AppendError::NotFound)
    );
    assert_eq!(home.place("never"), None, "who only asks puts nothing anywhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_have_everything_once_in_one_order_whatever_the_pages() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    fill(&store).await;
    for limit in [1, 7, 100] {
        let listed = pages(|after| {
            let query = ThreadQuery { after, ..ThreadQuery::new("default", limit) };
            let page = store.threads(&query).unwrap();
            (page.items, page.next)
        });
        assert!(listed.is_sorted_by_key(|item| (-item.updated, -item.num)));
        let ids: BTreeSet<String> = listed.iter().map(|item| item.id.clone()).collect();
        assert_eq!((listed.len(), ids.len()), (THREADS, THREADS));

        for order in [InboxOrder::Oldest, InboxOrder::Urgent] {
            let inbox = pages(|after| {
                let query = InboxQuery { order, after, limit, ..InboxQuery::default() };
                let page = store.inbox("default", &query).unwrap();
                (page.items, page.next)
            });
            assert!(inbox.is_sorted_by_key(|item| item.at));
            let ids: BTreeSet<String> = inbox.iter().map(|item| item.id.clone()).collect();
            assert_eq!((inbox.len(), ids.len()), (THREADS, THREADS));
        }

        let tasks = pages(|after| {
            let query = TaskQuery { after, limit, ..TaskQuery::default() };
            let page = store.tasks_of("default", &query).unwrap();
            (page.items, page.next)
        });
        assert!(tasks.is_sorted_by_key(|placed| -placed.changed));
        let ids: BTreeSet<_> = tasks.iter().map(|placed| placed.thread.id.clone()).collect();
        assert_eq!((tasks.len(), ids.len()), (THREADS, THREADS));

        let found = pages(|after| {
            let page = store.search("default", "harvest", limit, after.as_ref()).unwrap();
            (page.items, page.next)
        });
        assert!(found.is_sorted_by_key(|found| -found.at));
        let ids: BTreeSet<String> = found.iter().map(|found| found.thread.clone()).collect();
        assert_eq!((found.len(), ids.len()), (THREADS, THREADS));
    }
    assert_eq!(store.tasks_of_count("default", &TaskQuery::default()).unwrap(), THREADS as u64);
    let found = store.search("default", "\"number 17\"", 9, None).unwrap();
    assert_eq!(found.items.len(), 1);
    let same = store.tasks_by_id("default", "k").unwrap();
    assert_eq!(same.len(), 16);
    assert!(same.is_sorted_by_key(|placed| -placed.task.began.1));
    let oldest = same.last().unwrap().thread.id.strip_prefix('t').unwrap().parse::<usize>();
    assert!(oldest.unwrap() >= THREADS - 16 - 3, "those that began last");
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_are_over_all_databases_in_any_order_and_on_any_page() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    fill(&store).await;
    let day = i64::MAX / 2;
    let all: u64 = (1..=THREADS as u64).sum();
    let used = store.usage_by_day("default", 0..day).unwrap();
    assert_eq!(used.iter().map(|used| used.tokens.input).sum::<u64>(), all);
    assert_eq!(used.len(), 3, "each agent once: {used:?}");
    for (by, groups) in [(vec![UsageBy::Agent], 3), (vec![UsageBy::Thread], THREADS), (vec![], 1)] {
        for order in [UsageOrder::Named, UsageOrder::Dearest] {
            for limit in [1, 7, 1000] {
                let spent = pages(|after| {
                    let (by, thread) = (by.clone(), None);
                    let query = UsageQuery { thread, days: 0..day, by, order, after, limit };
                    let page = store.spent("default", &query).unwrap();
                    (page.items, page.next)
                });
                assert_eq!(spent.len(), groups);
                assert_eq!(spent.iter().map(|spent| spent.tokens.input).sum::<u64>(), all);
                match order {
                    UsageOrder::Named => assert!(spent.is_sorted_by_key(|s| (
                        s.day,
                        s.thread.clone(),
                        s.agent.clone()
                    ))),
                    UsageOrder::Dearest => assert!(
                        spent
                            .is_sorted_by_key(|s| { -((s.tokens.input + s.tokens.output) as i64) })
                    ),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_had_once_by_nodes_that_make_and_branch_at_the_same_time() {
    let Some(home) = Home::new() else { return };
    let nodes = [home.open(), home.open(), home.open()];
    for n in 0..12 {
        say(&nodes[0], &format!("from{n}"), &[r#"{"kind":"message","content":"m"}"#]).await;
    }
    for round in 0..12 {
        let name = format!("new{round}");
        let from = nodes[0].thread(&thread(&format!("from{round}"))).unwrap().unwrap();
        let tries: Vec<_> = (0..9)
            .map(|n| {
                let node = nodes[n % 3].clone();
                let create = match n % 3 {
                    0 => Create::Branch { from: from.clone(), at: 1 },
                    _ => Create::New,
                };
                let append = Append::new(thread(&name), vec![event(&n.to_string())]);
                tokio::spawn(async move { node.append(append.creating(create)).await })
            })
            .collect();
        let mut made = Vec::new();
        for one in tries {
            match one.await.unwrap() {
                Ok(appended) => made.push(appended.thread.num),
                Err(AppendError::Exists | AppendError::OtherShard) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(made.len(), 1, "{name}");
        for node in &nodes {
            assert_eq!(node.thread(&thread(&name)).unwrap().unwrap().num, made[0]);
        }
    }
    assert_eq!(home.count("thread"), 24);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_hear_of_work_in_any_database_and_one_of_them_has_it() {
    let Some(home) = Home::new() else { return };
    let (one, other) = (home.open(), home.open());
    let made = fill(&one).await;
    let mut stirs = other.stirs().unwrap();
    for nth in 0..3 {
        let (id, num) = made.iter().find(|(_, num)| shard(**num) == nth).unwrap();
        stirs.mark_unchanged();
        say(&one, id, &[r#"{"kind":"task-created","taskId":"new","initiator":"user"}"#]).await;
        let heard = tokio::time::timeout(std::time::Duration::from_secs(10), stirs.changed());
        heard.await.expect("it is told of work").unwrap();
        assert!(one.claim(*num, "new").unwrap());
        assert!(!other.claim(*num, "new").unwrap());
        one.release(*num, "new").unwrap();
        assert!(other.claim(*num, "new").unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_beside_a_journal_is_where_its_thread_is_and_goes_with_it() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    let made = fill(&store).await;
    let shares = Shares::open(store.addresses()).unwrap();
    let pushes = Pushes::open(store.addresses()).unwrap();
    let vault = Vault::open(store.addresses()).unwrap();
    let some: Vec<(&String, i64)> = (0..3)
        .map(|nth| made.iter().find(|(_, num)| shard(**num) == nth).unwrap())
        .map(|(id, num)| (id, *num))
        .collect();
    let (mut tokens, grants) =
        (Vec::new(), |num: i64| Grant { thread: num, tool: "tool".into(), user: "u".into() });
    for (id, num) in &some {
        let (thread, shows) = (*num, Vec::new());
        let tenant = "default".to_owned();
        let new = NewShare { tenant, thread, upto: 2, title: None, shows, expires: None };
        let (share, token) = shares.add(new, 1).unwrap().unwrap();
        tokens.push((share, token));
        let push = Push {
            thread,
            task: "k".into(),
            id: (*id).clone(),
            tenant: "default".into(),
            context: (*id).clone(),
            sealed: vec![1],
            told: String::new(),
            over: false,
        };
        assert!(pushes.put(&push).unwrap());
        vault.put_credential(id, &grants(*num), b"sealed", i64::MAX).unwrap();
    }
    for (nth, (_, num)) in some.iter().enumerate() {
        let kept = home.database(nth).lines("SELECT thread::text FROM share");
        assert_eq!(kept, [num.to_string()]);
    }
    for (share, token) in &tokens {
        assert_eq!(shares.find(token).unwrap().as_ref(), Some(share));
        assert_eq!(shares.list(share.made.thread).unwrap(), std::slice::from_ref(share));
    }
    assert_eq!(shares.find("sh_none").unwrap(), None);
    assert_eq!(pushes.open_ones().unwrap().len(), 3);
    shares.revoke(tokens[1].0.made.thread, &tokens[1].0.id, 5).unwrap().unwrap();
    assert_eq!(shares.revoked_since(5).unwrap(), [tokens[1].0.hash]);

    store.delete(thread(some[0].0)).await.unwrap();
    vault.sweep(7).unwrap();
    let held = |n: usize| vault.credential(some[n].0, &grants(some[n].1), 7).unwrap().is_some();
    assert_eq!([0, 1, 2].map(held), [false, true, true]);
    let (by, reason, branches) = ("ops".to_owned(), None, Branches::Stay);
    store.erase(Erase { thread: thread(some[2].0), by, reason, branches }).await.unwrap();
    assert_eq!([0, 1, 2].map(held), [false, true, false]);
    assert_eq!(shares.find(&tokens[2].1).unwrap(), None);
    assert_eq!((home.count("share"), home.count("push")), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_and_promotions_stay_where_their_thread_is() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    let made = fill(&store).await;
    for (id, num) in made.iter().take(9) {
        let from = store.thread(&thread(id)).unwrap().unwrap();
        let (name, old) = (format!("{id}-b"), format!("{id}-old"));
        let branch = Append::new(thread(&name), vec![event("e")]);
        let done = store.append(branch.creating(Create::Branch { from, at: 2 })).await.unwrap();
        assert_eq!(shard(done.thread.num), shard(*num));
        let promote = |old: &str| Promote {
            branch: thread(&name),
            parent: thread(id),
            old: thread(old),
            told: Draft::new(r#"{"kind":"message","content":"now"}"#),
            told_old: Draft::new(r#"{"kind":"message","content":"then"}"#),
        };
        let elsewhere = made.iter().find(|(_, other)| shard(**other) != shard(*num)).unwrap().0;
        let taken = store.promote(promote(elsewhere)).await;
        assert!(matches!(taken, Err(PromoteError::Exists { .. })));
        store.promote(promote(&old)).await.unwrap();
        let promoted = store.thread(&thread(id)).unwrap().unwrap();
        assert_eq!(promoted.num, done.thread.num);
        assert_eq!(store.thread(&thread(&old)).unwrap().unwrap().num, *num);
        assert_eq!(store.lineage(&thread(&name)).unwrap().unwrap().id, *id);
    }
    let (id, num) = made.iter().last().unwrap();
    let (other, _) = made.iter().find(|(_, other)| shard(**other) != shard(*num)).unwrap();
    store.delete(thread(id)).await.unwrap();
    let from = store.thread(&thread(other)).unwrap().unwrap();
    let branch = Append::new(thread(id), vec![event("e")]).creating(Create::Branch { from, at: 1 });
    assert_eq!(store.append(branch).await, Err(AppendError::OtherShard));
    let again = say(&store, id, &[r#"{"kind":"message","content":"again"}"#]).await;
    assert_eq!((again.first, shard(again.thread.num)), (1, shard(*num)));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_database_becomes_several_while_a_node_knows_of_one() {
    let Some(home) = Home::of(2) else { return };
    let alone = Store::open(home.address_of(0), Options::default()).unwrap();
    let made = fill(&alone).await;
    assert_eq!(home.count("place"), 0, "one database has no directory");
    let store = home.open();
    assert_eq!(home.count("place"), THREADS as i64);
    for (id, num) in &made {
        assert_eq!(store.thread(&thread(id)).unwrap().unwrap().num, *num);
    }
    // What it makes is found by the others, and it makes nothing twice.
    say(&alone, "late", &[r#"{"kind":"message","content":"m"}"#]).await;
    assert!(store.thread(&thread("late")).unwrap().is_some());
    let mut moved = None;
    for n in 0..20 {
        let id = format!("new{n}");
        let done = say(&store, &id, &[r#"{"kind":"message","content":"m"}"#]).await;
        if shard(done.thread.num) == 1 {
            moved = Some(id);
        }
    }
    let create = Append::new(thread(&moved.unwrap()), vec![event("e")]).creating(Create::IfMissing);
    let refused = alone.append(create).await;
    assert!(
        matches!(&refused, Err(AppendError::Storage(told)) if told.contains("another database")),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_that_are_not_a_whole_store_in_its_order_are_refused() {
    let Some(home) = Home::new() else { return };
    let Some(other) = Home::of(2) else { return };
    drop(home.open());
    drop(other.open());
    let refused = |first: &Home, nth: usize, shards: &[(&Home, usize)]| {
        let shards = shards.iter().map(|(home, nth)| home.address_of(*nth)).collect();
        match Store::open(first.address_of(nth), Options { shards, ..Options::default() }) {
            Err(OpenError::Shard { cause, .. }) => cause,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&home, 0, &[]), ShardError::Missing { count: 3, given: 1 });
    assert_eq!(refused(&home, 0, &[(&home, 1)]), ShardError::Missing { count: 3, given: 2 });
    assert_eq!(refused(&home, 1, &[]), ShardError::Part { number: 1 });
    assert_eq!(refused(&home, 1, &[(&home, 0)]), ShardError::Part { number: 1 });
    let swapped = [(&home, 2), (&home, 1)];
    assert_eq!(refused(&home, 0, &swapped), ShardError::Order { found: 2, asked: 1 });
    let foreign = [(&home, 1), (&other, 1)];
    assert_eq!(refused(&home, 0, &foreign), ShardError::OtherStore);
    let twice = [(&home, 1), (&home, 2), (&home, 1)];
    assert_eq!(refused(&home, 0, &twice), ShardError::Order { found: 1, asked: 3 });
    let Some(used) = Home::of(1) else { return };
    let store = used.open();
    say(&store, "t", &[r#"{"kind":"message","content":"m"}"#]).await;
    drop(store);
    let more = [(&home, 1), (&home, 2), (&used, 0)];
    assert_eq!(refused(&home, 0, &more), ShardError::Occupied { asked: 3 });

    // Beside the journal, too.
    assert!(Keys::open(home.address_of(0)).is_ok());
    assert!(Keys::open(home.address_of(1)).unwrap_err().to_string().contains("--store"));
    for nth in [0, 1] {
        let folder = tempfile::tempdir().unwrap();
        let to = selvedge_store::Address::from(&folder.path().join("copy.db"));
        let (from, begin) = (home.address_of(nth), selvedge_store::Begin::Resume);
        let told = selvedge_store::copy(&Copy { from, to, begin }, |_, _| {}).unwrap_err();
        assert!(told.to_string().contains("pg_dump"), "{told}");
    }
    // As it was, all of it opens; and one more is taken in.
    drop(home.open());
    let Some(fresh) = Home::of(1) else { return };
    let mut options = home.options(Options::default());
    options.shards.push(fresh.address_of(0));
    let store = Store::open(home.address_of(0), options).unwrap();
    fill(&store).await;
    assert!(fresh.count("thread") > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_gone_takes_its_own_threads_along_and_no_others() {
    let Some(home) = Home::new() else { return };
    let store = home.open();
    let made = fill(&store).await;
    let dead = home.database(1).lines("SELECT current_database()::text").remove(0);
    home.database(0).run(&format!(
        "ALTER DATABASE {dead} WITH ALLOW_CONNECTIONS false; \
         SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE datname = '{dead}'"
    ));
    let again = |id: &str| Append::new(thread(id), vec![event("more")]);
    let (mut there, mut gone) = (0, 0);
    for (id, num) in &made {
        let answer = store.append(again(id)).await;
        match shard(*num) {
            1 => {
                gone += 1;
                assert!(matches!(answer, Err(AppendError::Storage(_))), "{answer:?}");
                assert!(store.thread(&thread(id)).is_err());
            }
            _ => {
                there += 1;
                let found = answer.unwrap().thread;
                assert_eq!(names(&store, &found).len(), 4);
            }
        }
    }
    assert!(there > 0 && gone > 0);
    assert!(store.threads(&ThreadQuery::new("default", 9)).is_err(), "no list is half a list");
    let wanted = store.wanted(100, None).unwrap();
    assert_eq!(wanted.items.len(), 0, "who looks for work asks those that are there");
    home.database(0).run(&format!("ALTER DATABASE {dead} WITH ALLOW_CONNECTIONS true"));
    for id in made.keys() {
        store.append(again(id)).await.unwrap();
    }
    store.up_to_date().await.unwrap();
    assert_eq!(store.threads(&ThreadQuery::new("default", 99)).unwrap().items.len(), THREADS);
}
