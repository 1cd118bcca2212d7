//! Putting records back together.
//!
//! Invariant: records that are replayed, and nothing else, give the bytes they came from. Where
//! records of our own stand between them, separators are such that the whole can be read.

use std::borrow::Cow;

use super::{Framing, Role};
use crate::sse;

/// Writes records with the separators of a framing.
#[derive(Debug)]
pub struct Writer {
    framing: Framing,
    items: usize,
    headed: bool,
    tail: Option<String>,
    /// How the records stand, judged by the first.
    layout: Option<Layout>,
    /// Whether there are records of our own.
    made: bool,
}

/// How records stand in the output at hand, which may differ from its dialect's usual framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Array,
    Lines,
    Events,
    Document,
}

impl Layout {
    /// What stands between two records.
    fn between(self) -> &'static str {
        match self {
            Self::Array | Self::Document => ",",
            Self::Lines => "\n",
            Self::Events => "",
        }
    }
}

impl Writer {
    /// A writer for one output.
    pub fn new(framing: Framing) -> Self {
        Self { framing, items: 0, headed: false, tail: None, layout: None, made: false }
    }

    /// Whether a document's head has been written.
    pub fn headed(&self) -> bool {
        self.headed
    }

    /// Whether a tail has been set.
    pub fn tailed(&self) -> bool {
        self.tail.is_some()
    }

    /// Items written so far.
    pub fn items(&self) -> usize {
        self.items
    }

    /// Writes a record, with its own glue if it has any. A tail is held back until the end.
    pub fn record(&mut self, role: Role, glue: Option<&str>, body: &str, out: &mut Vec<u8>) {
        match role {
            Role::Head => {
                out.extend_from_slice(glue.unwrap_or("").as_bytes());
                self.headed = true;
            }
            Role::Item => self.before_item(glue, out),
            Role::Tail => {
                let mut tail = glue.unwrap_or("").to_owned();
                tail.push_str(body);
                self.tail = Some(tail);
                return;
            }
        }
        out.extend_from_slice(body.as_bytes());
    }

    /// Writes what stands before an item; the caller writes the item, and says so.
    pub fn before_item(&mut self, glue: Option<&str>, out: &mut Vec<u8>) {
        let usual = self.framing.glue(self.items);
        match (self.layout, self.made) {
            (Some(layout), true) => {
                let glue = self.fitting(layout, glue.unwrap_or(usual));
                out.extend_from_slice(glue.as_bytes());
            }
            _ => out.extend_from_slice(glue.unwrap_or(usual).as_bytes()),
        }
        if self.layout.is_none() {
            self.layout = match (self.framing, glue.unwrap_or(usual)) {
                (Framing::Document, _) => Some(Layout::Document),
                (_, glue) if glue.contains('[') => Some(Layout::Array),
                (Framing::Array | Framing::Lines, _) => Some(Layout::Lines),
                (Framing::Sse, _) => None,
            };
        }
        self.items += 1;
    }

    /// An item was written that begins with this byte.
    pub fn after_item(&mut self, first: Option<&u8>) {
        self.layout.get_or_insert(match first {
            Some(b'{' | b'[') => Layout::Lines,
            _ => Layout::Events,
        });
    }

    /// Glue that separates where records of our own are among those that are replayed.
    fn fitting<'g>(&self, layout: Layout, glue: &'g str) -> Cow<'g, str> {
        let between = layout.between();
        match layout {
            _ if self.items == 0 || glue.contains(between) && !glue.contains('[') => glue.into(),
            Layout::Array if glue.contains('[') => glue.replacen('[', ",", 1).into(),
            _ => between.into(),
        }
    }

    /// Takes back an item that could not be written.
    pub fn undo_item(&mut self) {
        self.items = self.items.saturating_sub(1);
        self.layout = self.layout.filter(|_| self.items > 0);
    }

    /// Writes a record of our own.
    pub fn item(&mut self, glue: Option<&str>, body: &str, out: &mut Vec<u8>) {
        self.made = true;
        let bare = self.framing == Framing::Sse
            && matches!(self.layout, Some(Layout::Array | Layout::Lines));
        let body = match bare.then(|| sse::data(body)) {
            Some(sse::Data::Line { text: "[DONE]", .. }) => return,
            Some(sse::Data::Line { text, .. }) => text,
            _ => body,
        };
        self.before_item(glue, out);
        out.extend_from_slice(body.as_bytes());
        self.after_item(body.as_bytes().first());
    }

    /// Writes what comes after the last record.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let closes =
            |tail: &String| !self.made || self.layout != Some(Layout::Array) || tail.contains(']');
        match self.tail.take().filter(closes) {
            Some(tail) => out.extend_from_slice(tail.as_bytes()),
            None => out.extend_from_slice(self.end().as_bytes()),
        }
    }

    fn end(&self) -> &'static str {
        match self.layout {
            Some(Layout::Array) if self.made => "]",
            Some(Layout::Lines) if self.made && self.framing != Framing::Sse => "\n",
            _ => self.framing.end(self.items),
        }
    }
}
