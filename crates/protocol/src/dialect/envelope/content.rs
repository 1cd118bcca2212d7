//! What an envelope holds of a message's parts and of artifacts.

use std::fmt::Write as _;

use super::write::Draft;
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw, quote, text};

/// A message's content, taken apart.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Its text, as a string body.
    pub(super) text: String,
    data: Option<String>,
    class: Option<String>,
    resources: Vec<String>,
    artifacts: Vec<String>,
}

impl Content {
    pub(super) fn of(event: &Event<'_>, role: &str) -> Self {
        let mut content = Self::default();
        if let Some(given) = event.get("content") {
            match given.body() {
                Some(body) => content.text = body.to_owned(),
                None if given.is_array() => {
                    let doc = given.doc();
                    let parts = doc.iter().flat_map(|doc| doc.root().children());
                    parts.for_each(|part| content.part(part));
                }
                None if given.is_null() => {}
                None => content.data = Some(given.to_string()),
            }
        }
        let attachments = event.get("attachments").and_then(|a| a.doc());
        for item in attachments.iter().flat_map(|doc| doc.root().children()) {
            content.attachment(item);
        }
        content.class = match event.get("contentType").map(ToString::to_string) {
            Some(class) => Some(class),
            None if content.data.is_none() => None,
            None if role == "tool" => Some("\"tool_result\"".to_owned()),
            None => Some("\"json\"".to_owned()),
        };
        content
    }

    fn part(&mut self, part: Node<'_, '_>) {
        let class = part.get("type").and_then(|t| t.str()).unwrap_or_default();
        let text_of = |name: &str| part.get(name).filter(|v| v.is_string());
        if let Some(said) = text_of("text").filter(|_| class == "text") {
            self.text.push_str(&text::minimal(said.body()));
        } else if let Some(data) =
            part.get("data").filter(|_| class == "data" && self.data.is_none())
        {
            self.data = Some(data.raw().to_owned());
        } else {
            let uri = text_of("image_url").or_else(|| text_of("url"));
            let inline = text_of("image_base64").or_else(|| text_of("data"));
            let name = text_of("name").map(|n| n.raw().to_owned());
            let name = name.unwrap_or_else(|| quote(&class));
            self.artifact(&quote(&class), &name, uri, inline);
        }
    }

    fn attachment(&mut self, item: Node<'_, '_>) {
        let text_of = |name: &str| item.get(name).filter(|v| v.is_string());
        let bare = Some(item).filter(|item| item.is_string());
        let name = bare.or_else(|| text_of("name")).or_else(|| text_of("file_id"));
        match (text_of("url"), text_of("data")) {
            (Some(url), _) => {
                let hint = name.map(|n| format!(",\"hint\":{}", n.raw())).unwrap_or_default();
                let id = url.raw();
                self.resources.push(format!("{{\"type\":\"url\",\"id\":{id}{hint}}}"));
            }
            (None, Some(data)) => {
                let name = name.map_or("\"file\"", |n| n.raw());
                self.artifact("\"file\"", name, None, Some(data));
            }
            (None, None) => {
                if let Some(name) = name {
                    let id = name.raw();
                    self.resources.push(format!("{{\"type\":\"file\",\"id\":{id}}}"));
                }
            }
        }
    }

    fn artifact(
        &mut self,
        kind: &str,
        name: &str,
        uri: Option<Node<'_, '_>>,
        inline: Option<Node<'_, '_>>,
    ) {
        if uri.is_none() && inline.is_none() {
            return;
        }
        let uri = uri.map(|uri| format!(",\"uri\":{}", uri.raw())).unwrap_or_default();
        let inline = inline.map(|i| format!(",\"inline\":{}", i.raw())).unwrap_or_default();
        self.artifacts.push(format!("{{\"kind\":{kind},\"name\":{name}{uri}{inline}}}"));
    }

