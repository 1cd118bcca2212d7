//! Ours.

use super::{Replay, Wire, array, get, request};
use crate::decode::Decoder;

pub(super) struct Selvedge;

impl Wire for Selvedge {
    fn decoder(&self) -> Decoder {
        Decoder::http()
    }

    fn make(&self, stream: &str) -> Option<Vec<u8>> {
        let body = format!("{{\"id\":\"{stream}\"}}");
        Some(request("POST", "/api/threads", "", body.as_bytes()))
    }

    fn append(&self, stream: &str, events: &[Vec<u8>]) -> Vec<u8> {
        request("POST", &format!("/api/threads/{stream}/events"), "", &array(events))
    }

    fn follow(&self, stream: &str) -> Vec<u8> {
        get(&format!("/api/threads/{stream}/stream?after=tail"))
    }

    fn followed(&self) -> &'static [u8] {
        b"caught-up"
    }

    fn place(&self, decoder: &Decoder, _events: u64) -> String {
        decoder.field("etag").unwrap_or_default().trim_matches('"').to_owned()
    }

    fn replay(&self, stream: &str, dialect: &str, place: Option<&str>, _seen: u64) -> Vec<u8> {
        let after = place.unwrap_or("earliest");
        match dialect {
            // The document's own address, and its own form.
            "looopy" => get(&format!("/api/contexts/{stream}/stream?after={after}")),
            _ => get(&format!("/api/threads/{stream}/stream?after={after}&dialect={dialect}")),
        }
    }

    fn replayed(&self) -> Replay {
        Replay::Stream(b"caught-up")
    }
}
