//! Streams through a proxy that cuts connections anywhere, also inside a frame: readers who resume
//! see the same as those who were never cut.

pub(crate) mod proxy;

use std::sync::atomic::Ordering;
use std::time::Duration;

use self::proxy::proxy;
use crate::site::{Site, http};

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
    let (proxy, cuts) = proxy(site.url.trim_start_matches("http://").to_owned(), 300..4301).await;
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
