//! AG-UI's whole messages: in the input of a run, in a snapshot, and the parts of their content.

use super::decode::Reader;
use crate::dialect::draft::Draft;
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw, quote};
use crate::residue::Marks;

impl Reader {
    /// What the client sent to start a run: its messages and its answers to interrupts.
    pub(super) fn input<'a>(
        &mut self,
        input: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        for key in ["threadId", "runId"] {
            if let Some(id) = input.get(key) {
                marks.implied(id);
            }
        }
        if let Some(messages) = input.get("messages") {
            self.messages(messages, marks, events);
        }
        let Some(resume) = input.get("resume").filter(|r| r.is_array()) else { return };
        marks.list(resume);
        for entry in resume.children().filter(|e| e.is_object()) {
            let event = self.event(Kind::InputReceived);
            Draft::new(event, events, marks)
                .bind("inputId", entry.get("interruptId"))
                .with("providedBy", Raw::Ref("\"user\""))
                .bind("value", entry.get("payload"))
                .meta("status", entry.get("status"))
                .push(events);
        }
    }

    /// Messages that were not heard of before; those that were are only kept.
    pub(super) fn messages<'a>(
        &mut self,
        messages: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        if !messages.is_array() {
            return;
        }
        marks.list(messages);
        for message in messages.children() {
            let Some(role) = message.get("role").and_then(|r| r.str()) else { continue };
            if let Some(id) = message.get("id")
                && !self.seen.insert(id.raw().to_owned())
            {
                continue;
            }
            self.message(message, &role, marks, events);
        }
    }

    fn message<'a>(
        &mut self,
        message: Node<'_, 'a>,
        role: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let id = message.get("id");
        let content = message.some("content");
        match role {
            "user" | "system" | "developer" => {
                let user = role == "user";
                let role_name = if user { "\"user\"" } else { "\"system\"" };
                let event = self.event(Kind::Message).with("role", Raw::Ref(role_name));
                let draft = Draft::new(event, events, marks)
                    .bind("messageId", id)
                    .bind("author", message.some("name"))
                    .implied([message.get("role").filter(|_| role != "developer")]);
                content_field(draft, "content", content).push(events);
            }
            "assistant" => {
                if let Some(text) = content {
                    let event = self.agent_event(Kind::ContentComplete);
                    Draft::new(event, events, marks)
                        .bind("content", Some(text))
                        .bind("messageId", id)
                        .implied([message.get("role")])
                        .push(events);
                }
                self.calls(message, marks, events);
            }
            "reasoning" => {
                let event = self
                    .agent_event(Kind::ThoughtStream)
                    .with("thoughtType", Raw::Ref("\"thinking\""))
                    .with("verbosity", Raw::Ref("\"normal\""));
                Draft::new(event, events, marks)
                    .bind("thoughtId", id)
                    .bind("content", content)
                    .bind("signature", message.some("encryptedValue"))
                    .implied([message.get("role")])
                    .push(events);
            }
            "tool" => {
                let error = message.some("error");
                let call = message.get("toolCallId");
                let event = self
                    .event(Kind::ToolComplete)
                    .with_some("toolName", call.and_then(|c| self.tool_name(c.raw())))
                    .with("success", Raw::Ref(if error.is_some() { "false" } else { "true" }));
                let draft = Draft::new(event, events, marks)
                    .bind("toolCallId", call)
                    .bind("error", error)
                    .bind("messageId", id)
                    .implied([message.get("role")]);
                content_field(draft, "result", content).push(events);
            }
            "activity" => {
                let event =
                    self.event(Kind::System).with("name", Raw::Ref("\"activity_snapshot\""));
                Draft::new(event, events, marks)
                    .bind("data", content)
                    .bind("systemId", id)
                    .meta("activityType", message.get("activityType"))
                    .implied([message.get("role")])
                    .push(events);
            }
            _ => {}
        }
    }

    fn calls<'a>(&mut self, message: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let Some(calls) = message.get("toolCalls").filter(|c| c.is_array()) else { return };
        marks.list(calls);
        for call in calls.children() {
            let (Some(id), Some(function)) = (call.get("id"), call.get("function")) else {
                continue;
            };
            marks.open(function);
            self.note_tool(id.raw(), function.get("name"));
            let event = self.agent_event(Kind::ToolCall);
            Draft::new(event, events, marks)
                .bind("toolCallId", Some(id))
                .bind("toolName", function.get("name"))
                .json("arguments", function.get("arguments"))
                .with_some("messageId", message.get("id"))
                .implied([call.get("type"), message.get("role")])
                .push(events);
        }
    }
}

/// Adds content, a string or a list of parts, as a field.
pub(super) fn content_field<'m, 'a>(
    mut draft: Draft<'m, 'a>,
    field: &'static str,
    content: Option<Node<'_, 'a>>,
) -> Draft<'m, 'a> {
    match content {
        Some(parts) if parts.is_array() => {
            let ev = draft.number();
            let value = parts_to_events(parts, ev, field, draft.marks());
            draft.with(field, value)
        }
        Some(text) if field == "result" => draft.json(field, Some(text)),
        other => draft.bind(field, other),
    }
}

/// AG-UI's content parts as the journal's.
fn parts_to_events<'a>(
    parts: Node<'_, 'a>,
    ev: usize,
    field: &'static str,
    marks: &mut Marks,
) -> Raw<'a> {
    let mut out = String::from("[");
    let mut count = 0;
    marks.list(parts);
    for part in parts.children() {
        let Some(kind) = part.get("type") else { continue };
        let mut members: Vec<(&str, Node<'_, 'a>)> = Vec::new();
        let class = match kind.str().as_deref() {
            Some("text") => {
                if let Some(text) = part.get("text") {
                    members.push(("text", text));
                }
                "text"
            }
            Some(kind @ ("image" | "audio" | "video" | "document")) => {
                let Some(source) = part.get("source").filter(|s| s.is_object()) else { continue };
                marks.open(source);
                let image = kind == "image";
                let source_kind = source.get("type");
                let name = match source_kind.and_then(|k| k.str()).as_deref() {
                    Some("url") if image => "image_url",
                    Some("data") if image => "image_base64",
                    Some("url") => "url",
                    Some("data") => "data",
                    _ => "name",
                };
                if let Some(source_kind) = source_kind {
                    marks.implied(source_kind);
                }
                if let Some(value) = source.get("value") {
                    members.push((name, value));
                }
                if let Some(media_type) = source.some("mimeType") {
                    members.push(("media_type", media_type));
                }
                match kind {
                    "image" => "image",
                    "audio" => "audio",
                    "video" => "video",
                    _ => "file",
                }
            }
            _ => continue,
        };
        marks.implied(kind);
        if count > 0 {
            out.push(',');
        }
        out.push_str("{\"type\":");
        out.push_str(&quote(class));
        for (name, node) in members {
            out.push(',');
            out.push_str(&quote(name));
            out.push(':');
            out.push_str(node.raw());
            marks.bind_at(node, ev, field, &format!("/{count}/{name}"));
        }
        out.push('}');
        count += 1;
    }
    out.push(']');
    Raw::owned(out)
}
