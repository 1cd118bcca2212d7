//! Journals that several protocols wrote into: each record stays where it was.

use selvedge_protocol::diagnostic::Report;
use selvedge_protocol::dialect::{
    self, DecodeOptions, Dialect, EncodeOptions, Encoding, Start, decode,
};
use selvedge_protocol::journal::Batch;
use selvedge_protocol::json::Raw;
use selvedge_protocol::record::Role;
use selvedge_protocol::residue::render;
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings::fixture;

fn named(name: &str) -> &'static Dialect {
    dialect::named(name).unwrap()
}

fn batches(own: &Dialect, source: &str, start: Start) -> Vec<Batch<'static>> {
    let mut out = Vec::new();
    let options = DecodeOptions { start, ..DecodeOptions::default() };
    decode(own, &options, source, |batch| out.push(batch.to_owned()));
    out
}

/// The batches as one journal, tasks named apart.
fn journal(parts: &[(&str, &[Batch<'static>])]) -> String {
    let mut encoding = Encoding::new(named("journal"), &EncodeOptions::default());
    let mut out = Vec::new();
    for (prefix, part) in parts {
        for batch in *part {
            let mut renamed = batch.clone();
            for event in &mut renamed.events {
                for field in ["taskId", "parentTaskId", "subtaskId"] {
                    let own = event.body(field).filter(|id| id.starts_with("run-"));
                    if let Some(id) = own.map(|id| format!("\"{prefix}{id}\"")) {
                        event.set(field, Raw::owned(id));
                    }
                }
            }
            // Ids that the record has itself stay.
            let batch = if text(&renamed) == text(batch) { &renamed } else { batch };
            encoding.batch(batch, &mut out);
        }
    }
    encoding.finish(&mut out);
    String::from_utf8(out).unwrap()
}

fn text(batch: &Batch<'_>) -> String {
    let mut out = String::new();
    render(batch.frame.as_ref().unwrap(), &batch.events, &mut out).unwrap();
    out
}

/// The records' own texts, in order.
fn texts(batches: &[Batch<'_>]) -> Vec<String> {
    let own = |batch: &&Batch<'_>| batch.frame.as_ref().is_some_and(|f| f.role == Role::Item);
    batches.iter().filter(own).map(text).filter(|text| !text.contains("[DONE]")).collect()
}

/// A fixture to write into, where it can be cut, and one of another protocol to come between.
const CASES: &[(&str, &str, Option<&str>, &str, &str)] = &[
    (
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
        None,
        "ai-sdk-messages",
        "ai_7.0.169/a02_multi_step_parallel_tools.ui_message.json",
    ),
    (
        "pydantic-ai",
        "pydantic/s02_parallel_tool_calls/messages.json",
        None,
        "ai-sdk-stream",
        "ai_7.0.169/a01_text.sse",
    ),
    (
        "ai-sdk-messages",
        "pydantic_kitchen/k01_every_part_full.ui_messages.dump_sdk6.json",
        None,
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
    ),
    (
        "aitp",
        "aitp/threads/01-capabilities-objects.json",
        None,
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
    ),
    (
        "envelope",
        "envelope/mux_chain.ndjson",
        None,
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
    ),
    ("envelope", "envelope/mux_chain.json", None, "ai-sdk-stream", "ai_7.0.169/a01_text.sse"),
    (
        "ai-sdk-stream",
        "ai_7.0.169/a01_text.sse",
        Some("ai_7.0.169/a02_multi_step_parallel_tools.sse"),
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
    ),
    (
        "looopy",
        "looopy/01_text.document.sse",
        Some("looopy/02_tools.document.sse"),
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
    ),
    (
        "looopy",
        "looopy/01_text.ndjson",
        Some("looopy/02_tools.ndjson"),
        "ai-sdk-stream",
        "ai_7.0.169/a01_text.sse",
    ),
    (
        "ag-ui",
        "ag-ui/py_01_text.sse",
        Some("ag-ui/py_02_tools.sse"),
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
    ),
    (
        "agent-api",
        "agent-api/b01_reasoning.sse",
        Some("agent-api/b02_function_call.sse"),
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
    ),
    (
        "a2a",
        "a2a_1.0/rest_text.stream.sse",
        Some("a2a_1.0/rest_parts.stream.sse"),
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
    ),
    (
        "openai-threads",
        "openai-threads/stream_requires_action.sse",
        Some("openai-threads/stream_failed.sse"),
        "pydantic-ai",
        "pydantic/s01_multi_turn_text/messages.json",
    ),
];

/// What a case is about.
struct Case {
    own: &'static Dialect,
    name: String,
    /// The parts before and after the other protocol's.
    parts: (Vec<Batch<'static>>, Vec<Batch<'static>>),
    journal: String,
}

fn cases() -> impl Iterator<Item = Case> {
    CASES.iter().map(|(own, file, second, other, between)| {
        let own = named(own);
        let mut before = batches(own, &fixture(file), Start::NewThread);
        let after = match second {
            Some(second) => batches(own, &fixture(second), Start::Continue),
            None => before.split_off(before.len() / 2),
        };
        let between = batches(named(other), &fixture(between), Start::Continue);
        let journal = journal(&[("a-", &before), ("b-", &between), ("c-", &after)]);
        let name = format!("{} into {file}", named(other).id.name());
        Case { own, name, parts: (before, after), journal }
    })
}

/// What is wrong with a writing of a case: the records before and after stand as they were, with
/// something between.
fn fault(case: &Case, written: &str) -> Option<String> {
    let (before, after) = (texts(&case.parts.0), texts(&case.parts.1));
    let mut at = 0;
    for text in before {
        let Some(found) = written[at..].find(&text) else {
            return Some(format!("{text} is not in order"));
        };
        at += found + text.len();
    }
    let Some(first) = written[at..].find(&after[0]) else {
        return Some(format!("{} does not come after {at}", after[0]));
    };
    let between = &written[at..at + first];
    if between.len() < 100 {
        return Some(format!("nothing between: {between}"));
    }
    let mut rest = &written[at + first..];
    for text in after {
        match rest.find(&text) {
            Some(found) if found < 60 => rest = &rest[found + text.len()..],
            _ => return Some(format!("{text} does not follow: {rest}")),
        }
    }
    (rest.replace("data: [DONE]", "").len() > 60).then(|| format!("after the end: {rest}"))
}

fn check(by: impl Fn(&Case) -> String) {
    let mut wrong = Vec::new();
    for case in cases() {
        let written = by(&case);
        if let Some(fault) = fault(&case, &written) {
            wrong.push(format!("{}: {fault}\n{written}\n", case.name));
        }
        let mut report = Report::new();
        validate(case.own, written.as_bytes(), &mut report);
        let found = report.diagnostics().iter().find(|d| d.code == "json-syntax");
        wrong.extend(found.map(|found| format!("{}: {found:?}\n{written}", case.name)));
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn records_of_others_are_written_where_they_stand() {
    check(|case| convert(named("journal"), case.own, &case.journal));
}

#[test]
fn records_of_others_stay_where_they_stand_in_a_document_that_carries_them() {
    let carrier = named("thread-protocol");
    check(|case| convert(carrier, case.own, &convert(named("journal"), carrier, &case.journal)));
}
