//! From records to JSON values, for the dialects whose records are one JSON value each.

use super::{DecodeOptions, Decoder, Frames, Id};
use crate::journal::{Batch, Event, Unread, Why};
use crate::json::{Doc, Node, SOURCE_DEPTH, SyntaxKind};
use crate::record::{Record, Role};
use crate::residue::{Frame, Marks, Respelled, Shapes, render};
use crate::sse;

/// A dialect's reading of one JSON value.
pub trait ReadJson: Send {
    /// Whose it is.
    const ID: Id;

    /// Hears the server-sent event that the next value comes in; empty for a bare value.
    fn sse_lines(&mut self, _event: &str) {}

    /// Appends what the value means, and marks which of its values the events hold.
    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>);
}

/// Reads records that are JSON values, bare or as the data of a server-sent event.
#[derive(Debug)]
pub struct JsonRecords<R> {
    reader: R,
    shapes: Shapes,
    spread: Respelled,
    marks: Marks,
    frames: Frames,
}

impl<R: ReadJson> JsonRecords<R> {
    /// A decoder around a reader.
    pub fn new(reader: R, options: &DecodeOptions) -> Self {
        let frames = options.frames;
        Self {
            reader,
            shapes: Shapes::new(),
            spread: Respelled::default(),
            marks: Marks::of(frames),
            frames,
        }
    }

    fn json<'a>(&mut self, record: Record<'a>, data: sse::Data<'a>) -> Batch<'a> {
        let literal = |shapes: &mut Shapes| Batch::new(Vec::new(), shapes.literal(R::ID, record));
        let number = record.index + 1;
        let (offset, text) = match data {
            sse::Data::Line { offset, text } => (offset, text),
            sse::Data::Joined(text) => {
                return match Doc::parse_within(&text, SOURCE_DEPTH) {
                    Ok(doc) => self.spread(record, &text, &doc),
                    Err(e) => {
                        let frame = self.shapes.literal(R::ID, record);
                        Batch::unread(frame, number, Why::Syntax(e.kind))
                    }
                };
            }
            sse::Data::None => {
                let mut batch = literal(&mut self.shapes);
                if !sse::is_event(record.body) {
                    batch.unread = Some(Unread { number, why: Why::Foreign });
                }
                return batch;
            }
        };
        match Doc::parse_within(text, SOURCE_DEPTH) {
            Ok(doc) => self.value(record, offset, &doc),
            Err(_) if text.trim() == "[DONE]" => literal(&mut self.shapes),
            Err(e) => {
                let frame = self.shapes.literal(R::ID, record);
                Batch::unread(frame, number, Why::Syntax(e.kind))
            }
        }
    }

    /// Reads a record whose value is spread over several lines of data.
    fn spread<'a>(&mut self, record: Record<'a>, text: &str, doc: &Doc<'_>) -> Batch<'a> {
        let mut events = Vec::new();
        self.marks.clear();
        self.reader.read(doc.root(), &mut self.marks, &mut events);
        events.iter_mut().for_each(Event::single_line);
        if self.frames == Frames::Skip {
            let events = events.iter().map(Event::to_owned).collect();
            return Batch::new(events, self.shapes.hollow(R::ID, record));
        }
        let literal = self.shapes.literal(R::ID, record);
        // As a template if it is one, else as it is.
        let frame = sse::around(record.body).and_then(|(before, between, after)| {
            let whole = Record { body: text, glue: "", usual_glue: "", ..record };
            let frame = self.shapes.frame(R::ID, whole, 0, &[], doc, &mut self.marks, &events);
            let frame = self.spread.frame(&frame, before, between, after);
            let mut again = String::new();
            render(&frame, &events, &mut again).ok()?;
            (again == record.body).then(|| Frame { glue: literal.glue.clone(), ..frame })
        });
        let events = events.iter().map(Event::to_owned).collect();
        Batch::new(events, frame.unwrap_or(literal))
    }

    /// Reads a record whose value stands at a byte offset.
    fn value<'a>(&mut self, record: Record<'a>, offset: usize, doc: &Doc<'a>) -> Batch<'a> {
        let mut events = Vec::with_capacity(8);
        self.marks.clear();
        self.reader.read(doc.root(), &mut self.marks, &mut events);
        for event in &mut events {
            event.single_line();
        }
        if self.frames == Frames::Skip {
            return Batch::new(events, self.shapes.hollow(R::ID, record));
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
        let frame = self.shapes.frame(R::ID, record, offset, &before, doc, marks, &events);
        Batch::new(events, frame)
    }
}

impl<R: ReadJson> Decoder for JsonRecords<R> {
    fn record(&mut self, record: Record<'_>, sink: &mut dyn FnMut(Batch<'_>)) {
        if record.role == Role::Tail {
            let frame = self.shapes.literal(R::ID, record);
            sink(if record.ends_well() {
                Batch::new(Vec::new(), frame)
            } else {
                Batch::unread(frame, record.index + 1, Why::Syntax(SyntaxKind::UnexpectedEnd))
            });
            return;
        }
        if let Some(lines) = sse::unseparated(record.body) {
            for (i, body) in lines.enumerate() {
                let glue = if i == 0 { record.glue } else { "" };
                self.record(Record { glue, body, ..record }, sink);
            }
            return;
        }
        let data = if record.body.starts_with(['{', '[', '"']) {
            self.reader.sse_lines("");
            sse::Data::Line { offset: 0, text: record.body }
        } else {
            self.reader.sse_lines(record.body);
            sse::data(record.body)
        };
        sink(self.json(record, data));
    }

    fn parsed<'a>(&mut self, record: Record<'a>, doc: &Doc<'a>, sink: &mut dyn FnMut(Batch<'_>)) {
        self.reader.sse_lines("");
        sink(self.value(record, 0, doc));
    }
}
