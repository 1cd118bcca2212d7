//! The resume contract: on every view, a resumed stream is exactly the suffix.

use serde_json::json;

use crate::site::{Frame, Frames, Site};

/// A conversation with two tasks, a subtask, thoughts of each verbosity, and something internal.
const EVENTS: &str = r#"{"kind":"participant-joined","participantId":"ann","role":"user"}
{"kind":"message","role":"user","author":"ann","content":"Plan a trip"}
{"kind":"task-created","taskId":"a","agentId":"planner","initiator":"user"}
{"kind":"task-status","taskId":"a","status":"working"}
{"kind":"thought-stream","taskId":"a","thoughtId":"1","thoughtType":"planning","verbosity":"brief","content":"hm","index":0,"confidence":0.9}
{"kind":"thought-stream","taskId":"a","thoughtId":"2","thoughtType":"reasoning","verbosity":"detailed","content":"hmm","index":1,"confidence":0.2}
{"kind":"internal:checkpoint","taskId":"a","iteration":1}
{"kind":"content-delta","taskId":"a","agentId":"planner","delta":"First","index":0}
{"kind":"content-delta","taskId":"a","agentId":"planner","delta":", flights.","index":1}
{"kind":"subtask-created","taskId":"a","subtaskId":"b","agentId":"booker","prompt":"Book"}
{"kind":"task-created","taskId":"b","parentTaskId":"a","agentId":"booker","initiator":"agent"}
{"kind":"tool-call","taskId":"b","agentId":"booker","toolCallId":"c1","toolName":"search","arguments":{"to":"Rome"}}
{"kind":"tool-complete","taskId":"b","toolCallId":"c1","toolName":"search","success":true,"result":[1,2]}
{"kind":"task-complete","taskId":"b","content":"done"}
{"kind":"content-complete","taskId":"a","agentId":"planner","content":"First, flights."}
{"kind":"task-complete","taskId":"a","content":"First, flights."}
{"kind":"task-created","taskId":"z","agentId":"other","initiator":"user"}
{"kind":"error","taskId":"z","code":"boom","message":"no","scope":"task"}
{"kind":"task-status","taskId":"z","status":"failed"}
"#;

const VIEWS: &[&str] = &[
    "",
    "dialect=looopy",
    "dialect=ai-sdk-stream",
    "dialect=ag-ui",
    "dialect=agent-api",
    "dialect=a2a",
    "dialect=openai-threads",
    "dialect=envelope",
    "dialect=journal",
    "kinds=content-*,task-complete",
    "kinds=nothing-of-the-sort",
    "tasks=a",
    "tasks=a&descendants=false",
    "participants=planner",
    "thoughts=off",
    "thoughts=brief",
    "thoughtTypes=reasoning",
    "minConfidence=0.5",
    "visibility=internal",
    "dialect=ai-sdk-stream&tasks=a&thoughts=off",
];

fn ids(frames: &[Frame]) -> Vec<String> {
    frames.iter().filter_map(|f| f.field("id")).map(str::to_owned).collect()
}

/// What a reader makes of frames: those that show something.
fn shown(frames: &[Frame]) -> Vec<&Frame> {
    frames.iter().filter(|f| f.field("data").is_some()).collect()
}

#[tokio::test]
async fn every_view_resumes_from_every_id_without_a_gap_or_a_duplicate() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    let (status, appended) = site.post("/api/threads/t/events", EVENTS).await;
    assert_eq!((status.as_u16(), appended["last"].as_u64()), (200, Some(20)), "{appended}");
    for view in VIEWS {
        let path = format!("/api/threads/t/stream?{view}");
        let whole = site.stream(&path, None).await.until_caught_up().await;
        assert_eq!(whole[0].text, format!("retry: 1000\nid: {epoch}.0\n\n"), "the id is primed");
        let told = ids(&whole);
        assert!(!told.is_empty());
        assert_eq!(told.last().unwrap(), &format!("{epoch}.20"), "{view}: ends at the head");
        for (i, frame) in whole.iter().enumerate() {
            let Some(id) = frame.field("id") else { continue };
            let rest = site.stream(&path, Some(id)).await.until_caught_up().await;
            assert_eq!(shown(&rest), shown(&whole[i + 1..]), "{view} after {id}");
        }
        // The same by query, in each of its spellings.
        for name in ["after", "last_event_id", "lastEventId"] {
            let id = &told[told.len() / 2];
            let path = format!("{path}&{name}={id}");
            let rest = site.stream(&path, None).await.until_caught_up().await;
            let at = whole.iter().position(|f| f.field("id") == Some(id)).unwrap();
            assert_eq!(shown(&rest), shown(&whole[at + 1..]), "{view} {name}={id}");
        }
    }
}

