//! From frames over events to templates over actions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::action::Written;
use crate::dialect::Id;
use crate::journal::Event;
use crate::journal::transcript::{Action, Place, Placed};
use crate::json::{Doc, Node, Raw, Style, is_stable, print, push_escaped, quote, text};
use crate::record::Role;
use crate::residue::{Codec, Frame, Instance, Leaf, Shape, Slot};

/// Records of one dialect that stand together before the actions they made.
pub(crate) struct Group {
    pub(crate) dialect: Id,
    pub(crate) records: Vec<Pending>,
    /// The actions the records made: the first, and how many.
    pub(crate) first: usize,
    pub(crate) made: usize,
}

impl Group {
    /// The first action that any of the records may refer to.
    pub(crate) fn from(&self) -> usize {
        let placed = self.records.iter().flat_map(|r| r.placed.iter().flatten());
        placed.map(|p| p.action).min().unwrap_or(self.first).min(self.first)
    }
}

/// A record that waits until its actions are complete.
pub(crate) struct Pending {
    pub(crate) frame: Frame<'static>,
    pub(crate) events: Vec<Event<'static>>,
    /// Where each event's fields went.
    pub(crate) placed: Vec<Vec<Placed>>,
}

/// A record as it is written.
pub(crate) struct Resolved {
    pub(crate) glue: Option<Raw<'static>>,
    pub(crate) role: Role,
    pub(crate) instance: Instance<'static>,
    /// UTF-16 units that each of its cuts takes, in order.
    pub(crate) cuts: Vec<usize>,
}

/// Resolves records against the actions as they are written.
pub(crate) struct Resolver<'t> {
    pub(crate) actions: &'t [Action],
    pub(crate) written: &'t [Written],
    shapes: HashMap<String, Arc<Shape>>,
    /// How each call's streamed arguments are printed from its args.
    argument_styles: HashMap<usize, Option<Style>>,
    /// Texts that are not cut, as some record adds to one and holds what it adds as it came.
    torn: HashSet<Whole>,
}

