//! Pieces of one text: which belong together, and what they come to.
//!
//! Invariant: a fold of the joined piece is the fold of the pieces. Only where nothing but the
//! text, its number and its time tells two pieces apart are they of one text.

use super::Kind;
use crate::json::Doc;

/// A piece of a text, and the event around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// What tells it from a piece of another text: all members but the text, its number and time.
    rest: String,
    before: &'a str,
    text: &'a str,
    after: &'a str,
    /// Its number among the pieces, if it has one.
    pub index: Option<i64>,
    /// Its time, as it stands.
    pub timestamp: Option<&'a str>,
}

impl<'a> Piece<'a> {
    /// The piece that an event is, if it is one.
    pub fn of(event: &'a str) -> Option<Self> {
        let doc = Doc::parse(event).ok()?;
        let root = doc.root();
        let field = match Kind::named(&root.get("kind")?.str()?) {
            Kind::ContentDelta | Kind::ToolCallDelta => "delta",
            Kind::ThoughtStream => "content",
            _ => return None,
        };
        let text = root.get(field).filter(|text| text.is_string())?;
        let (mut rest, mut index, mut timestamp) = (String::new(), None, None);
        for (name, value) in root.members() {
            match name.body() {
                _ if value.start() == text.start() => {}
                "index" if index.is_none() && value.i64().is_some() => index = value.i64(),
                "timestamp" if timestamp.is_none() => timestamp = Some(value.raw()),
                _ => {
                    rest.push_str(name.raw());
                    rest.push(':');
                    rest.push_str(value.raw());
                    rest.push('\n');
                }
            }
        }
        let inside = text.start() + 1..text.end() - 1;
        Some(Self {
            rest,
            before: event.get(..inside.start)?,
            text: event.get(inside.clone())?,
            after: event.get(inside.end..)?,
            index,
            timestamp,
        })
    }

    /// Whether both are pieces of one text.
    pub fn is_like(&self, other: &Piece<'_>) -> bool {
        self.rest == other.rest
            && self.index.is_some() == other.index.is_some()
            && self.timestamp.is_some() == other.timestamp.is_some()
    }

    /// What is the same in all pieces of the text.
    pub fn rest(&self) -> &str {
        &self.rest
    }

    /// The text, inside its quotes, escapes as they were sent.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The event around the text: what stands before it, and behind.
    pub fn around(&self) -> (&'a str, &'a str) {
        (self.before, self.after)
    }

    /// The event with another text, escaped.
    pub fn with(&self, text: &str) -> String {
        [self.before, text, self.after].concat()
    }
}
