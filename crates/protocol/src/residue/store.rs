//! Frames and shapes as JSON, for journals and for ThreadProtocol documents.
//!
//! Invariant: what is written survives any JSON reader and writer. A literal whose spelling others
//! would change is written as `{"raw":"…"}`, everything else as the value itself.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::shape::{Codec, Instance, Leaf, Shape, Slot};
use crate::json::{Doc, Node, Raw, is_stable, push_escaped};

/// Writes a literal.
pub fn write_value(literal: &str, out: &mut String) {
    let native = Doc::parse(literal).is_ok_and(|doc| {
        let root = doc.root();
        root.raw().len() == literal.len() && root.get("raw").is_none() && is_stable(root)
    });
    if native {
        out.push_str(literal);
    } else {
        out.push_str("{\"raw\":\"");
        push_escaped(literal, out);
        out.push_str("\"}");
    }
}

/// Reads a literal back.
pub fn read_value<'a>(node: Node<'_, 'a>) -> Option<Raw<'a>> {
    if node.is_object()
        && let Some(raw) = node.get("raw")
    {
        return Some(Raw::owned(raw.str()?.as_ref()));
    }
    // Re-printed by another writer, perhaps: back to the compact form it was written in.
    if is_stable(node) {
        return Some(Raw::Ref(node.raw()));
    }
    let mut out = String::new();
    crate::json::print(node, crate::json::Style::Compact, &mut out);
    Some(Raw::owned(out))
}

/// Numbers shapes in the order they are first used, and writes instances by number.
#[derive(Debug, Default)]
pub struct ShapeWriter {
    /// By address: the shapes themselves are held below.
    ids: HashMap<usize, u32>,
    shapes: Vec<Arc<Shape>>,
    written: usize,
    /// Literals that are used several times, by number.
    values: HashMap<String, u32>,
}

impl ShapeWriter {
    /// Literals to write by number from here on. Their order is the numbering.
    pub fn intern_values(&mut self, values: impl Iterator<Item = String>) {
        self.values = values.zip(0..).collect();
    }

    /// The shape's number; new shapes are remembered until written.
    pub fn id(&mut self, shape: &Arc<Shape>) -> u32 {
        let next = self.shapes.len() as u32;
        let id = *self.ids.entry(Arc::as_ptr(shape) as usize).or_insert(next);
        if id == next {
            // Keeping the shape alive keeps its address its own.
            self.shapes.push(shape.clone());
        }
        id
    }

    /// Writes an instance: `[shape, base, [slot, literal, …], [[item, …], …]]`, short where it
    /// can be.
    pub fn instance(&mut self, of: &Instance<'_>, out: &mut String) {
        let _ = write!(out, "[{}", self.id(&of.shape));
        let lists = !of.lists.is_empty();
        let leaves = lists || !of.leaves.is_empty();
        if leaves || of.base > 0 {
            let _ = write!(out, ",{}", of.base);
        }
        if leaves {
            out.push_str(",[");
            for (i, (slot, literal)) in of.leaves.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                match self.values.get(literal.as_str()) {
                    // A negative slot: the literal is given by number.
                    Some(number) => {
                        let _ = write!(out, "{},{number}", -1 - i64::from(*slot));
                    }
                    None => {
                        let _ = write!(out, "{slot},");
                        write_value(literal, out);
                    }
                }
            }
            out.push(']');
        }
        if lists {
            out.push_str(",[");
            for (i, list) in of.lists.iter().enumerate() {
                out.push_str(if i > 0 { ",[" } else { "[" });
                for (j, item) in list.iter().enumerate() {
                    if j > 0 {
                        out.push(',');
                    }
                    self.instance(item, out);
                }
                out.push(']');
            }
            out.push(']');
        }
        out.push(']');
    }

    /// Whether there are shapes that were used but not written yet.
    pub fn has_new(&self) -> bool {
        self.written < self.shapes.len()
    }

    /// Writes the shapes not written yet, as array elements.
    pub fn new_shapes(&mut self, out: &mut String) {
        for (i, shape) in self.shapes.iter().skip(self.written).enumerate() {
            if i > 0 {
                out.push(',');
            }
            write_shape(shape, out);
        }
        self.written = self.shapes.len();
    }
}

fn pointer_field(pointer: &str, out: &mut String) {
    if !pointer.is_empty() {
        string_field("at", pointer, out);
    }
}

fn string_field(name: &str, value: &str, out: &mut String) {
    let _ = write!(out, ",\"{name}\":\"");
    push_escaped(value, out);
    out.push('"');
}

