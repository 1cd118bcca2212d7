//! A thread as one agent sees it.

use selvedge_protocol::dialect::{self, EncodeOptions, Encoding};
use selvedge_protocol::journal::{Batch, Event};
use selvedge_protocol::json::Doc;
use selvedge_protocol::perspective::{
    Attribution, History, OthersTools, Policy, View, anthropic, gemini, openai, responses,
};

/// The events of the ThreadProtocol document's example thread.
const EXAMPLE: &[&str] = &[
    r#"{"kind":"thread-created","contextId":"550e8400-e29b-41d4-a716-446655440000","title":"Multi-agent discussion about weather"}"#,
    r#"{"kind":"participant-joined","participantId":"agent_001","role":"agent","identifier":"weather_assistant_v1","name":"Weather Assistant"}"#,
    r#"{"kind":"participant-joined","participantId":"agent_002","role":"agent","identifier":"travel_planner_v1","name":"Travel Planner"}"#,
    r#"{"kind":"message","role":"user","content":"What's the weather like in Tokyo?","timestamp":"2025-01-15T10:00:00Z"}"#,
    r#"{"kind":"message","role":"agent","author":"agent_001","agentId":"agent_001","content":"Let me check the current weather in Tokyo for you.","timestamp":"2025-01-15T10:00:01Z"}"#,
    r#"{"kind":"tool-call","agentId":"agent_001","toolCallId":"call_001","toolName":"get_weather","arguments":{"city": "Tokyo", "units": "celsius"},"timestamp":"2025-01-15T10:00:02Z"}"#,
    r#"{"kind":"tool-complete","toolCallId":"call_001","toolName":"get_weather","success":true,"result":{"temperature": 18,"conditions": "partly cloudy","humidity": 65},"timestamp":"2025-01-15T10:00:03Z"}"#,
    r#"{"kind":"message","role":"agent","author":"agent_001","agentId":"agent_001","content":"The weather in Tokyo is currently 18°C and partly cloudy with 65% humidity.","timestamp":"2025-01-15T10:00:04Z"}"#,
    r#"{"kind":"system","name":"agent_join","data":{"agent_id":"agent_002","invited_by":"user"},"timestamp":"2025-01-15T10:00:05Z"}"#,
    r#"{"kind":"message","role":"agent","author":"agent_002","agentId":"agent_002","content":"Great weather for sightseeing! Would you like recommendations for outdoor activities in Tokyo?","timestamp":"2025-01-15T10:00:06Z"}"#,
];

