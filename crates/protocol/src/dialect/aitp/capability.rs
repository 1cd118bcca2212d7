//! Capability messages: which capability a message belongs to, what it asks or answers, and
//! whether it is well formed.
//!
//! The tables follow the capability schemas 1.0.0, one file each. Codes that begin with `aitp-`
//! are rules that the schemas do not state.

mod data;
mod decisions;
mod evm;
mod legacy;
mod near;
mod payments;
mod shape;

use std::borrow::Cow;

use crate::diagnostic::{Diagnostic, Report, Severity};
use crate::json::{Doc, INNER_DEPTH, Node};
use crate::validate::{brief, span};
use shape::{Extra, Shape};

pub(super) use decisions::TYPES as DECISION_TYPES;

/// Where the capability schemas live.
const HOST: &str = "aitp.dev/";

/// A capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Capability {
    Payments,
    Decisions,
    DataRequest,
    NearWallet,
    EvmWallet,
    LegacyPayments,
    LegacyOperations,
}

/// How a capability was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Current,
    /// A version that the documentation cites but never was.
    OldVersion,
    /// A URL from before the capabilities had numbers.
    Legacy,
}

/// One message of a capability.
#[derive(Debug)]
pub(super) struct Message {
    /// The key beside `$schema`.
    pub(super) key: &'static str,
    shape: &'static Shape,
    /// What it is for.
    pub(super) used: Use,
}

/// What a message is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use {
    Ask(Ask),
    Answer(Answer),
    Notice,
}

/// A question: where its id is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    pub(super) id: &'static str,
}

/// An answer: where the question's id is, and which questions it answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) id: &'static str,
    pub(super) to: &'static [&'static str],
}

impl Capability {
    /// The capability that a schema URL names.
    pub(super) fn of(url: &str) -> Option<(Self, Spelling)> {
        let path = url.split_once("://").map_or(url, |(_, rest)| rest).strip_prefix(HOST)?;
        if let Some(path) = path.strip_prefix("capabilities/") {
            let (name, version) = path.split_once('/')?;
            let capability = match name.get(..7)? {
                "aitp-01" => Self::Payments,
                "aitp-02" => Self::Decisions,
                "aitp-03" => Self::DataRequest,
                "aitp-04" => Self::NearWallet,
                "aitp-05" => Self::EvmWallet,
                _ => return None,
            };
            return if version.starts_with("v1.") {
                Some((capability, Spelling::Current))
            } else if version.starts_with("v0.") {
                Some((capability, Spelling::OldVersion))
            } else {
                None
            };
        }
        let capability = match path {
            "v1/requests.schema.json" | "v1/decision/schema.json" | "v1/decisions/schema.json" => {
                Self::Decisions
            }
            "v1/data.schema.json" | "v1/data/schema.json" => Self::DataRequest,
            "v1/payments.schema.json" | "v1/payments/schema.json" => Self::LegacyPayments,
            "v1/operations.schema.json" => Self::LegacyOperations,
            _ => return None,
        };
        Some((capability, Spelling::Legacy))
    }

    /// The URL of the capability's schema, in its current version.
    pub(super) fn url(self) -> &'static str {
        match self {
            Self::Payments => "https://aitp.dev/capabilities/aitp-01-payments/v1.0.0/schema.json",
            Self::Decisions => "https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json",
            Self::DataRequest => {
                "https://aitp.dev/capabilities/aitp-03-data-request/v1.0.0/schema.json"
            }
            Self::NearWallet => {
                "https://aitp.dev/capabilities/aitp-04-near-wallet/v1.0.0/schema.json"
            }
            Self::EvmWallet => {
                "https://aitp.dev/capabilities/aitp-05-evm-wallet/v1.0.0/schema.json"
            }
            Self::LegacyPayments => "https://aitp.dev/v1/payments.schema.json",
            Self::LegacyOperations => "https://aitp.dev/v1/operations.schema.json",
        }
    }

    /// Its messages.
    pub(super) fn messages(self) -> &'static [Message] {
        match self {
            Self::Payments => payments::MESSAGES,
            Self::Decisions => decisions::MESSAGES,
            Self::DataRequest => data::MESSAGES,
            Self::NearWallet => near::MESSAGES,
            Self::EvmWallet => evm::MESSAGES,
            Self::LegacyPayments => legacy::PAYMENTS,
            Self::LegacyOperations => legacy::OPERATIONS,
        }
    }

    /// Whether only the person may answer, never an agent for them: money and signatures.
    pub(super) fn needs_user(self) -> bool {
        matches!(self, Self::Payments | Self::NearWallet | Self::EvmWallet | Self::LegacyPayments)
    }

    /// Whether its messages may have other keys beside the one they are named for.
    fn extra(self) -> Extra {
        match self {
            Self::Payments | Self::NearWallet | Self::EvmWallet => Extra::Refused,
            _ => Extra::Allowed,
        }
    }
}

