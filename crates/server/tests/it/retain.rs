//! What is folded reads the same in every dialect, from every place; what is taken out is gone from
//! every answer, and whoever reads is told.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use selvedge_protocol::dialect::{self, DecodeOptions, Dialect};
use selvedge_protocol::journal::fold::State;
use selvedge_protocol::json::Doc;
use selvedge_protocol::record::Framing;
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Frame, Site, key};

const FOLDED: &str = "selvedge_folded_entries_total";
const SECRET: &str = "xylophonic";

/// A turn whose text, thought and arguments come in pieces.
fn streamed() -> Vec<Value> {
    let mut events = vec![
        json!({"kind":"message","role":"user","author":"ann","content":"Plan a trip"}),
        json!({"kind":"task-created","taskId":"a","agentId":"planner","initiator":"user"}),
    ];
    for piece in ["hm", " let", " me", " see"] {
        events
            .push(json!({"kind":"thought-stream","taskId":"a","agentId":"planner","thoughtId":"1",
            "thoughtType":"planning","verbosity":"normal","content":piece}));
    }
    for (i, piece) in ["First", ", flights", " to", " Rome", "."].iter().enumerate() {
        events.push(json!({"kind":"content-delta","taskId":"a","agentId":"planner","delta":piece,"index":i}));
    }
    events.extend([
        json!({"kind":"content-complete","taskId":"a","agentId":"planner","content":"First, flights to Rome."}),
        json!({"kind":"tool-call-started","taskId":"a","agentId":"planner","toolCallId":"c","toolName":"find"}),
    ]);
    for piece in ["{\"to\"", ":", "\"Rome\"", "}"] {
        events.push(json!({"kind":"tool-call-delta","taskId":"a","toolCallId":"c","delta":piece}));
    }
    events.extend([
        json!({"kind":"tool-call","taskId":"a","agentId":"planner","toolCallId":"c","toolName":"find","arguments":{"to":"Rome"}}),
        json!({"kind":"tool-complete","taskId":"a","toolCallId":"c","toolName":"find","success":true,"result":[1]}),
        json!({"kind":"task-complete","taskId":"a","content":"First, flights to Rome."}),
    ]);
    events
}

/// Two halves of a character that came apart are the character, once they are next to each other.
fn spelled(text: String) -> String {
    text.replace(r"\\ud83d\\ude00", "😀").replace(r"\ud83d\ude00", "😀")
}

/// What a text in a dialect comes to.
fn meaning(dialect: &'static Dialect, text: &str) -> String {
    let mut state = State::new();
    dialect::decode(dialect, &DecodeOptions::default(), text, |batch| {
        for event in &batch.events {
            state.apply(event);
        }
    });
    let tasks: Vec<_> = state.tasks.iter().map(|task| (&task.id, task.state)).collect();
    spelled(format!("{tasks:?} {:?} {:?}", state.transcript.actions(), state.usage))
}

async fn export(site: &Site, thread: &str, dialect: &str) -> String {
    let path = format!("/api/threads/{thread}/export?dialect={dialect}&visibility=internal");
    site.request(Method::GET, &path).send().await.unwrap().text().await.unwrap()
}

/// Starts the server again so that it folds, and waits until it has.
async fn fold(site: Site) -> Site {
    let options = Options { retain_deltas: Some(Duration::ZERO), ..Options::default() };
    // Of the next millisecond: what is folded was committed before.
    let site = site.again_with(options).await;
    site.until(FOLDED, |folded| folded > 0).await;
    site
}

