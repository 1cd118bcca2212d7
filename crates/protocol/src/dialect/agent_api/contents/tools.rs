//! Tool calls, what they return, and whether they may run.

use super::super::decode::{Msg, Reader};
use crate::dialect::draft::Draft;
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

impl Reader {
    pub(super) fn call_delta<'a>(
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

    pub(super) fn call<'a>(
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

    pub(super) fn output<'a>(
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

    pub(super) fn ask<'a>(
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

    pub(super) fn answer<'a>(
        &mut self,
        data: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
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
    pub(super) fn sign_of_life<'a>(
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
}
