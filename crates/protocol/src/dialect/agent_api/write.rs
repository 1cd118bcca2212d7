//! Event fields as the Agent API's contents.

use super::response::Content;
use crate::dialect::object::Object;
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw, Style, print, quote};

/// What an event says in a message of its own.
pub(super) struct Said {
    pub(super) kind: &'static str,
    pub(super) role: &'static str,
    pub(super) id: Option<String>,
    pub(super) contents: Vec<Content>,
}

/// A call that was made, as JSON strings.
pub(super) struct Called {
    pub(super) name: String,
    pub(super) arguments: String,
}

/// The message that an event, perhaps about a call, becomes; `None` if it becomes none.
pub(super) fn said(event: &Event<'_>, call: Option<&Called>) -> Option<Said> {
    let (kind, role, contents) = match event.kind() {
        Kind::Message => {
            let role = match event.get("role").and_then(Raw::body) {
                Some("system") => "system",
                Some("tool") => "tool",
                Some("agent") => "assistant",
                _ => "user",
            };
            // An agent's text was streamed; what else it said was not.
            let contents = message(event, role != "assistant");
            if contents.is_empty() && role == "assistant" {
                return None;
            }
            ("message", role, contents)
        }
        Kind::InputRequired | Kind::ToolInputRequired | Kind::AuthRequired => {
            ("mcp_approval_request", "assistant", vec![ask(event, call)])
        }
        Kind::InputReceived | Kind::AuthCompleted => {
            ("mcp_approval_response", "user", vec![answer(event)])
        }
        Kind::System => system(event),
        Kind::Error => ("error", "assistant", Vec::new()),
        Kind::TaskStatus | Kind::ToolProgress => {
            // Signs of life, with what there is to say.
            let told = ["message", "code", "progress"].iter().any(|f| event.get(f).is_some());
            let data = Object::of(event).text("kind", event.kind().name()).end();
            if !told {
                return None;
            }
            ("heartbeat", "assistant", vec![Content::new("data", "data", data)])
        }
        Kind::FileWrite | Kind::DatasetWrite | Kind::DataWrite | Kind::Source => {
            ("message", "assistant", vec![artifact(event)])
        }
        _ => return None,
    };
    let id =
        ["systemId", "inputId", "artifactId", "sourceId"].into_iter().find_map(|f| event.str(f));
    let id = id.map(|id| format!("{id}:{kind}"));
    Some(Said { kind, role, id, contents })
}

/// A value as a JSON string: a string as it is, anything else as its JSON text.
pub(super) fn as_string(value: &Raw<'_>) -> String {
    if value.body().is_some() {
        return value.to_string();
    }
    let mut out = String::new();
    match value.doc() {
        Some(doc) => print(doc.root(), Style::Compact, &mut out),
        None => out.push_str(value),
    }
    quote(&out)
}

/// A tool call's data.
pub(super) fn call(id: &str, name: &str, arguments: &str, server: Option<&str>) -> Content {
    let object = Object::new().raw("call_id", id);
    let object = match server {
        Some(server) => {
            object.raw("arguments", arguments).raw("name", name).raw("server_label", server)
        }
        None => object.raw("name", name).raw("arguments", arguments),
    };
    Content::new("data", "data", object.end())
}

fn message(event: &Event<'_>, with_text: bool) -> Vec<Content> {
    let mut all = Vec::new();
    if let Some(content) = event.get("content") {
        match (content.body(), content.doc()) {
            (Some(_), _) if with_text => {
                all.push(Content::new("text", "text", content.to_string()))
            }
            (None, Some(doc)) if doc.root().is_array() => {
                let parts = doc.root().children();
                let said =
                    parts.filter(|p| with_text || !p.get("type").is_some_and(|t| t.is("text")));
                all.extend(said.filter_map(part));
            }
            (None, Some(doc)) if with_text && doc.root().is_object() => {
                all.push(Content::new("data", "data", content.to_string()));
            }
            _ => {}
        }
    }
    if let Some(doc) = event.get("attachments").and_then(Raw::doc) {
        all.extend(doc.root().children().filter_map(|a| media(a, class(a))));
    }
    all
}

/// A content part.
fn part(node: Node<'_, '_>) -> Option<Content> {
    let kind = node.get("type")?.str()?;
    match kind.as_ref() {
        "text" => {
            let text = node.get("text").filter(|t| t.is_string())?;
            Some(Content::new("text", "text", text.raw()))
        }
        "image" => media(node, "image"),
        "audio" => media(node, "audio"),
        "video" => media(node, "video"),
        "file" => media(node, "file"),
        "data" => {
            let data = node.some("data").filter(|d| d.is_object())?;
            Some(Content::new("data", "data", data.raw()))
        }
        _ => None,
    }
}

fn media(node: Node<'_, '_>, class: &str) -> Option<Content> {
    let find =
        |names: [&str; 2]| names.into_iter().find_map(|n| node.some(n)).filter(|v| v.is_string());
    let mime = node.some("media_type").and_then(|m| m.str());
    let url = find(["image_url", "url"]);
    let data = find(["image_base64", "data"]);
    let link = || {
        let inline = || {
            let mime = mime.as_deref().unwrap_or("application/octet-stream");
            data.map(|d| format!("\"data:{};base64,{}\"", quote(mime).trim_matches('"'), d.body()))
        };
        url.map(|u| u.raw().to_owned()).or_else(inline)
    };
    let content = match class {
        "image" => Content::new("image", "image_url", link()?),
        "video" => Content::new("video", "video_url", link()?),
        "audio" => {
            let mut content = Content::new("audio", "data", url.or(data)?.raw());
            let format = mime.as_deref().map(|m| m.strip_prefix("audio/").unwrap_or(m));
            content.members.push(("format", format.map_or_else(null, quote)));
            content
        }
        _ => {
            let name = node.some("name").filter(|n| n.is_string());
            let by_name = url.is_none() && data.is_none();
            file(
                url.map(Node::raw),
                name.filter(|_| by_name).map(Node::raw),
                name.filter(|_| !by_name).map(Node::raw),
                data.filter(|_| url.is_none()).map(Node::raw),
            )
        }
    };
    Some(content)
}

