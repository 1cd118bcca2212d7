//! The events that one source record became, with what they cannot hold of it.

use super::Event;
use crate::residue::Frame;

/// One source record: its events, and the frame that turns them back into its bytes.
#[derive(Debug, Clone, Default)]
pub struct Batch<'a> {
    /// What the record means; empty for a record that means nothing outside its dialect.
    pub events: Vec<Event<'a>>,
    /// How the record was spelled; `None` for events that came from no wire.
    pub frame: Option<Frame<'a>>,
}

impl<'a> Batch<'a> {
    /// Events of our own making.
    pub fn native(events: Vec<Event<'a>>) -> Self {
        Self { events, frame: None }
    }

    /// A copy that borrows nothing.
    pub fn to_owned(&self) -> Batch<'static> {
        Batch {
            events: self.events.iter().map(Event::to_owned).collect(),
            frame: self.frame.as_ref().map(Frame::to_owned),
        }
    }
}
