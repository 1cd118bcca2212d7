//! Share links show what was said, up to a point, and nothing else.

use reqwest::{Method, StatusCode};
use selvedge_protocol::dialect::{self, Dialect};
use selvedge_protocol::record::Framing;
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Frames, Site, answer, key};

/// Everything that must not be seen has a colour, named by what shows it.
const DYED: &str = r#"[
    {"kind":"thread-updated","title":"SAID title","metadata":{"k":"DYE-metadata"}},
    {"kind":"participant-joined","participantId":"DYE-participants","role":"user","name":"DYE-participants","identifier":"DYE-never"},
    {"kind":"message","role":"system","content":"DYE-system"},
    {"kind":"message","role":"user","author":"DYE-participants","messageId":"DYE-never","content":"SAID by a user","metadata":{"a":"DYE-metadata"},"attachments":[{"url":"DYE-artifacts"}],"unknown":"DYE-never","trace":{"id":"DYE-never"}},
    {"kind":"message","role":"user","content":[{"type":"text","text":"SAID in parts","extra":"DYE-never"},{"type":"image","data":"DYE-never"}]},
    {"kind":"task-created","taskId":"DYE-never","initiator":"user","agentId":"DYE-participants"},
    {"kind":"step-started","taskId":"DYE-never","model":"DYE-metadata"},
    {"kind":"thought-stream","taskId":"DYE-never","thoughtId":"DYE-never","thoughtType":"reasoning","verbosity":"normal","content":"DYE-thoughts","signature":"DYE-never"},
    {"kind":"part-started","taskId":"DYE-never","partId":"DYE-never","partType":"text"},
    {"kind":"content-delta","taskId":"DYE-never","partId":"DYE-never","delta":"SAID by an agent"},
    {"kind":"part-finished","taskId":"DYE-never","partId":"DYE-never","partType":"text"},
    {"kind":"tool-call-started","taskId":"DYE-never","toolCallId":"DYE-never","toolName":"look"},
    {"kind":"tool-call-delta","taskId":"DYE-never","toolCallId":"DYE-never","delta":"{\"q\":\"DYE-tools\"}"},
    {"kind":"tool-call","taskId":"DYE-never","toolCallId":"DYE-never","toolName":"look","arguments":{"q":"DYE-tools"}},
    {"kind":"tool-progress","taskId":"DYE-never","toolCallId":"DYE-never","progress":0.5,"message":"DYE-tools"},
    {"kind":"tool-complete","taskId":"DYE-never","toolCallId":"DYE-never","toolName":"look","success":false,"result":{"r":"DYE-tools"},"error":"DYE-tools"},
    {"kind":"llm-usage","taskId":"DYE-never","model":"DYE-metadata","prompt_tokens":4},
    {"kind":"file-write","taskId":"DYE-never","artifactId":"DYE-never","data":"DYE-artifacts","index":0,"complete":true,"name":"DYE-artifacts","uri":"DYE-never"},
    {"kind":"source","taskId":"DYE-never","url":"https://DYE-artifacts","sourceType":"url"},
    {"kind":"input-required","taskId":"DYE-never","inputId":"DYE-never","inputType":"confirmation","prompt":"DYE-inputs"},
    {"kind":"input-received","taskId":"DYE-never","inputId":"DYE-never","providedBy":"user","userId":"DYE-never2","value":"DYE-inputs"},
    {"kind":"auth-required","taskId":"DYE-never","authId":"DYE-never","authType":"oauth2","prompt":"DYE-auth","authUrl":"https://DYE-never","clientId":"DYE-never"},
    {"kind":"error","taskId":"DYE-never","message":"DYE-metadata","code":"DYE-metadata"},
    {"kind":"system","name":"DYE-system","data":{"d":"DYE-system"}},
    {"kind":"message","role":"agent","content":"DYE-operator","visibility":"operator"},
    {"kind":"internal:llm-call","iteration":1,"messageCount":1,"toolCount":1,"model":"DYE-internal"},
    {"kind":"kind-of-its-own","text":"DYE-never"},
    {"kind":"task-status","taskId":"DYE-never","status":"working","message":"DYE-metadata"},
    {"kind":"task-complete","taskId":"DYE-never","content":"SAID in the end"}]"#;
