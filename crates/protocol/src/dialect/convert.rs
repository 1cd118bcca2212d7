//! Driving decoders and encoders: bytes in, batches through, bytes out.

use super::{DecodeOptions, Decoder, Dialect, EncodeOptions, Encoder, Made, Records};
use crate::journal::{Batch, Event, Kind};
use crate::json::{SyntaxError, SyntaxKind, from_utf8};
use crate::record::{Feeder, Framing, Role, Writer, split_parsed};
use crate::residue::{self, Frame};

/// Reads a whole source, passing on batch after batch.
pub fn decode(
    dialect: &Dialect,
    options: &DecodeOptions,
    source: &str,
    mut sink: impl FnMut(Batch<'_>),
) {
    let mut decoder = (dialect.decoder)(options);
    split_parsed(dialect.framing, source, |record, doc| match doc {
        Some(doc) => decoder.parsed(record, doc, &mut sink),
        None => decoder.record(record, &mut sink),
    });
    decoder.finish(&mut sink);
}

/// Reads a source as its bytes arrive.
pub struct Decoding {
    decoder: Box<dyn Decoder>,
    feeder: Feeder,
    framing: Framing,
    pending: Vec<u8>,
    /// Do not look again before this many bytes are pending.
    wait: usize,
}

/// From this size on, a record that is not complete is looked at again only when twice as much
/// of it has arrived, so that reading a huge one takes time in proportion to its size.
const LARGE: usize = 1 << 20;

impl Decoding {
    /// Begins to read.
    pub fn new(dialect: &Dialect, options: &DecodeOptions) -> Self {
        Self {
            decoder: (dialect.decoder)(options),
            feeder: Feeder::new(dialect.framing),
            framing: dialect.framing,
            pending: Vec::new(),
            wait: 0,
        }
    }

    /// Reads more bytes and passes on what is complete. A large record is looked at only now and
    /// then; without any bytes, at once.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut sink: impl FnMut(Batch<'_>),
    ) -> Result<(), SyntaxError> {
        self.pending.extend_from_slice(bytes);
        let wait = if bytes.is_empty() { 0 } else { self.wait };
        if self.framing == Framing::Document || self.pending.len() < wait {
            return Ok(());
        }
        let text = valid_prefix(&self.pending)?;
        let decoder = &mut self.decoder;
        let used = self.feeder.feed_parsed(text, |record, doc| match doc {
            Some(doc) => decoder.parsed(record, doc, &mut sink),
            None => decoder.record(record, &mut sink),
        });
        self.pending.drain(..used);
        self.wait = if self.pending.len() >= LARGE { self.pending.len() * 2 } else { 0 };
        Ok(())
    }

    /// Bytes held because the record they belong to is not complete.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The source has ended.
    pub fn finish(mut self, mut sink: impl FnMut(Batch<'_>)) -> Result<(), SyntaxError> {
        let text = from_utf8(&self.pending)
            .map_err(|e| SyntaxError { at: e.valid_up_to(), kind: SyntaxKind::NotUtf8 })?;
        let decoder = &mut self.decoder;
        self.feeder.end(text, |record| decoder.record(record, &mut sink));
        self.decoder.finish(&mut sink);
        Ok(())
    }
}

/// Whether an event says, as an envelope, what its task has said in its own events.
fn says_again(event: &Event<'_>) -> bool {
    event.kind() == Kind::Message && event.get("answers").is_some()
}

/// The text at hand, less a character whose last bytes have not arrived.
fn valid_prefix(bytes: &[u8]) -> Result<&str, SyntaxError> {
    match from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(e) if e.error_len().is_none() => {
            let valid = bytes.get(..e.valid_up_to()).unwrap_or(&[]);
            Ok(from_utf8(valid).unwrap_or(""))
        }
        Err(e) => Err(SyntaxError { at: e.valid_up_to(), kind: SyntaxKind::NotUtf8 }),
    }
}

/// Writes batches in a dialect: replays frames of its own, encodes the rest.
pub struct Encoding {
    dialect: &'static Dialect,
    encoder: Box<dyn Encoder>,
    writer: Writer,
    replay: Replay,
    records: Records,
    scratch: String,
    /// Whether the encoder was given events since the last record that was replayed.
    encoded: bool,
}

/// Whether the dialect's own frames are written as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replay {
    Frames,
    /// A version was asked for, so everything is written anew for it.
    Nothing,
}

impl Encoding {
    /// Begins to write.
    pub fn new(dialect: &'static Dialect, options: &EncodeOptions) -> Self {
        Self {
            dialect,
            encoder: (dialect.encoder)(options),
            writer: Writer::new(dialect.framing),
            replay: if options.anew() { Replay::Nothing } else { Replay::Frames },
            records: Records::default(),
            scratch: String::new(),
            encoded: false,
        }
    }

    /// Writes a batch.
    pub fn batch(&mut self, batch: &Batch<'_>, out: &mut Vec<u8>) {
        let own = batch
            .frame
            .as_ref()
            .filter(|frame| self.replay == Replay::Frames && frame.dialect == self.dialect.id);
        if let Some(frame) = own {
            // Nothing stands before a document's head.
            if self.encoded && frame.role != Role::Head {
                self.encoded = false;
                self.encoder.pause(&mut self.records);
                self.flush(out);
            }
            if self.replay(frame, batch, out) {
                self.encoder.observe(batch);
                return;
            }
        }
        self.encoded |= !batch.events.is_empty();
        let again = batch.events.iter().any(says_again) && !self.dialect.speaks_envelopes();
        if again {
            let mut rest = batch.clone();
            rest.retain(|at| !batch.events.get(at).is_some_and(says_again));
            self.encoder.batch(&rest, &mut self.records);
        } else {
            self.encoder.batch(batch, &mut self.records);
        }
        self.flush(out);
    }

    /// Writes a record from its frame; `false` if its events no longer have all it takes.
    fn replay(&mut self, frame: &Frame<'_>, batch: &Batch<'_>, out: &mut Vec<u8>) -> bool {
        let glue = frame.glue.as_deref();
        if frame.role == Role::Item {
            let before = out.len();
            self.writer.before_item(glue, out);
            let start = out.len();
            if residue::render(frame, &batch.events, out).is_ok() {
                self.writer.after_item(out.get(start));
                return true;
            }
            out.truncate(before);
            self.writer.undo_item();
            return false;
        }
        self.scratch.clear();
        if residue::render(frame, &batch.events, &mut self.scratch).is_err() {
            return false;
        }
        self.writer.record(frame.role, glue, &self.scratch, out);
        true
    }

    /// Writes the end of the output.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.encoder.finish(&mut self.records);
        self.flush(out);
        self.writer.finish(out);
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        for Made { role, glue, body } in self.records.drain() {
            let there = match role {
                Role::Head => self.writer.headed(),
                Role::Tail => self.writer.tailed(),
                Role::Item => false,
            };
            if role == Role::Item {
                self.writer.item(glue.as_deref(), &body, out);
            } else if !there {
                self.writer.record(role, None, &body, out);
            }
        }
    }
}
