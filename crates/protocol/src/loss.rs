//! What a conversion from one dialect to another leaves behind.
//!
//! A value of the source is lost when no event holds it, or when an event holds it in a field that
//! the target has no place for. Nothing is lost on the way into a carrier (a journal, a
//! ThreadProtocol document) or back into the same dialect. Values that say nothing (`null`, empty
//! strings, lists and objects) are not reported.

use crate::dialect::{Carrier, Dialect};
use crate::journal::{Batch, Event};
use crate::json::{push_escaped, quote};
use crate::record::{Framing, Role};
use crate::residue::{Instance, Leaf, Slot};

/// One value that was left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// JSON pointer into the source. The first token counts records where there are several.
    pub pointer: String,
    /// Why it was lost.
    pub reason: String,
}

impl Loss {
    /// The entry as JSON.
    pub fn to_json(&self) -> String {
        format!("{{\"pointer\":{},\"reason\":{}}}", quote(&self.pointer), quote(&self.reason))
    }
}

/// Finds what a conversion leaves behind, batch by batch.
#[derive(Debug)]
pub struct Losses {
    target: &'static Dialect,
    /// Pointer of the array that holds a document's items.
    items: String,
    record: usize,
}

impl Losses {
    /// Begins a conversion to a dialect.
    pub fn new(target: &'static Dialect) -> Self {
        Self { target, items: String::new(), record: 0 }
    }

    /// Passes on what writing this batch leaves behind.
    pub fn batch(&mut self, batch: &Batch<'_>, each: &mut dyn FnMut(Loss)) {
        let Some(frame) = &batch.frame else { return };
        let Some(source) = crate::dialect::get(frame.dialect) else { return };
        let pointer = match (source.framing, frame.role) {
            (Framing::Document, Role::Item) => format!("{}/{}", self.items, self.record),
            (Framing::Document, _) => String::new(),
            _ => format!("/{}", self.record),
        };
        match frame.role {
            Role::Head => self.items = items_pointer(&frame.root),
            Role::Item => self.record += 1,
            Role::Tail => {}
        }
        if self.target.carrier == Carrier::Frames || self.target.id == source.id {
            return;
        }
        self.instance(&frame.root, &batch.events, 0, &pointer, source, each);
    }

    fn instance(
        &self,
        of: &Instance<'_>,
        events: &[Event<'_>],
        base: usize,
        pointer: &str,
        source: &Dialect,
        each: &mut dyn FnMut(Loss),
    ) {
        let base = base + usize::from(of.base);
        let mut lists = of.lists.iter();
        for (i, slot) in of.shape.slots.iter().enumerate() {
            match slot {
                Slot::Leaf { leaf: Leaf::Implied, .. } => {}
                Slot::Leaf { default, pointer: own, .. } => {
                    if !says_nothing(of.leaf(i).unwrap_or(default)) {
                        each(Loss {
                            pointer: format!("{pointer}{own}"),
                            reason: format!("only {} has a place for it", source.id.name()),
                        });
                    }
                }
                Slot::Bound { event, field, path, pointer: own, .. } => {
                    let Some(event) = events.get(base + usize::from(*event)) else { continue };
                    let value = event.get(field).map_or("null", |v| v.as_str());
                    if path.is_empty() && says_nothing(value) {
                        continue;
                    }
                    if !(self.target.carries)(event.kind(), field) {
                        each(Loss {
                            pointer: format!("{pointer}{own}"),
                            reason: format!(
                                "{} has no place for {} of {}",
                                self.target.id.name(),
                                field,
                                event.name()
                            ),
                        });
                    }
                }
                Slot::List { pointer: own, .. } => {
                    for (j, item) in lists.next().into_iter().flatten().enumerate() {
                        let pointer = format!("{pointer}{own}/{j}");
                        self.instance(item, events, base, &pointer, source, each);
                    }
                }
            }
        }
    }
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id.name())
    }
}

/// Values whose absence tells the same.
fn says_nothing(literal: &str) -> bool {
    matches!(literal, "null" | "\"\"" | "[]" | "{}")
}

/// Where a document's items are: the key that its head ends with.
fn items_pointer(head: &Instance<'_>) -> String {
    let end = head.shape.chunks.last().map_or("", AsRef::as_ref);
    let key = end
        .trim_end()
        .strip_suffix('[')
        .and_then(|rest| rest.trim_end().strip_suffix(':'))
        .and_then(|rest| rest.trim_end().strip_suffix('"'))
        .and_then(|rest| rest.rsplit('"').next());
    let mut out = String::new();
    if let Some(key) = key {
        out.push('/');
        push_escaped(key, &mut out);
    }
    out
}
