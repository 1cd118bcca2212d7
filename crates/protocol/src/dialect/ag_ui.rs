//! `ag-ui`: AG-UI 1.0 events, and the input that starts a run.

mod carries;
mod decode;
mod encode;
mod messages;
mod model;
mod parts;
mod stage;
mod validate;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::AgUi,
    about: "AG-UI 1.0 events",
    versions: &[],
    framing: Framing::Sse,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options), options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks::default()),
    carrier: Carrier::Nothing,
    detect,
    carries: carries::carries,
};

fn detect(head: &str) -> u8 {
    let named = |event: &model::EventType| {
        head.contains(&format!("\"type\":\"{}\"", event.name))
            || head.contains(&format!("\"type\": \"{}\"", event.name))
    };
    if head.contains("\"RUN_STARTED\"") && head.contains("\"runId\"") {
        return 95;
    }
    let begin = head.trim_start();
    let input = begin.starts_with('{')
        && ["\"threadId\"", "\"runId\"", "\"messages\""].iter().all(|key| head.contains(key));
    if input || model::EVENTS.iter().any(named) {
        return 80;
    }
    0
}
