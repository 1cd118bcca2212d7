//! Deeply nested values: what is read fits into every carrier, what is too deep is kept and named.

use selvedge_protocol::dialect::{self, Carrier, DecodeOptions, decode};
use selvedge_protocol::journal::Why;
use selvedge_protocol::json::{MAX_DEPTH, SOURCE_DEPTH, SyntaxKind, quote};

use crate::identity::convert;

fn arrays(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn objects(depth: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))
}

/// Sources with a value where one may be, each in its dialect.
fn around(value: &str) -> Vec<(&'static str, String)> {
    let text = quote(value);
    let call = |args: &str| {
        format!(
            "[{{\"parts\":[{{\"part_kind\":\"tool-call\",\"tool_name\":\"f\",\
             \"tool_call_id\":\"c\",\"args\":{args}}}],\"kind\":\"response\"}}]"
        )
    };
    let chunk = |key: &str, value: &str| {
        format!(
            "data: {{\"type\":\"start\"}}\n\ndata: {{\"type\":\"tool-input-start\",\
             \"toolCallId\":\"c\",\"toolName\":\"f\"}}\n\n\
             data: {{\"type\":\"tool-input-delta\",\"toolCallId\":\"c\",\
             \"inputTextDelta\":{text}}}\n\n\
             data: {{\"type\":\"tool-input-available\",\"toolCallId\":\"c\",\
             \"toolName\":\"f\",\"{key}\":{value}}}\n\n"
        )
    };
    let thread = |args: &str| {
        format!(
            "{{\"version\":\"1.0.0\",\"thread_id\":\"t\",\"actions\":[{{\"action_type\":\
             \"tool_call\",\"agent_id\":\"a\",\"tool_name\":\"f\",\"tool_call_id\":\"c\",\
             \"args\":{args}}}]}}"
        )
    };
    let step = format!(
        "{{\"id\":\"s\",\"object\":\"thread.run.step\",\"run_id\":\"r\",\"thread_id\":\"t\",\
         \"type\":\"tool_calls\",\"step_details\":{{\"type\":\"tool_calls\",\"tool_calls\":[\
         {{\"id\":\"c\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\"arguments\":{text},\
         \"output\":{text}}}}}]}}}}"
    );
    vec![
        ("pydantic-ai", call(value)),
        ("pydantic-ai", call(&text)),
        ("ai-sdk-stream", chunk("input", value)),
        ("ai-sdk-stream", chunk("unknown", value)),
        ("thread-protocol", thread(value)),
        ("thread-protocol", thread(&text)),
        ("openai-threads", step),
        (
            "ai-sdk-messages",
            format!(
                "[{{\"id\":\"m\",\"role\":\"assistant\",\"metadata\":{value},\"parts\":[\
                 {{\"type\":\"tool-f\",\"toolCallId\":\"c\",\"state\":\"output-available\",\
                 \"input\":{value},\"output\":{text}}}]}}]"
            ),
        ),
        (
            "envelope",
            format!(
                "[{{\"id\":\"e\",\"role\":\"user\",\"intent\":\"chat\",\"task\":\"t\",\
                 \"outputs\":[{{\"type\":\"json\",\"data\":{value}}}]}}]"
            ),
        ),
        (
            "looopy",
            format!(
                "data: {{\"kind\":\"task-created\",\"taskId\":\"t\",\"metadata\":{value}}}\n\n"
            ),
        ),
        (
            "journal",
            format!(
                "{{\"seq\":1,\"event\":{{\"kind\":\"system\",\"name\":\"n\",\"data\":{value},\
                 \"more\":{text}}}}}\n"
            ),
        ),
    ]
}

#[test]
fn values_of_any_depth_come_back_through_both_carriers() {
    for depth in [1, 127, 128, 129, 190, 195, 199, 200, 201, 217, 218, 219, 220, 250, 256, 400] {
        for (name, source) in around(&arrays(depth)).into_iter().chain(around(&objects(depth))) {
            let own = dialect::named(name).unwrap();
            for carrier in dialect::ALL.iter().filter(|d| d.carrier == Carrier::Frames) {
                let back = convert(carrier, own, &convert(own, carrier, &source));
                assert_eq!(back, source, "{name}, depth {depth}, through {}", carrier.id.name());
            }
        }
    }
}

#[test]
fn what_is_read_of_deep_values_is_read_again_from_either_carrier() {
    let journal = dialect::named("journal").unwrap();
    let thread = dialect::named("thread-protocol").unwrap();
    for (name, source) in around(&objects(SOURCE_DEPTH - 10)) {
        let own = dialect::named(name).unwrap();
        let once = convert(own, journal, &source);
        let twice = convert(thread, journal, &convert(journal, thread, &once));
        assert_eq!(twice, once, "{name}");
    }
}

#[test]
fn what_is_too_deep_is_named() {
    let own = dialect::named("pydantic-ai").unwrap();
    for depth in [SOURCE_DEPTH, MAX_DEPTH, 1000] {
        let source = format!("[{{\"kind\":\"request\",\"parts\":[]}},{}]", arrays(depth + 1));
        let mut unread = Vec::new();
        decode(own, &DecodeOptions::default(), &source, |batch| unread.extend(batch.unread));
        let found: Vec<_> = unread.iter().map(|u| (u.number, u.why)).collect();
        assert_eq!(found, [(2, Why::Syntax(SyntaxKind::TooDeep))], "{depth}");
    }
}
