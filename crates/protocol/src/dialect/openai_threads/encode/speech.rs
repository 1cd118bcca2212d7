//! What agents say: messages, their parts and the steps that make them.

use super::wire::{Object, Usage, event};
use super::{Content, Event, Kind, Part, Raw, Records, Spoken, State, cut_by, text, wire};

impl State {
    pub(super) fn text_started(
        &mut self,
        task: &str,
        id: &str,
        source: Option<&Event<'_>>,
        out: &mut Records,
    ) {
        self.resume(task, out);
        let whole = source.filter(|e| e.kind() == Kind::Message);
        let given = source.and_then(|e| e.get("messageId")).filter(|m| m.body().is_some());
        let open = self.runs.get(task).and_then(|run| run.message.as_ref());
        let other = open.is_some_and(|m| given.is_some_and(|g| *g.as_str() != *m.id));
        if whole.is_some() || other {
            self.close_message(task, None, out);
        }
        if let Some(run) = self.runs.get_mut(task)
            && let Some(author) = whole.and_then(|e| e.get("author").or_else(|| e.get("agentId")))
            && author.body().is_some()
        {
            run.agent = author.to_string();
        }
        let given = given.map(Raw::to_string);
        let attached = whole.and_then(|e| e.get("attachments"));
        match whole {
            Some(message) => {
                let (parts, attachments) = wire::content(message.get("content"), attached);
                self.begin_message(task, given, attachments, out);
                for (i, part) in parts.into_iter().enumerate() {
                    self.whole_part(task, &format!("{id}:{i}"), part, out);
                }
                let cut = message.body("finishReason").and_then(cut_by);
                self.close_message(task, cut, out);
            }
            None => {
                self.begin_message(task, given, "[]".to_owned(), out);
                self.begin_part(task, id, Content::Text(String::new()));
            }
        }
    }

    fn begin_part(&mut self, task: &str, id: &str, content: Content) {
        if let Some(message) = self.runs.get_mut(task).and_then(|run| run.message.as_mut()) {
            message.parts.push(Part { id: id.to_owned(), content, open: true, heard: false });
        }
    }

    /// Begins a message and its step, unless one is open.
    fn begin_message(
        &mut self,
        task: &str,
        given: Option<String>,
        attachments: String,
        out: &mut Records,
    ) {
        if self.runs.get(task).is_none_or(|run| run.message.is_some()) {
            return;
        }
        let step_id = self.runs.get_mut(task).and_then(|run| run.step_id.take());
        let step = self.id("step_", step_id, task);
        let id = self.id("msg_", given, task);
        let message = Spoken { id, step, created: self.clock, attachments, parts: Vec::new() };
        let thread = self.thread().to_owned();
        let Some(run) = self.runs.get_mut(task) else { return };
        run.spoke = true;
        let details = message.details();
        let step = run.step(&message.step, self.clock, "message_creation", &details, &thread);
        let data = step.write();
        out.item(event("thread.run.step.created", &data));
        out.item(event("thread.run.step.in_progress", &data));
        let data = message.message(run, &thread).write();
        out.item(event("thread.message.created", &data));
        out.item(event("thread.message.in_progress", &data));
        run.message = Some(message);
    }

    /// A part that comes whole: said in one delta.
    fn whole_part(&mut self, task: &str, id: &str, part: String, out: &mut Records) {
        let raw = Raw::owned(part.as_str());
        let Some(doc) = raw.doc() else { return };
        match doc.root().pointer("/text/value") {
            Some(value) => {
                self.begin_part(task, id, Content::Text(String::new()));
                self.text_delta(task, id, value.body(), out);
            }
            None => {
                let image = doc.root().get("image_url").map_or("{}", |i| i.raw()).to_owned();
                self.begin_part(task, id, Content::Whole(part.clone()));
                let Some((message, index)) = self.heard_part(task, id) else { return };
                let content = Object::new()
                    .with("index", index.to_string())
                    .with("type", "\"image_url\"")
                    .with("image_url", image)
                    .end();
                out.item(delta(&message.id, index, &content));
            }
        }
        self.text_finished(task, id, out);
    }

