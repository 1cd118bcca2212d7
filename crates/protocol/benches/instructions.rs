//! Instructions each dialect takes for a recording's way to the journal and back.
//!
//! `cargo xtask bench instructions` runs this and compares the counts with `baseline.json`.

#![allow(missing_docs, reason = "the macros make public items")]
#![expect(clippy::expect_used, reason = "a benchmark without its recording has nothing to say")]

use std::fs;
use std::hint::black_box;
use std::path::Path;

use gungraun::{library_benchmark, library_benchmark_group, main};
use selvedge_protocol::dialect::{self, DecodeOptions, Dialect, EncodeOptions, Encoding, decode};

/// A source and the dialect it is in.
struct Recording {
    dialect: &'static Dialect,
    text: String,
}

fn recording(dialect: &str, path: &str) -> Recording {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = fs::read_to_string(fixtures.join(path)).expect("the recording is committed");
    Recording { dialect: named(dialect), text }
}

/// The journal has no recordings of its own: another dialect's, carried by it.
fn archive(dialect: &str, path: &str) -> Recording {
    let source = recording(dialect, path);
    let journal = named("journal");
    Recording { dialect: journal, text: convert(source.dialect, journal, &source.text) }
}

fn named(name: &str) -> &'static Dialect {
    dialect::named(name).expect("the dialect is registered")
}

fn convert(from: &Dialect, to: &'static Dialect, source: &str) -> String {
    let mut encoding = Encoding::new(to, &EncodeOptions::default());
    let mut out = Vec::new();
    decode(from, &DecodeOptions::default(), source, |batch| encoding.batch(&batch, &mut out));
    encoding.finish(&mut out);
    String::from_utf8(out).expect("output is UTF-8")
}

#[library_benchmark(setup = recording)]
#[bench::thread_protocol("thread-protocol", "thread-protocol/01-every-field.json")]
#[bench::aitp("aitp", "aitp/threads/01-capabilities-objects.json")]
#[bench::openai_threads("openai-threads", "openai-threads/stream_tool_outputs_completed.sse")]
#[bench::envelope("envelope", "envelope/mux.json")]
#[bench::looopy("looopy", "looopy/02_tools.document.sse")]
#[bench::agent_api("agent-api", "agent-api/c02_tools.sse")]
#[bench::a2a("a2a", "a2a_1.0/jsonrpc_parts.stream.sse")]
#[bench::ai_sdk_stream("ai-sdk-stream", "ai_7.0.169/b07_many_steps_reused_ids.sse")]
#[bench::ai_sdk_messages("ai-sdk-messages", "ai_7.0.169/b07_many_steps_reused_ids.ui_message.json")]
#[bench::pydantic_ai("pydantic-ai", "pydantic/b02_long_tool_loop/messages.json")]
#[bench::ag_ui("ag-ui", "ag-ui/py_02_tools.sse")]
#[bench::journal(args = ("pydantic-ai", "pydantic/b02_long_tool_loop/messages.json"), setup = archive)]
fn through_journal(recording: Recording) -> (Recording, String, String) {
    let journal = named("journal");
    let carried = convert(recording.dialect, journal, black_box(&recording.text));
    let back = convert(journal, recording.dialect, black_box(&carried));
    // Given back, so that freeing them is not counted.
    (recording, carried, back)
}

library_benchmark_group!(name = dialects, benchmarks = through_journal);
main!(library_benchmark_groups = dialects);
