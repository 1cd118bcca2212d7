//! AITP-03: forms and what was filled in.

use super::shape::{Shape, Ty, may, must, open, unique_ids};
use super::{Answer, Ask, Message, Use};
use crate::diagnostic::Report;
use crate::json::Node;
use crate::validate::span;

/// The messages of AITP-03.
pub(super) const MESSAGES: &[Message] = &[
    Message { key: "request_data", shape: &REQUEST, used: Use::Ask(Ask { id: "/id" }) },
    Message {
        key: "data",
        shape: &DATA,
        used: Use::Answer(Answer { id: "/request_data_id", to: &["request_data"] }),
    },
];

const REQUEST: Shape = open(&[
    must("id", Ty::Text),
    may("title", Ty::Text),
    must("description", Ty::Text),
    may("fillButtonLabel", Ty::Text),
    must("form", Ty::Object(&FORM)),
]);

const FORM: Shape =
    open(&[may("fields", Ty::List(&Ty::Object(&FIELD), 1)), may("json_url", Ty::Uri)]).with(form);

const FIELD: Shape = open(&[
    must("id", Ty::Text),
    may("label", Ty::Text),
    may("description", Ty::Text),
    may("default_value", Ty::Text),
    may("type", Ty::OneOf(&["text", "number", "email", "textarea", "select", "combobox", "tel"])),
    may("options", Ty::List(&Ty::Text, 0)),
    may("required", Ty::Bool),
    may("autocomplete", Ty::Text),
])
.with(field);

const DATA: Shape =
    open(&[may("request_data_id", Ty::Text), must("fields", Ty::List(&Ty::Object(&VALUE), 1))])
        .with(data);

const VALUE: Shape = open(&[must("id", Ty::Text), may("label", Ty::Text), may("value", Ty::Text)]);

fn form(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    if node.get("fields").is_none() && node.get("json_url").is_none() {
        let message = "a form needs `fields` or a `json_url`";
        report.error("aitp-empty-form", pointer, span(node), message);
    }
    unique_ids(&format!("{pointer}/fields"), node.get("fields"), report);
}

fn field(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    let choice = node.get("type").is_some_and(|t| t.is("select") || t.is("combobox"));
    let options = node.get("options").filter(|o| o.is_array());
    if choice && options.is_none_or(|o| o.children().next().is_none()) {
        let message = "a choice without options cannot be made";
        report.error("aitp-no-options", pointer, span(node), message);
    }
}

fn data(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    unique_ids(&format!("{pointer}/fields"), node.get("fields"), report);
}
