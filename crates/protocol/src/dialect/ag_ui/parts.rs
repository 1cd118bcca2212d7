//! Event fields as AG-UI's values: content parts, messages, interrupts, usage.

use super::stage::record;
use crate::dialect::object::Object;
use crate::journal::{Event, Kind};
use crate::json::{Doc, Node, Raw, Style, print, quote, text};

/// A message of a user or a system, for a run's input.
pub(super) fn message(event: &Event<'_>, id: &str) -> String {
    let user = event.get("role").is_none_or(|r| r.is("user"));
    let object = Object::new().raw("id", id).text("role", if user { "user" } else { "system" });
    let object = object.some("name", event.get("author").filter(|a| a.body().is_some()));
    let parts = content_parts(event);
    let plain = event.get("content").is_some_and(|c| c.body().is_some());
    match (user, plain, parts) {
        (true, false, Some(parts)) => object.raw("content", &parts),
        (true, true, Some(parts)) if event.get("attachments").is_some_and(|a| a.len() > 2) => {
            object.raw("content", &parts)
        }
        _ => object.body("content", &text_body(event)),
    }
    .end()
}

/// A message's content and attachments as content parts; `None` if there is neither.
fn content_parts(event: &Event<'_>) -> Option<String> {
    let mut all = Vec::new();
    if let Some(content) = event.get("content") {
        match content.body() {
            Some(body) => all.push(Object::new().text("type", "text").body("text", body).end()),
            None => {
                let doc = content.doc()?;
                all.extend(doc.root().children().filter_map(part));
            }
        }
    }
    if let Some(doc) = event.get("attachments").and_then(Raw::doc) {
        all.extend(doc.root().children().filter_map(|a| media(a, class(a))));
    }
    (!all.is_empty()).then(|| format!("[{}]", all.join(",")))
}

/// One content part.
fn part(node: Node<'_, '_>) -> Option<String> {
    let kind = node.get("type")?.str()?;
    match kind.as_ref() {
        "text" => {
            let text = node.get("text").filter(|t| t.is_string())?;
            Some(Object::new().text("type", "text").raw("text", text.raw()).end())
        }
        "image" => media(node, "image"),
        "audio" => media(node, "audio"),
        "video" => media(node, "video"),
        "file" => media(node, "document"),
        _ => None,
    }
}

fn media(node: Node<'_, '_>, class: &str) -> Option<String> {
    let mime = node.some("media_type").filter(|m| m.is_string());
    let find =
        |names: [&str; 2]| names.into_iter().find_map(|n| node.some(n)).filter(|v| v.is_string());
    let source = if let Some(url) = find(["image_url", "url"]) {
        Object::new()
            .text("type", "url")
            .raw("value", url.raw())
            .some("mimeType", mime.map(Node::raw))
    } else if let Some(data) = find(["image_base64", "data"]) {
        let fallback = match class {
            "image" => "\"image/png\"",
            _ => "\"application/octet-stream\"",
        };
        Object::new()
            .text("type", "data")
            .raw("value", data.raw())
            .raw("mimeType", mime.map_or(fallback, Node::raw))
    } else {
        let name = node.some("name").filter(|v| v.is_string())?;
        Object::new()
            .text("type", "file")
            .raw("value", name.raw())
            .some("mimeType", mime.map(Node::raw))
    };
    Some(Object::new().text("type", class).raw("source", &source.end()).end())
}

/// The class of an attachment, by its media type.
fn class(node: Node<'_, '_>) -> &'static str {
    let mime = node.some("media_type").and_then(|m| m.str()).unwrap_or_default();
    match mime.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => "document",
    }
}

/// A message's text as a string body.
pub(super) fn text_body(event: &Event<'_>) -> String {
    let Some(content) = event.get("content") else { return String::new() };
    if let Some(body) = content.body() {
        return body.to_owned();
    }
    let mut out = String::new();
    if let Some(doc) = content.doc() {
        for part in doc.root().children() {
            if let Some(part) = part.get("text").filter(|t| t.is_string()) {
                out.push_str(&text::minimal(part.body()));
            }
        }
    }
    out
}

