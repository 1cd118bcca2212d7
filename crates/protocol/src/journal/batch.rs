//! The events that one source record became, with what they cannot hold of it.

use super::Event;
use crate::json::{Raw, SyntaxKind};
use crate::residue::Frame;

/// One source record: its events, and the frame that turns them back into its bytes.
#[derive(Debug, Clone, Default)]
pub struct Batch<'a> {
    /// What the record means; empty for a record that means nothing outside its dialect.
    pub events: Vec<Event<'a>>,
    /// How the record was spelled; `None` for events that came from no wire.
    pub frame: Option<Frame<'a>>,
    /// Where a journal keeps the events, one entry for each; empty for what is not from a journal.
    pub entries: Vec<Entry<'a>>,
    /// Set if the record could not be read. Its frame still has its bytes.
    pub unread: Option<Unread>,
}

/// What a journal says of an event besides the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its number in the thread.
    pub seq: Raw<'a>,
    /// When it was committed.
    pub at: Option<Raw<'a>>,
    /// The thread, where the entry is the first to say it and its event is none.
    pub context: Option<Raw<'a>>,
    /// What stands before its line, where that is not a line feed.
    pub glue: Option<Raw<'a>>,
}

impl Entry<'_> {
    /// A copy that borrows nothing.
    pub fn to_owned(&self) -> Entry<'static> {
        Entry {
            seq: self.seq.to_owned(),
            at: self.at.as_ref().map(Raw::to_owned),
            context: self.context.as_ref().map(Raw::to_owned),
            glue: self.glue.as_ref().map(Raw::to_owned),
        }
    }
}

/// Why a record could not be read, and which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("record {number} is {why}")]
pub struct Unread {
    /// Which record of the source, from 1; for lines, which line.
    pub number: usize,
    /// Why.
    pub why: Why,
}

/// Why a record could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It is not JSON, or nested too deeply to be carried.
    #[error("not JSON: {0}")]
    Syntax(SyntaxKind),
    /// It is nothing that the dialect has.
    #[error("no record of the dialect")]
    Foreign,
}

impl<'a> Batch<'a> {
    /// What a record said, and how it was spelled.
    pub fn new(events: Vec<Event<'a>>, frame: Frame<'a>) -> Self {
        Self { events, frame: Some(frame), ..Self::default() }
    }

    /// Events of our own making.
    pub fn native(events: Vec<Event<'a>>) -> Self {
        Self { events, ..Self::default() }
    }

    /// A record that could not be read.
    pub fn unread(frame: Frame<'a>, number: usize, why: Why) -> Self {
        Self { unread: Some(Unread { number, why }), ..Self::new(Vec::new(), frame) }
    }

    /// Leaves out events, by their place. What is left is not the record any more, so its frame
    /// goes too.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut at = 0..;
        self.events.retain(|_| at.next().is_some_and(&keep));
        let mut at = 0..;
        self.entries.retain(|_| at.next().is_some_and(&keep));
        self.frame = None;
    }

    /// A copy that borrows nothing.
    pub fn to_owned(&self) -> Batch<'static> {
        Batch {
            events: self.events.iter().map(Event::to_owned).collect(),
            frame: self.frame.as_ref().map(Frame::to_owned),
            entries: self.entries.iter().map(Entry::to_owned).collect(),
            unread: self.unread,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Kind;

    #[test]
    fn entries_stay_with_their_events() {
        let entry = |seq| Entry { seq: Raw::Ref(seq), at: None, context: None, glue: None };
        let events = vec![Event::new(Kind::System), Event::new(Kind::Message)];
        let mut batch = Batch { entries: vec![entry("7"), entry("8")], ..Batch::native(events) };
        batch.retain(|at| at == 1);
        assert_eq!(batch.events, [Event::new(Kind::Message)]);
        assert_eq!(batch.entries, [entry("8")]);
    }
}
