//! Branches share their past, go their own way, and can be compared.

use serde_json::{Value, json};

use crate::site::Site;

fn kinds(page: &Value) -> Vec<String> {
    let entries = page["entries"].as_array().unwrap();
    entries.iter().map(|e| e["event"]["kind"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_fork_shares_the_past_and_differs_after_it() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    site.post("/api/threads/t/events", "{\"kind\":\"a\"}{\"kind\":\"b\"}{\"kind\":\"c\"}").await;
    let body = json!({"id": "f", "at": format!("{epoch}.2")}).to_string();
    let (status, fork) = site.post("/api/threads/t/fork", body).await;
    assert_eq!(status.as_u16(), 201, "{fork}");
    assert_eq!((&fork["at"], &fork["head"], &fork["parent"]), (&2.into(), &3.into(), &"t".into()));
    site.post("/api/threads/f/events", "{\"kind\":\"x\"}").await;
    let (_, page) = site.get("/api/threads/f/events").await;
    assert_eq!(kinds(&page), ["thread-created", "a", "thread-created", "x"]);

    let (_, diff) = site.get("/api/threads/t/diff?with=f").await;
    assert_eq!(diff["base"], 2);
    assert_eq!(kinds(&diff["left"]), ["b", "c"]);
    assert_eq!(kinds(&diff["right"]), ["thread-created", "x"]);
    let (_, deeper) = site.post("/api/threads/f/fork", r#"{"id":"g","at":1}"#).await;
    assert_eq!(deeper["head"], 2);
    let (_, diff) = site.get("/api/threads/g/diff?with=t").await;
    assert_eq!(diff["base"], 1);

    // A stream of the branch, resumed inside the part it shares.
    let own = fork["cursor"].as_str().unwrap().split('.').next().unwrap();
    let mut stream = site.stream("/api/threads/f/stream", Some(&format!("{own}.1"))).await;
    let seen: Vec<_> = stream.until_caught_up().await;
    let seen: Vec<_> = seen.iter().filter_map(|f| f.field("event")).collect();
    assert_eq!(seen, ["a", "thread-created", "x"]);

    for (body, status, pointer) in [
        (r#"{"at":9}"#, 400, Some("/at")),
        (r#"{"at":"1.1"}"#, 400, Some("/at")),
        (r#"{"at":-1}"#, 400, Some("/at")),
        (r#"{"id":7}"#, 400, Some("/id")),
        (r#"{"id":"t"}"#, 409, None),
    ] {
        let (got, answer) = site.post("/api/threads/t/fork", body).await;
        assert_eq!(got.as_u16(), status, "{body}: {answer}");
        assert_eq!(answer["error"]["pointer"].as_str(), pointer, "{body}");
    }
    let (status, _) = site.get("/api/threads/t/diff").await;
    assert_eq!(status.as_u16(), 400);
    let (status, _) = site.get("/api/threads/t/diff?with=none").await;
    assert_eq!(status.as_u16(), 404);
}

#[tokio::test]
async fn a_thread_does_not_differ_from_itself_and_a_cursor_of_another_is_refused() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    let (_, diff) = site.get("/api/threads/t/diff?with=t").await;
    assert_eq!((&diff["base"], &diff["left"]["entries"]), (&1.into(), &serde_json::json!([])));
    site.thread("other").await;
    let append = async |thread: &str| {
        let request = site.request(reqwest::Method::POST, &format!("/api/threads/{thread}/events"));
        let request = request.header("if-match", format!("\"{epoch}.1\""));
        crate::site::answer(request.body(r#"{"kind":"a"}"#).send().await.unwrap()).await
    };
    let (status, refused) = append("other").await;
    assert_eq!((status.as_u16(), refused["error"]["code"].as_str()), (409, Some("conflict")));
    assert_eq!(append("t").await.0.as_u16(), 200);
}

#[tokio::test]
async fn a_promoted_branch_answers_to_its_parents_id() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    site.post("/api/threads/t/events", "{\"kind\":\"a\"}{\"kind\":\"b\"}").await;
    let (_, fork) = site.post("/api/threads/t/fork", r#"{"id":"f","at":2}"#).await;
    let own = fork["cursor"].as_str().unwrap().split('.').next().unwrap().to_owned();
    site.post("/api/threads/f/events", "{\"kind\":\"x\"}").await;
    let mut streams = Vec::new();
    for path in ["/api/threads/t/stream", "/api/contexts/f/stream", "/api/stream?threads=t"] {
        let mut stream = site.stream(path, None).await;
        stream.until_caught_up().await;
        streams.push(stream);
    }
    for (path, body, status, pointer) in [
        ("/api/threads/t/promote", "{}", 409, None),
        ("/api/threads/none/promote", "{}", 404, None),
        ("/api/threads/f/promote", r#"{"old":"t"}"#, 409, Some("/old")),
        ("/api/threads/f/promote", r#"{"old":"f"}"#, 400, Some("/old")),
        ("/api/threads/f/promote", r#"{"old":7}"#, 400, Some("/old")),
        ("/api/threads/f/promote", r#"{"old":""}"#, 400, Some("/old")),
        ("/api/threads/f/promote", "[", 400, None),
    ] {
        let (got, answer) = site.post(path, body).await;
        assert_eq!(got.as_u16(), status, "{path} {body}: {answer}");
        assert_eq!(answer["error"]["pointer"].as_str(), pointer, "{path} {body}");
    }
    let (status, done) = site.post("/api/threads/f/promote", r#"{"old":"was"}"#).await;
    assert_eq!(status.as_u16(), 200, "{done}");
    let expected = json!({
        "id": "t", "old": "was", "cursor": format!("{own}.5"), "head": 5, "duplicate": false
    });
    assert_eq!(done, expected);
    for stream in &mut streams {
        // What was told of it may come first.
        let mut last = stream.next().await;
        while last.field("event") != Some("resync") {
            last = stream.next().await;
        }
        assert_eq!(last.data()["reason"], "promoted");
        stream.ends().await;
    }
    let (_, page) = site.get("/api/threads/t/events").await;
    assert_eq!(kinds(&page), ["thread-created", "a", "thread-created", "x", "system"]);
    let told = &page["entries"][4]["event"];
    assert_eq!(told["data"], json!({"id": "t", "branch": "f", "old": "was"}));
    assert_eq!((&told["name"], &told["contextId"]), (&"thread.promoted".into(), &"t".into()));
    let (_, page) = site.get("/api/threads/was/events").await;
    assert_eq!(kinds(&page), ["thread-created", "a", "b", "system"]);
    assert_eq!(page["entries"][3]["event"]["contextId"], "was");

    // A cursor of the old line is a gap under the shared id and good under the other.
    let last = format!("{epoch}.3");
    let frames = site.stream("/api/threads/t/stream", Some(&last)).await.until_caught_up().await;
    assert_eq!(frames[0].field("event"), Some("gap"));
    let frames = site.stream("/api/threads/was/stream", Some(&last)).await.until_caught_up().await;
    let seen: Vec<_> = frames.iter().filter_map(|f| f.field("event")).collect();
    assert_eq!(seen, ["system"]);

    // Again, by both ids, and after the id was given to another thread.
    let mut again = expected;
    again["duplicate"] = true.into();
    for path in ["/api/threads/f/promote", "/api/threads/t/promote"] {
        assert_eq!(site.post(path, "").await.1, again, "{path}");
    }
    let (status, _) = site.get("/api/threads/f").await;
    assert_eq!(status.as_u16(), 404);
    site.thread("f").await;
    let (status, _) = site.post("/api/threads/f/promote", "").await;
    assert_eq!(status.as_u16(), 409);
    let (_, diff) = site.get("/api/threads/t/diff?with=was").await;
    assert_eq!(diff["base"], 2);
    let export = site.request(reqwest::Method::GET, "/api/threads/t/export?dialect=journal");
    let export = export.send().await.unwrap().text().await.unwrap();
    assert_eq!(export.matches("thread.promoted").count(), 1, "{export}");
}

const SHARED: &str = r#"[
    {"kind":"message","role":"user","author":"ada","content":"How long is it?"},
    {"kind":"task-created","taskId":"k","initiator":"user","agentId":"guide"},
    {"kind":"llm-usage","taskId":"k","agentId":"guide","model":"m","prompt_tokens":10},
    {"kind":"data-write","taskId":"k","artifactId":"doc","data":{"v":1}},
    {"kind":"tool-call","taskId":"k","toolCallId":"c0","toolName":"look","arguments":{"q":"river"}}]"#;
const ONE: &str = r#"[
    {"kind":"tool-complete","taskId":"k","toolCallId":"c0","toolName":"look","success":true,"result":777},
    {"kind":"llm-usage","taskId":"k","agentId":"guide","model":"m","prompt_tokens":5,"completion_tokens":2,"cost":0.5},
    {"kind":"content-complete","taskId":"k","agentId":"guide","content":"777 km."},
    {"kind":"message","role":"agent","author":"guide","content":"hidden","visibility":"operator"},
    {"kind":"data-write","taskId":"k","artifactId":"doc","data":{"v":2}},
    {"kind":"task-complete","taskId":"k"}]"#;
const OTHER: &str = r#"[
    {"kind":"tool-complete","taskId":"k","toolCallId":"c0","toolName":"look","success":false,"error":"no net"},
    {"kind":"task-status","taskId":"k","status":"failed"}]"#;

#[tokio::test]
async fn a_diff_tells_what_each_side_came_to() {
    let site = Site::start().await;
    site.thread("t").await;
    site.post("/api/threads/t/events", SHARED).await;
    site.post("/api/threads/t/fork", r#"{"id":"f"}"#).await;
    for (id, events) in [("t", ONE), ("f", OTHER)] {
        let (status, answer) = site.post(&format!("/api/threads/{id}/events"), events).await;
        assert_eq!(status.as_u16(), 200, "{answer}");
    }
    let (_, diff) = site.get("/api/threads/t/diff?with=f").await;
    let usage = json!({
        "input": 5, "output": 2, "cached": 0, "reasoning": 0, "calls": 1, "cost": 0.5
    });
    let none = json!({
        "input": 0, "output": 0, "cached": 0, "reasoning": 0, "calls": 0, "cost": 0.0
    });
    assert_eq!(
        diff["left"]["summary"],
        json!({"events": 5, "messages": 1, "toolCalls": 1, "artifacts": 1, "tasks": 1, "usage": usage})
    );
    assert_eq!(
        diff["right"]["summary"],
        json!({"events": 3, "messages": 0, "toolCalls": 1, "artifacts": 0, "tasks": 1, "usage": none})
    );
    let list = |items: Value| json!({"items": items, "more": 0});
    let call = |outcome: &str, result: Value, error: Value| {
        list(json!([{
            "id": "c0", "name": "look", "taskId": "k", "arguments": {"q": "river"},
            "outcome": outcome, "result": result, "error": error,
        }]))
    };
    assert_eq!(
        diff["difference"],
        json!({
            "messages": {
                "left": list(json!([
                    {"role": "agent", "author": "guide", "taskId": "k", "text": "777 km."}
                ])),
                "right": list(json!([])),
            },
            "toolCalls": {
                "left": call("success", 777.into(), Value::Null),
                "right": call("failed", Value::Null, "no net".into()),
            },
            "usage": list(json!([
                {"agent": "guide", "model": "m", "left": usage, "right": null}
            ])),
            "artifacts": list(json!([
                {"id": "doc", "name": null, "base": 1, "left": 2, "right": 1}
            ])),
            "tasks": list(json!([{
                "id": "k", "agent": "guide", "base": "working",
                "left": "completed", "right": "failed",
            }])),
        })
    );
    let (_, all) = site.get("/api/threads/t/diff?with=f&visibility=operator").await;
    assert_eq!(all["left"]["summary"]["messages"], 2, "who may see more is told more");
    assert!(!diff.to_string().contains("hidden"));
}

#[tokio::test]
async fn a_branch_knows_its_parent_and_its_title_and_is_in_the_tree() {
    let site = Site::start().await;
    site.thread("t").await;
    site.post("/api/threads/t/events", "{\"kind\":\"a\"}{\"kind\":\"b\"}").await;
    site.post("/api/threads/t/fork", r#"{"id":"f","at":2,"title":"Another way"}"#).await;
    site.post("/api/threads/f/fork", r#"{"id":"g"}"#).await;
    let (_, state) = site.get("/api/threads/f").await;
    assert_eq!((&state["parent"], &state["forkedAt"]), (&"t".into(), &2.into()));
    assert_eq!(state["title"], "Another way");
    let (_, state) = site.get("/api/threads/t").await;
    assert_eq!((&state["parent"], &state["forkedAt"]), (&Value::Null, &Value::Null));

    let tree = async |id: &str| {
        let (status, answer) = site.get(&format!("/api/threads/{id}/branches")).await;
        assert_eq!(status.as_u16(), 200, "{answer}");
        let all = answer["threads"].as_array().unwrap().iter();
        json!(all.map(|one| json!([one["id"], one["parent"], one["at"]])).collect::<Vec<_>>())
    };
    let all = json!([["t", null, null], ["f", 0, 2], ["g", 1, 4]]);
    assert_eq!((tree("t").await, tree("g").await), (all.clone(), all));
    site.post("/api/threads/f/promote", r#"{"old":"before"}"#).await;
    assert_eq!(tree("t").await, json!([["before", null, null], ["t", 0, 2], ["g", 1, 4]]));
    let (_, state) = site.get("/api/threads/t").await;
    assert_eq!(state["parent"], "before");
    let (status, _) = site.get("/api/threads/none/branches").await;
    assert_eq!(status.as_u16(), 404);
}
