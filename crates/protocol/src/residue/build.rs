//! Building a record's frame from what a decoder marked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::Arc;

use super::render::field_text;
use super::shape::{Codec, Frame, Instance, Leaf, Shape, Slot};
use crate::dialect::{Frames, Id};
use crate::journal::Event;
use crate::json::{Doc, Node, NodeKind, Raw, is_escaped, same_bytes};
use crate::record::Record;

/// What a decoder says about the values of a record.
///
/// Whatever is not marked is kept as a literal. The record's own object is always open.
#[derive(Debug, Default)]
pub struct Marks {
    marks: Vec<(u32, Mark)>,
    frames: Frames,
}

#[derive(Debug, Clone)]
enum Mark {
    Open,
    List,
    Implied,
    Fixed,
    Bound(Bound),
}

#[derive(Debug, Clone)]
struct Bound {
    event: u16,
    field: Cow<'static, str>,
    path: Box<str>,
    codec: Codec,
}

impl Marks {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// None yet; none ever if no frames are to be made of them.
    pub fn of(frames: Frames) -> Self {
        Self { marks: Vec::new(), frames }
    }

    #[inline]
    fn add(&mut self, node: Node<'_, '_>, mark: Mark) {
        if self.frames == Frames::Keep {
            self.marks.push((node.index(), mark));
        }
    }

    /// Forgets all marks.
    pub fn clear(&mut self) {
        self.marks.clear();
    }

    fn sort(&mut self) {
        // Decoders mostly mark from left to right.
        if !self.marks.is_sorted_by_key(|m| m.0) {
            self.marks.sort_by_key(|m| m.0);
        }
    }

    /// The members of this object are looked at one by one, not kept as one literal.
    pub fn open(&mut self, node: Node<'_, '_>) {
        self.add(node, Mark::Open);
    }

    /// The elements of this array are templates of their own.
    pub fn list(&mut self, node: Node<'_, '_>) {
        self.add(node, Mark::List);
    }

    /// The events say the same in other words, so no other dialect loses it.
    pub fn implied(&mut self, node: Node<'_, '_>) {
        self.add(node, Mark::Implied);
    }

    /// Like [`Marks::implied`], for one of the few values that tell kinds of records apart.
    pub fn fixed(&mut self, node: Node<'_, '_>) {
        self.add(node, Mark::Fixed);
    }

    /// The value is the `field` of the record's event number `event`.
    pub fn bind(&mut self, node: Node<'_, '_>, event: usize, field: &'static str) {
        self.bound(node, event, Cow::Borrowed(field), "", Codec::Same);
    }

    /// Like [`Marks::bind`], for a field whose name is the source's own.
    pub fn bind_named(&mut self, node: Node<'_, '_>, event: usize, field: &str) {
        self.bound(node, event, Cow::Owned(field.to_owned()), "", Codec::Same);
    }

    /// The value stands inside the field, at a JSON pointer.
    pub fn bind_at(&mut self, node: Node<'_, '_>, event: usize, field: &'static str, path: &str) {
        self.bound(node, event, Cow::Borrowed(field), path, Codec::Same);
    }

    /// The value is a string that holds the field's JSON text.
    pub fn quoted(&mut self, node: Node<'_, '_>, event: usize, field: &'static str) {
        self.bound(node, event, Cow::Borrowed(field), "", Codec::Quoted);
    }

    fn bound(
        &mut self,
        node: Node<'_, '_>,
        event: usize,
        field: Cow<'static, str>,
        path: &str,
        codec: Codec,
    ) {
        let event = u16::try_from(event).unwrap_or(u16::MAX);
        let bound = Bound { event, field, path: path.into(), codec };
        self.add(node, Mark::Bound(bound));
    }
}

/// Makes frames, and keeps the shapes they share.
#[derive(Debug, Default)]
pub struct Shapes {
    known: HashMap<u64, Vec<Arc<Shape>>, BuildHasherDefault<Mix>>,
    space: Space,
    hollow: Arc<Shape>,
}

