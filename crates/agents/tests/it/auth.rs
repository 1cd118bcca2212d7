//! Tools that need the user's credentials: asked for, handed over encrypted, used, forgotten.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use reqwest::Method;
use reqwest::header::HeaderName;
use selvedge_agents::credential::{
    Arrived, AuthKind, Need, Place, ReceiveError, Secret, Vault, jwe,
};
use selvedge_agents::model::ToolSpec;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::tool::http::{Options, Reach, tool};
use selvedge_agents::tool::mcp::{self, Offer, Server, Transport};
use selvedge_agents::{Agent, Left};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::stage::Stage;

const SECRET: &str = "s3cret-of-the-user";

/// A server that wants `Bearer` and the secret, and says back what it was sent. It is an MCP
/// server too, whose list is open to all.
struct Web {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
    _task: tokio::task::JoinSet<()>,
}

impl Web {
    async fn start(accepts: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (heard, accepts) = (seen.clone(), accepts.to_owned());
        let mut task = tokio::task::JoinSet::new();
        task.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, heard.clone(), accepts.clone()));
            }
        });
        Self { url, seen, _task: task }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(stream: TcpStream, seen: Arc<Mutex<Vec<String>>>, accepts: String) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let (mut head, mut given, mut length) = (String::new(), String::new(), 0);
    stream.read_line(&mut head).await.ok()?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => given = value.to_owned(),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = asked["method"].as_str().unwrap_or("");
    let wants = matches!(method, "" | "tools/call");
    if wants {
        seen.lock().unwrap().push(given.clone());
    }
    let id = &asked["id"];
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    let (status, body) = match method {
        _ if wants && given != format!("Bearer {accepts}") => ("401 Unauthorized", String::new()),
        "" => ("200 OK", json!({"echo": given}).to_string()),
        "initialize" => (
            "200 OK",
            result(json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                          "serverInfo": {"name": "w", "version": "1"}})),
        ),
        "tools/list" => (
            "200 OK",
            result(json!({"tools": [{"name": "look", "inputSchema": {"type": "object"}}]})),
        ),
        "tools/call" => (
            "200 OK",
            result(json!({"content": [{"type": "text", "text": format!("saw {given}")}]})),
        ),
        _ if id.is_null() => ("202 Accepted", String::new()),
        _ => (
            "200 OK",
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})
                .to_string(),
        ),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.ok()
}

fn need() -> Arc<Need> {
    Arc::new(Need {
        name: "look".to_owned(),
        kind: AuthKind::OAuth2,
        provider: Some("github".to_owned()),
        scopes: vec!["repo".to_owned()],
        prompt: "Please log in".to_owned(),
        auth_url: Some("https://example.com/login".to_owned()),
        authorization_endpoint: Some("https://example.com/authorize".to_owned()),
        client_id: Some("selvedge".to_owned()),
        info_url: None,
        place: Place::Header(
            HeaderName::from_static("authorization"),
            "Bearer {credential}".to_owned(),
        ),
        keep: Duration::from_secs(3600),
    })
}

/// An agent that looks once and is done.
fn ada(web: &Web) -> Agent {
    let spec = ToolSpec {
        name: "look".to_owned(),
        description: String::new(),
        schema: json!({"type": "object"}),
    };
    let mut options = Options::new(spec, Method::POST, &web.url);
    options.reach = Reach::Private;
    let mut look = tool(options).unwrap();
    look.auth = Some(need());
    let mut agent = Agent::new("ada", Arc::new(Script::of(lines("look"))));
    agent.tools = vec![Arc::new(look)];
    agent
}

