//! AITP-01: quotes, payments and payment channels.

use super::shape::{Shape, Ty, closed, may, must};
use super::{Answer, Ask, Message, Use};
use crate::diagnostic::Report;
use crate::json::Node;
use crate::validate::span;

/// The messages of AITP-01.
pub(super) const MESSAGES: &[Message] = &[
    Message { key: "quote", shape: &QUOTE, used: Use::Ask(Ask { id: "/quote_id" }) },
    Message {
        key: "wrapped_quote",
        shape: &WRAPPED,
        used: Use::Ask(Ask { id: "/original_quote/quote_id" }),
    },
    Message {
        key: "payment",
        shape: &PAYMENT,
        used: Use::Answer(Answer { id: "/quote_id", to: &["quote", "wrapped_quote"] }),
    },
    Message { key: "payment_confirmation", shape: &CONFIRMATION, used: Use::Notice },
    Message { key: "top_up_request", shape: &TOP_UP, used: Use::Ask(Ask { id: "/channel_id" }) },
    Message {
        key: "top_up_response",
        shape: &TOPPED_UP,
        used: Use::Answer(Answer { id: "/channel_id", to: &["top_up_request"] }),
    },
];

const AMOUNT: Ty = Ty::Form(is_amount, "an amount such as 12.50");
const ROLE: Ty = Ty::OneOf(&["personal_assistant", "discovery", "service", "other"]);
const CHANNEL: Ty = Ty::OneOf(&["near_payment_channel"]);

const QUOTE: Shape = closed(&[
    must("quote_id", Ty::Text),
    must("merchant_id", Ty::Text),
    must("description", Ty::Text),
    may("expiration", Ty::DateTime),
    may("next_recipient", Ty::Text),
    must("payment_options", Ty::List(&Ty::Object(&OPTION), 0)),
    may("revenue_share", Ty::Object(&SHARE)),
    must("merchant_signature", Ty::Text),
])
.with(quote);

const OPTION: Shape = closed(&[
    may("amount", AMOUNT),
    must("currency", Ty::Text),
    must("payment_methods", Ty::List(&Ty::Object(&METHOD), 0)),
]);

const METHOD: Shape =
    closed(&[must("type", CHANNEL), must("token", Ty::Text), must("recipient", Ty::Text)]);

const SHARE: Shape = closed(&[
    must("affiliate_share_bps", super::shape::INTEGER),
    may("affiliates", Ty::List(&Ty::Object(&AFFILIATE), 0)),
])
.with(share);

const AFFILIATE: Shape =
    closed(&[must("id", Ty::Text), must("role", ROLE), may("weight", Ty::Integer(1.0))]);

const WRAPPED: Shape = closed(&[
    must("original_quote", Ty::Object(&QUOTE)),
    must("wrappers", Ty::List(&Ty::Object(&WRAPPER), 0)),
]);

const WRAPPER: Shape = closed(&[
    must("affiliate_id", Ty::Text),
    must("role", ROLE),
    may("added_affiliates", Ty::List(&Ty::Object(&AFFILIATE), 0)),
    must("next_recipient", Ty::Text),
    must("timestamp", Ty::DateTime),
    must("signature", Ty::Text),
]);

const PAYMENT: Shape = closed(&[
    must("quote_id", Ty::Text),
    must("payment_method", Ty::Object(&PAID_BY)),
    must("payer_id", Ty::Text),
    must("timestamp", Ty::DateTime),
    must("payer_signature", Ty::Text),
]);

const PAID_BY: Shape = closed(&[
    must("type", CHANNEL),
    must("token", Ty::Text),
    must("channel_id", Ty::Text),
    may("amount", AMOUNT),
    must("currency", Ty::Text),
]);

const CONFIRMATION: Shape = closed(&[
    must("quote_id", Ty::Text),
    must("payment_id", Ty::Text),
    must("result", Ty::OneOf(&["success", "failure", "pending"])),
    must("timestamp", Ty::DateTime),
    may("message", Ty::Text),
    may("details", Ty::List(&Ty::Object(&DETAIL), 0)),
    must("merchant_signature", Ty::Text),
]);

const DETAIL: Shape =
    closed(&[must("label", Ty::Text), must("value", Ty::TextOrNumber), may("url", Ty::Uri)]);

const TOP_UP: Shape = closed(&[
    must("channel_id", Ty::Text),
    may("amount", AMOUNT),
    must("currency", Ty::Text),
    may("reason", Ty::Text),
    must("merchant_id", Ty::Text),
    must("timestamp", Ty::DateTime),
    must("merchant_signature", Ty::Text),
]);

const TOPPED_UP: Shape = closed(&[
    must("channel_id", Ty::Text),
    must("amount", AMOUNT),
    must("currency", Ty::Text),
    may("new_balance", AMOUNT),
    must("payer_id", Ty::Text),
    must("timestamp", Ty::DateTime),
    must("payer_signature", Ty::Text),
]);

/// `^\d+(\.\d+)?$`
fn is_amount(text: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part),
        None => digits(text),
    }
}

fn quote(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    if node.get("payment_plans").is_some() {
        let message = "this is the quote of AITP-02 options, not one of AITP-01";
        report.error("aitp-other-quote", pointer, span(node), message);
    }
    let options = node.get("payment_options").filter(|o| o.is_array());
    let Some(options) = options else { return };
    let pointer = format!("{pointer}/payment_options");
    if options.children().next().is_none() {
        let message = "a quote without options cannot be paid";
        report.error("aitp-no-options", &pointer, span(options), message);
    }
    for (i, option) in options.children().enumerate() {
        if let Some(methods) = option.get("payment_methods").filter(|m| m.is_array())
            && methods.children().next().is_none()
        {
            let pointer = format!("{pointer}/{i}/payment_methods");
            let message = "an option without methods cannot be paid";
            report.warning("aitp-no-options", &pointer, span(methods), message);
        }
    }
}

fn share(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    if let Some(share) = node.get("affiliate_share_bps")
        && share.f64().is_some_and(|bps| !(0.0..=10_000.0).contains(&bps))
    {
        let pointer = format!("{pointer}/affiliate_share_bps");
        let message = "basis points go from 0 to 10000";
        report.error("aitp-share", &pointer, span(share), message);
    }
}
