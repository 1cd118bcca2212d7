//! The author's later shapes: turns of messages of parts (2.0.0, 0.0.3, 0.0.4).

use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

/// Counts turns, for their task ids.
#[derive(Debug, Default)]
pub(super) struct State {
    turn: u32,
    message: u32,
}

impl State {
    /// Appends what a turn, or a message that stands among turns, means.
    pub(super) fn turn<'a>(
        &mut self,
        turn: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        self.turn += 1;
        let task = Raw::string(&format!("turn-{}", self.turn));
        for key in ["turn_type", "message_type"] {
            if let Some(kind) = turn.get(key) {
                marks.implied(kind);
            }
        }
        if turn.get("message_type").is_some() {
            self.message(turn, &task, None, marks, events);
            return;
        }
        if turn.get("turn_type").is_some_and(|t| t.is("user")) {
            let at = turn.some("submitted_at");
            if let Some(parts) = turn.get("parts") {
                marks.list(parts);
                for part in parts.children() {
                    user_part(part, None, at, marks, events);
                }
            }
            return;
        }
        let agent = turn.some("agent_id").map(|agent| Raw::owned(agent.raw()));
        let ev = events.len();
        let mut event = Event::new(Kind::TaskCreated)
            .with("taskId", task.clone())
            .with("initiator", Raw::Ref("\"user\""));
        for (key, field) in [("agent_id", "agentId"), ("started_at", "timestamp")] {
            if let Some(value) = turn.some(key) {
                marks.bind(value, ev, field);
                event.set(field, value);
            }
        }
        events.push(event);
        if let Some(messages) = turn.get("messages") {
            marks.list(messages);
            for message in messages.children() {
                self.message(message, &task, agent.clone(), marks, events);
            }
        }
        let ev = events.len();
        let how = turn.some("completion_status");
        how.into_iter().for_each(|how| marks.implied(how));
        let interrupted = how.is_some_and(|s| s.is("interrupted"));
        let mut event = if interrupted {
            let reason = turn.some("interruption").and_then(|i| i.get("reason"));
            let failed = reason.is_some_and(|r| !r.is("user_cancelled"));
            let status = if failed { "\"failed\"" } else { "\"canceled\"" };
            Event::new(Kind::TaskStatus)
                .with("taskId", task)
                .with("status", Raw::Ref(status))
                .with_some("message", reason)
        } else {
            Event::new(Kind::TaskComplete).with("taskId", task)
        };
        if let Some(at) = turn.some("completed_at") {
            marks.bind(at, ev, "timestamp");
            event.set("timestamp", at);
        }
        events.push(event);
    }

    fn message<'a>(
        &mut self,
        message: Node<'_, 'a>,
        task: &Raw<'static>,
        turn_agent: Option<Raw<'static>>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let kind = message.get("message_type").and_then(|t| t.str()).unwrap_or_default();
        if let Some(kind) = message.get("message_type") {
            marks.implied(kind);
        }
        let at = message.some("timestamp");
        if kind == "system" {
            let name = message.get("event_type").and_then(|t| t.str()).unwrap_or_default();
            let mut event = Event::new(Kind::System)
                .with("taskId", task.clone())
                .with("name", Raw::string(name.strip_prefix("data-").unwrap_or(&name)));
            if let Some(kind) = message.get("event_type") {
                marks.implied(kind);
            }
            for (key, field) in
                [("event_data", "data"), ("timestamp", "timestamp"), ("source_agent", "agentId")]
            {
                if let Some(value) = message.some(key) {
                    marks.bind(value, events.len(), field);
                    event.set(field, value);
                }
            }
            if event.get("data").is_none() {
                event.set("data", Raw::Ref("null"));
            }
            events.push(event);
            return;
        }
        let agent = message.some("agent_id").map(|agent| Raw::owned(agent.raw())).or(turn_agent);
        if let Some(agent) = message.some("agent_id") {
            marks.implied(agent);
        }
        let stamp = |kind: Kind| {
            Event::new(kind)
                .with("taskId", task.clone())
                .with_some("agentId", agent.clone())
                .with_some("timestamp", at)
        };
        let response = kind == "response";
        if response {
            self.message += 1;
            events.push(stamp(Kind::StepStarted));
        }
        if let Some(parts) = message.get("parts") {
            marks.list(parts);
            for part in parts.children() {
                if response {
                    response_part(part, &stamp, marks, events);
                } else {
                    user_part(part, Some(task.clone()), at, marks, events);
                }
            }
        }
        if response {
            let ev = events.len();
            let mut event = stamp(Kind::StepFinished);
            for (key, field) in [
                ("usage", "usage"),
                ("model_name", "model"),
                ("provider_name", "providerName"),
                ("timestamp", "timestamp"),
            ] {
                if let Some(value) = message.some(key) {
                    marks.bind(value, ev, field);
                    event.set(field, value);
                }
            }
            if let Some(reason) = message.some("finish_reason") {
                marks.implied(reason);
                let mapped = if reason.is("tool_call") {
                    Raw::Ref("\"tool_calls\"")
                } else {
                    Raw::from(reason)
                };
                event.set("finishReason", mapped);
            }
            events.push(event);
        }
    }
}

