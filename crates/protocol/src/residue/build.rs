//! Building a record's frame from what a decoder marked.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use super::render::field_text;
use super::shape::{Codec, Frame, Instance, Leaf, Shape, Slot};
use crate::dialect::Id;
use crate::journal::Event;
use crate::json::{Doc, Node, NodeKind, Raw};
use crate::record::Record;

/// What a decoder says about the values of a record.
///
/// Whatever is not marked is kept as a literal. The record's own object is always open.
#[derive(Debug, Default)]
pub struct Marks {
    marks: Vec<(u32, Mark)>,
}

#[derive(Debug, Clone)]
enum Mark {
    Open,
    List,
    Implied,
    Bound { event: u16, field: &'static str, path: Box<str>, codec: Codec },
}

impl Marks {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all marks.
    pub fn clear(&mut self) {
        self.marks.clear();
    }

    /// The members of this object are looked at one by one, not kept as one literal.
    pub fn open(&mut self, node: Node<'_, '_>) {
        self.marks.push((node.index(), Mark::Open));
    }

    /// The elements of this array are templates of their own.
    pub fn list(&mut self, node: Node<'_, '_>) {
        self.marks.push((node.index(), Mark::List));
    }

    /// The events say the same in other words, so no other dialect loses it.
    pub fn implied(&mut self, node: Node<'_, '_>) {
        self.marks.push((node.index(), Mark::Implied));
    }

    /// The value is the `field` of the record's event number `event`.
    pub fn bind(&mut self, node: Node<'_, '_>, event: usize, field: &'static str) {
        self.bound(node, event, field, "", Codec::Same);
    }

    /// The value stands inside the field, at a JSON pointer.
    pub fn bind_at(&mut self, node: Node<'_, '_>, event: usize, field: &'static str, path: &str) {
        self.bound(node, event, field, path, Codec::Same);
    }

    /// The value is a string that holds the field's JSON text.
    pub fn quoted(&mut self, node: Node<'_, '_>, event: usize, field: &'static str) {
        self.bound(node, event, field, "", Codec::Quoted);
    }

    fn bound(
        &mut self,
        node: Node<'_, '_>,
        event: usize,
        field: &'static str,
        path: &str,
        codec: Codec,
    ) {
        let event = u16::try_from(event).unwrap_or(u16::MAX);
        self.marks.push((node.index(), Mark::Bound { event, field, path: path.into(), codec }));
    }
}

/// Makes frames, and keeps the shapes they share.
#[derive(Debug, Default)]
pub struct Shapes {
    known: HashMap<u64, Vec<Arc<Shape>>, BuildHasherDefault<Mix>>,
    /// The shape used last, which in a stream is mostly the next one too.
    last: Option<Arc<Shape>>,
}

impl Shapes {
    /// No shapes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The frame of a record that is one JSON value, possibly with text around it.
    ///
    /// `doc` was parsed from `record.body` starting at byte `offset`; `before` are stretches of
    /// the text before it that vary from record to record, such as an event's id.
    pub fn frame<'a>(
        &mut self,
        dialect: Id,
        record: Record<'a>,
        offset: usize,
        before: &[Range<usize>],
        doc: &Doc<'a>,
        marks: &mut Marks,
        events: &[Event<'a>],
    ) -> Frame<'a> {
        marks.marks.sort_by_key(|m| m.0);
        let mut walk = Walk::new(&marks.marks, events, 0, offset as isize);
        for range in before {
            walk.literal(range.clone());
        }
        walk.open(doc.root(), "", self);
        let instance = walk.finish(record.body, self);
        Frame { dialect, glue: record.stored_glue(), role: record.role, root: instance }
    }

