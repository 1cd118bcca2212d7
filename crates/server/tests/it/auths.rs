//! Credentials that users hand over: encrypted, once, for one request; and every way it is refused.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::routing::get;
use http::{HeaderMap, StatusCode};
use reqwest::Method;
use selvedge_agents::credential::{AuthKind, Need, Place, jwe};
use selvedge_agents::model::ToolSpec;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::tool::http::{Options as Http, Reach, tool};
use selvedge_agents::{Agent, Desk};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Site, answer, host, key};

const SECRET: &str = "the-token-of-the-user";

/// An agent that looks something up for which it needs the user's token.
async fn ada() -> Agent {
    let look = |headers: HeaderMap| async move {
        let given = headers.get("authorization").and_then(|value| value.to_str().ok());
        match given == Some(&format!("Bearer {SECRET}")) {
            true => (StatusCode::OK, "a bird"),
            false => (StatusCode::FORBIDDEN, "no"),
        }
    };
    let url = host(Router::new().route("/look", get(look))).await;
    let schema = json!({"type": "object"});
    let spec = ToolSpec { name: "look".to_owned(), description: String::new(), schema };
    let mut options = Http::new(spec, Method::GET, format!("{url}/look"));
    options.reach = Reach::Private;
    let mut look = tool(options).unwrap();
    look.auth = Some(Arc::new(Need {
        name: "look".to_owned(),
        kind: AuthKind::Pat,
        provider: None,
        scopes: Vec::new(),
        prompt: "Your token, please".to_owned(),
        auth_url: None,
        authorization_endpoint: None,
        client_id: None,
        info_url: Some("https://example.com/tokens".to_owned()),
        place: Place::Header(http::header::AUTHORIZATION, "Bearer {credential}".to_owned()),
        keep: Duration::from_secs(3600),
    }));
    let lines = vec![
        Line { calls: vec![("look".to_owned(), json!({}))], ..Line::default() },
        Line { say: "I saw it".to_owned(), ..Line::default() },
    ];
    let mut agent = Agent::new("ada", Arc::new(Script::of(lines)));
    agent.tools = vec![Arc::new(look)];
    agent
}

