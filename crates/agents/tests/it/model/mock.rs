//! Against `@copilotkit/aimock`, a mock of the providers' APIs that others wrote.
//!
//! `cargo xtask test --only models` starts it (`conformance/js/mock_models.mjs`) and runs these.

use std::time::Duration;

use selvedge_agents::model::{
    Effort, Failure, FailureKind, Finish, Http, Key, Model, Provider, Said, Settings, Thinking,
    ToolSpec,
};
use serde_json::json;

use super::canned::{KEY, all, ask_with, thread};

/// A model of each API, at the mock.
fn models() -> Vec<Model> {
    let url = std::env::var("SELVEDGE_MODELS_MOCK").expect("the address of the mock");
    let http = Http::new(Duration::from_secs(5)).unwrap();
    let cases = [
        (Provider::Anthropic, "claude-opus-4-1", ""),
        (Provider::OpenAiResponses, "gpt-5", "/v1"),
        (Provider::OpenAiChat, "gpt-5", "/v1"),
        (Provider::DeepSeek, "deepseek-reasoner", "/v1"),
        (Provider::Gemini, "gemini-2.5-pro", "/v1beta"),
    ];
    let model = |(provider, name, path): (_, &str, _)| {
        let base = format!("{url}{path}");
        let model = Model::new(provider, name, Some(&base), http.clone()).unwrap();
        model.with_key(Key::new(KEY).unwrap())
    };
    cases.into_iter().map(model).collect()
}

/// What a model says to somebody who says this, after what else happened.
async fn say(model: &Model, words: &str, then: &[String]) -> (Vec<Said>, Option<Failure>) {
    let mut lines = vec![json!({"kind": "message", "role": "user", "content": words}).to_string()];
    lines.extend_from_slice(then);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let tools = [ToolSpec {
        name: "weather".into(),
        description: "Looks out of the window.".into(),
        schema: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    }];
    let thinking = Some(Thinking::Effort(Effort::Low));
    let settings = Settings { max_tokens: Some(4096), thinking, ..Settings::default() };
    all(ask_with(model, &thread(&lines), &tools, &settings).await).await
}

fn text_of(said: &[Said]) -> String {
    let text = |said: &Said| match said {
        Said::Text(text) => text.clone(),
        _ => String::new(),
    };
    said.iter().map(text).collect()
}

fn finish(said: &[Said]) -> Option<Finish> {
    match said.last() {
        Some(Said::Done(done)) => Some(done.finish),
        _ => None,
    }
}

#[tokio::test]
#[ignore = "needs the mock: cargo xtask test --only models"]
async fn the_mock_says_text() {
    for model in models() {
        let (said, failure) = say(&model, "text", &[]).await;
        assert_eq!(failure, None, "{:?}", model.provider());
        assert_eq!(text_of(&said), "Hello there, “friend” 🌤.", "{:?}", model.provider());
        assert!(said.len() > 4, "it comes in pieces: {said:?}");
        assert_eq!(finish(&said), Some(Finish::Stop));
    }
}

#[tokio::test]
#[ignore = "needs the mock: cargo xtask test --only models"]
async fn the_mock_thinks_before_it_speaks() {
    for model in models() {
        let (said, failure) = say(&model, "thinking", &[]).await;
        assert_eq!(failure, None, "{:?}", model.provider());
        let thought: String = said
            .iter()
            .filter_map(|said| match said {
                Said::Thought(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(thought, "Compare the digits, one by one.", "{:?}", model.provider());
        assert_eq!(text_of(&said), "9.8 is greater.");
        let ends: Vec<(Option<&str>, &str)> = said
            .iter()
            .filter_map(|said| match said {
                Said::ThoughtEnd { signature, provider } => Some((signature.as_deref(), *provider)),
                _ => None,
            })
            .collect();
        match model.provider() {
            Provider::Anthropic => assert_eq!(
                ends,
                [(Some("ZW5jcnlwdGVk"), "anthropic-redacted"), (Some("c2lnbmVk"), "anthropic")]
            ),
            Provider::OpenAiResponses => {
                assert!(matches!(ends.as_slice(), [(Some(_), "openai")]), "{ends:?}");
            }
            provider => assert_eq!(ends, [(None, provider.author())]),
        }
    }
}

#[tokio::test]
#[ignore = "needs the mock: cargo xtask test --only models"]
async fn the_mock_calls_tools_in_parallel_and_takes_their_results() {
    for model in models() {
        let (said, failure) = say(&model, "parallel", &[]).await;
        assert_eq!(failure, None, "{:?}", model.provider());
        assert_eq!(finish(&said), Some(Finish::ToolCalls), "{:?}", model.provider());
        let mut then = Vec::new();
        let mut arguments_seen = Vec::new();
        let mut results = vec!["wet", "dry"];
        for said in &said {
            if let Said::Call { id, name, arguments } = said {
                assert_eq!(name, "weather");
                let value: serde_json::Value = serde_json::from_str(arguments).unwrap();
                arguments_seen.push(value.clone());
                then.push(
                    json!({"kind": "tool-call", "agentId": "a", "toolCallId": id,
                        "toolName": name, "arguments": value})
                    .to_string(),
                );
                then.push(
                    json!({"kind": "tool-complete", "toolCallId": id, "toolName": name,
                        "success": true, "result": results.pop()})
                    .to_string(),
                );
            }
        }
        let expected = [json!({"city": "Tokyo"}), json!({"city": "Rome", "units": "celsius"})];
        assert_eq!(arguments_seen, expected, "{:?}", model.provider());
        let (said, failure) = say(&model, "parallel", &then).await;
        assert_eq!(failure, None, "{:?}", model.provider());
        assert_eq!(text_of(&said), "Dry and wet.", "{:?}", model.provider());
    }
}

#[tokio::test]
#[ignore = "needs the mock: cargo xtask test --only models"]
async fn the_mock_says_no_in_every_way() {
    for model in models() {
        for (words, kind, wait) in [
            ("limited", FailureKind::Busy, Some(Duration::from_secs(7))),
            ("failing", FailureKind::Provider, None),
            ("overloaded", FailureKind::Busy, None),
            ("unauthorized", FailureKind::Unauthorized, None),
        ] {
            let (said, failure) = say(&model, words, &[]).await;
            let failure = failure.unwrap();
            assert_eq!(said, [], "{:?} {words}", model.provider());
            assert_eq!((failure.kind, failure.retry_after), (kind, wait), "{failure}");
        }
    }
}

#[tokio::test]
#[ignore = "needs the mock: cargo xtask test --only models"]
async fn the_mock_breaks_off() {
    for model in models() {
        let (said, failure) = say(&model, "cut", &[]).await;
        let failure = failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Connection, "{:?} {failure}", model.provider());
        let whole = "This is never said to its end, however long one waits for it.";
        let text = text_of(&said);
        assert!(whole.starts_with(&text) && text.len() < whole.len(), "{text}");
    }
}
