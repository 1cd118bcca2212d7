//! What a message does while a task waits, what is urgent, and what was spent.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use selvedge_agents::config::file::{Bounds, Budget, WhileWaiting};
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Consent, Desk, Doer};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Site, answer, calling_bob, key, tool};

/// Looks, if a user agrees.
fn bob() -> Agent {
    let lines = vec![
        Line { calls: vec![("look".to_owned(), json!({}))], ..Line::default() },
        Line { say: "seen".to_owned(), ..Line::default() },
    ];
    let mut bob = Agent::new("bob", Arc::new(Script::of(lines)));
    let mut look = tool("look", Doer::Agent { id: "eve".to_owned() });
    look.consent = Consent::Needed;
    bob.tools = vec![Arc::new(look)];
    bob
}

fn options(mode: WhileWaiting) -> Options {
    let eve = Agent::new("eve", Arc::new(Script::saying("a bird")));
    let desk = Desk::configured(
        [calling_bob(), bob(), eve],
        selvedge_agents::router::Rules::none(),
        [("ada".to_owned(), mode)],
    );
    Options { agents: Some(desk), ..Options::default() }
}

async fn site(mode: WhileWaiting) -> Site {
    let site = Site::start_with(options(mode), &[]).await.0;
    site.thread("t").await;
    site
}

async fn send(site: &Site, id: &str, text: &str) -> Value {
    let body = json!({"content": text, "to": "ada", "messageId": id}).to_string();
    let (status, sent) = site.post("/api/threads/t/messages", body).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{sent}");
    sent
}

async fn events(site: &Site) -> Vec<Value> {
    let (_, page) = site.get("/api/threads/t/events?limit=1000&visibility=internal").await;
    page["entries"].as_array().unwrap().iter().map(|entry| entry["event"].clone()).collect()
}

/// Waits for an event.
async fn until(site: &Site, found: impl Fn(&Value) -> bool) -> Value {
    let mut stream = site.stream("/api/threads/t/stream", None).await;
    let wait = async {
        loop {
            let frame = stream.next().await;
            if frame.field("id").is_some() && frame.field("data").is_some() && found(&frame.data())
            {
                return frame.data();
            }
        }
    };
    match tokio::time::timeout(Duration::from_secs(60), wait).await {
        Ok(event) => event,
        Err(_) => panic!("{:#?}", events(site).await),
    }
}

fn over(task: &'static str) -> impl Fn(&Value) -> bool {
    move |event| event["kind"] == "task-complete" && event["taskId"] == task
}

fn asks(event: &Value) -> bool {
    event["kind"] == "input-required"
}

#[tokio::test]
async fn a_message_answers_the_question_that_is_open_also_after_a_restart() {
    let site = site(WhileWaiting::Answer).await;
    send(&site, "m1", "go").await;
    let asked = until(&site, asks).await;
    let site = site.again_with(options(WhileWaiting::Answer)).await;
    // It does not say yes or no, so it is a message of its own, and its turn comes later.
    let sent = send(&site, "m2", "what is that?").await;
    assert_eq!(sent["answered"], json!([]));
    assert_eq!(sent["tasks"], json!([{"taskId": "m2/ada", "agent": "ada"}]));
    let sent = send(&site, "m3", "Yes!").await;
    let answered = json!([{"inputId": asked["inputId"], "taskId": asked["taskId"]}]);
    assert_eq!((&sent["answered"], &sent["tasks"]), (&answered, &json!([])));
    assert_eq!(until(&site, over("m1/ada")).await["content"], "done");
    until(&site, over("m2/ada")).await;
    let events = events(&site).await;
    let at = |found: &dyn Fn(&Value) -> bool| events.iter().position(found).unwrap();
    assert!(at(&over("m1/ada")) < at(&|e| e["kind"] == "step-started" && e["taskId"] == "m2/ada"));
    let received: Vec<&Value> = events.iter().filter(|e| e["kind"] == "input-received").collect();
    assert_eq!(received.len(), 1);
    assert_eq!((&received[0]["value"], &received[0]["providedBy"]), (&json!(true), &json!("user")));
}

