//! The fold's defined answers.

use selvedge_protocol::journal::fold::{Anomaly, Oddity, State, TaskState};
use selvedge_protocol::journal::{Event, transcript::ActionKind};
use selvedge_protocol::json::Doc;

fn fold(lines: &[&str]) -> State {
    let mut state = State::new();
    for line in lines {
        let doc = Doc::parse(line).unwrap();
        state.apply(&Event::parse(doc.root()).unwrap());
    }
    state
}

fn odd(event: u64, what: Oddity, subject: &str) -> Anomaly {
    Anomaly { event, what, subject: subject.to_owned() }
}

#[test]
fn the_first_terminal_state_wins() {
    let state = fold(&[
        r#"{"kind":"task-created","taskId":"t","initiator":"user","timestamp":"1"}"#,
        r#"{"kind":"task-status","taskId":"t","status":"canceled","timestamp":"2"}"#,
        r#"{"kind":"task-complete","taskId":"t","content":"late","timestamp":"3"}"#,
    ]);
    let task = state.tasks.get("t").unwrap();
    assert_eq!(task.state, TaskState::Canceled);
    assert_eq!(task.ended.as_deref(), Some("2"));
    assert_eq!(state.anomalies, [odd(3, Oddity::SecondTerminal, "t")]);
}

#[test]
fn an_end_told_twice_is_one_end() {
    let state = fold(&[
        r#"{"kind":"task-created","taskId":"t","initiator":"user"}"#,
        r#"{"kind":"task-status","taskId":"t","status":"completed"}"#,
        r#"{"kind":"task-complete","taskId":"t"}"#,
    ]);
    assert_eq!(state.anomalies, []);
}

