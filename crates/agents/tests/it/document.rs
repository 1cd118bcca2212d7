//! Every event of the Looopy document occurs in what agents really do, with its fields.

use std::collections::BTreeSet;
use std::path::Path;

use selvedge_agents::config;
use selvedge_agents::{Agent, Member};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::journal::kind::{self, Need, Type};
use selvedge_store::Create;
use serde_json::{Value, json};

use crate::runner::House;

/// Two agents that between them do everything the document tells of.
const CONFIG: &str = r#"
[agents.lead]
kind = "script"
trace = true
tools = ["agents/worker", "artifacts/*", "thoughts/*"]
[[agents.lead.script.rules]]
when = "asks:"
lines = [{ say = "blue" }]
[[agents.lead.script.rules]]
lines = [
  { think = "let me see", say = "I begin.", thoughts = [
    { type = "planning", verbosity = "brief", text = "plan", confidence = 0.9 },
    { type = "reasoning", verbosity = "normal", text = "reason", related_to = "call-1-1" },
    { type = "reflection", verbosity = "detailed", text = "reflect", alternatives = ["not to"] },
    { type = "observation", text = "see" }, { type = "strategy", text = "turn" } ], calls = [
    { tool = "artifact_create", arguments = { name = "a.md", content = "text", description = "d" } },
    { tool = "artifact_create", arguments = { name = "b", data = { x = 1 } } },
    { tool = "artifact_create", arguments = { name = "c", rows = [{ x = 1 }] } },
    { tool = "think", arguments = { content = "so be it", type = "decision" } },
    { tool = "worker", arguments = { prompt = "work" } } ] },
  { say = "Done." },
]

[agents.worker]
kind = "script"
tools = ["ask/*", "count", "secret"]
[agents.worker.script]
rules = [{ lines = [
  { calls = [{ tool = "ask_coordinator", arguments = { question = "Which?", options = ["red", "blue"] } }] },
  { calls = [{ tool = "ask_user", arguments = { question = "Sure?", type = "confirmation", urgency = "high", schema = { type = "boolean" } } }] },
  { calls = [{ tool = "secret" }] },
  { calls = [{ tool = "count" }] },
  { say = "worked" },
] }]

[tools.secret]
kind = "http"
description = "Needs a key."
url = "http://127.0.0.1:9/"
allow_private = true
[tools.secret.auth]
type = "oauth2"
provider = "github"
scopes = ["repo"]
auth_url = "https://example.com/login"

[tools.count]
kind = "client"
description = "Counts."
"#;

fn agents() -> Vec<Agent> {
    let variables = |_: &str| None;
    let config = config::check("t.toml", CONFIG.as_bytes(), Path::new(""), &variables);
    let config = config.unwrap_or_else(|found| panic!("{found}"));
    let members = config.build_with(|_| unreachable!()).unwrap();
    let here = |member| match member {
        Member::Here(agent) => std::sync::Arc::into_inner(agent),
        _ => None,
    };
    members.into_iter().filter_map(here).collect()
}

/// What the document shows of each kind, beside what the table says must be there.
const SHOWN: &[(&str, &[&str])] = &[
    ("task-created", &["parentTaskId", "initiator", "agentId"]),
    ("task-status", &["status", "message", "metadata"]),
    ("task-complete", &["content", "artifacts", "metadata"]),
    ("content-delta", &["delta", "index"]),
    ("content-complete", &["content"]),
    ("tool-start", &["toolCallId", "toolName", "arguments"]),
    ("tool-progress", &["toolCallId", "progress", "message"]),
    ("tool-complete", &["toolCallId", "toolName", "success", "result", "error", "metadata"]),
    (
        "input-required",
        &["inputId", "requireUser", "inputType", "prompt", "schema", "options", "metadata"],
    ),
    ("input-received", &["inputId", "providedBy", "userId", "agentId"]),
    (
        "auth-required",
        &["authId", "authType", "provider", "scopes", "prompt", "authUrl", "metadata"],
    ),
    ("auth-completed", &["authId", "userId"]),
    (
        "file-write",
        &[
            "artifactId",
            "data",
            "index",
            "complete",
            "name",
            "description",
            "mimeType",
            "encoding",
            "metadata",
        ],
    ),
    ("data-write", &["artifactId", "name", "data", "metadata"]),
    ("dataset-write", &["artifactId", "rows", "index", "complete", "name", "metadata"]),
    ("subtask-created", &["subtaskId", "agentId", "prompt"]),
    ("thought-stream", &["thoughtId", "thoughtType", "verbosity", "content", "index", "metadata"]),
    ("internal:thought-process", &["iteration", "stage", "reasoning", "state"]),
    ("internal:llm-call", &["iteration", "model", "messageCount", "toolCount"]),
    ("internal:checkpoint", &["iteration"]),
];

