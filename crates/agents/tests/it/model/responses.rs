//! Streams of the Responses API, as OpenAI documents them.

use selvedge_agents::model::{Done, FailureKind, Finish, Provider, Said};
use selvedge_protocol::journal::fold::Tokens;

use super::canned::{Answer, Ending, said, said_in_any_pieces, signed, text, thought, typed};

pub(crate) const TOOLS: &[&str] = &[
    r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","model":"gpt-5.2","output":[],"usage":null}}"#,
    r#"{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA-part"}}"#,
    r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Two cities."}"#,
    r#"{"type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":0,"summary_index":0,"text":"Two cities."}"#,
    r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Löok."}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Two cities."},{"type":"summary_text","text":"Löok."}],"encrypted_content":"gAAA-whole"}}"#,
    r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}"#,
    r#"{"type":"response.content_part.added","item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":""}}"#,
    r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"I look"}"#,
    r#"{"type":"response.output_text.done","item_id":"msg_1","output_index":1,"content_index":0,"text":"I look"}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"I look"}]}}"#,
    r#"{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_a","name":"weather","arguments":""}}"#,
    r#"{"type":"response.output_item.added","output_index":3,"item":{"id":"fc_2","type":"function_call","call_id":"call_b","name":"now","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{\"city\":"}"#,
    r#"{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":3,"delta":"{}"}"#,
    r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"\"Rome\"}"}"#,
    r#"{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":2,"arguments":"{\"city\":\"Rome\"}"}"#,
    r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_a","name":"weather","arguments":"{\"city\":\"Rome\"}"}}"#,
    r#"{"type":"response.output_item.done","output_index":3,"item":{"id":"fc_2","type":"function_call","call_id":"call_b","name":"now","arguments":"{}"}}"#,
    r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"gpt-5.2-2025-12-11","usage":{"input_tokens":75,"input_tokens_details":{"cached_tokens":32},"output_tokens":40,"output_tokens_details":{"reasoning_tokens":24},"total_tokens":115}}}"#,
];

#[tokio::test(flavor = "multi_thread")]
async fn thoughts_text_and_parallel_calls_come_whole_however_the_bytes_arrive() {
    let (a, b) = ("call_a".to_owned(), "call_b".to_owned());
    let piece = |id: &str, delta: &str| super::canned::piece_of(id, delta);
    let expected = vec![
        thought("Two cities."),
        thought("\n\n"),
        thought("Löok."),
        // What was there when the item began may not be all.
        signed("gAAA-whole", "openai"),
        text("I look"),
        Said::CallBegun { id: a.clone(), name: "weather".into() },
        Said::CallBegun { id: b.clone(), name: "now".into() },
        piece("call_a", "{\"city\":"),
        piece("call_b", "{}"),
        piece("call_a", "\"Rome\"}"),
        Said::Call { id: a, name: "weather".into(), arguments: "{\"city\":\"Rome\"}".into() },
        Said::Call { id: b, name: "now".into(), arguments: "{}".into() },
        Said::Done(Done {
            finish: Finish::ToolCalls,
            usage: Some(Tokens {
                input: 75,
                output: 40,
                cached: 32,
                reasoning: 24,
                calls: 1,
                cost: 0.0,
            }),
            model: Some("gpt-5.2-2025-12-11".into()),
        }),
    ];
    assert_eq!(said_in_any_pieces(Provider::OpenAiResponses, &typed(TOOLS)).await, expected);
}

#[tokio::test]
async fn items_that_come_only_whole_are_said_whole() {
    let whole: Vec<&str> = [7, 12, 19, 21].map(|at| TOOLS[at]).to_vec();
    let (said, failure) = said(Provider::OpenAiResponses, Answer::stream(&typed(&whole))).await;
    assert_eq!(failure, None);
    assert_eq!(
        said[..4],
        [thought("Two cities."), thought("Löok."), signed("gAAA-whole", "openai"), text("I look")]
    );
    let Said::Call { arguments, .. } = &said[6] else { panic!("{said:?}") };
    assert_eq!(arguments, "{\"city\":\"Rome\"}");
}

#[tokio::test]
async fn each_end_has_its_finish_or_failure() {
    let end = |kind: &str, response: &str| {
        format!(r#"{{"type":"response.{kind}","response":{{"model":"m",{response}}}}}"#)
    };
    for (event, finish) in [
        (end("completed", r#""status":"completed""#), Finish::Stop),
        (
            end(
                "incomplete",
                r#""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#,
            ),
            Finish::Length,
        ),
        (
            end(
                "incomplete",
                r#""status":"incomplete","incomplete_details":{"reason":"content_filter"}"#,
            ),
            Finish::ContentFilter,
        ),
        (
            end("incomplete", r#""status":"incomplete","incomplete_details":{"reason":"steered"}"#),
            Finish::Other,
        ),
    ] {
        let (said, _) = said(Provider::OpenAiResponses, Answer::stream(&typed(&[&event]))).await;
        let expected = Done { finish, usage: None, model: Some("m".into()) };
        assert_eq!(said, [Said::Done(expected)], "{event}");
    }
    for (event, kind) in [
        (
            end("failed", r#""error":{"code":"rate_limit_exceeded","message":"slow"}"#),
            FailureKind::Busy,
        ),
        (end("failed", r#""error":{"code":"server_error","message":"oh"}"#), FailureKind::Provider),
        (
            r#"{"type":"error","code":"context_length_exceeded","message":"long"}"#.to_owned(),
            FailureKind::TooLong,
        ),
        (
            end("failed", r#""error":{"code":"invalid_prompt","message":"no"}"#),
            FailureKind::Refused,
        ),
    ] {
        let (_, failure) = said(Provider::OpenAiResponses, Answer::stream(&typed(&[&event]))).await;
        assert_eq!(failure.unwrap().kind, kind, "{event}");
    }
    let refusal = r#"{"type":"response.refusal.delta","output_index":0,"delta":"No."}"#;
    let stream = typed(&[refusal, &end("completed", r#""status":"completed""#)]);
    let (said, _) = said(Provider::OpenAiResponses, Answer::stream(&stream)).await;
    let expected = Done { finish: Finish::ContentFilter, usage: None, model: Some("m".into()) };
    assert_eq!(said, [text("No."), Said::Done(expected)]);
}

#[tokio::test]
async fn a_stream_without_its_last_event_is_cut() {
    let most = typed(&TOOLS[..21]);
    for ending in [Ending::Proper, Ending::Cut] {
        let answer = Answer::stream(&most).ending(ending);
        let (said, failure) = said(Provider::OpenAiResponses, answer).await;
        assert_eq!(said.len(), 12);
        assert_eq!(failure.unwrap().kind, FailureKind::Connection);
    }
}
