//! Text and reasoning.

use super::{Reader, metadata};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

impl Reader {
    pub(super) fn part_started<'a>(
        &mut self,
        root: Node<'_, 'a>,
        reasoning: bool,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let name = root.some("name").filter(|n| n.is_string());
        if let Some(name) = name {
            self.join(name.into(), Some(name.into()), events);
        }
        let id = root.get("messageId");
        if let Some(id) = id {
            self.seen.insert(id.raw().to_owned());
        }
        let kind = if reasoning { "\"reasoning\"" } else { "\"text\"" };
        let assistant = root.get("role").filter(|r| r.is("assistant") || r.is("reasoning"));
        let role = root.some("role").filter(|_| assistant.is_none() && !reasoning);
        let draft = self
            .draft(root, Kind::PartStarted, events, marks)
            .bind("partId", id)
            .with("partType", Raw::Ref(kind))
            .with_some("messageId", id)
            .bind("role", role)
            .implied([assistant]);
        let draft = match name {
            Some(name) => draft.bind("agentId", Some(name)),
            None if role.is_some() => draft,
            None => draft.with("agentId", self.agent_of(root)),
        };
        metadata(draft, root).push(events);
    }

    pub(super) fn text<'a>(
        &mut self,
        root: Node<'_, 'a>,
        kind: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        if self.foreign_text(root, kind, marks, events) {
            return;
        }
        match kind {
            "TEXT_MESSAGE_START" => self.part_started(root, false, marks, events),
            "TEXT_MESSAGE_CONTENT" => {
                self.draft(root, Kind::ContentDelta, events, marks)
                    .bind("delta", root.get("delta"))
                    .bind("partId", root.get("messageId"))
                    .push(events);
            }
            _ => self.part_finished(root, "\"text\"", marks, events),
        }
    }

    /// Text of a user or a system: a message once it is complete. Says whether it was that.
    fn foreign_text<'a>(
        &mut self,
        root: Node<'_, 'a>,
        kind: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) -> bool {
        let Some(id) = root.get("messageId") else { return false };
        if kind == "TEXT_MESSAGE_START" {
            let role = root.some("role").and_then(|r| r.str()).unwrap_or_default();
            if !matches!(role.as_ref(), "user" | "system" | "developer") {
                return false;
            }
            self.seen.insert(id.raw().to_owned());
            self.foreign.insert(id.raw().to_owned(), (role.into_owned(), String::new()));
            return true;
        }
        if kind == "TEXT_MESSAGE_CONTENT" {
            let Some((_, text)) = self.foreign.get_mut(id.raw()) else { return false };
            text.push_str(root.get("delta").filter(|d| d.is_string()).map_or("", Node::body));
            return true;
        }
        let Some((role, text)) = self.foreign.remove(id.raw()) else { return false };
        let role = if role == "user" { "\"user\"" } else { "\"system\"" };
        self.draft(root, Kind::Message, events, marks)
            .with("role", Raw::Ref(role))
            .bind("messageId", Some(id))
            .with("content", Raw::owned(format!("\"{text}\"")))
            .push(events);
        true
    }

    pub(super) fn part_finished<'a>(
        &mut self,
        root: Node<'_, 'a>,
        kind: &'static str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let draft = self
            .draft(root, Kind::PartFinished, events, marks)
            .bind("partId", root.get("messageId"))
            .with("partType", Raw::Ref(kind));
        metadata(draft, root).push(events);
    }

    pub(super) fn thought<'a>(
        &self,
        root: Node<'_, 'a>,
        id: Option<Node<'_, 'a>>,
        events: &[Event<'a>],
        marks: &mut Marks,
    ) -> Event<'a> {
        let mut out = Vec::new();
        self.draft(root, Kind::ThoughtStream, events, marks)
            .bind("thoughtId", id)
            .with("thoughtType", Raw::Ref("\"thinking\""))
            .with("verbosity", Raw::Ref("\"normal\""))
            .bind("content", root.get("delta"))
            .push(&mut out);
        out.pop().unwrap_or_else(|| Event::new(Kind::Opaque))
    }

    pub(super) fn reasoning<'a>(
        &mut self,
        root: Node<'_, 'a>,
        kind: &str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(id) =
            root.get(if kind == "REASONING_ENCRYPTED_VALUE" { "entityId" } else { "messageId" })
        else {
            return;
        };
        let own = self.spans.contains(id.raw());
        match kind {
            "REASONING_START" => {
                self.spans.insert(id.raw().to_owned());
                self.part_started(root, true, marks, events);
            }
            "REASONING_END" => {
                self.spans.remove(id.raw());
                self.part_finished(root, "\"reasoning\"", marks, events);
            }
            "REASONING_MESSAGE_START" if !own => self.part_started(root, true, marks, events),
            "REASONING_MESSAGE_END" if !own => {
                self.part_finished(root, "\"reasoning\"", marks, events);
            }
            "REASONING_MESSAGE_CONTENT" => {
                let event = self.thought(root, Some(id), events, marks);
                events.push(event);
            }
            "REASONING_ENCRYPTED_VALUE" => self.encrypted(root, id, own, marks, events),
            _ => {
                // The span says it already.
                for node in ["type", "messageId", "role"].into_iter().filter_map(|k| root.get(k)) {
                    marks.implied(node);
                }
            }
        }
    }

    pub(super) fn encrypted<'a>(
        &mut self,
        root: Node<'_, 'a>,
        id: Node<'_, 'a>,
        thought: bool,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let value = root.get("encryptedValue");
        if thought {
            self.draft(root, Kind::ThoughtStream, events, marks)
                .bind("thoughtId", Some(id))
                .with("thoughtType", Raw::Ref("\"thinking\""))
                .with("verbosity", Raw::Ref("\"normal\""))
                .with("content", Raw::Ref("\"\""))
                .bind("signature", value)
                .implied([root.get("subtype")])
                .push(events);
            return;
        }
        let mut draft = self
            .draft(root, Kind::System, events, marks)
            .with("name", Raw::Ref("\"encrypted_value\""));
        let mut data = String::new();
        let ev = draft.number();
        for key in ["subtype", "entityId", "encryptedValue"] {
            if let Some(node) = root.get(key) {
                draft.marks().bind_at(node, ev, "data", &format!("/{key}"));
                data.push(if data.is_empty() { '{' } else { ',' });
                data.push_str(&format!("\"{key}\":{}", node.raw()));
            }
        }
        data.push('}');
        draft.with("data", Raw::owned(data)).push(events);
    }
}
