//! Streams of chat completions, as OpenAI, DeepSeek and Ollama send them and as others do.

use selvedge_agents::model::{Done, FailureKind, Finish, Provider, Said};
use selvedge_protocol::journal::fold::Tokens;

use super::canned::{Answer, Ending, bare, piece_of, said, said_in_any_pieces, text, thought};

pub(crate) const TOOLS: &[&str] = &[
    r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5.2","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null}"#,
    r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5.2","choices":[{"index":0,"delta":{"content":"I löok"},"finish_reason":null}],"usage":null}"#,
    r#"{"id":"chatcmpl-1","model":"gpt-5.2","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]},"finish_reason":null}]}"#,
    r#"{"id":"chatcmpl-1","model":"gpt-5.2","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]},"finish_reason":null}]}"#,
    r#"{"id":"chatcmpl-1","model":"gpt-5.2","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"weather","arguments":"{\"city\""}}]},"finish_reason":null}]}"#,
    r#"{"id":"chatcmpl-1","model":"gpt-5.2","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Tokyo\"}"}},{"index":1,"function":{"arguments":":\"Rome\"}"}}]},"finish_reason":null}]}"#,
    r#"{"id":"chatcmpl-1","model":"gpt-5.2","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"id":"chatcmpl-1","model":"gpt-5.2","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":10,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":4}}}"#,
    "[DONE]",
];

fn done(finish: Finish) -> Said {
    Said::Done(Done { finish, usage: None, model: Some("m".into()) })
}