/// A recording whose frames hold what the events do not.
const STREAM: &str = "data: {\"type\":\"start\",\"messageId\":\"DYE-never\",\"messageMetadata\":{\"m\":\"DYE-metadata\"}}\n\n\
    data: {\"type\":\"reasoning-start\",\"id\":\"DYE-never\"}\n\n\
    data: {\"type\":\"reasoning-delta\",\"id\":\"DYE-never\",\"delta\":\"DYE-thoughts\",\"providerMetadata\":{\"p\":{\"s\":\"DYE-never\"}}}\n\n\
    data: {\"type\":\"reasoning-end\",\"id\":\"DYE-never\"}\n\n\
    data: {\"type\":\"text-start\",\"id\":\"DYE-never\"}\n\n\
    data: {\"type\":\"text-delta\",\"id\":\"DYE-never\",\"delta\":\"SAID in a stream\",\"odd\":\"DYE-never\"}\n\n\
    data: {\"type\":\"text-end\",\"id\":\"DYE-never\"}\n\n\
    data: {\"type\":\"tool-input-available\",\"toolCallId\":\"DYE-never\",\"toolName\":\"look\",\"input\":{\"q\":\"DYE-tools\"}}\n\n\
    data: {\"type\":\"tool-output-available\",\"toolCallId\":\"DYE-never\",\"output\":\"DYE-tools\"}\n\n\
    data: {\"type\":\"data-own\",\"data\":{\"x\":\"DYE-system\"}}\n\n\
    data: {\"type\":\"finish\"}\n\ndata: [DONE]\n\n";

fn streams(dialect: &Dialect) -> bool {
    matches!(dialect.framing, Framing::Sse | Framing::Lines)
}

/// Makes the threads `dyed` and `told`.
async fn threads(site: &Site) {
    site.thread("DYE-thread").await;
    let (status, answer) = site.post("/api/threads/DYE-thread/events", DYED).await;
    assert_eq!(status.as_u16(), 200, "{answer}");
    let path = "/api/import?dialect=ai-sdk-stream&thread=DYE-import";
    let (status, answer) = site.post(path, STREAM).await;
    assert_eq!(status.as_u16(), 201, "{answer}");
}

async fn share(site: &Site, thread: &str, body: Value) -> Value {
    let (status, made) =
        site.post(&format!("/api/threads/{thread}/shares"), body.to_string()).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    made
}

/// All that a link answers, by the path behind the link.
async fn answers(site: &Site, link: &str) -> Vec<(String, String)> {
    let mut paths = vec![String::new(), "/events".to_owned(), "/stream".to_owned()];
    for dialect in dialect::ALL {
        let name = dialect.id.name();
        paths.push(format!("/export?dialect={name}"));
        if streams(dialect) {
            paths.push(format!("/stream?dialect={name}"));
        }
    }
    let mut all = Vec::new();
    for path in paths {
        let whole = format!("{link}{path}");
        let text = if path.starts_with("/stream") {
            let frames = site.stream(&whole, None).await.until_caught_up().await;
            frames.into_iter().map(|frame| frame.text).collect()
        } else {
            let sent = site.request(Method::GET, &whole).send().await.unwrap();
            assert_eq!(sent.status(), StatusCode::OK, "{path}");
            assert_eq!(sent.headers()["referrer-policy"], "no-referrer");
            sent.text().await.unwrap()
        };
        all.push((path, text));
    }
    all
}

#[tokio::test]
async fn nothing_that_is_not_shown_is_in_any_answer_in_any_dialect() {
    let site = Site::start().await;
    threads(&site).await;
    for (thread, said) in [
        ("DYE-thread", ["SAID by a user", "SAID by an agent"]),
        ("DYE-import", ["SAID in a stream", ""]),
    ] {
        let made = share(&site, thread, json!({})).await;
        for (path, text) in answers(&site, made["link"].as_str().unwrap()).await {
            let leak = text.find("DYE").map(|at| &text[at.saturating_sub(200)..at + 20]);
            assert_eq!(leak, None, "{thread}{path}");
            assert!(said.iter().all(|said| text.contains(said)), "{thread}{path}: {text}");
        }
    }
}