/// Memory for walks, kept from one record to the next.
#[derive(Debug, Default)]
struct Space {
    slots: Vec<Draft>,
    opened: Vec<(u32, u32)>,
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
        marks.sort();
        let mut walk = Walk::new(Some(doc.root()), &marks.marks, events, offset as isize, self);
        for range in before {
            walk.literal(range.clone());
        }
        walk.open(doc.root(), NO_KEY, self);
        walk.end(dialect, record, self)
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
        marks.sort();
        let offset = -(value.start() as isize);
        let mut walk = Walk::new(Some(value), &marks.marks, events, offset, self);
        walk.open(value, NO_KEY, self);
        walk.end(dialect, record, self)
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
        marks.sort();
        let offset = -(range.start as isize);
        let mut walk = Walk::new(Some(doc.root()), &marks.marks, events, offset, self);
        walk.within(doc.root(), &range, NO_KEY, self);
        walk.end(dialect, record, self)
    }

    /// A frame that tells whose record it was, and nothing else.
    pub fn hollow<'a>(&self, dialect: Id, record: Record<'a>) -> Frame<'a> {
        let shape = self.hollow.clone();
        let root = Instance { shape, base: 0, leaves: Vec::new(), lists: Vec::new() };
        Frame { dialect, glue: None, role: record.role, root }
    }

    /// The frame of a record that is kept as it is.
    pub fn literal<'a>(&mut self, dialect: Id, record: Record<'a>) -> Frame<'a> {
        let mut walk = Walk::new(None, &[], &[], 0, self);
        // Short texts such as `data: [DONE]` repeat: they are shapes. Long ones are leaves.
        if record.body.len() > 64 {
            walk.literal(0..record.body.len());
        }
        walk.end(dialect, record, self)
    }

    /// The shape with these slots, new or known. The key is made of lengths alone, as they tell
    /// most shapes apart; the text is compared once, with the shape found.
    fn intern(&mut self, text: &str, slots: &[Draft], walk: &Walk<'_, '_, '_, '_>) -> Arc<Shape> {
        let mut key = Mix::default();
        let mut at = 0;
        for slot in slots {
            key.add(u64::from(slot.start.wrapping_sub(at)) << 2 | slot.what.tag());
            at = slot.end;
        }
        key.add((text.len() as u64).wrapping_sub(u64::from(at)));
        let known = self.known.entry(key.0).or_default();
        if let Some(shape) = known.iter().find(|s| matches(s, text, slots, walk)) {
            return shape.clone();
        }
        let shape = Arc::new(make(text, slots, walk));
        known.push(shape.clone());
        shape
    }
}

fn matches(shape: &Shape, text: &str, slots: &[Draft], walk: &Walk<'_, '_, '_, '_>) -> bool {
    if shape.slots.len() != slots.len() {
        return false;
    }
    let text = text.as_bytes();
    let mut at = 0;
    for ((chunk, known), slot) in shape.chunks.iter().zip(&shape.slots).zip(slots) {
        let between = text.get(at..slot.start as usize);
        if !between.is_some_and(|t| same_bytes(t, chunk.as_bytes())) || !walk.is(slot, known) {
            return false;
        }
        at = slot.end as usize;
    }
    text.get(at..) == shape.chunks.last().map(|chunk| chunk.as_bytes())
}

fn make(text: &str, slots: &[Draft], walk: &Walk<'_, '_, '_, '_>) -> Shape {
    let mut chunks = Vec::with_capacity(slots.len() + 1);
    let mut at = 0;
    for slot in slots {
        chunks.push(text.get(at..slot.start as usize).unwrap_or("").into());
        at = slot.end as usize;
    }
    chunks.push(text.get(at..).unwrap_or("").into());
    let slots = slots
        .iter()
        .map(|slot| {
            let pointer = walk.pointer(slot).into_boxed_str();
            match slot.what {
                What::Leaf(leaf) => Slot::Leaf { default: slot.text(text).into(), leaf, pointer },
                What::Bound { event, mark, .. } => {
                    let bound = walk.bound(mark);
                    Slot::Bound {
                        event,
                        field: bound.map_or("", |b| &b.field).into(),
                        path: bound.map_or("", |b| &b.path).into(),
                        codec: bound.map_or(Codec::Same, |b| b.codec),
                        pointer,
                    }
                }
                What::List(at) => {
                    let (open, between, close) = walk.separators(at);
                    Slot::List {
                        open: open.into(),
                        between: between.into(),
                        close: close.into(),
                        pointer,
                    }
                }
            }
        })
        .collect();
    Shape { number: None, chunks, slots }
}