#[tokio::test]
async fn what_is_live_is_what_is_replayed() {
    let site = Site::start().await;
    site.thread("t").await;
    let mut live = Vec::new();
    for view in VIEWS {
        let path = format!("/api/threads/t/stream?{view}");
        let mut stream = site.stream(&path, None).await;
        let past = stream.until_caught_up().await;
        live.push((path, past, stream));
    }
    for line in EVENTS.lines() {
        let (status, answer) = site.post("/api/threads/t/events", line).await;
        assert_eq!(status.as_u16(), 200, "{answer}");
    }
    for (path, past, mut stream) in live {
        let replayed = site.stream(&path, None).await.until_caught_up().await;
        let all = shown(&replayed);
        let mut seen: Vec<Frame> = past.into_iter().filter(|f| f.field("data").is_some()).collect();
        while seen.len() < all.len() {
            let frame = stream.next().await;
            if frame.field("data").is_some() {
                seen.push(frame);
            }
        }
        assert_eq!(seen.iter().collect::<Vec<_>>(), all, "{path}");
    }
}

#[tokio::test]
async fn a_cursor_that_is_not_of_this_journal_is_told_so() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    for cursor in [format!("{epoch}.2"), "1.1".into(), format!("{epoch}.99999999999")] {
        let mut stream = site.stream("/api/threads/t/stream", Some(&cursor)).await;
        let frames = stream.until_caught_up().await;
        assert_eq!(frames[0].field("event"), Some("gap"), "{cursor}");
        assert_eq!(frames[0].field("id"), None, "control frames have no id");
        assert_eq!(
            frames[0].data(),
            json!({
                "requested": cursor,
                "earliest": format!("{epoch}.0"),
                "head": format!("{epoch}.1"),
                "snapshot": "/api/threads/t",
            })
        );
        assert_eq!(frames[2].field("event"), Some("thread-created"), "all of it follows");
    }
    let mut tail = site.stream("/api/threads/t/stream?after=tail", None).await;
    assert_eq!(tail.until_caught_up().await.len(), 1, "only the id");
    site.post("/api/threads/t/events", r#"{"kind":"x"}"#).await;
    assert_eq!(tail.take(1).await[0].field("event"), Some("x"));
    let zero = site.stream("/api/threads/t/stream", Some("0")).await.until_caught_up().await;
    assert_eq!(zero.len(), 3, "0 is a cursor");
}

#[tokio::test]
async fn nobody_sees_what_is_internal_unless_they_ask() {
    let site = Site::start().await;
    site.thread("t").await;
    site.post("/api/threads/t/events", EVENTS).await;
    for (view, expected) in [("", 0), ("?visibility=internal", 1), ("?visibility=operator", 0)] {
        let frames = site.stream(&format!("/api/threads/t/stream{view}"), None).await;
        let frames = { frames }.until_caught_up().await;
        let count = frames.iter().filter(|f| f.text.contains("internal:")).count();
        assert_eq!(count, expected, "{view}");
        let (_, page) = site.get(&format!("/api/threads/t/events{view}")).await;
        assert_eq!(page.to_string().matches("internal:checkpoint").count(), expected, "{view}");
    }
}

#[tokio::test]
async fn many_threads_resume_together() {
    let site = Site::start().await;
    let threads = ["a", "b c", "d,e@1.2"];
    let mut names = Vec::new();
    for id in threads {
        site.thread(id).await;
        names.push(id.replace(' ', "%20").replace(',', "%252C").replace('@', "%2540"));
    }
    let path = format!("/api/stream?threads={}", names.join(","));
    let mut stream = site.stream(&path, None).await;
    for n in 0..5 {
        for id in threads {
            let id = id.replace(' ', "%20").replace(',', "%2C").replace('@', "%40");
            let event = format!("{{\"kind\":\"n{n}\"}}");
            let (status, answer) = site.post(&format!("/api/threads/{id}/events"), event).await;
            assert_eq!(status.as_u16(), 200, "{answer}");
        }
    }
    let mut whole = Vec::new();
    while shown(&whole).len() < 3 * 6 + 3 {
        whole.push(stream.next().await);
    }
    let events = |frames: &[Frame], id: &str| -> Vec<String> {
        let of = |f: &&Frame| f.field("id").is_some() && f.data()["contextId"] == id;
        let frames = shown(frames).into_iter().filter(of).map(|f| f.field("event").unwrap());
        frames.map(str::to_owned).collect()
    };
    for id in threads {
        let expected = ["thread-created", "n0", "n1", "n2", "n3", "n4"];
        assert_eq!(events(&whole, id), expected, "{id}");
    }
    for (i, frame) in whole.iter().enumerate() {
        let Some(last) = frame.field("id") else { continue };
        let mut rest = site.stream(&path, Some(last)).await;
        let mut frames = Vec::new();
        while frames.iter().filter(|f: &&Frame| f.field("event") == Some("caught-up")).count() < 3 {
            frames.push(rest.next().await);
        }
        for id in threads {
            assert_eq!(events(&frames, id), events(&whole[i + 1..], id), "{id} after {last}");
        }
    }
}

