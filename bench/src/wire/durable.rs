//! Durable Streams, as its server speaks it: JSON streams, each at its own address.

use super::{Replay, Wire, array, get, request};
use crate::decode::Decoder;

pub(super) struct DurableStreams;

const JSON: &str = "content-type: application/json\r\n";

impl Wire for DurableStreams {
    fn decoder(&self) -> Decoder {
        Decoder::http()
    }

    fn make(&self, stream: &str) -> Option<Vec<u8>> {
        Some(request("PUT", &format!("/{stream}"), JSON, b""))
    }

    fn append(&self, stream: &str, events: &[Vec<u8>]) -> Vec<u8> {
        request("POST", &format!("/{stream}"), JSON, &array(events))
    }

    fn follow(&self, stream: &str) -> Vec<u8> {
        get(&format!("/{stream}?offset=now&live=sse"))
    }

    fn followed(&self) -> &'static [u8] {
        b"upToDate"
    }

    fn place(&self, decoder: &Decoder, _events: u64) -> String {
        decoder.field("stream-next-offset").unwrap_or_default().to_owned()
    }

    fn replay(&self, stream: &str, _dialect: &str, place: Option<&str>, _seen: u64) -> Vec<u8> {
        get(&format!("/{stream}?offset={}&live=sse", place.unwrap_or("-1")))
    }

    fn replayed(&self) -> Replay {
        Replay::Stream(b"upToDate")
    }
}
