//! A server of its own for a test, and a reader of its streams.
//!
//! Its store is in a file; with `SELVEDGE_TEST_STORE=postgres`, in a database of its own. Tests that
//! look into the file itself cannot do without one.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use selvedge_agents::model::ToolSpec;
use selvedge_agents::script::{Line, Rule, Script};
use selvedge_agents::{Agent, Doer, Tool};
use selvedge_server::{App, Options, Secret};
use selvedge_store::{Address, Keys, NewKey, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower_service::Service as _;

use crate::server::{Database, server};

pub(crate) struct Site {
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) keys: Keys,
    pub(crate) db: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<std::io::Result<()>>>,
    home: Home,
}

/// Where a test's stores are. Clones share it.
#[derive(Clone)]
pub(crate) struct Home {
    folder: Arc<TempDir>,
    database: Option<Arc<Database>>,
}

impl Home {
    fn new() -> Self {
        let is_postgres =
            std::env::var("SELVEDGE_TEST_STORE").is_ok_and(|store| store == "postgres");
        let database = is_postgres.then(|| server().expect("there is a PostgreSQL").database());
        Self { folder: Arc::new(tempfile::tempdir().unwrap()), database: database.map(Arc::new) }
    }

    /// One that servers can share; none if there is no PostgreSQL.
    pub(crate) fn shared() -> Option<Self> {
        let database = Some(Arc::new(server()?.database()));
        Some(Self { folder: Arc::new(tempfile::tempdir().unwrap()), database })
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("s.db")
    }

    pub(crate) fn address(&self) -> Address {
        match &self.database {
            Some(database) => Address::parse(database.url()),
            None => Address::File(self.file()),
        }
    }

    /// Runs SQL in the database.
    pub(crate) fn run(&self, sql: &str) {
        self.database.as_ref().expect("it is in a database").run(sql);
    }
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::start_with(Options::default(), &[]).await.0
    }

    /// A server with keys, and their texts.
    pub(crate) async fn start_with(options: Options, made: &[NewKey]) -> (Self, Vec<String>) {
        Self::on(Home::new(), options, made).await
    }

    /// A server on a store that others may share.
    pub(crate) async fn at(home: &Home, options: Options) -> Self {
        Self::on(home.clone(), options, &[]).await.0
    }

    /// Stops the server and starts another on the same file.
    pub(crate) async fn again(self) -> Self {
        self.again_with(Options::default()).await
    }

    /// The same, with other options.
    pub(crate) async fn again_with(mut self, options: Options) -> Self {
        if self.served.is_some() {
            self.stop().await;
        }
        Self::on(self.home, options, &[]).await.0
    }

    async fn on(home: Home, mut options: Options, made: &[NewKey]) -> (Self, Vec<String>) {
        if home.database.is_some() && options.secret == Secret::Beside {
            let file = home.folder.path().join("secret");
            std::fs::write(&file, "a secret that all servers of a test share").unwrap();
            options.secret = Secret::File(file);
        }
        let keys = Keys::open(home.address()).unwrap();
        let texts = made.iter().map(|new| keys.add(new.clone(), 1).unwrap().1).collect();
        let store = open(home.address()).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = App::new(store, options).unwrap();
        app.prepare().await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        let served = tokio::spawn(selvedge_server::serve(app, listener, stopped));
        let (stop, served) = (Some(stop), Some(served));
        (Self { url, client: http(), keys, db: home.file(), stop, served, home }, texts)
    }

    /// Where its store is.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// A request that anything can be added to.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Asks with a key.
    pub(crate) async fn ask(&self, method: Method, path: &str, key: &str) -> (StatusCode, Value) {
        answer(self.request(method, path).bearer_auth(key).send().await.unwrap()).await
    }

    /// Stops the server and waits until it has.
    pub(crate) async fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.served.take().unwrap().await.unwrap().unwrap();
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<String>) -> (StatusCode, Value) {
        let request = self.client.post(format!("{}{path}", self.url)).body(body.into());
        answer(request.send().await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        answer(self.client.get(format!("{}{path}", self.url)).send().await.unwrap()).await
    }

    /// What is counted under a name, with its labels; only where there are no keys.
    pub(crate) async fn count(&self, name: &str) -> u64 {
        let answer = self.request(Method::GET, "/metrics").send().await.unwrap();
        let text = answer.text().await.unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    /// Waits until that is so.
    pub(crate) async fn until(&self, name: &str, wanted: impl Fn(u64) -> bool) {
        let waiting = async {
            while !wanted(self.count(name).await) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(120), waiting).await;
        waited.unwrap_or_else(|_| panic!("{name} does not come to that"));
    }

    /// Makes a thread and says its epoch.
    pub(crate) async fn thread(&self, id: &str) -> String {
        let (status, made) = self.post("/api/threads", format!("{{\"id\":\"{id}\"}}")).await;
        assert_eq!(status, StatusCode::CREATED);
        made["cursor"].as_str().unwrap().split('.').next().unwrap().to_owned()
    }

    pub(crate) async fn stream(&self, path: &str, last: Option<&str>) -> Frames {
        let mut request = self.client.get(format!("{}{path}", self.url));
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        Frames::open(request).await
    }
}

/// Connections for a test's own requests.
pub(crate) fn http() -> Client {
    // Needed where the client's TLS is built along with it.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

/// Serves something else that a server asks; gives its address.
pub(crate) async fn host(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let app = app.clone();
            let service = service_fn(move |request: http::Request<_>| {
                app.clone().call(request.map(axum::body::Body::new))
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    url
}

/// A key for tests.
pub(crate) fn key(tenant: &str, scopes: &[&str]) -> NewKey {
    NewKey {
        name: scopes.join("+"),
        tenant: tenant.to_owned(),
        scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
        expires: None,
    }
}

pub(crate) async fn answer(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap());
    let plain = kind.is_some_and(|kind| kind.starts_with("text/plain"));
    let text = response.text().await.unwrap();
    if plain {
        return (status, Value::String(text));
    }
    (status, serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")))
}

/// One server-sent event, as it stands on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) text: String,
}

impl Frame {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.text.lines().find_map(|line| line.strip_prefix(prefix.as_str()))
    }

    pub(crate) fn data(&self) -> Value {
        serde_json::from_str(self.field("data").unwrap()).unwrap()
    }
}

/// The events of an open stream.
pub(crate) struct Frames {
    response: Response,
    text: String,
    ready: VecDeque<Frame>,
}

impl Frames {
    pub(crate) async fn open(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new(), ready: VecDeque::new() }
    }

    pub(crate) async fn next(&mut self) -> Frame {
        self.maybe().await.expect("the stream ended")
    }

    /// The next frame; none at the end.
    pub(crate) async fn maybe(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            let piece = tokio::time::timeout(Duration::from_secs(60), self.response.chunk());
            let piece = piece.await.expect("a frame in time").unwrap()?;
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
            while let Some(end) = self.text.find("\n\n") {
                let rest = self.text.split_off(end + 2);
                let text = std::mem::replace(&mut self.text, rest);
                self.ready.push_back(Frame { text });
            }
        }
    }

    /// Waits for the end of the stream.
    pub(crate) async fn ends(&mut self) {
        assert_eq!(self.response.chunk().await.unwrap(), None);
    }

    /// All frames up to the one that marks the live edge, which is left out.
    pub(crate) async fn until_caught_up(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await;
            if frame.field("event") == Some("caught-up") {
                return frames;
            }
            frames.push(frame);
        }
    }

    /// So many frames.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Frame> {
        let mut frames = Vec::new();
        while frames.len() < count {
            frames.push(self.next().await);
        }
        frames
    }
}

