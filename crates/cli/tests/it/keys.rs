//! Keys on the command line, and the server that heeds them.

use std::time::{Duration, Instant};

use reqwest::StatusCode;

use crate::server::{Server, http};
use crate::{Folder, selvedge};

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
    let server = Server::start_with(&["--listen", "0.0.0.0:0", "--db", db]);
    assert!(server.who.contains("every request needs a key"), "{}", server.who);
    let url = format!("{}/api/threads/none", server.url.replace("0.0.0.0", "127.0.0.1"));
    let client = http();
    assert_eq!(client.get(&url).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let known = client.get(&url).bearer_auth(&key).send().await.unwrap();
    assert_eq!(known.status(), StatusCode::NOT_FOUND);
    // Another process revokes it.
    let list = selvedge(&["keys", "list", "--db", db]).stdout;
    let id = list.lines().nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(selvedge(&["keys", "revoke", id, "--db", db]).code, Some(0));
    let began = Instant::now();
    loop {
        let gone = client.get(&url).bearer_auth(&key).send().await.unwrap();
        if gone.status() == StatusCode::UNAUTHORIZED {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{}", gone.status());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn the_log_is_json_and_has_no_secrets() {
    let folder = Folder::new("log");
    let db = &folder.path("s.db");
    let key = add(db, "read");
    let args = ["--listen", "127.0.0.1:0", "--db", db, "--log", "json", "--log-level", "debug"];
    let server = Server::start_with(&args);
    let client = http();
    let url = format!("{}/api/threads/none?access_token={key}", server.url);
    for request in [client.get(&url), client.get(&url).bearer_auth(&key)] {
        let request = request.header("x-request-id", "r-1");
        assert_eq!(request.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    }
    let log = server.kill();
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