#[tokio::test]
async fn what_is_named_is_shown_and_nothing_else() {
    let site = Site::start().await;
    threads(&site).await;
    for name in
        ["thoughts", "tools", "metadata", "artifacts", "inputs", "auth", "system", "participants"]
    {
        let made = share(&site, "DYE-thread", json!({"show": [name]})).await;
        let own = format!("DYE-{name}");
        let others = |text: &str| text.replace(&own, "").contains("DYE");
        for (path, text) in answers(&site, made["link"].as_str().unwrap()).await {
            // What only an answer's reader is known by comes with participants.
            let text = text.replace("DYE-never2", if name == "participants" { "" } else { "DYE" });
            assert!(!others(&text), "{name} {path}: {text}");
            if path == "/events" {
                assert!(text.contains(&own), "{name}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn a_share_ends_at_its_point_and_resumes_as_any_stream() {
    let site = Site::start().await;
    let epoch = site.thread("t").await;
    let said = |n: u32| json!({"kind": "message", "role": "user", "content": format!("n{n}")});
    for n in 2..=5 {
        site.post("/api/threads/t/events", said(n).to_string()).await;
    }
    let made = share(&site, "t", json!({"at": 3, "title": "Look"})).await;
    let link = made["link"].as_str().unwrap();
    assert_eq!((&made["at"], &made["title"]), (&3.into(), &"Look".into()));
    let (_, state) = site.get(link).await;
    assert_eq!((&state["head"], &state["cursor"]), (&3.into(), &format!("{epoch}.3").into()));
    assert_eq!(state["messages"].as_array().unwrap().len(), 2);
    let (_, page) = site.get(&format!("{link}/events")).await;
    assert_eq!(page["entries"].as_array().unwrap().len(), 3);
    let (_, page) = site.get(&format!("{link}/events?after={epoch}.4")).await;
    assert_eq!((page["entries"].as_array().unwrap().len(), &page["head"]), (0, &3.into()));
    let (_, page) = site.get(&format!("{link}/events?participants=x&kinds=none")).await;
    assert_eq!(page["entries"].as_array().unwrap().len(), 3, "filters would tell who takes part");
    let path = format!("{link}/stream");
    let mut stream = site.stream(&path, None).await;
    let whole = stream.until_caught_up().await;
    let ids: Vec<_> = whole.iter().filter_map(|f| f.field("id")).collect();
    assert_eq!(ids, [0, 1, 2, 3].map(|seq| format!("{epoch}.{seq}")));
    let rest = site.stream(&path, Some(ids[2])).await.until_caught_up().await;
    assert_eq!(rest[1..], whole[3..]);
    let gap = site.stream(&path, Some(&format!("{epoch}.4"))).await.until_caught_up().await;
    assert_eq!(gap[0].field("event"), Some("gap"), "there is no entry 4 here");

    // It lives on with its journal under another name, and ends with it.
    site.post("/api/threads/t/fork", r#"{"id":"f"}"#).await;
    site.post("/api/threads/f/promote", r#"{"old":"was"}"#).await;
    assert_eq!(stream.next().await.data()["reason"], "promoted");
    let (status, _) = site.get(link).await;
    assert_eq!(status, StatusCode::OK);
    let mut stream = site.stream(&path, None).await;
    stream.until_caught_up().await;
    site.request(Method::DELETE, "/api/threads/was").send().await.unwrap();
    assert_eq!(stream.next().await.field("event"), Some("gone"));
    let (status, gone) = site.get(link).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (_, never) = site.get("/api/shares/sh_00").await;
    assert_eq!(gone, never);
}

#[tokio::test]
async fn a_share_is_revoked_while_it_is_read_and_expires_by_itself() {
    let site = Site::start().await;
    site.thread("t").await;
    site.thread("u").await;
    let (made, kept) = (share(&site, "t", json!({})).await, share(&site, "t", json!({})).await);
    let link = |made: &Value| made["link"].as_str().unwrap().to_owned();
    let mut stream = site.stream(&format!("{}/stream", link(&made)), None).await;
    let mut other = site.stream(&format!("{}/stream", link(&kept)), None).await;
    stream.until_caught_up().await;
    other.until_caught_up().await;
    let id = made["id"].as_str().unwrap();
    let revoke = |path: String| site.request(Method::DELETE, &path).send();
    let foreign = revoke(format!("/api/threads/u/shares/{id}")).await.unwrap();
    assert_eq!(foreign.status(), StatusCode::NOT_FOUND);
    for _ in 0..2 {
        let revoked = revoke(format!("/api/threads/t/shares/{id}")).await.unwrap();
        assert_eq!(revoked.status(), StatusCode::NO_CONTENT);
    }
    assert_eq!(stream.next().await.data(), json!({"reason": "revoked"}));
    stream.ends().await;
    assert_eq!(site.get(&link(&made)).await.0, StatusCode::NOT_FOUND);
    assert_eq!(site.get(&link(&kept)).await.0, StatusCode::OK);
    let (_, listed) = site.get("/api/threads/t/shares").await;
    let shares = listed["shares"].as_array().unwrap();
    assert_eq!(shares.len(), 2);
    assert!(shares[0]["revokedAt"].is_string() && shares[1]["revokedAt"].is_null());
    assert!(!listed.to_string().contains("sh_"), "tokens are told once");
    drop(other);

    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let soon = i64::try_from(soon.as_millis()).unwrap() + 6000;
    let soon = selvedge_protocol::time::from_millis(soon).unwrap();
    let made = share(&site, "t", json!({"expiresAt": soon})).await;
    let mut stream = site.stream(&format!("{}/stream", link(&made)), None).await;
    stream.until_caught_up().await;
    assert_eq!(stream.next().await.data(), json!({"reason": "expired"}));
    assert_eq!(site.get(&link(&made)).await.0, StatusCode::NOT_FOUND);
    for (body, pointer) in [
        (r#"{"at":9}"#, "/at"),
        (r#"{"at":-1}"#, "/at"),
        (r#"{"show":"tools"}"#, "/show"),
        (r#"{"show":["tools","all"]}"#, "/show/1"),
        (r#"{"expiresAt":"yesterday"}"#, "/expiresAt"),
        (r#"{"expiresAt":"2001-01-01T00:00:00Z"}"#, "/expiresAt"),
        (r#"{"title":7}"#, "/title"),
    ] {
        let (status, answer) = site.post("/api/threads/t/shares", body).await;
        assert_eq!(status.as_u16(), 400, "{body}: {answer}");
        assert_eq!(answer["error"]["pointer"], pointer, "{body}");
    }
}

#[tokio::test]
async fn a_token_opens_its_share_and_nothing_else() {
    let made = [key("acme", &["agent"]), key("other", &["agent"]), key("acme", &["write"])];
    let (site, keys) = Site::start_with(Options::default(), &made).await;
    for id in ["t", "u"] {
        let request = site.request(Method::POST, "/api/threads").bearer_auth(&keys[0]);
        request.body(format!("{{\"id\":\"{id}\"}}")).send().await.unwrap();
    }
    let ask = |key: &str| site.request(Method::POST, "/api/threads/t/shares").bearer_auth(key);
    let (status, _) = answer(ask(&keys[1]).send().await.unwrap()).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = answer(ask(&keys[2]).send().await.unwrap()).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "who may not read may not share");
    let (_, made) = answer(ask(&keys[0]).send().await.unwrap()).await;
    let token = made["token"].as_str().unwrap();
    assert_eq!(site.get(&format!("/api/shares/{token}")).await.0, StatusCode::OK);
    for path in ["/api/threads/t", "/api/threads/u", "/api/threads", "/api/stream?threads=t"] {
        assert_eq!(site.ask(Method::GET, path, token).await.0, StatusCode::UNAUTHORIZED, "{path}");
    }
    for wrong in [&keys[0], "sh_", "x", &token[..66], &format!("{token}0")] {
        let (status, _) = site.get(&format!("/api/shares/{wrong}")).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{wrong}");
    }
    let request = site.request(Method::GET, &format!("/api/shares/{token}/stream"));
    Frames::open(request).await.until_caught_up().await;
}