/// Appends the events of recordings, without what they looked like; the threads.
async fn recorded(site: &Site) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocol/tests/fixtures");
    let mut threads = Vec::new();
    for folder in ["ai_5.0.277", "ai_6.0.326", "ai_7.0.169", "ag-ui", "looopy", "a2a_1.0"] {
        let mut files: Vec<_> =
            fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let id = format!("r{}", threads.len());
            let (status, _) =
                site.post(&format!("/api/import?thread=source-{id}"), text.clone()).await;
            if status.as_u16() != 201 {
                continue;
            }
            let page = format!("/api/threads/source-{id}/events?visibility=internal&limit=10000");
            let page = site.request(Method::GET, &page).send().await.unwrap();
            let page = page.text().await.unwrap();
            let page = Doc::parse(&page).unwrap();
            let mut events: Vec<String> = Vec::new();
            // As they stand: there are halves of characters among them.
            for entry in page.root().get("entries").unwrap().children() {
                let members = entry.get("event").unwrap().members();
                let members = members.filter(|(key, _)| !key.is("contextId"));
                let members = members.map(|(key, value)| format!("{}:{}", key.raw(), value.raw()));
                events.push(format!("{{{}}}", members.collect::<Vec<_>>().join(",")));
            }
            site.thread(&id).await;
            let path = format!("/api/threads/{id}/events");
            let (status, _) = site.post(&path, format!("[{}]", events.join(","))).await;
            if status.as_u16() == 200 {
                threads.push(id);
            }
            if threads.len() >= 60 {
                return threads;
            }
        }
    }
    threads
}

#[tokio::test]
async fn a_folded_thread_says_the_same_in_every_dialect() {
    let site = Site::start().await;
    site.thread("t").await;
    for event in streamed() {
        site.post("/api/threads/t/events", event.to_string()).await;
    }
    let mut threads = recorded(&site).await;
    assert!(threads.len() > 10, "only {} recordings were tried", threads.len());
    threads.push("t".to_owned());
    let mut before = BTreeMap::new();
    for thread in &threads {
        for dialect in dialect::ALL {
            let name = dialect.id.name();
            before.insert((thread.clone(), name), export(&site, thread, name).await);
        }
    }
    let (_, state) = site.get("/api/threads/t").await;
    let site = fold(site).await;
    let mut changed = 0;
    for ((thread, name), text) in before {
        let dialect = dialect::named(name).unwrap();
        let after = export(&site, &thread, name).await;
        changed += usize::from(after != text);
        match dialect.framing {
            Framing::Sse | Framing::Lines => {
                assert_eq!(meaning(dialect, &after), meaning(dialect, &text), "{thread} as {name}");
            }
            Framing::Array | Framing::Document if name == "thread-protocol" => {
                assert_eq!(meaning(dialect, &after), meaning(dialect, &text), "{thread} as {name}");
            }
            Framing::Array | Framing::Document => {
                assert_eq!(spelled(after), spelled(text), "{thread} as {name}");
            }
        }
    }
    assert!(changed > 5, "nothing was folded");
    assert_eq!(site.get("/api/threads/t").await.1, state);
}

/// A frame as its dialect's reader gets it, without where it brings the reader.
fn bare(frame: &Frame) -> String {
    let lines = frame.text.lines().filter(|line| !line.starts_with("id:"));
    lines.collect::<Vec<_>>().join("\n") + "\n\n"
}

