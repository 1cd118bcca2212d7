//! In and out: what is imported in a dialect is exported in it with the same bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selvedge_agents::script::Script;
use selvedge_agents::{Agent, Desk};
use selvedge_server::Options;

use crate::site::Site;

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}

#[tokio::test]
async fn every_recording_comes_out_as_it_went_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocol/tests/fixtures");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    let site = Site::start().await;
    let mut same = 0;
    for (i, file) in files.iter().enumerate() {
        let Ok(text) = fs::read_to_string(file) else { continue };
        let name = file.strip_prefix(&root).unwrap().display();
        // Not every file there is a conversation.
        let (status, answer) = site.post(&format!("/api/import?thread=t{i}"), text.clone()).await;
        if matches!(answer["error"]["code"].as_str(), Some("unknown_dialect" | "bad_event")) {
            continue;
        }
        assert_eq!(status.as_u16(), 201, "{name}: {answer}");
        let dialect = answer["dialect"].as_str().unwrap();
        let url =
            format!("{}/api/threads/t{i}/export?dialect={dialect}&visibility=internal", site.url);
        let exported = site.client.get(url).send().await.unwrap().text().await.unwrap();
        assert_eq!(exported, text, "{name} as {dialect}");
        same += 1;
    }
    assert!(same > 500, "only {same} recordings were tried");
}

#[tokio::test]
async fn a_second_import_under_the_same_id_is_refused() {
    let site = Site::start().await;
    let source = r#"[{"parts":[{"content":"hi","timestamp":"2026-01-01T00:00:00Z","part_kind":"user-prompt"}],"kind":"request"}]"#;
    let (status, first) = site.post("/api/import?thread=t", source).await;
    assert_eq!((status.as_u16(), first["dialect"].as_str()), (201, Some("pydantic-ai")));
    let (status, second) = site.post("/api/import?thread=t", source).await;
    assert_eq!((status.as_u16(), second["error"]["code"].as_str()), (409, Some("thread_exists")));
    let (status, unknown) = site.post("/api/import", "what is this?").await;
    assert_eq!((status.as_u16(), &unknown["error"]["code"]), (400, &"unknown_dialect".into()));
    let (_, page) = site.get("/api/threads/t/events").await;
    assert_eq!(page["head"], first["head"]);
    // And it can be read in any other.
    for dialect in selvedge_protocol::dialect::ALL {
        let path = format!("/api/threads/t/export?dialect={}", dialect.id.name());
        let text = site.client.get(format!("{}{path}", site.url)).send().await.unwrap();
        assert!(text.text().await.unwrap().contains("hi"), "{path}");
    }
}

#[tokio::test]
async fn a_broken_archive_is_refused_rather_than_taken_in_part() {
    let site = Site::start().await;
    let source = "{\"seq\":1,\"event\":{\"kind\":\"thread-created\",\"contextId\":\"t\"}}\n\
                  {\"seq\":2,\"event\":{\"kind\":\"x\",\n";
    let (status, answer) = site.post("/api/import?dialect=journal&thread=t", source).await;
    assert_eq!((status.as_u16(), &answer["error"]["code"]), (422, &"bad_event".into()));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("record 2"), "{message}");
    let (status, _) = site.get("/api/threads/t").await;
    assert_eq!(status.as_u16(), 404);
}

