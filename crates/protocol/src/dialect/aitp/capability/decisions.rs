//! AITP-02: options offered and options chosen.

use super::shape::{INTEGER, NUMBER, Shape, Ty, closed, may, must, open, unique_ids};
use super::{Answer, Ask, Message, Use};
use crate::diagnostic::Report;
use crate::json::Node;
use crate::validate::span;

/// The messages of AITP-02.
pub(super) const MESSAGES: &[Message] = &[
    Message { key: "request_decision", shape: &REQUEST, used: Use::Ask(Ask { id: "/id" }) },
    Message {
        key: "decision",
        shape: &DECISION,
        used: Use::Answer(Answer { id: "/request_decision_id", to: &["request_decision"] }),
    },
];

/// The kinds of decision; the first is the usual one.
pub(in crate::dialect::aitp) const TYPES: &[&str] =
    &["radio", "checkbox", "confirmation", "products"];

const REQUEST: Shape = open(&[
    must("id", Ty::Text),
    may("title", Ty::Text),
    may("description", Ty::Text),
    may("type", Ty::OneOf(TYPES)),
    must("options", Ty::List(&Ty::Object(&OPTION), 1)),
])
.with(request);

const OPTION: Shape = open(&[
    must("id", Ty::Text),
    may("name", Ty::Text),
    may("short_variant_name", Ty::Text),
    may("image_url", Ty::Uri),
    may("description", Ty::Text),
    may("quote", Ty::Object(&QUOTE)),
    may("reviews_count", INTEGER),
    may("five_star_rating", Ty::Number(0.0, 5.0)),
    may("url", Ty::Uri),
    may("variants", Ty::List(&Ty::Object(&VARIANT), 0)),
])
.with(option);

const VARIANT: Shape = open(&[
    must("id", Ty::Text),
    may("name", Ty::Text),
    may("short_variant_name", Ty::Text),
    may("image_url", Ty::Uri),
    may("description", Ty::Text),
    may("quote", Ty::Object(&QUOTE)),
    may("reviews_count", INTEGER),
    may("five_star_rating", Ty::Number(0.0, 5.0)),
    may("url", Ty::Uri),
])
.with(option);

/// Not the quote of AITP-01, which refuses it; the legacy payments use it too.
pub(super) const QUOTE: Shape = open(&[
    must("type", Ty::OneOf(&["Quote"])),
    must("quote_id", Ty::Text),
    must("payee_id", Ty::Text),
    must("payment_plans", Ty::List(&Ty::Object(&PLAN), 0)),
    must("valid_until", Ty::DateTime),
]);

const PLAN: Shape = open(&[
    must("plan_id", Ty::Text),
    must("plan_type", Ty::OneOf(&["one-time"])),
    must("amount", NUMBER),
    must("currency", Ty::OneOf(&["USD"])),
])
.with(plan);

const DECISION: Shape = open(&[
    may("request_decision_id", Ty::Text),
    must("options", Ty::List(&Ty::Object(&CHOSEN), 1)),
])
.with(decision);

const CHOSEN: Shape =
    closed(&[must("id", Ty::Text), may("name", Ty::Text), may("quantity", NUMBER)]).with(chosen);

fn request(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    unique_ids(&format!("{pointer}/options"), node.get("options"), report);
}

fn option(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    if node.get("quote").is_some_and(|q| q.get("payment_options").is_some()) {
        let message = "this is a quote of AITP-01; options carry the one with `payment_plans`";
        report.error("aitp-other-quote", &format!("{pointer}/quote"), span(node), message);
    }
    if let Some(count) = node.get("reviews_count")
        && count.f64().is_some_and(|n| n < 0.0)
    {
        let message = "there cannot be fewer than 0 reviews";
        report.error("aitp-negative", &format!("{pointer}/reviews_count"), span(count), message);
    }
    unique_ids(&format!("{pointer}/variants"), node.get("variants"), report);
}

fn plan(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    if let Some(amount) = node.get("amount")
        && amount.f64().is_some_and(|n| n < 0.0)
    {
        let message = "an amount to pay cannot be negative";
        report.error("aitp-negative", &format!("{pointer}/amount"), span(amount), message);
    }
}

fn decision(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    unique_ids(&format!("{pointer}/options"), node.get("options"), report);
}

fn chosen(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    if let Some(quantity) = node.get("quantity")
        && quantity.f64().is_some_and(|n| n < 0.0)
    {
        let message = "a quantity cannot be negative";
        report.error("aitp-negative", &format!("{pointer}/quantity"), span(quantity), message);
    }
}