/// A slot being made, by byte range in the instance's text.
#[derive(Debug)]
struct Draft {
    start: u32,
    end: u32,
    /// Index into [`Walk::opened`].
    parent: u32,
    /// Tape index of its key, or [`index_key`], or [`NO_KEY`].
    key: u32,
    what: What,
}

impl Draft {
    fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

#[derive(Debug, Clone, Copy)]
enum What {
    Leaf(Leaf),
    Bound {
        event: u16,
        /// Whether rendering would spell it differently.
        literal: Spelling,
        /// Index into [`Walk::marks`].
        mark: u32,
    },
    /// Index into [`Walk::lists`].
    List(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    AsRendered,
    Kept,
}

impl What {
    fn tag(self) -> u64 {
        match self {
            What::Leaf(leaf) => leaf as u64,
            What::Bound { .. } => 2,
            What::List(_) => 3,
        }
    }
}

/// Parent of what stands at the top of an instance.
const ROOT: u32 = u32::MAX;
/// The key of what has none.
const NO_KEY: u32 = u32::MAX;
/// The key of an array's first element; those of the others follow.
const ELEMENTS: u32 = u32::MAX - 17;

/// The text around and between an array's elements.
type Separators<'a> = (&'a str, &'a str, &'a str);

/// Walks a value and its marks side by side, collecting slots.
///
/// The slots of nested instances stand above those of the instance around them and are taken off
/// when they are finished, so that a record needs one list of slots.
struct Walk<'m, 'd, 'a, 'e> {
    /// Any node of the document, for the names of keys.
    doc: Option<Node<'d, 'a>>,
    marks: &'m [(u32, Mark)],
    /// The first mark that has not been passed.
    next: usize,
    events: &'e [Event<'a>],
    base: u16,
    /// From offsets in the document to offsets in the instance's text.
    offset: isize,
    slots: Vec<Draft>,
    lists: Vec<(Separators<'a>, Vec<Instance<'a>>)>,
    /// Objects that were opened, as (parent, key); pointers are spelled out only for new shapes.
    opened: Vec<(u32, u32)>,
    parent: u32,
}

