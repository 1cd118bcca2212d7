//! Messages: whole, or streamed piece by piece.

use super::run::time_of;
use super::{Out, Reader};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};

/// What is known of an assistant's message.
#[derive(Debug, Default)]
pub(super) struct Message {
    task: Option<Raw<'static>>,
    /// Parts that were begun, by index.
    parts: Vec<i64>,
    pub(super) finish: Option<&'static str>,
    /// Whether the step that made it is over.
    pub(super) step_done: bool,
    done: bool,
}

impl Reader {
    pub(super) fn message<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let Some(id) = node.get("id").filter(|id| id.is_string()) else { return };
        let (Some(role), Some(content)) = (node.get("role"), node.get("content")) else { return };
        self.heard(node, out);
        out.marks.implied(role);
        let status = node.get("status").map_or("completed", |s| s.body());
        out.implied(node.get("status"));
        let agent = role.is("assistant");
        let assistant = node.some("assistant_id").filter(|a| a.is_string() && agent);
        self.join(assistant, None, out);
        let task = node.some("run_id").filter(|r| r.is_string());
        out.implied(task);
        let task = task.map(|t| Raw::owned(t.raw()));
        let finish = finish_of(node, out);
        let created = time_of(node, "created_at", out);
        if agent && status == "in_progress" {
            out.marks.implied(id);
            let message = self.messages.entry(id.raw().to_owned()).or_default();
            message.task = task;
            return;
        }
        if let Some(message) = self.messages.get_mut(id.raw()) {
            out.marks.implied(id);
            message.finish = finish;
            if std::mem::replace(&mut message.done, true) {
                // Said before; every later copy repeats it.
                out.marks.implied(content);
            } else {
                out.implied(node.some("completed_at"));
                self.end_of(node, id, content, assistant, out);
            }
            return;
        }
        self.messages.insert(
            id.raw().to_owned(),
            Message { task: task.clone(), finish, done: true, ..Message::default() },
        );
        out.implied(node.some("completed_at"));
        out.bind(Some(id), "messageId");
        let refused = agent && content.children().any(|p| p.get("refusal").is_some());
        let finish = finish.or(refused.then_some("\"content_filter\""));
        let metadata = node.some("metadata").filter(|m| m.is_object() && !agent);
        let actor = metadata.and_then(|m| m.some("actor")).filter(|a| a.is_string());
        if let (Some(metadata), Some(actor)) = (metadata, actor) {
            out.marks.open(metadata);
            out.bind(Some(actor), "author");
        }
        let attachments = attached(node, out);
        let said = parts(content, out);
        out.push(
            Event::new(Kind::Message)
                .with_some("taskId", task.clone())
                .with("messageId", id)
                .with("role", Raw::Ref(if agent { "\"agent\"" } else { "\"user\"" }))
                .with_some("author", assistant.or(actor))
                .with_some("agentId", assistant)
                .with("content", said)
                .with_some("attachments", attachments)
                .with_some("finishReason", finish.map(Raw::Ref))
                .with_some("timestamp", created),
        );
        sources(content, task.as_ref(), out);
    }

    /// The end of a message that was begun before.
    fn end_of<'a>(
        &mut self,
        node: Node<'_, 'a>,
        id: Node<'_, 'a>,
        content: Node<'_, 'a>,
        assistant: Option<Node<'_, 'a>>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(message) = self.messages.get(id.raw()) else { return };
        let task = message.task.clone();
        let finish = message.finish;
        let (begun, step_done) = (message.parts.clone(), message.step_done);
        out.marks.list(content);
        let at = node.some("completed_at").or_else(|| node.some("incomplete_at"));
        let at = at.and_then(super::stamp);
        for (index, part) in content.children().enumerate() {
            out.implied(part.get("type"));
            let open = begun.contains(&(index as i64));
            let part_id = part_id(id, index as i64);
            if let Some(text) = text_of(part) {
                if let Some(holder) = part.get("text").filter(|t| t.is_object()) {
                    out.marks.open(holder);
                }
                let refused = part.get("refusal").is_some();
                let finish = finish.or(refused.then_some("\"content_filter\""));
                if open && step_done {
                    // The step closed the part already: saying the text again would double it.
                    out.marks.implied(text);
                    continue;
                }
                out.bind(Some(text), "content");
                out.push(
                    Event::new(Kind::ContentComplete)
                        .with_some("taskId", task.clone())
                        .with_some("agentId", assistant)
                        .with("content", text)
                        .with_some("finishReason", finish.map(Raw::Ref))
                        .with("partId", part_id)
                        .with("messageId", Raw::owned(id.raw()))
                        .with_some("timestamp", at.clone()),
                );
            } else {
                shown(part, task.as_ref(), out);
            }
        }
        sources(content, task.as_ref(), out);
    }

    pub(super) fn message_delta<'a>(&mut self, node: Node<'_, 'a>, out: &mut Out<'_, 'a>) {
        let Some(id) = node.get("id").filter(|id| id.is_string()) else { return };
        out.marks.implied(id);
        let Some(delta) = node.get("delta").filter(|d| d.is_object()) else { return };
        out.marks.open(delta);
        out.implied(delta.get("role"));
        let Some(content) = delta.get("content").filter(|c| c.is_array()) else { return };
        out.marks.list(content);
        let current = self.current.clone();
        let message = self.messages.entry(id.raw().to_owned()).or_default();
        let task = message.task.clone().or(current);
        let agent =
            task.as_ref().and_then(|t| self.runs.get(t.as_str())).and_then(|r| r.agent.clone());
        for part in content.children() {
            out.implied(part.get("type"));
            out.implied(part.get("index"));
            let index = part.get("index").and_then(|i| i.i64()).unwrap_or(0);
            if let Some(holder) = part.get("text").filter(|t| t.is_object()) {
                out.marks.open(holder);
                out.implied(holder.get("annotations"));
            }
            out.implied(part.get("image_file"));
            out.implied(part.get("image_url"));
            let Some(text) = text_of(part) else { continue };
            let part_id = part_id(id, index);
            if !message.parts.contains(&index) {
                message.parts.push(index);
                out.push(
                    Event::new(Kind::PartStarted)
                        .with_some("taskId", task.clone())
                        .with_some("agentId", agent.clone())
                        .with("partId", part_id.clone())
                        .with("partType", Raw::Ref("\"text\""))
                        .with("messageId", Raw::owned(id.raw())),
                );
            }
            out.bind(Some(text), "delta");
            out.push(
                Event::new(Kind::ContentDelta)
                    .with_some("taskId", task.clone())
                    .with_some("agentId", agent.clone())
                    .with("delta", text)
                    .with("partId", part_id),
            );
        }
    }
}