/// A text that records take cuts of: its action, key and path.
type Whole = (usize, &'static str, String);

/// A template being made.
#[derive(Default)]
struct Draft {
    chunks: Vec<String>,
    slots: Vec<DraftSlot>,
}

enum DraftSlot {
    Leaf {
        literal: String,
        leaf: Leaf,
    },
    Hole {
        action: usize,
        key: &'static str,
        path: String,
        codec: Codec,
        kept: Option<String>,
        cut: Option<usize>,
    },
    List {
        open: String,
        between: String,
        close: String,
        items: Vec<Draft>,
    },
}

impl Draft {
    fn lowest(&self) -> Option<usize> {
        self.slots
            .iter()
            .filter_map(|slot| match slot {
                DraftSlot::Leaf { .. } => None,
                DraftSlot::Hole { action, .. } => Some(*action),
                DraftSlot::List { items, .. } => items.iter().filter_map(Draft::lowest).min(),
            })
            .min()
    }

    fn cuts(&self) -> Vec<usize> {
        self.slots
            .iter()
            .flat_map(|slot| match slot {
                DraftSlot::Hole { cut: Some(units), .. } => vec![*units],
                DraftSlot::List { items, .. } => items.iter().flat_map(Draft::cuts).collect(),
                _ => Vec::new(),
            })
            .collect()
    }
}

impl<'t> Resolver<'t> {
    /// For these records, in the order they are resolved.
    pub(crate) fn new<'p>(
        actions: &'t [Action],
        written: &'t [Written],
        records: impl Iterator<Item = &'p Pending>,
    ) -> Self {
        let (shapes, argument_styles, torn) = (HashMap::new(), HashMap::new(), HashSet::new());
        let mut own = Self { actions, written, shapes, argument_styles, torn };
        records.for_each(|record| own.note_torn(record));
        own
    }

    /// Takes note of texts that a record adds to without a slot for it.
    fn note_torn(&mut self, pending: &Pending) {
        for (event, list) in pending.placed.iter().enumerate() {
            let adding = list.iter().filter(|placed| placed.place.adds());
            for placed in adding.filter(|own| !binds(&pending.frame.root, 0, event, own.field)) {
                let action = self.actions.get(placed.action);
                let written = self.written.get(placed.action);
                let found = action.zip(written).and_then(|(a, w)| w.locate(a.kind, placed.place));
                if let Some((key, path)) = found {
                    self.torn.insert((placed.action, key, path));
                }
            }
        }
    }

    /// Resolves a record; its instance's base counts from the action `from`.
    pub(crate) fn record(&mut self, pending: &Pending, from: usize) -> Resolved {
        let draft = self.instance(&pending.frame.root, pending, 0);
        let cuts = draft.cuts();
        let instance = self.build(draft, from);
        Resolved { glue: pending.frame.glue.clone(), role: pending.frame.role, instance, cuts }
    }

    fn instance(&mut self, of: &Instance<'_>, pending: &Pending, base: usize) -> Draft {
        let base = base + usize::from(of.base);
        let mut draft = Draft::default();
        let mut lists = of.lists.iter();
        let mut chunk = String::new();
        for (i, slot) in of.shape.slots.iter().enumerate() {
            chunk.push_str(of.shape.chunks.get(i).map_or("", AsRef::as_ref));
            match slot {
                Slot::Leaf { default, leaf, .. } => {
                    let literal = of.leaf(i).unwrap_or(default).to_owned();
                    draft.chunks.push(std::mem::take(&mut chunk));
                    draft.slots.push(DraftSlot::Leaf { literal, leaf: *leaf });
                }
                Slot::Bound { event, field, path, codec, .. } => {
                    let number = base + usize::from(*event);
                    let literal = match of.leaf(i) {
                        Some(literal) => literal.to_owned(),
                        None => bound_text(&pending.events, number, field, path, *codec),
                    };
                    let at = At { event: number, field, path };
                    self.bound(pending, &at, literal, &mut draft, &mut chunk);
                }
                Slot::List { open, between, close, .. } => {
                    let items = lists
                        .next()
                        .into_iter()
                        .flatten()
                        .map(|item| self.instance(item, pending, base))
                        .collect();
                    draft.chunks.push(std::mem::take(&mut chunk));
                    draft.slots.push(DraftSlot::List {
                        open: open.to_string(),
                        between: between.to_string(),
                        close: close.to_string(),
                        items,
                    });
                }
            }
        }
        chunk.push_str(of.shape.chunks.last().map_or("", AsRef::as_ref));
        draft.chunks.push(chunk);
        draft
    }

    /// Adds the slot of a bound value: a hole where an action holds it, else a literal, else, for
    /// an object, a slot for each of its members.
    fn bound(
        &mut self,
        pending: &Pending,
        at: &At<'_>,
        literal: String,
        draft: &mut Draft,
        chunk: &mut String,
    ) {
        let placed =
            pending.placed.get(at.event).and_then(|list| list.iter().find(|p| p.field == at.field));
        if let Some(placed) = placed
            && at.field != "usage"
            && let Some(slot) = self.hole(placed, at, &literal)
        {
            draft.chunks.push(std::mem::take(chunk));
            draft.slots.push(slot);
            return;
        }
        if let Ok(doc) = Doc::parse(&literal)
            && doc.root().is_object()
            && literal.len() < 4096
            && at.field == "usage"
        {
            self.members(doc.root(), placed, draft, chunk);
            return;
        }
        draft.chunks.push(std::mem::take(chunk));
        draft.slots.push(DraftSlot::Leaf { literal, leaf: Leaf::Implied });
    }

    /// Opens an object: its members are slots of their own.
    fn members(
        &self,
        object: Node<'_, '_>,
        placed: Option<&Placed>,
        draft: &mut Draft,
        chunk: &mut String,
    ) {
        let text = object.raw();
        let mut at = 0;
        for (key, value) in object.members() {
            let (start, end) = (value.start() - object.start(), value.end() - object.start());
            chunk.push_str(text.get(at..start).unwrap_or(""));
            at = end;
            draft.chunks.push(std::mem::take(chunk));
            let hole = placed.and_then(|placed| {
                let written = self.written.get(placed.action)?;
                let doc = Doc::parse(written.value("usage")?).ok()?;
                let same = doc.root().get(&key.str()?)?.raw() == value.raw();
                same.then(|| DraftSlot::Hole {
                    action: placed.action,
                    key: "usage",
                    path: format!("/{}", key.body()),
                    codec: Codec::Same,
                    kept: None,
                    cut: None,
                })
            });
            draft.slots.push(hole.unwrap_or_else(|| DraftSlot::Leaf {
                literal: value.raw().to_owned(),
                leaf: Leaf::Implied,
            }));
        }
        chunk.push_str(text.get(at..).unwrap_or(""));
    }

    fn hole(&mut self, placed: &Placed, at: &At<'_>, literal: &str) -> Option<DraftSlot> {
        let action = self.actions.get(placed.action)?;
        let written = self.written.get(placed.action)?;
        let (key, mut path) = written.locate(action.kind, placed.place)?;
        // Not even nothing: the last cut of a text takes all that is left of it.
        if matches!(placed.place, Place::Append { .. } | Place::Arguments { .. })
            && !self.torn.is_empty()
            && self.torn.contains(&(placed.action, key, path.clone()))
        {
            return None;
        }
        path.push_str(at.path);
        let hole = |codec, kept, cut| {
            Some(DraftSlot::Hole {
                action: placed.action,
                key,
                path: path.clone(),
                codec,
                kept,
                cut,
            })
        };
        match placed.place {
            Place::Append { units, .. } => {
                let body = literal.strip_prefix('"')?.strip_suffix('"')?;
                if text::is_minimal(body) {
                    hole(Codec::Cut, None, Some(units))
                } else if text::ascii(body) == body {
                    hole(Codec::CutAscii, None, Some(units))
                } else {
                    hole(Codec::Cut, Some(literal.to_owned()), Some(units))
                }
            }
            Place::Arguments { units } => {
                let style = self.argument_style(placed.action)?;
                let body = literal.strip_prefix('"')?.strip_suffix('"')?;
                let kept = (!text::is_minimal(body)).then(|| literal.to_owned());
                hole(Codec::CutPrint(style), kept, Some(units))
            }
            Place::Piece(_) | Place::Field(_) => {
                let value = written.value(key)?;
                let doc;
                let value = if path.is_empty() {
                    value
                } else {
                    doc = Doc::parse(value).ok()?;
                    doc.root().pointer(&path)?.raw()
                };
                match spelling(value, literal) {
                    Some(codec) => hole(codec, None, None),
                    None => {
                        let (codec, inner) = if literal.starts_with('"') && !value.starts_with('"')
                        {
                            (Codec::Quote(Style::Compact), Raw::Ref(literal).str()?.into_owned())
                        } else {
                            (Codec::Same, literal.to_owned())
                        };
                        // Only a value that means the same may be a hole with its own spelling.
                        let (a, b) = (Doc::parse(value).ok()?, Doc::parse(&inner).ok()?);
                        if !crate::json::same_value(a.root(), b.root()) {
                            return None;
                        }
                        hole(codec, Some(literal.to_owned()), None)
                    }
                }
            }
        }
    }

    /// The style in which a call's args give the text that was streamed, if there is one.
    fn argument_style(&mut self, action: usize) -> Option<Style> {
        if let Some(known) = self.argument_styles.get(&action) {
            return *known;
        }
        let style = || {
            let streamed = self.actions.get(action)?.arguments_text()?;
            // Half a character has no place in a text, so args say something else there.
            if text::has_lone_surrogate(streamed) {
                return None;
            }
            let streamed = text::decode(streamed);
            let doc = Doc::parse(self.written.get(action)?.value("args")?).ok()?;
            if !is_stable(doc.root()) {
                return None;
            }
            Style::ALL.into_iter().find(|style| {
                let mut out = String::new();
                print(doc.root(), *style, &mut out);
                out == streamed
            })
        };
        let style = style();
        self.argument_styles.insert(action, style);
        style
    }

    fn build(&mut self, draft: Draft, parent: usize) -> Instance<'static> {
        let base = draft.lowest().unwrap_or(parent);
        let mut key = String::new();
        for (i, slot) in draft.slots.iter().enumerate() {
            use std::fmt::Write as _;
            key.push_str(draft.chunks.get(i).map_or("", String::as_str));
            let _ = match slot {
                DraftSlot::Leaf { leaf, .. } => write!(key, "\u{1}{leaf:?}"),
                DraftSlot::Hole { action, key: k, path, codec, .. } => {
                    write!(key, "\u{1}{}{k}{path}{codec:?}", action - base)
                }
                DraftSlot::List { open, between, close, .. } => {
                    write!(key, "\u{1}{open}\u{1}{between}\u{1}{close}")
                }
            };
            key.push('\u{1}');
        }
        key.push_str(draft.chunks.last().map_or("", String::as_str));
        let shape = match self.shapes.get(&key) {
            Some(shape) => shape.clone(),
            None => {
                let shape = Arc::new(shape_of(&draft, base));
                self.shapes.insert(key, shape.clone());
                shape
            }
        };
        let mut leaves = Vec::new();
        let mut lists = Vec::new();
        for (i, slot) in draft.slots.into_iter().enumerate() {
            let number = i as u16;
            match slot {
                DraftSlot::Leaf { literal, .. } => {
                    let usual = matches!(shape.slots.get(i), Some(Slot::Leaf { default, .. }) if **default == *literal);
                    if !usual {
                        leaves.push((number, Raw::owned(literal)));
                    }
                }
                DraftSlot::Hole { kept: Some(literal), .. } => {
                    leaves.push((number, Raw::owned(literal)));
                }
                DraftSlot::Hole { .. } => {}
                DraftSlot::List { items, .. } => {
                    lists.push(items.into_iter().map(|item| self.build(item, base)).collect());
                }
            }
        }
        let base = u16::try_from(base - parent.min(base)).unwrap_or(u16::MAX);
        Instance { shape, base, leaves, lists }
    }
}