    /// The frame of a record that is a value inside a larger document.
    pub fn value<'a>(
        &mut self,
        dialect: Id,
        record: Record<'a>,
        value: Node<'_, 'a>,
        marks: &mut Marks,
        events: &[Event<'a>],
    ) -> Frame<'a> {
        marks.marks.sort_by_key(|m| m.0);
        let mut walk = Walk::new(&marks.marks, events, 0, -(value.start() as isize));
        walk.open(value, "", self);
        let instance = walk.finish(record.body, self);
        Frame { dialect, glue: record.stored_glue(), role: record.role, root: instance }
    }

    /// The frame of a stretch of a document: the members that lie between two byte offsets.
    pub fn stretch<'a>(
        &mut self,
        dialect: Id,
        record: Record<'a>,
        doc: &Doc<'a>,
        range: Range<usize>,
        marks: &mut Marks,
        events: &[Event<'a>],
    ) -> Frame<'a> {
        marks.marks.sort_by_key(|m| m.0);
        let mut walk = Walk::new(&marks.marks, events, 0, -(range.start as isize));
        walk.within(doc.root(), &range, "", self);
        let instance = walk.finish(record.body, self);
        Frame { dialect, glue: record.stored_glue(), role: record.role, root: instance }
    }

    /// The frame of a record that is kept as it is.
    pub fn literal<'a>(&mut self, dialect: Id, record: Record<'a>) -> Frame<'a> {
        let mut walk = Walk::new(&[], &[], 0, 0);
        // Short texts such as `data: [DONE]` repeat: they are shapes. Long ones are leaves.
        if record.body.len() > 64 {
            walk.literal(0..record.body.len());
        }
        let instance = walk.finish(record.body, self);
        Frame { dialect, glue: record.stored_glue(), role: record.role, root: instance }
    }

    fn intern(&mut self, text: &str, walk: &Walk<'_, '_, '_>) -> Arc<Shape> {
        let slots = &walk.slots;
        if let Some(last) = self.last.as_ref().filter(|s| matches(s, text, slots)) {
            return last.clone();
        }
        let mut hash = Mix::default();
        let mut at = 0;
        for slot in slots {
            hash.write(text.get(at..slot.start).unwrap_or("").as_bytes());
            slot.what.hash(&mut hash);
            at = slot.end;
        }
        hash.write(text.get(at..).unwrap_or("").as_bytes());
        let known = self.known.entry(hash.finish()).or_default();
        let shape = match known.iter().find(|s| matches(s, text, slots)) {
            Some(shape) => shape.clone(),
            None => {
                let shape = Arc::new(make(text, walk));
                known.push(shape.clone());
                shape
            }
        };
        self.last = Some(shape.clone());
        shape
    }
}

fn matches(shape: &Shape, text: &str, slots: &[SlotDraft<'_>]) -> bool {
    if shape.slots.len() != slots.len() {
        return false;
    }
    let mut at = 0;
    for ((chunk, known), slot) in shape.chunks.iter().zip(&shape.slots).zip(slots) {
        if text.get(at..slot.start) != Some(chunk) || !slot.what.is(known) {
            return false;
        }
        at = slot.end;
    }
    text.get(at..) == shape.chunks.last().map(AsRef::as_ref)
}

fn make(text: &str, walk: &Walk<'_, '_, '_>) -> Shape {
    let slots = &walk.slots;
    let mut chunks = Vec::with_capacity(slots.len() + 1);
    let mut at = 0;
    for slot in slots {
        chunks.push(text.get(at..slot.start).unwrap_or("").into());
        at = slot.end;
    }
    chunks.push(text.get(at..).unwrap_or("").into());
    let slots = slots
        .iter()
        .map(|slot| {
            let pointer = walk.pointer(slot).into_boxed_str();
            match &slot.what {
                What::Leaf(leaf) => Slot::Leaf {
                    default: text.get(slot.start..slot.end).unwrap_or("").into(),
                    leaf: *leaf,
                    pointer,
                },
                What::Bound { event, field, path, codec, .. } => Slot::Bound {
                    event: *event,
                    field: (*field).into(),
                    path: path.clone(),
                    codec: *codec,
                    pointer,
                },
                What::List { open, between, close, .. } => Slot::List {
                    open: (*open).into(),
                    between: (*between).into(),
                    close: (*close).into(),
                    pointer,
                },
            }
        })
        .collect();
    Shape { chunks, slots }
}

/// A slot being made, by byte range in the document.
struct SlotDraft<'a> {
    start: usize,
    end: usize,
    what: What<'a>,
    /// Index into [`Walk::opened`].
    parent: u32,
    key: &'a str,
}

enum What<'a> {
    Leaf(Leaf),
    Bound {
        event: u16,
        field: &'static str,
        path: Box<str>,
        codec: Codec,
        /// Whether rendering would spell it differently.
        literal: Spelling,
    },
    List {
        open: &'a str,
        between: &'a str,
        close: &'a str,
        items: Vec<Instance<'a>>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    AsRendered,
    Kept,
}

impl What<'_> {
    fn is(&self, slot: &Slot) -> bool {
        match (self, slot) {
            (What::Leaf(a), Slot::Leaf { leaf: b, .. }) => a == b,
            (
                What::Bound { event, field, path, codec, .. },
                Slot::Bound { event: e, field: f, path: p, codec: c, .. },
            ) => event == e && **f == **field && **p == **path && codec == c,
            (
                What::List { open, between, close, .. },
                Slot::List { open: o, between: b, close: c, .. },
            ) => **o == **open && **b == **between && **c == **close,
            _ => false,
        }
    }
}

