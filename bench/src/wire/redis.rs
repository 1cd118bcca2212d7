//! Redis: streams are appended to and read again; channels are followed.

use super::{Replay, Wire};
use crate::decode::Decoder;
use crate::event::SLOT;

pub(super) struct Redis;

/// Events that are asked for at once.
const PAGE: u64 = 1000;

impl Wire for Redis {
    fn decoder(&self) -> Decoder {
        Decoder::resp()
    }

    fn append(&self, stream: &str, events: &[Vec<u8>]) -> Vec<u8> {
        let id = format!("0-{SLOT}");
        let each =
            |event: &Vec<u8>| command(&[b"XADD", stream.as_bytes(), id.as_bytes(), b"d", event]);
        events.iter().flat_map(each).collect()
    }

    fn answers(&self, events: usize) -> usize {
        events
    }

    fn publish(&self, stream: &str, events: &[Vec<u8>]) -> Vec<u8> {
        events.iter().flat_map(|event| command(&[b"PUBLISH", stream.as_bytes(), event])).collect()
    }

    fn follow(&self, stream: &str) -> Vec<u8> {
        command(&[b"SUBSCRIBE", stream.as_bytes()])
    }

    fn followed(&self) -> &'static [u8] {
        b""
    }

    fn replay(&self, stream: &str, _dialect: &str, place: Option<&str>, seen: u64) -> Vec<u8> {
        let before = place.and_then(|place| place.parse().ok()).unwrap_or(0u64);
        let from = format!("0-{}", before + seen + 1);
        let count = PAGE.to_string();
        command(&[b"XRANGE", stream.as_bytes(), from.as_bytes(), b"+", b"COUNT", count.as_bytes()])
    }

    fn replayed(&self) -> Replay {
        Replay::Pages(PAGE)
    }
}

fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
