//! Requests, as each API documents them.

use selvedge_agents::model::{BadUrl, Effort, Http, Model, Provider, Settings, Thinking, ToolSpec};
use serde_json::{Value, json};

use super::canned::{Answer, Asked, ask_with, model, serve, thread};

fn tools() -> Vec<ToolSpec> {
    vec![
        ToolSpec {
            name: "weather".into(),
            description: "Looks out of the window.".into(),
            schema: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
        },
        ToolSpec { name: "now".into(), description: "The time.".into(), schema: json!({}) },
    ]
}

/// What a provider is asked, at a base URL with this path.
async fn asked(provider: Provider, path: &str, settings: &Settings) -> Asked {
    let history = thread(&[
        r#"{"kind":"message","role":"user","content":"Weather?"}"#,
        r#"{"kind":"tool-call","agentId":"a","toolCallId":"c1","toolName":"weather","arguments":{"city":"Rome"}}"#,
        r#"{"kind":"tool-complete","toolCallId":"c1","toolName":"weather","success":true,"result":"dry"}"#,
    ]);
    let (url, served) = serve(Answer::error(400, "", "{}")).await;
    let model = model(provider, &format!("{url}{path}"));
    ask_with(&model, &history, &tools(), settings).await.unwrap_err();
    served.await.unwrap()
}

fn settings(thinking: Thinking) -> Settings {
    let extra = json!({"user": "me"}).as_object().unwrap().clone();
    Settings { max_tokens: Some(9000), temperature: Some(0.5), thinking: Some(thinking), extra }
}

const EFFORT: Thinking = Thinking::Effort(Effort::High);

fn schemas() -> (Value, Value) {
    let empty = json!({"type": "object", "properties": {}});
    (json!({"type": "object", "properties": {"city": {"type": "string"}}}), empty)
}

#[tokio::test]
async fn anthropic_is_asked_for_a_message() {
    let (city, empty) = schemas();
    let asked_now = asked(Provider::Anthropic, "", &settings(EFFORT)).await;
    let head = asked_now.head.to_lowercase();
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    for header in [
        "x-api-key: sk-not-to-be-told",
        "anthropic-version: 2023-06-01",
        "content-type: application/json",
    ] {
        assert!(head.contains(header), "{head}");
    }
    assert_eq!(
        asked_now.body,
        json!({
            "model": "a-model", "max_tokens": 9000, "temperature": 0.5, "stream": true, "user": "me",
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "high"},
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Rome"}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "dry"}]}],
            "tools": [
                {"name": "weather", "description": "Looks out of the window.", "input_schema": city},
                {"name": "now", "description": "The time.", "input_schema": empty}],
        })
    );
    // A budget is for models that take one; the answer needs room beside it.
    let budget = Settings { thinking: Some(Thinking::Tokens(2048)), ..Settings::default() };
    let body = asked(Provider::Anthropic, "/", &budget).await.body;
    let thinking = json!({"type": "enabled", "budget_tokens": 2048, "display": "summarized"});
    assert_eq!((&body["thinking"], &body["max_tokens"]), (&thinking, &json!(10240)));
    assert_eq!(body.get("output_config"), None);
}

