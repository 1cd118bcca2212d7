//! The loss report names what got lost and nothing else.
//!
//! The judge is an experiment: change one value of a source and see whether the output changes.
//! If it does, the value was kept, and the report must not name it. If it does not, the value was
//! lost, and the report must name it or something it stands in.

use std::collections::BTreeMap;
use std::ops::Range;

use selvedge_protocol::dialect::{
    self, DecodeOptions, Dialect, EncodeOptions, Encoding, decode, named,
};
use selvedge_protocol::json::{Doc, Node, NodeKind};
use selvedge_protocol::loss::{Loss, Losses};
use selvedge_protocol::record::{Framing, Role, split};
use selvedge_protocol::{sse, time};

use crate::recordings::{cached, fixture};

/// A value of a source.
struct Value {
    pointer: String,
    /// Its last key.
    key: String,
    /// Where it stands in the source.
    span: Range<usize>,
}

/// The values of a source that say something, with where they stand.
fn values(own: &Dialect, source: &str) -> Vec<Value> {
    let mut out = Vec::new();
    let mut item = 0;
    split(own.framing, source, |record| {
        let prefix = match own.framing {
            Framing::Document => String::new(),
            _ => format!("/{item}"),
        };
        item += usize::from(record.role == Role::Item);
        let start = record.body.as_ptr() as usize;
        let Some(start) = start.checked_sub(source.as_ptr() as usize) else { return };
        let (offset, text) = match (own.framing, sse::data(record.body)) {
            (Framing::Sse, sse::Data::Line { offset, text }) => (offset, text),
            _ => (0, record.body),
        };
        if let Ok(doc) = Doc::parse(text) {
            walk(doc.root(), &prefix, "", start + offset, &mut out);
        }
    });
    out
}

fn walk(node: Node<'_, '_>, pointer: &str, key: &str, offset: usize, out: &mut Vec<Value>) {
    for (name, value) in node.members() {
        let name = name.str().unwrap();
        let token = name.replace('~', "~0").replace('/', "~1");
        walk(value, &format!("{pointer}/{token}"), &name, offset, out);
    }
    for (i, value) in node.children().enumerate() {
        walk(value, &format!("{pointer}/{i}"), key, offset, out);
    }
    let says = match node.kind() {
        NodeKind::Object | NodeKind::Array | NodeKind::Null => false,
        NodeKind::Plain | NodeKind::Escaped => !node.body().is_empty(),
        _ => true,
    };
    if says {
        out.push(Value {
            pointer: pointer.to_owned(),
            key: key.to_owned(),
            span: node.start() + offset..node.end() + offset,
        });
    }
}

/// Whether a member says what sort of record it stands in. Another word makes another record, so
/// there is no experiment to make.
fn is_discriminator(own: &str, key: &str) -> bool {
    match own {
        "thread-protocol" => matches!(key, "version" | "action_type" | "type" | "sequence"),
        "aitp" => matches!(key, "type" | "$schema"),
        "envelope" => matches!(key, "protocol" | "type" | "kind"),
        "looopy" => matches!(key, "kind"),
        "agent-api" => matches!(key, "object" | "type" | "sequence_number" | "delta"),
        "openai-threads" => matches!(key, "object" | "type" | "event"),
        "a2a" => matches!(key, "kind" | "jsonrpc" | "method"),
        "ai-sdk-stream" | "ai-sdk-messages" => matches!(key, "type"),
        "pydantic-ai" => matches!(key, "kind" | "part_kind"),
        "ag-ui" => matches!(key, "type"),
        _ => false,
    }
}

/// Words of which a member must have one, in pairs that are as much alike as can be.
const WORDS: &[(&str, &[(&str, &str)])] = &[
    ("role", &[("user", "assistant"), ("user", "agent"), ("ROLE_USER", "ROLE_AGENT")]),
    ("initiator", &[("user", "agent")]),
    ("status", &[("success", "error"), ("completed", "failed"), ("working", "completed")]),
    ("finishReason", &[("stop", "length"), ("tool-calls", "stop")]),
    ("finish_reason", &[("stop", "length"), ("tool_call", "stop")]),
    ("thoughtType", &[("planning", "reasoning"), ("reflection", "decision")]),
    ("verbosity", &[("brief", "normal"), ("detailed", "normal")]),
    ("inputType", &[("confirmation", "clarification"), ("selection", "custom")]),
    ("authType", &[("oauth2", "api-key")]),
];

