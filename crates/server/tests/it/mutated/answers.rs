//! Bad answers to questions: a good answer of each surface, mutated, while an agent waits for it.
//! One that is refused leaves the question open, so that the next is tried on it.

use std::sync::Arc;
use std::time::Duration;

use selvedge_agents::config::file::WhileWaiting;
use selvedge_agents::router::Rules;
use selvedge_agents::script::{Line, Script};
use selvedge_agents::{Agent, Consent, Desk, Doer};
use selvedge_server::Options;
use serde_json::{Value, json};

use super::mutate::{Wanted, mutants};
use super::{
    Answer, EVENTS, Probe, Verdict, detailed, google, idle, openai, ours, plain, rpc, run_error,
    sent, shown,
};
use crate::site::{Site, asking_where, tool};

/// Of so many mutants that may be taken, one is tried.
const SOME: usize = 3;

/// What an agent waits for.
struct Question {
    input: String,
    call: String,
}

/// An agent whose tool needs someone's consent, and then runs at the client.
fn asking_consent() -> Agent {
    let calls = vec![("look".to_owned(), json!({}))];
    let lines = vec![
        Line { calls, ..Line::default() },
        Line { say: "Done.".to_owned(), ..Line::default() },
    ];
    let mut ada = Agent::new("ada", Arc::new(Script::of(lines)));
    let mut look = tool("look", Doer::Client);
    look.consent = Consent::Needed;
    ada.tools = vec![Arc::new(look)];
    ada
}

/// Lets the agent ask in a thread of its own; its task is `m/ada` everywhere.
async fn opened(site: &Site, number: usize) -> Question {
    let thread = format!("q-{number}");
    site.thread(&thread).await;
    let body = json!({"content": "go", "messageId": "m"}).to_string();
    let (status, said) = site.post(&format!("/api/threads/{thread}/messages"), body).await;
    assert_eq!(status, 202, "{said}");
    let ended = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let (_, state) = site.get(&format!("/api/threads/{thread}")).await;
            if let Some(input) = state["inputs"].as_array().and_then(|all| all.first()) {
                idle(site).await;
                let text = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
                return Question { input: text("inputId"), call: text("toolCallId") };
            }
        }
    });
    ended.await.unwrap()
}

/// Tries a good answer and all its mutants, each on a question that is open.
async fn tried(agent: Agent, probe: impl Fn(&Question) -> Probe) {
    // What turns out to be a message must not wait for an answer that nobody gives.
    let waiting = [("ada".to_owned(), WhileWaiting::Cancel)];
    let agents = Some(Desk::configured([agent], Rules::none(), waiting));
    let options = Options { agents, ..Options::default() };
    let site = Site::start_with(options, &[]).await.0;
    let (mut number, mut is_open) = (0, true);
    let question = opened(&site, number).await;
    let probe = probe(&question);
    let (mut wrong, mut refused) = (Vec::new(), 0);
    for (nth, mutant) in mutants(&probe.body, probe.needed).into_iter().enumerate() {
        // Each that is taken needs a question of its own: of those that may be, some are enough.
        if mutant.wanted == Wanted::Either && nth % SOME != 0 {
            continue;
        }
        if !is_open {
            number += 1;
            opened(&site, number).await;
        }
        let known = site.count(EVENTS).await;
        let answer: Answer = sent(&site, &probe, &mutant, number).await;
        let verdict = (probe.verdict)(&answer);
        is_open = site.count(EVENTS).await == known;
        let why = match verdict {
            Err(why) => why,
            Ok(Verdict::Taken) if mutant.wanted == Wanted::Refused => "taken".to_owned(),
            Ok(Verdict::Taken) if nth == 0 && is_open => "good, but nothing came of it".to_owned(),
            Ok(Verdict::Refused) if nth == 0 => "good, but refused".to_owned(),
            Ok(Verdict::Refused) if !is_open => "refused, but changes".to_owned(),
            Ok(Verdict::Refused) => {
                refused += 1;
                continue;
            }
            Ok(Verdict::Taken) => {
                idle(&site).await;
                is_open = is_open && site.count(EVENTS).await == known;
                continue;
            }
        };
        let text: String = answer.text.chars().take(300).collect();
        wrong.push(format!("{}: {why}: {} {text}", mutant.name, answer.status));
    }
    println!("{}: {refused} refused, {number} questions", probe.path);
    assert!(wrong.is_empty(), "{}: {}\n{}", probe.path, wrong.len(), wrong.join("\n"));
    assert!(refused > 40, "only {refused} were refused");
    shown(&site).await;
}

fn escaped(id: &str) -> String {
    id.replace('/', "%2F")
}

#[tokio::test]
async fn the_native_api_is_answered() {
    tried(asking_consent(), |question| Probe {
        path: format!("/api/threads/q-{{n}}/inputs/{}", escaped(&question.input)).into(),
        headers: &[],
        body: json!({"value": "yes", "reason": "why not"}),
        needed: &["/value"],
        verdict: ours,
    })
    .await;
}

#[tokio::test]
async fn looopy_is_resumed() {
    tried(asking_consent(), |question| Probe {
        path: "/invocations".into(),
        headers: &[("x-amzn-bedrock-agentcore-runtime-session-id", "q-{n}")],
        body: json!({"type": "resume", "inputs": [
            {"inputId": question.input, "value": "yes", "reason": "why not"}]}),
        needed: &["/inputs", "/inputs/0", "/inputs/0/inputId", "/inputs/0/value"],
        verdict: ours,
    })
    .await;
}

