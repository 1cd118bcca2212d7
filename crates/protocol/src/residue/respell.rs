//! Templates of a text that the record spells differently: a JSON value spread over several lines
//! of a server-sent event.

use std::collections::HashMap;
use std::sync::Arc;

use super::shape::{Frame, Instance, Shape, Slot};
use crate::json::Raw;

/// Spells the literal text of frames anew, and keeps the shapes they share.
#[derive(Debug, Default)]
pub struct Respelled {
    /// By the shape they were made from, which is kept so that its address stays its own.
    shapes: HashMap<usize, (Arc<Shape>, Arc<Shape>)>,
    key: (String, String, String),
}

impl Respelled {
    /// The frame of `before`, the frame's text with `between` for each line feed, and `after`. The
    /// values of events have no line feeds; what does is literal.
    pub fn frame(
        &mut self,
        frame: &Frame<'_>,
        before: &str,
        between: &str,
        after: &str,
    ) -> Frame<'static> {
        let key = (before.to_owned(), between.to_owned(), after.to_owned());
        if self.key != key {
            self.key = key;
            self.shapes.clear();
        }
        let mut root = self.instance(&frame.root);
        // The root's shape is its own: what stands around it is part of no other.
        let shape = &*root.shape;
        let mut chunks = shape.chunks.clone();
        if let Some(first) = chunks.first_mut() {
            *first = format!("{before}{first}").into();
        }
        if let Some(last) = chunks.last_mut() {
            *last = format!("{last}{after}").into();
        }
        let around = Shape { number: None, chunks, slots: shape.slots.clone() };
        let known = self.shapes.values().map(|(_, shape)| shape).find(|shape| ***shape == around);
        root.shape = match known {
            Some(known) => known.clone(),
            None => {
                let around = Arc::new(around);
                self.shapes.insert(Arc::as_ptr(&around) as usize, (around.clone(), around.clone()));
                around
            }
        };
        Frame { root, ..frame.to_owned() }
    }

    fn instance(&mut self, of: &Instance<'_>) -> Instance<'static> {
        let between = self.key.1.clone();
        let spell = |text: &str| text.replace('\n', &between);
        let shape = self.shape(&of.shape);
        Instance {
            shape,
            base: of.base,
            leaves: of.leaves.iter().map(|(i, raw)| (*i, Raw::owned(spell(raw)))).collect(),
            lists: of
                .lists
                .iter()
                .map(|list| list.iter().map(|item| self.instance(item)).collect())
                .collect(),
        }
    }

    fn shape(&mut self, shape: &Arc<Shape>) -> Arc<Shape> {
        if let Some((_, known)) = self.shapes.get(&(Arc::as_ptr(shape) as usize)) {
            return known.clone();
        }
        let between = &self.key.1;
        let spell = |text: &str| -> Box<str> { text.replace('\n', between).into() };
        let slot = |slot: &Slot| match slot {
            Slot::Leaf { default, leaf, pointer } => {
                Slot::Leaf { default: spell(default), leaf: *leaf, pointer: pointer.clone() }
            }
            Slot::List { open, between, close, pointer } => Slot::List {
                open: spell(open),
                between: spell(between),
                close: spell(close),
                pointer: pointer.clone(),
            },
            bound => bound.clone(),
        };
        let made = Arc::new(Shape {
            number: None,
            chunks: shape.chunks.iter().map(|chunk| spell(chunk)).collect(),
            slots: shape.slots.iter().map(slot).collect(),
        });
        self.shapes.insert(Arc::as_ptr(shape) as usize, (shape.clone(), made.clone()));
        made
    }
}
