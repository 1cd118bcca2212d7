//! `selvedge validate`.

use serde_json::{Value, json};

use crate::{Folder, fixture, selvedge, selvedge_with};

const HISTORY: &str = "pydantic/s02_parallel_tool_calls/messages.json";
const WRONG: &[u8] = b"{\"seq\":1,\"event\":{\"kind\":\"thread-created\",\"contextId\":\"c\"}}\n\
    {\"seq\":3,\"event\":{\"kind\":\"content-delta\",\"delta\":7}}\n";

#[test]
fn what_is_valid_exits_with_0() {
    let run = selvedge(&["validate", &fixture(HISTORY)]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.ends_with("messages.json: valid pydantic-ai\n"), "{}", run.stdout);
    let run = selvedge(&["validate", "--format", "json", &fixture(HISTORY)]);
    assert_eq!(run.stdout, "{\"valid\":true,\"dialect\":\"pydantic-ai\",\"diagnostics\":[]}\n");
}

#[test]
fn json_output_has_code_severity_pointer_and_message() {
    let run = selvedge_with(&["validate", "--format", "json", "-"], WRONG);
    assert_eq!(run.code, Some(1));
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&found["valid"], &found["dialect"]), (&json!(false), &json!("journal")));
    assert_eq!(
        found["diagnostics"][0],
        json!({
            "code": "journal-sequence",
            "severity": "error",
            "pointer": "/1/seq",
            "message": "expected sequence 2, found 3"
        })
    );
    assert_eq!(run.stdout.lines().count(), 1);
}

#[test]
fn text_output_points_into_the_source() {
    let folder = Folder::new("validate-text");
    let source =
        b"{\n  \"seq\": 2,\n  \"event\": {\"kind\": \"thread-created\", \"contextId\": \"c\"}\n}\n";
    folder.file("pretty.json", source);
    let run = selvedge(&["validate", "-d", "journal", &folder.path("pretty.json")]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    insta::assert_snapshot!("validate-text", run.stdout.replace(&folder.path(""), ""));
}

#[test]
fn a_long_line_is_cut_around_the_finding() {
    let filler = "x".repeat(300_000);
    let source = format!(
        "{{\"seq\":1,\"event\":{{\"kind\":\"content-delta\",\"a\":\"{filler}\",\"delta\":7,\"b\":\"{filler}\"}}}}\n"
    );
    let run = selvedge_with(&["validate", "-d", "journal", "-"], source.as_bytes());
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.len() < 3000, "{}", run.stdout.len());
    assert!(run.stdout.contains("\"delta\":7,"), "{}", run.stdout);
    assert!(run.stdout.contains("[standard input:1:300057]"), "{}", run.stdout);
}

#[test]
fn nothing_in_a_source_reaches_the_terminal_as_a_command() {
    let source = b"{\"seq\":1,\"event\":{\"kind\":\"message\",\"role\":\"\\u001b[2J\xe2\x80\xae\",\"x\":\"\x1b[2J\"}}";
    let run = selvedge_with(&["validate", "-d", "journal", "-"], source);
    assert_eq!(run.code, Some(1));
    assert!(!run.stdout.contains(['\u{1b}', '\u{202e}']), "{}", run.stdout);
}

#[test]
fn several_sources_are_each_reported_and_the_worst_decides() {
    let folder = Folder::new("validate-several");
    let wrong = folder.file("wrong", WRONG);
    let other = folder.file("other", b"{\"a\":1}");
    let good = fixture(HISTORY);
    let run = selvedge(&["validate", "--format", "json", &good, &wrong]);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(1), 2));
    let run =
        selvedge(&["validate", "--format", "json", &other, &wrong, &folder.path("no"), &good]);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(2), 2));
    assert!(run.stderr.contains("--dialect <DIALECT>") && run.stderr.contains("No such file"));
    assert_eq!(selvedge(&["validate"]).code, Some(2));
}

#[test]
fn many_findings_are_counted_and_not_all_shown() {
    let source = "{\"seq\":7}\n".repeat(3000);
    let run = selvedge_with(&["validate", "-d", "journal", "-"], source.as_bytes());
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("… and 2950 more"), "{}", run.stdout);
    let run =
        selvedge_with(&["validate", "-d", "journal", "--format", "json", "-"], source.as_bytes());
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(found["diagnostics"].as_array().unwrap().len(), 1000);
}