fn with_events<T>(lines: &[&str], f: impl FnOnce(Vec<Event<'_>>) -> T) -> T {
    let docs: Vec<Doc<'_>> = lines.iter().map(|line| Doc::parse(line).unwrap()).collect();
    f(docs.iter().map(|doc| Event::parse(doc.root()).unwrap()).collect())
}

fn history(lines: &[&str]) -> History {
    with_events(lines, |events| {
        let mut history = History::new();
        for event in &events {
            history.apply(event);
        }
        history
    })
}

fn model_messages(lines: &[&str], agent: &str) -> String {
    with_events(lines, |events| {
        let options = EncodeOptions { agent: Some(agent.to_owned()), ..EncodeOptions::default() };
        let mut encoding = Encoding::new(dialect::named("pydantic-ai").unwrap(), &options);
        let mut out = Vec::new();
        encoding.batch(&Batch::native(events), &mut out);
        encoding.finish(&mut out);
        String::from_utf8(out).unwrap()
    })
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

fn policy(attribution: Attribution, tools: OthersTools) -> Policy {
    Policy { attribution, tools }
}

/// What each part of each message says, by kind.
fn outline(messages: &str) -> Vec<Vec<(String, String)>> {
    let messages = json(messages);
    let parts = |message: &serde_json::Value| {
        message["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| {
                let text = |key: &str| part[key].as_str().map(str::to_owned);
                (text("part_kind").unwrap(), text("content").or(text("tool_name")).unwrap())
            })
            .collect()
    };
    messages.as_array().unwrap().iter().map(parts).collect()
}

#[test]
fn the_first_agent_sees_its_own_tools_and_the_others_text_with_a_prefix() {
    let pair = |kind: &str, text: &str| (kind.to_owned(), text.to_owned());
    let seen = model_messages(EXAMPLE, "agent_001");
    assert_eq!(
        outline(&seen),
        [
            vec![pair("user-prompt", "What's the weather like in Tokyo?")],
            vec![
                pair("text", "Let me check the current weather in Tokyo for you."),
                pair("tool-call", "get_weather"),
            ],
            vec![pair("tool-return", "get_weather")],
            vec![pair(
                "text",
                "The weather in Tokyo is currently 18°C and partly cloudy with 65% humidity."
            )],
            vec![pair(
                "user-prompt",
                "{agent:Travel Planner}: Great weather for sightseeing! Would you like recommendations for outdoor activities in Tokyo?"
            )],
        ]
    );
    assert!(
        seen.contains(r#""args":{"city":"Tokyo","units":"celsius"},"tool_call_id":"call_001""#)
    );
    assert!(seen.contains(r#""conversation_id":"550e8400-e29b-41d4-a716-446655440000""#));
}

#[test]
fn the_second_agent_sees_the_first_as_input_without_its_tools() {
    let pair = |kind: &str, text: &str| (kind.to_owned(), text.to_owned());
    // By id, identifier or name: the same agent.
    for agent in ["agent_002", "travel_planner_v1", "Travel Planner"] {
        assert_eq!(
            outline(&model_messages(EXAMPLE, agent)),
            [
                vec![
                    pair("user-prompt", "What's the weather like in Tokyo?"),
                    pair(
                        "user-prompt",
                        "{agent:Weather Assistant}: Let me check the current weather in Tokyo for you."
                    ),
                    pair(
                        "user-prompt",
                        "{agent:Weather Assistant}: The weather in Tokyo is currently 18°C and partly cloudy with 65% humidity."
                    ),
                ],
                vec![pair(
                    "text",
                    "Great weather for sightseeing! Would you like recommendations for outdoor activities in Tokyo?"
                )],
            ]
        );
    }
}

#[test]
fn openai_messages_of_both_agents() {
    let history = history(EXAMPLE);
    let first = View::Agent("agent_001", Policy::default());
    assert_eq!(
        json(&openai(&history, first, None)),
        json(
            r#"{"messages":[
            {"role":"user","content":"What's the weather like in Tokyo?"},
            {"role":"assistant","content":"Let me check the current weather in Tokyo for you.","tool_calls":[{"id":"call_001","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Tokyo\",\"units\":\"celsius\"}"}}]},
            {"role":"tool","tool_call_id":"call_001","content":"{\"temperature\":18,\"conditions\":\"partly cloudy\",\"humidity\":65}"},
            {"role":"assistant","content":"The weather in Tokyo is currently 18°C and partly cloudy with 65% humidity."},
            {"role":"user","content":"{agent:Travel Planner}: Great weather for sightseeing! Would you like recommendations for outdoor activities in Tokyo?"}]}"#
        )
    );
    let second = View::Agent("agent_002", policy(Attribution::Xml, OthersTools::Show));
    assert_eq!(
        json(&openai(&history, second, None)),
        json(
            r#"{"messages":[
            {"role":"user","content":[
              {"type":"text","text":"What's the weather like in Tokyo?"},
              {"type":"text","text":"<message from=\"Weather Assistant\">Let me check the current weather in Tokyo for you.</message>"},
              {"type":"text","text":"<message from=\"Weather Assistant\">[called get_weather with {&quot;city&quot;: &quot;Tokyo&quot;, &quot;units&quot;: &quot;celsius&quot;}]</message>"},
              {"type":"text","text":"<message from=\"Weather Assistant\">[get_weather returned {&quot;temperature&quot;: 18,&quot;conditions&quot;: &quot;partly cloudy&quot;,&quot;humidity&quot;: 65}]</message>"},
              {"type":"text","text":"<message from=\"Weather Assistant\">The weather in Tokyo is currently 18°C and partly cloudy with 65% humidity.</message>"}]},
            {"role":"assistant","content":"Great weather for sightseeing! Would you like recommendations for outdoor activities in Tokyo?"}]}"#
        )
    );
}

