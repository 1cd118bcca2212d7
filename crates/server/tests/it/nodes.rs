//! Several servers on one database: whichever is asked, each thing is done once, and what one does
//! is seen by those who ask another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reqwest::StatusCode;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Consent, Desk, Doer, Invocation, Run, ToolError};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::a2a;
use crate::site::{Home, Site, tool};

const PATIENCE: Duration = Duration::from_secs(60);

fn working(agents: Vec<Agent>) -> Options {
    Options { agents: Some(Desk::new(agents)), ..Options::default() }
}

/// Asks a server until something is so.
async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} does not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// All events of a thread, of some kinds.
async fn events(site: &Site, thread: &str, kinds: &str) -> Vec<Value> {
    let path = format!("/api/threads/{thread}/events?limit=10000&kinds={kinds}");
    let (status, page) = site.get(&path).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    page["entries"].as_array().unwrap().iter().map(|entry| entry["event"].clone()).collect()
}

async fn over(site: &Site, thread: &str, task: &str) -> Vec<Value> {
    until("the end of a task", async || {
        let all = events(site, thread, "task-complete,task-status").await;
        let is_over =
            |event: &Value| event["kind"] == "task-complete" || event["status"] == "failed";
        let ends: Vec<Value> =
            all.into_iter().filter(|event| event["taskId"] == task && is_over(event)).collect();
        (!ends.is_empty()).then_some(ends)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_answered_once_whichever_server_takes_it() {
    let Some(home) = Home::shared() else { return };
    let ada = || Agent::new("ada", Arc::new(Script::saying("I heard: {input}")));
    let sites = [
        Site::at(&home, working(vec![ada()])).await,
        // One that has no agents, and only shows what happens.
        Site::at(&home, Options::default()).await,
        Site::at(&home, working(vec![ada()])).await,
    ];
    sites[0].thread("t").await;
    // Followed on another server all the while.
    let mut stream = sites[1].stream("/api/threads/t/stream?kinds=task-complete", None).await;
    for n in 0..12 {
        let body =
            json!({"content": format!("say {n}"), "to": "ada", "messageId": format!("m{n}")});
        let (status, sent) =
            sites[n % 2 * 2].post("/api/threads/t/messages", body.to_string()).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{sent}");
    }
    let mut ends = Vec::new();
    while ends.len() < 12 {
        let frame = stream.next().await;
        if frame.field("event") == Some("task-complete") {
            ends.push(frame.data()["taskId"].as_str().unwrap().to_owned());
        }
    }
    ends.sort();
    ends.dedup();
    assert_eq!(ends.len(), 12);
    for (n, site) in sites.iter().enumerate() {
        assert_eq!(events(site, "t", "task-complete").await.len(), 12, "server {n}");
        // A model call for each, and no second one.
        assert_eq!(events(site, "t", "step-started").await.len(), 12, "server {n}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_another_server_took_lets_the_turn_go_on() {
    let Some(home) = Home::shared() else { return };
    let ada = || {
        let lines = vec![
            Line { calls: vec![("look".to_owned(), json!({}))], ..Line::default() },
            Line { say: "thank you".to_owned(), ..Line::default() },
        ];
        let mut ada = Agent::new("ada", Arc::new(Script::of(lines)));
        let mut look = tool("look", Doer::Client);
        look.consent = Consent::Needed;
        ada.tools = vec![Arc::new(look)];
        ada
    };
    let here = Site::at(&home, working(vec![ada()])).await;
    let there = Site::at(&home, working(vec![ada()])).await;
    here.thread("t").await;
    here.post("/api/threads/t/messages", r#"{"content":"go","messageId":"m"}"#).await;
    for (kind, value) in [("confirmation", json!(true)), ("tool-execution", json!("a bird"))] {
        let question = until("a question", async || {
            let (_, waiting) = there.get("/api/threads/t").await;
            let all = waiting["inputs"].as_array()?.clone();
            let found = all.iter().find(|input| input["inputType"] == kind)?;
            Some(found["inputId"].as_str().unwrap().replace('/', "%2F"))
        })
        .await;
        let path = format!("/api/threads/t/inputs/{question}");
        let (status, answer) = there.post(&path, json!({"value": value}).to_string()).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }
    let ends = over(&there, "t", "m/ada").await;
    assert_eq!((ends.len(), &ends[0]["content"]), (1, &json!("thank you")));
    assert_eq!(events(&here, "t", "tool-complete").await.len(), 1);
}

/// Counts how often it is used.
struct Counted(Arc<AtomicUsize>);

impl Run for Counted {
    fn run(&self, _: Invocation) -> BoxFuture<'static, Result<Value, ToolError>> {
        let nth = self.0.fetch_add(1, Ordering::SeqCst);
        async move { Ok(json!(nth)) }.boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_servers_turn_is_finished_by_another_and_the_dead_one_says_nothing_more() {
    let Some(home) = Home::shared() else { return };
    let used = Arc::new(AtomicUsize::new(0));
    let ada = |pause: Duration| {
        let lines = vec![
            Line { calls: vec![("count".to_owned(), json!({}))], ..Line::default() },
            Line { say: "counted, and done".to_owned(), pause, ..Line::default() },
        ];
        let mut ada = Agent::new("ada", Arc::new(Script::of(lines)));
        ada.tools = vec![Arc::new(tool("count", Doer::Here(Arc::new(Counted(used.clone())))))];
        ada
    };
    // This one thinks for long after its tool has ended.
    let here = Site::at(&home, working(vec![ada(Duration::from_secs(8))])).await;
    here.thread("t").await;
    here.post("/api/threads/t/messages", r#"{"content":"go","messageId":"m"}"#).await;
    until("the tool's end", async || {
        (!events(&here, "t", "tool-complete").await.is_empty()).then_some(())
    })
    .await;
    let there = Site::at(&home, working(vec![ada(Duration::ZERO)])).await;
    // It is not heard of any more, though it goes on by itself, as one does that was only cut off.
    let began = Instant::now();
    let first = "(SELECT min(id) FROM node)";
    let taken = until("another's claim", async || {
        home.run(&format!("UPDATE node SET until = 0 WHERE id = {first}"));
        let ends = events(&there, "t", "task-complete").await;
        (!ends.is_empty()).then_some(began.elapsed())
    });
    let took = taken.await;
    let ends = over(&there, "t", "m/ada").await;
    assert_eq!((ends.len(), &ends[0]["content"]), (1, &json!("counted, and done")));
    // Long enough for the first one to have its say.
    tokio::time::sleep(Duration::from_secs(9).saturating_sub(began.elapsed())).await;
    assert_eq!(over(&there, "t", "m/ada").await.len(), 1);
    assert_eq!(used.load(Ordering::SeqCst), 1, "a tool that has ended is not used again");
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_told_once_each_by_all_servers_together() {
    let Some(home) = Home::shared() else { return };
    let here = Site::at(&home, a2a::options()).await;
    let there = Site::at(&home, a2a::options()).await;
    let (url, got) = a2a::hook().await;
    let mut sending = a2a::message("go", json!({}));
    sending["configuration"] = json!({"taskPushNotificationConfig": {"id": "c", "url": url}});
    let told = a2a::call(&here, None, "SendMessage", sending).await;
    let id = told["result"]["task"]["id"].clone();
    a2a::until(&got, "INPUT_REQUIRED").await;
    // Long enough for the other to look for whom to tell.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    a2a::sent(&there, "yes", json!({"taskId": id})).await;
    let all = a2a::until(&got, "TASK_STATE_COMPLETED").await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(got.lock().unwrap().len(), all.len(), "nothing is told again");
    let mut texts: Vec<String> = all.iter().map(Value::to_string).collect();
    assert!(all[0]["task"]["id"] == id, "the task comes first: {}", all[0]);
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all.len(), "{all:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_nobody_answers_is_closed_once() {
    let Some(home) = Home::shared() else { return };
    let ada = || Agent::new("ada", Arc::new(Script::saying("x")));
    let sites = [
        Site::at(&home, working(vec![ada()])).await,
        Site::at(&home, working(vec![ada()])).await,
        Site::at(&home, working(vec![ada()])).await,
    ];
    sites[0].thread("t").await;
    let mut ask = Vec::new();
    for n in 0..10 {
        let at = crate::inputs::soon(500);
        ask.push(
            json!({"kind": "input-required", "taskId": format!("k{n}"), "inputId": format!("i{n}"),
            "inputType": "confirmation", "prompt": "?", "expiresAt": at}),
        );
    }
    let (status, answer) = sites[1].post("/api/threads/t/events", json!(ask).to_string()).await;
    assert!(status.is_success(), "{answer}");
    until("the ends of all questions", async || {
        (events(&sites[2], "t", "input-expired").await.len() >= 10).then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(events(&sites[0], "t", "input-expired").await.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_that_one_server_revokes_ends_what_is_read_on_another() {
    let Some(home) = Home::shared() else { return };
    let here = Site::at(&home, Options::default()).await;
    let there = Site::at(&home, Options::default()).await;
    here.thread("t").await;
    let (status, made) = here.post("/api/threads/t/shares", "{}").await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let mut stream =
        there.stream(&format!("{}/stream", made["link"].as_str().unwrap()), None).await;
    stream.until_caught_up().await;
    let path = format!("/api/threads/t/shares/{}", made["id"].as_str().unwrap());
    let revoked = here.request(reqwest::Method::DELETE, &path).send().await.unwrap();
    assert_eq!(revoked.status(), StatusCode::NO_CONTENT);
    assert_eq!(stream.next().await.data(), json!({"reason": "revoked"}));
    stream.ends().await;
}
