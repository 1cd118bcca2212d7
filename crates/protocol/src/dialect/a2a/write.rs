//! The objects of both versions as JSON text: parts, messages, artifacts, events.
//!
//! Real peers refuse repeated keys and surrogate halves, so values of other protocols are cleaned
//! of both on the way.

use std::collections::HashMap;

use super::model::Version;
use super::part::Class;
use crate::json::{Doc, Node, Raw, push_escaped, quote, text};
use crate::sse;

/// An object under construction. 1.0 keeps the order of its protobuf fields, 0.3 sorts by name.
#[derive(Debug, Default)]
pub(super) struct Object {
    members: Vec<(&'static str, String)>,
}

impl Object {
    /// Adds a member, given as JSON text.
    pub(super) fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.members.push((key, value.into()));
        self
    }

    /// Adds a member if there is a value.
    pub(super) fn some(self, key: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Puts a member before the others.
    pub(super) fn first(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.members.insert(0, (key, value.into()));
        self
    }

    /// With the members of an artifact in the order of its protobuf fields.
    pub(super) fn ordered(mut self) -> Self {
        const ORDER: [&str; 6] =
            ["artifactId", "name", "description", "parts", "metadata", "extensions"];
        self.members.sort_by_key(|m| ORDER.iter().position(|o| *o == m.0));
        self
    }

    /// Adds a member that only 0.3 has.
    pub(super) fn kind(self, version: Version, kind: &str) -> Self {
        if version == Version::V03 { self.with("kind", quote(kind)) } else { self }
    }

    /// Its text.
    pub(super) fn text(mut self, version: Version) -> String {
        if version == Version::V03 {
            self.members.sort_by_key(|m| m.0);
        }
        let mut out = String::from("{");
        for (i, (key, value)) in self.members.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push('"');
            out.push_str(key);
            out.push_str("\":");
            out.push_str(value);
        }
        out.push('}');
        out
    }
}