#[tokio::test]
async fn a_long_import_is_there_as_a_whole_and_nobody_goes_on_with_its_tasks() {
    let ada = Agent::new("ada", Arc::new(Script::saying("hi")));
    let options = Options { agents: Some(Desk::new([ada])), ..Options::default() };
    let site = Site::start_with(options, &[]).await.0;
    let mut source = String::from(
        r#"{"seq":1,"event":{"kind":"task-created","contextId":"t","taskId":"k","initiator":"user","agentId":"ada","dispatched":true}}"#,
    );
    for seq in 2..=7000 {
        source.push_str(&format!(
            "\n{{\"seq\":{seq},\"event\":{{\"kind\":\"content-delta\",\"contextId\":\"t\",\"taskId\":\"k\",\"delta\":\"{seq} \"}}}}"
        ));
    }
    source.push('\n');
    let (status, answer) = site.post("/api/import?dialect=journal&thread=t", source.clone()).await;
    assert_eq!((status.as_u16(), &answer["head"]), (201, &7000.into()), "{answer}");
    let url = format!("{}/api/threads/t/export?dialect=journal&visibility=internal", site.url);
    let exported = site.client.get(url).send().await.unwrap().text().await.unwrap();
    let last = exported.lines().last().unwrap();
    assert!(exported.lines().count() == 7000 && last.contains("\"7000 \""), "{last}");
    // Were it to be done here, a restart would take it up.
    let wanted = rusqlite::Connection::open(&site.db).unwrap();
    let wanted = || -> i64 {
        wanted
            .query_row("SELECT count(*) FROM task WHERE wanted = 1", [], |row| row.get(0))
            .unwrap()
    };
    while site.get("/api/threads").await.1["threads"][0]["head"] != 7000 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(wanted(), 0);
    let (_, sent) = site.post("/api/threads/t/messages", r#"{"content":"hi","to":"ada"}"#).await;
    assert_eq!(sent["first"], 7001, "{sent}");
}

#[tokio::test]
async fn a_source_in_another_dialect_may_stand_among_events() {
    let site = Site::start().await;
    site.thread("t").await;
    let said = r#"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"hi",
        "timestamp":"2026-01-01T00:00:00Z"}]},
        {"kind":"response","parts":[{"part_kind":"text","content":"ho"}]}]"#;
    let item = format!(r#"{{"dialect":"pydantic-ai","agent":"ada","source":{said}}}"#);
    let body = format!(r#"[{{"kind":"x"}},{item},{{"kind":"y"}}]"#);
    let (status, appended) = site.post("/api/threads/t/events", body).await;
    assert_eq!(status.as_u16(), 200, "{appended}");
    let (_, state) = site.get("/api/threads/t").await;
    let told: Vec<_> = state["messages"].as_array().unwrap().iter().map(|m| &m["text"]).collect();
    assert_eq!(told, ["hi", "ho"]);
    assert_eq!(state["messages"][1]["agentId"], "ada");
    // All of it or nothing, with the place of what cannot be.
    for (item, place) in [
        (r#"{"dialect":"klingon","source":[]}"#, "/1/dialect"),
        (r#"{"dialect":"pydantic-ai"}"#, "/1/source"),
        (r#"{"dialect":"pydantic-ai","source":"what?"}"#, "/1/source"),
        (r#"{"dialect":7,"source":[]}"#, "/1/dialect"),
    ] {
        let body = format!(r#"[{{"kind":"x"}},{item}]"#);
        let (status, refused) = site.post("/api/threads/t/events", body).await;
        assert_eq!((status.as_u16(), &refused["error"]["pointer"]), (400, &place.into()), "{item}");
    }
    let (_, page) = site.get("/api/threads/t/events").await;
    assert_eq!(page["head"], appended["last"]);
}

#[tokio::test]
async fn what_a_dialect_has_no_place_for_is_named_by_entry() {
    let site = Site::start().await;
    site.thread("t").await;
    let events = r#"[
        {"kind":"task-created","taskId":"k","agentId":"a","initiator":"user"},
        {"kind":"content-delta","taskId":"k","agentId":"a","delta":"hello","index":0}]"#;
    site.post("/api/threads/t/events", events).await;
    let (status, report) = site.get("/api/threads/t/loss?dialect=a2a").await;
    assert_eq!((status.as_u16(), &report["dialect"]), (200, &"a2a".into()), "{report}");
    let losses = report["losses"].as_array().unwrap();
    assert_eq!(report["count"], losses.len());
    let lost = |seq: u64, pointer: &str| {
        losses.iter().any(|loss| loss["seq"] == seq && loss["pointer"] == pointer)
    };
    assert!(lost(3, "/index") && !lost(3, "/delta"), "{report}");
    let (_, part) = site.get("/api/threads/t/loss?dialect=a2a&at=2&limit=1").await;
    assert_eq!((&part["at"], part["losses"].as_array().unwrap().len()), (&2.into(), 1));
    for dialect in ["journal", "thread-protocol"] {
        let (_, none) = site.get(&format!("/api/threads/t/loss?dialect={dialect}")).await;
        assert_eq!((&none["count"], &none["losses"]), (&0.into(), &serde_json::json!([])));
    }
    let (status, _) = site.get("/api/threads/t/loss?dialect=latin").await;
    assert_eq!(status.as_u16(), 400);

    // What came in another dialect is named as it stood there.
    let source = r#"[{"id":"m","role":"system","parts":[{"type":"text","text":"be kind"}]}]"#;
    site.post("/api/import?thread=m&dialect=ai-sdk-messages", source).await;
    let (_, report) = site.get("/api/threads/m/loss?dialect=a2a").await;
    let lost = report["losses"].as_array().unwrap().iter();
    let lost: Vec<_> = lost.map(|loss| loss["pointer"].as_str().unwrap()).collect();
    assert!(lost.contains(&"/parts/0/text"), "{report}");
}
