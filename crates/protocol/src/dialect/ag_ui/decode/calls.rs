//! Tool calls, and what comes in chunks.

use super::super::messages::content_field;
use super::{Chunk, Of, Reader, arguments, metadata};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

impl Reader {
    /// Ends what chunks opened, unless the record goes on with it.
    pub(super) fn close_chunk<'a>(
        &mut self,
        next: Option<(Of, Option<&str>)>,
        events: &mut Vec<Event<'a>>,
    ) {
        let goes_on = match (&self.chunk, next) {
            (Some(open), Some((of, id))) => {
                open.of == of && id.is_none_or(|id| id == open.id.as_str())
            }
            _ => false,
        };
        if goes_on {
            return;
        }
        let Some(open) = self.chunk.take() else { return };
        let event = match open.of {
            Of::Call => {
                let call = self.calls.get(open.id.as_str());
                Event::new(Kind::ToolCall)
                    .with("taskId", open.task)
                    .with("agentId", self.agent.clone())
                    .with("toolCallId", open.id.clone())
                    .with_some("toolName", call.and_then(|c| c.name.clone()))
                    .with("arguments", arguments(call))
            }
            of => {
                let kind = if of == Of::Text { "\"text\"" } else { "\"reasoning\"" };
                Event::new(Kind::PartFinished)
                    .with("taskId", open.task)
                    .with("partId", open.id)
                    .with("partType", Raw::Ref(kind))
            }
        };
        events.push(event);
    }

    pub(super) fn call<'a>(
        &mut self,
        root: Node<'_, 'a>,
        kind: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(id) = root.get("toolCallId") else { return };
        match kind {
            "TOOL_CALL_START" => self.call_started(root, marks, events),
            "TOOL_CALL_ARGS" => self.call_delta(root, Some(id), marks, events),
            "TOOL_CALL_END" => {
                let call = self.calls.get(id.raw());
                let (name, arguments) = (call.and_then(|c| c.name.clone()), arguments(call));
                let draft = self
                    .draft(root, Kind::ToolCall, events, marks)
                    .with("agentId", self.agent_of(root))
                    .bind("toolCallId", Some(id))
                    .with_some("toolName", name)
                    .with("arguments", arguments);
                metadata(draft, root).push(events);
            }
            _ => {
                let message = root.get("messageId");
                if let Some(message) = message {
                    self.seen.insert(message.raw().to_owned());
                }
                let draft = self
                    .draft(root, Kind::ToolComplete, events, marks)
                    .bind("toolCallId", Some(id))
                    .with_some("toolName", self.tool_name(id.raw()))
                    .with("success", Raw::Ref("true"))
                    .bind("messageId", message)
                    .implied([root.get("role")]);
                let draft = content_field(draft, "result", root.get("content"));
                metadata(draft, root).push(events);
            }
        }
    }

    pub(super) fn call_started<'a>(
        &mut self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let (id, name) = (root.get("toolCallId"), root.some("toolCallName"));
        if let Some(id) = id {
            self.note_tool(id.raw(), name);
        }
        let draft = self
            .draft(root, Kind::ToolCallStarted, events, marks)
            .with("agentId", self.agent_of(root))
            .bind("toolCallId", id)
            .bind("toolName", name)
            .bind("messageId", root.some("parentMessageId"));
        metadata(draft, root).push(events);
    }

    pub(super) fn call_delta<'a>(
        &mut self,
        root: Node<'_, 'a>,
        id: Option<Node<'_, 'a>>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(delta) = root.some("delta").filter(|d| d.is_string()) else { return };
        let key = match (id, &self.chunk) {
            (Some(id), _) => Raw::from(id),
            (None, Some(chunk)) => chunk.id.clone(),
            (None, None) => return,
        };
        self.calls.entry(key.to_string()).or_default().arguments.push_str(delta.body());
        let draft = self.draft(root, Kind::ToolCallDelta, events, marks);
        match id {
            Some(id) => draft.bind("toolCallId", Some(id)),
            None => draft.with("toolCallId", key),
        }
        .bind("delta", Some(delta))
        .push(events);
    }

    /// A chunk: opens its message if it is new, then says its piece.
    pub(super) fn chunk<'a>(
        &mut self,
        root: Node<'_, 'a>,
        of: Of,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let key = if of == Of::Call { "toolCallId" } else { "messageId" };
        let id = root.some(key);
        self.close_chunk(Some((of, id.map(Node::raw))), events);
        let fresh = self.chunk.is_none();
        if fresh {
            let Some(id) = id else { return };
            let task = root.some("subagentRunId").map_or(self.task(), |t| Raw::owned(t.raw()));
            self.chunk = Some(Chunk { of, id: Raw::owned(id.raw()), task });
            match of {
                Of::Call => self.call_started(root, marks, events),
                of => self.part_started(root, of == Of::Reasoning, marks, events),
            }
        }
        // Of two events in a record, the first holds what both could: the id goes there.
        let bound = if fresh { None } else { id };
        if root.some("delta").is_none() {
            return;
        }
        let Some(open) = self.chunk.as_ref().map(|c| c.id.clone()) else { return };
        match of {
            Of::Call => self.call_delta(root, bound, marks, events),
            Of::Text => {
                let draft = self.draft(root, Kind::ContentDelta, events, marks);
                match bound {
                    Some(id) => draft.bind("partId", Some(id)),
                    None => draft.with("partId", open),
                }
                .bind("delta", root.get("delta"))
                .push(events);
            }
            Of::Reasoning => {
                let mut event = self.thought(root, bound, events, marks);
                if bound.is_none() {
                    event.set("thoughtId", open);
                }
                events.push(event);
            }
        }
    }
}