#[tokio::test]
async fn every_event_of_the_document_has_an_emitter_and_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let house = House::open(&folder, progressing(agents()));
    house.append("talk", Create::New, &[json!({"kind": "thread-created"})]).await;
    house.ask("talk", "lead").await;
    // The user, as a server would tell of them.
    let waits = |kind: &'static str, ty: &'static str| {
        move |e: &Value| e["kind"] == kind && (e["inputType"] == ty || e["authType"] == ty)
    };
    let sure = house.until("talk", waits("input-required", "confirmation")).await;
    let yes = json!({"kind": "input-received", "inputId": sure["inputId"], "taskId": sure["taskId"],
                     "providedBy": "user", "userId": "u", "value": true});
    house.append("talk", Create::Never, &[yes]).await;
    let auth = house.until("talk", waits("auth-required", "oauth2")).await;
    let stop = json!({"kind": "auth-completed", "authId": auth["authId"], "taskId": auth["taskId"],
                      "userId": "u"});
    house.append("talk", Create::Never, &[stop]).await;
    // Nothing was handed over, so it is asked again; then nobody has it.
    let again = |n: usize| {
        move |e: &Value| {
            e["authId"].as_str().is_some_and(|id| id.ends_with(&format!("auth-{n}")))
                && e["kind"] == "auth-required"
        }
    };
    for n in [2, 3] {
        let auth = house.until("talk", again(n)).await;
        let stop = json!({"kind": "auth-completed", "authId": auth["authId"],
                          "taskId": auth["taskId"], "userId": "u"});
        house.append("talk", Create::Never, &[stop]).await;
    }
    house.until("talk", |e| e["kind"] == "task-complete" && e["taskId"] == "t").await;
    let events = house.events("talk");
    let mut seen = BTreeSet::new();
    for (name, fields) in SHOWN {
        let own: Vec<&Value> = events.iter().filter(|e| e["kind"] == *name).collect();
        assert!(!own.is_empty(), "{name} never happens");
        for field in *fields {
            assert!(own.iter().any(|e| !e[*field].is_null()), "{name} never has {field}");
        }
        let spec = kind::spec(Kind::named(name)).unwrap();
        // What a server stamps is not on what this test writes itself.
        for event in own.into_iter().filter(|event| event["contextId"] == "talk") {
            for field in kind::COMMON.iter().chain(spec.fields) {
                let value = &event[field.name];
                let must = field.need == Need::Must;
                assert!(!must || !value.is_null(), "{name} without {}: {event}", field.name);
                if let (Type::OneOf(words), Some(text)) = (field.ty, value.as_str()) {
                    assert!(words.contains(&text), "{event}");
                    seen.insert(format!("{name} {} {text}", field.name));
                }
            }
        }
    }
    let words = [
        "thought-stream thoughtType planning",
        "thought-stream thoughtType reasoning",
        "thought-stream thoughtType reflection",
        "thought-stream thoughtType decision",
        "thought-stream thoughtType observation",
        "thought-stream thoughtType strategy",
        "thought-stream verbosity brief",
        "thought-stream verbosity normal",
        "thought-stream verbosity detailed",
        "internal:thought-process stage pre-llm",
        "internal:thought-process stage post-llm",
        "internal:thought-process stage pre-tool",
        "internal:thought-process stage post-tool",
        "task-status status working",
        "task-status status waiting-input",
        "task-status status waiting-auth",
        "task-status status waiting-subtask",
        "input-required inputType confirmation",
        "input-required inputType selection",
    ];
    for word in words {
        assert!(seen.contains(word), "{word} never happens: {seen:#?}");
    }
    let by: BTreeSet<&str> = events.iter().filter_map(|e| e["providedBy"].as_str()).collect();
    assert_eq!(by, BTreeSet::from(["agent", "user"]));
    house.close().await;
}

/// The same agents; what a client would count is counted here, and tells how far it has come.
fn progressing(mut agents: Vec<Agent>) -> Vec<Agent> {
    use futures_util::future::{BoxFuture, FutureExt as _};
    use selvedge_agents::{Invocation, Run, Tool, ToolError};
    struct Count;
    impl Run for Count {
        fn run(&self, call: Invocation) -> BoxFuture<'static, Result<Value, ToolError>> {
            async move {
                call.progress(0.5, Some("half")).await?;
                Ok(json!(2))
            }
            .boxed()
        }
    }
    for agent in &mut agents {
        for tool in &mut agent.tools {
            if tool.spec.name == "count" {
                *tool = std::sync::Arc::new(
                    Tool::here(tool.spec.clone(), std::sync::Arc::new(Count)).unwrap(),
                );
            }
        }
    }
    agents
}
