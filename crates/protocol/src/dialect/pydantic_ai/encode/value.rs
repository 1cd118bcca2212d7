//! JSON values as the package's writer spells them.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::part::push_binary;
use crate::base64;
use crate::json::{Doc, Node, NodeKind, Raw, push_escaped, text};

/// What becomes of objects that look like binary content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    /// The reader makes binary content of them, with every field.
    Rebuilt,
    /// They stay as they are.
    Kept,
}

/// How feedback to a model was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feedback {
    Text,
    Errors,
}

/// Writes a string value, or `null` for anything else.
pub(super) fn text_or_null(value: Option<&Raw<'_>>, out: &mut String) {
    match value.and_then(Raw::body) {
        Some(body) => {
            out.push('"');
            push_body(body, out);
            out.push('"');
        }
        None => out.push_str("null"),
    }
}

/// Writes a string's inside. The reader refuses surrogate halves: they become U+FFFD.
fn push_body(body: &str, out: &mut String) {
    if text::has_lone_surrogate(body) {
        push_escaped(&text::decode(body), out);
    } else {
        out.push_str(&text::minimal(body));
    }
}

/// Writes any value; text that is not JSON becomes a string.
pub(super) fn push(value: &str, files: Files, out: &mut String) {
    match Doc::parse(value) {
        Ok(doc) => push_node(doc.root(), files, out),
        Err(_) => {
            out.push('"');
            push_escaped(value, out);
            out.push('"');
        }
    }
}

/// Writes a tool call's arguments: an object, the text the model wrote, or nothing.
pub(super) fn push_arguments(value: &Raw<'_>, out: &mut String) {
    if value.is_object() || value.is_null() || value.body().is_some() {
        push(value, Files::Kept, out);
    } else {
        out.push('"');
        push_escaped(value, out);
        out.push('"');
    }
}

/// Writes feedback: a text, or a list of errors as the package describes them.
pub(super) fn push_feedback(value: &str, out: &mut String) -> Feedback {
    let doc = Doc::parse(value);
    if let Ok(doc) = &doc {
        let root = doc.root();
        let mut errors = root.children().peekable();
        if errors.peek().is_some() && errors.all(is_error) {
            push_errors(root, out);
            return Feedback::Errors;
        }
        if let Some(text) = root.str() {
            out.push('"');
            push_escaped(&text, out);
            out.push('"');
            return Feedback::Text;
        }
    }
    out.push('"');
    push_escaped(value, out);
    out.push('"');
    Feedback::Text
}

fn is_error(error: Node<'_, '_>) -> bool {
    let text = |key: &str| error.get(key).is_some_and(Node::is_string);
    let place = |n: Node<'_, '_>| n.is_string() || n.i64().is_some();
    text("type")
        && text("msg")
        && error.get("input").is_some()
        && error.get("loc").is_some_and(|loc| loc.is_array() && loc.children().all(place))
        && error.get("ctx").is_none_or(Node::is_object)
        && error.get("url").is_none_or(Node::is_string)
}

fn push_errors(errors: Node<'_, '_>, out: &mut String) {
    out.push('[');
    for (i, error) in errors.children().enumerate() {
        let mut first = true;
        for key in ["type", "loc", "msg", "input", "ctx", "url"] {
            let Some(value) = error.get(key) else { continue };
            out.push_str(match (first, i) {
                (true, 0) => "{",
                (true, _) => ",{",
                (false, _) => ",",
            });
            first = false;
            let _ = write!(out, "\"{key}\":");
            push_node(value, Files::Kept, out);
        }
        out.push('}');
    }
    out.push(']');
}

