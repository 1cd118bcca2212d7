//! From entries to what a view shows of them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;
use selvedge_protocol::dialect::agent_api::LIVE;
use selvedge_protocol::dialect::{self, Dialect, EncodeOptions, Encoding, Id};
use selvedge_protocol::json::from_utf8;
use selvedge_protocol::record::{Framing, Role, split};
use selvedge_store::{Batch, Entry, ReadError, Store, ThreadRef};

use super::filter::Sieve;
use super::{Chunk, Kind};
use crate::retell::Retelling;

/// Bytes around an event, about.
const FRAME: usize = 64;

/// How a view spells events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Format {
    /// Every event as it stands in the journal.
    Native,
    /// In a dialect that has streams.
    Dialect(Id),
    /// The same, for readers of one of its versions.
    Version(Id, &'static str),
}

impl Format {
    /// The format of that name, if it is one that has streams.
    pub(crate) fn named(name: &str) -> Option<Self> {
        if name == "native" {
            return Some(Self::Native);
        }
        let dialect = dialect::named(name)?;
        let streams = matches!(dialect.framing, Framing::Sse | Framing::Lines);
        streams.then_some(Self::Dialect(dialect.id))
    }
}

/// Spells a thread's entries, one after the other.
pub(crate) struct Encoder {
    epoch: u64,
    sieve: Sieve,
    dialect: Option<Spelling>,
    past: bool,
    /// Records of the next batch that the reader has already.
    skip: usize,
}

/// A thread in a dialect.
struct Spelling {
    dialect: &'static Dialect,
    retelling: Retelling,
    encoding: Encoding,
    out: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(kind: &Kind, epoch: u64) -> Self {
        let (id, version) = match kind.format {
            Format::Native => (None, None),
            // Whoever reads it as it grows is to answer what it asks.
            Format::Dialect(Id::AgentApi) => (Some(Id::AgentApi), Some(LIVE)),
            Format::Dialect(id) => (Some(id), None),
            Format::Version(id, version) => (Some(id), Some(version)),
        };
        let context = &kind.filter.context;
        let dialect = id.and_then(dialect::get);
        let dialect = dialect.map(|dialect| Spelling::new(dialect, version, context.clone()));
        let past = dialect.is_some() || kind.filter.needs_the_past();
        Self { epoch, sieve: Sieve::new(kind.filter.clone()), dialect, past, skip: 0 }
    }

    /// Whether what it shows of an entry depends on earlier ones.
    pub(super) fn needs_the_past(&self) -> bool {
        self.past
    }

    /// Leaves out the first records of what it shows next.
    pub(super) fn skip(&mut self, records: usize) {
        self.skip = records;
    }

    /// What it shows of batches after an entry.
    pub(super) fn batches(&mut self, after: u64, batches: &[Arc<Batch>]) -> Chunk {
        let mut chunk = Draft::new(after);
        let size: usize = batches.iter().map(|batch| batch.size()).sum();
        chunk.reserve(batches.iter().map(|batch| batch.len()).sum(), size);
        for batch in batches {
            let after = chunk.last;
            self.row(batch.after(after), &mut chunk);
        }
        chunk.finish()
    }

    /// What it shows of a page of the journal. Blocks for the disk.
    pub(super) fn page(
        &mut self,
        store: &Store,
        thread: &ThreadRef,
        after: u64,
        bytes: usize,
    ) -> Result<Chunk, ReadError> {
        let page = store.read(thread, after, usize::MAX, bytes)?;
        let mut chunk = Draft::new(after);
        chunk.folded = page.folded(after);
        chunk.reserve(page.entries.len(), page.entries.iter().map(|entry| entry.event.len()).sum());
        let upto = self.sieve.upto();
        self.row(page.entries.into_iter().take_while(|entry| entry.seq <= upto), &mut chunk);
        Ok(chunk.finish())
    }