fn file(url: Option<&str>, id: Option<&str>, name: Option<&str>, data: Option<&str>) -> Content {
    Content {
        kind: "file",
        members: [("file_url", url), ("file_id", id), ("filename", name), ("file_data", data)]
            .into_iter()
            .map(|(key, value)| (key, value.unwrap_or("null").to_owned()))
            .collect(),
    }
}

fn null() -> String {
    String::from("null")
}

/// The class of an attachment, by its media type.
fn class(node: Node<'_, '_>) -> &'static str {
    let mime = node.some("media_type").and_then(|m| m.str()).unwrap_or_default();
    match mime.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => "file",
    }
}

/// A question: what would run, or what is asked.
fn ask(event: &Event<'_>, call: Option<&Called>) -> Content {
    let id = event.get("inputId").or(event.get("authId"));
    let id = id.filter(|i| i.body().is_some()).map_or("\"input\"", |i| i.as_str());
    let meta = |key: &str| event.at("metadata", key).filter(|v| v.body().is_some());
    let kind = event.get("inputType").or(event.get("authType"));
    let call = call.filter(|_| kind.is_some_and(|k| k.is("confirmation")));
    let name = meta("/toolName").map(|n| n.to_string()).or(call.map(|c| c.name.clone()));
    let arguments = meta("/arguments").map(|a| a.to_string());
    let arguments = arguments.or(call.map(|c| c.arguments.clone())).unwrap_or_else(|| {
        let known = ["prompt", "toolCallId", "options", "schema", "provider", "scopes", "authUrl"];
        let asked = known.iter().fold(Object::new(), |o, name| o.some(name, event.get(name)));
        quote(&asked.end())
    });
    let name = name.or_else(|| kind.filter(|k| k.body().is_some()).map(|k| k.to_string()));
    let data = Object::new()
        .raw("id", id)
        .raw("arguments", &arguments)
        .raw("name", name.as_deref().unwrap_or("\"input\""))
        .raw("server_label", meta("/server_label").as_deref().unwrap_or("\"\""));
    Content::new("data", "data", data.end())
}

/// An answer: whether it was a yes, and anything else as the reason.
fn answer(event: &Event<'_>) -> Content {
    let id = event.get("inputId").or(event.get("authId")).filter(|i| i.body().is_some());
    let value = event.get("value");
    let approved = value.and_then(Raw::bool).or_else(|| {
        let inner = event.at("value", "/approved").or_else(|| event.at("value", "/approve"));
        inner.and_then(|v| v.bool())
    });
    let reason = event.at("value", "/reason").filter(|r| r.body().is_some());
    let reason = match (reason, value) {
        (Some(reason), _) => Some(reason.to_string()),
        (None, Some(value)) if value.bool().is_none() && approved.is_none() => {
            Some(as_string(value))
        }
        _ => None,
    };
    let data = Object::new()
        .raw("approval_request_id", id.map_or("\"input\"", |i| i.as_str()))
        .raw("approve", if approved == Some(false) { "false" } else { "true" })
        .raw("id", "null")
        .raw("reason", reason.as_deref().unwrap_or("null"));
    Content::new("data", "data", data.end())
}

/// An application's event: one of the Agent API's own kinds, or data of the system.
fn system(event: &Event<'_>) -> (&'static str, &'static str, Vec<Content>) {
    let data = event.get("data").map_or("null", |d| d.as_str());
    let name = event.str("name").unwrap_or_default();
    let own = match name.as_ref() {
        "a2ui_response" => Some(("a2ui_response", "assistant")),
        "a2ui_action" => Some(("a2ui_action", "user")),
        "mcp_list_tools" if event.at("data", "/tools").is_some() => {
            Some(("mcp_list_tools", "assistant"))
        }
        _ => None,
    };
    match own.filter(|_| data.starts_with('{')) {
        Some((kind, role)) => (kind, role, vec![Content::new("data", "data", data)]),
        None => {
            let data = Object::new().text("name", &name).raw("data", data).end();
            ("message", "system", vec![Content::new("data", "data", data)])
        }
    }
}

/// An artifact, or a source that is shown.
fn artifact(event: &Event<'_>) -> Content {
    let text = |field: &str| event.get(field).filter(|v| v.body().is_some()).map(|v| v.as_str());
    match event.kind() {
        Kind::DataWrite if event.get("data").is_some_and(Raw::is_object) => {
            Content::new("data", "data", event.get("data").map_or("{}", |d| d.as_str()))
        }
        Kind::FileWrite
            if event.get("encoding").is_some_and(|e| e.is("base64"))
                && event.get("complete").and_then(Raw::bool) == Some(true)
                && event.get("index").and_then(Raw::i64) == Some(0) =>
        {
            let name = text("name").or(text("artifactId"));
            file(text("uri"), None, name, text("data"))
        }
        Kind::Source => {
            let mime = event.str("mediaType").unwrap_or_default();
            match (mime.split('/').next(), text("url")) {
                (Some("image"), Some(url)) => Content::new("image", "image_url", url),
                (Some("video"), Some(url)) => Content::new("video", "video_url", url),
                (_, url) => file(url, text("sourceId"), text("filename").or(text("title")), None),
            }
        }
        _ => Content::new("data", "data", Object::of(event).end()),
    }
}
