//! Content of user messages: UIMessage parts to content parts and back.

use crate::json::{Doc, Node, Raw, text};
use crate::residue::Marks;

/// The content of a user's or system's message, bound to event `event`'s `content`: the text, if
/// there is one text part and nothing else to show, else a list of content parts.
pub(in crate::dialect) fn read<'a>(
    parts: Node<'_, 'a>,
    event: usize,
    marks: &mut Marks,
) -> Raw<'a> {
    marks.list(parts);
    let shown = || {
        parts.children().filter(|p| {
            p.get("type").is_some_and(|t| t.is("text") && p.get("text").is_some() || t.is("file"))
        })
    };
    for part in shown() {
        if let Some(kind) = part.get("type") {
            marks.implied(kind);
        }
    }
    if let Some(text) = shown().next().and_then(|p| p.get("text"))
        && text.is_string()
        && shown().count() == 1
    {
        marks.bind(text, event, "content");
        return Raw::from(text);
    }
    let mut out = String::from("[");
    for (at, part) in shown().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let mut fields: [(&str, Option<Node<'_, '_>>); 3] = [("", None); 3];
        let class = if part.get("type").is_some_and(|t| t.is("text")) {
            fields[0] = ("text", part.get("text"));
            "text"
        } else {
            let media = part.get("mediaType").and_then(|m| m.str()).unwrap_or_default();
            let class = class_of(&media);
            let url = if class == "image" { "image_url" } else { "url" };
            fields[0] = (url, part.get("url"));
            fields[1] = ("media_type", part.get("mediaType"));
            fields[2] = ("name", part.some("filename"));
            class
        };
        out.push_str("{\"type\":\"");
        out.push_str(class);
        out.push('"');
        for (name, node) in fields {
            if let Some(node) = node {
                out.push_str(",\"");
                out.push_str(name);
                out.push_str("\":");
                out.push_str(node.raw());
                marks.bind_at(node, event, "content", &format!("/{at}/{name}"));
            }
        }
        out.push('}');
    }
    out.push(']');
    Raw::owned(out)
}

/// The class of content a media type belongs to.
fn class_of(media: &str) -> &'static str {
    match media.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => "file",
    }
}

/// UIMessage parts for a message's content and attachments, as a JSON array.
pub(in crate::dialect) fn write(
    content: Option<&Raw<'_>>,
    attachments: Option<&Raw<'_>>,
) -> String {
    let mut out = String::from("[");
    if let Some(body) = content.and_then(Raw::body) {
        text_part(body, &mut out);
    } else if let Some(content) = content {
        match Doc::parse(content) {
            Ok(doc) if doc.root().is_array() => {
                for part in doc.root().children() {
                    content_part(part, &mut out);
                }
            }
            Ok(doc) if doc.root().is_object() && doc.root().get("type").is_some() => {
                content_part(doc.root(), &mut out);
            }
            // Content of another kind is shown as the JSON it is.
            Ok(doc) if !doc.root().is_null() => {
                let mut body = String::new();
                crate::json::push_escaped(content, &mut body);
                text_part(&body, &mut out);
            }
            _ => {}
        }
    }
    if let Some(doc) = attachments.and_then(|a| Doc::parse(a).ok()) {
        for attachment in doc.root().children() {
            file_part(attachment, &mut out);
        }
    }
    out.push(']');
    out
}

fn separate(out: &mut String) {
    if !out.ends_with('[') {
        out.push(',');
    }
}

fn text_part(body: &str, out: &mut String) {
    separate(out);
    out.push_str("{\"type\":\"text\",\"text\":\"");
    out.push_str(&text::minimal(body));
    out.push_str("\"}");
}

fn content_part(part: Node<'_, '_>, out: &mut String) {
    if part.is_string() {
        text_part(part.body(), out);
    } else if let Some(said) = part.get("text").filter(|t| t.is_string()) {
        text_part(said.body(), out);
    } else if ["image_url", "image_base64", "url", "data"].iter().any(|k| part.some(k).is_some()) {
        file_part(part, out);
    } else if part.is_object() {
        let mut body = String::new();
        crate::json::push_escaped(part.raw(), &mut body);
        text_part(&body, out);
    }
}

/// A file part from a content part or an attachment.
fn file_part(from: Node<'_, '_>, out: &mut String) {
    let media = from.some("media_type").filter(|m| m.is_string()).map_or_else(
        || match from.get("type").map(|t| t.body()) {
            Some("image") => "image/*",
            Some("audio") => "audio/*",
            Some("video") => "video/*",
            _ => "application/octet-stream",
        },
        |m| m.body(),
    );
    let url = ["image_url", "url"].iter().find_map(|k| from.some(k)).filter(|u| u.is_string());
    let data = ["image_base64", "data"].iter().find_map(|k| from.some(k));
    if url.is_none() && !data.is_some_and(Node::is_string) {
        // Nothing to open: shown as the JSON it is.
        let mut body = String::new();
        crate::json::push_escaped(from.raw(), &mut body);
        return text_part(&body, out);
    }
    separate(out);
    out.push_str("{\"type\":\"file\",\"mediaType\":\"");
    out.push_str(media);
    out.push_str("\",");
    if let Some(name) = from.some("name").filter(|n| n.is_string()) {
        out.push_str("\"filename\":");
        out.push_str(name.raw());
        out.push(',');
    }
    out.push_str("\"url\":\"");
    match (url, data) {
        (Some(url), _) => out.push_str(url.body()),
        (None, Some(data)) if data.is_string() => {
            out.push_str("data:");
            out.push_str(media);
            out.push_str(";base64,");
            push_standard_base64(data.body(), out);
        }
        _ => {}
    }
    out.push_str("\"}");
}

/// The AI SDK reads the standard alphabet only.
pub(in crate::dialect) fn push_standard_base64(data: &str, out: &mut String) {
    out.extend(data.chars().map(|c| match c {
        '-' => '+',
        '_' => '/',
        c => c,
    }));
}
