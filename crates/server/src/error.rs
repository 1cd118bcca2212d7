//! What went wrong, as every native answer tells it: one code, one message, one place.

use std::ops::RangeInclusive;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use selvedge_protocol::json::quote;
use selvedge_store::{AppendError, Instead, KeyError, ReadError, RedactError, TendError};

/// A stable name for what went wrong. Each has a line in `docs/errors.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in docs/errors.md")]
pub enum ErrorCode {
    AlreadyAnswered,
    AlreadyClaimed,
    AlreadyOver,
    BadCredential,
    BadCursor,
    BadEnvelope,
    BadEvent,
    BadJson,
    BadParameter,
    BatchTooLarge,
    BodyTooLarge,
    Busy,
    Conflict,
    EventTooLarge,
    Expired,
    Folded,
    Forbidden,
    HopLimit,
    Internal,
    KeyReused,
    LeaseLost,
    MethodNotAllowed,
    MissingParameter,
    NoAgents,
    NoRule,
    NotFound,
    RateLimited,
    Storage,
    TaskLimit,
    ThreadExists,
    Timeout,
    TooManyConnections,
    TooManyEvents,
    Unauthorized,
    UnknownDialect,
    UnknownIntent,
    UserRequired,
    VersionConflict,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: &'static [Self] = &[
        Self::AlreadyAnswered,
        Self::AlreadyClaimed,
        Self::AlreadyOver,
        Self::BadCredential,
        Self::BadCursor,
        Self::BadEnvelope,
        Self::BadEvent,
        Self::BadJson,
        Self::BadParameter,
        Self::BatchTooLarge,
        Self::BodyTooLarge,
        Self::Busy,
        Self::Conflict,
        Self::EventTooLarge,
        Self::Expired,
        Self::Folded,
        Self::Forbidden,
        Self::HopLimit,
        Self::Internal,
        Self::KeyReused,
        Self::LeaseLost,
        Self::MethodNotAllowed,
        Self::MissingParameter,
        Self::NoAgents,
        Self::NoRule,
        Self::NotFound,
        Self::RateLimited,
        Self::Storage,
        Self::TaskLimit,
        Self::ThreadExists,
        Self::Timeout,
        Self::TooManyConnections,
        Self::TooManyEvents,
        Self::Unauthorized,
        Self::UnknownDialect,
        Self::UnknownIntent,
        Self::UserRequired,
        Self::VersionConflict,
    ];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::AlreadyAnswered => "already_answered",
            Self::AlreadyClaimed => "already_claimed",
            Self::AlreadyOver => "already_over",
            Self::BadCredential => "bad_credential",
            Self::BadCursor => "bad_cursor",
            Self::BadEnvelope => "bad_envelope",
            Self::BadEvent => "bad_event",
            Self::BadJson => "bad_json",
            Self::BadParameter => "bad_parameter",
            Self::BatchTooLarge => "batch_too_large",
            Self::BodyTooLarge => "body_too_large",
            Self::Busy => "busy",
            Self::Conflict => "conflict",
            Self::EventTooLarge => "event_too_large",
            Self::Expired => "expired",
            Self::Folded => "folded",
            Self::Forbidden => "forbidden",
            Self::HopLimit => "hop_limit",
            Self::Internal => "internal",
            Self::KeyReused => "key_reused",
            Self::LeaseLost => "lease_lost",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::MissingParameter => "missing_required_parameter",
            Self::NoAgents => "no_agents",
            Self::NoRule => "no_rule",
            Self::NotFound => "not_found",
            Self::RateLimited => "rate_limited",
            Self::Storage => "storage",
            Self::TaskLimit => "task_limit",
            Self::ThreadExists => "thread_exists",
            Self::Timeout => "timeout",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyEvents => "too_many_events",
            Self::Unauthorized => "unauthorized",
            Self::UnknownDialect => "unknown_dialect",
            Self::UnknownIntent => "unknown_intent",
            Self::UserRequired => "user_required",
            Self::VersionConflict => "version_conflict",
        }
    }

    /// The status that goes with it.
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadCredential
            | Self::BadCursor
            | Self::BadJson
            | Self::BadParameter
            | Self::MissingParameter
            | Self::UnknownDialect => StatusCode::BAD_REQUEST,
            Self::BadEnvelope
            | Self::BadEvent
            | Self::HopLimit
            | Self::KeyReused
            | Self::NoRule
            | Self::TaskLimit
            | Self::UnknownIntent => StatusCode::UNPROCESSABLE_ENTITY,
            Self::BatchTooLarge
            | Self::BodyTooLarge
            | Self::EventTooLarge
            | Self::TooManyEvents => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Busy | Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::AlreadyAnswered
            | Self::AlreadyClaimed
            | Self::AlreadyOver
            | Self::Conflict
            | Self::LeaseLost
            | Self::NoAgents
            | Self::ThreadExists
            | Self::VersionConflict => StatusCode::CONFLICT,
            Self::Expired | Self::Folded => StatusCode::GONE,
            Self::Forbidden | Self::UserRequired => StatusCode::FORBIDDEN,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Storage | Self::TooManyConnections => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::REQUEST_TIMEOUT,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Busy
                | Self::RateLimited
                | Self::Storage
                | Self::Timeout
                | Self::TooManyConnections
        )
    }
}

