//! Hostile sources: a diagnostic, no panic, bounded memory.

use std::process::Command;

use serde_json::Value;

use crate::{Folder, run, selvedge, selvedge_with};

fn dialects() -> Vec<String> {
    let json = selvedge(&["dialects", "--format", "json"]).stdout;
    let list: Value = serde_json::from_str(&json).unwrap();
    let names = list.as_array().unwrap().iter();
    names.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

/// The codes found in a source, which must not be valid.
fn codes(dialect: Option<&str>, source: &[u8]) -> Vec<String> {
    let mut args = vec!["validate", "--format", "json"];
    args.extend(dialect.iter().flat_map(|name| ["--dialect", name]));
    args.push("-");
    let run = selvedge_with(&args, source);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "{dialect:?}");
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    let list = found["diagnostics"].as_array().unwrap().iter();
    list.map(|entry| entry["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn depth_bombs_are_refused_in_every_dialect() {
    let arrays = "[".repeat(1_000_000);
    let objects = "{\"a\":".repeat(200_000);
    let closed = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let inside = format!("[{{\"kind\":{objects}");
    let event = format!("data: {arrays}\n\n");
    for bomb in [&arrays, &objects, &closed, &inside, &event] {
        for dialect in dialects() {
            let codes = codes(Some(&dialect), bomb.as_bytes());
            assert!(!codes.is_empty(), "{dialect}");
        }
    }
    assert_eq!(codes(None, arrays.as_bytes()), ["json-syntax"]);
    assert_eq!(codes(None, objects.as_bytes()), ["json-syntax"]);
}

#[test]
fn what_is_not_utf8_is_named_by_its_byte() {
    let source = b"{\"seq\":1,\"event\":{\"kind\":\"\xc3\x28\"}}";
    for dialect in dialects() {
        assert_eq!(codes(Some(&dialect), source), ["utf8"], "{dialect}");
    }
    assert_eq!(codes(None, source), ["utf8"]);
    assert_eq!(codes(None, b"\xff\xfe{\x00}\x00"), ["utf8"]);
    let text = selvedge_with(&["validate", "-"], source).stdout;
    assert!(text.contains("invalid UTF-8 at byte 26"), "{text}");
}

#[test]
fn nul_bytes_are_findings() {
    for source in
        [&b"\0"[..], b"{\"seq\":1,\0}", b"data: {\"a\":\"\0\"}\n\n", b"[\0]", b"{\"a\":\0"]
    {
        for dialect in dialects() {
            assert!(!codes(Some(&dialect), source).is_empty(), "{dialect} {source:?}");
        }
        let text = selvedge_with(&["validate", "-d", "journal", "-"], source).stdout;
        assert!(!text.contains('\0'));
    }
}

#[test]
fn text_that_is_no_stream_is_a_finding() {
    let source = b"hello world\n\n<html>\n\n";
    assert!(codes(Some("looopy"), source).iter().any(|code| code == "sse-field"));
}

#[test]
fn nothing_and_white_space_are_findings() {
    for source in [&b""[..], b" \n\t\r\n "] {
        for dialect in dialects() {
            assert_eq!(codes(Some(&dialect), source), ["empty"], "{dialect}");
        }
        assert_eq!(codes(None, source), ["empty"]);
    }
}

#[test]
fn a_truncated_stream_is_a_finding() {
    let source = "event: task-status\ndata: {\"kind\":\"content-delta\",\"delta\":\"he";
    for end in 1..source.len() {
        let source = &source.as_bytes()[..end];
        if !source.ends_with(b"\n") {
            assert!(codes(Some("looopy"), source).iter().any(|code| code == "sse-truncated"));
        }
    }
    for source in [&b"["[..], b"[{}", b"[{},", b"[{},{\"a\"", b"[{}\n"] {
        for dialect in ["pydantic-ai", "journal", "looopy"] {
            assert!(codes(Some(dialect), source).iter().any(|code| code == "json-syntax"));
        }
    }
}

/// Runs the command with its address space limited, in megabytes.
fn limited(megabytes: usize, args: &[&str]) -> crate::Run {
    let script = format!("ulimit -v {} && exec \"$0\" \"$@\"", megabytes * 1024);
    let mut command = Command::new("sh");
    run(command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_selvedge")).args(args), b"")
}

#[test]
fn a_string_of_100_megabytes_takes_memory_in_proportion() {
    let folder = Folder::new("hostile-string");
    let long = "x".repeat(100 << 20);
    for (dialect, source) in [
        (
            "journal",
            format!("{{\"seq\":1,\"event\":{{\"kind\":\"message\",\"role\":\"{long}\"}}}}"),
        ),
        ("pydantic-ai", format!("[{{\"kind\":\"{long}")),
        ("looopy", format!("data: {{\"kind\":\"{long}")),
    ] {
        let path = folder.file("source", source.as_bytes());
        let run = limited(400, &["validate", "-d", dialect, &path]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "{dialect}");
        assert!(run.stdout.len() < 4000, "{dialect}: {}", run.stdout.len());
    }
}

#[test]
fn hostile_sources_do_not_break_conversion() {
    let arrays = "[".repeat(100_000);
    let sources: [&[u8]; 6] = [
        arrays.as_bytes(),
        b"{\"seq\":1,\0}",
        b"data: {\"a\"",
        b"{\"kind\":",
        b"\0\0\0",
        b"[{\"kind\":\"request\",\"parts\":[{}]},{\"kind\":\"response\",\"parts\":7},null,[],\"\"]",
    ];
    for source in sources {
        for from in dialects() {
            for to in ["journal", "looopy", "pydantic-ai"] {
                let run = selvedge_with(&["convert", "-f", &from, "-t", to], source);
                assert_eq!(run.code, Some(0), "{from} to {to}: {}", run.stderr);
            }
        }
    }
}