/// An array of JSON texts.
pub(super) fn array(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// A part to write.
#[derive(Debug, Clone)]
pub(super) struct Part {
    class: Class,
    /// JSON text.
    value: String,
    media: Option<String>,
    name: Option<String>,
}

impl Part {
    /// A text, given as a string body.
    pub(super) fn text(body: &str) -> Self {
        let value = format!("\"{}\"", clean_body(body));
        Self { class: Class::Text, value, media: None, name: None }
    }

    /// Data of any kind.
    pub(super) fn data(value: &str) -> Self {
        Self { class: Class::Data, value: clean(value), media: None, name: None }
    }

    /// A link.
    pub(super) fn url(body: &str) -> Self {
        Self { class: Class::Url, ..Self::text(body) }
    }

    /// Bytes in base64; what is not base64 is written as text.
    pub(super) fn bytes(body: &str) -> Self {
        let class = if is_base64(body) { Class::Raw } else { Class::Text };
        Self { class, ..Self::text(body) }
    }

    /// With a media type and a file name, given as JSON strings.
    pub(super) fn file(mut self, media: Option<&Raw<'_>>, name: Option<&Raw<'_>>) -> Self {
        self.media = media.and_then(string);
        self.name = name.and_then(string);
        self
    }

    /// Its text.
    pub(super) fn write(&self, version: Version) -> String {
        let Self { class, value, media, name } = self;
        let object = Object::default();
        if version == Version::V1 {
            let key = match class {
                Class::Text => "text",
                Class::Raw => "raw",
                Class::Url => "url",
                Class::Data => "data",
            };
            return object
                .with(key, value.as_str())
                .some("filename", name.as_deref())
                .some("mediaType", media.as_deref())
                .text(version);
        }
        match class {
            Class::Text => {
                // A text part has no place of its own for them.
                let about = (media.is_some() || name.is_some()).then(|| {
                    Object::default()
                        .some("filename", name.as_deref())
                        .some("mediaType", media.as_deref())
                        .text(version)
                });
                object.with("text", value.as_str()).some("metadata", about).kind(version, "text")
            }
            Class::Raw | Class::Url => {
                let key = if *class == Class::Raw { "bytes" } else { "uri" };
                let file = Object::default()
                    .with(key, value.as_str())
                    .some("mimeType", media.as_deref())
                    .some("name", name.as_deref());
                object.with("file", file.text(version)).kind(version, "file")
            }
            Class::Data if value.starts_with('{') => {
                object.with("data", value.as_str()).kind(version, "data")
            }
            Class::Data => {
                object.with("data", format!("{{\"value\":{value}}}")).kind(version, "data")
            }
        }
        .text(version)
    }
}

/// The parts of a message's content and attachments; never none.
pub(super) fn parts(content: Option<&Raw<'_>>, attachments: Option<&Raw<'_>>) -> Vec<Part> {
    let mut out = Vec::new();
    if let Some(content) = content {
        match (content.body(), content.doc()) {
            (Some(body), _) => out.push(Part::text(body)),
            (None, Some(doc)) if content.is_array() => {
                out.extend(doc.root().children().filter_map(content_part));
            }
            (None, Some(_)) if content.is_object() => out.push(Part::data(content)),
            _ => {}
        }
    }
    if let Some(doc) = attachments.and_then(Raw::doc) {
        out.extend(doc.root().children().filter_map(content_part));
    }
    if out.is_empty() {
        out.push(Part::text(""));
    }
    out
}

fn content_part(part: Node<'_, '_>) -> Option<Part> {
    if part.is_string() {
        return Some(Part::text(part.body()));
    }
    let text = |key| part.get(key).filter(|n: &Node<'_, '_>| n.is_string()).map(Node::body);
    let class = part.get("type").map(|t| t.body());
    if let Some(body) = text("text").filter(|_| class.is_none_or(|c| c == "text")) {
        return Some(Part::text(body));
    }
    let raw = |key| part.some(key).map(Raw::from);
    let made = if let Some(body) = text("image_url").or_else(|| text("url")) {
        Part::url(body)
    } else {
        Part::bytes(text("image_base64").or_else(|| text("data"))?)
    };
    Some(made.file(raw("media_type").as_ref(), raw("name").as_ref()))
}

/// Wraps an event for its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Envelope {
    /// As it is: the HTTP+JSON binding.
    Bare,
    /// In a JSON-RPC response.
    JsonRpc,
}

impl Envelope {
    /// A server-sent event with a stream response.
    pub(super) fn wrap(self, version: Version, key: &str, body: String) -> String {
        let result = if version == Version::V1 { format!("{{\"{key}\":{body}}}") } else { body };
        let data = match (self, version) {
            (Self::Bare, _) => result,
            (Self::JsonRpc, Version::V1) => {
                format!("{{\"result\":{result},\"id\":1,\"jsonrpc\":\"2.0\"}}")
            }
            (Self::JsonRpc, Version::V03) => {
                format!("{{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{result}}}")
            }
        };
        sse::write(None, None, &data)
    }

    /// A server-sent event with an error.
    pub(super) fn error(self, code: Option<&Raw<'_>>, message: &str) -> String {
        let number = code.and_then(Raw::str).and_then(|c| c.parse::<i64>().ok());
        let word = code.and_then(string).filter(|_| number.is_none());
        let message = format!("\"{}\"", clean_body(message));
        let error = Object::default();
        let data = match self {
            Self::Bare => {
                let error = error
                    .with("code", number.unwrap_or(500).to_string())
                    .with("status", word.unwrap_or_else(|| quote("INTERNAL")))
                    .with("message", message);
                Object::default().with("error", error.text(Version::V1))
            }
            Self::JsonRpc => {
                let data = word.map(|w| format!("{{\"code\":{w}}}"));
                let error = error
                    .with("code", number.unwrap_or(-32603).to_string())
                    .with("message", message)
                    .some("data", data);
                Object::default()
                    .with("error", error.text(Version::V1))
                    .with("id", "1")
                    .with("jsonrpc", "\"2.0\"")
            }
        };
        sse::write(Some("error"), None, &data.text(Version::V1))
    }
}

