//! ThreadProtocol 1.0.0 documents to events.

use crate::dialect::{DecodeOptions, Id, Opening, ReadDocument};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

use super::turns;

/// Reads the head, the actions, and the later shapes' turns.
pub(super) struct Thread {
    opening: Opening,
    turn: u32,
    /// The agent whose turn it is, and its task.
    speaker: Option<(Raw<'static>, Raw<'static>)>,
    in_step: bool,
    pub(super) turns: turns::State,
}

impl Thread {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            turn: 0,
            speaker: None,
            in_step: false,
            turns: turns::State::default(),
        }
    }

    /// Ends the model call that is open.
    pub(super) fn end_step<'a>(&mut self, events: &mut Vec<Event<'a>>) {
        if self.in_step
            && let Some((agent, task)) = &self.speaker
        {
            self.in_step = false;
            events.push(
                Event::new(Kind::StepFinished)
                    .with("taskId", task.clone())
                    .with("agentId", agent.clone()),
            );
        }
    }

    /// An event of an agent; begins its turn and its model call where this is the first of either.
    fn agents<'a>(
        &mut self,
        kind: Kind,
        action: Node<'_, 'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Event<'a> {
        let agent = action
            .get("agent_id")
            .map_or_else(|| Raw::string("agent"), |agent| Raw::owned(agent.raw()));
        if self.speaker.as_ref().is_none_or(|(speaker, _)| *speaker != agent) {
            self.end_step(events);
            self.turn += 1;
            let task = Raw::string(&format!("turn-{}", self.turn));
            events.push(
                Event::new(Kind::TaskCreated)
                    .with("taskId", task.clone())
                    .with("agentId", agent.clone())
                    .with("initiator", Raw::Ref("\"user\""))
                    .with_some("timestamp", action.some("timestamp")),
            );
            self.speaker = Some((agent.clone(), task));
        }
        let task = self.speaker.as_ref().map_or(Raw::Ref("\"turn-1\""), |(_, task)| task.clone());
        if !self.in_step && kind.is_model_output() {
            self.in_step = true;
            events.push(
                Event::new(Kind::StepStarted)
                    .with("taskId", task.clone())
                    .with("agentId", agent.clone())
                    .with_some("timestamp", action.some("timestamp")),
            );
        }
        Event::new(kind).with("taskId", task).with("agentId", agent)
    }

    fn task<'a>(&self) -> Option<Raw<'a>> {
        self.speaker.as_ref().map(|(_, task)| task.clone())
    }

    /// Appends what a core or system action means.
    pub(super) fn action<'a>(
        &mut self,
        action: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(kind) = action.get("action_type").and_then(|t| t.str()) else { return };
        let mut bind = Vec::new();
        let mut event = match kind.as_ref() {
            "user_message" => {
                self.end_step(events);
                self.speaker = None;
                bind.extend([("content", "content"), ("attachments", "attachments")]);
                bind.push(("action_id", "messageId"));
                Event::new(Kind::Message).with("role", Raw::Ref("\"user\""))
            }
            "assistant_message" => {
                bind.extend([("content", "content"), ("usage", "usage")]);
                bind.extend([("action_id", "messageId"), ("agent_id", "agentId")]);
                let event = self.agents(Kind::Message, action, events);
                let reason = action.some("finish_reason").map(|reason| {
                    marks.implied(reason);
                    if reason.is("tool_call") {
                        Raw::Ref("\"tool_calls\"")
                    } else {
                        Raw::from(reason)
                    }
                });
                event.with("role", Raw::Ref("\"agent\"")).with_some("finishReason", reason)
            }
            "thinking" => {
                bind.extend([("content", "content"), ("signature", "signature")]);
                bind.extend([("provider_name", "providerName"), ("thinking_id", "thoughtId")]);
                bind.push(("agent_id", "agentId"));
                let mut event = self.agents(Kind::ThoughtStream, action, events);
                if action.some("thinking_id").is_none() {
                    let sequence = action.get("sequence").map_or("0", Node::raw);
                    event = event.with("thoughtId", Raw::string(&format!("thought-{sequence}")));
                }
                if action.some("content").is_none() {
                    event = event.with("content", Raw::Ref("\"\""));
                }
                event
                    .with("thoughtType", Raw::Ref("\"thinking\""))
                    .with("verbosity", Raw::Ref("\"normal\""))
            }
            "tool_call" => {
                bind.extend([("tool_call_id", "toolCallId"), ("tool_name", "toolName")]);
                bind.extend([("args", "arguments"), ("agent_id", "agentId")]);
                self.agents(Kind::ToolCall, action, events)
            }
            "tool_return" => {
                self.end_step(events);
                bind.extend([("tool_call_id", "toolCallId"), ("tool_name", "toolName")]);
                bind.push(("content", "result"));
                let status = action.get("status");
                if let Some(status) = status {
                    marks.implied(status);
                }
                let success = status.is_none_or(|s| s.is("success"));
                let event = Event::new(Kind::ToolComplete)
                    .with_some("taskId", self.task())
                    .with("success", Raw::Ref(if success { "true" } else { "false" }));
                if status.is_some_and(|s| s.is("validation_error")) {
                    event.with("outcome", Raw::Ref("\"validation_error\""))
                } else {
                    event
                }
            }
            name => {
                let Some(name) = name.strip_prefix("system.") else { return };
                match native(name, action.get("data")) {
                    Some(event) => event,
                    None => {
                        bind.push(("data", "data"));
                        Event::new(Kind::System).with("name", Raw::string(name))
                    }
                }
            }
        };
        bind.push(("timestamp", "timestamp"));
        for (key, field) in bind {
            if let Some(value) = action.some(key) {
                marks.bind(value, events.len(), field);
                event.set(field, value);
            }
        }
        for key in ["action_type", "sequence"] {
            if let Some(value) = action.get(key) {
                marks.implied(value);
            }
        }
        events.push(event);
    }
}

