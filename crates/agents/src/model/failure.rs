//! Why there is no answer: what providers say, made one of few kinds.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::key::Key;

/// Why there is no answer, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What the provider says, without secrets.
    pub message: String,
    /// When it may be tried again, where the provider tells.
    pub retry_after: Option<Duration>,
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The provider has too much to do, or we ask too often.
    Busy,
    /// It could not be reached, or the stream broke off.
    Connection,
    /// It failed by itself.
    Provider,
    /// The key is missing or not valid.
    Unauthorized,
    /// The conversation is longer than the model takes.
    TooLong,
    /// It does not take the request.
    Refused,
    /// The agent does not take the task.
    Rejected,
}

impl FailureKind {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Busy | Self::Connection | Self::Provider)
    }

    /// A stable name, for `code` in the journal.
    pub fn code(self) -> &'static str {
        match self {
            Self::Busy => "model_busy",
            Self::Connection => "model_connection",
            Self::Provider => "model_error",
            Self::Unauthorized => "model_unauthorized",
            Self::TooLong => "context_too_long",
            Self::Refused => "model_refused",
            Self::Rejected => REJECTED,
        }
    }
}

/// The code of a task that its agent does not take.
pub(crate) const REJECTED: &str = "rejected";
/// Characters of a message that are kept.
const LONGEST_MESSAGE: usize = 600;
/// The longest wait that is believed.
const LONGEST_WAIT: f64 = 24.0 * 3600.0;

/// Told with the status of a rate limit, but no wait will help.
const SPENT: &[&str] = &["insufficient_quota", "billing_error", "billing_hard_limit_reached"];

/// What words of providers mean, the first that fits.
const WORDS: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::TooLong,
        &["context_length_exceeded", "request_too_large", "model_context_window_exceeded"],
    ),
    (
        FailureKind::Unauthorized,
        &[
            "authentication_error",
            "permission_error",
            "invalid_api_key",
            "API_KEY_INVALID",
            "UNAUTHENTICATED",
            "PERMISSION_DENIED",
        ],
    ),
    (
        FailureKind::Busy,
        &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "overloaded_error",
            "server_overloaded",
            "engine_overloaded",
            "slow_down",
            "insufficient_system_resource",
            "RESOURCE_EXHAUSTED",
            "UNAVAILABLE",
        ],
    ),
    (
        FailureKind::Provider,
        &["api_error", "server_error", "timeout_error", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED"],
    ),
    (
        FailureKind::Refused,
        &[
            "invalid_request_error",
            "not_found_error",
            "model_not_found",
            "invalid_prompt",
            "INVALID_ARGUMENT",
            "FAILED_PRECONDITION",
            "NOT_FOUND",
        ],
    ),
];

/// How messages say that a conversation is too long, where no word does.
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "maximum context length",
    "exceeds the context length",
    "exceeds the context window",
    "exceed context limit",
    "exceeds the maximum number of tokens",
    "exceeds the available context size",
];

impl Failure {
    /// A failure that nobody gave a time for.
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// The stream says something that it must not.
    pub(crate) fn nonsense(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Provider, message)
    }

    /// A provider that could not be reached, or that broke off.
    pub(crate) fn connection(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut message = error.to_string();
        // The first cause only says that something failed.
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        Self::new(FailureKind::Connection, clipped(&message))
    }

    /// What an answer other than a stream says.
    pub(crate) fn answered(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let body_text = String::from_utf8_lossy(body);
        let mut failure = match serde_json::from_slice::<Value>(body) {
            Ok(Value::Array(items)) if !items.is_empty() => Self::told(&items[0], Some(status)),
            Ok(value) => Self::told(&value, Some(status)),
            Err(_) => {
                let said = body_text.trim();
                let said = if said.starts_with('<') { "" } else { said };
                let kind = kind(Some(status), &[], said);
                Self::new(kind, clipped(said))
            }
        };
        failure.message = match failure.message.as_str() {
            "" => format!("status {status}"),
            said => format!("status {status}: {said}"),
        };
        failure.retry_after = wait(headers).or(failure.retry_after);
        failure
    }

    /// What an error says that a provider wrote as JSON, be it an answer or an event of a stream.
    pub(super) fn told(value: &Value, status: Option<u16>) -> Self {
        let error = match value.get("error") {
            Some(error) if !error.is_null() => error,
            _ => value,
        };
        let text = |key: &str| error.get(key).and_then(Value::as_str);
        let message = error
            .as_str()
            .or_else(|| text("message"))
            .or_else(|| value.get("message").and_then(Value::as_str))
            .or_else(|| value.get("detail").and_then(Value::as_str))
            .unwrap_or_default();
        let details = error.get("details").and_then(Value::as_array);
        let details = details.map(Vec::as_slice).unwrap_or_default();
        let mut words: Vec<&str> =
            ["code", "type", "status"].into_iter().filter_map(text).collect();
        words.extend(details.iter().filter_map(|detail| detail.get("reason")?.as_str()));
        let number = error.get("code").and_then(Value::as_u64).and_then(|n| u16::try_from(n).ok());
        let status = status.filter(|status| *status >= 400).or(number);
        let mut failure = Self::new(kind(status, &words, message), clipped(message));
        failure.retry_after = details
            .iter()
            .find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'))
            .and_then(|text| seconds(text, 1.0));
        failure
    }

    /// The same without the key, should the provider repeat it.
    pub(super) fn without(mut self, key: Option<&Key>) -> Self {
        if let Some(key) = key {
            self.message = key.struck_from(&self.message);
        }
        self
    }
}

fn kind(status: Option<u16>, words: &[&str], message: &str) -> FailureKind {
    let said = message.to_ascii_lowercase();
    if status != Some(429) && TOO_LONG.iter().any(|sign| said.contains(sign)) {
        return FailureKind::TooLong;
    }
    if words.iter().any(|word| SPENT.contains(word)) {
        return FailureKind::Refused;
    }
    let known = WORDS.iter().find(|(_, known)| words.iter().any(|word| known.contains(word)));
    match (known.map(|(kind, _)| *kind), status) {
        (Some(kind @ (FailureKind::TooLong | FailureKind::Unauthorized)), _) => kind,
        (_, Some(401 | 403)) => FailureKind::Unauthorized,
        (_, Some(413)) => FailureKind::TooLong,
        (_, Some(429 | 503 | 529)) => FailureKind::Busy,
        (Some(kind), _) => kind,
        (None, Some(408 | 409 | 425 | 500..)) => FailureKind::Provider,
        (None, Some(_)) => FailureKind::Refused,
        // An error of an unknown kind amid a stream: the request itself was taken.
        (None, None) => FailureKind::Provider,
    }
}

/// When headers say that it may be tried again.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let exact = header("retry-after-ms").and_then(|text| seconds(text, 1000.0));
    exact.or_else(|| header("retry-after").and_then(|text| seconds(text, 1.0)))
}

fn seconds(text: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    let number = number / per_second;
    (0.0..=LONGEST_WAIT).contains(&number).then(|| Duration::from_secs_f64(number))
}

fn clipped(message: &str) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((at, _)) => format!("{}…", message.get(..at).unwrap_or_default()),
        None => message.to_owned(),
    }
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