/// A JSON string cleaned; `None` if it is not a string, or empty.
pub(super) fn string(raw: &Raw<'_>) -> Option<String> {
    raw.body().filter(|b| !b.is_empty()).map(|body| format!("\"{}\"", clean_body(body)))
}

/// A string body without surrogate halves.
pub(super) fn clean_body(body: &str) -> String {
    if !text::has_lone_surrogate(body) {
        return body.to_owned();
    }
    let mut out = String::with_capacity(body.len());
    push_escaped(&text::decode(body), &mut out);
    out
}

/// JSON text without surrogate halves and repeated keys, on one line.
pub(super) fn clean(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    match Doc::parse(value) {
        Ok(doc) => push_clean(doc.root(), &mut out),
        Err(_) => out.push_str("null"),
    }
    out
}

fn push_clean(node: Node<'_, '_>, out: &mut String) {
    if node.is_object() {
        let members: Vec<_> = node.members().collect();
        // The last of several members of one name counts, at the place of the first.
        let mut last = HashMap::with_capacity(members.len());
        let mut order = Vec::with_capacity(members.len());
        for (key, value) in members {
            let name = clean_body(key.body());
            let decoded = text::decode(&name).into_owned();
            if last.insert(decoded.clone(), value).is_none() {
                order.push((name, decoded));
            }
        }
        out.push('{');
        for (i, (name, decoded)) in order.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push('"');
            out.push_str(name);
            out.push_str("\":");
            if let Some(value) = last.get(decoded) {
                push_clean(*value, out);
            }
        }
        out.push('}');
    } else if node.is_array() {
        out.push('[');
        for (i, child) in node.children().enumerate() {
            if i > 0 {
                out.push(',');
            }
            push_clean(child, out);
        }
        out.push(']');
    } else if node.is_string() {
        out.push('"');
        out.push_str(&clean_body(node.body()));
        out.push('"');
    } else {
        out.push_str(node.raw());
    }
}

/// Cuts a surrogate half off the end of a body; its other half may come with the next.
pub(super) fn split_half(body: &str) -> (&str, &str) {
    let last = text::units(body).last();
    match last {
        Some(unit) if (0xd800..0xdc00).contains(&unit.code) => body.split_at(unit.start),
        _ => (body, ""),
    }
}

/// Whether a body is base64, in either alphabet, padded or not.
pub(super) fn is_base64(body: &str) -> bool {
    let data = body.trim_end_matches('=');
    data.len() % 4 != 1
        && body.len() - data.len() <= 2
        && data.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/-_".contains(&b))
}

/// Whether a body is a time that protobuf's JSON takes: RFC 3339, at most nine decimals.
pub(super) fn is_timestamp(body: &str) -> bool {
    let bytes = body.as_bytes();
    let digits = |from: usize, to: usize| {
        bytes.get(from..to).is_some_and(|d| d.iter().all(u8::is_ascii_digit))
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !marks.iter().all(|(at, mark)| bytes.get(*at) == Some(mark))
        || ![(0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19)]
            .iter()
            .all(|(from, to)| digits(*from, *to))
    {
        return false;
    }
    let rest = body.get(19..).unwrap_or("");
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if !(1..=9).contains(&(fraction.len() - zone.len())) {
                return false;
            }
            zone
        }
        None => rest,
    };
    let offset = zone.as_bytes();
    zone == "Z"
        || offset.len() == 6
            && matches!(offset.first(), Some(b'+' | b'-'))
            && offset.get(3) == Some(&b':')
            && [1, 2, 4, 5].iter().all(|i| offset.get(*i).is_some_and(u8::is_ascii_digit))
}