fn lines(tool: &str) -> Vec<Line> {
    vec![
        Line { calls: vec![(tool.to_owned(), json!({}))], ..Line::default() },
        Line { say: "done".to_owned(), ..Line::default() },
    ]
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// The latest request for credentials.
fn asked(stage: &Stage) -> Value {
    let asked = stage.events().into_iter().rev().find(|e| e["kind"] == "auth-required");
    asked.unwrap_or_else(|| panic!("{:#?}", stage.told()))
}

fn encrypted(asked: &Value, secret: &str) -> String {
    let header = json!({"authId": asked["authId"], "contextId": "talk", "agentId": "ada",
                        "iat": now(), "exp": now() + 600});
    jwe::encrypt(secret.as_bytes(), &asked["encryptionKey"], header).unwrap()
}

fn vault(stage: &Stage) -> Vault {
    Vault::new(stage.store.address(), Secret::Beside)
}

/// What a server does with a credential that arrives.
async fn hand_over(stage: &Stage, secret: &str, user: &str) -> Result<(), ReceiveError> {
    let asked = asked(stage);
    let thread = stage.store.thread(&stage.key).unwrap().unwrap().num;
    let auth = asked["authId"].as_str().unwrap().to_owned();
    let arrived = Arrived {
        auth: auth.clone(),
        context: "talk".to_owned(),
        thread,
        user: user.to_owned(),
        jwe: encrypted(&asked, secret),
    };
    let id = vault(stage).receive(arrived).await?;
    let done = json!({"kind": "auth-completed", "taskId": asked["taskId"], "authId": auth,
                      "userId": user, "metadata": {"credentialId": id}});
    stage.append(&done.to_string()).await;
    vault(stage).done(thread, &auth).await.unwrap();
    Ok(())
}

fn ends(stage: &Stage) -> Vec<Value> {
    stage.events().into_iter().filter(|e| e["kind"] == "tool-complete").collect()
}

#[tokio::test]
async fn a_tool_waits_for_the_users_credential_and_goes_on_with_it_after_a_restart() {
    let (stage, web) = (Stage::new("go").await, Web::start(SECRET).await);
    assert_eq!(stage.run(ada(&web), "t").await, Left::Waiting);
    let request = asked(&stage);
    assert_eq!(request["authId"], "t/call-1-1/auth-1");
    for (name, value) in [
        ("authType", json!("oauth2")),
        ("provider", json!("github")),
        ("scopes", json!(["repo"])),
        ("prompt", json!("Please log in")),
        ("authUrl", json!("https://example.com/login")),
        ("authorizationEndpoint", json!("https://example.com/authorize")),
        ("clientId", json!("selvedge")),
    ] {
        assert_eq!(request[name], value, "{name}");
    }
    let key = &request["encryptionKey"];
    assert_eq!((&key["kty"], &key["crv"]), (&json!("EC"), &json!("P-256")));
    assert!(key["d"].is_null() && request["expiresAt"].is_string());
    assert_eq!(request["metadata"]["expiresIn"], 900);
    assert_eq!(stage.told().last().unwrap(), "task-status waiting-auth");
    assert_eq!(stage.run(ada(&web), "t").await, Left::Waiting, "it is asked once");
    assert_eq!(web.seen(), Vec::<String>::new(), "nothing was sent without it");

    hand_over(&stage, SECRET, "u").await.unwrap();
    assert_eq!(stage.run(ada(&web), "t").await, Left::Over);
    assert_eq!(web.seen(), [format!("Bearer {SECRET}")]);
    assert_eq!(
        ends(&stage)[0]["result"],
        json!({"echo": "Bearer …"}),
        "what it says back is struck"
    );
    // Nowhere on disk, but for the secret file that has no credential.
    stage.store.fresh(&stage.store.thread(&stage.key).unwrap().unwrap()).await.unwrap();
    for file in std::fs::read_dir(stage.folder.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

#[tokio::test]
async fn a_credential_serves_the_thread_until_it_is_not_accepted_and_then_so_often() {
    let (stage, web) = (Stage::new("go").await, Web::start(SECRET).await);
    stage.run(ada(&web), "t").await;
    hand_over(&stage, SECRET, "u").await.unwrap();
    assert_eq!(stage.run(ada(&web), "t").await, Left::Over);
    let task = |id: &str| {
        format!(r#"{{"kind":"task-created","taskId":"{id}","initiator":"user","agentId":"ada"}}"#)
    };
    stage.append(&task("t2")).await;
    assert_eq!(stage.run(ada(&web), "t2").await, Left::Over, "nobody is asked again");
    // Another server, for which it is not valid any more.
    let web = Web::start("another-secret").await;
    stage.append(&task("t3")).await;
    for round in 1..=3 {
        assert_eq!(stage.run(ada(&web), "t3").await, Left::Waiting, "{round}");
        assert_eq!(asked(&stage)["authId"], format!("t3/call-1-1-3/auth-{round}"));
        hand_over(&stage, "wrong-every-time", "u").await.unwrap();
    }
    assert_eq!(stage.run(ada(&web), "t3").await, Left::Over);
    let end = ends(&stage).pop().unwrap();
    assert_eq!((&end["outcome"], end["taskId"].as_str()), (&json!("denied"), Some("t3")));
    assert_eq!(web.seen().len(), 4, "the one that was there, and each that was given");
}

#[tokio::test]
async fn what_one_user_gave_is_not_used_for_another() {
    let (stage, web) = (Stage::new("go").await, Web::start(SECRET).await);
    let task = |id: &str, user: &str| {
        format!(
            r#"{{"kind":"task-created","taskId":"{id}","initiator":"user","agentId":"ada","metadata":{{"userId":"{user}"}}}}"#
        )
    };
    stage.append(&task("a", "ann")).await;
    stage.append(&task("b", "ben")).await;
    assert_eq!(stage.run(ada(&web), "a").await, Left::Waiting);
    assert_eq!(asked(&stage)["metadata"]["userId"], "ann");
    let other = hand_over(&stage, SECRET, "ben").await;
    assert!(matches!(other, Err(ReceiveError::OtherUser)), "{other:?}");
    hand_over(&stage, SECRET, "ann").await.unwrap();
    assert_eq!(stage.run(ada(&web), "a").await, Left::Over);
    assert_eq!(stage.run(ada(&web), "b").await, Left::Waiting, "Ben is asked");
    // An event that names what Ann gave opens nothing.
    let given = stage.events().into_iter().find(|e| e["kind"] == "auth-completed").unwrap();
    let forged = json!({"kind": "auth-completed", "taskId": "b", "userId": "ben",
        "authId": "b/call-1-1-2/auth-1", "metadata": given["metadata"]});
    stage.append(&forged.to_string()).await;
    assert_eq!(stage.run(ada(&web), "b").await, Left::Waiting);
    assert_eq!(asked(&stage)["authId"], "b/call-1-1-2/auth-2");
    assert_eq!(web.seen().len(), 1);
}

#[tokio::test]
async fn what_is_wrong_changes_nothing_and_may_be_tried_so_often() {
    let (stage, web) = (Stage::new("go").await, Web::start(SECRET).await);
    stage.run(ada(&web), "t").await;
    let request = asked(&stage);
    let thread = stage.store.thread(&stage.key).unwrap().unwrap().num;
    let arrived = |jwe: String| Arrived {
        auth: "t/call-1-1/auth-1".to_owned(),
        context: "talk".to_owned(),
        thread,
        user: "u".to_owned(),
        jwe,
    };
    let empty = vault(&stage).receive(arrived(encrypted(&request, " "))).await;
    assert!(matches!(empty, Err(ReceiveError::NoText)));
    for _ in 0..9 {
        let wrong = vault(&stage).receive(arrived("nonsense".to_owned())).await;
        assert!(matches!(wrong, Err(ReceiveError::Refused(_))), "{wrong:?}");
    }
    let right = vault(&stage).receive(arrived(encrypted(&request, SECRET))).await;
    assert!(matches!(right, Err(ReceiveError::Gone)), "{right:?}");
    let mut other = arrived(encrypted(&request, SECRET));
    other.thread += 1;
    assert!(matches!(vault(&stage).receive(other).await, Err(ReceiveError::Gone)));
}

#[tokio::test]
async fn tools_of_a_server_get_the_credential_on_a_connection_of_the_user() {
    let (stage, web) = (Stage::new("go").await, Web::start(SECRET).await);
    let transport = Transport::Http { url: web.url.clone(), headers: Vec::new() };
    let mut options = mcp::Options::new("web", transport);
    options.auth = Some(need());
    let server = Server::new(options).unwrap();
    let ada = || {
        let mut ada = Agent::new("ada", Arc::new(Script::of(lines("web__look"))));
        ada.servers = vec![Offer::all(server.clone())];
        ada
    };
    assert_eq!(stage.run(ada(), "t").await, Left::Waiting);
    hand_over(&stage, "not-the-right-one", "u").await.unwrap();
    assert_eq!(stage.run(ada(), "t").await, Left::Waiting, "{:#?}", stage.told());
    assert_eq!(asked(&stage)["authId"], "t/call-1-1/auth-2");
    hand_over(&stage, SECRET, "u").await.unwrap();
    assert_eq!(stage.run(ada(), "t").await, Left::Over);
    assert_eq!(ends(&stage)[0]["result"], "saw Bearer …");
    assert_eq!(web.seen(), ["Bearer not-the-right-one".to_owned(), format!("Bearer {SECRET}")]);
}
