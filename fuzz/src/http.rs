//! Any bytes as the body of a request to a real server: never a mistake of the server's own, and
//! what is taken is shown by every view.
//!
//! The first byte of an input says which request it is the body of.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Client, Method};
use selvedge_agents::router::Rules;
use selvedge_agents::script::Script;
use selvedge_agents::{Agent, Desk};
use selvedge_protocol::dialect;
use selvedge_server::{App, Options};
use selvedge_store::Store;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::bytes::Numbers;

/// Requests until a server starts anew on an empty journal.
const REQUESTS: u64 = 3000;
/// How long an answer may take. Long, as the machine may have much to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// Those that append events.
    Appends,
    /// All others that have a body.
    Bodies,
}

/// A request: method, path (`{n}` is a thread of its own) and a good body.
pub(crate) struct Probe {
    method: Method,
    path: &'static str,
    pub(crate) good: &'static [&'static str],
}

const fn post(path: &'static str, good: &'static [&'static str]) -> Probe {
    Probe { method: Method::POST, path, good }
}

const APPENDS: &[Probe] = &[
    post(
        "/api/threads/t{n}/events",
        &[
            r#"{"kind":"message","messageId":"m","role":"user","content":"x"}"#,
            r#"[{"kind":"task-created","taskId":"k","agentId":"a"},{"kind":"content-delta","taskId":"k","delta":"x","index":0},{"kind":"task-complete","taskId":"k"}]"#,
            r#"[{"kind":"artifact-write","taskId":"k","artifactId":"f","name":"f.txt","parts":[{"kind":"text","content":"x"}],"append":false,"complete":true}]"#,
            r#"[{"kind":"tool-call","taskId":"k","toolCallId":"c","toolName":"f","arguments":{"a":1}},{"kind":"tool-complete","taskId":"k","toolCallId":"c","success":true,"result":[]}]"#,
            r#"[{"dialect":"ai-sdk-stream","source":"data: {\"type\":\"start\"}\n\n","agent":"a"}]"#,
            r#"{"kind":"input-required","taskId":"k","inputId":"i","inputType":"clarification","prompt":"?"}"#,
        ],
    ),
    post(
        "/api/threads/t{n}/messages",
        &[
            r#"{"content":"hi","to":["ada"],"messageId":"m","metadata":{"a":1}}"#,
            r#"{"content":[{"type":"text","text":"hi"}],"role":"user"}"#,
        ],
    ),
];

const BODIES: &[Probe] = &[
    post("/api/threads", &[r#"{"id":"x{n}","title":"t","metadata":{"a":1}}"#]),
    post(
        "/api/import?thread=x{n}",
        &[
            r#"[{"parts":[{"content":"hi","timestamp":"2026-01-01T00:00:00Z","part_kind":"user-prompt"}],"kind":"request"}]"#,
            "data: {\"type\":\"start\",\"messageId\":\"m\"}\n\ndata: [DONE]\n\n",
        ],
    ),
    Probe {
        method: Method::PATCH,
        path: "/api/threads/t{n}",
        good: &[r#"{"title":"t","metadata":{"a":1}}"#],
    },
    post("/api/threads/t{n}/fork", &[r#"{"id":"x{n}","at":1}"#]),
    post("/api/threads/t{n}/shares", &[r#"{"name":"s","expiresIn":3600}"#]),
    post("/api/threads/t{n}/cancel", &[r#"{"reason":"r"}"#]),
    Probe {
        method: Method::PUT,
        path: "/api/threads/t{n}/artifacts/f/content",
        good: &[r#"{"a":1}"#, "text"],
    },
    post(
        "/a2a",
        &[
            r#"{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"m","contextId":"t{n}","role":"ROLE_USER","parts":[{"text":"hi"}]},"configuration":{"historyLength":1}}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"message/send","params":{"message":{"kind":"message","messageId":"m","contextId":"t{n}","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"contextId":"t{n}","pageSize":5}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t{n}"}}"#,
        ],
    ),
    post(
        "/a2a/message:send",
        &[
            r#"{"message":{"messageId":"m","contextId":"t{n}","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#,
        ],
    ),
    post(
        "/mcp",
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_message","arguments":{"thread":"t{n}","text":"hi","to":"ada","wait":1}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        ],
    ),
    post(
        "/ai-sdk/chat?version=7",
        &[
            r#"{"id":"t{n}","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}],"trigger":"submit-message","agent":"ada"}"#,
        ],
    ),
    post(
        "/ag-ui",
        &[
            r#"{"threadId":"t{n}","runId":"r","state":{},"tools":[],"messages":[{"id":"m","role":"user","content":"hi"}],"context":[],"forwardedProps":{"agent":"ada"}}"#,
        ],
    ),
    post(
        "/process",
        &[
            r#"{"input":[{"role":"user","type":"message","content":[{"type":"text","text":"hi"}]}],"session_id":"t{n}","stream":true,"model":"ada"}"#,
        ],
    ),
    post(
        "/envelopes?thread=t{n}&wait=1s",
        &[
            r#"{"protocol":"multiagent-1.0","role":"user","intent":"plan","timestamp":"2026-01-31T12:00:00Z","task":"Plan","content":{"type":"text","text":"x"},"trace":{"id":"e","parents":["p"]}}"#,
        ],
    ),
    post("/invocations", &[r#"{"prompt":"hi","messageId":"m","metadata":{"a":1}}"#]),
    post(
        "/v1/threads",
        &[
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"metadata":{"a":"b"}}"#,
        ],
    ),
    post("/v1/threads/t{n}/messages", &[r#"{"role":"user","content":"hi","attachments":[]}"#]),
    post("/v1/threads/t{n}/runs", &[r#"{"assistant_id":"ada","stream":false}"#]),
    post(
        "/v1/threads/runs",
        &[
            r#"{"assistant_id":"ada","stream":true,"thread":{"messages":[{"role":"user","content":"hi"}]}}"#,
        ],
    ),
];

impl Set {
    /// The requests of the set.
    pub(crate) fn probes(self) -> &'static [Probe] {
        match self {
            Self::Appends => APPENDS,
            Self::Bodies => BODIES,
        }
    }
}

/// Panics if the request breaks a promise.
pub(crate) fn check(set: Set, bytes: &[u8]) {
    static SITE: Mutex<Option<Site>> = Mutex::new(None);
    let Some((first, body)) = bytes.split_first() else { return };
    let mut site = SITE.lock().unwrap_or_else(PoisonError::into_inner);
    if site.as_ref().is_some_and(Site::is_old) {
        *site = None;
    }
    let probes = set.probes();
    let site = site.get_or_insert_with(Site::start);
    site.ask(&probes[usize::from(*first) % probes.len()], body);
}

/// A server, and someone who asks it.
pub(crate) struct Site {
    runtime: Runtime,
    client: Client,
    url: String,
    asked: u64,
    _folder: TempDir,
}

impl Site {
    pub(crate) fn start() -> Self {
        // Another may have done so in this process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        // In memory where there is such a folder: the disk is not what is tried here.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.expect("a folder");
        let store = Store::open(&folder.path().join("s.db"), selvedge_store::Options::default())
            .expect("a store");
        let ada = Agent::new("ada", Arc::new(Script::saying("heard: {input}")));
        let agents = [("plan".to_owned(), "ada".to_owned())].into();
        let agents = Some(Desk::routed([ada], Rules { agents, ..Rules::none() }));
        let app = App::new(store, Options { agents, ..Options::default() }).expect("a server");
        let url = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let url = format!("http://{}", listener.local_addr().expect("an address"));
            tokio::spawn(selvedge_server::serve(app, listener, std::future::pending()));
            url
        });
        Self { runtime, client: Client::new(), url, asked: 0, _folder: folder }
    }

    /// Whether it was asked often enough: another begins with an empty journal.
    pub(crate) fn is_old(&self) -> bool {
        self.asked >= REQUESTS
    }

    /// Counts that it is asked.
    pub(crate) fn count(&mut self) {
        self.asked += 1;
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Makes a thread, unless an input before has chosen that name.
    pub(crate) fn make(&self, id: &str) {
        let made = self.send(&Method::POST, "/api/threads", format!("{{\"id\":\"{id}\"}}"));
        assert!(matches!(made.0, 201 | 409), "{made:?}");
    }

    fn ask(&mut self, probe: &Probe, body: &[u8]) {
        self.count();
        let n = self.asked;
        let path = probe.path.replace("{n}", &n.to_string());
        let body = numbered(body, n);
        if path.contains(&format!("/t{n}")) {
            self.make(&format!("t{n}"));
        }
        let (status, answer) = self.send(&probe.method, &path, body.clone());
        assert!(status < 500 || status == 501, "{path}: {status} {answer}");
        if status >= 400 {
            assert!(!answer.is_empty(), "{path}: {status} without a word");
            return;
        }
        let mut numbers = Numbers::of(&body);
        for thread in [format!("t{n}"), format!("x{n}")] {
            self.shown(&thread, &mut numbers);
        }
        if path.starts_with("/api/import") && status == 201 {
            self.exported(&format!("x{n}"), &answer, &body);
        }
    }

    /// Two views of a thread, if it is there.
    fn shown(&self, id: &str, numbers: &mut Numbers) {
        let get = |path: String| self.send(&Method::GET, &path, Vec::new());
        if get(format!("/api/threads/{id}")).0 == 404 {
            return;
        }
        let dialect = numbers.pick(dialect::ALL).id.name();
        let views = [
            format!("/api/threads/{id}/events?limit=1000"),
            format!("/ai-sdk/chat/{id}"),
            format!("/v1/threads/{id}/messages"),
            format!("/v1/threads/{id}/runs"),
            format!("/a2a/tasks?contextId={id}&includeArtifacts=true"),
            format!("/envelopes?thread={id}"),
            format!("/api/threads/{id}/tasks"),
            format!("/api/threads/{id}/artifacts"),
            format!("/api/threads/{id}/loss?dialect={dialect}"),
        ];
        for path in
            [format!("/api/threads/{id}/export?dialect={dialect}"), numbers.pick(&views).clone()]
        {
            let (status, answer) = get(path.clone());
            assert_eq!(status, 200, "{path}: {answer}");
        }
    }

    /// What was imported comes out as it was.
    fn exported(&self, id: &str, answer: &str, source: &[u8]) {
        let answer: serde_json::Value = serde_json::from_str(answer).expect("JSON");
        let dialect = answer["dialect"].as_str().expect("a dialect");
        let path = format!("/api/threads/{id}/export?dialect={dialect}&visibility=internal");
        let (_, exported) = self.send(&Method::GET, &path, Vec::new());
        assert_eq!(exported.as_bytes(), source, "as {dialect}");
    }

    fn send(&self, method: &Method, path: &str, body: impl Into<Vec<u8>>) -> (u16, String) {
        let request = self
            .client
            .request(method.clone(), format!("{}{path}", self.url))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .timeout(PATIENCE)
            .body(body.into());
        self.runtime.block_on(async {
            let response = request.send().await.unwrap_or_else(|e| panic!("{path}: {e:?}"));
            let status = response.status().as_u16();
            let text = response.bytes().await.unwrap_or_else(|e| panic!("{path}: {e:?}"));
            (status, String::from_utf8_lossy(&text).into_owned())
        })
    }
}

/// The body with a number in place of `{n}`.
fn numbered(body: &[u8], number: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.windows(3).position(|part| part == b"{n}") {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(number.to_string().as_bytes());
        rest = &rest[at + 3..];
    }
    out.extend_from_slice(rest);
    out
}
