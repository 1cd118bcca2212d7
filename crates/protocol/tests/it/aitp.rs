//! `aitp`: what threads and capability messages mean, what is written, what is refused.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect::{self, DecodeOptions, Dialect, decode};
use selvedge_protocol::journal::transcript::{Action, ActionKind, Transcript};
use selvedge_protocol::validate::validate;
use serde_json::{Value, json};

use crate::identity::convert;

fn aitp() -> &'static Dialect {
    dialect::named("aitp").unwrap()
}

fn fixture(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn events(dialect: &'static Dialect, source: &str) -> Vec<Value> {
    let mut out = Vec::new();
    decode(dialect, &DecodeOptions::default(), source, |batch| {
        for event in &batch.events {
            let mut text = String::new();
            event.write(&mut text);
            out.push(serde_json::from_str(&text).unwrap());
        }
    });
    out
}

/// Code, severity and pointer of each finding.
fn findings(source: &str) -> Vec<(String, Severity, String)> {
    let mut report = Report::new();
    validate(aitp(), source.as_bytes(), &mut report);
    let found = report.diagnostics().iter();
    found.map(|d| (d.code.to_owned(), d.severity, d.pointer.clone())).collect()
}

fn errors(source: &str) -> Vec<(String, String)> {
    let found = findings(source).into_iter();
    found.filter(|f| f.1 == Severity::Error).map(|(code, _, pointer)| (code, pointer)).collect()
}

fn index() -> Vec<Value> {
    serde_json::from_str(&fixture("aitp/index.json")).unwrap()
}

#[test]
fn an_actor_list_is_read_in_every_spelling() {
    let urls = ["01-payments", "02-decisions", "03-data-request"].map(
        |n| json!({"schema": format!("https://aitp.dev/capabilities/aitp-{n}/v1.0.0/schema.json")}),
    );
    for (file, second, client) in [
        ("01-capabilities-objects", json!([urls[1]]), Value::Null),
        ("02-capabilities-strings", json!([]), json!("ui-7")),
        ("03-capabilities-dollar-schema", Value::Null, Value::Null),
        ("04-actors-json-string", json!([]), Value::Null),
    ] {
        let events = events(aitp(), &fixture(&format!("aitp/threads/{file}.json")));
        let joined: Vec<_> = events.iter().filter(|e| e["kind"] == "participant-joined").collect();
        assert_eq!(joined.len(), 2, "{file}");
        assert_eq!(joined[0]["participantId"], "user-agent.near");
        assert_eq!(joined[0]["role"], "user");
        assert_eq!(joined[0]["capabilities"], json!(urls), "{file}");
        assert_eq!(joined[0]["clientId"], client, "{file}");
        assert_eq!(joined[1]["participantId"], "shop.near");
        assert_eq!(joined[1]["role"], "agent");
        assert_eq!(joined[1]["capabilities"], second, "{file}");
    }
}

#[test]
fn the_documents_thread_says_what_was_asked_and_answered() {
    let events = events(aitp(), &fixture("documents/aitp-threads/01-thread.json"));
    let kinds: Vec<_> = events.iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "thread-created",
            "participant-joined",
            "participant-joined",
            "message",
            "message",
            "input-required",
            "message",
            "input-received"
        ]
    );
    assert_eq!(events[0], json!({"kind": "thread-created", "contextId": "thread_abc123"}));
    assert_eq!(
        events[3],
        json!({"kind": "message", "role": "user", "author": "user-agent.near",
            "content": "I need to book a flight to Miami next month",
            "timestamp": "2024-02-26T12:20:00Z"})
    );
    assert_eq!(
        events[5],
        json!({"kind": "input-required", "inputId": "flight_options", "inputType": "selection",
            "prompt": "request decision", "agentId": "travel-agent.near",
            "options": [{"id": "f1", "name": "Economy: $299"}, {"id": "f2", "name": "Business: $799"}],
            "metadata": {"multiple": false, "render": "radio"},
            "timestamp": "2024-02-26T12:21:00Z"})
    );
    assert_eq!(
        events[7],
        json!({"kind": "input-received", "inputId": "flight_options", "providedBy": "user",
            "userId": "user-agent.near", "value": [{"id": "f2"}],
            "timestamp": "2024-02-26T12:22:00Z"})
    );
}