impl<'m, 'd, 'a, 'e> Walk<'m, 'd, 'a, 'e> {
    fn new(
        doc: Option<Node<'d, 'a>>,
        marks: &'m [(u32, Mark)],
        events: &'e [Event<'a>],
        offset: isize,
        shapes: &mut Shapes,
    ) -> Self {
        let Space { slots, opened } = std::mem::take(&mut shapes.space);
        Self {
            doc,
            marks,
            next: 0,
            events,
            base: 0,
            offset,
            slots,
            lists: Vec::new(),
            opened,
            parent: ROOT,
        }
    }

    /// The frame of what was walked.
    fn end(mut self, dialect: Id, record: Record<'a>, shapes: &mut Shapes) -> Frame<'a> {
        let root = self.finish(0, 0, record.body, shapes);
        self.opened.clear();
        shapes.space = Space { slots: self.slots, opened: self.opened };
        Frame { dialect, glue: record.stored_glue(), role: record.role, root }
    }

    /// A stretch of text outside the JSON value.
    fn literal(&mut self, range: Range<usize>) {
        self.slots.push(Draft {
            start: range.start as u32,
            end: range.end as u32,
            parent: ROOT,
            key: NO_KEY,
            what: What::Leaf(Leaf::Implied),
        });
    }

    /// The mark on a node; marks before it are passed for good.
    #[inline]
    fn mark(&mut self, node: Node<'_, 'a>) -> Option<&'m Mark> {
        while let Some((ix, mark)) = self.marks.get(self.next) {
            if *ix > node.index() {
                return None;
            }
            self.next += 1;
            if *ix == node.index() {
                return Some(mark);
            }
        }
        None
    }

    fn bound(&self, mark: u32) -> Option<&'m Bound> {
        match self.marks.get(mark as usize) {
            Some((_, Mark::Bound(bound))) => Some(bound),
            _ => None,
        }
    }

    #[inline]
    fn slot(&mut self, node: Node<'_, 'a>, key: u32, what: What) {
        self.slots.push(Draft {
            start: node.start().wrapping_add_signed(self.offset) as u32,
            end: node.end().wrapping_add_signed(self.offset) as u32,
            parent: self.parent,
            key,
            what,
        });
    }

    fn value(&mut self, node: Node<'_, 'a>, key: u32, shapes: &mut Shapes) {
        match self.mark(node) {
            // Tells nothing and seldom varies: part of the shape.
            None if node.is_null() => {}
            Some(Mark::Fixed) => {}
            None => self.slot(node, key, What::Leaf(Leaf::Only)),
            Some(Mark::Implied) => self.slot(node, key, What::Leaf(Leaf::Implied)),
            Some(Mark::Open) => self.open(node, key, shapes),
            Some(Mark::List) => self.list(node, key, shapes),
            Some(Mark::Bound(bound)) => {
                let rendered = self
                    .events
                    .get(usize::from(bound.event))
                    .and_then(|e| e.get(&bound.field))
                    .is_some_and(|raw| renders_as(raw, &bound.path, bound.codec, node));
                let literal = if rendered { Spelling::AsRendered } else { Spelling::Kept };
                let event = bound.event.saturating_sub(self.base);
                let mark = self.next as u32 - 1;
                self.slot(node, key, What::Bound { event, literal, mark });
            }
        }
    }

    /// Notes that what follows stands inside a node; gives back what it stood in before.
    fn enter(&mut self, key: u32) -> u32 {
        let before = self.parent;
        if key != NO_KEY {
            self.opened.push((before, key));
            self.parent = self.opened.len() as u32 - 1;
        }
        before
    }

    fn open(&mut self, node: Node<'_, 'a>, key: u32, shapes: &mut Shapes) {
        let before = self.enter(key);
        match node.kind() {
            NodeKind::Object => {
                for (key, value) in node.members() {
                    self.value(value, key.index(), shapes);
                }
            }
            NodeKind::Array => {
                for (i, child) in node.children().enumerate() {
                    self.value(child, index_key(i), shapes);
                }
            }
            _ => self.value(node, NO_KEY, shapes),
        }
        self.parent = before;
    }

    /// Like [`Walk::open`], but only for what lies inside a byte range.
    fn within(&mut self, node: Node<'_, 'a>, range: &Range<usize>, key: u32, shapes: &mut Shapes) {
        if node.end() <= range.start || node.start() >= range.end {
            return;
        }
        if node.start() >= range.start && node.end() <= range.end && node.index() > 0 {
            self.value(node, key, shapes);
            return;
        }
        self.mark(node);
        let before = self.enter(key);
        for (key, value) in node.members() {
            self.within(value, range, key.index(), shapes);
        }
        for (i, child) in node.children().enumerate() {
            self.within(child, range, index_key(i), shapes);
        }
        self.parent = before;
    }

    fn list(&mut self, node: Node<'_, 'a>, key: u32, shapes: &mut Shapes) {
        let Some(around) = separators(node) else {
            // Uneven white space: the elements become part of this shape.
            self.open(node, key, shapes);
            return;
        };
        let mut items = Vec::with_capacity(4);
        for child in node.children() {
            items.push(self.item(child, shapes));
        }
        self.lists.push((around, items));
        self.slot(node, key, What::List(self.lists.len() as u32 - 1));
    }

    /// An element of a list, as an instance of its own.
    fn item(&mut self, child: Node<'_, 'a>, shapes: &mut Shapes) -> Instance<'a> {
        let ahead = self.marks.get(self.next..).unwrap_or(&[]);
        self.next += ahead.iter().take_while(|m| m.0 < child.index()).count();
        let ahead = self.marks.get(self.next..).unwrap_or(&[]);
        let own = ahead.iter().take_while(|m| m.0 < child.end_index());
        let events = own.filter_map(|(_, mark)| match mark {
            Mark::Bound(bound) => Some(bound.event),
            _ => None,
        });
        let base = events.min().unwrap_or(self.base);
        let outer = (self.base, self.offset, self.parent, self.opened.len());
        let (slots, lists) = (self.slots.len(), self.lists.len());
        (self.base, self.offset, self.parent) = (base, -(child.start() as isize), ROOT);
        match ahead.first() {
            Some((ix, Mark::Bound(_) | Mark::Implied | Mark::Fixed | Mark::List))
                if *ix == child.index() =>
            {
                self.value(child, NO_KEY, shapes);
            }
            _ if child.is_object() => {
                self.mark(child);
                self.open(child, NO_KEY, shapes);
            }
            _ => self.value(child, NO_KEY, shapes),
        }
        let mut instance = self.finish(slots, lists, child.raw(), shapes);
        instance.base = base - outer.0;
        self.opened.truncate(outer.3);
        (self.base, self.offset, self.parent) = (outer.0, outer.1, outer.2);
        instance
    }

    /// Makes an instance of the slots and lists from a place on.
    fn finish(
        &mut self,
        slots: usize,
        lists: usize,
        text: &'a str,
        shapes: &mut Shapes,
    ) -> Instance<'a> {
        let drafts = self.slots.get(slots..).unwrap_or(&[]);
        let shape = shapes.intern(text, drafts, self);
        let mut leaves = Vec::with_capacity(drafts.len());
        for (i, (slot, known)) in drafts.iter().zip(&shape.slots).enumerate() {
            let keep = match (slot.what, known) {
                (What::Leaf(_), Slot::Leaf { default, .. }) => {
                    !same_bytes(default.as_bytes(), slot.text(text).as_bytes())
                }
                (What::Bound { literal, .. }, _) => literal == Spelling::Kept,
                _ => false,
            };
            if keep {
                leaves.push((i as u16, Raw::Ref(slot.text(text))));
            }
        }
        self.slots.truncate(slots);
        let lists = self.lists.drain(lists..).map(|(_, items)| items).collect();
        Instance { shape, base: 0, leaves, lists }
    }

    fn separators(&self, list: u32) -> Separators<'a> {
        self.lists.get(list as usize).map_or(("", "", ""), |(around, _)| *around)
    }

    /// Whether a draft is the slot of a known shape.
    fn is(&self, draft: &Draft, slot: &Slot) -> bool {
        match (draft.what, slot) {
            (What::Leaf(a), Slot::Leaf { leaf: b, .. }) => a == *b,
            (
                What::Bound { event, mark, .. },
                Slot::Bound { event: e, field: f, path: p, codec: c, .. },
            ) => {
                event == *e
                    && self.bound(mark).is_some_and(|bound| {
                        same_bytes(f.as_bytes(), bound.field.as_bytes())
                            && *p == bound.path
                            && *c == bound.codec
                    })
            }
            (What::List(at), Slot::List { open, between, close, .. }) => {
                self.separators(at) == (open, between, close)
            }
            _ => false,
        }
    }

    /// A key as a pointer has it.
    fn key(&self, key: u32) -> Option<&'a str> {
        match (key, self.doc) {
            (NO_KEY, _) => None,
            (ELEMENTS.., _) => ELEMENT_KEYS.get((key - ELEMENTS) as usize).copied(),
            (key, doc) => doc.map(|doc| doc.other(key).body()).filter(|key| !key.is_empty()),
        }
    }

    fn pointer(&self, slot: &Draft) -> String {
        let mut keys: Vec<&str> = self.key(slot.key).into_iter().collect();
        let mut at = slot.parent;
        while let Some((parent, key)) = self.opened.get(at as usize) {
            keys.extend(self.key(*key));
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

/// What pointers call an array's elements; late ones all alike.
const ELEMENT_KEYS: [&str; 17] =
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "-"];

/// The key of an array's element.
fn index_key(index: usize) -> u32 {
    ELEMENTS + index.min(ELEMENT_KEYS.len() - 1) as u32
}

/// Whether rendering a field gives the node's text.
fn renders_as(raw: &Raw<'_>, path: &str, codec: Codec, node: Node<'_, '_>) -> bool {
    if path.is_empty() && codec == Codec::Same {
        // Mostly it is the very same text.
        return std::ptr::eq(raw.as_str(), node.raw()) || raw.as_str() == node.raw();
    }
    if path.is_empty() && codec == Codec::Quoted {
        return node.is_string() && is_escaped(raw, node.body());
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

/// A key made of numbers; whether it found the right thing is always checked after it.
#[derive(Default)]
struct Mix(u64);

impl Mix {
    #[inline]
    fn add(&mut self, word: u64) {
        const K: u64 = 0x517c_c1b7_2722_0a95;
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(K);
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.add(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}
