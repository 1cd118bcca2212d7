//! What runs is stopped with all that came of it, once.

use reqwest::Method;
use serde_json::{Value, json};

use crate::site::{Site, answer};

const RUN: &str = r#"[
    {"kind":"task-created","taskId":"root","initiator":"user"},
    {"kind":"subtask-created","taskId":"root","subtaskId":"child","prompt":"p"},
    {"kind":"subtask-created","taskId":"child","subtaskId":"leaf","prompt":"p"},
    {"kind":"subtask-created","taskId":"root","subtaskId":"done","prompt":"p"},
    {"kind":"task-complete","taskId":"done","content":"ok"},
    {"kind":"tool-start","taskId":"leaf","toolCallId":"c1","toolName":"search","arguments":{}},
    {"kind":"tool-start","taskId":"root","toolCallId":"c2","toolName":"read","arguments":{},"visibility":"operator"},
    {"kind":"tool-start","taskId":"root","toolCallId":"c3","toolName":"read","arguments":{}},
    {"kind":"tool-complete","taskId":"root","toolCallId":"c3","toolName":"read","success":true},
    {"kind":"input-required","taskId":"child","inputId":"i","inputType":"confirmation","prompt":"?"},
    {"kind":"task-created","taskId":"apart","initiator":"user"}]"#;

async fn running(site: &Site) {
    site.thread("t").await;
    let (status, told) = site.post("/api/threads/t/events", RUN).await;
    assert_eq!(status.as_u16(), 200, "{told}");
}

async fn events(site: &Site, after: u64) -> Vec<Value> {
    let epoch = site.get("/api/threads/t").await.1["cursor"].as_str().unwrap().to_owned();
    let epoch = epoch.split('.').next().unwrap();
    let path = format!("/api/threads/t/events?visibility=internal&after={epoch}.{after}");
    let (_, page) = site.get(&path).await;
    page["entries"].as_array().unwrap().iter().map(|entry| entry["event"].clone()).collect()
}

/// An event by what it says of its end.
fn gist(event: &Value) -> [&str; 3] {
    let text = |name: &str| event[name].as_str().unwrap_or("");
    let what = if event["kind"] == "tool-complete" { "outcome" } else { "status" };
    let who = if event["kind"] == "tool-complete" { "toolCallId" } else { "taskId" };
    [text("kind"), text(who), text(what)]
}

