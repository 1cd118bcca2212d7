//! Journal lines to events.

use crate::dialect::{self, DecodeOptions, Decoder};
use crate::journal::{Batch, Event, Kind};
use crate::json::{Doc, Node, Raw};
use crate::record::{Record, Role};
use crate::residue::{Frame, ShapeReader};

/// Reads entries, putting batches together again.
pub(super) struct Reader {
    shapes: ShapeReader,
    /// A batch whose later events have not arrived, and how many are missing.
    open: Option<(Batch<'static>, usize)>,
    context: Option<String>,
}

impl Reader {
    pub(super) fn new(_options: &DecodeOptions) -> Self {
        Self { shapes: ShapeReader::default(), open: None, context: None }
    }

    /// The event, with the context taken off again where the writer stamped it.
    fn event<'a>(&mut self, node: Node<'_, 'a>) -> Option<Event<'a>> {
        let kind = node.get("kind")?.str()?;
        let mut event = Event::named(kind);
        for (key, value) in node.members() {
            if key.is("kind") {
                continue;
            }
            if key.is("contextId") && event.kind() != Kind::ThreadCreated {
                if self.context.as_deref() == Some(value.raw()) {
                    continue;
                }
                self.context.get_or_insert_with(|| value.raw().to_owned());
            } else if key.is("contextId") {
                self.context.get_or_insert_with(|| value.raw().to_owned());
            }
            event.set(key.str()?, Raw::Ref(value.raw()));
        }
        Some(event)
    }

    fn frame<'a>(&mut self, source: Node<'_, 'a>) -> Option<Frame<'a>> {
        if let Some(shapes) = source.get("shapes") {
            self.shapes.define(shapes)?;
        }
        Some(Frame {
            dialect: dialect::named(&source.get("dialect")?.str()?)?.id,
            glue: match source.get("glue") {
                Some(glue) => Some(Raw::owned(glue.str()?.as_ref())),
                None => None,
            },
            role: match source.get("role") {
                Some(role) => Role::named(&role.str()?)?,
                None => Role::Item,
            },
            root: self.shapes.instance(source.get("frame")?)?,
        })
    }
}

impl Decoder for Reader {
    fn record(&mut self, record: Record<'_>, sink: &mut dyn FnMut(Batch<'_>)) {
        let Ok(doc) = Doc::parse(record.body) else { return };
        let root = doc.root();
        let Some(event) = root.get("event").and_then(|node| self.event(node)) else { return };
        if let Some((mut batch, missing)) = self.open.take() {
            batch.events.push(event.to_owned());
            if missing > 1 {
                self.open = Some((batch, missing - 1));
            } else {
                sink(batch);
            }
            return;
        }
        let source = root.get("source");
        let frame = source.and_then(|source| self.frame(source));
        let events = source
            .and_then(|s| s.get("events"))
            .and_then(|n| usize::try_from(n.i64()?).ok())
            .unwrap_or(1);
        let batch = match events {
            0 => Batch { events: Vec::new(), frame },
            _ => Batch { events: vec![event], frame },
        };
        if events > 1 {
            self.open = Some((batch.to_owned(), events - 1));
        } else {
            sink(batch);
        }
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Batch<'_>)) {
        // A journal that ends inside a batch: its events still count.
        if let Some((batch, _)) = self.open.take() {
            sink(Batch::native(batch.events));
        }
    }
}
