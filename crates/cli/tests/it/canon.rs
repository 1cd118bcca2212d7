//! `selvedge canon`.

use std::fs;

use crate::{fixture, selvedge, selvedge_with};

const HISTORY: &str = "pydantic/s02_parallel_tool_calls/messages.json";

#[test]
fn json_is_printed_in_its_canonical_form() {
    let run = selvedge_with(&["canon"], b"\xef\xbb\xbf{\"b\": 1E2, \"a\": \"\\u00e9\"}\n");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{\"a\":\"é\",\"b\":100}"));
    let lines = selvedge_with(&["canon", "-"], b"{\"b\":1,\"a\":2}\n\n[1.0]\n");
    assert_eq!(lines.stdout, "{\"a\":2,\"b\":1}\n[1]\n");
}

#[test]
fn the_digest_of_json_is_the_hash_of_what_is_printed() {
    let empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n";
    assert_eq!(selvedge_with(&["canon", "--digest"], b" { }\n").stdout, empty);
}

#[test]
fn a_history_and_its_archive_have_one_thread_digest() {
    let source = fixture(HISTORY);
    let journal = selvedge(&["convert", "--to", "journal", &source]).stdout;
    let of_source = selvedge(&["canon", "--digest", "--from", "pydantic-ai", &source]).stdout;
    let of_journal = selvedge_with(&["canon", "--digest"], journal.as_bytes()).stdout;
    assert!(of_source.starts_with("sha256:") && of_source.len() == 72, "{of_source}");
    assert_eq!(of_journal, of_source);
    let of_json = selvedge(&["canon", "--digest", &source]).stdout;
    assert_ne!(of_json, of_source);
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    for (stdin, words) in [
        (&b"{\"a\":}"[..], ["not JSON", "unexpected character at byte 5"]),
        (b"{\"a\":1}\n{\"a\"\n", ["not JSON", "unexpected end of JSON at byte 13"]),
        (b"\"\xff\"", ["not UTF-8", "offset 1"]),
        (&[b'['; 5000], ["not JSON", "nested too deeply at byte 256"]),
    ] {
        let run = selvedge_with(&["canon"], stdin);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
        for word in words {
            assert!(run.stderr.contains(word), "no `{word}` in\n{}", run.stderr);
        }
    }
    assert_eq!(selvedge(&["canon", "--from", "journal", "x"]).code, Some(2));
}

#[test]
fn canonical_output_is_the_same_when_made_again() {
    let once = selvedge(&["canon", &fixture(HISTORY)]).stdout;
    assert_eq!(selvedge_with(&["canon"], once.as_bytes()).stdout, once);
    assert!(once.len() <= fs::read(fixture(HISTORY)).unwrap().len());
}