/// A part's name: the message's id and the part's number.
fn part_id<'a>(id: Node<'_, '_>, index: i64) -> Raw<'a> {
    Raw::owned(format!("\"{}:{index}\"", id.body()))
}

/// The text of a part: its value, or a refusal's.
fn text_of<'d, 'a>(part: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
    let text = match part.get("text") {
        Some(text) if text.is_object() => text.get("value"),
        Some(text) => Some(text),
        None => part.get("refusal"),
    };
    text.filter(|t| t.is_string())
}

/// Why a message ended early, in the journal's words.
fn finish_of<'a>(node: Node<'_, 'a>, out: &mut Out<'_, 'a>) -> Option<&'static str> {
    let details = node.some("incomplete_details").filter(|d| d.is_object())?;
    out.marks.implied(details);
    out.implied(node.some("incomplete_at"));
    Some(match details.get("reason").map_or("", |r| r.body()) {
        "max_tokens" => "\"length\"",
        "content_filter" => "\"content_filter\"",
        "run_cancelled" => "\"interrupted\"",
        "run_expired" | "run_failed" => "\"error\"",
        _ => "\"other\"",
    })
}

/// A message's content as content parts of the event that comes next.
fn parts<'a>(content: Node<'_, 'a>, out: &mut Out<'_, 'a>) -> Raw<'a> {
    if content.is_string() {
        out.bind(Some(content), "content");
        return content.into();
    }
    out.marks.list(content);
    let next = out.next();
    let alone = content.children().count() == 1;
    let mut text = String::from("[");
    let mut count = 0;
    for part in content.children() {
        out.implied(part.get("type"));
        let holder = ["text", "image_url", "image_file"].into_iter().find_map(|k| part.get(k));
        if let Some(holder) = holder.filter(|h| h.is_object()) {
            out.marks.open(holder);
        }
        let (class, name, value) = if let Some(value) = text_of(part) {
            if alone {
                out.bind(Some(value), "content");
                return value.into();
            }
            ("text", "text", Some(value))
        } else if let Some(image) = part.get("image_url") {
            ("image", "image_url", image.get("url"))
        } else if let Some(image) = part.get("image_file") {
            ("file", "name", image.get("file_id"))
        } else {
            continue;
        };
        let Some(value) = value.filter(|v| v.is_string()) else { continue };
        out.marks.bind_at(value, next, "content", &format!("/{count}/{name}"));
        if count > 0 {
            text.push(',');
        }
        text.push_str(&format!("{{\"type\":\"{class}\",\"{name}\":{}}}", value.raw()));
        count += 1;
    }
    text.push(']');
    Raw::owned(text)
}