const THINKING: &[&str] = &[
    r#"{"kind":"message","role":"system","content":"Be brief."}"#,
    r#"{"kind":"message","role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image","image_base64":"__79","media_type":"image/png"}]}"#,
    r#"{"kind":"step-started","taskId":"r","agentId":"a"}"#,
    r#"{"kind":"thought-stream","taskId":"r","agentId":"a","thoughtId":"t","thoughtType":"thinking","verbosity":"normal","content":"Hm.","signature":"sig"}"#,
    r#"{"kind":"tool-call","taskId":"r","agentId":"a","toolCallId":"c1","toolName":"look","arguments":{"x":1}}"#,
    r#"{"kind":"tool-call","taskId":"r","agentId":"a","toolCallId":"c2","toolName":"never_returned","arguments":{}}"#,
    r#"{"kind":"step-finished","taskId":"r","agentId":"a"}"#,
    r#"{"kind":"tool-complete","taskId":"r","toolCallId":"c1","toolName":"look","success":false,"error":"too dark"}"#,
    r#"{"kind":"thought-stream","agentId":"b","thoughtId":"u","thoughtType":"thinking","verbosity":"normal","content":"secret"}"#,
    r#"{"kind":"message","role":"agent","agentId":"b","content":"I see\nnothing"}"#,
];

#[test]
fn anthropic_messages_keep_signed_thoughts_and_alternate() {
    let seen = View::Agent("a", policy(Attribution::Quote, OthersTools::Hide));
    assert_eq!(
        json(&anthropic(&history(THINKING), seen, None)),
        json(
            r#"{"system":"Be brief.","messages":[
            {"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"//79"}}]},
            {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"sig"},{"type":"tool_use","id":"c1","name":"look","input":{"x":1}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"too dark","is_error":true},{"type":"text","text":"b wrote:\n> I see\n> nothing"}]}]}"#
        )
    );
}

#[test]
fn gemini_contents_carry_the_signature_on_the_call() {
    let seen = View::Agent("a", policy(Attribution::None, OthersTools::Hide));
    assert_eq!(
        json(&gemini(&history(THINKING), seen, None)),
        json(
            r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[
            {"role":"user","parts":[{"text":"What is this?"},{"inlineData":{"mimeType":"image/png","data":"//79"}}]},
            {"role":"model","parts":[{"text":"Hm.","thought":true},{"functionCall":{"id":"c1","name":"look","args":{"x":1}},"thoughtSignature":"sig"}]},
            {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"error":"too dark"}}},{"text":"I see\nnothing"}]}]}"#
        )
    );
}

#[test]
fn others_tools_are_summarised_on_request() {
    let seen = View::Agent("b", policy(Attribution::Prefix, OthersTools::Summarise));
    assert_eq!(
        json(&gemini(&history(&THINKING[2..]), seen, None)),
        json(
            r#"{"contents":[
            {"role":"user","parts":[{"text":"{agent:a}: [used the tool look]"},{"text":"{agent:a}: [used the tool never_returned]"},{"text":"{agent:a}: [the tool look failed]"}]},
            {"role":"model","parts":[{"text":"secret","thought":true},{"text":"I see\nnothing"}]}]}"#
        )
    );
}

#[test]
fn responses_items_carry_encrypted_thoughts_before_what_they_led_to() {
    let lines = &[
        r#"{"kind":"message","role":"system","content":"Be brief."}"#,
        THINKING[1],
        THINKING[2],
        r#"{"kind":"thought-stream","taskId":"r","agentId":"a","thoughtId":"t","thoughtType":"thinking","verbosity":"normal","content":"Hm.","signature":"sealed","providerName":"openai"}"#,
        r#"{"kind":"thought-stream","taskId":"r","agentId":"a","thoughtId":"u","thoughtType":"thinking","verbosity":"normal","content":"Other.","signature":"x","providerName":"anthropic"}"#,
        THINKING[4],
        THINKING[5],
        r#"{"kind":"thought-stream","taskId":"r","agentId":"a","thoughtId":"v","thoughtType":"thinking","verbosity":"normal","content":"","signature":"led nowhere","providerName":"openai"}"#,
        THINKING[6],
        THINKING[7],
        r#"{"kind":"message","role":"agent","agentId":"a","content":"It is dark."}"#,
    ];
    let seen = View::Agent("a", policy(Attribution::None, OthersTools::Hide));
    assert_eq!(
        json(&responses(&history(lines), seen, Some("You look."))),
        json(
            r#"{"instructions":"You look.\n\nBe brief.","input":[
            {"type":"message","role":"user","content":[{"type":"input_text","text":"What is this?"},{"type":"input_image","image_url":"data:image/png;base64,//79","detail":"auto"}]},
            {"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"sealed"},
            {"type":"function_call","call_id":"c1","name":"look","arguments":"{\"x\":1}"},
            {"type":"function_call_output","call_id":"c1","output":"too dark"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"It is dark."}]}]}"#
        )
    );
}

