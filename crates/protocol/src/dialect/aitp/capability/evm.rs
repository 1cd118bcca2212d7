//! AITP-05: EVM addresses, transactions and signatures.

use super::near::{answer, ask};
use super::shape::{INTEGER, Shape, Ty, closed, is_hex, may, must};
use super::{Message, Use};
use crate::diagnostic::Report;
use crate::json::Node;
use crate::validate::span;

/// The messages of AITP-05.
pub(super) const MESSAGES: &[Message] = &[
    ask("request_address", &REQUEST_ADDRESS),
    answer("address_response", &ADDRESS_RESPONSE, &["request_address"]),
    ask("request_transaction", &REQUEST_TRANSACTION),
    answer("transaction_response", &TRANSACTION_RESPONSE, &["request_transaction"]),
    ask("request_message_signing", &REQUEST_SIGNING),
    answer("message_signing_response", &SIGNING_RESPONSE, &["request_message_signing"]),
    Message { key: "chain_notification", shape: &CHAIN, used: Use::Notice },
    Message { key: "token_notification", shape: &TOKEN, used: Use::Notice },
];

const ADDRESS: Ty = Ty::Form(|s| is_hex(s, Some(40)), "0x and 40 hexadecimal digits");
const HASH: Ty = Ty::Form(|s| is_hex(s, Some(64)), "0x and 64 hexadecimal digits");
const BYTES: Ty = Ty::Form(|s| is_hex(s, None), "0x and hexadecimal digits");
const QUANTITY: Ty =
    Ty::Form(|s| s.len() > 2 && is_hex(s, None), "0x and at least one hexadecimal digit");

const REQUEST_ADDRESS: Shape =
    closed(&[must("request_id", Ty::Text), may("description", Ty::Text), may("chain_id", INTEGER)])
        .with(chain_id);

const ADDRESS_RESPONSE: Shape =
    closed(&[must("request_id", Ty::Text), must("addresses", Ty::List(&ADDRESS, 0))]);

const REQUEST_TRANSACTION: Shape = closed(&[
    must("request_id", Ty::Text),
    may("description", Ty::Text),
    may("chain_id", INTEGER),
    must("transaction", Ty::Object(&TRANSACTION)),
])
.with(chain_id);

const TRANSACTION: Shape = closed(&[
    must("to", ADDRESS),
    may("from", ADDRESS),
    may("data", BYTES),
    may("value", QUANTITY),
    may("gas", QUANTITY),
    may("gasPrice", QUANTITY),
    may("maxFeePerGas", QUANTITY),
    may("maxPriorityFeePerGas", QUANTITY),
    may("nonce", QUANTITY),
    may("accessList", Ty::List(&Ty::Object(&ACCESS), 0)),
]);

const ACCESS: Shape = closed(&[must("address", ADDRESS), must("storageKeys", Ty::List(&HASH, 0))]);

const TRANSACTION_RESPONSE: Shape =
    closed(&[must("request_id", Ty::Text), must("transaction_hash", HASH)]);

const REQUEST_SIGNING: Shape = closed(&[
    must("request_id", Ty::Text),
    may("description", Ty::Text),
    may("address", ADDRESS),
    must("signing_type", Ty::OneOf(&["personal_sign", "typed_data"])),
    may("message", Ty::Text),
    may("typed_data", Ty::Object(&TYPED)),
])
.with(signing);

const TYPED: Shape = closed(&[
    must("types", Ty::Map(&Ty::List(&Ty::Object(&MEMBER), 0))),
    must("primaryType", Ty::Text),
    must("domain", Ty::Free),
    must("message", Ty::Free),
]);

const MEMBER: Shape = closed(&[must("name", Ty::Text), must("type", Ty::Text)]);

const SIGNING_RESPONSE: Shape =
    closed(&[must("request_id", Ty::Text), must("address", ADDRESS), must("signature", QUANTITY)]);

const CHAIN: Shape = closed(&[
    must("notification_id", Ty::Text),
    must("chain_id", INTEGER),
    may("name", Ty::Text),
    may("rpc_url", Ty::Uri),
    may("native_currency", Ty::Object(&CURRENCY)),
])
.with(chain_id);

const CURRENCY: Shape =
    closed(&[must("name", Ty::Text), must("symbol", Ty::Text), must("decimals", INTEGER)])
        .with(decimals);

const TOKEN: Shape = closed(&[
    must("notification_id", Ty::Text),
    must("chain_id", INTEGER),
    must("token_type", Ty::OneOf(&["erc20"])),
    must("token_contract", ADDRESS),
    must("name", Ty::Text),
    must("symbol", Ty::Text),
    must("decimals", INTEGER),
    may("icon_url", Ty::Uri),
])
.with(token);

/// What is signed must be there: the text, or the typed data.
fn signing(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    let Some(kind) = node.get("signing_type") else { return };
    for (name, field) in [("personal_sign", "message"), ("typed_data", "typed_data")] {
        if kind.is(name) && node.get(field).is_none() {
            let message = format!("`{field}` is missing: `{name}` needs it");
            report.error("missing-field", pointer, span(node), message);
        }
    }
}

fn chain_id(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    not_below(pointer, node, "chain_id", 1.0, report);
}

fn decimals(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    not_below(pointer, node, "decimals", 0.0, report);
}

fn token(pointer: &str, node: Node<'_, '_>, report: &mut Report) {
    chain_id(pointer, node, report);
    decimals(pointer, node, report);
}

fn not_below(pointer: &str, node: Node<'_, '_>, name: &str, least: f64, report: &mut Report) {
    if let Some(value) = node.get(name)
        && value.f64().is_some_and(|n| n < least)
    {
        let message = format!("`{name}` cannot be below {least}");
        report.error("aitp-negative", &format!("{pointer}/{name}"), span(value), message);
    }
}