    pub(super) fn json(&self, event: &Event<'_>) -> String {
        let class = self.class.as_deref().unwrap_or("\"text\"");
        let mut out = format!("{{\"type\":{class}");
        let said = event.get("content").is_some_and(|c| c.body().is_some());
        if !self.text.is_empty() || self.data.is_none() && (said || self.class.is_none()) {
            let _ = write!(out, ",\"text\":\"{}\"", self.text);
        }
        if let Some(data) = &self.data {
            let _ = write!(out, ",\"data\":{data}");
        }
        out.push('}');
        out
    }

    pub(super) fn inputs(&self) -> Option<String> {
        let list = self.resources.join(",");
        (!list.is_empty()).then(|| format!("{{\"resources\":[{list}]}}"))
    }

    pub(super) fn outputs(&self) -> Option<String> {
        let list = self.artifacts.join(",");
        (!list.is_empty()).then(|| format!("{{\"artifacts\":[{list}]}}"))
    }
}

/// An artifact being written, chunk by chunk.
#[derive(Debug)]
pub(super) struct Artifact {
    kind: Kind,
    agent: Option<Raw<'static>>,
    time: Raw<'static>,
    id: Option<Raw<'static>>,
    name: Raw<'static>,
    uri: Option<Raw<'static>>,
    /// A file's text as a string body, a dataset's rows, or the data.
    held: String,
}

impl Artifact {
    pub(super) fn new(event: &Event<'_>, agent: Option<Raw<'static>>, time: Raw<'static>) -> Self {
        let id = event.get("artifactId").filter(|id| id.body().is_some()).map(Raw::to_owned);
        let name = event.get("name").filter(|name| name.body().is_some()).map(Raw::to_owned);
        // The name is the id where there is no other: the protocol has no place for both.
        let (id, name) = match (id, name) {
            (id, Some(name)) => (id, name),
            (id, None) => (None, id.unwrap_or(Raw::Ref("\"artifact\""))),
        };
        let uri = event.get("uri").map(Raw::to_owned);
        Self { kind: event.kind(), agent, time, id, name, uri, held: String::new() }
    }

    /// Adds a chunk; whether it was the last.
    pub(super) fn add(&mut self, event: &Event<'_>) -> bool {
        match event.kind() {
            Kind::FileWrite => self.held.push_str(event.body("data").unwrap_or("")),
            Kind::DatasetWrite => {
                let doc = event.get("rows").and_then(|rows| rows.doc());
                for row in doc.iter().flat_map(|doc| doc.root().children()) {
                    self.held.push_str(if self.held.is_empty() { "" } else { "," });
                    self.held.push_str(row.raw());
                }
            }
            _ => self.held = event.get("data").map_or("null".to_owned(), ToString::to_string),
        }
        event.get("complete").and_then(Raw::bool) != Some(false)
    }

    pub(super) fn draft(self) -> Draft {
        let (kind, content) = match self.kind {
            Kind::FileWrite => ("file", "{\"type\":\"text\",\"text\":\"\"}".to_owned()),
            Kind::DatasetWrite => {
                ("dataset", format!("{{\"type\":\"json\",\"data\":[{}]}}", self.held))
            }
            _ => ("data", format!("{{\"type\":\"json\",\"data\":{}}}", self.held)),
        };
        let task = format!("\"Write {}\"", self.name.body().unwrap_or(""));
        let mut draft = Draft::new("agent", self.agent, self.time, "execute", task, content);
        let name = &self.name;
        let mut artifact = format!("{{\"kind\":\"{kind}\",\"name\":{name}");
        if let Some(id) = &self.id {
            let _ = write!(artifact, ",\"id\":{id}");
        }
        if let Some(uri) = &self.uri {
            let _ = write!(artifact, ",\"uri\":{uri}");
        }
        if self.kind == Kind::FileWrite && !(self.uri.is_some() && self.held.is_empty()) {
            let _ = write!(artifact, ",\"inline\":\"{}\"", self.held);
        }
        draft.outputs = Some(format!("{{\"artifacts\":[{artifact}}}]}}"));
        draft
    }
}
