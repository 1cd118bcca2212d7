//! Nchan, the module of nginx: published by HTTP, followed by SSE, kept in memory only.

use super::{Replay, Wire, get, request};
use crate::decode::Decoder;

pub(super) struct Nchan;

impl Wire for Nchan {
    fn decoder(&self) -> Decoder {
        Decoder::http()
    }

    fn append(&self, stream: &str, events: &[Vec<u8>]) -> Vec<u8> {
        let path = format!("/pub/{stream}");
        events.iter().flat_map(|event| request("POST", &path, "", event)).collect()
    }

    fn follow(&self, stream: &str) -> Vec<u8> {
        get(&format!("/sub/{stream}"))
    }

    fn followed(&self) -> &'static [u8] {
        b": hi"
    }

    fn replay(&self, stream: &str, _dialect: &str, _place: Option<&str>, _seen: u64) -> Vec<u8> {
        self.follow(stream)
    }

    fn replayed(&self) -> Replay {
        Replay::Stream(b"\0")
    }
}
