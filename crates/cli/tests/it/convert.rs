//! `selvedge convert`.

use std::fs;
use std::process::{Command, Stdio};

use crate::{Folder, fixture, selvedge, selvedge_with};

const HISTORY: &str = "pydantic/s02_parallel_tool_calls/messages.json";

#[test]
fn a_history_goes_to_the_archive_and_back_byte_for_byte() {
    let folder = Folder::new("convert-identity");
    let (source, journal, back) =
        (fixture(HISTORY), folder.path("thread.ndjson"), folder.path("back.json"));
    let run = selvedge(&["convert", "--to", "journal", &source, "-o", &journal]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    let run = selvedge(&["convert", "--to", "pydantic-ai", &journal, "-o", &back]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read(back).unwrap(), fs::read(source).unwrap());
    assert_eq!(folder.names(), ["back.json", "thread.ndjson"]);
}

#[test]
fn standard_input_and_output_are_the_default_and_the_dash() {
    let source = fs::read(fixture(HISTORY)).unwrap();
    let plain = selvedge_with(&["convert", "--to", "journal"], &source);
    assert_eq!(plain.code, Some(0));
    assert!(plain.stdout.starts_with("{\"seq\":1,"));
    let dashes = selvedge_with(&["convert", "--to", "journal", "-", "-o", "-"], &source);
    assert_eq!(dashes.stdout, plain.stdout);
    let named = selvedge_with(&["convert", "-f", "pydantic-ai", "-t", "journal"], &source);
    assert_eq!(named.stdout, plain.stdout);
}

#[test]
fn a_file_can_be_replaced_by_its_own_conversion() {
    let folder = Folder::new("convert-in-place");
    let source = fs::read(fixture(HISTORY)).unwrap();
    let path = folder.file("thread", &source);
    assert_eq!(selvedge(&["convert", "--to", "journal", &path, "-o", &path]).code, Some(0));
    assert!(fs::read(&path).unwrap().starts_with(b"{\"seq\":1,"));
    assert_eq!(selvedge(&["convert", "--to", "pydantic-ai", &path, "-o", &path]).code, Some(0));
    assert_eq!(fs::read(&path).unwrap(), source);
}

#[test]
fn what_fails_half_way_leaves_the_old_output_alone() {
    let folder = Folder::new("convert-fails");
    let mut source = b"{\"seq\":1,\"event\":{\"kind\":\"thread-created\"}}\n".repeat(20_000);
    let at = source.len();
    source.extend(b"\xff\xfe");
    let source = folder.file("source", &source);
    let output = folder.file("output", b"old");
    let run = selvedge(&["convert", "--to", "journal", &source, "-o", &output]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains(&format!("invalid byte at offset {at}")), "{}", run.stderr);
    assert_eq!(fs::read(&output).unwrap(), b"old");
    assert_eq!(folder.names(), ["output", "source"]);
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let run = selvedge(&["convert", "--to", "journal", &fixture(HISTORY), "-o", "/dev/null"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn errors_say_what_to_do() {
    let folder = Folder::new("convert-errors");
    let other = folder.file("other.json", b"{\"a\":1}");
    let history = fixture(HISTORY);
    let expect = |args: &[&str], stdin: &[u8], words: &[&str]| {
        let run = selvedge_with(args, stdin);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
        for word in words {
            assert!(run.stderr.contains(word), "{args:?}: no `{word}` in\n{}", run.stderr);
        }
    };
    expect(
        &["convert", "--from", "pydnatic-ai", "--to", "journal"],
        b"",
        &["pydnatic-ai", "possible values", "a similar value exists: 'pydantic-ai'"],
    );
    expect(
        &["convert", "--to", "journal", &other],
        b"",
        &["cannot tell which dialect", "other.json", "--from <DIALECT>", "selvedge dialects"],
    );
    expect(&["convert", "--to", "journal"], b" \n", &["standard input is empty"]);
    expect(&["convert", "--to", "journal"], b"[{\xff}]", &["not UTF-8", "offset 2"]);
    expect(
        &["convert", "--to", "journal", &folder.path("missing")],
        b"",
        &["cannot read", "missing", "No such file"],
    );
    expect(&["convert", "--to", "journal", &folder.path("")], b"", &["directory"]);
    expect(
        &["convert", "--to", "pydantic-ai", "--for", "pydantic-ai@9", &history],
        b"",
        &["pydantic-ai@9", "`pydantic-ai@2` or `pydantic-ai@1`"],
    );
    expect(
        &["convert", "--to", "pydantic-ai", "--for", "ai@2", &history],
        b"",
        &["ai@2", "`pydantic-ai@2`"],
    );
    expect(
        &["convert", "--to", "journal", "--for", "journal@1", &history],
        b"",
        &["leave `--for` out"],
    );
    expect(
        &["convert", "--to", "journal", "--for", "six", &history],
        b"",
        &["`six` is not `<package>@<version>`"],
    );
}

#[test]
fn what_is_lost_is_listed_with_its_place_and_reason() {
    let folder = Folder::new("convert-loss");
    let (source, report) = (fixture(HISTORY), folder.path("lost.json"));
    let run = selvedge(&["convert", "--to", "journal", "--loss", &report, &source]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(fs::read_to_string(&report).unwrap(), "[]\n");
    // On standard error, beside the output.
    let run = selvedge(&["convert", "--to", "looopy", "--loss", "-", &source]);
    let lost: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    let lost = lost.as_array().unwrap();
    assert!(!lost.is_empty());
    for entry in lost {
        assert!(entry["pointer"].as_str().unwrap().starts_with('/'), "{entry}");
        assert!(!entry["reason"].as_str().unwrap().is_empty(), "{entry}");
        assert_eq!(entry.as_object().unwrap().len(), 2, "{entry}");
    }
}

#[test]
fn a_source_that_says_nothing_in_its_dialect_is_warned_about() {
    let args = ["convert", "--from", "journal", "--to", "journal"];
    let fine = selvedge_with(&args, b"{\"seq\":1,\"event\":{\"kind\":\"thread-created\"}}\n");
    assert_eq!((fine.code, fine.stderr.as_str()), (Some(0), ""));
    let args = ["convert", "--from", "pydantic-ai", "--to", "journal"];
    let odd = selvedge_with(&args, b"[\"what?\"]");
    assert_eq!(odd.code, Some(0));
    assert!(odd.stderr.contains("validate --dialect pydantic-ai"), "{}", odd.stderr);
}

#[test]
fn records_that_cannot_be_read_are_named_and_the_first_few_only() {
    let args = ["convert", "--from", "pydantic-ai", "--to", "journal"];
    let deep =
        format!("[{{\"kind\":\"request\",\"parts\":[]}},{}1{}]", "[".repeat(300), "]".repeat(300));
    let run = selvedge_with(&args, deep.as_bytes());
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("record 2 is not JSON: nested too deeply"), "{}", run.stderr);
    let run = selvedge_with(
        &["convert", "--from", "looopy", "--to", "a2a"],
        "data: {\n\n".repeat(50).as_bytes(),
    );
    assert_eq!(run.stderr.matches("is not JSON").count(), 10);
    assert!(run.stderr.contains("40 more could not be read"), "{}", run.stderr);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new("convert-pipe");
    let line = b"{\"seq\":1,\"event\":{\"kind\":\"content-delta\",\"delta\":\"word\"}}\n";
    let source = folder.file("journal", &line.repeat(50_000));
    let mut child = Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(["convert", "--to", "journal", &source])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}
