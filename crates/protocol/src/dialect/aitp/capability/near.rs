//! AITP-04: NEAR accounts, transactions and signatures.

use super::shape::{Shape, Ty, closed, may, must};
use super::{Answer, Ask, Message, Use};

/// The messages of AITP-04.
pub(super) const MESSAGES: &[Message] = &[
    ask("request_account", &REQUEST_ACCOUNT),
    answer("account_response", &ACCOUNT_RESPONSE, &["request_account"]),
    ask("request_transaction", &REQUEST_TRANSACTION),
    answer("transaction_response", &TRANSACTION_RESPONSE, &["request_transaction"]),
    ask("request_message_signing", &REQUEST_SIGNING),
    answer("message_signing_response", &SIGNING_RESPONSE, &["request_message_signing"]),
    Message { key: "token_notification", shape: &TOKEN, used: Use::Notice },
];

/// A request that its `request_id` names.
pub(super) const fn ask(key: &'static str, shape: &'static Shape) -> Message {
    Message { key, shape, used: Use::Ask(Ask { id: "/request_id" }) }
}

/// A response that repeats the request's `request_id`.
pub(super) const fn answer(
    key: &'static str,
    shape: &'static Shape,
    to: &'static [&'static str],
) -> Message {
    Message { key, shape, used: Use::Answer(Answer { id: "/request_id", to }) }
}

const REQUEST_ACCOUNT: Shape =
    closed(&[must("request_id", Ty::Text), may("description", Ty::Text)]);

const ACCOUNT_RESPONSE: Shape =
    closed(&[must("request_id", Ty::Text), must("accounts", Ty::List(&Ty::Text, 0))]);

const REQUEST_TRANSACTION: Shape = closed(&[
    must("request_id", Ty::Text),
    may("description", Ty::Text),
    must("transaction", Ty::Object(&TRANSACTION)),
]);

const TRANSACTION: Shape =
    closed(&[must("receiver_id", Ty::Text), must("actions", Ty::List(&Ty::Object(&ACTION), 0))]);

const ACTION: Shape = closed(&[
    must(
        "type",
        Ty::OneOf(&[
            "CreateAccount",
            "DeployContract",
            "FunctionCall",
            "Transfer",
            "Stake",
            "AddKey",
            "DeleteKey",
            "DeleteAccount",
        ]),
    ),
    must("params", Ty::Free),
]);

const TRANSACTION_RESPONSE: Shape =
    closed(&[must("request_id", Ty::Text), must("transaction_hash", Ty::Text)]);

const REQUEST_SIGNING: Shape = closed(&[
    must("request_id", Ty::Text),
    may("description", Ty::Text),
    must("message", Ty::Object(&TO_SIGN)),
    may("state", Ty::Text),
]);

const TO_SIGN: Shape =
    closed(&[must("nonce", Ty::Text), must("recipient", Ty::Text), must("message", Ty::Text)]);

const SIGNING_RESPONSE: Shape = closed(&[
    must("request_id", Ty::Text),
    must("account_id", Ty::Text),
    must("public_key", Ty::Text),
    must("signature", Ty::Text),
]);

const TOKEN: Shape = closed(&[
    must("notification_id", Ty::Text),
    must("token_type", Ty::OneOf(&["nep141"])),
    must("token_contract", Ty::Text),
]);