#[tokio::test]
async fn openai_gets_the_outputs_of_tools() {
    for agent in [asking_where(), asking_consent()] {
        tried(agent, |question| {
            // A tool is called by its own id, and a question by the question's.
            let call = match question.input.ends_with(&question.call) {
                true => &question.call,
                false => &question.input,
            };
            Probe {
                path: "/v1/threads/q-{n}/runs/m%2Fada/submit_tool_outputs".into(),
                headers: &[],
                body: json!({"tool_outputs": [{"tool_call_id": call, "output": "yes"}],
                    "stream": false}),
                needed: &["/tool_outputs", "/tool_outputs/0", "/tool_outputs/0/tool_call_id"],
                verdict: openai,
            }
        })
        .await;
    }
}

fn chat(part: &Value) -> Value {
    json!({"id": "q-{n}", "trigger": "submit-message", "messages": [
        {"id": "m", "role": "user", "parts": [{"type": "text", "text": "go"}]},
        {"id": "m/ada", "role": "assistant", "parts": [part]}]})
}

#[tokio::test]
async fn the_ai_sdk_approves() {
    tried(asking_consent(), |question| {
        let approval = json!({"id": question.input, "approved": true, "reason": "why not"});
        Probe {
            path: "/ai-sdk/chat?version=7".into(),
            headers: &[],
            body: chat(&json!({"type": "tool-look", "toolCallId": question.call, "input": {},
                "state": "approval-responded", "approval": approval})),
            needed: &[
                "/id",
                "/messages",
                "/messages/1/role",
                "/messages/1/parts",
                "/messages/1/parts/0/approval/id",
                "/messages/1/parts/0/approval/approved",
            ],
            verdict: plain,
        }
    })
    .await;
}

#[tokio::test]
async fn the_ai_sdk_gives_the_output_of_a_tool() {
    tried(asking_where(), |question| Probe {
        path: "/ai-sdk/chat?version=6".into(),
        headers: &[],
        body: chat(&json!({"type": "tool-where", "toolCallId": question.call, "input": {},
            "state": "output-available", "output": {"city": "Oslo"}})),
        needed: &["/id", "/messages", "/messages/1/parts/0/toolCallId"],
        verdict: plain,
    })
    .await;
}

#[tokio::test]
async fn ag_ui_resumes() {
    tried(asking_consent(), |question| Probe {
        path: "/ag-ui".into(),
        headers: &[],
        body: json!({"threadId": "q-{n}", "runId": "r", "state": {}, "tools": [], "context": [],
            "messages": [{"id": "m", "role": "user", "content": "go"}], "forwardedProps": {},
            "resume": [{"interruptId": question.input, "status": "resolved", "payload": true}]}),
        needed: &["/threadId", "/runId", "/messages", "/resume/0/interruptId"],
        verdict: run_error,
    })
    .await;
}

#[tokio::test]
async fn ag_ui_brings_the_result_of_a_tool() {
    tried(asking_where(), |question| Probe {
        path: "/ag-ui".into(),
        headers: &[],
        body: json!({"threadId": "q-{n}", "runId": "r", "state": {}, "tools": [], "context": [],
            "forwardedProps": {}, "messages": [
                {"id": "m", "role": "user", "content": "go"},
                {"id": "t", "role": "tool", "toolCallId": question.call, "content": "Oslo"}]}),
        needed: &["/threadId", "/runId", "/messages", "/messages/1/role"],
        verdict: run_error,
    })
    .await;
}

#[tokio::test]
async fn a2a_is_answered() {
    let message = |question: &Question| {
        json!({"messageId": "a", "contextId": "q-{n}", "taskId": "m/ada", "role": "ROLE_USER",
            "parts": [{"data": {"inputId": question.input, "value": true}}]})
    };
    tried(asking_consent(), |question| Probe {
        path: "/a2a".into(),
        headers: &[("a2a-version", "1.0")],
        body: json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": {"message": message(question)}}),
        needed: &[
            "/jsonrpc",
            "/method",
            "/params",
            "/params/message",
            "/params/message/parts",
            "/params/message/role",
        ],
        verdict: rpc,
    })
    .await;
    tried(asking_consent(), |question| Probe {
        path: "/a2a/message:send".into(),
        headers: &[],
        body: json!({"message": message(question)}),
        needed: &["/message", "/message/messageId", "/message/role", "/message/parts"],
        verdict: google,
    })
    .await;
}

#[tokio::test]
async fn the_agent_api_is_answered() {
    let session = |kind: &str, data: Value| {
        json!({"session_id": "q-{n}", "stream": true, "input": [{"role": "user", "type": kind,
            "content": [{"type": "data", "data": data}]}]})
    };
    tried(asking_consent(), |question| Probe {
        path: "/process".into(),
        headers: &[],
        body: session(
            "mcp_approval_response",
            json!({"approval_request_id": question.input, "approve": true}),
        ),
        needed: &["/input", "/input/0", "/input/0/content/0/data/approval_request_id"],
        verdict: detailed,
    })
    .await;
    tried(asking_where(), |question| Probe {
        path: "/process".into(),
        headers: &[],
        body: session("function_call_output", json!({"call_id": question.call, "output": "Oslo"})),
        needed: &["/input", "/input/0", "/input/0/content/0/data/call_id"],
        verdict: detailed,
    })
    .await;
}

#[tokio::test]
async fn mcp_answers() {
    tried(asking_consent(), |question| Probe {
        path: "/mcp".into(),
        headers: &[("accept", "application/json, text/event-stream")],
        body: json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "answer", "arguments": {"thread": "q-{n}", "input": question.input,
                "value": "yes", "reason": "why not", "wait": 10}}}),
        needed: &[
            "/jsonrpc",
            "/method",
            "/params",
            "/params/name",
            "/params/arguments/thread",
            "/params/arguments/input",
            "/params/arguments/value",
        ],
        verdict: rpc,
    })
    .await;
}