/// An event of the journal's own vocabulary, written as `system.<kind>`.
fn native<'a>(name: &str, data: Option<Node<'_, 'a>>) -> Option<Event<'a>> {
    let kind = Kind::named(&name.replace('_', "-"));
    let data = data.filter(|d| d.is_object())?;
    if matches!(kind, Kind::Other | Kind::System | Kind::Opaque) {
        return None;
    }
    let mut event = Event::new(kind);
    for (key, value) in data.members() {
        event.set(key.str()?, value);
    }
    Some(event)
}

impl ReadDocument for Thread {
    const ID: Id = Id::ThreadProtocol;

    fn items<'d, 'a>(&self, root: Node<'d, 'a>) -> Option<Node<'d, 'a>> {
        root.get("actions").or_else(|| root.get("turns"))
    }

    fn head<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        if let Some(version) = root.get("version") {
            marks.implied(version);
        }
        if let Some(mut event) = self.opening.open(root.get("thread_id").map(Raw::from), root.raw())
        {
            for (key, field) in [
                ("thread_id", "contextId"),
                ("parent_thread_id", "parentThreadId"),
                ("title", "title"),
                ("created_at", "createdAt"),
                ("updated_at", "updatedAt"),
                ("metadata", "metadata"),
            ] {
                if let Some(value) = root.some(key) {
                    marks.bind(value, events.len(), field);
                    event.set(field, value);
                }
            }
            events.push(event);
        }
        let Some(agents) = root.get("agents").filter(|a| a.is_object()) else { return };
        marks.open(agents);
        for (_, agent) in agents.members() {
            marks.open(agent);
            let mut event = Event::new(Kind::ParticipantJoined).with("role", Raw::Ref("\"agent\""));
            for (key, field) in [
                ("agent_id", "participantId"),
                ("agent_identifier", "identifier"),
                ("agent_name", "name"),
                ("created_at", "createdAt"),
                ("config_ref", "configRef"),
                ("model_name", "model"),
                ("provider_name", "provider"),
            ] {
                if let Some(value) = agent.some(key) {
                    marks.bind(value, events.len(), field);
                    event.set(field, value);
                }
            }
            events.push(event);
        }
    }

    fn item<'a>(&mut self, item: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        if item.get("turn_type").is_some() || item.get("message_type").is_some() {
            self.turns.turn(item, marks, events);
        } else {
            self.action(item, marks, events);
        }
    }

    fn tail<'a>(&mut self, _root: Node<'_, 'a>, _marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        self.end_step(events);
    }
}
