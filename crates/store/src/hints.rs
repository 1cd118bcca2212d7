//! How nodes that share a database tell each other that there is something to read.
//!
//! Invariant: a hint may be lost, late or wrong. Whoever gets one looks into the database, and
//! looks there every second in any case.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How often a node compares what it knows with the database.
const PERIOD: Duration = Duration::from_secs(1);
/// The same where nothing else tells.
const POLL: Duration = Duration::from_millis(100);

/// What carries hints.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Hints {
    /// The database itself (`LISTEN`, `NOTIFY`), on a connection of its own.
    #[default]
    Notify,
    /// Nothing: the database is asked often. For poolers that lend connections by transaction.
    Poll,
    /// Redis, by its publish and subscribe.
    Redis(Service),
    /// NATS, by its subjects.
    Nats(Service),
    /// Nothing, and the database is asked as seldom as with hints. For tests.
    Never,
}

impl Hints {
    /// How often the database is asked.
    pub(crate) fn period(&self) -> Duration {
        match self {
            Self::Poll => POLL,
            _ => PERIOD,
        }
    }
}

/// Where a service is, and who asks. Secrets are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Service {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({}:{})", self.host, self.port)
    }
}

/// Why a text names no way to tell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum HintsError {
    #[error("hints are `notify`, `poll`, `none`, `redis://host:port` or `nats://host:port`")]
    Unknown,
    #[error("`{0}` is no port")]
    Port(String),
    #[error("the address has no host")]
    NoHost,
}

impl FromStr for Hints {
    type Err = HintsError;

    fn from_str(text: &str) -> Result<Self, HintsError> {
        match text {
            "notify" => return Ok(Self::Notify),
            "poll" => return Ok(Self::Poll),
            "none" => return Ok(Self::Never),
            _ => {}
        }
        match text.split_once("://") {
            Some(("redis", rest)) => Ok(Self::Redis(service(rest, 6379)?)),
            Some(("nats", rest)) => Ok(Self::Nats(service(rest, 4222)?)),
            _ => Err(HintsError::Unknown),
        }
    }
}

/// `user:password@host:port`, with a port that is usual.
fn service(text: &str, usual: u16) -> Result<Service, HintsError> {
    let text = text.split(['/', '?', '#']).next().unwrap_or_default();
    let (who, place) = text.rsplit_once('@').map_or((None, text), |(who, at)| (Some(who), at));
    let (user, password) = match who.map(|who| who.split_once(':').unwrap_or((who, ""))) {
        Some((user, password)) => (plain(user), plain(password)),
        None => (None, None),
    };
    // An address of version 6 is in brackets, and has colons of its own.
    let inner = place.rfind(']').unwrap_or(0);
    let (host, port) = match place.get(inner..).and_then(|rest| rest.rfind(':')) {
        Some(at) => {
            let (host, port) = place.split_at(inner + at);
            let port = port.trim_start_matches(':');
            (host, port.parse().map_err(|_| HintsError::Port(port.to_owned()))?)
        }
        None => (place, usual),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    if host.is_empty() {
        return Err(HintsError::NoHost);
    }
    Ok(Service { host, port, user, password })
}

/// A part of an address, without its escapes; none if it is empty.
fn plain(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let escaped = escaped.and_then(|hex| std::str::from_utf8(hex).ok());
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Hints, HintsError, Service};

    #[test]
    fn a_way_is_named_in_a_word_or_by_an_address() {
        let service = |host: &str, port, user: Option<&str>, password: Option<&str>| Service {
            host: host.to_owned(),
            port,
            user: user.map(str::to_owned),
            password: password.map(str::to_owned),
        };
        for (text, meant) in [
            ("notify", Ok(Hints::Notify)),
            ("poll", Ok(Hints::Poll)),
            ("none", Ok(Hints::Never)),
            ("redis://cache", Ok(Hints::Redis(service("cache", 6379, None, None)))),
            (
                "redis://:p%40ss@[::1]:7000/0",
                Ok(Hints::Redis(service("::1", 7000, None, Some("p@ss")))),
            ),
            ("nats://u:p@bus:1", Ok(Hints::Nats(service("bus", 1, Some("u"), Some("p"))))),
            ("nats://token@bus", Ok(Hints::Nats(service("bus", 4222, Some("token"), None)))),
            ("kafka://bus", Err(HintsError::Unknown)),
            ("redis://bus:x", Err(HintsError::Port("x".to_owned()))),
            ("redis://", Err(HintsError::NoHost)),
        ] {
            assert_eq!(text.parse::<Hints>(), meant, "{text}");
        }
        let shown = format!("{:?}", "redis://:secret@cache".parse::<Hints>());
        assert!(!shown.contains("secret"), "{shown}");
    }
}