impl Hash for What<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            What::Leaf(leaf) => state.write_u8(*leaf as u8),
            What::Bound { event, field, path, codec, .. } => {
                state.write_u16(*event);
                state.write(field.as_bytes());
                state.write(path.as_bytes());
                codec.hash(state);
            }
            What::List { between, .. } => state.write(between.as_bytes()),
        }
    }
}

/// Parent of what stands at the top of an instance.
const ROOT: u32 = u32::MAX;

/// Walks a value and its marks side by side, collecting slots.
struct Walk<'m, 'a, 'e> {
    marks: &'m [(u32, Mark)],
    events: &'e [Event<'a>],
    base: u16,
    /// From offsets in the document to offsets in the instance's text.
    offset: isize,
    slots: Vec<SlotDraft<'a>>,
    /// Objects that were opened, as (parent, key); pointers are spelled out only for new shapes.
    opened: Vec<(u32, &'a str)>,
    parent: u32,
}

impl<'m, 'a, 'e> Walk<'m, 'a, 'e> {
    fn new(marks: &'m [(u32, Mark)], events: &'e [Event<'a>], base: u16, offset: isize) -> Self {
        let slots = Vec::with_capacity(8);
        Self { marks, events, base, offset, slots, opened: Vec::new(), parent: ROOT }
    }

    /// A stretch of text outside the JSON value.
    fn literal(&mut self, range: Range<usize>) {
        let what = What::Leaf(Leaf::Implied);
        self.slots.push(SlotDraft {
            start: range.start,
            end: range.end,
            what,
            parent: ROOT,
            key: "",
        });
    }

    /// The mark on a node; marks before it are passed for good.
    fn mark(&mut self, node: Node<'_, 'a>) -> Option<&'m Mark> {
        while let Some((ix, mark)) = self.marks.first() {
            if *ix > node.index() {
                return None;
            }
            self.marks = self.marks.get(1..).unwrap_or(&[]);
            if *ix == node.index() {
                return Some(mark);
            }
        }
        None
    }

    fn slot(&mut self, node: Node<'_, 'a>, key: &'a str, what: What<'a>) {
        self.slots.push(SlotDraft {
            start: node.start().wrapping_add_signed(self.offset),
            end: node.end().wrapping_add_signed(self.offset),
            what,
            parent: self.parent,
            key,
        });
    }

    fn value(&mut self, node: Node<'_, 'a>, key: &'a str, shapes: &mut Shapes) {
        match self.mark(node) {
            None => self.slot(node, key, What::Leaf(Leaf::Only)),
            Some(Mark::Implied) => self.slot(node, key, What::Leaf(Leaf::Implied)),
            Some(Mark::Open) => self.open(node, key, shapes),
            Some(Mark::List) => self.list(node, key, shapes),
            Some(Mark::Bound { event, field, path, codec }) => {
                let rendered = self
                    .events
                    .get(usize::from(*event))
                    .and_then(|e| e.get(field))
                    .is_some_and(|raw| renders_as(raw, path, *codec, node));
                let literal = if rendered { Spelling::AsRendered } else { Spelling::Kept };
                let event = event.saturating_sub(self.base);
                let (path, codec) = (path.clone(), *codec);
                self.slot(node, key, What::Bound { event, field, path, codec, literal });
            }
        }
    }

    fn open(&mut self, node: Node<'_, 'a>, key: &'a str, shapes: &mut Shapes) {
        let before = self.parent;
        if !key.is_empty() {
            self.opened.push((before, key));
            self.parent = self.opened.len() as u32 - 1;
        }
        match node.kind() {
            NodeKind::Object => {
                for (key, value) in node.members() {
                    self.value(value, key.body(), shapes);
                }
            }
            NodeKind::Array => {
                for (i, child) in node.children().enumerate() {
                    self.value(child, index_key(i), shapes);
                }
            }
            _ => self.value(node, "", shapes),
        }
        self.parent = before;
    }

    /// Like [`Walk::open`], but only for what lies inside a byte range.
    fn within(
        &mut self,
        node: Node<'_, 'a>,
        range: &Range<usize>,
        key: &'a str,
        shapes: &mut Shapes,
    ) {
        if node.end() <= range.start || node.start() >= range.end {
            return;
        }
        if node.start() >= range.start && node.end() <= range.end && node.index() > 0 {
            self.value(node, key, shapes);
            return;
        }
        self.mark(node);
        let before = self.parent;
        if !key.is_empty() {
            self.opened.push((before, key));
            self.parent = self.opened.len() as u32 - 1;
        }
        for (key, value) in node.members() {
            self.within(value, range, key.body(), shapes);
        }
        for (i, child) in node.children().enumerate() {
            self.within(child, range, index_key(i), shapes);
        }
        self.parent = before;
    }

