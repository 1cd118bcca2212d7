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
