//! JavaScript's ways with values, as far as the document's TypeScript leans on them.
//!
//! Strings stay JSON string bodies throughout, so that a surrogate half that `slice` cut off
//! survives, as it does in JavaScript.

use crate::json::{Node, NodeKind, canonical_number, push_escaped, text};

/// How `JSON.stringify` is asked to indent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Indent {
    /// Not at all.
    None,
    /// Two spaces a level.
    Two,
}

/// Appends `JSON.stringify(value)`.
pub(super) fn stringify(value: Node<'_, '_>, indent: Indent, out: &mut String) {
    write(value, indent, 0, out);
}

fn write(value: Node<'_, '_>, indent: Indent, depth: usize, out: &mut String) {
    match value.kind() {
        NodeKind::Object => {
            let members = ordered(value);
            out.push('{');
            for (i, (key, value)) in members.iter().enumerate() {
                separate(i, indent, depth + 1, out);
                out.push('"');
                out.push_str(key);
                out.push_str(if indent == Indent::Two { "\": " } else { "\":" });
                write(*value, indent, depth + 1, out);
            }
            close(members.len(), indent, depth, '}', out);
        }
        NodeKind::Array => {
            out.push('[');
            let mut len = 0;
            for (i, child) in value.children().enumerate() {
                separate(i, indent, depth + 1, out);
                write(child, indent, depth + 1, out);
                len = i + 1;
            }
            close(len, indent, depth, ']', out);
        }
        NodeKind::Plain | NodeKind::Escaped => {
            out.push('"');
            out.push_str(&text::minimal(value.body()));
            out.push('"');
        }
        NodeKind::Number => match value.f64() {
            Some(n) if n.is_finite() => out.push_str(&number(value)),
            _ => out.push_str("null"),
        },
        _ => out.push_str(value.raw()),
    }
}

fn separate(i: usize, indent: Indent, depth: usize, out: &mut String) {
    if i > 0 {
        out.push(',');
    }
    if indent == Indent::Two {
        new_line(depth, out);
    }
}

fn close(len: usize, indent: Indent, depth: usize, bracket: char, out: &mut String) {
    if len > 0 && indent == Indent::Two {
        new_line(depth, out);
    }
    out.push(bracket);
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

/// A number as JavaScript prints it.
fn number(value: Node<'_, '_>) -> String {
    match value.f64() {
        Some(f64::INFINITY) => "Infinity".to_owned(),
        Some(f64::NEG_INFINITY) => "-Infinity".to_owned(),
        _ => canonical_number(value.raw()),
    }
}

/// An object's own properties in JavaScript's order: integer keys ascending, then the others as
/// they first came, each with the value that came last. Keys are minimal bodies.
fn ordered<'d, 'a>(object: Node<'d, 'a>) -> Vec<(String, Node<'d, 'a>)> {
    let mut seen = std::collections::HashMap::new();
    let mut members: Vec<(String, Node<'d, 'a>)> = Vec::new();
    for (key, value) in object.members() {
        let key = text::minimal(key.body()).into_owned();
        match seen.get(&key) {
            Some(at) => {
                let at: &usize = at;
                if let Some(member) = members.get_mut(*at) {
                    member.1 = value;
                }
            }
            None => {
                seen.insert(key.clone(), members.len());
                members.push((key, value));
            }
        }
    }
    // Stable: keys that are no integers stay as they came.
    members.sort_by_key(|(key, _)| array_index(key).unwrap_or(u64::MAX));
    members
}

fn array_index(key: &str) -> Option<u64> {
    let canonical = key == "0" || !key.starts_with('0');
    let digits = !key.is_empty() && key.len() <= 10 && key.bytes().all(|b| b.is_ascii_digit());
    let index: u64 = (canonical && digits).then(|| key.parse().ok())??;
    (index < u64::from(u32::MAX)).then_some(index)
}

/// Appends `${value}` to a string body; an absent value is `undefined`.
pub(super) fn interpolate(value: Option<Node<'_, '_>>, body: &mut String) {
    let Some(value) = value else {
        body.push_str("undefined");
        return;
    };
    match value.kind() {
        NodeKind::Plain | NodeKind::Escaped => body.push_str(value.body()),
        NodeKind::Number => body.push_str(&number(value)),
        NodeKind::Object => body.push_str("[object Object]"),
        NodeKind::Array => {
            for (i, child) in value.children().enumerate() {
                if i > 0 {
                    body.push(',');
                }
                // `join` leaves null out.
                if !child.is_null() {
                    interpolate(Some(child), body);
                }
            }
        }
        _ => body.push_str(value.raw()),
    }
}

/// Appends `JSON.stringify(value)` to a string body.
pub(super) fn interpolate_json(value: Node<'_, '_>, indent: Indent, body: &mut String) {
    let mut json = String::new();
    stringify(value, indent, &mut json);
    push_escaped(&json, body);
}

/// Whether `value || other` is `value`.
pub(super) fn truthy(value: Node<'_, '_>) -> bool {
    match value.kind() {
        NodeKind::Plain | NodeKind::Escaped => !value.body().is_empty(),
        NodeKind::Number => value.f64().is_some_and(|n| n != 0.0),
        NodeKind::Bool => value.bool() == Some(true),
        NodeKind::Null => false,
        _ => true,
    }
}

/// `text.slice(0, len)` of a string body, in UTF-16 units.
pub(super) fn slice(body: &str, len: usize) -> String {
    let body = text::minimal(body);
    let mut out = String::new();
    text::Cutter::new(&body).take(len, &mut out);
    out
}
