//! Whole turns with a model: what it thought goes back to it as it gave it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use selvedge_agents::model::{Provider, ToolSpec};
use selvedge_agents::{Agent, Invocation, Left, Limits, Run, Tool, ToolError};
use serde_json::{Value, json};

use super::canned::{Answer, Asked, Ending, bare, model, serve_all, typed};
use crate::stage::Stage;

struct Dry;

impl Run for Dry {
    fn run(&self, _: Invocation) -> BoxFuture<'static, Result<Value, ToolError>> {
        async { Ok(json!("dry")) }.boxed()
    }
}

/// A turn of an agent whose provider answers so, and what the provider was asked.
async fn turn(provider: Provider, answers: Vec<Answer>) -> (Stage, Vec<Asked>) {
    let stage = Stage::new("Weather?").await;
    let (url, served) = serve_all(answers).await;
    let mut agent = Agent::new("ada", Arc::new(model(provider, &url)));
    agent.limits = Limits { backoff: Duration::from_millis(1), ..Limits::default() };
    for name in ["weather", "now"] {
        let schema = json!({"type": "object"});
        let spec = ToolSpec { name: name.into(), description: String::new(), schema };
        agent.tools.push(Arc::new(Tool::here(spec, Arc::new(Dry)).unwrap()));
    }
    assert_eq!(stage.run(agent, "t").await, Left::Over);
    (stage, served.await.unwrap())
}

#[tokio::test]
async fn anthropic_gets_its_thoughts_back_signed_redacted_and_in_place() {
    let last = [
        r#"{"type":"message_start","message":{"model":"claude","usage":{"input_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Dry."}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let calls = typed(super::anthropic::TOOLS);
    // The first answer breaks off, and leaves nothing behind.
    let cut = Answer::stream(&calls[..calls.len() / 2]).ending(Ending::Cut);
    let answers = vec![cut, Answer::stream(&calls), Answer::stream(&typed(&last))];
    let (stage, asked) = turn(Provider::Anthropic, answers).await;
    assert_eq!(asked[0].body, asked[1].body);
    assert_eq!(
        asked[2].body["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Two é cities.", "signature": "EqQBCgIY=="},
                {"type": "redacted_thinking", "data": "EmwK"},
                {"type": "text", "text": "I look 🌤."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Tokyo"}},
                {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "dry"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "dry"}]}
        ])
    );
    let told = stage.told();
    assert!(told.iter().any(|line| line.starts_with("attempt-superseded")), "{told:?}");
    assert_eq!(told.last().unwrap(), "task-complete Dry.");
    // No key is in the journal.
    assert!(!format!("{:?}", stage.events()).contains(super::canned::KEY));
}

#[tokio::test]
async fn gemini_gets_its_signature_back_on_the_call_it_came_on() {
    let last = r#"{"candidates":[{"content":{"parts":[{"text":"Dry."}]},"finishReason":"STOP"}]}"#;
    let answers = vec![Answer::stream(&bare(super::gemini::TOOLS)), Answer::stream(&bare(&[last]))];
    let (_, asked) = turn(Provider::Gemini, answers).await;
    assert_eq!(
        asked[1].body["contents"][1]["parts"],
        json!([
            {"text": "**Two cities**", "thought": true},
            {"text": "I löok"},
            {"functionCall": {"id": "fc1", "name": "weather", "args": {"city": "Tokyo"}}, "thoughtSignature": "CtEB"},
            {"functionCall": {"id": "fc2", "name": "weather", "args": {"city": "Rome"}}}
        ])
    );
}

#[tokio::test]
async fn responses_get_their_encrypted_thoughts_back() {
    let last = [
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"Dry."}"#,
        r#"{"type":"response.completed","response":{"status":"completed"}}"#,
    ];
    let answers =
        vec![Answer::stream(&typed(super::responses::TOOLS)), Answer::stream(&typed(&last))];
    let (_, asked) = turn(Provider::OpenAiResponses, answers).await;
    let input = asked[1].body["input"].as_array().unwrap();
    let summary = json!([{"type": "summary_text", "text": "Two cities.\n\nLöok."}]);
    assert_eq!(
        input[1],
        json!({"type": "reasoning", "summary": summary, "encrypted_content": "gAAA-whole"})
    );
    let kinds: Vec<&str> = input.iter().map(|item| item["type"].as_str().unwrap()).collect();
    let call = "function_call";
    let back = "function_call_output";
    assert_eq!(kinds, ["message", "reasoning", "message", call, call, back, back]);
}

#[tokio::test]
async fn deepseek_gets_the_thought_back_that_led_to_a_call() {
    let first = bare(&[
        r#"{"choices":[{"delta":{"reasoning_content":"Look."}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"weather","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    let last = bare(&[r#"{"choices":[{"delta":{"content":"Dry."},"finish_reason":"stop"}]}"#]);
    let answers = vec![Answer::stream(&first), Answer::stream(&last)];
    let (_, asked) = turn(Provider::DeepSeek, answers).await;
    assert_eq!(asked[1].body["messages"][1]["reasoning_content"], "Look.");
}
