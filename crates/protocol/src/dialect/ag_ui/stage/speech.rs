//! Text, reasoning, tool calls and their results.

use super::super::parts;
use super::{Open, OpenCall, Run, Stage, plain, record, text};
use crate::dialect::object::Object;
use crate::journal::Event;
use crate::journal::flow::Streamed;
use crate::json::{Raw, quote};

impl Stage {
    pub(super) fn text_started(&mut self, task: &str, id: &str, event: Option<&Event<'_>>) {
        self.enter(task);
        let role = event.and_then(|e| e.get("role")).and_then(Raw::body);
        let role = role.filter(|r| matches!(*r, "user" | "system" | "developer"));
        let role = role.unwrap_or("assistant");
        let name = event.and_then(|e| e.get("agentId").or(e.get("author")));
        let wire = self.part_id(task, id);
        let record = record("TEXT_MESSAGE_START")
            .raw("messageId", &wire)
            .text("role", role)
            .some("name", name.filter(|n| n.body().is_some()));
        if let Some(run) = self.run.as_mut() {
            run.spoken |= role == "assistant";
            run.texts.push(Open { task: task.to_owned(), id: id.to_owned(), wire, message: false });
        }
        self.write(task, record, event);
    }

    pub(super) fn text_delta(
        &mut self,
        task: &str,
        id: &str,
        body: &str,
        event: Option<&Event<'_>>,
    ) {
        if body.is_empty() {
            return;
        }
        self.enter(task);
        let find = |run: &Run| {
            run.texts.iter().find(|o| o.task == task && o.id == id).map(|o| o.wire.clone())
        };
        let wire = match self.run.as_ref().and_then(find) {
            Some(wire) => wire,
            None => {
                self.text_started(task, id, event);
                self.run.as_ref().and_then(find).unwrap_or_default()
            }
        };
        let record = record("TEXT_MESSAGE_CONTENT").raw("messageId", &wire).body("delta", body);
        self.write(task, record, event);
    }

    pub(super) fn text_finished(&mut self, task: &str, id: &str, event: Option<&Event<'_>>) {
        let Some(run) = self.run.as_mut() else { return };
        let at = run.texts.iter().position(|o| o.task == task && o.id == id);
        let Some(open) = at.map(|at| run.texts.remove(at)) else { return };
        self.put(task, record("TEXT_MESSAGE_END").raw("messageId", &open.wire), event);
    }

    pub(super) fn thought_started(&mut self, task: &str, id: &str, event: Option<&Event<'_>>) {
        self.enter(task);
        let wire = self.part_id(task, id);
        let record = record("REASONING_START").raw("messageId", &wire);
        if let Some(run) = self.run.as_mut() {
            run.thoughts.push(Open {
                task: task.to_owned(),
                id: id.to_owned(),
                wire,
                message: false,
            });
        }
        self.write(task, record, event);
    }

    pub(super) fn thought_delta(
        &mut self,
        task: &str,
        id: &str,
        body: &str,
        event: Option<&Event<'_>>,
    ) {
        if body.is_empty() {
            return;
        }
        self.enter(task);
        let known =
            self.run.iter().any(|r| r.thoughts.iter().any(|o| o.task == task && o.id == id));
        if !known {
            self.thought_started(task, id, event);
        }
        let Some(run) = self.run.as_mut() else { return };
        let Some(open) = run.thoughts.iter_mut().find(|o| o.task == task && o.id == id) else {
            return;
        };
        let wire = open.wire.clone();
        if !std::mem::replace(&mut open.message, true) {
            let start = record("REASONING_MESSAGE_START")
                .raw("messageId", &wire)
                .raw("role", "\"reasoning\"");
            self.write(task, start, event);
        }
        let record =
            record("REASONING_MESSAGE_CONTENT").raw("messageId", &wire).body("delta", body);
        self.write(task, record, event);
    }

    pub(super) fn thought_finished(
        &mut self,
        task: &str,
        id: &str,
        signature: Option<Raw<'static>>,
        event: Option<&Event<'_>>,
    ) {
        let Some(run) = self.run.as_mut() else { return };
        let at = run.thoughts.iter().position(|o| o.task == task && o.id == id);
        let Some(open) = at.map(|at| run.thoughts.remove(at)) else { return };
        if open.message {
            let record = record("REASONING_MESSAGE_END").raw("messageId", &open.wire);
            self.put(task, record, event);
        }
        if let Some(signature) = signature.filter(|s| s.body().is_some()) {
            let record = record("REASONING_ENCRYPTED_VALUE")
                .raw("subtype", "\"message\"")
                .raw("entityId", &open.wire)
                .raw("encryptedValue", &signature);
            self.put(task, record, event);
        }
        self.put(task, record("REASONING_END").raw("messageId", &open.wire), event);
    }

