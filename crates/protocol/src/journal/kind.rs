//! The event vocabulary: every kind and every field, in one table.
//!
//! The kinds of `looopy-events.md` come first, with the fields the document gives them and the
//! ones Looopy's code added later; then the kinds the other documents need.

use Need::{May, Must};
use Type::{Any, Array, Bool, Integer, Number, Object, OneOf, Text};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each kind is described in SPECS, beside its fields")]
pub enum Kind {
    TaskCreated,
    TaskStatus,
    TaskComplete,
    ContentDelta,
    ContentComplete,
    ToolStart,
    ToolProgress,
    ToolComplete,
    InputRequired,
    InputReceived,
    AuthRequired,
    AuthCompleted,
    FileWrite,
    DataWrite,
    DatasetWrite,
    SubtaskCreated,
    ThoughtStream,
    InternalThoughtProcess,
    InternalLlmCall,
    InternalCheckpoint,
    ToolCall,
    ToolInputRequired,
    LlmUsage,
    Message,
    InternalToolMessage,
    InternalToolStart,
    InternalToolComplete,
    ThreadCreated,
    ThreadUpdated,
    ParticipantJoined,
    ParticipantLeft,
    StepStarted,
    StepFinished,
    PartStarted,
    PartFinished,
    ToolCallStarted,
    ToolCallDelta,
    Source,
    RouteDecided,
    CancelRequested,
    InputExpired,
    AttemptSuperseded,
    Error,
    Redacted,
    System,
    Opaque,
    Other,
}

/// A kind's name, meaning and fields.
#[derive(Debug)]
pub struct Spec {
    /// The kind.
    pub kind: Kind,
    /// Its name on the wire.
    pub name: &'static str,
    /// What it says, in one line.
    pub about: &'static str,
    /// Its own fields, beside [`COMMON`].
    pub fields: &'static [Field],
}

/// A field of a kind.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: Type,
    /// Whether it must be there.
    pub need: Need,
}

/// A field's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Any JSON value.
    Any,
    /// A string.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// A boolean.
    Bool,
    /// An object.
    Object,
    /// An array.
    Array,
    /// One of these strings.
    OneOf(&'static [&'static str]),
}

/// Whether a field must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It must.
    Must,
    /// It may be left out.
    May,
}

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}

/// Fields that any event may carry: the stamp, attribution and free metadata.
pub const COMMON: &[Field] = &[
    f("contextId", Text, Must),
    f("taskId", Text, May),
    f("timestamp", Text, May),
    f("parentTaskId", Text, May),
    f("path", Array, May),
    f("agentId", Text, May),
    f("stepId", Text, May),
    f("metadata", Object, May),
    f("redacted", Object, May),
];

const STATUS: Type = OneOf(&[
    "working",
    "waiting-input",
    "waiting-auth",
    "waiting-subtask",
    "completed",
    "failed",
    "canceled",
]);
const THOUGHT: Type = OneOf(&[
    "planning",
    "reasoning",
    "reflection",
    "decision",
    "observation",
    "strategy",
    "analysis",
    "thinking",
]);
const INPUT: Type =
    OneOf(&["tool-execution", "confirmation", "clarification", "selection", "custom", "data"]);
const AUTH: Type = OneOf(&["oauth2", "api-key", "password", "biometric", "custom", "pat"]);
const FINISH: Type =
    OneOf(&["stop", "length", "tool_calls", "content_filter", "error", "interrupted", "other"]);

macro_rules! specs {
    ($($kind:ident $name:literal $about:literal [$($field:expr),* $(,)?])*) => {
        /// Every kind but [`Kind::Other`], in the order of [`Kind`].
        pub const SPECS: &[Spec] = &[$(
            Spec { kind: Kind::$kind, name: $name, about: $about, fields: &[$($field),*] },
        )*];
    };
}

