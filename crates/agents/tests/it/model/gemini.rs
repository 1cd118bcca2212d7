//! Gemini's streams, as its documentation shows them.

use selvedge_agents::model::{Done, FailureKind, Finish, Provider, Said};
use selvedge_protocol::journal::fold::Tokens;

use super::canned::{Answer, bare, call, said, said_in_any_pieces, signed, text, thought};

pub(crate) const TOOLS: &[&str] = &[
    r#"{"candidates":[{"content":{"parts":[{"text":"**Two cities**","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":8,"totalTokenCount":20,"thoughtsTokenCount":12},"modelVersion":"gemini-3.8-flash","responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"I löok"}],"role":"model"},"index":0}],"modelVersion":"gemini-3.8-flash"}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"weather","args":{"city":"Tokyo"},"id":"fc1"},"thoughtSignature":"CtEB"},{"functionCall":{"name":"weather","args":{"city":"Rome"},"id":"fc2"}}],"role":"model"},"index":0}],"modelVersion":"gemini-3.8-flash"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":30,"totalTokenCount":50,"thoughtsTokenCount":12,"cachedContentTokenCount":3},"modelVersion":"gemini-3.8-flash"}"#,
];

fn done(finish: Finish) -> Said {
    Said::Done(Done { finish, usage: None, model: None })
}

/// What is said in an answer of these parts.
async fn parts(parts: &[&str]) -> Vec<Said> {
    let chunk = |part: &&str| format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}}}}]}}"#);
    let mut chunks: Vec<String> = parts.iter().map(chunk).collect();
    chunks.push(r#"{"candidates":[{"finishReason":"STOP"}]}"#.to_owned());
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let (said, failure) = said(Provider::Gemini, Answer::stream(&bare(&chunks))).await;
    assert_eq!(failure, None);
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn thoughts_text_and_parallel_calls_come_whole_however_the_bytes_arrive() {
    let mut expected = vec![
        thought("**Two cities**"),
        Said::ThoughtEnd { signature: None, provider: "google" },
        text("I löok"),
        signed("CtEB", "google"),
    ];
    expected.extend(call("fc1", "weather", &[r#"{"city":"Tokyo"}"#]));
    expected.extend(call("fc2", "weather", &[r#"{"city":"Rome"}"#]));
    expected.push(Said::Done(Done {
        finish: Finish::ToolCalls,
        usage: Some(Tokens { input: 8, output: 42, cached: 3, reasoning: 12, calls: 1, cost: 0.0 }),
        model: Some("gemini-3.8-flash".into()),
    }));
    let events = bare(TOOLS).replace('\n', "\r\n");
    assert_eq!(said_in_any_pieces(Provider::Gemini, &events).await, expected);
}

#[tokio::test]
async fn signatures_stay_with_the_part_they_came_on() {
    let stop = done(Finish::Stop);
    let said = parts(&[
        r#"{"text":"Hm","thought":true}"#,
        r#"{"text":"Hi","thoughtSignature":"s"}"#,
        r#"{"text":" you"}"#,
    ])
    .await;
    let expected = [thought("Hm"), signed("s", "google"), text("Hi"), text(" you"), stop.clone()];
    assert_eq!(said, expected);
    // On the last piece of a text, it comes after the text.
    for last in [r#"{"text":" you","thoughtSignature":"s"}"#, r#"{"text":" you"}"#] {
        let said =
            parts(&[r#"{"text":"Hi"}"#, last, r#"{"text":"","thoughtSignature":"t"}"#]).await;
        assert_eq!(said[..2], [text("Hi"), text(" you")]);
        assert_eq!(said[said.len() - 2..], [signed("t", "google"), stop.clone()]);
    }
}

#[tokio::test]
async fn calls_without_ids_get_some() {
    let bare_call = r#"{"functionCall":{"name":"now"}}"#;
    let said = parts(&[bare_call, bare_call]).await;
    let ids: Vec<&String> = said
        .iter()
        .filter_map(|said| match said {
            Said::Call { id, arguments, .. } => {
                assert_eq!(arguments, "{}");
                Some(id)
            }
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 2);
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.starts_with("call_")), "{ids:?}");
    assert_eq!(said.last(), Some(&done(Finish::ToolCalls)));
}

#[tokio::test]
async fn what_is_blocked_is_filtered_and_what_is_malformed_is_a_failure() {
    for (chunk, finish) in [
        (r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#, Finish::ContentFilter),
        (r#"{"candidates":[{"finishReason":"PROHIBITED_CONTENT"}]}"#, Finish::ContentFilter),
        (r#"{"candidates":[{"finishReason":"MAX_TOKENS"}]}"#, Finish::Length),
        (r#"{"candidates":[{"finishReason":"LANGUAGE"}]}"#, Finish::Other),
    ] {
        let told = said(Provider::Gemini, Answer::stream(&bare(&[chunk]))).await;
        assert_eq!(told, (vec![done(finish)], None), "{chunk}");
    }
    for (chunk, kind) in [
        (
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"print(x)"}]}"#,
            FailureKind::Provider,
        ),
        (r#"{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}"#, FailureKind::Busy),
        (r#"{"error":{"code":500,"message":"x","status":"INTERNAL"}}"#, FailureKind::Provider),
    ] {
        let (_, failure) = said(Provider::Gemini, Answer::stream(&bare(&[chunk]))).await;
        assert_eq!(failure.unwrap().kind, kind, "{chunk}");
    }
}
