//! Whole messages of users and systems.

use super::super::decode::{Msg, Reader};
use super::{parts, plain};
use crate::dialect::draft::Draft;
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

impl Reader {
    /// A whole message of a user or a system.
    pub(in super::super) fn foreign<'a>(
        &mut self,
        node: Node<'_, 'a>,
        content: Option<Node<'_, 'a>>,
        msg: &Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let role = match msg.role.as_str() {
            "user" => "\"user\"",
            "tool" => "\"tool\"",
            _ => "\"system\"",
        };
        let event = self.event(Kind::Message).with("role", Raw::Ref(role));
        let ev = events.len();
        let items: Vec<Node<'_, 'a>> =
            content.map(|c| c.children().filter(|i| i.is_object()).collect()).unwrap_or_default();
        let (data, said): (Vec<_>, Vec<_>) = items
            .iter()
            .enumerate()
            .partition(|(_, i)| i.get("type").is_some_and(|t| t.is("data")));
        if content.is_some_and(|c| c.is_array()) && said.is_empty() {
            // Nothing but data: an application's own event, or a data artifact.
            if let Some(list) = content {
                marks.list(list);
            }
            for (index, item) in data {
                self.foreign_data(*item, index as i64, msg, marks, events);
            }
            return;
        }
        let draft = Draft::new(event, events, marks);
        let draft = match node.some("id") {
            Some(id) => draft.bind("messageId", Some(id)),
            None => draft,
        };
        let draft = match content {
            Some(list) if list.is_array() => {
                let mut draft = draft;
                let marks = draft.marks();
                marks.list(list);
                match said.as_slice() {
                    [(_, only)] if only.get("type").is_some_and(|t| t.is("text")) => {
                        plain(**only, marks);
                        draft.bind("content", only.get("text"))
                    }
                    _ => {
                        let value = parts(&said, ev, marks);
                        draft.with("content", value)
                    }
                }
            }
            other => draft.bind("content", other),
        };
        draft.push(events);
        for (index, item) in data {
            self.foreign_data(*item, index as i64, msg, marks, events);
        }
    }

    pub(super) fn foreign_data<'a>(
        &mut self,
        item: Node<'_, 'a>,
        index: i64,
        msg: &Msg,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(data) = item.some("data").filter(|d| d.is_object()) else { return };
        plain(item, marks);
        let own = msg.role == "system"
            && data.members().count() == 2
            && data.get("name").is_some_and(|n| n.is_string())
            && data.get("data").is_some();
        if own {
            marks.open(data);
            Draft::new(self.event(Kind::System), events, marks)
                .bind("name", data.get("name"))
                .bind("data", data.get("data"))
                .push(events);
        } else {
            let event = self.event(Kind::DataWrite).with("artifactId", msg.part_id(index));
            Draft::new(event, events, marks).bind("data", Some(data)).push(events);
        }
    }
}
