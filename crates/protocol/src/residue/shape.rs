//! Frames, instances and the shapes they share.

use std::sync::Arc;

use crate::dialect::Id;
use crate::json::{Raw, Style};

/// A record's text, less what its events hold.
#[derive(Debug, Clone)]
pub struct Frame<'a> {
    /// Whose record it is.
    pub dialect: Id,
    /// Text before the record, where it is not the dialect's usual separator.
    pub glue: Option<Raw<'a>>,
    /// Where the record stands in its container.
    pub role: crate::record::Role,
    /// The template.
    pub root: Instance<'a>,
}

impl Frame<'_> {
    /// A copy that borrows nothing.
    pub fn to_owned(&self) -> Frame<'static> {
        Frame {
            dialect: self.dialect,
            glue: self.glue.as_ref().map(Raw::to_owned),
            role: self.role,
            root: self.root.to_owned(),
        }
    }
}

/// A shape with its differing leaves and its lists filled in.
#[derive(Debug, Clone)]
pub struct Instance<'a> {
    /// The template.
    pub shape: Arc<Shape>,
    /// Added to the event offsets of the shape's bound slots.
    pub base: u16,
    /// Literal text by slot: leaves that differ from the default, and bound slots whose
    /// rendering would not be the source's spelling.
    pub leaves: Vec<(u16, Raw<'a>)>,
    /// One entry per list slot, in order.
    pub lists: Vec<Vec<Instance<'a>>>,
}

impl Instance<'_> {
    /// A copy that borrows nothing.
    pub fn to_owned(&self) -> Instance<'static> {
        Instance {
            shape: self.shape.clone(),
            base: self.base,
            leaves: self.leaves.iter().map(|(slot, raw)| (*slot, raw.to_owned())).collect(),
            lists: self
                .lists
                .iter()
                .map(|list| list.iter().map(Instance::to_owned).collect())
                .collect(),
        }
    }

    /// The literal kept for a slot, if any.
    pub fn leaf(&self, slot: usize) -> Option<&str> {
        self.leaves.iter().find(|(s, _)| usize::from(*s) == slot).map(|(_, raw)| raw.as_str())
    }
}

/// A template: chunks of literal text with slots between them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Its number in the journal it was read from.
    pub number: Option<u32>,
    /// One more than there are slots.
    pub chunks: Vec<Box<str>>,
    /// What goes between the chunks.
    pub slots: Vec<Slot>,
}

/// A hole in a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// A literal, with the text it usually has.
    Leaf {
        /// Used where an instance has none of its own.
        default: Box<str>,
        /// Whether other dialects lose it.
        leaf: Leaf,
        /// JSON pointer below the instance's value.
        pointer: Box<str>,
    },
    /// The value of an event's field.
    Bound {
        /// Which event, counted from the instance's base.
        event: u16,
        /// The field's name.
        field: Box<str>,
        /// JSON pointer into the field; empty for all of it.
        path: Box<str>,
        /// How the field's value becomes the slot's text.
        codec: Codec,
        /// JSON pointer below the instance's value.
        pointer: Box<str>,
    },
    /// Instances one after the other.
    List {
        /// Text before the first, usually `[`.
        open: Box<str>,
        /// Text between two.
        between: Box<str>,
        /// Text after the last, usually `]`.
        close: Box<str>,
        /// JSON pointer below the instance's value.
        pointer: Box<str>,
    },
}

/// Whether what a leaf says is known outside its dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// Only this dialect knows it.
    Only,
    /// The events say the same in other words.
    Implied,
}

/// How a value becomes text.
///
/// Events keep spellings as received, so a journal needs only the first two. The others are for
/// carriers whose values other tools may have printed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// As it is; from a carrier, in the minimal compact spelling.
    Same,
    /// As a string that holds the value's JSON text.
    Quoted,
    /// A string with everything outside ASCII escaped.
    Ascii,
    /// The value printed in a style.
    Print(Style),
    /// As a string that holds the value's text in a style.
    Quote(Style),
    /// The next so many UTF-16 units of a string.
    Cut,
    /// The same, everything outside ASCII escaped.
    CutAscii,
    /// The next so many UTF-16 units of the value's text in a style.
    CutPrint(Style),
}

impl Codec {
    /// Its name in a stored residue.
    pub fn name(self) -> String {
        match self {
            Self::Same => "same".into(),
            Self::Quoted => "quoted".into(),
            Self::Ascii => "ascii".into(),
            Self::Print(style) => format!("print:{}", style.name()),
            Self::Quote(style) => format!("quote:{}", style.name()),
            Self::Cut => "cut".into(),
            Self::CutAscii => "cut-ascii".into(),
            Self::CutPrint(style) => format!("cut:{}", style.name()),
        }
    }

    /// The codec of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name.split_once(':') {
            Some(("print", style)) => Style::named(style).map(Self::Print),
            Some(("quote", style)) => Style::named(style).map(Self::Quote),
            Some(("cut", style)) => Style::named(style).map(Self::CutPrint),
            Some(_) => None,
            None => match name {
                "same" => Some(Self::Same),
                "quoted" => Some(Self::Quoted),
                "ascii" => Some(Self::Ascii),
                "cut" => Some(Self::Cut),
                "cut-ascii" => Some(Self::CutAscii),
                _ => None,
            },
        }
    }

    /// Whether it takes the next piece of a longer text.
    pub fn is_cut(self) -> bool {
        matches!(self, Self::Cut | Self::CutAscii | Self::CutPrint(_))
    }
}
