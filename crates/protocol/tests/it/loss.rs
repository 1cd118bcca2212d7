//! The loss report names what got lost and nothing else.

use selvedge_protocol::dialect::{self, DecodeOptions, EncodeOptions, decode};
use selvedge_protocol::loss::{Loss, Losses};

use crate::recordings::fixture;

fn losses(from: &str, to: &str, text: &str) -> Vec<Loss> {
    let mut found = Vec::new();
    let mut losses = Losses::new(dialect::named(to).unwrap(), &EncodeOptions::default());
    decode(dialect::named(from).unwrap(), &DecodeOptions::default(), text, |batch| {
        losses.batch(&batch, &mut |loss| found.push(loss));
    });
    losses.finish(&mut |loss| found.push(loss));
    found
}

#[test]
fn carriers_and_the_same_dialect_lose_nothing() {
    let text = fixture("pydantic_kitchen/k01_every_part_full.messages.json");
    for to in ["journal", "thread-protocol", "pydantic-ai"] {
        assert_eq!(losses("pydantic-ai", to, &text), [], "{to}");
    }
}

fn pointers(losses: Vec<Loss>) -> Vec<String> {
    losses.into_iter().map(|loss| loss.pointer).collect()
}

#[test]
fn what_the_target_cannot_say_of_one_role_is_named_for_that_role() {
    let message = |role: &str, text: &str| {
        format!(
            r#"{{"id":"m-{role}","role":"{role}","parts":[{{"type":"text","text":"{text}"}}]}}"#
        )
    };
    let text = format!("[{},{}]", message("system", "be kind"), message("user", "hello"));
    assert_eq!(
        pointers(losses("ai-sdk-messages", "a2a", &text)),
        ["/0/id", "/0/role", "/0/parts/0/text"]
    );
}

#[test]
fn metadata_that_is_kept_is_not_named() {
    let text = r#"[{"id":"m1","role":"assistant","metadata":{"mood":"good"},"parts":[{"type":"text","text":"hello"}]}]"#;
    assert_eq!(losses("ai-sdk-messages", "ai-sdk-stream", text), []);
    assert_eq!(pointers(losses("ai-sdk-messages", "aitp", text)), ["/0/id", "/0/metadata"]);
}

/// The part of a value that is lost is named, and the whole where all of it is.
#[test]
fn a_value_that_is_lost_in_part_is_named_in_part() {
    let text = fixture("documents/thread-protocol/01-example-thread.json");
    let lost = |to: &str| -> Vec<String> {
        let all = pointers(losses("thread-protocol", to, &text));
        all.into_iter().filter(|pointer| pointer.starts_with("/actions/5/data")).collect()
    };
    // AITP names the agent that joined as an actor; A2A has nothing of it.
    assert_eq!(lost("aitp"), ["/actions/5/data/invited_by"]);
    assert_eq!(lost("a2a"), ["/actions/5/data"]);
}

/// A report of a stream does not wait for its end.
#[test]
fn losses_of_a_long_stream_are_told_on_the_way() {
    let from = dialect::named("looopy").unwrap();
    let mut source = String::new();
    for i in 0..40_000 {
        source.push_str(&format!(
            "data: {{\"kind\":\"content-delta\",\"contextId\":\"c\",\"taskId\":\"t\",\"delta\":\"d\",\"index\":{i},\"timestamp\":\"2026-01-01T00:00:00Z\"}}\n\n"
        ));
    }
    let mut losses = Losses::new(dialect::named("agent-api").unwrap(), &EncodeOptions::default());
    let (mut early, mut late) = (0, 0);
    decode(from, &DecodeOptions::default(), &source, |batch| {
        losses.batch(&batch, &mut |_| early += 1);
    });
    losses.finish(&mut |_| late += 1);
    // Every event's place, and every time but the first's and the last's.
    assert_eq!(early + late, 40_000 + 39_998);
    assert!(late < 20_000, "{late}");
}

/// Events of a journal that came as no other dialect's records are judged by themselves.
#[test]
fn what_is_lost_of_a_journals_own_events_is_named_by_entry() {
    let line = |seq: u64, event: &str| format!("{{\"seq\":{seq},\"event\":{event}}}\n");
    let text = [
        line(1, r#"{"kind":"thread-created","contextId":"t","title":"Rivers"}"#),
        line(2, r#"{"kind":"task-created","taskId":"k","agentId":"a","initiator":"user"}"#),
        line(3, r#"{"kind":"content-delta","taskId":"k","agentId":"a","delta":"hello","index":0}"#),
    ]
    .concat();
    let mut found = Vec::new();
    let mut losses = Losses::new(dialect::named("a2a").unwrap(), &EncodeOptions::default());
    let mut first = 0;
    decode(dialect::named("journal").unwrap(), &DecodeOptions::default(), &text, |batch| {
        if !batch.events.is_empty() {
            first += 1;
            losses.entries(first, &batch, &mut |loss| found.push(loss));
        }
    });
    losses.finish(&mut |loss| found.push(loss));
    let found = pointers(found);
    let named = |pointer: &str| found.iter().any(|found| found == pointer);
    assert!(named("/1/title") && named("/3/index"), "{found:?}");
    assert!(!named("/3/delta") && !named("/3/taskId"), "{found:?}");
}