specs! {
    TaskCreated "task-created" "A task (one agent turn) begins." [
        f("initiator", OneOf(&["user", "agent"]), Must), f("messageId", Text, May),
        f("dispatched", Bool, May), f("timestamp", Text, Must)]
    TaskStatus "task-status" "A task changes state." [
        f("status", STATUS, Must), f("message", Text, May), f("code", Text, May),
        f("timestamp", Text, Must)]
    TaskComplete "task-complete" "A task ends well, with its result." [
        f("content", Text, May), f("artifacts", Array, May), f("finishReason", FINISH, May),
        f("timestamp", Text, Must)]
    ContentDelta "content-delta" "A piece of text to append." [
        f("delta", Text, Must), f("index", Integer, May), f("partId", Text, May),
        f("messageId", Text, May)]
    ContentComplete "content-complete" "A whole text block of an agent." [
        f("content", Text, Must), f("finishReason", FINISH, May), f("toolCalls", Array, May),
        f("partId", Text, May), f("messageId", Text, May)]
    ToolStart "tool-start" "A tool begins to run." [
        f("toolCallId", Text, Must), f("toolName", Text, Must), f("arguments", Any, Must),
        f("icon", Text, May), f("timestamp", Text, Must)]
    ToolProgress "tool-progress" "A tool reports progress." [
        f("toolCallId", Text, Must), f("progress", Number, Must), f("message", Text, May),
        f("icon", Text, May), f("timestamp", Text, Must)]
    ToolComplete "tool-complete" "A tool returned." [
        f("toolCallId", Text, Must), f("toolName", Text, Must), f("success", Bool, Must),
        f("result", Any, May), f("error", Text, May), f("outcome", OneOf(&["success", "failed",
        "denied", "interrupted", "retried", "validation_error"]), May), f("icon", Text, May),
        f("preliminary", Bool, May), f("providerExecuted", Bool, May), f("messageId", Text, May)]
    InputRequired "input-required" "A task needs an answer to go on." [
        f("inputId", Text, Must), f("requireUser", Bool, May), f("inputType", INPUT, Must),
        f("prompt", Text, Must), f("schema", Object, May), f("options", Array, May),
        f("toolCallId", Text, May), f("expiresAt", Text, May), f("timestamp", Text, Must)]
    InputReceived "input-received" "The answer came." [
        f("inputId", Text, Must), f("providedBy", Text, Must), f("userId", Text, May),
        f("value", Any, May), f("timestamp", Text, Must)]
    AuthRequired "auth-required" "A task needs a user's credentials." [
        f("authId", Text, Must), f("authType", AUTH, Must), f("provider", Text, May),
        f("scopes", Array, May), f("prompt", Text, Must), f("authUrl", Text, May),
        f("encryptionKey", Object, May), f("authorizationEndpoint", Text, May),
        f("clientId", Text, May), f("codeChallenge", Text, May),
        f("codeChallengeMethod", Text, May), f("infoUrl", Text, May),
        f("expiresAt", Text, May), f("timestamp", Text, Must)]
    AuthCompleted "auth-completed" "The user authenticated." [
        f("authId", Text, Must), f("userId", Text, Must), f("timestamp", Text, Must)]
    FileWrite "file-write" "A chunk of a file artifact." [
        f("artifactId", Text, Must), f("data", Text, Must), f("index", Integer, Must),
        f("complete", Bool, Must), f("name", Text, May), f("description", Text, May),
        f("mimeType", Text, May), f("encoding", OneOf(&["utf-8", "base64"]), May),
        f("uri", Text, May), f("timestamp", Text, Must)]
    DataWrite "data-write" "A whole data artifact." [
        f("artifactId", Text, Must), f("name", Text, May), f("description", Text, May),
        f("data", Object, Must), f("timestamp", Text, Must)]
    DatasetWrite "dataset-write" "A batch of rows of a dataset artifact." [
        f("artifactId", Text, Must), f("rows", Array, Must), f("index", Integer, Must),
        f("complete", Bool, Must), f("name", Text, May), f("description", Text, May),
        f("schema", Object, May), f("timestamp", Text, Must)]
    SubtaskCreated "subtask-created" "A task called another agent." [
        f("subtaskId", Text, Must), f("prompt", Text, Must), f("toolCallId", Text, May),
        f("timestamp", Text, Must)]
    ThoughtStream "thought-stream" "A thought, or a piece of one." [
        f("thoughtId", Text, Must), f("thoughtType", THOUGHT, Must),
        f("verbosity", OneOf(&["brief", "normal", "detailed"]), Must), f("content", Text, Must),
        f("index", Integer, May), f("signature", Text, May), f("providerName", Text, May)]
    InternalThoughtProcess "internal:thought-process" "Reasoning for operators only." [
        f("iteration", Integer, Must), f("stage", OneOf(&["pre-llm", "post-llm", "pre-tool",
        "post-tool"]), Must), f("reasoning", Text, Must), f("state", Object, Must),
        f("timestamp", Text, Must)]
    InternalLlmCall "internal:llm-call" "A model call begins." [
        f("iteration", Integer, Must), f("model", Text, May), f("messageCount", Integer, Must),
        f("toolCount", Integer, Must), f("timestamp", Text, Must)]
    InternalCheckpoint "internal:checkpoint" "State was saved." [
        f("iteration", Integer, Must), f("timestamp", Text, Must)]
    ToolCall "tool-call" "A model asked for a tool." [
        f("toolCallId", Text, Must), f("toolName", Text, Must), f("arguments", Any, Must),
        f("providerExecuted", Bool, May), f("providerName", Text, May),
        f("messageId", Text, May)]
    ToolInputRequired "tool-input-required" "A tool needs an answer (Looopy's code form)." [
        f("toolCallId", Text, May), f("inputId", Text, Must), f("inputType", INPUT, Must),
        f("prompt", Text, Must), f("schema", Object, May), f("options", Array, May),
        f("expiresAt", Text, May)]
    LlmUsage "llm-usage" "Tokens a model call used." [
        f("model", Text, May), f("prompt_tokens", Integer, May),
        f("completion_tokens", Integer, May), f("total_tokens", Integer, May),
        f("completion_tokens_details", Object, May), f("prompt_tokens_details", Object, May),
        f("cost", Number, May)]
    Message "message" "A whole message with its author and parts." [
        f("messageId", Text, May), f("role", OneOf(&["user", "agent", "system", "tool"]), Must),
        f("author", Text, May), f("content", Any, Must), f("contentType", Text, May),
        f("attachments", Array, May), f("intent", Text, May), f("task", Text, May),
        f("inputs", Object, May), f("outputs", Object, May), f("confidence", Object, May),
        f("trace", Any, May), f("answers", Text, May), f("finishReason", FINISH, May),
        f("usage", Object, May)]
    InternalToolMessage "internal:tool-message" "A tool's message to the model." [
        f("message", Any, May)]
    InternalToolStart "internal:tool-start" "A tool begins, for operators only." [
        f("toolCallId", Text, May), f("toolName", Text, May), f("arguments", Any, May)]
    InternalToolComplete "internal:tool-complete" "A tool returned, for operators only." [
        f("toolCallId", Text, May), f("toolName", Text, May), f("success", Bool, May),
        f("result", Any, May), f("error", Text, May)]
    ThreadCreated "thread-created" "The thread begins." [
        f("title", Text, May), f("parentThreadId", Text, May), f("createdAt", Text, May),
        f("updatedAt", Text, May)]
    ThreadUpdated "thread-updated" "The thread's title or metadata changed." [
        f("title", Text, May), f("updatedAt", Text, May)]
    ParticipantJoined "participant-joined" "Someone takes part from here on." [
        f("participantId", Text, Must), f("role", OneOf(&["user", "agent", "tool", "service"]),
        May), f("name", Text, May), f("identifier", Text, May), f("model", Text, May),
        f("version", Text, May), f("invitedBy", Text, May), f("configRef", Text, May),
        f("createdAt", Text, May), f("capabilities", Array, May), f("clientId", Text, May)]
    ParticipantLeft "participant-left" "Someone no longer takes part." [
        f("participantId", Text, Must)]
    StepStarted "step-started" "One model call begins." [
        f("model", Text, May)]
    StepFinished "step-finished" "One model call ended." [
        f("finishReason", FINISH, May), f("usage", Object, May), f("model", Text, May),
        f("providerName", Text, May)]
    PartStarted "part-started" "A streamed part opens." [
        f("partId", Text, Must), f("partType", OneOf(&["text", "reasoning"]), Must),
        f("messageId", Text, May), f("role", Text, May)]
    PartFinished "part-finished" "A streamed part closes." [
        f("partId", Text, Must), f("partType", OneOf(&["text", "reasoning"]), Must),
        f("messageId", Text, May), f("signature", Text, May), f("providerName", Text, May)]
    ToolCallStarted "tool-call-started" "A model begins to write a tool call." [
        f("toolCallId", Text, Must), f("toolName", Text, Must), f("messageId", Text, May),
        f("providerExecuted", Bool, May)]
    ToolCallDelta "tool-call-delta" "A piece of a tool call's arguments." [
        f("toolCallId", Text, Must), f("delta", Text, Must)]
    Source "source" "A source the answer rests on, or a file it shows." [
        f("sourceId", Text, May), f("url", Text, May), f("title", Text, May),
        f("mediaType", Text, May), f("filename", Text, May),
        f("sourceType", OneOf(&["url", "document", "file", "reasoning-file"]), May)]
    RouteDecided "route-decided" "The router decided who takes an envelope or one of its next actions." [
        f("messageId", Text, May), f("action", Integer, May), f("to", Text, May),
        f("reason", Text, May), f("code", Text, May), f("stage", OneOf(&["asks", "answers",
        "proposes"]), May), f("arrived", Text, May), f("intent", Text, May), f("task", Text, May),
        f("rule", Text, May),
        f("mode", OneOf(&["parent", "mux-v1"]), May), f("model", Text, May),
        f("score", Number, May), f("threshold", Number, May), f("hop", Integer, May),
        f("visited", Array, May), f("made", Integer, May), f("parents", Array, May)]
    CancelRequested "cancel-requested" "Someone asked to stop a task or a tool call." [
        f("toolCallId", Text, May), f("reason", Text, May), f("requestedBy", Text, May)]
    InputExpired "input-expired" "Nobody answered in time: a question or request for credentials is closed." [
        f("inputId", Text, May), f("authId", Text, May)]
    AttemptSuperseded "attempt-superseded" "What this step streamed so far is void." [
        f("reason", Text, May)]
    Error "error" "Something failed, told apart from a task's state." [
        f("code", Text, May), f("message", Text, Must), f("retryable", Bool, May)]
    Redacted "redacted" "The content of events was taken out, on someone's word: a receipt." [
        f("events", Array, Must), f("by", Text, Must), f("reason", Text, May),
        f("timestamp", Text, Must)]
    System "system" "An application's own event: a `system.*` action, `data-*` part or custom event." [
        f("name", Text, Must), f("data", Any, Must), f("systemId", Text, May)]
    Opaque "opaque" "A record that means nothing outside its dialect." []
}