#[test]
fn chunks_out_of_order_are_put_in_order_and_repeats_ignored() {
    let write = |index: u32, data: &str, complete: bool| {
        format!(
            r#"{{"kind":"file-write","taskId":"t","artifactId":"a","data":"{data}","index":{index},"complete":{complete}}}"#
        )
    };
    let lines = [
        r#"{"kind":"task-created","taskId":"t","initiator":"user"}"#.to_owned(),
        write(0, "one ", false),
        write(2, "three", true),
        write(0, "again", false),
        write(1, "two ", false),
        write(1, "late", false),
        write(0, "new", true),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let state = fold(&lines);
    let artifact = &state.artifacts["a"];
    let texts: Vec<_> =
        artifact.versions.iter().map(|v| (v.content.as_str(), v.complete)).collect();
    assert_eq!(texts, [("one two three", true), ("new", true)]);
    assert_eq!(
        state.anomalies,
        [
            odd(3, Oddity::EarlyChunk, "a"),
            odd(4, Oddity::RepeatedChunk, "a"),
            odd(6, Oddity::RepeatedChunk, "a"),
        ]
    );
}

#[test]
fn a_gap_keeps_an_artifact_incomplete() {
    let state = fold(&[
        r#"{"kind":"dataset-write","artifactId":"d","rows":[{"x":1},{"x":2}],"index":0,"complete":false,"name":"rows"}"#,
        r#"{"kind":"dataset-write","artifactId":"d","rows":[{"x":9}],"index":45,"complete":true}"#,
    ]);
    let version = state.artifacts["d"].versions.last().unwrap();
    assert!(!version.complete);
    assert_eq!((version.rows, version.held()), (2, 1));
}

#[test]
fn an_unknown_task_is_created_and_told() {
    let state = fold(&[r#"{"kind":"content-delta","taskId":"t","delta":"hi","index":0}"#]);
    assert_eq!(state.tasks.get("t").unwrap().state, TaskState::Working);
    assert_eq!(state.anomalies, [odd(1, Oddity::UnknownTask, "t")]);
}

#[test]
fn subtasks_form_a_tree_and_their_questions_end_with_them() {
    let state = fold(&[
        r#"{"kind":"task-created","taskId":"p","initiator":"user","agentId":"boss"}"#,
        r#"{"kind":"subtask-created","taskId":"p","subtaskId":"c","agentId":"helper","prompt":"do"}"#,
        r#"{"kind":"task-created","taskId":"c","parentTaskId":"p","initiator":"agent"}"#,
        r#"{"kind":"input-required","taskId":"c","inputId":"i","inputType":"confirmation","prompt":"ok?"}"#,
        r#"{"kind":"auth-required","taskId":"p","authId":"a","authType":"oauth2","prompt":"log in"}"#,
        r#"{"kind":"task-status","taskId":"c","status":"failed","message":"no"}"#,
    ]);
    let roots: Vec<_> = state.tasks.roots().map(|t| t.id.as_str()).collect();
    assert_eq!(roots, ["p"]);
    assert_eq!(state.tasks.get("p").unwrap().children, ["c"]);
    let child = state.tasks.get("c").unwrap();
    assert_eq!((child.agent.as_deref(), child.state), (Some("helper"), TaskState::Failed));
    assert!(state.inputs.is_empty());
    assert_eq!(state.auths.len(), 1);
    assert_eq!(state.anomalies, []);
}

#[test]
fn deltas_of_interleaved_parts_each_find_their_part() {
    let state = fold(&[
        r#"{"kind":"task-created","taskId":"t","initiator":"user"}"#,
        r#"{"kind":"step-started","taskId":"t"}"#,
        r#"{"kind":"part-started","taskId":"t","partId":"a","partType":"text"}"#,
        r#"{"kind":"content-delta","taskId":"t","partId":"a","delta":"A\ud83d"}"#,
        r#"{"kind":"part-started","taskId":"t","partId":"b","partType":"text"}"#,
        r#"{"kind":"content-delta","taskId":"t","partId":"b","delta":"B"}"#,
        r#"{"kind":"content-delta","taskId":"t","partId":"a","delta":"\ude00"}"#,
        r#"{"kind":"step-finished","taskId":"t","usage":{"input_tokens":3,"output_tokens":4},"model":"m"}"#,
    ]);
    let actions = state.transcript.actions();
    assert_eq!(actions.len(), 1);
    assert_eq!(actions[0].kind, ActionKind::AssistantMessage);
    assert_eq!(actions[0].text(), "A😀B");
    let total = state.usage.total();
    assert_eq!((total.input, total.output, total.calls), (3, 4, 1));
}

#[test]
fn an_answer_nobody_asked_for_is_ignored() {
    let state = fold(&[
        r#"{"kind":"task-created","taskId":"t","initiator":"user"}"#,
        r#"{"kind":"input-received","taskId":"t","inputId":"x","providedBy":"user"}"#,
    ]);
    assert_eq!(state.anomalies, [odd(2, Oddity::UnknownInput, "x")]);
}

#[test]
fn a_void_attempt_takes_only_its_own_words_with_it() {
    let events = [
        r#"{"kind":"step-started","contextId":"c","taskId":"a"}"#,
        r#"{"kind":"content-delta","contextId":"c","taskId":"a","partId":"1","delta":"half a "}"#,
        r#"{"kind":"thought-stream","contextId":"c","taskId":"a","thoughtId":"2","thoughtType":"thinking","verbosity":"normal","content":"half"}"#,
        r#"{"kind":"tool-call-started","contextId":"c","taskId":"a","toolCallId":"3","toolName":"x"}"#,
        r#"{"kind":"content-delta","contextId":"c","taskId":"b","partId":"1","delta":"another"}"#,
        r#"{"kind":"attempt-superseded","contextId":"c","taskId":"a"}"#,
        r#"{"kind":"step-started","contextId":"c","taskId":"a"}"#,
        r#"{"kind":"content-delta","contextId":"c","taskId":"a","partId":"1","delta":"the whole"}"#,
        r#"{"kind":"thought-stream","contextId":"c","taskId":"a","thoughtId":"2","thoughtType":"thinking","verbosity":"normal","content":"whole"}"#,
        r#"{"kind":"tool-call","contextId":"c","taskId":"a","toolCallId":"3","toolName":"y","arguments":{}}"#,
    ];
    let state = fold(&events);
    let said: Vec<_> =
        state.transcript.actions().iter().filter(|action| !action.superseded).collect();
    let texts: Vec<_> = said.iter().map(|action| action.text()).collect();
    assert_eq!(texts, ["another", "the whole", "whole", ""]);
    assert!(said[3].get("toolName").is_some_and(|name| name.is("y")));
}

#[test]
fn an_attempt_that_is_void_takes_only_what_its_task_streamed_and_no_tool_that_was_done() {
    let state = fold(&[
        r#"{"kind":"task-created","taskId":"t","initiator":"user"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"half an ans"}"#,
        r#"{"kind":"tool-call","taskId":"t","toolCallId":"done","toolName":"a","arguments":{}}"#,
        r#"{"kind":"tool-complete","taskId":"t","toolCallId":"done","toolName":"a","success":true}"#,
        r#"{"kind":"tool-call","taskId":"t","toolCallId":"open","toolName":"b","arguments":{}}"#,
        r#"{"kind":"message","role":"user","content":"still there?"}"#,
        r#"{"kind":"content-delta","taskId":"other","delta":"I am"}"#,
        r#"{"kind":"attempt-superseded","taskId":"t","reason":"lease expired"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"A whole "}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"answer."}"#,
        r#"{"kind":"tool-call","taskId":"t","toolCallId":"open","toolName":"b","arguments":{}}"#,
    ]);
    let left = state.transcript.actions().iter().filter(|action| !action.superseded);
    let left: Vec<_> = left
        .map(|action| match action.get("toolCallId") {
            Some(id) => format!("{:?} {id}", action.kind),
            None => format!("{:?} {}", action.kind, action.text()),
        })
        .collect();
    let expected = [
        r#"ToolCall "done""#,
        r#"ToolReturn "done""#,
        "UserMessage still there?",
        "AssistantMessage I am",
        "AssistantMessage A whole answer.",
        r#"ToolCall "open""#,
    ];
    assert_eq!(left, expected);
}

#[test]
fn what_came_before_the_end_of_a_model_call_is_not_void() {
    let state = fold(&[
        r#"{"kind":"step-started","taskId":"t"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"first"}"#,
        r#"{"kind":"step-finished","taskId":"t"}"#,
        r#"{"kind":"attempt-superseded","taskId":"t"}"#,
        r#"{"kind":"step-started","taskId":"t"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"void"}"#,
        r#"{"kind":"attempt-superseded","taskId":"t"}"#,
    ]);
    let void: Vec<_> =
        state.transcript.actions().iter().map(|a| (a.text(), a.superseded)).collect();
    assert_eq!(void, [("first".to_owned(), false), ("void".to_owned(), true)]);
}
