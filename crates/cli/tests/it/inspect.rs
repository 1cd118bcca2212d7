//! `selvedge inspect`.

use crate::{fixture, selvedge, selvedge_with};

const THREAD: &str = r#"{"seq":1,"event":{"kind":"thread-created","contextId":"t1","title":"Trip"}}
{"seq":2,"event":{"kind":"participant-joined","contextId":"t1","participantId":"planner","role":"agent","name":"Planner","model":"m-1"}}
{"seq":3,"event":{"kind":"message","contextId":"t1","messageId":"m1","role":"user","content":"hi","timestamp":"2026-01-01T00:00:00Z"}}
{"seq":4,"event":{"kind":"task-created","contextId":"t1","taskId":"a","agentId":"planner","initiator":"user","timestamp":"2026-01-01T00:00:01Z"}}
{"seq":5,"event":{"kind":"task-created","contextId":"t1","taskId":"b","parentTaskId":"a","agentId":"booker","initiator":"agent","timestamp":"2026-01-01T00:00:02Z"}}
{"seq":6,"event":{"kind":"tool-call","contextId":"t1","taskId":"b","toolCallId":"c1","toolName":"book","arguments":{},"timestamp":"2026-01-01T00:00:02Z"}}
{"seq":7,"event":{"kind":"tool-complete","contextId":"t1","taskId":"b","toolCallId":"c1","toolName":"book","success":false,"error":"full","timestamp":"2026-01-01T00:00:03.500Z"}}
{"seq":8,"event":{"kind":"step-finished","contextId":"t1","taskId":"b","agentId":"booker","model":"m-2","finishReason":"stop","usage":{"input_tokens":10,"output_tokens":5}}}
{"seq":9,"event":{"kind":"task-status","contextId":"t1","taskId":"b","status":"failed","message":"full\u001b[2J","timestamp":"2026-01-01T00:00:04Z"}}
{"seq":10,"event":{"kind":"input-required","contextId":"t1","taskId":"a","inputId":"i1","inputType":"confirmation","prompt":"Another day?","timestamp":"2026-01-01T00:01:05Z"}}
"#;

#[test]
fn a_thread_is_shown_at_a_glance() {
    let run = selvedge_with(&["inspect", "-"], THREAD.as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(!run.stdout.contains('\u{1b}'));
    insta::assert_snapshot!("inspect", run.stdout);
}

#[test]
fn a_history_shows_its_tools_and_tokens() {
    let run = selvedge(&["inspect", &fixture("pydantic/b02_long_tool_loop/messages.json")]);
    assert_eq!(run.code, Some(0));
    for line in ["  step  24 calls", "  agent  scripted-1  3868 in  1474 out  19 calls"] {
        assert!(run.stdout.contains(line), "no `{line}` in\n{}", run.stdout);
    }
}
