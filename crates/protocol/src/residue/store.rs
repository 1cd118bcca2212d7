//! Frames and shapes as JSON, for journals and for ThreadProtocol documents.
//!
//! Invariant: what is written survives any JSON reader and writer. A literal whose spelling others
//! would change is written as `{"raw":"…"}`, everything else as the value itself.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use super::shape::{Codec, Instance, Leaf, Shape, Slot};
use crate::json::{Doc, INNER_DEPTH, Node, Raw, is_stable, push_escaped};

/// Writes a literal. One that is deeply nested is written as text, so that what it stands in is not
/// nested too deeply to be read.
pub fn write_value(literal: &str, out: &mut String) {
    let native = Doc::parse_within(literal, INNER_DEPTH).is_ok_and(|doc| {
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

/// Writes instances by their shapes' numbers, and each shape once, where it is first used.
///
/// Shapes that were read from a journal keep their numbers; others are numbered in the order they
/// are first used.
#[derive(Debug, Default)]
pub struct ShapeWriter {
    /// By address: the shapes themselves are held below.
    ids: HashMap<usize, u32>,
    /// The shape that has a number now. Keeping it alive keeps its address its own.
    holders: HashMap<u32, Arc<Shape>>,
    next: u32,
    /// Used, but not written yet.
    new: Vec<u32>,
    /// Written already, in lines that were kept as they are.
    elsewhere: HashSet<u32>,
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
        if let Some(id) = self.ids.get(&address(shape)) {
            return *id;
        }
        let id = shape.number.unwrap_or(self.next);
        self.next = self.next.max(id.saturating_add(1));
        self.ids.insert(address(shape), id);
        // A number may be given again: from there on it is the later shape's.
        if let Some(before) = self.holders.insert(id, shape.clone()) {
            self.ids.remove(&address(&before));
        }
        if shape.number.is_none() || !self.elsewhere.remove(&id) {
            self.new.push(id);
        }
        id
    }

    /// Takes note of a line that was kept as it is: the numbers it uses, and those it defines.
    pub fn elsewhere(&mut self, frame: Option<Node<'_, '_>>, shapes: Option<Node<'_, '_>>) {
        let mut id = self.next;
        for node in shapes.into_iter().flat_map(Node::children) {
            match number(node) {
                Some(number) => id = number,
                None => {
                    self.elsewhere.insert(id);
                    id = id.saturating_add(1);
                }
            }
        }
        let used = frame.map_or(0, highest);
        self.next = self.next.max(id).max(used);
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
        !self.new.is_empty()
    }

    /// Writes the shapes not written yet, as array elements; with numbers, where a shape does not
    /// follow the one before and before the first.
    pub fn new_shapes(&mut self, numbers: Numbers, out: &mut String) {
        let mut last = None;
        for (i, id) in std::mem::take(&mut self.new).into_iter().enumerate() {
            out.push_str(if i > 0 { "," } else { "" });
            if numbers == Numbers::Written && (i == 0 || last != id.checked_sub(1)) {
                let _ = write!(out, "{id},");
            }
            if let Some(shape) = self.holders.get(&id) {
                write_shape(shape, out);
            }
            last = Some(id);
        }
    }
}

/// Whether shapes are written with their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// They are, so that a part of the text can be read without the rest.
    Written,
    /// They are not: all shapes are in one place, in order.
    Implied,
}

fn address(shape: &Arc<Shape>) -> usize {
    Arc::as_ptr(shape) as usize
}

/// The shape number that a node is.
fn number(node: Node<'_, '_>) -> Option<u32> {
    u32::try_from(node.i64()?).ok()
}

/// One more than the highest number of a shape that an instance uses.
fn highest(instance: Node<'_, '_>) -> u32 {
    let own = instance.children().next().and_then(number).map_or(0, |n| n.saturating_add(1));
    let lists = instance.children().nth(3).into_iter().flat_map(Node::children);
    lists.flat_map(Node::children).map(highest).fold(own, u32::max)
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

/// So many numbers may be left out before a shape.
const MAX_GAP: usize = 1 << 20;

/// Reads shapes and instances back.
#[derive(Debug, Default)]
pub struct ShapeReader {
    shapes: Vec<Option<Arc<Shape>>>,
    /// The number of the next shape that is defined without one.
    next: usize,
    values: Vec<Raw<'static>>,
}

impl ShapeReader {
    /// Adds the shapes of an array; a number among them is that of the next. `None` if it is
    /// anything else.
    pub fn define(&mut self, array: Node<'_, '_>) -> Option<()> {
        for node in array.children() {
            if let Some(number) = number(node) {
                self.next = number as usize;
                continue;
            }
            // A part of a journal may begin late, but not anywhere.
            if self.next > self.shapes.len() + MAX_GAP {
                return None;
            }
            if self.next >= self.shapes.len() {
                self.shapes.resize(self.next + 1, None);
            }
            let number = u32::try_from(self.next).ok();
            let shape = Arc::new(Shape { number, ..read_shape(node)? });
            *self.shapes.get_mut(self.next)? = Some(shape);
            self.next += 1;
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
        let shape = self.shapes.get(number(parts.next()?)? as usize)?.clone()?;
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
    (chunks.len() == slots.len() + 1).then_some(Shape { number: None, chunks, slots })
}
