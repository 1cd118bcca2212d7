//! Events as they stand in the journal.
//!
//! A row's body has a line per sequence number. Where pieces of a text were folded, the lines of
//! those that went hold what they went into, `11-57`, and the line of the last one holds the same
//! and the event that stands for all of them: `11-57{"kind":…}`.

use std::ops::RangeInclusive;

use bytes::Bytes;
use memchr::{memchr, memchr_iter};

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
        let mut from = 0;
        let lines = memchr_iter(b'\n', body).chain([body.len()]).map(|end| {
            let start = std::mem::replace(&mut from, end + 1);
            let line = body.get(start..end).unwrap_or_default();
            match memchr(b'\t', line) {
                Some(tab) => {
                    (body.slice(start..start + tab), Some(body.slice(start + tab + 1..end)))
                }
                None => (body.slice(start..end), None),
            }
        });
        Self::new(first, at, lines.collect())
    }

    /// The row's body.
    pub fn body(&self) -> String {
        let mut out = Vec::with_capacity(self.size + self.lines.len() * 2);
        self.write(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Writes the row's body.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        write_lines(self.lines.iter().map(|(event, source)| (event, source.as_ref())), out);
    }

    /// Sequence number of the last event.
    pub fn last(&self) -> u64 {
        self.first + (self.lines.len() as u64).saturating_sub(1)
    }

    /// How many sequence numbers it has.
    #[expect(clippy::len_without_is_empty, reason = "there is no empty append")]
    pub fn len(&self) -> usize {
        self.lines.len()
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
    pub(crate) fn events(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.lines.iter().enumerate().filter_map(|(i, (line, _))| {
            let seq = self.first + i as u64;
            event(line, seq).1.map(|event| (seq, event))
        })
    }

    /// What its lines hold, folded ones included.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, &(Bytes, Option<Bytes>))> {
        self.lines.iter().enumerate().map(|(i, line)| (self.first + i as u64, line))
    }

    /// The same with other lines.
    pub(crate) fn with(&self, lines: Vec<(Bytes, Option<Bytes>)>) -> Self {
        Self::new(self.first, self.at, lines)
    }

    /// Its entries after a sequence number.
    pub fn after(&self, seq: u64) -> impl Iterator<Item = Entry> + '_ {
        let skip = (seq + 1).saturating_sub(self.first) as usize;
        self.lines.iter().enumerate().skip(skip).filter_map(|(i, (line, source))| {
            let seq = self.first + i as u64;
            let (from, event) = event(line, seq);
            Some(Entry {
                seq,
                from,
                append: self.first,
                at: self.at,
                event: line.slice_ref(event?),
                source: source.clone(),
            })
        })
    }

    /// What the entry of a sequence number was folded into, if it was: entries that are one now.
    pub(crate) fn folded(&self, seq: u64) -> Option<RangeInclusive<u64>> {
        let (line, _) = self.lines.get(usize::try_from(seq.checked_sub(self.first)?).ok()?)?;
        range(line).map(|(range, _)| range)
    }
}

/// The event of a line, if it has one, and the first entry that it stands for.
fn event(line: &[u8], seq: u64) -> (u64, Option<&[u8]>) {
    // An event is an object: what begins with a digit was folded.
    if !line.first().is_some_and(u8::is_ascii_digit) {
        return (seq, Some(line));
    }
    match range(line) {
        Some((range, event)) => (*range.start(), Some(event).filter(|event| !event.is_empty())),
        None => (seq, Some(line)),
    }
}

/// The entries that a line was folded with, and the event behind that.
fn range(line: &[u8]) -> Option<(RangeInclusive<u64>, &[u8])> {
    let end = line.iter().position(|byte| *byte == b'{').unwrap_or(line.len());
    let (head, event) = line.split_at_checked(end)?;
    let (from, to) = std::str::from_utf8(head).ok()?.split_once('-')?;
    Some((from.parse().ok()?..=to.parse().ok()?, event))
}

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Dense from 1, but for what was folded.
    pub seq: u64,
    /// The first entry that it stands for: itself, or the first of those folded into it.
    pub from: u64,
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
    /// Entries without a hole between them, but for what was folded into the one behind the hole.
    pub entries: Vec<Entry>,
    /// The thread's head when the page was read.
    pub head: u64,
}

impl Page {
    /// The entries that became one, if whoever has seen all up to `seq` has seen some of them only.
    pub fn folded(&self, seq: u64) -> Option<RangeInclusive<u64>> {
        let next = self.entries.first().filter(|next| next.from <= seq && seq < next.seq)?;
        Some(next.from..=next.seq)
    }
}

/// Writes the body of a row: a line for each event, with what it cannot hold of its source behind a
/// tab.
pub(crate) fn write_lines<'l>(
    lines: impl Iterator<Item = (&'l Bytes, Option<&'l Bytes>)>,
    out: &mut Vec<u8>,
) {
    for (i, (event, source)) in lines.enumerate() {
        if i > 0 {
            out.push(b'\n');
        }
        out.extend_from_slice(event);
        if let Some(source) = source {
            out.push(b'\t');
            out.extend_from_slice(source);
        }
    }
}
