//! What a dialect says it carries is what can be found in its output.

use selvedge_protocol::dialect::{ALL, Carrier, named};
use selvedge_protocol::journal::kind::{COMMON, Field, Kind, Need, SPECS, Type};
use selvedge_protocol::json::quote;

use crate::identity::convert;

/// A value of the type with a mark in it, and the mark; `None` where the type leaves no room.
fn marked(ty: Type) -> Option<(String, &'static str)> {
    Some(match ty {
        Type::Text | Type::Any => ("\"mark-7391\"".into(), "mark-7391"),
        Type::Object => ("{\"k\":\"mark-7391\"}".into(), "mark-7391"),
        Type::Array => ("[\"mark-7391\"]".into(), "mark-7391"),
        Type::Number | Type::Integer => ("73917391".into(), "73917391"),
        Type::Bool | Type::OneOf(_) => return None,
    })
}

const TIME: &str = "2031-05-05T05:05:05Z";

fn plain(ty: Type) -> String {
    match ty {
        Type::Text | Type::Any => "\"x\"".into(),
        Type::Object => "{}".into(),
        Type::Array => "[]".into(),
        Type::Number | Type::Integer => "0".into(),
        Type::Bool => "true".into(),
        Type::OneOf(values) => format!("\"{}\"", values[0]),
    }
}