    /// Goes through the past up to an entry, for what it has to remember of it; says how far it
    /// came. Blocks for the disk.
    pub(super) fn past(
        &mut self,
        store: &Store,
        thread: &ThreadRef,
        after: u64,
        upto: u64,
        bytes: usize,
    ) -> Result<u64, ReadError> {
        Ok(self.part(store, thread, after, upto, bytes)?.last)
    }

    /// What it shows of a page of the journal that ends with an entry. Blocks for the disk.
    pub(super) fn part(
        &mut self,
        store: &Store,
        thread: &ThreadRef,
        after: u64,
        upto: u64,
        bytes: usize,
    ) -> Result<Chunk, ReadError> {
        let page = store.read(thread, after, usize::MAX, bytes)?;
        let mut chunk = Draft::new(after);
        // Also where the entry itself was folded into a later one.
        let is_last = page.entries.last().is_none_or(|last| last.seq >= upto);
        self.row(page.entries.into_iter().take_while(|entry| entry.seq <= upto), &mut chunk);
        if is_last {
            chunk.last = chunk.last.max(upto);
        }
        Ok(chunk.finish())
    }

    /// What it would say if nothing more came.
    pub(super) fn finish(self) -> String {
        let Some(spelling) = self.dialect else { return String::new() };
        let mut out = spelling.out;
        spelling.encoding.finish(&mut out);
        from_utf8(&out).unwrap_or("").to_owned()
    }

    fn row(&mut self, entries: impl Iterator<Item = Entry>, out: &mut Draft) {
        match &mut self.dialect {
            None => {
                for entry in entries {
                    self.native(&entry, out);
                }
            }
            Some(_) => self.spell(entries, out),
        }
    }

    fn native(&mut self, entry: &Entry, out: &mut Draft) {
        out.last = entry.seq;
        let Ok(event) = from_utf8(&entry.event) else { return };
        if let Some(kind) = self.sieve.pass(event)
            && let Some(entry) = self.sieve.cut(entry)
        {
            let event = match &entry {
                Cow::Borrowed(_) => event,
                Cow::Owned(entry) => from_utf8(&entry.event).unwrap_or("{}"),
            };
            // A browser's EventSource keeps `error` for itself.
            let name = if kind == "error" { "thread-error" } else { kind.as_ref() };
            if entry.from < entry.seq {
                let (from, to) = (entry.from, entry.seq);
                let _ =
                    write!(out.text, "event: folded\ndata: {{\"from\":{from},\"to\":{to}}}\n\n");
            }
            out.text.push_str("id: ");
            push_number(self.epoch, &mut out.text);
            out.text.push('.');
            push_number(entry.seq, &mut out.text);
            for part in ["\nevent: ", name, "\ndata: ", event, "\n\n"] {
                out.text.push_str(part);
            }
            out.end();
        }
    }

    /// Spells entries in the dialect, record by record.
    fn spell(&mut self, entries: impl Iterator<Item = Entry>, out: &mut Draft) {
        let Self { epoch, sieve, dialect: Some(spelling), skip, .. } = self else { return };
        for entry in entries {
            let seen = sieve.see(&entry);
            let passes = seen.is_some();
            let told = seen.unwrap_or_else(|| sieve.stand_in(&entry));
            out.last = entry.seq;
            if let Some(first) = spelling.entry(&told, passes) {
                spelling.write(*epoch, first, skip, out);
            }
        }
    }
}

impl Spelling {
    fn new(dialect: &'static Dialect, version: Option<&str>, thread_id: Option<String>) -> Self {
        let target =
            version.and_then(|version| format!("{}@{version}", dialect.id.name()).parse().ok());
        let options = EncodeOptions { target, thread_id, ..EncodeOptions::default() };
        Self {
            dialect,
            retelling: Retelling::new(),
            encoding: Encoding::new(dialect, &options),
            out: Vec::new(),
        }
    }