/// A text that is a capability message: the whole of it an object whose `$schema` is AITP's.
pub(super) fn is_message(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('{')
        && text.ends_with('}')
        && text.contains(HOST)
        && Doc::parse_within(text, INNER_DEPTH).is_ok_and(|doc| schema(doc.root()).is_some())
}

/// The `$schema` of a capability message, known or not.
pub(super) fn schema<'a>(root: Node<'_, 'a>) -> Option<Cow<'a, str>> {
    let url = root.get("$schema")?.str()?;
    let path = url.split_once("://").map_or(&*url, |(_, rest)| rest);
    path.starts_with(HOST).then_some(url)
}

/// The capability, message and payload of a capability message.
pub(super) fn read<'d, 'a>(
    root: Node<'d, 'a>,
) -> Option<(Capability, &'static Message, Node<'d, 'a>)> {
    let (capability, _) = Capability::of(&schema(root)?)?;
    capability.messages().iter().find_map(|m| root.get(m.key).map(|body| (capability, m, body)))
}

/// Whether an object without `$schema` looks like a capability message nevertheless.
pub(super) fn looks_like(root: Node<'_, '_>) -> bool {
    root.is_object() && guess(root).is_some()
}

fn guess(root: Node<'_, '_>) -> Option<Capability> {
    use Capability::{DataRequest, Decisions, EvmWallet, LegacyPayments, NearWallet, Payments};
    [Payments, Decisions, DataRequest, NearWallet, EvmWallet, LegacyPayments]
        .into_iter()
        .find(|c| c.messages().iter().any(|m| root.get(m.key).is_some_and(|b| b.is_object())))
}

/// Checks a capability message by itself.
pub(super) fn check(root: Node<'_, '_>, report: &mut Report) {
    let named = root.get("$schema");
    let capability = match named {
        None => {
            report.error("missing-field", "", span(root), "`$schema` is missing");
            guess(root)
        }
        Some(url) => match url.str() {
            None => {
                let message = format!("expected a string, found `{}`", brief(url.raw()));
                report.error("wrong-type", "/$schema", span(url), message);
                guess(root)
            }
            Some(text) => match Capability::of(&text) {
                None => {
                    let message = format!("`{}` is no capability known here", brief(&text));
                    report.error("unknown-capability", "/$schema", span(url), message);
                    None
                }
                Some((capability, spelling)) => {
                    let message = match spelling {
                        Spelling::Current => None,
                        Spelling::OldVersion => Some("this version never was: use v1.0.0"),
                        Spelling::Legacy => Some("a legacy URL: use the capability's v1.0.0"),
                    };
                    if let Some(message) = message {
                        report.warning("aitp-old-schema", "/$schema", span(url), message);
                    }
                    Some(capability)
                }
            },
        },
    };
    if let Some(capability) = capability {
        body(capability, root, report);
    }
}

fn body(capability: Capability, root: Node<'_, '_>, report: &mut Report) {
    let messages = capability.messages();
    let present: Vec<&Message> = messages.iter().filter(|m| root.get(m.key).is_some()).collect();
    let keys = || messages.iter().map(|m| m.key).collect::<Vec<_>>().join(", ");
    if present.is_empty() {
        let message = format!("no message beside `$schema`: expected one of {}", keys());
        report.error("missing-field", "", span(root), message);
    }
    if capability.extra() == Extra::Refused {
        if present.len() > 1 {
            report.error("two-messages", "", span(root), "two messages in one");
        }
        for (key, value) in root.members() {
            let name = key.str().unwrap_or_default();
            if name != "$schema" && !messages.iter().any(|m| m.key == name) {
                let message = format!("`{}` is not a field here", brief(&name));
                report.error("unknown-field", &shape::at("", &name), span(value), message);
            }
        }
    } else if present.len() > 1 {
        report.error("aitp-two-messages", "", span(root), "two messages in one");
    }
    // Of several messages in one, the schema wants only one to be right.
    let one_will_do = present.len() > 1 && capability.extra() == Extra::Allowed;
    let mut reports = Vec::new();
    for message in present {
        let Some(body) = root.get(message.key) else { continue };
        let pointer = shape::at("", message.key);
        if one_will_do {
            let mut own = Report::new();
            message.shape.check(&pointer, body, &mut own);
            reports.push(own);
        } else {
            message.shape.check(&pointer, body, report);
        }
    }
    let structural = |d: &Diagnostic| d.severity == Severity::Error && !d.code.starts_with("aitp-");
    let right = reports.iter().any(|r| !r.diagnostics().iter().any(structural));
    for found in reports.iter().flat_map(Report::diagnostics) {
        if !(right && structural(found)) {
            pass_on(found, &found.pointer, report);
        }
    }
}

/// Adds a finding to another report, at another place.
pub(super) fn pass_on(found: &Diagnostic, pointer: &str, report: &mut Report) {
    let (span, message) = (found.span.clone(), found.message.as_str());
    match found.severity {
        Severity::Error => report.error(found.code, pointer, span, message),
        Severity::Warning => report.warning(found.code, pointer, span, message),
    }
}
