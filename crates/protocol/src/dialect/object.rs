//! Writing a JSON object member by member.

use crate::journal::Event;
use crate::journal::kind::spec;
use crate::json::push_escaped;

/// Bytes of an object, if it is a usual one.
const USUAL: usize = 224;

/// A JSON object under construction, compact.
#[derive(Debug, Clone)]
pub(crate) struct Object(String);

impl Object {
    /// `{}` so far.
    pub(crate) fn new() -> Self {
        let mut object = String::with_capacity(USUAL);
        object.push('{');
        Self(object)
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        push_escaped(key, &mut self.0);
        self.0.push_str("\":");
    }

    /// Adds a member whose value is JSON text.
    #[must_use]
    pub(crate) fn raw(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        self.0.push_str(value);
        self
    }

    /// Adds a string member, escaped as needed.
    #[must_use]
    pub(crate) fn text(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        self.0.push('"');
        push_escaped(value, &mut self.0);
        self.0.push('"');
        self
    }

    /// Adds a string member from a string body.
    #[must_use]
    pub(crate) fn body(mut self, key: &str, body: &str) -> Self {
        self.key(key);
        self.0.push('"');
        self.0.push_str(body);
        self.0.push('"');
        self
    }

    /// Adds a member if there is a value.
    #[must_use]
    pub(crate) fn some(self, key: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.raw(key, value.as_ref()),
            None => self,
        }
    }

    /// The fields of an event that its kind has of its own, its time apart.
    pub(crate) fn of(event: &Event<'_>) -> Self {
        let known = spec(event.kind()).map(|s| s.fields).unwrap_or_default();
        let own = known.iter().filter(|f| f.name != "timestamp");
        own.fold(Self::new(), |object, f| object.some(f.name, event.get(f.name)))
    }

    /// Whether no member was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 1
    }

    /// The JSON text.
    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
