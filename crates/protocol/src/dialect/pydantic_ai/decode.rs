//! ModelMessages to events.

mod content;
mod request;
mod response;

use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

/// Reads one message after the other.
pub(super) struct Reader {
    opening: Opening,
    agent: Raw<'static>,
    joined: bool,
    task: Option<Raw<'static>>,
    /// Instructions last given, as a string literal.
    instructions: Option<String>,
    thoughts: usize,
}

/// A message's members that mean something.
struct Message<'d, 'a> {
    timestamp: Option<Node<'d, 'a>>,
    instructions: Option<Node<'d, 'a>>,
    usage: Option<Node<'d, 'a>>,
    model: Option<Node<'d, 'a>>,
    provider: Option<Node<'d, 'a>>,
    finish: Option<Node<'d, 'a>>,
    run: Option<Node<'d, 'a>>,
    conversation: Option<Node<'d, 'a>>,
    metadata: Option<Node<'d, 'a>>,
    state: Option<Node<'d, 'a>>,
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            agent: Raw::string(options.agent.as_deref().unwrap_or("agent")),
            joined: false,
            task: None,
            instructions: None,
            thoughts: 0,
        }
    }

    /// Begins the thread and the run, where this message is the first of either.
    fn begin<'a>(
        &mut self,
        message: &Message<'_, 'a>,
        text: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let own = message.conversation.map(Raw::from);
        if let Some(event) = self.opening.open(own, text) {
            events.push(event.with_some("timestamp", message.timestamp));
        }
        if let Some(id) = message.conversation {
            marks.implied(id);
        }
        if let Some(run) = message.run {
            marks.implied(run);
        }
        let same = match (&self.task, message.run) {
            (Some(task), Some(run)) => task.as_str() == run.raw(),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if !same {
            let task = message.run.map_or(Raw::Ref("\"run-1\""), |run| Raw::owned(run.raw()));
            events.push(
                Event::new(Kind::TaskCreated)
                    .with("taskId", task.clone())
                    .with("initiator", Raw::Ref("\"user\""))
                    .with_some("timestamp", message.timestamp),
            );
            self.task = Some(task);
        }
    }

    fn event<'a>(&self, kind: Kind) -> Event<'a> {
        let task = self.task.clone().unwrap_or(Raw::Ref("\"run-1\""));
        Event::new(kind).with("taskId", task)
    }

    fn agent_event<'a>(&self, kind: Kind) -> Event<'a> {
        self.event(kind).with("agentId", self.agent.clone())
    }

    /// A part that other dialects know as an application's own event.
    fn system<'a>(
        &self,
        name: &'static str,
        data: Node<'_, 'a>,
        ev: usize,
        marks: &mut Marks,
    ) -> Event<'a> {
        marks.bind(data, ev, "data");
        self.event(Kind::System).with("name", Raw::Ref(name)).with("data", data)
    }

    /// Instructions are given with every request: they are told when they change.
    fn instruct<'a>(
        &mut self,
        message: &Message<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(text) = message.instructions.filter(|text| text.is_string()) else { return };
        if self.instructions.as_deref() == Some(text.raw()) {
            marks.implied(text);
            return;
        }
        self.instructions = Some(text.raw().to_owned());
        marks.bind(text, events.len(), "content");
        events.push(
            self.event(Kind::Message)
                .with("role", Raw::Ref("\"system\""))
                .with("content", text)
                .with("metadata", Raw::Ref("{\"instructions\":true}"))
                .with_some("timestamp", message.timestamp),
        );
    }

    /// What a return says; `part` may belong to a request or to a response.
    fn tool_return<'a>(
        &self,
        part: Node<'_, 'a>,
        content: Node<'_, 'a>,
        ev: usize,
        marks: &mut Marks,
    ) -> Event<'a> {
        let [name, id, outcome, retry] =
            part.select(["tool_name", "tool_call_id", "outcome", "retry"]);
        marks.bind(content, ev, "result");
        bind_some(name, ev, "toolName", marks);
        bind_some(id, ev, "toolCallId", marks);
        let outcome = known(outcome);
        let success = outcome.is_none_or(|o| o.is("success"));
        let cause = known(retry).and_then(|r| r.get("cause"));
        let invalid = cause.is_some_and(|c| c.is("validation_error"));
        if let Some(outcome) = outcome {
            marks.implied(outcome);
        }
        let outcome = match invalid {
            true => Some(Raw::Ref("\"validation_error\"")),
            false => outcome.map(Raw::from),
        };
        self.event(Kind::ToolComplete)
            .with_some("toolCallId", id)
            .with_some("toolName", name)
            .with("success", Raw::Ref(if success { "true" } else { "false" }))
            .with_some("outcome", outcome)
            .with("result", content)
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::PydanticAi;

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let [
            parts,
            usage,
            model,
            timestamp,
            instructions,
            kind,
            provider,
            finish,
            run,
            conversation,
            metadata,
            state,
        ] = root.select([
            "parts",
            "usage",
            "model_name",
            "timestamp",
            "instructions",
            "kind",
            "provider_name",
            "finish_reason",
            "run_id",
            "conversation_id",
            "metadata",
            "state",
        ]);
        let (Some(kind), Some(parts)) = (kind, parts.filter(|p| p.is_array())) else { return };
        let message = Message {
            timestamp: known(timestamp),
            instructions: known(instructions),
            usage: known(usage),
            model: known(model),
            provider: known(provider),
            finish: known(finish),
            run: known(run),
            conversation: known(conversation),
            metadata: known(metadata),
            state: known(state),
        };
        self.begin(&message, root.raw(), marks, events);
        marks.list(parts);
        if kind.is("request") {
            marks.fixed(kind);
            self.instruct(&message, marks, events);
            self.request(parts, &message, marks, events);
        } else if kind.is("response") {
            marks.fixed(kind);
            self.response(parts, &message, marks, events);
        }
    }
}

/// A value that is there and not null.
fn known<'d, 'a>(node: Option<Node<'d, 'a>>) -> Option<Node<'d, 'a>> {
    node.filter(|n| !n.is_null())
}

fn bind_some(node: Option<Node<'_, '_>>, ev: usize, field: &'static str, marks: &mut Marks) {
    if let Some(node) = node {
        marks.bind(node, ev, field);
    }
}

/// What ids of thoughts begin with where the wire has none.
const MINTED_THOUGHT: &str = "\"pydantic-ai:thought:";

/// Whether a thought's id was made up by the decoder.
pub(super) fn is_minted_thought(id: &Raw<'_>) -> bool {
    id.starts_with(MINTED_THOUGHT)
}