/// Members that hold one of a few words.
const CHOICES: &[&str] = &[
    "role", "initiator", "status", "finishReason", "finish_reason", "thoughtType", "verbosity",
    "inputType", "authType", "state", "outcome", "encoding", "intent",
];

/// Whether a member holds an id, which is the same wherever it stands.
fn is_id(key: &str) -> bool {
    ["id", "Id", "ID", "Ids", "_ids"].iter().any(|end| key.ends_with(end))
        || matches!(key, "actor" | "author" | "tool_name" | "toolName" | "toolCallName")
        || matches!(key, "providedBy" | "runId" | "path")
}

/// The source with one value changed; `None` where no other value is known that would do.
fn changed(source: &str, value: &Value) -> Option<String> {
    let old = &source[value.span.clone()];
    let put = |new: &str| {
        format!("{}{new}{}", &source[..value.span.start], &source[value.span.end..])
    };
    let Some(body) = old.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Some(match old {
            "true" => put("false"),
            "false" => put("true"),
            number if number.contains(['e', 'E']) => return None,
            number => match number.split_once('.') {
                Some((whole, rest)) => put(&format!("{}.{rest}", whole.parse::<i64>().ok()? + 1)),
                None => put(&(number.parse::<i64>().ok()? + 1).to_string()),
            },
        });
    };
    if CHOICES.contains(&value.key.as_str()) {
        let pairs = WORDS.iter().filter(|(key, _)| *key == value.key).flat_map(|(_, p)| *p);
        for (a, b) in pairs {
            for (from, to) in [(a, b), (b, a)] {
                if body == *from {
                    return Some(put(&format!("\"{to}\"")));
                }
            }
        }
        return None;
    }
    let new = other_text(body)?;
    if is_id(&value.key) {
        let quoted = source.replace(&format!("\"{body}\""), &format!("\"{new}\""));
        return Some(quoted.replace(&format!("\\\"{body}\\\""), &format!("\\\"{new}\\\"")));
    }
    Some(put(&format!("\"{new}\"")))
}

/// Another text of the same sort: one character in its middle differs.
fn other_text(body: &str) -> Option<String> {
    if time::to_millis(body).is_some() {
        let at = body.find(':')? + 2;
        return Some(turned(body, at));
    }
    // Not inside an escape, nor the words before the data of a data URI.
    let first = body.find(";base64,").map_or(0, |at| at + 8);
    let bytes = body.as_bytes();
    let middle = (first + bytes.len()) / 2;
    let hex = body.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let plain = |at: usize| {
        let escaped = body[..at].rfind('\\').is_some_and(|slash| at - slash <= 5);
        bytes[at].is_ascii_alphanumeric() && !escaped && !(hex && bytes[at].is_ascii_alphabetic())
    };
    let at = (middle..bytes.len())
        .chain((first..middle).rev())
        .filter(|at| body.is_char_boundary(*at))
        .find(|at| plain(*at))?;
    Some(turned(body, at))
}

/// The text with the next letter or digit at a place.
fn turned(body: &str, at: usize) -> String {
    let next = match body.as_bytes()[at] {
        b'9' => '0',
        b'z' => 'a',
        b'Z' => 'A',
        other => char::from(other + 1),
    };
    format!("{}{next}{}", &body[..at], &body[at + 1..])
}

/// The source in each target's words.
fn written(own: &'static Dialect, targets: &[&'static Dialect], source: &str) -> Vec<String> {
    let options = EncodeOptions::default();
    let mut all: Vec<_> =
        targets.iter().map(|to| (Encoding::new(to, &options), Vec::new())).collect();
    decode(own, &reading(), source, |batch| {
        for (encoding, out) in &mut all {
            encoding.batch(&batch, out);
        }
    });
    let text = |(encoding, mut out): (Encoding, Vec<u8>)| {
        encoding.finish(&mut out);
        without_made_ids(&String::from_utf8(out).unwrap(), source)
    };
    all.into_iter().map(text).collect()
}

/// Threads that have no id get one that is made from their text; here it shall not change.
fn reading() -> DecodeOptions {
    DecodeOptions { thread_id: None, ..DecodeOptions::default() }
}

