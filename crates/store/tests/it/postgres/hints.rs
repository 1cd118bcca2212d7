//! What another node does reaches whoever reads here, by whatever carries hints, and without any.

use std::sync::Arc;
use std::time::{Duration, Instant};

use selvedge_store::{
    Append, Branches, Create, Draft, End, Erase, Hints, Options, Promote, Redact, Store, Tail,
    ThreadRef,
};
use tokio::time::timeout;

use super::append::{event, events, thread};
use super::home::Home;

/// Far more than any of it takes, where nothing is lost for good.
const PATIENCE: Duration = Duration::from_secs(20);

fn open(home: &Home, hints: &Hints) -> Store {
    home.open_with(Options { hints: hints.clone(), ..Options::default() })
}

/// Waits until a tail has come so far.
async fn reached(tail: &Tail, head: u64) {
    let mut edge = tail.watch();
    let waited = timeout(PATIENCE, edge.wait_for(|edge| edge.head >= head)).await;
    waited.expect("the tail has come so far in time").unwrap();
}

/// Waits until a tail has ended.
async fn ended(tail: &Tail) -> Option<End> {
    let mut edge = tail.watch();
    let waited = timeout(PATIENCE, edge.wait_for(|edge| edge.end.is_some())).await;
    waited.expect("the tail has ended in time").unwrap().end
}

/// What a reader of a tail gets after an entry, as readers do: what is at hand, else the journal.
fn read(store: &Store, of: &ThreadRef, tail: &Tail, after: u64) -> Vec<(u64, String)> {
    let entries = match tail.entries(after, usize::MAX) {
        Some(entries) => entries,
        None => store.read(of, after, usize::MAX, usize::MAX).unwrap().entries,
    };
    let text = |event: &[u8]| String::from_utf8(event.to_vec()).unwrap();
    entries.iter().map(|entry| (entry.seq, text(&entry.event))).collect()
}

