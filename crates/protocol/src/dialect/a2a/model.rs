//! The words of both versions: states, roles, and the extension that carries our own events.

use crate::json::{Node, Raw};

/// The extension under which events that A2A has no place for travel in the metadata of status
/// updates: `{"<uri>": {"kind": "tool-start", …}}`, one event of the journal's vocabulary each.
/// Written only when asked for (a version that ends in `+events`), read always.
pub const EVENTS_EXTENSION: &str = "https://selvedge.dev/a2a/events/v1";

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Submitted,
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Canceled,
    Rejected,
}

/// States with their names in 1.0 and 0.3.
const STATES: &[(State, &str, &str)] = &[
    (State::Submitted, "TASK_STATE_SUBMITTED", "submitted"),
    (State::Working, "TASK_STATE_WORKING", "working"),
    (State::InputRequired, "TASK_STATE_INPUT_REQUIRED", "input-required"),
    (State::AuthRequired, "TASK_STATE_AUTH_REQUIRED", "auth-required"),
    (State::Completed, "TASK_STATE_COMPLETED", "completed"),
    (State::Failed, "TASK_STATE_FAILED", "failed"),
    (State::Canceled, "TASK_STATE_CANCELED", "canceled"),
    (State::Rejected, "TASK_STATE_REJECTED", "rejected"),
];

impl State {
    /// The state of that name, in either version or in the spelling of the 0.3 draft.
    pub(super) fn read(node: Node<'_, '_>) -> Option<Self> {
        let name = node.str()?;
        if name == "TASK_STATE_CANCELLED" {
            return Some(Self::Canceled);
        }
        STATES.iter().find(|s| s.1 == name || s.2 == name).map(|s| s.0)
    }

    /// Its name.
    pub(super) fn name(self, version: Version) -> &'static str {
        let row = STATES.iter().find(|s| s.0 == self);
        row.map_or("", |s| if version == Version::V1 { s.1 } else { s.2 })
    }

    /// Whether nothing may follow it.
    pub(super) fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task waits for the user.
    pub(super) fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// Which A2A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V03,
}

/// Whether a message is the user's.
pub(super) fn is_user(message: Node<'_, '_>) -> bool {
    message.get("role").is_some_and(|r| r.is("user") || r.is("ROLE_USER"))
}

/// A member that is a non-empty string; ListTasks writes empty ones for what is not there.
pub(super) fn filled<'d, 'a>(object: Node<'d, 'a>, key: &str) -> Option<Node<'d, 'a>> {
    object.get(key).filter(|n| n.is_string() && !n.body().is_empty())
}

/// What a question without further data is taken for.
pub(super) fn usual_input(schema: bool, options: bool) -> Raw<'static> {
    Raw::Ref(match (schema, options) {
        (_, true) => "\"selection\"",
        (true, false) => "\"data\"",
        (false, false) => "\"clarification\"",
    })
}

/// Fields of `input-required` that stand in a data part beside the question.
pub(super) const INPUT_FIELDS: &[&str] =
    &["inputType", "schema", "options", "toolCallId", "requireUser"];

/// Fields of `auth-required` that stand in a data part beside the question.
pub(super) const AUTH_FIELDS: &[&str] = &[
    "authType",
    "provider",
    "scopes",
    "authUrl",
    "encryptionKey",
    "authorizationEndpoint",
    "clientId",
    "codeChallenge",
    "codeChallengeMethod",
    "infoUrl",
];

/// Fields of `input-received` that stand in a data part of the user's message.
pub(super) const ANSWER_FIELDS: &[&str] = &["inputId", "providedBy", "userId", "value"];
