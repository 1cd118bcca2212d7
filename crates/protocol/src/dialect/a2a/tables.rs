//! The fields of A2A's objects, in both versions.

use super::model::Version;
use crate::journal::kind::{Field, Need, Type};
use Need::{May, Must};
use Type::{Any, Array, Bool, Integer, Object, OneOf, Text};

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}

const STATES_1: Type = OneOf(&[
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
]);
const STATES_03: Type = OneOf(&[
    "submitted",
    "working",
    "input-required",
    "completed",
    "canceled",
    "failed",
    "rejected",
    "auth-required",
    "unknown",
]);
const ROLES_1: Type = OneOf(&["ROLE_USER", "ROLE_AGENT"]);
const ROLES_03: Type = OneOf(&["user", "agent"]);

/// Something A2A has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thing {
    Task,
    Status,
    Message,
    StatusUpdate,
    ArtifactUpdate,
    Artifact,
    Card,
}

/// The fields of a thing.
pub(super) fn fields_of(thing: Thing, version: Version) -> &'static [Field] {
    match (thing, version) {
        (Thing::Task, Version::V1) => TASK_1,
        (Thing::Task, Version::V03) => TASK_03,
        (Thing::Status, Version::V1) => STATUS_1,
        (Thing::Status, Version::V03) => STATUS_03,
        (Thing::Message, Version::V1) => MESSAGE_1,
        (Thing::Message, Version::V03) => MESSAGE_03,
        (Thing::StatusUpdate, Version::V1) => STATUS_UPDATE_1,
        (Thing::StatusUpdate, Version::V03) => STATUS_UPDATE_03,
        (Thing::ArtifactUpdate, _) => ARTIFACT_UPDATE,
        (Thing::Artifact, _) => ARTIFACT,
        (Thing::Card, Version::V1) => CARD_1,
        (Thing::Card, Version::V03) => CARD_03,
    }
}

const TASK_1: &[Field] = &[
    f("id", Text, Must),
    f("contextId", Text, May),
    f("status", Object, Must),
    f("artifacts", Array, May),
    f("history", Array, May),
    f("metadata", Object, May),
];
const TASK_03: &[Field] = &[
    f("id", Text, Must),
    f("contextId", Text, Must),
    f("kind", OneOf(&["task"]), Must),
    f("status", Object, Must),
    f("artifacts", Array, May),
    f("history", Array, May),
    f("metadata", Object, May),
];
const STATUS_1: &[Field] =
    &[f("state", STATES_1, Must), f("message", Object, May), f("timestamp", Text, May)];
const STATUS_03: &[Field] =
    &[f("state", STATES_03, Must), f("message", Object, May), f("timestamp", Text, May)];
const MESSAGE_1: &[Field] = &[
    f("messageId", Text, Must),
    f("contextId", Text, May),
    f("taskId", Text, May),
    f("role", ROLES_1, Must),
    f("metadata", Object, May),
    f("extensions", Array, May),
    f("referenceTaskIds", Array, May),
];
const MESSAGE_03: &[Field] = &[
    f("messageId", Text, Must),
    f("kind", OneOf(&["message"]), Must),
    f("contextId", Text, May),
    f("taskId", Text, May),
    f("role", ROLES_03, Must),
    f("metadata", Object, May),
    f("extensions", Array, May),
    f("referenceTaskIds", Array, May),
];
const STATUS_UPDATE_1: &[Field] = &[
    f("taskId", Text, Must),
    f("contextId", Text, Must),
    f("status", Object, Must),
    f("metadata", Object, May),
];
const STATUS_UPDATE_03: &[Field] = &[
    f("taskId", Text, Must),
    f("contextId", Text, Must),
    f("status", Object, Must),
    f("final", Bool, Must),
    f("metadata", Object, May),
];
const ARTIFACT_UPDATE: &[Field] = &[
    f("taskId", Text, Must),
    f("contextId", Text, Must),
    f("artifact", Object, Must),
    f("append", Bool, May),
    f("lastChunk", Bool, May),
    f("metadata", Object, May),
];
const ARTIFACT: &[Field] = &[
    f("artifactId", Text, Must),
    f("name", Text, May),
    f("description", Text, May),
    f("parts", Array, Must),
    f("metadata", Object, May),
    f("extensions", Array, May),
];
const CARD_1: &[Field] = &[
    f("name", Text, Must),
    f("description", Text, Must),
    f("version", Text, Must),
    f("supportedInterfaces", Array, Must),
    f("capabilities", Object, Must),
    f("defaultInputModes", Array, Must),
    f("defaultOutputModes", Array, Must),
    f("skills", Array, Must),
];
const CARD_03: &[Field] = &[
    f("name", Text, Must),
    f("description", Text, Must),
    f("version", Text, Must),
    f("url", Text, Must),
    f("capabilities", Object, Must),
    f("defaultInputModes", Array, Must),
    f("defaultOutputModes", Array, Must),
    f("skills", Array, Must),
];

/// An error answer, of either transport.
pub(super) const ERROR: &[Field] =
    &[f("code", Integer, Must), f("message", Text, Must), f("status", Text, May)];

/// A JSON-RPC request.
pub(super) const REQUEST: &[Field] =
    &[f("jsonrpc", OneOf(&["2.0"]), Must), f("method", Text, Must), f("params", Object, May)];

/// A JSON-RPC response.
pub(super) const RESPONSE: &[Field] = &[f("jsonrpc", OneOf(&["2.0"]), Must), f("id", Any, Must)];