#[tokio::test]
async fn a_server_that_stops_tells_its_readers_where_they_stand() {
    let mut site = Site::start().await;
    let epoch = site.thread("t").await;
    let mut stream = site.stream("/api/threads/t/stream", None).await;
    stream.until_caught_up().await;
    site.stop().await;
    let last = stream.next().await;
    assert_eq!(last.field("event"), Some("resync"));
    assert_eq!(last.data(), json!({"cursor": format!("{epoch}.1"), "reason": "shutdown"}));
    stream.ends().await;
}

/// The next frame that says something: on a busy machine it may take longer than a heartbeat.
async fn spoken(reader: &mut Frames) -> Frame {
    loop {
        let frame = reader.next().await;
        if !frame.text.starts_with(':') {
            return frame;
        }
    }
}

#[tokio::test]
async fn many_readers_of_one_view_get_everything_once_and_all_hear_of_the_end() {
    const EVENTS: u64 = 100;
    let mut site = Site::start().await;
    let epoch = site.thread("t").await;
    let mut readers = Vec::new();
    for _ in 0..30 {
        let mut reader = site.stream("/api/threads/t/stream", None).await;
        reader.until_caught_up().await;
        readers.push(reader);
    }
    // Some go; whoever comes next takes their places.
    readers.truncate(20);
    site.until("selvedge_readers_by_rung{rung=\"live\"}", |readers| readers == 20).await;
    let mut late = site.stream("/api/threads/t/stream", None).await;
    late.until_caught_up().await;
    readers.push(late);
    let following = readers.into_iter().map(|mut reader| {
        let epoch = epoch.clone();
        tokio::spawn(async move {
            for seq in 2..2 + EVENTS {
                let frame = spoken(&mut reader).await;
                assert_eq!(frame.field("id"), Some(&*format!("{epoch}.{seq}")));
            }
            reader
        })
    });
    let following: Vec<_> = following.collect();
    for _ in 0..EVENTS {
        let (status, answer) = site.post("/api/threads/t/events", "{\"kind\":\"x\"}").await;
        assert_eq!(status.as_u16(), 200, "{answer}");
    }
    let mut readers = Vec::new();
    for reader in following {
        readers.push(reader.await.unwrap());
    }
    site.stop().await;
    for mut reader in readers {
        let last = spoken(&mut reader).await;
        let cursor = format!("{epoch}.{}", 1 + EVENTS);
        assert_eq!(last.data(), json!({"cursor": cursor, "reason": "shutdown"}));
        reader.ends().await;
    }
}

#[tokio::test]
async fn the_pages_of_a_context_are_its_stream_in_one_answer() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    site.post("/api/threads/t/events", EVENTS).await;
    for view in VIEWS {
        let path = format!("/api/contexts/t/stream?{view}");
        let whole = site.stream(&path, None).await.until_caught_up().await;
        let told: Vec<&Frame> = shown(&whole);
        let told: Vec<_> = told.iter().filter(|f| f.field("data") != Some("[DONE]")).collect();
        let expected: Vec<_> = told.iter().map(|frame| frame.data()).collect();
        for limit in [1, 3, 1000] {
            let (mut got, mut cursor) = (Vec::new(), "earliest".to_owned());
            loop {
                let path = format!("/api/contexts/t/events?{view}&limit={limit}&after={cursor}");
                let (status, page) = site.get(&path).await;
                assert_eq!((status.as_u16(), &page["head"]), (200, &20.into()), "{page}");
                let events = page["events"].as_array().unwrap().clone();
                cursor = page["cursor"].as_str().unwrap().to_owned();
                if events.is_empty() {
                    break;
                }
                assert!(events.len() <= limit);
                got.extend(events);
            }
            assert_eq!(got, expected, "{view} by {limit}");
            assert_eq!(cursor, format!("{epoch}.20"));
        }
    }
    let page = site.request(reqwest::Method::GET, "/api/contexts/t/events");
    let page = page.header("Last-Event-ID", format!("{epoch}.19")).send().await.unwrap();
    let page: serde_json::Value = serde_json::from_str(&page.text().await.unwrap()).unwrap();
    assert_eq!(page["events"].as_array().unwrap().len(), 1);
    for (query, status) in [
        ("after=1.1", 400),
        ("lastEventId=x", 400),
        ("limit=0", 400),
        ("dialect=none", 400),
        (&format!("lastEventId={epoch}.20"), 200),
    ] {
        let (got, answer) = site.get(&format!("/api/contexts/t/events?{query}")).await;
        assert_eq!(got.as_u16(), status, "{query}: {answer}");
    }
}
