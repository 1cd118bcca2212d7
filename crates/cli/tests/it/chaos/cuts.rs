//! Many readers behind a proxy that cuts connections anywhere, who also leave by themselves: each
//! sees what an undisturbed reader sees, byte for byte.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reqwest::Client;

use super::follow::{Patience, Reader, Scene, whole};
use super::proxy::proxy;
use super::{Place, Plan, Random, Report, start, thread};

const VIEWS: [&str; 3] = ["", "?dialect=ai-sdk-stream", "?dialect=ag-ui"];
/// Bytes that come through a connection before it is cut.
const CONNECTION: Range<u64> = 300..40_000;
/// Time between two events: readers, proxy and server share the machine.
const PACE: Duration = Duration::from_millis(25);

pub(super) async fn run(plan: &Plan, mut random: Random, client: &Client, report: &mut Report) {
    let place = Place::new("cuts", report);
    let server = start(&place.db());
    thread(client, &server.url, "t").await;
    let upstream = server.url.trim_start_matches("http://").to_owned();
    let (address, cuts) = proxy(upstream, CONNECTION).await;
    let behind = Scene::new(client, &format!("http://{address}"));
    let readers: Vec<_> = (0..plan.readers)
        .map(|n| {
            let path = format!("/api/threads/t/stream{}", VIEWS[n % VIEWS.len()]);
            Reader::spawn(&behind, path, Patience::Random(random.other()))
        })
        .collect();
    let post = async |event: String| {
        let url = format!("{}/api/threads/t/events", server.url);
        let answer = client.post(url).body(event).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 200, "{}", answer.text().await.unwrap());
    };
    post(r#"{"kind":"task-created","taskId":"k","initiator":"user"}"#.to_owned()).await;
    let (began, mut events) = (Instant::now(), 0_u64);
    while began.elapsed() < plan.time {
        let text = format!("{events} – déjà vu 🧵 {}", "x".repeat(random.below(90) as usize));
        post(format!("{{\"kind\":\"content-delta\",\"taskId\":\"k\",\"delta\":\"{text}\"}}")).await;
        events += 1;
        if events % 400 == 0 {
            let cuts = cuts.load(Ordering::Relaxed);
            eprintln!("    {events} events, {cuts} connections, {} s", began.elapsed().as_secs());
        }
        tokio::time::sleep(PACE).await;
    }
    post(r#"{"kind":"task-complete","taskId":"k"}"#.to_owned()).await;
    // The last connections of all must come through, however short the proxy likes them.
    behind.moved(&server.url);
    behind.end();
    let direct = Scene::new(client, &server.url);
    direct.end();
    let mut all = HashMap::new();
    for view in VIEWS {
        let path = format!("/api/threads/t/stream{view}");
        let shown = whole(&direct, &path, report).await;
        all.insert(path, shown);
    }
    let (mut same, mut shown) = (0, 0);
    for reader in readers {
        if let Some(whole) = &all[&reader.path]
            && let Some(seen) = reader.judge(whole, report).await
        {
            (same, shown) = (same + 1, shown + seen);
        }
    }
    let (cuts, resumed) = (cuts.load(Ordering::Relaxed), behind.resumed.load(Ordering::Relaxed));
    if resumed <= plan.readers as u64 {
        report.unjudged(&format!("only {resumed} came again: too slow to try anything"));
    }
    report.tried(format!(
        "cuts: {same} of {} readers in {} views saw {events} events as undisturbed readers do, in \
         {} s and through {cuts} connections ({resumed} resumptions, {shown} events shown)",
        plan.readers,
        VIEWS.len(),
        began.elapsed().as_secs(),
    ));
    server.kill();
    place.done(report);
}