#[tokio::test]
async fn chat_completions_are_asked_for_in_each_ones_words() {
    let (city, empty) = schemas();
    let function = |name: &str, description: &str, schema: &Value| json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}});
    let usual = json!({
        "model": "a-model", "temperature": 0.5, "stream": true, "user": "me",
        "stream_options": {"include_usage": true},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "dry"}],
        "tools": [function("weather", "Looks out of the window.", &city), function("now", "The time.", &empty)],
    });
    for (provider, own) in [
        (Provider::OpenAiChat, json!({"max_completion_tokens": 9000, "reasoning_effort": "high"})),
        (
            Provider::DeepSeek,
            json!({"max_tokens": 9000, "thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ),
        (Provider::Ollama, json!({"max_tokens": 9000, "reasoning_effort": "high"})),
        (Provider::Compatible, json!({"max_tokens": 9000})),
    ] {
        let asked = asked(provider, "/v1/", &settings(EFFORT)).await;
        let head = asked.head.to_lowercase();
        assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
        assert!(head.contains("authorization: bearer sk-not-to-be-told"), "{head}");
        let mut expected = usual.clone();
        expected.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        assert_eq!(asked.body, expected, "{provider:?}");
    }
}

#[tokio::test]
async fn responses_are_asked_for_without_keeping_anything() {
    let (city, empty) = schemas();
    let tokens = settings(Thinking::Tokens(3000));
    let asked = asked(Provider::OpenAiResponses, "/v1", &tokens).await;
    assert!(asked.head.starts_with("POST /v1/responses HTTP/1.1"), "{}", asked.head);
    assert_eq!(
        asked.body,
        json!({
            "model": "a-model", "max_output_tokens": 9000, "temperature": 0.5, "stream": true,
            "store": false, "user": "me",
            "reasoning": {"effort": "low", "summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "instructions": "Be brief.",
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
                {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Rome\"}"},
                {"type": "function_call_output", "call_id": "c1", "output": "dry"}],
            "tools": [
                {"type": "function", "name": "weather", "description": "Looks out of the window.", "parameters": city, "strict": false},
                {"type": "function", "name": "now", "description": "The time.", "parameters": empty, "strict": false}],
        })
    );
}

#[tokio::test]
async fn gemini_is_asked_to_generate_content() {
    let (city, empty) = schemas();
    let asked_now = asked(Provider::Gemini, "/v1beta", &settings(EFFORT)).await;
    let line = "POST /v1beta/models/a-model:streamGenerateContent?alt=sse HTTP/1.1";
    assert!(asked_now.head.starts_with(line), "{}", asked_now.head);
    assert!(asked_now.head.contains("x-goog-api-key: sk-not-to-be-told"), "{}", asked_now.head);
    assert_eq!(
        asked_now.body,
        json!({
            "user": "me",
            "generationConfig": {"maxOutputTokens": 9000, "temperature": 0.5,
                "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "high"}},
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Weather?"}]},
                {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Rome"}}}]},
                {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "weather", "response": {"output": "dry"}}}]}],
            "tools": [{"functionDeclarations": [
                {"name": "weather", "description": "Looks out of the window.", "parametersJsonSchema": city},
                {"name": "now", "description": "The time.", "parametersJsonSchema": empty}]}],
        })
    );
    let budget = Settings { thinking: Some(Thinking::Tokens(512)), ..Settings::default() };
    let body = asked(Provider::Gemini, "/v1beta", &budget).await.body;
    let config = json!({"includeThoughts": true, "thinkingBudget": 512});
    assert_eq!(body["generationConfig"]["thinkingConfig"], config);
}

#[tokio::test]
async fn a_model_is_where_its_provider_is_or_where_it_is_said_to_be() {
    let http = Http::new(std::time::Duration::from_secs(1)).unwrap();
    let at = |provider, base| Model::new(provider, "m", base, http.clone());
    for provider in Provider::ALL {
        assert_eq!(Provider::named(provider.name()), Some(provider));
        assert_eq!(at(provider, None).is_ok(), provider.base_url().is_some(), "{provider:?}");
    }
    for bad in ["", "api.example.com", "ftp://x/", "https://u:p@x/", "https://x/?key=1"] {
        let error: BadUrl = at(Provider::Compatible, Some(bad)).unwrap_err();
        assert!(error.to_string().contains("is not a base URL"), "{bad}");
    }
    // No name leads to another path.
    let (url, served) = serve(Answer::error(404, "", "{}")).await;
    let model = Model::new(Provider::Gemini, "../../a?b#c", Some(&url), http.clone()).unwrap();
    let view = selvedge_protocol::perspective::View::Recorder;
    let history = super::canned::hello();
    let settings = Settings::default();
    let request = selvedge_agents::model::Request {
        history: &history,
        view,
        system: None,
        tools: &[],
        settings: &settings,
        iteration: 1,
        heard: 0,
    };
    model.stream(&request).await.unwrap_err();
    let head = served.await.unwrap().head;
    assert!(!head.contains("..") && head.contains("a%3Fb%23c:stream"), "{head}");
}
