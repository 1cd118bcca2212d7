//! Events as they stand in the journal.

use bytes::Bytes;

/// The events of one append: one row of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Sequence number of the first.
    pub first: u64,
    /// When they were committed, in milliseconds since 1970.
    pub at: i64,
    lines: Vec<(Bytes, Option<Bytes>)>,
    size: usize,
}

impl Batch {
    /// The events that begin at `first`.
    pub fn new(first: u64, at: i64, lines: Vec<(Bytes, Option<Bytes>)>) -> Self {
        let size = lines.iter().map(|(e, s)| e.len() + s.as_ref().map_or(0, Bytes::len)).sum();
        Self { first, at, lines, size }
    }

    /// Reads a row's body: a line per event, its source behind a tab.
    pub fn parse(first: u64, at: i64, body: &Bytes) -> Self {
        let lines = body.split(|b| *b == b'\n').map(|line| {
            let line = body.slice_ref(line);
            match line.iter().position(|b| *b == b'\t') {
                Some(tab) => (line.slice(..tab), Some(line.slice(tab + 1..))),
                None => (line, None),
            }
        });
        Self::new(first, at, lines.collect())
    }

    /// The row's body.
    pub fn body(&self) -> String {
        let mut out = Vec::with_capacity(self.size + self.lines.len() * 2);
        for (i, (event, source)) in self.lines.iter().enumerate() {
            if i > 0 {
                out.push(b'\n');
            }
            out.extend_from_slice(event);
            if let Some(source) = source {
                out.push(b'\t');
                out.extend_from_slice(source);
            }
        }
        String::from_utf8(out).unwrap_or_default()
    }

    /// Sequence number of the last event.
    pub fn last(&self) -> u64 {
        self.first + (self.lines.len() as u64).saturating_sub(1)
    }

    /// Bytes of all its events.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The same without what comes after a sequence number.
    pub(crate) fn upto(mut self, seq: u64) -> Self {
        self.lines.truncate((seq + 1).saturating_sub(self.first) as usize);
        Self::new(self.first, self.at, self.lines)
    }

    /// Its events with their sequence numbers.
    pub(crate) fn events(&self) -> impl Iterator<Item = (u64, &Bytes)> {
        self.lines.iter().enumerate().map(|(i, (event, _))| (self.first + i as u64, event))
    }

    /// Its entries after a sequence number.
    pub fn after(&self, seq: u64) -> impl Iterator<Item = Entry> + '_ {
        let skip = (seq + 1).saturating_sub(self.first) as usize;
        self.lines.iter().enumerate().skip(skip).map(|(i, (event, source))| Entry {
            seq: self.first + i as u64,
            append: self.first,
            at: self.at,
            event: event.clone(),
            source: source.clone(),
        })
    }
}

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Dense from 1.
    pub seq: u64,
    /// The first entry of the append that brought it.
    pub append: u64,
    /// When it was committed, in milliseconds since 1970.
    pub at: i64,
    /// The event: a JSON object.
    pub event: Bytes,
    /// What the events of its record cannot hold of it, on the record's first event.
    pub source: Option<Bytes>,
}

/// A stretch of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Entries without a hole between them.
    pub entries: Vec<Entry>,
    /// The thread's head when the page was read.
    pub head: u64,
}
