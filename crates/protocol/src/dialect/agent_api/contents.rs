//! The contents of messages: text, calls, results, media, questions.

mod foreign;
mod tools;

use super::decode::{Msg, Part, Reader};
use super::model::Class;
use crate::dialect::draft::Draft;
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw, quote};
use crate::residue::Marks;

impl Reader {
    /// A piece of a content.
    pub(super) fn delta<'a>(
        &mut self,
        node: Node<'_, 'a>,
        index: i64,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let kind = node.get("type").and_then(|k| k.str()).unwrap_or_default();
        match (msg.class, kind.as_ref()) {
            (Class::Said | Class::Thought | Class::Error, "text") => {
                let Some(text) = node.some("text").filter(|t| t.is_string()) else { return };
                self.text_delta(node, text, index, msg, marks, events);
            }
            (Class::Call, "data") => self.call_delta(node, msg, marks, events),
            (Class::Said, "image" | "audio" | "video" | "file") => {
                // Media come whole in what calls itself a delta, sometimes with no end after it.
                let part = msg.parts.entry(index).or_default();
                part.said = true;
                part.body = media_value(node).map_or("", Node::body).to_owned();
                self.media(node, &kind, index, msg, marks, events);
            }
            _ => {}
        }
    }

    fn text_delta<'a>(
        &mut self,
        node: Node<'_, 'a>,
        text: Node<'_, 'a>,
        index: i64,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let id = msg.part_id(index);
        let thought = msg.class == Class::Thought;
        let part = msg.parts.entry(index).or_default();
        part.body.push_str(text.body());
        if msg.class == Class::Error {
            return;
        }
        if !part.open {
            part.open = true;
            let kind = if thought { "\"reasoning\"" } else { "\"text\"" };
            events.push(
                self.agent_event(Kind::PartStarted, msg)
                    .with("partId", id.clone())
                    .with("partType", Raw::Ref(kind))
                    .with("messageId", msg.id.clone()),
            );
        }
        if thought {
            let event = self
                .event(Kind::ThoughtStream)
                .with("thoughtId", id)
                .with("thoughtType", Raw::Ref("\"thinking\""))
                .with("verbosity", Raw::Ref("\"normal\""));
            Draft::new(event, events, marks).bind("content", Some(text)).push(events);
        } else {
            let event = self.event(Kind::ContentDelta);
            Draft::new(event, events, marks)
                .bind("delta", Some(text))
                .with("partId", id)
                .bind("messageId", node.some("msg_id"))
                .push(events);
        }
    }

    /// A content as a whole.
    pub(super) fn whole<'a>(
        &mut self,
        node: Node<'_, 'a>,
        index: i64,
        failed: bool,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        for name in ["object", "status", "sequence_number", "msg_id", "index", "delta", "type"] {
            if let Some(node) = node.get(name) {
                marks.implied(node);
            }
        }
        let kind = node.get("type").and_then(|k| k.str()).unwrap_or_default();
        let data = node.some("data").filter(|d| d.is_object());
        match (msg.class, kind.as_ref(), data) {
            (Class::Call, "data", Some(data)) => self.call(data, msg, marks, events),
            (Class::Output, "data", Some(data)) => self.output(data, failed, msg, marks, events),
            (Class::Ask, "data", Some(data)) => self.ask(data, msg, marks, events),
            (Class::Answer, "data", Some(data)) => self.answer(data, marks, events),
            (Class::System, "data", Some(data)) => {
                let name = Raw::owned(quote(&msg.kind));
                Draft::new(self.event(Kind::System).with("name", name), events, marks)
                    .bind("data", Some(data))
                    .push(events);
            }
            (Class::Heartbeat, "data", Some(data)) => self.sign_of_life(data, marks, events),
            (Class::Error, "text", _) => {
                Draft::new(self.event(Kind::Error), events, marks)
                    .bind("message", node.some("text"))
                    .push(events);
            }
            (_, "text", _) => self.text(node, index, msg, marks, events),
            (_, "refusal", _) => {
                let event = self.agent_event(Kind::ContentComplete, msg);
                Draft::new(event, events, marks)
                    .bind("content", node.some("refusal"))
                    .with("finishReason", Raw::Ref("\"content_filter\""))
                    .with("messageId", msg.id.clone())
                    .push(events);
            }
            (_, "data", Some(data)) => self.data(data, index, msg, marks, events),
            (_, "image" | "audio" | "video" | "file", _) => {
                self.media(node, &kind, index, msg, marks, events);
            }
            _ => return,
        }
        let value = match kind.as_ref() {
            "text" => node.get("text"),
            "refusal" => node.get("refusal"),
            "data" => node.get("data"),
            _ => media_value(node),
        };
        let body = value.map_or("", Node::body).to_owned();
        msg.parts.insert(index, Part { body, open: false, said: true });
    }

    fn text<'a>(
        &mut self,
        node: Node<'_, 'a>,
        index: i64,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(text) = node.some("text").filter(|t| t.is_string()) else { return };
        let id = msg.part_id(index);
        let part = msg.parts.get(&index).filter(|p| p.open);
        if msg.class != Class::Thought {
            let event = self.agent_event(Kind::ContentComplete, msg);
            Draft::new(event, events, marks)
                .bind("content", Some(text))
                .with("partId", id)
                .with("messageId", msg.id.clone())
                .push(events);
            return;
        }
        match part {
            Some(part) => {
                if part.body == text.body() {
                    marks.implied(text);
                }
                self.finish_part(msg, index, events);
            }
            None => {
                let event = self
                    .agent_event(Kind::ThoughtStream, msg)
                    .with("thoughtId", id)
                    .with("thoughtType", Raw::Ref("\"thinking\""))
                    .with("verbosity", Raw::Ref("\"normal\""));
                Draft::new(event, events, marks).bind("content", Some(text)).push(events);
            }
        }
    }

    fn data<'a>(
        &mut self,
        data: Node<'_, 'a>,
        index: i64,
        msg: &Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let event = self.agent_event(Kind::DataWrite, msg).with("artifactId", msg.part_id(index));
        Draft::new(event, events, marks).bind("data", Some(data)).push(events);
    }

    fn media<'a>(
        &mut self,
        node: Node<'_, 'a>,
        kind: &str,
        index: i64,
        msg: &Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(value) = media_value(node) else { return };
        let text = value.str().unwrap_or_default();
        let inline = kind == "audio" || node.some("file_data").is_some();
        let linked = text.starts_with("data:") || text.contains("://");
        let name = node.some("filename");
        if inline && !linked {
            let event = self
                .agent_event(Kind::FileWrite, msg)
                .with("artifactId", msg.part_id(index))
                .with("index", Raw::Ref("0"))
                .with("complete", Raw::Ref("true"))
                .with("encoding", Raw::Ref("\"base64\""))
                .with_some("mimeType", media_type(kind, node).map(|m| Raw::string(&m)));
            Draft::new(event, events, marks)
                .bind("data", Some(value))
                .bind("name", name)
                .implied([node.get("format")])
                .push(events);
            return;
        }
        let by_id = kind == "file" && node.some("file_url").is_none() && !inline;
        let draft = Draft::new(self.agent_event(Kind::Source, msg), events, marks)
            .with_some("mediaType", media_type(kind, node).map(|m| Raw::string(&m)))
            .bind("filename", name)
            .implied([node.get("format")]);
        let field = if by_id { "sourceId" } else { "url" };
        let other = node.some("file_id").filter(|_| !by_id);
        draft.bind(field, Some(value)).bind("sourceId", other).push(events);
    }
}