async fn options() -> Options {
    Options { agents: Some(Desk::new(vec![ada().await])), ..Options::default() }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// Waits until something is so in a thread; tells what the thread's state is then.
async fn state(site: &Site, thread: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let wait = async {
        loop {
            let (_, state) = site.get(&format!("/api/threads/{thread}")).await;
            if wanted(&state) {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap()
}

/// Asks the agent something, and gives the request for credentials that comes of it.
async fn asked(site: &Site, thread: &str) -> Value {
    site.thread(thread).await;
    let path = format!("/api/threads/{thread}/messages");
    let (status, told) = site.post(&path, r#"{"content":"go","messageId":"m"}"#).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{told}");
    let state = state(site, thread, |state| state["auths"][0].is_object()).await;
    state["auths"][0].clone()
}

fn header(request: &Value, thread: &str) -> Value {
    json!({"authId": request["authId"], "contextId": thread, "iat": now(), "exp": now() + 300})
}

fn encrypted(request: &Value, header: Value) -> String {
    jwe::encrypt(SECRET.as_bytes(), &request["encryptionKey"], header).unwrap()
}

fn path(thread: &str, request: &Value) -> String {
    let auth = request["authId"].as_str().unwrap().replace('/', "%2F");
    format!("/api/threads/{thread}/auths/{auth}")
}

fn over(state: &Value) -> bool {
    state["tasks"][0]["status"] == "completed"
}

#[tokio::test]
async fn a_credential_is_handed_over_once_and_the_task_goes_on_also_after_a_restart() {
    let (site, _) = Site::start_with(options().await, &[]).await;
    let request = asked(&site, "t").await;
    assert_eq!(request["infoUrl"], "https://example.com/tokens");
    let site = site.again_with(options().await).await;
    let path = path("t", &request);
    let body = json!({"userId": "u", "credential": encrypted(&request, header(&request, "t"))});
    let send = || site.request(Method::POST, &path).header("idempotency-key", "k");
    let (status, told) = answer(send().body(body.to_string()).send().await.unwrap()).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    state(&site, "t", over).await;
    // The same request under its key gives the same answer; anything else comes too late.
    let (status, again) = answer(send().body(body.to_string()).send().await.unwrap()).await;
    assert_eq!((status, &again["duplicate"]), (StatusCode::OK, &json!(true)));
    let (status, late) = site.post(&path, body.to_string()).await;
    assert_eq!((status.as_u16(), &late["error"]["code"]), (409, &json!("already_answered")));
    let (_, page) = site.get("/api/threads/t/events?kinds=auth-completed").await;
    let entries = page["entries"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]["event"]["userId"]), (1, &json!("u")));
    // Nowhere to be seen.
    for path in [
        "/api/threads/t/events?visibility=internal",
        "/api/threads/t?visibility=internal",
        "/api/threads/t/export?dialect=journal&visibility=internal",
        "/api/search?q=token",
    ] {
        let text = site.request(Method::GET, path).send().await.unwrap().text().await.unwrap();
        assert!(!text.contains(SECRET), "{path}");
    }
    // The next task of the thread needs none.
    site.post("/api/threads/t/messages", r#"{"content":"again","messageId":"n"}"#).await;
    let all = |state: &Value| state["tasks"][1]["status"] == "completed";
    assert_eq!(state(&site, "t", all).await["auths"], json!([]));
}

#[tokio::test]
async fn of_many_who_hand_over_at_once_one_is_taken() {
    let (site, _) = Site::start_with(options().await, &[]).await;
    let request = asked(&site, "t").await;
    let path = path("t", &request);
    let tries = (0..12).map(|n| {
        let user = format!("u{n}");
        let body =
            json!({"userId": user, "credential": encrypted(&request, header(&request, "t"))});
        site.post(&path, body.to_string())
    });
    let statuses: Vec<u16> =
        futures_util::future::join_all(tries).await.iter().map(|(s, _)| s.as_u16()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 409 | 410)), "{statuses:?}");
    state(&site, "t", over).await;
}

#[tokio::test]
async fn what_is_not_right_is_refused_changes_nothing_and_leaves_the_key_as_it_is() {
    let (site, _) = Site::start_with(options().await, &[]).await;
    let request = asked(&site, "t").await;
    let path = path("t", &request);
    let head = site.get("/api/threads/t").await.1["head"].clone();
    let with = |name: &str, value: Value| {
        let mut header = header(&request, "t");
        header[name] = value;
        encrypted(&request, header)
    };
    for credential in [
        "nonsense".to_owned(),
        with("authId", json!("other")),
        with("contextId", json!("other")),
        with("agentId", json!("eve")),
        with("exp", json!(now() - 1)),
        with("exp", json!(now() + 901)),
        with("alg", json!("dir")),
    ] {
        let body = json!({"userId": "u", "credential": credential}).to_string();
        let (status, told) = site.post(&path, body).await;
        let error = &told["error"];
        assert_eq!(
            (status.as_u16(), &error["code"], &error["pointer"]),
            (400, &json!("bad_credential"), &json!("/credential")),
            "{told}"
        );
        assert!(!told.to_string().contains(SECRET));
    }
    for (body, pointer) in [
        (json!({"userId": "u"}), "/credential"),
        (json!({"userId": "u", "credential": 7}), "/credential"),
        (json!({"userId": "u", "token": SECRET}), "/token"),
    ] {
        let (status, told) = site.post(&path, body.to_string()).await;
        assert_eq!((status.as_u16(), &told["error"]["pointer"]), (400, &json!(pointer)), "{told}");
    }
    assert_eq!(site.get("/api/threads/t").await.1["head"], head);
    // Two more may be wrong, and one right; the eleventh comes too late.
    let right = json!({"credential": encrypted(&request, header(&request, "t"))}).to_string();
    let wrong = json!({"credential": "nonsense"}).to_string();
    for _ in 0..2 {
        assert_eq!(site.post(&path, wrong.clone()).await.0.as_u16(), 400);
    }
    assert_eq!(site.post(&path, right).await.0.as_u16(), 200);
    state(&site, "t", over).await;
    let request = asked(&site, "tired").await;
    let path = self::path("tired", &request);
    for _ in 0..10 {
        assert_eq!(site.post(&path, wrong.clone()).await.0.as_u16(), 400);
    }
    let right = json!({"credential": encrypted(&request, header(&request, "tired"))}).to_string();
    let (status, told) = site.post(&path, right).await;
    assert_eq!((status.as_u16(), &told["error"]["code"]), (410, &json!("expired")));
}

#[tokio::test]
async fn only_users_hand_over_and_answer_also_not_by_writing_events() {
    let keys = [key("acme", &["read", "write"]), key("acme", &["agent"])];
    let (site, keys) = Site::start_with(options().await, &keys).await;
    let send = async |key: &str, path: &str, body: String| {
        let request = site.request(Method::POST, path).bearer_auth(key).body(body);
        let (status, told) = answer(request.send().await.unwrap()).await;
        (status.as_u16(), told["error"]["code"].as_str().unwrap_or("").to_owned())
    };
    let invoke = |body: Value| {
        let request = site.request(Method::POST, "/invocations").bearer_auth(&keys[0]);
        request.header("x-amzn-bedrock-agentcore-runtime-session-id", "t").body(body.to_string())
    };
    let first = invoke(json!({"prompt": "go"})).send().await.unwrap();
    let told = first.text().await.unwrap();
    let request = told.lines().find(|line| line.contains("\"auth-required\"")).unwrap();
    let request: Value = serde_json::from_str(request.trim_start_matches("data: ")).unwrap();
    let credential = encrypted(&request, header(&request, "t"));
    let body = json!({"credential": credential, "userId": "u"}).to_string();
    let no = (403, "user_required".to_owned());
    assert_eq!(send(&keys[1], &path("t", &request), body).await, no);
    for kind in [
        json!({"kind": "auth-completed", "authId": request["authId"], "userId": "u"}),
        json!({"kind": "input-received", "inputId": "i", "providedBy": "user", "value": true}),
    ] {
        let body = json!([{"kind": "message", "role": "agent", "content": "x"}, kind]).to_string();
        assert_eq!(send(&keys[1], "/api/threads/t/events", body).await, no);
    }
    let given = json!({"credentials": [{"authId": request["authId"], "credential": credential}]});
    let second = invoke(given.clone()).send().await.unwrap();
    assert_eq!(second.status(), StatusCode::OK);
    let told = second.text().await.unwrap();
    assert!(told.contains("\"task-complete\"") && !told.contains(SECRET), "{told}");
    let (status, late) = answer(invoke(given).send().await.unwrap()).await;
    let error = &late["error"];
    assert_eq!((status.as_u16(), error["pointer"].as_str()), (409, Some("/credentials/0")));
}