impl Kind {
    /// The kind's name on the wire; `other` for [`Kind::Other`].
    pub fn name(self) -> &'static str {
        spec(self).map_or("other", |s| s.name)
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Self {
        SPECS.iter().find(|s| s.name == name).map_or(Self::Other, |s| s.kind)
    }

    /// The kind of an event whose text begins with it, without reading the rest.
    pub fn leading(event: &[u8]) -> Option<Self> {
        Self::leading_name(event).map(Self::named)
    }

    /// The name of an event's kind, where it comes first and is spelled without escapes.
    pub fn leading_name(event: &[u8]) -> Option<&str> {
        let rest = event.strip_prefix(b"{\"kind\":\"")?;
        let end = rest.iter().position(|byte| *byte == b'"' || *byte == b'\\')?;
        let name = rest.get(..end).filter(|_| rest.get(end) == Some(&b'"'))?;
        std::str::from_utf8(name).ok()
    }

    /// Whether something may follow from it for whoever works on tasks: one began or ended, or a
    /// question was closed.
    pub fn concerns_tasks(self) -> bool {
        matches!(
            self,
            Self::TaskCreated
                | Self::TaskStatus
                | Self::TaskComplete
                | Self::InputReceived
                | Self::InputExpired
                | Self::AuthCompleted
        )
    }

