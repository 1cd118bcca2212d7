//! An event whose content was taken out: what it did stays, what it said is gone.
//!
//! Invariant: what stays is in the event table: its kind, words of fixed sets, numbers, flags and
//! the names of things. Text, data, metadata and members that nobody knows go.

use super::kind::{self, COMMON, Field, Kind, Need, Type};
use crate::json::{Node, quote};

/// Names of things, which other events refer to.
const NAMES: &[&str] = &[
    "contextId",
    "taskId",
    "parentTaskId",
    "agentId",
    "stepId",
    "messageId",
    "partId",
    "thoughtId",
    "toolCallId",
    "toolName",
    "artifactId",
    "inputId",
    "authId",
    "subtaskId",
    "sourceId",
    "systemId",
    "participantId",
    "userId",
    "author",
    "answers",
    "providedBy",
    "requestedBy",
    "to",
    "model",
    "mimeType",
    "timestamp",
    "expiresAt",
    "createdAt",
    "updatedAt",
    "visibility",
];
/// The longest of those.
const NAME_BYTES: usize = 256;

/// Writes an event without its content, with `redacted` (JSON) in its place.
pub fn blank(event: Node<'_, '_>, redacted: &str) -> String {
    let name = event.get("kind").and_then(Node::str).unwrap_or_default();
    let kind = Kind::named(&name);
    let own = kind::spec(kind).map_or(&[][..], |spec| spec.fields);
    let field = |name: &str| own.iter().chain(COMMON).find(|field| field.name == name);
    let mut out = format!("{{\"kind\":{}", quote(&name));
    let mut push = |name: &str, value: &str| {
        out.push(',');
        out.push_str(&quote(name));
        out.push(':');
        out.push_str(value);
    };
    for (key, value) in event.members() {
        let Some(name) = key.str().filter(|name| name != "kind" && name != "redacted") else {
            continue;
        };
        let stays = NAMES.contains(&&*name) && value.is_string() && value.raw().len() <= NAME_BYTES;
        if stays || field(&name).is_some_and(|field| is_word(field, value)) {
            push(&name, value.raw());
        } else if let Some(empty) = field(&name).and_then(empty) {
            push(&name, empty);
        }
    }
    push("redacted", redacted);
    out.push('}');
    out
}

/// Whether an event's content was taken out.
pub fn is_blank(event: Node<'_, '_>) -> bool {
    event.get("redacted").is_some_and(Node::is_object)
}

/// A word of a fixed set, a number or a flag.
fn is_word(field: &Field, value: Node<'_, '_>) -> bool {
    match field.ty {
        Type::OneOf(words) => value.str().is_some_and(|word| words.contains(&&*word)),
        Type::Number | Type::Integer => {
            value.raw().starts_with(|c: char| c == '-' || c.is_ascii_digit())
        }
        Type::Bool => value.bool().is_some(),
        Type::Any | Type::Text | Type::Object | Type::Array => false,
    }
}

/// What stands for the content of a field that must be there.
fn empty(field: &Field) -> Option<&'static str> {
    match (field.need, field.ty) {
        (Need::May, _) => None,
        (Need::Must, Type::Object) => Some("{}"),
        (Need::Must, Type::Array) => Some("[]"),
        (Need::Must, Type::Text | Type::Any | Type::OneOf(_)) => Some("\"\""),
        (Need::Must, Type::Number | Type::Integer) => Some("0"),
        (Need::Must, Type::Bool) => Some("false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    fn blanked(event: &str) -> String {
        blank(Doc::parse(event).unwrap().root(), r#"{"receipt":9}"#)
    }

    #[test]
    fn what_an_event_did_stays_and_what_it_said_is_gone() {
        assert_eq!(
            blanked(
                r#"{"kind":"message","contextId":"t","role":"user","author":"ann","content":[{"text":"s3"}],"metadata":{"a":"s3"},"odd":"s3"}"#
            ),
            r#"{"kind":"message","contextId":"t","role":"user","author":"ann","content":"","redacted":{"receipt":9}}"#
        );
        assert_eq!(
            blanked(
                r#"{"kind":"task-status","taskId":"k","status":"failed","message":"s3","code":"s3","timestamp":"x"}"#
            ),
            r#"{"kind":"task-status","taskId":"k","status":"failed","timestamp":"x","redacted":{"receipt":9}}"#
        );
        assert_eq!(
            blanked(
                r#"{"kind":"file-write","artifactId":"f","data":"s3","index":2,"complete":true,"name":"s3"}"#
            ),
            r#"{"kind":"file-write","artifactId":"f","data":"","index":2,"complete":true,"redacted":{"receipt":9}}"#
        );
        assert_eq!(
            blanked(r#"{"kind":"odd","text":"s3"}"#),
            r#"{"kind":"odd","redacted":{"receipt":9}}"#
        );
    }

    #[test]
    fn a_long_name_is_content() {
        let long = "s".repeat(300);
        let event = format!(r#"{{"kind":"content-delta","partId":"{long}","delta":"s3"}}"#);
        assert_eq!(
            blanked(&event),
            r#"{"kind":"content-delta","delta":"","redacted":{"receipt":9}}"#
        );
    }
}
