//! `openai-threads`: OpenAI Assistants threads, messages, runs, run steps and stream events.

mod decode;
mod encode;
mod validate;

use super::{Carrier, Dialect, Id, JsonRecords};
use crate::record::Framing;

/// Registry entry.
pub const DIALECT: Dialect = Dialect {
    id: Id::OpenaiThreads,
    about: "OpenAI Assistants threads, messages, runs, run steps and stream events",
    versions: &[],
    framing: Framing::Sse,
    decoder: |options| Box::new(JsonRecords::new(decode::Reader::new(options), options)),
    encoder: |options| Box::new(encode::Writer::new(options)),
    validator: || Box::new(validate::Checks::default()),
    carrier: Carrier::Nothing,
    detect,
    carries: encode::carries,
};

/// Stream events are named `thread.…`; objects say so in `object`.
fn detect(head: &str) -> u8 {
    let text = head.trim_start();
    if text.starts_with(['{', '[']) {
        let compact = ["thread\"", "thread.message\"", "thread.run\"", "thread.run.step\""];
        let found = compact.iter().any(|name| {
            text.contains(&format!("\"object\":\"{name}"))
                || text.contains(&format!("\"object\": \"{name}"))
        });
        return if found { 90 } else { 0 };
    }
    let event = text.lines().find_map(|line| line.strip_prefix("event:")).map(str::trim);
    if event.is_some_and(|event| event.starts_with("thread.")) { 95 } else { 0 }
}