/// Attached files, by id.
fn attached<'a>(node: Node<'_, 'a>, out: &mut Out<'_, 'a>) -> Option<Raw<'a>> {
    let list = node.some("attachments").filter(|a| a.is_array())?;
    out.marks.list(list);
    let next = out.next();
    let mut text = String::from("[");
    let mut count = 0;
    for file in list.children() {
        let Some(id) = file.some("file_id").filter(|id| id.is_string()) else { continue };
        out.marks.bind_at(id, next, "attachments", &format!("/{count}/name"));
        if count > 0 {
            text.push(',');
        }
        text.push_str(&format!("{{\"name\":{}}}", id.raw()));
        count += 1;
    }
    text.push(']');
    (count > 0).then(|| Raw::owned(text))
}

/// A picture that an assistant shows.
fn shown<'a>(part: Node<'_, 'a>, task: Option<&Raw<'static>>, out: &mut Out<'_, 'a>) {
    let (holder, key, field) = match (part.get("image_url"), part.get("image_file")) {
        (Some(image), _) => (image, "url", "url"),
        (None, Some(image)) => (image, "file_id", "sourceId"),
        (None, None) => return,
    };
    let Some(value) = holder.get(key).filter(|v| v.is_string()) else { return };
    out.marks.open(holder);
    out.bind(Some(value), field);
    out.push(Event::new(Kind::Source).with_some("taskId", task.cloned()).with(field, value));
}

/// What a message's annotations point to.
fn sources<'a>(content: Node<'_, 'a>, task: Option<&Raw<'static>>, out: &mut Out<'_, 'a>) {
    for part in content.children() {
        let Some(list) = part.get("text").and_then(|t| t.get("annotations")) else { continue };
        out.marks.list(list);
        for note in list.children() {
            let holder = note.get("file_citation").or_else(|| note.get("file_path"));
            let Some(holder) = holder.filter(|h| h.is_object()) else { continue };
            let Some(file) = holder.get("file_id").filter(|f| f.is_string()) else { continue };
            let title = note.get("text").filter(|t| t.is_string());
            out.marks.open(holder);
            out.implied(note.get("type"));
            out.bind(Some(file), "sourceId");
            out.bind(title, "title");
            out.push(
                Event::new(Kind::Source)
                    .with_some("taskId", task.cloned())
                    .with("sourceId", file)
                    .with_some("title", title),
            );
        }
    }
}