/// An event with what its meaning rests on: the part it ends, the text that its agent says.
fn around(kind: Kind, event: &str, agent: &str, task: &str) -> Vec<String> {
    let part = |kind: &str, more: &str| {
        format!(
            r#"{{"kind":"{kind}","taskId":"{task}","agentId":"{agent}","timestamp":"2026-01-01T00:00:00Z",{more}}}"#
        )
    };
    let said = part("content-complete", r#""content":"said""#);
    let own = event.to_owned();
    let mut lines = match kind {
        Kind::ThreadCreated => return vec![own, said],
        Kind::ParticipantJoined if agent == "a" => vec![own, said.replace("\"a\"", "\"x\"")],
        Kind::TaskCreated => vec![own, said.replace(r#""agentId":"a","#, "")],
        Kind::ParticipantJoined | Kind::StepStarted => vec![own, said],
        Kind::LlmUsage => vec![said, own],
        // An answer follows its question.
        Kind::InputReceived | Kind::AuthCompleted => {
            let (asked, name) = match kind {
                Kind::AuthCompleted => ("auth-required", "authId"),
                _ => ("input-required", "inputId"),
            };
            let id = "x";
            let more = r#""prompt":"p","inputType":"selection","options":["x"],"authType":"pat""#;
            let question = part(asked, &format!(r#""{name}":"{id}",{more}"#));
            let answer =
                if own.contains("value") { own } else { own.replacen(",", r#","value":"x","#, 1) };
            vec![question, answer]
        }
        // Only a failed tool has an error to tell.
        Kind::ToolComplete if own.contains(r#""error":"mark-7391""#) => {
            vec![own.replace(r#""success":true"#, r#""success":false"#)]
        }
        // Artifacts are written in the course of a run.
        Kind::DataWrite | Kind::DatasetWrite => vec![said, own],
        Kind::PartFinished => {
            let own = own.replace(r#""partType":"text""#, r#""partType":"reasoning""#);
            let begun = part("part-started", r#""partId":"x","partType":"reasoning""#);
            let thought =
                r#""thoughtId":"x","thoughtType":"thinking","verbosity":"normal","content":"t""#;
            vec![begun, part("thought-stream", thought), own]
        }
        Kind::StepFinished => vec![part("step-started", r#""x":0"#), said, own],
        Kind::PartStarted => {
            let id = if own.contains(r#""partId":"mark-7391""#) { "mark-7391" } else { "x" };
            vec![own, part("content-delta", &format!(r#""partId":"{id}","delta":"d""#))]
        }
        Kind::ToolCallStarted | Kind::ToolCallDelta => {
            let value = |name: &str| {
                let marked = own.contains(&format!(r#""{name}":"mark-7391""#));
                if marked { "mark-7391" } else { "x" }
            };
            let (id, name, args) = (value("toolCallId"), value("toolName"), value("delta"));
            let more = format!(r#""toolCallId":"{id}","toolName":"{name}","arguments":"{args}""#);
            vec![own, part("tool-call", &more)]
        }
        _ => vec![own],
    };
    lines.insert(0, r#"{"kind":"thread-created","contextId":"c"}"#.to_owned());
    lines
}

fn wrong(dialect: &str) -> Vec<String> {
    let to = named(dialect).unwrap();
    let mut wrong = Vec::new();
    for spec in SPECS {
        let fields: Vec<&Field> = spec.fields.iter().chain(COMMON).collect();
        for field in &fields {
            // Stamps and counters are every wire's own to place or to leave implied.
            if COMMON.iter().any(|c| c.name == field.name)
                || matches!(field.name, "index" | "partId")
            {
                continue;
            }
            // Some protocols count their time in seconds.
            let time = matches!(field.name, "timestamp" | "createdAt" | "updatedAt");
            let marked = match field.name {
                _ if time => Some((quote(TIME), TIME)),
                "usage" => Some((r#"{"input_tokens":73917391}"#.into(), "73917391")),
                "schema" => Some((r#"{"properties":{"mark-7391":{}}}"#.into(), "mark-7391")),
                _ => marked(field.ty),
            };
            let Some((value, mark)) = marked else { continue };
            if matches!(field.name, "authId" | "inputId")
                && matches!(spec.kind, Kind::InputReceived | Kind::AuthCompleted)
            {
                continue;
            }
            // The thread's id stands on the thread's first event.
            if field.name == "contextId" && spec.kind != Kind::ThreadCreated {
                continue;
            }
            let mut event = format!("{{\"kind\":\"{}\"", spec.name);
            let mut seen = Vec::new();
            for other in &fields {
                let stamp = matches!(other.name, "taskId" | "agentId");
                let value = match other.name {
                    name if seen.contains(&name) => continue,
                    name if name == field.name => value.clone(),
                    "contextId" if spec.kind != Kind::ThreadCreated => continue,
                    "timestamp" => continue,
                    "role" if field.name == "usage" => "\"agent\"".to_owned(),
                    "agentId" => "\"a\"".to_owned(),
                    _ if stamp || other.need == Need::Must => plain(other.ty),
                    _ => continue,
                };
                seen.push(other.name);
                event.push_str(&format!(",\"{}\":{value}", other.name));
            }
            event.push('}');
            let agent = if field.name == "participantId" { "mark-7391" } else { "a" };
            let task = if field.name == "taskId" { "mark-7391" } else { "x" };
            let lines = around(spec.kind, &event, agent, task);
            let journal: String = (1..)
                .zip(lines)
                .map(|(i, line)| format!("{{\"seq\":{i},\"event\":{line}}}\n"))
                .collect();
            let out = convert(named("journal").unwrap(), to, &journal);
            // Bytes may be written in base64.
            let found = out.contains(mark)
                || time && out.contains("1935723905")
                || field.name == "data" && out.contains("bWFyay03Mzkx");
            if found != (to.carries)(spec.kind, field.name) {
                wrong.push(format!("{} {}: found {found}: {out}", spec.name, field.name));
            }
        }
    }
    wrong
}

#[test]
fn every_dialect_carries_what_it_says() {
    let mut all = Vec::new();
    for dialect in ALL.iter().filter(|d| d.carrier == Carrier::Nothing) {
        let name = dialect.id.name();
        all.extend(wrong(name).into_iter().map(|w| format!("{name}: {w}")));
    }
    assert!(all.is_empty(), "{}:\n{}", all.len(), all.join("\n"));
}