    fn part(&mut self, task: &str, id: &str) -> Option<(&mut Spoken, usize)> {
        let message = self.runs.get_mut(task)?.message.as_mut()?;
        let index = message.parts.iter().rposition(|part| part.id == id)?;
        Some((message, index))
    }

    /// Like [`State::part`], for a part that is heard of from here on: readers count parts in
    /// the order of their first deltas.
    fn heard_part(&mut self, task: &str, id: &str) -> Option<(&mut Spoken, usize)> {
        let (message, mut index) = self.part(task, id)?;
        if message.parts.get(index).is_some_and(|part| !part.heard) {
            let mut part = message.parts.remove(index);
            part.heard = true;
            index = message.parts.iter().filter(|part| part.heard).count();
            message.parts.insert(index, part);
        }
        Some((message, index))
    }

    pub(super) fn text_delta(&mut self, task: &str, id: &str, body: &str, out: &mut Records) {
        let Some((message, index)) = self.heard_part(task, id) else { return };
        let Some(part) = message.parts.get_mut(index) else { return };
        let Content::Text(said) = &mut part.content else { return };
        let first = said.is_empty();
        said.push_str(body);
        let mut value = Object::new();
        if first {
            value = value.with("annotations", "[]");
        }
        let value = value.with("value", format!("\"{}\"", text::minimal(body))).end();
        let content = Object::new()
            .with("index", index.to_string())
            .with("type", "\"text\"")
            .with("text", value)
            .end();
        out.item(delta(&message.id, index, &content));
    }

    pub(super) fn text_finished(&mut self, task: &str, id: &str, out: &mut Records) {
        let Some((message, index)) = self.part(task, id) else { return };
        let Some(part) = message.parts.get_mut(index) else { return };
        part.open = false;
        if matches!(&part.content, Content::Text(said) if said.is_empty()) {
            // Readers count parts by their deltas.
            self.text_delta(task, id, "", out);
        }
    }

    /// Ends the open message, if all its parts have ended.
    pub(super) fn close_message(&mut self, task: &str, cut: Option<&str>, out: &mut Records) {
        let open = self.runs.get(task).and_then(|run| run.message.as_ref());
        if open.is_some_and(|m| cut.is_some() || m.parts.iter().all(|part| !part.open)) {
            self.close_with(task, cut, None, out);
        }
    }

    /// Ends the open message and its step.
    pub(super) fn close_with(
        &mut self,
        task: &str,
        cut: Option<&str>,
        usage: Option<Usage>,
        out: &mut Records,
    ) {
        let clock = self.clock;
        let thread = self.thread().to_owned();
        let Some(run) = self.runs.get_mut(task) else { return };
        let Some(message) = run.message.take() else { return };
        let content = message.content();
        let mut whole = message.message(run, &thread);
        whole.content = &content;
        match cut {
            Some(_) => {
                whole.status = "incomplete";
                whole.incomplete = cut;
                whole.incomplete_at = Some(clock);
            }
            None => {
                whole.status = "completed";
                whole.completed = Some(clock);
            }
        }
        out.item(event(&format!("thread.message.{}", whole.status), &whole.write()));
        let status = match cut {
            Some("run_cancelled") => "cancelled",
            Some("run_failed") => "failed",
            Some("run_expired") => "expired",
            _ => "completed",
        };
        let details = message.details();
        let mut step =
            run.step(&message.step, message.created, "message_creation", &details, &thread);
        step.status = status;
        step.ended = clock;
        step.usage = usage;
        step.error = (status == "failed").then_some("the run failed");
        out.item(event(&format!("thread.run.step.{status}"), &step.write()));
    }
}

fn delta(message: &str, index: usize, content: &str) -> String {
    let mut delta = Object::new().with("content", format!("[{content}]"));
    if index == 0 {
        delta = delta.with("role", "\"assistant\"");
    }
    let data = Object::new()
        .with("id", message)
        .with("delta", delta.end())
        .with("object", "\"thread.message.delta\"")
        .end();
    event("thread.message.delta", &data)
}
