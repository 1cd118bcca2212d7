//! What can go wrong between a client and its server.

use std::error::Error as _;
use std::io;

type Cause = dyn std::error::Error + 'static;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server could not be reached, or the connection broke.
    #[error("cannot reach {url}: {}", root(cause))]
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
    /// What should be certificates is none.
    #[error("not the certificates of authorities: {0}")]
    Authorities(String),
}

impl Error {
    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connection { .. } => !self.is_untrusted(),
            Self::Refused { status, .. } => matches!(status, 429 | 502 | 503 | 504),
            Self::Answer(_) | Self::Authorities(_) => false,
        }
    }

    /// Whether the server's certificate was not accepted.
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Connection { cause, .. } if causes(cause).any(is_certificate))
    }
}

/// Why, under all the layers that only pass it on.
fn root(error: &reqwest::Error) -> String {
    let innermost = causes(error).last();
    innermost.map_or_else(|| error.to_string(), ToString::to_string)
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &Cause> {
    std::iter::successors(error.source(), |error| inner(*error))
}

/// An I/O error hides what it was made from.
fn inner(error: &Cause) -> Option<&Cause> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(within) => Some(within),
        None => error.source(),
    }
}

fn is_certificate(error: &Cause) -> bool {
    matches!(error.downcast_ref(), Some(rustls::Error::InvalidCertificate(_)))
}
