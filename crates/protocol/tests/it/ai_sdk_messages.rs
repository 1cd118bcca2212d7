//! `ai-sdk-messages`: what only this dialect promises.

use std::fs;
use std::path::{Path, PathBuf};

use selvedge_protocol::dialect::{
    self, DecodeOptions, EncodeOptions, Encoding, Start, Target, decode,
};
use selvedge_protocol::json::{Doc, same_value};

/// Converts, writing for a version of `ai`.
pub(crate) fn convert_for(from: &str, to: &str, version: &str, source: &str) -> String {
    join_for(&[(from, source)], to, version)
}

/// Converts several sources that are one thread.
pub(crate) fn join_for(sources: &[(&str, &str)], to: &str, version: &str) -> String {
    let target = Target { package: "ai".to_owned(), version: version.to_owned() };
    let options = EncodeOptions { target: Some(target), ..EncodeOptions::default() };
    let mut encoding = Encoding::new(dialect::named(to).unwrap(), &options);
    let mut out = Vec::new();
    for (i, (from, source)) in sources.iter().enumerate() {
        let start = if i == 0 { Start::NewThread } else { Start::Continue };
        let options = DecodeOptions { start, ..DecodeOptions::default() };
        let from = dialect::named(from).unwrap();
        decode(from, &options, source, |batch| encoding.batch(&batch, &mut out));
    }
    encoding.finish(&mut out);
    String::from_utf8(out).unwrap()
}

/// Every stream with what the real reader made of it: (stream, message, version of the reader).
pub(crate) fn reduced() -> Vec<(PathBuf, PathBuf, &'static str)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for entry in fs::read_dir(&root).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        for (folder, version) in [("ai_5.0.277", "5"), ("ai_6.0.326", "6"), ("ai_7.0.169", "7")] {
            if name == folder {
                for file in fs::read_dir(entry.path()).unwrap().flatten() {
                    let path = file.path();
                    let message = path.with_extension("ui_message.json");
                    if path.extension().is_some_and(|e| e == "sse") && message.exists() {
                        found.push((path, message, version));
                    }
                }
            }
        }
        if name == "pydantic" {
            for folder in fs::read_dir(entry.path()).unwrap().flatten() {
                for file in fs::read_dir(folder.path()).unwrap().flatten() {
                    let path = file.path();
                    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                    let Some((stream, reader)) = name.split_once(".ui_message_by_ai") else {
                        continue;
                    };
                    let version = match reader.chars().next() {
                        Some('5') => "5",
                        Some('6') => "6",
                        _ => "7",
                    };
                    found.push((path.with_file_name(format!("{stream}.sse")), path, version));
                }
            }
        }
    }
    found.sort();
    found
}