/// What an agent's message has besides text, as a list of content parts.
pub(super) fn beside_text(event: &Event<'_>) -> Option<String> {
    let mut all = Vec::new();
    if let Some(doc) = event.get("content").and_then(Raw::doc) {
        let others = doc.root().children().filter(|p| p.get("type").is_some_and(|t| !t.is("text")));
        all.extend(others.filter_map(part));
    }
    if let Some(doc) = event.get("attachments").and_then(Raw::doc) {
        all.extend(doc.root().children().filter_map(|a| media(a, class(a))));
    }
    (!all.is_empty()).then(|| format!("[{}]", all.join(",")))
}

/// What a tool returned, as AG-UI's content: a string, or content parts.
pub(super) fn result(event: &Event<'_>) -> String {
    let value = event.get("result").filter(|r| !r.is_null()).or(event.get("error"));
    let Some(value) = value.or(event.get("result")) else { return String::from("\"\"") };
    if value.body().is_some() {
        return value.to_string();
    }
    let Some(doc) = value.doc() else { return String::from("\"\"") };
    let root = doc.root();
    if root.is_array() && root.children().next().is_some() {
        let parts: Vec<Option<String>> = root.children().map(part).collect();
        if parts.iter().all(Option::is_some) {
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            return format!("[{}]", parts.join(","));
        }
    }
    let mut out = String::new();
    print(root, Style::Compact, &mut out);
    quote(&out)
}

/// A question as an interrupt, with its id.
pub(super) fn interrupt(event: &Event<'_>) -> (String, Object) {
    let auth = event.kind() == Kind::AuthRequired;
    let id = event.get(if auth { "authId" } else { "inputId" });
    let id = id.filter(|i| i.body().is_some()).map_or("\"input\"", |i| i.as_str()).to_owned();
    let given = event.at("metadata", "/reason").filter(|r| r.body().is_some());
    let reason = match (given, auth) {
        (Some(reason), _) => reason.to_string(),
        (None, true) => String::from("\"auth\""),
        (None, false) => match event.get("inputType").and_then(Raw::body) {
            Some("confirmation") if event.get("toolCallId").is_some() => "\"tool_call\"".to_owned(),
            Some(kind) => format!("\"{kind}\""),
            None => String::from("\"input_required\""),
        },
    };
    let metadata = match event.get("options") {
        Some(options) => Some(format!("{{\"options\":{options}}}")),
        None => event.at("metadata", "/details").map(|d| d.to_string()),
    };
    let object = Object::new()
        .raw("id", &id)
        .raw("reason", &reason)
        .some("message", event.get("prompt").filter(|p| p.body().is_some_and(|b| !b.is_empty())))
        .some("toolCallId", event.get("toolCallId").filter(|t| t.body().is_some()))
        .some("responseSchema", event.get("schema").filter(|s| s.is_object()))
        .some("expiresAt", event.get("expiresAt").filter(|at| at.body().is_some()))
        .some("metadata", metadata.filter(|m| m.starts_with('{')));
    (id, object)
}

/// An answer to an interrupt.
pub(super) fn answer(event: &Event<'_>) -> String {
    let id = event.get("inputId").or(event.get("authId"));
    let status = event.at("metadata", "/status").filter(|s| s.is("cancelled"));
    Object::new()
        .raw("interruptId", id.filter(|i| i.body().is_some()).map_or("\"input\"", |i| i.as_str()))
        .text("status", if status.is_some() { "cancelled" } else { "resolved" })
        .some("payload", event.get("value"))
        .end()
}