    /// Takes in an entry; gives the first entry of the record that it completes.
    fn entry(&mut self, entry: &Entry, passes: bool) -> Option<u64> {
        let Self { retelling, encoding, out, .. } = self;
        retelling.entry(entry, passes, &mut |batch| encoding.batch(batch, out))
    }

    /// Writes what was spelled, every record with the place it brings the reader to.
    fn write(&mut self, epoch: u64, first: u64, skip: &mut usize, chunk: &mut Draft) {
        let out = std::mem::take(&mut self.out);
        let text = from_utf8(&out).unwrap_or("");
        if *skip == 0 && self.dialect.framing == Framing::Sse && is_one_line(text) {
            // Nearly every entry is one event of one line.
            let _ = writeln!(chunk.text, "id: {epoch}.{}", chunk.last);
            chunk.text.push_str(text);
            chunk.end();
            self.out = out;
            self.out.clear();
            return;
        }
        let mut records = Vec::new();
        split(self.dialect.framing, text, |record| {
            if record.role == Role::Item && !record.body.trim().is_empty() {
                records.push(record.body);
            }
        });
        let count = records.len();
        if count > 0 {
            for (i, body) in records.into_iter().enumerate().skip(std::mem::take(skip)) {
                let _ = match i + 1 == count {
                    true => writeln!(chunk.text, "id: {epoch}.{}", chunk.last),
                    false => writeln!(chunk.text, "id: {epoch}.{}.{}", first - 1, i + 1),
                };
                push_event(self.dialect.framing, body, &mut chunk.text);
            }
            chunk.end();
        }
        self.out = out;
        self.out.clear();
    }
}

/// Whether a text is a server-sent event of one line, which is JSON.
fn is_one_line(text: &str) -> bool {
    let line = text.strip_prefix("data: {").and_then(|line| line.strip_suffix("}\n\n"));
    line.is_some_and(|line| memchr::memchr2(b'\n', b'\r', line.as_bytes()).is_none())
}

/// Appends a number. The form that can be given widths takes five times as long, for every event.
fn push_number(mut number: u64, out: &mut String) {
    let mut digits = [b'0'; 20];
    let mut from = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        from -= 1;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.push_str(from_utf8(digits.get(from..).unwrap_or_default()).unwrap_or_default());
}

/// Appends a record as a server-sent event, without an id of its own.
fn push_event(framing: Framing, body: &str, out: &mut String) {
    if framing != Framing::Sse || body.starts_with(['{', '[']) {
        out.push_str("data: ");
        out.push_str(body.trim_end());
    } else {
        for line in body.trim_end().lines().filter(|line| !line.starts_with("id:")) {
            out.push_str(line);
            out.push('\n');
        }
        out.pop();
    }
    out.push_str("\n\n");
}

/// A chunk in the making.
struct Draft {
    after: u64,
    last: u64,
    text: String,
    ends: Vec<(u64, usize)>,
    folded: Option<RangeInclusive<u64>>,
}

impl Draft {
    fn new(after: u64) -> Self {
        Self { after, last: after, text: String::new(), ends: Vec::new(), folded: None }
    }

    /// Makes room for so many entries of so many bytes: growing would copy them several times.
    fn reserve(&mut self, entries: usize, bytes: usize) {
        self.ends.reserve(entries);
        self.text.reserve(bytes + entries * FRAME);
    }

    /// What is shown of the last entry ends here.
    fn end(&mut self) {
        self.ends.push((self.last, self.text.len()));
    }

    fn finish(mut self) -> Chunk {
        // It is kept for as long as someone has not taken it; what it grew by is not.
        self.text.shrink_to_fit();
        let Self { after, last, text, ends, folded } = self;
        let bytes = Bytes::from(text);
        Chunk { after, last, bytes, ends, folded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_are_everywhere() {
        for number in [0, 7, 10, 99, 100, 12_345_678_901, u64::MAX] {
            let mut text = String::new();
            push_number(number, &mut text);
            assert_eq!(text, number.to_string());
        }
    }
}
