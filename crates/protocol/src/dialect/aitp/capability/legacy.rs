//! The messages that deployed agents sent before the capabilities had numbers.

use super::decisions::QUOTE;
use super::shape::{NUMBER, Shape, Ty, may, must, open};
use super::{Answer, Ask, Message, Use};

/// Legacy payments.
pub(super) const PAYMENTS: &[Message] = &[
    Message { key: "quote", shape: &QUOTE, used: Use::Ask(Ask { id: "/quote_id" }) },
    Message {
        key: "payment_authorization",
        shape: &AUTHORIZATION,
        used: Use::Answer(Answer { id: "/quote_id", to: &["quote"] }),
    },
    Message { key: "payment_result", shape: &RESULT, used: Use::Notice },
];

/// Legacy operations.
pub(super) const OPERATIONS: &[Message] =
    &[Message { key: "healthcheck", shape: &HEALTHCHECK, used: Use::Notice }];

const AUTHORIZATION: Shape = open(&[
    must("quote_id", Ty::Text),
    must("result", Ty::OneOf(&["success", "failure", "pending"])),
    must("timestamp", Ty::DateTime),
    may("message", Ty::Text),
    must("details", Ty::List(&Ty::Object(&TRANSFER), 0)),
]);

const TRANSFER: Shape = open(&[
    must("network", Ty::OneOf(&["NEAR"])),
    must("token_type", Ty::OneOf(&["USDC"])),
    must("amount", NUMBER),
    must("account_id", Ty::Text),
    must("transaction_id", Ty::Text),
]);

const RESULT: Shape = open(&[
    must("quote_id", Ty::Text),
    must("result", Ty::OneOf(&["success", "failure", "pending"])),
    must("timestamp", Ty::DateTime),
    may("message", Ty::Text),
    must("details", Ty::List(&Ty::Object(&DETAIL), 0)),
]);

const DETAIL: Shape =
    open(&[must("label", Ty::Text), must("value", Ty::TextOrNumber), may("url", Ty::Uri)]);

const HEALTHCHECK: Shape = open(&[must("type", Ty::OneOf(&["simple", "full"]))]);
