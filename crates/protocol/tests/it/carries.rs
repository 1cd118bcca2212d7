//! What a dialect says it tells of the words of an event is what makes a difference to its output.
//!
//! The loss report traces every other value; words (a state, a flag, a place in a row) cannot be
//! traced, so each dialect has a list of those that its encoder tells. Here every word of every
//! kind of event is replaced by every other, and the outputs are compared.

use selvedge_protocol::dialect::{ALL, Carrier, Dialect, EncodeOptions, Encoding, named};
use selvedge_protocol::journal::kind::{COMMON, Field, Kind, Need, SPECS, Spec, Type};
use selvedge_protocol::journal::{Batch, Event};
use selvedge_protocol::json::Raw;

/// The words that a field may hold, as JSON; none for a field that is traced.
fn words(field: &Field) -> Vec<String> {
    match (field.name, field.ty) {
        ("role", Type::Text) => ["user", "agent"].map(|word| format!("\"{word}\"")).to_vec(),
        (_, Type::OneOf(words)) => words.iter().map(|word| format!("\"{word}\"")).collect(),
        (_, Type::Bool) => vec!["true".to_owned(), "false".to_owned()],
        ("index", _) => vec!["0".to_owned(), "1".to_owned()],
        _ => Vec::new(),
    }
}

/// Whether two words are such that one may stand for the other: a task that goes on is not told
/// from one that has ended by its state alone.
fn alike(field: &str, a: &str, b: &str) -> bool {
    let ended = |word: &str| matches!(word, "\"completed\"" | "\"failed\"" | "\"canceled\"");
    field != "status" || ended(a) == ended(b)
}

/// An event of a kind with what it must have, and a word.
fn event(spec: &Spec, field: &str, word: &str) -> Event<'static> {
    let mut event = Event::new(spec.kind);
    for other in spec.fields.iter().chain(COMMON) {
        let value = match (other.name, other.ty) {
            ("contextId", _) if spec.kind != Kind::ThreadCreated => continue,
            ("taskId", _) => "\"task\"",
            ("timestamp", _) => "\"2031-05-05T05:05:05Z\"",
            ("content" | "result", _) => "\"said\"",
            ("role", _) if spec.kind == Kind::Message => "\"agent\"",
            ("data", _) if spec.kind == Kind::FileWrite => "\"eHh4\"",
            ("mimeType", _) => "\"text/plain\"",
            _ if other.need == Need::May => continue,
            (_, Type::OneOf(_)) => {
                event.set(other.name, Raw::owned(words(other)[0].as_str()));
                continue;
            }
            (_, Type::Object) => "{\"k\":\"v\"}",
            (_, Type::Array) => "[\"x\"]",
            (_, Type::Number | Type::Integer) => "0",
            (_, Type::Bool) => "true",
            _ => "\"x\"",
        };
        event.set(other.name, Raw::Ref(value));
    }
    event.set(field.to_owned(), Raw::owned(word));
    event
}

/// The event among what its meaning rests on: the part it ends, the question it answers.
fn around(event: Event<'static>) -> Vec<Event<'static>> {
    let other = |kind: Kind| Event::new(kind).with_str("taskId", "task");
    let said = other(Kind::ContentComplete).with_str("content", "said");
    let mut all = vec![Event::new(Kind::ThreadCreated).with_str("contextId", "c")];
    let part = |event: &Event<'_>| {
        let sort = event.get("partType").map_or(Raw::Ref("\"text\""), Raw::to_owned);
        other(Kind::PartStarted).with_str("partId", "x").with("partType", sort)
    };
    match event.kind() {
        Kind::PartStarted => {
            let delta = match event.get("partType").and_then(Raw::body) {
                Some("reasoning") => {
                    other(Kind::ThoughtStream).with_str("thoughtId", "x").with_str("content", "d")
                }
                _ => other(Kind::ContentDelta).with_str("partId", "x").with_str("delta", "d"),
            };
            all.extend([event, delta]);
        }
        Kind::PartFinished => all.extend([part(&event), event]),
        Kind::StepFinished => all.extend([other(Kind::StepStarted), said, event]),
        Kind::ToolCallStarted => {
            let call = other(Kind::ToolCall)
                .with_str("toolCallId", "x")
                .with_str("toolName", "x")
                .with("arguments", Raw::Ref("{}"));
            all.extend([event, call]);
        }
        Kind::ToolComplete => {
            let call = other(Kind::ToolCall)
                .with_str("toolCallId", "x")
                .with_str("toolName", "x")
                .with("arguments", Raw::Ref("{}"));
            let last = event.get("preliminary").map(|_| {
                let mut last = event.clone();
                last.set("preliminary", Raw::Ref("false"));
                last.set("result", Raw::Ref("\"done\""));
                last
            });
            all.extend([call, event]);
            all.extend(last);
        }
        Kind::ParticipantJoined => {
            all.extend([event, said.with_str("agentId", "x")]);
        }
        // The state that a task is left in shows, whatever it was before.
        Kind::TaskStatus if !event.body("status").is_some_and(|s| s.ends_with("ed")) => {
            all.extend([event, said]);
        }
        Kind::FileWrite | Kind::DatasetWrite => {
            let mut first = event.clone();
            first.set("index", Raw::Ref("0"));
            first.set("complete", Raw::Ref("false"));
            all.extend([said.clone(), first, event, said]);
        }
        _ => all.push(event),
    }
    all
}

fn written(to: &'static Dialect, events: Vec<Event<'static>>) -> Vec<u8> {
    let mut encoding = Encoding::new(to, &EncodeOptions::default());
    let mut out = Vec::new();
    for event in events {
        encoding.batch(&Batch::native(vec![event]), &mut out);
    }
    encoding.finish(&mut out);
    out
}

#[test]
fn words_that_a_dialect_tells_make_a_difference_and_others_make_none() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for to in ALL.iter().filter(|to| to.carrier == Carrier::Nothing) {
        let to = named(to.id.name()).unwrap();
        for spec in SPECS {
            for field in spec.fields {
                let words = words(field);
                let outputs: Vec<_> = words
                    .iter()
                    .map(|word| written(to, around(event(spec, field.name, word))))
                    .collect();
                let mut told = Vec::new();
                let mut untold = Vec::new();
                for (word, output) in words.iter().zip(&outputs) {
                    tried += 1;
                    let mut others = words.iter().zip(&outputs);
                    let differs =
                        others.any(|(w, other)| other != output && alike(field.name, w, word));
                    let says = (to.carries)(&event(spec, field.name, word), field.name);
                    match (differs, says) {
                        (true, false) => told.push(word.as_str()),
                        (false, true) => untold.push(word.as_str()),
                        _ => {}
                    }
                }
                if !told.is_empty() || !untold.is_empty() {
                    wrong.push(format!(
                        "{} {} {}: told {told:?}, not told {untold:?}",
                        to.id.name(),
                        spec.name,
                        field.name
                    ));
                }
            }
        }
    }
    assert!(tried > 1000);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