    pub(super) fn call_started(&mut self, task: &str, event: Option<&Event<'_>>) {
        let Some(event) = event else { return };
        self.enter(task);
        let id = text(event.get("toolCallId").map_or("\"call\"", |id| id.as_str()));
        let name = text(event.get("toolName").map_or("\"tool\"", |name| name.as_str()));
        let Some(run) = self.run.as_mut() else { return };
        if run.calls.iter().any(|call| call.id == id) {
            return;
        }
        let parent = event
            .get("messageId")
            .filter(|m| m.str().is_some_and(|m| self.used.contains(m.as_ref())));
        run.calls.push(OpenCall { task: task.to_owned(), id: id.clone(), written: String::new() });
        let record = record("TOOL_CALL_START")
            .raw("toolCallId", &id)
            .raw("toolCallName", &name)
            .some("parentMessageId", parent);
        self.write(task, record, Some(event));
    }

    pub(super) fn call_delta(&mut self, task: &str, body: &str, event: Option<&Event<'_>>) {
        let Some(id) = event.and_then(|e| e.get("toolCallId")).map(|id| text(id)) else { return };
        let Some(run) = self.run.as_mut() else { return };
        let Some(open) = run.calls.iter_mut().find(|call| call.id == id) else { return };
        if body.is_empty() {
            return;
        }
        open.written.push_str(body);
        let record = record("TOOL_CALL_ARGS").raw("toolCallId", &id).body("delta", body);
        self.put(task, record, event);
    }

    pub(super) fn call(
        &mut self,
        task: &str,
        arguments: &Raw<'_>,
        streamed: Streamed,
        event: Option<&Event<'_>>,
    ) {
        let Some(id) = event.and_then(|e| e.get("toolCallId")).map(|id| text(id)) else { return };
        let is_open = self.run.iter().any(|run| run.calls.iter().any(|call| call.id == id));
        if streamed == Streamed::No || !is_open {
            self.call_started(task, event);
        }
        let Some(run) = self.run.as_mut() else { return };
        let at = run.calls.iter().position(|call| call.id == id);
        let Some(open) = at.map(|at| run.calls.remove(at)) else { return };
        let rest = if open.written.is_empty() {
            // A string that is no JSON is what the model wrote.
            Some(match arguments.body() {
                Some(_) => arguments.to_string(),
                None => quote(arguments),
            })
        } else {
            parts::missing_end(&open.written).map(|rest| quote(&rest))
        };
        if let Some(delta) = rest {
            let record = record("TOOL_CALL_ARGS").raw("toolCallId", &id).raw("delta", &delta);
            self.put(task, record, event);
        }
        self.put(task, record("TOOL_CALL_END").raw("toolCallId", &id), event);
    }

    pub(super) fn returned(&mut self, task: &str, event: Option<&Event<'_>>) {
        let Some(event) = event else { return };
        let id = text(event.get("toolCallId").map_or("\"call\"", |id| id.as_str()));
        let content = parts::result(event);
        if event.get("preliminary").and_then(Raw::bool) == Some(true) {
            let value = Object::new().raw("toolCallId", &id).raw("content", &content).end();
            self.custom(task, "\"tool_output_preliminary\"", &value, event);
            return;
        }
        let wanted = match event.str("messageId") {
            Some(message) => message.into_owned(),
            None => format!("{}:result", plain(&id)),
        };
        let message = self.unique(&wanted);
        let record = record("TOOL_CALL_RESULT")
            .raw("messageId", &message)
            .raw("toolCallId", &id)
            .raw("content", &content)
            .raw("role", "\"tool\"");
        self.write(task, record, Some(event));
        let error =
            event.get("error").filter(|_| event.get("result").is_some_and(|r| !r.is_null()));
        if let Some(error) = error {
            // A result has no place for an error beside it.
            let value = Object::new().raw("toolCallId", &id).raw("error", error).end();
            self.custom(task, "\"tool_error\"", &value, event);
        }
    }
}