#[tokio::test]
async fn of_many_messages_at_once_one_is_the_answer_and_the_same_request_again_is_the_same() {
    let site = site(WhileWaiting::Answer).await;
    send(&site, "m", "go").await;
    until(&site, asks).await;
    let body = |i: usize| json!({"content": "yes", "to": "ada", "messageId": format!("y{i}")});
    let request = |i: usize| {
        let request = site.request(Method::POST, "/api/threads/t/messages");
        request.header("Idempotency-Key", format!("k{i}")).body(body(i).to_string()).send()
    };
    let sent = futures_util::future::join_all((0..8).map(request)).await;
    let mut all = Vec::new();
    for sent in sent {
        all.push(answer(sent.unwrap()).await.1);
    }
    let answered = all.iter().filter(|sent| sent["answered"] != json!([])).count();
    let made = all.iter().filter(|sent| sent["tasks"] != json!([])).count();
    assert_eq!((answered, made), (1, 7), "{all:#?}");
    for (i, first) in all.iter().enumerate() {
        let (_, again) = answer(request(i).await.unwrap()).await;
        assert_eq!(again["duplicate"], true);
        for name in ["answered", "tasks", "messageId", "first", "last"] {
            assert_eq!(again[name], first[name], "{name}");
        }
    }
    let received = events(&site).await.into_iter().filter(|e| e["kind"] == "input-received");
    assert_eq!(received.count(), 1);
}

#[tokio::test]
async fn a_message_cancels_the_task_that_waits_with_all_that_came_of_it() {
    let site = site(WhileWaiting::Cancel).await;
    send(&site, "m1", "go").await;
    until(&site, asks).await;
    let sent = send(&site, "m2", "never mind").await;
    assert_eq!(sent["canceled"], json!(["m1/ada"]));
    assert_eq!(until(&site, over("m2/ada")).await["content"], "heard: never mind");
    let canceled: Vec<Value> =
        events(&site).await.into_iter().filter(|e| e["status"] == "canceled").collect();
    let tasks: Vec<&Value> = canceled.iter().map(|e| &e["taskId"]).collect();
    assert_eq!(tasks, [&json!("m1/ada/call-1-1"), &json!("m1/ada")]);
    let (_, inputs) = site.get("/api/threads/t/inputs").await;
    assert_eq!(inputs["items"], json!([]));
    // What works and does not wait is not canceled.
    let sent = send(&site, "m3", "hello").await;
    assert_eq!(sent["canceled"], json!([]));
}