fn seq(frame: &Frame) -> u64 {
    let id = frame.field("id").unwrap_or("0.0");
    id.split('.').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn whoever_resumes_gets_the_exact_rest_or_is_told_what_was_folded() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    for event in streamed() {
        site.post("/api/threads/t/events", event.to_string()).await;
    }
    let views = ["looopy", "ai-sdk-stream", "ag-ui"];
    let mut before = BTreeMap::new();
    for view in views {
        let path = format!("/api/threads/t/stream?dialect={view}");
        before.insert(view, site.stream(&path, None).await.until_caught_up().await);
    }
    let site = fold(site).await;
    let mut told = 0;
    for (view, frames) in &before {
        let dialect = dialect::named(view).unwrap();
        let text = |frames: &[&Frame]| frames.iter().map(|frame| bare(frame)).collect::<String>();
        let shown: Vec<&Frame> = frames
            .iter()
            .filter(|frame| frame.field("id").is_some() && frame.field("data").is_some())
            .collect();
        let whole = meaning(dialect, &text(&shown));
        for (i, cut) in shown.iter().enumerate() {
            let id = cut.field("id").unwrap();
            let path = format!("/api/threads/t/stream?dialect={view}");
            let rest = site.stream(&path, Some(id)).await.until_caught_up().await;
            let notice = rest.iter().find(|frame| frame.field("event") == Some("folded"));
            let folded = notice.map(|frame| {
                let told: Value = serde_json::from_str(frame.field("data").unwrap()).unwrap();
                assert_eq!(told["snapshot"], "/api/threads/t");
                told["from"].as_u64().unwrap()..=told["to"].as_u64().unwrap()
            });
            told += usize::from(folded.is_some());
            let gone = |frame: &&Frame| folded.as_ref().is_some_and(|f| f.contains(&seq(frame)));
            let kept: Vec<&Frame> =
                shown[..=i].iter().copied().filter(|frame| !gone(frame)).collect();
            let rest: Vec<&Frame> = rest
                .iter()
                .filter(|frame| frame.field("id").is_some() && frame.field("data").is_some())
                .collect();
            let all = [&kept[..], &rest].concat();
            assert_eq!(meaning(dialect, &text(&all)), whole, "{view} from {id}");
        }
    }
    assert!(told > 10, "{told}");
    // The native stream and pages say what is one now.
    let frames = site.stream("/api/threads/t/stream", None).await.until_caught_up().await;
    let notices: Vec<&str> = frames
        .iter()
        .filter(|frame| frame.field("event") == Some("folded"))
        .map(|frame| frame.field("data").unwrap())
        .collect();
    let expected = [r#"{"from":5,"to":7}"#, r#"{"from":9,"to":12}"#, r#"{"from":16,"to":18}"#];
    assert_eq!(notices, expected);
    let (_, page) = site.get(&format!("/api/threads/t/events?after={epoch}.10")).await;
    assert_eq!(page["folded"], json!({"from": 9, "to": 12}));
    assert_eq!((&page["entries"][0]["seq"], &page["entries"][0]["from"]), (&12.into(), &9.into()));
    for path in ["?at=10", "/export?at=10"] {
        let (status, answer) = site.get(&format!("/api/threads/t{path}")).await;
        assert_eq!((status.as_u16(), &answer["error"]["code"]), (410, &"folded".into()), "{path}");
        assert_eq!(answer["error"]["details"], json!({"from": 9, "to": 12}));
    }
    for path in ["/fork", "/shares"] {
        let (status, answer) =
            site.post(&format!("/api/threads/t{path}"), r#"{"at":10,"id":"b"}"#).await;
        assert_eq!((status.as_u16(), &answer["error"]["pointer"]), (410, &"/at".into()), "{path}");
    }
}

fn is_in_files(site: &Site, bytes: &str) -> bool {
    let folder = site.db.parent().unwrap();
    fs::read_dir(folder).unwrap().any(|entry| {
        let text = fs::read(entry.unwrap().path()).unwrap();
        text.windows(bytes.len()).any(|window| window == bytes.as_bytes())
    })
}

#[tokio::test]
async fn what_is_redacted_is_gone_from_every_answer_and_readers_are_told() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    let said = json!({"kind":"message","role":"user","author":"ann","content":format!("my {SECRET} word")});
    let (_, first) = site.post("/api/threads/t/events", said.to_string()).await;
    assert_eq!(first["last"], 2);
    let mut streams = Vec::new();
    for view in ["", "?dialect=ag-ui", "?dialect=looopy"] {
        let mut stream = site.stream(&format!("/api/threads/t/stream{view}"), None).await;
        let shown = stream.until_caught_up().await;
        assert!(shown.iter().any(|frame| frame.text.contains(SECRET)) || !view.is_empty());
        streams.push(stream);
    }
    let asked = json!({"events":[2],"reason":"asked to"}).to_string();
    let (status, done) = site.post("/api/threads/t/redact", asked.clone()).await;
    assert_eq!(status.as_u16(), 200, "{done}");
    assert_eq!((&done["receipt"], &done["by"]), (&3.into(), &"anyone".into()));
    assert_eq!(done["scrubbed"], true);
    assert!(!is_in_files(&site, SECRET));
    for stream in &mut streams {
        loop {
            let frame = stream.next().await;
            assert!(!frame.text.contains(SECRET));
            if frame.field("event") == Some("resync") {
                assert!(frame.text.contains(r#""reason":"rewritten""#), "{}", frame.text);
                break;
            }
        }
        stream.ends().await;
    }
    for view in ["", "?dialect=ag-ui", "?dialect=looopy", "?dialect=journal"] {
        let frames = site
            .stream(&format!("/api/threads/t/stream{view}"), None)
            .await
            .until_caught_up()
            .await;
        assert!(!frames.iter().any(|frame| frame.text.contains(SECRET)), "{view}");
    }
    for dialect in dialect::ALL {
        assert!(!export(&site, "t", dialect.id.name()).await.contains(SECRET));
    }
    let (_, page) = site.get("/api/threads/t/events").await;
    let entries = page["entries"].as_array().unwrap();
    assert_eq!(
        (&entries[1]["event"]["content"], &entries[1]["event"]["role"]),
        (&"".into(), &"user".into())
    );
    assert_eq!(entries[1]["event"]["redacted"]["receipt"], 3);
    let receipt = &entries[2]["event"];
    assert_eq!((&receipt["kind"], &receipt["reason"]), (&"redacted".into(), &"asked to".into()));
    assert_eq!(receipt["events"][0]["hash"], entries[1]["event"]["redacted"]["hash"]);
    let (_, found) = site.get(&format!("/api/search?q={SECRET}")).await;
    assert_eq!(found["results"], json!([]));
    // Again is nothing new; what cannot be taken out is told.
    let (status, again) = site.post("/api/threads/t/redact", asked).await;
    assert_eq!((status.as_u16(), &again["receipt"]), (200, &Value::Null));
    for (body, code, status) in [
        (r#"{"events":[9]}"#, "not_found", 404),
        (r#"{"events":[3]}"#, "conflict", 409),
        (r#"{"events":[]}"#, "bad_parameter", 400),
        (r#"{"events":"all"}"#, "bad_parameter", 400),
    ] {
        let (was, answer) = site.post("/api/threads/t/redact", body).await;
        assert_eq!((was.as_u16(), &answer["error"]["code"]), (status, &code.into()), "{body}");
    }
    let (_, next) = site.post("/api/threads/t/events", r#"{"kind":"error","message":"m"}"#).await;
    assert_eq!(next["cursor"], format!("{epoch}.4"));
}

#[tokio::test]
async fn an_erased_thread_is_gone_with_its_shares_and_its_receipt_is_listed() {
    let made = [key("acme", &["operator"]), key("acme", &["write"]), key("other", &["operator"])];
    let (site, keys) = Site::start_with(Options::default(), &made).await;
    let post = async |path: &str, key: &str, body: Value| {
        let request = site.request(Method::POST, path).bearer_auth(key).body(body.to_string());
        crate::site::answer(request.send().await.unwrap()).await
    };
    post("/api/threads", &keys[0], json!({"id":"t","title":SECRET})).await;
    let (_, share) = post("/api/threads/t/shares", &keys[0], json!({"title":SECRET})).await;
    let link = share["link"].as_str().unwrap().to_owned();
    assert_eq!(site.ask(Method::GET, &link, "").await.0.as_u16(), 200);
    let request = site.request(Method::GET, "/api/threads/t/stream").bearer_auth(&keys[0]);
    let mut stream = crate::site::Frames::open(request).await;
    stream.until_caught_up().await;
    assert_eq!(post("/api/threads/t/erase", &keys[1], json!({})).await.0.as_u16(), 403);
    assert_eq!(post("/api/threads/t/erase", &keys[2], json!({})).await.0.as_u16(), 404);
    let (status, gone) = post("/api/threads/t/erase", &keys[0], json!({"reason":"asked to"})).await;
    assert_eq!(status.as_u16(), 200, "{gone}");
    let receipt = &gone["erasures"][0];
    assert_eq!((&receipt["thread"], &receipt["entries"]), (&"t".into(), &1.into()));
    assert_eq!(stream.next().await.field("event"), Some("gone"));
    assert!(!is_in_files(&site, SECRET));
    assert_eq!(site.ask(Method::GET, "/api/threads/t", &keys[0]).await.0.as_u16(), 404);
    assert_eq!(site.ask(Method::GET, &link, "").await.0.as_u16(), 404);
    assert_eq!(gone["scrubbed"], true);
    let (_, kept) = site.ask(Method::GET, "/api/erasures", &keys[0]).await;
    assert_eq!(kept["erasures"], gone["erasures"]);
    let (_, others) = site.ask(Method::GET, "/api/erasures", &keys[2]).await;
    assert_eq!(others, json!({"erasures": []}));
}
