//! From the journal's entries back to the batches they came as.

use selvedge_protocol::dialect::journal::Reader;
use selvedge_protocol::dialect::{DecodeOptions, Decoder as _, Id};
use selvedge_protocol::journal::{self, Batch};
use selvedge_protocol::json::{Raw, from_utf8, quote};
use selvedge_protocol::record::Record;
use selvedge_protocol::time;
use selvedge_store::Entry;

/// Puts batches together again. What an append says of its records stands by itself, so it begins
/// anew with every append; entries must come in order, from the first that is left of an append.
pub(crate) struct Retelling {
    decoder: Reader,
    /// The append that is being read.
    append: Option<u64>,
    line: String,
    /// When the last entry was committed, as JSON.
    at: (i64, String),
    /// The first entry of the record that is being gathered, and which of its events pass.
    first: Option<u64>,
    passed: Vec<bool>,
    /// The thread, where the event that says so may not be seen: the next one says it.
    context: Option<Raw<'static>>,
    places: Places,
}

/// Whether batches say where this server keeps their events, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Places {
    Told,
    Untold,
}

impl Retelling {
    pub(crate) fn new() -> Self {
        Self {
            decoder: reader(),
            append: None,
            at: (i64::MIN, String::new()),
            line: String::new(),
            first: None,
            passed: Vec::new(),
            context: None,
            places: Places::Told,
        }
    }

    /// To be written in a dialect. Places are what a journal is made of; a document that carries
    /// events says what a conversation is, wherever it is kept.
    pub(crate) fn written_as(dialect: Id) -> Self {
        let places = if dialect == Id::Journal { Places::Told } else { Places::Untold };
        Self { places, ..Self::new() }
    }

    /// Takes in an entry, which the reader may see or not. Where it completes a record, passes the
    /// record's batch on and gives its first entry.
    pub(crate) fn entry(
        &mut self,
        entry: &Entry,
        passes: bool,
        sink: &mut dyn FnMut(&Batch<'_>),
    ) -> Option<u64> {
        self.batch(entry, passes, &mut |_, batch| sink(batch))
    }

    /// The same; the batch is passed on with its first entry.
    pub(crate) fn batch(
        &mut self,
        entry: &Entry,
        passes: bool,
        sink: &mut dyn FnMut(u64, &Batch<'_>),
    ) -> Option<u64> {
        if self.append.replace(entry.append) != Some(entry.append) {
            self.decoder = reader();
            self.first = None;
            self.passed.clear();
            self.context = None;
        }
        let first = *self.first.get_or_insert(entry.seq);
        self.passed.push(passes);
        if self.at.0 != entry.at {
            self.at = (entry.at, quote(&time::from_millis(entry.at).unwrap_or_default()));
        }
        let Self { decoder, line, at: (_, at), passed, context, places, .. } = self;
        let mut complete = false;
        let mut told = |mut batch: Batch<'_>| {
            complete = true;
            if *places == Places::Untold {
                batch.entries.clear();
            }
            if !passed.iter().all(|passed| *passed) {
                // A record that may not be seen whole is told by what may be seen of it.
                let said = batch.events.iter().find_map(|event| event.get("contextId"));
                *context = said.map(Raw::to_owned).or(context.take());
                batch.retain(|at| passed.get(at).copied().unwrap_or(false));
            }
            if let Some(first) = batch.events.first_mut()
                && let Some(context) = context.take()
                && first.get("contextId").is_none()
            {
                first.set("contextId", context);
            }
            sink(first, &batch);
        };
        let event = from_utf8(&entry.event).unwrap_or("{}");
        let seq = entry.seq.to_string();
        let own = journal::Entry {
            seq: Raw::Ref(&seq),
            at: Some(Raw::Ref(at)),
            context: None,
            glue: None,
        };
        // Most entries are an event and no more.
        if entry.source.is_some() || !decoder.native(own, event, &mut told) {
            write_line(entry, at, event, line);
            decoder.record(Record::alone(line), &mut told);
        }
        if !complete {
            return None;
        }
        self.passed.clear();
        self.first.take()
    }
}

/// The entry as a line of a journal.
fn write_line(entry: &Entry, at: &str, event: &str, out: &mut String) {
    use std::fmt::Write as _;
    out.clear();
    let _ = write!(out, "{{\"seq\":{},\"at\":{at},\"event\":{event}", entry.seq);
    if let Some(source) = &entry.source {
        out.push_str(",\"source\":");
        out.push_str(from_utf8(source).unwrap_or("null"));
    }
    out.push('}');
}

fn reader() -> Reader {
    Reader::new(&DecodeOptions::default())
}