/// Writes a shape: chunks and slots in turn.
fn write_shape(shape: &Shape, out: &mut String) {
    out.push('[');
    for (i, chunk) in shape.chunks.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push('"');
        push_escaped(chunk, out);
        out.push('"');
        let Some(slot) = shape.slots.get(i) else { continue };
        match slot {
            Slot::Leaf { default, leaf, pointer } => {
                out.push_str(match leaf {
                    Leaf::Only => ",{\"leaf\":",
                    Leaf::Implied => ",{\"implied\":",
                });
                write_value(default, out);
                pointer_field(pointer, out);
            }
            Slot::Bound { event, field, path, codec, pointer } => {
                let _ = write!(out, ",{{\"event\":{event}");
                string_field("field", field, out);
                if !path.is_empty() {
                    string_field("path", path, out);
                }
                if *codec != Codec::Same {
                    string_field("codec", &codec.name(), out);
                }
                pointer_field(pointer, out);
            }
            Slot::List { open, between, close, pointer } => {
                out.push_str(",{\"list\":[");
                for (i, text) in [open, between, close].into_iter().enumerate() {
                    out.push_str(if i > 0 { ",\"" } else { "\"" });
                    push_escaped(text, out);
                    out.push('"');
                }
                out.push(']');
                pointer_field(pointer, out);
            }
        }
        out.push('}');
    }
    out.push(']');
}

/// Reads shapes and instances back.
#[derive(Debug, Default)]
pub struct ShapeReader {
    shapes: Vec<Arc<Shape>>,
    values: Vec<Raw<'static>>,
}

impl ShapeReader {
    /// Adds the shapes of an array, in order. `None` if it is not one.
    pub fn define(&mut self, array: Node<'_, '_>) -> Option<()> {
        for node in array.children() {
            self.shapes.push(Arc::new(read_shape(node)?));
        }
        Some(())
    }

    /// The literals that are given by number. `None` if it is not an array of them.
    pub fn define_values(&mut self, array: Node<'_, '_>) -> Option<()> {
        for node in array.children() {
            self.values.push(read_value(node)?.to_owned());
        }
        Some(())
    }

    /// Reads an instance.
    pub fn instance<'a>(&self, node: Node<'_, 'a>) -> Option<Instance<'a>> {
        let mut parts = node.children();
        let shape = self.shapes.get(usize::try_from(parts.next()?.i64()?).ok()?)?.clone();
        let base = match parts.next() {
            Some(base) => u16::try_from(base.i64()?).ok()?,
            None => 0,
        };
        let mut leaves = Vec::new();
        if let Some(list) = parts.next() {
            let mut items = list.children();
            while let (Some(slot), Some(value)) = (items.next(), items.next()) {
                let slot = slot.i64()?;
                if slot < 0 {
                    let literal = self.values.get(usize::try_from(value.i64()?).ok()?)?;
                    leaves.push((u16::try_from(-1 - slot).ok()?, literal.clone()));
                } else {
                    leaves.push((u16::try_from(slot).ok()?, read_value(value)?));
                }
            }
        }
        let mut lists = Vec::new();
        if let Some(all) = parts.next() {
            for list in all.children() {
                let items: Option<Vec<_>> = list.children().map(|n| self.instance(n)).collect();
                lists.push(items?);
            }
        }
        Some(Instance { shape, base, leaves, lists })
    }
}

fn read_shape(node: Node<'_, '_>) -> Option<Shape> {
    let boxed = |n: Node<'_, '_>| n.str().map(|s| s.into_owned().into_boxed_str());
    let text = |n: Node<'_, '_>, key: &str| match n.get(key) {
        Some(v) => boxed(v),
        None => Some("".into()),
    };
    let mut chunks = Vec::new();
    let mut slots = Vec::new();
    for part in node.children() {
        if part.is_string() {
            chunks.push(boxed(part)?);
            continue;
        }
        let pointer = text(part, "at")?;
        slots.push(if let Some(list) = part.get("list") {
            let mut texts = list.children().filter_map(boxed);
            Slot::List {
                open: texts.next()?,
                between: texts.next()?,
                close: texts.next()?,
                pointer,
            }
        } else if let Some(event) = part.get("event") {
            Slot::Bound {
                event: u16::try_from(event.i64()?).ok()?,
                field: text(part, "field")?,
                path: text(part, "path")?,
                codec: match part.get("codec") {
                    Some(name) => Codec::named(&name.str()?)?,
                    None => Codec::Same,
                },
                pointer,
            }
        } else {
            let (leaf, value) = match part.get("leaf") {
                Some(value) => (Leaf::Only, value),
                None => (Leaf::Implied, part.get("implied")?),
            };
            Slot::Leaf { default: read_value(value)?.as_str().into(), leaf, pointer }
        });
    }
    (chunks.len() == slots.len() + 1).then_some(Shape { chunks, slots })
}
