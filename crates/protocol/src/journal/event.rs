//! One event: a kind and its fields, each as raw JSON in the order received.

use std::borrow::Cow;

use super::Kind;
use crate::json::{Node, Raw, Style, escaped, print, same_bytes};

/// Something that happened in a thread.
///
/// Fields keep their JSON text as received, so number spellings and escapes survive, and unknown
/// fields are kept beside known ones. Which fields a kind has is data: see
/// [`kind::spec`](super::kind::spec).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    kind: Kind,
    /// The kind's name on the wire; differs from the kind's own only for [`Kind::Other`].
    name: Cow<'a, str>,
    fields: Vec<(Cow<'a, str>, Raw<'a>)>,
}

impl<'a> Event<'a> {
    /// An event of a known kind, without fields yet.
    pub fn new(kind: Kind) -> Self {
        Self { kind, name: Cow::Borrowed(kind.name()), fields: Vec::with_capacity(8) }
    }

    /// An event by the kind's name; unknown names are kept.
    pub fn named(name: impl Into<Cow<'a, str>>) -> Self {
        let name = name.into();
        Self { kind: Kind::named(&name), name, fields: Vec::new() }
    }

    /// Reads an event object: `kind` and every other member, in order.
    pub fn parse(node: Node<'_, 'a>) -> Option<Self> {
        let mut event = Self::named(node.get("kind")?.str()?);
        for (key, value) in node.members() {
            if !key.is("kind") {
                event.fields.push((key.str()?, Raw::Ref(value.raw())));
            }
        }
        Some(event)
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The kind as it is spelled on the wire.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a field, building up an event.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Raw<'a>>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Adds a field if there is a value.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl Into<Raw<'a>>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a string field.
    #[must_use]
    pub fn with_str(self, name: &'static str, value: &str) -> Self {
        self.with(name, Raw::string(value))
    }

    /// Adds or replaces a field.
    pub fn set(&mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Raw<'a>>) {
        let name = name.into();
        let value = value.into();
        match self.fields.iter_mut().find(|(n, _)| *n == name) {
            Some(field) => field.1 = value,
            None => self.fields.push((name, value)),
        }
    }

    /// Puts values that were spread over several lines on one: an event is one line of a journal.
    pub fn single_line(&mut self) {
        for (_, value) in &mut self.fields {
            if (value.is_object() || value.is_array())
                && memchr::memchr2(b'\n', b'\r', value.as_bytes()).is_some()
            {
                let mut out = String::with_capacity(value.len());
                if let Some(doc) = value.doc() {
                    print(doc.root(), Style::Compact, &mut out);
                }
                *value = Raw::owned(out);
            }
        }
    }

    /// A field's value as received.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Raw<'a>> {
        let found = self.fields.iter().find(|(n, _)| same_bytes(n.as_bytes(), name.as_bytes()));
        found.map(|(_, v)| v)
    }

    /// A string field, decoded.
    pub fn str(&self, name: &str) -> Option<Cow<'_, str>> {
        self.get(name)?.str()
    }

    /// A string field's body, escapes as received.
    pub fn body(&self, name: &str) -> Option<&str> {
        self.get(name)?.body()
    }

    /// A value inside a field, by JSON pointer, as text of its own.
    pub fn at(&self, name: &str, pointer: &str) -> Option<Raw<'static>> {
        let doc = self.get(name)?.doc()?;
        doc.root().pointer(pointer).map(|n| Raw::owned(n.raw()))
    }

    /// All fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Raw<'a>)> {
        self.fields.iter().map(|(n, v)| (n.as_ref(), v))
    }

    /// Appends the event as a JSON object, `kind` first.
    pub fn write(&self, out: &mut String) {
        self.write_with(&[], out);
    }

    /// Appends the event with extra fields after `kind`, where it does not have them itself.
    pub fn write_with(&self, stamp: &[(&str, &str)], out: &mut String) {
        self.pieces(stamp, |piece| out.push_str(piece));
    }

    /// Whether this is what [`Event::write_with`] writes.
    pub fn is_written(&self, stamp: &[(&str, &str)], text: &str) -> bool {
        let mut rest = Some(text.as_bytes());
        self.pieces(stamp, |piece| {
            rest = rest.and_then(|rest| rest.strip_prefix(piece.as_bytes()));
        });
        rest.is_some_and(<[u8]>::is_empty)
    }

    fn pieces(&self, stamp: &[(&str, &str)], mut each: impl FnMut(&str)) {
        each("{\"kind\":\"");
        escaped(&self.name, &mut each);
        each("\"");
        let mut field = |name: &str, value: &str| {
            each(",\"");
            escaped(name, &mut each);
            each("\":");
            each(value);
        };
        for (name, value) in stamp {
            if self.get(name).is_none() {
                field(name, value);
            }
        }
        for (name, value) in &self.fields {
            field(name, value);
        }
        each("}");
    }

    /// A copy that borrows nothing.
    pub fn to_owned(&self) -> Event<'static> {
        Event {
            kind: self.kind,
            name: if self.kind == Kind::Other {
                Cow::Owned(self.name.to_string())
            } else {
                Cow::Borrowed(self.kind.name())
            },
            fields: self
                .fields
                .iter()
                .map(|(n, v)| (Cow::Owned(n.to_string()), v.to_owned()))
                .collect(),
        }
    }
}
