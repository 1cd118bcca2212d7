//! A JSON value as text: borrowed from its source, or owned and cheap to clone.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{Doc, text};

/// JSON text, complete and valid, spelled as received.
#[derive(Clone)]
pub enum Raw<'a> {
    /// Text inside the source.
    Ref(&'a str),
    /// Text of our own.
    Own(Arc<str>),
}

impl<'a> Raw<'a> {
    /// JSON text built elsewhere. The caller vouches that it is valid JSON.
    pub fn owned(text: impl Into<Arc<str>>) -> Self {
        Self::Own(text.into())
    }

    /// A string value, escaped as needed.
    pub fn string(text: &str) -> Self {
        Self::Own(super::quote(text).into())
    }

    /// Checks text and takes it over.
    pub fn parse(text: &'a str) -> Result<Self, super::SyntaxError> {
        Doc::parse(text).map(|_| Self::Ref(text))
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Ref(s) => s,
            Self::Own(s) => s,
        }
    }

    /// A copy that owns its text.
    pub fn to_owned(&self) -> Raw<'static> {
        match self {
            Self::Ref(s) => Raw::Own(Arc::from(*s)),
            Self::Own(s) => Raw::Own(s.clone()),
        }
    }

    /// The inside of the string literal, escapes as written; `None` if it is not a string.
    pub fn body(&self) -> Option<&str> {
        self.as_str().strip_prefix('"')?.strip_suffix('"')
    }

    /// The decoded string; `None` if it is not a string.
    pub fn str(&self) -> Option<Cow<'_, str>> {
        self.body().map(text::decode)
    }

    /// Whether it is the string `text`.
    pub fn is(&self, text: &str) -> bool {
        self.str().is_some_and(|s| s == text)
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        self.as_str().starts_with('[')
    }

    /// The integer, if it is one.
    pub fn i64(&self) -> Option<i64> {
        self.as_str().parse().ok()
    }

    /// The number, if it is one.
    pub fn f64(&self) -> Option<f64> {
        let text = self.as_str();
        text.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| text.parse().ok())?
    }

    /// The boolean, if it is one.
    pub fn bool(&self) -> Option<bool> {
        match self.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Parses the text for a look inside.
    pub fn doc(&self) -> Option<Doc<'_>> {
        Doc::parse(self.as_str()).ok()
    }
}

impl Deref for Raw<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Raw<'_> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for Raw<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Raw<'_> {}

impl<'a> From<super::Node<'_, 'a>> for Raw<'a> {
    fn from(node: super::Node<'_, 'a>) -> Self {
        Self::Ref(node.raw())
    }
}

impl fmt::Display for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Default for Raw<'_> {
    /// `null`.
    fn default() -> Self {
        Self::Ref("null")
    }
}