/// Marks what every content has besides what it says.
fn plain(item: Node<'_, '_>, marks: &mut Marks) {
    for name in ["object", "status", "sequence_number", "msg_id", "index", "delta", "type"] {
        if let Some(node) = item.get(name) {
            marks.implied(node);
        }
    }
}

/// Contents as the journal's content parts.
fn parts<'a>(items: &[(usize, &Node<'_, 'a>)], ev: usize, marks: &mut Marks) -> Raw<'a> {
    let mut out = String::from("[");
    let mut count = 0;
    for (_, item) in items {
        let Some(kind) = item.get("type").and_then(|t| t.str()) else { continue };
        let value = match kind.as_ref() {
            "text" => item.some("text"),
            "refusal" => item.some("refusal"),
            _ => media_value(**item),
        };
        let Some(value) = value else { continue };
        let (class, name) = match kind.as_ref() {
            "text" | "refusal" => ("text", "text"),
            "image" => ("image", "image_url"),
            "video" => ("video", "url"),
            "audio" if value.str().is_some_and(|v| v.contains("://")) => ("audio", "url"),
            "audio" => ("audio", "data"),
            "file" if item.some("file_url").is_some() => ("file", "url"),
            "file" if item.some("file_data").is_some() => ("file", "data"),
            "file" => ("file", "name"),
            _ => continue,
        };
        plain(**item, marks);
        if count > 0 {
            out.push(',');
        }
        out.push_str(&format!("{{\"type\":\"{class}\",\"{name}\":{}", value.raw()));
        marks.bind_at(value, ev, "content", &format!("/{count}/{name}"));
        if let Some(filename) = item.some("filename").filter(|_| name != "name") {
            out.push_str(&format!(",\"name\":{}", filename.raw()));
            marks.bind_at(filename, ev, "content", &format!("/{count}/name"));
        }
        if kind == "audio"
            && let Some(media_type) = media_type(&kind, **item)
        {
            out.push_str(&format!(",\"media_type\":{}", quote(&media_type)));
            if let Some(format) = item.get("format") {
                marks.implied(format);
            }
        }
        out.push('}');
        count += 1;
    }
    out.push(']');
    Raw::owned(out)
}

/// What a media content is: a link, an id or the data itself.
fn media_value<'d, 'a>(node: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
    ["image_url", "video_url", "file_url", "file_data", "file_id", "data"]
        .into_iter()
        .find_map(|key| node.some(key))
        .filter(|value| value.is_string())
}

/// The media type that a content tells, or the range that its type means.
fn media_type(kind: &str, node: Node<'_, '_>) -> Option<String> {
    if let Some(value) = media_value(node).and_then(|v| v.str())
        && let Some(rest) = value.strip_prefix("data:")
        && let Some(end) = rest.find([';', ','])
        && end > 0
    {
        return rest.get(..end).map(str::to_owned);
    }
    match (kind, node.some("format").and_then(|f| f.str())) {
        ("audio", Some(format)) if format.contains('/') => Some(format.into_owned()),
        ("audio", Some(format)) => Some(format!("audio/{format}")),
        ("image" | "video" | "audio", _) => Some(format!("{kind}/*")),
        _ => None,
    }
}
