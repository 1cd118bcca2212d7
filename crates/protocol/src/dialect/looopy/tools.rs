//! Tool calls: asked for, started, returned.

use super::encode::{Origin, Writer};
use super::write::{Draft, Form};
use crate::dialect::Records;
use crate::journal::{Event, Kind};
use crate::json::Raw;

/// A tool call that was asked for.
#[derive(Debug)]
pub(super) struct Call {
    name: Option<Raw<'static>>,
    arguments: Raw<'static>,
    timestamp: Option<Raw<'static>>,
    pub(super) started: Started,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Started {
    No,
    /// We said so.
    Said,
    /// The source said so.
    Told,
}

impl Writer {
    /// Takes note of a call.
    pub(super) fn called(
        &mut self,
        task: &str,
        event: &Event<'_>,
        arguments: Raw<'static>,
        out: &mut Records,
    ) {
        let Some(id) = event.get("toolCallId").map(ToString::to_string) else { return };
        let told = event.kind() == Kind::ToolStart;
        let call = Call {
            name: event.get("toolName").map(Raw::to_owned),
            arguments,
            timestamp: event.get("timestamp").map(Raw::to_owned),
            started: if told { Started::Told } else { Started::No },
        };
        self.task(task).calls.insert(id.clone(), call);
        // Our own agents and Looopy's tell when a tool starts; for the others, this is when.
        if self.origin == Origin::Other {
            self.start(task, &id, out);
        }
    }

    /// Says that a tool starts, for clients that know only the document's events.
    fn start(&mut self, task: &str, id: &str, out: &mut Records) {
        if self.stamp.form == Form::Code {
            return;
        }
        let Some(call) = self.tasks.get_mut(task).and_then(|t| t.calls.get_mut(id)) else { return };
        if call.started != Started::No {
            return;
        }
        call.started = Started::Said;
        let mut draft = Draft::new(Kind::ToolStart, task);
        draft.push("toolCallId", id);
        draft.push("toolName", call.name.as_deref().unwrap_or("\"\""));
        draft.push("arguments", &call.arguments);
        if let Some(timestamp) = &call.timestamp {
            draft.push("timestamp", timestamp);
        }
        draft.fill();
        out.item(self.stamp.write(draft));
    }

    /// Writes a return, with the start that comes before it.
    pub(super) fn returned(
        &mut self,
        task: &str,
        event: &Event<'_>,
        name: Option<Raw<'static>>,
        out: &mut Records,
    ) {
        self.lead(task, out);
        if let Some(id) = event.get("toolCallId") {
            self.start(task, id, out);
        }
        let mut draft = self.draft(task, event);
        if let Some(name) = name {
            draft.default("toolName", || name.to_string());
        }
        if event.get("success").is_none() {
            let failed = event.get("error").is_some()
                || event.get("outcome").is_some_and(|o| !o.is("success"));
            draft.push("success", if failed { "false" } else { "true" });
        }
        self.finish_draft(task, draft, out);
    }
}
