//! Anthropic's streams, as its documentation shows them.

use selvedge_agents::model::{Done, FailureKind, Finish, Provider, Said};
use selvedge_protocol::journal::fold::Tokens;

use super::canned::{Answer, bare, call, said, said_in_any_pieces, signed, text, thought, typed};

pub(crate) const TOOLS: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-opus-5-5","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":40,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two é"}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" cities."}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"CgIY=="}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwK"}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look \ud83c\udf24."}}"#,
    r#"{"type":"content_block_stop","index":2}"#,
    r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"To"}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"kyo\"}"}}"#,
    r#"{"type":"content_block_stop","index":3}"#,
    r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}"#,
    r#"{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_stop","index":4}"#,
    r#"{"type":"something_new","index":9}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89,"output_tokens_details":{"thinking_tokens":30}}}"#,
    r#"{"type":"message_stop"}"#,
];

#[tokio::test(flavor = "multi_thread")]
async fn thoughts_text_and_parallel_calls_come_whole_however_the_bytes_arrive() {
    let mut expected = vec![
        thought("Two é"),
        thought(" cities."),
        signed("EqQBCgIY==", "anthropic"),
        signed("EmwK", "anthropic-redacted"),
        text("I look 🌤."),
    ];
    expected.extend(call("toolu_1", "weather", &["{\"city\": \"To", "kyo\"}"]));
    expected.push(Said::CallBegun { id: "toolu_2".into(), name: "now".into() });
    // A call without arguments is a call with none.
    let empty = Said::Call { id: "toolu_2".into(), name: "now".into(), arguments: "{}".into() };
    expected.push(empty);
    expected.push(Said::Done(Done {
        finish: Finish::ToolCalls,
        // Input counts what the cache took and gave.
        usage: Some(Tokens {
            input: 165,
            output: 89,
            cached: 40,
            reasoning: 30,
            calls: 1,
            cost: 0.0,
        }),
        model: Some("claude-opus-5-5".into()),
    }));
    assert_eq!(said_in_any_pieces(Provider::Anthropic, &typed(TOOLS)).await, expected);
    // Line ends, comments, and a byte order mark are the transport's.
    let odd = format!("\u{feff}: hi\r\n\r\n{}", typed(TOOLS).replace('\n', "\r\n"));
    assert_eq!(said(Provider::Anthropic, Answer::stream(&odd)).await, (expected.clone(), None));
    assert_eq!(said(Provider::Anthropic, Answer::stream(&bare(TOOLS))).await, (expected, None));
}

#[tokio::test]
async fn a_thought_whose_text_is_left_out_keeps_its_signature() {
    let stream = typed(&[
        TOOLS[0],
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let (said, _) = said(Provider::Anthropic, Answer::stream(&stream)).await;
    assert_eq!(said[0], signed("EqQB", "anthropic"));
    assert_eq!(said.len(), 2);
}

#[tokio::test]
async fn interleaved_blocks_are_not_mixed() {
    let begin = |index: u32| {
        format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"toolu_{index}","name":"t{index}","input":{{}}}}}}"#
        )
    };
    let delta = |index: u32, json: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":{}}}}}"#,
            serde_json::to_string(json).unwrap()
        )
    };
    let events = [
        begin(0),
        begin(1),
        delta(1, "{\"b\":"),
        delta(0, "{\"a\":"),
        delta(1, "2}"),
        delta(0, "1}"),
    ];
    let mut stream: Vec<&str> = events.iter().map(String::as_str).collect();
    stream.extend([
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let (said, failure) = said(Provider::Anthropic, Answer::stream(&typed(&stream))).await;
    assert_eq!(failure, None);
    let calls: Vec<(String, String)> = said
        .into_iter()
        .filter_map(|said| match said {
            Said::Call { id, arguments, .. } => Some((id, arguments)),
            _ => None,
        })
        .collect();
    let pair = |id: &str, arguments: &str| (id.to_owned(), arguments.to_owned());
    assert_eq!(calls, [pair("toolu_0", "{\"a\":1}"), pair("toolu_1", "{\"b\":2}")]);
}

#[tokio::test]
async fn an_error_amid_the_stream_comes_after_what_was_said() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let mut events = TOOLS[..3].to_vec();
    events.push(overloaded);
    events.extend(&TOOLS[22..]);
    let (said, failure) = said(Provider::Anthropic, Answer::stream(&typed(&events))).await;
    assert_eq!(said, [thought("Two é")]);
    let failure = failure.unwrap();
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Busy, "Overloaded"));
}

#[tokio::test]
async fn each_reason_to_stop_has_its_finish() {
    for (reason, finish) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("tool_use", Finish::ToolCalls),
        ("refusal", Finish::ContentFilter),
        ("pause_turn", Finish::Other),
    ] {
        let stop = format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":1}}}}"#
        );
        let stream = typed(&[TOOLS[0], &stop, r#"{"type":"message_stop"}"#]);
        let (said, _) = said(Provider::Anthropic, Answer::stream(&stream)).await;
        let [Said::Done(done)] = said.as_slice() else { panic!("{said:?}") };
        assert_eq!(done.finish, finish, "{reason}");
    }
}
