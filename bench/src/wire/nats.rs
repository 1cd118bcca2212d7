//! NATS: subjects are published to and followed; a `PONG` tells that what came before was taken.

use anyhow::Result;

use super::{Replay, Wire};
use crate::decode::Decoder;
use crate::line::Line;

pub(super) struct Nats;

impl Wire for Nats {
    fn decoder(&self) -> Decoder {
        Decoder::nats()
    }

    fn greet(&self, line: &mut Line) -> Result<()> {
        line.exchange(b"CONNECT {\"verbose\":false,\"pedantic\":false}\r\nPING\r\n", 1)?;
        Ok(())
    }

    fn append(&self, stream: &str, events: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for event in events {
            bytes.extend_from_slice(format!("PUB {stream} {}\r\n", event.len()).as_bytes());
            bytes.extend_from_slice(event);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"PING\r\n");
        bytes
    }

    fn follow(&self, stream: &str) -> Vec<u8> {
        format!("SUB {stream} 1\r\nPING\r\n").into()
    }

    fn followed(&self) -> &'static [u8] {
        b""
    }

    fn replay(&self, stream: &str, _dialect: &str, _place: Option<&str>, _seen: u64) -> Vec<u8> {
        self.follow(stream)
    }

    fn replayed(&self) -> Replay {
        Replay::Stream(b"\0")
    }
}
