//! PostgreSQL: a row for each event, prepared statements, one commit for each request.

use anyhow::Result;

use super::{Replay, Wire};
use crate::decode::Decoder;
use crate::line::Line;

pub(super) struct Postgres;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS events (thread text NOT NULL, \
     seq bigint GENERATED ALWAYS AS IDENTITY, body text NOT NULL, PRIMARY KEY (thread, seq))";
const APPEND: &str = "INSERT INTO events (thread, body) VALUES ($1, $2)";
const REPLAY: &str = "SELECT body FROM events WHERE thread = $1 AND seq > $2::bigint ORDER BY seq";

impl Wire for Postgres {
    fn decoder(&self) -> Decoder {
        Decoder::postgres()
    }

    fn greet(&self, line: &mut Line) -> Result<()> {
        let mut hello = vec![0, 3, 0, 0];
        hello.extend_from_slice(b"user\0postgres\0database\0postgres\0\0");
        line.exchange(&[&(hello.len() as u32 + 4).to_be_bytes(), hello.as_slice()].concat(), 1)?;
        let prepare = |name: &str, text: &str| {
            message(b'P', &[name.as_bytes(), b"\0", text.as_bytes(), b"\0\0\0"])
        };
        let table = message(b'Q', &[TABLE.as_bytes(), b"\0"]);
        line.exchange(&table, 1)?;
        line.exchange(&[prepare("a", APPEND), prepare("r", REPLAY), sync()].concat(), 1)?;
        Ok(())
    }

    fn append(&self, stream: &str, events: &[Vec<u8>]) -> Vec<u8> {
        let each = |event: &Vec<u8>| execute("a", &[stream.as_bytes(), event]);
        events.iter().flat_map(each).chain(sync()).collect()
    }

    fn follow(&self, stream: &str) -> Vec<u8> {
        self.replay(stream, "", None, 0)
    }

    fn followed(&self) -> &'static [u8] {
        b""
    }

    fn replay(&self, stream: &str, _dialect: &str, place: Option<&str>, _seen: u64) -> Vec<u8> {
        let place = place.unwrap_or("0");
        [execute("r", &[stream.as_bytes(), place.as_bytes()]), sync()].concat()
    }

    fn replayed(&self) -> Replay {
        Replay::Pages(u64::MAX)
    }
}

/// Binds a prepared statement and runs it.
fn execute(statement: &str, values: &[&[u8]]) -> Vec<u8> {
    let mut bind = format!("\0{statement}\0\0\0").into_bytes();
    bind.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        bind.extend_from_slice(&(value.len() as u32).to_be_bytes());
        bind.extend_from_slice(value);
    }
    bind.extend_from_slice(b"\0\0");
    [message(b'B', &[&bind]), message(b'E', &[b"\0\0\0\0\0"])].concat()
}

/// Ends a transaction and asks for the answers.
pub(crate) fn sync() -> Vec<u8> {
    message(b'S', &[])
}

pub(crate) fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length = parts.iter().map(|part| part.len()).sum::<usize>() as u32 + 4;
    [&[kind], length.to_be_bytes().as_slice(), &parts.concat()].concat()
}

#[cfg(test)]
mod tests {
    use super::{execute, sync};

    #[test]
    fn messages_have_their_lengths() {
        assert_eq!(sync(), b"S\0\0\0\x04");
        let bytes = execute("a", &[b"t", b"xy"]);
        let expected =
            b"B\0\0\0\x18\0a\0\0\0\0\x02\0\0\0\x01t\0\0\0\x02xy\0\0E\0\0\0\x09\0\0\0\0\0";
        assert_eq!(bytes, expected);
    }
}