fn user_part<'a>(
    part: Node<'_, 'a>,
    task: Option<Raw<'static>>,
    at: Option<Node<'_, 'a>>,
    marks: &mut Marks,
    events: &mut Vec<Event<'a>>,
) {
    let ev = events.len();
    let Some(kind) = part.get("part_kind") else { return };
    let content = part.get("content");
    let mut event = match (kind.body(), content) {
        ("user-prompt" | "text", Some(content)) => {
            marks.bind(content, ev, "content");
            Event::new(Kind::Message).with("role", Raw::Ref("\"user\"")).with("content", content)
        }
        ("tool-return" | "retry-prompt", _) if part.some("tool_call_id").is_some() => {
            let ok = kind.is("tool-return")
                && part.some("status").or(part.some("outcome")).is_none_or(|s| s.is("success"));
            for told in [part.some("status"), part.some("outcome")].into_iter().flatten() {
                marks.implied(told);
            }
            let mut event = Event::new(Kind::ToolComplete)
                .with("success", Raw::Ref(if ok { "true" } else { "false" }));
            for (key, field) in
                [("tool_call_id", "toolCallId"), ("tool_name", "toolName"), ("content", "result")]
            {
                if let Some(value) = part.get(key) {
                    marks.bind(value, ev, field);
                    event.set(field, value);
                }
            }
            event
        }
        ("retry-prompt", Some(content)) => {
            marks.bind(content, ev, "data");
            Event::new(Kind::System)
                .with("name", Raw::Ref("\"retry_feedback\""))
                .with("data", content)
        }
        _ => return,
    };
    marks.implied(kind);
    if let Some(task) = task {
        event.set("taskId", task);
    }
    if let Some(own) = part.some("timestamp") {
        marks.bind(own, ev, "timestamp");
        event.set("timestamp", own);
    } else if let Some(at) = at {
        event.set("timestamp", at);
    }
    events.push(event);
}

fn response_part<'a>(
    part: Node<'_, 'a>,
    stamp: &dyn Fn(Kind) -> Event<'a>,
    marks: &mut Marks,
    events: &mut Vec<Event<'a>>,
) {
    let ev = events.len();
    let Some(kind) = part.get("part_kind") else { return };
    let fields: &[(&str, &'static str)] = match kind.body() {
        "text" => &[("content", "content")],
        "thinking" => &[
            ("content", "content"),
            ("signature", "signature"),
            ("provider_name", "providerName"),
            ("id", "thoughtId"),
        ],
        "tool-call" => {
            &[("tool_call_id", "toolCallId"), ("tool_name", "toolName"), ("args", "arguments")]
        }
        _ => return,
    };
    let mut event = match kind.body() {
        "text" => stamp(Kind::ContentComplete),
        "thinking" => stamp(Kind::ThoughtStream)
            .with("thoughtType", Raw::Ref("\"thinking\""))
            .with("verbosity", Raw::Ref("\"normal\"")),
        _ => stamp(Kind::ToolCall),
    };
    marks.implied(kind);
    for (key, field) in fields {
        if let Some(value) = part.some(key) {
            marks.bind(value, ev, field);
            event.set(*field, value);
        }
    }
    events.push(event);
}
