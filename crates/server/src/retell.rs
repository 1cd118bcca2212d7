//! From the journal's entries back to the batches they came as.

use selvedge_protocol::dialect::{self, DecodeOptions, Decoder};
use selvedge_protocol::journal::Batch;
use selvedge_protocol::json::{Raw, from_utf8};
use selvedge_protocol::record::Record;
use selvedge_protocol::time;
use selvedge_store::Entry;

/// Puts batches together again. What an append says of its records stands by itself, so it begins
/// anew with every append; entries must come in order and from the start of an append.
pub(crate) struct Retelling {
    decoder: Box<dyn Decoder>,
    line: String,
    /// The first entry of the record that is being gathered, and which of its events pass.
    first: Option<u64>,
    passed: Vec<bool>,
    /// The thread, where the event that says so may not be seen: the next one says it.
    context: Option<Raw<'static>>,
}

impl Retelling {
    pub(crate) fn new() -> Self {
        Self {
            decoder: journal(),
            line: String::new(),
            first: None,
            passed: Vec::new(),
            context: None,
        }
    }

    /// Takes in an entry, which the reader may see or not. Where it completes a record, passes the
    /// record's batch on and gives its first entry.
    pub(crate) fn entry(
        &mut self,
        entry: &Entry,
        passes: bool,
        sink: &mut dyn FnMut(&Batch<'_>),
    ) -> Option<u64> {
        if entry.append == entry.seq {
            self.decoder = journal();
            self.first = None;
            self.passed.clear();
            self.context = None;
        }
        self.first.get_or_insert(entry.seq);
        self.passed.push(passes);
        write_line(entry, &mut self.line);
        let Self { decoder, line, passed, context, .. } = self;
        let mut complete = false;
        decoder.record(Record::alone(line), &mut |mut batch| {
            complete = true;
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
            sink(&batch);
        });
        if !complete {
            return None;
        }
        self.passed.clear();
        self.first.take()
    }
}

/// The entry as a line of a journal.
fn write_line(entry: &Entry, out: &mut String) {
    use std::fmt::Write as _;
    out.clear();
    let at = time::from_millis(entry.at).unwrap_or_default();
    let event = from_utf8(&entry.event).unwrap_or("{}");
    let _ = write!(out, "{{\"seq\":{},\"at\":\"{at}\",\"event\":{event}", entry.seq);
    if let Some(source) = &entry.source {
        out.push_str(",\"source\":");
        out.push_str(from_utf8(source).unwrap_or("null"));
    }
    out.push('}');
}

fn journal() -> Box<dyn Decoder> {
    (dialect::journal::DIALECT.decoder)(&DecodeOptions::default())
}
