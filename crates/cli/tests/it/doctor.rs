//! What stands between a client and a good stream is named.

use std::io::{Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::selvedge;
use crate::server::Server;

/// A proxy that holds streams back, as one does that fills a buffer first. Gives its URL.
fn buffering(upstream: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let upstream = upstream.trim_start_matches("http://").to_owned();
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = TcpStream::connect(&upstream).unwrap();
            let (mut asks, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut asks, &mut to));
            thread::spawn(move || pass(server, client));
        }
    });
    format!("http://{address}")
}

fn pass(mut server: TcpStream, mut client: TcpStream) {
    let mut piece = [0; 4096];
    let mut held = false;
    while let Ok(n @ 1..) = server.read(&mut piece) {
        let bytes = &piece[..n];
        let text = String::from_utf8_lossy(bytes);
        if !held && text.contains("content-type: text/event-stream") {
            held = true;
            let head = text.find("\r\n\r\n").unwrap() + 4;
            client.write_all(&bytes[..head]).unwrap();
        } else if !held && client.write_all(bytes).is_err() {
            return;
        }
    }
}

#[test]
fn a_good_way_is_told_from_one_that_holds_streams_back() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("s.db");
    let server = Server::start(&db);
    let good = selvedge(&["doctor", "--url", &server.url, "--db", db.to_str().unwrap()]);
    assert_eq!(good.code, Some(0), "{}{}", good.stdout, good.stderr);
    for what in ["server", "version", "clock", "stream", "lag"] {
        let line = good.stdout.lines().find(|line| line.contains(&format!(" {what} ")));
        assert!(line.is_some_and(|line| line.starts_with("ok ")), "{what}: {}", good.stdout);
    }
    assert!(good.stdout.contains("20 events came back one by one"), "{}", good.stdout);
    assert!(good.stdout.contains("a sync takes "), "{}", good.stdout);
    assert!(good.stdout.contains("open files"), "{}", good.stdout);

    let bad = selvedge(&["doctor", "--url", &buffering(&server.url)]);
    assert_eq!(bad.code, Some(1), "{}{}", bad.stdout, bad.stderr);
    let line = bad.stdout.lines().find(|line| line.contains(" stream ")).unwrap();
    assert!(line.starts_with("fail ") && line.contains("did not come back"), "{}", bad.stdout);
    assert!(bad.stdout.contains("proxy_buffering off"), "{}", bad.stdout);
    assert_eq!(selvedge(&["threads", "--url", &server.url]).stdout, "", "nothing is left behind");

    let url = server.url.clone();
    server.kill();
    let gone = selvedge(&["doctor", "--url", &url, "--db", "/nowhere/s.db"]);
    assert_eq!(gone.code, Some(1));
    assert!(gone.stdout.contains("fail server") && gone.stdout.contains("selvedge serve"));
    assert!(gone.stdout.contains("fail disk"), "{}", gone.stdout);
}

#[test]
fn without_the_right_to_write_the_stream_is_not_tried() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("s.db");
    let name = db.to_str().unwrap();
    let key = selvedge(&[
        "keys", "add", "--db", name, "--tenant", "acme", "--scope", "read", "--name", "n",
    ])
    .stdout;
    let server = Server::start(&db);
    let run = selvedge(&["doctor", "--url", &server.url, "--key", key.trim()]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let line = run.stdout.lines().find(|line| line.contains(" stream ")).unwrap();
    assert!(line.starts_with("warn ") && line.contains("scope `write`"), "{}", run.stdout);
}
