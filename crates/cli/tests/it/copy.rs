//! A store is moved between a file and a database, whatever happens on the way.

use std::process::{Command, Stdio};
use std::time::Duration;

use selvedge_store::{Append, Create, Draft, Options, Store, ThreadKey};

use crate::database::{database, sql};
use crate::server::{Server, http};
use crate::{Folder, Run, selvedge};

const THREADS: usize = 200;
const APPENDS: usize = 80;

/// A store with many threads, of so many appends of two events each.
fn filled(path: &str, appends: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(std::path::Path::new(path), Options::default()).unwrap();
        let writers = (0..THREADS).map(|thread| {
            let store = store.clone();
            tokio::spawn(async move {
                for i in 0..appends {
                    let text =
                        format!(r#"{{"kind":"message","content":"word{i} {}"}}"#, "x".repeat(200));
                    let events = vec![Draft::new(text.clone()), Draft::new(text)];
                    let key = ThreadKey::new("default", format!("t{thread}"));
                    let append = Append::new(key, events).creating(Create::IfMissing);
                    store.append(append).await.unwrap();
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        store.settle().await.unwrap();
    });
}

fn copy(from: &str, to: &str) -> Run {
    selvedge(&["copy", "--from", from, "--to", to, "--journal-only"])
}

/// The digest that a copy has told.
fn digest(run: &Run) -> String {
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let digest = run.stdout.split("digest ").nth(1).expect("a digest");
    digest.split_whitespace().next().unwrap().to_owned()
}

/// Runs a copy and kills it after a while; whether that came in time.
fn killed(from: &str, to: &str, after: Duration) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(["copy", "--from", from, "--to", to, "--journal-only"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let is_over = child.try_wait().unwrap().is_some();
    let _ = child.kill();
    child.wait().unwrap();
    !is_over
}

/// Kills a copy again and again until one gets through.
fn in_spite_of_kills(from: &str, to: &str) -> Run {
    let mut kills = 0;
    for after in (20..).step_by(120).map(Duration::from_millis) {
        if !killed(from, to, after) {
            break;
        }
        kills += 1;
    }
    assert!(kills > 2, "it was killed {kills} times only");
    copy(from, to)
}

#[test]
fn killed_at_any_moment_it_goes_on_and_nothing_is_lost_or_twice() {
    let Some(url) = database() else { return };
    let folder = Folder::new("copy-killed");
    let (from, back, plain) = (folder.path("s.db"), folder.path("back.db"), folder.path("p.db"));
    filled(&from, APPENDS);
    let wanted = digest(&copy(&from, &plain));
    assert_eq!(digest(&in_spite_of_kills(&from, &url)), wanted);
    assert_eq!(sql(&url, "SELECT count(*) FROM journal"), (THREADS * APPENDS).to_string());
    assert_eq!(digest(&in_spite_of_kills(&url, &back)), wanted);
    assert_eq!(folder.names().iter().filter(|name| name.contains("copying")).count(), 0);
}

#[test]
fn readers_go_on_with_their_cursors_and_exports_are_the_same_bytes() {
    let Some(url) = database() else { return };
    let folder = Folder::new("copy-cursors");
    let (from, back) = (folder.path("s.db"), folder.path("back.db"));
    filled(&from, 3);
    let told = selvedge(&["copy", "--from", &from, "--to", &url]);
    assert_eq!(told.code, Some(0), "{}{}", told.stdout, told.stderr);
    assert!(told.stdout.contains("200 threads, 1200 events in 600 appends"), "{}", told.stdout);
    assert!(told.stdout.ends_with("lists, inbox, usage and search are made\n"), "{}", told.stdout);
    let back_run = selvedge(&["copy", "--from", &url, "--to", &back]);
    assert_eq!(digest(&back_run), digest(&told));
    let mut seen = Vec::new();
    let mut cursor = None;
    for place in [["--db", &from], ["--store", &url], ["--db", &back]] {
        let server = Server::start_with(&["--listen", "127.0.0.1:0", place[0], place[1]]);
        let get = |path: String| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let answer = http().get(format!("{}{path}", server.url)).send().await.unwrap();
                assert!(answer.status().is_success(), "{path}: {}", answer.status());
                answer.text().await.unwrap()
            })
        };
        let shown: serde_json::Value =
            serde_json::from_str(&get("/api/threads/t7".into())).unwrap();
        let now = shown["cursor"].as_str().unwrap().replace(".6", ".4");
        let cursor = cursor.get_or_insert(now);
        let page = get(format!("/api/threads/t7/events?after={cursor}"));
        assert!(page.contains("\"seq\":5") && !page.contains("\"seq\":4"), "{page}");
        let listed = get("/api/threads?limit=500".into());
        let found = get("/api/search?q=word1&limit=500".into());
        let archive = selvedge(&["export", "t7", "--archive", "--url", &server.url]).stdout;
        let verified = selvedge(&["verify", "t7", "t8", "--url", &server.url]).stdout;
        seen.push((page, listed, found, archive, verified));
    }
    assert_eq!(seen[1], seen[0]);
    assert_eq!(seen[2], seen[0]);
}

#[test]
fn what_a_killed_server_has_acknowledged_comes_along() {
    let folder = Folder::new("copy-crashed");
    let (from, to) = (folder.path("s.db"), folder.path("to.db"));
    let server = Server::start(from.as_ref());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = http();
        let post = async |path: &str, body: &'static str| {
            let answer = client.post(format!("{}{path}", server.url)).body(body).send().await;
            assert!(answer.unwrap().status().is_success());
        };
        post("/api/threads", r#"{"id":"t"}"#).await;
        for _ in 0..30 {
            post("/api/threads/t/events", r#"{"kind":"message","role":"user","content":"x"}"#)
                .await;
        }
    });
    server.kill();
    let told = copy(&from, &to);
    assert!(told.stdout.contains("1 threads, 31 events in 31 appends"), "{told:?}");
}

#[test]
fn what_cannot_be_copied_is_told_with_what_to_do() {
    let Some(url) = database() else { return };
    let folder = Folder::new("copy-refused");
    let (from, other) = (folder.path("s.db"), folder.path("other.db"));
    filled(&from, 1);
    filled(&other, 2);
    let refused = |run: Run, wanted: &[&str]| {
        assert_eq!(run.code, Some(2), "{}{}", run.stdout, run.stderr);
        for wanted in wanted {
            assert!(run.stderr.contains(wanted), "{wanted}: {}", run.stderr);
        }
    };
    // Half a copy, as a server has the source.
    let server = Server::start(from.as_ref());
    let half = copy(&from, &url);
    assert_eq!(half.code, Some(1), "{}{}", half.stdout, half.stderr);
    assert!(half.stdout.contains("stop it, then run the same command again"), "{}", half.stdout);
    let serve = selvedge(&["serve", "--listen", "127.0.0.1:0", "--store", &url]);
    refused(serve, &["is not complete", "run the `selvedge copy` that was begun again"]);
    refused(copy(&other, &url), &["was begun", "`--anew`"]);
    drop(server);
    assert_eq!(digest(&copy(&from, &url)), digest(&copy(&from, &url)), "and again is no harm");
    refused(copy(&other, &url), &["holds something else", "an empty database"]);
    refused(copy(&from, &other), &["holds something else"]);
    refused(copy(&folder.path("none.db"), &url), &["could not find"]);
    let secret = copy(&from, "mysql://u:hush@db/x");
    refused(secret, &["begin with postgres://"]);
    let server = Server::start_with(&["--listen", "127.0.0.1:0", "--store", &url]);
    let server_there = copy(&url, &folder.path("x.db"));
    assert_eq!(server_there.code, Some(1), "{}", server_there.stderr);
    drop(server);
    // The nodes' connections end with them; then it can be completed.
    let done = copy(&url, &folder.path("x.db"));
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
}