/// A thread with one entry, and its tail on another node.
async fn begun(here: &Store, there: &Store, id: &str) -> (ThreadRef, Arc<Tail>) {
    let made = Append::new(thread(id), events(["first"])).creating(Create::New);
    let found = here.append(made).await.unwrap().thread;
    let tail = there.tail(&found).unwrap();
    assert_eq!(tail.head(), 1);
    (found, tail)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_at_once_what_another_node_appends() {
    let Some(home) = Home::new() else { return };
    let [here, there] = [open(&home, &Hints::Notify), open(&home, &Hints::Notify)];
    let (found, tail) = begun(&here, &there, "t").await;
    // The first may be told before anyone listens: then it is found by the look that follows.
    here.append(Append::new(thread("t"), vec![event("warm")])).await.unwrap();
    reached(&tail, 2).await;
    let mut took = Vec::new();
    for n in 3..33 {
        let began = Instant::now();
        here.append(Append::new(thread("t"), vec![event(&n.to_string())])).await.unwrap();
        reached(&tail, n).await;
        took.push(began.elapsed());
        // From memory: what was heard of was read once, for all.
        assert!(tail.entries(n - 1, usize::MAX).is_some_and(|entries| entries.len() == 1));
    }
    took.sort_unstable();
    assert!(took[took.len() / 2] < Duration::from_millis(300), "{took:?}");
    assert_eq!(read(&there, &found, &tail, 0).len(), 32);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_misses_nothing_where_no_hint_comes() {
    let Some(home) = Home::new() else { return };
    for hints in [Hints::Never, Hints::Poll] {
        let [here, there] = [open(&home, &hints), open(&home, &hints)];
        let id = format!("{hints:?}");
        let (found, tail) = begun(&here, &there, &id).await;
        let began = Instant::now();
        for name in ["b", "c"] {
            here.append(Append::new(thread(&id), vec![event(name)])).await.unwrap();
        }
        reached(&tail, 3).await;
        let took = began.elapsed();
        assert!(took < Duration::from_secs(5), "{hints:?}: {took:?}");
        let seqs: Vec<u64> = read(&there, &found, &tail, 1).iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, [2, 3]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_and_new_names_are_seen_on_other_nodes() {
    let Some(home) = Home::new() else { return };
    for hints in [Hints::Notify, Hints::Never] {
        let [here, there] = [open(&home, &hints), open(&home, &hints)];
        let name = |id: &str| format!("{id} {hints:?}");
        let (_, gone) = begun(&here, &there, &name("gone")).await;
        let (_, erased) = begun(&here, &there, &name("erased")).await;
        let (main, old) = begun(&here, &there, &name("main")).await;
        let branch = Append::new(thread(&name("branch")), vec![event("other")])
            .creating(Create::Branch { from: main.clone(), at: 1 });
        let branch = here.append(branch).await.unwrap().thread;
        let own = there.tail(&branch).unwrap();
        here.delete(thread(&name("gone"))).await.unwrap();
        here.erase(Erase {
            thread: thread(&name("erased")),
            branches: Branches::Stay,
            by: "u".into(),
            reason: None,
        })
        .await
        .unwrap();
        let promoted = here
            .promote(Promote {
                branch: thread(&name("branch")),
                parent: thread(&name("main")),
                old: thread(&name("was")),
                told: Draft::new(r#"{"kind":"system","name":"promoted"}"#),
                told_old: Draft::new(r#"{"kind":"system","name":"replaced"}"#),
            })
            .await
            .unwrap();
        // By its new name it is there before the old tails know.
        let new = there.tail(&promoted.thread).unwrap();
        assert_eq!(ended(&gone).await, Some(End::Deleted));
        assert_eq!(ended(&erased).await, Some(End::Deleted));
        assert_eq!(ended(&old).await, Some(End::Renamed));
        assert_eq!(ended(&own).await, Some(End::Renamed));
        assert_eq!(there.tail(&branch).unwrap().ended(), Some(End::Renamed));
        here.append(Append::new(thread(&name("main")), vec![event("more")])).await.unwrap();
        reached(&new, promoted.head + 1).await;
        assert_eq!(new.ended(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_redacted_on_another_node_is_held_no_more() {
    let Some(home) = Home::new() else { return };
    for hints in [Hints::Notify, Hints::Never] {
        let [here, there] = [open(&home, &hints), open(&home, &hints)];
        let id = format!("{hints:?}");
        let (found, tail) = begun(&here, &there, &id).await;
        let said = r#"{"kind":"message","author":"u","content":"a secret"}"#;
        // Written on the node that reads it, and so in its memory.
        there.append(Append::new(thread(&id), vec![Draft::new(said)])).await.unwrap();
        let (_, branch) = {
            let made = Append::new(thread(&format!("b{id}")), vec![event("b")])
                .creating(Create::Branch { from: found.clone(), at: 2 });
            let made = there.append(made).await.unwrap().thread;
            let tail = there.tail(&made).unwrap();
            (made, tail)
        };
        assert!(read(&there, &found, &tail, 1)[0].1.contains("secret"));
        let redact = Redact {
            thread: thread(&id),
            events: vec![2],
            by: "u".into(),
            reason: None,
            timestamp: "2026-01-01T00:00:00Z".into(),
        };
        here.redact(redact).await.unwrap();
        for tail in [&tail, &branch] {
            let mut edge = tail.watch();
            let waited = timeout(PATIENCE, edge.wait_for(|edge| edge.rewritten > 0)).await;
            waited.expect("it is told in time").unwrap();
        }
        reached(&tail, 3).await;
        let left = read(&there, &found, &tail, 1);
        assert_eq!(left.len(), 2);
        assert!(!left.iter().any(|(_, event)| event.contains("secret")), "{left:?}");
        // Told once, however often it is looked at.
        tokio::time::sleep(Duration::from_millis(1200)).await;
        assert_eq!(tail.rewritten(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_folded_on_another_node_is_held_no_more() {
    let Some(home) = Home::new() else { return };
    let [here, there] = [open(&home, &Hints::Notify), open(&home, &Hints::Notify)];
    let (found, tail) = begun(&here, &there, "t").await;
    let pieces = ["one ", "two ", "three"].map(|piece| {
        Draft::new(format!(
            r#"{{"kind":"content-delta","taskId":"k","partId":"p","delta":"{piece}"}}"#
        ))
    });
    let whole = Draft::new(
        r#"{"kind":"content-complete","taskId":"k","partId":"p","content":"one two three"}"#,
    );
    let all: Vec<Draft> = pieces.into_iter().chain([whole]).collect();
    there.append(Append::new(thread("t"), all)).await.unwrap();
    here.settle().await.unwrap();
    let mut folded = 0;
    loop {
        let step = here.fold_before(i64::MAX).await.unwrap();
        folded += step.entries;
        if !step.more {
            break;
        }
    }
    assert!(folded > 0);
    let mut edge = tail.watch();
    let waited = timeout(PATIENCE, edge.wait_for(|edge| edge.rewritten > 0)).await;
    waited.expect("it is told in time").unwrap();
    let left = read(&there, &found, &tail, 1);
    assert!(left.len() < 4, "{left:?}");
    assert_eq!(left.last().unwrap().0, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_on_all_nodes_see_the_journal_whoever_writes() {
    let Some(home) = Home::new() else { return };
    for hints in [Hints::Notify, Hints::Never] {
        let nodes: Vec<Store> = (0..3).map(|_| open(&home, &hints)).collect();
        let id = format!("{hints:?}");
        let (found, _) = begun(&nodes[0], &nodes[1], &id).await;
        const WRITERS: u64 = 9;
        const EACH: u64 = 25;
        let all = 1 + WRITERS * EACH;
        let readers: Vec<_> = nodes
            .iter()
            .map(|node| {
                let (node, found) = (node.clone(), found.clone());
                tokio::spawn(async move {
                    let tail = node.tail(&found).unwrap();
                    let (mut edge, mut seen) = (tail.watch(), Vec::new());
                    loop {
                        let last = seen.last().map_or(0, |(seq, _)| *seq);
                        if last == all {
                            return seen;
                        }
                        let waited = edge.wait_for(|edge| edge.head > last);
                        timeout(PATIENCE, waited).await.expect("there is more in time").unwrap();
                        let (node, found, tail) = (node.clone(), found.clone(), tail.clone());
                        let more =
                            tokio::task::spawn_blocking(move || read(&node, &found, &tail, last));
                        seen.extend(more.await.unwrap());
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (node, id) = (nodes[writer as usize % 3].clone(), id.clone());
                tokio::spawn(async move {
                    for n in 0..EACH {
                        let append =
                            Append::new(thread(&id), vec![event(&format!("{writer}-{n}"))]);
                        node.append(append).await.unwrap();
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        let page = nodes[0].read(&found, 0, usize::MAX, usize::MAX).unwrap();
        let journal: Vec<(u64, String)> = page
            .entries
            .iter()
            .map(|entry| (entry.seq, String::from_utf8(entry.event.to_vec()).unwrap()))
            .collect();
        assert_eq!(journal.len() as u64, all);
        for reader in readers {
            assert_eq!(reader.await.unwrap(), journal);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_listens_is_back_after_it_was_cut_off() {
    let Some(home) = Home::new() else { return };
    let [here, there] = [open(&home, &Hints::Notify), open(&home, &Hints::Notify)];
    let (_, tail) = begun(&here, &there, "t").await;
    for round in 2..5 {
        home.cut_off();
        let append = Append::new(thread("t"), vec![event("x")]);
        let append = append.keyed(selvedge_store::Key { text: round.to_string(), digest: [0; 32] });
        while here.append(append.clone()).await.is_err() {}
        reached(&tail, round).await;
    }
    // And hears again, rather than looks.
    let listens = || home.count("pg_stat_activity WHERE query LIKE 'LISTEN %selvedge%'");
    let began = Instant::now();
    while listens() < 2 {
        assert!(began.elapsed() < PATIENCE, "nobody listens");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A service of the tests' own, stopped at the end.
struct Running {
    child: std::process::Child,
    url: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a program that listens on a free port; none, and that told, if it is not installed.
fn start(name: &str, program: &str, arguments: &[&str]) -> Option<Running> {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut command = std::process::Command::new(program);
    command.args(arguments).arg(port.to_string());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let Ok(child) = command.spawn() else {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "\nskipped: hints by {name}: no {program} here");
        return None;
    };
    let running = Running { child, url: format!("{name}://127.0.0.1:{port}") };
    let began = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < PATIENCE, "{program} does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(running)
}

#[tokio::test(flavor = "multi_thread")]
async fn other_services_carry_hints_and_may_go_and_come_again() {
    let Some(home) = Home::new() else { return };
    let redis = ["--bind", "127.0.0.1", "--save", "", "--port"];
    let nats = ["-a", "127.0.0.1", "-p"];
    for (name, program, arguments) in
        [("redis", "redis-server", &redis[..]), ("nats", "nats-server", &nats[..])]
    {
        let Some(running) = start(name, program, arguments) else { continue };
        let hints: Hints = running.url.parse().unwrap();
        let [here, there] = [open(&home, &hints), open(&home, &hints)];
        let (_, tail) = begun(&here, &there, name).await;
        // Once both are connected, hints come sooner than the next look; most of them, that is.
        let mut head = 1;
        let mut quick = 0;
        for _ in 0..12 {
            let began = Instant::now();
            here.append(Append::new(thread(name), vec![event("x")])).await.unwrap();
            head += 1;
            reached(&tail, head).await;
            quick += usize::from(began.elapsed() < Duration::from_millis(200));
        }
        assert!(quick > 6, "{name}: only {quick} of 12 came sooner than a look");
        drop(running);
        here.append(Append::new(thread(name), vec![event("without")])).await.unwrap();
        reached(&tail, head + 1).await;
    }
}