/// An answer that says no.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What went wrong.
    pub code: ErrorCode,
    /// The same for people.
    pub message: String,
    /// JSON pointer into the request's body.
    pub pointer: Option<String>,
    /// More for programs, as a JSON object.
    pub details: Option<String>,
}

impl Error {
    /// An error with a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), pointer: None, details: None }
    }

    /// At a place in the body.
    #[must_use]
    pub fn at(self, pointer: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), ..self }
    }

    /// With its pointer, if it has one, taken from further out.
    #[must_use]
    pub(crate) fn within(self, outer: &str) -> Self {
        let pointer = self.pointer.map(|inner| format!("{outer}{inner}"));
        Self { pointer: Some(pointer.unwrap_or_else(|| outer.to_owned())), ..self }
    }

    /// With more for programs, as a JSON object.
    #[must_use]
    pub fn with(self, details: String) -> Self {
        Self { details: Some(details), ..self }
    }

    /// A thread that is not there, or not for this caller.
    pub fn no_thread(id: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("thread `{id}` not found"))
    }

    /// A place in the middle of entries that are one now.
    pub(crate) fn folded(entries: &RangeInclusive<u64>) -> Self {
        let (from, to) = (entries.start(), entries.end());
        let message = format!(
            "entries {from} to {to} were folded into one: ask for {} or {to}",
            from.saturating_sub(1)
        );
        let details = format!("{{\"from\":{from},\"to\":{to}}}");
        Self::new(ErrorCode::Folded, message).with(details)
    }

    /// What is so instead of what an act needs.
    pub(crate) fn instead(instead: &Instead) -> Self {
        let code = match instead {
            Instead::Unknown => ErrorCode::NotFound,
            Instead::Answered { .. } => ErrorCode::AlreadyAnswered,
            Instead::Expired => ErrorCode::Expired,
            Instead::Over { .. } | Instead::Ended { .. } => ErrorCode::AlreadyOver,
            Instead::Version { .. } | Instead::Unsealed { .. } | Instead::OtherKind { .. } => {
                ErrorCode::VersionConflict
            }
            Instead::Changed => ErrorCode::Busy,
            Instead::Unleased | Instead::Released | Instead::Lost { .. } | Instead::Elsewhere => {
                ErrorCode::LeaseLost
            }
        };
        let error = Self::new(code, instead.to_string());
        match instead {
            Instead::Answered { seq } | Instead::Ended { seq } => {
                error.with(format!("{{\"seq\":{seq}}}"))
            }
            Instead::Over { state } => error.with(format!("{{\"state\":\"{}\"}}", state.name())),
            Instead::Version { version } => error.with(format!("{{\"version\":{version}}}")),
            Instead::Unsealed { version } => {
                error.with(format!("{{\"version\":{version},\"complete\":false}}"))
            }
            Instead::OtherKind { kind } => error.with(format!("{{\"kind\":\"{}\"}}", kind.name())),
            Instead::Lost { attempt } => error.with(format!("{{\"attempt\":{attempt}}}")),
            Instead::Unknown
            | Instead::Expired
            | Instead::Changed
            | Instead::Unleased
            | Instead::Released
            | Instead::Elsewhere => error,
        }
    }

    /// The answer's body.
    pub fn body(&self) -> String {
        let mut out = format!(
            "{{\"error\":{{\"code\":\"{}\",\"message\":{}",
            self.code.name(),
            quote(&self.message)
        );
        if let Some(pointer) = &self.pointer {
            out.push_str(",\"pointer\":");
            out.push_str(&quote(pointer));
        }
        if let Some(details) = &self.details {
            out.push_str(",\"details\":");
            out.push_str(details);
        }
        out.push_str("}}");
        out
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let mut response = (self.code.status(), json, self.body()).into_response();
        if self.code.is_retryable() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.code == ErrorCode::Unauthorized {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        // For the log, and for surfaces that tell it in their own words.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<AppendError> for Error {
    fn from(error: AppendError) -> Self {
        let message = error.to_string();
        match error {
            AppendError::NotFound => Self::new(ErrorCode::NotFound, message),
            AppendError::Exists | AppendError::OtherShard => {
                Self::new(ErrorCode::ThreadExists, message)
            }
            AppendError::Conflict { head, .. } => {
                Self::new(ErrorCode::Conflict, message).with(format!("{{\"head\":{head}}}"))
            }
            AppendError::Instead(instead) => Self::instead(&instead),
            AppendError::OtherJournal => Self::new(ErrorCode::Conflict, message),
            AppendError::KeyReused => Self::new(ErrorCode::KeyReused, message),
            AppendError::BadBranch { .. } => Self::new(ErrorCode::BadParameter, message).at("/at"),
            AppendError::Folded { from, to } => Self::folded(&(from..=to)).at("/at"),
            AppendError::BadId { .. } => Self::new(ErrorCode::BadParameter, message).at("/id"),
            AppendError::BadKey { .. } => Self::new(ErrorCode::BadParameter, message),
            AppendError::NoEvents => Self::new(ErrorCode::BadEvent, message).at(""),
            AppendError::TooManyEvents { .. } => Self::new(ErrorCode::TooManyEvents, message),
            AppendError::EventTooLarge { index, .. } => {
                Self::new(ErrorCode::EventTooLarge, message).at(format!("/{index}"))
            }
            AppendError::BatchTooLarge { .. } => Self::new(ErrorCode::BatchTooLarge, message),
            AppendError::Busy | AppendError::Behind => Self::new(ErrorCode::Busy, message),
            AppendError::Closed | AppendError::Storage(_) => Self::new(ErrorCode::Storage, message),
        }
    }
}

impl From<TendError> for Error {
    fn from(error: TendError) -> Self {
        let code = match &error {
            TendError::NotFound => ErrorCode::NotFound,
            TendError::Busy | TendError::Behind => ErrorCode::Busy,
            TendError::Closed | TendError::Storage(_) => ErrorCode::Storage,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RedactError> for Error {
    fn from(error: RedactError) -> Self {
        let message = error.to_string();
        match error {
            RedactError::NoEvent { .. } => Self::new(ErrorCode::NotFound, message),
            RedactError::Folded { from, to, .. } => Self::folded(&(from..=to)),
            RedactError::Receipt { .. } => Self::new(ErrorCode::Conflict, message),
            RedactError::Count { .. } => Self::new(ErrorCode::BadParameter, message),
            RedactError::Append(error) => error.into(),
            RedactError::Tend(error) => error.into(),
        }
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Self::new(ErrorCode::Storage, error.to_string())
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        let code = match &error {
            ReadError::BadPlace(_) => ErrorCode::BadParameter,
            ReadError::Storage(_) | ReadError::Shard(_) => ErrorCode::Storage,
        };
        Self::new(code, error.to_string())
    }
}
