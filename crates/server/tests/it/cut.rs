//! Streams through a proxy that cuts connections anywhere, also inside a frame: readers who resume
//! see the same as those who were never cut.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::site::{Site, http};

/// Listens, and passes on some bytes of every answer before it cuts the connection.
async fn proxy(upstream: String) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let cuts = Arc::new(AtomicU64::new(0));
    let counted = cuts.clone();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let upstream = upstream.clone();
            let nth = counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut server = TcpStream::connect(upstream).await.unwrap();
                let (mut from, mut to) = server.split();
                let (mut asks, mut answers) = client.split();
                // Somewhere in the first kilobytes, each time elsewhere.
                let mut left = 300 + (nth * 7919 + 13) % 4001;
                let mut up = [0; 4096];
                let mut down = [0; 512];
                loop {
                    tokio::select! {
                        n = asks.read(&mut up) => match n {
                            Ok(n) if n > 0 => to.write_all(&up[..n]).await.unwrap(),
                            _ => return,
                        },
                        n = from.read(&mut down) => match n {
                            Ok(n) if n > 0 => {
                                let n = n.min(left as usize);
                                left -= n as u64;
                                if answers.write_all(&down[..n]).await.is_err() || left == 0 {
                                    return;
                                }
                            }
                            _ => return,
                        },
                    }
                }
            });
        }
    });
    (address, cuts)
}

/// Follows until so many events were shown, connecting again after every cut.
async fn follow(url: String, count: usize) -> Vec<String> {
    let client = http();
    let mut shown = Vec::new();
    let mut last: Option<String> = None;
    while shown.len() < count {
        let mut request = client.get(&url);
        if let Some(last) = &last {
            request = request.header("Last-Event-ID", last);
        }
        let Ok(mut response) = request.send().await else { continue };
        let mut text = Vec::new();
        while shown.len() < count
            && let Ok(Some(piece)) = response.chunk().await
        {
            text.extend_from_slice(&piece);
            while let Some(end) = text.windows(2).position(|two| two == b"\n\n") {
                let rest = text.split_off(end + 2);
                let frame = String::from_utf8(std::mem::replace(&mut text, rest)).unwrap();
                let field = |name: &str| frame.lines().find_map(|l| l.strip_prefix(name));
                if let Some(id) = field("id: ") {
                    last = Some(id.to_owned());
                    if let Some(data) = field("data: ") {
                        shown.push(data.to_owned());
                    }
                }
            }
        }
    }
    shown.truncate(count);
    shown
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_readers_see_what_others_see() {
    const EVENTS: usize = 300;
    let site = Site::start().await;
    site.thread("t").await;
    let (proxy, cuts) = proxy(site.url.trim_start_matches("http://").to_owned()).await;
    let mut readers = Vec::new();
    for (view, count) in [("", EVENTS + 3), ("?dialect=ai-sdk-stream", EVENTS + 4)] {
        for _ in 0..4 {
            let path = format!("/api/threads/t/stream{view}");
            let direct = tokio::spawn(follow(format!("{}{path}", site.url), count));
            let cut = tokio::spawn(follow(format!("http://{proxy}{path}"), count));
            readers.push((view, direct, cut));
        }
    }
    let created = r#"{"kind":"task-created","taskId":"k","initiator":"user"}"#;
    site.post("/api/threads/t/events", created).await;
    for n in 0..EVENTS {
        let text = format!("{n} – déjà vu 🧵 {}", "x".repeat(n % 90));
        let event = format!("{{\"kind\":\"content-delta\",\"taskId\":\"k\",\"delta\":\"{text}\"}}");
        let (status, answer) = site.post("/api/threads/t/events", event).await;
        assert_eq!(status.as_u16(), 200, "{answer}");
    }
    site.post("/api/threads/t/events", r#"{"kind":"task-complete","taskId":"k"}"#).await;
    for (view, direct, cut) in readers {
        let wait = |task| tokio::time::timeout(Duration::from_secs(60), task);
        let direct = wait(direct).await.expect("the direct reader is done").unwrap();
        let cut = wait(cut).await.expect("the cut reader is done").unwrap();
        let same = cut.iter().zip(&direct).take_while(|(cut, direct)| cut == direct).count();
        assert_eq!(cut.get(same..), direct.get(same..), "{view}: differs after {same}");
    }
    let cuts = cuts.load(Ordering::Relaxed);
    assert!(cuts > 100, "only {cuts} connections were cut");
}
