//! Questions are answered once, by whoever may, in time.

use std::time::{Duration, SystemTime};

use reqwest::Method;
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Site, answer, key};

const ASK: &str = r#"[{"kind":"task-created","taskId":"k","initiator":"user"},
    {"kind":"input-required","taskId":"k","inputId":"i","inputType":"selection","prompt":"Which?","options":["a","b"]},
    {"kind":"auth-required","taskId":"k","authId":"au","authType":"oauth2","prompt":"Log in"}]"#;

async fn asked(site: &Site) {
    site.thread("t").await;
    let (status, told) = site.post("/api/threads/t/events", ASK).await;
    assert_eq!(status.as_u16(), 200, "{told}");
}

async fn head(site: &Site) -> u64 {
    site.get("/api/threads/t").await.1["head"].as_u64().unwrap()
}

/// Something refused: its status, code and pointer.
async fn refused(site: &Site, path: &str, body: &str) -> (u16, String, Value) {
    let (status, told) = site.post(path, body).await;
    let error = &told["error"];
    (status.as_u16(), error["code"].as_str().unwrap().to_owned(), error["pointer"].clone())
}

/// A time so many milliseconds from now, as RFC 3339.
pub(crate) fn soon(millis: u64) -> String {
    let at = SystemTime::now() + Duration::from_millis(millis);
    let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    selvedge_protocol::time::from_millis(i64::try_from(at).unwrap()).unwrap()
}