/// A chunk with this delta.
fn delta(json: &str) -> String {
    format!(r#"{{"model":"m","choices":[{{"index":0,"delta":{json}}}]}}"#)
}

fn finished(reason: &str) -> String {
    format!(r#"{{"model":"m","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

/// What is said in chunks with these deltas, and the end.
async fn deltas(provider: Provider, deltas: &[&str], reason: &str) -> Vec<Said> {
    let mut chunks: Vec<String> = deltas.iter().map(|json| delta(json)).collect();
    chunks.push(finished(reason));
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let (said, failure) = said(provider, Answer::stream(&bare(&chunks))).await;
    assert_eq!(failure, None);
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn interleaved_calls_are_told_apart_however_the_bytes_arrive() {
    let (a, b) = ("call_a".to_owned(), "call_b".to_owned());
    let name = || "weather".to_owned();
    let expected = vec![
        text("I löok"),
        Said::CallBegun { id: a.clone(), name: name() },
        piece_of("call_a", "{\"city\":"),
        Said::CallBegun { id: b.clone(), name: name() },
        piece_of("call_b", "{\"city\""),
        piece_of("call_a", "\"Tokyo\"}"),
        piece_of("call_b", ":\"Rome\"}"),
        Said::Call { id: a, name: name(), arguments: "{\"city\":\"Tokyo\"}".into() },
        Said::Call { id: b, name: name(), arguments: "{\"city\":\"Rome\"}".into() },
        Said::Done(Done {
            finish: Finish::ToolCalls,
            usage: Some(Tokens {
                input: 20,
                output: 10,
                cached: 5,
                reasoning: 4,
                calls: 1,
                cost: 0.0,
            }),
            model: Some("gpt-5.2".into()),
        }),
    ];
    assert_eq!(said_in_any_pieces(Provider::OpenAiChat, &bare(TOOLS)).await, expected);
}

#[tokio::test]
async fn deepseek_thinks_aloud_and_ollama_in_another_word() {
    for (provider, author, word) in [
        (Provider::DeepSeek, "deepseek", "reasoning_content"),
        (Provider::Ollama, "ollama", "reasoning"),
    ] {
        let first = format!(r#"{{"role":"assistant","content":null,"{word}":"Hm"}}"#);
        let second = format!(r#"{{"content":"","{word}":"."}}"#);
        let said = deltas(provider, &[&first, &second, r#"{"content":"9.8"}"#], "stop").await;
        let ended = Said::ThoughtEnd { signature: None, provider: author };
        let expected = [thought("Hm"), thought("."), ended, text("9.8"), done(Finish::Stop)];
        assert_eq!(said, expected);
    }
    let cached = r#"{"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":8}}"#;
    let stream = bare(&[&finished("stop"), cached, "[DONE]"]);
    let (said, _) = said(Provider::DeepSeek, Answer::stream(&stream)).await;
    let [Said::Done(done)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(done.usage.unwrap().cached, 8);
}

#[tokio::test]
async fn content_in_parts_is_thought_and_text() {
    let part = r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Yes"}]}"#;
    let said = deltas(Provider::Compatible, &[part], "stop").await;
    let ended = Said::ThoughtEnd { signature: None, provider: "compatible" };
    assert_eq!(said, [thought("Hm."), ended, text("Yes"), done(Finish::Stop)]);
}

/// Calls by name, with their arguments; ids are checked to differ.
fn calls(said: &[Said]) -> Vec<(&str, &str)> {
    let mut ids = Vec::new();
    let mut calls = Vec::new();
    for said in said {
        if let Said::Call { id, name, arguments } = said {
            assert!(!id.is_empty() && !ids.contains(&id), "ids differ: {id}");
            ids.push(id);
            calls.push((name.as_str(), arguments.as_str()));
        }
    }
    calls
}

#[tokio::test]
async fn servers_that_leave_things_out_are_understood() {
    let whole = |index: &str, id: &str, name: &str, arguments: &str| {
        format!(
            r#"{{"tool_calls":[{{{index}{id}"type":"function","function":{{"name":"{name}","arguments":{arguments}}}}}]}}"#
        )
    };
    let a = r#""{\"x\":1}""#;
    let b = r#""{\"x\":2}""#;
    let two = [("a", "{\"x\":1}"), ("b", "{\"x\":2}")];
    for (what, first, second) in [
        ("no ids", whole("\"index\":0,", "", "a", a), whole("\"index\":1,", "", "b", b)),
        ("no index", whole("", "\"id\":\"1\",", "a", a), whole("", "\"id\":\"2\",", "b", b)),
        ("neither", whole("", "", "a", a), whole("", "", "b", b)),
        (
            "all at one index",
            whole("\"index\":0,", "\"id\":\"1\",", "a", a),
            whole("\"index\":0,", "\"id\":\"2\",", "b", b),
        ),
        (
            "one id for all",
            whole("\"index\":0,", "\"id\":\"1\",", "a", a),
            whole("\"index\":1,", "\"id\":\"1\",", "b", b),
        ),
        (
            "arguments that are no text",
            whole("\"index\":0,", "\"id\":\"1\",", "a", "{\"x\":1}"),
            whole("\"index\":1,", "\"id\":\"2\",", "b", "{\"x\":2}"),
        ),
    ] {
        // Some say that they stopped, not that they wait for tools.
        for reason in ["tool_calls", "stop"] {
            let said = deltas(Provider::Compatible, &[&first, &second], reason).await;
            assert_eq!(calls(&said), two, "{what}");
            assert_eq!(said.last(), Some(&done(Finish::ToolCalls)), "{what}");
        }
    }
    // Pieces that go on where the last call is, and a name that comes late or again and again.
    let said = deltas(
        Provider::Compatible,
        &[
            r#"{"tool_calls":[{"id":"1","function":{"name":"a","arguments":"{\"x\""}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":":1}"}}]}"#,
            r#"{"tool_calls":[{"index":5,"id":"2","function":{"arguments":"{\"x\""}}]}"#,
            r#"{"tool_calls":[{"index":5,"id":"2","function":{"name":"b","arguments":":"}}]}"#,
            r#"{"tool_calls":[{"index":5,"id":"2","function":{"name":"b","arguments":"2}"}}]}"#,
        ],
        "tool_calls",
    )
    .await;
    assert_eq!(calls(&said), two);
    // Pieces at an index that was used for another call before.
    let said = deltas(
        Provider::Compatible,
        &[
            &whole("\"index\":0,", "\"id\":\"1\",", "a", a),
            r#"{"tool_calls":[{"index":0,"id":"2","function":{"name":"b","arguments":"{\"x\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":":2}"}}]}"#,
        ],
        "tool_calls",
    )
    .await;
    assert_eq!(calls(&said), two);
}

#[tokio::test]
async fn an_answer_that_says_how_it_ended_is_whole_without_the_last_word() {
    let text_chunk = delta(r#"{"content":"Hi"}"#);
    let stream = bare(&[&text_chunk, &finished("length")]);
    let expected = (vec![text("Hi"), done(Finish::Length)], None);
    for ending in [Ending::Proper, Ending::Cut] {
        let answer = Answer::stream(&stream).ending(ending);
        assert_eq!(said(Provider::Compatible, answer).await, expected, "{ending:?}");
    }
    // And without the last blank line.
    assert_eq!(said(Provider::Compatible, Answer::stream(stream.trim_end())).await, expected);
    // But not without its end.
    let (said, failure) = said(Provider::Compatible, Answer::stream(&bare(&[&text_chunk]))).await;
    assert_eq!(said, [text("Hi")]);
    assert_eq!(failure.unwrap().kind, FailureKind::Connection);
}

#[tokio::test]
async fn refusals_are_filtered_and_broken_off_answers_are_failures() {
    let said_no = deltas(Provider::OpenAiChat, &[r#"{"refusal":"No."}"#], "stop").await;
    assert_eq!(said_no, [text("No."), done(Finish::ContentFilter)]);
    for (last, kind) in [
        (finished("insufficient_system_resource"), FailureKind::Busy),
        (finished("error"), FailureKind::Provider),
        (r#"{"error":{"message":"Upstream","code":502}}"#.to_owned(), FailureKind::Provider),
    ] {
        let (_, failure) = said(Provider::DeepSeek, Answer::stream(&bare(&[&last]))).await;
        assert_eq!(failure.unwrap().kind, kind, "{last}");
    }
    let nameless = r#"{"tool_calls":[{"index":0,"id":"1","function":{"arguments":"{}"}}]}"#;
    let stream = bare(&[&delta(nameless), &finished("tool_calls")]);
    let (_, failure) = said(Provider::OpenAiChat, Answer::stream(&stream)).await;
    assert_eq!(failure.unwrap().kind, FailureKind::Provider);
}
