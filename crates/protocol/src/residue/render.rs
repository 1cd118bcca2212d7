//! Getting a record's text back from its frame and its events.

use super::shape::{Codec, Frame, Instance, Slot};
use crate::journal::Event;
use crate::json::{Raw, escaped, push_escaped};

/// An event or field that a frame needs is not there any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the record's event no longer has field `{field}`")]
pub struct Missing {
    /// The field that is gone.
    pub field: String,
}

/// Where text goes.
pub trait Text {
    /// Appends text.
    fn text(&mut self, text: &str);

    /// Appends text as a JSON string.
    fn quoted(&mut self, text: &str);
}

impl Text for String {
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }

    fn quoted(&mut self, text: &str) {
        self.push('"');
        push_escaped(text, self);
        self.push('"');
    }
}

impl Text for Vec<u8> {
    fn text(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn quoted(&mut self, text: &str) {
        self.push(b'"');
        escaped(text, |piece| self.extend_from_slice(piece.as_bytes()));
        self.push(b'"');
    }
}

/// Appends the text of a record. After an error `out` may hold a part of it.
pub fn render(frame: &Frame<'_>, events: &[Event<'_>], out: &mut impl Text) -> Result<(), Missing> {
    instance(&frame.root, events, 0, out)
}

fn instance(
    of: &Instance<'_>,
    events: &[Event<'_>],
    base: usize,
    out: &mut impl Text,
) -> Result<(), Missing> {
    let base = base + usize::from(of.base);
    let shape = &*of.shape;
    let mut leaves = of.leaves.iter().peekable();
    let mut lists = of.lists.iter();
    let mut chunks = shape.chunks.iter();
    for (i, slot) in shape.slots.iter().enumerate() {
        if let Some(chunk) = chunks.next() {
            out.text(chunk);
        }
        if let Some((_, literal)) = leaves.next_if(|(s, _)| usize::from(*s) == i) {
            out.text(literal);
            continue;
        }
        match slot {
            Slot::Leaf { default, .. } => out.text(default),
            Slot::Bound { event, field, path, codec, .. } => {
                let raw = events.get(base + usize::from(*event)).and_then(|e| e.get(field));
                raw.and_then(|raw| field_text(raw, path, *codec, out))
                    .ok_or_else(|| Missing { field: field.to_string() })?;
            }
            Slot::List { open, between, close, .. } => {
                out.text(open);
                for (i, item) in lists.next().into_iter().flatten().enumerate() {
                    if i > 0 {
                        out.text(between);
                    }
                    instance(item, events, base, out)?;
                }
                out.text(close);
            }
        }
    }
    if let Some(chunk) = chunks.next() {
        out.text(chunk);
    }
    Ok(())
}

/// Appends what a bound slot shows of a field.
pub(super) fn field_text(
    raw: &Raw<'_>,
    path: &str,
    codec: Codec,
    out: &mut impl Text,
) -> Option<()> {
    if path.is_empty() {
        push(raw, codec, out);
    } else {
        let doc = raw.doc()?;
        push(doc.root().pointer(path)?.raw(), codec, out);
    }
    Some(())
}

fn push(text: &str, codec: Codec, out: &mut impl Text) {
    match codec {
        Codec::Quoted => out.quoted(text),
        _ => out.text(text),
    }
}
