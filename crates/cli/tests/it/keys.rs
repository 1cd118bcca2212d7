//! Keys on the command line, and the server that heeds them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::{Client, StatusCode};

use crate::{Folder, selvedge};

/// A running server; it is killed when dropped.
struct Server(Child);

impl Server {
    fn start(args: &[&str]) -> (Self, String, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_selvedge"))
            .arg("serve")
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.next().unwrap().unwrap().rsplit(' ').next().unwrap().to_owned();
        let who = lines.next().unwrap().unwrap();
        (Self(child), url, who)
    }

    /// Stops it and gives its log.
    fn log(mut self) -> String {
        self.0.kill().unwrap();
        let mut log = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        log
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn add(db: &str, scopes: &str) -> String {
    let run = selvedge(&[
        "keys", "add", "--db", db, "--tenant", "acme", "--scope", scopes, "--name", "n",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("shown this once"), "{}", run.stderr);
    run.stdout.trim_end().to_owned()
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let folder = Folder::new("keys");
    let db = &folder.path("s.db");
    let (one, two) = (add(db, "write,read"), add(db, "operator"));
    assert!(one.starts_with("sk_") && one != two, "{one}");
    let list = selvedge(&["keys", "list", "--db", db]).stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 3, "{list}");
    assert!(lines[1].contains("read,write") && lines[1].ends_with("valid"), "{list}");
    assert!(!list.contains("sk_") && !list.contains(&one[3..]), "{list}");
    let id = lines[1].split(' ').next().unwrap();
    let run = selvedge(&["keys", "revoke", id, "--db", db]);
    assert_eq!((run.code, run.stdout), (Some(0), format!("revoked {id} (n)\n")));
    let list = selvedge(&["keys", "list", "--db", db]).stdout;
    assert!(list.lines().nth(1).unwrap().contains("revoked 20"), "{list}");

    let run = selvedge(&["keys", "revoke", "none", "--db", db]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("key `none` not found"), "{}", run.stderr);
    for (name, value) in
        [("--scope", "all"), ("--expires", "soon"), ("--expires", "0d"), ("--tenant", "")]
    {
        let mut args = vec!["keys", "add", "--db", db, name, value];
        for (other, value) in [("--scope", "read"), ("--tenant", "a"), ("--name", "n")] {
            if other != name {
                args.extend([other, value]);
            }
        }
        let run = selvedge(&args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{name} {value}");
    }
    assert_eq!(selvedge(&["keys", "list", "--db", db]).stdout.lines().count(), 3);
}

#[tokio::test]
async fn only_with_a_key_does_it_listen_to_other_machines() {
    let folder = Folder::new("exposed");
    let db = &folder.path("s.db");
    let run = selvedge(&["serve", "--listen", "0.0.0.0:0", "--db", db]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("there are no keys"), "{}", run.stderr);
    assert!(run.stderr.contains("selvedge keys add"), "{}", run.stderr);
    assert!(folder.names().is_empty(), "nothing was made");
    let key = add(db, "read,write");
    let (_server, url, who) = Server::start(&["--listen", "0.0.0.0:0", "--db", db]);
    assert!(who.contains("every request needs a key"), "{who}");
    let url = format!("{}/api/threads/none", url.replace("0.0.0.0", "127.0.0.1"));
    let client = Client::new();
    assert_eq!(client.get(&url).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let known = client.get(&url).bearer_auth(&key).send().await.unwrap();
    assert_eq!(known.status(), StatusCode::NOT_FOUND);
    // Another process revokes it.
    let list = selvedge(&["keys", "list", "--db", db]).stdout;
    let id = list.lines().nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(selvedge(&["keys", "revoke", id, "--db", db]).code, Some(0));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let gone = client.get(&url).bearer_auth(&key).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_log_is_json_and_has_no_secrets() {
    let folder = Folder::new("log");
    let db = &folder.path("s.db");
    let key = add(db, "read");
    let args = ["--listen", "127.0.0.1:0", "--db", db, "--log", "json", "--log-level", "debug"];
    let (server, url, _) = Server::start(&args);
    let client = Client::new();
    let url = format!("{url}/api/threads/none?access_token={key}");
    for request in [client.get(&url), client.get(&url).bearer_auth(&key)] {
        let request = request.header("x-request-id", "r-1");
        assert_eq!(request.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    }
    let log = server.log();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answered: Vec<_> = lines.iter().filter(|line| line["message"] == "answered").collect();
    assert_eq!(answered.len(), 2, "{log}");
    for line in answered {
        assert_eq!((&line["request"], &line["status"]), (&"r-1".into(), &404.into()));
        assert_eq!(
            (&line["path"], &line["code"]),
            (&"/api/threads/none".into(), &"not_found".into())
        );
        assert!(line["caller"].as_str().unwrap().len() == 12, "{line}");
    }
    assert!(!log.contains(&key[3..]), "{log}");
}
