//! Three nodes over one PostgreSQL behind a proxy, in the place of one server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::postgres::Postgres;
use crate::server::Server;

/// How many nodes there are.
const NODES: usize = 3;

/// For all tests together: each has a database of its own in it.
static POSTGRES: LazyLock<Postgres> = LazyLock::new(|| Postgres::start(600));

/// Whether there are to be nodes.
pub(super) fn is_asked_for() -> bool {
    std::env::var_os("SELVEDGE_SURFACES_CLUSTER").is_some()
}

/// Starts nodes over a database of their own.
pub(super) fn start(args: &[&str], folder: &Path) -> Vec<Server> {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let url = POSTGRES.make(&format!("surface_{}", MADE.fetch_add(1, Ordering::Relaxed)));
    // What one of them seals the others open.
    let secret = folder.join("secret");
    std::fs::write(&secret, "a secret of a test, which is long enough").unwrap();
    let shared = ["--store", &url, "--secret-file", secret.to_str().unwrap()];
    let nodes = (0..NODES).map(|_| Server::start_with(&[args, &shared].concat()));
    nodes.collect()
}

/// Gives every request to the next node; where it listens.
pub(super) fn proxy(first: &Server, others: &[Server]) -> String {
    let host = |node: &Server| node.url.trim_start_matches("http://").to_owned();
    let nodes: Vec<String> = std::iter::once(first).chain(others).map(host).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (client, node) in listener.incoming().zip(nodes.iter().cycle()) {
            let (Ok(client), node) = (client, node.clone()) else { continue };
            thread::spawn(move || pass(client, &node));
        }
    });
    format!("http://{address}")
}

/// Passes one request on. Its connection ends with the answer, so that the next comes to another
/// node.
fn pass(mut client: TcpStream, node: &str) -> Option<()> {
    let mut head = Vec::new();
    let end = loop {
        if let Some(at) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at;
        }
        let mut bytes = [0; 4096];
        let n = client.read(&mut bytes).ok().filter(|n| *n > 0)?;
        head.extend_from_slice(&bytes[..n]);
    };
    let (lines, body) = head.split_at(end);
    let lines = String::from_utf8_lossy(lines).into_owned();
    let kept = lines.split("\r\n").filter(|line| !line.to_lowercase().starts_with("connection:"));
    let kept: Vec<&str> = kept.chain(["connection: close"]).collect();
    let mut server = TcpStream::connect(node).ok()?;
    server.write_all(kept.join("\r\n").as_bytes()).ok()?;
    server.write_all(body).ok()?;
    let (mut asks, mut takes) = (client.try_clone().ok()?, server.try_clone().ok()?);
    thread::spawn(move || {
        let _ = std::io::copy(&mut asks, &mut takes);
        // Whoever leaves is seen to have left.
        let _ = takes.shutdown(Shutdown::Both);
    });
    let _ = std::io::copy(&mut server, &mut client);
    let _ = client.shutdown(Shutdown::Both);
    Some(())
}