    fn list(&mut self, node: Node<'_, 'a>, key: &'a str, shapes: &mut Shapes) {
        let Some((open, between, close)) = separators(node) else {
            // Uneven white space: the elements become part of this shape.
            self.open(node, key, shapes);
            return;
        };
        let mut items = Vec::new();
        for child in node.children() {
            let from = self.marks.iter().take_while(|m| m.0 < child.index()).count();
            let own = self.marks.get(from..).unwrap_or(&[]);
            let upto = own.iter().take_while(|m| m.0 < child.end_index()).count();
            let own = own.get(..upto).unwrap_or(&[]);
            self.marks = self.marks.get(from + upto..).unwrap_or(&[]);
            let base = own
                .iter()
                .filter_map(|(_, mark)| match mark {
                    Mark::Bound { event, .. } => Some(*event),
                    _ => None,
                })
                .min()
                .unwrap_or(self.base);
            let mut walk = Walk::new(own, self.events, base, -(child.start() as isize));
            match own.first() {
                Some((ix, Mark::Bound { .. } | Mark::Implied | Mark::List))
                    if *ix == child.index() =>
                {
                    walk.value(child, "", shapes);
                }
                _ if child.is_object() => {
                    walk.mark(child);
                    walk.open(child, "", shapes);
                }
                _ => walk.value(child, "", shapes),
            }
            let mut instance = walk.finish(child.raw(), shapes);
            instance.base = base - self.base;
            items.push(instance);
        }
        self.slot(node, key, What::List { open, between, close, items });
    }

    fn finish(self, text: &'a str, shapes: &mut Shapes) -> Instance<'a> {
        let shape = shapes.intern(text, &self);
        let mut leaves = Vec::new();
        let mut lists = Vec::new();
        for (i, slot) in self.slots.into_iter().enumerate() {
            let literal = text.get(slot.start..slot.end).unwrap_or("");
            let keep = match (slot.what, shape.slots.get(i)) {
                (What::Leaf(_), Some(Slot::Leaf { default, .. })) => **default != *literal,
                (What::Bound { literal, .. }, _) => literal == Spelling::Kept,
                (What::List { items, .. }, _) => {
                    lists.push(items);
                    false
                }
                _ => false,
            };
            if keep {
                leaves.push((i as u16, Raw::Ref(literal)));
            }
        }
        Instance { shape, base: 0, leaves, lists }
    }

    fn pointer(&self, slot: &SlotDraft<'_>) -> String {
        let mut keys = Vec::new();
        if !slot.key.is_empty() {
            keys.push(slot.key);
        }
        let mut at = slot.parent;
        while let Some((parent, key)) = self.opened.get(at as usize) {
            keys.push(key);
            at = *parent;
        }
        let mut out = String::new();
        for key in keys.iter().rev() {
            out.push('/');
            out.push_str(&key.replace('~', "~0").replace('/', "~1"));
        }
        out
    }
}

/// An array index as a pointer token; far ones are not told apart.
fn index_key(index: usize) -> &'static str {
    const KEYS: [&str; 16] =
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"];
    KEYS.get(index).unwrap_or(&"-")
}

/// Whether rendering a field gives the node's text.
fn renders_as(raw: &Raw<'_>, path: &str, codec: Codec, node: Node<'_, '_>) -> bool {
    if path.is_empty() && codec == Codec::Same {
        return raw.as_str() == node.raw();
    }
    let mut out = String::new();
    field_text(raw, path, codec, &mut out).is_some() && out == node.raw()
}

/// The text around and between an array's elements, if it is the same between all of them.
fn separators<'a>(node: Node<'_, 'a>) -> Option<(&'a str, &'a str, &'a str)> {
    let text = node.raw();
    let from = node.start();
    let mut children = node.children();
    let first = children.next()?;
    let open = text.get(..first.start() - from)?;
    let mut between = None;
    let mut end = first.end() - from;
    for child in children {
        let gap = text.get(end..child.start() - from)?;
        if *between.get_or_insert(gap) != gap {
            return None;
        }
        end = child.end() - from;
    }
    // With a single element nothing is known of the gap: assume the tight one.
    let tight = if open == "[" { "," } else { "" };
    Some((open, between.unwrap_or(tight), text.get(end..)?))
}

/// A fast hash over template text; equality is always checked after it.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        const K: u64 = 0x517c_c1b7_2722_0a95;
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let word = chunk.iter().rev().fold(0u64, |w, b| w << 8 | u64::from(*b));
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(K);
        }
        let rest =
            chunks.remainder().iter().fold(bytes.len() as u64, |w, b| w << 8 | u64::from(*b));
        self.0 = (self.0.rotate_left(5) ^ rest).wrapping_mul(K);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}
