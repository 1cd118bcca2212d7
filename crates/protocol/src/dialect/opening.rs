//! The `thread-created` event that a source begins with.

use super::{DecodeOptions, Start};
use crate::journal::{Event, Kind};
use crate::json::Raw;

/// Makes `thread-created` once, unless the source adds to a thread that is there already.
#[derive(Debug)]
pub struct Opening {
    thread_id: Option<String>,
    start: Start,
}

impl Opening {
    /// As the options say.
    pub fn new(options: &DecodeOptions) -> Self {
        Self { thread_id: options.thread_id.clone(), start: options.start }
    }

    /// The event, the first time; the caller may add fields to it. The thread's id is the
    /// caller's, else the source's own, else one made from `text`.
    pub fn open<'a>(&mut self, own: Option<Raw<'a>>, text: &str) -> Option<Event<'a>> {
        if self.start == Start::Continue {
            return None;
        }
        self.start = Start::Continue;
        let id = match (&self.thread_id, own) {
            (Some(id), _) => Raw::string(id),
            (None, Some(id)) => id,
            (None, None) => Raw::string(&crate::ident::from_text(text)),
        };
        Some(Event::new(Kind::ThreadCreated).with("contextId", id))
    }
}
