//! The loss report names what got lost and nothing else.

use selvedge_protocol::dialect::{
    self, Carrier, DecodeOptions, Dialect, EncodeOptions, Encoding, decode,
};
use selvedge_protocol::journal::kind::{COMMON, Kind, SPECS, Type};
use selvedge_protocol::journal::{Batch, Event};
use selvedge_protocol::json::Raw;
use selvedge_protocol::loss::{Loss, Losses};

use crate::recordings::fixture;

/// A value that can be found again in an output, if the type allows one.
fn sentinel(ty: Type) -> Option<(&'static str, &'static str)> {
    Some(match ty {
        Type::Text | Type::Any => ("\"zqsentinelqz\"", "zqsentinelqz"),
        Type::Integer => ("918273645", "918273645"),
        Type::Number => ("0.918273645", "0.918273645"),
        Type::Object => ("{\"text\":\"zqsentinelqz\"}", "zqsentinelqz"),
        Type::Array => ("[\"zqsentinelqz\"]", "zqsentinelqz"),
        Type::Bool | Type::OneOf(_) => return None,
    })
}

fn ordinary(name: &str, ty: Type) -> Raw<'static> {
    Raw::owned(match (name, ty) {
        ("timestamp" | "createdAt" | "updatedAt", _) => "\"2026-01-02T03:04:05Z\"",
        ("taskId", _) => "\"task-1\"",
        ("toolCallId", _) => "\"call-1\"",
        ("partId" | "thoughtId", _) => "\"part-1\"",
        (_, Type::Text | Type::Any) => "\"plain\"",
        (_, Type::Integer) => "0",
        (_, Type::Number) => "0.5",
        (_, Type::Bool) => "true",
        (_, Type::Object) => "{}",
        (_, Type::Array) => "[]",
        (_, Type::OneOf(values)) => return Raw::string(values[0]),
    })
}

/// Writes a small thread in which one field of one event has a telling value.
fn written(target: &'static Dialect, kind: Kind, field: &str, value: &'static str) -> String {
    let spec = &SPECS[kind as usize];
    let mut event = Event::new(kind);
    for known in COMMON.iter().chain(spec.fields) {
        if known.name == "contextId" && kind != Kind::ThreadCreated {
            continue;
        }
        if known.name != "parentTaskId" || known.name == field {
            event.set(known.name, ordinary(known.name, known.ty));
        }
    }
    event.set(field.to_owned(), Raw::Ref(value));
    let time = Raw::Ref("\"2026-01-02T03:04:05Z\"");
    let task = Raw::Ref("\"task-1\"");
    let mut events = Vec::new();
    if kind != Kind::ThreadCreated {
        events.push(Event::new(Kind::ThreadCreated).with("contextId", Raw::Ref("\"thread-1\"")));
    }
    let stamp =
        |kind: Kind| Event::new(kind).with("taskId", task.clone()).with("timestamp", time.clone());
    if !matches!(kind, Kind::TaskCreated | Kind::ThreadCreated) {
        events.push(stamp(Kind::TaskCreated).with("initiator", Raw::Ref("\"user\"")));
    }
    if matches!(kind, Kind::ToolComplete | Kind::ToolProgress | Kind::ToolCallDelta) {
        let begin =
            if kind == Kind::ToolCallDelta { Kind::ToolCallStarted } else { Kind::ToolCall };
        let id = event.get("toolCallId").cloned().unwrap();
        events.push(
            stamp(begin)
                .with("toolCallId", id.to_owned())
                .with("toolName", Raw::Ref("\"plain\""))
                .with("arguments", Raw::Ref("{}")),
        );
    }
    let follow = kind == Kind::ToolCallDelta;
    let call = follow.then(|| {
        stamp(Kind::ToolCall)
            .with("toolCallId", event.get("toolCallId").cloned().unwrap().to_owned())
            .with("toolName", Raw::Ref("\"plain\""))
            .with("arguments", event.get("delta").cloned().unwrap().to_owned())
    });
    events.push(event);
    events.extend(call);
    let mut encoding = Encoding::new(target, &EncodeOptions::default());
    let mut out = Vec::new();
    for event in events {
        encoding.batch(&Batch::native(vec![event]), &mut out);
    }
    encoding.finish(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_dialect_carries_exactly_what_it_says_it_carries() {
    let mut wrong = Vec::new();
    for target in dialect::ALL.iter().filter(|d| d.carrier == Carrier::Nothing) {
        for spec in SPECS.iter().filter(|s| s.kind != Kind::Opaque) {
            for field in COMMON.iter().chain(spec.fields) {
                let Some((value, mark)) = sentinel(field.ty) else { continue };
                // Ids and times are the wire's own to place; their presence is not a claim.
                if matches!(field.name, "contextId" | "taskId" | "timestamp" | "parentTaskId") {
                    continue;
                }
                let found = written(target, spec.kind, field.name, value).contains(mark);
                let said = (target.carries)(spec.kind, field.name);
                if found != said {
                    wrong.push(format!(
                        "{}: {}.{} {}",
                        target.id.name(),
                        spec.name,
                        field.name,
                        if said { "is claimed but lost" } else { "is carried but not claimed" }
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn losses(from: &str, to: &str, text: &str) -> Vec<Loss> {
    let mut found = Vec::new();
    let mut losses = Losses::new(dialect::named(to).unwrap());
    decode(dialect::named(from).unwrap(), &DecodeOptions::default(), text, |batch| {
        losses.batch(&batch, &mut |loss| found.push(loss));
    });
    found
}

#[test]
fn carriers_and_the_same_dialect_lose_nothing() {
    let text = fixture("pydantic_kitchen/k01_every_part_full.messages.json");
    for to in ["journal", "thread-protocol", "pydantic-ai"] {
        assert_eq!(losses("pydantic-ai", to, &text), [], "{to}");
    }
}