#[tokio::test]
async fn what_waits_is_listed_with_the_whole_question() {
    let site = Site::start().await;
    asked(&site).await;
    let (_, listed) = site.get("/api/threads/t/inputs").await;
    let items = listed["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "what was acknowledged is there at once: {listed}");
    assert_eq!(items[0]["id"], "i");
    assert_eq!(items[0]["question"]["options"], json!(["a", "b"]));
    assert_eq!((&items[1]["kind"], &items[1]["requireUser"]), (&json!("auth"), &json!(true)));
    let (_, page) = site.get("/api/threads/t/inputs?limit=1").await;
    assert_eq!((page["items"].as_array().unwrap().len(), &page["next"]), (1, &json!(3)));
    let (_, rest) = site.get("/api/threads/t/inputs?after=3").await;
    assert_eq!((&rest["items"][0]["id"], &rest["next"]), (&json!("au"), &Value::Null));
    assert_eq!(site.get("/api/threads/none/inputs").await.0.as_u16(), 404);
}

#[tokio::test]
async fn of_many_answers_one_is_taken_and_the_others_hear_which() {
    let site = Site::start().await;
    asked(&site).await;
    let tries = (0..24).map(|n| {
        let body = if n % 2 == 0 { r#"{"value":"a"}"# } else { r#"{"value":"b"}"# };
        site.post("/api/threads/t/inputs/i", body)
    });
    let answers = futures_util::future::join_all(tries).await;
    let taken: Vec<_> = answers.iter().filter(|(status, _)| status.is_success()).collect();
    assert_eq!(taken.len(), 1);
    let seq = &taken[0].1["first"];
    assert_eq!(seq, &json!(5));
    for (status, told) in answers.iter().filter(|(status, _)| !status.is_success()) {
        assert_eq!(status.as_u16(), 409);
        assert_eq!(told["error"]["code"], "already_answered");
        assert_eq!(&told["error"]["details"]["seq"], seq);
    }
    let (_, page) = site.get("/api/threads/t/events?after=earliest&kinds=input-received").await;
    let entries = page["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 1);
    let event = &entries[0]["event"];
    assert_eq!((&event["taskId"], &event["providedBy"]), (&json!("k"), &json!("user")));
}

#[tokio::test]
async fn a_second_try_with_the_same_key_gets_the_first_answer() {
    let site = Site::start().await;
    asked(&site).await;
    let send = async |path: &str, body: &'static str| {
        let request = site.request(Method::POST, path).header("idempotency-key", "k1").body(body);
        answer(request.send().await.unwrap()).await
    };
    let body = r#"{"value":"a","userId":"u1","reason":"cheap"}"#;
    let (_, first) = send("/api/threads/t/inputs/i", body).await;
    let (status, second) = send("/api/threads/t/inputs/i", body).await;
    assert_eq!((status.as_u16(), &second["duplicate"]), (200, &json!(true)));
    assert_eq!(second["cursor"], first["cursor"]);
    let (status, told) = send("/api/threads/t/inputs/i", r#"{"value":"b"}"#).await;
    assert_eq!((status.as_u16(), &told["error"]["code"]), (422, &json!("key_reused")));
    let (status, _) = send("/api/threads/t/auths/au", r#"{"userId":"u1"}"#).await;
    assert_eq!(status.as_u16(), 422, "what it was for counts, too");
    let (_, page) = site.get("/api/threads/t/events?kinds=input-received").await;
    let event = &page["entries"][0]["event"];
    assert_eq!((&event["userId"], &event["metadata"]["reason"]), (&json!("u1"), &json!("cheap")));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_changes_nothing() {
    let site = Site::start().await;
    asked(&site).await;
    let before = head(&site).await;
    let input = "/api/threads/t/inputs/i";
    let auth = "/api/threads/t/auths/au";
    for (path, body, status, code, pointer) in [
        (input, r#"{"value":"c"}"#, 400, "bad_parameter", json!("/value")),
        (input, r#"{"value":["a","c"]}"#, 400, "bad_parameter", json!("/value")),
        (input, "{}", 400, "bad_parameter", json!("/value")),
        (input, "[]", 400, "bad_parameter", json!("")),
        (input, "{", 400, "bad_json", Value::Null),
        (input, r#"{"value":"a","userId":3}"#, 400, "bad_parameter", json!("/userId")),
        ("/api/threads/t/inputs/other", r#"{"value":"a"}"#, 404, "not_found", Value::Null),
        ("/api/threads/t/inputs/au", r#"{"value":"a"}"#, 404, "not_found", Value::Null),
        ("/api/threads/none/inputs/i", r#"{"value":"a"}"#, 404, "not_found", Value::Null),
        (auth, "{}", 400, "bad_parameter", json!("/userId")),
        (
            auth,
            r#"{"userId":"u","access_token":"s3cret"}"#,
            400,
            "bad_parameter",
            json!("/access_token"),
        ),
        (auth, r#"{"userId":"u","credential":"eyJ"}"#, 400, "bad_parameter", json!("/credential")),
    ] {
        let got = refused(&site, path, body).await;
        assert_eq!(got, (status, code.to_owned(), pointer), "{path} {body}");
    }
    assert_eq!(head(&site).await, before);
    let (status, told) = site.post(auth, r#"{"userId":"u"}"#).await;
    assert_eq!(status.as_u16(), 200, "{told}");
    assert_eq!(refused(&site, auth, r#"{"userId":"u"}"#).await.0, 409);
    let over = r#"{"kind":"task-complete","taskId":"k","content":"enough"}"#;
    site.post("/api/threads/t/events", over).await;
    let (status, told) = site.post(input, r#"{"value":"a"}"#).await;
    assert_eq!((status.as_u16(), &told["error"]["code"]), (409, &json!("already_over")));
    assert_eq!(told["error"]["details"], json!({"state": "completed"}));
}

#[tokio::test]
async fn what_only_a_user_may_answer_no_agent_does() {
    let made = [key("acme", &["operator"]), key("acme", &["agent"]), key("acme", &["write"])];
    let (site, keys) = Site::start_with(Options::default(), &made).await;
    let send = async |path: &str, key: usize, body: &str| {
        let request = site.request(Method::POST, path).bearer_auth(&keys[key]);
        answer(request.body(body.to_owned()).send().await.unwrap()).await
    };
    assert_eq!(send("/api/threads", 0, r#"{"id":"t"}"#).await.0.as_u16(), 201);
    let ask = r#"[{"kind":"input-required","inputId":"user","requireUser":true,"inputType":"confirmation","prompt":"?"},
        {"kind":"input-required","inputId":"any","inputType":"confirmation","prompt":"?"},
        {"kind":"input-required","inputId":"secret","visibility":"operator","inputType":"confirmation","prompt":"?"},
        {"kind":"auth-required","authId":"au","authType":"oauth2","prompt":"?"}]"#;
    send("/api/threads/t/events", 0, ask).await;
    // Until lists have caught up with what was acknowledged.
    while site.ask(Method::GET, "/api/inbox", &keys[1]).await.1["items"].as_array().unwrap().len()
        < 3
    {
        tokio::task::yield_now().await;
    }
    for (key, query, count) in
        [(1, "?visibility=internal", 3), (0, "", 3), (0, "?visibility=operator", 4)]
    {
        let (_, inbox) = site.ask(Method::GET, &format!("/api/inbox{query}"), &keys[key]).await;
        assert_eq!(inbox["items"].as_array().unwrap().len(), count, "{key}{query}: {inbox}");
    }
    let yes = r#"{"value":true}"#;
    for (path, key, body, status) in [
        ("/api/threads/t/inputs/user", 1, yes, 403),
        ("/api/threads/t/auths/au", 1, r#"{"userId":"u"}"#, 403),
        ("/api/threads/t/inputs/secret", 1, yes, 404),
        ("/api/threads/t/inputs/secret", 2, yes, 404),
        ("/api/threads/t/inputs/any", 1, yes, 200),
        ("/api/threads/t/inputs/user", 2, yes, 200),
        ("/api/threads/t/auths/au", 2, r#"{"userId":"u"}"#, 200),
        ("/api/threads/t/inputs/secret", 0, yes, 200),
    ] {
        let (got, told) = send(path, key, body).await;
        assert_eq!(got.as_u16(), status, "{path} {key}: {told}");
    }
    let (_, page) = site
        .ask(
            Method::GET,
            "/api/threads/t/events?kinds=input-received&visibility=internal",
            &keys[0],
        )
        .await;
    let by: Vec<_> = page["entries"].as_array().unwrap().iter().map(|e| &e["event"]).collect();
    let by: Vec<_> = by
        .iter()
        .map(|e| {
            (
                e["inputId"].as_str().unwrap(),
                e["providedBy"].as_str().unwrap(),
                e["visibility"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        by,
        [("any", "agent", None), ("user", "user", None), ("secret", "user", Some("operator"))]
    );
}

#[tokio::test]
async fn a_question_that_nobody_answers_in_time_is_closed_once_and_its_task_fails() {
    let site = Site::start().await;
    site.thread("t").await;
    let ask = format!(
        r#"[{{"kind":"task-created","taskId":"k","initiator":"user"}},
        {{"kind":"tool-start","taskId":"k","toolCallId":"c","toolName":"ask","arguments":{{}}}},
        {{"kind":"input-required","taskId":"k","inputId":"i","inputType":"confirmation","prompt":"?","expiresAt":"{}"}},
        {{"kind":"input-required","taskId":"k","inputId":"j","inputType":"confirmation","prompt":"?","expiresAt":"{}"}}]"#,
        soon(300),
        soon(600)
    );
    let mut stream = site
        .stream(
            "/api/threads/t/stream?after=tail&kinds=input-expired,task-status,tool-complete",
            None,
        )
        .await;
    stream.until_caught_up().await;
    site.post("/api/threads/t/events", ask).await;
    let mut told = Vec::new();
    while told.len() < 4 {
        let frame = stream.next().await;
        if frame.field("data").is_some() && frame.field("event").is_some() {
            told.push(frame.data());
        }
    }
    assert_eq!((&told[0]["kind"], &told[0]["inputId"]), (&json!("input-expired"), &json!("i")));
    assert_eq!((&told[1]["kind"], &told[1]["inputId"]), (&json!("input-expired"), &json!("j")));
    assert_eq!((&told[2]["toolCallId"], &told[2]["outcome"]), (&json!("c"), &json!("interrupted")));
    assert_eq!((&told[3]["status"], &told[3]["code"]), (&json!("failed"), &json!("timeout")));
    let (_, page) = site.get("/api/threads/t/events?kinds=input-expired").await;
    assert_eq!(page["entries"].as_array().unwrap().len(), 2);
    let got = refused(&site, "/api/threads/t/inputs/i", r#"{"value":true}"#).await;
    assert_eq!((got.0, got.1.as_str()), (410, "expired"));
    assert_eq!(site.get("/api/threads/t/inputs").await.1["items"], json!([]));
}

#[tokio::test]
async fn what_expired_while_nobody_served_is_told_at_the_start() {
    let mut site = Site::start().await;
    site.thread("t").await;
    site.stop().await;
    // Nobody serves; someone else writes into the same file.
    let store = crate::site::open(site.home().address()).await;
    let ask = format!(
        r#"{{"kind":"auth-required","taskId":"k","authId":"a","authType":"oauth2","prompt":"?","contextId":"t","expiresAt":"{}"}}"#,
        soon(0)
    );
    let thread = selvedge_store::ThreadKey::new("default", "t");
    let draft = selvedge_store::Draft::new(ask);
    store.append(selvedge_store::Append::new(thread, vec![draft])).await.unwrap();
    drop(store);
    let site = site.again().await;
    let mut stream =
        site.stream("/api/threads/t/stream?after=earliest&kinds=input-expired", None).await;
    let told = loop {
        let frame = stream.next().await;
        if frame.field("event") == Some("input-expired") {
            break frame.data();
        }
    };
    assert_eq!((&told["authId"], &told["taskId"]), (&json!("a"), &json!("k")));
}
