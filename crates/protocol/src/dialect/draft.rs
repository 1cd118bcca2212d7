//! Building events from a record's nodes: the field and its mark in one step.

use crate::journal::Event;
use crate::json::{Doc, INNER_DEPTH, Node, Raw, quote};
use crate::residue::Marks;

/// An event that will be number `ev` of its record.
pub(crate) struct Draft<'m, 'a> {
    event: Event<'a>,
    ev: usize,
    marks: &'m mut Marks,
    metadata: String,
}

impl<'m, 'a> Draft<'m, 'a> {
    /// Begins with an event; `events` are the record's so far.
    pub(crate) fn new(event: Event<'a>, events: &[Event<'a>], marks: &'m mut Marks) -> Self {
        Self { event, ev: events.len(), marks, metadata: String::new() }
    }

    /// The record's value is the field.
    #[must_use]
    pub(crate) fn bind(mut self, field: &'static str, node: Option<Node<'_, 'a>>) -> Self {
        if let Some(node) = node {
            self.marks.bind(node, self.ev, field);
            self.event = self.event.with(field, node);
        }
        self
    }

    /// A field that stands nowhere in the record.
    #[must_use]
    pub(crate) fn with(mut self, field: &'static str, value: impl Into<Raw<'a>>) -> Self {
        self.event = self.event.with(field, value);
        self
    }

    /// Like [`Draft::with`], if there is a value.
    #[must_use]
    pub(crate) fn with_some(self, field: &'static str, value: Option<impl Into<Raw<'a>>>) -> Self {
        match value {
            Some(value) => self.with(field, value),
            None => self,
        }
    }

    /// The record's value is a member of the event's metadata.
    #[must_use]
    pub(crate) fn meta(mut self, key: &str, node: Option<Node<'_, 'a>>) -> Self {
        if let Some(node) = node {
            self.marks.bind_at(node, self.ev, "metadata", &format!("/{key}"));
            if !self.metadata.is_empty() {
                self.metadata.push(',');
            }
            self.metadata.push_str(&quote(key));
            self.metadata.push(':');
            self.metadata.push_str(node.raw());
        }
        self
    }

    /// The record's string is the field, or holds its JSON text where that is an object or list.
    #[must_use]
    pub(crate) fn json(mut self, field: &'static str, node: Option<Node<'_, 'a>>) -> Self {
        let Some(node) = node else { return self };
        match inner_json(node) {
            Some(inner) => {
                self.marks.quoted(node, self.ev, field);
                self.event = self.event.with(field, inner);
                self
            }
            None => self.bind(field, Some(node)),
        }
    }

    /// Values that the event says in other words.
    #[must_use]
    pub(crate) fn implied<const N: usize>(self, nodes: [Option<Node<'_, 'a>>; N]) -> Self {
        for node in nodes.into_iter().flatten() {
            self.marks.implied(node);
        }
        self
    }

    /// The marks of the record.
    pub(crate) fn marks(&mut self) -> &mut Marks {
        self.marks
    }

    /// The event's number in the record.
    pub(crate) fn number(&self) -> usize {
        self.ev
    }

    /// Whether the event has metadata of its own by now.
    pub(crate) fn has_metadata(&self) -> bool {
        !self.metadata.is_empty() || self.event.get("metadata").is_some()
    }

    /// Adds the event to the record's.
    pub(crate) fn push(self, events: &mut Vec<Event<'a>>) {
        let mut event = self.event;
        if !self.metadata.is_empty() {
            event = event.with("metadata", Raw::owned(format!("{{{}}}", self.metadata)));
        }
        events.push(event);
    }
}

/// The JSON object or list inside a string, if that is what the string holds and its value fits
/// wherever the text did.
pub(crate) fn inner_json<'a>(node: Node<'_, 'a>) -> Option<Raw<'a>> {
    let text = node.str()?;
    let bracketed = text.starts_with('{') && text.ends_with('}')
        || text.starts_with('[') && text.ends_with(']');
    if !bracketed || Doc::parse_within(&text, INNER_DEPTH).is_err() {
        return None;
    }
    Some(match text {
        std::borrow::Cow::Borrowed(text) => Raw::Ref(text),
        std::borrow::Cow::Owned(text) => Raw::owned(text),
    })
}