#[tokio::test]
async fn a_task_is_stopped_with_all_that_came_of_it_in_one_append() {
    let site = Site::start().await;
    running(&site).await;
    let (status, told) =
        site.post("/api/threads/t/tasks/root/cancel", r#"{"reason":"enough"}"#).await;
    assert_eq!(status.as_u16(), 200, "{told}");
    assert_eq!((&told["first"], &told["last"]), (&json!(13), &json!(18)));
    let ended = events(&site, 12).await;
    assert_eq!(
        ended.iter().map(gist).collect::<Vec<_>>(),
        [
            ["cancel-requested", "root", ""],
            ["tool-complete", "c1", "interrupted"],
            ["task-status", "leaf", "canceled"],
            ["task-status", "child", "canceled"],
            ["tool-complete", "c2", "interrupted"],
            ["task-status", "root", "canceled"],
        ]
    );
    assert_eq!(
        (&ended[0]["reason"], &ended[4]["visibility"]),
        (&json!("enough"), &json!("operator"))
    );
    let (_, waiting) = site.get("/api/threads/t/inputs").await;
    assert_eq!(waiting["items"], json!([]), "what was asked is not asked any more");
    let (_, listed) = site.get("/api/threads/t/tasks").await;
    let states: Vec<_> = listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| {
            (
                t["id"].as_str().unwrap(),
                t["status"].as_str().unwrap(),
                t["children"].as_array().unwrap().len(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("root", "canceled", 2),
            ("child", "canceled", 1),
            ("leaf", "canceled", 0),
            ("done", "completed", 0),
            ("apart", "created", 0)
        ]
    );
    let (_, page) = site.get("/api/threads/t/tasks?limit=2&after=2").await;
    assert_eq!((&page["tasks"][0]["id"], &page["next"]), (&json!("leaf"), &json!(4)));

    for (path, status, code) in [
        ("tasks/root/cancel", 409, "already_over"),
        ("tasks/done/cancel", 409, "already_over"),
        ("tasks/none/cancel", 404, "not_found"),
        ("tool-calls/c1/cancel", 409, "already_over"),
        ("tool-calls/none/cancel", 404, "not_found"),
    ] {
        let (got, told) = site.post(&format!("/api/threads/t/{path}"), "").await;
        assert_eq!((got.as_u16(), &told["error"]["code"]), (status, &json!(code)), "{path}");
    }
    let (status, told) = site.post("/api/threads/t/cancel", r#"{"reason":3}"#).await;
    assert_eq!((status.as_u16(), &told["error"]["pointer"]), (400, &json!("/reason")));
    assert_eq!(events(&site, 18).await.len(), 0);
    let (status, _) = site.post("/api/threads/t/cancel", "").await;
    assert_eq!(status.as_u16(), 200);
    let rest = events(&site, 18).await;
    assert_eq!(
        rest.iter().map(gist).collect::<Vec<_>>(),
        [["cancel-requested", "", ""], ["task-status", "apart", "canceled"]]
    );
    let (status, told) = site.post("/api/threads/t/cancel", "").await;
    assert_eq!((status.as_u16(), &told["error"]["code"]), (409, &json!("already_over")));
    assert_eq!(site.post("/api/threads/none/cancel", "").await.0.as_u16(), 404);
}

#[tokio::test]
async fn one_tool_call_is_stopped_and_its_task_goes_on() {
    let site = Site::start().await;
    running(&site).await;
    let send = async || {
        let request = site.request(Method::POST, "/api/threads/t/tool-calls/c1/cancel");
        answer(request.header("idempotency-key", "k").send().await.unwrap()).await
    };
    let (_, first) = send().await;
    let (status, second) = send().await;
    assert_eq!(
        (status.as_u16(), &second["duplicate"], &second["first"]),
        (200, &json!(true), &first["first"])
    );
    let ended = events(&site, 12).await;
    assert_eq!(
        ended.iter().map(gist).collect::<Vec<_>>(),
        [["cancel-requested", "leaf", ""], ["tool-complete", "c1", "interrupted"]]
    );
    assert_eq!(ended[0]["toolCallId"], "c1");
    let (_, state) = site.get("/api/threads/t").await;
    let leaf = state["tasks"].as_array().unwrap().iter().find(|t| t["id"] == "leaf").unwrap();
    assert_eq!(leaf["status"], "working");
}

#[tokio::test]
async fn of_many_cancels_one_ends_each_task_once_while_tasks_come_and_go() {
    let site = Site::start().await;
    running(&site).await;
    let noise = async {
        for n in 0..20 {
            let more = format!(
                r#"[{{"kind":"subtask-created","taskId":"root","subtaskId":"s{n}","prompt":"p"}},
                {{"kind":"content-delta","taskId":"root","delta":"x"}}]"#
            );
            site.post("/api/threads/t/events", more).await;
        }
    };
    let cancels = futures_util::future::join_all(
        (0..12).map(|_| site.post("/api/threads/t/tasks/root/cancel", "")),
    );
    let (answers, ()) = futures_util::future::join(cancels, noise).await;
    let taken = answers.iter().filter(|(status, _)| status.is_success()).count();
    let over = answers.iter().filter(|(_, told)| told["error"]["code"] == "already_over").count();
    assert_eq!((taken, over), (1, 11), "{answers:?}");
    let all = events(&site, 12).await;
    let mut ended: Vec<_> =
        all.iter().filter(|e| e["status"] == "canceled").map(|e| e["taskId"].to_string()).collect();
    let count = ended.len();
    ended.sort();
    ended.dedup();
    assert_eq!(ended.len(), count, "each once");
    assert!(ended.contains(&"\"root\"".to_owned()) && ended.contains(&"\"leaf\"".to_owned()));
    let asked = all.iter().position(|e| e["kind"] == "cancel-requested").unwrap();
    let before = all[..asked].iter().filter(|e| e["kind"] == "subtask-created").count();
    assert_eq!(count, 3 + before, "all that had begun when it was taken");
}
