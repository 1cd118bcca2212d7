//! Streams that are cut, broken or made to hurt: one failure, no panic, no end of memory.

use selvedge_agents::model::{FailureKind, Provider, Said};

use super::canned::{Answer, Ending, bare, said, typed};

/// A good stream of each kind.
fn streams() -> [(Provider, String); 4] {
    [
        (Provider::Anthropic, typed(super::anthropic::TOOLS)),
        (Provider::OpenAiChat, bare(super::chat::TOOLS)),
        (Provider::OpenAiResponses, typed(super::responses::TOOLS)),
        (Provider::Gemini, bare(super::gemini::TOOLS)),
    ]
}

/// What was said, apart from how it was cut into pieces and how it ended.
fn words(said: &[Said]) -> String {
    let word = |said: &Said| match said {
        Said::Text(text) | Said::Thought(text) => text.clone(),
        Said::CallPiece { delta, .. } => delta.clone(),
        _ => String::new(),
    };
    said.iter().map(word).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_cut_anywhere_is_a_broken_connection_after_what_was_said() {
    for (provider, stream) in streams() {
        let (whole, _) = said(provider, Answer::stream(&stream)).await;
        let mut cut_short = 0;
        // Every place would take long, and every seventh meets every kind of place.
        for at in (0..stream.len()).step_by(7) {
            let piece = stream.as_bytes()[..at].to_vec();
            for ending in [Ending::Proper, Ending::Cut] {
                let answer = Answer::pieces(vec![piece.clone()]).ending(ending);
                let (said, failure) = said(provider, answer).await;
                assert!(words(&whole).starts_with(&words(&said)), "{provider:?} cut at {at}");
                match failure {
                    Some(failure) => {
                        assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
                        cut_short += 1;
                    }
                    // Only usage or the last word is missing.
                    None => assert_eq!(words(&said), words(&whole), "{provider:?} cut at {at}"),
                }
            }
        }
        assert!(cut_short * 7 > stream.len(), "{provider:?}: {cut_short}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_byte_anywhere_is_no_panic_and_one_end() {
    for (provider, stream) in streams() {
        for at in (0..stream.len()).step_by(23) {
            for byte in [0xff, b'"', b'{', b'7', b'\n'] {
                let mut bytes = stream.as_bytes().to_vec();
                bytes[at] = byte;
                // That it ends once is checked on the way.
                let (_, failure) = said(provider, Answer::pieces(vec![bytes])).await;
                let kind = failure.map(|failure| failure.kind);
                let usual =
                    matches!(kind, None | Some(FailureKind::Provider | FailureKind::Connection));
                assert!(usual, "{provider:?} {byte} at {at}: {kind:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_a_failure_of_the_provider() {
    let wrong_types = [
        (Provider::Anthropic, r#"{"type":7}"#),
        (Provider::Anthropic, r#"{"type":"message_start","message":"hi"}"#),
        (Provider::Anthropic, r#"{"type":"content_block_start","content_block":{"type":"text"}}"#),
        (Provider::Anthropic, r#"{"type":"content_block_start","index":-1,"content_block":{}}"#),
        (
            Provider::Anthropic,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":[]}}"#,
        ),
        (
            Provider::Anthropic,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x"}}"#,
        ),
        (Provider::OpenAiChat, r#"{"choices":{}}"#),
        (Provider::OpenAiChat, r#"{"choices":[7]}"#),
        (Provider::OpenAiChat, r#"{"choices":[{"delta":{"content":7}}]}"#),
        (Provider::OpenAiChat, r#"{"choices":[{"delta":{"tool_calls":"x"}}]}"#),
        (Provider::OpenAiChat, r#"{"choices":[{"delta":{"tool_calls":[{"id":7}]}}]}"#),
        (Provider::OpenAiResponses, r#"{"type":"response.output_text.delta","delta":{}}"#),
        (
            Provider::OpenAiResponses,
            r#"{"type":"response.function_call_arguments.delta","output_index":3,"delta":"x"}"#,
        ),
        (Provider::OpenAiResponses, r#"{"type":"response.output_item.done","item":{}}"#),
        (Provider::Gemini, r#"{"candidates":"x"}"#),
        (Provider::Gemini, r#"{"candidates":[{"content":{"parts":[{"text":1}]}}]}"#),
        (
            Provider::Gemini,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":"x"}}]}}]}"#,
        ),
    ];
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let all = Provider::ALL.into_iter().flat_map(|provider| {
        ["{", "nonsense", "7", "[]", "\"x\"", "null", &deep].map(|data| (provider, data))
    });
    for (provider, data) in wrong_types.into_iter().chain(all) {
        let (said, failure) = said(provider, Answer::stream(&bare(&[data]))).await;
        assert_eq!(said, [], "{provider:?} {}", &data[..data.len().min(80)]);
        assert_eq!(failure.unwrap().kind, FailureKind::Provider, "{provider:?}");
    }
    for provider in Provider::ALL {
        let bytes = Answer::pieces(vec![b"data: {\"a\":\"\xff\xfe\"}\n\n".to_vec()]);
        let (_, failure) = said(provider, bytes).await;
        assert_eq!(failure.unwrap().kind, FailureKind::Provider);
        // The last word without an end that it could be of.
        let (_, failure) = said(provider, Answer::stream("data: [DONE]\n\n")).await;
        assert_eq!(failure.unwrap().kind, FailureKind::Provider);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_events_and_endless_answers_end() {
    let megabyte = vec![b'x'; 1 << 20];
    for provider in Provider::ALL {
        // One line without an end.
        let mut pieces = vec![b"data: ".to_vec()];
        pieces.extend(std::iter::repeat_n(megabyte.clone(), 20));
        let (_, failure) = said(provider, Answer::pieces(pieces)).await;
        let failure = failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Provider, "{failure}");
        assert!(failure.message.contains("longer"), "{failure}");
    }
    let long = "x".repeat(1 << 20);
    let signature = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"signature_delta","signature":"{long}"}}}}"#
    );
    let text = format!(r#"{{"choices":[{{"delta":{{"content":"{long}"}}}}]}}"#);
    let nameless = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":"{long}"}}}}]}}}}]}}"#
    );
    let calls: String =
        (0..300).map(|n| format!(r#"{{"functionCall":{{"name":"a{n}"}}}},"#)).collect();
    let calls = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{}]}}}}]}}"#,
        calls.trim_end_matches(',')
    );
    for (provider, first, again, times) in [
        (Provider::Anthropic, super::anthropic::TOOLS[1], &signature, 20),
        (Provider::OpenAiChat, "{}", &text, 20),
        (Provider::OpenAiChat, "{}", &nameless, 20),
        (Provider::Gemini, "{}", &calls, 1),
    ] {
        let mut pieces = vec![bare(&[first]).into_bytes()];
        pieces.extend(std::iter::repeat_n(bare(&[again]).into_bytes(), times));
        let (_, failure) = said(provider, Answer::pieces(pieces)).await;
        let failure = failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Provider, "{failure}");
    }
}
