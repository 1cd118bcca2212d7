//! Tools that are one HTTP request, against a small server of our own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use selvedge_agents::model::ToolSpec;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::tool::http::{HttpToolError, Options, Reach, Rest, tool};
use selvedge_agents::{Agent, Interrupted, Left, Tool};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::stage::Stage;

/// Tells what it was asked; what it answers is in the path.
struct Web {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    _task: tokio::task::JoinSet<()>,
}

impl Web {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = asked.clone();
        let mut task = tokio::task::JoinSet::new();
        task.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, heard.clone()));
            }
        });
        Self { port, asked, _task: task }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn answer(stream: TcpStream, asked: Arc<Mutex<Vec<String>>>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length, mut secret) = (String::new(), 0, String::new());
    stream.read_line(&mut head).await.ok()?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name {
            "content-length" => length = value.parse().unwrap(),
            "x-key" => secret = format!(" key={value}"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let request = head.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let body = String::from_utf8(body).unwrap();
    asked.lock().unwrap().push(format!("{request}{secret} {body}").trim_end().to_owned());
    let path = request.split([' ', '?']).nth(1).unwrap_or_default();
    let (status, kind, body) = match path {
        "/json" | "/users/a%20b" => {
            ("200 OK", "application/json; charset=utf-8", r#"{"a":[1]}"#.to_owned())
        }
        "/text" => ("200 OK", "text/plain", "plain words".to_owned()),
        "/long" => ("200 OK", "application/json", format!("\"{}\"", "x".repeat(1 << 20))),
        "/broken" => ("200 OK", "application/json", "{".to_owned()),
        "/gone" => ("410 Gone", "application/json", r#"{"why":"it left"}"#.to_owned()),
        "/away" => ("302 Found\r\nlocation: /json", "text/plain", String::new()),
        "/slow" => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            return None;
        }
        _ => ("404 Not Found", "text/plain", "no such page".to_owned()),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n");
    stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).await.ok()
}

fn options(method: Method, url: String) -> Options {
    let schema = json!({
        "type": "object",
        "properties": {"id": {"type": "string"}, "q": {}, "n": {"type": "integer"}},
    });
    let spec = ToolSpec { name: "web".to_owned(), description: String::new(), schema };
    let mut options = Options::new(spec, method, url);
    options.reach = Reach::Private;
    options
}

/// How a call of the tool ended.
async fn call(tool: Tool, arguments: Value) -> Value {
    let stage = Stage::new("go").await;
    let calls = vec![("web".to_owned(), arguments)];
    let lines = vec![Line { calls, ..Line::default() }, Line::default()];
    let mut agent = Agent::new("ada", Arc::new(Script::of(lines)));
    agent.tools = vec![Arc::new(tool)];
    assert_eq!(stage.run(agent, "t").await, Left::Over);
    let all = json!(stage.events()).to_string();
    assert!(!all.contains("s3cret"), "no secret is in the journal");
    let ended = |event: &Value| event["kind"] == "tool-complete";
    let end = stage.events().into_iter().find(ended).unwrap();
    if end["success"] == true { json!({"ok": end["result"]}) } else { end["error"].clone() }
}

#[tokio::test]
async fn arguments_go_into_the_path_the_query_or_the_body() {
    let web = Web::start().await;
    let all = json!({"id": "a b", "q": ["x&y", 2], "n": 7});
    let users = web.url("/users/{id}");
    assert_eq!(
        call(tool(options(Method::GET, users.clone())).unwrap(), all.clone()).await,
        json!({"ok": {"a": [1]}})
    );
    call(tool(options(Method::POST, users.clone())).unwrap(), all.clone()).await;
    let mut query = options(Method::PUT, users.clone());
    query.rest = Rest::Query;
    call(tool(query).unwrap(), all.clone()).await;
    let mut keyed = options(Method::DELETE, users.clone());
    let key = (HeaderName::from_static("x-key"), HeaderValue::from_static("s3cret"));
    keyed.headers = vec![key];
    call(tool(keyed).unwrap(), json!({"id": "a b"})).await;
    assert_eq!(
        web.asked(),
        [
            "GET /users/a%20b?n=7&q=x%26y&q=2",
            r#"POST /users/a%20b {"n":7,"q":["x&y",2]}"#,
            "PUT /users/a%20b?n=7&q=x%26y&q=2",
            "DELETE /users/a%20b key=s3cret",
        ]
    );
    let missing = call(tool(options(Method::GET, users)).unwrap(), json!({})).await;
    assert_eq!(missing, "`/id` is missing");
    assert_eq!(web.asked().len(), 4);
}

#[tokio::test]
async fn answers_are_json_or_text_and_what_fails_is_told() {
    let web = Web::start().await;
    for (path, wanted) in [
        ("/json", json!({"ok": {"a": [1]}})),
        ("/text", json!({"ok": "plain words"})),
        ("/broken", json!({"ok": "{"})),
        ("/gone", json!("410 Gone: {\"why\":\"it left\"}")),
        ("/away", json!("302 Found: redirects are not followed")),
        ("/nowhere", json!("404 Not Found: no such page")),
    ] {
        let tool = tool(options(Method::GET, web.url(path))).unwrap();
        assert_eq!(call(tool, json!({})).await, wanted, "{path}");
    }
    let mut short = options(Method::GET, web.url("/long"));
    short.limit = 10;
    let cut = call(tool(short).unwrap(), json!({})).await;
    assert_eq!(cut, json!({"ok": "\"xxxxxxxxx… (the first 10 bytes are shown)"}));
    let mut slow = options(Method::GET, web.url("/slow"));
    slow.timeout = Duration::from_millis(100);
    assert_eq!(call(tool(slow).unwrap(), json!({})).await, "it took longer than 0.1 s");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = tool(options(Method::GET, format!("http://{closed}/?key=s3cret"))).unwrap();
    let said = call(nobody, json!({})).await;
    assert!(said.as_str().unwrap().contains("refused"), "{said}");
}

#[tokio::test]
async fn only_public_addresses_are_reached_unless_the_tool_allows_others() {
    let web = Web::start().await;
    let port = web.port;
    for host in ["127.0.0.1", "127.1", "2130706433", "[::1]", "[::ffff:7f00:1]", "0.0.0.0"] {
        let mut screened = options(Method::GET, format!("http://{host}:{port}/json"));
        screened.reach = Reach::Public;
        let said = call(tool(screened).unwrap(), json!({})).await;
        assert_eq!(said, "that address is not public", "{host}");
    }
    // A name is screened when it is looked up, and by what is connected to.
    let mut named = options(Method::GET, format!("http://localhost:{port}/json"));
    named.reach = Reach::Public;
    let said = call(tool(named.clone()).unwrap(), json!({})).await;
    assert!(said.as_str().unwrap().contains("the name stands for no public address"), "{said}");
    assert_eq!(web.asked(), Vec::<String>::new());
    named.reach = Reach::Private;
    assert_eq!(call(tool(named).unwrap(), json!({})).await, json!({"ok": {"a": [1]}}));
}

#[test]
fn broken_descriptions_are_refused_and_what_changes_things_is_not_done_twice() {
    let get = |url: &str| tool(options(Method::GET, url.to_owned()));
    assert!(
        matches!(get("http://example.com/{who}"), Err(HttpToolError::NoArgument(name)) if name == "who")
    );
    assert!(matches!(get("http://{id}/"), Err(HttpToolError::Url(_))));
    let mut broken = options(Method::GET, "http://example.com/".to_owned());
    broken.spec.schema = json!({"type": "no"});
    assert!(matches!(tool(broken), Err(HttpToolError::Schema(_))));
    assert_eq!(get("http://example.com/{id}").unwrap().interrupted, Interrupted::Again);
    let post = tool(options(Method::POST, "http://example.com/".to_owned())).unwrap();
    assert_eq!(post.interrupted, Interrupted::Fail);
}
