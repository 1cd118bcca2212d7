//! Answers as they arrive: their content, and where they end.

mod http;
mod lines;
mod nats;
mod postgres;
mod resp;

use anyhow::Result;

/// Whether all of what was asked for is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Whole,
}

/// Takes one connection's bytes in pieces, cut anywhere.
pub(crate) enum Decoder {
    Http(http::Decoder),
    Nats(nats::Decoder),
    Postgres(postgres::Decoder),
    Resp(resp::Decoder),
}

impl Decoder {
    pub(crate) fn http() -> Self {
        Self::Http(http::Decoder::default())
    }

    pub(crate) fn nats() -> Self {
        Self::Nats(nats::Decoder::default())
    }

    pub(crate) fn postgres() -> Self {
        Self::Postgres(postgres::Decoder::default())
    }

    pub(crate) fn resp() -> Self {
        Self::Resp(resp::Decoder::default())
    }

    /// So many answers follow.
    pub(crate) fn expect(&mut self, answers: usize) {
        match self {
            Self::Http(own) => own.expect(),
            Self::Nats(own) => own.expect(answers),
            Self::Postgres(_) => {}
            Self::Resp(own) => own.expect(answers),
        }
    }

    /// Gives content to `body`; fails if the server refuses.
    pub(crate) fn feed(&mut self, bytes: &[u8], body: &mut dyn FnMut(&[u8])) -> Result<Progress> {
        match self {
            Self::Http(own) => own.feed(bytes, body),
            Self::Nats(own) => own.feed(bytes, body),
            Self::Postgres(own) => own.feed(bytes, body),
            Self::Resp(own) => own.feed(bytes, body),
        }
    }

    /// A field of the head of the latest answer.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        match self {
            Self::Http(own) => own.field(name),
            Self::Nats(_) | Self::Postgres(_) | Self::Resp(_) => None,
        }
    }
}
