//! The dialects: one folder per protocol, one line each in [`ALL`].
//!
//! A dialect decodes records of its protocol to events and encodes events to records. Byte
//! identity within a dialect is not its business: the residue engine replays the frames that
//! decoding left, and asks the dialect's encoder only for events that have none of its own.

pub mod a2a;
mod adapter;
pub mod ag_ui;
pub mod agent_api;
mod ai_sdk;
pub mod ai_sdk_messages;
pub mod ai_sdk_stream;
pub mod aitp;
mod document;
mod draft;
pub mod envelope;
pub mod journal;
pub mod looopy;
pub mod openai_threads;
pub mod pydantic_ai;
pub mod thread_protocol;

mod convert;
mod object;
mod opening;
mod options;

pub use adapter::{JsonRecords, ReadJson};
pub use convert::{Decoding, Encoding, decode};
pub use document::{Documents, ReadDocument};
pub use opening::Opening;
pub use options::{DecodeOptions, EncodeOptions, Frames, Start, Target};

use crate::journal::{Batch, Event};
use crate::json::{Doc, LINE_DEPTH, MAX_DEPTH, SOURCE_DEPTH};
use crate::record::{Framing, Record, Role};
use crate::validate::Validator;

/// Which dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is described in its registry entry")]
pub enum Id {
    ThreadProtocol,
    Aitp,
    OpenaiThreads,
    Envelope,
    Looopy,
    AgentApi,
    A2a,
    AiSdkStream,
    AiSdkMessages,
    PydanticAi,
    AgUi,
    Journal,
}

impl Id {
    /// The dialect's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThreadProtocol => "thread-protocol",
            Self::Aitp => "aitp",
            Self::OpenaiThreads => "openai-threads",
            Self::Envelope => "envelope",
            Self::Looopy => "looopy",
            Self::AgentApi => "agent-api",
            Self::A2a => "a2a",
            Self::AiSdkStream => "ai-sdk-stream",
            Self::AiSdkMessages => "ai-sdk-messages",
            Self::PydanticAi => "pydantic-ai",
            Self::AgUi => "ag-ui",
            Self::Journal => "journal",
        }
    }
}

/// A protocol's codec: its entry in the registry.
pub struct Dialect {
    /// Which one.
    pub id: Id,
    /// What it is, in one line.
    pub about: &'static str,
    /// Versions that can be asked for when writing, newest first.
    pub versions: &'static [&'static str],
    /// How its records stand in a file.
    pub framing: Framing,
    /// Makes a decoder for one source.
    pub decoder: fn(&DecodeOptions) -> Box<dyn Decoder>,
    /// Makes an encoder for one output.
    pub encoder: fn(&EncodeOptions) -> Box<dyn Encoder>,
    /// Makes a validator for one source.
    pub validator: fn() -> Box<dyn Validator>,
    /// Whether other dialects' frames travel inside it.
    pub carrier: Carrier,
    /// How sure it is that a source, by its beginning, is its own: 0 (no) to 100.
    pub detect: fn(&str) -> u8,
    /// Which event fields its encoder tells in one way or another, for the loss report, which
    /// cannot trace fields that hold one of a few words.
    pub carries: fn(&Event<'_>, &str) -> bool,
}

impl Dialect {
    /// How deep the values of a source may be nested. What carries other dialects may be deeper
    /// than they, so that everything they say fits in.
    pub fn depth(&self, source: &str) -> usize {
        match self.id {
            Id::Journal => LINE_DEPTH,
            Id::ThreadProtocol if thread_protocol::carries_records(source) => MAX_DEPTH,
            _ => SOURCE_DEPTH,
        }
    }

    /// Whether it has a place for what a task said as an envelope, besides the task's own events.
    fn speaks_envelopes(&self) -> bool {
        self.id == Id::Envelope || self.carrier == Carrier::Frames
    }
}

/// Whether other dialects' frames travel inside a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// They do: nothing is lost on the way through.
    Frames,
    /// They do not.
    Nothing,
}

/// Reads records.
pub trait Decoder: Send {
    /// Reads one record and passes on what it means. A record that cannot be read is passed on
    /// as it is, without events.
    fn record(&mut self, record: Record<'_>, sink: &mut dyn FnMut(Batch<'_>));

    /// Reads one record whose value has been parsed on the way.
    fn parsed<'a>(&mut self, record: Record<'a>, _doc: &Doc<'a>, sink: &mut dyn FnMut(Batch<'_>)) {
        self.record(record, sink);
    }

    /// The source has ended.
    fn finish(&mut self, _sink: &mut dyn FnMut(Batch<'_>)) {}
}

/// Writes records for events that have no frame of the dialect.
pub trait Encoder: Send {
    /// Writes what the events say.
    fn batch(&mut self, batch: &Batch<'_>, out: &mut Records);

    /// Records of the dialect's own follow, replayed from their frames: writes what is held back,
    /// and ends what they are no part of, so that everything stands in order.
    fn pause(&mut self, _out: &mut Records) {}

    /// Takes note of events whose record is replayed from its frame.
    fn observe(&mut self, _batch: &Batch<'_>) {}

    /// Writes what is left to write.
    fn finish(&mut self, _out: &mut Records) {}
}

/// A record an encoder made.
#[derive(Debug)]
struct Made {
    role: Role,
    glue: Option<String>,
    body: String,
}

/// Records an encoder made, in order.
#[derive(Debug, Default)]
pub struct Records {
    list: Vec<Made>,
}

impl Records {
    /// Adds a record.
    pub fn item(&mut self, body: impl Into<String>) {
        self.item_after(None, body);
    }

    /// Adds a record with text of its own before it.
    pub fn item_after(&mut self, glue: Option<&str>, body: impl Into<String>) {
        let glue = glue.map(str::to_owned);
        self.list.push(Made { role: Role::Item, glue, body: body.into() });
    }

    /// Adds a document's head: everything up to its first item.
    pub fn head(&mut self, body: impl Into<String>) {
        self.list.push(Made { role: Role::Head, glue: None, body: body.into() });
    }

    /// Adds a document's tail: everything after its last item.
    pub fn tail(&mut self, body: impl Into<String>) {
        self.list.push(Made { role: Role::Tail, glue: None, body: body.into() });
    }

    fn drain(&mut self) -> impl Iterator<Item = Made> + '_ {
        self.list.drain(..)
    }
}

/// Every dialect.
pub const ALL: &[Dialect] = &[
    thread_protocol::DIALECT,
    aitp::DIALECT,
    openai_threads::DIALECT,
    envelope::DIALECT,
    looopy::DIALECT,
    agent_api::DIALECT,
    a2a::DIALECT,
    ai_sdk_stream::DIALECT,
    ai_sdk_messages::DIALECT,
    pydantic_ai::DIALECT,
    ag_ui::DIALECT,
    journal::DIALECT,
];

/// The dialect of that name.
pub fn named(name: &str) -> Option<&'static Dialect> {
    ALL.iter().find(|d| d.id.name() == name)
}

/// The dialect's registry entry.
pub fn get(id: Id) -> Option<&'static Dialect> {
    ALL.iter().find(|d| d.id == id)
}

/// The dialect a source is written in, judged by its beginning.
pub fn detect(head: &str) -> Option<&'static Dialect> {
    let head = head.trim_start_matches('\u{feff}');
    ALL.iter()
        .map(|d| ((d.detect)(head), d))
        .filter(|(score, _)| *score > 0)
        .max_by_key(|(score, _)| *score)
        .map(|(_, d)| d)
}