/// A store, as soon as a server that was stopped has let go of it: what it asked of the disk last
/// may still be under way.
pub(crate) async fn open(at: Address) -> Store {
    for _ in 0..1200 {
        match Store::open(&at, selvedge_store::Options::default()) {
            Err(selvedge_store::OpenError::InUse { .. }) => {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            other => return other.unwrap(),
        }
    }
    panic!("{at} is in use for ever");
}

/// A tool that takes any object.
pub(crate) fn tool(name: &str, doer: Doer) -> Tool {
    let schema = json!({"type": "object"});
    let spec = ToolSpec { name: name.to_owned(), description: String::new(), schema };
    Tool::new(spec, doer).unwrap()
}

/// An agent that calls bob when told to go, and answers everything else at once.
pub(crate) fn calling_bob() -> Agent {
    let go = vec![
        Line { calls: vec![("ask_bob".to_owned(), json!({"prompt": "go"}))], ..Line::default() },
        Line { say: "done".to_owned(), ..Line::default() },
    ];
    let other = vec![Line { say: "heard: {input}".to_owned(), ..Line::default() }];
    let rules = vec![
        Rule { when: "go".to_owned(), lines: go, ..Rule::default() },
        Rule { lines: other, ..Rule::default() },
    ];
    let script = Script { name: "script".to_owned(), rules, ..Script::default() };
    let mut ada = Agent::new("ada", Arc::new(script));
    ada.tools = vec![Arc::new(tool("ask_bob", Doer::Agent { id: "bob".to_owned() }))];
    ada
}

/// An agent that asks its client where the user is, and then says so.
pub(crate) fn asking_where() -> Agent {
    let calls = vec![("where".to_owned(), json!({}))];
    let lines = vec![
        Line { calls, ..Line::default() },
        Line { say: "There you are.".to_owned(), ..Line::default() },
    ];
    let mut ada = Agent::new("ada", Arc::new(Script::of(lines)));
    ada.tools = vec![Arc::new(tool("where", Doer::Client))];
    ada
}