/// An application's event: one of AG-UI's own kinds, or a custom one.
pub(super) fn system(event: &Event<'_>) -> Object {
    let data = event.get("data").map_or("null", |d| d.as_str());
    let id = event.get("systemId").filter(|i| i.body().is_some());
    let meta = |name: &str| event.at("metadata", &format!("/{name}"));
    let name = event.str("name").unwrap_or_default();
    match name.as_ref() {
        "state_snapshot" => return record("STATE_SNAPSHOT").raw("snapshot", data),
        "state_delta" if is_patch(event) => return record("STATE_DELTA").raw("delta", data),
        "raw" => {
            let source = meta("source").filter(|s| s.body().is_some());
            return record("RAW").raw("event", data).some("source", source);
        }
        "activity_snapshot" | "activity_delta" => {
            let kind = meta("activityType").filter(|k| k.body().is_some());
            if let (Some(id), Some(kind)) = (id, kind) {
                let snapshot = name == "activity_snapshot";
                let known = if snapshot { data.starts_with('{') } else { is_patch(event) };
                if known {
                    let kinds = ["ACTIVITY_DELTA", "ACTIVITY_SNAPSHOT"];
                    let (event_type, key) =
                        if snapshot { (kinds[1], "content") } else { (kinds[0], "patch") };
                    return record(event_type)
                        .raw("messageId", id)
                        .raw("activityType", &kind)
                        .raw(key, data)
                        .some("replace", meta("replace").filter(|r| r.bool().is_some()));
                }
            }
        }
        "encrypted_value" => {
            let at =
                |key: &str| event.at("data", &format!("/{key}")).filter(|v| v.body().is_some());
            if let (Some(subtype), Some(entity), Some(value)) =
                (at("subtype"), at("entityId"), at("encryptedValue"))
                && (subtype.is("message") || subtype.is("tool-call"))
            {
                return record("REASONING_ENCRYPTED_VALUE")
                    .raw("subtype", &subtype)
                    .raw("entityId", &entity)
                    .raw("encryptedValue", &value);
            }
        }
        _ => {}
    }
    record("CUSTOM").text("name", &name).raw("value", data)
}

/// Whether an event's data is a JSON patch.
fn is_patch(event: &Event<'_>) -> bool {
    let Some(doc) = event.get("data").and_then(Raw::doc) else { return false };
    doc.root().is_array()
        && doc.root().children().all(|step| {
            let text = |key: &str| step.get(key).is_some_and(|v| v.is_string());
            let op = step.get("op").and_then(|o| o.str());
            text("path")
                && match op.as_deref() {
                    Some("add" | "replace" | "test") => step.get("value").is_some(),
                    Some("move" | "copy") => text("from"),
                    Some("remove") => true,
                    _ => false,
                }
        })
}

/// Some fields of an event as an object.
pub(super) fn fields(event: &Event<'_>, names: &[&str]) -> String {
    names.iter().fold(Object::new(), |object, name| object.some(name, event.get(name))).end()
}

/// What a model used, from a step's end or a usage event.
pub(super) fn usage(event: &Event<'_>) -> Option<String> {
    let find = |names: [&str; 2]| {
        names.into_iter().find_map(|name| match event.kind() {
            Kind::LlmUsage => match name.split_once('/') {
                Some((field, key)) => event.at(field, &format!("/{key}")),
                None => event.get(name).map(Raw::to_owned),
            },
            _ => event.at("usage", &format!("/{name}")),
        })
    };
    let count = |names: [&str; 2]| find(names).filter(|n| n.i64().is_some_and(|n| n >= 0));
    let provider = event.get("providerName").map(Raw::to_owned);
    let provider = provider.or_else(|| event.at("metadata", "/provider"));
    let counts = Object::new()
        .some("provider", provider.filter(|p| p.body().is_some()))
        .some("model", event.get("model").filter(|m| m.body().is_some()))
        .some("inputTokens", count(["prompt_tokens", "input_tokens"]))
        .some("outputTokens", count(["completion_tokens", "output_tokens"]))
        .some("totalTokens", count(["total_tokens", "total_tokens"]))
        .some(
            "reasoningTokens",
            count(["completion_tokens_details/reasoning_tokens", "reasoning_tokens"]),
        )
        .some(
            "cachedInputTokens",
            count(["prompt_tokens_details/cached_tokens", "cache_read_tokens"]),
        );
    (!counts.is_empty()).then(|| counts.end())
}

/// What a text lacks to be JSON, where that is only its end; `None` if it lacks nothing.
pub(super) fn missing_end(body: &str) -> Option<String> {
    let written = text::decode(body);
    if Doc::parse(&written).is_ok() {
        return None;
    }
    let mut open = Vec::new();
    let mut quoted = false;
    let mut escaped = false;
    for c in written.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => open.push('}'),
            '[' if !quoted => open.push(']'),
            '}' | ']' if !quoted => {
                open.pop();
            }
            _ => {}
        }
    }
    let mut end = String::from(if quoted { "\"" } else { "" });
    end.extend(open.iter().rev());
    Doc::parse(&format!("{written}{end}")).is_ok().then_some(end)
}