#[test]
fn streams_reduce_to_what_the_real_reader_makes_of_them() {
    let mut wrong = Vec::new();
    let all = reduced();
    assert!(all.len() > 100, "{}", all.len());
    for (stream, message, version) in &all {
        let name = stream.to_str().unwrap();
        // These go on with a message of an earlier request.
        if ["b12_continued", "a07_approval_turn2", "s13_tool_approval_flow/turn2"]
            .iter()
            .any(|n| name.contains(n))
        {
            continue;
        }
        // The reader gives up at a `tool-output-available` without output; we read it as null.
        if name.contains("s10_multi_text_parts") {
            continue;
        }
        let source = fs::read_to_string(stream).unwrap();
        let expected = fs::read_to_string(message).unwrap();
        let got = convert_for("ai-sdk-stream", "ai-sdk-messages", version, &source);
        // The reader leaves the id empty where the stream names none; we do not.
        let got = got.replace("{\"id\":\"run-1\"", "{\"id\":\"\"");
        let (got, expected) = (Doc::parse(&got).unwrap(), Doc::parse(&expected).unwrap());
        let one = got.root().children().next();
        if !one.is_some_and(|one| same_value(one, expected.root())) {
            wrong.push(format!(
                "{} for {version}\n  is     {}\n  should {}",
                stream.display(),
                one.map_or("nothing", |n| n.raw()),
                expected.root().raw()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn a_stream_goes_on_with_the_message_it_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for (folder, version) in [("ai_6.0.326", "6"), ("ai_7.0.169", "7")] {
        for name in ["a07_approval_turn2", "b12_continued_message"] {
            let read = |ext: &str| {
                fs::read_to_string(root.join(folder).join(format!("{name}.{ext}"))).unwrap()
            };
            let before = read("input_ui_messages.json");
            let stream = read("sse");
            let sources = [("ai-sdk-messages", &*before), ("ai-sdk-stream", &*stream)];
            let got = join_for(&sources, "ai-sdk-messages", version);
            let (expected, got) = (read("ui_message.json"), Doc::parse(&got).unwrap());
            let expected = Doc::parse(&expected).unwrap();
            let last = got.root().children().last().unwrap();
            assert!(same_value(last, expected.root()), "{folder}/{name}: {}", got.root().raw());
        }
    }
}

#[test]
fn parts_become_events() {
    let source = r#"[{"id":"u1","role":"user","parts":[{"type":"text","text":"Hi"},{"type":"file","mediaType":"image/png","url":"https://e.com/a.png","filename":"a.png"}]},{"id":"a1","metadata":{"m":1},"role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm","state":"done","providerMetadata":{"anthropic":{"signature":"s="}}},{"type":"tool-rm","toolCallId":"c","state":"output-denied","input":{"p":1},"approval":{"id":"ap","approved":false}},{"type":"data-w","id":"w","data":[1]},{"type":"step-start"},{"type":"text","text":"Bye","state":"done"}]}]"#;
    let all = crate::ai_sdk_stream::events("ai-sdk-messages", source);
    let expected = [
        r#"{"kind":"message","messageId":"u1","role":"user","content":[{"type":"text","text":"Hi"},{"type":"image","image_url":"https://e.com/a.png","media_type":"image/png","name":"a.png"}]}"#,
        r#"{"kind":"task-created","taskId":"a1","initiator":"user","messageId":"a1","metadata":{"m":1}}"#,
        r#"{"kind":"step-started","taskId":"a1"}"#,
        r#"{"kind":"thought-stream","taskId":"a1","thoughtType":"thinking","verbosity":"normal","content":"hm","signature":"s=","providerName":"anthropic"}"#,
        r#"{"kind":"tool-call","taskId":"a1","toolCallId":"c","toolName":"rm","arguments":{"p":1}}"#,
        r#"{"kind":"input-required","taskId":"a1","inputId":"ap","inputType":"confirmation","prompt":"Approve the call of rm?","toolCallId":"c"}"#,
        r#"{"kind":"input-received","taskId":"a1","inputId":"ap","providedBy":"user","value":{"approved":false}}"#,
        r#"{"kind":"tool-complete","taskId":"a1","toolCallId":"c","toolName":"rm","success":false,"outcome":"denied"}"#,
        r#"{"kind":"system","taskId":"a1","name":"w","data":[1],"systemId":"w"}"#,
        r#"{"kind":"step-finished","taskId":"a1"}"#,
        r#"{"kind":"step-started","taskId":"a1"}"#,
        r#"{"kind":"content-complete","taskId":"a1","content":"Bye"}"#,
        r#"{"kind":"step-finished","taskId":"a1"}"#,
        r#"{"kind":"task-complete","taskId":"a1"}"#,
    ];
    assert_eq!(all[1..], expected.map(str::to_owned));
}

#[test]
fn messages_written_anew_say_the_same() {
    let mut wrong = Vec::new();
    for (_, message, version) in reduced() {
        let name = message.display().to_string();
        // A text that was still growing is taken as whole.
        if name.contains("b02_abort") {
            continue;
        }
        let source = fs::read_to_string(&message).unwrap();
        let got = convert_for("ai-sdk-messages", "ai-sdk-messages", version, &source);
        let got = got.replace("{\"id\":\"run-1\"", "{\"id\":\"\"");
        let (got, expected) = (Doc::parse(&got).unwrap(), Doc::parse(&source).unwrap());
        let one = got.root().children().next();
        if !one.is_some_and(|one| same_value(one, expected.root())) {
            let is = one.map_or("nothing", |n| n.raw());
            wrong.push(format!("{name} for {version}\n  is     {is}\n  should {source}"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn other_dialects_become_valid_messages() {
    for recording in crate::recordings::all() {
        if dialect::named(recording.dialect).is_none() {
            continue;
        }
        for version in ["5", "6", "7"] {
            let got = convert_for(recording.dialect, "ai-sdk-messages", version, &recording.text);
            let found = crate::ai_sdk_stream::errors("ai-sdk-messages", &got);
            assert_eq!(found, [], "{} for {version}: {got}", recording.name);
        }
    }
}

#[test]
fn a_pydantic_history_keeps_its_texts_calls_and_results() {
    let source = r#"[{"parts":[{"content":"2+2?","timestamp":"2026-01-01T00:00:00Z","part_kind":"user-prompt"}],"kind":"request","run_id":"r1"},{"parts":[{"content":"hm","id":"th","signature":"sig","provider_name":"anthropic","part_kind":"thinking"},{"tool_name":"add","args":"{\"a\": 2}","tool_call_id":"c1","part_kind":"tool-call"}],"kind":"response","run_id":"r1"},{"parts":[{"tool_name":"add","content":4,"tool_call_id":"c1","outcome":"success","part_kind":"tool-return"}],"kind":"request","run_id":"r1"},{"parts":[{"content":"4","part_kind":"text"}],"kind":"response","finish_reason":"stop","run_id":"r1"}]"#;
    let got = convert_for("pydantic-ai", "ai-sdk-messages", "7", source);
    assert_eq!(
        got,
        r#"[{"id":"message-1","role":"user","parts":[{"type":"text","text":"2+2?"}]},{"id":"r1","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","id":"th","text":"hm","providerMetadata":{"anthropic":{"signature":"sig"}},"state":"done"},{"type":"tool-add","toolCallId":"c1","state":"output-available","input":{"a": 2},"output":4},{"type":"step-start"},{"type":"text","text":"4","state":"done"}]}]"#
    );
}

#[test]
fn an_edited_event_shows_in_the_messages() {
    let messages = dialect::named("ai-sdk-messages").unwrap();
    let journal = dialect::named("journal").unwrap();
    let source = r#"[{"id":"u","role":"user","parts":[{"type":"text","text":"teh"}]},{"id":"a","role":"assistant","parts":[{"type":"text","text":"teh","state":"done"},{"type":"tool-x","toolCallId":"c","state":"output-available","input":{},"output":"teh"}]}]"#;
    let carried = crate::identity::convert(messages, journal, source);
    let back = crate::identity::convert(journal, messages, &carried.replace("\"teh\"", "\"the\""));
    assert_eq!(back, source.replace("\"teh\"", "\"the\""));
}

#[test]
fn hostile_messages_give_findings() {
    for (source, code, pointer) in [
        (r#"[{"id":"x","role":"robot","parts":[]}]"#, "unknown-value", "/0/role"),
        (r#"[{"id":"x","role":"user"}]"#, "missing-field", "/0"),
        (
            r#"[{"id":"x","role":"user","parts":[{"type":"nonsense"}]}]"#,
            "unknown-value",
            "/0/parts/0/type",
        ),
        (
            r#"[{"id":"x","role":"assistant","parts":[{"type":"tool-a","toolCallId":"c","state":"output-available"}]}]"#,
            "missing-field",
            "/0/parts/0",
        ),
        (
            r#"[{"id":"x","role":"assistant","parts":[{"type":"text","text":1}]}]"#,
            "wrong-type",
            "/0/parts/0/text",
        ),
        (r#"[7]"#, "wrong-type", "/0"),
    ] {
        let found = crate::ai_sdk_stream::errors("ai-sdk-messages", source);
        assert!(found.iter().any(|(c, _, p)| *c == code && p == pointer), "{source}: {found:?}");
    }
}