#[test]
fn a_forked_thread_keeps_its_parent_and_odd_strings_stay_text() {
    let events = events(aitp(), &fixture("aitp/threads/05-forked.json"));
    assert_eq!(
        events[0],
        json!({"kind": "thread-created", "contextId": "thread_e", "title": "wallets",
            "parentThreadId": "thread_root"})
    );
    let messages: Vec<_> = events.iter().filter(|e| e["kind"] == "message").collect();
    assert_eq!(
        messages[0]["content"],
        json!([{"type": "text", "text": "hi"}, {"type": "text", "text": "two strings"}])
    );
    assert_eq!(messages[1]["attachments"], json!([{"name": "file_1"}, {"name": "file_2"}]));
    assert_eq!(messages[2]["messageId"], "msg_1");
    assert_eq!(messages[3]["content"], "{\"$schema\": broken json");
    let asked: Vec<_> = events.iter().filter(|e| e["kind"] == "input-required").collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["inputId"], "r1");
    assert_eq!(asked[0]["requireUser"], true);
}

#[test]
fn forms_become_schemas() {
    let events = events(aitp(), &fixture("aitp/messages/03-01-request-data.json"));
    let asked = &events[2];
    assert_eq!(asked["inputType"], "data");
    assert_eq!(asked["prompt"], "We need your details");
    assert_eq!(
        asked["schema"],
        json!({"type": "object", "required": ["sel"], "properties": {
            "t_text": {"type": "string", "title": "Text"},
            "t_number": {"type": "number", "title": "Number"},
            "t_email": {"type": "string", "format": "email", "title": "Email"},
            "t_textarea": {"type": "string", "title": "Textarea"},
            "t_tel": {"type": "string", "title": "Tel"},
            "sel": {"type": "string", "default": "A", "enum": ["A", "B"]},
            "cmb": {"type": "string", "description": "or type your own", "examples": ["x"]}
        }})
    );
}

#[test]
fn messages_without_a_thread_are_read() {
    let lone = r#"{"role":"user","content":"hello","thread_id":"t1","attachments":null}"#;
    assert_eq!(
        events(aitp(), lone),
        [
            json!({"kind": "thread-created", "contextId": "t1"}),
            json!({"kind": "message", "role": "user", "content": "hello"})
        ]
    );
    let list = r#"[{"role":"assistant","content":[{"type":"text","text":{"value":"a","annotations":[]}}],"thread_id":"t1","metadata":{"actor":"b"}}]"#;
    assert_eq!(
        events(aitp(), list)[1],
        json!({"kind": "message", "role": "agent", "author": "b", "agentId": "b",
            "content": [{"type": "text", "text": "a"}]})
    );
    let request = r#"{"messages":["one","two"],"metadata":{"actors":[{"id":"a","client_id":"c","capabilities":[]}]}}"#;
    let read = events(aitp(), request);
    assert_eq!(read[2], json!({"kind": "message", "role": "user", "content": "one"}));
    for source in [lone, list, request] {
        let journal = convert(aitp(), dialect::named("journal").unwrap(), source);
        assert_eq!(convert(dialect::named("journal").unwrap(), aitp(), &journal), source);
        assert_eq!(errors(source), []);
    }
}

