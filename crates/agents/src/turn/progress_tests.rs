use selvedge_protocol::json::Doc;

use super::*;

fn progress(events: &[&str]) -> Progress {
    let mut progress = Progress::new("t");
    for text in events {
        let doc = Doc::parse(text).unwrap();
        progress.apply(&Event::parse(doc.root()).unwrap());
    }
    progress
}

fn call(id: &str, stage: Stage) -> Call {
    Call { id: id.to_owned(), name: "f".to_owned(), arguments: "{}".to_owned(), stage }
}

const CREATED: &str = r#"{"kind":"task-created","taskId":"t","initiator":"user"}"#;
const STEP: &str = r#"{"kind":"step-started","taskId":"t"}"#;
const WORD: &str = r#"{"kind":"content-delta","taskId":"t","delta":"hi"}"#;
const CALL_A: &str =
    r#"{"kind":"tool-call","taskId":"t","toolCallId":"a","toolName":"f","arguments":{}}"#;
const CALL_B: &str =
    r#"{"kind":"tool-call","taskId":"t","toolCallId":"b","toolName":"f","arguments":{}}"#;
const END: &str =
    r#"{"kind":"step-finished","taskId":"t","usage":{"input_tokens":3,"output_tokens":2}}"#;
const DONE_A: &str =
    r#"{"kind":"tool-complete","taskId":"t","toolCallId":"a","toolName":"f","success":true}"#;
const DONE_B: &str =
    r#"{"kind":"tool-complete","taskId":"t","toolCallId":"b","toolName":"f","success":true}"#;

#[test]
fn a_turn_thinks_acts_thinks_again_and_finishes() {
    assert_eq!(progress(&[CREATED]).next(), Next::Think);
    let asked = progress(&[CREATED, STEP, CALL_A, CALL_B, END]);
    assert_eq!(asked.next(), Next::Act(vec![call("a", Stage::Asked), call("b", Stage::Asked)]));
    let one = progress(&[CREATED, STEP, CALL_A, CALL_B, END, DONE_A]);
    assert_eq!(one.next(), Next::Act(vec![call("b", Stage::Asked)]));
    let both = [CREATED, STEP, CALL_A, CALL_B, END, DONE_A, DONE_B];
    assert_eq!(progress(&both).next(), Next::Think);
    let said = progress(&[&both[..], &[STEP, WORD, END]].concat());
    assert_eq!((said.next(), said.text(), said.iterations), (Next::Finish, "hi", 2));
    assert_eq!((said.tokens.input, said.tokens.output), (6, 4));
    let over = r#"{"kind":"task-complete","taskId":"t"}"#;
    assert_eq!(progress(&[CREATED, STEP, WORD, END, over]).next(), Next::Over);
}

#[test]
fn what_was_half_said_is_void_and_said_again() {
    let cut = progress(&[CREATED, STEP, WORD, CALL_A]);
    assert_eq!(cut.next(), Next::Supersede);
    let void = r#"{"kind":"attempt-superseded","taskId":"t"}"#;
    let again = progress(&[CREATED, STEP, WORD, CALL_A, void]);
    assert_eq!((again.next(), again.text(), again.iterations), (Next::Think, "", 0));
    assert_eq!((again.attempts, again.mind), (0, 0));
    let failed = |next: u32| {
        format!(r#"{{"kind":"attempt-superseded","taskId":"t","metadata":{{"next":{next}}}}}"#)
    };
    let twice = progress(&[CREATED, STEP, &failed(0), STEP, &failed(0)]);
    assert_eq!((twice.next(), twice.attempts, twice.mind), (Next::Think, 2, 0));
    let other = progress(&[CREATED, STEP, &failed(0), STEP, &failed(1)]);
    assert_eq!((other.next(), other.attempts, other.mind), (Next::Think, 0, 1));
    let said = progress(&[CREATED, STEP, WORD, CALL_A, void, STEP, WORD, END]);
    assert_eq!((said.next(), said.text(), said.attempts), (Next::Finish, "hi", 0));
}

#[test]
fn a_call_that_waits_goes_on_with_the_first_answer() {
    let ask = r#"{"kind":"input-required","taskId":"t","inputId":"i","toolCallId":"a","inputType":"confirmation","prompt":"?"}"#;
    let yes =
        r#"{"kind":"input-received","taskId":"t","inputId":"i","providedBy":"user","value":true}"#;
    let no =
        r#"{"kind":"input-received","taskId":"t","inputId":"i","providedBy":"user","value":false}"#;
    let late = r#"{"kind":"input-expired","taskId":"t","inputId":"i"}"#;
    let before = [CREATED, STEP, CALL_A, END, ask];
    assert_eq!(progress(&before).next(), Next::Wait);
    let answered = |answer| Stage::Answered { input: "i".to_owned(), answer };
    let first = progress(&[&before[..], &[yes, no, late]].concat());
    let value = Answer::Value("true".to_owned());
    assert_eq!(first.next(), Next::Act(vec![call("a", answered(value))]));
    let expired = progress(&[&before[..], &[late, yes]].concat());
    assert_eq!(expired.next(), Next::Act(vec![call("a", answered(Answer::Expired))]));
    assert_eq!(progress(&[&before[..], &[yes, DONE_A]].concat()).next(), Next::Think);
}

#[test]
fn a_call_of_another_agent_waits_for_the_first_end_of_its_task() {
    let called =
        r#"{"kind":"subtask-created","taskId":"t","subtaskId":"u","toolCallId":"a","prompt":"do"}"#;
    let works = r#"{"kind":"task-status","taskId":"u","status":"working"}"#;
    let done = r#"{"kind":"task-complete","taskId":"u","content":"did"}"#;
    let failed = r#"{"kind":"task-status","taskId":"u","status":"failed","message":"no"}"#;
    let before = [CREATED, STEP, CALL_A, END, called, works];
    assert_eq!(progress(&before).next(), Next::Wait);
    let after = progress(&[&before[..], &[done, failed]].concat());
    let stage = Stage::Called { subtask: "u".to_owned() };
    assert_eq!(after.next(), Next::Act(vec![call("a", stage)]));
    assert_eq!(after.subtask("u"), Some((TaskState::Completed, Some("did"))));
}

#[test]
fn a_tool_that_was_running_is_looked_at_again_and_events_of_others_do_not_matter() {
    let start =
        r#"{"kind":"tool-start","taskId":"t","toolCallId":"a","toolName":"f","arguments":{}}"#;
    let running = progress(&[CREATED, STEP, CALL_A, END, start]);
    assert_eq!(running.next(), Next::Act(vec![call("a", Stage::Started)]));
    let other = r#"{"kind":"task-complete","taskId":"u"}"#;
    assert_eq!(progress(&[CREATED, other]).next(), Next::Think);
}