    /// Whether it is a piece of something that comes in many.
    pub fn is_piece(self) -> bool {
        matches!(self, Self::ContentDelta | Self::ThoughtStream | Self::ToolCallDelta)
    }

    /// Whether a model call makes it.
    pub fn is_model_output(self) -> bool {
        matches!(
            self,
            Self::Message
                | Self::ContentDelta
                | Self::ContentComplete
                | Self::ThoughtStream
                | Self::ToolCall
        )
    }

    /// Whether only operators may see it.
    pub fn is_internal(self) -> bool {
        self.name().starts_with("internal:")
    }
}

/// The kind's entry in the table.
pub fn spec(kind: Kind) -> Option<&'static Spec> {
    SPECS.get(kind as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_enum_agree() {
        for (i, spec) in SPECS.iter().enumerate() {
            assert_eq!(spec.kind as usize, i);
            assert_eq!(Kind::named(spec.name), spec.kind);
        }
        assert_eq!(SPECS.len(), Kind::Other as usize);
        assert_eq!(Kind::named("nonsense"), Kind::Other);
        assert_eq!(Kind::leading(br#"{"kind":"message","role":1}"#), Some(Kind::Message));
        for odd in [r#"{"role":1,"kind":"message"}"#, r#"{"kind":"mess"#, ""] {
            assert_eq!(Kind::leading(odd.as_bytes()), None);
        }
    }
}