#[test]
fn an_edited_text_shows_in_the_thread() {
    let source = fixture("aitp/threads/02-capabilities-strings.json");
    let journal = dialect::named("journal").unwrap();
    let carried = convert(aitp(), journal, &source).replace("I need shoes", "I need boots");
    let back = convert(journal, aitp(), &carried);
    assert_eq!(back, source.replace("I need shoes", "I need boots"));
    let renamed = convert(aitp(), journal, &source).replace("\"ui-7\"", "\"ui-8\"");
    assert_eq!(convert(journal, aitp(), &renamed), source.replace("ui-7", "ui-8"));
}

#[test]
fn every_capability_message_of_the_fixtures_gets_its_verdict() {
    let mut wrong = Vec::new();
    for entry in index() {
        let file = entry["file"].as_str().unwrap();
        let found = errors(&fixture(&format!("aitp/{file}")));
        let valid = entry["valid"].as_bool().unwrap();
        if valid != found.is_empty() {
            wrong.push(format!("{file}: {found:?}"));
        } else if !valid {
            let pointer = entry["pointer"].as_str().unwrap();
            if !found.iter().any(|(_, p)| p == pointer) {
                wrong.push(format!("{file}: {found:?}, expected at {pointer}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_thread_of_the_fixtures_and_the_document_is_valid() {
    let threads: Vec<Value> = serde_json::from_str(&fixture("aitp/threads.json")).unwrap();
    for entry in threads {
        let file = entry["file"].as_str().unwrap();
        assert_eq!(errors(&fixture(&format!("aitp/{file}"))), [], "{file}");
    }
    for file in ["01-thread", "02-request-decision", "03-decision"] {
        assert_eq!(
            findings(&fixture(&format!("documents/aitp-threads/{file}.json"))),
            [],
            "{file}"
        );
    }
}

#[test]
fn old_urls_are_warned_about() {
    let warned = findings(&fixture("aitp/messages/01-06-quote.json"));
    assert_eq!(warned, [("aitp-old-schema".into(), Severity::Warning, "/$schema".into())]);
}

fn thread(messages: &[Value]) -> String {
    let list: Vec<_> = messages
        .iter()
        .enumerate()
        .map(|(i, m)| {
            let mut message = json!({"created_at": 1708950000 + i, "thread_id": "t",
                "content": [], "role": "user", "metadata": {"actor": "a"}});
            for (key, value) in m.as_object().unwrap() {
                message[key] = value.clone();
            }
            message
        })
        .collect();
    json!({"id": "t", "metadata": {"parent_id": null, "actors": [
        {"id": "a", "capabilities": []}, {"id": "b", "capabilities": []}]}, "messages": list})
    .to_string()
}

fn says(actor: &str, capability: &str, body: &Value) -> Value {
    let mut inner = json!({"$schema":
        format!("https://aitp.dev/capabilities/aitp-{capability}/v1.0.0/schema.json")});
    for (key, value) in body.as_object().unwrap() {
        inner[key] = value.clone();
    }
    let role = if actor == "a" { "user" } else { "assistant" };
    json!({"content": [inner.to_string()], "role": role, "metadata": {"actor": actor}})
}

#[test]
fn answers_must_fit_their_questions() {
    let ask = says(
        "b",
        "02-decisions",
        &json!({"request_decision": {"id": "d", "options": [
        {"id": "x"}, {"id": "y"}]}}),
    );
    let pick = |id: &str, options: Value| {
        says(
            "a",
            "02-decisions",
            &json!({"decision": {"request_decision_id": id, "options": options}}),
        )
    };
    let form = says(
        "b",
        "03-data-request",
        &json!({"request_data": {"id": "f", "description": "d",
        "form": {"fields": [{"id": "n", "required": true}, {"id": "s", "type": "select", "options": ["1"]}]}}}),
    );
    let fill = |fields: Value| {
        says("a", "03-data-request", &json!({"data": {"request_data_id": "f", "fields": fields}}))
    };
    let quote = says(
        "b",
        "01-payments",
        &json!({"quote": {"quote_id": "q", "merchant_id": "b",
        "description": "d", "merchant_signature": "s", "expiration": "2026-01-01T00:00:00Z",
        "payment_options": [{"amount": "2.50", "currency": "USD", "payment_methods": [
            {"type": "near_payment_channel", "token": "t", "recipient": "b"}]}]}}),
    );
    let pay = |amount: &str, at: &str| {
        says(
            "a",
            "01-payments",
            &json!({"payment": {"quote_id": "q", "payer_id": "a",
            "timestamp": at, "payer_signature": "s", "payment_method": {
            "type": "near_payment_channel", "token": "t", "channel_id": "c", "currency": "USD",
            "amount": amount}}}),
        )
    };
    let early = "2025-12-31T00:00:00Z";
    for (messages, code) in [
        (vec![ask.clone(), pick("d", json!([{"id": "x"}]))], None),
        (vec![ask.clone(), pick("d", json!([{"id": "z"}]))], Some("aitp-option")),
        (vec![ask.clone(), pick("d", json!([{"id": "x"}, {"id": "y"}]))], Some("aitp-one-option")),
        (vec![ask.clone(), pick("e", json!([{"id": "x"}]))], Some("aitp-unasked")),
        (vec![pick("d", json!([{"id": "x"}]))], Some("aitp-unasked")),
        (vec![form.clone(), fill(json!([{"id": "n", "value": "v"}]))], None),
        (vec![form.clone(), fill(json!([{"id": "s", "value": "1"}]))], Some("aitp-required-field")),
        (
            vec![form.clone(), fill(json!([{"id": "n"}, {"id": "s", "value": "2"}]))],
            Some("aitp-option"),
        ),
        (vec![form.clone(), fill(json!([{"id": "n"}, {"id": "o"}]))], Some("aitp-field")),
        (vec![quote.clone(), pay("2.5", early)], None),
        (vec![quote.clone(), pay("3", early)], Some("aitp-amount")),
        (vec![quote.clone(), pay("2.50", "2026-01-02T00:00:00Z")], Some("aitp-expired")),
        (vec![pay("2.50", early)], Some("aitp-unasked")),
    ] {
        let last = messages.len() - 1;
        let found = errors(&thread(&messages));
        let expected: Vec<_> = code
            .map(|c| (c.to_owned(), format!("/messages/{last}/content/0")))
            .into_iter()
            .collect();
        assert_eq!(found, expected, "{messages:?}");
    }
}

#[test]
fn threads_are_checked() {
    for (change, expected) in [
        (json!({"role": "system"}), ("unknown-value", "/messages/0/role")),
        (json!({"thread_id": "u"}), ("aitp-thread-id", "/messages/0/thread_id")),
        (json!({"content": [1]}), ("wrong-type", "/messages/0/content/0")),
        (json!({"content": {}}), ("wrong-type", "/messages/0/content")),
        (json!({"created_at": "now"}), ("wrong-type", "/messages/0/created_at")),
        (json!({"metadata": {"actor": "c"}}), ("aitp-unknown-actor", "/messages/0/metadata/actor")),
        (json!({"metadata": {}}), ("missing-field", "/messages/0/metadata")),
        (json!({"attachments": [{}]}), ("missing-field", "/messages/0/attachments/0")),
    ] {
        let found = errors(&thread(&[change]));
        assert_eq!(found, [(expected.0.to_owned(), expected.1.to_owned())]);
    }
    let both = thread(&[json!({}), json!({"metadata": {"actor": "b"}})]);
    assert_eq!(errors(&both), [("aitp-role".into(), "/messages/1/metadata/actor".into())]);
    let twice = r#"{"id":"t","metadata":{"actors":[{"id":"a"},{"id":"a"}]},"messages":[]}"#;
    assert_eq!(errors(twice), [("aitp-duplicate-actor".into(), "/metadata/actors/1/id".into())]);
    let late = thread(&[json!({"created_at": 1708950000000i64}), json!({"created_at": 5})]);
    let codes: Vec<_> = findings(&late).into_iter().map(|f| f.0).collect();
    assert_eq!(codes, ["aitp-milliseconds", "aitp-time-order"]);
}

#[test]
fn hostile_input_gives_diagnostics() {
    for source in
        ["", "{", "null", "[[[[", "\"x\"", "{\"messages\":7}", "{\"messages\":[7]}", "\u{0}"]
    {
        assert!(!findings(source).is_empty(), "{source:?}");
        events(aitp(), source);
    }
    let deep = format!("{{\"messages\":{}", "[".repeat(100_000));
    assert!(!findings(&deep).is_empty());
    let bomb = format!(
        "{{\"$schema\": \"https://aitp.dev/\", \"a\":{}{}}}",
        "[".repeat(400),
        "]".repeat(400)
    );
    assert_eq!(errors(&thread(&[json!({"content": [bomb]})])), []);
}

fn from_events(events: &[Value]) -> Value {
    let lines: String = (1..)
        .zip(events)
        .map(|(i, event)| format!("{}\n", json!({"seq": i, "event": event})))
        .collect();
    let text = convert(dialect::named("journal").unwrap(), aitp(), &lines);
    assert_eq!(errors(&text), [], "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_conversation_becomes_a_thread() {
    let url = "https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json";
    let thread = from_events(&[
        json!({"kind": "thread-created", "contextId": "t", "title": "T", "parentThreadId": "p"}),
        json!({"kind": "participant-joined", "participantId": "ann", "role": "user",
            "capabilities": [url], "clientId": "c"}),
        json!({"kind": "message", "role": "user", "author": "ann", "messageId": "m",
            "content": [{"type": "text", "text": "look"}, {"type": "image", "image_url": "https://e.org/a.png"},
                {"type": "file", "name": "file-1"}],
            "attachments": [{"name": "n", "url": "https://e.org/f"}],
            "timestamp": "2026-01-01T00:00:00.9Z"}),
        json!({"kind": "task-created", "taskId": "r", "agentId": "bob", "initiator": "user"}),
        json!({"kind": "thought-stream", "taskId": "r", "agentId": "bob", "thoughtId": "x",
            "content": "hm", "thoughtType": "thinking", "verbosity": "normal"}),
        json!({"kind": "tool-call", "taskId": "r", "agentId": "bob", "toolCallId": "c",
            "toolName": "f", "arguments": {}}),
        json!({"kind": "content-delta", "taskId": "r", "agentId": "bob", "delta": "nice "}),
        json!({"kind": "content-delta", "taskId": "r", "agentId": "bob", "delta": "pic"}),
        json!({"kind": "task-complete", "taskId": "r"}),
    ]);
    assert_eq!(
        thread,
        json!({"id": "t", "metadata": {"parent_id": "p", "actors": [
            {"id": "ann", "client_id": "c", "capabilities": [{"schema": url}]},
            {"id": "bob", "capabilities": []}
        ], "topic": "T"},
        "messages": [
            {"id": "m", "created_at": 1767225600, "thread_id": "t",
                "content": ["look", "https://e.org/a.png"],
                "attachments": [{"file_id": "file-1"}, {"file_id": "https://e.org/f"}],
                "role": "user", "metadata": {"actor": "ann"}},
            {"created_at": 1767225600, "thread_id": "t", "content": ["nice pic"],
                "role": "assistant", "metadata": {"actor": "bob"}}
        ]})
    );
}

#[test]
fn whoever_begins_the_thread_is_its_user() {
    let thread = from_events(&[
        json!({"kind": "thread-created", "contextId": "t"}),
        json!({"kind": "message", "role": "agent", "author": "a", "content": "1"}),
        json!({"kind": "message", "role": "agent", "author": "b", "content": "2"}),
        json!({"kind": "message", "role": "agent", "author": "a", "content": "3"}),
    ]);
    let roles: Vec<_> = thread["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

#[test]
fn questions_of_other_protocols_become_capability_messages() {
    let ask = |id: &str, more: Value| {
        let mut event = json!({"kind": "input-required", "taskId": "r", "agentId": "bob",
            "inputId": id, "prompt": "p"});
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        event
    };
    let answer = |id: &str, value: Value| {
        json!({"kind": "input-received", "taskId": "r", "inputId": id, "providedBy": "user",
            "value": value})
    };
    let thread = from_events(&[
        json!({"kind": "thread-created", "contextId": "t"}),
        json!({"kind": "message", "role": "user", "author": "ann", "content": "hi"}),
        ask("1", json!({"inputType": "confirmation"})),
        answer("1", json!(true)),
        ask(
            "2",
            json!({"inputType": "selection", "options": ["a", {"id": "b", "name": "B"}],
            "metadata": {"multiple": true}}),
        ),
        answer("2", json!(["b", "a"])),
        ask(
            "3",
            json!({"inputType": "data", "schema": {"properties": {
            "n": {"type": "integer", "title": "N"}, "s": {"enum": ["x", "y"], "default": "x"}},
            "required": ["s"]}}),
        ),
        answer("3", json!({"n": 7, "s": "y"})),
        ask("4", json!({"inputType": "clarification"})),
        answer("4", json!("because")),
        ask("5", json!({"inputType": "selection", "options": ["a"]})),
        answer("5", json!("something else")),
    ]);
    let said: Vec<Value> = thread["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(|m| {
            let text = m["content"][0].as_str().unwrap();
            let mut value = serde_json::from_str(text).unwrap_or(json!(text));
            value.as_object_mut().map(|v| v.remove("$schema"));
            value
        })
        .collect();
    assert_eq!(
        said,
        [
            json!({"request_decision": {"id": "1", "description": "p", "type": "confirmation",
                "options": [{"id": "yes", "name": "Yes"}, {"id": "no", "name": "No"}]}}),
            json!({"decision": {"request_decision_id": "1", "options": [{"id": "yes"}]}}),
            json!({"request_decision": {"id": "2", "description": "p", "type": "checkbox",
                "options": [{"id": "a", "name": "a"}, {"id": "b", "name": "B"}]}}),
            json!({"decision": {"request_decision_id": "2", "options": [{"id": "b"}, {"id": "a"}]}}),
            json!({"request_data": {"id": "3", "description": "p", "form": {"fields": [
                {"id": "n", "label": "N", "type": "number"},
                {"id": "s", "default_value": "x", "type": "select", "options": ["x", "y"],
                    "required": true}]}}}),
            json!({"data": {"request_data_id": "3", "fields": [
                {"id": "n", "value": "7"}, {"id": "s", "value": "y"}]}}),
            json!("p"),
            json!("because"),
            json!({"request_decision": {"id": "5", "description": "p", "type": "radio",
                "options": [{"id": "a", "name": "a"}]}}),
            json!("something else"),
        ]
    );
    let actors: Vec<_> = thread["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["metadata"]["actor"].as_str().unwrap())
        .collect();
    assert_eq!(actors[1..3], ["bob", "ann"]);
}

#[test]
fn a_thread_written_anew_asks_nothing_twice() {
    // Without its residue a thread is only its events.
    let journal = dialect::named("journal").unwrap();
    for file in [
        "aitp/threads/01-capabilities-objects.json",
        "aitp/threads/06-legacy-urls.json",
        "documents/aitp-threads/01-thread.json",
    ] {
        let source = fixture(file);
        let lines: String = (1..)
            .zip(events(aitp(), &source))
            .map(|(i, event)| format!("{}\n", json!({"seq": i, "event": event})))
            .collect();
        let text = convert(journal, aitp(), &lines);
        let (is, should): (Value, Value) =
            (serde_json::from_str(&text).unwrap(), serde_json::from_str(&source).unwrap());
        assert_eq!(is, should, "{file}");
    }
}

#[test]
fn a_message_is_added_to_the_thread_that_was_read() {
    let journal = dialect::named("journal").unwrap();
    for (file, old, new) in [
        ("aitp/threads/07-empty.json", "\"messages\": []", "\"messages\": [MORE]"),
        ("documents/aitp-threads/01-thread.json", "    }\n  ]\n}", "    },MORE\n  ]\n}"),
    ] {
        let source = fixture(file);
        let mut carried = convert(aitp(), journal, &source);
        carried.push_str(&format!(
            "{}\n",
            json!({"seq": 99, "event": {"kind": "message",
            "role": "user", "author": "a", "content": "more", "contextId": "t"}})
        ));
        let back = convert(journal, aitp(), &carried);
        let id = &events(aitp(), &source)[0]["contextId"];
        let more = format!(
            "{{\"created_at\":0,\"thread_id\":{id},\"content\":[\"more\"],\
            \"role\":\"user\",\"metadata\":{{\"actor\":\"a\"}}}}"
        );
        assert_eq!(back, source.replace(old, &new.replace("MORE", &more)), "{file}");
    }
}

#[test]
fn what_other_protocols_say_is_read_back() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for recording in crate::recordings::cached() {
        let Some(from) = dialect::named(recording.dialect) else { continue };
        if matches!(recording.dialect, "aitp" | "thread-protocol") {
            continue;
        }
        let text = convert(from, aitp(), &recording.text);
        if text.is_empty() {
            continue;
        }
        tried += 1;
        let found = errors(&text);
        if !found.is_empty() {
            wrong.push(format!("{}: {found:?}", recording.name));
        }
        let said = |dialect, source: &str| -> Vec<String> {
            let mut transcript = Transcript::new();
            decode(dialect, &DecodeOptions::default(), source, |batch| {
                batch.events.iter().for_each(|event| transcript.apply(event, &mut Vec::new()));
            });
            let spoken = |a: &&Action| {
                matches!(a.kind, ActionKind::UserMessage | ActionKind::AssistantMessage)
            };
            let actions = transcript.actions().iter().filter(spoken).filter(|a| !a.superseded);
            actions.map(Action::text).filter(|text| !text.is_empty()).collect()
        };
        let back = said(aitp(), &text);
        for text in said(from, &recording.text) {
            // Links to pictures and files stand between the texts.
            if !back.iter().any(|b| *b == text || b.contains("http") || b.contains("data:")) {
                wrong.push(format!("{}: lacks {text:?}\n  has {back:?}", recording.name));
            }
        }
    }
    assert!(tried > 100, "{tried}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

type Schemas = Vec<(&'static str, jsonschema::Validator)>;

/// The schemas, each at its right root, as a validator.
fn schemas() -> Schemas {
    [
        ("AITP-01", "01-payments", "PaymentProtocol"),
        ("AITP-02", "02-decisions", "DecisionProtocol"),
        ("AITP-03", "03-data-request", ""),
        ("AITP-04", "04-near-wallet", ""),
        ("AITP-05", "05-evm-wallet", ""),
    ]
    .into_iter()
    .map(|(name, file, root)| {
        let mut schema: Value =
            serde_json::from_str(&fixture(&format!("aitp-schemas/{file}.json"))).unwrap();
        if !root.is_empty() {
            schema["$ref"] = json!(format!("#/components/schemas/{root}"));
        }
        (name, jsonschema::validator_for(&schema).unwrap())
    })
    .collect()
}

/// Whether our own tables refuse a message, apart from the rules the schemas do not have.
fn refused(message: &Value) -> bool {
    errors(&message.to_string()).iter().any(|(code, _)| !code.starts_with("aitp-"))
}

#[test]
fn the_tables_agree_with_the_schemas_on_every_fixture() {
    let schemas = schemas();
    let mut tried = 0;
    for entry in index() {
        let Some((_, schema)) = schemas.iter().find(|(name, _)| entry["capability"] == *name)
        else {
            continue;
        };
        let file = entry["file"].as_str().unwrap();
        let message: Value = serde_json::from_str(&fixture(&format!("aitp/{file}"))).unwrap();
        assert_eq!(Value::Bool(schema.is_valid(&message)), entry["schema_valid"], "{file}");
        assert_eq!(refused(&message), !schema.is_valid(&message), "{file}");
        tried += 1;
    }
    assert!(tried > 100, "{tried}");
}

/// Every place in a value, as a JSON pointer.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(k, v)| places(v, &format!("{at}/{k}"), out)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, v)| places(v, &format!("{at}/{i}"), out));
        }
        _ => {}
    }
}

/// Removes, renames, replaces, repeats or adds something at one place.
fn mutate(message: &mut Value, at: &str, how: u8, with: &Value) {
    let (parent, key) = at.rsplit_once('/').unwrap_or(("", ""));
    let odd = json!(["", "1.5", "-1", "0x", "0xZZ", "USD", "checkbox", 0, -1, 1.5, 5.5, 3.0, null,
        true, [], {}, [1], {"id": "x"}, "https://aitp.dev/x", "2026-01-01T00:00:00Z"]);
    match (how % 6, message.pointer_mut(parent)) {
        (0, Some(Value::Object(map))) => drop(map.remove(key)),
        (0, Some(Value::Array(list))) if !list.is_empty() => drop(list.remove(0)),
        (1, Some(Value::Object(map))) => {
            if let Some(value) = map.remove(key) {
                map.insert(format!("{key}_"), value);
            }
        }
        (2, _) => {
            if let Some(value) = message.pointer_mut(at) {
                let odd = odd.as_array().unwrap();
                *value = odd[usize::from(how / 6) % odd.len()].clone();
            }
        }
        (3, _) => {
            if let Some(value) = message.pointer_mut(at) {
                *value = with.clone();
            }
        }
        (4, _) => match message.pointer_mut(at) {
            Some(Value::Object(map)) => drop(map.insert("extra".into(), with.clone())),
            Some(Value::Array(list)) => list.push(with.clone()),
            Some(Value::String(text)) => text.push('0'),
            _ => {}
        },
        (_, Some(Value::Array(list))) => list.clear(),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_tables_agree_with_the_schemas_on_mutations(
        file in 0usize..1000,
        steps in prop::collection::vec((0usize..1000, any::<u8>(), 0usize..1000), 1..4),
    ) {
        thread_local! {
            static ALL: (Schemas, Vec<(String, Value)>) = {
                let schemas = schemas();
                let messages = index().into_iter()
                    .filter(|e| schemas.iter().any(|(name, _)| e["capability"] == *name))
                    .map(|e| (e["capability"].as_str().unwrap().to_owned(),
                        serde_json::from_str(&fixture(&format!("aitp/{}", e["file"].as_str().unwrap()))).unwrap()))
                    .collect();
                (schemas, messages)
            };
        }
        ALL.with(|(schemas, messages)| {
            let (capability, original) = &messages[file % messages.len()];
            let mut message = original.clone();
            for (at, how, with) in steps {
                let mut all = Vec::new();
                places(&message, "", &mut all);
                let from = &messages[with % messages.len()].1;
                let mut others = Vec::new();
                places(from, "", &mut others);
                let with = from.pointer(&others[with % others.len()]).unwrap().clone();
                mutate(&mut message, &all[at % all.len()], how, &with);
            }
            // The schemas do not ask which capability `$schema` names: only compare where that is
            // still the one the schema is for, or where it is no capability's name at all.
            let url = &message["$schema"];
            if message.is_object() && (url == &original["$schema"] || !url.is_string()) {
                let schema = &schemas.iter().find(|(name, _)| name == capability).unwrap().1;
                prop_assert_eq!(refused(&message), !schema.is_valid(&message), "{}", message);
            }
            Ok(())
        })?;
    }
}