/// Whether a frame has a slot for a field of an event.
fn binds(of: &Instance<'_>, base: usize, event: usize, field: &str) -> bool {
    let base = base + usize::from(of.base);
    let own = |slot: &Slot| match slot {
        Slot::Bound { event: number, field: name, .. } => {
            base + usize::from(*number) == event && **name == *field
        }
        _ => false,
    };
    of.shape.slots.iter().any(own)
        || of.lists.iter().flatten().any(|item| binds(item, base, event, field))
}

struct At<'s> {
    event: usize,
    field: &'s str,
    path: &'s str,
}

fn bound_text(events: &[Event<'_>], event: usize, field: &str, path: &str, codec: Codec) -> String {
    let Some(raw) = events.get(event).and_then(|e| e.get(field)) else { return String::new() };
    let inner = if path.is_empty() {
        raw.to_string()
    } else {
        raw.doc()
            .and_then(|doc| doc.root().pointer(path).map(|n| n.raw().to_owned()))
            .unwrap_or_default()
    };
    match codec {
        Codec::Quoted => quote(&inner),
        _ => inner,
    }
}

/// How a value's compact spelling becomes the literal, if a known style does it and the value
/// survives other tools.
fn spelling(value: &str, literal: &str) -> Option<Codec> {
    if let Some(body) = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        if value == literal {
            return Some(Codec::Same);
        }
        let ascii = format!("\"{}\"", text::ascii(body));
        return (ascii == literal).then_some(Codec::Ascii);
    }
    let doc = Doc::parse(value).ok()?;
    if !is_stable(doc.root()) {
        return None;
    }
    if value == literal {
        return Some(Codec::Same);
    }
    Style::ALL.into_iter().find_map(|style| {
        let mut out = String::new();
        print(doc.root(), style, &mut out);
        if out == literal {
            return Some(Codec::Print(style));
        }
        let mut quoted = String::from("\"");
        push_escaped(&out, &mut quoted);
        quoted.push('"');
        (quoted == literal).then_some(Codec::Quote(style))
    })
}

fn shape_of(draft: &Draft, base: usize) -> Shape {
    let pointer: Box<str> = "".into();
    Shape {
        number: None,
        chunks: draft.chunks.iter().map(|c| c.as_str().into()).collect(),
        slots: draft
            .slots
            .iter()
            .map(|slot| match slot {
                DraftSlot::Leaf { literal, leaf } => Slot::Leaf {
                    default: literal.as_str().into(),
                    leaf: *leaf,
                    pointer: pointer.clone(),
                },
                DraftSlot::Hole { action, key, path, codec, .. } => Slot::Bound {
                    event: u16::try_from(action - base).unwrap_or(u16::MAX),
                    field: (*key).into(),
                    path: path.as_str().into(),
                    codec: *codec,
                    pointer: pointer.clone(),
                },
                DraftSlot::List { open, between, close, .. } => Slot::List {
                    open: open.as_str().into(),
                    between: between.as_str().into(),
                    close: close.as_str().into(),
                    pointer: pointer.clone(),
                },
            })
            .collect(),
    }
}
