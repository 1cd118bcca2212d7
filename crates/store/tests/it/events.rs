//! Events to try things with: any of those that projections follow, over a few ids.

use proptest::prelude::*;
use selvedge_store::{Append, Create, Draft, Store};

use super::append::thread;
use super::home::Home;

fn task() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0..4u8, 0..3u8).prop_map(|(t, a)| format!(r#","taskId":"k{t}","agentId":"a{a}""#)),
        2 => (0..4u8).prop_map(|t| format!(r#","taskId":"k{t}""#)),
        1 => (0..4u8, 0..4u8).prop_map(|(t, p)| {
            format!(r#","taskId":"k{t}","parentTaskId":"k{p}","metadata":{{"agentId":"m{p}"}}"#)
        }),
        1 => Just(String::new()),
    ]
}

fn choice(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(of).prop_map(str::to_owned)
}

fn told() -> impl Strategy<Value = String> {
    let usage = (0..50u32, 0..50u32, 0..3u8).prop_map(|(input, output, model)| {
        format!(
            r#","model":"m{model}","usage":{{"input_tokens":{input},"output_tokens":{output},"cost":0.5}}"#
        )
    });
    prop_oneof![2 => usage, 1 => Just(String::new())]
}

fn write() -> impl Strategy<Value = String> {
    let about = (0..3u8, 0..5u8, any::<bool>(), any::<bool>());
    let kind = choice(&["file-write", "dataset-write", "data-write"]);
    (kind, about).prop_map(|(kind, (id, index, complete, named))| {
        let content = match kind.as_str() {
            "file-write" => r#""data":"one\n\u00e9\"two","mimeType":"text/plain""#,
            "dataset-write" => r#""rows":[{"a":1},{"a":2}]"#,
            _ => r#""data":{"a":[1,2]}"#,
        };
        let name = if named { format!(r#","name":"n{index}""#) } else { String::new() };
        format!(
            r#""{kind}","artifactId":"f{id}","index":{index},"complete":{complete},{content}{name}"#
        )
    })
}

/// One event, valid or just about.
pub(crate) fn any_event() -> impl Strategy<Value = String> {
    let status = choice(&[
        "working",
        "waiting-input",
        "waiting-subtask",
        "completed",
        "failed",
        "canceled",
        "odd",
    ]);
    let about_input =
        (choice(&["input-required", "tool-input-required", "input-received"]), 0..3u8).prop_map(
            |(kind, id)| {
                format!(r#""{kind}","inputId":"i{id}","inputType":"confirmation","prompt":"Sure?""#)
            },
        );
    let about_auth = (choice(&["auth-required", "auth-completed"]), 0..3u8)
        .prop_map(|(kind, id)| format!(r#""{kind}","authId":"i{id}","authType":"oauth2""#));
    let people = (choice(&["participant-joined", "participant-left"]), 0..4u8)
        .prop_map(|(kind, id)| format!(r#""{kind}","participantId":"a{id}","role":"agent""#));
    let body = prop_oneof![
        2 => Just(r#""task-created","initiator":"user""#.to_owned()),
        3 => status.prop_map(|status| format!(r#""task-status","status":"{status}""#)),
        1 => Just(r#""task-complete","content":"done""#.to_owned()),
        3 => Just(r#""content-delta","delta":"x""#.to_owned()),
        3 => (choice(&["part-started", "content-delta", "part-finished"]), 0..2u8)
            .prop_map(|(kind, part)| format!(r#""{kind}","partId":"p{part}","delta":"y""#)),
        2 => (0..9u8).prop_map(|n| format!(r#""content-complete","content":"said {n}""#)),
        2 => (0..3u8, told()).prop_map(|(a, told)| {
            format!(r#""message","role":"user","author":"u{a}","content":"hello {a}"{told}"#)
        }),
        1 => (0..4u8).prop_map(|t| format!(r#""subtask-created","subtaskId":"k{t}","prompt":"p""#)),
        4 => about_input,
        2 => about_auth,
        1 => (choice(&["inputId", "authId"]), 0..3u8)
            .prop_map(|(name, id)| format!(r#""input-expired","{name}":"i{id}""#)),
        3 => (choice(&["tool-call", "tool-start", "tool-complete"]), 0..4u8).prop_map(|(kind, id)| {
            format!(r#""{kind}","toolCallId":"c{id}","toolName":"t","success":true,"arguments":{{}}"#)
        }),
        4 => write(),
        2 => told().prop_map(|told| format!(r#""step-finished"{told}"#)),
        1 => (0..9u8).prop_map(|n| format!(r#""llm-usage","model":"m1","prompt_tokens":{n}"#)),
        2 => people,
        1 => (0..9u8).prop_map(|n| format!(r#""thread-created","title":"t{n}","metadata":{{"n":{n}}}"#)),
        1 => (0..9u8).prop_map(|n| {
            format!(r#""thread-updated","title":"u{n}","metadata":{{"n":{n},"deep":{{}},"s":"é"}}"#)
        }),
    ];
    let fits = (body, task()).prop_map(|(body, task)| {
        // No member twice.
        let task = if body.contains("metadata") { String::new() } else { task };
        format!("{{\"kind\":{body}{task}}}")
    });
    prop_oneof![
        30 => fits,
        1 => choice(&[
            "no json",
            "[]",
            r#"{"kind":7}"#,
            r#"{"kind":"usage"}"#,
            r#"{"kind":"file-write","artifactId":7,"index":-1}"#,
            r#"{"kind":"message","content":{"text":[null]},"usage":{"input_tokens":-4}}"#,
            r#"{"kind":"task-status","taskId":"k1","status":null,"agentId":{}}"#,
            r#"{"kind":"thread-updated","title":null,"metadata":"text"}"#,
            r#"{"kind":"input-required","inputId":"\u0000\ud800","taskId":""}"#,
        ]),
    ]
}

/// A store, and where it is; none where there is no database to have one in.
pub(crate) fn open() -> Option<(Home, Store)> {
    let home = Home::new()?;
    let store = home.open();
    Some((home, store))
}

/// Appends events to a thread, making it if need be.
pub(crate) async fn say(store: &Store, id: &str, events: &[&str]) -> selvedge_store::Appended {
    let drafts = events.iter().map(|event| Draft::new((*event).to_owned())).collect();
    let append = Append::new(thread(id), drafts).creating(Create::IfMissing);
    store.append(append).await.unwrap()
}
