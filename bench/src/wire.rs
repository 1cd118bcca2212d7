//! How each server is spoken to: making streams, appending, following, reading again.

mod durable;
mod nats;
mod nchan;
pub(crate) mod postgres;
mod redis;
mod selvedge;

use anyhow::Result;

use crate::decode::Decoder;
use crate::line::Line;

/// Whose protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Peer {
    Selvedge,
    Redis,
    DurableStreams,
    Postgres,
    Nchan,
    Nats,
}

impl Peer {
    pub(crate) fn wire(self) -> &'static dyn Wire {
        match self {
            Self::Selvedge => &selvedge::Selvedge,
            Self::Redis => &redis::Redis,
            Self::DurableStreams => &durable::DurableStreams,
            Self::Postgres => &postgres::Postgres,
            Self::Nchan => &nchan::Nchan,
            Self::Nats => &nats::Nats,
        }
    }
}

/// What an answer to a replay is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replay {
    /// One answer that goes on; this is in it when everything was told.
    Stream(&'static [u8]),
    /// Answers of at most so many events each.
    Pages(u64),
}

/// A server's protocol. Requests hold events as `event::event` makes them.
pub(crate) trait Wire: Sync {
    /// Reads a connection's answers.
    fn decoder(&self) -> Decoder;

    /// What a new connection begins with.
    fn greet(&self, _line: &mut Line) -> Result<()> {
        Ok(())
    }

    /// Makes a stream, if that takes a request.
    fn make(&self, _stream: &str) -> Option<Vec<u8>> {
        None
    }

    /// Appends events durably, to be answered when they are on disk.
    fn append(&self, stream: &str, events: &[Vec<u8>]) -> Vec<u8>;

    /// How many answers there are to an append of so many events.
    fn answers(&self, _events: usize) -> usize {
        1
    }

    /// Sends events to whoever follows.
    fn publish(&self, stream: &str, events: &[Vec<u8>]) -> Vec<u8> {
        self.append(stream, events)
    }

    /// Follows a stream from now on.
    fn follow(&self, stream: &str) -> Vec<u8>;

    /// What is in the answer once it is followed; empty if any answer will do.
    fn followed(&self) -> &'static [u8];

    /// Where a stream stands after an append of its events up to this many.
    fn place(&self, _decoder: &Decoder, events: u64) -> String {
        events.to_string()
    }

    /// What is behind a place, or everything; `seen` events of it are known already.
    fn replay(&self, stream: &str, dialect: &str, place: Option<&str>, seen: u64) -> Vec<u8>;

    fn replayed(&self) -> Replay;
}

/// Events as a JSON array, or the one event.
fn array(events: &[Vec<u8>]) -> Vec<u8> {
    match events {
        [one] => one.clone(),
        many => [b"[".as_slice(), &many.join(&b','), b"]"].concat(),
    }
}

/// An HTTP request.
fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// An HTTP request without a body.
fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n").into()
}
