//! The table of routes as an OpenAPI document.
//!
//! Paths, methods, scopes and what they do come from the table; parameters and bodies are named
//! here, and `schema.rs` says what the bodies are. The
//! result is in `docs/openapi.json`, and a test fails when the two differ.

mod acts;
mod schema;
mod surfaces;

use http::Method;
use serde_json::{Map, Value, json};

use crate::auth::Scope;
use crate::routes::{Route, routes};

/// A parameter: where it is, its name, what it is.
type Parameter = (&'static str, &'static str, &'static str);

const FILTERS: [Parameter; 9] = [
    ("query", "kinds", "Only these kinds; `content-*` is all that begin so"),
    ("query", "tasks", "Only events of these tasks"),
    ("query", "descendants", "Whether subtasks count as their task; true unless told"),
    ("query", "participants", "Only events of these participants"),
    ("query", "thoughts", "The wordiest thoughts: off, brief, normal or detailed"),
    ("query", "thoughtTypes", "Only thoughts of these types"),
    ("query", "minConfidence", "Only thoughts at least so confident, from 0 to 1"),
    VISIBILITY,
    ("query", "access_token", "The key, where no header can be sent; it is never logged"),
];
const VISIBILITY: Parameter = (
    "query",
    "visibility",
    "What to see, within what the key may: public, participants, operator or internal",
);
const AFTER: Parameter = ("query", "after", "Where to begin: a cursor, `earliest` or `tail`");
const LAST: Parameter = ("header", "Last-Event-ID", "The last id seen; counts more than `after`");
const LIMIT: Parameter = ("query", "limit", "Entries at most");
const RECENT: Parameter = (
    "query",
    "last",
    "The last so many entries, instead of those after a place; with the thread's line in a list",
);
const MORE: Parameter = ("query", "after", "The `next` of the page before");
const AT: Parameter = ("query", "at", "Up to this sequence number");
const DIALECT: Parameter = ("query", "dialect", "In which dialect");
const VERSION: Parameter = ("query", "for", "A version, such as `ai@6`");
const AI_SDK: Parameter =
    ("header", "x-ai-sdk-version", "The major version of `ai`; 5 unless told. Or `?version=`");
const LEASE: Parameter =
    ("header", "Selvedge-Lease", "The lease of the task that the caller works on");
const ONCE: Parameter =
    ("header", "Idempotency-Key", "The same key and body get the first answer again");

/// Lists as OpenAI has them, and what their pages are asked for by.
const V1_LISTS: [&str; 5] = [
    "/v1/threads",
    "/v1/threads/{id}/runs",
    "/v1/threads/{id}/runs/{run}/steps",
    "/v1/assistants",
    "/v1/files",
];
const V1_PAGE: [Parameter; 4] = [
    ("query", "after", "Only what comes after the item of this id"),
    ("query", "before", "Only what comes before the item of this id"),
    ("query", "order", "`asc`, or `desc` unless told"),
    LIMIT,
];

/// The parameters of a route besides those in its path.
fn parameters(method: &Method, path: &str) -> (Vec<Parameter>, &'static [Parameter]) {
    let (own, filters): (&[Parameter], &'static [Parameter]) = match (method.as_str(), path) {
        ("POST", "/api/threads" | "/api/threads/{id}/fork" | "/api/threads/{id}/messages") => {
            (&[ONCE], &[])
        }
        ("POST", "/api/threads/{id}/events") => {
            let at = ("header", "If-Match", "The head it must have: a cursor or a number");
            return (vec![ONCE, at, LEASE], &[]);
        }
        ("GET", "/api/agents/{id}/work") => (
            &[
                (
                    "query",
                    "wait",
                    "How long to wait for a task, such as `30s`; not at all unless told",
                ),
                ("query", "lease", "A shorter lease than the agent's"),
                ("query", "max", "Of a stream: tasks at work at once; 1 unless told"),
                ("query", "worker", "What the journal calls the worker"),
                ("header", "Accept", "`text/event-stream`: one `work` event per task"),
            ],
            &[],
        ),
        ("PUT", "/api/threads/{id}/tasks/{taskId}/lease") => (&[LEASE], &[]),
        ("DELETE", "/api/threads/{id}/tasks/{taskId}/lease") => (
            &[
                LEASE,
                ("query", "after", "How long nobody gets the task, such as `30s`"),
                ("query", "reason", "Why; the journal tells it"),
            ],
            &[],
        ),
        ("GET", "/a2a/tasks" | "/a2a/v1/tasks") => (
            &[
                ("query", "contextId", "Only those of this thread"),
                ("query", "status", "Only those in this state, such as `TASK_STATE_WORKING`"),
                ("query", "statusTimestampAfter", "Only those whose state changed then or later"),
                ("query", "pageSize", "Tasks of a page, 1 to 100; 50 unless told"),
                ("query", "pageToken", "The `nextPageToken` of the page before"),
                ("query", "historyLength", "Messages of each task; all unless told"),
                ("query", "includeArtifacts", "Whether artifacts come along; not unless told"),
            ],
            &[],
        ),
        ("GET", "/a2a/tasks/{*task}" | "/a2a/v1/tasks/{*task}") => {
            (&[("query", "historyLength", "Messages of the task; all unless told")], &[])
        }
        ("GET", "/api/threads") => (
            &[
                ("query", "status", "Only those that are waiting, working, failed or idle"),
                ("query", "participant", "Only those that they take part in"),
                ("query", "metadata.{key}", "Only those whose metadata has this value"),
                MORE,
                LIMIT,
            ],
            &[],
        ),
        ("GET", "/api/inbox") => (
            &[
                ("query", "kind", "Only `input` or `auth`"),
                ("query", "requireUser", "Only what only a user may answer"),
                ("query", "order", "`oldest` first, or by `urgency`"),
                VISIBILITY,
                MORE,
                LIMIT,
            ],
            &[],
        ),
        ("GET", "/api/usage") => (
            &[
                ("query", "by", "What is told apart: some of `day,thread,agent,model`"),
                ("query", "thread", "Only in this thread"),
                ("query", "from", "The first day, such as 2026-01-31; 30 days ago unless told"),
                ("query", "to", "The last day; today unless told"),
                ("query", "order", "By `name`, or what `cost` most first"),
                MORE,
                LIMIT,
            ],
            &[],
        ),
        ("GET", "/api/connections") => (&[LIMIT], &[]),
        ("GET", "/api/search") => {
            (&[("query", "q", "Words; quoted ones together, `word*` any ending"), MORE, LIMIT], &[])
        }
        ("GET", "/api/threads/{id}/inputs") => (
            &[
                ("query", "after", "Only what was asked after this sequence number"),
                LIMIT,
                VISIBILITY,
            ],
            &[],
        ),
        ("GET", "/api/threads/{id}/tasks") => (&[MORE, LIMIT], &FILTERS),
        ("GET", "/api/threads/{id}/artifacts") => (&[MORE, LIMIT, VISIBILITY], &[]),
        ("GET", "/api/threads/{id}/artifacts/{artifactId}") => (&[VISIBILITY], &[]),
        ("GET", "/api/threads/{id}/artifacts/{artifactId}/content") => (
            &[
                ("query", "version", "Which one; the latest unless told"),
                ("query", "format", "Of a dataset: json, csv or ndjson"),
                VISIBILITY,
                ("header", "If-None-Match", "The version that is known already"),
            ],
            &[],
        ),
        ("PUT", "/api/threads/{id}/artifacts/{artifactId}/content") => (
            &[
                ("query", "kind", "file (unless told), data or dataset"),
                ("query", "name", "What it is called"),
                ("query", "description", "What it is"),
                ("query", "taskId", "The task that writes it"),
                ("query", "visibility", "Who may see it; participants unless told"),
                ("header", "If-Match", "The version it must have, such as \"3\""),
                ("header", "If-None-Match", "`*`: only if it is not there"),
                ONCE,
            ],
            &[],
        ),
        ("GET", "/api/threads/{id}/artifacts/{artifactId}/diff") => (
            &[
                ("query", "from", "The older version; the one before unless told"),
                ("query", "to", "The newer version; the latest unless told"),
                VISIBILITY,
            ],
            &[],
        ),
        (
            "POST",
            "/api/threads/{id}/inputs/{inputId}"
            | "/api/threads/{id}/auths/{authId}"
            | "/api/threads/{id}/cancel"
            | "/api/threads/{id}/tasks/{taskId}/cancel"
            | "/api/threads/{id}/tool-calls/{toolCallId}/cancel",
        ) => (&[ONCE], &[]),
        ("PATCH", "/api/threads/{id}") => (&[ONCE], &[]),
        ("GET", "/api/threads/{id}") => (&[AT], &FILTERS),
        ("GET", "/api/threads/{id}/events") => (&[AFTER, LIMIT, RECENT], &FILTERS),
        ("GET", "/api/threads/{id}/stream" | "/api/contexts/{id}/stream") => {
            (&[AFTER, LAST, DIALECT], &FILTERS)
        }
        ("GET", "/api/contexts/{id}/events") => (&[AFTER, LAST, DIALECT, LIMIT], &FILTERS),
        ("GET", "/api/stream") => {
            (&[("query", "threads", "Ids, each with `@cursor` if wanted"), LAST, DIALECT], &FILTERS)
        }
        ("GET", "/api/shares/{token}/events") => (&[AFTER, LIMIT], &[]),
        ("GET", "/api/shares/{token}/stream") => (&[AFTER, LAST, DIALECT], &[]),
        ("GET", "/api/shares/{token}/export") => (&[DIALECT, VERSION, AT], &[]),
        ("GET", "/api/threads/{id}/diff") => {
            (&[("query", "with", "The other thread"), LIMIT], &FILTERS)
        }
        ("GET", "/api/threads/{id}/loss") => {
            (&[DIALECT, VERSION, ("query", "agent", "Seen by this agent"), AT, LIMIT], &FILTERS)
        }
        ("GET", "/api/threads/{id}/export") => {
            (&[DIALECT, VERSION, ("query", "agent", "Seen by this agent"), AT], &FILTERS)
        }
        ("POST", "/envelopes") => (
            &[
                ("query", "thread", "The thread; a new one unless told"),
                ("query", "mode", "What answers name as their parents: parent or mux-v1"),
                ("query", "wait", "How long to wait for the answers, such as 30s"),
                ("header", "Prefer", "The same, as `wait=30`"),
                ("header", "Accept", "text/event-stream or application/x-ndjson for the answers"),
                ONCE,
            ],
            &[],
        ),
        ("POST", "/ai-sdk/chat") => (
            &[
                AI_SDK,
                ("query", "agent", "Who is to answer; `agent` in the body counts more"),
                (
                    "query",
                    "abort",
                    "What a client means that goes away: leave (unless told) or stop",
                ),
            ],
            &FILTERS,
        ),
        ("POST", "/ag-ui") => (
            &[("query", "agent", "Who is to answer; `forwardedProps.agent` counts more")],
            &FILTERS,
        ),
        ("GET", "/ai-sdk/chat/{id}" | "/ai-sdk/chat/{id}/stream") => (&[AI_SDK], &FILTERS),
        ("GET", "/envelopes") => (&[("query", "thread", "Which thread")], &FILTERS),
        ("POST", "/process") => (&[LAST], &[]),
        ("GET", "/v1/threads/{id}/stream/{run}") => (&[AFTER, LAST], &[]),
        ("GET", "/v1/threads/{id}/messages") => {
            let run = ("query", "run_id", "Only those of this run");
            return (V1_PAGE.iter().copied().chain([run]).collect(), &[]);
        }
        ("GET", path) if V1_LISTS.contains(&path) => (&V1_PAGE, &[]),
        ("POST", path) if path.starts_with("/v1/") => (&[ONCE], &[]),
        ("POST", "/api/import") => {
            (&[DIALECT, ("query", "thread", "The id that the thread is to have")], &[])
        }
        _ => (&[], &[]),
    };
    (own.to_vec(), filters)
}

/// The document.
pub fn document() -> String {
    let mut paths = Map::new();
    for route in routes() {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(route.method.as_str().to_lowercase(), operation(&route));
        }
    }
    let mut responses = surfaces::responses();
    let error = json!({
        "description": "What went wrong; see docs/errors.md for every code",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    });
    responses.insert("Error".to_owned(), error);
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Selvedge",
            "summary": "One durable thread for every agent conversation",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "A key, or a JWT"},
                "query": {"type": "apiKey", "in": "query", "name": "access_token"}
            },
            "schemas": schema::components(),
            "responses": responses
        }
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn operation(route: &Route) -> Value {
    let in_path =
        route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(
        |name| json!({"in": "path", "name": name, "required": true, "schema": {"type": "string"}}),
    );
    let (own, filters) = parameters(&route.method, route.path);
    let others = own.iter().chain(filters).map(|(place, name, about)| {
        json!({"in": place, "name": name, "description": about, "schema": {"type": "string"}})
    });
    let parameters: Vec<Value> = in_path.chain(others).collect();
    let (takes, gives) = bodies(&route.method, route.path);
    let done = match gives {
        Some(schema) => {
            json!({"description": "Done", "content": {"application/json": {"schema": schema}}})
        }
        None => json!({"description": "Done"}),
    };
    let wrong = surfaces::wrong(route.path);
    let mut operation = json!({
        "operationId": name(route),
        "summary": route.about,
        "responses": {
            "2XX": done,
            "default": {"$ref": format!("#/components/responses/{wrong}")}
        }
    });
    if let Some(members) = operation.as_object_mut() {
        if !parameters.is_empty() {
            members.insert("parameters".to_owned(), parameters.into());
        }
        // A share's token is in the path.
        if matches!(route.scope, Scope::Nobody | Scope::Share) {
            members.insert("security".to_owned(), json!([]));
        } else {
            members.insert("security".to_owned(), json!([{"key": []}, {"query": []}]));
            members.insert("x-scope".to_owned(), route.scope.name().into());
        }
        if let Some(schema) = takes {
            // What is put is what it is; all else is JSON.
            let other = (route.method == Method::PUT).then(|| ("*/*".to_owned(), json!({})));
            let json = ("application/json".to_owned(), json!({"schema": schema}));
            let body = json!({"content": Map::from_iter(other.into_iter().chain([json]))});
            members.insert("requestBody".to_owned(), body);
        }
    }
    operation
}

