//! Lists over all threads: by what they are, what waits, what was said.

use std::time::Duration;

use serde_json::{Value, json};

use crate::site::Site;

/// Asks until what follows behind the acknowledgement is there.
async fn until(site: &Site, path: &str, there: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..1500 {
        let (status, answer) = site.get(path).await;
        assert_eq!(status.as_u16(), 200, "{path}: {answer}");
        if there(&answer) {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{path} never shows it");
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["threads"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn threads_are_listed_by_what_they_are() {
    let site = Site::start().await;
    for n in 0..5 {
        let body = json!({"id": format!("t{n}"), "title": format!("Thread {n}"), "metadata": {"n": n, "even": n % 2 == 0}, "agents": [format!("a{}", n % 2)]});
        let (status, answer) = site.post("/api/threads", body.to_string()).await;
        assert_eq!(status.as_u16(), 201, "{answer}");
    }
    // The list is in the order of milliseconds: threads of one and the same are in that of their
    // making, and t1 is to be the last that changed.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let ask = r#"[{"kind":"task-created","taskId":"k","initiator":"user"},{"kind":"input-required","taskId":"k","inputId":"i","requireUser":true,"inputType":"confirmation","prompt":"Really?"}]"#;
    site.post("/api/threads/t1/events", ask).await;
    let all = until(&site, "/api/threads", |a| {
        a["threads"].as_array().unwrap().len() == 5 && a["threads"][0]["status"] == "waiting"
    })
    .await;
    assert_eq!(ids(&all), ["t1", "t4", "t3", "t2", "t0"]);
    assert_eq!((&all["threads"][1]["title"], &all["next"]), (&json!("Thread 4"), &Value::Null));
    for (query, expected) in [
        ("status=waiting", vec!["t1"]),
        ("participant=a0", vec!["t4", "t2", "t0"]),
        ("metadata.n=3", vec!["t3"]),
        ("metadata.even=true&participant=a0", vec!["t4", "t2", "t0"]),
        ("metadata.n=9", vec![]),
    ] {
        let (_, answer) = site.get(&format!("/api/threads?{query}")).await;
        assert_eq!(ids(&answer), expected, "{query}");
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let (_, page) = site.get(&format!("/api/threads?limit=2&after={after}")).await;
        seen.extend(ids(&page).iter().map(|id| (*id).to_owned()));
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, ["t1", "t4", "t3", "t2", "t0"]);

    let (_, inbox) = site.get("/api/inbox").await;
    let item = &inbox["items"][0];
    assert_eq!(
        (&item["thread"], &item["id"], &item["prompt"]),
        (&json!("t1"), &json!("i"), &json!("Really?"))
    );
    let answered =
        r#"{"kind":"input-received","taskId":"k","inputId":"i","providedBy":"user","value":true}"#;
    site.post("/api/threads/t1/events", answered).await;
    until(&site, "/api/inbox", |a| a["items"] == json!([])).await;
    for bad in [
        "/api/threads?status=x",
        "/api/threads?limit=0",
        "/api/threads?after=zz!",
        "/api/inbox?kind=x",
        "/api/inbox?order=x",
        "/api/usage?by=x",
        "/api/usage?order=x",
        "/api/usage?from=yesterday",
        "/api/usage?after=x.y",
        "/api/search",
    ] {
        let (status, answer) = site.get(bad).await;
        assert_eq!(
            (status.as_u16(), &answer["error"]["code"]),
            (400, &json!("bad_parameter")),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn what_was_said_is_found_with_its_place() {
    let site = Site::start().await;
    site.thread("t").await;
    let said = r#"[{"kind":"message","role":"user","content":"How long is the Seine?"},{"kind":"internal:checkpoint","iteration":1,"note":"Seine"}]"#;
    let (status, answer) = site.post("/api/threads/t/events", said).await;
    assert_eq!(status.as_u16(), 200, "{answer}");
    let found = until(&site, "/api/search?q=seine", |a| a["results"] != json!([])).await;
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!((&results[0]["thread"], &results[0]["seq"]), (&json!("t"), &json!(2)));
    assert!(results[0]["snippet"].as_array().unwrap().contains(&json!({"hit": "Seine"})));
    for hostile in ["%22", "AND%20OR", "a*b%28", "%00", "NEAR%28"] {
        let (status, _) = site.get(&format!("/api/search?q={hostile}")).await;
        assert!(matches!(status.as_u16(), 200 | 400), "{hostile}");
    }
}

#[tokio::test]
async fn a_list_tells_who_works_and_what_it_cost() {
    let site = Site::start().await;
    site.thread("t").await;
    let turn = |agent: &str, kind: &str| {
        json!([
            {"kind": "task-created", "taskId": agent, "agentId": agent, "initiator": "user"},
            {"kind": kind, "taskId": agent, "agentId": agent,
                "usage": {"input_tokens": 10, "output_tokens": 5, "cost": 0.25}},
        ])
    };
    for (agent, kind) in [("first", "step-finished"), ("second", "step-finished"), ("third", "x")] {
        site.post("/api/threads/t/events", &turn(agent, kind).to_string()).await;
    }
    let said = r#"{"kind":"message","role":"user","author":"ada","content":"hi"}"#;
    site.post("/api/threads/t/events", said).await;
    let listed = |answer: &serde_json::Value| answer["threads"][0]["lastWords"] == "hi";
    let answer = until(&site, "/api/threads", listed).await;
    let thread = &answer["threads"][0];
    let agents = ["first", "second", "third"].map(|id| json!({"id": id, "name": null}));
    assert_eq!(thread["agents"], json!(agents), "whoever only said something is no agent");
    assert_eq!((&thread["tokens"], &thread["cost"]), (&json!(30), &json!(0.5)));
}

#[tokio::test]
async fn a_title_can_be_changed() {
    let site = Site::start().await;
    site.thread("t").await;
    let url = format!("{}/api/threads/t", site.url);
    let request = site.client.patch(&url).body(r#"{"title":"New","metadata":{"a":1}}"#);
    assert_eq!(request.send().await.unwrap().status().as_u16(), 200);
    let (_, now) = site.get("/api/threads/t").await;
    assert_eq!((&now["title"], &now["metadata"]), (&json!("New"), &json!({"a": 1})));
    for (body, pointer) in [(r#"{"title":3}"#, "/title"), (r#"{"metadata":[]}"#, "/metadata")] {
        let answer = site.client.patch(&url).body(body).send().await.unwrap();
        let (status, answer) = crate::site::answer(answer).await;
        assert_eq!((status.as_u16(), &answer["error"]["pointer"]), (400, &json!(pointer)));
    }
    let none = site.client.patch(format!("{}/api/threads/none", site.url)).body("{}");
    assert_eq!(none.send().await.unwrap().status().as_u16(), 404);
}

#[tokio::test]
async fn a_deleted_thread_is_gone_and_its_id_is_free() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    let (_, fork) = site.post("/api/threads/t/fork", r#"{"id":"f"}"#).await;
    assert_eq!(fork["head"], 2);
    let delete = |id: &str| site.client.delete(format!("{}/api/threads/{id}", site.url)).send();
    assert_eq!(delete("t").await.unwrap().status().as_u16(), 204);
    assert_eq!(delete("t").await.unwrap().status().as_u16(), 404);
    for path in ["/api/threads/t", "/api/threads/t/events", "/api/threads/t/stream"] {
        assert_eq!(site.get(path).await.0.as_u16(), 404, "{path}");
    }
    until(&site, "/api/threads", |a| ids(a) == ["f"]).await;
    let (_, page) = site.get("/api/threads/f/events").await;
    assert_eq!(page["entries"].as_array().unwrap().len(), 2, "a branch keeps its past");
    let again = site.thread("t").await;
    assert_ne!(again, epoch, "a cursor of the old one is not taken for one of the new");
}

#[tokio::test]
async fn the_end_of_a_journal_comes_with_the_threads_line() {
    let site = Site::start().await;
    let body = json!({"id": "t", "title": "Cloth", "agents": ["weaver", "dyer"]});
    site.post("/api/threads", body.to_string()).await;
    let said: Vec<Value> = (0..20)
        .map(|n| json!({"kind": "message", "role": "user", "content": format!("word {n}")}))
        .collect();
    site.post("/api/threads/t/events", json!(said).to_string()).await;
    let path = "/api/threads/t/events?last=3";
    let page = until(&site, path, |page| page["thread"]["messages"] == 20).await;
    let seqs: Vec<u64> =
        page["entries"].as_array().unwrap().iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert_eq!((seqs, &page["head"]), (vec![21, 22, 23], &json!(23)));
    assert_eq!(page["cursor"], page["thread"]["cursor"]);
    let line = &page["thread"];
    let agents: Vec<&Value> = line["agents"].as_array().unwrap().iter().map(|a| &a["id"]).collect();
    assert_eq!((&line["title"], agents), (&json!("Cloth"), vec![&json!("weaver"), &json!("dyer")]));
    let (_, all) = site.get("/api/threads/t/events?last=1000").await;
    assert_eq!(all["entries"].as_array().unwrap().len(), 23);
    for wrong in ["last=0", "last=some", "last=10001"] {
        let (status, answer) = site.get(&format!("/api/threads/t/events?{wrong}")).await;
        assert_eq!(
            (status.as_u16(), &answer["error"]["code"]),
            (400, &json!("bad_parameter")),
            "{wrong}"
        );
    }
}