/// Ids that were made from a value do not tell the value.
fn without_made_ids(text: &str, source: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let run = rest[at..].find(|c: char| !c.is_ascii_hexdigit() && c != '-');
        let end = run.map_or(rest.len(), |len| at + len);
        let word = &rest[at..end];
        out.push_str(&rest[..at]);
        let made = word.len() >= 24 && !source.contains(word);
        out.push_str(if made { "made" } else { word });
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Every way from a source to the dialects that carry no frames.
struct Tried {
    pairs: usize,
    values: usize,
    judged: usize,
    wrong: Vec<String>,
}

fn judge(name: &str, own: &'static Dialect, source: &str, tried: &mut Tried) {
    let targets: Vec<&'static Dialect> = dialect::ALL
        .iter()
        .filter(|to| to.id != own.id && to.carrier == dialect::Carrier::Nothing)
        .collect();
    let reports: Vec<BTreeMap<String, String>> =
        targets.iter().map(|to| report(own, to, source)).collect();
    let before = written(own, &targets, source);
    tried.pairs += targets.len();
    for value in values(own, source) {
        if is_discriminator(own.id.name(), &value.key) {
            continue;
        }
        let Some(other) = changed(source, &value) else { continue };
        tried.values += 1;
        for (i, after) in written(own, &targets, &other).iter().enumerate() {
            tried.judged += 1;
            let named = is_named(&reports[i], &value.pointer);
            let kept = *after != before[i];
            if kept == named.is_some() {
                let what = match named {
                    Some(reason) => format!("is kept, yet named: {reason}"),
                    None => "is lost, yet not named".to_owned(),
                };
                let old = &source[value.span.clone()];
                let to = targets[i].id.name();
                tried.wrong.push(format!("{name} → {to}: {} {old} {what}", value.pointer));
            }
        }
    }
}

fn report(own: &'static Dialect, to: &'static Dialect, source: &str) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut losses = Losses::new(to, &EncodeOptions::default());
    let mut add = |loss: Loss| {
        out.insert(loss.pointer, loss.reason);
    };
    decode(own, &reading(), source, |batch| losses.batch(&batch, &mut add));
    losses.finish(&mut add);
    out
}

/// The reason given for a value or for something it stands in.
fn is_named<'r>(report: &'r BTreeMap<String, String>, pointer: &str) -> Option<&'r str> {
    let mut at = pointer;
    loop {
        if let Some(reason) = report.get(at) {
            return Some(reason);
        }
        at = &at[..at.rfind('/')?];
    }
}

const EXAMPLES: &[(&str, &str)] = &[
    ("thread-protocol", "documents/thread-protocol/01-example-thread.json"),
    ("aitp", "documents/aitp-threads/01-thread.json"),
    ("envelope", "documents/envelope-multiagent-1.0/02-planner.json"),
    ("looopy", "documents/looopy-events/31-wire-format.sse"),
    ("agent-api", "documents/agent-api/05-response-stream.sse"),
];

#[test]
fn reports_of_the_documents_examples_are_exact() {
    let mut tried = Tried { pairs: 0, values: 0, judged: 0, wrong: Vec::new() };
    for (own, file) in EXAMPLES {
        judge(file, named(own).unwrap(), &fixture(file), &mut tried);
    }
    println!("{} pairs, {} values, {} judged", tried.pairs, tried.values, tried.judged);
    assert!(tried.wrong.is_empty(), "{}:\n{}", tried.wrong.len(), tried.wrong.join("\n"));
}

#[test]
fn reports_of_small_recordings_are_exact() {
    let mut tried = Tried { pairs: 0, values: 0, judged: 0, wrong: Vec::new() };
    let mut taken = BTreeMap::new();
    for recording in cached() {
        let count: &mut usize = taken.entry(recording.dialect).or_default();
        if recording.text.len() > 4000 || *count >= 6 {
            continue;
        }
        *count += 1;
        judge(&recording.name, named(recording.dialect).unwrap(), &recording.text, &mut tried);
    }
    println!("{} pairs, {} values, {} judged", tried.pairs, tried.values, tried.judged);
    assert!(tried.wrong.is_empty(), "{}:\n{}", tried.wrong.len(), tried.wrong.join("\n"));
}
