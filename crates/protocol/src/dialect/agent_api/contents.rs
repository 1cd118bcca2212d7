//! The contents of messages: text, calls, results, media, questions.

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

    fn call_delta<'a>(
        &mut self,
        node: Node<'_, 'a>,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(data) = node.some("data").filter(|d| d.is_object()) else { return };
        marks.open(data);
        let named = data.some("call_id").filter(|c| c.is_string());
        let fresh = msg.call.is_none();
        let id = match (&msg.call, named) {
            (Some(id), _) => id.clone(),
            (None, Some(id)) => Raw::owned(id.raw()),
            (None, None) => msg.id.clone(),
        };
        msg.call = Some(id.clone());
        if fresh {
            let name = data.some("name").filter(|n| n.is_string());
            if let Some(name) = name {
                self.calls.insert(id.to_string(), Raw::owned(name.raw()));
            }
            let draft = Draft::new(self.agent_event(Kind::ToolCallStarted, msg), events, marks);
            match named {
                Some(node) => draft.bind("toolCallId", Some(node)),
                None => draft.with("toolCallId", id.clone()),
            }
            .bind("toolName", name)
            .with("messageId", msg.id.clone())
            .push(events);
        }
        let piece = data.some("arguments").filter(|a| a.is_string() && !a.body().is_empty());
        if let Some(piece) = piece {
            let event = self.event(Kind::ToolCallDelta).with("toolCallId", id);
            Draft::new(event, events, marks).bind("delta", Some(piece)).push(events);
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

    fn call<'a>(
        &mut self,
        data: Node<'_, 'a>,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let event = self.agent_event(Kind::ToolCall, msg).with("messageId", msg.id.clone());
        let named = data.some("call_id").filter(|c| c.is_string());
        let id = match (&msg.call, named) {
            (_, Some(id)) => Raw::owned(id.raw()),
            (Some(id), None) => id.clone(),
            (None, None) => msg.id.clone(),
        };
        let plain = named.is_some() || data.get("arguments").is_some();
        if !plain {
            // A component: its data is its own.
            let name = data.some("component").or(data.some("name")).filter(|n| n.is_string());
            let name = name.map_or(Raw::Ref("\"component_call\""), |n| Raw::owned(n.raw()));
            self.component = Some(id.clone());
            self.calls.insert(id.to_string(), name.clone());
            Draft::new(event, events, marks)
                .with("toolCallId", id)
                .with("toolName", name)
                .bind("arguments", Some(data))
                .push(events);
            return;
        }
        marks.open(data);
        let name = data.some("name").filter(|n| n.is_string());
        if let Some(name) = name {
            self.calls.insert(id.to_string(), Raw::owned(name.raw()));
        }
        let draft = Draft::new(event, events, marks);
        let draft = match named {
            Some(node) => draft.bind("toolCallId", Some(node)),
            None => draft.with("toolCallId", id.clone()),
        };
        let draft = match name {
            Some(name) => draft.bind("toolName", Some(name)),
            None => draft.with_some("toolName", self.calls.get(id.as_str()).cloned()),
        };
        let draft = match data.some("arguments") {
            Some(written) if written.body().is_empty() => draft.with("arguments", Raw::Ref("{}")),
            Some(written) => draft.json("arguments", Some(written)),
            None => draft.with("arguments", Raw::Ref("{}")),
        };
        draft.meta("server_label", data.some("server_label")).push(events);
    }

    fn output<'a>(
        &mut self,
        data: Node<'_, 'a>,
        failed: bool,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let event = self.event(Kind::ToolComplete).with("messageId", msg.id.clone());
        let named = data.some("call_id").filter(|c| c.is_string());
        let id = match named {
            Some(id) => Raw::owned(id.raw()),
            None => self.component.clone().unwrap_or_else(|| msg.id.clone()),
        };
        let known = self.calls.get(id.as_str()).cloned();
        let success = Raw::Ref(if failed { "false" } else { "true" });
        let Some(output) = data.get("output").filter(|_| named.is_some()) else {
            Draft::new(event, events, marks)
                .with("toolCallId", id)
                .with_some("toolName", known)
                .with("success", success)
                .bind("result", Some(data))
                .push(events);
            return;
        };
        marks.open(data);
        let draft = Draft::new(event, events, marks).bind("toolCallId", named);
        let draft = match data.some("name").filter(|n| n.is_string()) {
            Some(name) => draft.bind("toolName", Some(name)),
            None => draft.with_some("toolName", known),
        }
        .with("success", success);
        let text = crate::dialect::draft::inner_json(output).is_none() && output.is_string();
        if failed && text {
            draft.bind("error", Some(output)).push(events);
        } else {
            draft.json("result", Some(output)).push(events);
        }
    }

    fn ask<'a>(
        &mut self,
        data: Node<'_, 'a>,
        msg: &mut Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        marks.open(data);
        self.asked += 1;
        let name = data.some("name").and_then(|n| n.str()).unwrap_or_default();
        let event = self.event(Kind::InputRequired);
        let draft = Draft::new(event, events, marks);
        match data.some("id") {
            Some(id) => draft.bind("inputId", Some(id)),
            None => draft.with("inputId", msg.id.clone()),
        }
        .with("requireUser", Raw::Ref("true"))
        .with("inputType", Raw::Ref("\"confirmation\""))
        .with("prompt", Raw::string(&format!("Run {name}?")))
        .meta("toolName", data.some("name"))
        .meta("arguments", data.some("arguments"))
        .meta("server_label", data.some("server_label"))
        .push(events);
    }

    fn answer<'a>(&mut self, data: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        marks.open(data);
        self.asked = self.asked.saturating_sub(1);
        let mut draft = Draft::new(self.event(Kind::InputReceived), events, marks)
            .bind("inputId", data.get("approval_request_id"))
            .with("providedBy", Raw::Ref("\"user\""));
        let mut value = String::new();
        let ev = draft.number();
        for (key, name) in [("approve", "approved"), ("reason", "reason")] {
            if let Some(node) = data.some(key) {
                draft.marks().bind_at(node, ev, "value", &format!("/{name}"));
                value.push(if value.is_empty() { '{' } else { ',' });
                value.push_str(&format!("\"{name}\":{}", node.raw()));
            }
        }
        if !value.is_empty() {
            value.push('}');
            draft = draft.with("value", Raw::owned(value));
        }
        draft.push(events);
    }

    /// What a heartbeat tells, where it was written to tell something.
    fn sign_of_life<'a>(
        &mut self,
        data: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(kind) = data.get("kind") else { return };
        let (kind, fields): (_, &[&'static str]) = match kind.body() {
            "task-status" => (Kind::TaskStatus, &["status", "message", "code"]),
            "tool-progress" => (Kind::ToolProgress, &["toolCallId", "progress", "message"]),
            _ => return,
        };
        marks.open(data);
        let mut draft = Draft::new(self.event(kind), events, marks).implied([data.get("kind")]);
        for name in fields {
            draft = draft.bind(name, data.some(name));
        }
        draft.push(events);
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

    /// A whole message of a user or a system.
    pub(super) fn foreign<'a>(
        &mut self,
        node: Node<'_, 'a>,
        content: Option<Node<'_, 'a>>,
        msg: &Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let role = if msg.role == "user" { "\"user\"" } else { "\"system\"" };
        let event = self.event(Kind::Message).with("role", Raw::Ref(role));
        let ev = events.len();
        let items: Vec<Node<'_, 'a>> =
            content.map(|c| c.children().filter(|i| i.is_object()).collect()).unwrap_or_default();
        let (data, said): (Vec<_>, Vec<_>) = items
            .iter()
            .enumerate()
            .partition(|(_, i)| i.get("type").is_some_and(|t| t.is("data")));
        if content.is_some_and(|c| c.is_array()) && said.is_empty() {
            // Nothing but data: an application's own event, or a data artifact.
            if let Some(list) = content {
                marks.list(list);
            }
            for (index, item) in data {
                self.foreign_data(*item, index as i64, msg, marks, events);
            }
            return;
        }
        let draft = Draft::new(event, events, marks);
        let draft = match node.some("id") {
            Some(id) => draft.bind("messageId", Some(id)),
            None => draft,
        };
        let draft = match content {
            Some(list) if list.is_array() => {
                let mut draft = draft;
                let marks = draft.marks();
                marks.list(list);
                match said.as_slice() {
                    [(_, only)] if only.get("type").is_some_and(|t| t.is("text")) => {
                        plain(**only, marks);
                        draft.bind("content", only.get("text"))
                    }
                    _ => {
                        let value = parts(&said, ev, marks);
                        draft.with("content", value)
                    }
                }
            }
            other => draft.bind("content", other),
        };
        draft.push(events);
        for (index, item) in data {
            self.foreign_data(*item, index as i64, msg, marks, events);
        }
    }

    fn foreign_data<'a>(
        &mut self,
        item: Node<'_, 'a>,
        index: i64,
        msg: &Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(data) = item.some("data").filter(|d| d.is_object()) else { return };
        plain(item, marks);
        let own = msg.role == "system"
            && data.members().count() == 2
            && data.get("name").is_some_and(|n| n.is_string())
            && data.get("data").is_some();
        if own {
            marks.open(data);
            Draft::new(self.event(Kind::System), events, marks)
                .bind("name", data.get("name"))
                .bind("data", data.get("data"))
                .push(events);
        } else {
            let event = self.event(Kind::DataWrite).with("artifactId", msg.part_id(index));
            Draft::new(event, events, marks).bind("data", Some(data)).push(events);
        }
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
