//! From one document to its records, for the dialects that keep a thread in one JSON value.
//!
//! The document is cut into a head (all up to the first item), its items, and a tail, so that
//! items can be added to a document that was read and everything else stays as it was.

use super::{Decoder, Id};
use crate::journal::{Batch, Event, Why};
use crate::json::{Doc, Node, SOURCE_DEPTH};
use crate::record::{Framing, Record, Role};
use crate::residue::{Marks, Shapes};

/// A dialect's reading of a document.
pub trait ReadDocument: Send {
    /// Whose it is.
    const ID: Id;

    /// The array whose elements are the document's items.
    fn items<'d, 'a>(&self, root: Node<'d, 'a>) -> Option<Node<'d, 'a>>;

    /// Appends what the document says besides its items, and marks what the events hold of it.
    /// Only marks before the first item count.
    fn head<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>);

    /// Appends what an item means, and marks what the events hold of it.
    fn item<'a>(&mut self, item: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>);

    /// Marks, and appends events for, what comes after the last item.
    fn tail<'a>(&mut self, _root: Node<'_, 'a>, _marks: &mut Marks, _events: &mut Vec<Event<'a>>) {}
}

/// Reads documents.
#[derive(Debug, Default)]
pub struct Documents<R> {
    reader: R,
    shapes: Shapes,
    marks: Marks,
}

impl<R: ReadDocument> Documents<R> {
    /// A decoder around a reader.
    pub fn new(reader: R) -> Self {
        Self { reader, shapes: Shapes::new(), marks: Marks::new() }
    }

    fn document<'a>(&mut self, source: Record<'a>, doc: &Doc<'a>, sink: &mut dyn FnMut(Batch<'_>)) {
        let text = source.body;
        let root = doc.root();
        let items = self.reader.items(root).filter(|items| items.is_array());
        let first = items.and_then(|items| items.children().next());
        let last = items.and_then(|items| items.children().last());
        // An empty list is cut between its brackets, so that items can be added to it.
        let cut =
            first.or(items).map_or(text.len(), |node| node.start() + usize::from(first.is_none()));
        let after = last.map_or(cut, Node::end);

        let record = |role, range: std::ops::Range<usize>| Record {
            glue: "",
            usual_glue: "",
            body: text.get(range).unwrap_or(""),
            role,
            index: 0,
        };
        let marks = &mut self.marks;
        let mut events = Vec::new();
        marks.clear();
        self.reader.head(root, marks, &mut events);
        events.iter_mut().for_each(Event::single_line);
        let head = Record { glue: source.glue, ..record(Role::Head, 0..cut) };
        let frame = self.shapes.stretch(R::ID, head, doc, 0..cut, marks, &events);
        sink(Batch::new(events, frame));

        let mut end = cut;
        for (index, item) in items.into_iter().flat_map(Node::children).enumerate() {
            let record = Record {
                glue: text.get(end..item.start()).unwrap_or(""),
                usual_glue: Framing::Document.glue(index),
                body: item.raw(),
                role: Role::Item,
                index,
            };
            end = item.end();
            let mut events = Vec::new();
            marks.clear();
            self.reader.item(item, marks, &mut events);
            events.iter_mut().for_each(Event::single_line);
            let frame = self.shapes.value(R::ID, record, item, marks, &events);
            sink(Batch::new(events, frame));
        }

        // Also when it is empty: a document that was read needs no end of ours.
        let mut events = Vec::new();
        marks.clear();
        self.reader.tail(root, marks, &mut events);
        events.iter_mut().for_each(Event::single_line);
        let range = after..text.len();
        let tail = record(Role::Tail, range.clone());
        let frame = self.shapes.stretch(R::ID, tail, doc, range, marks, &events);
        sink(Batch::new(events, frame));
    }
}

impl<R: ReadDocument> Decoder for Documents<R> {
    fn record(&mut self, record: Record<'_>, sink: &mut dyn FnMut(Batch<'_>)) {
        match Doc::parse_within(record.body, SOURCE_DEPTH) {
            Ok(doc) => self.document(record, &doc, sink),
            Err(e) => {
                let head = Record { role: Role::Head, ..record };
                let frame = self.shapes.literal(R::ID, head);
                sink(Batch::unread(frame, 1, Why::Syntax(e.kind)));
                let tail = Record { role: Role::Tail, body: "", ..Record::alone("") };
                sink(Batch::new(Vec::new(), self.shapes.literal(R::ID, tail)));
            }
        }
    }
}