#[tokio::test]
async fn if_nothing_is_said_a_message_waits_until_the_task_has_ended() {
    let site = site(WhileWaiting::Queue).await;
    send(&site, "m1", "go").await;
    let asked = until(&site, asks).await;
    let sent = send(&site, "m2", "yes").await;
    assert_eq!((&sent["answered"], &sent["canceled"]), (&json!([]), &json!([])));
    let begun = events(&site).await;
    assert!(!begun.iter().any(|e| e["kind"] == "step-started" && e["taskId"] == "m2/ada"));
    let input = asked["inputId"].as_str().unwrap().replace('/', "%2F");
    let (status, _) =
        site.post(&format!("/api/threads/t/inputs/{input}"), r#"{"value":true}"#).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(until(&site, over("m2/ada")).await["content"], "heard: yes");
}

#[tokio::test]
async fn an_agents_key_does_not_answer_for_a_user_by_a_message() {
    let keys = [key("", &["write", "read"]), key("", &["agent"])];
    let (site, keys) = Site::start_with(options(WhileWaiting::Answer), &keys).await;
    let ask = |key: &str, method, path: &str, body: Value| {
        let request = site.request(method, path).bearer_auth(key);
        async move { answer(request.body(body.to_string()).send().await.unwrap()).await }
    };
    ask(&keys[0], Method::POST, "/api/threads", json!({"id": "t"})).await;
    let path = "/api/threads/t/messages";
    ask(&keys[0], Method::POST, path, json!({"content": "go", "to": "ada"})).await;
    while ask(&keys[0], Method::GET, "/api/threads/t/inputs", json!({})).await.1["items"]
        == json!([])
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (status, sent) =
        ask(&keys[1], Method::POST, path, json!({"content": "yes", "to": "ada"})).await;
    match status.is_success() {
        true => assert_eq!(sent["answered"], json!([]), "{sent}"),
        false => assert_eq!(status, StatusCode::FORBIDDEN, "{sent}"),
    }
}

#[tokio::test]
async fn a_budget_that_is_reached_is_urgent_and_what_was_spent_is_told() {
    let mut ada = Agent::new("ada", Arc::new(Script::saying("one two")));
    let thread = Bounds { tokens: Some(3), ..Bounds::default() };
    ada.budget = Budget { thread, ..Budget::default() };
    let options = Options { agents: Some(Desk::new([ada])), ..Options::default() };
    let site = Site::start_with(options, &[]).await.0;
    site.thread("t").await;
    let question = |id: &str, urgency: &str| {
        json!({"kind": "input-required", "taskId": "x", "inputId": id, "inputType": "custom",
               "prompt": "?", "metadata": {"urgency": urgency}})
    };
    let asked = json!([question("calm", "low"), question("usual", "medium")]);
    site.post("/api/threads/t/events", asked.to_string()).await;
    send(&site, "m1", "hello").await;
    until(&site, over("m1/ada")).await;
    send(&site, "m2", "and again").await;
    let asked = until(&site, |e| asks(e) && e["metadata"]["budget"].is_object()).await;
    let ids = |inbox: &Value| {
        let items = inbox["items"].as_array().unwrap_or_else(|| panic!("{inbox}")).iter();
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let inbox = loop {
        let (_, inbox) = site.get("/api/inbox").await;
        if ids(&inbox).len() == 3 {
            break inbox;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let budget = "budget/thread/tokens/1";
    assert_eq!(ids(&inbox), ["calm", "usual", budget]);
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let (_, page) = site.get(&format!("/api/inbox?order=urgency&limit=1&after={after}")).await;
        paged.extend(ids(&page));
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(paged, [budget, "usual", "calm"]);
    assert_eq!(asked["inputId"], budget);
    let path = format!("/api/threads/t/inputs/{}", budget.replace('/', "%2F"));
    let (status, _) = site.post(&path, r#"{"value":50}"#).await;
    assert_eq!(status, StatusCode::OK);
    until(&site, over("m2/ada")).await;
    let row = json!({"agent": "ada", "model": "script", "input": 2, "output": 4, "cached": 0,
        "reasoning": 0, "calls": 2, "cost": 0.0});
    let used = loop {
        let (status, used) = site.get("/api/usage").await;
        assert_eq!(status, StatusCode::OK, "{used}");
        if used["total"]["calls"] == 2 {
            break used;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let mut used = used;
    let latency = used["usage"][0]["latency"].take();
    assert_eq!(latency, used["latency"]);
    assert!(latency["millis"].as_u64() >= latency["slowest"].as_u64(), "{latency}");
    used["usage"][0].as_object_mut().unwrap().remove("latency");
    assert_eq!((&used["usage"], &used["errors"]), (&json!([row]), &json!([])));
    let (_, by) = site.get("/api/usage?by=thread,day&thread=t").await;
    assert_eq!((&by["usage"][0]["thread"], &by["usage"][0]["day"]), (&json!("t"), &used["to"]));
    assert_eq!(by["usage"][0].get("agent"), None);
    assert_eq!(site.get("/api/usage?thread=none").await.0, StatusCode::NOT_FOUND);
    let (_, past) = site.get("/api/usage?from=2001-01-01&to=2001-12-31").await;
    assert_eq!((&past["usage"], &past["total"]["calls"]), (&json!([]), &json!(0)));
}