/// A name that code generators can use: `getApiThreadsIdEvents`.
fn name(route: &Route) -> String {
    let parts = route.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|p| !p.is_empty());
    let name = parts.fold(route.method.as_str().to_lowercase(), |name, part| {
        let (first, rest) = part.split_at(1);
        name + &first.to_uppercase() + rest
    });
    // The same path with a slash at its end is another route.
    if route.path.len() > 1 && route.path.ends_with('/') { name + "Slash" } else { name }
}

/// What a route takes and gives, as JSON: the schemas' names.
fn bodies(method: &Method, path: &str) -> (Option<Value>, Option<Value>) {
    let (takes, gives) = match (method.as_str(), path) {
        ("POST", "/api/threads") => ("NewThread", "MadeThread"),
        ("GET", "/api/threads") => ("", "Threads"),
        ("GET", "/api/threads/{id}") => ("", "State"),
        ("PATCH", "/api/threads/{id}") => ("ThreadChange", "ChangedThread"),
        ("POST", "/api/threads/{id}/events") => {
            let one = schema::named("Event");
            let source = json!({"type": "object", "required": ["dialect", "source"],
                "properties": {"dialect": {"type": "string"}, "agent": {"type": "string"}},
                "description": "What was said in another dialect, as the events it means"});
            let items = json!({"anyOf": [one, source]});
            let takes = json!({"anyOf": [one, {"type": "array", "items": items}]});
            return (Some(takes), Some(schema::named("Appended")));
        }
        ("GET", "/api/threads/{id}/events") => ("", "Page"),
        ("POST", "/api/threads/{id}/messages") => ("NewMessage", "SentMessage"),
        ("GET", "/api/agents") => ("", "Agents"),
        ("POST", "/api/demo") => ("", "BegunDemo"),
        ("GET", "/api/agents/{id}/work") => ("", "Work"),
        ("PUT", "/api/threads/{id}/tasks/{taskId}/lease") => ("", "Lease"),
        ("POST", "/envelopes") => {
            let one = schema::named("Envelope");
            let takes = json!({"anyOf": [one, {"type": "array", "items": one}]});
            return (Some(takes), Some(schema::named("Routed")));
        }
        ("GET", "/envelopes/handshake") => ("", "Envelope"),
        ("GET", "/api/threads/{id}/actions") => ("", "Actions"),
        ("POST", "/api/threads/{id}/actions/{action}/claim") => ("Claim", "Claimed"),
        // A2A has schemas of its own.
        ("POST", path) if path == "/" || path.starts_with("/a2a") => {
            return (Some(json!({"type": "object"})), None);
        }
        ("GET", "/ping") => ("", "Ping"),
        ("POST", "/invocations") => ("Invocation", ""),
        ("POST", "/ai-sdk/chat") => ("ChatRequest", ""),
        ("POST", "/ag-ui") => ("RunAgentInput", ""),
        ("GET", "/ai-sdk/chat/{id}") => ("", "UiMessages"),
        ("POST", "/ai-sdk/chat/{id}/stop") | ("DELETE", "/ai-sdk/chat/{id}/stream") => {
            ("", "Stopped")
        }
        ("POST", "/process") => ("AgentRequest", ""),
        ("POST", "/process/task") => ("AgentRequest", "AgentTask"),
        ("GET", "/process/task/{task_id}") => ("", "AgentTaskStatus"),
        ("POST", "/api/threads/{id}/fork") => ("NewBranch", "MadeBranch"),
        ("POST", "/api/threads/{id}/redact") => ("Redaction", "Redacted"),
        ("POST", "/api/threads/{id}/erase") => ("Erasing", "Erasures"),
        ("GET", "/api/erasures") => ("", "Erasures"),
        ("POST", "/api/threads/{id}/promote") => ("Promotion", "Promoted"),
        ("GET", "/api/threads/{id}/branches") => ("", "Branches"),
        ("GET", "/api/threads/{id}/diff") => ("", "Difference"),
        ("GET", "/api/threads/{id}/loss") => ("", "Loss"),
        ("POST", "/api/threads/{id}/shares") => ("NewShare", "MadeShare"),
        ("GET", "/api/threads/{id}/shares") => ("", "Shares"),
        ("GET", "/api/shares/{token}") => ("", "State"),
        ("GET", "/api/shares/{token}/events") => ("", "Page"),
        ("GET", "/api/contexts/{id}/events") => ("", "Events"),
        ("POST", "/api/import") => return (Some(json!({})), Some(schema::named("Imported"))),
        ("GET", "/api/inbox") => ("", "Inbox"),
        ("GET", "/api/usage") => ("", "Usage"),
        ("GET", "/api/connections") => ("", "Connections"),
        ("GET", "/api/search") => ("", "Results"),
        ("GET", "/health" | "/health/live") => ("", "Health"),
        ("GET", "/api/threads/{id}/inputs") => ("", "Inputs"),
        ("POST", "/api/threads/{id}/inputs/{inputId}") => ("Answer", "Appended"),
        ("POST", "/api/threads/{id}/auths/{authId}") => ("Authenticated", "Appended"),
        ("GET", "/api/threads/{id}/tasks") => ("", "Tasks"),
        (
            "POST",
            "/api/threads/{id}/cancel"
            | "/api/threads/{id}/tasks/{taskId}/cancel"
            | "/api/threads/{id}/tool-calls/{toolCallId}/cancel",
        ) => ("Cancel", "Appended"),
        ("GET", "/api/threads/{id}/artifacts") => ("", "Artifacts"),
        ("GET", "/api/threads/{id}/artifacts/{artifactId}") => ("", "Artifact"),
        ("PUT", "/api/threads/{id}/artifacts/{artifactId}/content") => {
            return (Some(json!({})), Some(schema::named("Written")));
        }
        ("GET", "/api/threads/{id}/artifacts/{artifactId}/diff") => ("", "ArtifactDiff"),
        _ => ("", ""),
    };
    let some = |name: &str| (!name.is_empty()).then(|| schema::named(name));
    (some(takes), some(gives))
}