fn push_node(node: Node<'_, '_>, files: Files, out: &mut String) {
    match node.kind() {
        NodeKind::Object if files == Files::Rebuilt && push_file(node, out) => {}
        NodeKind::Object => {
            // The last of several members with one name counts, at the place of the first.
            let mut places: HashMap<String, usize> = HashMap::new();
            let mut members: Vec<(Node<'_, '_>, Node<'_, '_>)> = Vec::new();
            for (key, value) in node.members() {
                let name = key.str().unwrap_or_default().into_owned();
                match places.get(&name).and_then(|at| members.get_mut(*at)) {
                    Some(member) => member.1 = value,
                    None => {
                        places.insert(name, members.len());
                        members.push((key, value));
                    }
                }
            }
            out.push('{');
            for (i, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if i > 0 { ",\"" } else { "\"" });
                push_body(key.body(), out);
                out.push_str("\":");
                push_node(value, files, out);
            }
            out.push('}');
        }
        NodeKind::Array => {
            out.push('[');
            for (i, child) in node.children().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                push_node(child, files, out);
            }
            out.push(']');
        }
        NodeKind::Number => push_number(node.raw(), out),
        NodeKind::Plain | NodeKind::Escaped => {
            out.push('"');
            push_body(node.body(), out);
            out.push('"');
        }
        NodeKind::Bool | NodeKind::Null => out.push_str(node.raw()),
    }
}

/// Writes an object as binary content if the reader would take it for that.
fn push_file(node: Node<'_, '_>, out: &mut String) -> bool {
    if !node.get("kind").is_some_and(|kind| kind.is("binary")) {
        return false;
    }
    let (Some(data), Some(media_type)) = (
        node.get("data").and_then(|n| n.str()).and_then(|data| base64::decode(&data)),
        node.get("media_type").and_then(|n| n.str()),
    ) else {
        return false;
    };
    let identifier = node.some("identifier").and_then(|n| n.str());
    let mut text = String::new();
    push_binary(&data, &media_type, identifier.as_deref(), &mut text);
    match node.some("vendor_metadata").filter(|n| n.is_object()) {
        Some(vendor) => {
            let (head, tail) = text.split_once("\"vendor_metadata\":null").unwrap_or((&text, ""));
            out.push_str(head);
            out.push_str("\"vendor_metadata\":");
            push_node(vendor, Files::Kept, out);
            out.push_str(tail);
        }
        None => out.push_str(&text),
    }
    true
}

/// Writes a number: whole ones as they are, others in the shortest form that reads the same.
pub(super) fn push_number(token: &str, out: &mut String) {
    if !token.contains(['.', 'e', 'E']) {
        out.push_str(if token == "-0" { "0" } else { token });
        return;
    }
    let value: f64 = token.parse().unwrap_or(0.0);
    push_float(value, out);
}

/// Writes a float with at least one digit after the point, or an exponent with its sign.
pub(super) fn push_float(value: f64, out: &mut String) {
    if !value.is_finite() {
        out.push_str("null");
        return;
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value == 0.0 || (-5..16).contains(&exponent) {
        let plain = format!("{value}");
        out.push_str(&plain);
        if !plain.contains('.') {
            out.push_str(".0");
        }
        return;
    }
    let sign = if exponent > 0 { "+" } else { "" };
    let _ = write!(out, "{mantissa}e{sign}{exponent}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str) -> String {
        let mut out = String::new();
        push(value, Files::Rebuilt, &mut out);
        out
    }

    #[test]
    fn numbers_are_spelled_as_the_package_spells_them() {
        assert_eq!(
            written("[1e100,1E5,-0,-0.0,949.0,1e16,1e15,123456789012345680000.0,1e21,1e-5,1e-7]"),
            "[1e+100,100000.0,0,-0.0,949.0,1e+16,1000000000000000.0,1.2345678901234568e+20,1e+21,\
             0.00001,1e-7]"
        );
        assert_eq!(
            written("[0.00001234,12345678901234567890123,5e-324,1.5e300,0.1,1e-6,123e-7,1e400]"),
            "[0.00001234,12345678901234567890123,5e-324,1.5e+300,0.1,1e-6,0.0000123,null]"
        );
    }

    #[test]
    fn objects_lose_repeats_and_binary_content_gets_every_field() {
        assert_eq!(written("{\"a\":1,\"b\":2, \"\\u0061\":3}"), "{\"a\":3,\"b\":2}");
        assert_eq!(
            written("[{\"kind\":\"binary\",\"data\":\"+/+/\",\"media_type\":\"image/png\"}]"),
            "[{\"data\":\"-_-_\",\"media_type\":\"image/png\",\"vendor_metadata\":null,\
             \"kind\":\"binary\",\"identifier\":\"d4dea6\"}]"
        );
        assert_eq!(written("\"\\ud83d\\u00e9\\/\""), "\"\u{fffd}é/\"");
    }
}
