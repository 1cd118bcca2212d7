//! From records to JSON values, for the dialects whose records are one JSON value each.

use super::{Decoder, Id};
use crate::journal::{Batch, Event};
use crate::json::{Doc, Node};
use crate::record::{Record, Role};
use crate::residue::{Marks, Shapes};
use crate::sse;

/// A dialect's reading of one JSON value.
pub trait ReadJson {
    /// Whose it is.
    const ID: Id;

    /// Appends what the value means, and marks which of its values the events hold.
    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>);

    /// Appends what the end of the source means.
    fn finish(&mut self, _events: &mut Vec<Event<'static>>) {}
}

/// Reads records that are JSON values, bare or as the data of a server-sent event.
#[derive(Debug, Default)]
pub struct JsonRecords<R> {
    reader: R,
    shapes: Shapes,
    marks: Marks,
}

impl<R: ReadJson> JsonRecords<R> {
    /// A decoder around a reader.
    pub fn new(reader: R) -> Self {
        Self { reader, shapes: Shapes::new(), marks: Marks::new() }
    }

    fn json<'a>(&mut self, record: Record<'a>, data: sse::Data<'a>) -> Batch<'a> {
        let literal = |shapes: &mut Shapes| Batch {
            events: Vec::new(),
            frame: Some(shapes.literal(R::ID, record)),
        };
        let (offset, text) = match data {
            sse::Data::Line { offset, text } => (offset, text),
            sse::Data::Joined(text) => {
                // Spread over several lines: the events are read, the record is kept as it is.
                let mut batch = literal(&mut self.shapes);
                if let Ok(doc) = Doc::parse(&text) {
                    let mut events = Vec::new();
                    self.marks.clear();
                    self.reader.read(doc.root(), &mut self.marks, &mut events);
                    batch.events = events.iter().map(Event::to_owned).collect();
                }
                return batch;
            }
            sse::Data::None => return literal(&mut self.shapes),
        };
        let Ok(doc) = Doc::parse(text) else { return literal(&mut self.shapes) };
        let mut events = Vec::new();
        self.marks.clear();
        self.reader.read(doc.root(), &mut self.marks, &mut events);
        for event in &mut events {
            event.single_line();
        }
        // Ids and retry times differ from event to event; everything else before the data repeats.
        let mut before = Vec::new();
        let head = record.body.get(..offset).unwrap_or("");
        if !matches!(head, "" | "data: ") {
            before.extend(
                sse::fields(head)
                    .filter(|f| f.name != "data" && f.name != "event" && !f.value.is_empty())
                    .map(|f| f.offset..f.offset + f.value.len()),
            );
        }
        let marks = &mut self.marks;
        let frame = self.shapes.frame(R::ID, record, offset, &before, &doc, marks, &events);
        Batch { events, frame: Some(frame) }
    }
}

impl<R: ReadJson> Decoder for JsonRecords<R> {
    fn record(&mut self, record: Record<'_>, sink: &mut dyn FnMut(Batch<'_>)) {
        if record.role == Role::Tail {
            sink(Batch { events: Vec::new(), frame: Some(self.shapes.literal(R::ID, record)) });
            return;
        }
        let data = if record.body.starts_with(['{', '[', '"']) {
            sse::Data::Line { offset: 0, text: record.body }
        } else {
            sse::data(record.body)
        };
        sink(self.json(record, data));
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Batch<'_>)) {
        let mut events = Vec::new();
        self.reader.finish(&mut events);
        if !events.is_empty() {
            sink(Batch::native(events));
        }
    }
}