#[test]
fn the_system_prompt_comes_first_everywhere() {
    let history = history(&THINKING[..2]);
    let system = Some("You look.");
    let first = |text: String, pointer: &str| json(&text).pointer(pointer).unwrap().clone();
    let recorder = View::Recorder;
    assert_eq!(first(openai(&history, recorder, system), "/messages/0/content"), "You look.");
    assert_eq!(first(openai(&history, recorder, system), "/messages/1/content"), "Be brief.");
    let both = "You look.\n\nBe brief.";
    assert_eq!(first(anthropic(&history, recorder, system), "/system"), both);
    assert_eq!(first(responses(&history, recorder, system), "/instructions"), both);
    let parts = first(gemini(&history, recorder, system), "/systemInstruction/parts");
    assert_eq!(parts, json(r#"[{"text":"You look."},{"text":"Be brief."}]"#));
}

#[test]
fn thoughts_go_back_as_their_provider_gave_them() {
    let thought = |id: &str, text: &str, provider: &str| {
        format!(
            r#"{{"kind":"thought-stream","taskId":"r","agentId":"a","thoughtId":"{id}","thoughtType":"thinking","verbosity":"normal","content":"{text}","signature":"{id}-sig","providerName":"{provider}"}}"#
        )
    };
    let call = r#"{"kind":"tool-call","taskId":"r","agentId":"a","toolCallId":"c1","toolName":"look","arguments":{}}"#;
    let done = r#"{"kind":"tool-complete","taskId":"r","toolCallId":"c1","toolName":"look","success":true,"result":"dark"}"#;
    let said =
        |thoughts: &[String], write: fn(&History, View<'_>, Option<&str>) -> String, at: &str| {
            let mut lines: Vec<&str> = thoughts.iter().map(String::as_str).collect();
            lines.extend([call, done]);
            json(&write(&history(&lines), View::Recorder, None)).pointer(at).unwrap().clone()
        };
    // One whose text was left out is not one that was redacted.
    let thoughts = [
        thought("left-out", "", "anthropic"),
        thought("hidden", "", "anthropic-redacted"),
        thought("foreign", "No.", "google"),
    ];
    let blocks = said(&thoughts, anthropic, "/messages/0/content");
    assert_eq!(
        blocks,
        json(
            r#"[{"type":"thinking","thinking":"","signature":"left-out-sig"},
            {"type":"redacted_thinking","data":"hidden-sig"},
            {"type":"tool_use","id":"c1","name":"look","input":{}}]"#
        )
    );
    // DeepSeek refuses a call without the thought that led to it; nobody else gets it.
    let thoughts = [thought("t", "Look.", "deepseek"), thought("u", "No.", "anthropic")];
    assert_eq!(said(&thoughts, openai, "/messages/0/reasoning_content"), "Look.");
    // What signs a text that is whole already comes after it.
    let after = history(&[
        r#"{"kind":"message","role":"user","content":"Hi"}"#,
        r#"{"kind":"content-delta","taskId":"r","agentId":"a","partId":"p","delta":"Hello","index":0}"#,
        &thought("last", "", "google"),
    ]);
    assert_eq!(
        json(&gemini(&after, View::Recorder, None))["contents"][1]["parts"],
        json(r#"[{"text":"Hello"},{"text":"","thoughtSignature":"last-sig"}]"#)
    );
}
