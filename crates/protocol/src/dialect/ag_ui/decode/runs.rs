//! How runs and subagents begin and end, what they ask and what they used.

use super::super::model::CANCELED;
use super::{Reader, result, stamp};
use crate::dialect::draft::Draft;
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

impl Reader {
    pub(super) fn run_finished<'a>(
        &mut self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        self.begin(root, marks, events);
        self.usage(root, marks, events);
        let outcome = root.some("outcome").filter(|o| o.is_object());
        let how = outcome.and_then(|o| o.get("type"));
        if let Some(outcome) = outcome {
            marks.open(outcome);
        }
        if let Some(how) = how {
            marks.implied(how);
        }
        let stamp = stamp(root);
        let name = how.and_then(|h| h.str());
        let draft = match name.as_deref() {
            Some("interrupt") => {
                if let Some(list) = outcome.and_then(|o| o.get("interrupts")) {
                    self.interrupts(list, stamp, marks, events);
                }
                self.draft(root, Kind::TaskStatus, events, marks)
                    .with("status", Raw::Ref("\"waiting-input\""))
            }
            Some("cancelled") => self
                .draft(root, Kind::TaskStatus, events, marks)
                .with("status", Raw::Ref("\"canceled\"")),
            _ => self.draft(root, Kind::TaskComplete, events, marks),
        };
        result(draft, root).push(events);
    }

    pub(super) fn interrupts<'a>(
        &self,
        list: Node<'_, 'a>,
        stamp: Option<Raw<'a>>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        if !list.is_array() {
            return;
        }
        marks.list(list);
        for interrupt in list.children().filter(|i| i.is_object()) {
            let reason = interrupt.get("reason").and_then(|r| r.str()).unwrap_or_default();
            let auth = reason == "auth";
            let kind = if auth { Kind::AuthRequired } else { Kind::InputRequired };
            let input = match reason.as_ref() {
                "tool_call" | "confirmation" => "\"confirmation\"",
                "clarification" | "input_required" | "question" => "\"clarification\"",
                "selection" => "\"selection\"",
                _ if interrupt.some("responseSchema").is_some() => "\"data\"",
                _ => "\"custom\"",
            };
            let draft = Draft::new(self.of(interrupt, kind), events, marks);
            let id = interrupt.get("id");
            let draft = if auth {
                draft.bind("authId", id).with("authType", Raw::Ref("\"custom\""))
            } else {
                draft
                    .bind("inputId", id)
                    .with("requireUser", Raw::Ref("true"))
                    .with("inputType", Raw::Ref(input))
            };
            let draft = match interrupt.some("message") {
                Some(message) => draft.bind("prompt", Some(message)),
                None => draft.with("prompt", Raw::Ref("\"\"")),
            };
            draft
                .bind("schema", interrupt.some("responseSchema"))
                .bind("toolCallId", interrupt.some("toolCallId"))
                .bind("expiresAt", interrupt.some("expiresAt"))
                .with_some("timestamp", stamp.clone())
                .meta("reason", interrupt.get("reason"))
                .meta("details", interrupt.some("metadata"))
                .implied([interrupt.get("subagentRunId")])
                .push(events);
        }
    }

    /// What the models used.
    pub(super) fn usage<'a>(
        &self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(list) = root.get("usage").filter(|u| u.is_array()) else { return };
        marks.list(list);
        for used in list.children().filter(|u| u.is_object()) {
            let mut draft = Draft::new(self.event(Kind::LlmUsage), events, marks)
                .bind("model", used.some("model"))
                .bind("prompt_tokens", used.some("inputTokens"))
                .bind("completion_tokens", used.some("outputTokens"))
                .bind("total_tokens", used.some("totalTokens"))
                .meta("provider", used.some("provider"));
            for (key, field, name) in [
                ("reasoningTokens", "completion_tokens_details", "reasoning_tokens"),
                ("cachedInputTokens", "prompt_tokens_details", "cached_tokens"),
            ] {
                if let Some(count) = used.some(key) {
                    let ev = draft.number();
                    draft.marks().bind_at(count, ev, field, &format!("/{name}"));
                    draft =
                        draft.with(field, Raw::owned(format!("{{\"{name}\":{}}}", count.raw())));
                }
            }
            draft.push(events);
        }
    }

    pub(super) fn failed<'a>(
        &self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        self.usage(root, marks, events);
        self.draft(root, Kind::TaskStatus, events, marks)
            .with("status", Raw::Ref("\"failed\""))
            .bind("message", root.get("message"))
            .bind("code", root.some("code"))
            .push(events);
    }

    /// A subagent cannot end canceled, so it is an error with a code of ours.
    pub(super) fn subagent_failed<'a>(
        &self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let (message, code) = (root.get("message"), root.some("code"));
        if !code.is_some_and(|code| code.is(CANCELED)) {
            return self.failed(root, marks, events);
        }
        let is_ours = message.is_some_and(|message| message.is("canceled"));
        self.usage(root, marks, events);
        self.draft(root, Kind::TaskStatus, events, marks)
            .with("status", Raw::Ref("\"canceled\""))
            .bind("message", message.filter(|_| !is_ours))
            .implied([code, message.filter(|_| is_ours)])
            .push(events);
    }

    pub(super) fn subagent_started<'a>(
        &mut self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let (Some(id), Some(name)) = (root.get("subagentRunId"), root.get("name")) else { return };
        self.join(name.into(), Some(name.into()), events);
        self.subagents.insert(id.raw().to_owned(), Raw::owned(name.raw()));
        let parent = match root.some("parentSubagentRunId") {
            Some(parent) => parent.into(),
            None => self.task(),
        };
        let time = root.some("timestamp");
        let stamp = stamp(root);
        let event = Event::new(Kind::SubtaskCreated).with("taskId", parent.clone());
        let draft = Draft::new(event, events, marks)
            .bind("subtaskId", Some(id))
            .bind("agentId", Some(name))
            .with_some("timestamp", stamp.clone())
            .implied([
                root.get("type"),
                root.get("parentSubagentRunId"),
                time.filter(|_| stamp.is_some()),
            ])
            .meta("parentToolCallId", root.some("parentToolCallId"))
            .meta("parentMessageId", root.some("parentMessageId"));
        match root.some("description") {
            Some(description) => draft.bind("prompt", Some(description)),
            None => draft.with("prompt", Raw::Ref("\"\"")),
        }
        .push(events);
        events.push(
            Event::new(Kind::TaskCreated)
                .with("taskId", id)
                .with("initiator", Raw::Ref("\"agent\""))
                .with("parentTaskId", parent)
                .with("agentId", name)
                .with_some("timestamp", stamp),
        );
    }

    pub(super) fn subagent_finished<'a>(
        &self,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let outcome = root.some("outcome").filter(|o| o.is_object());
        let how = outcome.and_then(|o| o.get("type"));
        if let Some(outcome) = outcome {
            marks.open(outcome);
        }
        let draft = if how.is_some_and(|h| h.is("suspended")) {
            self.draft(root, Kind::TaskStatus, events, marks)
                .with("status", Raw::Ref("\"waiting-input\""))
                .meta("interruptIds", outcome.and_then(|o| o.some("interruptIds")))
        } else {
            self.draft(root, Kind::TaskComplete, events, marks)
        };
        result(draft.implied([how]), root).push(events);
    }
}
