//! What can go wrong between a client and its server.

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server could not be reached, or the connection broke.
    #[error("cannot reach {url}: {cause}")]
    Connection {
        /// What was asked for.
        url: String,
        /// Why.
        cause: reqwest::Error,
    },
    /// The server said no.
    #[error("{message}")]
    Refused {
        /// The status of the answer.
        status: u16,
        /// A stable name for what went wrong; empty if the answer was not the server's own.
        code: String,
        /// The same for people.
        message: String,
        /// JSON pointer into what was sent.
        pointer: Option<String>,
        /// More for programs, such as the event that answered first; null if there is none.
        details: serde_json::Value,
    },
    /// The answer is not what the server should give.
    #[error("unexpected answer: {0}")]
    Answer(String),
}

impl Error {
    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connection { .. } => true,
            Self::Refused { status, .. } => matches!(status, 429 | 502 | 503 | 504),
            Self::Answer(_) => false,
        }
    }
}
